/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correctly rounded binary32 results of one row of attention, and of the merge of two parts.
 *
 * Ziv's strategy on the enclosures of truth_weights and truth_values: if both ends of the enclosure
 * round to the same word, that is the answer. Else the grid gets twice the bits. From SETTLE bits
 * on, and when the two ends round to neighbouring words, only one rounding boundary t (a midpoint,
 * or 0 between -0 and +0) is inside, and the side on which the result lies is the sign of an
 * exponential sum, which truth_sign decides exactly:
 *
 *     O   - t  has the sign of  sum (v_j - t) B^(s_j)
 *     LSE - t  has the sign of  sum B^(s_j)  -  B^t          (no softcap)
 *
 * Sign 0 is an exact tie (even word) or an exact zero (+0). LSE with a softcap c: t is rational and
 * a tie could only come from an algebraic relation among values of exp(tanh); the loop simply goes
 * on, to CAP_BITS. The merge of (o1, l1) and (o2, l2) is the row with scores l and values o.
 *
 * If this file is wrong, unit.truth_round fails.
 */
#include "truth_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 96, SETTLE = 192, CAP_BITS = 16384 };
enum { NAN_WORD = 0x7fffffff };
static const uint32_t MINUS_INF_WORD = 0xff800000u;

/* Scores in a row, the value of each key, and what is being rounded. */
struct task {
    struct mxv_truth_row row;
    double *value; /* [capacity], by key */
    bool lse;
};

static uint32_t word_of(const mpfr_t x)
{
    uint32_t word;
    const float f = mpfr_zero_p(x) ? 0.0f : mpfr_get_flt(x, MPFR_RNDN);
    memcpy(&word, &f, sizeof word);
    return word;
}

/* Consecutive integers for consecutive words, -0 and +0 being different. */
static int64_t position(uint32_t word)
{
    return word >> 31 ? -(int64_t)(word & 0x7fffffffu) - 1 : (int64_t)word;
}

/* The value of a word with 2^128 for infinity, as rounding to binary32 sees it. */
static double magnitude(uint32_t word)
{
    float f;
    memcpy(&f, &word, sizeof f);
    return isinf(f) ? copysign(0x1p128, f) : f;
}

static struct mxv_truth_term *terms_alloc(size_t n)
{
    struct mxv_truth_term *terms = malloc(n * sizeof *terms);
    for (size_t i = 0; terms && i < n; i++) {
        mxv_dyadic_init(&terms[i].a);
        mxv_dyadic_init(&terms[i].c);
        mxv_dyadic_init(&terms[i].fraction);
    }
    return terms;
}

static void terms_free(struct mxv_truth_term *terms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mxv_dyadic_clear(&terms[i].a);
        mxv_dyadic_clear(&terms[i].c);
        mxv_dyadic_clear(&terms[i].fraction);
    }
    free(terms);
}

/* The sign of (result - boundary), as mxv_truth_sign. */
static int side(const struct task *task, double boundary)
{
    const struct mxv_truth_row *row = &task->row;
    const size_t n = row->count + task->lse;
    struct mxv_truth_term *terms = terms_alloc(n);
    struct mxv_dyadic t;
    if (!terms)
        return 3;
    mxv_dyadic_init(&t);
    mxv_dyadic_set_double(&t, boundary);
    for (size_t j = 0; j < row->count; j++) {
        mxv_dyadic_copy(&terms[j].a, &row->score[j]);
        mxv_dyadic_set_double(&terms[j].c, task->lse ? 1 : task->value[row->key[j]]);
        if (!task->lse)
            mxv_dyadic_sub(&terms[j].c, &terms[j].c, &t);
    }
    if (task->lse) {
        mxv_dyadic_copy(&terms[n - 1].a, &t);
        mxv_dyadic_set_double(&terms[n - 1].c, -1);
    }
    const int sign = mxv_truth_sign(terms, n, row->base, row->softcap);
    mxv_dyadic_clear(&t);
    terms_free(terms, n);
    return sign;
}

/* Between two neighbouring words the boundary decides; low is the lower one. */
static enum mxv_truth_status settle(const struct task *task, uint32_t low, uint32_t high,
                                    uint32_t *word)
{
    const double boundary = (magnitude(low) + magnitude(high)) / 2;
    const int sign = side(task, boundary);
    if (sign > 1)
        return sign == 2 ? MXV_TRUTH_UNDECIDED : MXV_TRUTH_NO_MEMORY;
    if (sign != 0)
        *word = sign > 0 ? high : low;
    else
        *word = boundary == 0 ? 0 : (low & 1) ? high : low;
    return MXV_TRUTH_OK;
}

static void enclose(struct task *task, unsigned bits, uint32_t *low, uint32_t *high)
{
    mpfr_t lo, hi;
    mxv_truth_row_weigh(&task->row, bits);
    mpfr_inits2(task->row.precision + 32, lo, hi, (mpfr_ptr)0);
    if (task->lse)
        mxv_truth_row_lse(&task->row, task->row.base, lo, hi);
    else
        mxv_truth_column(&task->row, task->value, lo, hi);
    *low = word_of(lo);
    *high = word_of(hi);
    mpfr_clears(lo, hi, (mpfr_ptr)0);
}

