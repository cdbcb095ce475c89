// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a device run leaves the scale of an FP8 V: the production kernels one for each key row, the
// emulation on a GPU one for each sequence (gpu/cuda_run.h). Both must send the same taps, in heads
// that share K and V and in packed sequences, one of them without keys.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "../../gpu/cuda_taps.c"
#include <mxverify/case.h>
#include <stdio.h>
#include <string.h>

enum { SEQUENCES = 3, HEADS = 4, HEADS_KV = 2 };

static const uint32_t one = 0x3f800000;

// Powers of two, another for each KV head and sequence; 1 where there are no keys.
static uint32_t scale_of(const struct mxv_attention *a, size_t kv_head, size_t s)
{
    if (a->cu_k[s + 1] == a->cu_k[s])
        return one;
    return one + ((uint32_t)(1 + kv_head * SEQUENCES + s) << 23);
}

struct seen {
    uint32_t word[HEADS][SEQUENCES];
    size_t taps;
};

static void take(void *ctx, const struct mxv_tap *tap)
{
    struct seen *seen = ctx;
    if (tap->stage == MXV_STAGE_OUT)
        return;
    assert_int_equal(tap->stage, MXV_STAGE_V_SCALE); // nothing else was recorded
    assert_int_equal(tap->rows * tap->cols, 1);
    seen->word[tap->head][tap->sequence] = tap->words[0];
    seen->taps++;
}

static void test_both_layouts(void **unused)
{
    struct mxv_case c;
    struct mxv_case_data data;
    char message[512];
    (void)unused;
    if (mxv_case_parse("dma hq=4 hk=2 seqs=3:5,4:0,70:33 d=32 v=e4m3 lse=none", &c, message,
                       sizeof message) != MXV_OK ||
        mxv_case_build(&c, &data, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    const struct mxv_attention *a = &data.a;
    const size_t tokens = a->cu_k[SEQUENCES];
    uint32_t *words = calloc(HEADS_KV * (tokens + SEQUENCES), sizeof *words);
    uint32_t *out = calloc(HEADS * a->cu_q[SEQUENCES] * a->d, sizeof *out);
    assert_non_null(words);
    assert_non_null(out);
    for (int by_sequence = 0; by_sequence < 2; by_sequence++) {
        struct mxv_cuda_result r = {.out = out, .v_scale_by_sequence = by_sequence != 0};
        struct seen seen = {.taps = 0};
        const struct mxv_tap_sink sink = {take, &seen};
        for (size_t h = 0; h < HEADS_KV; h++)
            for (size_t s = 0; s < SEQUENCES; s++) {
                if (by_sequence)
                    words[h * SEQUENCES + s] = scale_of(a, h, s);
                for (size_t k = a->cu_k[s]; !by_sequence && k < a->cu_k[s + 1]; k++)
                    words[h * tokens + k] = scale_of(a, h, s);
            }
        r.taps[MXV_STAGE_V_SCALE][MXV_ROUTE_F16] = words;
        for (size_t h = 0; h < HEADS; h++)
            for (size_t s = 0; s < SEQUENCES; s++)
                assert_int_equal(mxv_cuda_send_taps(&r, a, s, h, &sink), 0);
        assert_int_equal(seen.taps, HEADS * SEQUENCES);
        for (size_t h = 0; h < HEADS; h++)
            for (size_t s = 0; s < SEQUENCES; s++)
                assert_int_equal(seen.word[h][s], scale_of(a, h / (HEADS / HEADS_KV), s));
    }
    free(words);
    free(out);
    mxv_case_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
