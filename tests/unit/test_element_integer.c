// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Integer elements, the E2M1 rule of the released DMA kernel, and codes of quotients under the
// three arithmetics.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <mxverify/element.h>

#include "slow_format.h"

static uint64_t encode_float(const char *format, double x, const struct mxv_encode *p)
{
    enum mxv_element f = MXV_E2M1;
    assert_true(mxv_element_find(format, &f));
    return mxv_element_from_f32(f, slow_word((float)x), p);
}

static uint64_t encode_word(const char *format, uint32_t word, const struct mxv_encode *p)
{
    return encode_float(format, (double)slow_float(word), p);
}

/// Integers: PTX cvt.rni.sat.s8, the INT8 rounding table, llama.cpp's and SageAttention's forms.
static void test_integers(void **state)
{
    (void)state;
    static const double xs[] = {1.7, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5};
    static const int want[4][7] = {{1, 0, 1, 2, 0, -1, -2},
                                   {2, 0, 2, 2, 0, -2, -2},
                                   {2, 1, 2, 3, -1, -2, -3},
                                   {2, 1, 2, 3, 0, -1, -2}};
    static const enum mxv_round rounds[] = {MXV_RTZ, MXV_RNE, MXV_RNA, MXV_RHU};
    struct mxv_encode p = {0};
    for (int r = 0; r < 4; r++) {
        p.round = rounds[r];
        for (int i = 0; i < 7; i++)
            assert_int_equal(encode_float("s8", xs[i], &p), want[r][i] & 0xFF);
    }
    p.round = MXV_RAH;
    assert_int_equal(encode_word("s8", 0x3EFFFFFF, &p), 1);
    assert_int_equal(encode_word("s8", 0xBEFFFFFF, &p), 0xFF);
    assert_int_equal(encode_word("s8", 0x3F000000, &p), 1);
    p.round = MXV_RNA;
    assert_int_equal(encode_word("s8", 0x3EFFFFFF, &p), 0);
    p.round = MXV_RNE;
    assert_int_equal(encode_float("s8", 127.6, &p), 0x7F);
    assert_int_equal(encode_float("s8", -129, &p), 0x80);
    assert_int_equal(encode_float("s8", 1e30, &p), 0x7F);
    assert_int_equal(encode_float("u8", 5, &p), 0x05);
    assert_int_equal(encode_float("u8", -5, &p), 0x00);
    assert_int_equal(encode_float("u8", 300, &p), 0xFF);
    assert_int_equal(encode_word("mxint8", 0x3FFFFFFF, &p), 0x7F);
    assert_int_equal(encode_word("mxint8", 0xBFFFFFFF, &p), 0x81);
    p.min_set = true;
    p.min = -127;
    assert_int_equal(encode_float("s8", -129, &p), 0x81);
    p.min = -128;
    assert_int_equal(encode_float("mxint8", -2, &p), 0x80);
}

/// The E2M1 rule of the released DMA kernel, in double, from its definition by intervals.
static unsigned dma_rule(double y)
{
    double a = fabs(y) > 6 ? 6 : fabs(y);
    const unsigned exponent = a >= 4 ? 3 : a >= 2 ? 2 : a >= 1 ? 1 : 0;
    const double n = a / ldexp(1.0, (int)exponent - 1);
    const unsigned mantissa = exponent == 0 ? n > 0.25 : n > 1.25;
    return (y >= 0 ? 0u : 8u) | exponent << 1 | mantissa;
}

static void test_dma_rule(void **state)
{
    (void)state;
    struct mxv_encode p = {0};
    p.round = MXV_RDMA;
    for (int i = -70000; i <= 70000; i++) {
        const float x = (float)i * 0x1p-13f;
        const float neighbours[] = {x, nextafterf(x, -INFINITY), nextafterf(x, INFINITY)};
        for (int k = 0; k < 3; k++)
            assert_int_equal(mxv_element_from_f32(MXV_E2M1, slow_word(neighbours[k]), &p),
                             dma_rule((double)neighbours[k]));
    }
    assert_int_equal(encode_word("e2m1", 0x00000001, &p), 0);
    assert_int_equal(encode_word("e2m1", 0x80000001, &p), 8);
    assert_int_equal(encode_word("e2m1", 0x80000000, &p), 0);
    assert_int_equal(encode_word("e2m1", 0x7F7FFFFF, &p), 7);
    assert_int_equal(encode_word("e2m1", 0xFF800000, &p), 15);
}

/// Codes of x / s: IN-07 (pytorch/FBGEMM#199) and IN-03 (sonos/tract#2850,
/// microsoft/onnxruntime#32452).
static void test_quotients(void **state)
{
    (void)state;
    const uint32_t s = 0x3DCCCCCD;
    assert_int_equal(mxv_element_from_quotient(MXV_S8, 0x3FC66666, s, MXV_ARITH_DIV, NULL), 15);
    assert_int_equal(mxv_element_from_quotient(MXV_S8, 0x3FC66666, s, MXV_ARITH_RCP, NULL), 16);
    assert_int_equal(mxv_element_from_quotient(MXV_S8, 0x3FC66666, s, MXV_ARITH_EXACT, NULL), 15);
    assert_int_equal(mxv_element_from_quotient(MXV_S8, 0x3F400000, s, MXV_ARITH_DIV, NULL), 8);
    assert_int_equal(mxv_element_from_quotient(MXV_S8, 0x3F400000, s, MXV_ARITH_RCP, NULL), 8);
    assert_int_equal(mxv_element_from_quotient(MXV_S8, 0x3F400000, s, MXV_ARITH_EXACT, NULL), 7);
    assert_int_equal(
        mxv_element_from_quotient(MXV_S8, 0x3D4CE000, 0x3DCCC000, MXV_ARITH_EXACT, NULL), 1);
    assert_int_equal(
        mxv_element_from_quotient(MXV_S8, 0xBD4CE000, 0x3DCCC000, MXV_ARITH_EXACT, NULL), 0xFF);
    assert_int_equal(mxv_element_from_quotient(MXV_E2M1, 0, 0, MXV_ARITH_EXACT, NULL), 7);
    assert_int_equal(mxv_element_from_quotient(MXV_E4M3, 0x3F800000, 0, MXV_ARITH_EXACT, NULL),
                     0x7E);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_dma_rule),
        cmocka_unit_test(test_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
