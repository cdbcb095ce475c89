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

enum {
    GROUPS = MXV_MMA_MAX_K / MXV_MMA_GST_GROUP,
    GROUP_PANEL = 128,
    LOWEST = -80,
    HIGHEST = 90,
    GROUP_WORDS = MXV_MMA_GST_GROUP * 4 / UNIT / 8
};

// By group of 16 products. scale: of A with the 1/4 of the doubled values, 0 for a group of zeros;
// start: see matrix_unit_lanes_dot.h.
struct group_line {
    float scale[MXV_MMA_GROUPS];
    int32_t exp[MXV_MMA_GROUPS];
    bool special;
};

struct group_row {
    uint32_t unit[UNITS];
    int32_t start[MXV_MMA_GROUPS];
    struct group_line line;
};

struct group_columns {
    _Alignas(64) uint32_t unit[UNITS][LANES];
    _Alignas(64) float scale[MXV_MMA_GROUPS][LANES];
    _Alignas(64) int32_t exp[MXV_MMA_GROUPS][LANES];
    bool special[LANES], any_special;
};

// A scale byte: value, exponent.
struct group_scale {
    float value;
    int16_t exp;
    bool nan;
};

struct group_context {
    const struct mxv_mma_tile *t;
    const struct mxv_mma_span *s;
    const struct group_columns *cols;
    int frac, sub, zero; // F, fraction bits of a scaled group, z
    int64_t keep_mask;
    size_t first, lanes;
    struct group_scale table[256];
};

static bool group_is_zero(const union dot_line *line, size_t g, int offset)
{
    const uint64_t zeros = (uint64_t)offset * 0x0101010101010101u; // offset is 0 for 16 bits
    uint64_t word[GROUP_WORDS], any = 0;
    memcpy(word, line->unit + g * GROUP_UNITS, sizeof word);
    for (int i = 0; i < GROUP_WORDS; i++)
        any |= word[i] ^ zeros;
    return any == 0;
}

static float group_scale_value(const struct mxv_mma_model *m, struct mxv_mma_scale s)
{
    uint32_t bits = s.exp > -127 ? (uint32_t)(s.exp + 127) << 23 : 0x400000;
    float power;
    memcpy(&power, &bits, sizeof power);
    return (float)s.sig * (m->scale == MXV_UE4M3 ? 0.125f : 1) * power;
}

static void group_scale_table(const struct mxv_mma_model *m, struct group_scale table[256])
{
    for (int w = 0; w < 256; w++) {
        const struct mxv_mma_scale s = mxv_mma_unpack_scale(m, (uint8_t)w);
        table[w] = (struct group_scale){group_scale_value(m, s), (int16_t)s.exp, s.nan};
    }
}

// The exponent of a nonzero group of the same instruction, or 0, for the groups set in zeros.
static __attribute__((noinline)) void group_fill_zeros(struct group_line *out, size_t groups,
                                                       unsigned zeros)
{
    for (size_t g = 0; g < groups; g++) {
        int32_t beside = 0;
        for (size_t i = g / GROUPS * GROUPS; i < (g / GROUPS + 1) * GROUPS; i++)
            beside = zeros >> i & 1 ? beside : out->exp[i];
        if (zeros >> g & 1)
            out->exp[g] = beside;
    }
}

// Scales of one line. A group of zeros takes the exponent of a nonzero one beside it, or 0.
static void group_scales(const struct group_context *x, bool side_b, size_t index,
                         const union dot_line *line, struct group_line *out)
{
    const struct mxv_mma_tile *t = x->t;
    const unsigned halve = t->m->block == 2 * MXV_MMA_GST_GROUP;
    const uint8_t *scale = (side_b ? t->scale_b : t->scale_a) + index * t->scales;
    const size_t first = x->s->at / t->m->block, left = t->scales - first;
    const uint8_t one = mxv_mma_scale_one(t->m);
    const int offset = side_b ? dot_offsets(t->m).b : 0;
    const float unit = side_b ? 1 : 0.25f;
    const size_t groups = x->s->padded / MXV_MMA_GST_GROUP;
    unsigned zeros = 0;
    bool special = false;
    for (size_t g = 0; g < groups; g++) {
        const size_t block = g >> halve;
        const struct group_scale s = x->table[block < left ? scale[first + block] : one];
        const bool zero = (s.value == 0) | group_is_zero(line, g, offset);
        special |= s.nan;
        out->scale[g] = zero ? 0 : s.value * unit;
        out->exp[g] = s.exp;
        zeros |= (unsigned)zero << g;
    }
    out->special = special;
    if (zeros)
        group_fill_zeros(out, groups, zeros);
}

