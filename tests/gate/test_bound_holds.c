// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bounds on healthy kernels: over sampled cases of every kernel that claims attention no element is
// proved wrong or undecided by contract, none proved wrong by model, the emulation keeps its own
// three bounds, and the median bound is at most 8 times the largest error (per case: of the bounds
// of all elements, and of the bound at the element of the largest error; median over cases). A
// broken kernel is proved wrong without any look at its bits. MXV_FUZZ_CASES sets the number of
// cases (default 60).
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <mxverify/impl.h>
#include <mxverify/tiers.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4, CASES_MAX = 4000 };
static const char *const kind_names[KINDS] = {"contract, median element",
                                              "contract, at largest error", "model, median element",
                                              "model, at largest error"};
static const enum mxv_kernel kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA, MXV_KERNEL_TILEMIX};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

struct sample {
    bool used;
    double ratio[KINDS];
};
static struct sample samples[CASES_MAX];

static size_t cases_wanted(void)
{
    const char *text = getenv("MXV_FUZZ_CASES");
    size_t n = text ? strtoul(text, NULL, 10) : 60;
    n = n < 30 ? 30 : n; // fewer make no median
    return n < CASES_MAX ? n : CASES_MAX;
}

static bool healthy(const char *line, const struct mxv_verify_result *r)
{
    const struct mxv_bound_report *b = &r->bound;
    bool good = r->verdict == MXV_VERDICT_PASS && r->worst_bound_ratio <= 1 && b->wrong == 0 &&
                b->undecided == 0 && b->model_wrong == 0 && b->within == b->elements;
    if (!good)
        printf("%s\n  %s %s; oracle %.3g, contract wrong %llu undecided %llu, model wrong %llu\n",
               line, mxv_verdict_name(r->verdict), r->reason, r->worst_bound_ratio,
               (unsigned long long)b->wrong, (unsigned long long)b->undecided,
               (unsigned long long)b->model_wrong);
    return good;
}

static void keep(const struct mxv_bound_report *b, struct sample *s)
{
    const double bounds[KINDS] = {b->bound_median, b->bound_at_max, b->model_median,
                                  b->model_at_max};
    s->used = b->available && b->error_max > 0;
    for (size_t k = 0; s->used && k < KINDS; k++)
        s->ratio[k] = bounds[k] / b->error_max;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(size_t kernel, size_t kind, size_t wanted)
{
    double all[CASES_MAX];
    size_t n = 0;
    for (size_t i = kernel; i < wanted; i += KERNELS)
        if (samples[i].used)
            all[n++] = samples[i].ratio[kind];
    qsort(all, n, sizeof *all, by_size);
    assert_true(n > 0);
    return all[n / 2];
}

static void test_bounds_hold_and_are_tight(void **unused)
{
    (void)unused;
    const struct mxv_verify_options options = {.impl = MXV_IMPL_PLAIN, .truth = true};
    size_t wanted = cases_wanted(), bad = 0;
    uint64_t elements = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : bad, elements)
    for (size_t i = 0; i < wanted; i++) {
        struct mxv_case c;
        struct mxv_verify_result r;
        char message[512] = "", line[MXV_CASE_LINE_SIZE];
        mxv_tier_sample(kernels[i % KERNELS], 0xb0d, i, 12000, &c);
        mxv_case_print(&c, line, sizeof line);
        if (mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK) {
            printf("%s\n  %s\n", line, message);
            bad++;
        } else {
            bad += !healthy(line, &r);
            elements += r.bound.elements;
            keep(&r.bound, &samples[i]);
        }
        mxv_verify_free(&r);
    }
    printf("%zu cases, %llu elements judged, %zu bad\n", wanted, (unsigned long long)elements, bad);
    assert_int_equal(bad, 0);
    assert_true(elements > 1000);
    for (size_t k = 0; k < KERNELS; k++)
        for (size_t kind = 0; kind < KINDS; kind++) {
            double median = median_of(k, kind, wanted);
            printf("%-8s bound / largest error, %s: median %.3g\n",
                   mxv_choice_name(MXV_CHOICE_KERNEL, kernels[k]), kind_names[kind], median);
            assert_true(median <= 8);
        }
}

static struct mxv_verify_result verify(const char *line)
{
    const struct mxv_verify_options options = {.impl = MXV_IMPL_EMULATION, .truth = true};
    struct mxv_case c;
    struct mxv_verify_result r = {0};
    char message[512] = "";
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    return r;
}

