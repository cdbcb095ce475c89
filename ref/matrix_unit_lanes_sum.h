// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules T, ST and HMMA_FP8 over a tile, LANES columns side by side (docs/performance.md, "Matrix
// units"). Operands are binary32 values, packed once; a term of a step is
//     t = truncate(a * b * 2^(F - X)),
// one conversion instruction giving shift, truncation toward zero and sign. Why this is exact:
//   a * b: significands of at most 11 bits, so at most 22 bits, and no overflow: bf16 and tf32 rows
//     and columns are scaled so that their largest exponent is TOP, ue8m0 scales and this scaling
//     enter the exponent `shift` of a lane instead of the operands;
//   an operand that this scaling takes below 2^-126 becomes 0; its products are below 2^(TOP-125),
//     and their terms are 0 where the shifted X is at least DEEP (F <= 25). A product below 2^-126,
//     rounded or not, is below 2^(X - F) where X is at least LOW, and its term is 0. Lanes where X
//     lies lower are computed by mxv_mma_step_t instead;
//   |t| < 2^(F+2), sixteen of them with F <= 25 fit int32 (3.996 * 2^29 < 2^31); a sum that
//     passes int32 when the accumulator or a second sixteen joins goes to mxv_mma_step_t;
//   the sum is cut to 24 bits on its way to binary32, and 2^(X - F) times that neither rounds nor
//     underflows, while overflow gives the infinity that the rule wants.
// X is the maximum of the raw exponents as in mxv_mma_step_t; zeros are left out, which changes
// nothing: z lies below every nonzero accumulator, and a zero accumulator takes part with z.
// unit.matrix_unit_tile and exhaustive.matrix_unit_levels fail if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_SUM_H
#define MXV_REF_MATRIX_UNIT_LANES_SUM_H

#include "matrix_unit_lanes_pack.h"

enum { LOW = -100, DEEP = TOP - 100, PARTIAL = 16, PANEL = 64 };

// The constants of a variant: f16 results, lines scaled for their range, block scales.
enum variant { NARROW, NARROW_F16, WIDE, BLOCKS };

// A model's numbers, and where its originals are for mxv_mma_step_t.
struct sum_context {
    const struct mxv_mma_tile *t;
    const struct mxv_mma_span *s;
    const struct sum_columns *cols;
    int frac, zero;
    size_t step;
    int32_t keep_mask;
    size_t first, lanes;
};

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

// sum * 2^e, e in [LOW - F, 254 - F].
MXV_INLINE vi finish(const struct sum_context *x, vi sum, vi e, enum variant variant)
{
    vi inexact;
    vi cut = cut_i(sum, &inexact);
    if (variant == NARROW_F16)
        return round_f16((vi)((vf)(cut | (inexact & 1)) * power_i(e)));
    if (variant == NARROW)
        return (vi)((vf)cut * power_i(e)) & x->keep_mask;
    vi word = (vi)((vf)cut * power_i(min_i(e, splat_i(128)))); // 2^128 is infinity here
    return word & x->keep_mask & (cut != 0);
}

// a + b modulo 2^32: lanes that are suspect may hold anything.
MXV_INLINE vi wrap_add_i(vi a, vi b)
{
    return (vi)((vu)a + (vu)b);
}

// a + b; lanes where that passes int32 get the sign bit of `over`.
MXV_INLINE vi add_i(vi a, vi b, vi *over)
{
    vi sum = wrap_add_i(a, b);
    *over |= (sum ^ a) & (sum ^ b);
    return sum;
}

// Largest raw exponent of the products [at, at + step), as two vectors of 32-bit lanes.
MXV_INLINE void step_top(const struct sum_row *row, const struct sum_columns *cols, size_t at,
                         size_t step, vi top[2])
{
    vh top_h = (vh)splat_i(0) + 2 * MXV_OPERAND_ZERO;
    for (size_t i = at; i < at + step; i += 4)
        for (size_t u = i; u < i + 4; u++)
            top_h = max_h(top_h, (vh)load_i(cols->exp[u]) + (vh)splat_i(row->exp[u]));
    top[0] = low_half((vi)top_h);
    top[1] = high_half((vi)top_h);
}

// Sums of the truncated terms of products [at, at + n), n <= PARTIAL.
MXV_INLINE void step_terms(const struct sum_row *row, const struct sum_columns *cols, size_t at,
                           size_t n, const vf scale[2], vi sum[2])
{
    const vf scale0 = scale[0], scale1 = scale[1];
    vi sum0 = {0}, sum1 = {0};
    for (size_t i = at; i < at + n; i += 4)
        for (size_t u = i; u < i + 4; u++) {
            vf a = splat_f(row->line.value[u]);
            sum0 = wrap_add_i(sum0, truncate_f(load_f(cols->value[u]) * a * scale0));
            sum1 = wrap_add_i(sum1, truncate_f(load_f(cols->value[u] + VECTOR) * a * scale1));
        }
    sum[0] = sum0;
    sum[1] = sum1;
}

