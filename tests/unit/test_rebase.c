// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option rebase of kernel dma in both emulations: codes worked out by hand for blocks at 0 and 28
// to 33 binades below the base, NaN and zero blocks, both zeros, infinities; bases of rows and of
// ragged key tiles; scores of exactly representable operands; the truth's operands.
#include "test_both_emulations.h"
#include <math.h>

enum { BLOCKS = 8, BLOCK = 32, D = BLOCKS * BLOCK, LEVELS = 8, BYTE_OF_ONE = 127, TOP = 12 };

static void rebased_case(struct plain_case *t, size_t lq, size_t lk, size_t d)
{
    case_defaults(t, MXV_KERNEL_DMA, MXV_ARCH_SM_90, lq, lk);
    t->a.d = d;
    t->a.mode = MXV_MODE_LOW;
    t->a.rebase = true;
    case_tensors(t);
}

static const float values[LEVELS] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

// Codes of the values in a block whose scale lies `below` binades under the base. At 28 binades
// the value v is v * 2^-15 = 2 v steps of E5M2's 2^-16, exactly; at 29, v steps: 0.5 and 1.5 are
// ties, to 0 and 2; at 30, v/2: 1 is a tie (0), 3 one (2); at 31, v/4: 2 is a tie (0), 6 one (2);
// at 32, v/8: 4 is a tie (0), 6 is 0.75 (1); at 33, v/16: 6 is 0.375 (0).
static const struct {
    int below;
    uint8_t code[LEVELS];
} expected[] = {
    {0, {0x00, 0x6C, 0x70, 0x72, 0x74, 0x76, 0x78, 0x7A}},
    {28, {0x00, 0x01, 0x02, 0x03, 0x04, 0x06, 0x08, 0x0A}},
    {29, {0x00, 0x00, 0x01, 0x02, 0x02, 0x03, 0x04, 0x06}},
    {30, {0x00, 0x00, 0x00, 0x01, 0x01, 0x02, 0x02, 0x03}},
    {31, {0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x02}},
    {32, {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01}},
    {33, {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}},
};
enum { ROWS = sizeof expected / sizeof expected[0] };

// All values, then all negated (-0 among them), then zeros, with scale 2^power.
static void fill_block(float *x, int power)
{
    for (size_t i = 0; i < LEVELS; i++) {
        x[i] = ldexpf(values[i], power);
        x[LEVELS + i] = -x[i];
    }
}

static void check_block(const uint32_t *code, const uint8_t *magnitude)
{
    for (size_t i = 0; i < BLOCK; i++) {
        const uint32_t sign = i >= LEVELS && i < 2 * LEVELS ? 0x80 : 0;
        assert_int_equal(code[i], (i < 2 * LEVELS ? magnitude[i % LEVELS] : 0u) | sign);
    }
}

static const struct mxv_tap *tap_of(const struct plain_case *t, enum mxv_stage stage)
{
    const struct mxv_tap *tap = case_tap(t, stage, 0);
    assert_int_equal(tap->route, MXV_ROUTE_LOW);
    return tap;
}

// One row with a block at each distance, the last one NaN: of Q, and of K.
static void codes_at_each_distance(void **state)
{
    (void)state;
    struct plain_case t;
    rebased_case(&t, 1, 1, D);
    for (size_t b = 0; b < ROWS; b++) {
        fill_block(t.q + b * BLOCK, TOP - expected[b].below);
        fill_block(t.k + b * BLOCK, TOP - expected[b].below);
    }
    t.q[ROWS * BLOCK + 5] = t.k[ROWS * BLOCK + 5] = NAN;
    t.q[ROWS * BLOCK + 6] = t.k[ROWS * BLOCK + 6] = 1;
    for (size_t e = 0; e < 2; e++) {
        run(&t, emulations[e]);
        for (unsigned key = 0; key < 2; key++) {
            const uint32_t *scale = tap_of(&t, key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE)->words;
            const uint32_t *code = tap_of(&t, key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE)->words;
            for (size_t b = 0; b < ROWS; b++) {
                assert_int_equal(scale[b], BYTE_OF_ONE + TOP - expected[b].below);
                check_block(code + b * BLOCK, expected[b].code);
            }
            assert_int_equal(scale[ROWS], 0xFF);
            for (size_t i = 0; i < BLOCK; i++)
                assert_int_equal(code[ROWS * BLOCK + i], 0x7F);
        }
        assert_int_equal(tap_of(&t, MXV_STAGE_SCORE)->words[0], MXV_NAN_WORD);
    }
    case_free(&t);
}

