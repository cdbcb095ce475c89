// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Names, visibility and plans. Expected tables are worked out by hand from docs/kernels/contract.md
// 2 and dma.md 2; the alignment tables are those of thu-ml/SageAttention#26 and #131.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/attention.h>
#include <mxverify/faults.h>
#include <string.h>

static void test_names_are_found_again(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < MXV_CHOICE_KIND_COUNT; kind++) {
        for (unsigned i = 0; mxv_choice_name((enum mxv_choice_kind)kind, i); i++) {
            unsigned value = 999;
            const char *name = mxv_choice_name((enum mxv_choice_kind)kind, i);
            assert_true(mxv_choice_find((enum mxv_choice_kind)kind, name, &value));
            assert_int_equal(value, i);
            assert_non_null(mxv_choice_text((enum mxv_choice_kind)kind, i));
        }
        unsigned value;
        assert_false(mxv_choice_find((enum mxv_choice_kind)kind, "no-such-name", &value));
    }
    enum mxv_fault f;
    assert_true(mxv_fault_find("D3", &f) && f == MXV_FAULT_SINK_NOMASK);
    assert_true(mxv_fault_find("sink-nomask", &f) && f == MXV_FAULT_SINK_NOMASK);
    assert_false(mxv_fault_find("D99", &f));
}

static void expect_visible(const struct mxv_attention *a, size_t lq, size_t lk,
                           const size_t (*rows)[2])
{
    for (size_t row = 0; row < lq; row++) {
        size_t first, end;
        mxv_attention_visible(a, lq, lk, row, &first, &end);
        assert_true(first <= end && end <= lk);
        assert_int_equal(end - first, rows[row][1] - rows[row][0]);
        if (end > first)
            assert_int_equal(first, rows[row][0]);
    }
}

static void test_visibility(void **state)
{
    (void)state;
    struct mxv_attention a = {.mask = MXV_MASK_CAUSAL, .left = -1, .right = -1};
    expect_visible(&a, 2, 5, (const size_t[][2]){{0, 4}, {0, 5}});
    expect_visible(&a, 5, 2, (const size_t[][2]){{0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 2}});
    a.align = MXV_ALIGN_TOP_LEFT;
    expect_visible(&a, 2, 5, (const size_t[][2]){{0, 1}, {0, 2}});
    expect_visible(&a, 5, 2, (const size_t[][2]){{0, 1}, {0, 2}, {0, 2}, {0, 2}, {0, 2}});
    a.left = 1; // two tokens including self; rows beyond lk + left see nothing
    expect_visible(&a, 6, 3, (const size_t[][2]){{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 3}, {3, 3}});
    a.mask = MXV_MASK_FULL;
    a.right = 1;
    expect_visible(&a, 3, 4, (const size_t[][2]){{0, 2}, {0, 3}, {1, 4}});
    a.left = -1;
    a.right = -1;
    expect_visible(&a, 1, 4, (const size_t[][2]){{0, 4}});
}

// One letter a tile: H high, L low, C core, . skipped.
static void expect_routes(const struct mxv_attention *a, const char *const *rows, size_t n,
                          size_t cols)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < cols; j++) {
            enum mxv_route r = mxv_attention_route(a, 0, 0, i, j);
            char letter = r == MXV_ROUTE_HIGH   ? 'H'
                          : r == MXV_ROUTE_LOW  ? 'L'
                          : r == MXV_ROUTE_CORE ? 'C'
                          : r == MXV_ROUTE_SKIP ? '.'
                          : r == MXV_ROUTE_F16  ? 'F'
                                                : 'I';
            if (letter != rows[i][j])
                fail_msg("tile (%zu, %zu): %c, expected %c", i, j, letter, rows[i][j]);
        }
}

static void test_diagonal_plan(void **state)
{
    (void)state;
    size_t cu[] = {0, 640};
    struct mxv_attention a = {.kernel = MXV_KERNEL_DMA,
                              .sequences = 1,
                              .heads_q = 1,
                              .heads_kv = 1,
                              .cu_q = cu,
                              .cu_k = cu,
                              .mask = MXV_MASK_CAUSAL,
                              .left = -1,
                              .right = -1,
                              .tile_m = 128,
                              .tile_n = 128,
                              .diag = 1,
                              .sink = 1};
    expect_routes(&a, (const char *const[]){"H....", "HH...", "HLH..", "HLLH.", "HLLLH"}, 5, 5);
    a.diag = 2;
    a.sink = 0;
    expect_routes(&a, (const char *const[]){"H....", "HH...", "LHH..", "LLHH.", "LLLHH"}, 5, 5);
    a.diag = 0;
    expect_routes(&a, (const char *const[]){"L....", "LL...", "LLL..", "LLLL.", "LLLLL"}, 5, 5);
    a.diag = 1;
    a.mask = MXV_MASK_FULL;
    expect_routes(&a, (const char *const[]){"HLLLL", "LHLLL", "LLHLL", "LLLHL", "LLLLH"}, 5, 5);
    a.mask = MXV_MASK_CAUSAL;
    a.left = 127; // window: at most the tile before the diagonal
    expect_routes(&a, (const char *const[]){"H....", "LH...", ".LH..", "..LH.", "...LH"}, 5, 5);
}

