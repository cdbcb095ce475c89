/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact integer sums of the truth: at the full width of their integers, and dots rounded to odd.
 */
#include "direct_attention.h"
#include "random_values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { BITS = 600, SLACK = -400 };

static uint64_t state = 3;

/* |exact - centre| <= radius + slack * 2^SLACK. */
static bool inside(mpfr_t exact, struct mxv_truth_ball ball, double slack)
{
    mpfr_t off, most;
    mpfr_inits2(2 * BITS, off, most, (mpfr_ptr)0);
    mpfr_sub_d(off, exact, ball.centre, MPFR_RNDN);
    mpfr_abs(off, off, MPFR_RNDN);
    mpfr_set_d(most, slack, MPFR_RNDU);
    mpfr_mul_2si(most, most, SLACK, MPFR_RNDU);
    mpfr_add_d(most, most, ball.radius, MPFR_RNDU);
    const bool ok = mpfr_lessequal_p(off, most);
    mpfr_clears(off, most, (mpfr_ptr)0);
    return ok;
}

/*
 * Integer sums at the edge of their width: 62-bit lines at full size, weights just below 1 whose
 * digits are all ones, grids that are multiples of the digit width.
 */
static void test_full_widths(void **unused)
{
    enum { N = 32, LENGTH = 24 };
    static const unsigned grids[] = {58, 59, 61, 62, 116, 118, 122, 124, 186, 200, 236, 248};
    double q[LENGTH], k[N * LENGTH], v[N];
    mpfr_t o, direct_log;
    size_t inside_count = 0, total = 0;
    (void)unused;
    mpfr_inits2(BITS, o, direct_log, (mpfr_ptr)0);
    struct mxv_truth_problem p = (struct mxv_truth_problem){.lq = 1,
                                                            .lk = N,
                                                            .d = LENGTH,
                                                            .dv = 1,
                                                            .routes = 1,
                                                            .q = {q},
                                                            .k = {k},
                                                            .v = v,
                                                            .scale = 1};
    const double large = 0x1.fffffffffffffp61;
    for (size_t wide = 0; wide < 2; wide++)
        for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
            for (size_t n = 2; n <= N; n *= 2) {
                p.lk = n;
                p.scale = wide ? 0x1p-196 : 1; /* dots of 2^128, differences of 2^64 */
                for (size_t e = 0; e < LENGTH; e++)
                    q[e] = wide ? (e ? large : 1) : e == 0;
                for (size_t j = 0; j < n; j++) {
                    for (size_t e = 0; e < LENGTH; e++)
                        k[j * LENGTH + e] =
                            wide ? (e == 1 + j % 3 ? 1 : large) : (e == 0 && j ? -0x1p-190 : 0);
                    v[j] = j == 0 ? 1 : large;
                }
                const struct mxv_truth_options options = {.radius = 0x1p-50, .grid_bits = grids[g]};
                struct mxv_truth_ball out, lse;
                assert_int_equal(mxv_truth_rows(&p, NULL, 1, &options, &out, &lse, NULL), 0);
                assert_true(direct_attention(&p, 0, BITS, &o, direct_log));
                inside_count += inside(o, out, large) && inside(direct_log, lse, 64);
                total++;
            }
    mpfr_clears(o, direct_log, (mpfr_ptr)0);
    printf("full widths: %zu of %zu inside\n", inside_count, total);
    assert_int_equal(inside_count, total);
}

/* Rounded to odd, then to binary32 by the host, equals the exact sum rounded to binary32 once. */
static void test_dot_odd(void **unused)
{
    enum { N = 9 };
    size_t odd = 0, exact = 0, subnormal = 0;
    mpfr_t sum, term;
    mpfr_init2(sum, 6500);
    mpfr_init2(term, 200);
    (void)unused;
    for (int i = 0; i < 4000; i++) {
        double a[N], b[N];
        const int wide = i % 4, low = wide == 3 ? -126 : -3;
        const double scale = ldexp(1, i % 5 - 2);
        mpfr_set_zero(sum, 1);
        for (size_t j = 0; j < N; j++) {
            a[j] = ldexp((double)(int64_t)(draw() >> 40) - 0x1p23, low - (int)(draw() % 9) - 20);
            b[j] = ldexp((double)(draw() % 16) - 8, wide ? -(int)(draw() % 60) : 0);
            mpfr_set_d(term, a[j], MPFR_RNDN);
            mpfr_mul_d(term, term, b[j], MPFR_RNDN);
            mpfr_add(sum, sum, term, MPFR_RNDN);
        }
        mpfr_mul_d(sum, sum, scale, MPFR_RNDN);
        const double got = mxv_truth_dot_odd(a, b, N, scale);
        const float right = mpfr_get_flt(sum, MPFR_RNDN);
        assert_true((float)got == right);
        subnormal += right != 0 && fabsf(right) < 0x1p-126f;
        if (mpfr_cmp_d(sum, got) == 0) {
            exact++;
            continue;
        }
        uint64_t word;
        memcpy(&word, &got, sizeof word);
        assert_true(word & 1);
        assert_true(got == mpfr_get_d(sum, MPFR_RNDZ) || got == mpfr_get_d(sum, MPFR_RNDA));
        odd++;
    }
    mpfr_clears(sum, term, (mpfr_ptr)0);
    printf("dots: %zu exact in binary64, %zu rounded to odd, %zu subnormal in binary32\n", exact,
           odd, subnormal);
    assert_true(exact > 100 && odd > 100 && subnormal > 100);
    const double huge[2] = {0x1p1000, 0x1p1000}, tiny[1] = {0x1p-600}, inf[1] = {INFINITY};
    assert_true(mxv_truth_dot_odd(huge, huge, 2, -1) == -0x1.fffffffffffffp1023);
    assert_true(mxv_truth_dot_odd(tiny, tiny, 1, 1) == 0x1p-1074);
    assert_true(mxv_truth_dot_odd(inf, tiny, 1, -1) == -INFINITY);
    assert_true(isnan(mxv_truth_dot_odd(inf, tiny, 1, 0)));
    assert_true(mxv_truth_dot_odd(huge, huge, 0, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_full_widths),
                                       cmocka_unit_test(test_dot_odd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
