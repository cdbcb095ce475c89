// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ex2 unit, sixteen words a vector, two vectors at a time; the table lies in eight registers.
// See special_array_lanes.h. exhaustive.special_array fails if a word is wrong.
#define MXV_LANE_BYTES 64
#include "special_array_lanes.h"

enum { FIRST_ROW = __COUNTER__ + 1 };
#define MXV_EX2(c0, c1, c2) FIRST_WORD(__COUNTER__ - FIRST_ROW, c0),
#define MXV_RCP(c0, c1, c2)
#define MXV_LG2(c0, c1, c2)
static const uint32_t first_words[64] = {
#include "special_table.def"
};

#undef MXV_EX2
#define MXV_EX2(c0, c1, c2) SECOND_WORD(c1, c2),
static const uint32_t second_words[64] = {
#include "special_table.def"
};

struct table {
    __m512i part[4];
};

MXV_INLINE struct table load_table(const uint32_t *words)
{
    struct table t;
    for (int i = 0; i < 4; i++)
        t.part[i] = _mm512_loadu_si512(words + 16 * i);
    return t;
}

MXV_INLINE vi look_up_word(const struct table *t, __m512i index)
{
    const __mmask16 upper = _mm512_test_epi32_mask(index, _mm512_set1_epi32(32));
    const __m512i low = _mm512_permutex2var_epi32(t->part[0], index, t->part[1]);
    const __m512i high = _mm512_permutex2var_epi32(t->part[2], index, t->part[3]);
    return (vi)_mm512_mask_mov_epi32(low, upper, high);
}

MXV_INLINE struct row_words look_up(const struct table *first, const struct table *second, vi g)
{
    // permutations read the low five bits, the test reads the sixth
    const __m512i index = _mm512_srli_epi32((__m512i)g, 17);
    struct row_words row;
    row.first = look_up_word(first, index);
    row.second = look_up_word(second, index);
    return row;
}

MXV_INLINE __m512i specials(vi x, vi word)
{
    const __mmask16 large = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(128.0f), _CMP_NLT_UQ);
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    const __m512i v = _mm512_mask_mov_epi32((__m512i)word, large, _mm512_set1_epi32(0x7F800000));
    return _mm512_mask_mov_epi32(v, nan, _mm512_set1_epi32(0x7FFFFFFF));
}

MXV_INLINE __mmask16 mask_of(size_t n)
{
    return (__mmask16)(n >= 16 ? 0xFFFF : (1u << n) - 1);
}

void mxv_unit_ex2_avx512(const uint32_t *x, size_t n, uint32_t *out)
{
    const struct numbers numbers = prepare();
    const struct table first = load_table(first_words), second = load_table(second_words);
    for (size_t i = 0; i < n; i += 32) {
        const size_t left = n - i;
        const __mmask16 low = mask_of(left), high = mask_of(left < 16 ? 0 : left - 16);
        const vi xa = (vi)_mm512_maskz_loadu_epi32(low, x + i);
        const vi xb = (vi)_mm512_maskz_loadu_epi32(high, x + i + 16);
        const vi ga = argument(&numbers, xa), gb = argument(&numbers, xb);
        const vi square = squares(&numbers, ga, gb);
        const vi a = combine(&numbers, look_up(&first, &second, ga), ga, square & numbers.low);
        const vi b = combine(&numbers, look_up(&first, &second, gb), gb, (vi)((vu)square >> 16));
        _mm512_mask_storeu_epi32(out + i, low, specials(xa, a));
        _mm512_mask_storeu_epi32(out + i + 16, high, specials(xb, b));
    }
}
