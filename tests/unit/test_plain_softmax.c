// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding points of the online softmax of the plain emulation, each by a case where another order
// or policy gives another word: lanes, unrounded row sum, lazy rescale, offset of P, exp2 by
// polynomial and by correct rounding, tile order, NaN and infinite scores.
#include "../../ref/plain/plain.h"
#include "test_plain_case.h"

#include <math.h>
#include <mxverify/special.h>

static const uint64_t all_f16[4] = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)};

static void begin(struct plain_case *t, enum mxv_kernel kernel, enum mxv_arch arch, size_t lk)
{
    case_defaults(t, kernel, arch, 1, lk);
    t->a.route_words = all_f16;
    t->a.mode = MXV_MODE_HIGH;
    case_tensors(t);
    t->q[0] = 1.0f;
}

static float tap_value(const struct plain_case *t, enum mxv_stage stage, size_t number, size_t e)
{
    return case_float(case_tap(t, stage, number)->words[e]);
}

// Column 0 weighs 1, the 31 others 2^-24: what is added to 1 one by one is lost, what gathers in
// another lane is not.
static void lanes_of_the_row_sum(void **state)
{
    (void)state;
    for (enum mxv_arch arch = MXV_ARCH_SM_80; arch < MXV_ARCH_COUNT; arch++) {
        struct plain_case t;
        begin(&t, MXV_KERNEL_FLASH, arch, 32);
        for (size_t n = 1; n < 32; n++)
            t.k[n * 32] = -24.0f;
        case_run(&t, 0, 0);
        // Four lanes: (1 + 2^-21) + (2^-21 + 2^-21). Two: 1 + 2^-20.
        const float sum = arch == MXV_ARCH_SM_100 ? 1.0f + 0x1p-20f : 1.0f + 0x1p-20f + 0x1p-21f;
        assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 0)->words[0], case_word(sum));
        case_free(&t);
    }
}

// The same with two small weights: in the lane of column 0 both are lost (1 is even), in another
// lane they make 2^-23; so too in two lanes that are added to each other before column 0 comes in.
static void lane_of_each_column(void **state)
{
    (void)state;
    static const struct {
        size_t first, second;
        bool lost_of_4, lost_of_2;
    } rows[] = {{1, 9, true, false},   {8, 16, true, true},  {2, 10, false, true},
                {3, 11, false, false}, {4, 12, false, true}, {7, 15, false, false},
                {2, 6, false, true},   {2, 4, true, true},   {4, 7, true, true}};
    for (enum mxv_arch arch = MXV_ARCH_SM_90; arch <= MXV_ARCH_SM_100; arch++)
        for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
            struct plain_case t;
            const bool lost = arch == MXV_ARCH_SM_90 ? rows[n].lost_of_4 : rows[n].lost_of_2;
            begin(&t, MXV_KERNEL_FLASH, arch, 32);
            for (size_t key = 1; key < 32; key++)
                t.k[key * 32] = key == rows[n].first || key == rows[n].second ? -24.0f : -200.0f;
            case_run(&t, 0, 0);
            assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 0)->words[0],
                             case_word(lost ? 1.0f : 1.0f + 0x1p-23f));
            case_free(&t);
        }
}

// 2^-26 is zero in f16, so the weight vanishes while the sum of 31 of them stays.
static void sum_takes_unrounded_weights(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_100, 32);
    for (size_t n = 1; n < 32; n++)
        t.k[n * 32] = -26.0f;
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 0)->words[1], 0);
    // Even lane: 1 + 15 lost terms; odd lane: 16 * 2^-26 = 2^-22.
    assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 0)->words[0], case_word(1.0f + 0x1p-22f));
    case_free(&t);
}

// Key 0 of each of 12 tiles is 0.37 above that of the tile before; all others weigh nothing. The
// sum is then a chain of fused operations of lane 0, and O (V = 1) one of products and additions
// of 1.
static void rescaling_of_the_sum_is_fused(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_80, 12 * 32);
    t.a.scale = 0.75; // c is not 1
    const float c = (float)(0.75 * 1.4426950408889634);
    for (size_t key = 0; key < 12 * 32; key++)
        t.k[key * 32] = key % 32 ? -1000.0f : 0.37f * (float)(key / 32);
    case_run(&t, 0, 0);
    float m = 0.0f, l = 0.0f;
    size_t differs = 0;
    for (size_t j = 0; j < 12; j++) {
        const float next = tap_value(&t, MXV_STAGE_SCORE, j, 0);
        const float alpha = j ? case_float(mxv_ex2(case_word((m - next) * c), true)) : 0.0f;
        const float shift = next * c;
        const float p = case_float(mxv_ex2(case_word(fmaf(next, c, -shift)), true));
        const float unfused = l * alpha;
        differs += fmaf(l, alpha, p) != unfused + p;
        l = fmaf(l, alpha, p);
        m = next;
        assert_int_equal(case_tap(&t, MXV_STAGE_SUM, j)->words[0], case_word(l));
    }
    assert_true(differs > 0);
    case_free(&t);
}

