// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Score tiles of the plain emulation: operands that every route holds exactly, so that scores must
// equal the integer dot product on every kernel, architecture, format, plan and head dimension.
#include "test_plain_case.h"

static const float e2m1_values[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

// E2M1 values times a power of two per row; each group of 16 holds a 6, so that NVFP4's scale is
// that power of two, MXFP4's too (floor(log2 6) = 2), and an INT8 or E4M3 scale is 6/127 or 6/448.
static void fill(struct plain_case *t, float *x, size_t rows, bool powers, uint64_t *seed)
{
    for (size_t r = 0; r < rows; r++) {
        const float scale = powers ? (float)(1u << (case_random(seed) % 4)) : 1.0f;
        for (size_t c = 0; c < t->a.d; c++) {
            const uint32_t dice = case_random(seed);
            const float value = c % 16 == 3 ? 6.0f : e2m1_values[dice % 8];
            x[r * t->a.d + c] = (dice & 8 ? -value : value) * scale;
        }
    }
}

// Every score of every score tap against the exact sum (in quarters, an integer).
static void check_exact(const struct plain_case *t)
{
    size_t checked = 0;
    for (size_t n = 0; n < t->taps; n++) {
        const struct mxv_tap *tap = &t->tap[n];
        for (size_t e = 0; tap->stage == MXV_STAGE_SCORE && e < tap->rows * tap->cols; e++) {
            const size_t row = tap->tile_q * t->a.tile_m + e / tap->cols;
            const size_t key = tap->tile_k * t->a.tile_n + e % tap->cols;
            long quarters = 0;
            if (key >= t->cu_k[1])
                continue;
            for (size_t c = 0; c < t->a.d; c++)
                quarters += (long)(4.0f * t->q[row * t->a.d + c] * t->k[key * t->a.d + c]);
            assert_int_equal(tap->words[e], case_word((float)quarters / 4.0f));
            checked++;
        }
    }
    assert_int_equal(checked, t->cu_q[1] * t->cu_k[1]);
}

static void exact_case(enum mxv_kernel kernel, enum mxv_arch arch, size_t d, enum mxv_mode mode,
                       unsigned formats, enum mxv_dual dual)
{
    static const uint64_t all_f16[2] = {~UINT64_C(0), ~UINT64_C(0)};
    struct plain_case t;
    uint64_t seed = d + formats;
    case_defaults(&t, kernel, arch, 18, 35);
    t.a.d = d;
    t.a.mode = mode;
    t.a.dual = dual;
    t.a.high = formats & 1 ? MXV_HIGH_MXFP8_E5M2 : MXV_HIGH_MXFP8_E4M3;
    t.a.low = formats & 2 ? MXV_LOW_NVFP4 : MXV_LOW_MXFP4;
    t.a.vt = kernel == MXV_KERNEL_FLASH && formats & 1 ? MXV_BF16 : MXV_F16;
    t.a.route_words = all_f16;
    case_tensors(&t);
    fill(&t, t.q, 18, true, &seed);
    fill(&t, t.k, 35, true, &seed);
    case_run(&t, 0, 0);
    check_exact(&t);
    case_free(&t);
}

// E5M2 has 3 significant bits, enough for E2M1 values; 6 = 1.5 * 2^2.
static void block_routes_are_exact(void **state)
{
    (void)state;
    static const size_t dims[] = {32, 64, 96, 128, 256};
    for (enum mxv_arch arch = MXV_ARCH_SM_80; arch < MXV_ARCH_COUNT; arch++)
        for (size_t n = 0; n < 5; n++)
            for (unsigned formats = 0; formats < 4; formats++)
                for (enum mxv_mode mode = MXV_MODE_MIXED; mode < MXV_MODE_COUNT; mode++)
                    exact_case(MXV_KERNEL_DMA, arch, dims[n], mode, formats, MXV_DUAL_NONE);
}

static void f16_route_is_exact(void **state)
{
    (void)state;
    for (enum mxv_arch arch = MXV_ARCH_SM_80; arch < MXV_ARCH_COUNT; arch++)
        for (unsigned formats = 0; formats < 2; formats++) {
            exact_case(MXV_KERNEL_FLASH, arch, 96, MXV_MODE_MIXED, formats, MXV_DUAL_NONE);
            exact_case(MXV_KERNEL_TILEMIX, arch, 64, MXV_MODE_MIXED, formats, MXV_DUAL_NONE);
        }
}

// amax / 6 is a power of two here, and mode low with mxfp4 divides by 6: sigma takes it out
// exactly.
static void second_level_comes_back(void **state)
{
    (void)state;
    for (enum mxv_dual dual = MXV_DUAL_TOKEN; dual <= MXV_DUAL_TENSOR; dual++)
        if (dual != MXV_DUAL_CHANNEL)
            exact_case(MXV_KERNEL_DMA, MXV_ARCH_SM_100, 64, MXV_MODE_LOW, 0, dual);
}

// INT8: integers up to 127 with delta 1 on both sides.
static void int8_route_is_exact(void **state)
{
    (void)state;
    static const uint64_t none[2] = {0, 0};
    struct plain_case t;
    uint64_t seed = 3;
    case_defaults(&t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_80, 18, 35);
    t.a.d = 256;
    t.a.route_words = none;
    case_tensors(&t);
    for (size_t e = 0; e < 18 * 256; e++)
        t.q[e] = (float)(int)(case_random(&seed) % 255) - 127.0f;
    for (size_t e = 0; e < 35 * 256; e++)
        t.k[e] = (float)(int)(case_random(&seed) % 255) - 127.0f;
    t.q[0] = t.q[16 * 256] = t.k[0] = t.k[32 * 256] = 127.0f; // one per group
    case_run(&t, 0, 0);
    check_exact(&t);
    case_free(&t);
}

// Core: rows whose blocks hold a 7, so that s = 7/448 = 2^-6 and codes are 64 x.
static void core_route_is_exact(void **state)
{
    (void)state;
    for (enum mxv_arch arch = MXV_ARCH_SM_90; arch < MXV_ARCH_COUNT; arch++) {
        struct plain_case t;
        uint64_t seed = 11;
        case_defaults(&t, MXV_KERNEL_DMA, arch, 18, 35);
        t.a.d = 96;
        t.a.plan = MXV_PLAN_ZONES;
        t.a.core_share = 1.0;
        case_tensors(&t);
        for (size_t e = 0; e < 18 * 96; e++)
            t.q[e] = e % 32 == 9 ? 7.0f : (float)(int)(case_random(&seed) % 15) - 7.0f;
        for (size_t e = 0; e < 35 * 96; e++)
            t.k[e] = e % 32 == 1 ? 14.0f : (float)(int)(case_random(&seed) % 15) * 2.0f - 14.0f;
        case_run(&t, 0, 0);
        assert_int_equal(case_tap(&t, MXV_STAGE_SCORE, 0)->route, MXV_ROUTE_CORE);
        check_exact(&t);
        case_free(&t);
    }
}

// An overflowing MXFP8 block decodes to infinity in bf16, and a NaN block poisons its row or key.
static void special_values_reach_the_score(void **state)
{
    (void)state;
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_90, 2, 2);
    t.a.mode = MXV_MODE_HIGH;
    case_tensors(&t);
    t.q[0] = 1.0f;
    t.q[32] = 1.0f;
    t.k[0] = 1.0f;
    t.k[32 + 5] = case_float(0x7FC00000u);
    case_run(&t, 0, 0);
    const struct mxv_tap *score = case_tap(&t, MXV_STAGE_SCORE, 0);
    assert_int_equal(score->words[0], case_word(1.0f));
    assert_int_equal(score->words[1], MXV_NAN_WORD);
    t.k[32 + 5] = 0.0f;
    t.k[32] = case_float(0x7F800000u); // f16 infinity: scale FE, code 7E: above bf16
    case_run(&t, 0, 0);
    score = case_tap(&t, MXV_STAGE_SCORE, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_K_SCALE, 0)->words[1], 0xFE);
    assert_int_equal(score->words[score->cols + 1], 0x7F800000u);
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_routes_are_exact),  cmocka_unit_test(f16_route_is_exact),
        cmocka_unit_test(second_level_comes_back), cmocka_unit_test(int8_route_is_exact),
        cmocka_unit_test(core_route_is_exact),     cmocka_unit_test(special_values_reach_the_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
