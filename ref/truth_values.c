/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted sums of v and their quotient by the sum of weights, with the radius of each.
 *
 * Let W_j = 2^G w_j be the exact weights, u_j = weight[j], e_j = W_j - u_j, so |e_j| <= 1 for the
 * n_J inexact keys and e_j = 0 for the others, D = sum u_j. The sums N = sum u_j v_j are exact
 * integers, and N / D = C satisfies sum u_j (v_j - C) = 0. Hence, with O the exact output,
 *
 *     O - C = sum W_j (v_j - C) / sum W_j = sum e_j (v_j - C) / sum W_j,
 *     |O - C| <= n_J * R / (D - n_J),   R = max v - min v over the keys of the row,
 *
 * because C lies between min v and max v. O does too, so R itself always bounds |O - C|. A constant
 * column and a row of exact weights thus get an exact C. The radius returned adds the rounding of C
 * to binary64.
 *
 * The sums: a column whose values fit 62 bits over a common exponent is summed as integers. Weights
 * are cut into digits of B bits, B + bits(v) + ceil(log2 keys) <= 126 and B <= 62, and each digit
 * has its own __int128 sum, which cannot overflow. Other columns are summed in GMP integers.
 *
 * If this file is wrong, unit.truth_oracles fails.
 */
#include "truth_internal.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool mxv_truth_values_init(struct mxv_truth_values *values, const double *v, size_t lk, size_t dv)
{
    const size_t n = lk * dv;
    *values = (struct mxv_truth_values){.v = v, .lk = lk, .dv = dv};
    values->sig = malloc((n ? n : 1) * sizeof *values->sig);
    values->line = malloc((dv ? dv : 1) * sizeof *values->line);
    if (!values->sig || !values->line) {
        mxv_truth_values_clear(values);
        return false;
    }
    for (size_t c = 0; c < dv; c++) {
        values->line[c] = mxv_truth_line_build(v + c, lk, dv, values->sig + c);
        if (values->line[c].bits > values->bits)
            values->bits = values->line[c].bits;
    }
    return true;
}

void mxv_truth_values_clear(struct mxv_truth_values *values)
{
    free(values->sig);
    free(values->line);
}

void mxv_truth_sums_clear(struct mxv_truth_sums *sums)
{
    free(sums->digit);
    free(sums->sum);
    free(sums->min);
    free(sums->max);
}

/* Room for `digits` digits of every key; false: out of memory, the sums stay clearable. */
static bool reserve(struct mxv_truth_sums *sums, const struct mxv_truth_values *values,
                    size_t digits)
{
    if (sums->capacity >= digits)
        return true;
    mxv_truth_sums_clear(sums);
    *sums = (struct mxv_truth_sums){
        .capacity = digits,
        .digit = malloc(digits * (values->lk + 1) * sizeof *sums->digit),
        .sum = malloc(digits * (values->dv + 1) * sizeof *sums->sum),
        .min = malloc((values->dv + 1) * sizeof *sums->min),
        .max = malloc((values->dv + 1) * sizeof *sums->max),
    };
    if (sums->digit && sums->sum && sums->min && sums->max)
        return true;
    sums->capacity = 0;
    return false;
}

static void cut_weights(const struct mxv_truth_row *row, unsigned width, size_t digits,
                        uint64_t *digit)
{
    mpz_t rest, low;
    mpz_init(rest);
    mpz_init(low);
    for (size_t j = 0; j < row->count; j++) {
        mpz_set(rest, row->weight[j]);
        for (size_t l = 0; l < digits; l++) {
            mpz_tdiv_r_2exp(low, rest, width);
            mpz_tdiv_q_2exp(rest, rest, width);
            digit[l * row->count + j] = mpz_get_ui(low);
        }
    }
    mpz_clear(rest);
    mpz_clear(low);
}

static void sum_digits(const struct mxv_truth_values *values, const struct mxv_truth_row *row,
                       size_t digits, struct mxv_truth_sums *sums)
{
    const size_t dv = values->dv;
    memset(sums->sum, 0, digits * dv * sizeof *sums->sum);
    for (size_t j = 0; j < row->count; j++) {
        const int64_t *v = values->sig + row->key[j] * dv;
        for (size_t l = 0; l < digits; l++) {
            const int64_t digit = (int64_t)sums->digit[l * row->count + j];
            mxv_int128 *sum = sums->sum + l * dv;
            for (size_t c = 0; digit != 0 && c < dv; c++)
                sum[c] += (mxv_int128)v[c] * digit;
        }
    }
}

