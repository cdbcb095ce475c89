// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ex2 unit, sixteen words a register: the arithmetic of special_array_avx2.c, the table in
// eight registers instead of memory. exhaustive.special_array fails if a word is wrong.
#include "special_array.h"

#include <immintrin.h>

#include "special_unit.h"

#define MXV_EX2(c0, c1, c2) (c0) + (126u << 25),
#define MXV_RCP(c0, c1, c2)
#define MXV_LG2(c0, c1, c2)
static const uint32_t first_words[64] = {
#include "special_table.def"
};

#undef MXV_EX2
#define MXV_EX2(c0, c1, c2) (((c1)-32768) & 0xFFFF) | (c2) << 16,
static const uint32_t second_words[64] = {
#include "special_table.def"
};

struct table {
    __m512i part[4];
};

static inline struct table load_table(const uint32_t *words)
{
    struct table t;
    for (int i = 0; i < 4; i++)
        t.part[i] = _mm512_loadu_si512(words + 16 * i);
    return t;
}

static inline __m512i look_up(const struct table *t, __m512i index)
{
    const __mmask16 upper = _mm512_test_epi32_mask(index, _mm512_set1_epi32(32));
    const __m512i low = _mm512_permutex2var_epi32(t->part[0], index, t->part[1]);
    const __m512i high = _mm512_permutex2var_epi32(t->part[2], index, t->part[3]);
    return _mm512_mask_mov_epi32(low, upper, high);
}

static inline __m512i all(int v)
{
    return _mm512_set1_epi32(v);
}

static inline __m512i fixed_point(__m512 x)
{
    return _mm512_cvttps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(0x1p23f)));
}

static inline __m512i fraction(__m512i s)
{
    const __m512i f = _mm512_and_si512(s, all(0x7FFFFF));
    return _mm512_max_epi32(_mm512_add_epi32(f, _mm512_srai_epi32(s, 31)), _mm512_setzero_si512());
}

static inline __m512i squares(__m512i a, __m512i b)
{
    const __m512i h = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(a, 9), all(0xFF)),
                                      _mm512_and_si512(_mm512_slli_epi32(b, 7), all(0xFF0000)));
    const __m512i l = _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi32(a, 7), all(0xFF80)),
                                      _mm512_slli_epi32(b, 23));
    __m512i sum = _mm512_srli_epi16(_mm512_mullo_epi16(h, h), 1);
    for (int i = 1; i < 8; i++) {
        const __m512i bit = _mm512_and_si512(h, _mm512_set1_epi16((short)(1 << i)));
        sum = _mm512_add_epi16(sum, _mm512_mulhi_epu16(bit, l));
    }
    return sum;
}

static inline __m512i combine(const struct table *first, const struct table *second, __m512i s,
                              __m512i f, __m512i square)
{
    const __m512i index = _mm512_srli_epi32(f, 17);
    const __m512i c0 = look_up(first, index), c12 = look_up(second, index);
    const __m512i rest = _mm512_and_si512(f, all(0x1FFFF));
    const __m512i c1 = _mm512_srai_epi32(_mm512_slli_epi32(c12, 16), 16);
    __m512i sum = _mm512_add_epi32(_mm512_mullo_epi32(c1, rest), _mm512_madd_epi16(c12, square));
    sum = _mm512_srai_epi32(_mm512_add_epi32(sum, all(0x17E2)), 13);
    sum = _mm512_add_epi32(_mm512_add_epi32(c0, _mm512_slli_epi32(rest, 2)), sum);
    const __m512i power = _mm512_andnot_si512(all(0x7FFFFF), s);
    const __m512i word = _mm512_add_epi32(_mm512_srli_epi32(sum, 2), power);
    const __mmask16 normal = _mm512_cmpgt_epi32_mask(s, all(-126 * (1 << 23) - 1));
    return _mm512_maskz_mov_epi32(normal, word);
}

static inline __m512i specials(__m512 x, __m512i word)
{
    const __mmask16 large = _mm512_cmp_ps_mask(x, _mm512_set1_ps(128.0f), _CMP_NLT_UQ);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    word = _mm512_mask_mov_epi32(word, large, all(0x7F800000));
    return _mm512_mask_mov_epi32(word, nan, all(0x7FFFFFFF));
}

static inline __mmask16 mask_of(size_t n)
{
    return (__mmask16)(n >= 16 ? 0xFFFF : (1u << n) - 1);
}

void mxv_unit_ex2_avx512(const uint32_t *x, size_t n, uint32_t *out)
{
    const struct table first = load_table(first_words), second = load_table(second_words);
    for (size_t i = 0; i < n; i += 32) {
        const size_t left = n - i;
        const __mmask16 low = mask_of(left), high = mask_of(left < 16 ? 0 : left - 16);
        const __m512 xa = _mm512_castsi512_ps(_mm512_maskz_loadu_epi32(low, x + i));
        const __m512 xb = _mm512_castsi512_ps(_mm512_maskz_loadu_epi32(high, x + i + 16));
        const __m512i sa = fixed_point(xa), sb = fixed_point(xb);
        const __m512i fa = fraction(sa), fb = fraction(sb);
        const __m512i square = squares(fa, fb);
        const __m512i a = combine(&first, &second, sa, fa, _mm512_slli_epi32(square, 16));
        const __m512i b =
            combine(&first, &second, sb, fb, _mm512_and_si512(square, all((int)0xFFFF0000)));
        _mm512_mask_storeu_epi32(out + i, low, specials(xa, a));
        _mm512_mask_storeu_epi32(out + i + 16, high, specials(xb, b));
    }
}
