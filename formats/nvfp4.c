// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 by the formula orders of published quantisers. See mxverify/block.h.
//
// Each order is a sequence of correctly rounded binary32 operations (f32.h) taken from the source
// named beside it; order exact rounds the exact quotients once. Sources: NVIDIA/TransformerEngine,
// pytorch/ao, NVIDIA/Model-Optimizer, NVIDIA/TensorRT-LLM, thu-ml/SageAttention (sageattention3),
// ggml-org/ggml. Without tensor scale an order runs with g = 2688 = 448 * 6, where its tensor scale
// is
// 1. sage3 and ggml have no tensor scale. tests/unit/test_nvfp4.c fails if this file is wrong.
#include <mxverify/block.h>

#include "nvfp4.h"

#define WORD_6       UINT32_C(0x40C00000)
#define WORD_448     UINT32_C(0x43E00000)
#define WORD_1536    UINT32_C(0x44C00000)
#define WORD_2688    UINT32_C(0x45280000)
#define WORD_POW2_M6 UINT32_C(0x3C800000)
#define WORD_POW2_M9 UINT32_C(0x3B000000)

static MXV_FN struct mxv_value value(uint32_t word)
{
    return mxv_value_from_f32(word);
}

/// The larger of two words; NaN if either is.
static MXV_FN uint32_t at_least(uint32_t a, uint32_t bound)
{
    return mxv_f32_is_nan(a) || mxv_f32_less(bound, a) ? a : bound;
}

static MXV_FN uint32_t at_most(uint32_t a, uint32_t bound)
{
    return mxv_f32_is_nan(a) || mxv_f32_less(a, bound) ? a : bound;
}

/// The tensor maximum that the formulas see.
static MXV_FN uint32_t effective_amax(const struct mxv_nvfp4_policy *p)
{
    const uint32_t g = mxv_f32_abs(p->tensor_amax);
    const uint32_t neutral = p->variant == MXV_NVFP4_FOUR_SIX ? WORD_1536 : WORD_2688;
    if (!p->tensor_scaled || (g == 0 && p->zero_tensor == MXV_ZERO_TENSOR_ONE))
        return neutral;
    return g;
}

/// The factor from tensor to E4M3 range, 2688 / g.
static MXV_FN uint32_t encode_factor(const struct mxv_nvfp4_policy *p, uint32_t g)
{
    const uint32_t factor = mxv_f32_div_by(p->ops, WORD_2688, g);
    if (p->order != MXV_NVFP4_TE || p->zero_tensor == MXV_ZERO_TENSOR_INF)
        return factor;
    return factor == 0 ? MXV_F32_ONE : at_most(factor, MXV_F32_MAX);
}

static MXV_FN uint32_t decode_factor(const struct mxv_nvfp4_policy *p, uint32_t g)
{
    return mxv_f32_div_by(p->ops, g, WORD_2688);
}

/// The block scale as a binary32 word, before it is rounded to E4M3.
static MXV_FN uint32_t scale_word(const struct mxv_nvfp4_policy *p, uint32_t g, uint32_t b)
{
    const struct mxv_f32_ops *ops = p->ops;
    const uint32_t sixth = mxv_f32_div_by(ops, b, WORD_6);
    switch (p->order) {
    case MXV_NVFP4_TE:
        return mxv_f32_mul(b, mxv_f32_mul(encode_factor(p, g), mxv_f32_div(MXV_F32_ONE, WORD_6)));
    case MXV_NVFP4_TORCHAO:
        return at_most(at_least(mxv_f32_div_by(ops, sixth, decode_factor(p, g)), WORD_POW2_M6),
                       WORD_448);
    case MXV_NVFP4_MODELOPT: {
        const uint32_t q = mxv_f32_div_by(ops, b, mxv_f32_mul(WORD_6, decode_factor(p, g)));
        return at_least(q == 0 ? MXV_F32_ONE : q, WORD_POW2_M9);
    }
    case MXV_NVFP4_MODELOPT_STATIC: {
        const uint32_t filled = mxv_f32_mul(sixth == 0 ? MXV_F32_ONE : sixth, WORD_448);
        const uint32_t q = mxv_f32_div_by(ops, filled, mxv_f32_div_by(ops, g, WORD_6));
        return at_most(at_least(q, WORD_POW2_M9), WORD_448);
    }
    case MXV_NVFP4_TRTLLM:
        return mxv_f32_mul(encode_factor(p, g), mxv_f32_mul(b, mxv_f32_rcp_by(ops, WORD_6)));
    default:
        return sixth;
    }
}

