/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of the certified truth, laid out for its inner loops.
 *
 * A line of k (or q) is an integer line times 2^exp (truth_dot). It is cut into two slices of s
 * bits, sig = low + 2^s high, |low|, |high| <= 2^s, with 2 s + 1 + ceil(log2 d) <= 53. Then a dot
 * of slices, and the sum of two, is an integer of at most 2^53: any order of binary64 additions
 * gives it exactly. Lines wider than 2 s bits, or with exponents beyond +-400, are marked `spread`;
 * lines with NaN or Inf `special`. Rows that see a marked key are left to MPFR.
 *
 * Exact: all of it. If this file is wrong, unit.truth_certified fails.
 */
#include "truth_certified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPONENT_MOST = 400, SLICE_LEAST = 16, SCALE_MOST = 200 };

static unsigned slice_bits(size_t d)
{
    return (52 - mxv_ceil_log2(d)) / 2;
}

enum mxv_truth_left mxv_truth_panels_admit(const struct mxv_truth_problem *p,
                                           const struct mxv_truth_options *options)
{
    const size_t keys_most = (size_t)1 << 20; /* docs/truth.md: term of the compensated sums */
    if (options->path == MXV_TRUTH_MPFR || options->grid_bits)
        return MXV_TRUTH_LEFT_ASKED;
    if (p->softcap != 0)
        return MXV_TRUTH_LEFT_SOFTCAP;
    if (p->lk > keys_most || slice_bits(p->d) < SLICE_LEAST)
        return MXV_TRUTH_LEFT_SIZE;
    if (p->scale == 0)
        return MXV_TRUTH_LEFT_EQUAL;
    if (fabs(p->scale) < ldexp(1, -SCALE_MOST) || fabs(p->scale) > ldexp(1, SCALE_MOST))
        return MXV_TRUTH_LEFT_SCORES;
    return MXV_TRUTH_LEFT_COUNT;
}

enum mxv_truth_left mxv_truth_slice(const double *x, size_t n, unsigned slice, int64_t *sig,
                                    double *low, double *high, size_t stride,
                                    struct mxv_truth_slices *out)
{
    const struct mxv_truth_line line = mxv_truth_line_build(x, n, 1, sig);
    const int bits = (int)slice;
    const int64_t unit = (int64_t)1 << slice;
    enum mxv_truth_left left = MXV_TRUTH_LEFT_COUNT;
    if (line.bits == MXV_LINE_SPECIAL)
        left = MXV_TRUTH_LEFT_SPECIAL;
    else if (line.bits < 0 || line.bits > 2 * bits || line.exp < -EXPONENT_MOST ||
             line.exp + line.bits > EXPONENT_MOST)
        left = MXV_TRUTH_LEFT_SPAN;
    *out = (struct mxv_truth_slices){0, 0, false};
    if (left == MXV_TRUTH_LEFT_COUNT)
        *out = (struct mxv_truth_slices){line.exp, line.exp + line.bits, line.bits > bits};
    for (size_t i = 0; i < n; i++) {
        const int64_t value = left == MXV_TRUTH_LEFT_COUNT ? sig[i] : 0;
        const int64_t least = out->two ? value & (unit - 1) : value;
        low[i * stride] = (double)least;
        high[i * stride] = (double)((value - least) / unit);
    }
    return left;
}

static void mark(struct mxv_truth_panels *t, size_t key, enum mxv_truth_left left)
{
    t->special[key] |= left == MXV_TRUTH_LEFT_SPECIAL;
    t->spread[key] |= left == MXV_TRUTH_LEFT_SPAN;
}

/* Panel n of all routes; sig[d] is scratch. top[routes] is raised. */
static void build_panel(struct mxv_truth_panels *t, size_t n, int64_t *sig, int *top)
{
    const struct mxv_truth_problem *p = t->p;
    for (unsigned r = 0; r < p->routes; r++)
        for (size_t c = 0; c < MXV_PANEL; c++) {
            const size_t key = n * MXV_PANEL + c, at = (r * t->count + n) * p->d * MXV_PANEL + c;
            struct mxv_truth_slices s;
            t->unit[r * t->keys + key] = 1;
            if (key >= p->lk)
                continue;
            mark(t, key,
                 mxv_truth_slice(p->k[r] + key * p->d, p->d, t->slice, sig, t->low + at,
                                 t->high + at, MXV_PANEL, &s));
            t->two[r * t->count + n] |= s.two;
            t->unit[r * t->keys + key] = ldexp(1, s.exp);
            top[r] = s.top > top[r] ? s.top : top[r];
        }
}

/* v may be summed: 0, or not so small or large that products with weights are lost. */
static enum mxv_truth_left value_allowed(double v)
{
    if (!isfinite(v))
        return MXV_TRUTH_LEFT_SPECIAL;
    const double size = fabs(v);
    return size == 0 || (size >= 0x1p-400 && size <= 0x1p400) /* EXPONENT_MOST */
               ? MXV_TRUTH_LEFT_COUNT
               : MXV_TRUTH_LEFT_SPAN;
}

/* Block n of MXV_SUM_BLOCK keys of v. */
static void build_block(struct mxv_truth_panels *t, size_t n)
{
    const size_t dv = t->p->dv;
    double *least = t->least + n * dv, *most = t->most + n * dv;
    for (size_t c = 0; c < dv; c++) {
        least[c] = INFINITY;
        most[c] = -INFINITY;
    }
    for (size_t j = n * MXV_SUM_BLOCK; j < (n + 1) * MXV_SUM_BLOCK && j < t->p->lk; j++) {
        double *to = t->v + j * t->stride;
        for (size_t c = 0; t->p->v && c < dv; c++) { /* scores alone need no v */
            const double v = t->p->v[j * dv + c];
            const enum mxv_truth_left left = value_allowed(v);
            to[c] = left == MXV_TRUTH_LEFT_COUNT ? v : 0;
            mark(t, j, left);
            least[c] = to[c] < least[c] ? to[c] : least[c];
            most[c] = to[c] > most[c] ? to[c] : most[c];
        }
        to[dv] = 1;
    }
}

