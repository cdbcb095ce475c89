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
//     lies lower are computed by mxv_mma_step_t instead, with block scales those where X is above
//     HIGH too;
//   |t| < 2^(F+2), sixteen of them with F <= 25 fit int32 (3.996 * 2^29 < 2^31); a sum that
//     passes int32 when the accumulator or a second sixteen joins goes to mxv_mma_step_t;
//   the sum is cut to 24 bits on its way to binary32, and 2^(X - F) times that neither rounds nor
//     underflows, while overflow gives the infinity that the rule wants.
// X is the maximum of the raw exponents as in mxv_mma_step_t; zeros are left out, which changes
// nothing: z lies below every nonzero accumulator, and a zero accumulator takes part with z.
// unit.matrix_unit_tile and exhaustive.matrix_unit_levels fail if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_SUM_H
#define MXV_REF_MATRIX_UNIT_LANES_SUM_H

#include "matrix_unit_lanes_scale.h"

// sum * 2^e, e in [LOW - F, 254 - F]; factor: 2^e, not used with lines scaled for their range.
MXV_INLINE vi finish(const struct sum_context *x, vi sum, vi e, vi factor, enum variant variant)
{
    vi inexact;
    vi cut = cut_i(sum, &inexact);
    if (variant == NARROW_F16)
        return round_f16((vi)((vf)(cut | (inexact & 1)) * (vf)factor));
    if (variant != WIDE)
        return (vi)((vf)cut * (vf)factor) & x->keep_mask;
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

// Largest raw exponent of the nonzero products [at, at + step), as two vectors of 32-bit lanes.
// Where there is none: LOW - 1, with block scales -4096, with scaled lines REAL or less.
MXV_INLINE void step_top(const struct sum_context *x, const struct sum_row *row, size_t at,
                         const size_t step, const enum variant variant, vi top[2])
{
    vh most = variant == WIDE ? (vh)splat_i(0) + 2 * MXV_OPERAND_ZERO : (vh)splat_i(0);
    const size_t first = variant == WIDE ? at : at / 2, n = variant == WIDE ? step : step / 2;
    const uint32_t *const exp = settle_address(row->exp);
    const uint32_t *const column = settle_address(x->cols->exp[first]);
    for (size_t i = 0; i < n; i += 2)
        for (size_t u = i; u < i + 2; u++) {
            const vi a = splat_i((int32_t)exp[u]), b = load_i(column + u * VECTOR);
            if (variant == WIDE)
                most = max_h(most, (vh)b + (vh)a);
            else
                most = (vh)max_b((vb)most, (vb)b + (vb)a);
        }
    if (variant != WIDE) {
        most = (vh)((vw)max_b((vb)most, (vb)((vw)most << 8)) >> 8) - x->pair_bias;
        most = select_h(most < LEAST, x->absent, most);
    }
    top[0] = low_half((vi)most);
    top[1] = high_half((vi)most);
}

// Sums of n truncated terms, n <= PARTIAL, from value[0] of a row and product `at` of the columns.
MXV_INLINE void step_terms(const float *value, const struct sum_columns *cols, size_t at,
                           const size_t n, const vi scale[2], vi sum[2])
{
    const vf scale0 = (vf)scale[0], scale1 = (vf)scale[1];
    const float *const a = settle_address(value);
    const uint32_t *const b = settle_address(cols->value[at]);
    vi sum0 = {0}, sum1 = {0};
    for (size_t i = 0; i < n; i += 4)
        for (size_t u = i; u < i + 4; u++) {
            const vf row = splat_f(a[u]);
            const uint32_t *const column = b + u * LANES;
            sum0 = wrap_add_i(sum0, truncate_f((vf)load_i(column) * row * scale0));
            sum1 = wrap_add_i(sum1, truncate_f((vf)load_i(column + VECTOR) * row * scale1));
            settle_i(&sum0);
            settle_i(&sum1);
        }
    sum[0] = sum0;
    sum[1] = sum1;
}

// One step of products from `at`: c[v] becomes the results. over[v]: sign bit set in lanes where a
// sum passed int32. Returns what step_scales() does, with these.
MXV_INLINE vi sum_step(const struct sum_context *x, const struct sum_row *row, size_t at,
                       const size_t step, const enum variant variant, vi c[2], vi over[2])
{
    vi top[2], exp[2], sum[2], rest[2], scale[2], factor[2];
    vf value[2];
    step_top(x, row, at, step, variant, top);
    for (int v = 0; v < 2; v++) {
        exp[v] = step_unpack(x, c[v], variant, &value[v]);
        over[v] = splat_i(0);
    }
    const vi suspect = step_scales(x, row, at, variant, exp, top, scale, factor);
    step_terms(row->value, x->cols, at, step < PARTIAL ? step : PARTIAL, scale, sum);
    if (step > PARTIAL) {
        step_terms(row->value + PARTIAL, x->cols, at + PARTIAL, PARTIAL, scale, rest);
        for (int v = 0; v < 2; v++)
            sum[v] = add_i(sum[v], rest[v], &over[v]);
    }
    for (int v = 0; v < 2; v++) {
        sum[v] = add_i(sum[v], truncate_f(value[v] * (vf)factor[v]), &over[v]);
        c[v] = finish(x, sum[v], top[v] - x->frac, (vi)((vu)x->one - (vu)factor[v]), variant);
    }
    return suspect | over[0] | over[1];
}

// Redoes what is wrong among the lanes of a step, one by one.
static __attribute__((noinline, cold)) void redo_step(const struct sum_context *x,
                                                      const struct sum_row *row, size_t index,
                                                      size_t at, const size_t step,
                                                      enum variant variant, const vi before[2],
                                                      const vi over[2], uint32_t words[LANES])
{
    const struct mxv_mma_tile *t = x->t;
    size_t left = x->s->n > at ? x->s->n - at : 0, from = left ? x->s->at + at : 0;
    vi top[2], odd[2];
    step_top(x, row, at, step, variant, top);
    for (int v = 0; v < 2; v++)
        odd[v] = odd_lanes(x, row, at, v, top[v], before[v], variant) | (over[v] >> 31);
    for (size_t j = 0; j < x->lanes; j++) {
        const uint32_t word = (uint32_t)before[j / VECTOR][j % VECTOR];
        int scale = variant == BLOCKS ? row->shift[at / 32] + x->cols->shift[at / 32][j] : 0;
        if (!keeps_special(t->m, word, &words[j]) && odd[j / VECTOR][j % VECTOR])
            words[j] = mxv_mma_step_t(t->m, left < step ? left : step, t->a + index * t->k + from,
                                      t->b + (x->first + j) * t->k + from, scale, word);
    }
}

// All rows of a panel step by step: the chain of steps of one row is a chain of latencies, and
// other rows lie between its links.
MXV_INLINE void sum_rows(const struct sum_context *x, const struct sum_rows *panel,
                         size_t first_row, size_t rows, const size_t step,
                         const enum variant variant, uint32_t words[PANEL][LANES])
{
    for (size_t at = 0; at < x->s->padded; at += step)
        for (size_t r = 0; r < rows; r++) {
            const vi before[2] = {load_i(words[r]), load_i(words[r] + VECTOR)};
            vi c[2] = {before[0], before[1]}, over[2];
            const struct sum_row row = row_of(panel, r, at, step, variant);
            const vi suspect = sum_step(x, &row, at, step, variant, c, over);
            store_i(words[r], c[0]);
            store_i(words[r] + VECTOR, c[1]);
            if (__builtin_expect(any_sign(suspect), 0))
                redo_step(x, &row, first_row + r, at, step, variant, before, over, words[r]);
        }
}

// HMMA_FP8: two steps from zero, then r + c. No lane is suspect: exponents lie in [-28, 32] and
// sums below 2^31. An f16 r may become infinite in the first step and then stays so.
MXV_INLINE void sum_hmma(const struct sum_context *x, const struct sum_rows *panel, size_t index,
                         size_t at, const enum variant variant, uint32_t words[LANES])
{
    const struct sum_row row[2] = {row_of(panel, index, at, 16, variant),
                                   row_of(panel, index, at + 16, 16, variant)};
    vi r[2] = {{0}}, over[2];
    sum_step(x, &row[0], at, 16, variant, r, over);
    const vi first[2] = {r[0], r[1]};
    sum_step(x, &row[1], at + 16, 16, variant, r, over);
    for (int v = 0; v < 2; v++) {
        uint32_t *c = words + v * VECTOR;
        if (variant == NARROW) {
            vf sum = (vf)r[v] + (vf)load_i(c);
            store_i(c, select_i(sum != sum, splat_i(MXV_MMA_NAN_F32), (vi)sum));
            continue;
        }
        vi sum = select_i((first[v] & 0x7fff) == MXV_MMA_INF_F16, first[v], r[v]);
        for (int j = 0; j < VECTOR; j++)
            c[j] = mxv_mma_final_add(x->t->m, (uint32_t)sum[j], c[j]);
    }
}

static void hmma_rows(const struct sum_context *x, const struct sum_rows *panel, size_t rows,
                      uint32_t words[PANEL][LANES])
{
    for (size_t r = 0; r < rows; r++)
        for (size_t at = 0; at < x->s->padded; at += 32) {
            if (x->t->m->result == MXV_MMA_F16)
                sum_hmma(x, panel, r, at, NARROW_F16, words[r]);
            else
                sum_hmma(x, panel, r, at, NARROW, words[r]);
        }
}

// Not inlined: the constants of x shall be read from memory.
static __attribute__((noinline)) void sum_block(const struct sum_context *x,
                                                const struct sum_rows *panel, size_t first_row,
                                                size_t rows, uint32_t words[PANEL][LANES])
{
#define ROWS(step, variant) sum_rows(x, panel, first_row, rows, step, variant, words)
#define STEPS(variant)                                                                             \
    (m->step == 4    ? ROWS(4, variant)                                                            \
     : m->step == 8  ? ROWS(8, variant)                                                            \
     : m->step == 16 ? ROWS(16, variant)                                                           \
                     : ROWS(32, variant))
    const struct mxv_mma_model *m = x->t->m;
    if (m->rule == MXV_MMA_HMMA_FP8)
        hmma_rows(x, panel, rows, words);
    else if (m->rule == MXV_MMA_ST)
        ROWS(32, BLOCKS);
    else if (is_wide(m))
        STEPS(WIDE);
    else if (m->result == MXV_MMA_F16)
        STEPS(NARROW_F16);
    else
        STEPS(NARROW);
#undef STEPS
#undef ROWS
}

static void sum_panel(struct sum_context *x, struct sum_columns *cols, size_t first_row,
                      size_t rows)
{
    struct sum_rows panel;
    struct lines lines;
    uint32_t words[PANEL][LANES];
    for (size_t r = 0; r < rows; r += LANES)
        pack_rows(x->t, x->s, first_row + r, rows - r < LANES ? rows - r : LANES, r, &lines,
                  &panel);
    for (size_t first = 0; first < x->t->cols; first += LANES) {
        struct lane_block block = {x->t, x->s, first_row, first, LANES};
        block.lanes = x->t->cols - first < LANES ? x->t->cols - first : LANES;
        x->first = first;
        x->lanes = block.lanes;
        pack_columns(x->t, x->s, first, x->lanes, &lines, cols);
        for (size_t r = 0; r < rows; r++, block.index++)
            load_block(&block, words[r]);
        sum_block(x, &panel, first_row, rows, words);
        block.index = first_row;
        for (size_t r = 0; r < rows; r++, block.index++)
            store_block(&block, panel.special[r], cols->any_special ? cols->special : NULL,
                        words[r]);
    }
}

static void sum_tile(const struct mxv_mma_tile *t)
{
    const struct mxv_mma_model *m = t->m;
    struct sum_columns cols;
    struct sum_context x = {.t = t,
                            .cols = &cols,
                            .zero = m->zero_exp,
                            .frac = splat_i((int)m->frac_bits),
                            .low = splat_i(LOW),
                            .high = splat_i(m->rule == MXV_MMA_ST ? HIGH : 127),
                            .bias = splat_i(127),
                            .one = splat_i(2 * BIAS << 23),
                            .keep_mask = splat_i((int32_t)(~(uint32_t)0 << (23 - m->keep_bits))),
                            .pair_bias = splat_h(BIAS),
                            .absent = splat_h(m->rule == MXV_MMA_ST ? MXV_OPERAND_ZERO : LOW - 1)};
    for (size_t at = 0; at < t->k; at += MXV_MMA_CHUNK) {
        const struct mxv_mma_span s = mxv_mma_span_at(t, at);
        x.s = &s;
        for (size_t r = 0; r < t->rows; r += PANEL)
            sum_panel(&x, &cols, r, t->rows - r < PANEL ? t->rows - r : PANEL);
    }
}

#endif
