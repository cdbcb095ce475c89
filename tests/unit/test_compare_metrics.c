// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics against their definitions evaluated by MPFR at 300 bits, against cases worked out by
// hand, and against the published figures they are named after.
#include "splitmix.h"

#include <mxverify/compare.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

enum { BITS = 300, ELEMENTS = 20000 };

static uint32_t word_of(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

// Sums of the definitions, each term and addition at 300 bits.
struct exact_sums {
    mpfr_t error, error_abs, error_squared, expected_abs, expected_squared, test_squared, product;
};

static void sums_init(struct exact_sums *s)
{
    mpfr_inits2(BITS, s->error, s->error_abs, s->error_squared, s->expected_abs,
                s->expected_squared, s->test_squared, s->product, (mpfr_ptr)0);
    mpfr_ptr all[] = {s->error,        s->error_abs,        s->error_squared,
                      s->expected_abs, s->expected_squared, s->test_squared,
                      s->product};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mpfr_set_zero(all[i], 1);
}

static void sums_clear(struct exact_sums *s)
{
    mpfr_clears(s->error, s->error_abs, s->error_squared, s->expected_abs, s->expected_squared,
                s->test_squared, s->product, (mpfr_ptr)0);
    mpfr_free_cache();
}

static void sums_add(struct exact_sums *s, double test, double expected)
{
    mpfr_t t, r, x;
    mpfr_inits2(BITS, t, r, x, (mpfr_ptr)0);
    mpfr_set_d(t, test, MPFR_RNDN);
    mpfr_set_d(r, expected, MPFR_RNDN);
    mpfr_sub(x, t, r, MPFR_RNDN);
    mpfr_add(s->error, s->error, x, MPFR_RNDN);
    mpfr_abs(x, x, MPFR_RNDN);
    mpfr_add(s->error_abs, s->error_abs, x, MPFR_RNDN);
    mpfr_sqr(x, x, MPFR_RNDN);
    mpfr_add(s->error_squared, s->error_squared, x, MPFR_RNDN);
    mpfr_abs(x, r, MPFR_RNDN);
    mpfr_add(s->expected_abs, s->expected_abs, x, MPFR_RNDN);
    mpfr_sqr(x, r, MPFR_RNDN);
    mpfr_add(s->expected_squared, s->expected_squared, x, MPFR_RNDN);
    mpfr_sqr(x, t, MPFR_RNDN);
    mpfr_add(s->test_squared, s->test_squared, x, MPFR_RNDN);
    mpfr_mul(x, t, r, MPFR_RNDN);
    mpfr_add(s->product, s->product, x, MPFR_RNDN);
    mpfr_clears(t, r, x, (mpfr_ptr)0);
}

static double quotient(mpfr_srcptr a, mpfr_srcptr b, bool root)
{
    mpfr_t x;
    mpfr_init2(x, BITS);
    mpfr_div(x, a, b, MPFR_RNDN);
    if (root)
        mpfr_sqrt(x, x, MPFR_RNDN);
    double result = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    return result;
}

static double exact_cosine(const struct exact_sums *s)
{
    mpfr_t norm;
    mpfr_init2(norm, BITS);
    mpfr_mul(norm, s->test_squared, s->expected_squared, MPFR_RNDN);
    mpfr_sqrt(norm, norm, MPFR_RNDN);
    double result = quotient(s->product, norm, false);
    mpfr_clear(norm);
    return result;
}

static void assert_close(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", got, expected);
}

static void test_against_mpfr(void **state)
{
    (void)state;
    struct mxv_metrics m;
    struct exact_sums sums;
    uint64_t seed = 77;
    double max_abs = 0;
    mxv_metrics_init(&m, MXV_F32, 10);
    sums_init(&sums);
    for (int i = 0; i < ELEMENTS; i++) {
        double exact = ((double)(splitmix_next(&seed) >> 11) * 0x1p-53 - 0.5) *
                       ldexp(1, (int)(splitmix_next(&seed) % 20));
        float test = (float)(exact * (1 + 1e-3 * (double)(splitmix_next(&seed) >> 11) * 0x1p-53));
        struct mxv_truth_ball ball = {exact, 0};
        mxv_metrics_add_exact(&m, word_of(test), ball);
        sums_add(&sums, test, exact);
        max_abs = fmax(max_abs, fabs(test - exact));
    }
    double v[MXV_METRIC_COUNT];
    mxv_metrics_finish(&m, v);
    mpfr_t n;
    mpfr_init2(n, BITS);
    mpfr_set_ui(n, ELEMENTS, MPFR_RNDN);
    double rmse = quotient(sums.error_squared, n, true);
    assert_close(v[MXV_METRIC_REL_L2], quotient(sums.error_squared, sums.expected_squared, true),
                 1e-15);
    assert_close(v[MXV_METRIC_L1], quotient(sums.error_abs, sums.expected_abs, false), 1e-15);
    assert_close(v[MXV_METRIC_RMSE], rmse, 1e-15);
    assert_close(v[MXV_METRIC_BIAS], quotient(sums.error, n, false), 1e-13);
    assert_close(v[MXV_METRIC_COSINE], exact_cosine(&sums), 1e-15);
    assert_close(v[MXV_METRIC_PSNR], 20 * log10(10 / rmse), 1e-14);
    assert_true(v[MXV_METRIC_MAX_ABS] == max_abs);
    assert_true(isnan(v[MXV_METRIC_WORDS])); // no expected word was given
    assert_int_equal(m.numbers, ELEMENTS);
    mpfr_clear(n);
    sums_clear(&sums);
}

// A plain sum of these differences gives 0: 2^60 + 1 rounds to 2^60.
static void test_cancelling_bias(void **state)
{
    (void)state;
    const float test[] = {0x1p60f, 1.0f, -0x1p60f};
    struct mxv_metrics m;
    mxv_metrics_init(&m, MXV_F32, 1);
    for (int i = 0; i < 3; i++)
        mxv_metrics_add_word(&m, word_of(test[i]), word_of(0));
    assert_true(mxv_metric_value(&m, MXV_METRIC_BIAS) == 1.0 / 3.0);
}

// t = 1, 2, 3, NaN, Inf, -Inf, NaN, 5 against r = 1, 4, 3, NaN, Inf, Inf, 2, NaN in binary16.
static void test_words_by_hand(void **state)
{
    (void)state;
    const uint16_t test[] = {0x3C00, 0x4000, 0x4200, 0x7E00, 0x7C00, 0xFC00, 0x7FFF, 0x4500};
    const uint16_t expected[] = {0x3C00, 0x4400, 0x4200, 0x7FFF, 0x7C00, 0x7C00, 0x4000, 0x7E00};
    struct mxv_metrics m;
    mxv_metrics_init(&m, MXV_F16, 10);
    for (int i = 0; i < 8; i++)
        mxv_metrics_add_word(&m, test[i], expected[i]);
    double v[MXV_METRIC_COUNT];
    mxv_metrics_finish(&m, v);
    assert_int_equal(m.elements, 8);
    assert_int_equal(m.numbers, 3);
    assert_true(v[MXV_METRIC_WORDS] == 4); // 2/4, -Inf/Inf, NaN/2, 5/NaN; NaN equals NaN
    assert_true(v[MXV_METRIC_NAN] == 2);
    assert_true(v[MXV_METRIC_INF] == 1);
    assert_true(v[MXV_METRIC_ULP_MAX] == INFINITY);
    assert_int_equal(m.ulp_max_at, 6);
    assert_true(v[MXV_METRIC_ULP_MEAN] == 1024.0 / 3.0); // 2 to 4 is one binade of 1024 codes
    assert_true(v[MXV_METRIC_MAX_ABS] == 2);
    assert_true(v[MXV_METRIC_REL_L2] == sqrt(4.0 / 26.0)); // r: 1 + 16 + 9
    assert_true(v[MXV_METRIC_L1] == 2.0 / 8.0);
    assert_true(v[MXV_METRIC_BIAS] == -2.0 / 3.0);
    assert_close(v[MXV_METRIC_COSINE], 18.0 / sqrt(14.0 * 26.0), 1e-15); // 1 + 8 + 9
}

static void test_exact_by_hand(void **state)
{
    (void)state;
    struct mxv_metrics m;
    mxv_metrics_init(&m, MXV_F16, 10);
    struct mxv_truth_ball overflowing = {65520, 0}, barely = {65519, 0}, near = {1.5, 0x1p-12};
    mxv_metrics_add_exact(&m, 0x7C00, overflowing); // IEEE overflow rounds 65520 to Inf: right
    assert_int_equal(m.inf, 0);
    mxv_metrics_add_exact(&m, 0x7C00, barely); // and 65519 to 65504: wrong
    assert_int_equal(m.inf, 1);
    mxv_metrics_add_exact(&m, 0x3E01, near);
    assert_int_equal(m.numbers, 1);
    assert_true(mxv_metric_value(&m, MXV_METRIC_ULP_MEAN) == 1);
    assert_true(mxv_metric_value(&m, MXV_METRIC_ULP_SLACK) == 0.25);
}

static void test_nothing_and_zero(void **state)
{
    (void)state;
    struct mxv_metrics m;
    double v[MXV_METRIC_COUNT];
    mxv_metrics_init(&m, MXV_F32, 10);
    mxv_metrics_finish(&m, v);
    for (unsigned i = 0; i < MXV_METRIC_COUNT; i++)
        assert_true(isnan(v[i]) || ((i == MXV_METRIC_NAN || i == MXV_METRIC_INF) && v[i] == 0));
    mxv_metrics_add_word(&m, 0, 0x80000000); // +0 against -0: another word, the same value
    mxv_metrics_finish(&m, v);
    assert_true(v[MXV_METRIC_WORDS] == 1 && v[MXV_METRIC_ULP_MAX] == 0);
    assert_true(v[MXV_METRIC_REL_L2] == 0 && v[MXV_METRIC_L1] == 0);
    assert_true(isnan(v[MXV_METRIC_COSINE]));
    assert_true(v[MXV_METRIC_PSNR] == INFINITY);
    mxv_metrics_add_word(&m, 0x3F800000, 0); // an all-zero expectation, missed
    mxv_metrics_finish(&m, v);
    assert_true(v[MXV_METRIC_REL_L2] == INFINITY && v[MXV_METRIC_L1] == INFINITY);
}

// arXiv 2604.03950, LLaMA-3.1-8B: 71.70 dB and 60.82 dB, the values of RMSE 0.0026 and 0.0091 with
// peak 10.
static void test_published_psnr(void **state)
{
    (void)state;
    assert_true(fabs(mxv_psnr(0.0026, 10) - 71.70) < 0.005);
    assert_true(fabs(mxv_psnr(0.0091, 10) - 60.82) < 0.005);
    assert_true(mxv_psnr(0.1, 1) == 20);
}

// Splitting a set and merging the parts gives the same counts, and the same sums to the last bits.
static void test_merge(void **state)
{
    (void)state;
    struct mxv_metrics whole, part[3], merged;
    uint64_t seed = 5;
    mxv_metrics_init(&whole, MXV_F16, 10);
    mxv_metrics_init(&merged, MXV_F16, 10);
    for (int i = 0; i < 3; i++)
        mxv_metrics_init(&part[i], MXV_F16, 10);
    for (int i = 0; i < 3000; i++) {
        uint64_t test = splitmix_next(&seed) & 0xFFFF, expected = test ^ (splitmix_next(&seed) & 3);
        mxv_metrics_add_word(&whole, test, expected);
        mxv_metrics_add_word(&part[i / 1000], test, expected);
    }
    for (int i = 0; i < 3; i++)
        mxv_metrics_merge(&merged, &part[i]);
    assert_int_equal(merged.elements, whole.elements);
    assert_int_equal(merged.words, whole.words);
    assert_int_equal(merged.nan, whole.nan);
    assert_int_equal(merged.inf, whole.inf);
    assert_int_equal(merged.ulp_max_at, whole.ulp_max_at);
    assert_true(merged.words > 1000 && merged.nan > 0);
    for (unsigned i = 0; i < MXV_METRIC_COUNT; i++) {
        double a = mxv_metric_value(&merged, (enum mxv_metric)i);
        double b = mxv_metric_value(&whole, (enum mxv_metric)i);
        if (a != b)
            assert_close(a, b, 1e-14);
    }
}

static void test_table(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MXV_METRIC_COUNT; i++) {
        enum mxv_metric found;
        assert_true(mxv_metric_find(mxv_metric_get(i)->name, &found));
        assert_int_equal(found, i);
        assert_true(strlen(mxv_metric_get(i)->text) > 0 && strlen(mxv_metric_get(i)->unit) > 0);
    }
    assert_null(mxv_metric_get(MXV_METRIC_COUNT));
    enum mxv_metric untouched = MXV_METRIC_L1;
    assert_false(mxv_metric_find("l3", &untouched));
    assert_int_equal(untouched, MXV_METRIC_L1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_mpfr),
        cmocka_unit_test(test_cancelling_bias),
        cmocka_unit_test(test_words_by_hand),
        cmocka_unit_test(test_exact_by_hand),
        cmocka_unit_test(test_nothing_and_zero),
        cmocka_unit_test(test_published_psnr),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