// Exponent that products of a step lack, 0 if NARROW.
MXV_INLINE vi step_shift(const struct sum_context *x, const struct sum_row *row, size_t at, int v,
                         enum variant variant)
{
    const size_t block = variant == BLOCKS ? at / 32 : 0;
    if (variant != WIDE && variant != BLOCKS)
        return splat_i(0);
    return load_i(x->cols->shift[block] + v * VECTOR) + row->line.shift[block];
}

// One step of products from `at`: c[v] becomes the results. Lanes that may have to be redone have
// the sign bit of suspect[v] set; those where a sum passed int32 that of over[v].
MXV_INLINE void sum_step(const struct sum_context *x, const struct sum_row *row, size_t at,
                         const enum variant variant, vi c[2], vi suspect[2], vi over[2])
{
    const bool wide = variant == WIDE || variant == BLOCKS;
    const size_t step = x->step;
    vi top[2], sum[2], rest[2];
    vf scale[2], value[2];
    step_top(row, x->cols, at, step, top);
    for (int v = 0; v < 2; v++) {
        struct acc acc = unpack(c[v], x->zero, variant);
        vi shift = step_shift(x, row, at, v, variant);
        top[v] = max_i(variant == BLOCKS ? top[v] + shift : top[v], acc.exp);
        value[v] = acc.value;
        suspect[v] = (top[v] < LOW) | acc.not_finite;
        if (wide)
            suspect[v] |= (top[v] - shift < DEEP) | (top[v] == 127 + x->frac);
        top[v] = max_i(top[v], splat_i(LOW));
        vi e = x->frac - top[v] + shift;
        scale[v] = power_i(wide ? max_i(min_i(e, splat_i(127)), splat_i(-127)) : e);
        over[v] = splat_i(0);
    }
    step_terms(row, x->cols, at, step < PARTIAL ? step : PARTIAL, scale, sum);
    if (step > PARTIAL) {
        step_terms(row, x->cols, at + PARTIAL, PARTIAL, scale, rest);
        for (int v = 0; v < 2; v++)
            sum[v] = add_i(sum[v], rest[v], &over[v]);
    }
    for (int v = 0; v < 2; v++) {
        vi e = x->frac - top[v];
        vf factor = wide ? power_i(max_i(e, splat_i(-127))) : scale[v];
        sum[v] = add_i(sum[v], truncate_f(value[v] * factor), &over[v]);
        c[v] = finish(x, sum[v], -e, variant);
    }
}

// Suspects of a step as copies of the vectors.
struct suspects {
    int32_t before[LANES], over[LANES], c[LANES];
};

// Finite lanes of vector v whose exponents the vectors do not take.
MXV_INLINE vi odd_lanes(const struct sum_context *x, const struct sum_row *row, size_t at, int v,
                        vi product_top, vi before, enum variant variant)
{
    struct acc acc = unpack(before, x->zero, variant);
    vi shift = step_shift(x, row, at, v, variant);
    if (variant == BLOCKS)
        product_top += shift;
    vi real = product_top > REAL, top = max_i(product_top, acc.exp);
    vi odd = (top < LOW) & (real | ~acc.zero);
    if (variant == WIDE || variant == BLOCKS) // the factor 2^-127 of c was made 0
        odd |= (real & (top - shift < DEEP)) | ((top == 127 + x->frac) & (acc.exp == 127));
    return odd;
}

// Redoes what is wrong among the suspects, lane by lane.
static __attribute__((noinline, cold)) void redo_step(const struct sum_context *x,
                                                      const struct sum_row *row, size_t index,
                                                      size_t at, enum variant variant,
                                                      struct suspects *lanes)
{
    const struct mxv_mma_tile *t = x->t;
    size_t left = x->s->n > at ? x->s->n - at : 0, from = left ? x->s->at + at : 0;
    int32_t odd[LANES];
    vi top[2];
    step_top(row, x->cols, at, x->step, top);
    for (int v = 0; v < 2; v++)
        store_i(odd + v * VECTOR,
                odd_lanes(x, row, at, v, top[v], load_i(lanes->before + v * VECTOR), variant));
    for (size_t j = 0; j < x->lanes; j++) {
        const struct mxv_mma_acc acc = mxv_mma_unpack(t->m, (uint32_t)lanes->before[j]);
        int scale = variant == BLOCKS ? row->line.shift[at / 32] + x->cols->shift[at / 32][j] : 0;
        if (acc.class == MXV_MMA_INFINITE)
            lanes->c[j] = (int32_t)mxv_mma_infinity(t->m, acc.negative);
        else if (acc.class == MXV_MMA_NOT_A_NUMBER)
            lanes->c[j] = (int32_t)mxv_mma_nan(t->m);
        else if (odd[j] || lanes->over[j] < 0)
            lanes->c[j] = (int32_t)mxv_mma_step_t(
                t->m, left < x->step ? left : x->step, t->a + index * t->k + from,
                t->b + (x->first + j) * t->k + from, scale, (uint32_t)lanes->before[j]);
    }
}