static void group_pack_row(const struct group_context *x, size_t index, struct group_row *out)
{
    const struct mxv_mma_tile *t = x->t;
    const struct mxv_mma_span *s = x->s;
    const struct mxv_operand *o = t->a + index * t->k + s->at;
    const struct offsets off = dot_offsets(t->m);
    union dot_line line;
    dot_read(o, s->n, s->padded, 0, &line);
    memcpy(out->unit, line.unit, sizeof line.unit);
    group_scales(x, false, index, &line, &out->line);
    for (size_t g = 0; g < s->padded / MXV_MMA_GST_GROUP; g++)
        out->start[g] = dot_row_start(&off, &line, g * MXV_MMA_GST_GROUP, MXV_MMA_GST_GROUP);
}

static void group_pack_columns(const struct group_context *x, struct group_columns *out)
{
    const struct mxv_mma_tile *t = x->t;
    const struct mxv_mma_span *s = x->s;
    const struct offsets off = dot_offsets(t->m);
    out->any_special = false;
    for (size_t j = 0; j < x->lanes; j++) {
        union dot_line line;
        struct group_line scales;
        dot_read(t->b + (x->first + j) * t->k + s->at, s->n, s->padded, off.b, &line);
        group_scales(x, true, x->first + j, &line, &scales);
        for (size_t i = 0; i < s->padded / UNIT; i++)
            out->unit[i][j] = line.unit[i];
        for (size_t g = 0; g < s->padded / MXV_MMA_GST_GROUP; g++) {
            out->scale[g][j] = scales.scale[g];
            out->exp[g][j] = scales.exp[g];
        }
        out->special[j] = scales.special;
        out->any_special |= scales.special;
    }
}

static int64_t group_align(int64_t v, int shift)
{
    int64_t t = (int64_t)mxv_mma_shift((uint64_t)(v < 0 ? -v : v), shift);
    return v < 0 ? -t : t;
}

// Whether a product of group `from / 16` of the span is not zero.
static bool group_any(const struct group_context *x, size_t row, size_t lane, size_t from)
{
    const struct mxv_operand *a = x->t->a + row * x->t->k + x->s->at;
    const struct mxv_operand *b = x->t->b + (x->first + lane) * x->t->k + x->s->at;
    bool any = false;
    for (size_t i = from; i < from + MXV_MMA_GST_GROUP && i < x->s->n; i++)
        any |= a[i].sig != 0 && b[i].sig != 0;
    return any;
}

// Group sums q of one lane of the instruction whose first group is g, aligned one by one.
static uint32_t group_redo(const struct group_context *x, size_t row, size_t lane, size_t g,
                           const int32_t q[GROUPS], uint32_t c)
{
    const struct mxv_mma_tile *t = x->t;
    const struct mxv_mma_acc acc = mxv_mma_unpack_f32(c);
    if (acc.class != MXV_MMA_FINITE)
        return acc.class == MXV_MMA_INFINITE ? c : MXV_MMA_NAN_F32;
    int exp[GROUPS], acc_exp = acc.sig ? acc.exp : x->zero, top = acc_exp;
    int64_t w[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) {
        size_t block = (g + i) * MXV_MMA_GST_GROUP / t->m->block;
        struct mxv_mma_scale sa = mxv_mma_span_scale(t, x->s, t->scale_a, row, block);
        struct mxv_mma_scale sb = mxv_mma_span_scale(t, x->s, t->scale_b, x->first + lane, block);
        int sig = sa.sig * sb.sig;
        bool any = sig && group_any(x, row, lane, (g + i) * MXV_MMA_GST_GROUP);
        w[i] = (int64_t)q[i] * sig;
        exp[i] = any ? sa.exp + sb.exp : x->zero;
        top = exp[i] > top ? exp[i] : top;
    }
    int64_t sum = group_align(acc.sig, x->frac - 23 - (top - acc_exp));
    for (size_t i = 0; i < GROUPS; i++)
        sum += group_align(w[i], x->frac - x->sub - (top - exp[i]));
    return mxv_mma_convert_f32_rz(sum, top - x->frac, (int)t->m->keep_bits);
}

