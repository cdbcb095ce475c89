// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// 2^x, 1/x and log2 x of emulated GPUs as integer device code, host and device from one text: the
// interpolator of ref/special_unit.c (docs/numerics.md, "Special functions"; structure: S. F.
// Oberman, M. Y. Siu, ARITH-17, 2005; tables first published by envytools, Marcelina Kościelnicka,
// 2015, MIT) with its table; the correctly rounded 2^x is that of exp2_exact.h.
// unit.emulate_special compares with ref/special*.c.
#ifndef MXV_EMULATE_SPECIAL_H
#define MXV_EMULATE_SPECIAL_H

#include "emulate_units.h"
#include "exp2_exact.h"

struct special_row {
    int32_t c0, c1, c2;
};

#define SPECIAL_ROW(c0, c1, c2) {c0, c1, c2},
#define SPECIAL_NONE(c0, c1, c2)

UNIT_TABLE struct special_row special_ex2_rows[] = {
#define MXV_EX2 SPECIAL_ROW
#define MXV_RCP SPECIAL_NONE
#define MXV_LG2 SPECIAL_NONE
#include "../ref/special_table.def"
#undef MXV_EX2
#undef MXV_RCP
};

UNIT_TABLE struct special_row special_rcp_rows[] = {
#define MXV_EX2 SPECIAL_NONE
#define MXV_RCP SPECIAL_ROW
#include "../ref/special_table.def"
#undef MXV_RCP
#undef MXV_LG2
};

UNIT_TABLE struct special_row special_lg2_rows[] = {
#define MXV_RCP SPECIAL_NONE
#define MXV_LG2 SPECIAL_ROW
#include "../ref/special_table.def"
#undef MXV_EX2
#undef MXV_RCP
#undef MXV_LG2
};

// Square of a 17-bit x in units of 2^19, partial products below left out.
UNIT_FN int64_t special_square(uint32_t x)
{
    uint32_t s = 0;
    UNIT_UNROLL
    for (unsigned i = 10; i <= 16; i++) {
        uint32_t row = (1u << (2 * i - 19)) + ((x & ((1u << i) - 1)) >> (18 - i));
        s += row & (0u - (x >> i & 1));
    }
    return s;
}

UNIT_FN int64_t special_interpolate(struct special_row row, uint32_t x, int64_t square, int up,
                                    int bias, int square_up, int down)
{
    return ((int64_t)row.c0 * ((int64_t)1 << up) + bias + (int64_t)row.c1 * x +
            row.c2 * square * ((int64_t)1 << square_up)) >>
           down;
}

// A 24-bit significand (or 2^24, a carry) under an exponent field.
UNIT_FN uint32_t special_join(uint32_t sign, int64_t sig, int field)
{
    if (sig >> 24) {
        sig >>= 1;
        field++;
    }
    if (field <= 0)
        return sign;
    return sign | (field >= 255 ? UNIT_INF : (uint32_t)field << 23 | ((uint32_t)sig & 0x7fffffu));
}

UNIT_FN bool special_is_nan(uint32_t w)
{
    return (w & 0x7fffffffu) > UNIT_INF;
}

UNIT_FN uint32_t special_ex2(uint32_t x)
{
    int exp = (int)(x >> 23 & 0xff) - 127;
    bool negative = x >> 31 != 0;
    if (special_is_nan(x))
        return UNIT_NAN;
    if (exp >= 7)
        return negative ? 0 : UNIT_INF;
    exp = exp < -24 ? -24 : exp;
    uint32_t sig = (x & 0x7fffffu) | 0x800000u;
    uint32_t fixed = exp >= 0 ? sig << exp : sig >> -exp;
    int n = (int)(fixed >> 23);
    uint32_t f = fixed & 0x7fffffu;
    if (negative) {
        n = f ? -n - 1 : -n;
        f = f ? 0x7fffffu - f : 0;
    }
    uint32_t rest = f & 0x1ffffu;
    return special_join(0,
                        special_interpolate(special_ex2_rows[f >> 17], rest, special_square(rest),
                                            13, 0x17e2, 0, 15),
                        n + 127);
}

UNIT_FN uint32_t special_rcp(uint32_t x)
{
    uint32_t sign = x & 0x80000000u, f = x & 0x7fffffu, rest = x & 0xffffu;
    int field = (int)(x >> 23 & 0xff);
    if (special_is_nan(x))
        return UNIT_NAN;
    if (field == 255)
        return sign;
    if (field == 0)
        return sign | UNIT_INF;
    return special_join(sign,
                        special_interpolate(special_rcp_rows[f >> 16], rest,
                                            special_square(2 * rest), 13, 0x07e7, 0, 15),
                        253 - field);
}

UNIT_FN uint32_t special_lg2(uint32_t x)
{
    uint32_t f = x & 0x7fffffu, rest = x & 0x1ffffu;
    int field = (int)(x >> 23 & 0xff);
    if (special_is_nan(x))
        return UNIT_NAN;
    if (field == 0)
        return 0x80000000u | UNIT_INF;
    if (x >> 31)
        return UNIT_NAN;
    if (field == 255)
        return UNIT_INF;
    if (x == 0x3f800000u)
        return 0;
    int64_t v = ((int64_t)field - 127) * ((int64_t)1 << 36) +
                special_interpolate(special_lg2_rows[f >> 17], rest, special_square(rest), 12,
                                    0x0345, 1, 2);
    uint32_t sign = v < 0 ? 0x80000000u : 0;
    uint64_t magnitude = (uint64_t)(v < 0 ? -v - 1 : v);
    if (magnitude == 0)
        return sign;
    int top = unit_top_bit_64(magnitude);
    uint32_t sig = (uint32_t)(top >= 23 ? magnitude >> (top - 23) : magnitude << (23 - top));
    return sign | (uint32_t)(top - 36 + 127) << 23 | (sig & 0x7fffffu);
}

#endif
