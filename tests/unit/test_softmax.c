// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps of the online softmax on values whose results are exact by arithmetic: powers of two,
// integers, and orders of addition told apart by numbers that absorb each other.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <mxverify/softmax.h>

static const struct mxv_softmax log2_quad = {.log2_scores = true, .sum = MXV_SUM_QUAD};

static void test_start_and_max(void **state)
{
    (void)state;
    struct mxv_softmax_row row;
    struct mxv_softmax finite = {.finite = true}, released = {.unguarded = true};
    const float s[] = {NAN, 3, -INFINITY, 7, NAN}, masked[] = {-INFINITY, NAN};
    mxv_softmax_start(&log2_quad, &row);
    assert_true(isinf(row.m) && row.m < 0 && row.l[0] == 0);
    mxv_softmax_start(&finite, &row);
    assert_true(row.m == -5.0e6f);
    mxv_softmax_start(&released, &row);
    assert_true(isinf(row.m) && row.l[0] == 1 && row.l[1] == 0);
    assert_true(mxv_softmax_max(-INFINITY, s, 5) == 7); // NaN is ignored
    assert_true(mxv_softmax_max(9, s, 5) == 9);
    assert_true(mxv_softmax_max(-INFINITY, masked, 2) == -INFINITY);
}

static void test_lazy_rescale(void **state)
{
    (void)state;
    struct mxv_softmax p = {.log2_scores = true, .tau = 8};
    assert_true(mxv_softmax_keep(&p, 0, 8) == 0);         // delta = -8 is still kept
    assert_true(mxv_softmax_keep(&p, 0, 8.5f) == 8.5f);   // beyond
    assert_true(mxv_softmax_keep(&p, -INFINITY, 3) == 3); // the first tile always takes its maximum
    assert_true(mxv_softmax_keep(&log2_quad, 0, 1) == 1); // tau = 0: never lazy
    struct mxv_softmax natural = {.c = 0.5f, .tau = 8};
    assert_true(mxv_softmax_keep(&natural, 0, 16) == 0); // delta in log2 units: 16 * 0.5
    assert_true(mxv_softmax_keep(&natural, 0, 17) == 17);
}

static void test_rescale_and_shift(void **state)
{
    (void)state;
    struct mxv_softmax p = {.c = 2, .offset = 8};
    assert_true(mxv_softmax_rescale(&log2_quad, -INFINITY, 3) == 0);
    assert_true(mxv_softmax_rescale(&log2_quad, 3, 3) == 1);
    assert_true(mxv_softmax_rescale(&log2_quad, 1, 4) == 0.125f);
    assert_true(mxv_softmax_rescale(&p, 1, 3) == 0.0625f); // 2^((1-3)*2)
    assert_true(mxv_softmax_shift(&log2_quad, -INFINITY) == 0);
    assert_true(mxv_softmax_shift(&p, 5) == 2);            // 5*2 - 8
    assert_true(mxv_softmax_weight(&p, 5, 2) == 256);      // the maximum becomes 2^8
    assert_true(mxv_softmax_weight_by(&p, 5, 3, 12) == 8); // 2^(5 * 3 - 12), whatever c is
    assert_true(mxv_softmax_weight(&log2_quad, -INFINITY, 0) == 0);
    assert_true(isnan(mxv_softmax_weight(&log2_quad, NAN, 0)));
}

static void test_exponentials(void **state)
{
    (void)state;
    // 2^-126.5 : flushed by ex2.approx.ftz, a subnormal when correctly rounded, near zero in FA4's
    struct mxv_softmax cr = {.log2_scores = true, .exp = MXV_EXP_CR};
    struct mxv_softmax poly = {.log2_scores = true, .exp = MXV_EXP_POLY};
    assert_true(mxv_softmax_weight(&log2_quad, -126.5f, 0) == 0);
    assert_true(mxv_softmax_weight(&cr, -127, 0) == 0x1p-127f);
    assert_true(mxv_softmax_weight(&poly, -3, 0) == 0.125f);
    float x = mxv_softmax_weight(&poly, -0.5f, 0);
    assert_true(fabs(x / 0x1.6a09e667f3bcdp-1 - 1) < 8.8e-5); // sqrt(1/2), documented bound
}

static void test_lane_order(void **state)
{
    (void)state;
    // 2^24 absorbs a following 1 but not a preceding 2: the lanes decide
    float w[8] = {0x1p24f, 1, 1, 1, 0, 0, 0, 0}; // lane 0: 2^24 + 1 -> 2^24; lane 1: 2
    struct mxv_softmax_row row = {0, {0}};
    mxv_softmax_add(&log2_quad, &row, 0, w, 8);
    assert_true(row.l[0] == 0x1p24f && row.l[1] == 2);
    assert_true(mxv_softmax_total(&log2_quad, &row) == 0x1p24f + 2);
    struct mxv_softmax pair = {.log2_scores = true, .sum = MXV_SUM_PAIR};
    struct mxv_softmax_row other = {0, {0}};
    mxv_softmax_add(&pair, &other, 0, w, 8); // even columns 2^24, then 1 (absorbed); odd 1 + 1
    assert_true(other.l[0] == 0x1p24f && other.l[1] == 2);
    // the running lane enters by one fma: 3 * 2^-1 + 1
    struct mxv_softmax_row running = {0, {3, 0, 0, 0}};
    float ones[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    mxv_softmax_add(&log2_quad, &running, 0.5f, ones, 8);
    assert_true(running.l[0] == 2.5f);
    struct mxv_softmax tile = {.log2_scores = true, .sum = MXV_SUM_TILE, .unguarded = true};
    struct mxv_softmax_row released = {0, {1, 0, 0, 0}};
    mxv_softmax_add(&tile, &released, 0, ones, 8); // l starts at 1, the first alpha is 0
    assert_true(released.l[0] == 1);
}

static void test_lse(void **state)
{
    (void)state;
    assert_true(mxv_softmax_lse(&log2_quad, 3, 4, MXV_LSE_TWO) == 5);
    assert_true(mxv_softmax_lse(&log2_quad, 3, 4, MXV_LSE_E) == 5 * 0x1.62e43p-1f);
    assert_true(mxv_softmax_lse(&log2_quad, 3, 0, MXV_LSE_TWO) == -INFINITY);
    struct mxv_softmax nan_empty = {.log2_scores = true, .empty = MXV_EMPTY_NAN};
    assert_true(isnan(mxv_softmax_lse(&nan_empty, -INFINITY, 0, MXV_LSE_E)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_and_max),     cmocka_unit_test(test_lazy_rescale),
        cmocka_unit_test(test_rescale_and_shift), cmocka_unit_test(test_exponentials),
        cmocka_unit_test(test_lane_order),        cmocka_unit_test(test_lse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
