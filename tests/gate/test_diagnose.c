// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Diagnosis on trial: damage of a known kind done to a sheet of scores or outputs must be read as
// that kind and placed where it is; faults of the engine must be read as their descriptions say.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "cases.h"
#include <math.h>
#include <mxverify/diagnose.h>
#include <mxverify/verify.h>

enum { ROWS = 100, KEYS = 200, D = 64, HEADS = 2 };

// Scores that differ everywhere, two heads, tiles of 32 x 64, causal or not.
struct scene {
    struct mxv_case_data data;
    struct mxv_diagnose_head heads[HEADS];
    float expected[HEADS][ROWS * KEYS], got[HEADS][ROWS * KEYS];
    uint8_t routes[HEADS][16 * 16];
    uint32_t out[HEADS][ROWS * D], got_out[HEADS][ROWS * D];
};

static float noise(size_t i)
{
    uint64_t x = (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return (float)((double)(x >> 40) * 0x1p-22 - 2.0 + 0x1p-25);
}

static void scene_open(struct scene *s, const char *mask)
{
    char line[200];
    snprintf(line, sizeof line, "flash hq=2 hk=2 lq=%d lk=%d d=%d tile=32x64 out=f32 mask=%s", ROWS,
             KEYS, D, mask);
    build(line, &s->data);
    for (size_t h = 0; h < HEADS; h++) {
        for (size_t i = 0; i < ROWS * KEYS; i++) {
            size_t first, end;
            mxv_attention_visible(&s->data.a, ROWS, KEYS, i / KEYS, &first, &end);
            bool seen = i % KEYS >= first && i % KEYS < end;
            s->expected[h][i] = seen ? noise(h * ROWS * KEYS + i) : -INFINITY;
        }
        for (size_t i = 0; i < ROWS * D; i++)
            s->out[h][i] = word_of(noise(1000000 + h * ROWS * D + i));
        for (size_t i = 0; i < 4 * 4; i++)
            s->routes[h][i] = (uint8_t)mxv_attention_route(&s->data.a, 0, h, i / 4, i % 4);
        memcpy(s->got[h], s->expected[h], sizeof s->got[h]);
        memcpy(s->got_out[h], s->out[h], sizeof s->out[h]);
        s->heads[h] = (struct mxv_diagnose_head){.head = h,
                                                 .lq = ROWS,
                                                 .lk = KEYS,
                                                 .expected_scores = s->expected[h],
                                                 .got_scores = s->got[h],
                                                 .routes = s->routes[h],
                                                 .expected_out = s->out[h],
                                                 .got_out = s->got_out[h]};
    }
}

static void scene_expect(struct scene *s, enum mxv_diagnosis_sheet sheet, enum mxv_hypothesis where,
                         enum mxv_hypothesis what)
{
    struct mxv_diagnosis d;
    assert_int_equal(mxv_diagnose(&s->data.a, s->heads, HEADS, &d), 0);
    if (d.sheet != sheet || d.where != where || d.what != what)
        fail_msg("expected %s and %s: %s (%s, %s)", mxv_hypothesis_name(where),
                 mxv_hypothesis_name(what), d.sentence, mxv_hypothesis_name(d.where),
                 mxv_hypothesis_name(d.what));
    assert_true(d.damaged > 0 && d.damaged <= d.compared && strlen(d.sentence) > 20);
    mxv_case_free(&s->data);
    free(s);
}

static struct scene *scene_new(const char *mask)
{
    struct scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    scene_open(s, mask);
    return s;
}

#define EACH(s, h, r, k)                                                                           \
    for (size_t h = 0; h < HEADS; h++)                                                             \
        for (size_t r = 0; r < ROWS; r++)                                                          \
            for (size_t k = 0; k < KEYS; k++)

static void test_stale_tile_from_tile_one_on(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (k >= 64)
        s->got[h][r * KEYS + k] = s->expected[h][r * KEYS + k - 64];
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_KEY_TILES_FROM, MXV_HYPOTHESIS_STALE_TILE);
}

static void test_periodic_columns_with_a_gain(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (k % 16 >= 8)
        s->got[h][r * KEYS + k] *= 2;
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_COLUMNS_PERIODIC, MXV_HYPOTHESIS_GAIN_ALL);
}

