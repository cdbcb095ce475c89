// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 in exact arithmetic: order exact and four-over-six against GMP rationals, over blocks of
// any spread, and the published four-over-six blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <gmp.h>

#include <mxverify/block.h>

#include "slow_format.h"

static uint64_t random_state = 0xE7037ED1A0B428DBu;

static uint64_t random_word(void)
{
    return slow_random(&random_state);
}

static struct slow_table fp4, fp8;

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

/// Index of the magnitude in the table to which q >= 0 rounds, nearest even, saturating.
static unsigned rational_round(const struct slow_table *t, const mpq_t q)
{
    mpq_t middle;
    int i = 0;
    mpq_init(middle);
    for (; i < t->count - 1; i++) {
        mpq_set_d(middle, t->value[i] / 2 + t->value[i + 1] / 2);
        const int order = mpq_cmp(q, middle);
        if (order < 0 || (order == 0 && t->code[i] % 2 == 0))
            break;
    }
    mpq_clear(middle);
    return t->code[i];
}

/// One candidate in rationals: scale code of b * factor / g, codes of x * whole / (g * scale),
/// error.
static unsigned rational_candidate(const uint32_t *x, double g, double b, double factor,
                                   double whole, enum mxv_four_six_err err, uint8_t *codes,
                                   mpq_t error)
{
    mpq_t q, unit, t;
    mpq_inits(q, unit, t, NULL);
    mpq_set_d(q, b);
    mpq_set_d(t, factor);
    mpq_mul(q, q, t);
    mpq_set_d(unit, g);
    mpq_div(q, q, unit);
    const unsigned scale = rational_round(&fp8, q);
    mpq_set_d(t, slow_decode(fp8.format, scale));
    mpq_mul(unit, unit, t);
    mpq_set_d(t, whole);
    mpq_div(unit, unit, t);
    mpq_set_ui(error, 0, 1);
    for (int i = 0; i < 16; i++) {
        const double v = (double)slow_float(x[i]);
        mpq_set_d(q, fabs(v));
        if (mpq_sgn(unit) != 0)
            mpq_div(t, q, unit);
        else
            mpq_set_ui(t, 0, 1);
        const unsigned magnitude = rational_round(&fp4, t);
        codes[i] = (uint8_t)(magnitude | (signbit(v) ? 8u : 0u));
        mpq_set_d(t, slow_decode(fp4.format, magnitude));
        mpq_mul(t, t, unit);
        mpq_sub(t, t, q);
        mpq_abs(t, t);
        if (err == MXV_FOUR_SIX_MSE)
            mpq_mul(t, t, t);
        if (err != MXV_FOUR_SIX_ABS_MAX)
            mpq_add(error, error, t);
        else if (mpq_cmp(t, error) > 0)
            mpq_set(error, t);
    }
    mpq_clears(q, unit, t, NULL);
    return scale;
}

static void check_four_six(const uint32_t *x, float g, enum mxv_four_six_err err, int *fours)
{
    struct mxv_block_policy p = {0};
    uint8_t scale, codes[16], want6[16], want4[16];
    mpq_t error6, error4;
    mpq_inits(error6, error4, NULL);
    const double b = (double)slow_float(mxv_block_amax(x, 16, MXV_BLOCK_NAN_PROPAGATE));
    p.nvfp4.variant = MXV_NVFP4_FOUR_SIX;
    p.nvfp4.err = err;
    p.nvfp4.tensor_scaled = true;
    p.nvfp4.tensor_amax = slow_word(g);
    mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
    const unsigned scale6 = rational_candidate(x, (double)g, b, 256, 1536, err, want6, error6);
    const unsigned scale4 = rational_candidate(x, (double)g, b, 384, 1536, err, want4, error4);
    const bool four = mpq_cmp(error4, error6) < 0;
    *fours += four;
    assert_int_equal(scale, four ? scale4 : scale6);
    assert_memory_equal(codes, four ? want4 : want6, 16);
    mpq_clears(error6, error4, NULL);
}