static void find_ranges(const struct mxv_truth_values *values, const struct mxv_truth_row *row,
                        struct mxv_truth_sums *sums)
{
    const size_t dv = values->dv;
    for (size_t c = 0; c < dv; c++) {
        sums->min[c] = INT64_MAX;
        sums->max[c] = INT64_MIN;
    }
    for (size_t j = 0; j < row->count; j++) {
        const int64_t *v = values->sig + row->key[j] * dv;
        for (size_t c = 0; c < dv; c++) {
            sums->min[c] = v[c] < sums->min[c] ? v[c] : sums->min[c];
            sums->max[c] = v[c] > sums->max[c] ? v[c] : sums->max[c];
        }
    }
}

/* r = min(range, inexact * range / (total - inexact)), rounded up. */
static void spread(const struct mxv_truth_row *row, const mpz_t range, mpfr_t r)
{
    mpz_t denominator, all;
    mpfr_t whole;
    mpz_init(denominator);
    mpz_init(all);
    mpfr_init2(whole, 64);
    mpfr_set_z(whole, range, MPFR_RNDU);
    mpz_sub_ui(denominator, row->total, row->inexact);
    mpz_mul_ui(all, range, row->inexact);
    mpfr_set_z(r, all, MPFR_RNDU);
    if (mpz_sgn(denominator) > 0)
        mpfr_div_z(r, r, denominator, MPFR_RNDU);
    if (mpz_sgn(denominator) <= 0 || mpfr_greater_p(r, whole))
        mpfr_set(r, whole, MPFR_RNDU);
    mpfr_clear(whole);
    mpz_clear(all);
    mpz_clear(denominator);
}

struct mxv_truth_ball mxv_truth_quotient(const struct mxv_truth_row *row, const mpz_t sum,
                                         const mpz_t range, long exp)
{
    enum { PRECISION = 128 };
    struct mxv_truth_ball ball;
    mpfr_t q, r, off;
    mpfr_inits2(PRECISION, q, off, (mpfr_ptr)0);
    mpfr_init2(r, 64);
    mpfr_set_prec(off, mpz_sizeinbase(sum, 2) + 1);
    mpfr_set_z(off, sum, MPFR_RNDN);
    const int inexact = mpfr_div_z(q, off, row->total, MPFR_RNDN);
    mpfr_mul_2si(q, q, exp, MPFR_RNDN);
    ball.centre = mpfr_get_d(q, MPFR_RNDN) + 0.0;
    spread(row, range, r);
    mpfr_mul_2si(r, r, exp, MPFR_RNDU);
    mpfr_set_prec(off, PRECISION);
    mpfr_sub_d(off, q, ball.centre, MPFR_RNDA);
    mpfr_abs(off, off, MPFR_RNDU);
    mpfr_add(r, r, off, MPFR_RNDU);
    if (inexact) {
        mpfr_abs(off, q, MPFR_RNDU);
        mpfr_div_2ui(off, off, PRECISION, MPFR_RNDU);
        mpfr_add(r, r, off, MPFR_RNDU);
    }
    ball.radius = mpfr_get_d(r, MPFR_RNDU);
    mpfr_clears(q, r, off, (mpfr_ptr)0);
    return ball;
}

static void narrow_column(const struct mxv_truth_values *values, const struct mxv_truth_row *row,
                          const struct mxv_truth_sums *sums, size_t c, size_t digits,
                          unsigned width, struct mxv_truth_ball *out, double *largest)
{
    struct mxv_dyadic part;
    mpz_t sum, range;
    mxv_dyadic_init(&part);
    mpz_init(sum);
    mpz_init(range);
    for (size_t l = digits; l-- > 0;) {
        mpz_mul_2exp(sum, sum, width);
        mxv_dyadic_set_int128(&part, sums->sum[l * values->dv + c], 0);
        mpz_add(sum, sum, part.sig);
    }
    mpz_set_si(range, sums->max[c] - sums->min[c]);
    *out = mxv_truth_quotient(row, sum, range, values->line[c].exp);
    const int64_t high = sums->max[c], low = -sums->min[c];
    *largest = ldexp((double)(high > low ? high : low), values->line[c].exp);
    mpz_clear(range);
    mpz_clear(sum);
    mxv_dyadic_clear(&part);
}

