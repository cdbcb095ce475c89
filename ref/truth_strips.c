/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores of a group of rows in the certified truth.
 *
 * Rows are taken in strips of MXV_STRIP, keys in panels of MXV_PANEL. With both lines cut into two
 * slices, q.k = 2^(eq + ek) (ll + 2^s (lh + hl) + 2^2s hh), where the three sums are exact integers
 * of binary64. They are joined into high + low, exactly. M = d 2^(tops of q and k) bounds |q.k|; a
 * row whose M times the scale may exceed 2^45 in log2 units is left to MPFR, for the difference of
 * two scores is rounded by 15 u^2 M (u = 2^-53). The sign of the scale goes into q.
 *
 * If this file is wrong, unit.truth_certified fails.
 */
#include "truth_certified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCORE_BITS_MOST = 45 };

bool mxv_truth_group_init(struct mxv_truth_group *g, const struct mxv_truth_panels *t)
{
    const struct mxv_truth_problem *p = t->p;
    const size_t q = p->routes * MXV_GROUP * p->d + 1;
    *g = (struct mxv_truth_group){
        .q_low = malloc(q * sizeof *g->q_low),
        .q_high = malloc(q * sizeof *g->q_high),
        .high = malloc((MXV_GROUP * t->keys + 1) * sizeof *g->high),
        .low = malloc((MXV_GROUP * t->keys + 1) * sizeof *g->low),
        .total = malloc(MXV_GROUP * t->stride * sizeof *g->total),
        .error = malloc(MXV_GROUP * t->stride * sizeof *g->error),
        .least = malloc((p->dv + 1) * sizeof *g->least),
        .most = malloc((p->dv + 1) * sizeof *g->most),
        .sig = malloc((p->d + 1) * sizeof *g->sig),
        .key_sig = malloc((p->d + 1) * sizeof *g->key_sig),
    };
    if (g->q_low && g->q_high && g->high && g->low && g->total && g->error && g->least && g->most &&
        g->sig && g->key_sig)
        return true;
    mxv_truth_group_clear(g);
    return false;
}

