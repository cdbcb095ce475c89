// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 codes of a group, eight elements a register, integers only. See mxverify/block_array.h.
//
// With ea the exponent of amax, X = |x| in units of 2^(ea - 30) is a 31-bit integer, exact for
// |x| >= 2^(ea - 7) and less than one unit too small below. Times the significand of the multiplier
// (rcp, mul127), or times floor(2^54 / significand of the scale) where the policy divides, it gives
// the quotient in units of 2^-24, at most eight too small. The roundings to nearest differ from
// half away from zero, and these quotients from those of fl32, within twice 2^-18 of a step only:
// quotients within 2^-15 of a tie are given to mxv_int8_code. Packing saturates. Decoding is in
// int8_decode_avx2.c. unit.int8_array fails if this file is wrong.
#include <immintrin.h>

#include "block_array_internal.h"

#define WORD_127 UINT32_C(0x42FE0000)

enum { CHUNK = 32 };

/// How a group's codes are formed.
struct group {
    const struct mxv_int8_policy *policy;
    uint32_t amax, scale;
    int amax_field;
    uint32_t multiplier;
    int shift; ///< bits of X * multiplier below the integer part, 45 to 55
};

/// The same for the loop; `window` is what makes a quotient close to a tie.
struct vectors {
    __m256i top, field, multiplier, round, fraction, window, lowest;
    __m128i even_shift, odd_shift;
};

static inline __m256i all(int32_t v)
{
    return _mm256_set1_epi32(v);
}

/// Words i .. i + 7 of binary16 or binary32 words x.
MXV_EACH_INLINE __m256i load(const void *x, bool half, size_t i)
{
    if (half)
        return _mm256_castps_si256(
            _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)((const uint16_t *)x + i))));
    return _mm256_loadu_si256((const __m256i *)((const uint32_t *)x + i));
}

static uint32_t amax_of_words(const uint32_t *x, size_t count)
{
    __m256i m = _mm256_setzero_si256();
    size_t i = 0;
#pragma GCC unroll 4
    for (; i + 8 <= count; i += 8)
        m = _mm256_max_epu32(m, _mm256_and_si256(load(x, false, i), all(0x7FFFFFFF)));
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1));
    uint32_t amax = (uint32_t)_mm_cvtsi128_si32(four);
    for (; i < count; i++)
        amax = (x[i] & 0x7FFFFFFF) > amax ? x[i] & 0x7FFFFFFF : amax;
    return amax;
}

static uint32_t amax_of_halves(const uint16_t *x, size_t count)
{
    const __m256i magnitude = _mm256_set1_epi16(0x7FFF);
    __m256i m = _mm256_setzero_si256();
    size_t i = 0;
#pragma GCC unroll 4
    for (; i + 16 <= count; i += 16)
        m = _mm256_max_epu16(
            m, _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + i)), magnitude));
    const __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
    int amax = ~_mm_cvtsi128_si32(least) & 0xFFFF;
    for (; i < count; i++)
        amax = (x[i] & 0x7FFF) > amax ? x[i] & 0x7FFF : amax;
    return (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(_mm_cvtph_ps(_mm_cvtsi32_si128(amax))));
}

uint32_t mxv_int8_amax_avx2(const uint32_t *x, const uint16_t *half, size_t count)
{
    return half != NULL ? amax_of_halves(half, count) : amax_of_words(x, count);
}

static bool nearest(enum mxv_round round)
{
    return round == MXV_RNE || round == MXV_RNA || round == MXV_RNZ || round == MXV_RHU ||
           round == MXV_RAH;
}

/// The group's multiplier; false if it leaves the range in which the arithmetic above is exact.
static bool prepare(struct group *g)
{
    const struct mxv_int8_policy *p = g->policy;
    const int ea = g->amax_field, es = (int)(g->scale >> 23);
    if (p->ops != NULL || !nearest(p->round) || ea < 60 || ea > 200)
        return false;
    // X in units of 2^(ea - 157), a word's significand in 2^(field - 150), fields as they stand
    if (p->arith == MXV_INT8_DIV || p->arith == MXV_INT8_EXACT) {
        g->multiplier =
            (uint32_t)((UINT64_C(1) << 54) / ((g->scale & 0x7FFFFF) | UINT64_C(0x800000)));
        g->shift = 54 + 157 - ea - (150 - es);
    } else {
        const uint32_t word = p->arith == MXV_INT8_RCP
                                  ? mxv_int8_quotient(MXV_F32_ONE, g->scale)
                                  : mxv_int8_quotient(WORD_127, mxv_int8_bounded(p, g->amax));
        g->multiplier = (word & 0x7FFFFF) | 0x800000;
        g->shift = 157 - ea + 150 - (int)(word >> 23);
        if (word < 0x00800000)
            return false;
    }
    if (g->shift > 55) { // small quotients: less than a unit of 2^-24 is lost
        g->multiplier = g->shift - 55 < 32 ? g->multiplier >> (g->shift - 55) : 0;
        g->shift = 55;
    }
    return g->shift >= 45;
}

