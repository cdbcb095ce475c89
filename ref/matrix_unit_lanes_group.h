// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rule GST over a tile, LANES columns side by side. The four group sums are integers (|q| <= 2304);
// scaled, q * sig_a * sig_b needs 20 bits and is exact in binary32. Where no group and no bit of
// the accumulator lies below the grid 2^(X - F), nothing is truncated and the sum of five terms is
// exact in binary64 (docs/performance.md, "Matrix units"); it is then cut to 24 bits. The test of
// that is conservative: groups of zeros count with a scale exponent of their neighbours, so that it
// sees an X that is not below the true one. It also wants exponents in [LOWEST, HIGHEST], where
// binary32 and the result are normal. Lanes that fail are aligned in int64 as mxv_mma_step_gst
// does. unit.matrix_unit_tile and exhaustive.matrix_unit_levels fail if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_GROUP_H
#define MXV_REF_MATRIX_UNIT_LANES_GROUP_H

#include "matrix_unit_lanes_dot.h"

enum { GROUPS = MXV_MMA_MAX_K / MXV_MMA_GST_GROUP, GROUP_PANEL = 64, LOWEST = -80, HIGHEST = 90 };

// By group of 16 products. scale: of A with the 1/4 of the doubled values; start: see dot.h;
// nonzero: bit i for product i.
struct group_row {
    uint32_t unit[UNITS];
    float scale[MXV_MMA_GROUPS];
    int32_t exp[MXV_MMA_GROUPS], start[MXV_MMA_GROUPS];
    struct mxv_mma_scale raw[MXV_MMA_GROUPS];
    uint16_t nonzero[MXV_MMA_GROUPS];
    bool special;
};

struct group_columns {
    _Alignas(64) uint32_t unit[UNITS][LANES];
    _Alignas(64) float scale[MXV_MMA_GROUPS][LANES];
    _Alignas(64) int32_t exp[MXV_MMA_GROUPS][LANES];
    struct mxv_mma_scale raw[MXV_MMA_GROUPS][LANES];
    uint16_t nonzero[MXV_MMA_GROUPS][LANES];
    bool special[LANES], any_special;
};

struct group_context {
    const struct mxv_mma_tile *t;
    const struct mxv_mma_span *s;
    const struct group_columns *cols;
    int frac, sub, zero; // F, fraction bits of a scaled group, z
    int64_t keep_mask;
    size_t first, lanes;
};

// The scales of one line; returns whether one is NaN.
static bool group_scales(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, bool side_b,
                         size_t index, const uint16_t *nonzero, struct mxv_mma_scale *raw,
                         int32_t *exp)
{
    const uint8_t *scale = side_b ? t->scale_b : t->scale_a;
    const size_t per_block = t->m->block / MXV_MMA_GST_GROUP;
    bool nan = false;
    for (size_t g = 0; g < s->padded / MXV_MMA_GST_GROUP; g++) {
        raw[g] = mxv_mma_span_scale(t, s, scale, index, g / per_block);
        nan |= raw[g].nan;
    }
    for (size_t g = 0; g < s->padded / MXV_MMA_GST_GROUP; g++) {
        size_t from = g / GROUPS * GROUPS, use = g;
        for (size_t i = from; i < from + GROUPS && !(nonzero[use] && raw[use].sig); i++)
            use = i;
        exp[g] = nonzero[use] && raw[use].sig ? raw[use].exp : 0;
    }
    return nan;
}

static float group_scale_value(const struct mxv_mma_tile *t, struct mxv_mma_scale s, float unit)
{
    uint32_t bits = s.exp > -127 ? (uint32_t)(s.exp + 127) << 23 : 0x400000;
    float power;
    memcpy(&power, &bits, sizeof power);
    return (float)s.sig * (t->m->scale == MXV_UE4M3 ? 0.125f : 1) * unit * power;
}

static void group_nonzero(const struct mxv_operand *o, size_t n, size_t padded, uint16_t *out)
{
    for (size_t g = 0; g < padded / MXV_MMA_GST_GROUP; g++) {
        unsigned bits = 0;
        for (size_t i = 0; i < MXV_MMA_GST_GROUP && g * MXV_MMA_GST_GROUP + i < n; i++)
            bits |= (unsigned)(o[g * MXV_MMA_GST_GROUP + i].sig != 0) << i;
        out[g] = (uint16_t)bits;
    }
}

