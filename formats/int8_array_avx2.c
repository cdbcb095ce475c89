// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 codes of a group, eight elements a register, integers only. See mxverify/block_array.h.
//
// With ea the exponent of amax, X = |x| in units of 2^(ea - 30) is a 31-bit integer, exact for
// |x| >= 2^(ea - 7) and less than one unit too small below. Division: S = scale in the same units
// is an integer; (X + S / 2) times floor(2^53 / S) gives the rounded quotient k, at most one too
// small, and X + S / 2 - k S tells how near to a tie it was. Multiplication: X times the
// multiplier's significand is exact in 64 bits; k and 24 fraction bits are cut out of it. The
// roundings to nearest differ from half away from zero only within the roundings of fl32, twice
// 2^-18 of a step: quotients within 2^-15 of a tie, or of the units lost above, are given to
// mxv_int8_code. Packing saturates. unit.block_array fails if this file is wrong.
#include <immintrin.h>

#include "block_array_internal.h"

#define WORD_127 UINT32_C(0x42FE0000)

/// How a group's codes are formed; vectors of one number each.
struct group {
    uint32_t amax, scale;
    int amax_field;
    bool divide;
    uint32_t divisor, reciprocal; ///< divide
    uint32_t multiplier;          ///< else: significand of 24 bits
    int shift;                    ///< bits of X * multiplier below the integer part
    bool symmetric;
};

static inline __m256i all(int32_t v)
{
    return _mm256_set1_epi32(v);
}

static inline __m256i load(const uint32_t *x, const uint16_t *half, size_t i)
{
    if (half != NULL)
        return _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + i))));
    return _mm256_loadu_si256((const __m256i *)(x + i));
}

static uint32_t word_at(const uint32_t *x, const uint16_t *half, size_t i)
{
    return half != NULL ? mxv_element_to_f32(MXV_F16, half[i]) : x[i];
}

static inline uint32_t amax_of(const uint32_t *x, const uint16_t *half, size_t count)
{
    __m256i m = _mm256_setzero_si256();
    uint32_t lanes[8], amax = 0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        m = _mm256_max_epu32(m, _mm256_and_si256(load(x, half, i), all(0x7FFFFFFF)));
    _mm256_storeu_si256((__m256i *)lanes, m);
    for (size_t j = 0; j < 8; j++)
        amax = lanes[j] > amax ? lanes[j] : amax;
    for (; i < count; i++) {
        const uint32_t u = word_at(x, half, i) & 0x7FFFFFFF;
        amax = u > amax ? u : amax;
    }
    return amax;
}

uint32_t mxv_int8_amax_avx2(const uint32_t *x, const uint16_t *half, size_t count)
{
    return half != NULL ? amax_of(NULL, half, count) : amax_of(x, NULL, count);
}

/// |x| in units of 2^(ea - 30).
static inline __m256i aligned(const struct group *g, __m256i x)
{
    const __m256i sig = _mm256_or_si256(_mm256_slli_epi32(x, 8), all((int32_t)0x80000000));
    const __m256i field = _mm256_srli_epi32(_mm256_slli_epi32(x, 1), 24);
    return _mm256_srlv_epi32(sig, _mm256_sub_epi32(all(g->amax_field + 1), field));
}

/// Low 32 bits of (a * b) >> shift for each lane, b and shift common, the product of 64 bits.
static inline __m256i multiply_shift(__m256i a, uint32_t b, int shift)
{
    const __m256i factor = all((int32_t)b);
    const __m256i even = _mm256_mul_epu32(a, factor);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
    const __m128i count = _mm_cvtsi32_si128(shift);
    const __m256i high = _mm256_slli_epi64(_mm256_srl_epi64(odd, count), 32);
    return _mm256_blend_epi32(_mm256_srl_epi64(even, count), high, 0xAA);
}

