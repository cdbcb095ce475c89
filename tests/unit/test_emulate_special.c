// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The special functions that the emulation on a GPU runs (gpu/emulate_special.h), compiled for the
// host: ex2, rcp and lg2 against ref/special.c over a stride of all words and the words round every
// power of two; the correctly rounded 2^x against MPFR (mxv_ex2_rn) on random words, the ends of
// the range and near zero, none of them undecided. gpu/emulate_check runs them on a device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mxverify/special.h>
#include <stdio.h>

#include "../../gpu/emulate_special.h"

static size_t unit_differences(uint32_t x)
{
    return (special_ex2(x) != mxv_ex2(x, true)) + (special_rcp(x) != mxv_rcp(x, true)) +
           (special_lg2(x) != mxv_lg2(x, true));
}

static void test_interpolator(void **state)
{
    size_t words = 0, wrong = 0;
    (void)state;
    for (uint64_t x = 0; x < UINT64_C(0x100000000); x += 4999, words++)
        wrong += unit_differences((uint32_t)x);
    for (uint32_t top = 0; top < 512; top++)
        for (int near = -3; near <= 3; near++, words++)
            wrong += unit_differences((top << 23) + (uint32_t)near);
    printf("%zu words, %zu differences\n", words, wrong);
    assert_int_equal(wrong, 0);
}

static size_t rounded_differences(uint32_t x)
{
    bool undecided;
    const uint32_t have = special_ex2_cr(x, &undecided);
    return have != mxv_ex2_rn(x) || undecided;
}

static void test_correctly_rounded(void **state)
{
    size_t words = 0, wrong = 0;
    (void)state;
    for (uint64_t x = 0; x < UINT64_C(0x100000000); x += 65521 * 3, words++)
        wrong += rounded_differences((uint32_t)x);
    for (uint32_t top = 96; top < 136; top++) // 2^-31 to 2^8 of either sign
        for (int near = -40; near <= 40; near++, words += 2) {
            wrong += rounded_differences((top << 23) + (uint32_t)near);
            wrong += rounded_differences((top << 23) + (uint32_t)near + 0x80000000u);
        }
    for (int i = -40; i <= 40; i++, words += 3) { // 128, -126 and -150
        wrong += rounded_differences(0x43000000u + (uint32_t)i);
        wrong += rounded_differences(0xc2fc0000u + (uint32_t)i);
        wrong += rounded_differences(0xc3160000u + (uint32_t)i);
    }
    for (uint32_t x = 0xc2f00000u; x < 0xc3180000u; x += 331, words++) // subnormal results
        wrong += rounded_differences(x);
    printf("%zu words, %zu differences or undecided\n", words, wrong);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interpolator),
                                       cmocka_unit_test(test_correctly_rounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