static bool build(struct mxv_truth_panels *t, int threads)
{
    const struct mxv_truth_problem *p = t->p;
    bool ok = true;
#pragma omp parallel num_threads(threads)
    {
        int64_t *sig = malloc((p->d + 1) * sizeof *sig);
        int top[MXV_TRUTH_MAX_ROUTES];
        for (unsigned r = 0; r < MXV_TRUTH_MAX_ROUTES; r++)
            top[r] = -EXPONENT_MOST;
#pragma omp for schedule(static)
        for (size_t n = 0; n < t->keys / MXV_SUM_BLOCK; n++) {
            build_block(t, n);
            for (size_t i = 0; sig && i < MXV_SUM_BLOCK / MXV_PANEL; i++)
                build_panel(t, n * (MXV_SUM_BLOCK / MXV_PANEL) + i, sig, top);
        }
#pragma omp critical(mxv_truth_panels)
        {
            ok = ok && sig;
            for (unsigned r = 0; r < p->routes; r++)
                t->top[r] = top[r] > t->top[r] ? top[r] : t->top[r];
        }
        free(sig);
    }
    for (size_t j = 0; j < t->keys; j++) {
        t->specials[j + 1] = t->specials[j] + t->special[j];
        t->spreads[j + 1] = t->spreads[j] + t->spread[j];
    }
    return ok;
}

/* |scale| times log2 e for base e, correct to 1.001 * 2^-53; log2 e as a sum of two words. */
static double log2_factor(const struct mxv_truth_problem *p)
{
    static const double high = 0x1.71547652b82fep0, low = 0x1.777d0ffda0d24p-56;
    const double scale = fabs(p->scale), product = scale * high;
    if (p->base == MXV_TRUTH_BINARY)
        return scale;
    return product + (fma(scale, high, -product) + scale * low);
}

/* n zeros at the start of a cache line; NULL: out of memory. */
static double *zeros(size_t n)
{
    enum { LINE = 64 };
    const size_t bytes = (n * sizeof(double) + LINE) / LINE * LINE;
    double *x = n < SIZE_MAX / (2 * sizeof(double)) ? aligned_alloc(LINE, bytes) : NULL;
    if (x)
        memset(x, 0, bytes);
    return x;
}

bool mxv_truth_panels_init(struct mxv_truth_panels *t, const struct mxv_truth_problem *p,
                           int threads)
{
    const size_t keys = (p->lk + MXV_SUM_BLOCK - 1) / MXV_SUM_BLOCK * MXV_SUM_BLOCK;
    const size_t lines = p->routes * keys, blocks = keys / MXV_SUM_BLOCK;
    *t = (struct mxv_truth_panels){.p = p, .keys = keys, .count = keys / MXV_PANEL};
    t->kernels = mxv_truth_kernels();
    t->stride = (p->dv + MXV_PANEL) / MXV_PANEL * MXV_PANEL;
    t->slice = slice_bits(p->d);
    t->factor = log2_factor(p);
    for (unsigned r = 0; r < MXV_TRUTH_MAX_ROUTES; r++)
        t->top[r] = -EXPONENT_MOST;
    mxv_dyadic_init(&t->scale);
    mxv_dyadic_set_double(&t->scale, p->scale);
    t->low = zeros(lines * p->d);
    t->high = zeros(lines * p->d);
    t->two = calloc(p->routes * t->count + 1, 1);
    t->unit = zeros(lines);
    t->v = zeros(keys * t->stride);
    t->least = zeros(blocks * p->dv);
    t->most = zeros(blocks * p->dv);
    t->special = calloc(keys + 1, 1);
    t->spread = calloc(keys + 1, 1);
    t->specials = calloc(keys + 1, sizeof *t->specials);
    t->spreads = calloc(keys + 1, sizeof *t->spreads);
    if (t->low && t->high && t->two && t->unit && t->v && t->least && t->most && t->special &&
        t->spread && t->specials && t->spreads && build(t, threads))
        return true;
    mxv_truth_panels_clear(t);
    return false;
}

void mxv_truth_panels_clear(struct mxv_truth_panels *t)
{
    void *const all[] = {t->low,  t->high,    t->two,    t->unit,     t->v,      t->least,
                         t->most, t->special, t->spread, t->specials, t->spreads};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    mxv_dyadic_clear(&t->scale);
}

static void widen(const double *low, const double *high, size_t n, double *least, double *most)
{
    for (size_t c = 0; c < n; c++) {
        least[c] = low[c] < least[c] ? low[c] : least[c];
        most[c] = high[c] > most[c] ? high[c] : most[c];
    }
}

void mxv_truth_panels_range(const struct mxv_truth_panels *t, size_t first, size_t end,
                            double *least, double *most)
{
    const size_t dv = t->p->dv;
    memcpy(least, t->v + first * t->stride, dv * sizeof *least);
    memcpy(most, t->v + first * t->stride, dv * sizeof *most);
    for (size_t j = first; j < end;) {
        if (j % MXV_SUM_BLOCK == 0 && j + MXV_SUM_BLOCK <= end) {
            const size_t at = j / MXV_SUM_BLOCK * dv;
            widen(t->least + at, t->most + at, dv, least, most);
            j += MXV_SUM_BLOCK;
        } else {
            widen(t->v + j * t->stride, t->v + j * t->stride, dv, least, most);
            j++;
        }
    }
}
