// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bound terms between scores and the PV product: score error, exponential, rounding of P, factors
// alpha, row sum (docs/bounds.md 3). With weights p of the scores given, and relative errors e of
// each weight, r of its rounded copy and s of the row sum,
//
//     O' - O = [sum p e (v - O) + sum p (1 + e) r v - O s sum p (1 + e)] / [(1 + s) sum p (1 + e)]
//
// exactly; the terms are the three sums with absolute values. Where the errors of the weights reach
// one half, a convex combination of the values is all that is known, and the range of v stands in.
// Not handled: rows that see -5e6 sentinels at a weight that matters (the caller leaves them out).
#include "bound_internal.h"
#include <math.h>
#include <stdlib.h>

static const double ln_2 = MXV_BOUND_LN2, unit = MXV_BOUND_UNIT;

void mxv_bound_softmax(const struct mxv_bound_row *row, const double *scores, double *weights,
                       double *out)
{
    double top = -INFINITY, sum = 0;
    for (size_t n = 0; n < row->keys; n++)
        weights[n] = 0;
    for (size_t n = row->first; n < row->end; n++)
        top = fmax(top, scores[n]);
    for (size_t n = row->first; n < row->end; n++)
        sum += weights[n] = top == -INFINITY ? 0 : exp2(scores[n] - top);
    for (size_t c = 0; c < row->d; c++)
        out[c] = 0;
    for (size_t n = row->first; sum > 0 && n < row->end; n++) {
        const double p = weights[n] / sum, *v = row->v + n * row->d;
        weights[n] = p;
        if (p == 0)
            continue;
#pragma omp simd
        for (size_t c = 0; c < row->d; c++)
            out[c] += p * v[c];
    }
}

size_t bound_visited(const struct mxv_bound_contract *c, size_t tiles, size_t i)
{
    return c->descending ? tiles - 1 - i : i;
}

static size_t visited(const struct bound_rows_walk *w, size_t i)
{
    return bound_visited(w->c, w->tiles, i);
}

static double tile_top(const struct bound_rows_walk *w, size_t j)
{
    size_t first = j * w->c->tile_n, end = first + w->c->tile_n;
    double top = -INFINITY;
    first = first < w->row->first ? w->row->first : first;
    end = end > w->row->end ? w->row->end : end;
    for (size_t n = first; n < end; n++)
        top = fmax(top, w->scores[n]);
    return top;
}

double bound_shift_error(const struct mxv_bound_contract *c, double m)
{
    double rounded = c->softmax.offset != 0 ? unit * (fabs(m) + fabs(c->softmax.offset)) : 0;
    return c->softmax.log2_scores ? rounded : unit * fabs(m) + rounded;
}

// Forward: the maximum of each tile, and whether it may rise there: errors of the scores and the
// lazy rule (the kept maximum lags by up to tau) can make a rise of what is none in exact scores.
// Backward: what later rises add.
static void walk_tiles(struct bound_rows_walk *w)
{
    double m = -INFINITY, blur = w->c->softmax.tau + 2 * w->worst_slack;
    for (size_t i = 0; i < w->tiles; i++) {
        struct bound_tile *t = &w->tile[visited(w, i)];
        if (w->row->routes[visited(w, i)] == MXV_ROUTE_SKIP)
            continue;
        double top = tile_top(w, visited(w, i));
        t->rise = m > -INFINITY && top > m - blur ? fmax(top - m, 0) + blur : 0;
        m = fmax(m, top);
        t->shift = m;
    }
    double later = 0, changes = 0, factors = w->c->softmax.log2_scores ? 1 : 2;
    w->last = m;
    for (size_t i = w->tiles; i-- > 0;) {
        struct bound_tile *t = &w->tile[visited(w, i)];
        if (w->row->routes[visited(w, i)] == MXV_ROUTE_SKIP)
            continue;
        t->later = later;
        t->changes = changes;
        if (changes > 0 && t->shift > -INFINITY)
            t->common =
                bound_shift_error(w->c, t->shift) + bound_shift_error(w->c, m) + 4 * unit * blur;
        later += factors * unit * t->rise;
        changes += t->rise > 0;
    }
}

static void find_top(struct bound_rows_walk *w)
{
    double second = -INFINITY;
    w->top = -INFINITY;
    for (size_t n = w->row->first; n < w->row->end; n++) {
        double s = w->scores[n];
        if (s > w->top) {
            second = w->top;
            w->top = s;
            w->best = n;
        } else if (s > second) {
            second = s;
        }
        if (w->slack)
            w->worst_slack = fmax(w->worst_slack, w->slack[n]);
    }
    w->gap = w->top - second;
}

