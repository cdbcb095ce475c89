// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rule INT over a tile, LANES columns side by side: exact sums, modulo 2^32 over a whole span, or
// clamped once per instruction. An instruction's sum (|sum| < 2^23) is exact in 32 bits; with c it
// passes int32 exactly when the signs show it. unit.matrix_unit_tile fails if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_INT_H
#define MXV_REF_MATRIX_UNIT_LANES_INT_H

#include "matrix_unit_lanes_dot.h"

enum { INT_PANEL = 128 };

// start: correction per instruction if saturating, else of the span in [0].
struct int_row {
    uint32_t unit[UNITS];
    int32_t start[MXV_MMA_GROUPS];
};

struct int_columns {
    _Alignas(64) uint32_t unit[UNITS][LANES];
    _Alignas(64) int32_t start[MXV_MMA_GROUPS][LANES];
};

static void int_pack_row(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t index,
                         size_t length, struct int_row *out)
{
    const struct mxv_operand *o = t->a + index * t->k + s->at;
    const struct offsets off = dot_offsets(t->m);
    union dot_line line;
    dot_read(o, s->n, s->padded, -off.a, &line);
    memcpy(out->unit, line.unit, s->padded / UNIT * sizeof *line.unit);
    for (size_t i = 0; i < s->padded / length; i++)
        out->start[i] = dot_row_start(&off, &line, i * length, length);
}

static void int_pack_columns(const struct mxv_mma_tile *t, const struct mxv_mma_span *s,
                             size_t first, size_t lanes, size_t length, struct int_columns *out)
{
    const struct offsets off = dot_offsets(t->m);
    for (size_t j = 0; j < lanes; j++) {
        const struct mxv_operand *o = t->b + (first + j) * t->k + s->at;
        union dot_line line;
        dot_read(o, s->n, s->padded, off.b, &line);
        for (size_t i = 0; i < s->padded / UNIT; i++)
            out->unit[i][j] = line.unit[i];
        for (size_t i = 0; i < s->padded / length; i++)
            out->start[i][j] = dot_column_start(&off, &line, i * length, length);
    }
}

// Sums of units [from, end); four independent chains hide the latency of dot().
MXV_INLINE void int_sum(const struct int_row *row, const struct int_columns *cols, size_t from,
                        size_t end, vi sum[2])
{
    vi part[4][2] = {{{0}}};
    for (size_t i = from; i < end; i += 4)
        for (int u = 0; u < 4; u++)
            for (int v = 0; v < 2; v++)
                part[u][v] = dot(part[u][v], load_i(cols->unit[i + (size_t)u] + v * VECTOR),
                                 splat_i((int32_t)row->unit[i + (size_t)u]));
    for (int v = 0; v < 2; v++)
        sum[v] =
            (vi)((vu)sum[v] + (vu)part[0][v] + (vu)part[1][v] + (vu)part[2][v] + (vu)part[3][v]);
}

static void int_row(const struct mxv_mma_tile *t, const struct int_row *row,
                    const struct int_columns *cols, size_t units, size_t length, vi c[2])
{
    const size_t count = length / UNIT;
    for (size_t i = 0; i * count < units; i++) {
        vi sum[2];
        for (int v = 0; v < 2; v++)
            sum[v] = load_i(cols->start[i] + v * VECTOR) + row->start[i];
        int_sum(row, cols, i * count, (i + 1) * count, sum);
        for (int v = 0; v < 2; v++) {
            vi all = (vi)((vu)c[v] + (vu)sum[v]);
            vi over = ((all ^ c[v]) & (all ^ sum[v])) >> 31;
            vi limit = (c[v] >> 31) ^ INT32_MAX;
            c[v] = t->m->saturate ? select_i(over, limit, all) : all;
        }
    }
}

static void int_panel(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t first_row,
                      size_t rows)
{
    static const struct int_columns empty;
    struct int_row panel[INT_PANEL];
    struct int_columns cols = empty;
    const size_t length = t->m->saturate ? t->m->k : s->padded;
    for (size_t r = 0; r < rows; r++)
        int_pack_row(t, s, first_row + r, length, &panel[r]);
    for (size_t first = 0; first < t->cols; first += LANES) {
        size_t lanes = t->cols - first < LANES ? t->cols - first : LANES;
        int_pack_columns(t, s, first, lanes, length, &cols);
        for (size_t r = 0; r < rows; r++) {
            const struct lane_block block = {t, s, first_row + r, first, lanes};
            uint32_t words[LANES];
            load_block(&block, words);
            vi c[2] = {load_i(words), load_i(words + VECTOR)};
            int_row(t, &panel[r], &cols, s->padded / UNIT, length, c);
            store_i(words, c[0]);
            store_i(words + VECTOR, c[1]);
            store_block(&block, false, NULL, words);
        }
    }
}

static void int_tile(const struct mxv_mma_tile *t)
{
    for (size_t at = 0; at < t->k; at += MXV_MMA_CHUNK) {
        const struct mxv_mma_span s = mxv_mma_span_at(t, at);
        for (size_t r = 0; r < t->rows; r += INT_PANEL)
            int_panel(t, &s, r, t->rows - r < INT_PANEL ? t->rows - r : INT_PANEL);
    }
}

#endif
