/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact scores scale * <q, k> of one row, as dyadic numbers, and their balls for score maps.
 *
 * Integer images of all k lines are made once and shared; the row of q is imaged when its turn
 * comes. Operands with NaN or Inf give a score by the IEEE rules: -Inf drops the key, NaN and +Inf
 * make the row undefined. Exact throughout; only mxv_truth_scores rounds, with the radius it
 * states. If this file is wrong, unit.truth and unit.truth_oracles fail.
 */
#include "truth_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool base_ok(unsigned base)
{
    return base == MXV_TRUTH_NATURAL || base == MXV_TRUTH_BINARY;
}

bool mxv_truth_problem_ok(const struct mxv_truth_problem *p)
{
    const size_t limit = (size_t)1 << 31;
    if (!p || p->routes < 1 || p->routes > MXV_TRUTH_MAX_ROUTES || !base_ok(p->base) ||
        !base_ok(p->lse_base) || !isfinite(p->scale) || !isfinite(p->softcap) || p->softcap < 0)
        return false;
    if (p->lq >= limit || p->lk >= limit || p->d >= limit || p->dv >= limit)
        return false;
    for (unsigned r = 0; r < p->routes; r++)
        if ((!p->q[r] && p->lq && p->d) || (!p->k[r] && p->lk && p->d))
            return false;
    return true;
}

void mxv_truth_operands_clear(struct mxv_truth_operands *o)
{
    mxv_dyadic_clear(&o->scale);
    free(o->line);
    free(o->sig);
}

bool mxv_truth_operands_init(struct mxv_truth_operands *o, const struct mxv_truth_problem *p)
{
    const size_t lines = p->routes * p->lk;
    o->p = p;
    mxv_dyadic_init(&o->scale);
    mxv_dyadic_set_double(&o->scale, p->scale);
    o->line = malloc((lines + 1) * sizeof *o->line);
    o->sig = malloc((lines * p->d + 1) * sizeof *o->sig);
    if (!o->line || !o->sig) {
        mxv_truth_operands_clear(o);
        return false;
    }
    for (unsigned r = 0; r < p->routes; r++)
        for (size_t j = 0; j < p->lk; j++) {
            const size_t line = r * p->lk + j;
            o->line[line] = mxv_truth_line_build(p->k[r] + j * p->d, p->d, 1, o->sig + line * p->d);
        }
    return true;
}

bool mxv_truth_query_init(struct mxv_truth_query *query, const struct mxv_truth_problem *p)
{
    *query = (struct mxv_truth_query){.sig = malloc((p->routes * p->d + 1) * sizeof *query->sig)};
    return query->sig != NULL;
}

void mxv_truth_query_clear(struct mxv_truth_query *query)
{
    free(query->sig);
}

/* Pushes the exact score of (i, j), or drops the key, or marks the row undefined. */
static void score_key(const struct mxv_truth_operands *o, struct mxv_truth_query *query,
                      unsigned route, size_t i, size_t j, struct mxv_truth_row *row)
{
    const struct mxv_truth_problem *p = o->p;
    const size_t line = route * p->lk + j;
    const struct mxv_truth_line ql = query->line[route], kl = o->line[line];
    const double *q = p->q[route] + i * p->d, *k = p->k[route] + j * p->d;
    if (ql.bits == MXV_LINE_SPECIAL || kl.bits == MXV_LINE_SPECIAL) {
        const double special = mxv_truth_dot_special(q, k, p->d, p->scale);
        row->undefined |= isnan(special) || special > 0;
        return;
    }
    struct mxv_dyadic *score = mxv_truth_row_push(row, j);
    query->dots[mxv_truth_dot(score, ql, query->sig + route * p->d, q, kl, o->sig + line * p->d, k,
                              p->d)]++;
    mxv_dyadic_mul(score, score, &o->scale);
}

enum mxv_truth_status mxv_truth_score_row(const struct mxv_truth_operands *o,
                                          struct mxv_truth_query *query, size_t i,
                                          struct mxv_truth_row *row)
{
    const struct mxv_truth_problem *p = o->p;
    size_t first = 0, end = p->lk;
    if (i >= p->lq)
        return MXV_TRUTH_BAD_ARGUMENT;
    if (p->visible)
        p->visible(p->ctx, i, &first, &end);
    if (first > end || end > p->lk)
        return MXV_TRUTH_BAD_ARGUMENT;
    for (size_t r = 0; r < p->routes; r++)
        query->line[r] = mxv_truth_line_build(p->q[r] + i * p->d, p->d, 1, query->sig + r * p->d);
    mxv_truth_row_begin(row);
    for (size_t j = first; j < end; j++) {
        const unsigned route = p->route ? p->route(p->ctx, i, j) : 0;
        if (route >= p->routes)
            return MXV_TRUTH_BAD_ARGUMENT;
        score_key(o, query, route, i, j, row);
    }
    return MXV_TRUTH_OK;
}

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

static enum mxv_truth_status take_rows(const struct mxv_truth_operands *operands,
                                       const size_t *rows, size_t n_rows, mxv_truth_take *take,
                                       void *ctx)
{
    const struct mxv_truth_problem *p = operands->p;
    struct mxv_truth_ball *scores = malloc((p->lk + 1) * sizeof *scores);
    struct mxv_truth_query query;
    struct mxv_truth_row work;
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    if (scores && mxv_truth_query_init(&query, p)) {
        if (mxv_truth_row_init(&work, p->lk, p->base, p->softcap)) {
            status = MXV_TRUTH_OK;
            for (size_t i = 0; status == MXV_TRUTH_OK && i < n_rows; i++) {
                status = mxv_truth_score_row(operands, &query, rows[i], &work);
                if (status != MXV_TRUTH_OK)
                    break;
                balls_of_row(p, rows[i], &work, scores);
                take(ctx, i, scores);
            }
            mxv_truth_row_clear(&work);
        }
        mxv_truth_query_clear(&query);
    }
    free(scores);
    return status;
}

enum mxv_truth_status mxv_truth_scores_of_rows(const struct mxv_truth_problem *problem,
                                               const size_t *rows, size_t n_rows,
                                               mxv_truth_take *take, void *ctx)
{
    struct mxv_truth_operands operands;
    if (!mxv_truth_problem_ok(problem) || (!rows && n_rows) || !take)
        return MXV_TRUTH_BAD_ARGUMENT;
    if (!mxv_truth_operands_init(&operands, problem))
        return MXV_TRUTH_NO_MEMORY;
    enum mxv_truth_status status = take_rows(&operands, rows, n_rows, take, ctx);
    mxv_truth_operands_clear(&operands);
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
