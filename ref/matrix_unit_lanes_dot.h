// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact integer dot products for the rules GST and INT: operands packed into 32-bit units of UNIT
// products, and DOT, which adds the UNIT products of each lane. pmaddwd takes pairs of 16 bits as
// they are. vpdpbusd takes unsigned bytes of B and signed bytes of A; with b' = b + ob and
// a' = a - oa the sum of a * b over n products is
//     sum of a' * b'  +  oa * sum of b'  -  ob * sum of a'  -  oa * ob * n,
// of which the last three are known when a line is packed. Integers wrap modulo 2^32, where the
// intermediate sums may pass 2^31 (INT only) the result is wanted modulo 2^32.
#ifndef MXV_REF_MATRIX_UNIT_LANES_DOT_H
#define MXV_REF_MATRIX_UNIT_LANES_DOT_H

#include "matrix_unit_lanes.h"

#if defined(MXV_DOT_BYTES)
enum { UNIT = 4 };
typedef uint8_t element;
#else
enum { UNIT = 2 };
typedef uint16_t element;
#endif

enum { UNITS = MXV_MMA_CHUNK / UNIT, GROUP_UNITS = MXV_MMA_GST_GROUP / UNIT };

// sum + the UNIT products of b (columns) and the splatted unit a.
MXV_INLINE vi dot(vi sum, vi b, vi a)
{
#if defined(MXV_DOT_BYTES)
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)b, (__m512i)a);
#elif MXV_LANE_BYTES == 64
    return (vi)((vu)sum + (vu)_mm512_madd_epi16((__m512i)b, (__m512i)a));
#elif MXV_LANE_BYTES == 32
    return (vi)((vu)sum + (vu)_mm256_madd_epi16((__m256i)b, (__m256i)a));
#elif defined(__SSE2__)
    return (vi)((vu)sum + (vu)_mm_madd_epi16((__m128i)b, (__m128i)a));
#else
    vi low = low_half(a) * low_half(b), high = high_half(a) * high_half(b);
    return (vi)((vu)sum + (vu)low + (vu)high);
#endif
}

// What is taken from A and added to B so that both fit the operands of dot().
struct offsets {
    int a, b;
};

static struct offsets dot_offsets(const struct mxv_mma_model *m)
{
    if (UNIT == 2)
        return (struct offsets){0, 0};
    if (m->rule == MXV_MMA_GST)
        return (struct offsets){0, 12};
    return (struct offsets){m->a == MXV_U8 ? 128 : 0, m->b == MXV_S8 ? 128 : 0};
}

// One line of a span in units.
union dot_line {
    element e[MXV_MMA_CHUNK];
    uint32_t unit[UNITS];
};

static void dot_read(const struct mxv_operand *o, size_t n, size_t padded, int offset,
                     union dot_line *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out->e[i] = (element)(o[i].sig + offset);
    for (size_t i = n; i < padded; i++)
        out->e[i] = (element)offset;
}

// Sum of elements [from, from + count) of a packed line, signed (A) or unsigned (B) bytes.
MXV_INLINE int32_t dot_total(const union dot_line *line, size_t from, const size_t count,
                             const bool with_sign)
{
    int32_t sum = 0;
    for (size_t i = from; i < from + count; i++)
        sum += with_sign ? (int8_t)line->e[i] : line->e[i];
    return sum;
}

// The part of the correction above that a row brings.
MXV_INLINE int32_t dot_row_start(const struct offsets *off, const union dot_line *line, size_t from,
                                 const size_t count)
{
    int32_t total = off->b ? dot_total(line, from, count, true) : 0;
    return -off->b * total - off->a * off->b * (int32_t)count;
}

MXV_INLINE int32_t dot_column_start(const struct offsets *off, const union dot_line *line,
                                    size_t from, const size_t count)
{
    return off->a ? off->a * dot_total(line, from, count, false) : 0;
}

#endif
