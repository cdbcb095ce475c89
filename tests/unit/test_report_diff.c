// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Differences of two runs: each kind alone, tolerances, order, and runs of many cases.
#include "report_files.h"

static struct mxv_report a, b;
static struct mxv_report_comparison comparison;

static void compare(const char *log_a, const char *log_b,
                    const struct mxv_report_tolerance *tolerance)
{
    read_log(log_a, &a);
    read_log(log_b, &b);
    assert_int_equal(mxv_report_compare(&a, &b, tolerance, &comparison), MXV_OK);
    size_t sum = 0;
    for (unsigned i = 0; i < MXV_CHANGE_COUNT; i++)
        sum += comparison.counts[i];
    assert_int_equal(sum, comparison.count);
}

static void release(void)
{
    mxv_report_comparison_free(&comparison);
    mxv_report_free(&a);
    mxv_report_free(&b);
}

// Only `kind` (or nothing, MXV_CHANGE_COUNT) is reported, once.
static void check_only(const char *case_a, const char *case_b, enum mxv_change kind)
{
    char log_a[2048], log_b[2048];
    snprintf(log_a, sizeof log_a, "%s%s", LOG_HEADER, case_a);
    snprintf(log_b, sizeof log_b, "%s%s", LOG_HEADER, case_b);
    compare(log_a, log_b, NULL);
    for (unsigned i = 0; i < MXV_CHANGE_COUNT; i++)
        if (comparison.counts[i] != (i == kind))
            fail_msg("%zu of kind %s for %s", comparison.counts[i], mxv_change_name(i), case_b);
    release();
}

#define ONE(verdict, rest) LOG_CASE("01", "dma x", verdict, rest)

static void test_verdicts(void **state)
{
    (void)state;
    check_only(ONE("pass", ""), ONE("pass", ""), MXV_CHANGE_COUNT);
    check_only(ONE("pass", ""), ONE("fail", ""), MXV_CHANGE_BROKEN);
    check_only(ONE("skip", ""), ONE("timeout", ""), MXV_CHANGE_BROKEN);
    check_only(ONE("waived", ""), ONE("xpass", ""), MXV_CHANGE_BROKEN);
    check_only(ONE("pass", ""), ONE("weak", ""), MXV_CHANGE_BROKEN);
    check_only(ONE("crash", ""), ONE("pass", ""), MXV_CHANGE_FIXED);
    check_only(ONE("fail", ""), ONE("waived", ""), MXV_CHANGE_FIXED);
    check_only(ONE("fail", ""), ONE("crash", ""), MXV_CHANGE_VERDICT);
    check_only(ONE("pass", ""), ONE("unsupported", ""), MXV_CHANGE_VERDICT);
    check_only(ONE("fail", ""), ONE("skip", ""), MXV_CHANGE_VERDICT);
}

static void test_output_metrics_speed(void **state)
{
    (void)state;
    check_only(ONE("pass", ",\"texts\":{\"output_hash\":\"aa\"}"),
               ONE("pass", ",\"texts\":{\"output_hash\":\"ab\"}"), MXV_CHANGE_HASH);
    check_only(ONE("pass", ",\"texts\":{\"output_hash\":\"aa\"}"), ONE("pass", ""),
               MXV_CHANGE_COUNT);
    check_only(ONE("pass", ",\"numbers\":{\"x\":0.1}"),
               ONE("pass", ",\"numbers\":{\"x\":0.10000000000000002}"), MXV_CHANGE_METRIC);
    check_only(ONE("pass", ",\"metrics\":{\"out\":{\"cosine\":0.5}}"),
               ONE("pass", ",\"metrics\":{\"out\":{\"cosine\":\"nan\"}}"), MXV_CHANGE_METRIC);
    check_only(ONE("pass", ",\"metrics\":{\"out\":{\"cosine\":\"nan\"}}"),
               ONE("pass", ",\"metrics\":{\"out\":{\"cosine\":\"nan\"}}"), MXV_CHANGE_COUNT);
    check_only(ONE("pass", ",\"other\":{\"x\":1}"), ONE("pass", ",\"other\":{\"x\":2}"),
               MXV_CHANGE_COUNT);
    check_only(ONE("pass", ",\"numbers\":{\"index\":1}"), ONE("pass", ",\"numbers\":{\"index\":2}"),
               MXV_CHANGE_COUNT);
    check_only(ONE("pass", ",\"seconds\":1"), ONE("pass", ",\"seconds\":1.51"), MXV_CHANGE_SLOWER);
    check_only(ONE("pass", ",\"seconds\":1"), ONE("pass", ",\"seconds\":1.49"), MXV_CHANGE_COUNT);
    check_only(ONE("pass", ",\"seconds\":2"), ONE("pass", ",\"seconds\":1"), MXV_CHANGE_QUICKER);
    check_only(ONE("pass", ",\"seconds\":0.01"), ONE("pass", ",\"seconds\":0.1"), MXV_CHANGE_COUNT);
    check_only(ONE("pass", ""), "", MXV_CHANGE_ONLY_A);
    check_only("", ONE("pass", ""), MXV_CHANGE_ONLY_B);
}

