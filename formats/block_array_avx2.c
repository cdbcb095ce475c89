// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisation, eight elements a register, integers only (binary16 words are widened by the
// exact conversion of F16C). See mxverify/block_array.h; the plan's thresholds are explained in
// block_plan.c.
//
// E2M1: the code of a magnitude word is the number of thresholds that it reaches. FP8 and FP6: with
// y = x / scale of exponent field t in the element's bias, the significand is shifted right by
// 23 - frac_bits, and 1 - t more below the normal range, and rounded by adding below the cut.
// unit.block_array fails if this file is wrong.
#include <immintrin.h>

#include "block_array_internal.h"

static inline __m256i all(int32_t v)
{
    return _mm256_set1_epi32(v);
}

/// Words i .. i + 7.
static inline __m256i load(const uint32_t *x, const uint16_t *half, size_t i)
{
    if (half != NULL)
        return _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + i))));
    return _mm256_loadu_si256((const __m256i *)(x + i));
}

static inline __m256i magnitude(__m256i x)
{
    return _mm256_and_si256(x, all(0x7FFFFFFF));
}

static inline uint32_t largest(__m256i a)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4E));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/// The largest of each of eight registers.
static inline __m256i largest_of_eight(const __m256i m[8])
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
static inline __m256i pack(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i words = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    return _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// Sign at `bit` of the code, unless a zero loses it.
static inline __m256i with_sign(__m256i x, __m256i code, int bit, bool drop)
{
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(x, 31 - bit), all(1 << bit));
    if (drop)
        sign = _mm256_and_si256(sign, _mm256_cmpgt_epi32(code, _mm256_setzero_si256()));
    return _mm256_or_si256(code, sign);
}

/// E2M1 codes: 7 less the thresholds that are not reached.
static inline __m256i e2m1_codes(__m256i x, const __m256i least[7], bool drop)
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
static inline void load_thresholds(const uint32_t row[8], uint32_t shift, __m256i least[7])
{
    for (int k = 0; k < 7; k++)
        least[k] = all((int32_t)(row[k + 1] + shift));
}

/// Constants of an FP8 or FP6 format under a plan.
struct rounding {
    __m256i half_mask, constant, even_mask, sign_mask, above, flushed;
    int frac_bits, bias, sign_bit;
    bool drop, plain;
};

static inline struct rounding rounding_of(const struct mxv_block_plan *plan)
{
    const struct mxv_element_info *f = mxv_element_get(mxv_block_get(plan->block)->element);
    struct rounding r;
    r.half_mask = all(plan->half_mask);
    r.constant = all(plan->constant);
    r.even_mask = all(plan->even_mask);
    r.sign_mask = all(plan->sign_mask);
    r.above = all((int32_t)plan->above);
    r.flushed = all((int32_t)plan->flushed);
    r.frac_bits = f->frac_bits;
    r.bias = f->bias;
    r.sign_bit = f->bits - 1;
    r.drop = plan->drop_negzero;
    r.plain = plan->policy.encode.round == MXV_RNE && plan->flushed == 0;
    return r;
}

/// What is added to a significand before the cut: see struct mxv_block_plan.
static inline __m256i rounding_term(const struct rounding *r, __m256i x, __m256i half, __m256i odd)
{
    const __m256i even = _mm256_and_si256(odd, r->even_mask);
    const __m256i sign = _mm256_and_si256(_mm256_srai_epi32(x, 31), r->sign_mask);
    return _mm256_add_epi32(_mm256_add_epi32(_mm256_and_si256(half, r->half_mask), r->constant),
                            _mm256_add_epi32(even, sign));
}

/// Codes of x / 2^(scale - 127). A code beyond the largest is `above`, that being the largest or
/// the next. `plain`: nearest even, nothing flushed.
static inline __m256i float_codes(const struct rounding *r, __m256i x, int scale, bool plain)
{
    const __m256i u = magnitude(x), zero = _mm256_setzero_si256(), one = all(1);
    const __m256i sig = _mm256_or_si256(_mm256_and_si256(u, all(0x7FFFFF)), all(0x800000));
    // binades above the lowest normal one; `low` of them are missing
    const __m256i e = _mm256_sub_epi32(_mm256_srli_epi32(u, 23), all(scale - r->bias + 1));
    const __m256i low = _mm256_max_epi32(_mm256_sub_epi32(zero, e), zero);
    const __m256i shift = _mm256_add_epi32(low, all(23 - r->frac_bits));
    const __m256i half = _mm256_sllv_epi32(all(1 << (22 - r->frac_bits)), low);
    const __m256i odd = _mm256_and_si256(_mm256_srlv_epi32(sig, shift), one);
    const __m256i term =
        plain ? _mm256_add_epi32(_mm256_sub_epi32(half, one), odd) : rounding_term(r, x, half, odd);
    const __m256i steps = _mm256_srlv_epi32(_mm256_add_epi32(sig, term), shift);
    const __m256i binade = _mm256_add_epi32(e, low);
    __m256i code = _mm256_add_epi32(steps, _mm256_slli_epi32(binade, r->frac_bits));
    code = _mm256_min_epi32(code, r->above);
    if (!plain)
        code = _mm256_and_si256(code, _mm256_cmpgt_epi32(code, r->flushed));
    return with_sign(x, code, r->sign_bit, r->drop);
}

/// E8M0 code of an ordinary maximum.
static inline int mx_scale(const struct mxv_block_plan *plan, uint32_t amax)
{
    const uint32_t frac = amax & 0x7FFFFF;
    if (frac >= plan->frac_ask && frac < plan->frac_up)
        return mxv_scale_e8m0(plan->policy.rule, mxv_block_get(plan->block)->element, amax,
                              &plan->policy.scale);
    return (int)(amax >> 23) + plan->scale_base + (frac >= plan->frac_up);
}

