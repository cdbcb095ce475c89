// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Every fault of faults.def on its own trigger: switched on it is caught at the stage its row
// names, switched off the same case passes. The rows take stage and trigger from the report that
// is their source; a hook that does nothing, or acts elsewhere, fails here.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/faults.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <string.h>

static struct mxv_verify_result verify(const char *line, bool truth)
{
    const struct mxv_verify_options options = {.impl = MXV_IMPL_EMULATION, .truth = truth};
    struct mxv_case c;
    struct mxv_verify_result result;
    char message[512] = "";
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    if (mxv_verify_case(&c, &options, &result, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    return result;
}

static bool check_fault(const struct mxv_fault_info *f, bool of_reference)
{
    char line[512];
    snprintf(line, sizeof line, "%s fault=%s", f->trigger, f->name);
    struct mxv_verify_result on = verify(line, of_reference), off = verify(f->trigger, false);
    enum mxv_verdict expected = of_reference ? MXV_VERDICT_ORACLE_ERROR : MXV_VERDICT_FAIL;
    bool good =
        off.verdict == MXV_VERDICT_PASS && on.verdict == expected && on.first.key.stage == f->stage;
    if (!good)
        printf("%s: on %s at %s (expected %s at %s), off %s; %s\n", line,
               mxv_verdict_name(on.verdict), mxv_choice_name(MXV_CHOICE_STAGE, on.first.key.stage),
               mxv_verdict_name(expected), mxv_choice_name(MXV_CHOICE_STAGE, f->stage),
               mxv_verdict_name(off.verdict), on.reason);
    mxv_verify_free(&on);
    mxv_verify_free(&off);
    return good;
}

static void test_every_fault_on_its_trigger(void **state)
{
    (void)state;
    unsigned bad = 0;
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        bad += !check_fault(mxv_fault_get((enum mxv_fault)f), f == MXV_FAULT_NONCAUSAL_REFERENCE);
    printf("%d faults, %u not caught at their stage\n", MXV_FAULT_COUNT, bad);
    assert_int_equal(bad, 0);
}

static void test_rows_are_complete(void **state)
{
    (void)state;
    assert_true(MXV_FAULT_COUNT >= 40 && MXV_FAULT_COUNT <= 64);
    for (unsigned i = 0; i < MXV_FAULT_COUNT; i++) {
        const struct mxv_fault_info *f = mxv_fault_get((enum mxv_fault)i);
        enum mxv_fault found;
        char message[512];
        struct mxv_case c;
        assert_true(mxv_fault_find(f->name, &found) && found == (enum mxv_fault)i);
        assert_true(f->source[0] && strpbrk(f->source, "#@:"));
        assert_true(f->stages >> f->stage & 1);
        assert_int_equal(mxv_case_parse(f->trigger, &c, message, sizeof message), MXV_OK);
        assert_true(f->kernels >> c.kernel & 1);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(f->name, mxv_fault_get((enum mxv_fault)j)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fault_on_its_trigger),
        cmocka_unit_test(test_rows_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
