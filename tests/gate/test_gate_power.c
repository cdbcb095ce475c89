// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Would we have noticed? Zero, sign-flipped, x0.72 and x1.05 outputs are proved wrong by the bound
// in every case of the smoke tier and of sampled cases, wherever an element is judged and the
// mutant differs from the output; elsewhere the bits notice. And each mutant of mutants.def is
// applicable, and killed, somewhere. MXV_FUZZ_CASES sets the number of sampled cases (default 45).
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/tiers.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    uint64_t applicable[MXV_MUTANT_COUNT], bound[MXV_MUTANT_COUNT], model[MXV_MUTANT_COUNT];
    size_t cases, judged, weak, model_weak, bad;
};
static struct counts counts;

static void count(const char *line, const struct mxv_verify_result *r)
{
    const struct mxv_gate_report *g = &r->gate;
    counts.cases++;
    counts.judged += r->bound.available;
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++) {
        counts.applicable[m] += g->applicable >> m & 1;
        counts.bound[m] += g->bound >> m & 1;
        counts.model[m] += g->model >> m & 1;
    }
    uint64_t alive = mxv_gate_survivors(g, r->bound.available ? g->bound : g->bits);
    counts.weak += alive != 0;
    counts.model_weak += r->bound.available && mxv_gate_survivors(g, g->model);
    counts.bad += r->verdict != MXV_VERDICT_PASS || g->bits != g->applicable ||
                  (g->bound & ~g->applicable) || (g->model & ~g->applicable);
    if (alive || r->verdict != MXV_VERDICT_PASS)
        printf("%s\n  %s %s\n", line, mxv_verdict_name(r->verdict), r->reason);
}

static void verify_one(const struct mxv_case *c)
{
    const struct mxv_verify_options options = {.impl = MXV_IMPL_PLAIN, .truth = true};
    struct mxv_verify_result r;
    char message[512] = "", line[MXV_CASE_LINE_SIZE];
    enum mxv_status status = mxv_verify_case(c, &options, &r, message, sizeof message);
    mxv_case_print(c, line, sizeof line);
#pragma omp critical
    {
        if (status == MXV_OK)
            count(line, &r);
        else
            printf("%s\n  %s\n", line, message);
        counts.bad += status != MXV_OK;
    }
    mxv_verify_free(&r);
}

static void verify_smoke(void)
{
    const struct mxv_tier_options options = {.tier = "smoke", .kernel = "all"};
    struct mxv_tier *tier;
    char message[512];
    if (mxv_tier_open(&options, &tier, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    size_t n = mxv_tier_count(tier);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < n; i++) {
        struct mxv_case c;
        mxv_tier_case(tier, i, &c);
        verify_one(&c);
    }
    mxv_tier_close(tier);
}

static void test_mandatory_mutants_never_pass(void **unused)
{
    (void)unused;
    const char *text = getenv("MXV_FUZZ_CASES");
    size_t wanted = text ? strtoul(text, NULL, 10) : 45;
    verify_smoke();
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < wanted; i++) {
        struct mxv_case c;
        mxv_tier_sample((enum mxv_kernel)(i % MXV_KERNEL_COUNT), 0x6a7e, i, 12000, &c);
        verify_one(&c);
    }
    printf("%zu cases, %zu with a bound; weak by bound %zu, by model bound alone %zu\n",
           counts.cases, counts.judged, counts.weak, counts.model_weak);
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++)
        printf("  %-16s applicable %4llu, killed by bound %4llu, by model bound %4llu\n",
               mxv_mutant_get(m)->name, (unsigned long long)counts.applicable[m],
               (unsigned long long)counts.bound[m], (unsigned long long)counts.model[m]);
    assert_true(counts.judged > 40);
    assert_int_equal(counts.weak, 0);
    assert_int_equal(counts.bad, 0);
}

static void test_every_mutant_lives_and_dies(void **unused)
{
    (void)unused;
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++)
        if (counts.applicable[m] == 0 || counts.bound[m] == 0)
            fail_msg("mutant %s was never killed by a bound", mxv_mutant_get(m)->name);
}

// Wide bounds let mandatory mutants through, and the verdict says so: P in FP8 off its range.
static void test_a_gate_that_sees_nothing_is_weak(void **unused)
{
    (void)unused;
    const struct mxv_gate_report blind = {.applicable = mxv_mutants_mandatory()};
    assert_int_equal(mxv_gate_survivors(&blind, blind.bound), mxv_mutants_mandatory());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mandatory_mutants_never_pass),
        cmocka_unit_test(test_every_mutant_lives_and_dies),
        cmocka_unit_test(test_a_gate_that_sees_nothing_is_weak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
