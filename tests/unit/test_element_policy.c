// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The name tables: every value of every choice is found by its name and by no other, names are
// unique and described, and the defaults are the documented ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include <mxverify/block.h>
#include <mxverify/element.h>
#include <mxverify/pack.h>

/// Choices that published implementations make differently (docs/formats.md).
static const char *const required[] = {
    "round",        "overflow",   "inf",          "nan",          "negzero",     "negative",
    "scale_rule",   "scale_inf",  "scale_nan",    "scale_zero",   "below",       "above",
    "e8m0_fe",      "arith",      "block_nan",    "block_zero",   "nvfp4_order", "nvfp4_variant",
    "four_six_err", "nvfp4_zero", "zero_tensor",  "int8_arith",   "int8_eps",    "int8_zero",
    "fp8_scale",    "pack_axis",  "nibble_order", "scale_layout", "e8m0_zero",
};

static void test_tables(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct mxv_policy *p; (p = mxv_policy_get(count)) != NULL; count++) {
        assert_true(strlen(p->description) > 10);
        assert_true(p->count >= 2);
        for (size_t i = 0; i < p->count; i++) {
            assert_non_null(p->values[i].name);
            assert_true(strlen(p->values[i].description) > 0);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(p->values[i].name, p->values[j].name);
        }
        for (size_t j = 0; j < count; j++)
            assert_string_not_equal(p->name, mxv_policy_get(j)->name);
    }
    assert_null(mxv_policy_get(count + 1));
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        size_t at = 0;
        while (at < count && !mxv_name_equal(mxv_policy_get(at)->name, required[i]))
            at++;
        assert_true(at < count);
    }
}

static void test_lookup(void **state)
{
    (void)state;
    for (int i = 0; i < MXV_ROUND_COUNT; i++) {
        enum mxv_round found = MXV_ROUND_COUNT;
        assert_true(mxv_round_find(mxv_round_name((enum mxv_round)i), &found));
        assert_int_equal(found, i);
    }
    enum mxv_scale_rule rule = MXV_SCALE_RULE_COUNT;
    assert_true(mxv_scale_rule_find("near_sqrt2", &rule));
    assert_int_equal(rule, MXV_SCALE_NEAR_SQRT2);
    assert_false(mxv_scale_rule_find("nearest", &rule));
    assert_false(mxv_scale_rule_find("near_sqrt", &rule));
    assert_false(mxv_scale_rule_find("", &rule));
    assert_false(mxv_scale_rule_find(NULL, &rule));
    assert_int_equal(rule, MXV_SCALE_NEAR_SQRT2);
    assert_string_equal(mxv_round_name((enum mxv_round)MXV_ROUND_COUNT), "?");
    assert_string_equal(mxv_scale_layout_name(MXV_LAYOUT_128X4), "128x4");
}

static void test_formats_and_blocks(void **state)
{
    (void)state;
    for (int i = 0; i < MXV_ELEMENT_COUNT; i++) {
        enum mxv_element f = MXV_ELEMENT_COUNT;
        assert_true(mxv_element_find(mxv_element_get((enum mxv_element)i)->name, &f));
        assert_int_equal(f, i);
    }
    for (int i = 0; i < MXV_BLOCK_COUNT; i++) {
        enum mxv_block b = MXV_BLOCK_COUNT;
        assert_true(mxv_block_find(mxv_block_get((enum mxv_block)i)->name, &b));
        assert_int_equal(b, i);
        assert_true(mxv_block_get(b)->size <= MXV_BLOCK_SIZE_MAX);
    }
    enum mxv_element f = MXV_F16;
    assert_false(mxv_element_find("fp8", &f));
    assert_int_equal(f, MXV_F16);
    assert_int_equal(mxv_block_get(MXV_NVFP4)->size, 16);
    assert_int_equal(mxv_block_get(MXV_MXFP4)->size, 32);
}

/// A zero-initialised parameter means: rne, saturate, floor rule, low nibble first, exact order.
static void test_defaults(void **state)
{
    (void)state;
    assert_string_equal(mxv_round_name((enum mxv_round)0), "rne");
    assert_string_equal(mxv_overflow_name((enum mxv_overflow)0), "sat");
    assert_string_equal(mxv_scale_rule_name((enum mxv_scale_rule)0), "floor");
    assert_string_equal(mxv_nibble_order_name((enum mxv_nibble_order)0), "low_first");
    assert_string_equal(mxv_nvfp4_order_name((enum mxv_nvfp4_order)0), "exact");
    assert_string_equal(mxv_arith_name((enum mxv_arith)0), "exact");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_formats_and_blocks),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