double mxv_truth_column_special(const struct mxv_truth_row *row, const double *v, size_t stride)
{
    double sum = 0;
    for (size_t j = 0; j < row->count; j++)
        if (!isfinite(v[row->key[j] * stride]))
            sum += v[row->key[j] * stride];
    return sum;
}

/* Exact sum, range and largest |v| of one column over a common exponent, in GMP integers. */
static void sum_column(const struct mxv_truth_row *row, const double *v, size_t stride, mpz_t sum,
                       mpz_t range, long *exp, double *largest)
{
    struct mxv_dyadic x, total, low, high;
    struct mxv_dyadic *const all[] = {&x, &total, &low, &high};
    for (size_t i = 0; i < 4; i++)
        mxv_dyadic_init(all[i]);
    *largest = 0;
    for (size_t j = 0; j < row->count; j++) {
        const double value = v[row->key[j] * stride];
        mxv_dyadic_set_double(&x, value);
        if (j == 0 || mxv_dyadic_compare(&x, &low) < 0)
            mxv_dyadic_copy(&low, &x);
        if (j == 0 || mxv_dyadic_compare(&x, &high) > 0)
            mxv_dyadic_copy(&high, &x);
        *largest = fmax(*largest, fabs(value));
        mpz_mul(x.sig, x.sig, row->weight[j]);
        mxv_dyadic_add(&total, &total, &x);
    }
    mxv_dyadic_sub(&high, &high, &low);
    *exp = total.exp < high.exp ? total.exp : high.exp;
    mpz_mul_2exp(sum, total.sig, (mp_bitcnt_t)(total.exp - *exp));
    mpz_mul_2exp(range, high.sig, (mp_bitcnt_t)(high.exp - *exp));
    for (size_t i = 0; i < 4; i++)
        mxv_dyadic_clear(all[i]);
}

static struct mxv_truth_ball wide_column(const struct mxv_truth_row *row, const double *v,
                                         size_t stride, double *largest)
{
    struct mxv_truth_ball ball = {mxv_truth_column_special(row, v, stride), 0};
    mpz_t sum, range;
    long exp;
    *largest = 0;
    if (ball.centre != 0)
        return ball;
    mpz_init(sum);
    mpz_init(range);
    sum_column(row, v, stride, sum, range, &exp, largest);
    ball = mxv_truth_quotient(row, sum, range, exp);
    mpz_clear(range);
    mpz_clear(sum);
    return ball;
}

void mxv_truth_column(const struct mxv_truth_row *row, const double *v, mpfr_t lo, mpfr_t hi)
{
    mpz_t sum, range;
    mpfr_t exact, r;
    long exp;
    double largest;
    mpz_init(sum);
    mpz_init(range);
    sum_column(row, v, 1, sum, range, &exp, &largest);
    mpfr_init2(exact, mpz_sizeinbase(sum, 2) + 1);
    mpfr_init2(r, 64);
    mpfr_set_z(exact, sum, MPFR_RNDN);
    spread(row, range, r);
    mpfr_div_z(lo, exact, row->total, MPFR_RNDD);
    mpfr_div_z(hi, exact, row->total, MPFR_RNDU);
    mpfr_sub(lo, lo, r, MPFR_RNDD);
    mpfr_add(hi, hi, r, MPFR_RNDU);
    mpfr_mul_2si(lo, lo, exp, MPFR_RNDD);
    mpfr_mul_2si(hi, hi, exp, MPFR_RNDU);
    mpfr_clears(exact, r, (mpfr_ptr)0);
    mpz_clear(range);
    mpz_clear(sum);
}

bool mxv_truth_values_row(const struct mxv_truth_values *values, const struct mxv_truth_row *row,
                          struct mxv_truth_sums *sums, struct mxv_truth_ball *out, double *largest)
{
    const unsigned room = 126 - (unsigned)values->bits - mxv_ceil_log2(row->count);
    const unsigned width = room < 62 ? room : 62;
    const size_t digits = (row->grid_bits + width) / width; /* the largest weight is 2^grid_bits */
    if (!reserve(sums, values, digits))
        return false;
    cut_weights(row, width, digits, sums->digit);
    sum_digits(values, row, digits, sums);
    find_ranges(values, row, sums);
    for (size_t c = 0; c < values->dv; c++) {
        if (values->line[c].bits >= 0)
            narrow_column(values, row, sums, c, digits, width, &out[c], &largest[c]);
        else
            out[c] = wide_column(row, values->v + c, values->dv, &largest[c]);
    }
    return true;
}
