// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify explain FORMAT CODE`: the bits of a code, its value, its neighbours.
#include "cli.h"
#include <math.h>
#include <mxverify/compare.h>
#include <mxverify/element.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_bits(const struct mxv_element_info *f, uint64_t code)
{
    printf("  bits      ");
    unsigned sign = f->shape == MXV_SHAPE_FLOAT ? f->sign : 0;
    unsigned exponent_end = sign + f->exp_bits;
    for (unsigned i = 0; i < f->bits; i++) {
        if (f->shape == MXV_SHAPE_FLOAT && i && (i == sign || i == exponent_end))
            putchar(' ');
        putchar(code >> (f->bits - 1 - i) & 1 ? '1' : '0');
    }
    printf("%s\n", f->shape == MXV_SHAPE_FLOAT ? "  (sign exponent fraction)" : "");
}

static void print_value(enum mxv_element format, uint64_t code)
{
    struct mxv_value v = mxv_element_decode(format, code);
    if (v.kind == MXV_NAN)
        printf("  value     NaN\n");
    else if (v.kind == MXV_INF)
        printf("  value     %cInf\n", v.sign ? '-' : '+');
    else
        printf("  value     %.17g = %s%llu * 2^%d = %a\n", mxv_code_value(format, code),
               v.sign ? "-" : "", (unsigned long long)v.sig, v.exp, mxv_code_value(format, code));
}

static void print_neighbour(const char *side, bool found, double x)
{
    if (found)
        printf(" %s %.17g", side, x);
    else
        printf(" %s none", side);
}

static void print_neighbours(enum mxv_element format, uint64_t code)
{
    unsigned bits = mxv_element_get(format)->bits;
    double x = mxv_code_value(format, code), below = 0, above = 0;
    bool has_below = false, has_above = false;
    if (bits > 16 || isnan(x))
        return; // of binary32 and binary64 the neighbours are the codes beside
    for (uint64_t c = 0; c < UINT64_C(1) << bits; c++) {
        double y = mxv_code_value(format, c);
        if (y < x && (!has_below || y > below)) {
            below = y;
            has_below = true;
        }
        if (y > x && (!has_above || y < above)) {
            above = y;
            has_above = true;
        }
    }
    printf("  next     ");
    print_neighbour("below", has_below, below);
    printf(",");
    print_neighbour("above", has_above, above);
    printf("\n");
}

int cli_explain(int argc, char **argv)
{
    enum mxv_element format;
    char *end;
    if (argc >= 1 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        printf("Usage: mxverify explain FORMAT CODE...   (codes in hexadecimal)\n");
        return 0;
    }
    if (argc < 2)
        return cli_usage("explain: expected FORMAT CODE, such as `explain e4m3 7e`");
    if (!mxv_element_find(argv[0], &format))
        return cli_usage("explain: no element format named `%s` (mxverify list formats)", argv[0]);
    const struct mxv_element_info *f = mxv_element_get(format);
    for (int i = 1; i < argc; i++) {
        uint64_t code = strtoull(argv[i], &end, 16);
        if (end == argv[i] || *end || argv[i][0] == '-' || (f->bits < 64 && code >> f->bits))
            return cli_usage("explain: `%s` is no hexadecimal code of %u bits", argv[i], f->bits);
        printf("%s %0*llX: %s\n", f->name, (int)(f->bits + 3) / 4, (unsigned long long)code,
               f->description);
        print_bits(f, code);
        print_value(format, code);
        print_neighbours(format, code);
    }
    return fflush(stdout) ? cli_usage("explain: writing failed") : 0;
}
