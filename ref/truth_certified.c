/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enclosures in binary64 with a proved radius: which rows may have them, and their balls.
 *
 * u = 2^-53, n keys, p_j the exact normalised weights, R = max v - min v and V = max |v| over the
 * keys of the row, x_j <= 0 the exact exponents relative to the largest score (natural logarithms).
 * The computed weights are w_j (1 + delta_j), |delta_j| <= 2.4 u + 3.1 u |x_j|; and sum p_j |x_j|
 * <= ln n, the entropy of p. Sums lose at most 17.1 u of sum w |v|, the quotient u. So
 *
 *     |O - centre| <= R (2.4 + 3.1 ln n) u + V 36 u,
 *     |sum w - D| <= D (20 + 3.2 ln n) u
 *
 * (docs/truth.md, "The certified path", derives each figure). A row whose radius would exceed the
 * request goes to MPFR, as does one that truth_panels or truth_strips cannot take, and one whose
 * scores are all equal, where the sums of MPFR are exact. The LSE is finished by MPFR: the exact
 * largest score plus an enclosure of the logarithm.
 *
 * Results do not depend on the number of threads, the order of rows or the instruction level. If
 * this file is wrong, unit.truth_certified fails.
 */
#include "truth_certified.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double unit_roundoff = 0x1p-53,
                    room = 1 + 0x1p-20; /* room: for the bounds' own sums */

/* Factors of R and V in the radius, and the relative error of the sum of weights. */
static double spread_error(size_t keys)
{
    return unit_roundoff * (2.4 + 3.1 * log((double)keys)) * room;
}

static double sum_error(void)
{
    return unit_roundoff * 36 * room;
}

static double total_error(size_t keys)
{
    return unit_roundoff * (20 + 3.2 * log((double)keys)) * room;
}

/* What one thread needs. */
struct certifier {
    const struct mxv_truth_panels *panels;
    const struct mxv_truth_options *options;
    struct mxv_truth_ball *out, *lse;
    unsigned char *left;
    struct mxv_truth_group group;
    struct mxv_truth_row row; /* of one key, for the LSE */
    struct mxv_truth_stats stats;
};

/* Index of the largest score of a row of the group; *equal: all scores are the same. */
static size_t find_top(const struct mxv_truth_group *g, size_t keys, size_t r, bool *equal)
{
    const double *high = g->high + r * keys, *low = g->low + r * keys;
    size_t top = g->first[r];
    *equal = true;
    for (size_t j = g->first[r] + 1; j < g->end[r]; j++) {
        if (high[j] < high[top])
            continue;
        if (high[j] > high[top] || low[j] > low[top])
            top = j;
    }
    for (size_t j = g->first[r]; *equal && j < g->end[r]; j++)
        *equal = high[j] == high[top] && low[j] == low[top];
    return top;
}

/* The exact score of the largest key to the row of one key, whose weight is the sum of weights. */
static void set_top(struct certifier *c, size_t r, size_t key, double total)
{
    enum { GRID = 60 };
    const struct mxv_truth_panels *t = c->panels;
    const struct mxv_truth_problem *p = t->p;
    const struct mxv_truth_group *g = &c->group;
    const unsigned route = p->route ? p->route(p->ctx, g->row[r], key) : 0;
    const double *q = p->q[route] + g->row[r] * p->d, *k = p->k[route] + key * p->d;
    const struct mxv_truth_line ql = mxv_truth_line_build(q, p->d, 1, g->sig);
    const struct mxv_truth_line kl = mxv_truth_line_build(k, p->d, 1, g->key_sig);
    mxv_truth_row_begin(&c->row);
    struct mxv_dyadic *score = mxv_truth_row_push(&c->row, key);
    (void)mxv_truth_dot(score, ql, g->sig, q, kl, g->key_sig, k, p->d);
    mxv_dyadic_mul(score, score, &t->scale);
    c->row.top = 0;
    c->row.grid_bits = GRID;
    c->row.precision = 128;
    mpz_set_d(c->row.total, ldexp(total, GRID));
    c->row.inexact = (size_t)ldexp(total * total_error(g->end[r] - g->first[r]), GRID) + 2;
}

static bool lse_ok(struct certifier *c, size_t r, size_t key, double total)
{
    if (!c->lse)
        return true;
    struct mxv_truth_ball *ball = &c->lse[c->group.place[r]];
    set_top(c, r, key, total);
    *ball = mxv_truth_lse_ball(&c->row, c->panels->p->lse_base);
    return mxv_truth_lse_ok(*ball, c->options->radius);
}

