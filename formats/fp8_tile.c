// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// FP8 with one scale per tile. See mxverify/fp8_tile.h. tests/unit/test_block.c fails if this is
// wrong.
#include <mxverify/block.h>
#include <mxverify/fp8_tile.h>

static MXV_FN uint32_t largest_word(enum mxv_element element)
{
    return mxv_element_to_f32(element, mxv_element_get(element)->max_code);
}

static MXV_FN uint32_t bounded_amax(const struct mxv_fp8_tile_policy *p, uint32_t amax)
{
    const uint32_t magnitude = mxv_f32_abs(amax);
    return mxv_f32_is_nan(magnitude) ? MXV_F32_NAN : mxv_f32_max(magnitude, p->amax_min);
}

MXV_FN uint32_t mxv_fp8_tile_scale(const struct mxv_fp8_tile_policy *p, uint32_t amax)
{
    const uint32_t bounded = bounded_amax(p, amax);
    if (p->scale == MXV_FP8_SCALE_UE8M0)
        return mxv_e8m0_to_f32(mxv_scale_e8m0(MXV_SCALE_RCEIL, p->element, bounded, NULL));
    return mxv_f32_div_by(p->ops, bounded, largest_word(p->element));
}

/// Code of x in a tile of the given scale; `factor` = fl32(M / amax) serves mul_max alone.
static MXV_FN uint8_t tile_code(const struct mxv_fp8_tile_policy *p, uint32_t x, uint32_t scale,
                                uint32_t factor)
{
    const enum mxv_element f = p->element;
    if (p->mul_max)
        return (uint8_t)mxv_element_from_f32(f, mxv_f32_mul(x, factor), &p->encode);
    if (p->arith == MXV_ARITH_DIV)
        return (uint8_t)mxv_element_from_f32(f, mxv_f32_div_by(p->ops, x, scale), &p->encode);
    if (p->arith == MXV_ARITH_RCP)
        return (uint8_t)mxv_element_from_f32(f, mxv_f32_mul(x, mxv_f32_rcp_by(p->ops, scale)),
                                             &p->encode);
    return (uint8_t)mxv_element_from_quotient(f, x, scale, MXV_ARITH_EXACT, &p->encode);
}

MXV_FN void mxv_fp8_tile_quantize(const struct mxv_fp8_tile_policy *p, const uint32_t *x,
                                  size_t rows, size_t cols, size_t x_stride, uint32_t *scale,
                                  uint8_t *codes, size_t code_stride)
{
    uint32_t amax = 0;
    for (size_t r = 0; r < rows && !mxv_f32_is_nan(amax); r++) {
        const uint32_t row = mxv_block_amax(x + r * x_stride, cols, p->nan);
        amax = row > amax ? row : amax;
    }
    *scale = mxv_fp8_tile_scale(p, amax);
    const uint32_t factor = mxv_f32_div_by(p->ops, largest_word(p->element), bounded_amax(p, amax));
    const bool all_nan = mxv_f32_is_nan(*scale);
    const bool vanished = *scale == 0 || amax == 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            const uint32_t word = x[r * x_stride + c];
            uint8_t *code = &codes[r * code_stride + c];
            if (all_nan)
                *code = (uint8_t)mxv_element_from_f32(p->element, MXV_F32_NAN, &p->encode);
            else if (vanished)
                *code = (uint8_t)mxv_element_from_f32(p->element, word & UINT32_C(0x80000000),
                                                      &p->encode);
            else
                *code = tile_code(p, word, *scale, factor);
        }
    }
}

MXV_FN uint32_t mxv_fp8_tile_dequantize(enum mxv_element element, uint8_t code, uint32_t scale)
{
    return mxv_f32_mul(mxv_element_to_f32(element, code), scale);
}