static void test_periodic_rows_with_wrong_sign(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (r % 32 == 5)
        s->got[h][r * KEYS + k] *= -1;
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_ROWS_PERIODIC, MXV_HYPOTHESIS_SIGN_FLIP);
}

static void test_one_head_with_gains_by_row(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (h == 1)
        s->got[h][r * KEYS + k] *= 1.5f + (float)r / 64;
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_ONE_HEAD, MXV_HYPOTHESIS_GAIN_ROW);
}

static void test_gains_by_key(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    s->got[h][r * KEYS + k] *= 1.5f + (float)k / 64;
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_EVERYWHERE, MXV_HYPOTHESIS_GAIN_COLUMN);
}

static void test_gains_by_tile(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    s->got[h][r * KEYS + k] *= 1.5f + (float)(r / 32 * 4 + k / 64) / 8;
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_EVERYWHERE, MXV_HYPOTHESIS_GAIN_TILE);
}

static void test_gains_by_row_times_key(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    s->got[h][r * KEYS + k] *= (1.5f + (float)r / 64) * (1.5f + (float)(k % 13) / 4);
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_EVERYWHERE, MXV_HYPOTHESIS_GAIN_PRODUCT);
}

static void test_future_leak(void **state)
{
    (void)state;
    struct scene *s = scene_new("causal");
    EACH(s, h, r, k)
    if (k == r + KEYS - ROWS + 1)
        s->got[h][r * KEYS + k] = noise(77 + r);
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_MASKED_POSITIONS, MXV_HYPOTHESIS_FUTURE_LEAK);
}

static void test_hidden_diagonal_tiles(void **state)
{
    (void)state;
    struct scene *s = scene_new("causal");
    EACH(s, h, r, k)
    if (r % 4 < 2 && k > r + KEYS - ROWS - 6 && k <= r + KEYS - ROWS)
        s->got[h][r * KEYS + k] = -INFINITY;
    struct mxv_diagnosis d;
    assert_int_equal(mxv_diagnose(&s->data.a, s->heads, HEADS, &d), 0);
    assert_int_equal(d.what, MXV_HYPOTHESIS_KEYS_HIDDEN);
    mxv_case_free(&s->data);
    free(s);
}

static void test_ragged_edge_of_zeros(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (k >= 192)
        s->got[h][r * KEYS + k] = 0;
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_RAGGED_KEYS, MXV_HYPOTHESIS_ZEROS);
}

static void test_permuted_columns(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (k < 192)
        s->got[h][r * KEYS + k] = s->expected[h][r * KEYS + (k / 64 * 64 + (k * 5 + 3) % 64)];
    struct mxv_diagnosis d;
    assert_int_equal(mxv_diagnose(&s->data.a, s->heads, HEADS, &d), 0);
    assert_int_equal(d.what, MXV_HYPOTHESIS_PERMUTED);
    mxv_case_free(&s->data);
    free(s);
}

static void test_transposed_blocks(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (r < 96)
        s->got[h][r * KEYS + k] =
            k < 192 ? s->expected[h][(r / 32 * 32 + k % 32) * KEYS + k / 32 * 32 + r % 32]
                    : s->got[h][r * KEYS + k];
    struct mxv_diagnosis d;
    assert_int_equal(mxv_diagnose(&s->data.a, s->heads, HEADS, &d), 0);
    assert_int_equal(d.what, MXV_HYPOTHESIS_TRANSPOSED);
    mxv_case_free(&s->data);
    free(s);
}

static void test_neighbours_of_the_last_query_tile(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if (r >= 96)
        s->got[h][r * KEYS + k] = s->expected[h][(r - 1) * KEYS + k];
    scene_expect(s, MXV_SHEET_SCORES, MXV_HYPOTHESIS_RAGGED_QUERIES, MXV_HYPOTHESIS_NEIGHBOUR);
}

static void test_small_differences(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    EACH(s, h, r, k)
    if ((r * 7 + k * 3) % 5 == 0)
        s->got[h][r * KEYS + k] = nextafterf(s->got[h][r * KEYS + k], 9);
    struct mxv_diagnosis d;
    assert_int_equal(mxv_diagnose(&s->data.a, s->heads, HEADS, &d), 0);
    assert_int_equal(d.what, MXV_HYPOTHESIS_SMALL);
    mxv_case_free(&s->data);
    free(s);
}

