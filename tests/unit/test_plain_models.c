// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The taps of the plain emulation against one another: each score from the operand taps, and each
// accumulator of a first tile from its weights and V, by the formula of the page and by matrix-unit
// models named here letter for letter. The data spread over many exponents, so that the models of
// two architectures differ.
#include "test_plain_case.h"

#include <math.h>
#include <mxverify/matrix_unit.h>

static const char *const f16_models[MXV_ARCH_COUNT] = {
    "sm_80.mma.f16.f32", "sm_90.wgmma.f16.f32", "sm_100.tcgen05.f16.f32", "sm_120.mma.f16.f32"};
static const char *const bf16_models[MXV_ARCH_COUNT] = {
    "sm_80.mma.bf16.f32", "sm_90.wgmma.bf16.f32", "sm_100.tcgen05.bf16.f32", "sm_120.mma.bf16.f32"};
static const char *const e4m3_models[MXV_ARCH_COUNT] = {
    NULL, "sm_90.wgmma.e4m3.f32", "sm_100.tcgen05.e4m3.f32", "sm_120.mma.e4m3.f32"};
static const char *const mxfp8_models[2][2] = {
    {"sm_100.tcgen05.mxf8f6f4.e4m3.f32", "sm_100.tcgen05.mxf8f6f4.e5m2.f32"},
    {"sm_120.mma.mxf8f6f4.e4m3.f32", "sm_120.mma.mxf8f6f4.e5m2.f32"}};
static const char *const fp4_models[2][2] = {
    {"sm_100.tcgen05.mxf4.ue8m0.f32", "sm_100.tcgen05.mxf4nvf4.ue4m3.f32"},
    {"sm_120.mma.mxf4.ue8m0.f32", "sm_120.mma.mxf4nvf4.ue4m3.f32"}};

enum { ROWS = 5, KEYS = 41, SPREAD = 9 };

// How second-level scales come back: not, fl(fl(S q) k), or fl(S fl(q k)).
enum sigma { SIGMA_NONE, SIGMA_ONE_BY_ONE, SIGMA_PRODUCT };

// Gaussian-like mantissas, exponents over 2^SPREAD, both signs.
static void fill(float *x, size_t count, uint64_t *seed)
{
    for (size_t e = 0; e < count; e++) {
        const float m = (float)case_random(seed) / 8388608.0f - 1.0f;
        x[e] = ldexpf(m, 2 - (int)(case_random(seed) % SPREAD));
    }
}

static void begin(struct plain_case *t, enum mxv_kernel kernel, enum mxv_arch arch)
{
    uint64_t seed = 5;
    const bool released = kernel == MXV_KERNEL_DMA_RELEASED;
    case_defaults(t, kernel, arch, released ? KEYS : ROWS, KEYS);
    t->a.d = released ? 128 : 96;
    case_tensors(t);
    fill(t->q, t->cu_q[1] * t->a.d, &seed);
    fill(t->k, KEYS * t->a.d, &seed);
    fill(t->v, KEYS * t->a.d, &seed);
}

static const struct mxv_tap *operand(const struct plain_case *t, enum mxv_stage stage,
                                     enum mxv_route route)
{
    for (size_t n = 0; n < t->taps; n++)
        if (t->tap[n].stage == stage && t->tap[n].route == route)
            return &t->tap[n];
    fail();
    return NULL;
}

static const struct mxv_mma_model *model(const char *name)
{
    const struct mxv_mma_model *m = mxv_mma_find(name);
    assert_non_null(m);
    return m;
}

static uint32_t bf16_word(float x)
{
    const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    return (uint32_t)mxv_element_from_f32(MXV_BF16, case_word(x), &ieee);
}