// masked=finite starts from -5e6, so that a score of -6e6 does not become the maximum.
static void finite_mask_bounds_the_maximum(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 32);
    t.a.masked = MXV_MASKED_FINITE;
    t.q[0] = 1000.0f;
    for (size_t key = 0; key < 32; key++)
        t.k[key * 32] = -6000.0f;
    case_run(&t, 0, 0);
    assert_float_equal(tap_value(&t, MXV_STAGE_SCORE, 0, 3), -6e6f, 0.0f);
    assert_float_equal(tap_value(&t, MXV_STAGE_MAX, 0, 0), -5e6f, 0.0f);
    case_free(&t);
}

// First tile scores 0, second 3: rescaled by 2^-3, or left alone with weights 2^3.
static void rescale_waits_for_tau(void **state)
{
    (void)state;
    static const struct {
        float tau, max, sum;
        uint32_t weight;
    } rows[] = {{0.0f, 3.0f, 4.0f + 32.0f, 0x3C00},
                {2.75f, 3.0f, 4.0f + 32.0f, 0x3C00},
                {3.0f, 0.0f, 32.0f + 256.0f, 0x4800},
                {4.0f, 0.0f, 32.0f + 256.0f, 0x4800}};
    for (size_t kernel = 0; kernel < 2; kernel++)
        for (size_t n = 0; n < 4; n++) {
            struct plain_case t;
            begin(&t, kernel ? MXV_KERNEL_DMA : MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 64);
            t.a.tau = rows[n].tau;
            for (size_t key = 32; key < 64; key++)
                t.k[key * 32] = 3.0f;
            for (size_t key = 0; key < 64; key++)
                t.v[key * 32] = 1.0f;
            case_run(&t, 0, 0);
            assert_float_equal(tap_value(&t, MXV_STAGE_MAX, 0, 0), 0.0f, 0.0f);
            assert_float_equal(tap_value(&t, MXV_STAGE_MAX, 1, 0), rows[n].max, 0.0f);
            assert_float_equal(tap_value(&t, MXV_STAGE_SUM, 1, 0), rows[n].sum, 0.0f);
            assert_float_equal(tap_value(&t, MXV_STAGE_ACC, 1, 0), rows[n].sum, 0.0f);
            assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 1)->words[5], rows[n].weight);
            case_free(&t);
        }
}

// The same two tiles from the other end: the maximum stays, the second tile weighs 2^-3.
static void descending_order(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_80, 64);
    t.a.order = MXV_ORDER_DESC;
    for (size_t key = 32; key < 64; key++)
        t.k[key * 32] = 3.0f;
    case_run(&t, 0, 0);
    assert_float_equal(tap_value(&t, MXV_STAGE_MAX, 0, 0), 3.0f, 0.0f);
    assert_float_equal(tap_value(&t, MXV_STAGE_MAX, 1, 0), 3.0f, 0.0f);
    assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 1)->words[0], 0x3000);
    assert_float_equal(tap_value(&t, MXV_STAGE_SUM, 1, 0), 36.0f, 0.0f);
    case_free(&t);
}

// fma style: the exponent is fma(S, c, -fl(m c)). With c = 3 * 2^-24 + 1 rounding shows.
static void argument_is_fused(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 1);
    const float c = 1.0f + 0x1p-22f;
    t.a.scale = (double)c / 1.4426950408889634;
    t.a.exp = MXV_EXP_CR;
    t.q[0] = 2047.0f;
    t.k[0] = 513.0f;
    case_run(&t, 0, 0);
    const float s = 2047.0f * 513.0f;
    const float shift = s * c;
    const double exponent = (double)s * (double)c - (double)shift; // exact in binary64
    assert_true(exponent != 0.0);
    // 2^x near 1 is 1 + x ln 2 to well below half an ulp.
    assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 0)->words[0],
                     case_word((float)(1.0 + exponent * 0.6931471805599453 +
                                       exponent * exponent * 0.2402265069591007 +
                                       exponent * exponent * exponent * 0.0555041086648216)));
    case_free(&t);
}