/// Codes of eight elements; lanes near a tie are added to *close.
static inline __m256i quotients(const struct group *g, bool divide, __m256i x, __m256i *close)
{
    const __m256i a = aligned(g, x);
    __m256i code;
    if (divide) {
        const int window = (int)(g->divisor >> 15) + 2;
        const __m256i sum = _mm256_add_epi32(a, all((int32_t)(g->divisor / 2)));
        code = multiply_shift(sum, g->reciprocal, 53);
        const __m256i rest =
            _mm256_sub_epi32(sum, _mm256_mullo_epi32(code, all((int32_t)g->divisor)));
        const __m256i inside = _mm256_sub_epi32(rest, all(window));
        const __m256i most = all((int32_t)g->divisor - 2 * window);
        *close =
            _mm256_or_si256(*close, _mm256_cmpeq_epi32(_mm256_max_epu32(inside, most), inside));
    } else {
        const int window = 1 << 9;
        const __m256i q = multiply_shift(a, g->multiplier, g->shift - 24);
        const __m256i sum = _mm256_add_epi32(q, all(1 << 23));
        const __m256i beside = _mm256_and_si256(_mm256_add_epi32(sum, all(window)), all(0xFFFFFF));
        code = _mm256_srli_epi32(sum, 24);
        *close = _mm256_or_si256(*close, _mm256_cmpgt_epi32(all(2 * window), beside));
    }
    return _mm256_sign_epi32(code, x);
}

static void scalar_codes(const struct mxv_int8_policy *p, const struct group *g, const uint32_t *x,
                         const uint16_t *half, size_t from, size_t end, int8_t *codes)
{
    for (size_t i = from; i < end; i++)
        codes[i] = mxv_int8_code(p, word_at(x, half, i), g->scale, g->amax);
}

static bool nearest(enum mxv_round round)
{
    return round == MXV_RNE || round == MXV_RNA || round == MXV_RNZ || round == MXV_RHU ||
           round == MXV_RAH;
}

/// The group's numbers; false if they leave the range in which the arithmetic above is exact.
static bool prepare(const struct mxv_int8_policy *p, uint32_t scale, uint32_t amax, struct group *g)
{
    const int ea = (int)(amax >> 23), es = (int)(scale >> 23);
    g->amax = amax;
    g->scale = scale;
    g->amax_field = ea;
    g->symmetric = p->symmetric;
    g->divide = p->arith == MXV_INT8_DIV || p->arith == MXV_INT8_EXACT;
    if (p->ops != NULL || !nearest(p->round) || ea < 60 || ea > 200 || es < ea - 7 || es > ea - 4)
        return false;
    if (g->divide) {
        g->divisor = ((scale & 0x7FFFFF) | 0x800000) << (es - ea + 7);
        g->reciprocal = (uint32_t)((UINT64_C(1) << 53) / g->divisor);
        return true;
    }
    const uint32_t word = p->arith == MXV_INT8_RCP ? mxv_int8_quotient(MXV_F32_ONE, scale)
                                                   : mxv_int8_quotient(WORD_127, amax);
    // X in units of 2^(ea - 157), multiplier in 2^(field - 150), fields as they stand
    g->multiplier = (word & 0x7FFFFF) | 0x800000;
    g->shift = 157 - ea + 150 - (int)(word >> 23);
    return g->shift >= 45 && g->shift <= 55 && p->eps == MXV_INT8_EPS_NONE;
}

/// 32 codes of four registers, saturated.
static inline void store_codes(const struct group *g, const __m256i c[4], int8_t *out)
{
    const __m256i words =
        _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
    __m256i bytes = _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (g->symmetric)
        bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8(-127));
    _mm256_storeu_si256((__m256i *)out, bytes);
}

/// Codes of the lanes of eight elements that are near a tie, by the scalar function.
static void repair(const struct mxv_int8_policy *p, const struct group *g, bool divide,
                   const uint32_t *x, const uint16_t *half, size_t from, int8_t *codes)
{
    __m256i close = _mm256_setzero_si256();
    quotients(g, divide, load(x, half, from), &close);
    const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(close));
    for (size_t i = 0; i < 8; i++)
        if (lanes >> i & 1)
            scalar_codes(p, g, x, half, from + i, from + i + 1, codes);
}

