/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax weights of one row on a fixed-point grid, with a proved error, and the row's LSE.
 *
 * With s the exact scores and m their maximum, w_j = B^(cap(s_j) - cap(m)) is in (0, 1]. weight[j]
 * is an integer near 2^G w_j (G = grid_bits), all computed by MPFR at p bits, p = G + 6 + max(0,
 * ceil(log2 Y)):
 *
 *   no softcap (Y = 0)  The argument x = s_j - m is an exact integer, rounded once: x(1 + e), |e|
 * <= 2^-p. The weight moves by at most w|x ln B| 2^-p * 1.01 <= 2^-p * 0.38, since w|x ln B| <=
 * 1/e. exp adds 2^-p. Times 2^G that is below 0.03 grid units. softcap c           Y = min(c, max
 * |s|) bounds |cap|. s, s / c, tanh, the product: four roundings, and tanh has condition <= 1, so
 * cap is off by < 4.1 Y 2^-p, the difference x by < 10.3 Y 2^-p, the weight by < 11.4 max(Y, 1)
 * 2^-p: below 0.2 grid units.
 *
 * Rounding to the grid adds 1/2, so |2^G w_j - weight[j]| < 1. If x is so low that 2^G w_j <= 1/2,
 * weight[j] is 0 and nothing is evaluated: the same bound. A key with s_j = m has weight 2^G
 * exactly; so has, in base 2, a key whose every step MPFR reports exact. The others are counted in
 * `inexact`.
 *
 * If this file is wrong, unit.truth_oracles fails.
 */
#include "truth_internal.h"

#include <math.h>
#include <stdlib.h>

bool mxv_truth_row_init(struct mxv_truth_row *row, size_t capacity, unsigned base, double softcap)
{
    const size_t n = capacity ? capacity : 1;
    *row = (struct mxv_truth_row){.capacity = capacity, .base = base, .softcap = softcap};
    row->key = malloc(n * sizeof *row->key);
    row->score = malloc(n * sizeof *row->score);
    row->weight = malloc(n * sizeof *row->weight);
    if (!row->key || !row->score || !row->weight) {
        free(row->key);
        free(row->score);
        free(row->weight);
        return false;
    }
    for (size_t j = 0; j < capacity; j++) {
        mxv_dyadic_init(&row->score[j]);
        mpz_init(row->weight[j]);
    }
    mpz_init(row->total);
    return true;
}

void mxv_truth_row_clear(struct mxv_truth_row *row)
{
    for (size_t j = 0; j < row->capacity; j++) {
        mxv_dyadic_clear(&row->score[j]);
        mpz_clear(row->weight[j]);
    }
    mpz_clear(row->total);
    free(row->key);
    free(row->score);
    free(row->weight);
}

void mxv_truth_row_begin(struct mxv_truth_row *row)
{
    row->count = 0;
    row->undefined = false;
}

struct mxv_dyadic *mxv_truth_row_push(struct mxv_truth_row *row, size_t key)
{
    row->key[row->count] = key;
    return &row->score[row->count++];
}

static void find_top(struct mxv_truth_row *row)
{
    row->top = 0;
    for (size_t j = 1; j < row->count; j++)
        if (mxv_dyadic_compare(&row->score[j], &row->score[row->top]) > 0)
            row->top = j;
}

/* ceil(log2 Y), at least 0: the bits lost to the cancellation of two capped scores. */
static unsigned cap_bits(const struct mxv_truth_row *row)
{
    int cap_top;
    long top = 0;
    if (row->softcap == 0)
        return 0;
    (void)frexp(row->softcap, &cap_top);
    for (size_t j = 0; j < row->count; j++) {
        const long t = mxv_dyadic_top(&row->score[j]);
        top = t > top ? t : top;
    }
    top = top < cap_top ? top : cap_top;
    return top > 0 ? (unsigned)top : 0;
}

/* y = softcap * tanh(s / softcap), four roundings to nearest. */
static void cap_nearest(mpfr_t y, const struct mxv_dyadic *s, double softcap)
{
    mxv_dyadic_get_fr(y, s, MPFR_RNDN);
    mpfr_div_d(y, y, softcap, MPFR_RNDN);
    mpfr_tanh(y, y, MPFR_RNDN);
    mpfr_mul_d(y, y, softcap, MPFR_RNDN);
}

/* The weight for the argument x, itself off by a nonzero amount iff `rounded`; true if exact. */
static bool weigh_key(mpz_t weight, mpfr_t x, unsigned base, unsigned grid_bits, bool rounded)
{
    const double lowest = (base == MXV_TRUTH_BINARY ? -1.0 : -0.7) * grid_bits - 1; /* 0.7 > ln 2 */
    if (mpfr_cmp_d(x, lowest) < 0) {
        mpz_set_ui(weight, 0);
        return false;
    }
    int inexact = rounded;
    inexact |= base == MXV_TRUTH_BINARY ? mpfr_exp2(x, x, MPFR_RNDN) : mpfr_exp(x, x, MPFR_RNDN);
    mpfr_mul_2ui(x, x, grid_bits, MPFR_RNDN);
    inexact |= mpfr_get_z(weight, x, MPFR_RNDN);
    return inexact == 0;
}

