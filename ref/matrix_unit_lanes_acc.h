// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Accumulators of the rules T, ST and HMMA_FP8 as vectors: taken apart before a step, f16 words put
// together after it. Exact; round_f16 rounds once, from a value rounded to odd or exact.
// unit.matrix_unit_tile fails if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_ACC_H
#define MXV_REF_MATRIX_UNIT_LANES_ACC_H

#include "matrix_unit_lanes.h"

// Lowest X for which binary32 holds every power of two that a step needs.
enum { LOW = -100 };

// Exponents of narrow operands (not bf16, not tf32; e in [-14, 15]) as biased bytes, 0 for a zero
// operand: the sum of two is e + BIAS, at least 99, for a nonzero product and at most 79 otherwise.
enum { BIAS_A = 63, BIAS_B = 64, BIAS = BIAS_A + BIAS_B, LEAST = -28 };

// The constants of a variant: f16 results, lines scaled for their range, block scales.
enum variant { NARROW, NARROW_F16, WIDE, BLOCKS };

// An accumulator vector taken apart: binary32 value and raw exponent, both anything where it is NaN
// or infinite.
struct acc {
    vf value;
    vi exp, zero, not_finite;
};

MXV_INLINE struct acc unpack_f32(vi w, int zero_exp)
{
    struct acc a;
    vi field = w >> 23 & 0xff;
    a.not_finite = field == 0xff;
    a.zero = (w & 0x7fffffff) == 0;
    a.value = (vf)w;
    a.exp = select_i(a.zero, splat_i(zero_exp), max_i(field, splat_i(1)) - 127);
    return a;
}

MXV_INLINE struct acc unpack_f16(vi w, int zero_exp)
{
    struct acc a;
    vi field = w >> 10 & 0x1f;
    a.not_finite = field == 0x1f;
    a.zero = (w & 0x7fff) == 0;
    vf value = (vf)((w & 0x7fff) << 13) * 0x1p112f; // exact, subnormals too
    a.value = (vf)((vi)value | (vi)((vu)w << 16 & 0x80000000u));
    a.exp = select_i(a.zero, splat_i(zero_exp), max_i(field, splat_i(1)) - 15);
    return a;
}

MXV_INLINE struct acc unpack(vi w, int zero_exp, enum variant variant)
{
    return variant == NARROW_F16 ? unpack_f16(w, zero_exp) : unpack_f32(w, zero_exp);
}

// Whether an accumulator word is NaN or infinite, and then what a step on finite operands makes of
// it.
MXV_INLINE bool keeps_special(const struct mxv_mma_model *m, uint32_t word, uint32_t *result)
{
    const struct mxv_mma_acc acc = mxv_mma_unpack(m, word);
    if (acc.class == MXV_MMA_FINITE)
        return false;
    *result = acc.class == MXV_MMA_INFINITE ? mxv_mma_infinity(m, acc.negative) : mxv_mma_nan(m);
    return true;
}

// A binary32 value rounded to odd, |x| in [2^-126, 2^128) or infinite or 0, to f16, nearest-even.
MXV_INLINE vi round_f16(vi word)
{
    vi magnitude = word & 0x7fffffff;
    vi even = magnitude + 0xfff + (magnitude >> 13 & 1);
    vi normal = min_i((even >> 13) - (112 << 10), splat_i(MXV_MMA_INF_F16));
    vi small = (vi)((vf)magnitude + 0.5f) - (vi)splat_f(0.5f); // 0.5 has an ulp of 2^-24
    vi code = select_i(magnitude < 0x38800000, small, normal);
    vi sign = (vi)((vu)word >> 16) & 0x8000;
    return code | (sign & (code != 0));
}

#endif