// Row `row` of a tapped operand as the unit reads it: codes, or bf16 of code times scale.
static void read_row(const struct plain_case *t, enum mxv_stage code, enum mxv_route route,
                     size_t row, bool as_bf16, enum mxv_element f, uint32_t *words, uint8_t *bytes)
{
    const size_t d = t->a.d;
    const uint32_t *codes = operand(t, code, route)->words + row * d;
    if (route == MXV_ROUTE_F16) {
        memcpy(words, codes, d * sizeof *words);
        return;
    }
    const struct mxv_tap *scales = operand(t, (enum mxv_stage)(code - 1), route);
    for (size_t b = 0; b < scales->cols; b++)
        bytes[b] = (uint8_t)scales->words[row * scales->cols + b];
    for (size_t c = 0; c < d; c++) {
        const uint8_t byte = bytes[c * scales->cols / d];
        const enum mxv_element scale = d / scales->cols == 16 ? MXV_E4M3 : MXV_E8M0;
        const float x = case_float(mxv_element_to_f32(f, codes[c]));
        words[c] = as_bf16 ? bf16_word(x * case_float(mxv_element_to_f32(scale, byte))) : codes[c];
    }
}

// Every score of the route against the model.
static void check_scores(const struct plain_case *t, enum mxv_route route, const char *name,
                         enum mxv_element f, enum sigma sigma)
{
    const struct mxv_mma_model *m = model(name);
    const bool as_bf16 = m->a == MXV_BF16 && route != MXV_ROUTE_F16;
    uint32_t q[256], k[256];
    uint8_t q_bytes[16], k_bytes[16];
    size_t checked = 0;
    for (size_t n = 0; n < t->taps; n++) {
        const struct mxv_tap *tap = &t->tap[n];
        if (tap->stage != MXV_STAGE_SCORE || tap->route != route)
            continue;
        for (size_t e = 0; e < tap->rows * tap->cols; e++) {
            const size_t row = tap->tile_q * t->a.tile_m + e / tap->cols;
            const size_t key = tap->tile_k * t->a.tile_n + e % tap->cols;
            if (key >= KEYS || (t->a.mask == MXV_MASK_CAUSAL && key > row))
                continue;
            read_row(t, MXV_STAGE_Q_CODE, route, row, as_bf16, f, q, q_bytes);
            read_row(t, MXV_STAGE_K_CODE, route, key, as_bf16, f, k, k_bytes);
            uint32_t s = mxv_mma_dot(m, t->a.d, q, k, 0, m->block ? q_bytes : NULL,
                                     m->block ? k_bytes : NULL);
            if (sigma != SIGMA_NONE) {
                const float q_sigma = case_float(case_tap(t, MXV_STAGE_Q_SIGMA, 0)->words[row]);
                const float k_sigma = case_float(case_tap(t, MXV_STAGE_K_SIGMA, 0)->words[key]);
                s = case_word(sigma == SIGMA_PRODUCT ? case_float(s) * (q_sigma * k_sigma)
                                                     : case_float(s) * q_sigma * k_sigma);
            }
            assert_int_equal(tap->words[e], s);
            checked++;
        }
    }
    assert_true(checked > 0);
}

// The first accumulator is the product of the tapped weights and V, from zero.
static void check_first_acc(const struct plain_case *t, const char *name, bool v_as_f32)
{
    const struct mxv_mma_model *m = model(name);
    const struct mxv_tap *weight = case_tap(t, MXV_STAGE_WEIGHT, 0);
    const struct mxv_tap *acc = case_tap(t, MXV_STAGE_ACC, 0);
    const struct mxv_tap *v_code = case_tap(t, MXV_STAGE_V_CODE, 0);
    for (size_t r = 0; r < acc->rows; r++)
        for (size_t c = 0; c < acc->cols; c++) {
            uint32_t v[256] = {0};
            for (size_t n = 0; n < weight->cols && n < KEYS; n++) {
                const uint32_t code = v_code->words[n * acc->cols + c];
                v[n] = v_as_f32 ? mxv_element_to_f32(MXV_F16, code) : code;
            }
            uint32_t o =
                mxv_mma_dot(m, weight->cols, weight->words + r * weight->cols, v, 0, NULL, NULL);
            if (m->result == MXV_MMA_F16)
                o = mxv_element_to_f32(MXV_F16, o);
            assert_int_equal(acc->words[r * acc->cols + c], o);
        }
}

