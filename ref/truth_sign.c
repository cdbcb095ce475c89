/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact sign of sum c_i B^(a_i) for dyadic a_i and c_i: the tie-breaker of correct rounding.
 *
 * First the zeros are taken out exactly. Base e: numbers e^a with different rational a are linearly
 * independent over the rationals (Lindemann-Weierstrass), so the sum is 0 iff the c_i of every
 * equal a_i add up to 0. Base 2: write a = n + f, 0 <= f < 1. The numbers 2^f with different dyadic
 * f are independent (they are powers of a root of x^(2^m) - 2, which is irreducible by Eisenstein's
 * criterion), so the sum is 0 iff it is 0 for every f, and sum c_i 2^(n_i) is dyadic. Gaps above
 * GAP between neighbouring exponents cut such a class into clusters, because the c_i span far fewer
 * bits: |c| < 2^1100, a multiple of 2^-1100.
 *
 * What is left are terms with nonzero c and a nonzero sum. Relative to the largest a they are
 * enclosed by MPFR with directed rounding at 128, 256, ... bits until 0 is outside: this ends. With
 * a softcap the exponents are values of tanh, about which no such theorem is used: equal a_i are
 * still added up, differences of saturated tanh (2^-20000 and less) are formed without
 * cancellation, and the loop gives up at CAP_BITS.
 *
 * If this file is wrong, unit.truth_round fails (ties, and ties with a perturbation of e^-1e30).
 */
#include "truth_internal.h"

#include <stdlib.h>

enum { GAP = 4096, CAP_BITS = 16384 };

/* The order of classes, then falling exponents. */
static int order_terms(const void *x, const void *y)
{
    const struct mxv_truth_term *const s = x, *const t = y;
    const int class = mxv_dyadic_compare(&s->fraction, &t->fraction);
    return class ? class : mxv_dyadic_compare(&t->a, &s->a);
}

static void set_fraction(struct mxv_truth_term *t, bool binary)
{
    t->fraction.exp = 0;
    mpz_set_ui(t->fraction.sig, 0);
    if (binary && t->a.exp < 0) {
        mpz_fdiv_r_2exp(t->fraction.sig, t->a.sig, (mp_bitcnt_t)-t->a.exp);
        t->fraction.exp = mpz_sgn(t->fraction.sig) ? t->a.exp : 0;
    }
}

/* a - b if it is an integer 0 .. GAP (0 only in base e), else -1. Needs a >= b, same fraction. */
static long gap_between(const struct mxv_dyadic *a, const struct mxv_dyadic *b, bool binary)
{
    struct mxv_dyadic gap;
    long result = -1;
    mxv_dyadic_init(&gap);
    mxv_dyadic_sub(&gap, a, b);
    if (mpz_sgn(gap.sig) == 0)
        result = 0;
    else if (binary && mxv_dyadic_top(&gap) <= 12) { /* < 2^12 = GAP */
        mpz_t whole;
        mpz_init(whole);
        if (gap.exp >= 0)
            mpz_mul_2exp(whole, gap.sig, (mp_bitcnt_t)gap.exp);
        else
            mpz_tdiv_q_2exp(whole, gap.sig, (mp_bitcnt_t)-gap.exp);
        result = (long)mpz_get_ui(whole);
        mpz_clear(whole);
    }
    mxv_dyadic_clear(&gap);
    return result;
}

/* Adds up the clusters in place; returns how many terms with nonzero c remain, at the front. */
static size_t collect(struct mxv_truth_term *terms, size_t n, bool binary)
{
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        size_t next = i + 1;
        long gap;
        for (; next < n && mxv_dyadic_compare(&terms[i].fraction, &terms[next].fraction) == 0;
             next++) {
            gap = gap_between(&terms[i].a, &terms[next].a, binary);
            if (gap < 0)
                break;
            /* c 2^a = (c 2^gap) 2^(a - gap): carry the sum down to the next exponent. */
            if (mpz_sgn(terms[i].c.sig))
                terms[i].c.exp += gap;
            mxv_dyadic_add(&terms[i].c, &terms[i].c, &terms[next].c);
            mxv_dyadic_copy(&terms[i].a, &terms[next].a);
        }
        if (mpz_sgn(terms[i].c.sig)) {
            mxv_dyadic_copy(&terms[kept].a, &terms[i].a);
            mxv_dyadic_copy(&terms[kept].c, &terms[i].c);
            kept++;
        }
        i = next;
    }
    return kept;
}

static mpfr_rnd_t opposite(mpfr_rnd_t round)
{
    return round == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD;
}

/* y = cosh(|s| / softcap), rounded one way. */
static void cosine(mpfr_t y, const struct mxv_dyadic *s, double softcap, mpfr_rnd_t round)
{
    mxv_dyadic_get_fr(y, s, mpz_sgn(s->sig) >= 0 ? round : opposite(round));
    mpfr_abs(y, y, round);
    mpfr_div_d(y, y, softcap, round);
    mpfr_cosh(y, y, round);
}

/* x = (cap(a) - cap(top)) ln B for a < top, with no cancellation, rounded one way:
 * tanh u - tanh w = -sinh(w - u) / (cosh u cosh w). */
