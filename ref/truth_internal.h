/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the truth share. Not installed. The path of a number:
 *
 *   truth_dot      lines of operands -> exact dot (a dyadic number)
 *   truth_scores   problem, row -> the exact scores of the keys it sees
 *   truth_score_rows  balls of the scores of whole rows
 *   truth_weights  exact scores of a row -> weights on a grid of 2^-grid_bits, with their error
 *   truth_values   weights, v -> exact integer sums -> balls
 *   truth          rows, threads, special values, raising of precision
 *   truth_certified and its own files (truth_certified.h)  the same in binary64, where that does
 *   truth_plain    the formula in MPFR, for comparison of speed
 *   truth_sign     exact sign of a sum of exponentials
 *   truth_round    correctly rounded binary32 results from the above
 */
#ifndef MXV_TRUTH_INTERNAL_H
#define MXV_TRUTH_INTERNAL_H

#include <gmp.h>
#include <mpfr.h>
#include <mxverify/truth.h>
#include <stdbool.h>

__extension__ typedef __int128 mxv_int128;
_Static_assert(sizeof(long) == 8, "the truth hands 64-bit integers to GMP as long");

/* sig * 2^exp, exact. Zero has exp 0. */
struct mxv_dyadic {
    mpz_t sig;
    long exp;
};

void mxv_dyadic_init(struct mxv_dyadic *x);
void mxv_dyadic_clear(struct mxv_dyadic *x);
void mxv_dyadic_copy(struct mxv_dyadic *to, const struct mxv_dyadic *from);
void mxv_dyadic_set_double(struct mxv_dyadic *x, double value); /* finite */
void mxv_dyadic_set_int128(struct mxv_dyadic *x, mxv_int128 sig, long exp);
void mxv_dyadic_add(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b);
void mxv_dyadic_sub(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b);
void mxv_dyadic_mul(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b);
int mxv_dyadic_compare(const struct mxv_dyadic *a, const struct mxv_dyadic *b);
/* The e with 2^(e-1) <= |x| < 2^e; LONG_MIN for 0. */
long mxv_dyadic_top(const struct mxv_dyadic *x);
/* Rounds to the precision of r; returns MPFR's ternary value (0 = exact). */
int mxv_dyadic_get_fr(mpfr_t r, const struct mxv_dyadic *x, mpfr_rnd_t round);
/* A finite double as sig * 2^exp with an odd sig (0 gives 0, 0). */
int64_t mxv_double_split(double x, int *exp);

/* The ball around the interval [lo, hi]; beyond binary64: +-DBL_MAX with radius +Inf. */
struct mxv_truth_ball mxv_truth_ball_of(mpfr_t lo, mpfr_t hi);

/* ceil(log2(n)), 0 for n <= 1. */
unsigned mxv_ceil_log2(size_t n);

/* Marks of mxv_truth_line.bits beside a width of 0 .. 62. */
enum { MXV_LINE_WIDE = -1, MXV_LINE_SPECIAL = -2 };

/* Integer image of one line of operands: x[i] = sig[i] * 2^exp, |sig[i]| < 2^bits, unless marked.
 */
struct mxv_truth_line {
    int exp, bits;
};

/* Fills sig[i * stride] from x[i * stride], i < n. Wide or special lines get sig 0 throughout. */
struct mxv_truth_line mxv_truth_line_build(const double *x, size_t n, size_t stride, int64_t *sig);

/* Which integer width an exact dot took. */
enum mxv_truth_width { MXV_WIDTH_INT64, MXV_WIDTH_INT128, MXV_WIDTH_WIDE };

/* The exact dot of two lines without special values; qx and kx are read if a line is wide. */
enum mxv_truth_width mxv_truth_dot(struct mxv_dyadic *r, struct mxv_truth_line ql,
                                   const int64_t *qs, const double *qx, struct mxv_truth_line kl,
                                   const int64_t *ks, const double *kx, size_t d);
/* scale * <a, b> by the IEEE rules for NaN and infinities: NaN, +-Inf, or 0 if it is finite. */
double mxv_truth_dot_special(const double *a, const double *b, size_t n, double scale);

struct mxv_truth_row;

/* A problem with integer images of k for every route, and the image of one row of q. */
struct mxv_truth_operands {
    const struct mxv_truth_problem *p;
    struct mxv_dyadic scale;
    struct mxv_truth_line *line; /* [routes][lk] */
    int64_t *sig;                /* [routes][lk][d] */
};
struct mxv_truth_query {
    struct mxv_truth_line line[MXV_TRUTH_MAX_ROUTES];
    int64_t *sig;   /* [routes][d] */
    size_t dots[3]; /* scores by enum mxv_truth_width */
};

