// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Array quantisation and decoding of INT8 groups against the scalar functions at each dispatch
// level: every arithmetic, rounding and epsilon, binary32 and binary16 input, groups of 1 to 2,048,
// specials included. MXV_EXHAUSTIVE=1 does 60 times as many.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "array_words.h"

static void check_int8(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                       size_t count)
{
    const size_t groups = WORDS / count;
    uint32_t scales[2][WORDS], words[WORDS], back[2][WORDS];
    int8_t codes[2][WORDS];
    for (size_t i = 0; i < WORDS; i++)
        words[i] = half ? mxv_element_to_f32(MXV_F16, half[i]) : x[i];
    for (size_t g = 0; g < groups; g++)
        mxv_int8_quantize(p, words + g * count, count, 1, &scales[0][g], codes[0] + g * count);
    for (size_t i = 0; i < groups * count; i++)
        back[0][i] = mxv_int8_dequantize(codes[0][i], scales[0][i / count]);
    for (int level = 0; level <= (int)most; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        if (half)
            mxv_int8_quantize_array_f16(p, half, count, groups, scales[1], codes[1]);
        else
            mxv_int8_quantize_array(p, x, count, groups, scales[1], codes[1]);
        mxv_int8_dequantize_array(codes[1], scales[1], count, groups, back[1]);
        check("int8 scales", scales[1], scales[0], sizeof **scales, groups);
        check("int8 codes", codes[1], codes[0], 1, groups * count);
        check("int8 decoded", back[1], back[0], sizeof **back, groups * count);
    }
}

static void every_int8_policy(void **state)
{
    (void)state;
    static uint32_t x[WORDS];
    static uint16_t half[WORDS];
    static const size_t counts[] = {1, 7, 16, 100, 128, 1024, WORDS};
    for (unsigned kind = 0; kind < KINDS * rounds(); kind++) {
        fill(x, kind % KINDS);
        halve(x, half);
        for (int arith = 0; arith < MXV_INT8_ARITH_COUNT; arith++) {
            for (int round = 0; round < MXV_ROUND_COUNT; round++) {
                const struct mxv_int8_policy p = {.arith = (enum mxv_int8_arith)arith,
                                                  .round = (enum mxv_round)round,
                                                  .eps = (enum mxv_int8_eps)(kind % 4),
                                                  .symmetric = kind % 2 != 0,
                                                  .nan = kind % 3 ? MXV_BLOCK_NAN_PROPAGATE
                                                                  : MXV_BLOCK_NAN_IGNORE};
                const size_t count = counts[(kind + (unsigned)round) % 7];
                check_int8(&p, x, NULL, count);
                check_int8(&p, x, half, count);
            }
        }
    }
}

/// All integers times all significands that end a product's rounding: decoding of every code.
static void int8_products(void **state)
{
    (void)state;
    static int8_t codes[256];
    static uint32_t got[256];
    for (int i = 0; i < 256; i++)
        codes[i] = (int8_t)(i - 128);
    for (unsigned n = 0; n < 20000 * rounds(); n++) {
        const uint32_t scale = n % 2 ? random_word() & 0x7FFFFFFF
                                     : (random_word() & 0x3FFF) | (random_word() % 250) << 23;
        for (int level = 0; level <= (int)most; level++) {
            mxv_simd_limit((enum mxv_simd)level);
            mxv_int8_dequantize_array(codes, &scale, 256, 1, got);
            for (int i = 0; i < 256 && level > 0; i += n % 2 ? 1 : 3)
                assert_int_equal(got[i], mxv_int8_dequantize(codes[i], scale));
            compared += 256;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_int8_policy),
        cmocka_unit_test(int8_products),
    };
    seed_words();
    most = mxv_simd_limit((enum mxv_simd)(MXV_SIMD_COUNT - 1));
    return cmocka_run_group_tests(tests, NULL, report);
}
