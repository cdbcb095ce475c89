/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the certified truth share. Not installed. docs/truth.md, "The certified path".
 *
 *   truth_kernels    inner loops in binary64, one text for every instruction level
 *   truth_panels     operands of a problem in the order in which the inner loops read them
 *   truth_strips     scores of a few rows, as sums of two binary64 values
 *   truth_certified  rows: choice of the path, weights, sums, balls
 */
#ifndef MXV_TRUTH_CERTIFIED_H
#define MXV_TRUTH_CERTIFIED_H

#include "truth_internal.h"
#include "truth_kernels.h"

enum { MXV_GROUP = 16, MXV_STRIPS = MXV_GROUP / MXV_STRIP }; /* rows in work in each thread */

/*
 * Keys and values. A line of k is 2^exp (low + 2^slice high), both integers of at most `slice`
 * bits, in panels of MXV_PANEL keys, [routes][panels][d][MXV_PANEL]. Lines that have no such image
 * are 0 and marked.
 */
struct mxv_truth_panels {
    const struct mxv_truth_problem *p;
    const struct mxv_truth_kernels *kernels;
    struct mxv_dyadic scale;
    size_t keys, count, stride; /* lk rounded up to MXV_SUM_BLOCK; keys / MXV_PANEL; columns */
    unsigned slice;
    double factor;                   /* |scale| in log2 units */
    double *low, *high;              /* slices of k */
    unsigned char *two;              /* [routes][count] some high slice is not 0 */
    double *unit;                    /* [routes][keys] 2^exp */
    int top[MXV_TRUTH_MAX_ROUTES];   /* |k| < 2^top in every line */
    double *v;                       /* [keys][stride]: v, a column of ones, zeros */
    double *least, *most;            /* [keys / MXV_SUM_BLOCK][dv] */
    unsigned char *special, *spread; /* [keys] marks of k or v */
    uint32_t *specials, *spreads;    /* [keys + 1] number of marks before the key */
};

/* The same for a line of q, |q| < 2^top. */
struct mxv_truth_slices {
    int exp, top;
    bool two;
};

/* MXV_TRUTH_LEFT_COUNT: the problem may take the certified path; else why not. */
enum mxv_truth_left mxv_truth_panels_admit(const struct mxv_truth_problem *p,
                                           const struct mxv_truth_options *options);
/* False: out of memory (nothing to clear). */
bool mxv_truth_panels_init(struct mxv_truth_panels *panels, const struct mxv_truth_problem *p,
                           int threads);
void mxv_truth_panels_clear(struct mxv_truth_panels *panels);
/*
 * Slices of x[n] to low and high[i * stride]; sig[n] is scratch. MXV_TRUTH_LEFT_COUNT, or why there
 * are none (then zeros).
 */
enum mxv_truth_left mxv_truth_slice(const double *x, size_t n, unsigned slice, int64_t *sig,
                                    double *low, double *high, size_t stride,
                                    struct mxv_truth_slices *out);
/* Smallest and largest v of each column over keys first .. end - 1 (at least one). */
void mxv_truth_panels_range(const struct mxv_truth_panels *panels, size_t first, size_t end,
                            double *least, double *most);

/* Rows in work in one thread. */
struct mxv_truth_group {
    size_t rows;                                /* accepted so far */
    size_t row[MXV_GROUP], place[MXV_GROUP];    /* of the problem; in the caller's list */
    size_t first[MXV_GROUP], end[MXV_GROUP];    /* keys seen */
    bool two[MXV_TRUTH_MAX_ROUTES][MXV_STRIPS]; /* some high slice is not 0 */
    double unit[MXV_TRUTH_MAX_ROUTES][MXV_GROUP][3];
    double *q_low, *q_high; /* [routes][MXV_STRIPS][d][MXV_STRIP] */
    double *high, *low; /* [MXV_GROUP][keys] q.k = high + low, sign of the scale in q; then high is
                           the weight */
    double *total, *error;  /* [MXV_GROUP][stride] */
    double *least, *most;   /* [dv] */
    int64_t *sig, *key_sig; /* [d] */
};

bool mxv_truth_group_init(struct mxv_truth_group *g, const struct mxv_truth_panels *panels);
void mxv_truth_group_clear(struct mxv_truth_group *g);
void mxv_truth_group_begin(struct mxv_truth_group *g, const struct mxv_truth_panels *panels);
/*
 * Takes row `row`, place `place` in the caller's list, which sees keys first .. end - 1 (at least
 * one), if its operands allow: MXV_TRUTH_LEFT_COUNT. Else why not.
 */
enum mxv_truth_left mxv_truth_group_take(struct mxv_truth_group *g,
                                         const struct mxv_truth_panels *panels, size_t row,
                                         size_t place, size_t first, size_t end);
/* Scores of the rows taken, MXV_UNSEEN where a row does not look. */
enum mxv_truth_status mxv_truth_group_scores(struct mxv_truth_group *g,
                                             const struct mxv_truth_panels *panels);
/* Keys that some row of a strip may see, at multiples of MXV_SUM_BLOCK. */
void mxv_truth_group_span(const struct mxv_truth_group *g, size_t strip, size_t *first,
                          size_t *end);

/* What mxv_truth_certify does not decide it leaves: left[i] = reason, else MXV_TRUTH_LEFT_COUNT. */
enum mxv_truth_status mxv_truth_certify(const struct mxv_truth_problem *p, const size_t *rows,
                                        size_t n_rows, const struct mxv_truth_options *options,
                                        struct mxv_truth_ball *out, struct mxv_truth_ball *lse,
                                        unsigned char *left, struct mxv_truth_stats *stats);

#endif