/// Exact order and four-over-six against rationals, blocks of any spread; both candidates must win
/// often.
static void test_exact_arithmetic(void **state)
{
    (void)state;
    int fours[MXV_FOUR_SIX_ERR_COUNT] = {0};
    for (int trial = 0; trial < 1500; trial++) {
        uint32_t x[16];
        uint8_t scale, codes[16], want[16];
        float g;
        mpq_t error;
        random_block(x, &g);
        if (trial % 10 == 0)
            for (int i = 4; i < 16; i++)
                x[i] = (uint32_t)(random_word() & 0x807FFFFF);
        const double b = (double)slow_float(mxv_block_amax(x, 16, MXV_BLOCK_NAN_PROPAGATE));
        for (int err = 0; err < MXV_FOUR_SIX_ERR_COUNT; err++)
            check_four_six(x, g, (enum mxv_four_six_err)err, &fours[err]);
        struct mxv_block_policy p = {0};
        p.nvfp4.tensor_scaled = trial % 3 != 0;
        p.nvfp4.tensor_amax = slow_word(g);
        mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
        mpq_init(error);
        const double whole = p.nvfp4.tensor_scaled ? (double)g : 2688;
        assert_int_equal(scale,
                         rational_candidate(x, whole, b, 448, 2688, MXV_FOUR_SIX_MAE, want, error));
        assert_memory_equal(codes, want, 16);
        mpq_clear(error);
    }
    for (int err = 0; err < MXV_FOUR_SIX_ERR_COUNT; err++)
        assert_true(fours[err] > 100 && fours[err] < 1400);
}

/// mit-han-lab/fouroversix: g = 6; the first block goes to 4 (error 0.875 against 3.0), the second
/// to 6.
static void test_four_six_published(void **state)
{
    (void)state;
    static const float blocks[2][7] = {{6, 5, 5, 5, 3, 1, 0.5f}, {6, 4, 3, 2, 1.5f, 1, 0.5f}};
    static const uint8_t want[2][7] = {{6, 5, 5, 5, 4, 1, 1}, {7, 6, 5, 4, 3, 2, 1}};
    static const uint8_t scales[2] = {0x7C, 0x78};
    for (int k = 0; k < 2; k++) {
        struct mxv_block_policy p = {0};
        uint32_t x[16] = {0};
        uint8_t scale, codes[16];
        for (int i = 0; i < 7; i++)
            x[i] = slow_word(blocks[k][i]);
        p.nvfp4.variant = MXV_NVFP4_FOUR_SIX;
        p.nvfp4.tensor_scaled = true;
        p.nvfp4.tensor_amax = slow_word(6);
        mxv_block_quantize(MXV_NVFP4, &p, x, &scale, codes);
        assert_int_equal(scale, scales[k]);
        assert_memory_equal(codes, want[k], 7);
        assert_int_equal(codes[7], 0);
    }
}

/// Extremes of four-over-six arithmetic: the largest and the smallest numbers in one block.
static void test_four_six_range(void **state)
{
    (void)state;
    uint32_t x[16];
    int fours = 0;
    for (uint32_t i = 0; i < 16; i++)
        x[i] = i < 8 ? 0x7F7FFFFF - 0x100001 * i : 0x80000001 + i;
    for (int err = 0; err < MXV_FOUR_SIX_ERR_COUNT; err++) {
        check_four_six(x, 0x1.fffffep127f, (enum mxv_four_six_err)err, &fours);
        check_four_six(x, 0x1p-149f, (enum mxv_four_six_err)err, &fours);
    }
    for (int i = 0; i < 16; i++)
        x[i] = 1 + (uint32_t)i;
    check_four_six(x, 0x1p-140f, MXV_FOUR_SIX_MSE, &fours);
    check_four_six(x, 1.0f, MXV_FOUR_SIX_MSE, &fours);
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
        cmocka_unit_test(test_exact_arithmetic),
        cmocka_unit_test(test_four_six_published),
        cmocka_unit_test(test_four_six_range),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
