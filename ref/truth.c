/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enclosures of exact attention: rows, threads, special values, and the raising of precision.
 *
 * Rows go through truth_certified first; this file encloses those that it leaves, in MPFR. For each
 * row: exact scores (truth_scores), weights on a grid of 2^-G (truth_weights), balls of O
 * and LSE (truth_values). The first G is chosen so that the requested radius follows from the
 * bounds alone: with n keys, V the largest |v| and D >= 2^G,
 *
 *     n R / (D - n) <= 2 n V / (2^G - n) <= radius V / 2   if   2^G >= n (4 / radius + 1),
 *
 * and the rounding to binary64 takes 2^-53 V <= radius V / 8. Every radius is checked all the same,
 * and a row that misses is computed again with 32 more bits. Bounds are theorems; only their sizes
 * are at stake here.
 *
 * If this file is wrong, unit.truth and unit.truth_oracles fail.
 */
#include "truth_certified.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { GRID_STEP = 32, GRID_MAX = 4096 };
static const double RADIUS_DEFAULT = 0x1p-40, RADIUS_LEAST = 0x1p-50;

const char *mxv_truth_status_text(enum mxv_truth_status status)
{
    switch (status) {
    case MXV_TRUTH_OK:
        return "ok";
    case MXV_TRUTH_BAD_ARGUMENT:
        return "bad argument to the truth";
    case MXV_TRUTH_NO_MEMORY:
        return "out of memory";
    case MXV_TRUTH_UNDECIDED:
        return "rounding undecided at 16384 bits";
    }
    return "unknown status";
}

/* What one thread needs. */
struct worker {
    struct mxv_truth_query query;
    struct mxv_truth_row row;
    struct mxv_truth_sums sums;
    struct mxv_truth_stats stats;
    double *largest; /* [dv] */
};

static void worker_clear(struct worker *w)
{
    mxv_truth_query_clear(&w->query);
    mxv_truth_row_clear(&w->row);
    mxv_truth_sums_clear(&w->sums);
    free(w->largest);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

static enum mxv_truth_status worker_init(struct worker *w, const struct mxv_truth_problem *p)
{
    *w = (struct worker){0};
    if (!mxv_truth_query_init(&w->query, p))
        return MXV_TRUTH_NO_MEMORY;
    if (!mxv_truth_row_init(&w->row, p->lk, p->base, p->softcap)) {
        mxv_truth_query_clear(&w->query);
        return MXV_TRUTH_NO_MEMORY;
    }
    w->largest = malloc((p->dv + 1) * sizeof *w->largest);
    if (w->largest)
        return MXV_TRUTH_OK;
    worker_clear(w);
    return MXV_TRUTH_NO_MEMORY;
}

static unsigned first_grid(size_t keys, double radius)
{
    return mxv_ceil_log2(keys) + (unsigned)ceil(-log2(radius)) + 3;
}

/* Raises *ratio to the largest radius / |v|; true if every radius is within the request. */
static bool radii_ok(const struct mxv_truth_ball *out, const double *largest, size_t dv,
                     double radius, double *ratio)
{
    bool ok = true;
    *ratio = 0;
    for (size_t c = 0; c < dv; c++) {
        if (!isfinite(out[c].centre) || out[c].radius == 0)
            continue;
        const double least = 0x1p-1074, excess = out[c].radius - least;
        ok = ok && excess <= radius * largest[c];
        *ratio = fmax(*ratio, excess / largest[c]);
    }
    return ok;
}

const char *mxv_truth_left_text(enum mxv_truth_left reason)
{
    static const char *const texts[MXV_TRUTH_LEFT_COUNT] = {
#define X(id, name, text) text,
        MXV_TRUTH_LEFTS(X)
#undef X
    };
    return (unsigned)reason < MXV_TRUTH_LEFT_COUNT ? texts[reason] : NULL;
}

struct mxv_truth_ball mxv_truth_lse_ball(const struct mxv_truth_row *row, unsigned lse_base)
{
    mpfr_t lo, hi;
    mpfr_inits2(row->precision > 128 ? row->precision : 128, lo, hi, (mpfr_ptr)0);
    mxv_truth_row_lse(row, lse_base, lo, hi);
    const struct mxv_truth_ball ball = mxv_truth_ball_of(lo, hi);
    mpfr_clears(lo, hi, (mpfr_ptr)0);
    return ball;
}

bool mxv_truth_lse_ok(struct mxv_truth_ball ball, double radius)
{
    return isinf(ball.radius) || ball.radius <= radius * fmax(1, fabs(ball.centre) - ball.radius);
}

static void fill(struct mxv_truth_ball *out, size_t n, double centre)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (struct mxv_truth_ball){centre, 0};
}

