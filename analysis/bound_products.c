// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The PV product of one row as exact arithmetic would do it with the weights P that the kernel has,
// and how far any order of cuts of the declared unit can stray from it (docs/bounds.md 4). Follows
// the instruction chain of docs/kernels/contract.md 5.8 and 5.9; per step the shared exponent X is
// bounded by the accumulator and the products. tests/unit/test_bound.c drives the matrix-unit
// models against it.
#include <math.h>
#include <mxverify/bound.h>
#include <stdlib.h>
#include <string.h>

// Per channel, in units of the accumulator.
struct chain {
    double *sum, *magnitude;                 // exact partial sum, sum of |products|
    double *own, *any, *rescale;             // errors so far
    double *peak, *inexact, *grid;           // of one step
    double least_p, least_v;                 // smallest normal operands
    double *bulk;                            // sum of |products| with the weights of the model
    double more, step, flat;                 // those are at most more * P + step, or flat
    const struct mxv_bound_members *members; // NULL: none
    double *gap, *member, *before; // their sum gap |v|, and errors so far; sum before the step
};

static double power_below(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7ff0000000000000);
    memcpy(&x, &bits, sizeof x);
    return x;
}

// How far another member's exact accumulator may be from ours.
static double drift(const struct chain *s, size_t c)
{
    return s->members ? (s->gap[c] + s->members->factor * s->magnitude[c]) * 1.1 : 0;
}

// O * alpha in another member, whose alpha may be near 1 where ours is 1.
static void rescale_member(struct chain *s, size_t d, double alpha)
{
    for (size_t c = 0; s->members && c < d; c++) {
        double apart = drift(s, c);
        s->gap[c] *= alpha;
        s->member[c] *= alpha * (1 + s->members->factor);
        double held = (fabs(s->sum[c]) + apart) * alpha * 1.01 + s->member[c];
        s->member[c] += held * 0x1.01p-24 + (held > 0 ? 0x1p-149 : 0);
    }
}

static void rescale_chain(struct chain *s, size_t d, double alpha)
{
    rescale_member(s, d, alpha);
    if (alpha == 1)
        return;
    for (size_t c = 0; c < d; c++) {
        s->sum[c] *= alpha;
        s->magnitude[c] *= alpha;
        s->bulk[c] *= alpha;
        s->own[c] *= alpha;
        s->any[c] = s->any[c] * alpha + s->bulk[c] * 0x1.01p-24 + 0x1p-149;
        double held = fabs(s->sum[c]) + s->own[c] + s->rescale[c] * alpha;
        s->rescale[c] = s->rescale[c] * alpha + held * 0x1.01p-24 + (held > 0 ? 0x1p-149 : 0);
    }
}

// Bound on 2^X of each channel, then how many products are cut at that grid. A subnormal operand
// enters X with the smallest normal exponent.
static void look_at_step(struct chain *s, const struct mxv_bound_unit *u, size_t d, size_t n,
                         const float *p, const double *v)
{
    memset(s->peak, 0, d * sizeof *s->peak);
    memset(s->inexact, 0, d * sizeof *s->inexact);
    for (size_t i = 0; i < n; i++) {
        double w = fabs((double)p[i]);
        if (w == 0)
            continue;
        w = fmax(w, s->least_p);
#pragma omp simd
        for (size_t c = 0; c < d; c++) {
            double y = fabs(v[i * d + c]), x = w * (y > s->least_v ? y : s->least_v);
            x = y > 0 ? x : 0;
            s->peak[c] = s->peak[c] > x ? s->peak[c] : x;
        }
    }
    for (size_t c = 0; c < d; c++) {
        double top = fabs(s->sum[c]) + s->own[c] + s->rescale[c];
        s->grid[c] =
            power_below(top > s->peak[c] ? top : s->peak[c]) * ldexp(1, -(int)u->frac_bits);
    }
    double below = ldexp(1, (int)u->product_bits + 2);
    for (size_t i = 0; i < n; i++) {
        double w = fabs((double)p[i]);
        if (w == 0)
            continue;
#pragma omp simd
        for (size_t c = 0; c < d; c++) {
            double x = w * fabs(v[i * d + c]);
            s->inexact[c] += x > 0 && x < below * s->grid[c] ? 1 : 0;
        }
    }
}

