// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Symmetric INT8: every arithmetic, rounding and epsilon of published quantisers transcribed in
// host binary32, the facts about scales that they rely on, zero groups, NaN and Inf.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mxverify/int8.h>

#include "slow_format.h"

static uint64_t random_state = 0x8EBC6AF09C88C6E3u;

static uint64_t random_word(void)
{
    return slow_random(&random_state);
}

static int clamp(double x, bool symmetric)
{
    const int low = symmetric ? -127 : -128;
    return x < low ? low : x > 127 ? 127 : (int)x;
}

/// The rounding of a binary32 number, by the C library.
static double host_round(enum mxv_round mode, float x)
{
    const double v = (double)x;
    switch (mode) {
    case MXV_RNA:
        return round(v);
    case MXV_RTZ:
        return trunc(v);
    case MXV_RHU:
        return floor(v + 0.5);
    case MXV_RAH: {
        const volatile float shifted = x + (x < 0 ? -0.5f : x > 0 ? 0.5f : 0.0f);
        return trunc((double)shifted);
    }
    default:
        return nearbyint(v);
    }
}

static float host_scale(enum mxv_int8_eps eps, float amax)
{
    if (eps == MXV_INT8_EPS_MAX_AMAX)
        amax = fmaxf(amax, 1e-7f);
    if (eps == MXV_INT8_EPS_MAX_AMAX5)
        amax = fmaxf(amax, 1e-5f);
    volatile float scale = amax / 127.0f;
    if (eps == MXV_INT8_EPS_ADD_SCALE)
        scale = scale + 1e-7f;
    return scale;
}

static void test_against_host(void **state)
{
    (void)state;
    static const enum mxv_round rounds[] = {MXV_RNE, MXV_RNA, MXV_RTZ, MXV_RHU, MXV_RAH};
    for (int trial = 0; trial < 60000; trial++) {
        struct mxv_int8_policy p = {0};
        uint32_t x[24], scale_word;
        int8_t codes[24];
        float amax = 0;
        const int exp = (int)(random_word() % 60) - 40;
        p.arith = (enum mxv_int8_arith)(random_word() % 4);
        p.eps = (enum mxv_int8_eps)(random_word() % 4);
        p.round = rounds[random_word() % 5];
        p.symmetric = random_word() % 2 != 0;
        if (p.arith == MXV_INT8_EXACT)
            continue;
        for (int i = 0; i < 24; i++) {
            const float v = ldexpf((float)((int)(random_word() % 4001) - 2000) / 64.0f, exp);
            x[i] = slow_word(v);
            amax = fmaxf(amax, fabsf(v));
        }
        mxv_int8_quantize(&p, x, 24, 1, &scale_word, codes);
        const volatile float scale = host_scale(p.eps, amax), inverse = 1.0f / scale;
        const float floored = p.eps == MXV_INT8_EPS_MAX_AMAX    ? fmaxf(amax, 1e-7f)
                              : p.eps == MXV_INT8_EPS_MAX_AMAX5 ? fmaxf(amax, 1e-5f)
                                                                : amax;
        const volatile float factor = 127.0f / floored;
        assert_int_equal(scale_word, slow_word(scale));
        for (int i = 0; i < 24 && scale != 0; i++) {
            const float v = slow_float(x[i]);
            const volatile float y = p.arith == MXV_INT8_MUL127 ? v * factor
                                     : p.arith == MXV_INT8_RCP  ? v * inverse
                                                                : v / scale;
            assert_int_equal(codes[i], clamp(host_round(p.round, y), p.symmetric));
        }
    }
}

/// A dynamic symmetric scale never overflows: a / (a / 127) and a * (127 / a) stay within 126.99999
/// and 127.00001 for every significand.
static void test_maximum_maps_to_127(void **state)
{
    (void)state;
    struct mxv_int8_policy div = {0}, mul = {0};
    mul.arith = MXV_INT8_MUL127;
    for (uint32_t a = 0x3F800000; a < 0x40000000; a += 5) {
        const uint32_t scale = mxv_int8_scale(&div, a);
        const volatile float quotient = slow_float(a) / slow_float(scale);
        assert_true(fabsf(quotient - 127.0f) < 1e-5f);
        assert_int_equal(mxv_int8_code(&div, a, scale, a), 127);
        assert_int_equal(mxv_int8_code(&mul, a | 0x80000000u, scale, a), -127);
    }
}