static inline bool ordinary(const struct mxv_block_plan *plan, uint32_t amax)
{
    return amax >= plan->amax_least && amax <= plan->amax_most;
}

static inline void mx_block(const struct mxv_block_plan *plan, const struct rounding *r,
                            const uint32_t *x, const uint16_t *half, size_t block, uint8_t *scales,
                            uint8_t *codes, bool e2m1, bool plain)
{
    const size_t at = block * 32;
    __m256i v[4];
    for (size_t i = 0; i < 4; i++)
        v[i] = load(x, half, at + 8 * i);
    const __m256i m = _mm256_max_epu32(_mm256_max_epu32(magnitude(v[0]), magnitude(v[1])),
                                       _mm256_max_epu32(magnitude(v[2]), magnitude(v[3])));
    const uint32_t amax = largest(m);
    if (!ordinary(plan, amax)) {
        mxv_block_scalar(plan, x, half, block, scales, codes);
        return;
    }
    const int scale = mx_scale(plan, amax);
    scales[block] = (uint8_t)scale;
    if (e2m1) {
        __m256i least[7];
        load_thresholds(plan->rows[0], (uint32_t)(scale - 127) << 23, least);
        for (size_t i = 0; i < 4; i++)
            v[i] = e2m1_codes(v[i], least, plan->drop_negzero);
    } else {
        for (size_t i = 0; i < 4; i++)
            v[i] = float_codes(r, v[i], scale, plain);
    }
    _mm256_storeu_si256((__m256i *)(codes + at), pack(v[0], v[1], v[2], v[3]));
}

/// The loop over blocks, compiled for each kind of input and code.
#define MX_BLOCKS(x, half, e2m1, plain)                                                            \
    for (size_t i = 0; i < blocks; i++)                                                            \
    mx_block(plan, &r, x, half, i, scales, codes, e2m1, plain)

void mxv_mx_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                          const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes)
{
    const struct rounding r = rounding_of(plan);
    if (plan->block == MXV_MXFP4 && half != NULL)
        MX_BLOCKS(NULL, half, true, true);
    else if (plan->block == MXV_MXFP4)
        MX_BLOCKS(x, NULL, true, true);
    else if (r.plain && half != NULL)
        MX_BLOCKS(NULL, half, false, true);
    else if (r.plain)
        MX_BLOCKS(x, NULL, false, true);
    else
        MX_BLOCKS(x, half, false, false);
}

/// UE4M3 code of an ordinary maximum.
static inline unsigned nvfp4_scale(const struct mxv_block_plan *plan, uint32_t amax)
{
    const unsigned code = plan->cell[amax >> 19];
    return amax >= plan->next_word[code] ? plan->next_code[code] : code;
}

enum { EIGHT = 8 };

/// Scale codes of eight blocks; 0 for those that are left to the scalar form.
static inline void nvfp4_scales(const struct mxv_block_plan *plan, const uint32_t *x,
                                const uint16_t *half, size_t block, uint8_t scales[EIGHT])
{
    __m256i m[EIGHT];
    uint32_t amax[EIGHT];
    for (size_t i = 0; i < EIGHT; i++) {
        const size_t at = (block + i) * 16;
        m[i] = _mm256_max_epu32(magnitude(load(x, half, at)), magnitude(load(x, half, at + 8)));
    }
    _mm256_storeu_si256((__m256i *)amax, largest_of_eight(m));
    for (size_t i = 0; i < EIGHT; i++)
        scales[i] = ordinary(plan, amax[i]) ? (uint8_t)nvfp4_scale(plan, amax[i]) : 0;
}

static inline void nvfp4_codes(const struct mxv_block_plan *plan, const uint32_t *x,
                               const uint16_t *half, size_t block, const uint8_t *scales,
                               uint8_t *codes)
{
    for (size_t i = 0; i < EIGHT; i += 2) {
        const size_t at = (block + i) * 16;
        __m256i least[7], code[4];
        load_thresholds(plan->rows[scales[i]], 0, least);
        code[0] = e2m1_codes(load(x, half, at), least, plan->drop_negzero);
        code[1] = e2m1_codes(load(x, half, at + 8), least, plan->drop_negzero);
        load_thresholds(plan->rows[scales[i + 1]], 0, least);
        code[2] = e2m1_codes(load(x, half, at + 16), least, plan->drop_negzero);
        code[3] = e2m1_codes(load(x, half, at + 24), least, plan->drop_negzero);
        _mm256_storeu_si256((__m256i *)(codes + at), pack(code[0], code[1], code[2], code[3]));
    }
}

static inline void nvfp4_eight(const struct mxv_block_plan *plan, const uint32_t *x,
                               const uint16_t *half, size_t block, uint8_t *scales, uint8_t *codes)
{
    nvfp4_scales(plan, x, half, block, scales + block);
    nvfp4_codes(plan, x, half, block, scales + block, codes);
    for (size_t i = block; i < block + EIGHT; i++)
        if (scales[i] == 0)
            mxv_block_scalar(plan, x, half, i, scales, codes);
}

void mxv_nvfp4_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                             const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes)
{
    size_t i = 0;
    if (half != NULL) {
        for (; i + EIGHT <= blocks; i += EIGHT)
            nvfp4_eight(plan, NULL, half, i, scales, codes);
    } else {
        for (; i + EIGHT <= blocks; i += EIGHT)
            nvfp4_eight(plan, x, NULL, i, scales, codes);
    }
    for (; i < blocks; i++)
        mxv_block_scalar(plan, x, half, i, scales, codes);
}