static void test_released_plan(void **state)
{
    (void)state;
    size_t cu[] = {0, 512};
    struct mxv_attention a = {.kernel = MXV_KERNEL_DMA_RELEASED,
                              .sequences = 1,
                              .heads_q = 1,
                              .heads_kv = 1,
                              .cu_q = cu,
                              .cu_k = cu,
                              .mask = MXV_MASK_CAUSAL,
                              .left = -1,
                              .right = -1,
                              .tile_m = 128,
                              .tile_n = 128,
                              .diag = 1,
                              .sink = 2};
    // sink tiles are processed above the diagonal too (defect D3)
    expect_routes(&a, (const char *const[]){"HH..", "HH..", "HHH.", "HHLH"}, 4, 4);
    a.sink = 1;
    expect_routes(&a, (const char *const[]){"H...", "HH..", "HLH.", "HLLH"}, 4, 4);
}

static void test_zones_plan(void **state)
{
    (void)state;
    // T = 5: C(w) = 5, 9, 12, 14, 15 of 15. core 0.075 -> w1 = 1; buffer 0.175 -> (9-5)/15 >=
    // 0.175, w2 = 2
    size_t cu[] = {0, 640};
    struct mxv_attention a = {.kernel = MXV_KERNEL_DMA,
                              .sequences = 1,
                              .heads_q = 1,
                              .heads_kv = 1,
                              .cu_q = cu,
                              .cu_k = cu,
                              .mask = MXV_MASK_CAUSAL,
                              .left = -1,
                              .right = -1,
                              .tile_m = 128,
                              .tile_n = 128,
                              .plan = MXV_PLAN_ZONES,
                              .core_share = 0.075,
                              .buffer_share = 0.175};
    expect_routes(&a, (const char *const[]){"C....", "HC...", "LHC..", "LLHC.", "LLLHC"}, 5, 5);
    a.buffer_share = 0.4; // (12 - 5) / 15 = 0.467: w2 = 3
    expect_routes(&a, (const char *const[]){"C....", "HC...", "HHC..", "LHHC.", "LLHHC"}, 5, 5);
    a.sink = 1;
    expect_routes(&a, (const char *const[]){"C....", "CC...", "CHC..", "CHHC.", "CLHHC"}, 5, 5);
}

static void test_route_words(void **state)
{
    (void)state;
    size_t cu[] = {0, 128}, cuk[] = {0, 64 * 40};
    uint64_t words[] = {0x00000005, 0x00000080};
    struct mxv_attention a = {.kernel = MXV_KERNEL_TILEMIX,
                              .sequences = 1,
                              .heads_q = 1,
                              .heads_kv = 1,
                              .cu_q = cu,
                              .cu_k = cuk,
                              .left = -1,
                              .right = -1,
                              .tile_m = 128,
                              .tile_n = 64,
                              .route_words = words,
                              .words_per_row = 2,
                              .word_bits = 32,
                              .group = 1};
    // bits 0 and 2 of word 0, bit 7 of word 1 (key tile 39)
    expect_routes(&a, (const char *const[]){"FIFIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIF"}, 1, 40);
    a.one_is_int8 = true;
    expect_routes(&a, (const char *const[]){"IFIFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFI"}, 1, 40);
    a.one_is_int8 = false;
    a.group = 4; // groups 0 and 2: tiles 0-3 and 8-11
    expect_routes(&a, (const char *const[]){"FFFFIIIIFFFFIIIIIIIIIIIIIIIIIIIIIIIIIIII"}, 1, 40);
    a.msb_first = true; // groups 29 and 31 of word 0: beyond the ten groups that exist
    expect_routes(&a, (const char *const[]){"IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII"}, 1, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_found_again),
        cmocka_unit_test(test_visibility),
        cmocka_unit_test(test_diagonal_plan),
        cmocka_unit_test(test_released_plan),
        cmocka_unit_test(test_zones_plan),
        cmocka_unit_test(test_route_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
