/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balls of the scores of whole rows, for score maps and for bounds.
 *
 * Rows that the certified path can take have their dots as an exact sum high + low of binary64
 * values (truth_strips). Times |scale| that is an exact sum of four values, whose rounding to one
 * and what is left over are found by error-free sums; so a score that is a binary64 value has
 * radius 0. Other rows go through the exact dyadic scores and MPFR.
 *
 * If this file is wrong, unit.truth and unit.truth_scores fail.
 */
#include "truth_certified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct mxv_truth_ball score_ball(const struct mxv_dyadic *score, double softcap)
{
    struct mxv_truth_ball ball;
    mpfr_t lo, hi;
    const size_t exact = mpz_sizeinbase(score->sig, 2) + 1;
    mpfr_inits2(softcap == 0 && exact > 128 ? (mpfr_prec_t)exact : 128, lo, hi, (mpfr_ptr)0);
    mxv_truth_cap(score, softcap, lo, hi);
    ball = mxv_truth_ball_of(lo, hi);
    mpfr_clears(lo, hi, (mpfr_ptr)0);
    return ball;
}

/* The score of a special key, which the row itself does not keep. */
static double special_score(const struct mxv_truth_problem *p, size_t i, size_t j)
{
    const unsigned route = p->route ? p->route(p->ctx, i, j) : 0;
    return mxv_truth_dot_special(p->q[route] + i * p->d, p->k[route] + j * p->d, p->d, p->scale);
}

static void balls_of_row(const struct mxv_truth_problem *p, size_t i,
                         const struct mxv_truth_row *row, struct mxv_truth_ball *scores)
{
    size_t first = 0, end = p->lk;
    if (p->visible)
        p->visible(p->ctx, i, &first, &end);
    for (size_t j = 0; j < p->lk; j++)
        scores[j] = (struct mxv_truth_ball){-INFINITY, 0};
    for (size_t j = first; j < end; j++)
        scores[j].centre = special_score(p, i, j); /* 0 for the finite ones, which follow */
    for (size_t j = 0; j < row->count; j++)
        scores[row->key[j]] = score_ball(&row->score[j], p->softcap);
}

/* a + b = *s + *e exactly. */
static void sum_of(double a, double b, double *s, double *e)
{
    const double sum = a + b, t = sum - a;
    *e = (a - (sum - t)) + (b - t);
    *s = sum;
}

/*
 * The ball of scale * (high + low). With scale high = p + e and scale low = t + f exactly, p + (e +
 * t) is rounded to the centre and the errors of all sums are added up: exactly if they are exact.
 */
static struct mxv_truth_ball certified_ball(double high, double low, double scale)
{
    const double p = scale * high, e = fma(scale, high, -p);
    const double t = scale * low, f = fma(scale, low, -t);
    double small, small_error, centre, rest, x, y, a, b;
    sum_of(e, t, &small, &small_error);
    sum_of(p, small, &centre, &rest);
    sum_of(small_error, f, &a, &b);
    sum_of(rest, a, &x, &y);
    struct mxv_truth_ball ball = {centre + 0.0, fabs(x)};
    if (y != 0 || b != 0)
        ball.radius = (fabs(x) + fabs(y) + fabs(b)) * (1 + 0x1p-50);
    return ball;
}

/* What a walk over rows needs; the exact scores only when some row asks for them. */
struct walk {
    const struct mxv_truth_problem *p;
    struct mxv_truth_ball *scores; /* [lk] */
    bool certified, exact;         /* panels and group are there; operands, query and row are */
    struct mxv_truth_panels panels;
    struct mxv_truth_group group;
    struct mxv_truth_operands operands;
    struct mxv_truth_query query;
    struct mxv_truth_row row;
    size_t lane[MXV_GROUP]; /* of the group; MXV_GROUP: none */
};

static enum mxv_truth_status walk_init(struct walk *w, const struct mxv_truth_problem *p)
{
    const struct mxv_truth_options options = {.radius = 1};
    *w = (struct walk){.p = p, .scores = malloc((p->lk + 1) * sizeof *w->scores)};
    if (!w->scores)
        return MXV_TRUTH_NO_MEMORY;
    if (mxv_truth_panels_admit(p, &options) != MXV_TRUTH_LEFT_COUNT)
        return MXV_TRUTH_OK;
    if (!mxv_truth_panels_init(&w->panels, p, 1))
        return MXV_TRUTH_NO_MEMORY;
    w->certified = mxv_truth_group_init(&w->group, &w->panels);
    if (!w->certified)
        mxv_truth_panels_clear(&w->panels);
    return w->certified ? MXV_TRUTH_OK : MXV_TRUTH_NO_MEMORY;
}

