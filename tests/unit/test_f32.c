// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Binary32 arithmetic on words against the host's IEEE arithmetic, over special, random and
// exponent-matched operands (which cancel, underflow and overflow).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include <mxverify/f32.h>

#include "slow_format.h"

static uint64_t random_state = 0xD1B54A32D192ED03u;

static uint32_t random_word(void)
{
    return (uint32_t)(slow_random(&random_state) >> 32);
}

static const uint32_t specials[] = {
    0x00000000, 0x00000001, 0x00000002, 0x003FFFFF, 0x00400000, 0x007FFFFF, 0x00800000,
    0x00800001, 0x00FFFFFF, 0x01000000, 0x33800000, 0x33800001, 0x34000000, 0x3EFFFFFF,
    0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40400000, 0x40C00000,
    0x42FE0000, 0x43E00000, 0x4B000000, 0x4B7FFFFF, 0x4B800000, 0x7E800000, 0x7EFFFFFF,
    0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
};
#define SPECIAL_COUNT (sizeof specials / sizeof specials[0])

static void same(const char *op, uint32_t a, uint32_t b, uint32_t c, uint32_t got,
                 volatile float want)
{
    const bool equal = isnan(want) ? got == MXV_F32_NAN : got == slow_word(want);
    if (!equal)
        fail_msg("%s %08X %08X %08X: %08X, want %08X", op, a, b, c, got, slow_word(want));
}

static void check(uint32_t a, uint32_t b, uint32_t c)
{
    const volatile float x = slow_float(a), y = slow_float(b), z = slow_float(c);
    same("mul", a, b, 0, mxv_f32_mul(a, b), x * y);
    same("div", a, b, 0, mxv_f32_div(a, b), x / y);
    same("add", a, b, 0, mxv_f32_add(a, b), x + y);
    same("sub", a, b, 0, mxv_f32_sub(a, b), x - y);
    same("fma", a, b, c, mxv_f32_fma(a, b, c), fmaf(x, y, z));
    assert_int_equal(mxv_f32_less(a, b), x < y);
}

static void test_special_operands(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * SPECIAL_COUNT; i++)
        for (size_t j = 0; j < 2 * SPECIAL_COUNT; j++)
            for (size_t k = 0; k < 2 * SPECIAL_COUNT; k++)
                check(specials[i / 2] | (uint32_t)(i % 2) << 31,
                      specials[j / 2] | (uint32_t)(j % 2) << 31,
                      specials[k / 2] | (uint32_t)(k % 2) << 31);
}

static void test_random_operands(void **state)
{
    (void)state;
    for (int i = 0; i < 3000000; i++)
        check(random_word(), random_word(), random_word());
}

/// Exponents close together, and addends close to the product.
static void test_matched_operands(void **state)
{
    (void)state;
    for (int i = 0; i < 3000000; i++) {
        const uint32_t a = random_word();
        const uint32_t b = (a & 0x7F800000) + ((random_word() % 5) << 23) - (2u << 23);
        const uint32_t other = (b & 0x7F800000) | (random_word() & 0x807FFFFF);
        const float product = slow_float(a) * slow_float(other);
        const uint32_t c = slow_word(-product) + random_word() % 5 - 2;
        check(a, other, i % 2 != 0 ? c : random_word());
        check(a, a + random_word() % 3 - 1, c);
    }
}

/// triton-lang/triton#11610: 4097 * 4097 + 2^-30 rounds twice when done in binary64.
static void test_fma_rounds_once(void **state)
{
    (void)state;
    assert_int_equal(mxv_f32_fma(0x45800800, 0x45800800, 0x30800000), 0x4B801001);
}

/// PTX max.f32, min.f32 and the flush of .ftz.
static void test_selection(void **state)
{
    (void)state;
    assert_int_equal(mxv_f32_max(0x80000000, 0x00000000), 0x00000000);
    assert_int_equal(mxv_f32_min(0x00000000, 0x80000000), 0x80000000);
    assert_int_equal(mxv_f32_max(0x7FC00000, 0xBF800000), 0xBF800000);
    assert_int_equal(mxv_f32_max(0xBF800000, 0xFFC00001), 0xBF800000);
    assert_int_equal(mxv_f32_min(0x7FC00000, 0x7F800000), 0x7F800000);
    assert_int_equal(mxv_f32_max(0x7FC00000, 0xFFC00000), MXV_F32_NAN);
    assert_int_equal(mxv_f32_max(0xC0000000, 0xBF800000), 0xBF800000);
    assert_int_equal(mxv_f32_min(0xC0000000, 0xBF800000), 0xC0000000);
    assert_int_equal(mxv_f32_abs(0xFF800000), 0x7F800000);
    assert_int_equal(mxv_f32_flush(0x007FFFFF), 0x00000000);
    assert_int_equal(mxv_f32_flush(0x80000001), 0x80000000);
    assert_int_equal(mxv_f32_flush(0x80800000), 0x80800000);
    assert_int_equal(mxv_f32_flush(0x7F800001), 0x7F800001);
}

static uint32_t seven(uint32_t a)
{
    (void)a;
    return 7;
}

static uint32_t eight(uint32_t a, uint32_t b)
{
    (void)a;
    (void)b;
    return 8;
}

static void test_replaceable_operations(void **state)
{
    (void)state;
    const struct mxv_f32_ops none = {NULL, NULL}, own = {eight, seven};
    assert_int_equal(mxv_f32_rcp_by(NULL, 0x40C00000), 0x3E2AAAAB);
    assert_int_equal(mxv_f32_rcp_by(&none, 0x40C00000), 0x3E2AAAAB);
    assert_int_equal(mxv_f32_div_by(&none, 0x3F800000, 0x40C00000), 0x3E2AAAAB);
    assert_int_equal(mxv_f32_rcp_by(&own, 0x40C00000), 7);
    assert_int_equal(mxv_f32_div_by(&own, 1, 2), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_operands), cmocka_unit_test(test_random_operands),
        cmocka_unit_test(test_matched_operands), cmocka_unit_test(test_fma_rounds_once),
        cmocka_unit_test(test_selection),        cmocka_unit_test(test_replaceable_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
