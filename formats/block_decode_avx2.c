// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Decoding of blocks, eight elements a register. See mxverify/block_array.h.
//
// E2M1: the eight products of a scale and a magnitude are a row, looked up by the code. MXFP4: 1.5
// times a scale is the one that needs a multiplication. NVFP4: they have six bits and lie within
// binary16, whose words are a table by the scale's code, to be widened exactly. FP8: a code is
// moved into a binary16 word of the same value (E5M2) or of 2^-8 times the value (E4M3), widened
// exactly, and the scale is added to the exponent; FP6 alike. MXINT8: integers of eight bits are
// converted exactly. Scales at which a result would leave the normal range of binary32, and NaN
// scales, take the scalar function. unit.block_array fails if this file is wrong.
#include <immintrin.h>

#include "block_array_internal.h"

enum { BINADE = 1 << 23 };

/// Scales from `least` to `most` keep every finite product normal and finite.
struct scale_range {
    uint8_t least, most;
};

/// The magnitudes 0, .5, 1, 1.5, 2, 3, 4, 6 times the number of word `one`.
static inline __m256i e2m1_row(uint32_t one)
{
    const uint32_t sig3 = ((one & 0x7FFFFF) | 0x800000) * 3;
    const uint32_t exp = one & 0x7F800000;
    const uint32_t more =
        sig3 >= 0x2000000 ? exp + BINADE + (sig3 >> 2 & 0x7FFFFF) : exp + (sig3 >> 1 & 0x7FFFFF);
    const int w = (int)one, w15 = (int)more;
    return _mm256_setr_epi32(0, w - BINADE, w, w15, w + BINADE, w15 + BINADE, w + 2 * BINADE,
                             w15 + 2 * BINADE);
}

static inline void e2m1_eight(__m256i row, const uint8_t *codes, uint32_t *out)
{
    const __m256i c = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
    const __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(c, 3), 31);
    const __m256i word = _mm256_permutevar8x32_epi32(row, c); // reads the low three bits
    _mm256_storeu_si256((__m256i *)out, _mm256_or_si256(word, sign));
}

static void decode_mxfp4(const uint8_t *scales, const uint8_t *codes, size_t blocks, uint32_t *out)
{
    for (size_t b = 0; b < blocks; b++, codes += 32, out += 32) {
        if (scales[b] < 2 || scales[b] > 252) {
            mxv_block_dequantize(MXV_MXFP4, scales[b], codes, out);
            continue;
        }
        const __m256i row = e2m1_row((uint32_t)scales[b] << 23);
        for (size_t i = 0; i < 32; i += 8)
            e2m1_eight(row, codes + i, out + i);
    }
}

// The binary16 word of twice a magnitude times 2^9 times a scale, all integers, exact: 8 bits.
#define LOG2(n)                                                                                    \
    ((n) >= 128  ? 7                                                                               \
     : (n) >= 64 ? 6                                                                               \
     : (n) >= 32 ? 5                                                                               \
     : (n) >= 16 ? 4                                                                               \
     : (n) >= 8  ? 3                                                                               \
     : (n) >= 4  ? 2                                                                               \
                 : (n) / 2)
#define WORD(n, exp) ((n) == 0 ? 0 : (LOG2(n) + (exp) + 5) << 10 | ((n) << (10 - LOG2(n)) & 0x3FF))
#define ROW(sig, exp)                                                                              \
    {                                                                                              \
        0, WORD((sig), exp), WORD((sig)*2, exp), WORD((sig)*3, exp), WORD((sig)*4, exp),           \
            WORD((sig)*6, exp), WORD((sig)*8, exp), WORD((sig)*12, exp)                            \
    }
#define BINADE_ROWS(sig, exp)                                                                      \
    ROW(sig, exp), ROW(sig + 1, exp), ROW(sig + 2, exp), ROW(sig + 3, exp), ROW(sig + 4, exp),     \
        ROW(sig + 5, exp), ROW(sig + 6, exp), ROW(sig + 7, exp)

