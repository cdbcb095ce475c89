/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline of the truth: the formula of attention in MPFR, one row after the other.
 *
 * Every operation is an MPFR operation rounded to nearest at one precision, in the order in which
 * the formula is written: dots, largest score, exponentials, weighted sums, quotients. This is what
 * one writes without the integer images, grids and bounds of the other files, and what their speed
 * is compared with. It keeps no error bound: with n keys of length d the result is off by about
 * (n + d max|score|) 2^-precision of the largest |v|, more if the scores cancel.
 *
 * Special values as mxv_truth_rows. Not handled: threads. If this file is wrong, unit.truth_plain
 * fails.
 */
#include "truth_internal.h"

#include <math.h>
#include <stdlib.h>

/* Scores of one row, and the row of q and the sums in work. */
struct plain {
    const struct mxv_truth_problem *p;
    mpfr_t *score;            /* [lk] */
    mpfr_t *sum;              /* [dv], then the sum of weights */
    mpfr_t top, term, weight; /* top: the largest score */
};

static mpfr_t *numbers(size_t n, mpfr_prec_t precision)
{
    mpfr_t *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        mpfr_init2(x[i], precision);
    return x;
}

static void numbers_clear(mpfr_t *x, size_t n)
{
    for (size_t i = 0; x && i < n; i++)
        mpfr_clear(x[i]);
    free(x);
}

static void plain_score(struct plain *w, size_t row, size_t key)
{
    const struct mxv_truth_problem *p = w->p;
    const unsigned r = p->route ? p->route(p->ctx, row, key) : 0;
    const double *q = p->q[r] + row * p->d, *k = p->k[r] + key * p->d;
    mpfr_ptr s = w->score[key];
    mpfr_set_zero(s, 1);
    for (size_t e = 0; e < p->d; e++) {
        mpfr_set_d(w->term, q[e], MPFR_RNDN);
        mpfr_mul_d(w->term, w->term, k[e], MPFR_RNDN);
        mpfr_add(s, s, w->term, MPFR_RNDN);
    }
    mpfr_mul_d(s, s, p->scale, MPFR_RNDN);
    if (p->softcap == 0 || mpfr_inf_p(s))
        return;
    mpfr_div_d(s, s, p->softcap, MPFR_RNDN);
    mpfr_tanh(s, s, MPFR_RNDN);
    mpfr_mul_d(s, s, p->softcap, MPFR_RNDN);
}

/* Adds the key to the sums; one of score -Inf is left out. */
static void plain_add(struct plain *w, size_t key)
{
    const struct mxv_truth_problem *p = w->p;
    if (mpfr_inf_p(w->score[key]) && mpfr_sgn(w->score[key]) < 0)
        return;
    mpfr_sub(w->weight, w->score[key], w->top, MPFR_RNDN);
    if (p->base == MXV_TRUTH_BINARY)
        mpfr_exp2(w->weight, w->weight, MPFR_RNDN);
    else
        mpfr_exp(w->weight, w->weight, MPFR_RNDN);
    for (size_t c = 0; c < p->dv; c++) {
        mpfr_mul_d(w->term, w->weight, p->v[key * p->dv + c], MPFR_RNDN);
        mpfr_add(w->sum[c], w->sum[c], w->term, MPFR_RNDN);
    }
    mpfr_add(w->sum[p->dv], w->sum[p->dv], w->weight, MPFR_RNDN);
}

static double plain_lse(struct plain *w)
{
    const struct mxv_truth_problem *p = w->p;
    mpfr_ptr y = w->term;
    if (p->base == MXV_TRUTH_BINARY)
        mpfr_log2(y, w->sum[p->dv], MPFR_RNDN);
    else
        mpfr_log(y, w->sum[p->dv], MPFR_RNDN);
    mpfr_add(y, y, w->top, MPFR_RNDN);
    if (p->base != p->lse_base) {
        mpfr_const_log2(w->weight, MPFR_RNDN);
        if (p->lse_base == MXV_TRUTH_NATURAL)
            mpfr_mul(y, y, w->weight, MPFR_RNDN);
        else
            mpfr_div(y, y, w->weight, MPFR_RNDN);
    }
    return mpfr_get_d(y, MPFR_RNDN);
}

static void plain_row(struct plain *w, size_t row, size_t first, size_t end, double *out,
                      double *lse)
{
    const size_t dv = w->p->dv;
    mpfr_set_inf(w->top, -1);
    for (size_t j = first; j < end; j++) {
        plain_score(w, row, j);
        if (mpfr_nan_p(w->score[j]) || (!mpfr_nan_p(w->top) && mpfr_greater_p(w->score[j], w->top)))
            mpfr_set(w->top, w->score[j], MPFR_RNDN);
    }
    for (size_t c = 0; c <= dv; c++)
        mpfr_set_zero(w->sum[c], 1);
    for (size_t j = first; j < end; j++)
        plain_add(w, j);
    const bool none = mpfr_inf_p(w->top) && mpfr_sgn(w->top) < 0;
    for (size_t c = 0; c < dv; c++) {
        mpfr_div(w->term, w->sum[c], w->sum[dv], MPFR_RNDN);
        out[c] = none ? 0 : mpfr_get_d(w->term, MPFR_RNDN);
    }
    if (lse)
        *lse = none ? -INFINITY : plain_lse(w);
}

static enum mxv_truth_status plain_rows(struct plain *w, const size_t *rows, size_t n_rows,
                                        double *out, double *lse)
{
    const struct mxv_truth_problem *p = w->p;
    for (size_t i = 0; i < n_rows; i++) {
        const size_t row = rows ? rows[i] : i;
        size_t first = 0, end = p->lk;
        if (row >= p->lq)
            return MXV_TRUTH_BAD_ARGUMENT;
        if (p->visible)
            p->visible(p->ctx, row, &first, &end);
        if (first > end || end > p->lk)
            return MXV_TRUTH_BAD_ARGUMENT;
        for (size_t j = first; p->route && j < end; j++)
            if (p->route(p->ctx, row, j) >= p->routes)
                return MXV_TRUTH_BAD_ARGUMENT;
        plain_row(w, row, first, end, out + i * p->dv, lse ? lse + i : NULL);
    }
    return MXV_TRUTH_OK;
}

enum mxv_truth_status mxv_truth_plain_rows(const struct mxv_truth_problem *problem,
                                           const size_t *rows, size_t n_rows, unsigned precision,
                                           double *out, double *lse)
{
    enum { PRECISION_LEAST = 32, PRECISION_MOST = 16384 };
    if (!mxv_truth_problem_ok(problem) || precision < PRECISION_LEAST ||
        precision > PRECISION_MOST || (!problem->v && problem->lk && problem->dv) ||
        (!out && n_rows && problem->dv))
        return MXV_TRUTH_BAD_ARGUMENT;
    struct plain w = {.p = problem};
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    mpfr_inits2(precision, w.top, w.term, w.weight, (mpfr_ptr)0);
    w.score = numbers(problem->lk, precision);
    w.sum = numbers(problem->dv + 1, precision);
    if (w.score && w.sum)
        status = plain_rows(&w, rows, n_rows, out, lse);
    numbers_clear(w.sum, problem->dv + 1);
    numbers_clear(w.score, problem->lk);
    mpfr_clears(w.top, w.term, w.weight, (mpfr_ptr)0);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return status;
}