/// Static scales: ROCm/aiter#4637, microsoft/onnxruntime#3442, pytorch/FBGEMM#199.
static void test_static_scale(void **state)
{
    (void)state;
    struct mxv_int8_policy p = {0};
    const uint32_t one = 0x3F800000, tenth = 0x3DCCCCCD;
    assert_int_equal(mxv_int8_code(&p, slow_word(127.6f), one, 0), 127);
    assert_int_equal(mxv_int8_code(&p, slow_word(-129), one, 0), -128);
    p.symmetric = true;
    assert_int_equal(mxv_int8_code(&p, slow_word(-129), one, 0), -127);
    p.arith = MXV_INT8_DIV;
    assert_int_equal(mxv_int8_code(&p, 0x3FC66666, tenth, 0), 15);
    assert_int_equal(mxv_int8_code(&p, 0x3F400000, tenth, 0), 8);
    p.arith = MXV_INT8_RCP;
    assert_int_equal(mxv_int8_code(&p, 0x3FC66666, tenth, 0), 16);
    p.arith = MXV_INT8_EXACT;
    assert_int_equal(mxv_int8_code(&p, 0x3FC66666, tenth, 0), 15);
    assert_int_equal(mxv_int8_code(&p, 0x3F400000, tenth, 0), 7);
}

/// Zero groups, groups whose scale vanishes (amax 2^-149), NaN and Inf.
static void test_special_groups(void **state)
{
    (void)state;
    uint32_t x[4] = {0, 0x80000000, 0, 0}, scale = 1;
    int8_t codes[4];
    struct mxv_int8_policy p = {0};
    for (int arith = 0; arith < MXV_INT8_ARITH_COUNT; arith++) {
        p.arith = (enum mxv_int8_arith)arith;
        for (uint32_t first = 0; first < 2; first++) {
            x[0] = first;
            memset(codes, 1, sizeof codes);
            mxv_int8_quantize(&p, x, 4, 1, &scale, codes);
            assert_int_equal(scale, 0);
            for (int i = 0; i < 4; i++)
                assert_int_equal(codes[i], 0);
        }
    }
    x[0] = 0;
    p.zero = MXV_INT8_ZERO_ONE;
    mxv_int8_quantize(&p, x, 4, 1, &scale, codes);
    assert_int_equal(scale, 0x3F800000);
    p = (struct mxv_int8_policy){0};
    p.eps = MXV_INT8_EPS_ADD_SCALE;
    mxv_int8_quantize(&p, x, 4, 1, &scale, codes);
    assert_int_equal(scale, slow_word(1e-7f));
    p = (struct mxv_int8_policy){0};
    x[1] = 0x7FC00000;
    x[2] = slow_word(-127);
    mxv_int8_quantize(&p, x, 4, 1, &scale, codes);
    assert_true(scale == MXV_F32_NAN && codes[2] == 0);
    p.nan = MXV_BLOCK_NAN_IGNORE;
    mxv_int8_quantize(&p, x, 4, 1, &scale, codes);
    assert_true(scale == 0x3F800000 && codes[1] == 0 && codes[2] == -127);
    x[1] = 0x7F800000;
    mxv_int8_quantize(NULL, x, 4, 1, &scale, codes);
    assert_true(scale == 0x7F800000 && codes[1] == 0 && codes[2] == 0);
}

/// Per-channel groups are strided; neighbours are left alone.
static void test_stride(void **state)
{
    (void)state;
    uint32_t x[12], scale;
    int8_t codes[12];
    for (int i = 0; i < 12; i++)
        x[i] = slow_word((float)(i - 4) * (i % 3 == 1 ? 1.0f : 100.0f));
    memset(codes, 0x55, sizeof codes);
    mxv_int8_quantize(NULL, x + 1, 4, 3, &scale, codes + 1); // -3 0 3 6
    const volatile float want = 6.0f / 127.0f;
    assert_int_equal(scale, slow_word(want));
    static const int8_t expected[12] = {0x55, -64, 0x55, 0x55, 0,   0x55,
                                        0x55, 64,  0x55, 0x55, 127, 0x55};
    assert_memory_equal(codes, expected, 12);
    const volatile float back = -64.0f * want;
    assert_int_equal(mxv_int8_dequantize(-64, scale), slow_word(back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_host), cmocka_unit_test(test_maximum_maps_to_127),
        cmocka_unit_test(test_static_scale), cmocka_unit_test(test_special_groups),
        cmocka_unit_test(test_stride),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
