// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rule T with F <= 13 on operands of at most 8 bits (FP8 of sm_89 and of wgmma on sm_90) over a
// tile: terms of 16 bits, the products of two k side by side in each 32-bit lane. With significands
// of 1 + f_a and 1 + f_b bits, P = |sig_a * sig_b| < 2^(2 + f_a + f_b), d = X - e >= 0 and
// s = F - f_a - f_b, the rule's term is floor(P * 2^(s - d)). Why 16 bits hold it exactly:
//   P * 2^s < 2^(2 + F) <= 2^15, so that a term is a positive int16, and P * 2^(s + 1) is an
//     unsigned 16-bit number; e4m3: 225 * 2^7 = 28800, e5m2: 49 * 2^9, mixed: 105 * 2^8;
//   AVX-512 shifts P * 2^s right by d. AVX2 has no such shift and takes the upper half of the
//     32-bit product P * 2^(s + 1) * 2^(15 - d), which is floor(P * 2^(s - d)); for d > 15 the
//     factor is 0, and so is the term, P * 2^s being below 2^15;
//   the sign joins after the truncation, in the multiplication that adds pairs: toward zero;
//   32 terms and the accumulator's, below 2^(F + 1), stay below 2^21: their sum is exact in int32
//     and in binary32. Its product with 2^(X - F) is exact for X in [LOW, 127], or overflows to
//     the infinity that the rule wants; the f32 result is then cut to its kept bits, the f16 result
//     rounded once.
// Exponents are biased bytes (matrix_unit_lanes_acc.h), zero products are left out of X, which
// changes nothing (matrix_unit_lanes_sum.h). X is cut to FARTHEST for the shifts, where every d is
// above 15 already. Where no product is nonzero and the accumulator lies below 2^LOW, and where it
// is NaN or infinite, lanes are computed by mxv_mma_step_t.
// unit.matrix_unit_tile and exhaustive.matrix_unit_levels fail if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_SHORT_H
#define MXV_REF_MATRIX_UNIT_LANES_SHORT_H

#include "matrix_unit_lanes_short_pack.h"

enum { FARTHEST = 48 }; // the largest exponent, 30, and more than 15

// A model's numbers. The vectors are constants, here so that loops read them from memory: exponents
// carry BIAS and are words (vh) or the exponent fields of binary32 (vi).
struct short_context {
    const struct mxv_mma_tile *t;
    const struct mxv_mma_span *s;
    const struct short_columns *cols;
    int zero, shift; // z, left shift of the column's significands
    size_t first, lanes;
    vh below_least, farthest, index_bias, below_low, above_high;
    vu scale, twice_one; // 2^F and 1, with two biases
    vi keep_mask;
};

// Exponents of the products of `pairs` pairs; top: the largest of the nonzero ones, or 0.
MXV_INLINE void short_top(const struct short_context *x, const struct short_slice *row, size_t at,
                          const size_t pairs, vb exponents[SLICE], vi top[2])
{
    const uint32_t *const a = settle_address(row->exp + at % SLICE);
    const struct short_unit *const b = settle_address(x->cols->unit + at);
    vb most[2] = {{0}};
    for (size_t p = 0; p < pairs; p += 4)
        for (size_t u = p; u < p + 4; u++) {
            const vb both = load_b(b[u].exp) + (vb)splat_i((int32_t)a[u]);
            exponents[u] = both;
            most[u % 2] = max_b(most[u % 2], both);
        }
    vb all = max_b(most[0], most[1]);
    all = max_b(all, (vb)((vw)all << 8));
    const vh pair = (vh)((vw)all >> 8);
    widen_words(pair & (pair > x->below_least), top);
}

