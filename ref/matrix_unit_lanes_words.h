// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations on 16-bit words for matrix_unit_lanes_short.h, AVX2 and AVX-512 (with VNNI where
// MXV_DOT_BYTES says so). Unpacking and packing work inside 128-bit parts: a vector of words holds,
// part by part, four lanes of one vector of 32-bit lanes and four of a second.
#ifndef MXV_REF_MATRIX_UNIT_LANES_WORDS_H
#define MXV_REF_MATRIX_UNIT_LANES_WORDS_H

#include "matrix_unit_lanes.h"

// scale_words(term, d): unsigned words to floor(term * 2^(-SPARE_BITS - (d - INDEX_BIAS))), byte d
// - INDEX_BIAS in [0, 143]; bytes of d in the order of the words of both vectors.
#if MXV_LANE_BYTES == 64
enum { SPARE_BITS = 0, INDEX_BIAS = 0 };

MXV_INLINE void scale_words(vw term[2], vb d)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i low = _mm512_unpacklo_epi8((__m512i)d, zero);
    __m512i high = _mm512_unpackhi_epi8((__m512i)d, zero);
    term[0] = (vw)_mm512_srlv_epi16((__m512i)term[0], low);
    term[1] = (vw)_mm512_srlv_epi16((__m512i)term[1], high);
}

// Unsigned words.
MXV_INLINE void widen_words(vh words, vi out[2])
{
    const __m512i zero = _mm512_setzero_si512();
    out[0] = (vi)_mm512_unpacklo_epi16((__m512i)words, zero);
    out[1] = (vi)_mm512_unpackhi_epi16((__m512i)words, zero);
}

// The low byte of each word in both its bytes.
MXV_INLINE vb repeat_low_bytes(vh words)
{
    const __m512i low =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14));
    return (vb)_mm512_shuffle_epi8((__m512i)words, low);
}

// Saturates.
MXV_INLINE vh join_words(const vi in[2])
{
    return (vh)_mm512_packs_epi32((__m512i)in[0], (__m512i)in[1]);
}

// Words are 0 or all ones.
MXV_INLINE bool any_word(vh words)
{
    return _mm512_movepi16_mask((__m512i)words) != 0;
}

// sum + the words of both halves times their signs, 1 or -1.
MXV_INLINE vi add_signed_pairs(vi sum, vw words, vi signs)
{
#if defined(MXV_DOT_BYTES)
    return (vi)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)words, (__m512i)signs);
#else
    return sum + (vi)_mm512_madd_epi16((__m512i)words, (__m512i)signs);
#endif
}
#else
// The look-up in 16 bytes takes 4 bits of an index and gives 0 if bit 7 is set, as it is from 0x70
// + 16 up to 0x70 + 143.
enum { SPARE_BITS = 1, INDEX_BIAS = 0x70 };

MXV_INLINE void scale_words(vw term[2], vb d)
{
    const __m256i high_bytes = _mm256_broadcastsi128_si256( // of 2^(15 - d)
        _mm_setr_epi8(-128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i low_bytes = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4, 2, 1));
    __m256i high = _mm256_shuffle_epi8(high_bytes, (__m256i)d);
    __m256i low = _mm256_shuffle_epi8(low_bytes, (__m256i)d);
    term[0] = (vw)_mm256_mulhi_epu16((__m256i)term[0], _mm256_unpacklo_epi8(low, high));
    term[1] = (vw)_mm256_mulhi_epu16((__m256i)term[1], _mm256_unpackhi_epi8(low, high));
}

MXV_INLINE void widen_words(vh words, vi out[2])
{
    const __m256i zero = _mm256_setzero_si256();
    out[0] = (vi)_mm256_unpacklo_epi16((__m256i)words, zero);
    out[1] = (vi)_mm256_unpackhi_epi16((__m256i)words, zero);
}

MXV_INLINE vb repeat_low_bytes(vh words)
{
    const __m256i low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14));
    return (vb)_mm256_shuffle_epi8((__m256i)words, low);
}

MXV_INLINE vh join_words(const vi in[2])
{
    return (vh)_mm256_packs_epi32((__m256i)in[0], (__m256i)in[1]);
}

// Words are 0 or all ones.
MXV_INLINE bool any_word(vh words)
{
    return !_mm256_testz_si256((__m256i)words, (__m256i)words);
}

MXV_INLINE vi add_signed_pairs(vi sum, vw words, vi signs)
{
    return sum + (vi)_mm256_madd_epi16((__m256i)words, (__m256i)signs);
}
#endif

#endif
