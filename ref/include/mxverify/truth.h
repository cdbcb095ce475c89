/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truth: proved enclosures of exact softmax attention.
 *
 *     score[i][j] = cap(scale * sum_e q[i][e] * k[j][e]),   cap(s) = s or softcap * tanh(s /
 * softcap) O[i][c]     = sum_j B^score[i][j] * v[j][c] / sum_j B^score[i][j],   j over the keys row
 * i sees LSE[i]      = log_L sum_j B^score[i][j]
 *
 * with B = e or 2 (`base`), L = e or 2 (`lse_base`), and every operand read as the real number that
 * the binary64 word stands for. Nothing is rounded on the way in: the caller gives (a) the original
 * inputs, or (b) the dequantised operands a kernel really multiplied, and the distance between the
 * two truths is the quantisation error. docs/truth.md derives every bound.
 *
 * Answers are balls: |exact - centre| <= radius holds as a theorem, not as an estimate. Special
 * values: visible score NaN or +Inf            every O of the row and LSE: centre NaN, radius 0
 *     visible score -Inf                   weight exactly 0, the key's v is not looked at
 *     no visible key of nonzero weight     O: centre +0, radius 0; LSE: centre -Inf, radius 0
 *     Inf or NaN in v at a nonzero weight  the IEEE sum: centre +Inf, -Inf or NaN, radius 0
 * A score is NaN or infinite as the IEEE operations would make it from NaN and Inf operands (Inf *
 * 0 and Inf - Inf are NaN); finite operands never overflow, their score is an exact real. NaN or
 * Inf in an operand that no visible key uses has no effect.
 *
 * Threads: every function may be called from several threads at once. mxv_truth_rows runs its own
 * OpenMP loop over rows; the callbacks of the problem are then called concurrently. Results do not
 * depend on the number of threads. GMP and MPFR abort the process when they run out of memory, or
 * do what mxv_truth_stop_without_memory says; the library's own allocations return
 * MXV_TRUTH_NO_MEMORY.
 */
#ifndef MXVERIFY_TRUTH_H
#define MXVERIFY_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MXV_TRUTH_MAX_ROUTES = 8 };

/* The base of weights and logarithms. */
enum { MXV_TRUTH_NATURAL = 0, MXV_TRUTH_BINARY = 2 };

enum mxv_truth_status {
    MXV_TRUTH_OK = 0,
    MXV_TRUTH_BAD_ARGUMENT, /* a shape, base, radius, scale, route or visible range out of range */
    MXV_TRUTH_NO_MEMORY,
    MXV_TRUTH_UNDECIDED /* only with a softcap: the rounding stayed open at 16384 bits */
};

/*
 * Before the first use of GMP or MPFR in the process, by the program: `stop` is called, from any
 * thread, when they find no memory for `bytes`, and must not return (else: abort).
 */
void mxv_truth_stop_without_memory(void (*stop)(size_t bytes));

/* One line in English for a status; never NULL. */
const char *mxv_truth_status_text(enum mxv_truth_status status);

/*
 * One head. All arrays belong to the caller, are row-major and stay unchanged during the call.
 * Route r takes its scores from q[r] and k[r]; which route a (row, key) pair uses is route(ctx,
 * row, key).
 */
struct mxv_truth_problem {
    size_t lq, lk, d, dv; /* query rows, keys, head dim of q and k, head dim of v */
    unsigned routes;      /* 1 .. MXV_TRUTH_MAX_ROUTES */
    const double *q[MXV_TRUTH_MAX_ROUTES]; /* [lq][d] for each route */
    const double *k[MXV_TRUTH_MAX_ROUTES]; /* [lk][d] for each route */
    const double *v;                       /* [lk][dv] */
    double scale;                          /* finite; the exact value of the binary64 word */
    unsigned base;                         /* 0: weights are e^score, 2: 2^score */
    unsigned lse_base;                     /* 0 or 2, independent of base */
    double softcap;                        /* 0: none; else finite and > 0 */
    /* Row `row` sees keys *first .. *end - 1 (*first == *end: none). NULL: all rows see all. */
    void (*visible)(const void *ctx, size_t row, size_t *first, size_t *end);
    /* NULL: route 0 everywhere. A value >= routes is a bad argument. */
    unsigned (*route)(const void *ctx, size_t row, size_t key);
    const void *ctx;
};

