// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Decoding of INT8 groups, integers only. See mxverify/block_array.h.
//
// fl32(code * scale), with a = |code| and sig the scale's significand: the product a * sig < 2^31
// is shifted left by s so that it lies in [2^30, 2^31), then seven bits are cut to nearest even. s
// depends on a alone within a group: with a in [2^L, 2^(L + 1)) it is 7 - L, less one from
// ceil(2^(24 + L) / sig) on, which is one more than floor((2^31 - 1) / sig) >> (7 - L). So s is
// looked up for 32 codes at a time, a byte each: by a below 16, else by a >> 4 and one comparison.
// unit.int8_array fails if this file is wrong.
#include <immintrin.h>

#include "block_array_internal.h"

enum { CHUNK = 32 };

/// A group's tables, sixteen bytes in both halves, and constants.
struct decoding {
    __m256i shift_low, shift_high, edge_high;
    __m256i sig, base, sign, one, below_half;
};

static struct decoding prepare(uint32_t scale)
{
    const int field = (int)(scale >> 23);
    const uint32_t sig = (scale & 0x7FFFFF) | 0x800000;
    const __m128i q = _mm_set1_epi16((short)(0x7FFFFFFF / sig)); // 128 .. 255
    // q >> (7 - L) at L = 0 .. 6; no step at 7
    const __m128i edges = _mm_mulhi_epu16(
        q, _mm_setr_epi16(1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, -0x8000, 0));
    const __m128i bytes = _mm_insert_epi16(edges, 127, 7);
    const __m128i edge = _mm_packus_epi16(bytes, bytes);
    const __m128i log2 = _mm_setr_epi8(7, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m128i log2_high = _mm_setr_epi8(7, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7);
    const __m128i shift = _mm_setr_epi8(0, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4);
    const __m128i shift_high = _mm_setr_epi8(0, 3, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i number = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i step = _mm_cmpgt_epi8(number, _mm_shuffle_epi8(edge, log2));
    // the shift of zero makes its exponent vanish
    const __m128i low = _mm_insert_epi8(_mm_add_epi8(shift, step), field + 6, 0);
    struct decoding d;
    d.shift_low = _mm256_broadcastsi128_si256(low);
    d.shift_high = _mm256_broadcastsi128_si256(shift_high);
    d.edge_high = _mm256_broadcastsi128_si256(_mm_shuffle_epi8(edge, log2_high));
    d.sig = _mm256_set1_epi32((int32_t)sig);
    d.base = _mm256_set1_epi32((field + 6) << 23);
    d.sign = _mm256_set1_epi32((int32_t)0x80000000);
    d.one = _mm256_set1_epi32(1);
    d.below_half = _mm256_set1_epi32(63);
    return d;
}

/// s of 32 codes.
MXV_EACH_INLINE __m256i shifts(const struct decoding *d, __m256i code)
{
    const __m256i a = _mm256_abs_epi8(code);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(a, 4), _mm256_set1_epi8(15));
    // the sum reaches 80, which looks up 0, from a = 16 on
    const __m256i low = _mm256_adds_epu8(a, _mm256_set1_epi8(0x70));
    const __m256i step = _mm256_cmpgt_epi8(a, _mm256_shuffle_epi8(d->edge_high, high));
    return _mm256_add_epi8(_mm256_or_si256(_mm256_shuffle_epi8(d->shift_low, low),
                                           _mm256_shuffle_epi8(d->shift_high, high)),
                           step);
}

/// Words of the first eight codes and shifts.
MXV_EACH_INLINE __m256i products(const struct decoding *d, __m128i codes, __m128i shift_bytes)
{
    const __m256i code = _mm256_cvtepi8_epi32(codes), s = _mm256_cvtepu8_epi32(shift_bytes);
    const __m256i whole = _mm256_sllv_epi32(_mm256_mullo_epi32(_mm256_abs_epi32(code), d->sig), s);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(whole, 7), d->one);
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(whole, d->below_half), odd);
    const __m256i exp = _mm256_sub_epi32(d->base, _mm256_slli_epi32(s, 23));
    return _mm256_or_si256(_mm256_add_epi32(exp, _mm256_srli_epi32(sum, 7)),
                           _mm256_and_si256(code, d->sign));
}

MXV_EACH_INLINE void decode_chunk(const struct decoding *d, const int8_t *codes, uint32_t *out)
{
    const __m256i code = _mm256_loadu_si256((const __m256i *)codes), s = shifts(d, code);
    const __m128i low = _mm256_castsi256_si128(s), high = _mm256_extracti128_si256(s, 1);
    const __m128i shift[4] = {low, _mm_srli_si128(low, 8), high, _mm_srli_si128(high, 8)};
    for (size_t i = 0; i < 4; i++) {
        const __m128i eight = _mm_loadl_epi64((const __m128i *)(codes + 8 * i));
        _mm256_storeu_si256((__m256i *)(out + 8 * i), products(d, eight, shift[i]));
    }
}

void mxv_int8_dequantize_avx2(const int8_t *codes, uint32_t scale, size_t count, uint32_t *out)
{
    const uint32_t field = scale >> 23;
    if (field < 1 || field > 240) { // subnormal, large, special, negative
        for (size_t i = 0; i < count; i++)
            out[i] = mxv_int8_dequantize(codes[i], scale);
        return;
    }
    const struct decoding d = prepare(scale);
    size_t i = 0;
    for (; i + CHUNK <= count; i += CHUNK)
        decode_chunk(&d, codes + i, out + i);
    if (i < count) {
        int8_t rest[CHUNK] = {0};
        uint32_t words[CHUNK];
        for (size_t j = i; j < count; j++)
            rest[j - i] = codes[j];
        decode_chunk(&d, rest, words);
        for (size_t j = i; j < count; j++)
            out[j] = words[j - i];
    }
}