// Score -0.5 under each exp2: correctly rounded 0x3F3504F3; the unit within 2 ulp; the polynomial
// (relative error up to 8.8e-5) elsewhere. Integer scores are exact under all.
static void exp_policies(void **state)
{
    (void)state;
    uint32_t sum[MXV_EXP_COUNT];
    for (enum mxv_exp e = MXV_EXP_HW; e < MXV_EXP_COUNT; e++) {
        struct plain_case t;
        begin(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_100, 2);
        t.a.exp = e;
        t.k[32] = -0.5f;
        case_run(&t, 0, 0);
        assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 0)->words[0], 0x3C00);
        const float p = tap_value(&t, MXV_STAGE_SUM, 0, 0);
        sum[e] = case_word(p);
        assert_float_equal(p, 1.70710678f, 1e-4f);
        t.k[32] = -5.0f;
        case_run(&t, 0, 0);
        assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 0)->words[0], case_word(1.03125f));
        case_free(&t);
    }
    assert_int_equal(sum[MXV_EXP_CR], case_word(1.0f + case_float(0x3F3504F3)));
    assert_int_not_equal(sum[MXV_EXP_POLY], sum[MXV_EXP_CR]);
}

// 2^-130 flushes to zero in the unit and stays a subnormal when correctly rounded.
static void subnormal_weights(void **state)
{
    (void)state;
    struct mxv_attention a = {.exp = MXV_EXP_HW};
    assert_int_equal(case_word(plain_ex2(&a, -130.0f)), 0);
    assert_int_equal(case_word(plain_ex2(&a, -INFINITY)), 0);
    a.exp = MXV_EXP_CR;
    assert_int_equal(case_word(plain_ex2(&a, -130.0f)), 1u << 19);
    assert_int_equal(case_word(plain_ex2(&a, -INFINITY)), 0);
    a.exp = MXV_EXP_POLY; // the argument is raised to -127, whose power has exponent field 0
    assert_int_equal(case_word(plain_ex2(&a, -INFINITY)), 0);
}

static void nan_and_infinite_scores(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 3);
    t.k[0] = NAN; // ignored by the maximum, not by the sum
    t.k[32] = 2.0f;
    case_run(&t, 0, 0);
    assert_float_equal(tap_value(&t, MXV_STAGE_MAX, 0, 0), 2.0f, 0.0f);
    assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 0)->words[0], MXV_NAN_WORD);
    assert_int_equal(t.out[0], MXV_NAN_WORD);
    t.k[0] = INFINITY; // inf - inf at the key itself, zero weight elsewhere
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_MAX, 0)->words[0], 0x7F800000u);
    assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 0)->words[0], 0x7FFF);
    assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 0)->words[1], 0);
    t.k[0] = -INFINITY; // as if masked
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 0)->words[0], 0);
    assert_float_equal(tap_value(&t, MXV_STAGE_SUM, 0, 0), 1.25f, 0.0f);
    case_free(&t);
}

// 1/3 of V = 1 in each output type: RCP(3) times 1 rounded once more.
static void output_types(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 3);
    t.v[0] = 1.0f;
    t.a.out = MXV_F16;
    case_run(&t, 0, 0);
    assert_int_equal(t.out[0], 0x3555);
    t.a.out = MXV_BF16;
    case_run(&t, 0, 0);
    assert_int_equal(t.out[0], 0x3EAB);
    t.a.out = MXV_F16;
    t.v[0] = t.v[32] = t.v[64] = INFINITY;
    case_run(&t, 0, 0);
    assert_int_equal(t.out[0], 0x7C00);
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_of_the_row_sum),
        cmocka_unit_test(lane_of_each_column),
        cmocka_unit_test(sum_takes_unrounded_weights),
        cmocka_unit_test(rescale_waits_for_tau),
        cmocka_unit_test(rescaling_of_the_sum_is_fused),
        cmocka_unit_test(finite_mask_bounds_the_maximum),
        cmocka_unit_test(descending_order),
        cmocka_unit_test(argument_is_fused),
        cmocka_unit_test(exp_policies),
        cmocka_unit_test(subnormal_weights),
        cmocka_unit_test(nan_and_infinite_scores),
        cmocka_unit_test(output_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