/*
 * How rows are enclosed: in binary64 with a proved radius, and in MPFR where that does not do.
 * Either way the ball holds the exact value and is within the radius asked; centres differ by no
 * more.
 */
enum mxv_truth_path {
    MXV_TRUTH_CERTIFIED = 0, /* binary64 where its radius is small enough, else MPFR */
    MXV_TRUTH_MPFR           /* MPFR for every row */
};

/* Why a row was left to MPFR: X(id, name, text). */
#define MXV_TRUTH_LEFTS(X)                                                                         \
    X(ASKED, "asked", "MPFR asked for")                                                            \
    X(SOFTCAP, "softcap", "softcap")                                                               \
    X(SIZE, "size", "too many keys or dimensions")                                                 \
    X(SPECIAL, "special", "NaN or infinity in an operand")                                         \
    X(SPAN, "span", "operands of a line too far apart")                                            \
    X(SCORES, "scores", "scores too large")                                                        \
    X(EQUAL, "equal", "equal weights, exact in MPFR")                                              \
    X(RADIUS, "radius", "radius asked too small")
enum mxv_truth_left {
#define X(id, name, text) MXV_TRUTH_LEFT_##id,
    MXV_TRUTH_LEFTS(X)
#undef X
        MXV_TRUTH_LEFT_COUNT
};
/* The text of a reason; NULL outside the list. */
const char *mxv_truth_left_text(enum mxv_truth_left reason);

/* |exact - centre| <= radius. The radius is +Inf only if the exact value exceeds binary64. */
struct mxv_truth_ball {
    double centre, radius;
};

struct mxv_truth_options {
    /*
     * Requested radius, 2^-50 .. 1. Element (i, c) gets radius <= this * max |v[j][c]| over the
     * keys row i sees (+ 2^-1074, the step of binary64); LSE gets radius <= this * max(1, |LSE|). 0
     * stands for 2^-40.
     */
    double radius;
    unsigned threads;   /* 0: the OpenMP default */
    unsigned grid_bits; /* MPFR: fraction bits of the weights at first; 0: certified, or enough */
    enum mxv_truth_path path;
};

/* What a call did. Sums over all rows; rows = certified + left[] + empty rows of neither. */
struct mxv_truth_stats {
    size_t rows, empty_rows, undefined_rows; /* undefined: a NaN or +Inf score */
    size_t certified_rows;                   /* enclosed without MPFR (but for the LSE) */
    size_t left[MXV_TRUTH_LEFT_COUNT];       /* rows left to MPFR, by reason */
    /* The rest is of the rows left to MPFR, except radius_max. */
    size_t dots_int64, dots_int128, dots_wide; /* scores by the integer width their dot needed */
    size_t exponentials;                       /* MPFR exp / exp2 evaluations */
    size_t repeated_rows;                      /* rows computed again at more bits */
    unsigned grid_bits_max, precision_max;     /* weight grid and MPFR precision, in bits */
    double radius_max;                         /* largest proved radius / max |v| of its column */
};

/*
 * Enclosures of n_rows rows of O and LSE. rows[n_rows] names them (NULL: rows 0 .. n_rows - 1); out
 * is [n_rows][dv]; lse is [n_rows] or NULL; stats may be NULL. Memory: one integer image of k and
 * v, plus O(lk) for each thread; never lq * lk. On failure out and lse are unspecified.
 */
enum mxv_truth_status mxv_truth_rows(const struct mxv_truth_problem *problem, const size_t *rows,
                                     size_t n_rows, const struct mxv_truth_options *options,
                                     struct mxv_truth_ball *out, struct mxv_truth_ball *lse,
                                     struct mxv_truth_stats *stats);

