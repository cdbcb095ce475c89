// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The self-test on trial: all faults of kernel flash are caught within its tier at the right stage,
// a call without fault or with one that cannot act on the case is not, a tier too short to trigger
// a fault misses it and says so, and unknown names are refused.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/selftest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mxv_selftest_faults result; // large

static void test_flash_is_caught(void **state)
{
    (void)state;
    const struct mxv_selftest_options options = {.kernel = "flash"};
    char message[512] = "";
    size_t expected = 0;
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        expected += mxv_fault_get((enum mxv_fault)f)->kernels >> MXV_KERNEL_FLASH & 1;
    assert_int_equal(mxv_selftest_faults(&options, &result, message, sizeof message), MXV_OK);
    assert_int_equal(result.applicable, expected);
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        const struct mxv_selftest_cell *cell = &result.cells[MXV_KERNEL_FLASH][f];
        if (cell->applies && !(cell->caught && cell->right_stage))
            fail_msg("%s: caught %d, stage %s, after %zu cases",
                     mxv_fault_get((enum mxv_fault)f)->name, cell->caught,
                     mxv_choice_name(MXV_CHOICE_STAGE, cell->stage), cell->cases);
        assert_false(result.cells[MXV_KERNEL_DMA][f].applies);
    }
    assert_int_equal(result.caught, expected);
    assert_int_equal(result.right_stage, expected);
    printf("%zu faults of flash caught\n", result.caught);
}

// First case of the tier of flash: causal, no window. `window-tile` cannot show on it.
static void test_a_short_tier_misses(void **state)
{
    (void)state;
    const struct mxv_selftest_options options = {
        .kernel = "flash", .fault = "window-tile", .count = 1};
    char message[512] = "";
    assert_int_equal(mxv_selftest_faults(&options, &result, message, sizeof message), MXV_OK);
    assert_int_equal(result.applicable, 1);
    assert_int_equal(result.caught, 0);
    assert_int_equal(result.cells[MXV_KERNEL_FLASH][MXV_FAULT_WINDOW_TILE].cases, 1);
}

static int compare(const char *line, uint64_t faults)
{
    struct mxv_case c;
    struct mxv_case_data data;
    struct mxv_taps_where where;
    struct mxv_tap_record healthy;
    char message[512] = "";
    assert_int_equal(mxv_case_parse(line, &c, message, sizeof message), MXV_OK);
    assert_int_equal(mxv_case_build(&c, &data, message, sizeof message), MXV_OK);
    size_t lq = data.a.cu_q[1];
    uint32_t *out = calloc(lq * data.a.d, sizeof *out);
    assert_non_null(out);
    mxv_tap_record_init(&healthy);
    struct mxv_tap_sink sink = mxv_taps_record(&healthy);
    assert_int_equal(mxv_engine_head(&data.a, 0, 0, out, NULL, &sink, message, sizeof message), 0);
    data.a.faults = faults;
    int found = mxv_selftest_compare(&data.a, &healthy, &where, message, sizeof message);
    mxv_tap_record_free(&healthy);
    mxv_case_free(&data);
    free(out);
    return found;
}

static void test_healthy_is_not_caught(void **state)
{
    (void)state;
    const char *line = "flash lq=40 lk=128 d=64 mask=full seed=1";
    const uint64_t one = 1;
    assert_int_equal(compare(line, 0), 0);
    assert_int_equal(compare(line, one << MXV_FAULT_TAIL_DROPPED), 0); // no partial tile
    assert_int_equal(compare(line, one << MXV_FAULT_CAUSAL_LEAK), 0);  // no causal mask
    assert_int_equal(compare(line, one << MXV_FAULT_STALE_TILE), 0);   // one key tile
    assert_int_equal(compare(line, one << MXV_FAULT_EXP_BASE), 1);
}

static void test_unknown_names(void **state)
{
    (void)state;
    const struct mxv_selftest_options kernel = {.kernel = "flesh"}, fault = {.fault = "D0"};
    char message[512] = "";
    assert_int_equal(mxv_selftest_faults(&kernel, &result, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "flesh"));
    assert_int_equal(mxv_selftest_faults(&fault, &result, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "D0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flash_is_caught),
        cmocka_unit_test(test_a_short_tier_misses),
        cmocka_unit_test(test_healthy_is_not_caught),
        cmocka_unit_test(test_unknown_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
