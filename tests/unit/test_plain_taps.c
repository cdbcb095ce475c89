// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Order and shapes of the taps of the plain emulation: the list of docs/kernels/contract.md section
// 8 written out for one call of each kind.
#include "test_plain_case.h"

#include <stdio.h>

// A tap as text: stage, route letter for scale, code and score taps, tiles, shape.
static void describe(const struct mxv_tap *tap, char *text, size_t size)
{
    static const char letters[] = "fhlc8";
    const bool routed = tap->stage == MXV_STAGE_Q_SCALE || tap->stage == MXV_STAGE_Q_CODE ||
                        tap->stage == MXV_STAGE_K_SCALE || tap->stage == MXV_STAGE_K_CODE ||
                        tap->stage == MXV_STAGE_SCORE;
    snprintf(text, size, "%s%s%c %zu,%zu %zux%zu",
             mxv_choice_name(MXV_CHOICE_STAGE, (unsigned)tap->stage), routed ? ":" : "",
             routed ? letters[tap->route] : ' ', tap->tile_q, tap->tile_k, tap->rows, tap->cols);
}

static void expect(struct plain_case *t, const char *const *wanted)
{
    size_t n = 0;
    case_run(t, 0, 0);
    for (; wanted[n]; n++) {
        char text[80];
        if (n >= t->taps)
            fail_msg("missing: %s", wanted[n]);
        describe(&t->tap[n], text, sizeof text);
        assert_string_equal(text, wanted[n]);
    }
    assert_int_equal(t->taps, n);
}

#define TILE(route, ij, rows, bn, d)                                                               \
    "score:" route " " ij " " rows "x" bn, "max  " ij " " rows "x1",                               \
        "weight  " ij " " rows "x" bn, "sum  " ij " " rows "x1", "acc  " ij " " rows "x" d

static void flash_taps(void **state)
{
    (void)state;
    static const char *const wanted[] = {"q.code:f 0,0 18x32",
                                         "k.code:f 0,0 40x32",
                                         "v.code  0,0 40x32",
                                         TILE("f", "0,0", "16", "32", "32"),
                                         TILE("f", "1,1", "2", "32", "32"),
                                         TILE("f", "1,0", "2", "32", "32"),
                                         "out  0,0 18x32",
                                         "lse  0,0 18x1",
                                         NULL};
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_80, 18, 40);
    t.a.align = MXV_ALIGN_TOP_LEFT;
    t.a.order = MXV_ORDER_DESC;
    t.a.right = 15; // tile 0: row 15 sees keys 0..30; tile 1: row 17 sees key 32 too
    case_tensors(&t);
    expect(&t, wanted);
    case_free(&t);
}

static void dma_taps(void **state)
{
    (void)state;
    static const char *const mixed[] = {"q.sigma  0,0 3x1",
                                        "q.scale:h 0,0 3x2",
                                        "q.code:h 0,0 3x64",
                                        "q.scale:l 0,0 3x4",
                                        "q.code:l 0,0 3x64",
                                        "k.sigma  0,0 40x1",
                                        "k.scale:h 0,0 40x2",
                                        "k.code:h 0,0 40x64",
                                        "k.scale:l 0,0 40x4",
                                        "k.code:l 0,0 40x64",
                                        "v.scale  0,0 1x1",
                                        "v.code  0,0 40x64",
                                        TILE("h", "0,0", "3", "32", "64"),
                                        TILE("h", "0,1", "3", "32", "64"),
                                        "out  0,0 3x64",
                                        NULL};
    static const char *const zones[] = {"q.scale:h 0,0 3x2",
                                        "q.code:h 0,0 3x64",
                                        "q.scale:l 0,0 3x2",
                                        "q.code:l 0,0 3x64",
                                        "q.scale:c 0,0 3x2",
                                        "q.code:c 0,0 3x64",
                                        "k.sigma  0,0 1x64",
                                        "k.scale:h 0,0 40x2",
                                        "k.code:h 0,0 40x64",
                                        "k.scale:l 0,0 40x2",
                                        "k.code:l 0,0 40x64",
                                        "k.scale:c 0,0 40x2",
                                        "k.code:c 0,0 40x64",
                                        "v.code  0,0 40x64",
                                        TILE("c", "0,0", "3", "32", "64"),
                                        TILE("c", "0,1", "3", "32", "64"),
                                        "out  0,0 3x64",
                                        "lse  0,0 3x1",
                                        NULL};
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_90, 3, 40);
    t.a.d = 64;
    t.a.low = MXV_LOW_NVFP4;
    t.a.dual = MXV_DUAL_TENSOR;
    t.a.vt = MXV_E4M3;
    t.a.lse = MXV_LSE_NONE;
    case_tensors(&t);
    expect(&t, mixed);
    t.a.low = MXV_LOW_MXFP4;
    t.a.dual = MXV_DUAL_CHANNEL;
    t.a.vt = MXV_F16;
    t.a.lse = MXV_LSE_E;
    t.a.plan = MXV_PLAN_ZONES;
    t.a.core_share = 0.5;
    expect(&t, zones);
    case_free(&t);
}