/*
 * The baseline that speed is measured against: the same rows by plain MPFR, every operation rounded
 * to nearest at `precision` bits (32 .. 16384; 64 is the cheapest that is good to 2^-40 for
 * thousands of keys), one row after the other on the calling thread. out[n_rows][dv] and
 * lse[n_rows] (or NULL) get the results rounded to binary64; nothing is proved about their error.
 * Special values as at the top of this file.
 */
enum mxv_truth_status mxv_truth_plain_rows(const struct mxv_truth_problem *problem,
                                           const size_t *rows, size_t n_rows, unsigned precision,
                                           double *out, double *lse);

/*
 * The scores of one row, scores[lk]: radius 0 where the exact score is a binary64 value, else at
 * most half an ulp and 2^-50 of it (a few ulp with a softcap). A key the row does not see gets
 * centre -Inf. A score beyond the binary64 range gets centre +-DBL_MAX and radius +Inf.
 */
enum mxv_truth_status mxv_truth_scores(const struct mxv_truth_problem *problem, size_t row,
                                       struct mxv_truth_ball *scores);

/*
 * The same for rows[n_rows], for callers that want many: `take` gets index i (of rows[i]) and
 * scores[lk], valid during the call, in order and on the calling thread.
 */
typedef void mxv_truth_take(void *ctx, size_t index, const struct mxv_truth_ball *scores);
enum mxv_truth_status mxv_truth_scores_of_rows(const struct mxv_truth_problem *problem,
                                               const size_t *rows, size_t n_rows,
                                               mxv_truth_take *take, void *ctx);

/*
 * The normalised weights of one row, weights[lk]: each within options->radius (NULL or 0: 2^-40) of
 * the exact B^score / sum B^score. Keys not seen and the keys of an empty row: 0; an undefined row:
 * NaN.
 */
enum mxv_truth_status mxv_truth_weights(const struct mxv_truth_problem *problem, size_t row,
                                        const struct mxv_truth_options *options,
                                        struct mxv_truth_ball *weights);

/*
 * Correctly rounded (nearest, ties to even) binary32 results of one row of attention, as words.
 * Special values as at the top of this file; NaN is 0x7fffffff; an exact zero is +0, a nonzero
 * result that rounds to zero keeps its sign; a result beyond binary32 is an infinity. Every
 * rounding is decided, exact ties included (docs/truth.md, "Correct rounding").
 *
 * scores[n], values[n]: binary32. mask[n] nonzero = visible; NULL = all. base 0 or 2, of weights
 * and LSE. softcap 0 = none. out_word and lse_word may not be NULL.
 */
enum mxv_truth_status mxv_truth_attention_row(const float *scores, const float *values,
                                              const uint8_t *mask, size_t n, unsigned base,
                                              float softcap, uint32_t *out_word,
                                              uint32_t *lse_word);

/*
 * The same for head dimension 1 with FP8 operands: logit_j = q * k[j] * descale_q * descale_k
 * (exact product), value_j = v[j] * descale_v, natural base, softmax scale 1. q, k[n], v[n] are the
 * decoded values of the codes.
 */
enum mxv_truth_status mxv_truth_attention_fp8_row(double q, const double *k, const double *v,
                                                  size_t n, float descale_q, float descale_k,
                                                  float descale_v, uint32_t *out_word,
                                                  uint32_t *lse_word);

/*
 * Merge of two partial results (outputs o1, o2 with log-sum-exp l1, l2 in `base`), correctly
 * rounded. A part with LSE -Inf is empty: it has weight 0 and its output is not looked at.
 */
enum mxv_truth_status mxv_truth_lse_merge(float o1, float l1, float o2, float l2, unsigned base,
                                          uint32_t *out_word, uint32_t *lse_word);

/*
 * scale * sum a[i] * b[i], exact, then rounded once to odd in binary64 (an inexact result is
 * truncated and its last bit set; beyond the range +-DBL_MAX). Rounding that to any format of at
 * most 51 significant bits gives the correctly rounded dot product there. NaN and Inf operands as
 * IEEE operations.
 */
double mxv_truth_dot_odd(const double *a, const double *b, size_t n, double scale);

#ifdef __cplusplus
}
#endif
#endif