// The sum of the terms of `pairs` pairs; exponents are subtracted from the byte `reference`.
MXV_INLINE void short_terms(const struct short_context *x, const struct short_slice *row, size_t at,
                            const size_t pairs, const vb *exponents, vb reference, vi sum[2])
{
    const uint32_t *const sig = settle_address(row->sig + at % SLICE);
    const uint32_t *const sign = settle_address(row->sign + at % SLICE);
    const struct short_unit *const b = settle_address(x->cols->unit + at);
    vi sum0 = {0}, sum1 = {0};
    for (size_t p = 0; p < pairs; p += 8)
        for (size_t u = p; u < p + 8; u++) {
            const vw a = (vw)splat_i((int32_t)sig[u]);
            const uint32_t *const signs = b[u].sign[0][0] + sign[u];
            vw term[2] = {(vw)load_i(b[u].sig[0]) * a, (vw)load_i(b[u].sig[1]) * a};
            scale_words(term, reference - exponents[u]);
            sum0 = add_signed_pairs(sum0, term[0], load_i(signs));
            sum1 = add_signed_pairs(sum1, term[1], load_i(signs + VECTOR));
            settle_i(&sum0);
            settle_i(&sum1);
        }
    sum[0] = sum0;
    sum[1] = sum1;
}

// Biased exponents of accumulators, 255 where they are not finite. Zeros and subnormals of f32 get
// one below LOW, whichever.
MXV_INLINE vi short_unpack(vi word, int zero, const enum variant variant, vf *value)
{
    if (variant == NARROW_F16) {
        const struct acc acc = unpack_f16(word, zero);
        *value = acc.value;
        return select_i(acc.not_finite, splat_i(128), acc.exp) + BIAS;
    }
    *value = (vf)word;
    return (vi)(((vu)word << 1) >> 24);
}

// One step of pairs from `at`: c[v] becomes the results. top: X + BIAS. Returns whether some lane's
// X is outside [LOW, 127].
MXV_INLINE bool short_step(const struct short_context *x, const struct short_slice *row, size_t at,
                           const size_t pairs, const enum variant variant, vi c[2], vi top[2])
{
    vi sum[2], start[2];
    vu power[2];
    vb exponents[SLICE];
    short_top(x, row, at, pairs, exponents, top);
    for (int v = 0; v < 2; v++) {
        vf value;
        top[v] = max_i(top[v], short_unpack(c[v], x->zero, variant, &value));
        power[v] = x->scale - ((vu)top[v] << 23); // 2^(F - X)
        start[v] = truncate_f(value * (vf)power[v]);
    }
    const vh tops = join_words(top);
    const vh reference = min_h(tops, x->farthest) + x->index_bias;
    short_terms(x, row, at, pairs, exponents, repeat_low_bytes(reference), sum);
    for (int v = 0; v < 2; v++) {
        vf whole = float_i((vi)((vu)sum[v] + (vu)start[v])); // anything where X is outside
        vi word = (vi)(whole * (vf)(x->twice_one - power[v]));
        c[v] = variant == NARROW_F16 ? round_f16(word) : word & x->keep_mask;
    }
    return any_word((tops < x->below_low) | (tops > x->above_high));
}

// Lanes with X outside [LOW, 127].
static __attribute__((noinline, cold)) void short_redo(const struct short_context *x, size_t index,
                                                       size_t at, const vi top[2],
                                                       const vi before[2], uint32_t words[LANES])
{
    const struct mxv_mma_tile *t = x->t;
    const size_t left = x->s->n > 2 * at ? x->s->n - 2 * at : 0;
    const size_t from = left ? x->s->at + 2 * at : 0;
    const uint32_t magnitude = t->m->result == MXV_MMA_F16 ? 0x7fff : 0x7fffffff;
    for (size_t j = 0; j < x->lanes; j++) {
        const int32_t lane_top = top[j / VECTOR][j % VECTOR];
        const uint32_t word = (uint32_t)before[j / VECTOR][j % VECTOR];
        if (lane_top >= LOW + BIAS && lane_top <= 127 + BIAS)
            continue;
        words[j] = 0; // a zero accumulator that no product joins
        if ((word & magnitude) != 0 && !keeps_special(t->m, word, &words[j]))
            words[j] = mxv_mma_step_t(t->m, left < t->m->step ? left : t->m->step,
                                      t->a + index * t->k + from,
                                      t->b + (x->first + j) * t->k + from, 0, word);
    }
}

