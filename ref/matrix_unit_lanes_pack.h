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
#include "matrix_unit_lanes_turn.h"

// Operands are read 16 at a time: a multiple of TURN, also of pairs, and of every vector.
enum { TOP = 60, REAL = MXV_OPERAND_ZERO / 2, PANEL = 128, READ = 16, SHIFTS = MXV_MMA_CHUNK / 32 };

// Lines (rows or columns) in the order of the steps, values as binary32 words. exp: words of 16
// bits, of each product where lines are scaled for their range, else the biased bytes of two
// products, 0 for zeros. shift: exponent by which products of scaled operands fall short, by block
// (ST) or in [0].
struct lines {
    uint32_t value[LANES][MXV_MMA_CHUNK];
    uint32_t exp[LANES][MXV_MMA_CHUNK];
    int32_t shift[LANES][SHIFTS];
    bool special[LANES];
};

// Rows step by step, in the order in which they are read: row r's products of the step from `at`
// begin at row_at(). exp: the words of a line, twice.
struct sum_rows {
    _Alignas(64) float value[MXV_MMA_CHUNK * PANEL];
    _Alignas(64) uint32_t exp[MXV_MMA_CHUNK * PANEL];
    int32_t shift[PANEL][SHIFTS];
    bool special[PANEL];
};

MXV_INLINE size_t row_at(const size_t step, size_t at, size_t r)
{
    return at / step * step * PANEL + r * step;
}

// value: binary32 words. exp: the words of columns j and VECTOR + j are the halves of lane j.
struct sum_columns {
    _Alignas(64) uint32_t value[MXV_MMA_CHUNK][LANES];
    _Alignas(64) uint32_t exp[MXV_MMA_CHUNK][VECTOR];
    _Alignas(64) int32_t shift[SHIFTS][LANES];
    bool special[LANES], any_special;
};

// Whether products of the operand formats leave the range of binary32.
static bool is_wide(const struct mxv_mma_model *m)
{
    return m->a == MXV_BF16 || m->a == MXV_TF32 || m->b == MXV_BF16 || m->b == MXV_TF32;
}

static size_t read_count(const struct mxv_mma_span *s)
{
    return (s->padded + READ - 1) / READ * READ;
}

// The operands of a line in the order of the steps, with zeros up to read_count().
static const struct mxv_operand *ordered(const struct mxv_mma_tile *t, const struct mxv_mma_span *s,
                                         const struct mxv_operand *o,
                                         struct mxv_operand room[MXV_MMA_CHUNK])
{
    const bool hmma = t->m->rule == MXV_MMA_HMMA_FP8;
    const size_t count = read_count(s);
    if (!hmma && s->n == count)
        return o;
    for (size_t i = 0; i < count; i++) {
        const size_t from = hmma ? i / 32 * 32 + mxv_mma_hmma_order(i % 32) : i;
        room[i] = from < s->n ? o[from] : (struct mxv_operand){0, MXV_OPERAND_ZERO};
    }
    return room;
}

static int largest_exponent(const struct mxv_operand *o, size_t count)
{
    vi most = splat_i(MXV_OPERAND_ZERO);
    int largest = MXV_OPERAND_ZERO;
    for (size_t i = 0; i < count; i += VECTOR)
        most = max_i(most, high_half(load_i(o + i)));
    for (int j = 0; j < VECTOR; j++)
        largest = most[j] > largest ? most[j] : largest;
    return largest;
}

// Line `line` of out from `count` operands with `frac` fraction bits.
static void read_operands(const struct mxv_operand *o, size_t count, const bool wide, int frac,
                          int bias, size_t line, struct lines *restrict out)
{
    const int largest = largest_exponent(o, count);
    const int scale = wide && largest > REAL ? TOP - largest : 0;
    const vf unit = power_i(splat_i(-frac));
    uint32_t byte[MXV_MMA_CHUNK];
    for (size_t i = 0; i < count; i += VECTOR) {
        const vi words = load_i(o + i), exp = high_half(words);
        // below -126: zeros, and what lies 186 binades below the largest; above 127: NaN, infinity
        const vi e = min_i(max_i(exp + scale, splat_i(-127)), splat_i(127));
        store_i(out->value[line] + i, (vi)(float_i(low_half(words)) * power_i(e) * unit));
        if (wide)
            store_i(out->exp[line] + i, exp & 0xffff);
        else
            store_i(byte + i, (exp + bias) & 0xff & (exp != MXV_OPERAND_ZERO));
    }
    for (size_t p = 0; !wide && p < count / 2; p++)
        out->exp[line][p] = byte[2 * p] | byte[2 * p + 1] << 8;
    memset(out->shift[line], 0, sizeof out->shift[line]);
    out->shift[line][0] = -scale;
    out->special[line] = largest >= MXV_OPERAND_INF;
}

