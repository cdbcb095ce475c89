// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ex2 unit of special_unit.c, eight words a register, in 32-bit arithmetic:
//
//   s = trunc(x * 2^23)                  7.23 fixed point, exact but for the bits the unit drops
//   acc >> 15 = (C0 + 4 * rest + ((bias + (C1 - 2^15) * rest + C2 * S) >> 13)) >> 2
//
// as C0 << 13 and 2^15 * rest are multiples of 2^13; the inner sum stays below 2^31 for every row
// (|C1 - 2^15| < 12169, rest < 2^17, C2 * S < 2^25). With rest = 2^9 h + l the truncated square is
// (h^2 >> 1) + sum over i = 1..7 of h_i * (l >> (9 - i)): products of l alone and the diagonal of
// h_0 lie below 2^19. S < 2^15, so two squares share a register in 16-bit lanes, and
// pmulhuw((h & 2^i), l << 7) is h_i * (l >> (9 - i)). No row reaches a carry out of the
// significand, so the exponent's constant is kept in the table, above C0. Arguments below -256 and
// NaN convert to the most negative integer, whose exponent gives zero like that of any x < -126.
// exhaustive.special_array fails if a word is wrong.
#include "special_array.h"

#include <immintrin.h>
#include <string.h>

#include "special_unit.h"

// C0 with the exponent of 1.0 less one; C1 - 2^15 and C2.
#define MXV_EX2(c0, c1, c2) {(c0) + (126u << 25), (((c1)-32768) & 0xFFFF) | (c2) << 16},
#define MXV_RCP(c0, c1, c2)
#define MXV_LG2(c0, c1, c2)
static const uint32_t rows[64][2] = {
#include "special_table.def"
};

static inline __m256i all(int v)
{
    return _mm256_set1_epi32(v);
}

// 7.23 fixed point of x, negative for negative x.
static inline __m256i fixed_point(__m256 x)
{
    return _mm256_cvttps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(0x1p23f)));
}

// The 23-bit fraction, one's complement for negative arguments unless it is zero.
static inline __m256i fraction(__m256i s)
{
    const __m256i f = _mm256_and_si256(s, all(0x7FFFFF));
    return _mm256_max_epi32(_mm256_add_epi32(f, _mm256_srai_epi32(s, 31)), _mm256_setzero_si256());
}

// Truncated squares of the low 17 bits of a (low halves) and b (high halves).
static inline __m256i squares(__m256i a, __m256i b)
{
    const __m256i h = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(a, 9), all(0xFF)),
                                      _mm256_and_si256(_mm256_slli_epi32(b, 7), all(0xFF0000)));
    const __m256i l = _mm256_or_si256(_mm256_and_si256(_mm256_slli_epi32(a, 7), all(0xFF80)),
                                      _mm256_slli_epi32(b, 23));
    __m256i sum = _mm256_srli_epi16(_mm256_mullo_epi16(h, h), 1);
    for (int i = 1; i < 8; i++) {
        const __m256i bit = _mm256_and_si256(h, _mm256_set1_epi16((short)(1 << i)));
        sum = _mm256_add_epi16(sum, _mm256_mulhi_epu16(bit, l));
    }
    return sum;
}

// Rows of the eight indices: first words in *c0, second words in *c12.
static inline void look_up(__m256i index, __m256i *c0, __m256i *c12)
{
    uint32_t i[8];
    _mm256_storeu_si256((__m256i *)i, index);
    const __m128i a = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)rows[i[0]]),
                                         _mm_loadl_epi64((const __m128i *)rows[i[1]]));
    const __m128i b = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)rows[i[2]]),
                                         _mm_loadl_epi64((const __m128i *)rows[i[3]]));
    const __m128i c = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)rows[i[4]]),
                                         _mm_loadl_epi64((const __m128i *)rows[i[5]]));
    const __m128i d = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)rows[i[6]]),
                                         _mm_loadl_epi64((const __m128i *)rows[i[7]]));
    const __m256 ac = _mm256_castsi256_ps(_mm256_set_m128i(c, a));
    const __m256 bd = _mm256_castsi256_ps(_mm256_set_m128i(d, b));
    *c0 = _mm256_castps_si256(_mm256_shuffle_ps(ac, bd, 0x88));
    *c12 = _mm256_castps_si256(_mm256_shuffle_ps(ac, bd, 0xDD));
}

// Result words from fixed point, fraction and the square in the high halves of `square`.
static inline __m256i combine(__m256i s, __m256i f, __m256i square)
{
    __m256i c0, c12;
    look_up(_mm256_srli_epi32(f, 17), &c0, &c12);
    const __m256i rest = _mm256_and_si256(f, all(0x1FFFF));
    const __m256i c1 = _mm256_srai_epi32(_mm256_slli_epi32(c12, 16), 16);
    __m256i sum = _mm256_add_epi32(_mm256_mullo_epi32(c1, rest), _mm256_madd_epi16(c12, square));
    sum = _mm256_srai_epi32(_mm256_add_epi32(sum, all(0x17E2)), 13);
    sum = _mm256_add_epi32(_mm256_add_epi32(c0, _mm256_slli_epi32(rest, 2)), sum);
    const __m256i power = _mm256_andnot_si256(all(0x7FFFFF), s);
    const __m256i word = _mm256_add_epi32(_mm256_srli_epi32(sum, 2), power);
    return _mm256_and_si256(word, _mm256_cmpgt_epi32(s, all(-126 * (1 << 23) - 1)));
}

// Words of arguments that are NaN, or 128 and more; `word` for the others.
static inline __m256i specials(__m256 x, __m256 large, __m256i word)
{
    const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    word = _mm256_blendv_epi8(word, all(0x7F800000), _mm256_castps_si256(large));
    return _mm256_blendv_epi8(word, all(0x7FFFFFFF), _mm256_castps_si256(nan));
}

static inline __m256 not_below_128(__m256 x)
{
    return _mm256_cmp_ps(x, _mm256_set1_ps(128.0f), _CMP_NLT_UQ);
}

static inline void sixteen(const uint32_t *x, uint32_t *out)
{
    const __m256 xa = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)x));
    const __m256 xb = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(x + 8)));
    const __m256i sa = fixed_point(xa), sb = fixed_point(xb);
    const __m256i fa = fraction(sa), fb = fraction(sb);
    const __m256i square = squares(fa, fb);
    __m256i a = combine(sa, fa, _mm256_slli_epi32(square, 16));
    __m256i b = combine(sb, fb, _mm256_and_si256(square, all((int)0xFFFF0000)));
    const __m256 la = not_below_128(xa), lb = not_below_128(xb);
    if (_mm256_movemask_ps(_mm256_or_ps(la, lb))) {
        a = specials(xa, la, a);
        b = specials(xb, lb, b);
    }
    _mm256_storeu_si256((__m256i *)out, a);
    _mm256_storeu_si256((__m256i *)(out + 8), b);
}

void mxv_unit_ex2_avx2(const uint32_t *x, size_t n, uint32_t *out)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        sixteen(x + i, out + i);
    if (i < n) {
        uint32_t words[16] = {0};
        memcpy(words, x + i, (n - i) * sizeof *words);
        sixteen(words, words);
        memcpy(out + i, words, (n - i) * sizeof *words);
    }
}
