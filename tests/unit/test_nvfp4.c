// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4: the published separating inputs of the formula orders, each order transcribed in host
// binary32, the exact order and four-over-six in GMP rationals, zero and vanishing blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mxverify/block.h>

#include "slow_format.h"

static uint64_t random_state = 0xE7037ED1A0B428DBu;

static uint64_t random_word(void)
{
    return slow_random(&random_state);
}

struct order_row {
    uint32_t g, b;
    unsigned te, torchao, modelopt, modelopt_static, trtllm, exact;
};

static void test_separating_inputs(void **state)
{
    (void)state;
    static const struct order_row rows[] = {
        {0x42A75138, 0x40FAF9D4, 0x63, 0x62, 0x62, 0x62, 0x62, 0x62},
        {0x42909623, 0x42443979, 0x7A, 0x7A, 0x7A, 0x79, 0x7A, 0x7A},
        {0x4242921F, 0x3F9FD375, 0x54, 0x53, 0x54, 0x54, 0x54, 0x54},
        {0x4090D38B, 0x4015FFAC, 0x77, 0x77, 0x76, 0x77, 0x77, 0x77},
        {0x403685C1, 0x3E5DA26B, 0x61, 0x61, 0x61, 0x60, 0x61, 0x61},
        {0x4138F14D, 0x3F6092B9, 0x60, 0x60, 0x60, 0x60, 0x60, 0x61},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct order_row *r = &rows[i];
        assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TE, r->g, r->b), r->te);
        assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TORCHAO, r->g, r->b), r->torchao);
        assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_MODELOPT, r->g, r->b), r->modelopt);
        assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_MODELOPT_STATIC, r->g, r->b),
                         r->modelopt_static);
        assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TRTLLM, r->g, r->b), r->trtllm);
        assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_EXACT, r->g, r->b), r->exact);
    }
}

/// The zero, vanishing and overflowing scales of each order: NVIDIA/Model-Optimizer#1397,
/// vllm-project/compressed-tensors#595, and the clamps of torchao and ModelOpt.
static void test_edge_scales(void **state)
{
    (void)state;
    const uint32_t one = 0x3F800000, tiny = 0x35000000, max = 0x7F7FFFFF;
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TE, 0, 0), 0x00);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TE, one, tiny), 0x00);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TORCHAO, one, tiny), 0x08);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_MODELOPT, one, tiny), 0x01);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_EXACT, one, tiny), 0x00);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_TORCHAO, one, 0), 0x08);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_MODELOPT, one, 0), 0x38);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_MODELOPT_STATIC, 0x3C800000, 0), 0x7E);
    assert_int_equal(mxv_nvfp4_scale(MXV_NVFP4_SAGE3, one, 0x45800000), 0x7E);
    for (int order = 0; order < MXV_NVFP4_SAGE3; order++) {
        assert_int_equal(mxv_nvfp4_scale((enum mxv_nvfp4_order)order, one, one), 0x7E);
        assert_int_equal(mxv_nvfp4_scale((enum mxv_nvfp4_order)order, max, max), 0x7E);
        assert_int_equal(mxv_nvfp4_scale((enum mxv_nvfp4_order)order, 0x40000000, one), 0x76);
        assert_int_equal(mxv_nvfp4_scale((enum mxv_nvfp4_order)order, one, 0x7FC00000), 0x7F);
    }
    struct mxv_nvfp4_policy p = {0};
    p.tensor_scaled = true;
    p.order = MXV_NVFP4_TORCHAO;
    p.zero_tensor = MXV_ZERO_TENSOR_INF;
    assert_int_equal(mxv_nvfp4_scale_by(&p, 0), 0x7F);
    p.zero = MXV_NVFP4_ZERO_38;
    assert_int_equal(mxv_nvfp4_scale_by(&p, 0), 0x38);
    p.zero = MXV_NVFP4_ZERO_08;
    assert_int_equal(mxv_nvfp4_scale_by(&p, 0), 0x08);
    p.zero = MXV_NVFP4_ZERO_00;
    assert_int_equal(mxv_nvfp4_scale_by(&p, 0), 0x00);
}

/// ggml's cast (ggml-impl.h): 2^8 and more become 448, subnormals stop at 7 steps, halves go up.
static void test_ggml_scale(void **state)
{
    (void)state;
    static const struct {
        double sixth;
        unsigned code;
    } rows[] = {{448, 0x7E},    {256, 0x7E},     {255, 0x7E},      {247, 0x77},
                {1.0625, 0x39}, {0x1p-10, 0x01}, {0x1.8p-9, 0x02}, {0x1.fp-7, 0x07},
                {0x1p-6, 0x08}, {0x1p-11, 0x00}, {1e6, 0x7E}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            mxv_nvfp4_scale(MXV_NVFP4_GGML, 0x3F800000, slow_word((float)(6 * rows[i].sixth))),
            rows[i].code);
}

