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
#include "block_array_lanes.h"

/// What the loops are compiled for: nearest even with nothing flushed, other roundings to nearest
/// and toward zero, directed ones and to odd.
enum kind { PLAIN, NEAREST, DIRECTED };

/// Constants of an FP8, FP6 or, under a directed rounding, FP4 format under a plan.
struct rounding {
    __m256i half_mask, constant, even_mask, sign_mask, up_mask[2], odd_mask;
    __m256i above[2], flushed, least_in;
    int frac_bits, bias, sign_bit;
    bool drop;
    enum kind kind;
};

static inline struct rounding rounding_of(const struct mxv_block_plan *plan)
{
    const struct mxv_element_info *f = mxv_element_get(mxv_block_get(plan->block)->element);
    struct rounding r;
    r.half_mask = all(plan->half_mask);
    r.constant = all(plan->constant);
    r.even_mask = all(plan->even_mask);
    r.sign_mask = all(plan->sign_mask);
    for (int sign = 0; sign < 2; sign++) {
        r.up_mask[sign] = all(plan->up_mask[sign]);
        r.above[sign] = all((int32_t)plan->above[sign]);
    }
    r.odd_mask = all(plan->odd_mask);
    r.flushed = all((int32_t)plan->flushed);
    r.least_in = all((int32_t)plan->least_in);
    r.frac_bits = f->frac_bits;
    r.bias = f->bias;
    r.sign_bit = f->bits - 1;
    r.drop = plan->drop_negzero;
    const enum mxv_round round = plan->policy.encode.round;
    r.kind = round == MXV_RTP || round == MXV_RTN || round == MXV_RTO ? DIRECTED
             : round == MXV_RNE && plan->flushed == 0                 ? PLAIN
                                                                      : NEAREST;
    return r;
}

/// All bits of a significand that are cut.
MXV_EACH_INLINE __m256i cut_bits(__m256i half)
{
    return _mm256_sub_epi32(_mm256_add_epi32(half, half), all(1));
}

/// The value of the sign of x.
MXV_EACH_INLINE __m256i by_sign(const __m256i value[2], __m256i x)
{
    return _mm256_blendv_epi8(value[0], value[1], _mm256_srai_epi32(x, 31));
}

/// What is added to a significand before the cut: see struct mxv_block_plan.
MXV_EACH_INLINE __m256i rounding_term(const struct rounding *r, __m256i x, __m256i half,
                                      __m256i odd, enum kind kind)
{
    if (kind == PLAIN)
        return _mm256_add_epi32(_mm256_sub_epi32(half, all(1)), odd);
    if (kind == DIRECTED)
        return _mm256_and_si256(cut_bits(half), by_sign(r->up_mask, x));
    const __m256i even = _mm256_and_si256(odd, r->even_mask);
    const __m256i sign = _mm256_and_si256(_mm256_srai_epi32(x, 31), r->sign_mask);
    return _mm256_add_epi32(_mm256_add_epi32(_mm256_and_si256(half, r->half_mask), r->constant),
                            _mm256_add_epi32(even, sign));
}

/// Codes of x / 2^(scale - 127). A code beyond the largest is `above`, that being the largest or
/// the next. Under directed roundings, magnitudes more than two bits below half of the least code
/// are as good as those two bits below.
MXV_EACH_INLINE __m256i float_codes(const struct rounding *r, __m256i x, int scale, enum kind kind)
{
    const __m256i u = magnitude(x), zero = _mm256_setzero_si256(), one = all(1);
    const __m256i sig = _mm256_or_si256(_mm256_and_si256(u, all(0x7FFFFF)), all(0x800000));
    // binades above the lowest normal one; `low` of them are missing
    const __m256i e = _mm256_sub_epi32(_mm256_srli_epi32(u, 23), all(scale - r->bias + 1));
    __m256i low = _mm256_max_epi32(_mm256_sub_epi32(zero, e), zero);
    const __m256i binade = _mm256_add_epi32(e, low);
    if (kind == DIRECTED)
        low = _mm256_min_epi32(low, all(r->frac_bits + 3));
    const __m256i shift = _mm256_add_epi32(low, all(23 - r->frac_bits));
    const __m256i half = _mm256_sllv_epi32(all(1 << (22 - r->frac_bits)), low);
    const __m256i odd = _mm256_and_si256(_mm256_srlv_epi32(sig, shift), one);
    const __m256i term = rounding_term(r, x, half, odd, kind);
    __m256i steps = _mm256_srlv_epi32(_mm256_add_epi32(sig, term), shift);
    if (kind == DIRECTED) {
        const __m256i exact = _mm256_cmpeq_epi32(_mm256_and_si256(sig, cut_bits(half)), zero);
        steps = _mm256_or_si256(steps, _mm256_andnot_si256(exact, r->odd_mask));
    }
    __m256i code = _mm256_add_epi32(steps, _mm256_slli_epi32(binade, r->frac_bits));
    code = _mm256_min_epi32(code, kind == DIRECTED ? by_sign(r->above, x) : r->above[0]);
    if (kind != PLAIN)
        code = _mm256_and_si256(code, _mm256_cmpgt_epi32(code, r->flushed));
    if (kind == DIRECTED)
        code = _mm256_andnot_si256(_mm256_cmpgt_epi32(r->least_in, u), code);
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

MXV_EACH_INLINE void mx_block(const struct mxv_block_plan *plan, const struct rounding *r,
                              const uint32_t *x, const uint16_t *half, size_t block,
                              uint8_t *scales, uint8_t *codes, bool e2m1, enum kind kind)
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
            v[i] = float_codes(r, v[i], scale, kind);
    }
    _mm256_storeu_si256((__m256i *)(codes + at), pack(v[0], v[1], v[2], v[3]));
}

/// The loop over blocks, compiled for each kind of input and code.
#define MX_BLOCKS(x, half, e2m1, kind)                                                             \
    for (size_t i = 0; i < blocks; i++)                                                            \
    mx_block(plan, &r, x, half, i, scales, codes, e2m1, kind)

void mxv_mx_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                          const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes)
{
    const struct rounding r = rounding_of(plan);
    const bool e2m1 = plan->block == MXV_MXFP4 && plan->rows[0][7] != 0;
    if (e2m1 && half != NULL)
        MX_BLOCKS(NULL, half, true, PLAIN);
    else if (e2m1)
        MX_BLOCKS(x, NULL, true, PLAIN);
    else if (r.kind == PLAIN && half != NULL)
        MX_BLOCKS(NULL, half, false, PLAIN);
    else if (r.kind == PLAIN)
        MX_BLOCKS(x, NULL, false, PLAIN);
    else if (r.kind == NEAREST)
        MX_BLOCKS(x, half, false, NEAREST);
    else
        MX_BLOCKS(x, half, false, DIRECTED);
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
