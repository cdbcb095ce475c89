// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shrinking on trial: failures of random cases, one fault each, must keep their kind (verified anew
// here) and come down to two score tiles in the median. MXV_SHRINK_CASES sets their number (8).
// The numbers printed for a small case are compared with dot products taken here.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "cases.h"
#include <mxverify/shrink.h>
#include <mxverify/tiers.h>

enum { MOST = 200, DRAWS = 60 };
static const struct mxv_verify_options emulation = {.impl = MXV_IMPL_EMULATION};

static struct mxv_failure failure_of(const struct mxv_case *c)
{
    struct mxv_verify_result r;
    char message[512] = "";
    if (mxv_verify_case(c, &emulation, &r, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    struct mxv_failure f = {r.verdict, r.first.kind, r.first.key.stage};
    mxv_verify_free(&r);
    return f;
}

// A random case of a kernel on which the fault shows; false when there is none in DRAWS.
static bool draw_case(unsigned f, unsigned k, size_t n, struct mxv_case *c)
{
    char message[512];
    for (uint64_t i = 0; i < DRAWS; i++) {
        mxv_tier_sample((enum mxv_kernel)k, 0x30, n * DRAWS + i, 130000, c);
        c->faults = UINT64_C(1) << f;
        if (mxv_case_check(c, message, sizeof message) == MXV_OK &&
            failure_of(c).verdict == MXV_VERDICT_FAIL)
            return true;
    }
    return false;
}

// The n-th failing case: faults and kernels in turn. Some faults need options that few cases have;
// where none shows, the next fault is taken.
static void draw_failure(size_t n, struct mxv_case *c)
{
    for (size_t shift = 0; shift < MXV_FAULT_COUNT; shift++) {
        unsigned f = (unsigned)(n * 5 + 3 + shift) % MXV_FAULT_COUNT;
        unsigned k = (unsigned)n % MXV_KERNEL_COUNT;
        if (f == MXV_FAULT_NONCAUSAL_REFERENCE) // a fault of the reference
            continue;
        while (!(mxv_fault_get((enum mxv_fault)f)->kernels >> k & 1))
            k = (k + 1) % MXV_KERNEL_COUNT;
        if (draw_case(f, k, n, c))
            return;
    }
    fail_msg("no failure in any fault");
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t wanted_cases(void)
{
    const char *text = getenv("MXV_SHRINK_CASES");
    size_t n = text ? strtoul(text, NULL, 10) : 8;
    return n < 1 ? 1 : n > MOST ? MOST : n;
}

static void test_kind_is_kept_and_cases_become_small(void **state)
{
    (void)state;
    uint64_t tiles[MOST], scores[MOST];
    size_t count = wanted_cases(), cut_short = 0;
    const struct mxv_shrink_options options = {.verify = emulation, .seconds = 60};
    for (size_t n = 0; n < count; n++) {
        struct mxv_case c;
        struct mxv_shrink_result r;
        char message[512] = "", line[MXV_CASE_LINE_SIZE];
        draw_failure(n, &c);
        struct mxv_failure before = failure_of(&c);
        if (mxv_shrink_case(&c, &options, &r, message, sizeof message) != MXV_OK)
            fail_msg("%s", message);
        struct mxv_failure after = failure_of(&r.c);
        mxv_case_print(&r.c, line, sizeof line);
        if (!mxv_failure_equal(&before, &after))
            fail_msg("the failure changed: %s", line);
        tiles[n] = r.after.tiles;
        scores[n] = r.after.scores;
        cut_short += !r.fixed_point;
        print_message("%2zu: %llu -> %llu tiles, %llu -> %llu scores, %zu tried%s: %s\n", n,
                      (unsigned long long)r.before.tiles, (unsigned long long)r.after.tiles,
                      (unsigned long long)r.before.scores, (unsigned long long)r.after.scores,
                      r.tries, r.fixed_point ? "" : " (time over)", line);
    }
    qsort(tiles, count, sizeof *tiles, by_value);
    qsort(scores, count, sizeof *scores, by_value);
    print_message("%zu cases: median %llu tiles (greatest %llu), %llu scores (greatest %llu), %zu "
                  "cut short\n",
                  count, (unsigned long long)tiles[count / 2], (unsigned long long)tiles[count - 1],
                  (unsigned long long)scores[count / 2], (unsigned long long)scores[count - 1],
                  cut_short);
    assert_true(tiles[count / 2] <= 2);
}

static void shrink(const char *line, struct mxv_shrink_result *r)
{
    const struct mxv_shrink_options options = {.verify = emulation};
    struct mxv_case c;
    char message[512] = "";
    parse(line, &c);
    if (mxv_shrink_case(&c, &options, r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    assert_true(r->fixed_point);
}

// Known minima: a stale tile needs a second key tile, a leak one key beyond the diagonal.
static void test_minima_that_are_known(void **state)
{
    (void)state;
    struct mxv_shrink_result r, again;
    shrink("flash hq=2 lq=60 lk=200 d=64 gen=outlier seed=31 fault=stale-tile", &r);
    assert_int_equal(r.after.tiles, 2);
    assert_int_equal(r.after.scores, 33);
    assert_int_equal(r.c.d, 32);
    shrink("flash lq=60 lk=60 v=bf16 lse=2 order=desc fault=causal-off-by-one", &r);
    assert_true(r.after.scores <= 2);
    assert_int_equal(r.c.lse, MXV_LSE_E);
    assert_int_equal(r.c.order, MXV_ORDER_ASC);
    shrink("flash lq=60 lk=60 v=bf16 lse=2 order=desc fault=causal-off-by-one", &again);
    assert_true(mxv_case_equal(&r.c, &again.c));
    assert_int_equal(r.tries, again.tries);
}

static void test_a_passing_case_is_refused(void **state)
{
    (void)state;
    const struct mxv_shrink_options options = {.verify = emulation};
    struct mxv_shrink_result r;
    struct mxv_case c;
    char message[512] = "";
    parse("flash lq=16 lk=16 d=32", &c);
    assert_int_equal(mxv_shrink_case(&c, &options, &r, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "passes"));
}

// Integers: the score of flash is the dot product itself.
static void test_printed_numbers_are_right(void **state)
{
    (void)state;
    struct mxv_case c;
    struct mxv_case_data data;
    struct mxv_verify_result v;
    char message[512] = "", expected[64];
    const char *line = "flash lq=2 lk=3 d=32 mask=causal gen=integer fault=causal-off-by-one";
    parse(line, &c);
    build("flash lq=2 lk=3 d=32 mask=causal gen=integer", &data);
    assert_int_equal(mxv_verify_case(&c, &emulation, &v, message, sizeof message), MXV_OK);
    assert_int_equal(v.verdict, MXV_VERDICT_FAIL);
    char *text = mxv_shrink_numbers(&c, &emulation, &v, message, sizeof message);
    if (!text)
        fail_msg("%s", message);
    double leaked = 0;
    for (size_t i = 0; i < 32; i++)
        leaked += (double)data.q[i] * data.k[2 * 32 + i];
    // row 0 sees keys 0 and 1; the broken kernel lets it see key 2
    const char *row = strstr(text, "score of row 0");
    assert_non_null(row);
    const char *good = strstr(row, "expected"), *got = strstr(row, "got"), *end = strchr(got, '\n');
    assert_true(good && got && end && good < got);
    assert_int_equal(strncmp(strchr(good, '\n') - 4, "-inf", 4), 0);
    snprintf(expected, sizeof expected, " %12.6g", leaked);
    assert_int_equal(strncmp(end - strlen(expected), expected, strlen(expected)), 0);
    assert_non_null(strstr(text, "weight of row 1"));
    assert_non_null(strstr(text, "out of row 0, got"));
    free(text);
    mxv_verify_free(&v);
    mxv_case_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_passing_case_is_refused),
        cmocka_unit_test(test_printed_numbers_are_right),
        cmocka_unit_test(test_minima_that_are_known),
        cmocka_unit_test(test_kind_is_kept_and_cases_become_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