static void test_output_gain_of_later_query_tiles(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 32 * D; i < ROWS * D; i++)
            s->got_out[h][i] = word_of(float_of(s->out[h][i]) * 0.5f);
    scene_expect(s, MXV_SHEET_OUTPUT, MXV_HYPOTHESIS_QUERY_TILES_FROM, MXV_HYPOTHESIS_GAIN_ALL);
}

static void test_not_numbers_of_random_damage(void **state)
{
    (void)state;
    struct scene *s = scene_new("full");
    for (size_t i = 0; i < ROWS * D; i += 3)
        s->got_out[0][i] = MXV_NAN_WORD;
    scene_expect(s, MXV_SHEET_OUTPUT, MXV_HYPOTHESIS_ONE_HEAD, MXV_HYPOTHESIS_NOT_NUMBERS);
}

static const struct {
    const char *line, *words; // what the sentence must hold
} faults[] = {
    {"dma lq=160 lk=160 d=64 D=1 s=1 seed=4 fault=D3", "later keys"},
    {"flash lq=40 lk=200 d=64 seed=35 fault=stale-tile", "key tile before"},
    {"flash lq=60 lk=60 d=64 seed=39 fault=causal-off-by-one", "59 of them of later keys"},
    {"flash lq=40 lk=60 d=64 seed=38 fault=mask-top-left", "masked out"},
    {"flash lq=40 lk=200 d=64 seed=33 fault=tail-dropped", "score tiles are missing"},
    {"flash seqs=40:60,30:50 d=64 seed=31 fault=cu-seqlens-off-by-one", "only in sequence 1"},
    {"flash lq=40 lk=60 d=64 seed=42 fault=columns-permuted", "another order"},
    {"dma lq=40 lk=60 d=64 dual=token seed=8 fault=D7", "a gain of its row and one of its key"},
    {"flash lq=40 lk=60 d=64 seed=52 fault=sum-over-lanes", "each is 0.5 times"},
    {"flash lq=40 lk=60 d=64 seed=53 fault=p-truncated", "rounding"},
    {"flash lse=2 poff=8 lq=40 lk=60 d=64 seed=69 fault=lse-offset", "by the shift 8"},
    {"flash lq=40 lk=60 d=64 seed=48 fault=finite-sentinel", "sentinel"},
};

static void test_faults_are_read(void **state)
{
    (void)state;
    const struct mxv_verify_options options = {.impl = MXV_IMPL_EMULATION};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct mxv_case c;
        struct mxv_verify_result r;
        char message[512] = "";
        parse(faults[i].line, &c);
        assert_int_equal(mxv_verify_case(&c, &options, &r, message, sizeof message), MXV_OK);
        if (!strstr(r.diagnosis, faults[i].words))
            fail_msg("%s: `%s` is not in: %s", faults[i].line, faults[i].words, r.diagnosis);
        mxv_verify_free(&r);
        c.faults = 0;
        assert_int_equal(mxv_verify_case(&c, &options, &r, message, sizeof message), MXV_OK);
        assert_string_equal(r.diagnosis, "");
        mxv_verify_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_tile_from_tile_one_on),
        cmocka_unit_test(test_periodic_columns_with_a_gain),
        cmocka_unit_test(test_periodic_rows_with_wrong_sign),
        cmocka_unit_test(test_one_head_with_gains_by_row),
        cmocka_unit_test(test_gains_by_key),
        cmocka_unit_test(test_gains_by_tile),
        cmocka_unit_test(test_gains_by_row_times_key),
        cmocka_unit_test(test_future_leak),
        cmocka_unit_test(test_hidden_diagonal_tiles),
        cmocka_unit_test(test_ragged_edge_of_zeros),
        cmocka_unit_test(test_permuted_columns),
        cmocka_unit_test(test_transposed_blocks),
        cmocka_unit_test(test_neighbours_of_the_last_query_tile),
        cmocka_unit_test(test_small_differences),
        cmocka_unit_test(test_output_gain_of_later_query_tiles),
        cmocka_unit_test(test_not_numbers_of_random_damage),
        cmocka_unit_test(test_faults_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
