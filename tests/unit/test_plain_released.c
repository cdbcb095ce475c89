// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantisers of kernel dma-released in the plain emulation: FLOOR2 against the closed form that
// docs/kernels/dma-released.md gives beside the definition, the E2M1 rule at every threshold,
// special blocks, block and second-level scales.
#include "../../ref/plain/plain.h"
#include "test_plain_case.h"

#include <math.h>

// Floats just below 2^k whose binary32 log2 is k.
static uint32_t floats_below(int k)
{
    static const uint32_t t[7] = {0, 1, 2, 5, 11, 22, 44};
    if (k == 0 || k == 1)
        return 0;
    for (int m = 0; m < 7; m++)
        if (k > 0 ? k > 1 << m && k <= 2 << m : -k >= 1 << m && -k < 2 << m)
            return t[m];
    fail();
    return 0;
}

static void floor2_below_powers_of_two(void **state)
{
    (void)state;
    for (int k = -125; k <= 128; k++) {
        const uint32_t power = (uint32_t)(k + 127) << 23;
        for (uint32_t n = 1; n < 60; n++)
            assert_int_equal(plain_floor_log2_binary32(case_float(power - n)),
                             n <= floats_below(k) ? k : k - 1);
        if (k < 128)
            assert_int_equal(plain_floor_log2_binary32(case_float(power)), k);
    }
}

static void quantise(enum mxv_low_format low, const float *x, uint32_t *scale, uint32_t *code)
{
    const struct mxv_attention a = {.kernel = MXV_KERNEL_DMA_RELEASED, .low = low};
    plain_released_block(&a, MXV_ROUTE_LOW, x, scale, code);
}

// A maximum of 8 gives 2^(3 - 3) = 1 (D2; OCP would say 2), so elements meet the rule unscaled.
static void e2m1_rule_of_the_program(void **state)
{
    (void)state;
    static const struct {
        float y;
        uint32_t code;
    } rows[] = {
        {8.0f, 7},         {0.0f, 0},    {-0.0f, 0},  {0.125f, 0},     {0.12500001f, 1},
        {0.75f, 1},        {0.9999f, 1}, {1.0f, 2},   {1.25f, 2},      {1.2500001f, 3},
        {1.75f, 3},        {1.9999f, 3}, {2.0f, 4},   {2.5f, 4},       {2.5000002f, 5},
        {3.9999f, 5},      {4.0f, 6},    {5.0f, 6},   {5.0000005f, 7}, {6.0f, 7},
        {-0.12500001f, 9}, {-5.0f, 14},  {-7.0f, 15},
    };
    float x[32] = {0};
    uint32_t scale, code[32];
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        x[n] = rows[n].y;
    quantise(MXV_LOW_MXFP4, x, &scale, code);
    assert_int_equal(scale, 127);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        assert_int_equal(code[n], rows[n].code);
}

static void zero_and_infinite_blocks(void **state)
{
    (void)state;
    struct mxv_attention a = {.kernel = MXV_KERNEL_DMA_RELEASED};
    float x[32] = {0};
    uint32_t scale, code[32];
    quantise(MXV_LOW_MXFP4, x, &scale, code);
    assert_int_equal(scale, 0);
    assert_int_equal(code[9], 7);
    quantise(MXV_LOW_NVFP4, x, &scale, code);
    assert_int_equal(scale, 0);
    assert_int_equal(code[9], 7);
    plain_released_block(&a, MXV_ROUTE_HIGH, x, &scale, code);
    assert_int_equal(scale, 0);
    assert_int_equal(code[9], 0x7E);
    a.high = MXV_HIGH_MXFP8_E5M2;
    plain_released_block(&a, MXV_ROUTE_HIGH, x, &scale, code);
    assert_int_equal(code[9], 0x7B);
    x[1] = -INFINITY;
    x[2] = -3.0f;
    plain_released_block(&a, MXV_ROUTE_HIGH, x, &scale, code);
    assert_int_equal(scale, 254);
    assert_int_equal(code[1], 0x7B); // NaN becomes +M
    assert_int_equal(code[2], 0x80);
    quantise(MXV_LOW_NVFP4, x, &scale, code);
    assert_int_equal(scale, 0x7E);
    assert_int_equal(code[1], 7);
    assert_int_equal(code[2], 0);
}

// D10: amax 6.5 / 6 = 1.0833, stored as 1.125 (39). 1.36 / 1.0833 = 1.2554 rounds up to 1.5;
// by the stored scale it would be 1.209: code 2.
static void nvfp4_divides_by_the_unrounded_scale(void **state)
{
    (void)state;
    float x[16] = {6.5f, 1.36f};
    uint32_t scale, code[16];
    quantise(MXV_LOW_NVFP4, x, &scale, code);
    assert_int_equal(scale, 0x39);
    assert_int_equal(code[1], 3);
}

// Scales are one (E4M3) and nothing (E5M2) below what the OCP rule gives.
static void mxfp8_scales(void **state)
{
    (void)state;
    struct mxv_attention a = {.kernel = MXV_KERNEL_DMA_RELEASED};
    float x[32] = {8.0f, -1.0f};
    uint32_t scale, code[32];
    plain_released_block(&a, MXV_ROUTE_HIGH, x, &scale, code);
    assert_int_equal(scale, 127 + 3 - 7);
    assert_int_equal(code[1], 0xD8); // -16
    a.high = MXV_HIGH_MXFP8_E5M2;
    plain_released_block(&a, MXV_ROUTE_HIGH, x, &scale, code);
    assert_int_equal(scale, 127 + 3 - 15);
    assert_int_equal(code[0], 0x78); // 2^15
}

// sigma = fma(A, RCP(c2), 1e-7) with RCP of a power of two exact; Q holds 0x3E0293EE.
static void second_level_scales(void **state)
{
    (void)state;
    static const struct {
        enum mxv_mode mode;
        size_t diag;
        double c2;
    } rows[] = {{MXV_MODE_MIXED, 1, 128.0},
                {MXV_MODE_MIXED, 0, 8.0}, // D = s = 0: nvfp4
                {MXV_MODE_HIGH, 1, 8.0},
                {MXV_MODE_LOW, 1, 8.0}};
    const double tiny = (double)case_float(0x33D6BF95u), fold = (double)case_float(0x3E0293EEu);
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA_RELEASED, MXV_ARCH_SM_90, 2, 2);
    t.a.mask = MXV_MASK_CAUSAL;
    case_tensors(&t);
    t.a.dual = MXV_DUAL_TOKEN;
    t.a.sink = 0;
    t.q[5] = 1.0f;
    t.k[9] = -12.0f;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        t.a.mode = rows[n].mode;
        t.a.diag = rows[n].diag;
        case_run(&t, 0, 0);
        const struct mxv_tap *q = case_tap(&t, MXV_STAGE_Q_SIGMA, 0);
        const struct mxv_tap *k = case_tap(&t, MXV_STAGE_K_SIGMA, 0);
        assert_int_equal(q->words[0], case_word((float)(fold / rows[n].c2 + tiny)));
        assert_int_equal(k->words[0], case_word((float)(12.0 / rows[n].c2 + tiny)));
        assert_int_equal(k->words[1], 0x33D6BF95u);
    }
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor2_below_powers_of_two),
        cmocka_unit_test(e2m1_rule_of_the_program),
        cmocka_unit_test(zero_and_infinite_blocks),
        cmocka_unit_test(nvfp4_divides_by_the_unrounded_scale),
        cmocka_unit_test(mxfp8_scales),
        cmocka_unit_test(second_level_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
