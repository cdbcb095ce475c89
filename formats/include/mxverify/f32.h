// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Binary32 arithmetic on words, without a float type: nearest even, subnormals kept, NaN result
// 7FFFFFFF. Each function equals the IEEE 754 operation (mul, div, add, sub and fma round once).
// For flush-to-zero arithmetic wrap operands and result in mxv_f32_flush.
// tests/unit/test_f32.c compares with the host's arithmetic and fails if this is wrong.
#ifndef MXVERIFY_F32_H
#define MXVERIFY_F32_H

#include <stdbool.h>
#include <stdint.h>

#include <mxverify/platform.h>

MXV_DECLARATIONS_BEGIN

#define MXV_F32_NAN  UINT32_C(0x7FFFFFFF)
#define MXV_F32_INF  UINT32_C(0x7F800000)
#define MXV_F32_MAX  UINT32_C(0x7F7FFFFF)
#define MXV_F32_ONE  UINT32_C(0x3F800000)
#define MXV_F32_HALF UINT32_C(0x3F000000)

MXV_FN uint32_t mxv_f32_mul(uint32_t a, uint32_t b);
MXV_FN uint32_t mxv_f32_div(uint32_t a, uint32_t b);
MXV_FN uint32_t mxv_f32_add(uint32_t a, uint32_t b);
MXV_FN uint32_t mxv_f32_sub(uint32_t a, uint32_t b);
/// a * b + c, rounded once.
MXV_FN uint32_t mxv_f32_fma(uint32_t a, uint32_t b, uint32_t c);
/// a < b; false if either is NaN; -0 equals +0.
MXV_FN bool mxv_f32_less(uint32_t a, uint32_t b);
/// The word with its sign bit cleared.
MXV_FN uint32_t mxv_f32_abs(uint32_t a);
/// The larger; a NaN gives the other operand, two NaNs 7FFFFFFF; +0 is larger than -0 (PTX
/// max.f32).
MXV_FN uint32_t mxv_f32_max(uint32_t a, uint32_t b);
/// The smaller, with the same rules (PTX min.f32).
MXV_FN uint32_t mxv_f32_min(uint32_t a, uint32_t b);
MXV_FN bool mxv_f32_is_nan(uint32_t a);
MXV_FN bool mxv_f32_is_inf(uint32_t a);
/// A subnormal becomes zero of its sign; other words are returned as given.
MXV_FN uint32_t mxv_f32_flush(uint32_t a);

/// Division and reciprocal as a kernel performs them. NULL members mean the IEEE operation, which
/// lets a caller put in a model of div.full or rcp.approx.
struct mxv_f32_ops {
    uint32_t (*div)(uint32_t a, uint32_t b);
    uint32_t (*rcp)(uint32_t a);
};

/// a / b and 1 / a by *ops (NULL: IEEE).
MXV_FN uint32_t mxv_f32_div_by(const struct mxv_f32_ops *ops, uint32_t a, uint32_t b);
MXV_FN uint32_t mxv_f32_rcp_by(const struct mxv_f32_ops *ops, uint32_t a);

MXV_DECLARATIONS_END
#endif
