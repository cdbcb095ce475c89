// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Input coverage: taps written by hand whose events are known, events of whole cases whose number
// follows from the mask and the lengths, and the texts.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "cases.h"
#include <math.h>
#include <mxverify/events.h>

static void send(const struct mxv_tap_sink *sink, enum mxv_stage stage, enum mxv_route route,
                 size_t rows, size_t cols, const uint32_t *words)
{
    const struct mxv_tap tap = {stage, route, 0, 0, 0, 0, rows, cols, words};
    sink->take(sink->ctx, &tap);
}

// One key row of 32 channels with scale 2^0: codes of E2M1 by OCP MX v1.0.
static void test_ties_and_saturations_of_a_row(void **state)
{
    (void)state;
    struct mxv_case_data data;
    build("dma lq=1 lk=1 d=32 mode=low", &data);
    struct mxv_events events = {{0}, {{0}}};
    struct mxv_events_reader reader;
    uint32_t codes[32] = {0}, scale = 127;
    const float x[] = {0.25f, 0.75f, 1.25f, 2.5f, 5, 0.5f, 6, 7, -7, -0.25f, 0.3f};
    const uint32_t c[] = {0, 2, 2, 4, 6, 1, 7, 7, 15, 8, 1};
    for (size_t i = 0; i < 32; i++)
        data.k[i] = i < 11 ? x[i] : 0;
    memcpy(codes, c, sizeof c);
    mxv_events_begin(&reader, &data.a, 0, &events, NULL);
    struct mxv_tap_sink sink = mxv_events_sink(&reader);
    send(&sink, MXV_STAGE_K_SCALE, MXV_ROUTE_LOW, 1, 1, &scale);
    send(&sink, MXV_STAGE_K_CODE, MXV_ROUTE_LOW, 1, 32, codes);
    mxv_events_end(&reader);
    // ties: 0.25, 0.75, 1.25, 2.5, 5, -0.25; beyond 6: 7 and -7
    assert_int_equal(events.count[MXV_INPUT_TIE], 6);
    assert_int_equal(events.count[MXV_INPUT_SATURATED], 2);
    assert_int_equal(events.count[MXV_INPUT_CODE_SUBNORMAL], 2);
    assert_int_equal(events.count[MXV_INPUT_CODE_LARGEST], 3);
    assert_int_equal(events.count[MXV_INPUT_CODE_NEGATIVE_ZERO], 1);
    // codes 0 1 2 4 6 7 8 15
    assert_int_equal(mxv_events_codes(&events, MXV_TABLE_E2M1), 8);
    assert_int_equal(mxv_events_codes(&events, MXV_TABLE_E8M0), 1);
    mxv_case_free(&data);
}

static void test_scale_bytes(void **state)
{
    (void)state;
    struct mxv_case_data data;
    build("dma lq=1 lk=4 d=32 mode=low", &data);
    struct mxv_events events = {{0}, {{0}}};
    struct mxv_events_reader reader;
    const uint32_t scales[] = {0, 0xFE, 0xFF, 5};
    mxv_events_begin(&reader, &data.a, 0, &events, NULL);
    struct mxv_tap_sink sink = mxv_events_sink(&reader);
    send(&sink, MXV_STAGE_K_SCALE, MXV_ROUTE_LOW, 4, 1, scales);
    mxv_events_end(&reader);
    assert_int_equal(events.count[MXV_INPUT_SCALE_LEAST], 1);
    assert_int_equal(events.count[MXV_INPUT_SCALE_LARGEST], 1);
    assert_int_equal(events.count[MXV_INPUT_SCALE_NAN], 1);
    assert_int_equal(mxv_events_codes(&events, MXV_TABLE_E8M0), 3);
    mxv_case_free(&data);
}

// Two tiles of one row: maxima 1, then 3; weights 0 of scores far below, a subnormal weight.
static void test_softmax_state(void **state)
{
    (void)state;
    struct mxv_case_data data;
    build("flash lq=1 lk=64 d=32 tile=16x32 mask=full", &data);
    struct mxv_events events = {{0}, {{0}}};
    struct mxv_events_reader reader;
    uint32_t scores[32], max, weights[32] = {0};
    for (size_t i = 0; i < 32; i++)
        scores[i] = word_of(i == 0 ? 1 : -100);
    scores[1] = word_of(-5000); // 2^(-5001 * scale * log2 e) is 0 in binary32
    weights[0] = 0x3C00;
    weights[2] = 0x0001;
    mxv_events_begin(&reader, &data.a, 0, &events, NULL);
    struct mxv_tap_sink sink = mxv_events_sink(&reader);
    send(&sink, MXV_STAGE_SCORE, MXV_ROUTE_F16, 1, 32, scores);
    max = word_of(1);
    send(&sink, MXV_STAGE_MAX, MXV_ROUTE_F16, 1, 1, &max);
    send(&sink, MXV_STAGE_WEIGHT, MXV_ROUTE_F16, 1, 32, weights);
    assert_int_equal(events.count[MXV_INPUT_MAX_RISES] + events.count[MXV_INPUT_MAX_STAYS], 0);
    assert_int_equal(events.count[MXV_INPUT_EXP_UNDERFLOW], 1);
    assert_int_equal(events.count[MXV_INPUT_P_TO_ZERO], 29);
    assert_int_equal(events.count[MXV_INPUT_P_SUBNORMAL], 1);
    max = word_of(3);
    send(&sink, MXV_STAGE_SCORE, MXV_ROUTE_F16, 1, 32, scores);
    send(&sink, MXV_STAGE_MAX, MXV_ROUTE_F16, 1, 1, &max);
    send(&sink, MXV_STAGE_SCORE, MXV_ROUTE_F16, 1, 32, scores);
    send(&sink, MXV_STAGE_MAX, MXV_ROUTE_F16, 1, 1, &max);
    assert_int_equal(events.count[MXV_INPUT_MAX_RISES], 1);
    assert_int_equal(events.count[MXV_INPUT_MAX_STAYS], 1);
    mxv_events_end(&reader);
    mxv_case_free(&data);
}

