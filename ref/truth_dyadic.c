/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dyadic numbers sig * 2^exp on GMP integers, and the way out of them to binary64.
 *
 * Exact: every operation but mxv_dyadic_get_fr (rounds as told) and mxv_truth_ball_of (radius
 * rounded up). A binary64 value is dyadic with |exp| < 1100, sums and products of a few of them
 * stay small. If this file is wrong, unit.truth_oracles (against exact rationals and a direct
 * evaluation) fails.
 */
#include "truth_internal.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

void mxv_dyadic_init(struct mxv_dyadic *x)
{
    mpz_init(x->sig);
    x->exp = 0;
}

void mxv_dyadic_clear(struct mxv_dyadic *x)
{
    mpz_clear(x->sig);
}

void mxv_dyadic_copy(struct mxv_dyadic *to, const struct mxv_dyadic *from)
{
    mpz_set(to->sig, from->sig);
    to->exp = from->exp;
}

int64_t mxv_double_split(double x, int *exp)
{
    assert(isfinite(x));
    if (x == 0) {
        *exp = 0;
        return 0;
    }
    enum { FRACTION = DBL_MANT_DIG - 1, LEAST = DBL_MIN_EXP - DBL_MANT_DIG };
    const uint64_t hidden = (uint64_t)1 << FRACTION;
    uint64_t word;
    memcpy(&word, &x, sizeof word);
    const int field = (int)(word >> FRACTION & 0x7ff);
    const uint64_t sig = (word & (hidden - 1)) | (field ? hidden : 0);
    const int zeros = __builtin_ctzll(sig);
    *exp = LEAST + (field ? field - 1 : 0) + zeros;
    return signbit(x) ? -(int64_t)(sig >> zeros) : (int64_t)(sig >> zeros);
}

void mxv_dyadic_set_double(struct mxv_dyadic *x, double value)
{
    int exp;
    mpz_set_si(x->sig, mxv_double_split(value, &exp));
    x->exp = exp;
}

void mxv_dyadic_set_int128(struct mxv_dyadic *x, mxv_int128 sig, long exp)
{
    const uint64_t low = (uint64_t)sig;
    const int64_t high = (int64_t)((sig - (mxv_int128)low) / ((mxv_int128)1 << 64));
    mpz_set_si(x->sig, high);
    mpz_mul_2exp(x->sig, x->sig, 64);
    mpz_add_ui(x->sig, x->sig, low);
    x->exp = sig ? exp : 0;
}

static void combine(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b,
                    void (*op)(mpz_ptr, mpz_srcptr, mpz_srcptr))
{
    const long low = a->exp < b->exp ? a->exp : b->exp;
    mpz_t x, y;
    mpz_init(x);
    mpz_init(y);
    mpz_mul_2exp(x, a->sig, (mp_bitcnt_t)(a->exp - low));
    mpz_mul_2exp(y, b->sig, (mp_bitcnt_t)(b->exp - low));
    op(r->sig, x, y);
    r->exp = mpz_sgn(r->sig) ? low : 0;
    mpz_clear(x);
    mpz_clear(y);
}

void mxv_dyadic_add(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b)
{
    combine(r, a, b, mpz_add);
}

void mxv_dyadic_sub(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b)
{
    combine(r, a, b, mpz_sub);
}

void mxv_dyadic_mul(struct mxv_dyadic *r, const struct mxv_dyadic *a, const struct mxv_dyadic *b)
{
    const long exp = a->exp + b->exp;
    mpz_mul(r->sig, a->sig, b->sig);
    r->exp = mpz_sgn(r->sig) ? exp : 0;
}

long mxv_dyadic_top(const struct mxv_dyadic *x)
{
    return mpz_sgn(x->sig) ? (long)mpz_sizeinbase(x->sig, 2) + x->exp : LONG_MIN;
}

int mxv_dyadic_compare(const struct mxv_dyadic *a, const struct mxv_dyadic *b)
{
    const int sign = mpz_sgn(a->sig);
    if (sign != mpz_sgn(b->sig))
        return sign < mpz_sgn(b->sig) ? -1 : 1;
    if (sign == 0)
        return 0;
    if (a->exp == b->exp)
        return mpz_cmp(a->sig, b->sig);
    const long ta = mxv_dyadic_top(a), tb = mxv_dyadic_top(b);
    if (ta != tb)
        return (ta < tb) == (sign > 0) ? -1 : 1;
    struct mxv_dyadic difference;
    mxv_dyadic_init(&difference);
    mxv_dyadic_sub(&difference, a, b);
    const int order = mpz_sgn(difference.sig);
    mxv_dyadic_clear(&difference);
    return order;
}

int mxv_dyadic_get_fr(mpfr_t r, const struct mxv_dyadic *x, mpfr_rnd_t round)
{
    return mpfr_set_z_2exp(r, x->sig, x->exp, round);
}

unsigned mxv_ceil_log2(size_t n)
{
    unsigned bits = 0;
    while (bits < 63 && ((size_t)1 << bits) < n)
        bits++;
    return bits;
}

struct mxv_truth_ball mxv_truth_ball_of(mpfr_t lo, mpfr_t hi)
{
    struct mxv_truth_ball ball;
    mpfr_t middle, a, b;
    mpfr_inits2(mpfr_get_prec(lo) + 2, middle, a, b, (mpfr_ptr)0);
    mpfr_add(middle, lo, hi, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    ball.centre = mpfr_get_d(middle, MPFR_RNDN);
    if (isinf(ball.centre)) {
        ball.centre = copysign(DBL_MAX, ball.centre);
        ball.radius = INFINITY;
    } else {
        mpfr_sub_d(a, hi, ball.centre, MPFR_RNDU);
        mpfr_d_sub(b, ball.centre, lo, MPFR_RNDU);
        mpfr_max(a, a, b, MPFR_RNDU);
        ball.radius = mpfr_get_d(a, MPFR_RNDU);
    }
    mpfr_clears(middle, a, b, (mpfr_ptr)0);
    ball.centre += 0.0; /* -0 becomes +0 */
    return ball;
}
