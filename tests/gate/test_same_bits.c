// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Two emulations written apart from each other, the engine and ref/plain, agree in every word of
// every tap over sampled cases of every kernel, and the engine stays within its bound of exact
// attention. MXV_FUZZ_CASES sets the number of cases (default 120 over all kernels); the full run
// is `mxverify run --kernel all --cases fuzz --count 2000 --require-coverage`.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/generators.h>
#include <mxverify/tiers.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <stdlib.h>

static size_t cases_wanted(void)
{
    const char *text = getenv("MXV_FUZZ_CASES");
    return text ? strtoul(text, NULL, 10) : 120;
}

static void test_engine_equals_plain(void **state)
{
    (void)state;
    const struct mxv_verify_options options = {.impl = MXV_IMPL_PLAIN, .truth = true};
    size_t wanted = cases_wanted(), bad = 0;
    uint64_t words = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : bad, words)
    for (size_t i = 0; i < wanted; i++) {
        struct mxv_case c;
        struct mxv_verify_result r;
        char message[512] = "", line[MXV_CASE_LINE_SIZE];
        mxv_tier_sample((enum mxv_kernel)(i % MXV_KERNEL_COUNT), 0x5eed, i, 20000, &c);
        mxv_case_print(&c, line, sizeof line);
        if (mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK ||
            r.verdict != MXV_VERDICT_PASS) {
            printf("%s\n  %s %s\n", line, message, r.reason);
            bad++;
        }
        words += r.words;
        mxv_verify_free(&r);
    }
    printf("%zu cases, %llu words compared\n", wanted, (unsigned long long)words);
    assert_int_equal(bad, 0);
    assert_true(words > 0);
}

// Sides of Q and K that the engine quantises as whole arrays (4,096 NVFP4 blocks and more), which
// sampled cases hardly reach: every block format over every generator.
static void test_whole_arrays(void **state)
{
    static const char *const formats[] = {"mode=low low=nvfp4", "mode=low low=nvfp4 dual=channel",
                                          "mode=low low=mxfp4", "mode=high high=mxfp8_e4m3",
                                          "mode=high high=mxfp8_e5m2"};
    const struct mxv_verify_options options = {.impl = MXV_IMPL_PLAIN};
    size_t bad = 0;
    (void)state;
    for (unsigned g = 0; mxv_generator_name(g); g++)
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
            struct mxv_case c;
            struct mxv_verify_result r;
            char message[512] = "", line[MXV_CASE_LINE_SIZE];
            snprintf(line, sizeof line, "dma hq=1 hk=1 lq=4 lk=520 d=128 in=f32 %s gen=%s seed=%x",
                     formats[f], mxv_generator_name(g), g);
            if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
                mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
                fail_msg("%s: %s", line, message);
            if (!r.same_bits) {
                printf("%s\n  %s\n", line, r.reason);
                bad++;
            }
            mxv_verify_free(&r);
        }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_engine_equals_plain),
                                       cmocka_unit_test(test_whole_arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