// Relative error of P by rounding it to the type of the PV product. The shift M is itself rounded,
// which is common to P and to the row sum, but moves P against its grid. With option fold the
// argument of P is not quite the score of which M is made.
static double rounding_of_p(const struct bound_rows_walk *w, size_t n, double exponent,
                            double relative)
{
    const struct mxv_bound_contract *c = w->c;
    double p = exponent + c->softmax.offset, whole = c->softmax.offset;
    double lag = c->softmax.tau; // the maximum kept may lie so far below
    bool folds = w->row->routes[n / c->tile_n] == MXV_ROUTE_INT8;
    double apart = folds ? c->folded * (fabs(w->scores[n]) + w->worst_slack) : 0;
    double moved = expm1((bound_shift_error(c, w->tile[n / c->tile_n].shift) + apart) * ln_2);
    double off = (1 + relative) * (1 + moved) - 1;
    double largest = exp2(p + lag) * (1 + off);
    if (largest > c->p_largest)
        return c->p_saturates ? 1 - c->p_largest / largest + ldexp(1, -c->p_frac_bits) : INFINITY;
    double e = lag > 0 ? p : floor(p + off / ln_2 + 0x1p-40);
    double half = exp2(fmax(e, c->p_emin) - c->p_frac_bits - 1);
    double flush = exp2(-126 - p); // ex2.approx.ftz
    double bound = fmin(1 + relative, (half * exp2(-p) + flush) * (1 + off));
    bool alone = w->gap > 2 * w->worst_slack;
    if (n != w->best || exponent != 0 || !alone || lag != 0 || whole != rint(whole) ||
        whole < c->p_emin)
        return bound;
    // the largest weight is 2^off_P but for the rounding of M, and rounds back to it
    return fmin(bound, moved > 0 ? moved * 1.01 + c->exp_relative : 0);
}

double bound_argument_error(const struct bound_rows_walk *w, size_t n)
{
    const struct mxv_bound_contract *c = w->c;
    double x = w->scores[n] - w->tile[n / c->tile_n].shift;
    double argument = unit * (fabs(x) + fabs(c->softmax.offset));
    if (!c->softmax.log2_scores)
        argument += unit * fabs(w->scores[n] - w->top);
    // the maximum kept may lag behind, and moves with the scores
    return argument + unit * (c->softmax.tau + 2 * w->worst_slack);
}

double bound_sum_error(const struct bound_rows_walk *w)
{
    double tiles = 0;
    for (size_t j = 0; j < w->tiles; j++)
        tiles += w->row->routes[j] != MXV_ROUTE_SKIP;
    return (tiles * (double)w->c->tile_n / w->c->sum_lanes + tiles + 3) * unit;
}

// Whether the factor on the key's tile may be flushed to zero.
static bool flushed_factor(const struct bound_rows_walk *w, size_t n)
{
    return w->last - w->tile[n / w->c->tile_n].shift > 120;
}

struct key_error {
    double score, exponential, rescale, rounding; // relative to the weight
};

// relative: errors relative to that of the key with the largest score, which all keys share.
static struct key_error error_of_key(const struct bound_rows_walk *w, size_t n, bool relative)
{
    const struct mxv_bound_contract *c = w->c;
    const struct bound_tile *t = &w->tile[n / c->tile_n];
    double x = w->scores[n] - t->shift, slack = w->slack ? w->slack[n] : 0;
    struct key_error e = {0};
    double argument = bound_argument_error(w, n);
    if (relative)
        slack = n == w->best ? 0 : slack + w->slack[w->best];
    e.score = expm1(slack * ln_2);
    e.exponential = expm1((argument + t->common) * ln_2) + c->exp_relative;
    e.rescale = expm1(t->later * ln_2) + t->changes * c->exp_relative * 1.01;
    if (flushed_factor(w, n))
        e.rescale += 1;
    double all = (1 + e.score) * (1 + e.exponential) * (1 + e.rescale) - 1;
    e.exponential += all - e.score - e.exponential - e.rescale; // products of errors
    e.rounding = rounding_of_p(w, n, x, all);
    return e;
}