bool mxv_truth_problem_ok(const struct mxv_truth_problem *p);
/* False: out of memory (nothing to clear). */
bool mxv_truth_operands_init(struct mxv_truth_operands *o, const struct mxv_truth_problem *p);
void mxv_truth_operands_clear(struct mxv_truth_operands *o);
bool mxv_truth_query_init(struct mxv_truth_query *query, const struct mxv_truth_problem *p);
void mxv_truth_query_clear(struct mxv_truth_query *query);
/* Begins the row and fills it with the exact scores of query row i. */
enum mxv_truth_status mxv_truth_score_row(const struct mxv_truth_operands *o,
                                          struct mxv_truth_query *query, size_t i,
                                          struct mxv_truth_row *row);

/*
 * One row in work: the exact scores of the keys it sees (those of score -Inf left out), then, after
 * mxv_truth_row_weigh, their weights relative to the largest: |2^grid_bits * w[j] - weight[j]| <= 1
 * for `inexact` of the keys and = 0 for the others; the largest score has weight 2^grid_bits
 * exactly.
 */
struct mxv_truth_row {
    size_t capacity, count, top; /* top: index of a largest score */
    size_t *key;
    struct mxv_dyadic *score;
    mpz_t *weight;
    mpz_t total; /* sum of weight[] */
    bool undefined;
    unsigned base;
    double softcap;
    unsigned grid_bits, precision;
    size_t inexact, exponentials;
};

/* False: out of memory (nothing to clear). */
bool mxv_truth_row_init(struct mxv_truth_row *row, size_t capacity, unsigned base, double softcap);
void mxv_truth_row_clear(struct mxv_truth_row *row);
void mxv_truth_row_begin(struct mxv_truth_row *row);
/* Appends a key; the caller fills the score returned. */
struct mxv_dyadic *mxv_truth_row_push(struct mxv_truth_row *row, size_t key);
void mxv_truth_row_weigh(struct mxv_truth_row *row, unsigned grid_bits);
/* Encloses the LSE of a weighed row that is not empty, at the precision of lo and hi. */
void mxv_truth_row_lse(const struct mxv_truth_row *row, unsigned lse_base, mpfr_t lo, mpfr_t hi);
/* Encloses softcap * tanh(s / softcap), or s if softcap is 0. */
void mxv_truth_cap(const struct mxv_dyadic *s, double softcap, mpfr_t lo, mpfr_t hi);

/* The ball of mxv_truth_row_lse, and whether it is within the radius asked. */
struct mxv_truth_ball mxv_truth_lse_ball(const struct mxv_truth_row *row, unsigned lse_base);
bool mxv_truth_lse_ok(struct mxv_truth_ball ball, double radius);
/* The largest status wins, so that the answer does not depend on which thread came first. */
void mxv_truth_keep_status(enum mxv_truth_status *all, enum mxv_truth_status one);

/* Integer image of v by columns, shared by all rows, and what one row needs beside it. */
struct mxv_truth_values {
    const double *v;
    size_t lk, dv;
    int64_t *sig;                /* [lk][dv] */
    struct mxv_truth_line *line; /* [dv] */
    int bits;                    /* widest narrow column */
};
struct mxv_truth_sums {
    size_t capacity;    /* digits of weights allocated for each key */
    uint64_t *digit;    /* [digits][count] */
    mxv_int128 *sum;    /* [digits][dv] */
    int64_t *min, *max; /* [dv] over the row's keys */
};

bool mxv_truth_values_init(struct mxv_truth_values *values, const double *v, size_t lk, size_t dv);
void mxv_truth_values_clear(struct mxv_truth_values *values);
void mxv_truth_sums_clear(struct mxv_truth_sums *sums);
/*
 * Balls of one weighed row. largest[dv] gets max |v| over the row's keys (0 where v is not finite).
 * False: out of memory.
 */
bool mxv_truth_values_row(const struct mxv_truth_values *values, const struct mxv_truth_row *row,
                          struct mxv_truth_sums *sums, struct mxv_truth_ball *out, double *largest);
/* The ball of O for numerator sum * 2^exp and range max v - min v = range * 2^exp. */
struct mxv_truth_ball mxv_truth_quotient(const struct mxv_truth_row *row, const mpz_t sum,
                                         const mpz_t range, long exp);
/* Encloses O for the values v[key[j]] (finite, one column) at the precision of lo and hi. */
void mxv_truth_column(const struct mxv_truth_row *row, const double *v, mpfr_t lo, mpfr_t hi);
/* The IEEE sum over keys of nonzero weight if v holds NaN or Inf there, else 0. */
double mxv_truth_column_special(const struct mxv_truth_row *row, const double *v, size_t stride);

/* One term c * base^a of a sum of exponentials. */
struct mxv_truth_term {
    struct mxv_dyadic a, c;
    struct mxv_dyadic fraction; /* a mod 1, used for base 2 */
};
/*
 * The sign of sum c[i] * base^(cap(a[i])): -1, 0, 1, always decided without a softcap; 2: a softcap
 * and no decision at 16384 bits; 3: out of memory. The terms are reordered and their a and c
 * overwritten.
 */
int mxv_truth_sign(struct mxv_truth_term *terms, size_t n, unsigned base, double softcap);

#endif
