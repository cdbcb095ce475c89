// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block formats: the table, MX quantisation, and decoding. See mxverify/block.h; NVFP4 is in
// nvfp4.c. tests/unit/test_block.c fails if this file is wrong.
#include <mxverify/block.h>

#include "nvfp4.h"

MXV_TABLE struct mxv_block_info blocks[] = {
#define MXV_BLOCK(id, name, size, element, scale, doc) {name, doc, size, element, scale},
#include <mxverify/blocks.def>
};

MXV_FN const struct mxv_block_info *mxv_block_get(enum mxv_block b)
{
    return &blocks[b];
}

MXV_FN bool mxv_block_find(const char *name, enum mxv_block *out)
{
    for (int i = 0; i < MXV_BLOCK_COUNT; i++) {
        if (mxv_name_equal(blocks[i].name, name)) {
            *out = (enum mxv_block)i;
            return true;
        }
    }
    return false;
}

MXV_FN uint32_t mxv_block_amax(const uint32_t *x, size_t n, enum mxv_block_nan nan)
{
    uint32_t amax = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = mxv_f32_abs(x[i]);
        if (!mxv_f32_is_nan(magnitude))
            amax = magnitude > amax ? magnitude : amax;
        else if (nan == MXV_BLOCK_NAN_PROPAGATE)
            return MXV_F32_NAN;
    }
    return amax;
}

/// Element code of x in a block whose E8M0 scale is `scale`.
static MXV_FN uint8_t encode_scaled(enum mxv_element element, const struct mxv_block_policy *p,
                                    uint32_t x, uint8_t scale)
{
    if (p->arith == MXV_ARITH_EXACT || mxv_f32_is_nan(x)) {
        struct mxv_value v = mxv_value_from_f32(x);
        v.exp -= (int)scale - 127;
        return (uint8_t)mxv_element_encode(element, v, &p->encode);
    }
    uint32_t y = p->arith == MXV_ARITH_DIV ? mxv_f32_div_by(p->ops, x, mxv_e8m0_to_f32(scale))
                                           : mxv_f32_mul(x, mxv_e8m0_rcp(scale, p->fe));
    if (p->flush_out)
        y = mxv_f32_flush(y);
    return (uint8_t)mxv_element_from_f32(element, y, &p->encode);
}

static MXV_FN uint32_t decode_scaled(enum mxv_block b, uint8_t scale, uint8_t code)
{
    struct mxv_encode ieee = MXV_ZERO;
    ieee.overflow = MXV_OVERFLOW_IEEE;
    const struct mxv_value v = mxv_value_mul(mxv_element_decode(blocks[b].element, code),
                                             mxv_element_decode(blocks[b].scale, scale));
    return (uint32_t)mxv_element_encode(MXV_F32, v, &ieee);
}

/// The code, or under overflow=finite the next smaller magnitude that decodes to a finite value.
static MXV_FN uint8_t limit_decoded(enum mxv_block b, const struct mxv_block_policy *p, uint32_t x,
                                    uint8_t scale, uint8_t code)
{
    const enum mxv_element element = blocks[b].element;
    const uint8_t toward_zero =
        mxv_element_get(element)->shape == MXV_SHAPE_SIGNED && code >= 0x80 ? 0x01 : 0xFF;
    if (p->overflow != MXV_BLOCK_OVERFLOW_FINITE || mxv_f32_abs(x) >= MXV_F32_INF)
        return code;
    while (mxv_element_decode(element, code).kind == MXV_FINITE &&
           mxv_f32_is_inf(decode_scaled(b, scale, code)))
        code = (uint8_t)(code + toward_zero);
    return code;
}

static MXV_FN uint8_t encode_nan(enum mxv_element element, const struct mxv_block_policy *p)
{
    return (uint8_t)mxv_element_from_f32(element, MXV_F32_NAN, &p->encode);
}

/// Element code under scale_inf=divide: x / Inf.
static MXV_FN uint8_t encode_over_inf(enum mxv_element element, const struct mxv_block_policy *p,
                                      uint32_t x)
{
    const uint32_t y = mxv_f32_div_by(p->ops, x, MXV_F32_INF);
    return (uint8_t)mxv_element_from_f32(element, y, &p->encode);
}

static MXV_FN void quantize_mx(enum mxv_block b, const struct mxv_block_policy *p,
                               const uint32_t *x, uint32_t amax, uint8_t *scale, uint8_t *codes)
{
    const enum mxv_element element = blocks[b].element;
    const bool over_inf = mxv_f32_is_inf(amax) && p->scale.inf == MXV_SCALE_INF_DIVIDE;
    const bool wrapped = p->scale.below == MXV_BELOW_WRAP && amax < MXV_F32_INF;
    const uint8_t code = mxv_scale_e8m0(p->rule, element, amax, &p->scale);
    const bool all_nan = (code == 0xFF && !wrapped) || mxv_f32_is_nan(amax) ||
                         (amax == 0 && p->zero == MXV_BLOCK_ZERO_NAN);
    for (size_t i = 0; i < blocks[b].size; i++) {
        if (all_nan)
            codes[i] = encode_nan(element, p);
        else if (over_inf)
            codes[i] = encode_over_inf(element, p, x[i]);
        else
            codes[i] = limit_decoded(b, p, x[i], code, encode_scaled(element, p, x[i], code));
    }
    *scale = code;
}

MXV_FN void mxv_block_quantize(enum mxv_block b, const struct mxv_block_policy *p,
                               const uint32_t *x, uint8_t *scale, uint8_t *codes)
{
    const struct mxv_block_policy defaults = MXV_ZERO;
    const size_t size = blocks[b].size;
    uint32_t words[MXV_BLOCK_SIZE_MAX];
    if (p == NULL)
        p = &defaults;
    for (size_t i = 0; i < size; i++)
        words[i] = p->flush_in ? mxv_f32_flush(x[i]) : x[i];
    const uint32_t amax = mxv_block_amax(words, size, p->nan);
    if (blocks[b].scale == MXV_E8M0)
        quantize_mx(b, p, words, amax, scale, codes);
    else
        mxv_nvfp4_quantize(p, words, amax, scale, codes);
}

MXV_FN void mxv_block_dequantize(enum mxv_block b, uint8_t scale, const uint8_t *codes,
                                 uint32_t *out_f32)
{
    for (size_t i = 0; i < blocks[b].size; i++)
        out_f32[i] = decode_scaled(b, scale, codes[i]);
}