// Infinite P, or an infinite S * phi_q, where exact attention is finite: what the contract says.
static void test_overflow_is_no_disagreement(void **unused)
{
    static const char *const lines[] = {
        "flash lq=20 lk=40 d=32 poff=64",
        "flash lq=40 lk=300 d=32 tau=64 gen=rising_max gain=4",
        "dma lq=20 lk=40 d=32 poff=64 mode=low gen=zero_blocks",
        "dma arch=sm_90 lq=5 lk=20 d=32 in=bf16 v=bf16 tile=16x32 scale=1e30 mode=low rebase=1 "
        "gain=1e4",
        "tilemix arch=sm_90 lq=70 lk=20 d=96 in=bf16 mask=full align=tl tile=16x96 tau=4 "
        "masked=finite scale=1e10 plan=checker kgran=warp fold=1 gen=equal seed=a48b5e8",
        "tilemix arch=sm_100 lq=70 lk=20 in=f32 v=bf16 align=tl tile=64x32 tau=64 scale=1e10 "
        "plan=checker qgran=token kgran=token kvcache=1 fold=1 gen=signed_extreme seed=27acebe5",
        "flash lq=8 lk=64 tau=64 poff=60 v=bf16 gen=identity_v seed=1",
        "flash d=32 lq=256 lk=266 in=f32 v=bf16 out=f32 mask=full align=tl right=63 exp=cr "
        "masked=finite lse=none smooth=1 scale=1e8 gen=integer seed=dfd850f3",
        "flash hq=4 hk=2 lq=16 lk=32 v=bf16 out=f32 mask=full tile=64x128 order=desc exp=cr "
        "tau=0.75 masked=finite scale=1e8 gen=constant seed=a9a6afad gain=0.25",
    };
    (void)unused;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct mxv_verify_result r = verify(lines[i]);
        assert_int_equal(r.bound.model_wrong, 0);
        if (r.verdict != MXV_VERDICT_PASS || !r.same_bits || !(r.worst_bound_ratio <= 1))
            fail_msg("%s: %s %s", lines[i], mxv_verdict_name(r.verdict), r.reason);
        mxv_verify_free(&r);
    }
}

// Scores of 2^25 and more, whose last place is worth whole powers of two of all weights together:
// sums beyond the range of the reciprocal, accumulators that overflow, weights that all vanish.
static void test_huge_scores_are_no_disagreement(void **unused)
{
    static const char *const kernel[] = {"flash v=bf16", "flash arch=sm_100 tau=64 v=bf16",
                                         "dma arch=sm_90 v=e4m3 poff=4",
                                         "tilemix v=bf16 tau=64 plan=checker tile=64x32",
                                         "tilemix v=bf16 plan=checker tile=64x32 fold=1"};
    static const char *const scale[] = {"1e7", "1e8", "1e10", "1e12"};
    static const char *const generator[] = {"signed_extreme", "gaussian", "identity_v",
                                            "zero_blocks", "codes"};
    uint64_t wrong = 0;
    (void)unused;
    for (size_t i = 0; i < 5 * 4 * 5 * 2; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s lq=70 lk=20 d=64 in=f32 align=tl scale=%s gen=%s seed=%zu",
                 kernel[i % 5], scale[i / 5 % 4], generator[i / 20 % 5], i / 100 + 1);
        struct mxv_verify_result r = verify(line);
        if (r.verdict == MXV_VERDICT_ORACLE_ERROR || !r.same_bits || !(r.worst_bound_ratio <= 1))
            fail_msg("%s: %s %s", line, mxv_verdict_name(r.verdict), r.reason);
        wrong += r.bound.wrong + r.bound.model_wrong;
        mxv_verify_free(&r);
    }
    assert_int_equal(wrong, 0);
}

// Where weights may leave the range of binary32 the sum that a kernel has is still its own: a wrong
// logarithm is proved wrong.
static void test_wrong_lse_of_huge_weights(void **unused)
{
    static const char *const lines[] = {
        "flash lq=8 lk=64 lse=e tau=64 poff=58 v=bf16 seed=1 fault=lse-without-max",
        "flash lq=70 lk=64 lse=e scale=1e9 in=f32 v=bf16 mask=full fault=lse-base",
    };
    (void)unused;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct mxv_verify_result r = verify(lines[i]);
        assert_true(r.bound.lse.elements > 0);
        assert_int_equal(r.bound.lse.wrong, r.bound.lse.elements);
        mxv_verify_free(&r);
    }
}

