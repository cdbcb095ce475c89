// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Two implementations of one model on one row (docs/bounds.md 4, "Members"): the emulation is one,
// its words are known, and the question is how far another can be from it. Its weights before
// rounding differ by at most twice what separates each from exact; unless that interval holds a
// rounding boundary, the rounded weights, which the matrix unit multiplies, are the same words.
// Left out: rows on which the lazy rule might keep another maximum. tests/gate/test_members.c
// drives other members (their own exponentials) against it.
#include "bound_internal.h"
#include <math.h>
#include <stdlib.h>

static const double ln_2 = MXV_BOUND_LN2, unit = MXV_BOUND_UNIT;

// P in the type of the PV product, nearest even.
static double rounded(const struct mxv_bound_contract *c, double x)
{
    if (x == 0)
        return 0;
    int e = ilogb(x);
    double step = ldexp(1, (e < c->p_emin ? c->p_emin : e) - c->p_frac_bits);
    double r = rint(x / step) * step;
    return r <= c->p_largest ? r : c->p_saturates ? c->p_largest : (double)INFINITY;
}

// Whether the lazy rule decides alike in every member: no rise is as large as tau but for the
// errors of the scores.
static bool rises_are_certain(const struct bound_rows_walk *w, const struct mxv_bound_state *s)
{
    const struct mxv_bound_contract *c = w->c;
    double log2_unit = c->softmax.log2_scores ? 1 : (double)c->softmax.c, tau = c->softmax.tau;
    float m = -INFINITY;
    for (size_t i = 0; tau > 0 && i < w->tiles; i++) {
        size_t j = bound_visited(c, w->tiles, i), first = j * c->tile_n, end = first + c->tile_n;
        if (w->row->routes[j] == MXV_ROUTE_SKIP)
            continue;
        float top = -INFINITY;
        end = end < w->row->keys ? end : w->row->keys;
        for (size_t n = first; n < end; n++)
            top = s->scores[n] > top ? s->scores[n] : top;
        double rise = ((double)top - (double)m) * log2_unit;
        double blur = 4 * w->worst_slack +
                      8 * unit * (fabs((double)top) + fabs((double)m)) * fabs(log2_unit) + 0x1p-20;
        if (m > -INFINITY && fabs(rise - tau) <= blur)
            return false;
        m = s->maxima[j];
    }
    return true;
}

// Our product of all later factors alpha, for each tile; tiles whose factor may be flushed to zero
// get 2^-118, which covers what they can be.
static void later_factors(const struct bound_rows_walk *w, const struct mxv_bound_state *s,
                          double *kept)
{
    double product = 1;
    for (size_t i = w->tiles; i-- > 0;) {
        size_t j = bound_visited(w->c, w->tiles, i), before = i;
        if (w->row->routes[j] == MXV_ROUTE_SKIP)
            continue;
        kept[j] = w->last - w->tile[j].shift > 120 ? fmax(product, 0x1p-118) : product;
        while (before > 0 &&
               w->row->routes[bound_visited(w->c, w->tiles, before - 1)] == MXV_ROUTE_SKIP)
            before--;
        float old = w->c->softmax.finite ? MXV_MASKED_SENTINEL : -INFINITY;
        if (before > 0)
            old = s->maxima[bound_visited(w->c, w->tiles, before - 1)];
        product *= (double)mxv_softmax_rescale(&w->c->softmax, old, s->maxima[j]);
    }
}

static double factor_error(const struct bound_rows_walk *w)
{
    double worst = 0;
    for (size_t j = 0; j < w->tiles; j++) {
        const struct bound_tile *t = &w->tile[j];
        if (w->row->routes[j] == MXV_ROUTE_SKIP || w->last - t->shift > 120 || t->changes == 0)
            continue;
        double moved = 2 * (t->later + t->common) + 4 * w->worst_slack;
        worst = fmax(worst, expm1(moved * ln_2) + 2 * t->changes * w->c->exp_relative * 1.02);
    }
    return worst;
}

// Sums over the visible keys, in units of our row sum.
struct sums {
    double all, score, exponent;
};

