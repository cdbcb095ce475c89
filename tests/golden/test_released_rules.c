// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Power of the recorded quantiser outputs (released_record.h): a transcription of
// docs/kernels/dma-released.md section 2 whose rules can be exchanged one at a time. As the page
// has them 0 bytes differ; with any one exchanged, for the rule of the OCP MX specification v1.0 or
// for a plausible other reading of the program, the record must tell, at the stages where that rule
// acts and nowhere else. Together with test_released_quantisers.c this shows that defects D1, D2
// and D10, the division, the contraction, the floor of the logarithm and the treatment of NaN are
// those of the program.
#include "released_record.h"

#include <math.h>
#include <mxverify/scale.h>
#include <mxverify/special.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum floor_rule { FLOOR_LIBM, FLOOR_EXPONENT, FLOOR_APPROX };

struct rules {
    const char *what;
    enum floor_rule floor; // of log2
    bool two_roundings;    // division and addition of the second level rounded each
    bool ieee_sigma;       // x / sigma by IEEE division
    bool ieee_six;         // amax / 6 by IEEE division
    bool e4m3_emax;        // e = 8 for e4m3
    bool e2m1_emax;        // e = 2 for MXFP4 (D2 off)
    bool nearest_e2m1;     // nearest even (D1 off)
    bool stored_divisor;   // NVFP4 divides by the stored scale (D10 off)
    bool nan_is_zero;      // clamp gives 0 for NaN
    unsigned stages;       // bit set of the stages that must differ
    size_t wrong;          // bytes that must differ, 0 for any number but none
};

#define SCALES (1u << MXV_STAGE_Q_SCALE | 1u << MXV_STAGE_K_SCALE)
#define CODES  (1u << MXV_STAGE_Q_CODE | 1u << MXV_STAGE_K_CODE)

static const struct rules variations[] = {
    {.what = "the rules of the page"},
    {.what = "floor from the exponent field", .floor = FLOOR_EXPONENT, .wrong = 20460},
    {.what = "floor of lg2.approx", .floor = FLOOR_APPROX, .wrong = 20460},
    {.what = "second level with two roundings", .two_roundings = true, .wrong = 422},
    {.what = "x / sigma by IEEE division", .ieee_sigma = true},
    {.what = "amax / 6 by IEEE division", .ieee_six = true},
    {.what = "OCP exponent 8 for e4m3", .e4m3_emax = true, .stages = SCALES | CODES},
    {.what = "D2 off: OCP exponent 2 for MXFP4", .e2m1_emax = true, .stages = SCALES | CODES},
    {.what = "D1 off: E2M1 to nearest even", .nearest_e2m1 = true, .stages = CODES},
    {.what = "D10 off: NVFP4 by the stored scale", .stored_divisor = true, .stages = CODES},
    {.what = "clamp gives 0 for NaN", .nan_is_zero = true, .stages = CODES},
};

static float divide(float x, float y, bool ieee)
{
    return ieee ? x / y : released_float(mxv_div_full(released_word(x), released_word(y), false));
}

static float amax_of(const float *x, size_t n)
{
    float m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmaxf(m, fabsf(x[i]));
    return m;
}

static float encode_and_back(enum mxv_element e, float x, uint32_t *code)
{
    *code = (uint32_t)mxv_element_from_f32(e, released_word(x), NULL);
    return released_float(mxv_element_to_f32(e, *code));
}

static float floor_log2(const struct rules *r, float a)
{
    if (a == 0 || isinf(a))
        return a == 0 ? -INFINITY : a;
    if (r->floor == FLOOR_LIBM)
        return (float)mxv_f32_log2_floor_libm(released_word(a));
    if (r->floor == FLOOR_APPROX)
        return floorf(released_float(mxv_lg2(released_word(a), false)));
    return (float)ilogbf(a);
}

static float clamp(const struct rules *r, float y, float limit)
{
    if (isnan(y))
        return r->nan_is_zero ? 0 : limit;
    return fminf(fmaxf(y, -limit), limit);
}

// Coded magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6: the last whose threshold lies below |y|.
static uint32_t e2m1_code(const struct rules *r, float y)
{
    static const float above[] = {0.125f, 0, 1.25f, 0, 2.5f, 0, 5};
    static const float from[] = {0, 0, 1, 0, 2, 0, 4};
    uint32_t code = 0, nearest, sign = !(y >= 0);
    if (r->nearest_e2m1) {
        encode_and_back(MXV_E2M1, fabsf(y), &nearest);
        return sign * 8 + nearest;
    }
    for (uint32_t i = 0; i < 8; i += 2)
        if (fabsf(y) >= from[i])
            code = i + (fabsf(y) > above[i]);
    return sign * 8 + code;
}

static uint32_t code_of(const struct rules *r, enum mxv_element e, float y)
{
    uint32_t code;
    if (e == MXV_E2M1)
        return e2m1_code(r, y);
    encode_and_back(e, y, &code);
    return code;
}

static void mx_block(const struct rules *r, enum mxv_element e, const float *x, uint32_t *scale,
                     uint32_t *code)
{
    float exponent = e == MXV_E4M3   ? (r->e4m3_emax ? 8 : 7)
                     : e == MXV_E5M2 ? 15
                                     : (r->e2m1_emax ? 2 : 3);
    float limit = e == MXV_E4M3 ? 448 : e == MXV_E5M2 ? 57344 : 6;
    float s = exp2f(floor_log2(r, amax_of(x, 32)) - exponent); // a power of two: exact
    *scale = (uint32_t)fminf(fmaxf(floor_log2(r, s) + 127, 0), 254);
    for (size_t i = 0; i < 32; i++)
        code[i] = code_of(r, e, clamp(r, divide(x[i], s, false), limit));
}

