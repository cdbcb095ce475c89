/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact dot products of binary64 operands.
 *
 * Each line of operands (a row of q or k, a column of v) is turned once into integers over a common
 * power of two. If the widths of two lines and log2 of the length fit 62 or 126 bits, the dot is a
 * plain sum in int64 or __int128 that cannot overflow: |sum| < n * 2^(bits_q + bits_k).
 * Low-precision operands nearly always take the first. A line whose exponents spread over more than
 * 62 bits has no image, and the dot is summed from the doubles in a GMP integer over the smallest
 * exponent among the products.
 *
 * Exact: all of it; mxv_truth_dot_odd rounds once, to odd. If this file is wrong,
 * unit.truth_oracles (counts the three widths and wants each) and unit.truth_widths fail.
 */
#include "truth_internal.h"

#include <float.h>
#include <limits.h>
#include <math.h>

static bool span(const double *x, size_t n, size_t stride, int *low, int *high)
{
    *low = INT_MAX;
    *high = INT_MIN;
    for (size_t i = 0; i < n; i++) {
        const double value = x[i * stride];
        int exp;
        if (!isfinite(value))
            return false;
        if (value == 0)
            continue;
        const int64_t odd = mxv_double_split(value, &exp);
        const int top = exp + 64 - __builtin_clzll((uint64_t)(odd < 0 ? -odd : odd));
        *low = exp < *low ? exp : *low;
        *high = top > *high ? top : *high;
    }
    return true;
}

struct mxv_truth_line mxv_truth_line_build(const double *x, size_t n, size_t stride, int64_t *sig)
{
    struct mxv_truth_line line = {0, 0};
    int low, high;
    if (!span(x, n, stride, &low, &high)) {
        line.bits = MXV_LINE_SPECIAL;
    } else if (low <= high) {
        line.exp = low;
        line.bits = high - low <= 62 ? high - low : MXV_LINE_WIDE;
    }
    for (size_t i = 0; i < n; i++) {
        int exp;
        const int64_t odd = line.bits > 0 ? mxv_double_split(x[i * stride], &exp) : 0;
        sig[i * stride] = odd ? odd * ((int64_t)1 << (exp - line.exp)) : 0;
    }
    return line;
}

static int64_t dot_int64(const int64_t *a, const int64_t *b, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static mxv_int128 dot_int128(const int64_t *a, const int64_t *b, size_t n)
{
    mxv_int128 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (mxv_int128)a[i] * b[i];
    return sum;
}

static void dot_wide(struct mxv_dyadic *r, const double *a, const double *b, size_t n)
{
    struct mxv_dyadic x, y;
    mpz_t shifted;
    long low = 0;
    for (size_t i = 0; i < n; i++) {
        int ea, eb;
        if (mxv_double_split(a[i], &ea) && mxv_double_split(b[i], &eb) && ea + eb < low)
            low = ea + eb;
    }
    mxv_dyadic_init(&x);
    mxv_dyadic_init(&y);
    mpz_init(shifted);
    mpz_set_ui(r->sig, 0);
    for (size_t i = 0; i < n; i++) {
        mxv_dyadic_set_double(&x, a[i]);
        mxv_dyadic_set_double(&y, b[i]);
        mxv_dyadic_mul(&x, &x, &y);
        if (mpz_sgn(x.sig) == 0)
            continue;
        mpz_mul_2exp(shifted, x.sig, (mp_bitcnt_t)(x.exp - low));
        mpz_add(r->sig, r->sig, shifted);
    }
    r->exp = mpz_sgn(r->sig) ? low : 0;
    mpz_clear(shifted);
    mxv_dyadic_clear(&y);
    mxv_dyadic_clear(&x);
}

enum mxv_truth_width mxv_truth_dot(struct mxv_dyadic *r, struct mxv_truth_line ql,
                                   const int64_t *qs, const double *qx, struct mxv_truth_line kl,
                                   const int64_t *ks, const double *kx, size_t d)
{
    const long exp = (long)ql.exp + kl.exp;
    const int bits = ql.bits + kl.bits + (int)mxv_ceil_log2(d);
    if (ql.bits < 0 || kl.bits < 0 || bits > 126) {
        dot_wide(r, qx, kx, d);
        return MXV_WIDTH_WIDE;
    }
    if (bits > 62) {
        mxv_dyadic_set_int128(r, dot_int128(qs, ks, d), exp);
        return MXV_WIDTH_INT128;
    }
    mpz_set_si(r->sig, dot_int64(qs, ks, d));
    r->exp = mpz_sgn(r->sig) ? exp : 0;
    return MXV_WIDTH_INT64;
}

double mxv_truth_dot_special(const double *a, const double *b, size_t n, double scale)
{
    bool plus = false, minus = false;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(a[i]) && isfinite(b[i]))
            continue;
        if (isnan(a[i]) || isnan(b[i]) || a[i] == 0 || b[i] == 0)
            return NAN;
        if (!signbit(a[i]) == !signbit(b[i]))
            plus = true;
        else
            minus = true;
    }
    if (!plus && !minus)
        return isfinite(scale) ? 0 : NAN;
    return plus && minus ? NAN : (plus ? INFINITY : -INFINITY) * scale;
}

/* Truncates x to binary64 and sets the last bit if anything was cut off. */
static double round_to_odd(const struct mxv_dyadic *x)
{
    const long top = mxv_dyadic_top(x);
    if (mpz_sgn(x->sig) == 0)
        return 0;
    if (top > DBL_MAX_EXP)
        return mpz_sgn(x->sig) > 0 ? DBL_MAX : -DBL_MAX;
    const long normal = top - DBL_MANT_DIG, least = DBL_MIN_EXP - DBL_MANT_DIG;
    const long quantum = normal > least ? normal : least;
    mpz_t kept;
    mpz_init(kept);
    if (quantum <= x->exp) {
        mpz_set(kept, x->sig);
    } else {
        mpz_abs(kept, x->sig);
        const bool cut = mpz_scan1(kept, 0) < (mp_bitcnt_t)(quantum - x->exp);
        mpz_tdiv_q_2exp(kept, kept, (mp_bitcnt_t)(quantum - x->exp));
        if (cut)
            mpz_setbit(kept, 0);
        if (mpz_sgn(x->sig) < 0)
            mpz_neg(kept, kept);
    }
    const double result = ldexp(mpz_get_d(kept), (int)(quantum <= x->exp ? x->exp : quantum));
    mpz_clear(kept);
    return result;
}

double mxv_truth_dot_odd(const double *a, const double *b, size_t n, double scale)
{
    const double special = mxv_truth_dot_special(a, b, n, scale);
    if (special != 0)
        return special;
    struct mxv_dyadic sum, factor;
    mxv_dyadic_init(&sum);
    mxv_dyadic_init(&factor);
    dot_wide(&sum, a, b, n);
    mxv_dyadic_set_double(&factor, scale);
    mxv_dyadic_mul(&sum, &sum, &factor);
    const double result = round_to_odd(&sum);
    mxv_dyadic_clear(&factor);
    mxv_dyadic_clear(&sum);
    return result;
}