static void group_pack_row(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t index,
                           struct group_row *out)
{
    const struct mxv_operand *o = t->a + index * t->k + s->at;
    const struct offsets off = dot_offsets(t->m);
    union dot_line line;
    dot_read(o, s->n, s->padded, -off.a, &line);
    memcpy(out->unit, line.unit, s->padded / UNIT * sizeof *line.unit);
    group_nonzero(o, s->n, s->padded, out->nonzero);
    out->special = group_scales(t, s, false, index, out->nonzero, out->raw, out->exp);
    for (size_t g = 0; g < s->padded / MXV_MMA_GST_GROUP; g++) {
        out->scale[g] = group_scale_value(t, out->raw[g], 0.25f);
        out->start[g] = dot_row_start(&off, o, s->n, g * MXV_MMA_GST_GROUP, MXV_MMA_GST_GROUP);
    }
}

static void group_pack_columns(const struct mxv_mma_tile *t, const struct mxv_mma_span *s,
                               size_t first, size_t lanes, struct group_columns *out)
{
    const struct offsets off = dot_offsets(t->m);
    out->any_special = false;
    for (size_t j = 0; j < lanes; j++) {
        const struct mxv_operand *o = t->b + (first + j) * t->k + s->at;
        union dot_line line;
        uint16_t nonzero[MXV_MMA_GROUPS];
        struct mxv_mma_scale raw[MXV_MMA_GROUPS];
        int32_t exp[MXV_MMA_GROUPS];
        dot_read(o, s->n, s->padded, off.b, &line);
        for (size_t i = 0; i < s->padded / UNIT; i++)
            out->unit[i][j] = line.unit[i];
        group_nonzero(o, s->n, s->padded, nonzero);
        out->special[j] = group_scales(t, s, true, first + j, nonzero, raw, exp);
        out->any_special |= out->special[j];
        for (size_t g = 0; g < s->padded / MXV_MMA_GST_GROUP; g++) {
            out->scale[g][j] = group_scale_value(t, raw[g], 1);
            out->exp[g][j] = exp[g];
            out->raw[g][j] = raw[g];
            out->nonzero[g][j] = nonzero[g];
        }
    }
}

static int64_t group_align(int64_t v, int shift)
{
    int64_t t = (int64_t)mxv_mma_shift((uint64_t)(v < 0 ? -v : v), shift);
    return v < 0 ? -t : t;
}

// Group sums q of one lane of the instruction whose first group is g, aligned one by one.
static uint32_t group_redo(const struct group_context *x, const struct group_row *row, size_t lane,
                           size_t g, const int32_t q[GROUPS], uint32_t c)
{
    const struct mxv_mma_acc acc = mxv_mma_unpack_f32(c);
    if (acc.class != MXV_MMA_FINITE)
        return acc.class == MXV_MMA_INFINITE ? c : MXV_MMA_NAN_F32;
    int exp[GROUPS], acc_exp = acc.sig ? acc.exp : x->zero, top = acc_exp;
    int64_t w[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) {
        struct mxv_mma_scale sa = row->raw[g + i], sb = x->cols->raw[g + i][lane];
        bool any = (row->nonzero[g + i] & x->cols->nonzero[g + i][lane]) != 0;
        int sig = sa.sig * sb.sig;
        w[i] = (int64_t)q[i] * sig;
        exp[i] = any && sig ? sa.exp + sb.exp : x->zero;
        top = exp[i] > top ? exp[i] : top;
    }
    int64_t sum = group_align(acc.sig, x->frac - 23 - (top - acc_exp));
    for (size_t i = 0; i < GROUPS; i++)
        sum += group_align(w[i], x->frac - x->sub - (top - exp[i]));
    return mxv_mma_convert_f32_rz(sum, top - x->frac, (int)x->t->m->keep_bits);
}

static void group_redo_lanes(const struct group_context *x, const struct group_row *row, size_t g,
                             int v, vi q[GROUPS], vi before, vi odd, vi *c)
{
    for (size_t j = 0; j < VECTOR && (size_t)v * VECTOR + j < x->lanes; j++) {
        if (!odd[j])
            continue;
        const int32_t lane[GROUPS] = {q[0][j], q[1][j], q[2][j], q[3][j]};
        (*c)[j] = (int32_t)group_redo(x, row, (size_t)v * VECTOR + j, g, lane, (uint32_t)before[j]);
    }
}

// The sum of five terms in binary64, cut to keep_bits.
MXV_INLINE vi group_finish(const struct group_context *x, const vf term[GROUPS + 1])
{
    vd low = widen_low(term[0]), high = widen_high(term[0]);
    for (int i = 1; i < GROUPS + 1; i++) {
        low += widen_low(term[i]);
        high += widen_high(term[i]);
    }
    return (vi)narrow((vd)((vl)low & x->keep_mask), (vd)((vl)high & x->keep_mask));
}