static void flash_models(void **state)
{
    (void)state;
    for (enum mxv_arch arch = MXV_ARCH_SM_80; arch < MXV_ARCH_COUNT; arch++) {
        struct plain_case t;
        begin(&t, MXV_KERNEL_FLASH, arch);
        case_run(&t, 0, 0);
        check_scores(&t, MXV_ROUTE_F16, f16_models[arch], MXV_F16, SIGMA_NONE);
        check_first_acc(&t, f16_models[arch], false);
        t.a.vt = MXV_BF16;
        case_run(&t, 0, 0);
        check_scores(&t, MXV_ROUTE_F16, bf16_models[arch], MXV_BF16, SIGMA_NONE);
        check_first_acc(&t, bf16_models[arch], false);
        case_free(&t);
    }
}

static void check_dma(enum mxv_arch arch, unsigned second, enum mxv_dual dual)
{
    struct plain_case t;
    const bool native = arch == MXV_ARCH_SM_100 || arch == MXV_ARCH_SM_120;
    const enum mxv_element high = second ? MXV_E5M2 : MXV_E4M3;
    begin(&t, MXV_KERNEL_DMA, arch);
    t.a.high = second ? MXV_HIGH_MXFP8_E5M2 : MXV_HIGH_MXFP8_E4M3;
    t.a.low = second ? MXV_LOW_NVFP4 : MXV_LOW_MXFP4;
    t.a.vt = arch == MXV_ARCH_SM_80 ? MXV_BF16 : MXV_E4M3;
    t.a.dual = dual;
    for (t.a.mode = MXV_MODE_HIGH; t.a.mode <= MXV_MODE_LOW; t.a.mode++) {
        const bool is_high = t.a.mode == MXV_MODE_HIGH;
        const size_t n = arch == MXV_ARCH_SM_120;
        const char *name = bf16_models[arch];
        if (native)
            name = is_high ? mxfp8_models[n][second] : fp4_models[n][second];
        case_run(&t, 0, 0);
        check_scores(&t, is_high ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW, name, is_high ? high : MXV_E2M1,
                     dual != MXV_DUAL_NONE);
        check_first_acc(&t, arch == MXV_ARCH_SM_80 ? bf16_models[0] : e4m3_models[arch], false);
    }
    case_free(&t);
}

static void dma_models(void **state)
{
    (void)state;
    for (enum mxv_arch arch = MXV_ARCH_SM_80; arch < MXV_ARCH_COUNT; arch++)
        for (unsigned second = 0; second < 2; second++) {
            check_dma(arch, second, MXV_DUAL_NONE);
            check_dma(arch, second, MXV_DUAL_TOKEN);
        }
}

static void core_sums_in_binary32(void **state)
{
    (void)state;
    for (enum mxv_arch arch = MXV_ARCH_SM_90; arch < MXV_ARCH_COUNT; arch++) {
        struct plain_case t;
        begin(&t, MXV_KERNEL_DMA, arch);
        t.a.plan = MXV_PLAN_ZONES;
        t.a.core_share = 1.0;
        case_run(&t, 0, 0);
        const struct mxv_mma_model *m = model(e4m3_models[arch]);
        const struct mxv_tap *score = case_tap(&t, MXV_STAGE_SCORE, 0);
        const uint32_t *q = operand(&t, MXV_STAGE_Q_CODE, MXV_ROUTE_CORE)->words;
        const uint32_t *k = operand(&t, MXV_STAGE_K_CODE, MXV_ROUTE_CORE)->words;
        const uint32_t *q_scale = operand(&t, MXV_STAGE_Q_SCALE, MXV_ROUTE_CORE)->words;
        const uint32_t *k_scale = operand(&t, MXV_STAGE_K_SCALE, MXV_ROUTE_CORE)->words;
        for (size_t e = 0; e < score->rows * 32; e++) {
            const size_t row = e / 32, key = e % 32;
            float acc = 0.0f;
            for (size_t g = 0; g < 3; g++) {
                const uint32_t w =
                    mxv_mma_dot(m, 32, q + row * 96 + g * 32, k + key * 96 + g * 32, 0, NULL, NULL);
                const float scale =
                    case_float(q_scale[row * 3 + g]) * case_float(k_scale[key * 3 + g]);
                acc = fmaf(case_float(w), scale, acc);
            }
            assert_int_equal(score->words[e], case_word(acc));
        }
        case_free(&t);
    }
}