// Errors of another member in this step. Its products are ours, unless a weight may be another; the
// shared exponent moves where the accumulators straddle a power of two: then all products count.
static void add_member_step(struct chain *s, const struct mxv_bound_unit *u, size_t d, size_t n,
                            const double *gap, const double *v)
{
    double cut = ldexp(1, -(int)u->frac_bits), keep = ldexp(1, -(int)u->keep_bits);
    bool open = false;
    for (size_t i = 0; i < n; i++) {
        if (gap[i] == 0)
            continue;
        open = true;
        for (size_t c = 0; c < d; c++)
            s->gap[c] += gap[i] * fabs(v[i * d + c]);
    }
    for (size_t c = 0; c < d; c++) {
        double apart = drift(s, c), top = fabs(s->before[c]) + s->member[c] + apart;
        double peak = open ? s->peak[c] * 2 + apart : s->peak[c];
        double grid = power_below(top > peak ? top : peak) * cut;
        double cuts = open || grid != s->grid[c] ? (double)n : s->inexact[c];
        double own = grid * (cuts + 1);
        double kept = power_below(fabs(s->sum[c]) + s->member[c] + apart + own) * keep;
        s->member[c] += own + (kept > grid ? kept : 0) + 0x1p-149;
    }
}

static void add_bulk(struct chain *s, size_t d, size_t n, const float *p, const double *v)
{
    for (size_t i = 0; i < n; i++) {
        double w = s->flat > 0 ? s->flat : fabs((double)p[i]) * s->more + s->step;
#pragma omp simd
        for (size_t c = 0; c < d; c++)
            s->bulk[c] += w * fabs(v[i * d + c]);
    }
}

static void add_step(struct chain *s, const struct mxv_bound_unit *u, size_t d, size_t n,
                     const float *p, const double *gap, const double *v)
{
    double cut = ldexp(1, -(int)u->frac_bits), keep = ldexp(1, -(int)u->keep_bits);
    look_at_step(s, u, d, n, p, v);
    memcpy(s->before, s->sum, d * sizeof *s->before);
    for (size_t i = 0; i < n; i++) {
        double w = (double)p[i];
        if (w == 0)
            continue;
#pragma omp simd
        for (size_t c = 0; c < d; c++) {
            s->sum[c] += w * v[i * d + c];
            s->magnitude[c] += fabs(w * v[i * d + c]);
        }
    }
    add_bulk(s, d, n, p, v);
    for (size_t c = 0; c < d; c++) {
        double grid = s->grid[c], own = grid * (s->inexact[c] + 1);
        double result = fabs(s->sum[c]) + s->own[c] + s->rescale[c] + own;
        double kept = power_below(result) * keep;
        s->own[c] += own + (kept > grid ? kept : 0) + 0x1p-149;
        double any = fmax(s->bulk[c], s->more * s->peak[c]);
        s->any[c] += any * ((double)(u->step + 1) * cut + keep) + 0x1p-149;
    }
    if (gap)
        add_member_step(s, u, d, n, gap, v);
}

// Whether no accumulator can have overflowed.
static bool in_range(const struct chain *s, size_t c)
{
    return s->magnitude[c] + s->own[c] + s->rescale[c] < 0x1p127;
}

static void add_tile(struct chain *s, const struct mxv_bound_contract *c,
                     const struct mxv_bound_row *row, const struct mxv_bound_state *state,
                     size_t first)
{
    size_t n = row->keys - first < c->tile_n ? row->keys - first : c->tile_n;
    for (size_t i = 0; i < n; i += c->pv.step) {
        size_t m = n - i < c->pv.step ? n - i : c->pv.step;
        add_step(s, &c->pv, row->d, m, state->weights + first + i,
                 s->members ? s->members->gap + first + i : NULL,
                 state->values + (first + i) * row->d);
    }
    for (size_t i = 0; i < row->d; i++)
        if (!in_range(s, i))
            s->own[i] = INFINITY;
}