static void nvfp4_block(const struct rules *r, const float *x, uint32_t *scale, uint32_t *code)
{
    float s = divide(amax_of(x, 16), 6, r->ieee_six);
    float stored = encode_and_back(MXV_E4M3, s, scale);
    for (size_t i = 0; i < 16; i++)
        code[i] = e2m1_code(r, clamp(r, divide(x[i], r->stored_divisor ? stored : s, false), 6));
}

// Second level of `rows` rows, in place; c2 is a power of two or 6.
static void second_level(const struct rules *r, float c2, size_t rows, float *x, uint32_t *sigma)
{
    const float epsilon = 1e-7f;
    size_t n = rows * RELEASED_D;
    float a = amax_of(x, n);
    float s = r->two_roundings ? divide(a, c2, false) + epsilon
                               : released_float(mxv_div_full_add(
                                     released_word(a), released_word(c2), released_word(epsilon)));
    for (size_t i = 0; i < n; i++)
        x[i] = divide(x[i], s, r->ieee_sigma);
    for (size_t i = 0; i < rows; i++)
        sigma[i] = released_word(s);
}

static void give(struct released_comparison *c, enum mxv_stage stage, enum mxv_route route,
                 size_t head, size_t cols, const uint32_t *words)
{
    const struct mxv_tap tap = {stage, route, 0, head, 0, 0, RELEASED_ROWS, cols, words};
    released_take(c, &tap);
}

static void route_copy(const struct rules *r, struct released_comparison *c, bool key,
                       enum mxv_route route, size_t head, const float *x)
{
    static uint32_t scale[RELEASED_ROWS * RELEASED_D / 16], code[RELEASED_ROWS * RELEASED_D];
    const struct mxv_attention *a = &c->run->call;
    bool high = route == MXV_ROUTE_HIGH, nvfp4 = !high && a->low == MXV_LOW_NVFP4;
    size_t block = nvfp4 ? 16 : 32;
    enum mxv_element e = !high ? MXV_E2M1 : a->high == MXV_HIGH_MXFP8_E5M2 ? MXV_E5M2 : MXV_E4M3;
    for (size_t i = 0; i < RELEASED_ROWS * RELEASED_D / block; i++)
        if (nvfp4)
            nvfp4_block(r, x + i * block, &scale[i], code + i * block);
        else
            mx_block(r, e, x + i * block, &scale[i], code + i * block);
    give(c, key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, route, head, RELEASED_D / block, scale);
    give(c, key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, route, head, RELEASED_D, code);
}

static void one_side(const struct rules *r, struct released_comparison *c, bool key, size_t head,
                     const float *input)
{
    static float x[RELEASED_ROWS * RELEASED_D];
    uint32_t sigma[RELEASED_ROWS];
    const struct mxv_attention *a = &c->run->call;
    bool mxfp4 = a->mode == MXV_MODE_LOW && a->low == MXV_LOW_MXFP4;
    float c2 = a->mode == MXV_MODE_MIXED ? 128 : mxfp4 ? 6 : 8;
    size_t rows = a->dual == MXV_DUAL_BLOCK ? RELEASED_TILE : 1;
    for (size_t i = 0; i < RELEASED_ROWS * RELEASED_D; i++)
        x[i] = input[head * RELEASED_ROWS * RELEASED_D + i] * (key ? 1 : 0x1.0527dcp-3f);
    for (size_t i = 0; a->dual != MXV_DUAL_NONE && i < RELEASED_ROWS; i += rows)
        second_level(r, c2, rows, x + i * RELEASED_D, sigma + i);
    if (a->dual != MXV_DUAL_NONE)
        give(c, key ? MXV_STAGE_K_SIGMA : MXV_STAGE_Q_SIGMA, MXV_ROUTE_F16, head, 1, sigma);
    if (a->mode != MXV_MODE_LOW)
        route_copy(r, c, key, MXV_ROUTE_HIGH, head, x);
    if (a->mode != MXV_MODE_HIGH)
        route_copy(r, c, key, MXV_ROUTE_LOW, head, x);
}

static int check(const struct rules *r, const struct released_run *runs, const float *q,
                 const float *k)
{
    struct released_count count = {{0}, {0}};
    unsigned stages = 0;
    for (size_t n = 0; n < RELEASED_RUNS; n++)
        for (size_t head = 0; head < RELEASED_HEADS; head++) {
            struct released_comparison c = {&runs[n], &count, r != variations};
            one_side(r, &c, false, head, q);
            one_side(r, &c, true, head, k);
        }
    size_t compared = released_total(count.compared), wrong = released_total(count.wrong);
    printf("%s: %zu of %zu bytes differ (", r->what, wrong, compared);
    for (size_t i = 0; i < MXV_STAGE_COUNT; i++) {
        stages |= count.wrong[i] ? 1u << i : 0;
        if (count.wrong[i])
            printf(" %s %zu", mxv_choice_name(MXV_CHOICE_STAGE, (unsigned)i), count.wrong[i]);
    }
    printf(" )\n");
    bool right = r == variations ? wrong == 0 : wrong > 0 && (!r->wrong || wrong == r->wrong);
    return !right || (r->stages && r->stages != stages) || compared != RELEASED_BYTES;
}

static void every_variation(void **state)
{
    (void)state;
    struct npz z = npz_open(RELEASED_FILE);
    float *q = released_input(&z, "q"), *k = released_input(&z, "k");
    struct released_run *runs = released_runs(&z);
    int failed = 0;
    for (size_t i = 0; i < sizeof variations / sizeof *variations; i++)
        if (check(&variations[i], runs, q, k)) {
            printf("  not as expected\n");
            failed = 1;
        }
    released_runs_free(runs);
    free(q);
    free(k);
    npz_close(&z);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_variation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
