// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// FP8 tiles (DeepSeek): scales and codes against host binary32 arithmetic, ragged edges, zero and
// NaN tiles.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include <mxverify/fp8_tile.h>

#include "slow_format.h"

static uint64_t random_state = 0xA0761D6478BD642Fu;

static uint64_t random_word(void)
{
    return slow_random(&random_state);
}

/// DeepSeek tiles: scale amax / 448, or 2^ceil of its logarithm; ragged edges; zero tile; floor of
/// amax.
static void test_fp8_tile(void **state)
{
    (void)state;
    enum { STRIDE = 140, ROWS = 100, COLS = 128 };
    static uint32_t x[ROWS * STRIDE];
    static uint8_t codes[ROWS * COLS];
    struct slow_table t = slow_table_make("e4m3");
    for (int trial = 0; trial < 12; trial++) {
        struct mxv_fp8_tile_policy p = {0};
        uint32_t scale_word = 0;
        float amax = 0;
        p.element = MXV_E4M3;
        p.scale = trial % 2 != 0 ? MXV_FP8_SCALE_UE8M0 : MXV_FP8_SCALE_F32;
        p.arith = trial / 2 % 2 != 0 ? MXV_ARITH_RCP : MXV_ARITH_DIV;
        p.mul_max = trial >= 8;
        for (int i = 0; i < ROWS * STRIDE; i++) // beyond the columns: never to be read
            x[i] = i % STRIDE >= COLS
                       ? slow_word(1e30f)
                       : slow_word((float)((int)(random_word() % 20001) - 10000) * 0x1p-9f);
        for (int i = 0; i < ROWS * COLS; i++)
            amax = fmaxf(amax, fabsf(slow_float(x[i / COLS * STRIDE + i % COLS])));
        mxv_fp8_tile_quantize(&p, x, ROWS, COLS, STRIDE, &scale_word, codes, COLS);
        const volatile float ratio = amax / 448.0f, factor = 448.0f / amax;
        const volatile float scale =
            p.scale == MXV_FP8_SCALE_F32 ? ratio : ldexpf(1, (int)ceil(log2((double)amax / 448.0)));
        const volatile float inverse = 1 / scale;
        assert_int_equal(scale_word, slow_word(scale));
        for (int i = 0; i < ROWS * COLS; i++) {
            const float v = slow_float(x[i / COLS * STRIDE + i % COLS]);
            const volatile float y = p.mul_max                  ? v * factor
                                     : p.arith == MXV_ARITH_RCP ? v * inverse
                                                                : v / scale;
            assert_int_equal(codes[i], slow_encode(&t, (double)y, SLOW_RNE, false));
        }
    }
    struct mxv_fp8_tile_policy p = {0};
    uint32_t scale = 1;
    memset(x, 0, sizeof x);
    p.element = MXV_E4M3;
    mxv_fp8_tile_quantize(&p, x, 3, 5, STRIDE, &scale, codes, 5);
    assert_true(scale == 0 && codes[0] == 0 && codes[14] == 0);
    p.amax_min = slow_word(1e-4f);
    mxv_fp8_tile_quantize(&p, x, 3, 5, STRIDE, &scale, codes, 5);
    const volatile float least = 1e-4f / 448.0f;
    assert_true(scale == slow_word(least) && codes[0] == 0);
    x[7] = 0x7FC00000;
    mxv_fp8_tile_quantize(&p, x, 3, 9, STRIDE, &scale, codes, 9);
    assert_true(scale == MXV_F32_NAN && codes[0] == 0x7F);
    p.nan = MXV_BLOCK_NAN_IGNORE;
    x[0] = slow_word(448);
    mxv_fp8_tile_quantize(&p, x, 3, 9, STRIDE, &scale, codes, 9);
    assert_true(scale == 0x3F800000 && codes[0] == 0x7E && codes[7] == 0x7F && codes[8] == 0);
    assert_int_equal(mxv_fp8_tile_dequantize(MXV_E4M3, 0x7E, 0x40000000), slow_word(896));
    slow_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fp8_tile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