static void test_failure_of_an_unknown_case(void **state)
{
    (void)state;
    compare(LOG_HEADER, LOG_HEADER ONE("fail", ""), NULL);
    assert_int_equal(comparison.counts[MXV_CHANGE_BROKEN], 1);
    assert_int_equal(comparison.counts[MXV_CHANGE_ONLY_B], 1);
    assert_int_equal(comparison.common, 0);
    assert_null(comparison.at[0].a);
    release();
}

// The n-th of equal lines is compared with the n-th.
static void test_equal_lines(void **state)
{
#define TWO(first, second)                                                                         \
    LOG_HEADER ONE(first, ",\"numbers\":{\"index\":1}") ONE(second, ",\"numbers\":{\"index\":2}")
    (void)state;
    compare(TWO("pass", "fail"), TWO("pass", "fail"), NULL);
    assert_int_equal(comparison.count, 0);
    assert_int_equal(comparison.common, 2);
    release();
    compare(LOG_HEADER ONE("pass", ""), TWO("pass", "skip"), NULL);
    assert_int_equal(comparison.counts[MXV_CHANGE_ONLY_B], 1);
    assert_int_equal(comparison.count, 1);
    assert_int_equal(comparison.at[0].b->verdict, MXV_VERDICT_SKIP);
    release();
#undef TWO
}

static void test_worst_metric_and_tolerance(void **state)
{
    static const char first[] =
        LOG_HEADER ONE("pass", ",\"numbers\":{\"u\":1,\"v\":100,\"w\":-2,\"z\":0}");
    static const char second[] = // members in another order
        LOG_HEADER ONE("pass", ",\"numbers\":{\"v\":101,\"u\":4,\"w\":-2,\"z\":0}");
    struct mxv_report_tolerance tolerance = {.metric = 0.02, .speed = 2, .speed_floor = 1};
    (void)state;
    compare(first, second, NULL);
    assert_int_equal(comparison.count, 1);
    assert_int_equal(comparison.at[0].metrics_moved, 2);
    assert_string_equal(comparison.at[0].metric_b->name, "numbers.u");
    assert_true(comparison.at[0].metric_a->number == 1 && comparison.at[0].metric_b->number == 4);
    release();
    compare(first, second, &tolerance);
    assert_int_equal(comparison.at[0].metrics_moved, 1);
    release();
    tolerance.metric = 0.75; // |1 - 4| / 4 is not above
    compare(first, second, &tolerance);
    assert_int_equal(comparison.count, 0);
    release();
}

static char *many_cases(unsigned count, unsigned from, unsigned broken)
{
    size_t size = 256 + (size_t)count * 128, at = 0;
    char *log = malloc(size);
    assert_non_null(log);
    at += (size_t)snprintf(log, size, "%s", LOG_HEADER);
    for (unsigned i = from; i < from + count; i++)
        at += (size_t)snprintf(
            log + at, size - at,
            "{\"record\":\"case\",\"id\":\"%u\",\"case\":\"dma lq=%u\",\"verdict\":\"%s\"}\n", i, i,
            i % broken == 0 ? "fail" : "pass");
    return log;
}

// By kind, then in the order of the logs; quick enough for a night's cases.
static void test_many(void **state)
{
    (void)state;
    char *first = many_cases(20000, 0, 100000000), *second = many_cases(20000, 5000, 10);
    compare(first, second, NULL);
    assert_int_equal(comparison.common, 15000);
    assert_int_equal(comparison.counts[MXV_CHANGE_ONLY_A], 5000);
    assert_int_equal(comparison.counts[MXV_CHANGE_ONLY_B], 5000);
    assert_int_equal(comparison.counts[MXV_CHANGE_BROKEN], 2000);
    for (size_t i = 1; i < comparison.count; i++) {
        const struct mxv_report_difference *d = &comparison.at[i - 1], *e = &comparison.at[i];
        assert_true(d->kind <= e->kind);
        if (d->kind == e->kind)
            assert_true((d->b ? d->b : d->a) < (e->b ? e->b : e->a));
    }
    release();
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_output_metrics_speed),
        cmocka_unit_test(test_failure_of_an_unknown_case),
        cmocka_unit_test(test_equal_lines),
        cmocka_unit_test(test_worst_metric_and_tolerance),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