static void capped_argument(mpfr_t x, const struct mxv_dyadic *a, const struct mxv_dyadic *top,
                            unsigned base, double softcap, mpfr_rnd_t round)
{
    const mpfr_rnd_t size = opposite(round); /* x is negative: its size goes the other way */
    struct mxv_dyadic difference;
    mpfr_t factor;
    mpfr_init2(factor, mpfr_get_prec(x));
    mxv_dyadic_init(&difference);
    mxv_dyadic_sub(&difference, top, a);
    mxv_dyadic_get_fr(x, &difference, size);
    mpfr_div_d(x, x, softcap, size);
    mpfr_sinh(x, x, size);
    mpfr_mul_d(x, x, softcap, size);
    cosine(factor, a, softcap, round);
    mpfr_div(x, x, factor, size);
    cosine(factor, top, softcap, round);
    mpfr_div(x, x, factor, size);
    if (base == MXV_TRUTH_BINARY) {
        mpfr_const_log2(factor, size);
        mpfr_mul(x, x, factor, size);
    }
    mpfr_neg(x, x, round);
    mxv_dyadic_clear(&difference);
    mpfr_clear(factor);
}

/* y = B^(a - top), or B^(cap(a) - cap(top)) - 1 with a softcap, rounded one way. */
static void exponential(mpfr_t y, const struct mxv_dyadic *a, const struct mxv_dyadic *top,
                        unsigned base, double softcap, mpfr_rnd_t round)
{
    if (softcap != 0) {
        mpfr_set_zero(y, 1);
        if (a != top) {
            capped_argument(y, a, top, base, softcap, round);
            mpfr_expm1(y, y, round);
        }
        return;
    }
    struct mxv_dyadic difference;
    mxv_dyadic_init(&difference);
    mxv_dyadic_sub(&difference, a, top);
    mxv_dyadic_get_fr(y, &difference, round);
    mxv_dyadic_clear(&difference);
    if (base == MXV_TRUTH_BINARY)
        mpfr_exp2(y, y, round);
    else
        mpfr_exp(y, y, round);
}

/* x *= c, rounded one way. */
static void times(mpfr_t x, const struct mxv_dyadic *c, mpfr_rnd_t round)
{
    mpfr_mul_z(x, x, c->sig, round);
    mpfr_mul_2si(x, x, c->exp, round);
}

/* One bound of the sum: with a softcap sum c + sum c (w - 1), where small 1 - w keep their digits.
 */
static void sum_bound(mpfr_t sum, const struct mxv_truth_term *terms, size_t n,
                      const struct mxv_dyadic *top, unsigned base, double softcap, mpfr_rnd_t round)
{
    struct mxv_dyadic all;
    mpfr_t y;
    mpfr_init2(y, mpfr_get_prec(sum));
    mxv_dyadic_init(&all);
    for (size_t i = 0; softcap != 0 && i < n; i++)
        mxv_dyadic_add(&all, &all, &terms[i].c);
    mxv_dyadic_get_fr(sum, &all, round);
    for (size_t i = 0; i < n; i++) {
        const bool positive = mpz_sgn(terms[i].c.sig) > 0;
        exponential(y, &terms[i].a, top, base, softcap, positive ? round : opposite(round));
        times(y, &terms[i].c, round);
        mpfr_add(sum, sum, y, round);
    }
    mxv_dyadic_clear(&all);
    mpfr_clear(y);
}

/* The sign at one precision, 0 if open. */
static int sign_at(const struct mxv_truth_term *terms, size_t n, const struct mxv_dyadic *top,
                   unsigned base, double softcap, mpfr_prec_t precision)
{
    mpfr_t lo, hi;
    mpfr_inits2(precision, lo, hi, (mpfr_ptr)0);
    sum_bound(lo, terms, n, top, base, softcap, MPFR_RNDD);
    sum_bound(hi, terms, n, top, base, softcap, MPFR_RNDU);
    const int sign = mpfr_sgn(lo) > 0 ? 1 : mpfr_sgn(hi) < 0 ? -1 : 0;
    mpfr_clears(lo, hi, (mpfr_ptr)0);
    return sign;
}

int mxv_truth_sign(struct mxv_truth_term *terms, size_t n, unsigned base, double softcap)
{
    const bool binary = base == MXV_TRUTH_BINARY && softcap == 0;
    for (size_t i = 0; i < n; i++)
        set_fraction(&terms[i], binary);
    qsort(terms, n, sizeof *terms, order_terms);
    const size_t kept = collect(terms, n, binary);
    if (kept == 0)
        return 0;
    const struct mxv_dyadic *top = &terms[0].a;
    for (size_t i = 1; i < kept; i++)
        if (mxv_dyadic_compare(&terms[i].a, top) > 0)
            top = &terms[i].a;
    for (mpfr_prec_t precision = 128;; precision *= 2) {
        const int sign = sign_at(terms, kept, top, base, softcap, precision);
        if (sign != 0)
            return sign;
        if (softcap != 0 && precision >= CAP_BITS)
            return 2;
    }
}
