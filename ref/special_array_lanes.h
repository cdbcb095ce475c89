// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ex2 unit of special_unit.c in 32-bit lanes, one text for the vectors of MXV_LANE_BYTES (32 or
// 64) bytes; the including file has the table look-up:
//
//   s = trunc(x * 2^23)            7.23 fixed point, exact but for the bits the unit drops
//   acc >> 15 = ((C0 + ((bias + (C1 - 2^15) * rest + C2 * S) >> 13)) >> 2) + rest
//
// as C0 << 13 and 2^15 * rest are multiples of 2^13, and 4 * rest one of 4; the inner sum stays
// below 2^31 for every row (|C1 - 2^15| < 12169, rest < 2^17, C2 * S < 2^25). No row reaches a
// carry out of the significand, so the exponent's constant is kept in the table above C0, and the
// row's index is subtracted there, so that the whole fraction may be added in place of rest.
//
// With rest = 2^9 h + l the truncated square S is (h^2 >> 1) + sum over i = 1..7 of
// h_i * (l >> (9 - i)): products of l alone and the diagonal of h_0 lie below 2^19. With L = l >> 2
// the sum is that of (h & 2^i) * (L & -2^(7 - i)), over 2^7: each product is a multiple of 2^7, and
// all seven are below 2^15. S < 2^15, so the squares of two vectors share one in 16-bit lanes.
// Arguments below -256 and NaN convert to the most negative integer, whose exponent gives zero like
// that of any x < -126. exhaustive.special_array fails if a word is wrong.
#ifndef MXV_REF_SPECIAL_ARRAY_LANES_H
#define MXV_REF_SPECIAL_ARRAY_LANES_H

#include "special_array.h"

#include <immintrin.h>
#include <stdbool.h>

#define MXV_INLINE static inline __attribute__((always_inline))
#define MXV_VECTOR __attribute__((vector_size(MXV_LANE_BYTES)))

typedef int32_t vi MXV_VECTOR;
typedef uint32_t vu MXV_VECTOR;
typedef uint16_t vw MXV_VECTOR;

// Words of a table row: C0 above the exponent of 1.0 less one, the index taken out; C2 and C1.
#define FIRST_WORD(index, c0) ((c0) - ((uint32_t)(index) << 19) + (126u << 25))
#define SECOND_WORD(c1, c2)   ((uint32_t)(((c1)-32768) * 65536) | (c2))

MXV_INLINE vi all(int32_t x)
{
    return x - (vi){0};
}

// A constant that stays in its register or in memory: not made again in every round of a loop.
MXV_INLINE vi constant(int32_t x)
{
    vi v = all(x);
    __asm__("" : "+x"(v));
    return v;
}

// Pairs of bytes a (unsigned) and b (signed) multiplied and added, in 16-bit lanes.
MXV_INLINE vi add_byte_products(vi a, vi b)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_maddubs_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_maddubs_epi16((__m256i)a, (__m256i)b);
#endif
}

// The same of 16-bit lanes, both signed, in 32-bit lanes.
MXV_INLINE vi add_short_products(vi a, vi b)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
}

// Both bytes of a 16-bit lane become its low (high) one.
MXV_INLINE vi twice_byte(vi a, bool high)
{
    const int64_t low0 = 0x0606040402020000, low8 = 0x0E0E0C0C0A0A0808;
    const int64_t odd = high ? 0x0101010101010101 : 0;
#if MXV_LANE_BYTES == 64
    const __m128i order = _mm_set_epi64x(low8 + odd, low0 + odd);
    return (vi)_mm512_shuffle_epi8((__m512i)a, _mm512_broadcast_i32x4(order));
#else
    return (vi)_mm256_shuffle_epi8(
        (__m256i)a, _mm256_setr_epi64x(low0 + odd, low8 + odd, low0 + odd, low8 + odd));
#endif
}

MXV_INLINE vi not_negative(vi a)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_max_epi32((__m512i)a, _mm512_setzero_si512());
#else
    return (vi)_mm256_max_epi32((__m256i)a, _mm256_setzero_si256());
#endif
}

// 16-bit lanes: bits 2 .. 17 of a in the low half of a lane, of b in the high one.
MXV_INLINE vi halves(vi a, vi b)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_mask_blend_epi16(0xAAAAAAAA, (__m512i)((vu)a >> 2), (__m512i)((vu)b << 14));
#else
    return (vi)_mm256_blend_epi16((__m256i)((vu)a >> 2), (__m256i)((vu)b << 14), 0xAA);
#endif
}

// Lanes of `word` where a > b, else 0.
MXV_INLINE vi zero_unless_greater(vi a, vi b, vi word)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_maskz_mov_epi32(_mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b),
                                      (__m512i)word);
#else
    return word & (a > b);
#endif
}

// 7.23 fixed point of binary32 words, negative for negative ones.
MXV_INLINE vi fixed_point(vi x)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_cvttps_epi32(_mm512_mul_ps((__m512)x, _mm512_set1_ps(0x1p23f)));
#else
    return (vi)_mm256_cvttps_epi32(_mm256_mul_ps((__m256)x, _mm256_set1_ps(0x1p23f)));
#endif
}

// Table words of the rows of one vector.
struct row_words {
    vi first, second;
};

// Constants of the loop.
struct numbers {
    vi fraction, rest, row, bias, low, least;
    vi h[4], l[4]; // two bits of h each, and the bits of L that they go with
};

MXV_INLINE struct numbers prepare(void)
{
    static const int32_t h[4] = {0x4080, 0x1020, 0x0408, 0x0002};
    static const int32_t l[4] = {0x7E7F, 0x787C, 0x6070, 0x0040};
    struct numbers n;
    n.fraction = constant(0x7FFFFF);
    n.rest = constant(0x1FFFF);
    n.row = constant(63);
    n.bias = constant(0x17E2);
    n.low = constant(0xFFFF);
    n.least = constant(-126 * (1 << 23) - 1);
    for (int i = 0; i < 4; i++) {
        n.h[i] = constant(h[i] * 0x10001);
        n.l[i] = constant(l[i] * 0x10001);
    }
    return n;
}

// Fixed point of words x; a negative number that is no integer has the one's complement of its
// fraction, hence one less.
MXV_INLINE vi argument(const struct numbers *n, vi x)
{
    const vi s = fixed_point(x);
    return (s & ~n->fraction) + not_negative((s & n->fraction) + (s >> 31));
}

// Truncated squares of the low 17 bits of a (low halves) and b (high halves).
MXV_INLINE vi squares(const struct numbers *n, vi a, vi b)
{
    const vi both = halves(a, b); // h above L
    const vw top = (vw)both << 1; // h in the high byte
    const vi h = twice_byte((vi)top, true), l = twice_byte(both, false);
    const vw whole = top >> 8;
    vw sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = (vw)add_byte_products(h & n->h[i], l & n->l[i]);
    return (vi)((whole * whole >> 1) + (((sum[0] + sum[1]) + (sum[2] + sum[3])) >> 7));
}

// Result words from argument and square; zero below -126, not yet special (and of any value where
// they will be, hence unsigned).
MXV_INLINE vi combine(const struct numbers *n, struct row_words row, vi g, vi square)
{
    const vi inner =
        (row.second >> 16) * (g & n->rest) + (add_short_products(row.second, square) + n->bias);
    const vu sum = ((vu)row.first + (vu)(inner >> 13)) >> 2;
    return zero_unless_greater(g, n->least, (vi)(sum + (vu)g));
}
#endif
