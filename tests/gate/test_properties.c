// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties on trial: they hold of the healthy kernels (dma-released: but for the two that its
// defect D3 breaks), and each is violated by faults that break what it states. Which fault breaks
// which property follows from their descriptions (faults.def, properties.def).
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/faults.h>
#include <mxverify/properties.h>
#include <stdio.h>
#include <string.h>

static struct mxv_property_result check(enum mxv_property p, const struct mxv_property_options *o)
{
    struct mxv_property_result r;
    char message[512] = "";
    if (mxv_property_check(p, o, &r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", mxv_property_name(p), message);
    return r;
}

static void test_healthy_kernels(void **state)
{
    (void)state;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        for (unsigned p = 0; p < MXV_PROPERTY_COUNT; p++) {
            const struct mxv_property_options o = {
                .kernel = (enum mxv_kernel)k, .impl = MXV_IMPL_EMULATION, .seed = 1};
            struct mxv_property_result r = check((enum mxv_property)p, &o);
            bool released = k == MXV_KERNEL_DMA_RELEASED;
            enum mxv_property_outcome wanted = MXV_PROPERTY_HOLDS;
            if (released && (p == MXV_PROPERTY_IDENTITY_V || p == MXV_PROPERTY_UNIFORM))
                wanted = MXV_PROPERTY_EXPECTED;
            if (released && p == MXV_PROPERTY_LSE_MERGE)
                wanted = MXV_PROPERTY_NOT_APPLICABLE; // it has no LSE
            if (r.outcome != wanted)
                fail_msg("%s, %s: %s, expected %s; %s: %s (error %g, tolerance %g)",
                         mxv_choice_name(MXV_CHOICE_KERNEL, k), mxv_property_name(p),
                         mxv_property_outcome_name(r.outcome), mxv_property_outcome_name(wanted),
                         r.variant, r.text, r.error, r.tolerance);
            if (wanted != MXV_PROPERTY_NOT_APPLICABLE && r.compared < 4000)
                fail_msg("%s: only %llu numbers compared", mxv_property_name(p),
                         (unsigned long long)r.compared);
        }
}

static const struct {
    enum mxv_property property;
    enum mxv_kernel kernel;
    const char *fault;
} broken[] = {
    {MXV_PROPERTY_V_ONES, MXV_KERNEL_FLASH, "sum-over-lanes"},
    {MXV_PROPERTY_V_ONES, MXV_KERNEL_TILEMIX, "sum-not-rescaled"},
    {MXV_PROPERTY_V_ONES, MXV_KERNEL_DMA, "v-scale-dropped"},
    {MXV_PROPERTY_IDENTITY_V, MXV_KERNEL_FLASH, "causal-off-by-one"},
    {MXV_PROPERTY_IDENTITY_V, MXV_KERNEL_DMA, "D3"},
    {MXV_PROPERTY_IDENTITY_V, MXV_KERNEL_TILEMIX, "causal-off-by-one"},
    {MXV_PROPERTY_UNIFORM, MXV_KERNEL_DMA, "mask-top-left"},
    {MXV_PROPERTY_UNIFORM, MXV_KERNEL_FLASH, "tail-dropped"},
    {MXV_PROPERTY_UNIFORM, MXV_KERNEL_TILEMIX, "stale-value"},
    {MXV_PROPERTY_ONE_HOT, MXV_KERNEL_FLASH, "columns-permuted"},
    {MXV_PROPERTY_ONE_HOT, MXV_KERNEL_DMA, "stale-tile"},
    {MXV_PROPERTY_ONE_HOT, MXV_KERNEL_TILEMIX, "v-rows-permuted"},
    {MXV_PROPERTY_ROW_CONSTANT, MXV_KERNEL_FLASH, "lse-without-max"},
    {MXV_PROPERTY_ROW_CONSTANT, MXV_KERNEL_TILEMIX, "lse-base"},
    {MXV_PROPERTY_LSE_MERGE, MXV_KERNEL_FLASH, "lse-base"},
    {MXV_PROPERTY_LSE_MERGE, MXV_KERNEL_DMA, "sum-not-rescaled"},
    {MXV_PROPERTY_LSE_MERGE, MXV_KERNEL_TILEMIX, "lse-without-max"},
    {MXV_PROPERTY_CAUSAL_PREFIX, MXV_KERNEL_FLASH, "causal-off-by-one"},
    {MXV_PROPERTY_CAUSAL_PREFIX, MXV_KERNEL_DMA, "causal-off-by-one"},
    {MXV_PROPERTY_CAUSAL_PREFIX, MXV_KERNEL_TILEMIX, "causal-off-by-one"},
    {MXV_PROPERTY_POWER_OF_TWO_V, MXV_KERNEL_DMA, "v-scale-dropped"},
    {MXV_PROPERTY_GQA_REPLICATION, MXV_KERNEL_FLASH, "gqa-modulo"},
    {MXV_PROPERTY_GQA_REPLICATION, MXV_KERNEL_TILEMIX, "gqa-modulo"},
    {MXV_PROPERTY_KEY_PERMUTATION, MXV_KERNEL_FLASH, "stale-score"},
    {MXV_PROPERTY_KEY_PERMUTATION, MXV_KERNEL_DMA, "columns-permuted"},
    {MXV_PROPERTY_BATCH_INVARIANCE, MXV_KERNEL_FLASH, "batch-stride"},
    {MXV_PROPERTY_BATCH_INVARIANCE, MXV_KERNEL_TILEMIX, "cu-seqlens-off-by-one"},
    {MXV_PROPERTY_BATCH_INVARIANCE, MXV_KERNEL_DMA_RELEASED, "batch-stride"},
};

static void test_faults_violate(void **state)
{
    size_t missed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        enum mxv_fault fault;
        assert_true(mxv_fault_find(broken[i].fault, &fault));
        const struct mxv_property_options o = {.kernel = broken[i].kernel,
                                               .impl = MXV_IMPL_EMULATION,
                                               .faults = UINT64_C(1) << fault,
                                               .seed = 1};
        struct mxv_property_result r = check(broken[i].property, &o);
        missed += r.outcome != MXV_PROPERTY_VIOLATED;
        if (r.outcome != MXV_PROPERTY_VIOLATED)
            print_message("%s with %s: %s %s (worst %g)\n", mxv_property_name(broken[i].property),
                          broken[i].fault, mxv_choice_name(MXV_CHOICE_KERNEL, broken[i].kernel),
                          mxv_property_outcome_name(r.outcome), r.worst);
    }
    assert_int_equal(missed, 0);
}

// An implementation whose every second call turns the last bit of its first word.
static int unsteady(const struct mxv_attention *a, size_t sequence, size_t head, uint32_t *out,
                    uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size)
{
    static unsigned calls;
    int status = mxv_engine_head(a, sequence, head, out, lse, sink, message, size);
    if (status == 0 && ++calls % 2 == 0)
        out[0] ^= 1;
    return status;
}

static void test_unsteady_runs_are_seen(void **state)
{
    (void)state;
    const struct mxv_property_options o = {.kernel = MXV_KERNEL_FLASH, .seed = 1, .head = unsteady};
    assert_int_equal(check(MXV_PROPERTY_DETERMINISM, &o).outcome, MXV_PROPERTY_VIOLATED);
    assert_int_equal(check(MXV_PROPERTY_DETERMINISM, &o).beyond, 2); // a word of each variant
}

// Options of a caller's own case; what sees the whole sequence has no causal prefix.
static void test_a_base_case(void **state)
{
    (void)state;
    struct mxv_case c;
    char message[512];
    const char *line = "dma d=32 tile=32x32 smooth=1 dual=tensor lse=2 out=f16";
    assert_int_equal(mxv_case_parse(line, &c, message, sizeof message), MXV_OK);
    const struct mxv_property_options o = {
        .kernel = MXV_KERNEL_DMA, .impl = MXV_IMPL_EMULATION, .seed = 3, .base = &c};
    assert_int_equal(check(MXV_PROPERTY_V_ONES, &o).outcome, MXV_PROPERTY_HOLDS);
    assert_int_equal(check(MXV_PROPERTY_DETERMINISM, &o).outcome, MXV_PROPERTY_HOLDS);
    assert_int_equal(check(MXV_PROPERTY_CAUSAL_PREFIX, &o).outcome, MXV_PROPERTY_NOT_APPLICABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_kernels),
        cmocka_unit_test(test_faults_violate),
        cmocka_unit_test(test_unsteady_runs_are_seen),
        cmocka_unit_test(test_a_base_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