static bool walk_exact(struct walk *w)
{
    if (w->exact)
        return true;
    if (!mxv_truth_operands_init(&w->operands, w->p))
        return false;
    if (mxv_truth_query_init(&w->query, w->p)) {
        w->exact = mxv_truth_row_init(&w->row, w->p->lk, w->p->base, w->p->softcap);
        if (!w->exact)
            mxv_truth_query_clear(&w->query);
    }
    if (!w->exact)
        mxv_truth_operands_clear(&w->operands);
    return w->exact;
}

static void walk_clear(struct walk *w)
{
    if (w->certified) {
        mxv_truth_group_clear(&w->group);
        mxv_truth_panels_clear(&w->panels);
    }
    if (w->exact) {
        mxv_truth_row_clear(&w->row);
        mxv_truth_query_clear(&w->query);
        mxv_truth_operands_clear(&w->operands);
    }
    free(w->scores);
}

/* Dots of the rows that the certified path takes, of rows[n], n <= MXV_GROUP. */
static enum mxv_truth_status score_group(struct walk *w, const size_t *rows, size_t n)
{
    const struct mxv_truth_problem *p = w->p;
    if (w->certified)
        mxv_truth_group_begin(&w->group, &w->panels);
    for (size_t i = 0; i < n; i++) {
        size_t first = 0, end = p->lk;
        if (rows[i] >= p->lq)
            return MXV_TRUTH_BAD_ARGUMENT;
        if (p->visible)
            p->visible(p->ctx, rows[i], &first, &end);
        if (first > end || end > p->lk)
            return MXV_TRUTH_BAD_ARGUMENT;
        w->lane[i] = MXV_GROUP;
        if (w->certified && first < end &&
            mxv_truth_group_take(&w->group, &w->panels, rows[i], i, first, end) ==
                MXV_TRUTH_LEFT_COUNT)
            w->lane[i] = w->group.rows - 1;
    }
    return w->certified ? mxv_truth_group_scores(&w->group, &w->panels) : MXV_TRUTH_OK;
}

static enum mxv_truth_status balls(struct walk *w, size_t row, size_t lane)
{
    if (lane == MXV_GROUP) {
        if (!walk_exact(w))
            return MXV_TRUTH_NO_MEMORY;
        const enum mxv_truth_status status =
            mxv_truth_score_row(&w->operands, &w->query, row, &w->row);
        if (status == MXV_TRUTH_OK)
            balls_of_row(w->p, row, &w->row, w->scores);
        return status;
    }
    const double *high = w->group.high + lane * w->panels.keys;
    const double *low = w->group.low + lane * w->panels.keys, scale = fabs(w->p->scale);
    for (size_t j = 0; j < w->p->lk; j++)
        w->scores[j] = (struct mxv_truth_ball){-INFINITY, 0};
    for (size_t j = w->group.first[lane]; j < w->group.end[lane]; j++)
        w->scores[j] = certified_ball(high[j], low[j], scale);
    return MXV_TRUTH_OK;
}

static enum mxv_truth_status take_rows(struct walk *w, const size_t *rows, size_t n_rows,
                                       mxv_truth_take *take, void *ctx)
{
    for (size_t i = 0; i < n_rows; i++) {
        enum mxv_truth_status status = MXV_TRUTH_OK;
        if (i % MXV_GROUP == 0)
            status = score_group(w, rows + i, n_rows - i < MXV_GROUP ? n_rows - i : MXV_GROUP);
        if (status == MXV_TRUTH_OK)
            status = balls(w, rows[i], w->lane[i % MXV_GROUP]);
        if (status != MXV_TRUTH_OK)
            return status;
        take(ctx, i, w->scores);
    }
    return MXV_TRUTH_OK;
}

enum mxv_truth_status mxv_truth_scores_of_rows(const struct mxv_truth_problem *problem,
                                               const size_t *rows, size_t n_rows,
                                               mxv_truth_take *take, void *ctx)
{
    struct walk w;
    if (!mxv_truth_problem_ok(problem) || (!rows && n_rows) || !take)
        return MXV_TRUTH_BAD_ARGUMENT;
    enum mxv_truth_status status = walk_init(&w, problem);
    if (status == MXV_TRUTH_OK)
        status = take_rows(&w, rows, n_rows, take, ctx);
    walk_clear(&w);
    return status;
}

struct copy_target {
    struct mxv_truth_ball *scores;
    size_t count;
};

static void copy_scores(void *ctx, size_t index, const struct mxv_truth_ball *scores)
{
    const struct copy_target *target = ctx;
    (void)index;
    memcpy(target->scores, scores, target->count * sizeof *scores);
}

enum mxv_truth_status mxv_truth_scores(const struct mxv_truth_problem *problem, size_t row,
                                       struct mxv_truth_ball *scores)
{
    struct copy_target target = {scores, problem ? problem->lk : 0};
    if (!scores)
        return MXV_TRUTH_BAD_ARGUMENT;
    return mxv_truth_scores_of_rows(problem, &row, 1, copy_scores, &target);
}