// A base is that of a row of Q, of all existing rows of a key tile: keys 0 to 31 and 32 to 34.
static void bases_of_rows_and_tiles(void **state)
{
    (void)state;
    struct plain_case t;
    rebased_case(&t, 2, 35, BLOCK);
    fill_block(t.q, TOP);
    fill_block(t.q + BLOCK, TOP - 29);
    fill_block(t.k + 31 * BLOCK, TOP);
    for (size_t n = 0; n < 35; n++)
        if (n != 31)
            fill_block(t.k + n * BLOCK, TOP - 30);
    for (size_t e = 0; e < 2; e++) {
        run(&t, emulations[e]);
        const uint32_t *q = tap_of(&t, MXV_STAGE_Q_CODE)->words;
        const uint32_t *k = tap_of(&t, MXV_STAGE_K_CODE)->words;
        check_block(q, expected[0].code);
        check_block(q + BLOCK, expected[0].code);
        for (size_t n = 0; n < 35; n++)
            check_block(k + n * BLOCK, expected[n < 31 ? 3 : 0].code);
    }
    case_free(&t);
}

// Zero blocks keep their signs, a row without any scale but FF and 0 has the base 0, and the score
// of zeros is a zero; an infinity has byte FE and E2M1's 6, beside which all others vanish.
static void zeros_and_infinities(void **state)
{
    (void)state;
    struct plain_case t;
    rebased_case(&t, 2, 2, 2 * BLOCK);
    t.q[3] = -0.0f;
    t.q[2 * BLOCK] = 1;
    t.k[0] = INFINITY;
    t.k[1] = -1;
    t.k[2 * BLOCK] = 1;
    for (size_t e = 0; e < 2; e++) {
        run(&t, emulations[e]);
        const uint32_t *q = tap_of(&t, MXV_STAGE_Q_CODE)->words;
        const uint32_t *k = tap_of(&t, MXV_STAGE_K_CODE)->words;
        const struct mxv_tap *score = tap_of(&t, MXV_STAGE_SCORE);
        assert_int_equal(tap_of(&t, MXV_STAGE_Q_SCALE)->words[0], 0);
        for (size_t c = 0; c < 2 * BLOCK; c++)
            assert_int_equal(q[c], c == 3 ? 0x80 : 0);
        assert_int_equal(q[2 * BLOCK], 0x78); // 1 = 4 * 2^-2
        assert_int_equal(tap_of(&t, MXV_STAGE_K_SCALE)->words[0], 0xFE);
        assert_int_equal(k[0], 0x7A);
        assert_int_equal(k[1], 0x80);
        assert_int_equal(k[2 * BLOCK], 0);
        assert_true(case_float(score->words[0]) == 0);
        assert_true(case_float(score->words[score->cols]) == ldexpf(6, 127)); // 1 * 6 * 2^127
        assert_true(case_float(score->words[score->cols + 1]) == 0);
    }
    case_free(&t);
}

// E2M1 values in halves, each block with a 6 and a power of two: sums stay below 2^13 quarters, all
// of which the unit's 13 fraction bits hold.
static void exact_operands(float *x, size_t rows, size_t d, uint64_t *seed)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < d; c++) {
            const uint32_t dice = case_random(seed);
            const float v = c % BLOCK == 3 ? 6 : values[dice % LEVELS];
            x[r * d + c] = ldexpf(dice & 8 ? -v : v, (int)(r % 7) - 3);
        }
}