/// ggml's E4M3 cast: half away from zero; 256 and more become 448, subnormals stop at 7 * 2^-9.
static MXV_FN uint8_t encode_ggml_scale(uint32_t word)
{
    struct mxv_encode away = MXV_ZERO;
    away.round = MXV_RNA;
    const uint64_t code = mxv_element_from_f32(MXV_UE4M3, word, &away);
    const bool subnormal = mxv_f32_less(word, WORD_POW2_M6);
    if (mxv_f32_is_nan(word))
        return 0;
    return code >= 0x78 ? 0x7E : subnormal && code > 7 ? 7 : (uint8_t)code;
}

/// b * 448 / g, exact or rounded to odd.
static MXV_FN struct mxv_value exact_scale(uint32_t g, uint32_t b)
{
    return mxv_value_div(mxv_value_mul(value(b), value(WORD_448)), value(g));
}

MXV_FN uint8_t mxv_nvfp4_scale_by(const struct mxv_nvfp4_policy *p, uint32_t b)
{
    const uint32_t g = effective_amax(p);
    b = mxv_f32_abs(b);
    if (mxv_f32_is_nan(b))
        return 0x7F;
    if (b == 0 && p->zero != MXV_NVFP4_ZERO_ORDER)
        return p->zero == MXV_NVFP4_ZERO_00 ? 0x00 : p->zero == MXV_NVFP4_ZERO_08 ? 0x08 : 0x38;
    if (p->order == MXV_NVFP4_EXACT)
        return (uint8_t)mxv_element_encode(MXV_UE4M3, exact_scale(g, b), NULL);
    const uint32_t word = scale_word(p, g, b);
    return p->order == MXV_NVFP4_GGML ? encode_ggml_scale(word)
                                      : (uint8_t)mxv_element_from_f32(MXV_UE4M3, word, NULL);
}

MXV_FN uint8_t mxv_nvfp4_scale(enum mxv_nvfp4_order order, uint32_t g, uint32_t b)
{
    struct mxv_nvfp4_policy p = MXV_ZERO;
    p.order = order;
    p.tensor_scaled = true;
    p.tensor_amax = g;
    return mxv_nvfp4_scale_by(&p, b);
}

MXV_FN uint32_t mxv_nvfp4_tensor_scale(const struct mxv_nvfp4_policy *p)
{
    const uint32_t g = effective_amax(p);
    if (p->variant == MXV_NVFP4_FOUR_SIX)
        return mxv_f32_div_by(p->ops, g, WORD_1536);
    if (p->order == MXV_NVFP4_SAGE3 || p->order == MXV_NVFP4_GGML)
        return MXV_F32_ONE;
    if (p->order == MXV_NVFP4_TE || p->order == MXV_NVFP4_TRTLLM)
        return mxv_f32_rcp_by(p->ops, encode_factor(p, g));
    return decode_factor(p, g);
}

/// What an order multiplies x by, or divides it by.
struct multiplier {
    uint32_t word;
    bool divide;
};

static MXV_FN struct multiplier element_multiplier(const struct mxv_nvfp4_policy *p, uint32_t g,
                                                   uint32_t scale)
{
    const struct mxv_f32_ops *ops = p->ops;
    struct multiplier m = MXV_ZERO;
    switch (p->order) {
    case MXV_NVFP4_TE: {
        const uint32_t decode = mxv_f32_div_by(ops, MXV_F32_ONE, encode_factor(p, g));
        m.word = at_most(mxv_f32_div_by(ops, MXV_F32_ONE, mxv_f32_mul(scale, decode)), MXV_F32_MAX);
        break;
    }
    case MXV_NVFP4_TORCHAO:
        m.word = mxv_f32_div_by(ops, mxv_f32_div_by(ops, MXV_F32_ONE, decode_factor(p, g)), scale);
        break;
    case MXV_NVFP4_TRTLLM:
        if (scale != 0)
            m.word =
                mxv_f32_rcp_by(ops, mxv_f32_mul(scale, mxv_f32_rcp_by(ops, encode_factor(p, g))));
        break;
    case MXV_NVFP4_SAGE3:
        if (scale != 0)
            m.word = mxv_f32_div_by(ops, MXV_F32_ONE, scale);
        break;
    default:
        m.word = mxv_f32_mul(scale, decode_factor(p, g));
        m.divide = true;
        break;
    }
    return m;
}

