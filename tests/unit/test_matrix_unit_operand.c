// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// How matrix units read operand words: the value of every code equals the element format's, NaN and
// infinity are told apart, subnormals keep the smallest normal exponent, tf32 is cut first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include <mxverify/matrix_unit.h>

static double element_value(enum mxv_element e, uint32_t word)
{
    struct mxv_value v = mxv_element_decode(e, word);
    double magnitude = v.kind == MXV_NAN   ? NAN
                       : v.kind == MXV_INF ? INFINITY
                                           : ldexp((double)v.sig, v.exp);
    return v.sign ? -magnitude : magnitude;
}

static double operand_value(struct mxv_operand v, int frac)
{
    if (v.exp == MXV_OPERAND_NAN)
        return NAN;
    if (v.exp == MXV_OPERAND_INF)
        return v.sig * INFINITY;
    return ldexp(v.sig, v.exp - frac);
}

static int same(double x, double y)
{
    return (isnan(x) && isnan(y)) || x == y;
}

struct side {
    const char *model;
    enum mxv_element element;
    int frac;
    uint32_t codes;
};

static const struct side sides[] = {
    {"sm_90.mma.f16.f32", MXV_F16, 10, 1 << 16},
    {"sm_90.mma.bf16.f32", MXV_BF16, 7, 1 << 16},
    {"sm_90.wgmma.e4m3.f32", MXV_E4M3, 3, 1 << 8},
    {"sm_90.wgmma.e5m2.f32", MXV_E5M2, 2, 1 << 8},
    {"sm_100.tcgen05.e2m3.f32", MXV_E2M3, 3, 1 << 6},
    {"sm_100.tcgen05.e3m2.f32", MXV_E3M2, 2, 1 << 6},
    {"sm_100.tcgen05.mxf8f6f4.e2m1.f32", MXV_E2M1, 1, 1 << 4},
    {"sm_100.tcgen05.mxf4nvf4.ue4m3.f32", MXV_E2M1, 1, 1 << 4},
    {"sm_90.mma.e4m3.f32", MXV_E4M3, 10, 1 << 8},
    {"sm_90.mma.e5m2.f32", MXV_E5M2, 10, 1 << 8},
    {"sm_90.mma.s8.s32", MXV_S8, 0, 1 << 8},
    {"sm_90.mma.u8.s32", MXV_U8, 0, 1 << 8},
    {"cdna3.mfma.e4m3fnuz.f32", MXV_E4M3FNUZ, 3, 1 << 8},
    {"cdna3.mfma.e5m2fnuz.f32", MXV_E5M2FNUZ, 2, 1 << 8},
};

static void test_values(void **state)
{
    size_t codes = 0;
    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        const struct mxv_mma_model *m = mxv_mma_find(sides[i].model);
        for (uint32_t w = 0; w < sides[i].codes; w++, codes++) {
            struct mxv_operand a, b;
            uint32_t dirty = w | (sides[i].codes << (w & 7)); // bits above the format are ignored
            mxv_mma_decode_a(m, &w, 1, &a);
            mxv_mma_decode_b(m, &dirty, 1, &b);
            assert_true(a.sig == b.sig && a.exp == b.exp);
            assert_true(same(operand_value(a, sides[i].frac), element_value(sides[i].element, w)));
            assert_int_equal(a.sig == 0, a.exp == MXV_OPERAND_ZERO);
        }
    }
    printf("%zu codes\n", codes);
}

// tf32: classified after the low 13 bits are gone, so a NaN with a low payload is an infinity.
static void test_tf32(void **state)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_90.mma.tf32.f32");
    (void)state;
    for (uint32_t i = 0; i < 1 << 19; i++) {
        uint32_t word = i << 13 | (i * 2654435761u) >> 19;
        float cut;
        struct mxv_operand v;
        union {
            uint32_t w;
            float f;
        } u = {i << 13};
        cut = u.f;
        mxv_mma_decode_a(m, &word, 1, &v);
        assert_true(same(operand_value(v, 10), cut));
    }
    struct mxv_operand v;
    uint32_t low_payload = 0x7f800001;
    mxv_mma_decode_b(m, &low_payload, 1, &v);
    assert_int_equal(v.exp, MXV_OPERAND_INF);
}

static void assert_operand(const char *model, uint32_t word, int sig, int exp)
{
    struct mxv_operand v;
    mxv_mma_decode_a(mxv_mma_find(model), &word, 1, &v);
    assert_int_equal(v.sig, sig);
    assert_int_equal(v.exp, exp);
}

// Raw significands and exponents as the rules state them.
static void test_raw_form(void **state)
{
    (void)state;
    assert_operand("sm_90.mma.f16.f32", 0x0001, 1, -14);
    assert_operand("sm_90.mma.f16.f32", 0x8400, -1024, -14);
    assert_operand("sm_90.mma.bf16.f32", 0x0001, 1, -126);
    assert_operand("sm_90.wgmma.e4m3.f32", 0x01, 1, -6);
    assert_operand("sm_90.wgmma.e5m2.f32", 0x83, -3, -14);
    assert_operand("sm_100.tcgen05.e2m1.f32", 0x1, 1, 0);
    assert_operand("sm_100.tcgen05.e2m1.f32", 0x3, 3, 0);
    assert_operand("sm_100.tcgen05.e2m1.f32", 0xf, -3, 2);
    assert_operand("sm_100.tcgen05.mxf4.ue8m0.f32", 0xf, -12, 0);
    assert_operand("sm_90.mma.e4m3.f32", 0x01, 1024, -9); // an f16 normal after conversion
    assert_operand("sm_90.mma.e5m2.f32", 0x01, 256, -14); // an f16 subnormal
}

static void test_narrow_words(void **state)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_89.mma.e4m3.e5m2.f32");
    const struct mxv_mma_model *h = mxv_mma_find("sm_90.mma.f16.f32");
    (void)state;
    for (uint32_t w = 0; w < 65536; w++) {
        struct mxv_operand v[2];
        uint8_t byte = (uint8_t)w;
        uint16_t half = (uint16_t)w;
        mxv_mma_decode_b(m, &w, 1, &v[0]);
        mxv_mma_decode_bytes(m, true, &byte, 1, &v[1]);
        assert_true(v[0].sig == v[1].sig && v[0].exp == v[1].exp);
        mxv_mma_decode_a(h, &w, 1, &v[0]);
        mxv_mma_decode_halves(h, false, &half, 1, &v[1]);
        assert_true(v[0].sig == v[1].sig && v[0].exp == v[1].exp);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_tf32),
                                       cmocka_unit_test(test_raw_form),
                                       cmocka_unit_test(test_narrow_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
