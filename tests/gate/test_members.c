// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Foreign implementations of the declared model: their own exponential (correctly rounded where the
// case declares the special-function unit or the polynomial), and matrix units of sm_90 where the
// case declares the less exact ones of sm_80. Other words, yet no output and no LSE is proved wrong
// or left undecided by the model bound, and no verdict is weak; and zero, sign-flipped, x0.72 and
// x1.05 outputs of the same implementations fail wherever they are other words. MXV_FUZZ_CASES sets
// the number of sampled cases (default 36) beside the smoke tier.
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

enum broken { HEALTHY, ZERO, SIGN, GAIN_072, GAIN_105, BROKEN_COUNT };
static const char *const names[BROKEN_COUNT] = {"healthy", "zero", "sign", "x0.72", "x1.05"};

// What the adapter does to its words, and whether one is another number.
static enum broken how;
static bool other;
static size_t cases, foreign_words, failed[BROKEN_COUNT], same[BROKEN_COUNT], bad;
static uint64_t judged, lse_judged;

static uint32_t broken_word(enum mxv_element format, uint32_t word)
{
    double x = mxv_code_value(format, word);
    switch (how) {
    case ZERO:
        return 0;
    case SIGN:
        return word ^ 1u << (mxv_element_get(format)->bits - 1);
    case GAIN_072:
        return mxv_gate_word(format, x * 0.72);
    case GAIN_105:
        return mxv_gate_word(format, x * 1.05);
    default:
        return word;
    }
}

static int run_member(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
                      size_t size)
{
    struct mxv_attention own = *a;
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence];
    (void)state;
    own.exp = MXV_EXP_CR;
    if (own.arch == MXV_ARCH_SM_80)
        own.arch = MXV_ARCH_SM_90;
    if (mxv_engine_head(&own, sequence, head, out, lse, sink, message, size))
        return MXV_IMPL_FAILED;
    for (size_t i = 0; i < rows * a->d; i++) {
        uint32_t word = broken_word(a->out, out[i]);
        if (mxv_ulp_distance(a->out, word, out[i]) != 0) {
#pragma omp atomic write
            other = true;
        }
        out[i] = word;
    }
    return MXV_IMPL_OK;
}

static const struct mxv_implementation implementation = {.abi = MXV_IMPL_ABI,
                                                         .call_size = sizeof(struct mxv_attention),
                                                         .name = "member",
                                                         .version = "1",
                                                         .capabilities =
                                                             MXV_IMPL_THREADS | MXV_IMPL_LSE,
                                                         .run = run_member};
static struct mxv_adapter *adapter;

static void complain(const char *line, const struct mxv_verify_result *r)
{
    bad++;
    printf("%s\n  %s: %s %s\n", line, names[how], mxv_verdict_name(r->verdict), r->reason);
}

static void judge(const struct mxv_case *c, const char *line, uint64_t emulated)
{
    const struct mxv_verify_options options = {.truth = true, .adapter = adapter};
    bool healthy = false;
    for (unsigned b = 0; b < BROKEN_COUNT; b++) {
        struct mxv_verify_result r = {0};
        char message[512] = "";
        how = (enum broken)b;
        other = false;
        if (mxv_verify_case(c, &options, &r, message, sizeof message) != MXV_OK) {
            printf("%s\n  %s\n", line, message);
            bad++;
        } else if (b == HEALTHY) {
            healthy = r.verdict == MXV_VERDICT_PASS;
            foreign_words += r.output_hash != emulated;
            judged += r.bound.elements;
            lse_judged += r.bound.lse.elements;
            // nothing at all can be judged where no row has a bound
            if (!healthy && (r.bound.available || r.verdict != MXV_VERDICT_UNDECIDED))
                complain(line, &r);
        } else if (!other) {
            same[b]++;
        } else {
            failed[b] += r.verdict == MXV_VERDICT_FAIL;
            if (healthy && r.verdict != MXV_VERDICT_FAIL)
                complain(line, &r);
        }
        mxv_verify_free(&r);
    }
    cases++;
}

static void judge_case(const struct mxv_case *c)
{
    const struct mxv_verify_options options = {.impl = MXV_IMPL_EMULATION};
    struct mxv_verify_result r = {0};
    char line[MXV_CASE_LINE_SIZE], message[512] = "";
    if (c->kernel == MXV_KERNEL_DMA_RELEASED) // its bits only: not attention
        return;
    mxv_case_print(c, line, sizeof line);
    if (mxv_verify_case(c, &options, &r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    judge(c, line, r.output_hash);
    mxv_verify_free(&r);
}

static void judge_smoke(void)
{
    const struct mxv_tier_options options = {.tier = "smoke", .kernel = "all"};
    struct mxv_tier *tier;
    char message[512];
    if (mxv_tier_open(&options, &tier, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    for (size_t i = 0; i < mxv_tier_count(tier); i++) {
        struct mxv_case c;
        mxv_tier_case(tier, i, &c);
        judge_case(&c);
    }
    mxv_tier_close(tier);
}

static void test_members_pass_and_broken_members_fail(void **unused)
{
    (void)unused;
    static const enum mxv_kernel kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA, MXV_KERNEL_TILEMIX};
    const char *text = getenv("MXV_FUZZ_CASES");
    size_t wanted = text ? strtoul(text, NULL, 10) : 36;
    judge_smoke();
    for (size_t i = 0; i < wanted; i++) {
        struct mxv_case c;
        mxv_tier_sample(kernels[i % 3], 0x3e3b, i, 8000, &c);
        judge_case(&c);
    }
    printf("%zu cases, %zu with words of their own; %llu outputs and %llu LSE judged; %zu bad\n",
           cases, foreign_words, (unsigned long long)judged, (unsigned long long)lse_judged, bad);
    for (unsigned b = ZERO; b < BROKEN_COUNT; b++)
        printf("  %-6s failed %zu, the same output in %zu\n", names[b], failed[b], same[b]);
    assert_int_equal(bad, 0);
    assert_true(foreign_words > cases / 3); // else the test would show nothing
    assert_true(judged > 10000 && lse_judged > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_pass_and_broken_members_fail),
    };
    char message[256];
    if (mxv_adapter_of(&implementation, &adapter, message, sizeof message) != MXV_OK)
        return 1;
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    mxv_adapter_close(adapter);
    return status;
}
