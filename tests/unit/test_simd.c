// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Dispatch levels: names, order and the limit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mxverify/simd.h>

static void names_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < MXV_SIMD_COUNT; i++) {
        enum mxv_simd level = MXV_SIMD_COUNT;
        assert_true(mxv_simd_find(mxv_simd_name((enum mxv_simd)i), &level));
        assert_int_equal(level, i);
    }
    enum mxv_simd level;
    assert_false(mxv_simd_find("avx", &level));
    assert_false(mxv_simd_find("avx5122", &level));
    assert_false(mxv_simd_find("", &level));
    assert_null(mxv_simd_name(MXV_SIMD_COUNT));
}

static void a_limit_is_never_exceeded(void **state)
{
    (void)state;
    for (int i = 0; i < MXV_SIMD_COUNT; i++) {
        const enum mxv_simd level = mxv_simd_limit((enum mxv_simd)i);
        const enum mxv_simd most =
            mxv_simd_detected() < (enum mxv_simd)i ? mxv_simd_detected() : (enum mxv_simd)i;
        assert_int_equal(level, most);
        assert_int_equal(mxv_simd_level(), most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_back),
        cmocka_unit_test(a_limit_is_never_exceeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