// A causal leak and a wrong exponential base leave the bound, contract and model.
static void test_broken_kernels_are_proved_wrong(void **unused)
{
    static const char *const lines[] = {
        "dma lq=160 lk=160 d=64 D=1 s=1 mask=causal seed=4 fault=D3",
        "dma lq=40 lk=60 d=64 mask=full seed=6 fault=D5",
        "dma lq=40 lk=60 d=64 dual=token seed=8 fault=D7",
    };
    (void)unused;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct mxv_verify_result r = verify(lines[i]);
        assert_int_equal(r.verdict, MXV_VERDICT_FAIL);
        assert_int_equal(r.bound_verdict, MXV_VERDICT_FAIL);
        assert_false(r.same_bits);
        if (r.bound.wrong == 0 || r.bound.model_wrong == 0 || r.bound.ratio <= 1)
            fail_msg("%s: wrong %llu, model %llu, ratio %g", lines[i],
                     (unsigned long long)r.bound.wrong, (unsigned long long)r.bound.model_wrong,
                     r.bound.ratio);
        assert_true(r.worst_bound_ratio <= 1); // the oracles themselves agree
        mxv_verify_free(&r);
    }
}

// Another implementation of the same model: its own exponential, correctly rounded where the case
// declares the special-function unit. Other bits, but within the model bound.
static int run_own_exponential(void *state, const struct mxv_attention *a, size_t sequence,
                               size_t head, uint32_t *out, uint32_t *lse,
                               const struct mxv_tap_sink *sink, char *message, size_t size)
{
    struct mxv_attention own = *a;
    (void)state;
    own.exp = MXV_EXP_CR;
    return mxv_engine_head(&own, sequence, head, out, lse, sink, message, size) ? MXV_IMPL_FAILED
                                                                                : MXV_IMPL_OK;
}

static void test_other_kernels_of_the_model_pass(void **unused)
{
    static const char *const lines[] = {
        "flash lq=40 lk=200 d=64 out=f32 gen=gaussian seed=1",
        "flash arch=sm_80 lq=33 lk=129 d=32 out=f32 tau=8 gen=rising_max seed=2",
        "dma lq=40 lk=100 d=64 out=f32 gen=outlier seed=3",
        "dma arch=sm_90 lq=64 lk=64 d=32 v=e4m3 out=f32 mask=causal gen=gaussian seed=4",
        "tilemix lq=70 lk=90 d=64 out=f32 gen=gaussian seed=5",
    };
    const struct mxv_implementation implementation = {.abi = MXV_IMPL_ABI,
                                                      .call_size = sizeof(struct mxv_attention),
                                                      .name = "own-exp",
                                                      .version = "1",
                                                      .capabilities = MXV_IMPL_THREADS,
                                                      .run = run_own_exponential};
    struct mxv_adapter *adapter;
    char message[512] = "";
    size_t others = 0;
    (void)unused;
    if (mxv_adapter_of(&implementation, &adapter, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    const struct mxv_verify_options options = {.truth = true, .adapter = adapter};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct mxv_verify_result r = {0}, own = verify(lines[i]);
        struct mxv_case c;
        if (mxv_case_parse(lines[i], &c, message, sizeof message) != MXV_OK ||
            mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
            fail_msg("%s: %s", lines[i], message);
        if (r.verdict != MXV_VERDICT_PASS || r.bound.model_within != r.bound.elements)
            fail_msg("%s: %s %s", lines[i], mxv_verdict_name(r.verdict), r.reason);
        others += r.output_hash != own.output_hash;
        mxv_verify_free(&r);
        mxv_verify_free(&own);
    }
    mxv_adapter_close(adapter);
    assert_true(others >= 4); // else the test would show nothing
}

// A row of one visible key is exact but for the output: terms and truth are known in closed form.
static void test_terms_of_a_single_key(void **unused)
{
    (void)unused;
    struct mxv_verify_result r = verify("flash lq=1 lk=1 d=32 out=f16 mask=full seed=3");
    const struct mxv_bound_terms *t = &r.bound.worst.model;
    assert_int_equal(r.verdict, MXV_VERDICT_PASS);
    assert_int_equal(r.bound.elements, 32);
    assert_true(t->term[MXV_BOUND_SCORE] == 0 && t->term[MXV_BOUND_EXP2] == 0);
    assert_true(t->term[MXV_BOUND_RESCALE] == 0);
    assert_true(t->term[MXV_BOUND_WEIGHT] < fabs(r.bound.worst.truth) * 0x1p-18);
    assert_true(r.bound.worst.error <=
                t->term[MXV_BOUND_OUTPUT] + fabs(r.bound.worst.truth) / 4096);
    mxv_verify_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_hold_and_are_tight),
        cmocka_unit_test(test_overflow_is_no_disagreement),
        cmocka_unit_test(test_huge_scores_are_no_disagreement),
        cmocka_unit_test(test_wrong_lse_of_huge_weights),
        cmocka_unit_test(test_broken_kernels_are_proved_wrong),
        cmocka_unit_test(test_other_kernels_of_the_model_pass),
        cmocka_unit_test(test_terms_of_a_single_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
