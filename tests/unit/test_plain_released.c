// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernel dma-released in the plain emulation: its FLOOR2 against the closed form that
// docs/kernels/dma-released.md gives beside the definition, its E2M1 rule at every threshold, its
// special blocks, and each defect by a case in which the corrected kernel would answer otherwise.
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

// V row n holds n in channel 0 and 1 in channel 1.
static void begin(struct plain_case *t, size_t length, enum mxv_mask mask)
{
    case_defaults(t, MXV_KERNEL_DMA_RELEASED, MXV_ARCH_SM_90, length, length);
    t->a.mask = mask;
    case_tensors(t);
    for (size_t n = 0; n < length; n++) {
        t->v[n * 128] = (float)n;
        t->v[n * 128 + 1] = 1.0f;
    }
}

// Zero operands come out as the largest codes with the smallest scales: all scores are equal all
// the same. D3: with a sink, row 0 sees all 128 keys of tile 0; without, only itself.
static void sink_tiles_see_the_future(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, 140, MXV_MASK_CAUSAL);
    case_run(&t, 0, 0);
    assert_float_equal(case_out(&t, 0, 0), 63.5f, 0.01f);
    assert_float_equal(case_out(&t, 127, 0), 63.5f, 0.01f);
    assert_float_equal(case_out(&t, 139, 0), 69.5f, 0.01f);
    t.a.sink = 0;
    case_run(&t, 0, 0);
    assert_float_equal(case_out(&t, 0, 0), 0.0f, 0.0f);
    assert_float_equal(case_out(&t, 1, 0), 0.5f, 0.01f);
    assert_float_equal(case_out(&t, 139, 0), 69.5f, 0.01f);
    t.a.sink = 5; // more sinks than tiles: every row sees every key
    case_run(&t, 0, 0);
    assert_float_equal(case_out(&t, 0, 0), 69.5f, 0.01f);
    case_free(&t);
}

static void routes_of_the_mixed_kernel(void **state)
{
    (void)state;
    static const struct {
        size_t diag, sink;
        const char *routes; // tiles (0,0), (1,0), (1,1), (2,0), (2,1), (2,2) unless sinks add more
    } rows[] = {{1, 0, "h|lh|llh"},  {1, 1, "h|hh|hlh"}, {2, 0, "h|hh|lhh"}, {2, 1, "h|hh|hhh"},
                {1, 2, "hh|hh|hhh"}, {0, 1, "h|hh|hlh"}, {0, 0, "l|ll|lll"}};
    struct plain_case t;
    begin(&t, 300, MXV_MASK_CAUSAL);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        char seen[20];
        size_t length = 0, tile_q = 0;
        t.a.diag = rows[n].diag;
        t.a.sink = rows[n].sink;
        case_run(&t, 0, 0);
        for (size_t e = 0; e < t.taps; e++) {
            if (t.tap[e].stage != MXV_STAGE_SCORE)
                continue;
            if (t.tap[e].tile_q != tile_q)
                seen[length++] = '|';
            tile_q = t.tap[e].tile_q;
            seen[length++] = t.tap[e].route == MXV_ROUTE_HIGH ? 'h' : 'l';
        }
        seen[length] = 0;
        assert_string_equal(seen, rows[n].routes);
    }
    case_free(&t);
}

// D4: row t of query tile 1 is rescaled with the scale of row 1 + t. Rows of tile 1 alternate
// between 1 and 16; of tile 0 all are 1.
static void sigma_of_the_wrong_row(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, 140, MXV_MASK_CAUSAL);
    t.a.dual = MXV_DUAL_TOKEN;
    for (size_t n = 0; n < 140; n++)
        for (size_t c = 0; c < 128; c++) {
            t.q[n * 128 + c] = n >= 128 && n % 2 ? 16.0f : 1.0f;
            t.k[n * 128 + c] = 1.0f;
        }
    for (size_t width = 0; width < 2; width++) { // D = 0 is a kernel of its own
        t.a.diag = width;
        case_run(&t, 0, 0);
        const float log2_scores = 128.0f * case_float(0x3E0293EEu); // of a row of ones
        const struct mxv_tap *first = case_tap(&t, MXV_STAGE_SCORE, 0);
        const struct mxv_tap *last = case_tap(&t, MXV_STAGE_SCORE, 2);
        assert_int_equal(last->tile_q, 1);
        assert_float_equal(case_float(first->words[0]), log2_scores, 0.2f);
        assert_float_equal(case_float(last->words[5 * 128]), log2_scores, 0.2f); // not 16 times
        t.a.dual = MXV_DUAL_BLOCK; // the scale of the tile itself
        case_run(&t, 0, 0);
        last = case_tap(&t, MXV_STAGE_SCORE, 2);
        assert_float_equal(case_float(last->words[5 * 128]), 16.0f * log2_scores, 3.0f);
        assert_float_equal(case_float(last->words[4 * 128]), log2_scores, 0.2f);
        t.a.dual = MXV_DUAL_TOKEN;
    }
    case_free(&t);
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
    begin(&t, 2, MXV_MASK_CAUSAL);
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