static struct mxv_events events_of(const char *line)
{
    struct mxv_case_data data;
    struct mxv_events events = {{0}, {{0}}};
    char message[256] = "";
    build(line, &data);
    size_t lq = data.a.cu_q[1];
    uint32_t *words = calloc(lq * (data.a.d + 1) + 1, sizeof *words);
    assert_non_null(words);
    for (size_t h = 0; h < data.a.heads_q; h++) {
        struct mxv_events_reader reader;
        mxv_events_begin(&reader, &data.a, 0, &events, NULL);
        struct mxv_tap_sink sink = mxv_events_sink(&reader);
        assert_int_equal(mxv_engine_head(&data.a, 0, h, words, words + lq * data.a.d, &sink,
                                         message, sizeof message),
                         0);
        assert_false(reader.out_of_memory);
        mxv_events_end(&reader);
    }
    free(words);
    mxv_case_free(&data);
    return events;
}

// Counts that follow from mask and lengths alone.
static void test_counts_of_whole_cases(void **state)
{
    (void)state;
    // rows 0..39 see nothing; the others see 1 to 20 keys of a tile of 32
    struct mxv_events e = events_of("flash hq=2 lq=60 lk=20 d=32 tile=64x32 mask=causal seed=1");
    assert_int_equal(e.count[MXV_INPUT_ROW_EMPTY], 2 * 40);
    assert_int_equal(e.count[MXV_INPUT_ROW_EMPTY_SO_FAR], 2 * 40);
    assert_int_equal(e.count[MXV_INPUT_SCORE_PADDING], 2 * 60 * 12);
    assert_int_equal(e.count[MXV_INPUT_SCORE_MASKED], 2 * (40 * 20 + 20 * 19 / 2));
    assert_int_equal(e.count[MXV_INPUT_SCORE_NAN], 0);
    e = events_of("flash lq=64 lk=64 d=32 tile=64x32 mask=full gen=equal seed=1");
    assert_int_equal(e.count[MXV_INPUT_SCORE_EQUAL], 2 * 64);
    assert_int_equal(e.count[MXV_INPUT_MAX_STAYS], 64);
    assert_int_equal(e.count[MXV_INPUT_MAX_RISES], 0);
    assert_int_equal(e.count[MXV_INPUT_SCORE_MASKED], 0);
}

static void count_lines(void *ctx, const char *what)
{
    assert_non_null(strstr(what, "dma "));
    ++*(size_t *)ctx;
}

static void test_missing_events_are_named(void **state)
{
    (void)state;
    struct mxv_events events = {{0}, {{0}}};
    size_t lines = 0, missing = mxv_events_missing(&events, MXV_KERNEL_DMA, count_lines, &lines);
    assert_true(missing > 20);
    assert_int_equal(lines, missing);
    events.count[MXV_INPUT_TIE] = 1;
    assert_int_equal(mxv_events_missing(&events, MXV_KERNEL_DMA, NULL, NULL), missing - 1);
    for (unsigned w = 0; w < 8; w++)
        events.codes[MXV_TABLE_E2M1][w] = w ? 0 : 0xFFFE;
    assert_int_equal(mxv_events_missing(&events, MXV_KERNEL_DMA, NULL, NULL), missing - 1);
    events.codes[MXV_TABLE_E2M1][0] |= 1;
    assert_int_equal(mxv_events_missing(&events, MXV_KERNEL_DMA, NULL, NULL), missing - 2);
}

static void test_text_round_trip(void **state)
{
    (void)state;
    struct mxv_events a, b;
    char text[2048];
    for (unsigned i = 0; i < MXV_INPUT_COUNT; i++)
        a.count[i] = (uint64_t)i * 1234567891011u;
    for (unsigned t = 0; t < MXV_TABLE_COUNT; t++)
        for (unsigned w = 0; w < 8; w++)
            a.codes[t][w] = 0x9E3779B9u * (t * 8 + w);
    size_t n = mxv_events_write(&a, text, sizeof text);
    assert_true(n < sizeof text);
    assert_true(mxv_events_read(text, &b));
    assert_memory_equal(&a, &b, sizeof a);
    text[n - 1] = '\0';
    strcat(text, "x");
    assert_false(mxv_events_read(text, &b));
    *strrchr(text, ',') = '\0';
    assert_false(mxv_events_read(text, &b));
    assert_false(mxv_events_read("", &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties_and_saturations_of_a_row),
        cmocka_unit_test(test_scale_bytes),
        cmocka_unit_test(test_softmax_state),
        cmocka_unit_test(test_counts_of_whole_cases),
        cmocka_unit_test(test_missing_events_are_named),
        cmocka_unit_test(test_text_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
