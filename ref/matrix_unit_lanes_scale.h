// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The exponents of a step of the sum form: X of each lane, the powers of two that products and
// accumulators are multiplied by, and the lanes that the vectors do not take
// (matrix_unit_lanes_sum.h says why the others are exact).
// unit.matrix_unit_tile and exhaustive.matrix_unit_levels fail if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_SCALE_H
#define MXV_REF_MATRIX_UNIT_LANES_SCALE_H

#include "matrix_unit_lanes_pack.h"

// HIGH: with block scales, the largest X of the vectors; 2^(F - X) and 2^(X - F) are normal numbers
// up to it. PARTIAL: products whose terms fit int32.
enum { DEEP = TOP + LOW, HIGH = 120, PARTIAL = 16 };

// A model's numbers, and where its originals are for mxv_mma_step_t. The vectors are constants,
// here so that loops read them from memory.
struct sum_context {
    const struct mxv_mma_tile *t;
    const struct mxv_mma_span *s;
    const struct sum_columns *cols;
    int zero;
    size_t first, lanes;
    vi frac, low, high, bias, one, keep_mask; // F, LOW, HIGH or 127, 127, 1.0 with two biases
    vh pair_bias, absent;                     // of words
};

// One row's products of a step; shift: of its blocks.
struct sum_row {
    const float *value;
    const uint32_t *exp;
    const int32_t *shift;
};

MXV_INLINE struct sum_row row_of(const struct sum_rows *panel, size_t r, size_t at,
                                 const size_t step, const enum variant variant)
{
    const size_t words = variant == WIDE ? step : step / 2;
    return (struct sum_row){panel->value + row_at(step, at, r),
                            panel->exp + row_at(words, at / step * words, r), panel->shift[r]};
}

// Exponent that products of a step lack, 0 if NARROW.
MXV_INLINE vi step_shift(const struct sum_context *x, const struct sum_row *row, size_t at, int v,
                         enum variant variant)
{
    const size_t block = variant == BLOCKS ? at / 32 : 0;
    if (variant != WIDE && variant != BLOCKS)
        return splat_i(0);
    return load_i(x->cols->shift[block] + v * VECTOR) + row->shift[block];
}

// Value and raw exponent of accumulators; the exponent is 128 where they are not finite, and below
// LOW, whichever, for zeros and subnormals of f32.
MXV_INLINE vi step_unpack(const struct sum_context *x, vi word, const enum variant variant,
                          vf *value)
{
    if (variant == NARROW_F16) {
        const struct acc acc = unpack_f16(word, x->zero);
        *value = acc.value;
        return select_i(acc.not_finite, splat_i(128), acc.exp);
    }
    *value = (vf)word;
    return (vi)(((vu)word << 1) >> 24) - x->bias;
}

// step_scales() with block scales: lanes with X outside [LOW, HIGH] are suspect. The scale of
// products that are all 0 may be any.
MXV_INLINE vi step_scales_blocks(const struct sum_context *x, const struct sum_row *row, size_t at,
                                 const vi exp[2], vi top[2], vi scale[2], vi factor[2])
{
    vi shift[2];
    for (int v = 0; v < 2; v++) {
        shift[v] = step_shift(x, row, at, v, BLOCKS);
        top[v] = max_i(top[v] + shift[v], exp[v]);
    }
    const vi suspect = (min_i(top[0], top[1]) - x->low) | (x->high - max_i(top[0], top[1]));
    for (int v = 0; v < 2; v++) {
        top[v] = max_i(top[v], x->low);
        const vi e = x->frac - top[v];
        scale[v] = (vi)power_i(max_i(min_i(e + shift[v], x->bias), -x->bias));
        factor[v] = (vi)power_i(e);
    }
    return suspect;
}

// Scales the products and the accumulators of a step. e: exponent of the sum's unit; scale, factor:
// what products and accumulators are multiplied by. Lanes that may have to be redone, taken
// together, set the sign bit of the result.
MXV_INLINE vi step_scales(const struct sum_context *x, const struct sum_row *row, size_t at,
                          const enum variant variant, const vi exp[2], vi top[2], vi scale[2],
                          vi factor[2])
{
    vi suspect = {0};
    if (variant == NARROW || variant == NARROW_F16) {
        for (int v = 0; v < 2; v++) {
            top[v] = max_i(top[v], exp[v]);
            scale[v] = factor[v] = (vi)power_i(x->frac - top[v]);
        }
        return (min_i(top[0], top[1]) - x->low) | (x->high - max_i(top[0], top[1]));
    }
    if (variant == BLOCKS)
        return step_scales_blocks(x, row, at, exp, top, scale, factor);
    for (int v = 0; v < 2; v++) {
        const vi shift = step_shift(x, row, at, v, variant);
        top[v] = max_i(top[v], exp[v]);
        suspect |= (top[v] < x->low) | (exp[v] > x->high);
        suspect |= (top[v] - shift < DEEP) | (top[v] == x->high + x->frac);
        top[v] = max_i(top[v], x->low);
        const vi e = x->frac - top[v];
        scale[v] = (vi)power_i(max_i(min_i(e + shift, x->bias), -x->bias));
        factor[v] = (vi)power_i(max_i(e, -x->bias));
    }
    return suspect;
}

// Finite lanes of vector v whose exponents the vectors do not take.
MXV_INLINE vi odd_lanes(const struct sum_context *x, const struct sum_row *row, size_t at, int v,
                        vi product_top, vi before, enum variant variant)
{
    const vi none = splat_i(variant == WIDE ? REAL : LOW - 1);
    struct acc acc = unpack(before, x->zero, variant);
    vi shift = step_shift(x, row, at, v, variant);
    vi real = product_top > none;
    if (variant == BLOCKS)
        product_top += shift;
    vi top = max_i(product_top, acc.exp);
    vi odd = (top < LOW) & (real | ~acc.zero);
    if (variant == BLOCKS)
        odd |= top > HIGH;
    if (variant == WIDE) // the factor 2^-127 of c was made 0
        odd |= (real & (top - shift < DEEP)) | ((top == 127 + x->frac) & (acc.exp == 127));
    return odd;
}

#endif