// False where the other's rounded weight has no bound.
static bool add_key(const struct bound_rows_walk *w, const struct mxv_bound_state *s, size_t n,
                    struct mxv_bound_members *m, struct sums *sums)
{
    const struct mxv_bound_contract *c = w->c;
    const struct bound_tile *t = &w->tile[n / c->tile_n];
    float shift = mxv_softmax_shift(&c->softmax, s->maxima[n / c->tile_n]);
    double p = (double)mxv_softmax_weight(&c->softmax, s->scores[n], shift);
    double score = 2 * (w->slack[n] + w->worst_slack);
    double rest = 2 * (bound_argument_error(w, n) + bound_shift_error(c, t->shift)) +
                  2 * c->exp_relative * 1.45 + 0x1p-40;
    double wide = exp2(score + rest), least = p / wide, most = fmax(p, 0x1p-126) * wide;
    double low = least < 0x1p-125 ? 0 : rounded(c, least), high = rounded(c, most);
    double own = (double)s->weights[n], kept = m->kept[n / c->tile_n];
    m->gap[n] = fmax(fmax(high - own, own - low), 0);
    if (w->last - t->shift > 120)
        m->gap[n] += high;
    double by_score = expm1(score * ln_2), share = p * kept;
    sums->all += share;
    sums->score += share * by_score;
    sums->exponent += share * (expm1((score + rest) * ln_2) - by_score) + 0x1p-125;
    return isfinite(high) && !isnan(p);
}

static bool fill(struct bound_rows_walk *w, const struct mxv_bound_state *s,
                 struct mxv_bound_members *m)
{
    struct sums sums = {0, 0, 0};
    later_factors(w, s, m->kept);
    for (size_t n = w->row->first; n < w->row->end; n++)
        if (w->scores[n] > -INFINITY && !add_key(w, s, n, m, &sums))
            return false;
    m->factor = factor_error(w);
    m->score = sums.score / sums.all * 1.01;
    m->exponent = sums.exponent / sums.all * 1.01;
    m->sum = 2.02 * bound_sum_error(w);
    return m->score + m->exponent + m->sum + m->factor < 0.25;
}

bool mxv_bound_members_of(const struct mxv_bound_contract *c, const struct mxv_bound_row *row,
                          const double *scores, const double *slack,
                          const struct mxv_bound_state *state, struct mxv_bound_members *out)
{
    struct bound_rows_walk w;
    bool open = bound_walk_open(&w, c, row, scores, slack), known = false;
    *out = (struct mxv_bound_members){.gap = calloc(row->keys + 1, sizeof *out->gap),
                                      .kept = calloc(w.tiles + 1, sizeof *out->kept)};
    if (open && out->gap && out->kept)
        known = rises_are_certain(&w, state) && fill(&w, state, out);
    bound_walk_close(&w);
    if (!known) {
        bool lacking = !open || !out->gap || !out->kept;
        mxv_bound_members_free(out);
        *out = (struct mxv_bound_members){.out_of_memory = lacking};
    }
    return known;
}

void mxv_bound_members_free(struct mxv_bound_members *m)
{
    free(m->gap);
    free(m->kept);
}

struct mxv_bound_terms mxv_bound_member_terms(const struct mxv_bound_members *m,
                                              const struct mxv_bound_product *p)
{
    struct mxv_bound_terms t = {{0}};
    double all = m->score + m->exponent + m->sum + m->factor;
    double size = fabs(p->centre) + p->noise, scale = 1 / (1 - 1.1 * all);
    t.term[MXV_BOUND_SCORE] = size * m->score * (1 + all) * scale;
    t.term[MXV_BOUND_EXP2] = size * m->exponent * (1 + all) * scale;
    t.term[MXV_BOUND_WEIGHT] = p->gap * (1 + m->factor) * scale;
    t.term[MXV_BOUND_RESCALE] = (p->size + size) * m->factor * (1 + all) * scale;
    t.term[MXV_BOUND_SUM] = size * m->sum * (1 + all) * scale;
    t.term[MXV_BOUND_PRODUCT] = p->member * scale;
    return t;
}
