// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operand preparation of the plain emulation: K smoothing, second-level scales, INT8 groups and
// cache, V, by small integers and powers of two whose results are exact.
#include "test_plain_case.h"

#include <math.h>

// Keys 0..3 of channel 2 are 1, 2, 3, 6: mean 3. Channel 5 holds 2^-11 over 1: means round to f16.
static void smoothing_takes_the_mean_off(void **state)
{
    (void)state;
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 1, 4);
    t.a.smooth_k = true;
    case_tensors(&t);
    const float k[4] = {1.0f, 2.0f, 3.0f, 6.0f};
    const float step[4] = {1.0f, 1.0f, 1.0f, 1.0f + 0x1p-9f}; // mean 1 + 2^-11, a tie: 1 in f16
    for (size_t n = 0; n < 4; n++) {
        t.k[n * 32 + 2] = k[n];
        t.k[n * 32 + 5] = step[n];
    }
    case_run(&t, 0, 0);
    const uint32_t *code = case_tap(&t, MXV_STAGE_K_CODE, 0)->words;
    assert_int_equal(code[2], 0xC000);          // -2
    assert_int_equal(code[1 * 32 + 2], 0xBC00); // -1
    assert_int_equal(code[2 * 32 + 2], 0x0000);
    assert_int_equal(code[3 * 32 + 2], 0x4200); // 3
    assert_int_equal(code[5], 0x0000);
    assert_int_equal(code[3 * 32 + 5], 0x1800); // 2^-9
    case_free(&t);
}

// Keys 2^24, 2^16, then 254 ones. The first 128 add to 2^24 + 2^16 (each 1 is a tie that is lost),
// the others to 128: the mean is 65792.5, above the bf16 tie 65792, hence 66048. In one chain all
// ones would be lost and the tie would go down to 65536.
static void smoothing_sums_by_128(void **state)
{
    (void)state;
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 1, 256);
    t.a.smooth_k = true;
    t.a.vt = MXV_BF16;
    case_tensors(&t);
    for (size_t n = 0; n < 256; n++)
        t.k[n * 32] = n == 0 ? 0x1p24f : n == 1 ? 0x1p16f : 1.0f;
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_K_CODE, 0)->words[2 * 32], 0xC781); // -66048
    for (size_t n = 0; n < 256; n++)
        t.k[n * 32] = 3.0f;
    case_run(&t, 0, 0);
    for (size_t n = 0; n < 256; n++)
        assert_int_equal(case_tap(&t, MXV_STAGE_K_CODE, 0)->words[n * 32], 0);
    case_free(&t);
}

static void second_level_by_row_tile_and_tensor(void **state)
{
    (void)state;
    static const float q_row[3] = {8.0f, 64.0f, 0.0f}; // sigma: amax / 8; 0 gives 1
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_100, 18, 3);
    t.a.mode = MXV_MODE_HIGH;
    t.a.dual = MXV_DUAL_TOKEN;
    case_tensors(&t);
    for (size_t r = 0; r < 18; r++)
        t.q[r * 32 + r] = -q_row[r % 3];
    t.k[0] = 16.0f;
    case_run(&t, 0, 0);
    const struct mxv_tap *sigma = case_tap(&t, MXV_STAGE_Q_SIGMA, 0);
    assert_int_equal(sigma->rows, 18);
    assert_int_equal(sigma->words[0], case_word(1.0f));
    assert_int_equal(sigma->words[1], case_word(8.0f));
    assert_int_equal(sigma->words[2], case_word(1.0f));
    assert_int_equal(case_tap(&t, MXV_STAGE_K_SIGMA, 0)->words[0], case_word(2.0f));
    t.a.dual = MXV_DUAL_BLOCK; // rows 0..15 and 16..17
    for (size_t e = 16 * 32; e < 18 * 32; e++)
        t.q[e] = 1.0f;
    case_run(&t, 0, 0);
    sigma = case_tap(&t, MXV_STAGE_Q_SIGMA, 0);
    assert_int_equal(sigma->words[15], case_word(8.0f));
    assert_int_equal(sigma->words[16], case_word(0.125f));
    t.a.dual = MXV_DUAL_TENSOR;
    case_run(&t, 0, 0);
    sigma = case_tap(&t, MXV_STAGE_Q_SIGMA, 0);
    assert_int_equal(sigma->words[17], case_word(8.0f));
    case_free(&t);
}

