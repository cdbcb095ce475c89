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

#include "matrix_unit_lanes_acc.h"
#include "matrix_unit_lanes_words.h"

enum {
    SHORT_PANEL = 128,
    PAIRS = MXV_MMA_CHUNK / 2,
    FARTHEST = 48 // the largest, 30, and more than 15
};

// One line (row or column): magnitudes of significands, signs 1 and -1, biased exponents.
struct short_line {
    uint16_t sig[MXV_MMA_CHUNK];
    int16_t sign[MXV_MMA_CHUNK];
    uint8_t exp[MXV_MMA_CHUNK];
    bool special;
};

// Two products of a row; exp holds their exponents twice.
struct short_pair {
    uint32_t sig, sign, exp;
};

struct short_row {
    struct short_pair pair[PAIRS];
    bool special;
};

// Two products of LANES columns, by vector. exp: the order in which scale_words() takes lanes.
struct short_unit {
    uint32_t sig[2][VECTOR], sign[2][VECTOR];
    uint16_t exp[LANES];
};

struct short_columns {
    _Alignas(64) struct short_unit unit[PAIRS];
    bool special[LANES], any_special;
};

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

static void short_read(const struct mxv_mma_span *s, const struct mxv_operand *o, int bias,
                       int shift, struct short_line *restrict out)
{
    const size_t n = s->n, padded = s->padded; // bytes may alias s
    int16_t largest = MXV_OPERAND_ZERO;
    for (size_t i = 0; i < n; i++) {
        const int16_t sig = o[i].sig, exp = o[i].exp, sign = (int16_t)(sig < 0 ? -1 : 1);
        out->sig[i] = (uint16_t)(sig * sign << shift);
        out->sign[i] = sign;
        out->exp[i] = (uint8_t)(sig == 0 ? 0 : exp + bias); // NaN, infinity: any
        largest = exp > largest ? exp : largest;
    }
    for (size_t i = n; i < padded; i++) {
        out->sig[i] = 0;
        out->sign[i] = 1;
        out->exp[i] = 0;
    }
    out->special = largest >= MXV_OPERAND_INF;
}

static void short_pack_row(const struct short_context *x, size_t index, struct short_row *out)
{
    struct short_line line;
    short_read(x->s, x->t->a + index * x->t->k + x->s->at, BIAS_A, 0, &line);
    for (size_t p = 0; p < x->s->padded / 2; p++) {
        memcpy(&out->pair[p].sig, &line.sig[2 * p], 4);
        memcpy(&out->pair[p].sign, &line.sign[2 * p], 4);
        out->pair[p].exp = (line.exp[2 * p] | (uint32_t)line.exp[2 * p + 1] << 8) * 0x10001u;
    }
    out->special = line.special;
}

static void short_pack_columns(const struct short_context *x, struct short_columns *out)
{
    out->any_special = false;
    for (size_t j = 0; j < x->lanes; j++) {
        const size_t v = j / VECTOR, lane = j % VECTOR, slot = lane / 4 * 8 + v * 4 + lane % 4;
        struct short_line line;
        short_read(x->s, x->t->b + (x->first + j) * x->t->k + x->s->at, BIAS_B, x->shift, &line);
        for (size_t p = 0; p < x->s->padded / 2; p++) {
            memcpy(&out->unit[p].sig[v][lane], &line.sig[2 * p], 4);
            memcpy(&out->unit[p].sign[v][lane], &line.sign[2 * p], 4);
            memcpy(&out->unit[p].exp[slot], &line.exp[2 * p], 2);
        }
        out->special[j] = line.special;
        out->any_special |= line.special;
    }
}

// Exponents of the products of `pairs` pairs; top: the largest of the nonzero ones, or 0.
MXV_INLINE void short_top(const struct short_context *x, const struct short_pair *a,
                          const struct short_unit *b, const size_t pairs,
                          vb exponents[MXV_MMA_MAX_K / 2], vi top[2])
{
    vb most = {0};
    for (size_t p = 0; p < pairs; p += 4)
        for (size_t u = 0; u < 4; u++) {
            vb both = load_b(b[p + u].exp) + (vb)splat_i((int32_t)a[p + u].exp);
            exponents[p + u] = both;
            most = max_b(most, both);
        }
    most = max_b(most, (vb)((vw)most << 8));
    vh pair = (vh)((vw)most >> 8);
    widen_words(pair & (pair > x->below_least), top);
}