MXV_INLINE void sum_steps(const struct sum_context *x, const struct sum_row *row, size_t index,
                          const enum variant variant, vi c[2])
{
    for (size_t at = 0; at < x->s->padded; at += x->step) {
        const vi before0 = c[0], before1 = c[1];
        vi suspect[2], over[2];
        sum_step(x, row, at, variant, c, suspect, over);
        if (__builtin_expect(any_sign(suspect[0] | suspect[1] | over[0] | over[1]), 0)) {
            struct suspects lanes;
            store_i(lanes.before, before0);
            store_i(lanes.before + VECTOR, before1);
            for (int v = 0; v < 2; v++) {
                store_i(lanes.over + v * VECTOR, over[v]);
                store_i(lanes.c + v * VECTOR, c[v]);
            }
            redo_step(x, row, index, at, variant, &lanes);
            c[0] = load_i(lanes.c);
            c[1] = load_i(lanes.c + VECTOR);
        }
    }
}

// HMMA_FP8: two steps from zero, then r + c. No lane is suspect: exponents lie in [-28, 32] and
// sums below 2^31. An f16 r may become infinite in the first step and then stays so.
MXV_INLINE void sum_hmma(const struct sum_context *x, const struct sum_row *row,
                         const enum variant variant, vi c[2])
{
    for (size_t at = 0; at < x->s->padded; at += 32) {
        vi r[2] = {{0}}, suspect[2], over[2];
        sum_step(x, row, at, variant, r, suspect, over);
        const vi first0 = r[0], first1 = r[1];
        sum_step(x, row, at + 16, variant, r, suspect, over);
        for (int v = 0; v < 2; v++) {
            if (variant == NARROW) {
                vf sum = (vf)r[v] + (vf)c[v];
                c[v] = select_i(sum != sum, splat_i(MXV_MMA_NAN_F32), (vi)sum);
                continue;
            }
            vi first = v ? first1 : first0;
            vi sum = select_i((first & 0x7fff) == MXV_MMA_INF_F16, first, r[v]);
            for (int j = 0; j < VECTOR; j++)
                c[v][j] = (int32_t)mxv_mma_final_add(x->t->m, (uint32_t)sum[j], (uint32_t)c[v][j]);
        }
    }
}

static void run_row(const struct sum_context *x, const struct sum_row *row, size_t index, vi c[2])
{
    const struct mxv_mma_model *m = x->t->m;
    const bool half = m->result == MXV_MMA_F16;
    if (m->rule == MXV_MMA_HMMA_FP8 && half)
        sum_hmma(x, row, NARROW_F16, c);
    else if (m->rule == MXV_MMA_HMMA_FP8)
        sum_hmma(x, row, NARROW, c);
    else if (m->rule == MXV_MMA_ST)
        sum_steps(x, row, index, BLOCKS, c);
    else if (is_wide(m))
        sum_steps(x, row, index, WIDE, c);
    else if (half)
        sum_steps(x, row, index, NARROW_F16, c);
    else
        sum_steps(x, row, index, NARROW, c);
}

static void run_block(const struct sum_context *x, const struct sum_row *row, size_t index)
{
    uint32_t *out = x->t->cd + index * x->t->ld + x->first;
    vi c[2], before[2];
    load_words(out, x->lanes, c);
    before[0] = c[0];
    before[1] = c[1];
    if (!row->line.special)
        run_row(x, row, index, c);
    store_words(out, x->lanes, c);
    if (row->line.special || x->cols->any_special) {
        uint32_t words[LANES];
        store_i(words, before[0]);
        store_i(words + VECTOR, before[1]);
        mxv_mma_slow_lanes(x->t, x->s, index, x->first, x->lanes,
                           row->line.special ? NULL : x->cols->special, words, out);
    }
}

static void sum_panel(struct sum_context *x, struct sum_columns *cols, size_t first_row,
                      size_t rows)
{
    struct sum_row panel[PANEL];
    for (size_t r = 0; r < rows; r++)
        pack_row(x->t, x->s, first_row + r, &panel[r]);
    for (size_t first = 0; first < x->t->cols; first += LANES) {
        x->first = first;
        x->lanes = x->t->cols - first < LANES ? x->t->cols - first : LANES;
        pack_columns(x->t, x->s, first, x->lanes, cols);
        for (size_t r = 0; r < rows; r++)
            run_block(x, &panel[r], first_row + r);
    }
}

static void sum_tile(const struct mxv_mma_tile *t)
{
    const struct mxv_mma_model *m = t->m;
    const int32_t mask = (int32_t)(~(uint32_t)0 << (23 - m->keep_bits));
    static const struct sum_columns empty;
    struct sum_columns cols = empty;
    for (size_t at = 0; at < t->k; at += MXV_MMA_CHUNK) {
        const struct mxv_mma_span s = mxv_mma_span_at(t, at);
        struct sum_context x = {t, &s, &cols, (int)m->frac_bits, m->zero_exp, m->step, mask, 0, 0};
        for (size_t r = 0; r < t->rows; r += PANEL)
            sum_panel(&x, &cols, r, t->rows - r < PANEL ? t->rows - r : PANEL);
    }
}

#endif