static void divisor_follows_the_mode(void **state)
{
    (void)state;
    static const struct {
        enum mxv_mode mode;
        enum mxv_low_format low;
        float sigma; // of amax 768
    } rows[] = {{MXV_MODE_MIXED, MXV_LOW_NVFP4, 6.0f},
                {MXV_MODE_HIGH, MXV_LOW_NVFP4, 96.0f},
                {MXV_MODE_LOW, MXV_LOW_NVFP4, 96.0f},
                {MXV_MODE_LOW, MXV_LOW_MXFP4, 128.0f}};
    for (size_t n = 0; n < 4; n++) {
        struct plain_case t;
        case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_120, 1, 1);
        t.a.mode = rows[n].mode;
        t.a.low = rows[n].low;
        t.a.dual = MXV_DUAL_TOKEN;
        case_tensors(&t);
        t.q[9] = -768.0f;
        case_run(&t, 0, 0);
        assert_int_equal(case_tap(&t, MXV_STAGE_Q_SIGMA, 0)->words[0], case_word(rows[n].sigma));
        case_free(&t);
    }
}

// K channel 3 has amax 32: sigma 4; K becomes 8 there, Q is multiplied by 4; the score is
// unchanged.
static void channel_scales_go_into_q(void **state)
{
    (void)state;
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_90, 1, 2);
    t.a.mode = MXV_MODE_HIGH;
    t.a.dual = MXV_DUAL_CHANNEL;
    case_tensors(&t);
    t.q[3] = 2.0f;
    t.k[3] = -32.0f;
    t.k[32 + 3] = 4.0f;
    case_run(&t, 0, 0);
    const struct mxv_tap *sigma = case_tap(&t, MXV_STAGE_K_SIGMA, 0);
    assert_int_equal(sigma->rows, 1);
    assert_int_equal(sigma->cols, 32);
    assert_int_equal(sigma->words[3], case_word(4.0f));
    assert_int_equal(sigma->words[4], case_word(1.0f));
    assert_int_equal(case_tap(&t, MXV_STAGE_Q_SCALE, 0)->words[0], 127 + 3 - 8); // amax 8
    assert_int_equal(case_tap(&t, MXV_STAGE_K_SCALE, 0)->words[0], 127 + 3 - 8);
    assert_int_equal(case_tap(&t, MXV_STAGE_K_SCALE, 0)->words[1], 127 + 0 - 8);
    assert_int_equal(case_tap(&t, MXV_STAGE_SCORE, 0)->words[0], case_word(-64.0f));
    assert_int_equal(case_tap(&t, MXV_STAGE_SCORE, 0)->words[1], case_word(8.0f));
    case_free(&t);
}

// Row r has amax r + 1: a group's delta is one more than its last row, over 127.
static void int8_groups(void **state)
{
    (void)state;
    static const struct {
        enum mxv_granularity q, k;
        float q_amax[5], k_amax[5]; // of rows 0, 1, 8, 34, 47
    } rows[] = {
        {MXV_GRAN_TOKEN, MXV_GRAN_TOKEN, {1, 2, 9, 35, 48}, {1, 2, 9, 35, 48}},
        {MXV_GRAN_BLOCK, MXV_GRAN_BLOCK, {16, 16, 16, 48, 48}, {32, 32, 32, 48, 48}},
        {MXV_GRAN_WARP, MXV_GRAN_WARP, {32, 32, 32, 48, 48}, {32, 32, 32, 48, 48}},
        {MXV_GRAN_THREAD, MXV_GRAN_THREAD, {25, 26, 25, 43, 48}, {26, 26, 26, 44, 48}},
    };
    static const size_t at[5] = {0, 1, 8, 34, 47};
    static const uint64_t words[3] = {0};
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_80, 48, 48);
    t.a.route_words = words;
    case_tensors(&t);
    for (size_t r = 0; r < 48; r++) {
        t.q[r * 32 + r % 32] = (float)(r + 1);
        t.k[r * 32 + (r + 1) % 32] = -(float)(r + 1);
    }
    for (size_t n = 0; n < 4; n++) {
        t.a.q_gran = rows[n].q;
        t.a.k_gran = rows[n].k;
        case_run(&t, 0, 0);
        const struct mxv_tap *q = case_tap(&t, MXV_STAGE_Q_SCALE, 0);
        const struct mxv_tap *k = case_tap(&t, MXV_STAGE_K_SCALE, 0);
        for (size_t e = 0; e < 5; e++) {
            assert_int_equal(q->words[at[e]], case_word(rows[n].q_amax[e] / 127.0f));
            assert_int_equal(k->words[at[e]], case_word(rows[n].k_amax[e] / 127.0f));
        }
    }
    t.a.q_gran = t.a.k_gran = MXV_GRAN_TOKEN;
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_Q_CODE, 1)->words[0], 0x7F);
    assert_int_equal(case_tap(&t, MXV_STAGE_K_CODE, 1)->words[1], 0x81);
    case_free(&t);
}