static void scores_are_exact(void **state)
{
    (void)state;
    static const size_t dims[] = {32, 64, 96};
    for (size_t n = 0; n < 3; n++) {
        struct plain_case t;
        uint64_t seed = n;
        size_t checked = 0;
        rebased_case(&t, 18, 35, dims[n]);
        exact_operands(t.q, 18, dims[n], &seed);
        exact_operands(t.k, 35, dims[n], &seed);
        for (size_t e = 0; e < 2; e++) {
            run(&t, emulations[e]);
            for (size_t i = 0; i < t.taps; i++) {
                const struct mxv_tap *tap = &t.tap[i];
                for (size_t w = 0; tap->stage == MXV_STAGE_SCORE && w < tap->rows * tap->cols;
                     w++) {
                    const size_t row = tap->tile_q * t.a.tile_m + w / tap->cols;
                    const size_t key = tap->tile_k * t.a.tile_n + w % tap->cols;
                    double sum = 0;
                    for (size_t c = 0; key < 35 && c < dims[n]; c++)
                        sum += (double)t.q[row * dims[n] + c] * (double)t.k[key * dims[n] + c];
                    if (key < 35) {
                        assert_true((double)case_float(tap->words[w]) == sum);
                        checked++;
                    }
                }
            }
        }
        assert_int_equal(checked, 2 * 18 * 35);
        case_free(&t);
    }
}

// The truth multiplies what the unit multiplies: lost values are lost there too.
static void operands_of_the_truth(void **state)
{
    (void)state;
    struct plain_case t;
    double q[2 * BLOCK], k[2 * BLOCK];
    char message[200] = "";
    rebased_case(&t, 1, 1, 2 * BLOCK);
    fill_block(t.q, TOP);
    fill_block(t.q + BLOCK, TOP - 29);
    fill_block(t.k, TOP);
    fill_block(t.k + BLOCK, TOP - 31);
    assert_int_equal(mxv_engine_operands(&t.a, 0, 0, MXV_ROUTE_LOW, q, k, NULL, NULL, NULL, message,
                                         sizeof message),
                     0);
    static const double in_q[LEVELS] = {0, 0, 1, 2, 2, 3, 4, 6}; // steps of 2^-17
    static const double in_k[LEVELS] = {0, 0, 0, 0, 0, 4, 4, 8}; // steps of 2^-19
    for (size_t i = 0; i < LEVELS; i++) {
        assert_true(q[i] == (double)t.q[i] && k[i] == (double)t.k[i]);
        assert_true(q[BLOCK + i] == ldexp(in_q[i], TOP - 29));
        assert_true(k[BLOCK + i] == ldexp(in_k[i], TOP - 31));
        assert_true(q[BLOCK + LEVELS + i] == -q[BLOCK + i]);
    }
    case_free(&t);
}

// What has no rebased low route is refused with a reason.
static void refusals(void **state)
{
    (void)state;
    static const struct {
        enum mxv_kernel kernel;
        enum mxv_arch arch;
        enum mxv_mode mode;
        enum mxv_low_format low;
        const char *said;
    } rows[] = {
        {MXV_KERNEL_DMA, MXV_ARCH_SM_100, MXV_MODE_LOW, MXV_LOW_MXFP4, "arch=sm_90"},
        {MXV_KERNEL_DMA, MXV_ARCH_SM_90, MXV_MODE_HIGH, MXV_LOW_MXFP4, "mode=high"},
        {MXV_KERNEL_DMA, MXV_ARCH_SM_90, MXV_MODE_MIXED, MXV_LOW_NVFP4, "low=mxfp4"},
        {MXV_KERNEL_FLASH, MXV_ARCH_SM_90, MXV_MODE_MIXED, MXV_LOW_MXFP4, "kernel dma"},
        {MXV_KERNEL_TILEMIX, MXV_ARCH_SM_90, MXV_MODE_MIXED, MXV_LOW_MXFP4, "kernel dma"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plain_case t;
        char message[200] = "";
        case_defaults(&t, rows[i].kernel, rows[i].arch, 4, 4);
        case_tensors(&t);
        t.a.mode = rows[i].mode;
        t.a.low = rows[i].low;
        assert_int_equal(mxv_attention_check(&t.a, message, sizeof message), 0);
        t.a.rebase = true;
        assert_int_equal(mxv_attention_check(&t.a, message, sizeof message), -1);
        if (!strstr(message, rows[i].said))
            fail_msg("`%s` does not say %s", message, rows[i].said);
        case_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_at_each_distance), cmocka_unit_test(bases_of_rows_and_tiles),
        cmocka_unit_test(zeros_and_infinities),   cmocka_unit_test(scores_are_exact),
        cmocka_unit_test(operands_of_the_truth),  cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
