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
    __m256i sig, exponent; ///< the latter in bytes, for s = 0
};

static inline struct decoding prepare(uint32_t scale)
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
    d.exponent = _mm256_set1_epi8((char)(field + 6));
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

/// Lane k of `bytes` as a word: bytes 4 k to 4 k + 3 of both halves.
MXV_EACH_INLINE __m256i widened(__m256i bytes, int k)
{
    const int z = -1, b = 4 * k;
    return _mm256_shuffle_epi8(
        bytes,
        _mm256_broadcastsi128_si256(_mm_setr_epi8(
            (char)b, (char)z, (char)z, (char)z, (char)(b + 1), (char)z, (char)z, (char)z,
            (char)(b + 2), (char)z, (char)z, (char)z, (char)(b + 3), (char)z, (char)z, (char)z)));
}

/// Product of a magnitude and the scale, cut to 24 bits, of which the uppermost, if not 0, is taken
/// for one in the exponent.
MXV_EACH_INLINE __m256i product(const struct decoding *d, __m256i a, __m256i s)
{
    const __m256i whole = _mm256_sllv_epi32(_mm256_mullo_epi32(a, d->sig), s);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(whole, 7), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(whole, _mm256_set1_epi32(63)), odd);
    return _mm256_srli_epi32(sum, 7);
}

/// 32 codes: bytes 4 k to 4 k + 3 of both halves become words 8 k to 8 k + 7. Sign and exponent
/// are formed in bytes, and become the upper halves of words.
MXV_EACH_INLINE void decode_chunk(const struct decoding *d, const int8_t *codes, uint32_t *out)
{
    const __m256i code = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)codes),
                                                     _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    const __m256i a = _mm256_abs_epi8(code), s = shifts(d, code), zero = _mm256_setzero_si256();
    const __m256i exponent = _mm256_sub_epi8(d->exponent, s), sign = _mm256_set1_epi8(-0x80);
    const __m256i upper =
        _mm256_or_si256(_mm256_and_si256(code, sign),
                        _mm256_and_si256(_mm256_srli_epi16(exponent, 1), _mm256_set1_epi8(0x7F)));
    const __m256i lower = _mm256_and_si256(_mm256_slli_epi16(exponent, 7), sign);
    const __m256i low = _mm256_unpacklo_epi8(lower, upper);
    const __m256i high = _mm256_unpackhi_epi8(lower, upper);
    const __m256i top[4] = {_mm256_unpacklo_epi16(zero, low), _mm256_unpackhi_epi16(zero, low),
                            _mm256_unpacklo_epi16(zero, high), _mm256_unpackhi_epi16(zero, high)};
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(out + 8 * k),
                            _mm256_add_epi32(top[k], product(d, widened(a, k), widened(s, k))));
}

static void decode_rest(const struct decoding *d, const int8_t *codes, size_t count, uint32_t *out)
{
    int8_t rest[CHUNK] = {0};
    uint32_t words[CHUNK];
    for (size_t j = 0; j < count; j++)
        rest[j] = codes[j];
    decode_chunk(d, rest, words);
    for (size_t j = 0; j < count; j++)
        out[j] = words[j];
}

void mxv_int8_dequantize_avx2(const int8_t *codes, const uint32_t *scales, size_t count,
                              size_t groups, uint32_t *out)
{
    for (size_t g = 0; g < groups; g++, codes += count, out += count) {
        const uint32_t field = scales[g] >> 23;
        if (field < 1 || field > 240) { // subnormal, large, special, negative
            for (size_t i = 0; i < count; i++)
                out[i] = mxv_int8_dequantize(codes[i], scales[g]);
            continue;
        }
        const struct decoding d = prepare(scales[g]);
        size_t i = 0;
        for (; i + CHUNK <= count; i += CHUNK)
            decode_chunk(&d, codes + i, out + i);
        if (i < count)
            decode_rest(&d, codes + i, count - i, out + i);
    }
}