/// Products of the magnitudes with the scale of an E4M3 code, in binary16.
static const uint16_t nvfp4_rows[128][8] = {
    BINADE_ROWS(0, 0),  BINADE_ROWS(8, 0),  BINADE_ROWS(8, 1),  BINADE_ROWS(8, 2),
    BINADE_ROWS(8, 3),  BINADE_ROWS(8, 4),  BINADE_ROWS(8, 5),  BINADE_ROWS(8, 6),
    BINADE_ROWS(8, 7),  BINADE_ROWS(8, 8),  BINADE_ROWS(8, 9),  BINADE_ROWS(8, 10),
    BINADE_ROWS(8, 11), BINADE_ROWS(8, 12), BINADE_ROWS(8, 13), BINADE_ROWS(8, 14)};

static void decode_nvfp4(const uint8_t *scales, const uint8_t *codes, size_t blocks, uint32_t *out)
{
    for (size_t b = 0; b < blocks; b++, codes += 16, out += 16) {
        const uint32_t scale = scales[b] & 0x7F;
        if (scale == 0x7F) {
            mxv_block_dequantize(MXV_NVFP4, scales[b], codes, out);
            continue;
        }
        const __m256i row =
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)nvfp4_rows[scale]));
        const __m256i c = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)codes));
        // bytes 2 c and 2 c + 1 of the row
        const __m256i index =
            _mm256_add_epi16(_mm256_mullo_epi16(_mm256_and_si256(c, _mm256_set1_epi16(7)),
                                                _mm256_set1_epi16(0x0202)),
                             _mm256_set1_epi16(0x0100));
        const __m256i sign = _mm256_slli_epi16(_mm256_srli_epi16(c, 3), 15);
        const __m256i half = _mm256_or_si256(_mm256_shuffle_epi8(row, index), sign);
        const __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
        const __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
        _mm256_storeu_si256((__m256i *)out, _mm256_castps_si256(low));
        _mm256_storeu_si256((__m256i *)(out + 8), _mm256_castps_si256(high));
    }
}

/// Eight FP8 codes in 16-bit lanes to binary32 words, `shift` added to the exponent of finite
/// nonzero ones.
static inline __m256i fp8_eight(__m128i c, bool e4m3, __m256i shift)
{
    __m128i half = _mm_slli_epi16(c, 8);
    if (e4m3)
        half = _mm_or_si128(_mm_and_si128(half, _mm_set1_epi16((short)0x8000)),
                            _mm_slli_epi16(_mm_and_si128(c, _mm_set1_epi16(0x7F)), 7));
    const __m256i word = _mm256_castps_si256(_mm256_cvtph_ps(half));
    const __m256i u = _mm256_and_si256(word, _mm256_set1_epi32(0x7FFFFFFF));
    const __m256i zero = _mm256_cmpeq_epi32(u, _mm256_setzero_si256());
    if (e4m3) { // NaN is the word of 1.875
        const __m256i nan = _mm256_cmpeq_epi32(u, _mm256_set1_epi32(0x3FF00000));
        const __m256i sum = _mm256_add_epi32(word, _mm256_andnot_si256(zero, shift));
        return _mm256_blendv_epi8(sum, _mm256_set1_epi32(0x7FFFFFFF), nan);
    }
    const __m256i inf = _mm256_set1_epi32(0x7F800000);
    const __m256i special = _mm256_cmpgt_epi32(u, _mm256_set1_epi32(0x7F7FFFFF));
    const __m256i fixed = _mm256_or_si256(zero, special);
    const __m256i sum = _mm256_add_epi32(word, _mm256_andnot_si256(fixed, shift));
    return _mm256_blendv_epi8(sum, _mm256_set1_epi32(0x7FFFFFFF), _mm256_cmpgt_epi32(u, inf));
}

