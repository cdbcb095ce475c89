// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tap records: a made-up emulation emits taps in the order of docs/kernels/contract.md; one change
// at a time is planted, and the record comparison must name exactly that change.
#include <mxverify/compare.h>
#include <mxverify/taps.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TILES = 3, ROWS = 4, COLS = 8 };

// What is planted in a run.
struct plant {
    enum { NOTHING, WORD, SHAPE, DROP, DOUBLE, SWAP } kind;
    struct mxv_tap_key at;
};

static bool is_at(const struct mxv_tap *tap, const struct mxv_tap_key *key)
{
    return tap->stage == key->stage && tap->route == key->route && tap->head == key->head &&
           tap->tile_q == key->tile_q && tap->tile_k == key->tile_k;
}

static void emit(const struct mxv_tap_sink *sink, struct mxv_tap tap, const struct plant *plant)
{
    uint32_t words[ROWS * COLS];
    for (uint32_t i = 0; i < ROWS * COLS; i++)
        words[i] = (uint32_t)tap.stage * 1000 + (uint32_t)(tap.tile_q * 10 + tap.tile_k) + i;
    tap.words = words;
    tap.rows = ROWS;
    tap.cols = COLS;
    bool here = plant && is_at(&tap, &plant->at);
    if (here && plant->kind == WORD)
        words[2 * COLS + 5] ^= 1;
    if (here && plant->kind == SHAPE)
        tap.rows = ROWS - 1;
    if (here && plant->kind == DROP)
        return;
    if (here && plant->kind == DOUBLE)
        sink->take(sink->ctx, &tap);
    sink->take(sink->ctx, &tap);
}

static struct mxv_tap tap_of(enum mxv_stage stage, enum mxv_route route, size_t tile_q,
                             size_t tile_k)
{
    struct mxv_tap tap = {stage, route, 0, 1, tile_q, tile_k, 0, 0, NULL};
    return tap;
}

// 2 operand taps, 3 stages of 6 causal tiles, 1 output: 21 taps.
static void emulate(const struct mxv_tap_sink *sink, const struct plant *plant)
{
    bool swapped = plant && plant->kind == SWAP;
    emit(sink, tap_of(swapped ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, MXV_ROUTE_LOW, 0, 0), plant);
    emit(sink, tap_of(swapped ? MXV_STAGE_Q_CODE : MXV_STAGE_K_CODE, MXV_ROUTE_LOW, 0, 0), plant);
    for (size_t i = 0; i < TILES; i++) {
        for (size_t j = 0; j <= i; j++) {
            enum mxv_route route = i == j ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
            emit(sink, tap_of(MXV_STAGE_SCORE, route, i, j), plant);
            emit(sink, tap_of(MXV_STAGE_MAX, route, i, j), plant);
            emit(sink, tap_of(MXV_STAGE_ACC, route, i, j), plant);
        }
    }
    emit(sink, tap_of(MXV_STAGE_OUT, MXV_ROUTE_SKIP, 0, 0), plant);
}

static struct mxv_tap_record record_of(const struct plant *plant)
{
    struct mxv_tap_record record;
    mxv_tap_record_init(&record);
    struct mxv_tap_sink sink = mxv_taps_record(&record);
    emulate(&sink, plant);
    return record;
}

static int compare(const struct plant *a, const struct plant *b, struct mxv_taps_where *where)
{
    struct mxv_tap_record left = record_of(a), right = record_of(b);
    int result = mxv_taps_first_difference(&left, &right, where);
    assert_int_equal(mxv_tap_record_hash(&left) != mxv_tap_record_hash(&right), result == 1);
    mxv_tap_record_free(&left);
    mxv_tap_record_free(&right);
    return result;
}

static size_t sum(const size_t counts[MXV_STAGE_COUNT])
{
    size_t total = 0;
    for (size_t i = 0; i < MXV_STAGE_COUNT; i++)
        total += counts[i];
    return total;
}

static const struct mxv_tap_key score_2_1 = {MXV_STAGE_SCORE, MXV_ROUTE_LOW, 0, 1, 2, 1};

static void assert_at(const struct mxv_taps_where *where, const struct mxv_tap_key *key)
{
    char got[128], expected[128];
    mxv_tap_key_print(&where->key, got, sizeof got);
    mxv_tap_key_print(key, expected, sizeof expected);
    assert_string_equal(got, expected);
}