// One token: 127, 2.5, -1.5 with delta 1 become 127, 2 or 3, -2; K and V are read back from there.
static void int8_cache(void **state)
{
    (void)state;
    static const uint64_t words[1] = {1}; // FP16 route
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_90, 1, 1);
    t.a.route_words = words;
    t.a.kv_cache = true;
    t.a.k_gran = MXV_GRAN_TOKEN;
    case_tensors(&t);
    const float x[3] = {127.0f, 2.5f, -1.5f};
    memcpy(t.k, x, sizeof x);
    memcpy(t.v, x, sizeof x);
    t.q[1] = 1.0f;
    for (int away = 0; away < 2; away++) {
        t.a.int8_round = away ? MXV_RNA : MXV_RNE;
        case_run(&t, 0, 0);
        const struct mxv_tap *f16 = case_tap(&t, MXV_STAGE_K_CODE, 0);
        const struct mxv_tap *int8 = case_tap(&t, MXV_STAGE_K_CODE, 1);
        assert_int_equal(f16->route, MXV_ROUTE_F16);
        assert_int_equal(int8->route, MXV_ROUTE_INT8);
        assert_int_equal(f16->words[1], away ? 0x4200 : 0x4000);
        assert_int_equal(int8->words[1], away ? 3 : 2);
        assert_int_equal(int8->words[2], 0xFE);
        assert_int_equal(case_tap(&t, MXV_STAGE_V_SCALE, 0)->words[0], case_word(1.0f));
        assert_int_equal(case_tap(&t, MXV_STAGE_V_CODE, 0)->words[2], 0xC000);
        assert_int_equal(case_tap(&t, MXV_STAGE_SCORE, 0)->words[0], case_word(away ? 3.0f : 2.0f));
        assert_float_equal(case_out(&t, 0, 2), -2.0f, 0.0f);
    }
    case_free(&t);
}

static void fp8_v_has_one_scale(void **state)
{
    (void)state;
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_90, 1, 2);
    t.a.vt = MXV_E4M3;
    t.a.p_offset = 8.0f;
    case_tensors(&t);
    t.v[4] = -224.0f; // v_s = 1/2
    t.v[32 + 4] = 32.0f;
    t.v[5] = NAN; // enters no maximum, and reaches its own channel only
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_V_SCALE, 0)->words[0], case_word(0.5f));
    assert_int_equal(case_tap(&t, MXV_STAGE_V_CODE, 0)->words[4], 0xFE);
    assert_int_equal(case_tap(&t, MXV_STAGE_V_CODE, 0)->words[5], 0x7F);
    assert_float_equal(case_out(&t, 0, 4), -96.0f, 0.0f);
    assert_true(isnan(case_out(&t, 0, 5)));
    assert_int_equal(case_tap(&t, MXV_STAGE_WEIGHT, 0)->words[0], 0x78); // 256
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoothing_takes_the_mean_off),
        cmocka_unit_test(smoothing_sums_by_128),
        cmocka_unit_test(second_level_by_row_tile_and_tensor),
        cmocka_unit_test(divisor_follows_the_mode),
        cmocka_unit_test(channel_scales_go_into_q),
        cmocka_unit_test(int8_groups),
        cmocka_unit_test(int8_cache),
        cmocka_unit_test(fp8_v_has_one_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