static enum mxv_truth_status enclose_row(const struct mxv_truth_operands *o, struct worker *w,
                                         const struct mxv_truth_values *values,
                                         const struct mxv_truth_options *options,
                                         struct mxv_truth_ball *out, struct mxv_truth_ball *lse)
{
    struct mxv_truth_row *row = &w->row;
    if (row->undefined || row->count == 0) {
        fill(out, o->p->dv, row->undefined ? NAN : 0);
        fill(lse, lse ? 1 : 0, row->undefined ? NAN : -INFINITY);
        w->stats.undefined_rows += row->undefined;
        w->stats.empty_rows += !row->undefined;
        return MXV_TRUTH_OK;
    }
    double ratio = 0;
    bool ok = false, again = false;
    unsigned grid =
        options->grid_bits ? options->grid_bits : first_grid(row->count, options->radius);
    for (; !ok && grid < GRID_MAX; grid += GRID_STEP) {
        mxv_truth_row_weigh(row, grid);
        if (!mxv_truth_values_row(values, row, &w->sums, out, w->largest))
            return MXV_TRUTH_NO_MEMORY;
        ok = radii_ok(out, w->largest, o->p->dv, options->radius, &ratio);
        if (lse) {
            *lse = mxv_truth_lse_ball(row, o->p->lse_base);
            ok = ok && mxv_truth_lse_ok(*lse, options->radius);
        }
        w->stats.repeated_rows += !ok && !again;
        again = true;
    }
    w->stats.radius_max = fmax(w->stats.radius_max, ratio);
    if (row->grid_bits > w->stats.grid_bits_max)
        w->stats.grid_bits_max = row->grid_bits;
    if (row->precision > w->stats.precision_max)
        w->stats.precision_max = row->precision;
    return ok ? MXV_TRUTH_OK : MXV_TRUTH_UNDECIDED;
}

static void merge_stats(struct mxv_truth_stats *all, const struct worker *w)
{
    const struct mxv_truth_stats *s = &w->stats;
    all->empty_rows += s->empty_rows;
    all->undefined_rows += s->undefined_rows;
    all->dots_int64 += w->query.dots[MXV_WIDTH_INT64];
    all->dots_int128 += w->query.dots[MXV_WIDTH_INT128];
    all->dots_wide += w->query.dots[MXV_WIDTH_WIDE];
    all->exponentials += w->row.exponentials;
    all->repeated_rows += s->repeated_rows;
    all->radius_max = fmax(all->radius_max, s->radius_max);
    if (s->grid_bits_max > all->grid_bits_max)
        all->grid_bits_max = s->grid_bits_max;
    if (s->precision_max > all->precision_max)
        all->precision_max = s->precision_max;
}

void mxv_truth_keep_status(enum mxv_truth_status *all, enum mxv_truth_status one)
{
#pragma omp critical(mxv_truth_status)
    if (one > *all)
        *all = one;
}

/* The rows that the certified path left, by MPFR. */
struct rest {
    const size_t *rows, *places; /* places in rows, out and lse */
    size_t count;
};

static enum mxv_truth_status
run_rest(const struct mxv_truth_operands *o, const struct mxv_truth_values *values,
         const struct rest *rest, const struct mxv_truth_options *options,
         struct mxv_truth_ball *out, struct mxv_truth_ball *lse, struct mxv_truth_stats *stats)
{
    enum mxv_truth_status status = MXV_TRUTH_OK;
    const int threads = options->threads ? (int)options->threads : omp_get_max_threads();
#pragma omp parallel num_threads(threads)
    {
        struct worker w;
        const enum mxv_truth_status ready = worker_init(&w, o->p);
        mxv_truth_keep_status(&status, ready);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < rest->count; i++) {
            const size_t at = rest->places[i];
            enum mxv_truth_status s = ready;
            if (s == MXV_TRUTH_OK)
                s = mxv_truth_score_row(o, &w.query, rest->rows ? rest->rows[at] : at, &w.row);
            if (s == MXV_TRUTH_OK)
                s = enclose_row(o, &w, values, options, out + at * values->dv,
                                lse ? lse + at : NULL);
            mxv_truth_keep_status(&status, s);
        }
        if (ready == MXV_TRUTH_OK) {
#pragma omp critical(mxv_truth_stats)
            merge_stats(stats, &w);
            worker_clear(&w);
        }
    }
    return status;
}

