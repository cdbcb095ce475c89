/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of the kernels in truth_kernels.h. Included once by each file that makes a level, with LANES
 * (binary64 values of a vector) defined. u = 2^-53 below; docs/truth.md, "The certified path", adds
 * the errors up.
 *
 * Errors: dots and join are exact for slices (truth_panels.c). weigh rounds the difference of two
 * scores by 15 u^2 of their bound and its argument three times, and its weights are within 2.2 u of
 * relative error of 2^y, y the binary64 argument (see exp2_lanes). A block of add takes at most 16
 * roundings a term, the total one more.
 */
#include "truth_kernels.h"

#include <stdint.h>
#include <string.h>

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t words __attribute__((vector_size(8 * LANES)));
typedef uint64_t fields __attribute__((vector_size(8 * LANES)));

enum { VECTORS = MXV_PANEL / LANES };

static inline lanes load(const double *x)
{
    lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void store(double *x, lanes v)
{
    memcpy(x, &v, sizeof v);
}

static inline lanes spread(double x)
{
    return (lanes){0} + x;
}

/* a + b = the result + *error exactly (Knuth), barring overflow. */
static inline lanes two_sum(lanes a, lanes b, lanes *error)
{
    const lanes s = a + b, t = s - a;
    *error = (a - (s - t)) + (b - t);
    return s;
}

static void dots(const double *q, const double *k, size_t d, bool onto, double *sum)
{
    lanes acc[MXV_STRIP][VECTORS];
    for (int r = 0; r < MXV_STRIP; r++)
        for (int i = 0; i < VECTORS; i++)
            acc[r][i] = onto ? load(sum + r * MXV_PANEL + i * LANES) : spread(0);
    for (size_t e = 0; e < d; e++)
        for (int i = 0; i < VECTORS; i++) {
            const lanes column = load(k + e * MXV_PANEL + i * LANES);
            for (int r = 0; r < MXV_STRIP; r++)
                acc[r][i] += column * q[e * MXV_STRIP + r];
        }
    for (int r = 0; r < MXV_STRIP; r++)
        for (int i = 0; i < VECTORS; i++)
            store(sum + r * MXV_PANEL + i * LANES, acc[r][i]);
}

static void join(const double *hh, const double *cross, const double *ll, const double *f,
                 const double *unit, double *high, double *low)
{
    for (int i = 0; i < MXV_PANEL; i += LANES) {
        const lanes u = load(unit + i);
        const lanes a = load(hh + i) * (u * f[0]), b = load(cross + i) * (u * f[1]);
        const lanes c = load(ll + i) * (u * f[2]);
        lanes e, g, rest;
        const lanes s = two_sum(a, b, &e), t = two_sum(e, c, &g), h = two_sum(s, t, &rest);
        store(high + i, h);
        store(low + i, rest + g);
    }
}

/*
 * 2^y for MXV_EXP2_LEAST <= y, 0 below. With n = y 2^7 rounded to an integer and r = y - n 2^-7,
 * which is exact and at most 2^-8: 2^y = 2^(n div 128) T[n mod 128] (1 + q), q = 2^r - 1 < 0.00272
 * as a polynomial of degree 5 without constant term. Truncation is below 2^-60; q carries 4 u of
 * relative error, so 0.011 u of 2^y; the table entry, the product with q and the last addition
 * carry u, 0.003 u and u. Scaling by the exponent is exact, for the result is at least 2^-1000.
 */
static inline lanes exp2_lanes(lanes y)
{
    static const double c1 = 0x1.62e42fefa39efp-1, c2 = 0x1.ebfbdff82c58fp-3,
                        c3 = 0x1.c6b08d704a0c0p-5, c4 = 0x1.3b2ab6fba4e77p-7,
                        c5 = 0x1.5d87fe78a6731p-10, shift = 0x1.8p52;
    const words kept = y >= spread(MXV_EXP2_LEAST);
    const words least = (words)spread(MXV_EXP2_LEAST);
    y = (lanes)(((words)y & kept) | (least & ~kept));
    const lanes moved = y * (double)MXV_EXP2_STEPS + shift;
    const lanes r = y - (moved - shift) * (1.0 / MXV_EXP2_STEPS);
    const lanes q = r * (c1 + r * (c2 + r * (c3 + r * (c4 + r * c5))));
    const words n = (words)moved;
    lanes t;
    for (int i = 0; i < LANES; i++)
        t[i] = mxv_truth_exp2_table[n[i] & (MXV_EXP2_STEPS - 1)];
    t = t + t * q;
    const fields exponent = ((fields)n & ~(uint64_t)(MXV_EXP2_STEPS - 1)) << 45;
    return (lanes)(((fields)t + exponent) & (fields)kept);
}

static void weigh(double *high, const double *low, size_t n, double high_top, double low_top,
                  double factor)
{
    for (size_t j = 0; j < n; j += LANES) {
        lanes rest;
        const lanes h = two_sum(load(high + j), spread(-high_top), &rest);
        const lanes l = (load(low + j) - low_top) + rest;
        store(high + j, exp2_lanes((h + l) * factor));
    }
}

static void add(const double *w, size_t w_stride, const double *v, size_t stride, double *total,
                double *error)
{
    for (size_t c = 0; c < stride; c += MXV_PANEL) {
        lanes acc[MXV_STRIP][VECTORS] = {{{0}}};
        for (size_t j = 0; j < MXV_SUM_BLOCK; j++)
            for (int i = 0; i < VECTORS; i++) {
                const lanes x = load(v + j * stride + c + (size_t)i * LANES);
                for (int r = 0; r < MXV_STRIP; r++)
                    acc[r][i] += x * w[(size_t)r * w_stride + j];
            }
        for (int r = 0; r < MXV_STRIP; r++)
            for (int i = 0; i < VECTORS; i++) {
                const size_t at = (size_t)r * stride + c + (size_t)i * LANES;
                lanes e;
                store(total + at, two_sum(load(total + at), acc[r][i], &e));
                store(error + at, load(error + at) + e);
            }
    }
}