static void tilemix_taps(void **state)
{
    (void)state;
    static const uint64_t words[1] = {2};
    static const char *const wanted[] = {"q.code:f 0,0 3x32",
                                         "q.scale:8 0,0 3x1",
                                         "q.code:8 0,0 3x32",
                                         "k.code:f 0,0 40x32",
                                         "k.scale:8 0,0 40x1",
                                         "k.code:8 0,0 40x32",
                                         "v.scale  0,0 40x1",
                                         "v.code  0,0 40x32",
                                         TILE("8", "0,0", "3", "32", "32"),
                                         TILE("f", "0,1", "3", "32", "32"),
                                         "out  0,0 3x32",
                                         "lse  0,0 3x1",
                                         NULL};
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_120, 3, 40);
    t.a.route_words = words;
    t.a.kv_cache = true;
    t.a.k_gran = MXV_GRAN_TOKEN;
    case_tensors(&t);
    expect(&t, wanted);
    case_free(&t);
}

static void released_taps(void **state)
{
    (void)state;
    static const char *const wanted[] = {"q.sigma  0,0 130x1",
                                         "q.scale:h 0,0 130x4",
                                         "q.code:h 0,0 130x128",
                                         "q.scale:l 0,0 130x8",
                                         "q.code:l 0,0 130x128",
                                         "k.sigma  0,0 130x1",
                                         "k.scale:h 0,0 130x4",
                                         "k.code:h 0,0 130x128",
                                         "k.scale:l 0,0 130x8",
                                         "k.code:l 0,0 130x128",
                                         "v.code  0,0 130x128",
                                         TILE("h", "0,0", "128", "128", "128"),
                                         TILE("l", "1,0", "2", "128", "128"),
                                         TILE("h", "1,1", "2", "128", "128"),
                                         "out  0,0 130x128",
                                         NULL};
    struct plain_case t;
    case_defaults(&t, MXV_KERNEL_DMA_RELEASED, MXV_ARCH_SM_90, 130, 130);
    t.a.mask = MXV_MASK_CAUSAL;
    t.a.dual = MXV_DUAL_TOKEN;
    t.a.sink = 0;
    case_tensors(&t);
    expect(&t, wanted);
    case_free(&t);
}

static void no_sink_no_taps_same_output(void **state)
{
    (void)state;
    struct plain_case t;
    char message[100];
    case_defaults(&t, MXV_KERNEL_FLASH, MXV_ARCH_SM_90, 2, 2);
    case_tensors(&t);
    t.v[0] = 3.0f;
    assert_int_equal(mxv_plain_head(&t.a, 0, 0, t.out, NULL, NULL, message, sizeof message), 0);
    assert_float_equal(case_out(&t, 1, 0), 1.5f, 0.0f);
    assert_int_equal(t.lse[1], 0); // not asked for, not touched
    case_run(&t, 0, 0);
    assert_memory_equal(case_tap(&t, MXV_STAGE_OUT, 0)->words, t.out, 64 * sizeof(uint32_t));
    assert_memory_equal(case_tap(&t, MXV_STAGE_LSE, 0)->words, t.lse, 2 * sizeof(uint32_t));
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_taps),
        cmocka_unit_test(dma_taps),
        cmocka_unit_test(tilemix_taps),
        cmocka_unit_test(released_taps),
        cmocka_unit_test(no_sink_no_taps_same_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
