// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of a span as the sum form reads them: binary32 values and raw exponents, columns
// side by side. Values are exact: significands of at most 11 bits, times a power of two. Operands
// of bf16 and tf32 are scaled by one power of two per line, so that the largest exponent is TOP and
// no product overflows; what falls below 2^-126 by that becomes 0 (matrix_unit_lanes_sum.h says why
// that is harmless). unit.matrix_unit_tile fails if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_PACK_H
#define MXV_REF_MATRIX_UNIT_LANES_PACK_H

#include "matrix_unit_lanes_acc.h"

enum { TOP = 60, REAL = MXV_OPERAND_ZERO / 2 };

// One line (row or column) in the order of the steps. shift: exponent by which products of scaled
// operands fall short, by block (ST) or in [0].
struct line {
    float value[MXV_MMA_CHUNK];
    int16_t exp[MXV_MMA_CHUNK];
    int32_t shift[MXV_MMA_CHUNK / 32];
    bool special;
};

// exp: twice, as two 16-bit halves, where lines are scaled; else biased bytes of two products,
// twice (matrix_unit_lanes_acc.h).
struct sum_row {
    float value[MXV_MMA_CHUNK];
    uint32_t exp[MXV_MMA_CHUNK];
    int32_t shift[MXV_MMA_CHUNK / 32];
    bool special;
};

// exp: column j of vector v is 16-bit lane 2 * j + v, the two halves of the 32-bit lane j; by
// product where lines are scaled, else the biased bytes of two products.
struct sum_columns {
    _Alignas(64) float value[MXV_MMA_CHUNK][LANES];
    _Alignas(64) uint16_t exp[MXV_MMA_CHUNK][LANES];
    _Alignas(64) int32_t shift[MXV_MMA_CHUNK / 32][LANES];
    bool special[LANES], any_special;
};

// Whether products of the operand formats leave the range of binary32.
static bool is_wide(const struct mxv_mma_model *m)
{
    return m->a == MXV_BF16 || m->a == MXV_TF32 || m->b == MXV_BF16 || m->b == MXV_TF32;
}

static float power(int e)
{
    uint32_t bits = (uint32_t)(e + 127) << 23;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void read_operands(const struct mxv_mma_tile *t, const struct mxv_mma_span *s,
                          const struct mxv_operand *o, int frac, struct line *out)
{
    int16_t largest = MXV_OPERAND_ZERO;
    for (size_t i = 0; i < s->n; i++) {
        out->exp[i] = o[i].exp;
        largest = o[i].exp > largest ? o[i].exp : largest;
    }
    out->special = largest >= MXV_OPERAND_INF;
    bool range = is_wide(t->m) && largest > REAL;
    int scale = range ? TOP - largest : 0;
    out->shift[0] = -scale;
    const float unit = power(-frac);
    for (size_t i = 0; i < s->n; i++) {
        int e = o[i].exp + scale;
        // below -126: zeros, and what lies 186 binades below the largest; above 127: NaN, infinity
        e = e < -127 ? -127 : e > 127 ? 127 : e;
        out->value[i] = (float)o[i].sig * power(e) * unit;
    }
    for (size_t i = s->n; i < s->padded; i++) {
        out->value[i] = 0;
        out->exp[i] = MXV_OPERAND_ZERO;
    }
}

static void order_hmma(size_t n, struct line *line)
{
    const struct line from = *line;
    for (size_t i = 0; i < n; i++) {
        size_t at = i / 32 * 32 + mxv_mma_hmma_order(i % 32);
        line->value[i] = from.value[at];
        line->exp[i] = from.exp[at];
    }
}

static void read_line(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, bool side_b,
                      size_t index, struct line *out)
{
    const struct mxv_mma_model *m = t->m;
    read_operands(t, s, (side_b ? t->b : t->a) + index * t->k + s->at,
                  mxv_mma_operand_frac(m, side_b ? m->b : m->a), out);
    if (m->rule == MXV_MMA_HMMA_FP8)
        order_hmma(s->padded, out);
    for (size_t i = 0; m->rule == MXV_MMA_ST && i < s->padded / m->block; i++) {
        struct mxv_mma_scale scale =
            mxv_mma_span_scale(t, s, side_b ? t->scale_b : t->scale_a, index, i);
        out->shift[i] = scale.exp;
        out->special |= scale.nan;
    }
}

// Exponents as 16-bit words: of each product, or of two as biased bytes, 0 for zeros. Their number.
static size_t read_exponents(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, int bias,
                             const struct line *line, uint16_t out[MXV_MMA_CHUNK])
{
    uint8_t byte[MXV_MMA_CHUNK];
    if (is_wide(t->m)) {
        memcpy(out, line->exp, s->padded * sizeof *out);
        return s->padded;
    }
    for (size_t i = 0; i < s->padded; i++)
        byte[i] = (uint8_t)(line->exp[i] == MXV_OPERAND_ZERO ? 0 : line->exp[i] + bias);
    for (size_t p = 0; p < s->padded / 2; p++)
        out[p] = (uint16_t)(byte[2 * p] | byte[2 * p + 1] << 8);
    return s->padded / 2;
}

static void pack_row(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t index,
                     struct sum_row *out)
{
    struct line line;
    uint16_t exp[MXV_MMA_CHUNK];
    read_line(t, s, false, index, &line);
    const size_t n = read_exponents(t, s, BIAS_A, &line, exp);
    for (size_t i = 0; i < n; i++)
        out->exp[i] = exp[i] * 0x10001u;
    memcpy(out->value, line.value, s->padded * sizeof *line.value);
    memcpy(out->shift, line.shift, sizeof line.shift);
    out->special = line.special;
}

static void pack_columns(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t first,
                         size_t lanes, struct sum_columns *out)
{
    out->any_special = false;
    for (size_t j = 0; j < lanes; j++) {
        struct line line;
        uint16_t exp[MXV_MMA_CHUNK];
        const size_t slot = j % VECTOR * 2 + j / VECTOR;
        read_line(t, s, true, first + j, &line);
        const size_t n = read_exponents(t, s, BIAS_B, &line, exp);
        for (size_t i = 0; i < s->padded; i++)
            out->value[i][j] = line.value[i];
        for (size_t i = 0; i < n; i++)
            out->exp[i][slot] = exp[i];
        for (size_t i = 0; i < MXV_MMA_CHUNK / 32; i++)
            out->shift[i][j] = line.shift[i];
        out->special[j] = line.special;
        out->any_special |= line.special;
    }
}

#endif
