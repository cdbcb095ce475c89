// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows that metrics are over: those that the bounds judge. What a kernel writes into a row
// without a visible key (zeros, NaN, with masked=finite the mean over hidden keys) is no error of
// its arithmetic, so that nothing measured may depend on it.
#include <math.h>
#include <mxverify/verify.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void verify(const char *line, struct mxv_verify_result *r)
{
    const struct mxv_verify_options options = {.impl = MXV_IMPL_PLAIN, .truth = true};
    struct mxv_case c;
    char message[MXV_VERIFY_TEXT] = "";
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_verify_case(&c, &options, r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    if (r->verdict != MXV_VERDICT_PASS)
        fail_msg("%s: %s %s", line, mxv_verdict_name(r->verdict), r->reason);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

// Of causal attention with lq > lk, aligned at the end, the first lq - lk rows see no key.
static const struct {
    const char *shape;
    size_t rows, empty; // over all heads
} shapes[] = {
    {"flash lq=64 lk=1 seed=1", 64, 63},
    {"flash hq=2 lq=40 lk=24 d=32 gen=signed_extreme seed=2", 80, 32},
    {"dma lq=64 lk=1 smooth=1 gen=constant seed=3", 64, 63},
    {"dma lq=65 lk=17 v=bf16 mode=low gen=v_ones seed=4", 65, 48},
    {"dma seqs=40:8,16:16,9:0 mode=high dual=token seed=5", 65, 41},
    {"tilemix lq=45 lk=1 plan=all_int8 seed=6", 45, 44},
    {"tilemix hq=2 lq=96 lk=65 d=32 gen=outlier seed=7", 192, 62},
};

static void rows_without_a_key_are_not_measured(void **state)
{
    static const char *const ways[] = {"", " empty=nan", " masked=finite"};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct mxv_verify_result all[3];
        for (size_t w = 0; w < 3; w++) {
            char line[200];
            struct mxv_verify_result *r = &all[w];
            snprintf(line, sizeof line, "%s%s", shapes[i].shape, ways[w]);
            verify(line, r);
            assert_int_equal(r->truth_rows, shapes[i].rows);
            assert_int_equal(r->unmeasured_rows, shapes[i].empty);
            for (unsigned m = 0; m < MXV_METRIC_COUNT; m++) {
                enum mxv_metric metric = (enum mxv_metric)m;
                if (!same(mxv_metric_value(&r->against_operands, metric),
                          mxv_metric_value(&all[0].against_operands, metric)) ||
                    !same(mxv_metric_value(&r->against_inputs, metric),
                          mxv_metric_value(&all[0].against_inputs, metric)))
                    fail_msg("%s: %s is not that of `%s`", line, mxv_metric_get(m)->name,
                             shapes[i].shape);
            }
            assert_true(r->compute_rms == all[0].compute_rms);
            assert_true(r->quantisation_rms == all[0].quantisation_rms);
            assert_true(mxv_metric_value(&r->against_operands, MXV_METRIC_REL_L2) < 0.02);
            assert_true(mxv_metric_value(&r->against_operands, MXV_METRIC_NAN) == 0);
        }
        // the words themselves differ, or nothing was shown
        assert_true(all[1].output_hash != all[0].output_hash);
        assert_true(all[2].output_hash != all[0].output_hash);
        for (size_t w = 0; w < 3; w++)
            mxv_verify_free(&all[w]);
    }
}

static void all_rows_with_a_key_are_measured(void **state)
{
    static const struct {
        const char *line;
        size_t rows, d;
    } full[] = {
        {"flash lq=33 lk=33 d=32 masked=finite", 33, 32},
        {"dma hq=2 lq=16 lk=70 d=96 masked=finite empty=nan", 32, 96},
        {"tilemix lq=40 lk=40 d=64 mask=full masked=finite", 40, 64},
        {"dma-released lq=40 lk=40 d=128", 40, 128}, // without bounds
    };
    (void)state;
    for (size_t i = 0; i < sizeof full / sizeof full[0]; i++) {
        struct mxv_verify_result r;
        verify(full[i].line, &r);
        assert_int_equal(r.truth_rows, full[i].rows);
        assert_int_equal(r.unmeasured_rows, 0);
        assert_int_equal(r.against_inputs.elements, full[i].rows * full[i].d);
        assert_int_equal(r.against_operands.numbers, full[i].rows * full[i].d);
        mxv_verify_free(&r);
    }
}

static void rows_near_a_nan_are_counted_as_left_out(void **state)
{
    struct mxv_verify_result r;
    (void)state;
    verify("flash lq=24 lk=24 d=32 gen=nonfinite seed=1", &r);
    assert_int_equal(r.truth_rows, 24);
    assert_true(r.undefined_rows > 0);
    assert_true(r.unmeasured_rows >= r.undefined_rows);
    assert_int_equal(r.against_operands.elements, (24 - r.unmeasured_rows) * 32);
    mxv_verify_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_without_a_key_are_not_measured),
        cmocka_unit_test(all_rows_with_a_key_are_measured),
        cmocka_unit_test(rows_near_a_nan_are_counted_as_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