// D7: the uniform kernel never multiplies the second-level scales back: 16 times K changes nothing.
static void uniform_drops_second_level_scales(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, 2, MXV_MASK_CAUSAL);
    t.a.mode = MXV_MODE_HIGH;
    t.a.dual = MXV_DUAL_TOKEN;
    for (size_t e = 0; e < 2 * 128; e++)
        t.q[e] = t.k[e] = 1.0f;
    case_run(&t, 0, 0);
    const float once = case_float(case_tap(&t, MXV_STAGE_SCORE, 0)->words[0]);
    for (size_t e = 0; e < 2 * 128; e++)
        t.k[e] = 16.0f;
    case_run(&t, 0, 0);
    assert_float_equal(case_float(case_tap(&t, MXV_STAGE_SCORE, 0)->words[0]), once, 0.01f * once);
    case_free(&t);
}

// D5: scores hold log2 e already; without the causal mask the exponential is natural. Two keys
// whose scores differ by 2^k * 0x3E0293EE times an exact product.
static void full_mask_takes_the_natural_exponential(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, 2, MXV_MASK_FULL);
    t.a.mode = MXV_MODE_HIGH;
    t.q[0] = t.q[128] = 1.0f;
    t.k[0] = 1.0f;
    t.k[128] = 8.0f;
    case_run(&t, 0, 0);
    const struct mxv_tap *score = case_tap(&t, MXV_STAGE_SCORE, 0);
    const struct mxv_tap *weight = case_tap(&t, MXV_STAGE_WEIGHT, 0);
    const float difference = case_float(score->words[1]) - case_float(score->words[0]);
    assert_true(difference > 0.5f);
    assert_int_equal(weight->words[1], case_word(1.0f)); // binary32 words
    assert_float_equal(case_float(weight->words[0]), expf(-difference), 1e-5f);
    assert_float_equal(case_out(&t, 0, 0), 1.0f / (1.0f + expf(-difference)), 1e-3f);
    t.a.mask = MXV_MASK_CAUSAL;
    case_run(&t, 0, 0);
    weight = case_tap(&t, MXV_STAGE_WEIGHT, 0);
    assert_int_equal(weight->words[128], plain_round(MXV_F16, exp2f(-difference)));
    case_free(&t);
}

// Masking adds -1e6, so that an infinity or a NaN of a future key stays. Both infinities of key 2
// become +M with the largest scale, +infinity in bf16; row 1 meets the first with -1.
static void masked_specials_stay(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, 3, MXV_MASK_CAUSAL);
    t.a.mode = MXV_MODE_HIGH;
    t.q[0] = 1.0f;
    t.q[128] = -1.0f;
    t.k[2 * 128] = INFINITY;
    t.k[2 * 128 + 40] = -INFINITY;
    case_run(&t, 0, 0);
    const struct mxv_tap *score = case_tap(&t, MXV_STAGE_SCORE, 0);
    assert_true(case_float(score->words[1]) < -9.9e5f);
    assert_int_equal(score->words[2], 0x7F800000u);
    assert_int_equal(score->words[3], case_word(-INFINITY)); // padding
    assert_int_equal(score->words[128 + 2], MXV_NAN_WORD);
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor2_below_powers_of_two),
        cmocka_unit_test(e2m1_rule_of_the_program),
        cmocka_unit_test(zero_and_infinite_blocks),
        cmocka_unit_test(mxfp8_scales),
        cmocka_unit_test(second_level_scales),
        cmocka_unit_test(nvfp4_divides_by_the_unrounded_scale),
        cmocka_unit_test(sink_tiles_see_the_future),
        cmocka_unit_test(routes_of_the_mixed_kernel),
        cmocka_unit_test(sigma_of_the_wrong_row),
        cmocka_unit_test(uniform_drops_second_level_scales),
        cmocka_unit_test(full_mask_takes_the_natural_exponential),
        cmocka_unit_test(masked_specials_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