void mxv_truth_group_clear(struct mxv_truth_group *g)
{
    void *const all[] = {g->q_low, g->q_high, g->high, g->low, g->total,
                         g->error, g->least,  g->most, g->sig, g->key_sig};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

void mxv_truth_group_begin(struct mxv_truth_group *g, const struct mxv_truth_panels *t)
{
    const size_t q = t->p->routes * MXV_GROUP * t->p->d;
    g->rows = 0;
    memset(g->two, 0, sizeof g->two);
    memset(g->q_low, 0, q * sizeof *g->q_low);
    memset(g->q_high, 0, q * sizeof *g->q_high);
    memset(g->total, 0, MXV_GROUP * t->stride * sizeof *g->total);
    memset(g->error, 0, MXV_GROUP * t->stride * sizeof *g->error);
    for (size_t i = 0; i < MXV_GROUP; i++)
        g->first[i] = g->end[i] = 0;
}

static size_t q_place(const struct mxv_truth_panels *t, unsigned route, size_t strip)
{
    return (route * MXV_STRIPS + strip) * t->p->d * MXV_STRIP;
}

/* One row of q of one route to its lane; the lane is overwritten if the row is not taken. */
static enum mxv_truth_left take_line(struct mxv_truth_group *g, const struct mxv_truth_panels *t,
                                     unsigned route, size_t row)
{
    const struct mxv_truth_problem *p = t->p;
    const size_t lane = g->rows, strip = lane / MXV_STRIP;
    const size_t at = q_place(t, route, strip) + lane % MXV_STRIP;
    struct mxv_truth_slices s;
    enum mxv_truth_left left = mxv_truth_slice(p->q[route] + row * p->d, p->d, t->slice, g->sig,
                                               g->q_low + at, g->q_high + at, MXV_STRIP, &s);
    const int bits = s.top + t->top[route] + (int)mxv_ceil_log2(p->d) + ilogb(t->factor) + 1;
    if (left == MXV_TRUTH_LEFT_COUNT && bits > SCORE_BITS_MOST)
        left = MXV_TRUTH_LEFT_SCORES;
    g->two[route][strip] |= s.two;
    for (int i = 0; i < 3; i++) /* of high by high, the products across, low by low */
        g->unit[route][lane][i] = ldexp(p->scale < 0 ? -1 : 1, s.exp + (2 - i) * (int)t->slice);
    return left;
}

enum mxv_truth_left mxv_truth_group_take(struct mxv_truth_group *g,
                                         const struct mxv_truth_panels *t, size_t row, size_t place,
                                         size_t first, size_t end)
{
    if (t->specials[end] != t->specials[first])
        return MXV_TRUTH_LEFT_SPECIAL;
    if (t->spreads[end] != t->spreads[first])
        return MXV_TRUTH_LEFT_SPAN;
    for (unsigned r = 0; r < t->p->routes; r++) {
        const enum mxv_truth_left left = take_line(g, t, r, row);
        if (left != MXV_TRUTH_LEFT_COUNT)
            return left;
    }
    g->row[g->rows] = row;
    g->place[g->rows] = place;
    g->first[g->rows] = first;
    g->end[g->rows++] = end;
    return MXV_TRUTH_LEFT_COUNT;
}

void mxv_truth_group_span(const struct mxv_truth_group *g, size_t strip, size_t *first, size_t *end)
{
    *first = SIZE_MAX;
    *end = 0;
    for (size_t r = strip * MXV_STRIP; r < (strip + 1) * MXV_STRIP && r < g->rows; r++) {
        *first = g->first[r] < *first ? g->first[r] : *first;
        *end = g->end[r] > *end ? g->end[r] : *end;
    }
    *first = *first < *end ? *first / MXV_SUM_BLOCK * MXV_SUM_BLOCK : *end;
    *end = (*end + MXV_SUM_BLOCK - 1) / MXV_SUM_BLOCK * MXV_SUM_BLOCK;
}

/* Route of each pair of a strip and a panel, MXV_TRUTH_MAX_ROUTES if unseen; false: bad route. */
static bool find_routes(const struct mxv_truth_group *g, const struct mxv_truth_problem *p,
                        size_t strip, size_t panel, unsigned char *route, unsigned *used)
{
    *used = 0;
    for (size_t r = 0; r < MXV_STRIP; r++)
        for (size_t c = 0; c < MXV_PANEL; c++) {
            const size_t row = strip * MXV_STRIP + r, key = panel * MXV_PANEL + c;
            unsigned one = MXV_TRUTH_MAX_ROUTES;
            if (row < g->rows && key >= g->first[row] && key < g->end[row]) {
                one = p->route ? p->route(p->ctx, g->row[row], key) : 0;
                if (one >= p->routes)
                    return false;
            }
            route[r * MXV_PANEL + c] = (unsigned char)one;
            *used |= 1u << one;
        }
    return true;
}

enum { PAIRS = MXV_STRIP * MXV_PANEL };

/* The scores of one strip and panel by one route; rows are `stride` apart in high and low. */
static void score_pairs(const struct mxv_truth_group *g, const struct mxv_truth_panels *t,
                        unsigned route, size_t strip, size_t panel, double *high, double *low,
                        size_t stride)
{
    static const double none[PAIRS];
    const size_t d = t->p->d, q = q_place(t, route, strip);
    const size_t k = (route * t->count + panel) * d * MXV_PANEL;
    const bool q_two = g->two[route][strip], k_two = t->two[route * t->count + panel];
    double ll[PAIRS], cross[PAIRS], hh[PAIRS];
    t->kernels->dots(g->q_low + q, t->low + k, d, false, ll);
    if (q_two)
        t->kernels->dots(g->q_high + q, t->low + k, d, false, cross);
    if (k_two)
        t->kernels->dots(g->q_low + q, t->high + k, d, q_two, cross);
    if (q_two && k_two)
        t->kernels->dots(g->q_high + q, t->high + k, d, false, hh);
    for (size_t r = 0; r < MXV_STRIP; r++)
        t->kernels->join((q_two && k_two ? hh : none) + r * MXV_PANEL,
                         (q_two || k_two ? cross : none) + r * MXV_PANEL, ll + r * MXV_PANEL,
                         g->unit[route][strip * MXV_STRIP + r],
                         t->unit + route * t->keys + panel * MXV_PANEL, high + r * stride,
                         low + r * stride);
}

/* Pairs of several routes, or unseen: each from the scores of its own. */
static void score_mixed(const struct mxv_truth_group *g, const struct mxv_truth_panels *t,
                        const unsigned char *route, unsigned used, size_t strip, size_t panel,
                        double *high, double *low)
{
    double one_high[PAIRS], one_low[PAIRS];
    for (size_t r = 0; r < MXV_STRIP; r++)
        for (size_t c = 0; c < MXV_PANEL; c++) {
            high[r * t->keys + c] = MXV_UNSEEN;
            low[r * t->keys + c] = 0;
        }
    for (unsigned one = 0; one < t->p->routes; one++) {
        if (!(used >> one & 1))
            continue;
        score_pairs(g, t, one, strip, panel, one_high, one_low, MXV_PANEL);
        for (size_t i = 0; i < PAIRS; i++)
            if (route[i] == one) {
                high[i / MXV_PANEL * t->keys + i % MXV_PANEL] = one_high[i];
                low[i / MXV_PANEL * t->keys + i % MXV_PANEL] = one_low[i];
            }
    }
}

static bool score_panel(struct mxv_truth_group *g, const struct mxv_truth_panels *t, size_t strip,
                        size_t panel)
{
    unsigned char route[PAIRS];
    unsigned used;
    const size_t at = strip * MXV_STRIP * t->keys + panel * MXV_PANEL;
    if (!find_routes(g, t->p, strip, panel, route, &used))
        return false;
    if (used == 1u << route[0] && route[0] < MXV_TRUTH_MAX_ROUTES)
        score_pairs(g, t, route[0], strip, panel, g->high + at, g->low + at, t->keys);
    else
        score_mixed(g, t, route, used, strip, panel, g->high + at, g->low + at);
    return true;
}

enum mxv_truth_status mxv_truth_group_scores(struct mxv_truth_group *g,
                                             const struct mxv_truth_panels *t)
{
    size_t first[MXV_STRIPS], end[MXV_STRIPS], least = SIZE_MAX, most = 0;
    const size_t strips = (g->rows + MXV_STRIP - 1) / MXV_STRIP;
    for (size_t s = 0; s < strips; s++) {
        mxv_truth_group_span(g, s, &first[s], &end[s]);
        least = first[s] < least ? first[s] : least;
        most = end[s] > most ? end[s] : most;
    }
    for (size_t n = least / MXV_PANEL; n < most / MXV_PANEL; n++)
        for (size_t s = 0; s < strips; s++)
            if (n * MXV_PANEL >= first[s] && n * MXV_PANEL < end[s] && !score_panel(g, t, s, n))
                return MXV_TRUTH_BAD_ARGUMENT;
    return MXV_TRUTH_OK;
}