static inline void decode_fp8(enum mxv_block block, bool e4m3, struct scale_range range,
                              const uint8_t *scales, const uint8_t *codes, size_t blocks,
                              uint32_t *out)
{
    for (size_t b = 0; b < blocks; b++, codes += 32, out += 32) {
        if (scales[b] < range.least || scales[b] > range.most) {
            mxv_block_dequantize(block, scales[b], codes, out);
            continue;
        }
        const __m256i shift = _mm256_set1_epi32((scales[b] - 127 + (e4m3 ? 8 : 0)) * BINADE);
        for (size_t i = 0; i < 32; i += 8) {
            const __m128i c = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(codes + i)));
            _mm256_storeu_si256((__m256i *)(out + i), fp8_eight(c, e4m3, shift));
        }
    }
}

/// Eight FP6 codes in 16-bit lanes, of `frac_bits` fraction bits, the same way; none is special.
static inline __m256i fp6_eight(__m128i c, int frac_bits, __m256i shift)
{
    const __m128i sign = _mm_and_si128(_mm_slli_epi16(c, 10), _mm_set1_epi16(-0x8000));
    const __m128i half = _mm_slli_epi16(_mm_and_si128(c, _mm_set1_epi16(0x1F)), 10 - frac_bits);
    const __m256i word = _mm256_castps_si256(_mm256_cvtph_ps(_mm_or_si128(half, sign)));
    const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(word, 1), _mm256_setzero_si256());
    return _mm256_add_epi32(word, _mm256_andnot_si256(zero, shift));
}

/// Eight MXINT8 codes: integers of eight bits are converted exactly.
static inline __m256i int8_eight(__m128i c, __m256i shift)
{
    const __m256i n = _mm256_cvtepi8_epi32(c);
    const __m256i zero = _mm256_cmpeq_epi32(n, _mm256_setzero_si256());
    return _mm256_add_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(n)),
                            _mm256_andnot_si256(zero, shift));
}

/// FP6, or MXINT8 with frac_bits 0; binary exponent `offset` is missing in what is widened.
static inline void decode_small(enum mxv_block block, int frac_bits, int offset,
                                struct scale_range range, const uint8_t *scales,
                                const uint8_t *codes, size_t blocks, uint32_t *out)
{
    for (size_t b = 0; b < blocks; b++, codes += 32, out += 32) {
        if (scales[b] < range.least || scales[b] > range.most) {
            mxv_block_dequantize(block, scales[b], codes, out);
            continue;
        }
        const __m256i shift = _mm256_set1_epi32((scales[b] - 127 + offset) * BINADE);
        for (size_t i = 0; i < 32; i += 8) {
            const __m128i c = _mm_loadl_epi64((const __m128i *)(codes + i));
            _mm256_storeu_si256((__m256i *)(out + i),
                                frac_bits == 0 ? int8_eight(c, shift)
                                               : fp6_eight(_mm_cvtepu8_epi16(c), frac_bits, shift));
        }
    }
}

bool mxv_block_dequantize_avx2(enum mxv_block b, const uint8_t *scales, const uint8_t *codes,
                               size_t blocks, uint32_t *out)
{
    const struct scale_range e4m3 = {10, 246}, e5m2 = {17, 239};
    const struct scale_range e2m3 = {4, 252}, e3m2 = {5, 250}, int8 = {7, 253};
    switch (b) {
    case MXV_MXFP4:
        decode_mxfp4(scales, codes, blocks, out);
        return true;
    case MXV_NVFP4:
        decode_nvfp4(scales, codes, blocks, out);
        return true;
    case MXV_MXFP8_E4M3:
        decode_fp8(b, true, e4m3, scales, codes, blocks, out);
        return true;
    case MXV_MXFP8_E5M2:
        decode_fp8(b, false, e5m2, scales, codes, blocks, out);
        return true;
    case MXV_MXFP6_E2M3:
        decode_small(b, 3, 14, e2m3, scales, codes, blocks, out);
        return true;
    case MXV_MXFP6_E3M2:
        decode_small(b, 2, 12, e3m2, scales, codes, blocks, out);
        return true;
    case MXV_BLOCK_MXINT8:
        decode_small(b, 0, -6, int8, scales, codes, blocks, out);
        return true;
    default:
        return false;
    }
}