// A weight below the smallest binary64 counts as that; equal values do not move, whatever weights
// do.
static void add_key(const struct mxv_bound_row *row, size_t n, double weight,
                    const struct key_error *e, const double *centre, struct mxv_bound_terms *terms)
{
    const double *v = row->v + n * row->d, p = fmax(weight, 0x1p-1022);
    double common = 1 + e->score + e->exponential + e->rescale;
    double score = p * e->score, exponential = p * e->exponential, rescale = p * e->rescale;
    double rounding = e->rounding > 0 ? p * e->rounding * common : 0;
    for (size_t c = 0; c < row->d; c++) {
        double far = fabs(v[c] - centre[c]), size = fabs(v[c]);
        double *t = terms[c].term;
        if (far > 0) {
            t[MXV_BOUND_SCORE] += score * far;
            t[MXV_BOUND_EXP2] += exponential * far;
            t[MXV_BOUND_RESCALE] += rescale * far;
        }
        if (size > 0)
            t[MXV_BOUND_WEIGHT] += rounding * size;
    }
}

// Weights are anybody's guess: O' is a convex combination of the values, but for P and l.
static void range_terms(const struct mxv_bound_row *row, const double *centre, double relative,
                        double absolute, double sum, struct mxv_bound_terms *terms)
{
    for (size_t c = 0; c < row->d; c++) {
        double far = 0, size = 0;
        for (size_t n = row->first; n < row->end; n++) {
            far = fmax(far, fabs(row->v[n * row->d + c] - centre[c]));
            size = fmax(size, fabs(row->v[n * row->d + c]));
        }
        terms[c].term[MXV_BOUND_SCORE] = far;
        terms[c].term[MXV_BOUND_EXP2] = terms[c].term[MXV_BOUND_RESCALE] = 0;
        terms[c].term[MXV_BOUND_WEIGHT] =
            size > 0 ? size * (relative + (double)(row->end - row->first) * absolute) : 0;
        terms[c].term[MXV_BOUND_SUM] = sum * size;
    }
}

// How far roundings after the score may move a weight, log2 units.
static double moved_by_roundings(const struct bound_rows_walk *w, size_t n)
{
    const struct bound_tile *t = &w->tile[n / w->c->tile_n];
    return bound_argument_error(w, n) + t->common + t->later +
           (1 + t->changes) * w->c->exp_relative * 1.45;
}

static void add_mass(const struct bound_rows_walk *w, size_t n, double weight,
                     const struct key_error *e, struct mxv_bound_mass *mass)
{
    double slack = w->slack ? w->slack[n] : 0;
    bool matters = w->scores[n] + slack + 2 * w->worst_slack > w->top - 120;
    weight = fmax(weight, 0x1p-1022);
    mass->score += weight * e->score;
    mass->exponential += weight * e->exponential;
    mass->rescale += weight * e->rescale;
    mass->largest = fmax(mass->largest, e->score + e->exponential + e->rescale);
    if (matters && !flushed_factor(w, n))
        mass->kept = fmax(mass->kept, moved_by_roundings(w, n));
}

// By how much roundings of M, and with option fold of the scales, may move all weights of a row
// together, log2 units. It cancels in O / l as long as neither P nor l leaves its range.
static double moved_together(const struct bound_rows_walk *w)
{
    double moved = 0;
    for (size_t j = 0; j < w->tiles; j++) {
        double m = fabs(w->tile[j].shift) + w->worst_slack;
        double apart = w->row->routes[j] == MXV_ROUTE_INT8 ? w->c->folded * m : 0;
        if (w->row->routes[j] != MXV_ROUTE_SKIP && m < (double)INFINITY)
            moved = fmax(moved, bound_shift_error(w->c, m) + apart);
    }
    return moved;
}

// How far the maximum kept may lie below the row's: by tau, and not below that of the first tile.
static double largest_lag(const struct bound_rows_walk *w)
{
    double first = -INFINITY;
    for (size_t i = 0; i < w->tiles && first == -INFINITY; i++)
        if (w->row->routes[visited(w, i)] != MXV_ROUTE_SKIP)
            first = w->tile[visited(w, i)].shift;
    return fmin(w->c->softmax.tau, w->last - first + 2 * w->worst_slack);
}

// Whether P of a row's largest scores and their sum stay where rcp.approx.ftz keeps its precision.
static bool sum_in_range(const struct bound_rows_walk *w, double moved)
{
    double off = w->c->softmax.offset, keys = (double)w->row->keys;
    return exp2(off + largest_lag(w) + moved) * keys < 0x1p125 && exp2(off - moved) > 0x1p-125;
}

