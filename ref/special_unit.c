// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The special-function unit of NVIDIA GPUs, bit for bit: EX2, RCP, LG2, RSQ.
//
//     acc = (C0 << a) + bias + C1*x + ((C2*S) << b)     exact integers
//     result = acc >> r                                  truncating
//
// The row of coefficients is chosen by the top fraction bits, x is the rest, S a truncated square
// of x. Structure: S. F. Oberman, M. Y. Siu, "A High-Performance Area-Efficient Multifunction
// Interpolator", ARITH-17, 2005. Model and tables were first published by envytools (Marcelina
// Kościelnicka, 2015, MIT; nvhw/sfu.c). PTX states error bounds only; what this file computes was
// compared with an H200 on all 2^32 inputs of each function, without a difference. Other GPUs: the
// few published words (A100, GB200) agree. Not handled: sin, cos, tanh, packed half forms.
// golden.sfu hashes complete mantissa tables and fails on any change of a coefficient or a shift.
#include "special_unit.h"

#include <stdbool.h>

enum { NAN_WORD = 0x7fffffff, INF_WORD = 0x7f800000, ONE_WORD = 0x3f800000 };

struct coefficients {
    int32_t c0, c1, c2;
};

struct interpolator {
    unsigned a, b, r;
    int64_t bias;
};

#define ROW(c0, c1, c2) {c0, c1, c2},
#define NO_ROW(c0, c1, c2)

static const struct coefficients ex2_rows[] = {
#define MXV_EX2 ROW
#define MXV_RCP NO_ROW
#define MXV_LG2 NO_ROW
#include "special_table.def"
#undef MXV_EX2
#undef MXV_RCP
};

static const struct coefficients rcp_rows[] = {
#define MXV_EX2 NO_ROW
#define MXV_RCP ROW
#include "special_table.def"
#undef MXV_RCP
#undef MXV_LG2
};

static const struct coefficients lg2_rows[] = {
#define MXV_RCP NO_ROW
#define MXV_LG2 ROW
#include "special_table.def"
};

static const struct coefficients rsq_rows[] = {
#define MXV_RSQ ROW
#include "special_table_rsq.def"
};

static const struct interpolator ex2_unit = {13, 0, 15, 0x17e2};
static const struct interpolator rcp_unit = {13, 0, 15, 0x07e7};
static const struct interpolator lg2_unit = {12, 1, 2, 0x0345};
static const struct interpolator rsq_unit = {14, 2, 16, 0x7fff};

// Square of a 17-bit x in units of 2^19: the partial products x_i * 2^(2i) and x_i * x_j *
// 2^(i+j+1) (j < i), those of weight below 2^19 left out. Only i = 10..16 have any left.
static int64_t truncated_square(uint32_t x)
{
    uint32_t s = 0;
    for (unsigned i = 10; i <= 16; i++) {
        uint32_t row = (1u << (2 * i - 19)) + ((x & ((1u << i) - 1)) >> (18 - i));
        s += row & (0u - (x >> i & 1));
    }
    return s;
}

static int64_t interpolate(const struct interpolator *u, const struct coefficients *row, uint32_t x,
                           int64_t square)
{
    int64_t acc = (int64_t)row->c0 * ((int64_t)1 << u->a) + u->bias + (int64_t)row->c1 * x +
                  row->c2 * square * ((int64_t)1 << u->b);
    return acc >> u->r;
}

// A 24-bit significand (or 2^24, a carry) under an exponent field: subnormals flush, overflow is
// infinity.
static uint32_t join(uint32_t sign, int64_t sig, int field)
{
    if (sig >> 24) {
        sig >>= 1;
        field++;
    }
    if (field <= 0)
        return sign;
    if (field >= 255)
        return sign | INF_WORD;
    return sign | (uint32_t)field << 23 | ((uint32_t)sig & 0x7fffff);
}

static bool is_nan(uint32_t w)
{
    return (w & 0x7fffffff) > INF_WORD;
}

static unsigned field_of(uint32_t w)
{
    return w >> 23 & 0xff;
}

// |x| as 7.23 fixed point, low bits dropped: integer part n, fraction f. A negative argument takes
// the one's complement of f, not 2^23 - f.
uint32_t mxv_unit_ex2(uint32_t x)
{
    int exp = (int)field_of(x) - 127;
    bool negative = x >> 31;
    if (is_nan(x))
        return NAN_WORD;
    if (exp >= 7)
        return negative ? 0 : INF_WORD;
    if (exp < -23) // |x| < 2^-23, zeros and subnormals included
        exp = -24;
    uint32_t sig = (x & 0x7fffff) | 0x800000;
    uint32_t fixed = exp >= 0 ? sig << exp : sig >> -exp;
    int n = (int)(fixed >> 23);
    uint32_t f = fixed & 0x7fffff;
    if (negative) {
        n = f ? -n - 1 : -n;
        f = f ? 0x7fffff - f : 0;
    }
    uint32_t rest = f & 0x1ffff;
    return join(0, interpolate(&ex2_unit, &ex2_rows[f >> 17], rest, truncated_square(rest)),
                n + 127);
}

uint32_t mxv_unit_rcp(uint32_t x)
{
    uint32_t sign = x & 0x80000000, f = x & 0x7fffff, rest = x & 0xffff;
    if (is_nan(x))
        return NAN_WORD;
    if (field_of(x) == 255)
        return sign;
    if (field_of(x) == 0)
        return sign | INF_WORD;
    int64_t sig = interpolate(&rcp_unit, &rcp_rows[f >> 16], rest, truncated_square(2 * rest));
    return join(sign, sig, 253 - (int)field_of(x));
}

// The leading 24 bits of a positive fixed-point number with 36 fraction bits, truncated.
static uint32_t float_of_fixed(uint32_t sign, uint64_t v)
{
    int top = 63 - __builtin_clzll(v);
    uint32_t sig = (uint32_t)(top >= 23 ? v >> (top - 23) : v << (23 - top));
    return sign | (uint32_t)(top - 36 + 127) << 23 | (sig & 0x7fffff);
}

uint32_t mxv_unit_lg2(uint32_t x)
{
    uint32_t f = x & 0x7fffff, rest = x & 0x1ffff;
    if (is_nan(x))
        return NAN_WORD;
    if (field_of(x) == 0)
        return 0x80000000 | INF_WORD;
    if (x >> 31)
        return NAN_WORD;
    if (field_of(x) == 255)
        return INF_WORD;
    if (x == ONE_WORD)
        return 0;
    int64_t v = ((int64_t)field_of(x) - 127) * ((int64_t)1 << 36) +
                interpolate(&lg2_unit, &lg2_rows[f >> 17], rest, truncated_square(rest));
    uint32_t sign = v < 0 ? 0x80000000 : 0;
    v = v < 0 ? -v - 1 : v;
    return v == 0 ? sign : float_of_fixed(sign, (uint64_t)v);
}

uint32_t mxv_unit_rsq(uint32_t x)
{
    if (is_nan(x))
        return NAN_WORD;
    if (field_of(x) == 0)
        return (x & 0x80000000) | INF_WORD;
    if (x >> 31)
        return NAN_WORD;
    if (field_of(x) == 255)
        return 0;
    int exp = (int)field_of(x) - 127, odd = exp & 1, half = (exp - odd) / 2;
    uint32_t f = (x & 0x7fffff) | (uint32_t)odd << 23, rest = f & 0x1ffff;
    if (f == 0)
        return (uint32_t)(127 - half) << 23;
    int64_t sig = interpolate(&rsq_unit, &rsq_rows[f >> 17], rest, truncated_square(rest));
    return join(0, sig, 126 - half);
}