static struct slow_table fp4, fp8;

static float e4m3(float x)
{
    const int code = slow_encode(&fp8, (double)x, SLOW_RNE, false);
    return (float)slow_decode(fp8.format, (unsigned)code);
}

static unsigned e2m1(float y)
{
    return isnan(y) ? 7u : (unsigned)slow_encode(&fp4, (double)y, SLOW_RNE, false);
}

static float clampf(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/// The formulas of the order's source in host binary32; every operation is assigned, hence rounded.
static float host_scale(enum mxv_nvfp4_order order, float g, float b)
{
    const volatile float s_enc = 2688.0f / g, s2 = g / 2688.0f, sixth = b / 6.0f,
                         third = 1.0f / 6.0f;
    volatile float t, u;
    switch (order) {
    case MXV_NVFP4_TE:
        t = s_enc * third;
        u = b * t;
        return e4m3(u);
    case MXV_NVFP4_TORCHAO:
        t = sixth / s2;
        return e4m3(clampf(t, 0x1p-6f, 448));
    case MXV_NVFP4_MODELOPT:
        t = 6.0f * s2;
        u = b / t;
        return e4m3(fmaxf(u == 0 ? 1 : u, 0x1p-9f));
    case MXV_NVFP4_MODELOPT_STATIC:
        t = sixth * 448.0f;
        u = g / 6.0f;
        u = t / u;
        return e4m3(clampf(u, 0x1p-9f, 448));
    case MXV_NVFP4_TRTLLM:
        t = b * third;
        u = s_enc * t;
        return e4m3(u);
    default:
        return e4m3(sixth);
    }
}

static float host_element(enum mxv_nvfp4_order order, float g, float scale, float x)
{
    const volatile float s_enc = 2688.0f / g, s2 = g / 2688.0f;
    volatile float t, u;
    switch (order) {
    case MXV_NVFP4_TE:
        t = 1.0f / s_enc;
        t = scale * t;
        u = fminf(1.0f / t, 0x1.fffffep127f);
        u = x * u;
        return u;
    case MXV_NVFP4_TORCHAO:
        t = 1.0f / s2;
        t = t / scale;
        u = x * t;
        return u;
    case MXV_NVFP4_TRTLLM:
        t = 1.0f / s_enc;
        t = scale * t;
        u = scale == 0 ? 0 : 1.0f / t;
        u = x * u;
        return u;
    case MXV_NVFP4_SAGE3:
        t = scale == 0 ? 0 : 1.0f / scale;
        u = x * t;
        return u;
    default:
        t = scale * s2;
        u = x / t;
        return u;
    }
}

static void random_block(uint32_t *x, float *g)
{
    const int exp = (int)(random_word() % 60) - 30, spread = (int)(random_word() % 12);
    float amax = 0;
    for (int i = 0; i < 16; i++) {
        const float m = 1.0f + (float)(random_word() & 0x7FFFFF) * 0x1p-23f;
        const float v = ldexpf(m, exp - (int)(random_word() % (unsigned)(spread + 1)));
        x[i] = slow_word(random_word() % 2 != 0 ? -v : v);
        amax = fmaxf(amax, v);
    }
    *g = ldexpf(amax * (1.0f + (float)(random_word() % 1024) / 512.0f), (int)(random_word() % 8));
}

static void test_orders_against_host(void **state)
{
    (void)state;
    static const enum mxv_nvfp4_order orders[] = {MXV_NVFP4_TE,       MXV_NVFP4_TORCHAO,
                                                  MXV_NVFP4_MODELOPT, MXV_NVFP4_MODELOPT_STATIC,
                                                  MXV_NVFP4_TRTLLM,   MXV_NVFP4_SAGE3};
    for (int trial = 0; trial < 20000; trial++) {
        uint32_t x[16];
        float g;
        random_block(x, &g);
        const float b = slow_float(mxv_block_amax(x, 16, MXV_BLOCK_NAN_PROPAGATE));
        for (int o = 0; o < 6; o++) {
            struct mxv_block_policy p = {0};
            uint8_t scale, codes[16];
            p.nvfp4.order = orders[o];
            p.nvfp4.tensor_scaled = true;
            p.nvfp4.tensor_amax = slow_word(g);
            mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
            const float want = host_scale(orders[o], g, b);
            assert_true((float)slow_decode(fp8.format, scale) == want);
            for (int i = 0; i < 16; i++)
                assert_int_equal(codes[i],
                                 e2m1(host_element(orders[o], g, want, slow_float(x[i]))));
        }
    }
}

/// ggml: the nearest of the sixteen products, the first one on ties.
static void test_ggml_elements(void **state)
{
    (void)state;
    static const float table[16] = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    for (int trial = 0; trial < 20000; trial++) {
        struct mxv_block_policy p = {0};
        uint32_t x[16];
        uint8_t scale, codes[16];
        float g;
        random_block(x, &g);
        p.nvfp4.order = MXV_NVFP4_GGML;
        mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
        const float d = (float)slow_decode(fp8.format, scale);
        for (int i = 0; i < 16; i++) {
            int best = 0;
            for (int k = 1; k < 16; k++)
                if (fabsf(table[k] * d - slow_float(x[i])) <
                    fabsf(table[best] * d - slow_float(x[i])))
                    best = k;
            assert_int_equal(codes[i], best);
        }
    }
}

static uint32_t rcp_one_ulp_low(uint32_t a)
{
    const volatile float r = 1.0f / slow_float(a);
    return slow_word(r) - 1;
}

/// The unrounded divisor, the released DMA kernel's way with zero blocks, and replaced reciprocals.
static void test_variants(void **state)
{
    (void)state;
    struct mxv_block_policy p = {0};
    uint32_t x[16];
    uint8_t scale, codes[16];
    for (int i = 0; i < 16; i++)
        x[i] = slow_word(6.3f);
    p.nvfp4.order = MXV_NVFP4_SAGE3;
    p.nvfp4.divisor = MXV_NVFP4_DIVISOR_UNROUNDED;
    mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
    assert_true(scale == 0x38 && codes[0] == 7);
    x[1] = slow_word(5.2f); // 5.2 / 1.05 = 4.95, 5.2 / 1.0 = 5.2
    mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
    assert_int_equal(codes[1], 6);
    p.nvfp4.order = MXV_NVFP4_EXACT;
    mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
    assert_int_equal(codes[1], 6);
    p.nvfp4.divisor = MXV_NVFP4_DIVISOR_STORED;
    mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
    assert_int_equal(codes[1], 7);
    memset(x, 0, sizeof x);
    p.zero = MXV_BLOCK_ZERO_NAN;
    mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
    assert_true(scale == 0 && codes[0] == 7);
    const struct mxv_f32_ops ops = {NULL, rcp_one_ulp_low};
    struct mxv_nvfp4_policy n = {0};
    n.order = MXV_NVFP4_TRTLLM;
    n.tensor_scaled = true;
    n.tensor_amax = 0x42A75138;
    n.ops = &ops;
    const volatile float third = slow_float(0x3E2AAAAA), part = 4.0f * third,
                         factor = 2688.0f / slow_float(n.tensor_amax);
    assert_true((float)slow_decode(fp8.format, mxv_nvfp4_scale_by(&n, slow_word(4))) ==
                e4m3(factor * part));
}

static void test_tensor_scale(void **state)
{
    (void)state;
    const volatile float g = 3.7f, s2 = g / 2688.0f, s_enc = 2688.0f / g, inverse = 1.0f / s_enc,
                         four_six = g / 1536.0f;
    struct mxv_nvfp4_policy p = {0};
    assert_int_equal(mxv_nvfp4_tensor_scale(&p), 0x3F800000);
    p.tensor_scaled = true;
    p.tensor_amax = slow_word(g);
    assert_int_equal(mxv_nvfp4_tensor_scale(&p), slow_word(s2));
    p.order = MXV_NVFP4_TE;
    assert_int_equal(mxv_nvfp4_tensor_scale(&p), slow_word(inverse));
    p.order = MXV_NVFP4_SAGE3;
    assert_int_equal(mxv_nvfp4_tensor_scale(&p), 0x3F800000);
    p.variant = MXV_NVFP4_FOUR_SIX;
    assert_int_equal(mxv_nvfp4_tensor_scale(&p), slow_word(four_six));
    p.tensor_amax = 0;
    assert_int_equal(mxv_nvfp4_tensor_scale(&p), 0x3F800000);
}

static int set_up(void **state)
{
    (void)state;
    fp4 = slow_table_make("e2m1");
    fp8 = slow_table_make("e4m3");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    slow_table_free(&fp4);
    slow_table_free(&fp8);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_separating_inputs), cmocka_unit_test(test_edge_scales),
        cmocka_unit_test(test_ggml_scale),        cmocka_unit_test(test_orders_against_host),
        cmocka_unit_test(test_ggml_elements),     cmocka_unit_test(test_variants),
        cmocka_unit_test(test_tensor_scale),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