static inline void group_codes(const struct mxv_int8_policy *p, const struct group *g, bool divide,
                               const uint32_t *x, const uint16_t *half, size_t count, int8_t *codes)
{
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256i c[4], close = _mm256_setzero_si256();
        for (size_t j = 0; j < 4; j++)
            c[j] = quotients(g, divide, load(x, half, i + 8 * j), &close);
        store_codes(g, c, codes + i);
        if (!_mm256_testz_si256(close, close))
            for (size_t j = i; j < i + 32; j += 8)
                repair(p, g, divide, x, half, j, codes);
    }
    scalar_codes(p, g, x, half, i, count, codes);
}

bool mxv_int8_codes_avx2(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                         size_t count, uint32_t scale, uint32_t amax, int8_t *codes)
{
    struct group g = MXV_ZERO;
    if (!prepare(p, scale, amax, &g))
        return false;
    if (g.divide && half != NULL)
        group_codes(p, &g, true, NULL, half, count, codes);
    else if (g.divide)
        group_codes(p, &g, true, x, NULL, count, codes);
    else if (half != NULL)
        group_codes(p, &g, false, NULL, half, count, codes);
    else
        group_codes(p, &g, false, x, NULL, count, codes);
    return true;
}

/// floor(log2 m) for m from 1 to 128.
static inline __m256i log2_floor(__m256i m)
{
    const __m256i low =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
    const __m256i high =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 5, 5, 6, 6, 6, 6, 7, 0, 0, 0, 0, 0, 0, 0));
    return _mm256_max_epi32(_mm256_shuffle_epi8(low, _mm256_and_si256(m, all(15))),
                            _mm256_shuffle_epi8(high, _mm256_srli_epi32(m, 4)));
}

/// fl32 of codes times sig * 2^(field - 150). Twice the product, below 2^32, loses `shift` + 1
/// bits, so that there is always a half to round by.
static inline __m256i products(__m256i code, uint32_t sig, int field)
{
    const __m256i m = _mm256_abs_epi32(code), one = all(1);
    const __m256i twice = _mm256_mullo_epi32(m, all((int32_t)(2 * sig)));
    const __m256i log2 = log2_floor(m);
    const __m256i carry = _mm256_srlv_epi32(twice, _mm256_add_epi32(log2, all(25)));
    const __m256i shift = _mm256_add_epi32(log2, carry), drop = _mm256_add_epi32(shift, one);
    const __m256i odd = _mm256_and_si256(_mm256_srlv_epi32(twice, drop), one);
    const __m256i below = _mm256_sub_epi32(_mm256_sllv_epi32(one, shift), one);
    const __m256i sum = _mm256_add_epi32(twice, _mm256_add_epi32(below, odd));
    const __m256i exp = _mm256_slli_epi32(_mm256_add_epi32(shift, all(field - 1)), 23);
    const __m256i word = _mm256_or_si256(_mm256_add_epi32(exp, _mm256_srlv_epi32(sum, drop)),
                                         _mm256_and_si256(code, all((int32_t)0x80000000)));
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(m, _mm256_setzero_si256()), word);
}

void mxv_int8_dequantize_avx2(const int8_t *codes, uint32_t scale, size_t count, uint32_t *out)
{
    const int field = (int)(scale >> 23);
    const bool ordinary = field >= 1 && field <= 240; // else subnormal, large, special, negative
    const uint32_t sig = (scale & 0x7FFFFF) | 0x800000;
    size_t i = 0;
    for (; ordinary && i + 8 <= count; i += 8) {
        const __m256i c = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(codes + i)));
        _mm256_storeu_si256((__m256i *)(out + i), products(c, sig, field));
    }
    for (; i < count; i++)
        out[i] = mxv_int8_dequantize(codes[i], scale);
}