// Row or column `index` of the tile as line `line` of out.
static void read_line(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, bool side_b,
                      size_t index, size_t line, struct lines *out)
{
    const struct mxv_mma_model *m = t->m;
    struct mxv_operand room[MXV_MMA_CHUNK];
    const struct mxv_operand *const o =
        ordered(t, s, (side_b ? t->b : t->a) + index * t->k + s->at, room);
    const int frac = mxv_mma_operand_frac(m, side_b ? m->b : m->a), bias = side_b ? BIAS_B : BIAS_A;
    if (is_wide(m))
        read_operands(o, read_count(s), true, frac, bias, line, out);
    else
        read_operands(o, read_count(s), false, frac, bias, line, out);
    for (size_t i = 0; m->rule == MXV_MMA_ST && i < s->padded / m->block; i++) {
        const struct mxv_mma_scale scale =
            mxv_mma_span_scale(t, s, side_b ? t->scale_b : t->scale_a, index, i);
        out->shift[line][i] = scale.exp;
        out->special[line] |= scale.nan;
    }
}

// Copies `size` words of each step, a multiple of two.
static void lay_steps(const uint32_t *line, size_t n, const size_t size, size_t r, void *to)
{
    for (size_t at = 0; at < n; at += size)
        for (size_t i = 0; i < size; i += 2)
            memcpy((uint32_t *)to + row_at(size, at, r) + i, line + at + i, 2 * sizeof *line);
}

// Rows [first, first + count) of the tile as rows r and on of the panel, count <= LANES.
static void pack_rows(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t first,
                      size_t count, size_t r, struct lines *room, struct sum_rows *out)
{
    const size_t step = t->m->step, words = is_wide(t->m) ? step : step / 2;
    for (size_t j = 0; j < count; j++) {
        uint32_t *const exp = room->exp[j];
        read_line(t, s, false, first + j, j, room);
        for (size_t i = 0; i < read_count(s); i++)
            exp[i] *= 0x10001u;
        lay_steps(room->value[j], s->padded, step, r + j, out->value);
        lay_steps(exp, s->padded / step * words, words, r + j, out->exp);
        memcpy(out->shift[r + j], room->shift[j], sizeof room->shift[j]);
        out->special[r + j] = room->special[j];
    }
}

// Columns [first, first + lanes); absent ones are zeros.
static void pack_columns(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t first,
                         size_t lanes, struct lines *room, struct sum_columns *out)
{
    const size_t count = read_count(s), words = is_wide(t->m) ? count : count / 2;
    out->any_special = false;
    for (size_t j = 0; j < LANES; j++) {
        if (j < lanes) {
            read_line(t, s, true, first + j, j, room);
        } else {
            memset(room->value[j], 0, sizeof room->value[j]);
            memset(room->exp[j], 0, sizeof room->exp[j]);
            memset(room->shift[j], 0, sizeof room->shift[j]);
            room->special[j] = false;
        }
        for (size_t i = 0; i < SHIFTS; i++)
            out->shift[i][j] = room->shift[j][i];
        out->special[j] = room->special[j];
        out->any_special |= room->special[j];
    }
    for (size_t j = 0; j < VECTOR; j++)
        for (size_t i = 0; i < words; i++)
            room->exp[j][i] |= room->exp[VECTOR + j][i] << 16;
    turn_lines((const uint32_t(*)[MXV_MMA_CHUNK])room->value, LANES, count, out->value[0], LANES);
    turn_lines((const uint32_t(*)[MXV_MMA_CHUNK])room->exp, VECTOR, words, out->exp[0], VECTOR);
}

#endif