static void run_chain(struct chain *s, const struct mxv_bound_contract *c,
                      const struct mxv_bound_row *row, const struct mxv_bound_state *state)
{
    size_t tiles = (row->keys + c->tile_n - 1) / c->tile_n;
    float m = c->softmax.finite ? MXV_MASKED_SENTINEL : -INFINITY;
    for (size_t i = 0; i < tiles; i++) {
        size_t j = c->descending ? tiles - 1 - i : i;
        if (row->routes[j] == MXV_ROUTE_SKIP)
            continue;
        rescale_chain(s, row->d, (double)mxv_softmax_rescale(&c->softmax, m, state->maxima[j]));
        add_tile(s, c, row, state, j * c->tile_n);
        m = state->maxima[j];
    }
}

// Weights of an implementation of the same model against those at hand, and the factor by which its
// row sum may be smaller. Two weights that each lie within 5 % of the exact one and are rounded to
// 2^-4 at worst differ by less than a factor 1.26, beside one subnormal step; else nothing but the
// largest weight there can be is known.
static double set_model(struct chain *s, const struct mxv_bound_contract *c,
                        const struct mxv_bound_mass *mass, double sum)
{
    double moved = isfinite(mass->moved) ? mass->moved : 0; // else other terms are infinite
    double least_sum = exp2((double)c->softmax.offset - moved) * 0.99;
    s->more = 1.26;
    s->step = ldexp(1, c->p_emin - c->p_frac_bits);
    if (mass->largest <= 0.05)
        return 1.11;
    s->flat = exp2((double)c->softmax.offset + (double)c->softmax.tau + moved) * 1.05;
    return fmax(sum / least_sum, 1) * 1.01;
}

static const struct mxv_bound_product unbounded = {0,        INFINITY, INFINITY, INFINITY,
                                                   INFINITY, INFINITY, INFINITY, INFINITY};

static struct mxv_bound_product product_of(const struct chain *s, size_t i, double f, double other,
                                           double noise)
{
    if (!in_range(s, i))
        return unbounded;
    return (struct mxv_bound_product){
        .centre = s->sum[i] * f,
        .noise = s->magnitude[i] * f * noise,
        .size = s->magnitude[i] * f,
        .own = s->own[i] * f,
        .any = s->any[i] * f * other,
        .rescale = s->rescale[i] * f,
        .gap = s->gap[i] * f,
        .member = s->member[i] * f,
    };
}

bool mxv_bound_products(const struct mxv_bound_contract *c, const struct mxv_bound_row *row,
                        const struct mxv_bound_state *state, const struct mxv_bound_mass *mass,
                        const struct mxv_bound_members *members, struct mxv_bound_product *out)
{
    size_t d = row->d;
    double *m = calloc(12 * d + 1, sizeof *m), f = state->v_scale / (double)state->sum;
    bool usable = m && state->sum >= 0x1p-125F && state->sum <= 0x1p125F;
    for (size_t i = 0; i < d && !usable; i++)
        out[i] = unbounded;
    if (usable) {
        struct chain s = {.sum = m,
                          .magnitude = m + d,
                          .own = m + 2 * d,
                          .any = m + 3 * d,
                          .rescale = m + 4 * d,
                          .peak = m + 5 * d,
                          .inexact = m + 6 * d,
                          .grid = m + 7 * d,
                          .bulk = m + 8 * d,
                          .members = members,
                          .gap = m + 9 * d,
                          .member = m + 10 * d,
                          .before = m + 11 * d,
                          .least_p = c->pv.smallest_a,
                          .least_v = c->pv.smallest_b};
        double other = set_model(&s, c, mass, (double)state->sum);
        run_chain(&s, c, row, state);
        for (size_t i = 0; i < d; i++)
            out[i] = product_of(&s, i, f, other, (double)(row->keys + 16) * 0x1p-51);
    }
    free(m);
    return m != NULL;
}
