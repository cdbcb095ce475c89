// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the AVX2 forms of block quantisation share: eight words a register, maxima, E2M1 codes by
// thresholds (block_plan.c), packing. Not part of the interface.
#ifndef MXVERIFY_BLOCK_ARRAY_LANES_H
#define MXVERIFY_BLOCK_ARRAY_LANES_H

#include <immintrin.h>

#include "block_array_internal.h"

MXV_EACH_INLINE __m256i all(int32_t v)
{
    return _mm256_set1_epi32(v);
}

/// Words i .. i + 7.
MXV_EACH_INLINE __m256i load(const uint32_t *x, const uint16_t *half, size_t i)
{
    if (half != NULL)
        return _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + i))));
    return _mm256_loadu_si256((const __m256i *)(x + i));
}

MXV_EACH_INLINE __m256i magnitude(__m256i x)
{
    return _mm256_and_si256(x, all(0x7FFFFFFF));
}

MXV_EACH_INLINE uint32_t largest(__m256i a)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/// The largest of each of eight registers.
MXV_EACH_INLINE __m256i largest_of_eight(const __m256i m[8])
{
    __m256i pair[4], four[2];
    for (int i = 0; i < 4; i++)
        pair[i] = _mm256_max_epu32(_mm256_unpacklo_epi32(m[2 * i], m[2 * i + 1]),
                                   _mm256_unpackhi_epi32(m[2 * i], m[2 * i + 1]));
    for (int i = 0; i < 2; i++)
        four[i] = _mm256_max_epu32(_mm256_unpacklo_epi64(pair[2 * i], pair[2 * i + 1]),
                                   _mm256_unpackhi_epi64(pair[2 * i], pair[2 * i + 1]));
    return _mm256_max_epu32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                            _mm256_permute2x128_si256(four[0], four[1], 0x31));
}

/// The low bytes of four registers in order.
MXV_EACH_INLINE __m256i pack(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i words = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    return _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// Sign at `bit` of the code, unless a zero loses it.
MXV_EACH_INLINE __m256i with_sign(__m256i x, __m256i code, int bit, bool drop)
{
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(x, 31 - bit), all(1 << bit));
    if (drop)
        sign = _mm256_and_si256(sign, _mm256_cmpgt_epi32(code, _mm256_setzero_si256()));
    return _mm256_or_si256(code, sign);
}

/// E2M1 codes: 7 less the thresholds that are not reached.
MXV_EACH_INLINE __m256i e2m1_codes(__m256i x, const __m256i least[7], bool drop)
{
    const __m256i u = magnitude(x);
    __m256i a = _mm256_cmpgt_epi32(least[0], u), b = _mm256_cmpgt_epi32(least[1], u);
    for (int k = 2; k < 6; k += 2) {
        a = _mm256_add_epi32(a, _mm256_cmpgt_epi32(least[k], u));
        b = _mm256_add_epi32(b, _mm256_cmpgt_epi32(least[k + 1], u));
    }
    a = _mm256_add_epi32(a, _mm256_cmpgt_epi32(least[6], u));
    return with_sign(x, _mm256_add_epi32(_mm256_add_epi32(a, b), all(7)), 3, drop);
}

/// Thresholds of a row, `shift` added to their exponents.
MXV_EACH_INLINE void load_thresholds(const uint32_t row[8], uint32_t shift, __m256i least[7])
{
    for (int k = 0; k < 7; k++)
        least[k] = all((int32_t)(row[k + 1] + shift));
}

MXV_EACH_INLINE bool ordinary(const struct mxv_block_plan *plan, uint32_t amax)
{
    return amax >= plan->amax_least && amax <= plan->amax_most;
}

#endif