// One instruction on one vector of lanes.
MXV_INLINE void group_instruction(const struct group_context *x, const struct group_row *row,
                                  size_t g, int v, vi q[GROUPS], vi *c)
{
    const struct group_columns *cols = x->cols;
    const vi before = *c;
    vi field = before >> 23 & 0xff, low = splat_i(HIGHEST), top = splat_i(LOWEST);
    vi zero = (before & 0x7fffffff) == 0, acc_exp = max_i(field, splat_i(1)) - 127;
    vf term[GROUPS + 1];
    for (size_t i = 0; i < GROUPS; i++) {
        const size_t at = (size_t)v * VECTOR;
        vi exp = load_i(cols->exp[g + i] + at) + row->exp[g + i];
        top = max_i(top, exp);
        low = min_i(low, exp);
        term[i] = float_i(q[i]) * (load_f(cols->scale[g + i] + at) * row->scale[g + i]);
    }
    term[GROUPS] = (vf)before;
    vi odd = (low < LOWEST) | (top > HIGHEST) | (field == 0xff);
    vi all = select_i(zero, top, max_i(top, acc_exp));
    odd |= (all - low > x->frac - x->sub) | (~zero & (top - acc_exp > x->frac - 23));
    *c = group_finish(x, term);
    if (__builtin_expect(any_sign(odd), 0))
        group_redo_lanes(x, row, g, v, q, before, odd, c);
}

static void group_row_run(const struct group_context *x, const struct group_row *row, vi c[2])
{
    for (size_t g = 0; g < x->s->padded / MXV_MMA_GST_GROUP; g += GROUPS) {
        vi q[2][GROUPS];
        for (size_t i = 0; i < GROUPS; i++)
            q[0][i] = q[1][i] = splat_i(row->start[g + i]);
        for (size_t u = 0; u < GROUP_UNITS; u++)
            for (size_t i = 0; i < GROUPS; i++) {
                const size_t at = (g + i) * GROUP_UNITS + u;
                vi a = splat_i((int32_t)row->unit[at]);
                q[0][i] = dot(q[0][i], load_i(x->cols->unit[at]), a);
                q[1][i] = dot(q[1][i], load_i(x->cols->unit[at] + VECTOR), a);
            }
        group_instruction(x, row, g, 0, q[0], &c[0]);
        group_instruction(x, row, g, 1, q[1], &c[1]);
    }
}

static void group_block(const struct group_context *x, const struct group_row *row, size_t index)
{
    uint32_t *out = x->t->cd + index * x->t->ld + x->first;
    vi c[2], before[2];
    load_words(out, x->lanes, c);
    before[0] = c[0];
    before[1] = c[1];
    if (!row->special)
        group_row_run(x, row, c);
    store_words(out, x->lanes, c);
    if (row->special || x->cols->any_special) {
        uint32_t words[LANES];
        store_i(words, before[0]);
        store_i(words + VECTOR, before[1]);
        mxv_mma_slow_lanes(x->t, x->s, index, x->first, x->lanes,
                           row->special ? NULL : x->cols->special, words, out);
    }
}

static void group_panel(struct group_context *x, struct group_columns *cols, size_t first_row,
                        size_t rows)
{
    struct group_row panel[GROUP_PANEL];
    for (size_t r = 0; r < rows; r++)
        group_pack_row(x->t, x->s, first_row + r, &panel[r]);
    for (size_t first = 0; first < x->t->cols; first += LANES) {
        x->first = first;
        x->lanes = x->t->cols - first < LANES ? x->t->cols - first : LANES;
        group_pack_columns(x->t, x->s, first, x->lanes, cols);
        for (size_t r = 0; r < rows; r++)
            group_block(x, &panel[r], first_row + r);
    }
}

static void group_tile(const struct mxv_mma_tile *t)
{
    static const struct group_columns empty;
    struct group_columns cols = empty;
    for (size_t at = 0; at < t->k; at += MXV_MMA_CHUNK) {
        const struct mxv_mma_span s = mxv_mma_span_at(t, at);
        struct group_context x = {t,
                                  &s,
                                  &cols,
                                  (int)t->m->frac_bits,
                                  t->m->scale == MXV_UE4M3 ? 8 : 2,
                                  t->m->zero_exp,
                                  (int64_t)(~(uint64_t)0 << (52 - t->m->keep_bits)),
                                  0,
                                  0};
        for (size_t r = 0; r < t->rows; r += GROUP_PANEL)
            group_panel(&x, &cols, r, t->rows - r < GROUP_PANEL ? t->rows - r : GROUP_PANEL);
    }
}

#endif
