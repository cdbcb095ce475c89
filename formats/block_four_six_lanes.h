// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Sixteen elements of NVFP4 a register, in 16-bit lanes: words, signs, maxima, elements aligned to
// the block's top, codes. Not part of the interface.
#ifndef MXVERIFY_BLOCK_FOUR_SIX_LANES_H
#define MXVERIFY_BLOCK_FOUR_SIX_LANES_H

#include "block_array_lanes.h"

enum { EIGHT = 8, SIZE = 16, SIX = 0, FOUR = 1, OPEN = 2 };

/// Words of a block, eight and eight, of binary32 or, widened, binary16.
struct sixteen {
    __m256i low, high;
};

MXV_EACH_INLINE struct sixteen load_block(const void *x, bool half, size_t block)
{
    const uint32_t *words = half ? NULL : x;
    const uint16_t *halves = half ? x : NULL;
    struct sixteen s;
    s.low = load(words, halves, block * SIZE);
    s.high = load(words, halves, block * SIZE + 8);
    return s;
}

/// Binary16 words of a block.
MXV_EACH_INLINE __m256i load_halves(const void *x, size_t block)
{
    return _mm256_loadu_si256((const __m256i *)((const uint16_t *)x + block * SIZE));
}

/// Signs of a block's elements in 16-bit lanes, in the order of aligned().
MXV_EACH_INLINE __m256i signs_of(const void *x, bool half, size_t block)
{
    if (half)
        return load_halves(x, block);
    const struct sixteen s = load_block(x, false, block);
    return _mm256_packs_epi32(s.low, s.high);
}

/// From the order of two blocks packed from aligned() to that of elements.
MXV_EACH_INLINE __m256i in_order(__m256i codes, bool half)
{
    return half ? _mm256_permute4x64_epi64(codes, 0xD8)
                : _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// The low byte of each word.
MXV_EACH_INLINE __m128i eight_bytes(__m256i words)
{
    const __m256i bytes = _mm256_shuffle_epi8(
        words, _mm256_broadcastsi128_si256(
                   _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
}

/// The largest 16-bit lane of each of eight registers.
MXV_EACH_INLINE __m128i largest_halves(const __m256i m[8])
{
    __m256i pair[4], four[2];
    for (int i = 0; i < 4; i++)
        pair[i] = _mm256_max_epu16(_mm256_unpacklo_epi16(m[2 * i], m[2 * i + 1]),
                                   _mm256_unpackhi_epi16(m[2 * i], m[2 * i + 1]));
    for (int i = 0; i < 2; i++)
        four[i] = _mm256_max_epu16(_mm256_unpacklo_epi32(pair[2 * i], pair[2 * i + 1]),
                                   _mm256_unpackhi_epi32(pair[2 * i], pair[2 * i + 1]));
    const __m256i eight = _mm256_max_epu16(_mm256_unpacklo_epi64(four[0], four[1]),
                                           _mm256_unpackhi_epi64(four[0], four[1]));
    return _mm_max_epu16(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}

/// The sum of the 32-bit lanes of each of eight registers.
MXV_EACH_INLINE __m256i sum_of_eight(const __m256i m[8])
{
    __m256i pair[4], four[2];
    for (int i = 0; i < 4; i++)
        pair[i] = _mm256_add_epi32(_mm256_unpacklo_epi32(m[2 * i], m[2 * i + 1]),
                                   _mm256_unpackhi_epi32(m[2 * i], m[2 * i + 1]));
    for (int i = 0; i < 2; i++)
        four[i] = _mm256_add_epi32(_mm256_unpacklo_epi64(pair[2 * i], pair[2 * i + 1]),
                                   _mm256_unpackhi_epi64(pair[2 * i], pair[2 * i + 1]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                            _mm256_permute2x128_si256(four[0], four[1], 0x31));
}

/// Magnitude words, binary32, of the maxima of blocks `block` .. block + 7.
MXV_EACH_INLINE __m256i maxima_of(const void *x, bool half, size_t block)
{
    __m256i m[EIGHT];
    for (size_t i = 0; i < EIGHT; i++) {
        if (half) {
            m[i] = _mm256_and_si256(load_halves(x, block + i), _mm256_set1_epi16(0x7FFF));
            continue;
        }
        const struct sixteen s = load_block(x, false, block + i);
        m[i] = _mm256_max_epu32(magnitude(s.low), magnitude(s.high));
    }
    return half ? _mm256_castps_si256(_mm256_cvtph_ps(largest_halves(m))) : largest_of_eight(m);
}

/// |x| in units of 2^(t - 158), t the field of top_word, below 2^16: one more than its integer
/// part. top_word less a magnitude word is t less its field, above bit 23.
MXV_EACH_INLINE __m256i aligned_words(struct sixteen s, uint32_t top_word)
{
    const __m256i top = all((int32_t)0x80000000), from = all((int32_t)top_word);
    const __m256i low = _mm256_or_si256(_mm256_slli_epi32(s.low, 8), top);
    const __m256i high = _mm256_or_si256(_mm256_slli_epi32(s.high, 8), top);
    const __m256i low_shift = _mm256_srli_epi32(_mm256_sub_epi32(from, magnitude(s.low)), 23);
    const __m256i high_shift = _mm256_srli_epi32(_mm256_sub_epi32(from, magnitude(s.high)), 23);
    return _mm256_add_epi16(
        _mm256_packus_epi32(_mm256_srlv_epi32(low, low_shift), _mm256_srlv_epi32(high, high_shift)),
        _mm256_set1_epi16(1));
}

/// The same of binary16 words, rounded up. With s the significand in the upper bits of a lane and d
/// binades to the top, s / 2^d is s less the upper half of s * (2^16 - 2^(16 - d)). k is 15 - d, or
/// 0. Bytes of the factor: by k the upper, by k + 8 the lower, which is 0 from k = 8 on.
MXV_EACH_INLINE __m256i aligned_halves(__m256i x, uint32_t top_half)
{
    const __m256i factors = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -2, -4, -8, -16, -32, -64, -128, 0));
    const __m256i biased = _mm256_or_si256(x, _mm256_set1_epi16(-0x8000));
    const __m256i field = // 32 more than a binary16 field, that of subnormals being 1
        _mm256_max_epu16(_mm256_srli_epi16(biased, 10), _mm256_set1_epi16(33));
    const __m256i implicit =
        _mm256_xor_si256(_mm256_slli_epi16(field, 15), _mm256_set1_epi16(-0x8000));
    const __m256i sig = _mm256_xor_si256(_mm256_slli_epi16(biased, 5), implicit);
    const __m256i k = _mm256_subs_epu16(field, all((int32_t)top_half));
    const __m256i index = _mm256_add_epi16(_mm256_mullo_epi16(k, _mm256_set1_epi16(0x0101)),
                                           _mm256_set1_epi16(0x0078));
    return _mm256_sub_epi16(sig, _mm256_mulhi_epu16(sig, _mm256_shuffle_epi8(factors, index)));
}

#endif
