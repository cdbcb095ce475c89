// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// FP8 with one scale per two-dimensional tile, as in DeepSeek-V3 (128x128 weights, 1x128
// activations; arXiv 2412.19437, section 3.3) and DeepGEMM.
//
// Computed: scale = fl32(amax / M), M the largest value of the element, or 2^ceil(log2(amax / M))
// (fp8_scale); codes of x / scale. The scale is what a reader multiplies by, in spite of the name
// weight_scale_inv in checkpoints. Arithmetic, a lower bound for amax and the element encoding are
// members of mxv_fp8_tile_policy. A tile of maximum 0 has codes 0. Not handled: padding of the
// scale matrix (pack.h). tests/unit/test_block.c fails if this is wrong.
#ifndef MXVERIFY_FP8_TILE_H
#define MXVERIFY_FP8_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/element.h>
#include <mxverify/f32.h>
#include <mxverify/platform.h>
#include <mxverify/policy.h>

MXV_DECLARATIONS_BEGIN

/// Choices of an FP8 tile. All zero but `element` = f32 scale, exact quotient, NaN propagated.
struct mxv_fp8_tile_policy {
    enum mxv_element element; ///< e4m3, e5m2 or another 8-bit float format
    enum mxv_fp8_scale scale;
    enum mxv_arith arith;
    enum mxv_block_nan nan; ///< propagate: scale 7FFFFFFF, every code NaN
    bool mul_max;      ///< fl32(x * fl32(M / amax)) instead of `arith` (DeepGEMM, SageAttention V)
    uint32_t amax_min; ///< binary32 word: amax is at least this (DeepGEMM: 1e-4; 0: none)
    struct mxv_encode encode;
    const struct mxv_f32_ops *ops; ///< division and reciprocal; NULL: IEEE
};

/// Scale word for a tile of largest magnitude `amax`; 0 for amax 0 (f32) or 2^-127 (ue8m0).
MXV_FN uint32_t mxv_fp8_tile_scale(const struct mxv_fp8_tile_policy *p, uint32_t amax);

/// Quantises rows x cols elements (ragged edge tiles pass fewer than 128). x and codes are
/// row-major with `x_stride` and `code_stride` elements from row to row.
MXV_FN void mxv_fp8_tile_quantize(const struct mxv_fp8_tile_policy *p, const uint32_t *x,
                                  size_t rows, size_t cols, size_t x_stride, uint32_t *scale,
                                  uint8_t *codes, size_t code_stride);

/// fl32(element * scale) as a binary32 word.
MXV_FN uint32_t mxv_fp8_tile_dequantize(enum mxv_element element, uint8_t code, uint32_t scale);

MXV_DECLARATIONS_END
#endif