// The lanes of vector v for which odd is set.
static __attribute__((noinline, cold)) void group_redo_lanes(const struct group_context *x,
                                                             size_t row, size_t g, int v,
                                                             const int32_t q[GROUPS][VECTOR],
                                                             const int32_t *odd, uint32_t *c)
{
    for (size_t j = 0; j < VECTOR && (size_t)v * VECTOR + j < x->lanes; j++) {
        const int32_t lane[GROUPS] = {q[0][j], q[1][j], q[2][j], q[3][j]};
        if (odd[j])
            c[j] = group_redo(x, row, (size_t)v * VECTOR + j, g, lane, c[j]);
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
                                  size_t index, size_t g, int v, vi q[GROUPS], vi *c)
{
    const struct group_columns *cols = x->cols;
    const vi before = *c;
    vi field = before >> 23 & 0xff, low = splat_i(HIGHEST), top = splat_i(LOWEST);
    vi zero = (before & 0x7fffffff) == 0, acc_exp = max_i(field, splat_i(1)) - 127;
    vf term[GROUPS + 1];
    for (size_t i = 0; i < GROUPS; i++) {
        const size_t at = (size_t)v * VECTOR;
        vi exp = load_i(cols->exp[g + i] + at) + row->line.exp[g + i];
        top = max_i(top, exp);
        low = min_i(low, exp);
        term[i] = float_i(q[i]) * (load_f(cols->scale[g + i] + at) * row->line.scale[g + i]);
    }
    term[GROUPS] = (vf)(before & ~zero); // -0 here and in the products must give +0
    vi odd = (low < LOWEST) | (top > HIGHEST) | (field == 0xff);
    vi all = select_i(zero, top, max_i(top, acc_exp));
    odd |= (all - low > x->frac - x->sub) | (~zero & (top - acc_exp > x->frac - 23));
    *c = group_finish(x, term);
    if (__builtin_expect(any_sign(odd), 0)) {
        int32_t sums[GROUPS][VECTOR], lanes[VECTOR];
        uint32_t words[VECTOR];
        for (int i = 0; i < GROUPS; i++)
            store_i(sums[i], q[i]);
        store_i(lanes, odd);
        store_i(words, before);
        group_redo_lanes(x, index, g, v, sums, lanes, words);
        *c = select_i(odd, load_i(words), *c);
    }
}

static void group_row_run(const struct group_context *x, const struct group_row *row, size_t index,
                          vi c[2])
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
        group_instruction(x, row, index, g, 0, q[0], &c[0]);
        group_instruction(x, row, index, g, 1, q[1], &c[1]);
    }
}

static void group_block(const struct group_context *x, const struct group_row *row, size_t index)
{
    const struct lane_block block = {x->t, x->s, index, x->first, x->lanes};
    uint32_t words[LANES];
    load_block(&block, words);
    vi c[2] = {load_i(words), load_i(words + VECTOR)};
    if (!row->line.special)
        group_row_run(x, row, index, c);
    store_i(words, c[0]);
    store_i(words + VECTOR, c[1]);
    store_block(&block, row->line.special, x->cols->any_special ? x->cols->special : NULL, words);
}

static void group_panel(struct group_context *x, struct group_columns *cols, size_t first_row,
                        size_t rows)
{
    struct group_row panel[GROUP_PANEL];
    for (size_t r = 0; r < rows; r++)
        group_pack_row(x, first_row + r, &panel[r]);
    for (size_t first = 0; first < x->t->cols; first += LANES) {
        x->first = first;
        x->lanes = x->t->cols - first < LANES ? x->t->cols - first : LANES;
        group_pack_columns(x, cols);
        for (size_t r = 0; r < rows; r++)
            group_block(x, &panel[r], first_row + r);
    }
}

static void group_tile(const struct mxv_mma_tile *t)
{
    static const struct group_columns empty;
    const struct mxv_mma_model *m = t->m;
    struct group_columns cols = empty;
    struct group_context x = {.t = t,
                              .cols = &cols,
                              .frac = (int)m->frac_bits,
                              .sub = m->scale == MXV_UE4M3 ? 8 : 2,
                              .zero = m->zero_exp,
                              .keep_mask = (int64_t)(~(uint64_t)0 << (52 - m->keep_bits))};
    group_scale_table(m, x.table);
    for (size_t at = 0; at < t->k; at += MXV_MMA_CHUNK) {
        const struct mxv_mma_span s = mxv_mma_span_at(t, at);
        x.s = &s;
        for (size_t r = 0; r < t->rows; r += GROUP_PANEL)
            group_panel(&x, &cols, r, t->rows - r < GROUP_PANEL ? t->rows - r : GROUP_PANEL);
    }
}

#endif
