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
#include <mxverify/impl.h>
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
    uint64_t alive =
        r->bound.available ? mxv_gate_survivors(g, g->bound) : mxv_gate_survivors_bits(g);
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

// Implementations that claim operands, units and tile order only: the model bound judges them.
static int run_engine(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
                      size_t size)
{
    (void)state;
    return mxv_engine_head(a, sequence, head, out, lse, sink, message, size) ? MXV_IMPL_FAILED
                                                                             : MXV_IMPL_OK;
}

static int run_gain(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
                    uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
                    size_t size)
{
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence];
    int status = run_engine(state, a, sequence, head, out, lse, sink, message, size);
    for (size_t i = 0; i < rows * a->d; i++)
        out[i] = mxv_gate_word(a->out, mxv_code_value(a->out, out[i]) * 1.05);
    return status;
}

static enum mxv_verdict verdict_of(const char *line,
                                   int (*run)(void *, const struct mxv_attention *, size_t, size_t,
                                              uint32_t *, uint32_t *, const struct mxv_tap_sink *,
                                              char *, size_t),
                                   char *reason, size_t size)
{
    const struct mxv_implementation implementation = {.abi = MXV_IMPL_ABI,
                                                      .call_size = sizeof(struct mxv_attention),
                                                      .name = "test",
                                                      .version = "1",
                                                      .capabilities = MXV_IMPL_THREADS,
                                                      .run = run};
    struct mxv_adapter *adapter;
    struct mxv_verify_result r = {0};
    struct mxv_case c;
    char message[512] = "";
    if (mxv_adapter_of(&implementation, &adapter, message, sizeof message) != MXV_OK ||
        mxv_case_parse(line, &c, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    const struct mxv_verify_options options = {.truth = true, .adapter = adapter};
    if (mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    enum mxv_verdict verdict = r.verdict;
    snprintf(reason, size, "%s", r.reason);
    mxv_verify_free(&r);
    mxv_adapter_close(adapter);
    return verdict;
}

// Scores of 10^6: by its model bound alone a kernel could be 5 % off, and a verdict that rests on
// it says so. FP8 weights over many random values are no such case: their roundings are known.
static void test_a_gate_that_sees_too_little_is_weak(void **unused)
{
    (void)unused;
    static const char wide[] = "flash lq=16 lk=64 d=32 mask=full tau=11 gen=huge_logits gain=64";
    static const char *const narrow[] = {
        "flash lq=16 lk=64 d=32 gen=gaussian",
        "dma arch=sm_90 v=e4m3 mask=full lq=16 lk=256 d=32 gen=gaussian",
        "flash lq=33 lk=65 in=bf16 v=bf16 out=bf16 gen=nonfinite seed=a",
    };
    char reason[512];
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        assert_int_equal(verdict_of(narrow[i], run_engine, reason, sizeof reason),
                         MXV_VERDICT_PASS);
        assert_int_equal(verdict_of(narrow[i], run_gain, reason, sizeof reason), MXV_VERDICT_FAIL);
    }
    assert_int_equal(verdict_of(wide, run_engine, reason, sizeof reason), MXV_VERDICT_WEAK);
    assert_non_null(strstr(reason, "x1.05"));
}

// An output of nothing but NaN is judged: only the words that another number could stand for.
static void test_nan_outputs_have_a_gate(void **unused)
{
    (void)unused;
    const struct mxv_verify_options options = {.impl = MXV_IMPL_PLAIN, .truth = true};
    uint64_t zero = UINT64_C(1) << MXV_MUTANT_ZERO;
    uint64_t others = mxv_mutants_mandatory() & ~zero;
    size_t found = 0;
    for (unsigned seed = 0; seed < 40; seed++) {
        struct mxv_verify_result r = {0};
        struct mxv_case c;
        char message[512] = "", line[128];
        snprintf(line, sizeof line, "flash lq=2 lk=2 d=32 mask=full gen=nonfinite seed=%x", seed);
        if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
            mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
            fail_msg("%s: %s", line, message);
        assert_int_equal(r.verdict, MXV_VERDICT_PASS);
        if (r.bound.words == 64 && (r.gate.applicable & others) == 0) {
            found++;
            assert_int_equal(r.bound.elements, 64);
            assert_true((r.gate.bound & zero) && (r.gate.model & zero) && (r.gate.bits & zero));
        }
        mxv_verify_free(&r);
    }
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mandatory_mutants_never_pass),
        cmocka_unit_test(test_every_mutant_lives_and_dies),
        cmocka_unit_test(test_a_gate_that_sees_too_little_is_weak),
        cmocka_unit_test(test_nan_outputs_have_a_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