void mxv_truth_row_weigh(struct mxv_truth_row *row, unsigned grid_bits)
{
    struct mxv_dyadic difference;
    mpfr_t x, top;
    find_top(row);
    row->grid_bits = grid_bits;
    row->precision = grid_bits + 6 + cap_bits(row);
    row->inexact = 0;
    mpz_set_ui(row->total, 0);
    mxv_dyadic_init(&difference);
    mpfr_inits2(row->precision, x, top, (mpfr_ptr)0);
    const struct mxv_dyadic *most = &row->score[row->top];
    if (row->softcap != 0)
        cap_nearest(top, most, row->softcap);
    for (size_t j = 0; j < row->count; j++) {
        mxv_dyadic_sub(&difference, &row->score[j], most);
        if (mpz_sgn(difference.sig) == 0) {
            mpz_set_ui(row->weight[j], 1);
            mpz_mul_2exp(row->weight[j], row->weight[j], grid_bits);
        } else {
            bool rounded = true;
            if (row->softcap != 0) {
                cap_nearest(x, &row->score[j], row->softcap);
                mpfr_sub(x, x, top, MPFR_RNDN);
            } else {
                rounded = mxv_dyadic_get_fr(x, &difference, MPFR_RNDN) != 0;
            }
            row->inexact += !weigh_key(row->weight[j], x, row->base, grid_bits, rounded);
            row->exponentials += mpz_sgn(row->weight[j]) != 0;
        }
        mpz_add(row->total, row->total, row->weight[j]);
    }
    mpfr_clears(x, top, (mpfr_ptr)0);
    mxv_dyadic_clear(&difference);
}

static void cap_directed(mpfr_t y, const struct mxv_dyadic *s, double softcap, mpfr_rnd_t round)
{
    mxv_dyadic_get_fr(y, s, round);
    if (softcap == 0)
        return;
    mpfr_div_d(y, y, softcap, round);
    mpfr_tanh(y, y, round);
    mpfr_mul_d(y, y, softcap, round);
}

void mxv_truth_cap(const struct mxv_dyadic *s, double softcap, mpfr_t lo, mpfr_t hi)
{
    cap_directed(lo, s, softcap, MPFR_RNDD);
    cap_directed(hi, s, softcap, MPFR_RNDU);
}

/* lo and hi times ln 2 (to_natural) or over ln 2, rounded outwards. */
static void change_base(mpfr_t lo, mpfr_t hi, bool to_natural)
{
    mpfr_t down, up;
    mpfr_inits2(mpfr_get_prec(lo), down, up, (mpfr_ptr)0);
    mpfr_const_log2(down, MPFR_RNDD);
    mpfr_const_log2(up, MPFR_RNDU);
    if (to_natural) {
        mpfr_mul(lo, lo, mpfr_sgn(lo) >= 0 ? down : up, MPFR_RNDD);
        mpfr_mul(hi, hi, mpfr_sgn(hi) >= 0 ? up : down, MPFR_RNDU);
    } else {
        mpfr_div(lo, lo, mpfr_sgn(lo) >= 0 ? up : down, MPFR_RNDD);
        mpfr_div(hi, hi, mpfr_sgn(hi) >= 0 ? down : up, MPFR_RNDU);
    }
    mpfr_clears(down, up, (mpfr_ptr)0);
}

/* y = cap(m) + log(sum / 2^grid_bits) in the base of the weights, rounded one way throughout. */
static void lse_bound(const struct mxv_truth_row *row, const mpz_t sum, mpfr_t y, mpfr_rnd_t round)
{
    mpfr_t logarithm;
    mpfr_init2(logarithm, mpfr_get_prec(y));
    mpfr_set_z(logarithm, sum, round);
    mpfr_div_2ui(logarithm, logarithm, row->grid_bits, round);
    if (row->base == MXV_TRUTH_BINARY)
        mpfr_log2(logarithm, logarithm, round);
    else
        mpfr_log(logarithm, logarithm, round);
    cap_directed(y, &row->score[row->top], row->softcap, round);
    mpfr_add(y, y, logarithm, round);
    mpfr_clear(logarithm);
}

/* The exact sum of weights is at least 2^grid_bits, and within `inexact` of the total. */
void mxv_truth_row_lse(const struct mxv_truth_row *row, unsigned lse_base, mpfr_t lo, mpfr_t hi)
{
    mpz_t sum, one;
    mpz_init_set_ui(one, 1);
    mpz_init(sum);
    mpz_mul_2exp(one, one, row->grid_bits);
    mpz_sub_ui(sum, row->total, row->inexact);
    lse_bound(row, mpz_cmp(sum, one) < 0 ? one : sum, lo, MPFR_RNDD);
    mpz_add_ui(sum, row->total, row->inexact);
    lse_bound(row, sum, hi, MPFR_RNDU);
    if (lse_base != row->base)
        change_base(lo, hi, lse_base == MXV_TRUTH_NATURAL);
    mpz_clear(sum);
    mpz_clear(one);
}