static void test_equal(void **state)
{
    (void)state;
    struct mxv_taps_where where;
    assert_int_equal(compare(NULL, NULL, &where), 0);
    assert_int_equal(where.kind, MXV_TAPS_EQUAL);
    assert_int_equal(sum(where.taps), 21);
    assert_int_equal(where.taps[MXV_STAGE_SCORE], 6);
    assert_int_equal(sum(where.differing) + sum(where.missing) + sum(where.extra), 0);
}

static void test_word(void **state)
{
    (void)state;
    struct plant plant = {WORD, score_2_1};
    struct mxv_taps_where where;
    assert_int_equal(compare(NULL, &plant, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_WORDS);
    assert_at(&where, &score_2_1);
    assert_int_equal(where.rows, ROWS);
    assert_int_equal(sum(where.differing), 1);
    assert_int_equal(where.differing[MXV_STAGE_SCORE], 1);
}

static void test_shape(void **state)
{
    (void)state;
    struct plant plant = {SHAPE, score_2_1};
    struct mxv_taps_where where;
    assert_int_equal(compare(NULL, &plant, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_SHAPE);
    assert_at(&where, &score_2_1);
}

static void test_missing_and_extra(void **state)
{
    (void)state;
    struct plant drop = {DROP, score_2_1}, twice = {DOUBLE, score_2_1};
    struct mxv_taps_where where;
    assert_int_equal(compare(NULL, &drop, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_MISSING);
    assert_at(&where, &score_2_1);
    assert_int_equal(where.missing[MXV_STAGE_SCORE], 1);
    assert_int_equal(sum(where.differing) + sum(where.extra), 0); // the later taps are not blamed
    assert_int_equal(compare(&drop, NULL, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_EXTRA);
    assert_at(&where, &score_2_1);
    assert_int_equal(where.extra[MXV_STAGE_SCORE], 1);
    assert_int_equal(compare(NULL, &twice, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_EXTRA);
    assert_int_equal(where.extra[MXV_STAGE_SCORE], 1);
}

static void test_order(void **state)
{
    (void)state;
    struct plant plant = {SWAP, {0}};
    struct mxv_taps_where where;
    assert_int_equal(compare(NULL, &plant, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_ORDER);
    assert_int_equal(where.out_of_order, 1);
    assert_int_equal(sum(where.differing) + sum(where.missing) + sum(where.extra), 0);
}

// Two differences: the one emitted first wins, whichever kind it is of.
static void test_first_of_two(void **state)
{
    (void)state;
    struct mxv_tap_key early = {MXV_STAGE_MAX, MXV_ROUTE_HIGH, 0, 1, 1, 1};
    struct plant drop_late = {DROP, score_2_1}, word_early = {WORD, early};
    struct plant drop_early = {DROP, early}, word_late = {WORD, score_2_1};
    struct mxv_taps_where where;
    assert_int_equal(compare(&drop_late, &word_early, &where), 1); // extra late, words early
    assert_int_equal(where.kind, MXV_TAPS_WORDS);
    assert_at(&where, &early);
    assert_int_equal(where.extra[MXV_STAGE_SCORE], 1);
    assert_int_equal(compare(&drop_early, &word_late, &where), 1); // extra early, words late
    assert_int_equal(where.kind, MXV_TAPS_EXTRA);
    assert_at(&where, &early);
    assert_int_equal(where.differing[MXV_STAGE_SCORE], 1);
    word_late.at = early;
    word_late.at.stage = MXV_STAGE_ACC; // the very next tap
    assert_int_equal(compare(&drop_early, &word_late, &where), 1);
    assert_int_equal(where.kind, MXV_TAPS_EXTRA);
}

static void test_kept_stages(void **state)
{
    (void)state;
    struct plant plant = {WORD, score_2_1};
    struct mxv_tap_record record;
    mxv_tap_record_init(&record);
    record.keep[MXV_STAGE_SCORE] = false;
    struct mxv_tap_sink sink = mxv_taps_record(&record);
    emulate(&sink, &plant);
    assert_int_equal(record.count, 15);
    record.out_of_memory = true; // an incomplete record proves nothing
    struct mxv_taps_where where;
    assert_int_equal(mxv_taps_first_difference(&record, &record, &where), -1);
    mxv_tap_record_free(&record);
}

static void test_element(void **state)
{
    (void)state;
    struct plant plant = {WORD, score_2_1};
    struct mxv_tap_capture a, b;
    mxv_tap_capture_init(&a, &score_2_1);
    mxv_tap_capture_init(&b, &score_2_1);
    struct mxv_tap_sink sink_a = mxv_taps_capture(&a), sink_b = mxv_taps_capture(&b);
    struct mxv_tap_element e;
    assert_int_equal(mxv_taps_first_element(&a, &b, MXV_F32, &e), -1); // nothing captured yet
    emulate(&sink_a, NULL);
    emulate(&sink_b, &plant);
    assert_int_equal(mxv_taps_first_element(&a, &a, MXV_F32, &e), 0);
    assert_int_equal(mxv_taps_first_element(&a, &b, MXV_F32, &e), 1);
    assert_int_equal(e.row, 2);
    assert_int_equal(e.col, 5);
    assert_int_equal(e.differing, 1);
    assert_int_equal(e.word_a, MXV_STAGE_SCORE * 1000 + 21 + 21);
    assert_int_equal(e.word_b, e.word_a ^ 1);
    assert_true(e.value_a == ldexp(e.word_a, -149)); // a subnormal: word steps of 2^-149
    assert_int_equal(e.ulp, 1);
    b.rows--;
    assert_int_equal(mxv_taps_first_element(&a, &b, MXV_F32, &e), -1);
    mxv_tap_capture_free(&a);
    mxv_tap_capture_free(&b);
}

static void test_capture_skips(void **state)
{
    (void)state;
    struct plant twice = {DOUBLE, score_2_1};
    struct mxv_tap_capture c;
    mxv_tap_capture_init(&c, &score_2_1);
    c.skip = 1;
    struct mxv_tap_sink sink = mxv_taps_capture(&c);
    emulate(&sink, NULL);
    assert_false(c.found);
    emulate(&sink, &twice);
    assert_true(c.found);
    mxv_tap_capture_free(&c);
}

static void test_formats(void **state)
{
    (void)state;
    struct mxv_attention a = {0};
    a.kernel = MXV_KERNEL_DMA;
    a.vt = MXV_E4M3;
    a.out = MXV_BF16;
    a.high = MXV_HIGH_MXFP8_E5M2;
    a.low = MXV_LOW_NVFP4;
    const struct {
        enum mxv_stage stage;
        enum mxv_route route;
        enum mxv_element format;
    } rows[] = {
        {MXV_STAGE_Q_CODE, MXV_ROUTE_F16, MXV_F16},
        {MXV_STAGE_Q_CODE, MXV_ROUTE_HIGH, MXV_E5M2},
        {MXV_STAGE_K_CODE, MXV_ROUTE_LOW, MXV_E2M1},
        {MXV_STAGE_K_CODE, MXV_ROUTE_CORE, MXV_E4M3},
        {MXV_STAGE_K_CODE, MXV_ROUTE_INT8, MXV_S8},
        {MXV_STAGE_Q_SCALE, MXV_ROUTE_HIGH, MXV_E8M0},
        {MXV_STAGE_K_SCALE, MXV_ROUTE_LOW, MXV_UE4M3},
        {MXV_STAGE_K_SCALE, MXV_ROUTE_INT8, MXV_F32},
        {MXV_STAGE_V_CODE, MXV_ROUTE_F16, MXV_E4M3},
        {MXV_STAGE_WEIGHT, MXV_ROUTE_LOW, MXV_E4M3},
        {MXV_STAGE_SCORE, MXV_ROUTE_LOW, MXV_F32},
        {MXV_STAGE_OUT, MXV_ROUTE_SKIP, MXV_BF16},
        {MXV_STAGE_LSE, MXV_ROUTE_SKIP, MXV_F32},
        {MXV_STAGE_Q_SIGMA, MXV_ROUTE_HIGH, MXV_F32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(mxv_tap_format(&a, rows[i].stage, rows[i].route), rows[i].format);
    a.rebase = true;
    assert_int_equal(mxv_tap_format(&a, MXV_STAGE_Q_CODE, MXV_ROUTE_LOW), MXV_E5M2);
    a.kernel = MXV_KERNEL_DMA_RELEASED;
    a.mask = MXV_MASK_FULL;
    assert_int_equal(mxv_tap_format(&a, MXV_STAGE_WEIGHT, MXV_ROUTE_LOW), MXV_F32);
}

static void test_words_for_people(void **state)
{
    (void)state;
    char text[128], tiny[8];
    mxv_tap_key_print(&score_2_1, text, sizeof text);
    assert_string_equal(text, "score low sequence 0 head 1 tile (2, 1)");
    mxv_tap_key_print(&score_2_1, tiny, sizeof tiny);
    assert_string_equal(tiny, "score l");
    assert_string_equal(mxv_tap_difference_name(MXV_TAPS_MISSING), "missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_missing_and_extra),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_first_of_two),
        cmocka_unit_test(test_kept_stages),
        cmocka_unit_test(test_element),
        cmocka_unit_test(test_capture_skips),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_words_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