static void output_balls(struct certifier *c, size_t r, double total)
{
    struct mxv_truth_group *g = &c->group;
    const size_t dv = c->panels->p->dv, stride = c->panels->stride;
    const double spread = spread_error(g->end[r] - g->first[r]);
    struct mxv_truth_ball *out = c->out + g->place[r] * dv;
    mxv_truth_panels_range(c->panels, g->first[r], g->end[r], g->least, g->most);
    for (size_t i = 0; i < dv; i++) {
        const double low = g->least[i], high = g->most[i];
        const double sum = g->total[r * stride + i] + g->error[r * stride + i];
        const double largest = fmax(fabs(low), fabs(high));
        out[i] = (struct mxv_truth_ball){low + 0.0, 0};
        if (low == high)
            continue;
        out[i].centre = sum / total + 0.0;
        out[i].radius = (high - low) * spread + largest * sum_error();
        c->stats.radius_max = fmax(c->stats.radius_max, out[i].radius / largest);
    }
}

static void weigh(struct certifier *c, size_t r, size_t top, size_t first, size_t end)
{
    const struct mxv_truth_panels *t = c->panels;
    struct mxv_truth_group *g = &c->group;
    double *high = g->high + r * t->keys;
    const double *low = g->low + r * t->keys;
    t->kernels->weigh(high + first, low + first, end - first, high[top], low[top], t->factor);
}

/* Weights of all rows of the group; 0 in the lanes of a strip that have no row. */
static void weigh_rows(struct certifier *c, size_t strips, size_t *top, bool *equal)
{
    struct mxv_truth_group *g = &c->group;
    const size_t keys = c->panels->keys;
    size_t first, end;
    for (size_t r = 0; r < strips * MXV_STRIP; r++) {
        mxv_truth_group_span(g, r / MXV_STRIP, &first, &end);
        if (r < g->rows) {
            top[r] = find_top(g, keys, r, &equal[r]);
            weigh(c, r, top[r], first, end);
        } else {
            memset(g->high + r * keys + first, 0, (end - first) * sizeof *g->high);
        }
    }
}

/* Weighted sums of v; each block of v is read once for the group. */
static void sum_rows(struct certifier *c, size_t strips)
{
    const struct mxv_truth_panels *t = c->panels;
    const struct mxv_truth_group *g = &c->group;
    size_t first[MXV_STRIPS], end[MXV_STRIPS], least = SIZE_MAX, most = 0;
    for (size_t s = 0; s < strips; s++) {
        mxv_truth_group_span(g, s, &first[s], &end[s]);
        least = first[s] < least ? first[s] : least;
        most = end[s] > most ? end[s] : most;
    }
    for (size_t j = least; j < most; j += MXV_SUM_BLOCK)
        for (size_t s = 0; s < strips; s++)
            if (j >= first[s] && j < end[s])
                t->kernels->add(
                    g->high + s * MXV_STRIP * t->keys + j, t->keys, t->v + j * t->stride, t->stride,
                    g->total + s * MXV_STRIP * t->stride, g->error + s * MXV_STRIP * t->stride);
}

/* Weights, sums and balls of the rows of the group. */
static void finish_group(struct certifier *c)
{
    const struct mxv_truth_panels *t = c->panels;
    struct mxv_truth_group *g = &c->group;
    const size_t strips = (g->rows + MXV_STRIP - 1) / MXV_STRIP;
    size_t top[MXV_GROUP];
    bool equal[MXV_GROUP];
    weigh_rows(c, strips, top, equal);
    sum_rows(c, strips);
    for (size_t r = 0; r < g->rows; r++) {
        const size_t ones = r * t->stride + t->p->dv;
        const double total = g->total[ones] + g->error[ones];
        unsigned char *left = &c->left[g->place[r]];
        if (equal[r] && g->end[r] - g->first[r] > 1)
            *left = MXV_TRUTH_LEFT_EQUAL;
        else if (!lse_ok(c, r, top[r], total))
            *left = MXV_TRUTH_LEFT_RADIUS;
        else
            output_balls(c, r, total);
        c->stats.certified_rows += *left == MXV_TRUTH_LEFT_COUNT;
    }
}

static void empty_row(struct certifier *c, size_t place)
{
    const size_t dv = c->panels->p->dv;
    for (size_t i = 0; i < dv; i++)
        c->out[place * dv + i] = (struct mxv_truth_ball){0, 0};
    if (c->lse)
        c->lse[place] = (struct mxv_truth_ball){-INFINITY, 0};
    c->stats.empty_rows++;
}