// Sums over the keys, before they are divided by what the errors leave of the row sum. Returns
// sum p |e|.
static double add_keys(const struct bound_rows_walk *w, const double *weights, const double *centre,
                       bool relative, struct mxv_bound_terms *terms, struct mxv_bound_mass *mass)
{
    const struct mxv_bound_row *row = w->row;
    double moved = moved_together(w);
    *mass = (struct mxv_bound_mass){.sum = bound_sum_error(w),
                                    .top = w->top,
                                    .slack = w->worst_slack,
                                    .moved = sum_in_range(w, moved) ? moved : (double)INFINITY};
    for (size_t i = 0; i < row->d; i++)
        for (unsigned t = MXV_BOUND_SCORE; t <= MXV_BOUND_SUM; t++)
            terms[i].term[t] = 0;
    for (size_t n = row->first; n < row->end; n++) {
        if (weights[n] == 0 && !(w->slack && w->slack[n] > 0))
            continue;
        struct key_error e = error_of_key(w, n, relative);
        add_mass(w, n, weights[n], &e, mass);
        add_key(row, n, weights[n], &e, centre, terms);
    }
    return mass->score + mass->exponential + mass->rescale;
}

// Terms of a row whose weights have errors of one half or more, or may leave their range: there
// `step` is infinite, and with it the bound of every channel that is not all zeros.
static void unknown_weights(const struct bound_rows_walk *w, const double *centre,
                            const struct mxv_bound_mass *mass, struct mxv_bound_terms *terms)
{
    const struct mxv_bound_contract *c = w->c;
    double moved = mass->moved, off = c->softmax.offset;
    double peak = exp2(off + c->softmax.tau + moved), half = ldexp(1, -c->p_frac_bits);
    double cut = peak * 1.01 <= c->p_largest ? half : c->p_saturates ? 1 : (double)INFINITY;
    double step = exp2(moved - off) * fmax(ldexp(1, c->p_emin - c->p_frac_bits), 0x1p-126);
    range_terms(w->row, centre, cut, step, mass->sum * 2, terms);
}

static void row_terms(const struct bound_rows_walk *w, const double *weights, const double *centre,
                      struct mxv_bound_terms *terms, struct mxv_bound_mass *mass)
{
    const struct mxv_bound_row *row = w->row;
    struct mxv_bound_mass again;
    double all = add_keys(w, weights, centre, false, terms, mass), sum = mass->sum;
    if (!(all < 0.5) && w->slack && w->best < row->keys)
        all = add_keys(w, weights, centre, true, terms, &again);
    if (!(all < 0.5) || isinf(mass->moved)) {
        unknown_weights(w, centre, mass, terms);
        return;
    }
    double scale = 1 / ((1 - all) * (1 - sum));
    for (size_t i = 0; i < row->d; i++) {
        for (unsigned t = MXV_BOUND_SCORE; t <= MXV_BOUND_RESCALE; t++)
            terms[i].term[t] *= scale;
        terms[i].term[MXV_BOUND_SUM] = fabs(centre[i]) * sum * (1 + all) * scale;
    }
}

bool bound_walk_open(struct bound_rows_walk *w, const struct mxv_bound_contract *c,
                     const struct mxv_bound_row *row, const double *scores, const double *slack)
{
    size_t tiles = (row->keys + c->tile_n - 1) / c->tile_n;
    *w = (struct bound_rows_walk){.c = c,
                                  .row = row,
                                  .scores = scores,
                                  .slack = slack,
                                  .tiles = tiles,
                                  .tile = calloc(tiles + 1, sizeof *w->tile),
                                  .best = row->keys};
    if (!w->tile)
        return false;
    find_top(w);
    walk_tiles(w);
    return true;
}

void bound_walk_close(struct bound_rows_walk *w)
{
    free(w->tile);
}

struct mxv_bound_mass mxv_bound_weights(const struct mxv_bound_contract *c,
                                        const struct mxv_bound_row *row, const double *scores,
                                        const double *slack, const double *weights,
                                        const double *centre, struct mxv_bound_terms *terms)
{
    struct bound_rows_walk w;
    struct mxv_bound_mass mass = {
        .score = INFINITY, .largest = INFINITY, .slack = INFINITY, .moved = INFINITY};
    bool open = bound_walk_open(&w, c, row, scores, slack);
    mass.out_of_memory = !open;
    for (size_t i = 0; i < row->d && !open; i++)
        for (unsigned t = MXV_BOUND_SCORE; t <= MXV_BOUND_SUM; t++)
            terms[i].term[t] = INFINITY;
    if (open)
        row_terms(&w, weights, centre, terms, &mass);
    bound_walk_close(&w);
    return mass;
}
