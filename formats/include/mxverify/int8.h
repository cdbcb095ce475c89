// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Symmetric INT8 quantisation of a group of any size: per tensor, token, channel or block.
//
// Computed: scale = fl32(amax / 127), code = clamp(round(x / scale)). Implementations part ways on
// how the quotient is formed (int8_arith), how it is rounded (round, with add_half), what keeps the
// scale from zero (int8_eps), the zero group (int8_zero) and the lowest code; each is a member of
// mxv_int8_policy. Every step is a correctly rounded binary32 operation, or exact. A NaN element
// has code 0 (PTX cvt). Not handled: asymmetric zero points. tests/unit/test_int8.c fails if this
// is wrong.
#ifndef MXVERIFY_INT8_H
#define MXVERIFY_INT8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/f32.h>
#include <mxverify/platform.h>
#include <mxverify/policy.h>

MXV_DECLARATIONS_BEGIN

/// Choices of INT8. All zero = amax / 127, divided, rne, clamped to -128..127, zero group scale 0.
struct mxv_int8_policy {
    enum mxv_int8_arith arith;
    enum mxv_int8_eps eps;
    enum mxv_int8_zero zero;
    enum mxv_block_nan nan; ///< propagate: scale 7FFFFFFF, all codes 0
    enum mxv_round round;
    bool symmetric;                ///< clamp to -127..127
    const struct mxv_f32_ops *ops; ///< division and reciprocal; NULL: IEEE
};

/// Scale word for a group of largest magnitude `amax` (binary32 words). p may be NULL.
MXV_FN uint32_t mxv_int8_scale(const struct mxv_int8_policy *p, uint32_t amax);

/// Code of x for a given scale word; amax serves MXV_INT8_MUL127 alone. A zero or NaN scale gives
/// 0.
MXV_FN int8_t mxv_int8_code(const struct mxv_int8_policy *p, uint32_t x, uint32_t scale,
                            uint32_t amax);

/// Quantises count elements x[0], x[stride], ... to codes[0], codes[stride], ... under one scale.
MXV_FN void mxv_int8_quantize(const struct mxv_int8_policy *p, const uint32_t *x, size_t count,
                              size_t stride, uint32_t *scale, int8_t *codes);

/// fl32(code * scale) as a binary32 word.
MXV_FN uint32_t mxv_int8_dequantize(int8_t code, uint32_t scale);

MXV_DECLARATIONS_END
#endif