/* Takes the row into the group, or settles it, or marks it as left. */
static enum mxv_truth_status admit(struct certifier *c, size_t row, size_t place)
{
    const struct mxv_truth_problem *p = c->panels->p;
    size_t first = 0, end = p->lk;
    if (row >= p->lq)
        return MXV_TRUTH_BAD_ARGUMENT;
    if (p->visible)
        p->visible(p->ctx, row, &first, &end);
    if (first > end || end > p->lk)
        return MXV_TRUTH_BAD_ARGUMENT;
    c->left[place] = MXV_TRUTH_LEFT_COUNT;
    if (first == end)
        empty_row(c, place);
    else if (2 * spread_error(end - first) + sum_error() > c->options->radius / room)
        c->left[place] = MXV_TRUTH_LEFT_RADIUS;
    else
        c->left[place] =
            (unsigned char)mxv_truth_group_take(&c->group, c->panels, row, place, first, end);
    return MXV_TRUTH_OK;
}

static enum mxv_truth_status certify_group(struct certifier *c, const size_t *rows, size_t place,
                                           size_t end)
{
    enum mxv_truth_status status = MXV_TRUTH_OK;
    mxv_truth_group_begin(&c->group, c->panels);
    for (; status == MXV_TRUTH_OK && place < end; place++)
        status = admit(c, rows ? rows[place] : place, place);
    if (status == MXV_TRUTH_OK)
        status = mxv_truth_group_scores(&c->group, c->panels);
    if (status == MXV_TRUTH_OK)
        finish_group(c);
    return status;
}

static enum mxv_truth_status certifier_init(struct certifier *c)
{
    if (!mxv_truth_group_init(&c->group, c->panels))
        return MXV_TRUTH_NO_MEMORY;
    if (mxv_truth_row_init(&c->row, 1, c->panels->p->base, 0))
        return MXV_TRUTH_OK;
    mxv_truth_group_clear(&c->group);
    return MXV_TRUTH_NO_MEMORY;
}

static void certifier_clear(struct certifier *c)
{
    mxv_truth_row_clear(&c->row);
    mxv_truth_group_clear(&c->group);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

static enum mxv_truth_status run_groups(const struct certifier *common, const size_t *rows,
                                        size_t n_rows, int threads, struct mxv_truth_stats *stats)
{
    enum mxv_truth_status status = MXV_TRUTH_OK;
    const size_t groups = (n_rows + MXV_GROUP - 1) / MXV_GROUP;
#pragma omp parallel num_threads(threads)
    {
        struct certifier c = *common;
        const enum mxv_truth_status ready = certifier_init(&c);
        mxv_truth_keep_status(&status, ready);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < groups; i++) {
            const size_t place = (groups - 1 - i) * MXV_GROUP; /* causal: the longest first */
            const size_t end = place + MXV_GROUP;
            if (ready == MXV_TRUTH_OK)
                mxv_truth_keep_status(&status,
                                      certify_group(&c, rows, place, end < n_rows ? end : n_rows));
        }
        if (ready == MXV_TRUTH_OK) {
#pragma omp critical(mxv_truth_stats)
            {
                stats->certified_rows += c.stats.certified_rows;
                stats->empty_rows += c.stats.empty_rows;
                stats->radius_max = fmax(stats->radius_max, c.stats.radius_max);
            }
            certifier_clear(&c);
        }
    }
    return status;
}

enum mxv_truth_status mxv_truth_certify(const struct mxv_truth_problem *p, const size_t *rows,
                                        size_t n_rows, const struct mxv_truth_options *options,
                                        struct mxv_truth_ball *out, struct mxv_truth_ball *lse,
                                        unsigned char *left, struct mxv_truth_stats *stats)
{
    const enum mxv_truth_left why = mxv_truth_panels_admit(p, options);
    const int threads = options->threads ? (int)options->threads : omp_get_max_threads();
    struct mxv_truth_panels panels;
    memset(left, (int)why, n_rows);
    if (why != MXV_TRUTH_LEFT_COUNT)
        return MXV_TRUTH_OK;
    if (!mxv_truth_panels_init(&panels, p, threads))
        return MXV_TRUTH_NO_MEMORY;
    const struct certifier common = {
        .panels = &panels, .options = options, .out = out, .lse = lse, .left = left};
    const enum mxv_truth_status status = run_groups(&common, rows, n_rows, threads, stats);
    mxv_truth_panels_clear(&panels);
    return status;
}