static struct vectors vectors_of(const struct group *g)
{
    struct vectors v;
    v.top = all((int32_t)0x80000000);
    v.field = all(g->amax_field + 1);
    v.multiplier = all((int32_t)g->multiplier);
    v.round = all((1 << 23) + (1 << 9));
    v.fraction = all(0xFFFFFF);
    v.window = all(2 << 9);
    v.lowest = _mm256_set1_epi8(g->policy->symmetric ? -127 : -128);
    v.even_shift = _mm_cvtsi32_si128(g->shift - 24);
    v.odd_shift = _mm_cvtsi32_si128(56 - g->shift);
    return v;
}

/// Codes of eight elements; lanes near a tie are added to *close.
MXV_EACH_INLINE __m256i quotients(const struct vectors *v, __m256i x, __m256i *close)
{
    const __m256i sig = _mm256_or_si256(_mm256_slli_epi32(x, 8), v->top);
    const __m256i field = _mm256_srli_epi32(_mm256_slli_epi32(x, 1), 24);
    const __m256i a = _mm256_srlv_epi32(sig, _mm256_sub_epi32(v->field, field));
    const __m256i even = _mm256_mul_epu32(a, v->multiplier);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), v->multiplier);
    const __m256i q = _mm256_blend_epi32(_mm256_srl_epi64(even, v->even_shift),
                                         _mm256_sll_epi64(odd, v->odd_shift), 0xAA);
    const __m256i sum = _mm256_add_epi32(q, v->round);
    const __m256i beside = _mm256_and_si256(sum, v->fraction);
    *close = _mm256_or_si256(*close, _mm256_cmpgt_epi32(v->window, beside));
    return _mm256_sign_epi32(_mm256_srli_epi32(sum, 24), x);
}

/// 32 codes of four registers, saturated.
MXV_EACH_INLINE void store_codes(const struct vectors *v, const __m256i c[4], int8_t *out)
{
    const __m256i words =
        _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)out, _mm256_max_epi8(bytes, v->lowest));
}

/// Codes of those of eight elements that are near a tie, by the scalar function.
__attribute__((noinline)) static void repair(const struct group *g, __m256i x, int8_t *codes)
{
    const struct vectors v = vectors_of(g);
    __m256i close = _mm256_setzero_si256();
    uint32_t words[8];
    quotients(&v, x, &close);
    _mm256_storeu_si256((__m256i *)words, x);
    const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(close));
    for (size_t i = 0; i < 8; i++)
        if (lanes >> i & 1)
            codes[i] = mxv_int8_code(g->policy, words[i], g->scale, g->amax);
}

MXV_EACH_INLINE void chunk_codes(const struct group *g, const struct vectors *v, const void *x,
                                 bool half, size_t i, int8_t *codes)
{
    __m256i c[4], close = _mm256_setzero_si256();
    for (size_t j = 0; j < 4; j++)
        c[j] = quotients(v, load(x, half, i + 8 * j), &close);
    store_codes(v, c, codes);
    if (_mm256_testz_si256(close, close))
        return;
    for (size_t j = 0; j < CHUNK; j += 8)
        repair(g, load(x, half, i + j), codes + j);
}

MXV_EACH_INLINE void group_codes(const struct group *g, const void *x, bool half, size_t count,
                                 int8_t *codes)
{
    const struct vectors v = vectors_of(g);
    const size_t size = half ? sizeof(uint16_t) : sizeof(uint32_t);
    size_t i = 0;
    for (; i + CHUNK <= count; i += CHUNK)
        chunk_codes(g, &v, x, half, i, codes + i);
    if (i < count) {
        uint32_t rest[CHUNK] = {0};
        int8_t out[CHUNK];
        for (size_t j = 0; j < (count - i) * size; j++)
            ((unsigned char *)rest)[j] = ((const unsigned char *)x)[i * size + j];
        chunk_codes(g, &v, rest, half, 0, out);
        for (size_t j = i; j < count; j++)
            codes[j] = out[j - i];
    }
}

bool mxv_int8_codes_avx2(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                         size_t count, uint32_t scale, uint32_t amax, int8_t *codes)
{
    struct group g = {.policy = p, .amax = amax, .scale = scale, .amax_field = (int)(amax >> 23)};
    if (!prepare(&g))
        return false;
    if (half != NULL)
        group_codes(&g, half, true, count, codes);
    else
        group_codes(&g, x, false, count, codes);
    return true;
}