static enum mxv_truth_status enclose_rest(const struct mxv_truth_problem *problem,
                                          const struct rest *rest,
                                          const struct mxv_truth_options *options,
                                          struct mxv_truth_ball *out, struct mxv_truth_ball *lse,
                                          struct mxv_truth_stats *stats)
{
    struct mxv_truth_operands operands;
    struct mxv_truth_values values;
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    if (rest->count == 0)
        return MXV_TRUTH_OK;
    if (!mxv_truth_operands_init(&operands, problem))
        return MXV_TRUTH_NO_MEMORY;
    if (mxv_truth_values_init(&values, problem->v, problem->lk, problem->dv)) {
        status = run_rest(&operands, &values, rest, options, out, lse, stats);
        mxv_truth_values_clear(&values);
    }
    mxv_truth_operands_clear(&operands);
    return status;
}

static bool options_ok(struct mxv_truth_options *options)
{
    if (options->radius == 0)
        options->radius = RADIUS_DEFAULT;
    return options->radius >= RADIUS_LEAST && options->radius <= 1 &&
           options->grid_bits < GRID_MAX && options->threads <= 4096;
}

enum mxv_truth_status mxv_truth_rows(const struct mxv_truth_problem *problem, const size_t *rows,
                                     size_t n_rows, const struct mxv_truth_options *options,
                                     struct mxv_truth_ball *out, struct mxv_truth_ball *lse,
                                     struct mxv_truth_stats *stats)
{
    struct mxv_truth_options o = options ? *options : (struct mxv_truth_options){0};
    struct mxv_truth_stats ignored, *all = stats ? stats : &ignored;
    if (!mxv_truth_problem_ok(problem) || !options_ok(&o) ||
        (!problem->v && problem->lk && problem->dv) || (!out && n_rows && problem->dv))
        return MXV_TRUTH_BAD_ARGUMENT;
    unsigned char *left = malloc(n_rows + 1);
    size_t *places = malloc((n_rows + 1) * sizeof *places);
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    *all = (struct mxv_truth_stats){.rows = n_rows};
    if (left && places) {
        struct rest rest = {rows, places, 0};
        status = mxv_truth_certify(problem, rows, n_rows, &o, out, lse, left, all);
        for (size_t i = 0; status == MXV_TRUTH_OK && i < n_rows; i++)
            if (left[i] != MXV_TRUTH_LEFT_COUNT) {
                all->left[left[i]]++;
                places[rest.count++] = i;
            }
        if (status == MXV_TRUTH_OK)
            status = enclose_rest(problem, &rest, &o, out, lse, all);
    }
    free(places);
    free(left);
    return status;
}

static void weights_of_row(const struct mxv_truth_row *row, struct mxv_truth_ball *weights)
{
    mpz_t range;
    mpz_init_set_ui(range, row->count > 1); /* v is 1 for one key, 0 for the others */
    for (size_t j = 0; j < row->count; j++)
        weights[row->key[j]] = mxv_truth_quotient(row, row->weight[j], range, 0);
    mpz_clear(range);
}

enum mxv_truth_status mxv_truth_weights(const struct mxv_truth_problem *problem, size_t row,
                                        const struct mxv_truth_options *options,
                                        struct mxv_truth_ball *weights)
{
    struct mxv_truth_options o = options ? *options : (struct mxv_truth_options){0};
    struct mxv_truth_operands operands;
    struct worker w;
    if (!mxv_truth_problem_ok(problem) || !options_ok(&o) || !weights)
        return MXV_TRUTH_BAD_ARGUMENT;
    if (!mxv_truth_operands_init(&operands, problem))
        return MXV_TRUTH_NO_MEMORY;
    enum mxv_truth_status status = worker_init(&w, problem);
    if (status == MXV_TRUTH_OK) {
        status = mxv_truth_score_row(&operands, &w.query, row, &w.row);
        if (status == MXV_TRUTH_OK) {
            fill(weights, problem->lk, w.row.undefined ? NAN : 0);
            if (!w.row.undefined && w.row.count) {
                mxv_truth_row_weigh(&w.row, first_grid(w.row.count, o.radius));
                weights_of_row(&w.row, weights);
            }
        }
        worker_clear(&w);
    }
    mxv_truth_operands_clear(&operands);
    return status;
}