// The sum of the terms of `pairs` pairs; exponents are subtracted from the byte `reference`.
MXV_INLINE void short_terms(const struct short_pair *a, const struct short_unit *b,
                            const size_t pairs, const vb *exponents, vb reference, vi sum[2])
{
    vi sum0 = {0}, sum1 = {0};
    for (size_t p = 0; p < pairs; p += 4)
        for (size_t u = p; u < p + 4; u++) {
            const vw sig = (vw)splat_i((int32_t)a[u].sig);
            const vi sign = splat_i((int32_t)a[u].sign);
            vw term[2] = {(vw)load_i(b[u].sig[0]) * sig, (vw)load_i(b[u].sig[1]) * sig};
            scale_words(term, reference - exponents[u]);
            sum0 = add_signed_pairs(sum0, term[0], load_i(b[u].sign[0]), sign);
            sum1 = add_signed_pairs(sum1, term[1], load_i(b[u].sign[1]), sign);
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
MXV_INLINE bool short_step(const struct short_context *x, const struct short_row *row, size_t at,
                           const size_t pairs, const enum variant variant, vi c[2], vi top[2])
{
    const struct short_pair *a = &row->pair[at];
    const struct short_unit *b = &x->cols->unit[at];
    vi sum[2], start[2];
    vu power[2];
    vb exponents[MXV_MMA_MAX_K / 2];
    short_top(x, a, b, pairs, exponents, top);
    for (int v = 0; v < 2; v++) {
        vf value;
        top[v] = max_i(top[v], short_unpack(c[v], x->zero, variant, &value));
        power[v] = x->scale - ((vu)top[v] << 23); // 2^(F - X)
        start[v] = truncate_f(value * (vf)power[v]);
    }
    const vh tops = join_words(top);
    short_terms(a, b, pairs, exponents, repeat_low_bytes(min_h(tops, x->farthest) + x->index_bias),
                sum);
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
MXV_INLINE void short_rows(const struct short_context *x, const struct short_row *panel,
                           size_t first_row, size_t rows, const size_t pairs,
                           const enum variant variant, uint32_t words[SHORT_PANEL][LANES])
{
    for (size_t at = 0; at < x->s->padded / 2; at += pairs)
        for (size_t r = 0; r < rows; r++) {
            const vi before[2] = {load_i(words[r]), load_i(words[r] + VECTOR)};
            vi c[2] = {before[0], before[1]}, top[2];
            const bool outside = short_step(x, &panel[r], at, pairs, variant, c, top);
            store_i(words[r], c[0]);
            store_i(words[r] + VECTOR, c[1]);
            if (__builtin_expect(outside, 0))
                short_redo(x, first_row + r, at, top, before, words[r]);
        }
}

// Not inlined: the constants of x shall be read from memory.
static __attribute__((noinline)) void short_block(const struct short_context *x,
                                                  const struct short_row *panel, size_t first_row,
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
        store_block(&block, panel[r].special, x->cols->any_special ? x->cols->special : NULL,
                    words[r]);
    }
}

static void short_panel(struct short_context *x, struct short_columns *cols, size_t first_row,
                        size_t rows)
{
    struct short_row panel[SHORT_PANEL];
    for (size_t r = 0; r < rows; r++)
        short_pack_row(x, first_row + r, &panel[r]);
    for (size_t first = 0; first < x->t->cols; first += LANES) {
        x->first = first;
        x->lanes = x->t->cols - first < LANES ? x->t->cols - first : LANES;
        short_pack_columns(x, cols);
        short_block(x, panel, first_row, rows);
    }
}

static void short_tile(const struct mxv_mma_tile *t)
{
    static const struct short_columns empty;
    const struct mxv_mma_model *m = t->m;
    struct short_columns cols = empty;
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