// All rows of a panel step by step: the chain of steps of one row is a chain of latencies, and
// other rows lie between its links.
MXV_INLINE void short_rows(const struct short_context *x, const struct short_rows *panel,
                           size_t first_row, size_t rows, const size_t pairs,
                           const enum variant variant, uint32_t words[SHORT_PANEL][LANES])
{
    for (size_t at = 0; at < x->s->padded / 2; at += pairs)
        for (size_t r = 0; r < rows; r++) {
            const vi before[2] = {load_i(words[r]), load_i(words[r] + VECTOR)};
            vi c[2] = {before[0], before[1]}, top[2];
            const bool outside =
                short_step(x, &panel->slice[at / SLICE][r], at, pairs, variant, c, top);
            store_i(words[r], c[0]);
            store_i(words[r] + VECTOR, c[1]);
            if (__builtin_expect(outside, 0))
                short_redo(x, first_row + r, at, top, before, words[r]);
        }
}

// Not inlined: the constants of x shall be read from memory.
static __attribute__((noinline)) void short_block(const struct short_context *x,
                                                  const struct short_rows *panel, size_t first_row,
                                                  size_t rows)
{
    uint32_t words[SHORT_PANEL][LANES];
    struct lane_block block = {x->t, x->s, 0, x->first, x->lanes};
    const bool half = x->t->m->result == MXV_MMA_F16;
    for (size_t r = 0; r < rows; r++) {
        block.index = first_row + r;
        load_block(&block, words[r]);
    }
    if (x->t->m->step == 32 && half)
        short_rows(x, panel, first_row, rows, 16, NARROW_F16, words);
    else if (x->t->m->step == 32)
        short_rows(x, panel, first_row, rows, 16, NARROW, words);
    else if (half)
        short_rows(x, panel, first_row, rows, 8, NARROW_F16, words);
    else
        short_rows(x, panel, first_row, rows, 8, NARROW, words);
    for (size_t r = 0; r < rows; r++) {
        block.index = first_row + r;
        store_block(&block, panel->special[r], x->cols->any_special ? x->cols->special : NULL,
                    words[r]);
    }
}

static void short_panel(struct short_context *x, struct short_columns *cols, size_t first_row,
                        size_t rows)
{
    struct short_rows panel;
    for (size_t r = 0; r < rows; r++)
        short_pack_row(x->t, x->s, first_row + r, r, &panel);
    for (size_t first = 0; first < x->t->cols; first += LANES) {
        x->first = first;
        x->lanes = x->t->cols - first < LANES ? x->t->cols - first : LANES;
        short_pack_columns(x->t, x->s, first, x->lanes, x->shift, cols);
        short_block(x, &panel, first_row, rows);
    }
}

static void short_tile(const struct mxv_mma_tile *t)
{
    const struct mxv_mma_model *m = t->m;
    struct short_columns cols;
    const int frac = (int)m->frac_bits;
    struct short_context x = {.t = t,
                              .cols = &cols,
                              .zero = m->zero_exp,
                              .shift = frac - mxv_mma_product_frac(m) + SPARE_BITS,
                              .below_least = splat_h(LEAST + BIAS - 1),
                              .farthest = splat_h(FARTHEST + BIAS),
                              .index_bias = splat_h(INDEX_BIAS),
                              .below_low = splat_h(LOW + BIAS),
                              .above_high = splat_h(127 + BIAS),
                              .scale = (vu)splat_i((int32_t)((uint32_t)(frac + 2 * BIAS) << 23)),
                              .twice_one = (vu)splat_i(2 * BIAS << 23),
                              .keep_mask = splat_i((int32_t)(~(uint32_t)0 << (23 - m->keep_bits)))};
    for (size_t at = 0; at < t->k; at += MXV_MMA_CHUNK) {
        const struct mxv_mma_span s = mxv_mma_span_at(t, at);
        x.s = &s;
        for (size_t r = 0; r < t->rows; r += SHORT_PANEL)
            short_panel(&x, &cols, r, t->rows - r < SHORT_PANEL ? t->rows - r : SHORT_PANEL);
    }
}

#endif
