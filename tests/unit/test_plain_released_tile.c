// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of kernel dma-released in the plain emulation: each defect by a case in which the
// corrected kernel would answer otherwise, and the order of sums, products and quotients.
#include "../../ref/plain/plain.h"
#include "test_plain_case.h"

#include <math.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>

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

static float tap_float(const struct plain_case *t, enum mxv_stage stage, size_t number, size_t e)
{
    return case_float(case_tap(t, stage, number)->words[e]);
}

static float unit_ex2(float x)
{
    return case_float(mxv_ex2(case_word(x), true));
}

// Sum of the weights of one row of a score tile with maximum m: four partial sums, crosswise.
static float crosswise_sum(const struct mxv_tap *score, size_t row, float m)
{
    float part[4] = {0.0f};
    for (size_t n = 0; n < 128; n++)
        part[n % 8 / 2] += unit_ex2(case_float(score->words[row * 128 + n]) - m);
    return (part[0] + part[2]) + (part[1] + part[3]);
}

// Uniform MXFP8 over three tiles: l, O and the output of the last tile's rows, from the taps.
static void sums_products_and_quotients(void **state)
{
    (void)state;
    const struct mxv_mma_model *f16 = mxv_mma_find("sm_90.mma.f16.f16");
    struct plain_case t;
    uint64_t seed = 31;
    begin(&t, 270, MXV_MASK_CAUSAL);
    t.a.mode = MXV_MODE_HIGH;
    for (size_t e = 0; e < 270 * 128; e++) {
        t.q[e] = (float)case_random(&seed) / 4194304.0f - 2.0f;
        t.k[e] = (float)case_random(&seed) / 4194304.0f - 2.0f;
        t.v[e] = (float)case_random(&seed) / 4194304.0f - 2.0f;
    }
    case_run(&t, 0, 0); // query tile 2 has taps 3, 4, 5 of each stage and 14 rows
    const uint32_t *v_code = case_tap(&t, MXV_STAGE_V_CODE, 0)->words;
    for (size_t r = 0; r < 14; r++) {
        const float m3 = tap_float(&t, MXV_STAGE_MAX, 3, r),
                    m4 = tap_float(&t, MXV_STAGE_MAX, 4, r);
        const float alpha = unit_ex2(m3 - m4);
        const float l3 = crosswise_sum(case_tap(&t, MXV_STAGE_SCORE, 3), r, m3);
        const float l4 = crosswise_sum(case_tap(&t, MXV_STAGE_SCORE, 4), r, m4);
        assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 3)->words[r], case_word(l3));
        assert_int_equal(case_tap(&t, MXV_STAGE_SUM, 4)->words[r], case_word(fmaf(l3, alpha, l4)));
        const uint32_t l = case_tap(&t, MXV_STAGE_SUM, 5)->words[r];
        for (size_t c = 0; c < 128; c++) {
            uint32_t v[128];
            for (size_t n = 0; n < 128; n++)
                v[n] = v_code[(128 + n) * 128 + c];
            const uint32_t dot = mxv_mma_dot(
                f16, 128, case_tap(&t, MXV_STAGE_WEIGHT, 4)->words + r * 128, v, 0, NULL, NULL);
            const float o = fmaf(tap_float(&t, MXV_STAGE_ACC, 3, r * 128 + c), alpha,
                                 case_float(mxv_element_to_f32(MXV_F16, dot)));
            assert_int_equal(case_tap(&t, MXV_STAGE_ACC, 4)->words[r * 128 + c], case_word(o));
            assert_int_equal(
                t.out[(256 + r) * 128 + c],
                mxv_div_full(case_tap(&t, MXV_STAGE_ACC, 5)->words[r * 128 + c], l, false));
        }
    }
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sink_tiles_see_the_future),
        cmocka_unit_test(routes_of_the_mixed_kernel),
        cmocka_unit_test(sigma_of_the_wrong_row),
        cmocka_unit_test(uniform_drops_second_level_scales),
        cmocka_unit_test(full_mask_takes_the_natural_exponential),
        cmocka_unit_test(masked_specials_stay),
        cmocka_unit_test(sums_products_and_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