/// ggml: the first of the sixteen table entries with the smallest |fl32(entry * scale - x)|.
static MXV_FN uint8_t encode_ggml(uint32_t x, uint32_t scale)
{
    uint8_t best = 0;
    uint32_t best_error = MXV_F32_INF;
    for (uint8_t code = 0; code < 16; code++) {
        const uint32_t entry = mxv_element_to_f32(MXV_E2M1, code);
        const uint32_t error = mxv_f32_abs(mxv_f32_sub(mxv_f32_mul(entry, scale), x));
        if (mxv_f32_less(error, best_error)) {
            best = code;
            best_error = error;
        }
    }
    return best;
}

/// The exact quotient x * 2688 / (scale * g), or x * 6 / b for the unrounded divisor.
static MXV_FN struct mxv_value exact_quotient(const struct mxv_nvfp4_policy *p, uint32_t g,
                                              uint32_t b, uint8_t scale, uint32_t x)
{
    if (p->divisor == MXV_NVFP4_DIVISOR_UNROUNDED)
        return mxv_value_div(mxv_value_mul(value(x), value(WORD_6)), value(b));
    return mxv_value_div(mxv_value_mul(value(x), value(WORD_2688)),
                         mxv_value_mul(mxv_element_decode(MXV_UE4M3, scale), value(g)));
}

MXV_FN void mxv_nvfp4_encode(const struct mxv_block_policy *p, const uint32_t *x, size_t count,
                             uint32_t b, uint8_t scale, uint8_t *codes)
{
    const struct mxv_nvfp4_policy *n = &p->nvfp4;
    const uint32_t g = effective_amax(n);
    const uint32_t scale_f32 = mxv_element_to_f32(MXV_UE4M3, scale);
    struct multiplier m = element_multiplier(n, g, scale_f32);
    if (n->divisor == MXV_NVFP4_DIVISOR_UNROUNDED) {
        m.word = scale_word(n, g, b);
        m.divide = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (n->order == MXV_NVFP4_EXACT) {
            const bool vanished = scale == 0 && n->divisor == MXV_NVFP4_DIVISOR_STORED;
            const uint32_t word = vanished ? x[i] & UINT32_C(0x80000000) : x[i];
            const struct mxv_value v =
                vanished ? value(word) : exact_quotient(n, g, b, scale, word);
            codes[i] = (uint8_t)mxv_element_encode(MXV_E2M1, v, &p->encode);
        } else if (n->order == MXV_NVFP4_GGML) {
            codes[i] = encode_ggml(x[i], scale_f32);
        } else {
            const uint32_t y =
                m.divide ? mxv_f32_div_by(n->ops, x[i], m.word) : mxv_f32_mul(x[i], m.word);
            codes[i] = (uint8_t)mxv_element_from_f32(MXV_E2M1, y, &p->encode);
        }
    }
}

MXV_FN void mxv_nvfp4_quantize(const struct mxv_block_policy *p, const uint32_t *x, uint32_t amax,
                               uint8_t *scale, uint8_t *codes)
{
    const bool all_nan = mxv_f32_is_nan(amax) || (amax == 0 && p->zero == MXV_BLOCK_ZERO_NAN);
    *scale = mxv_nvfp4_scale_by(&p->nvfp4, amax);
    if (all_nan || amax == 0) {
        for (size_t i = 0; i < NVFP4_SIZE; i++)
            codes[i] =
                (uint8_t)mxv_element_from_f32(MXV_E2M1, all_nan ? MXV_F32_NAN : x[i], &p->encode);
    } else if (p->nvfp4.variant == MXV_NVFP4_FOUR_SIX && !mxv_f32_is_inf(amax)) {
        mxv_nvfp4_quantize_four_six(p, effective_amax(&p->nvfp4), x, amax, scale, codes);
    } else {
        mxv_nvfp4_encode(p, x, NVFP4_SIZE, amax, *scale, codes);
    }
}