static enum mxv_truth_status round_result(struct task *task, bool lse, uint32_t *word)
{
    task->lse = lse;
    for (unsigned bits = FIRST_BITS; bits <= CAP_BITS; bits *= 2) {
        uint32_t low, high;
        enclose(task, bits, &low, &high);
        if (low == high) {
            *word = low;
            return MXV_TRUTH_OK;
        }
        const bool decidable = !lse || task->row.softcap == 0;
        if (decidable && bits >= SETTLE && position(high) - position(low) == 1)
            return settle(task, low, high, word);
    }
    return MXV_TRUTH_UNDECIDED;
}

static uint32_t special_word(double x)
{
    const float f = (float)x;
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return isnan(x) ? (uint32_t)NAN_WORD : word;
}

static enum mxv_truth_status round_row(struct task *task, uint32_t *out, uint32_t *lse)
{
    *out = task->row.undefined ? NAN_WORD : 0;
    *lse = task->row.undefined ? NAN_WORD : MINUS_INF_WORD;
    if (task->row.undefined || task->row.count == 0)
        return MXV_TRUTH_OK;
    const double special = mxv_truth_column_special(&task->row, task->value, 1);
    enum mxv_truth_status status = round_result(task, true, lse);
    if (special != 0)
        *out = special_word(special);
    else if (status == MXV_TRUTH_OK)
        status = round_result(task, false, out);
    return status;
}

static bool task_init(struct task *task, size_t n, unsigned base, double softcap)
{
    task->value = malloc((n + 1) * sizeof *task->value);
    if (task->value && mxv_truth_row_init(&task->row, n, base, softcap))
        return true;
    free(task->value);
    return false;
}

static void task_clear(struct task *task)
{
    mxv_truth_row_clear(&task->row);
    free(task->value);
}

/* A score that is not finite: -Inf drops the key, NaN and +Inf make the row undefined. */
static bool push_finite(struct task *task, size_t key, double score)
{
    if (!isfinite(score))
        task->row.undefined |= !(score < 0);
    return isfinite(score) && mxv_truth_row_push(&task->row, key) != NULL;
}

static struct mxv_dyadic *last_score(struct task *task)
{
    return &task->row.score[task->row.count - 1];
}

enum mxv_truth_status mxv_truth_attention_row(const float *scores, const float *values,
                                              const uint8_t *mask, size_t n, unsigned base,
                                              float softcap, uint32_t *out_word, uint32_t *lse_word)
{
    struct task task;
    if ((base != MXV_TRUTH_NATURAL && base != MXV_TRUTH_BINARY) || !out_word || !lse_word ||
        !isfinite(softcap) || softcap < 0 || (n && (!scores || !values)))
        return MXV_TRUTH_BAD_ARGUMENT;
    if (!task_init(&task, n, base, softcap))
        return MXV_TRUTH_NO_MEMORY;
    for (size_t j = 0; j < n; j++) {
        task.value[j] = values[j];
        if ((!mask || mask[j]) && push_finite(&task, j, scores[j]))
            mxv_dyadic_set_double(last_score(&task), scores[j]);
    }
    const enum mxv_truth_status status = round_row(&task, out_word, lse_word);
    task_clear(&task);
    return status;
}

/* r = q * k * dq * dk, exact. */
static void fp8_logit(struct mxv_dyadic *r, const double factors[4])
{
    struct mxv_dyadic x;
    mxv_dyadic_init(&x);
    mxv_dyadic_set_double(r, factors[0]);
    for (size_t i = 1; i < 4; i++) {
        mxv_dyadic_set_double(&x, factors[i]);
        mxv_dyadic_mul(r, r, &x);
    }
    mxv_dyadic_clear(&x);
}

enum mxv_truth_status mxv_truth_attention_fp8_row(double q, const double *k, const double *v,
                                                  size_t n, float descale_q, float descale_k,
                                                  float descale_v, uint32_t *out_word,
                                                  uint32_t *lse_word)
{
    struct task task;
    if (!out_word || !lse_word || (n && (!k || !v)))
        return MXV_TRUTH_BAD_ARGUMENT;
    if (!task_init(&task, n, MXV_TRUTH_NATURAL, 0))
        return MXV_TRUTH_NO_MEMORY;
    for (size_t j = 0; j < n; j++) {
        const double factors[4] = {q, k[j], descale_q, descale_k};
        const double product = q * k[j] * descale_q * descale_k; /* cannot overflow or underflow */
        task.value[j] = v[j] * descale_v;                        /* exact: at most 4 + 24 bits */
        if (push_finite(&task, j, product))
            fp8_logit(last_score(&task), factors);
    }
    const enum mxv_truth_status status = round_row(&task, out_word, lse_word);
    task_clear(&task);
    return status;
}

enum mxv_truth_status mxv_truth_lse_merge(float o1, float l1, float o2, float l2, unsigned base,
                                          uint32_t *out_word, uint32_t *lse_word)
{
    const float scores[2] = {l1, l2}, values[2] = {o1, o2};
    return mxv_truth_attention_row(scores, values, NULL, 2, base, 0, out_word, lse_word);
}