static void int8_scores_round_twice(void **state)
{
    (void)state;
    static const uint64_t none[1] = {0};
    struct plain_case t;
    begin(&t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_80);
    t.a.route_words = none;
    t.a.q_gran = t.a.k_gran = MXV_GRAN_TOKEN;
    case_run(&t, 0, 0);
    const struct mxv_tap *score = case_tap(&t, MXV_STAGE_SCORE, 0);
    const struct mxv_tap *q = operand(&t, MXV_STAGE_Q_CODE, MXV_ROUTE_INT8);
    const struct mxv_tap *k = operand(&t, MXV_STAGE_K_CODE, MXV_ROUTE_INT8);
    for (size_t e = 0; e < score->rows * 32; e++) {
        const size_t row = e / 32, key = e % 32;
        int sum = 0;
        for (size_t c = 0; c < 96; c++)
            sum += (int)(int8_t)q->words[row * 96 + c] * (int)(int8_t)k->words[key * 96 + c];
        const float scale = case_float(case_tap(&t, MXV_STAGE_Q_SCALE, 0)->words[row]) *
                            case_float(case_tap(&t, MXV_STAGE_K_SCALE, 0)->words[key]);
        assert_int_equal(score->words[e], case_word((float)sum * scale));
    }
    check_first_acc(&t, "sm_80.mma.f16.f32", false);
    case_free(&t);
}

static void released_models(void **state)
{
    (void)state;
    static const struct {
        enum mxv_mask mask;
        enum mxv_mode mode;
        size_t diag;
        const char *pv;
        bool v_as_f32;
    } rows[] = {{MXV_MASK_CAUSAL, MXV_MODE_HIGH, 1, "sm_90.mma.f16.f16", false},
                {MXV_MASK_FULL, MXV_MODE_HIGH, 1, "sm_90.mma.tf32.f32", true},
                {MXV_MASK_CAUSAL, MXV_MODE_LOW, 1, "sm_90.mma.f16.f16", false},
                {MXV_MASK_CAUSAL, MXV_MODE_MIXED, 1, "sm_90.wgmma.f16.f32", false},
                {MXV_MASK_CAUSAL, MXV_MODE_MIXED, 0, "sm_90.mma.f16.f16", false}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct plain_case t;
        begin(&t, MXV_KERNEL_DMA_RELEASED, MXV_ARCH_SM_90);
        t.a.mask = rows[n].mask;
        t.a.mode = rows[n].mode;
        t.a.diag = rows[n].diag;
        case_run(&t, 0, 0);
        const bool low = rows[n].mode == MXV_MODE_LOW;
        check_scores(&t, low ? MXV_ROUTE_LOW : MXV_ROUTE_HIGH, "sm_90.wgmma.bf16.f32",
                     low ? MXV_E2M1 : MXV_E4M3, SIGMA_NONE);
        check_first_acc(&t, rows[n].pv, rows[n].v_as_f32);
        if (rows[n].mode == MXV_MODE_MIXED) {
            t.a.dual = MXV_DUAL_TOKEN;
            case_run(&t, 0, 0);
            check_scores(&t, MXV_ROUTE_HIGH, "sm_90.wgmma.bf16.f32", MXV_E4M3,
                         rows[n].diag ? SIGMA_ONE_BY_ONE : SIGMA_PRODUCT);
        }
        case_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_models),          cmocka_unit_test(dma_models),
        cmocka_unit_test(core_sums_in_binary32), cmocka_unit_test(int8_scores_round_twice),
        cmocka_unit_test(released_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
