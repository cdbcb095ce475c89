// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Visibility and plans of the plain emulation, by cases counted on paper: which keys a row sees,
// which tiles are processed in which order, and the route of each, as the score taps name it.
#include "test_plain_case.h"

// Drawing of the routes: one row per query tile, one character per key tile; '.' is not processed.
static void draw(struct plain_case *t, size_t tiles_k, char *picture)
{
    static const char letters[] = "fhlc8";
    const size_t tiles_q = (t->cu_q[1] + t->a.tile_m - 1) / t->a.tile_m;
    case_run(t, 0, 0);
    memset(picture, '.', tiles_q * (tiles_k + 1));
    for (size_t i = 0; i < tiles_q; i++)
        picture[i * (tiles_k + 1) + tiles_k] = i + 1 < tiles_q ? '/' : 0;
    for (size_t n = 0; n < t->taps; n++)
        if (t->tap[n].stage == MXV_STAGE_SCORE)
            picture[t->tap[n].tile_q * (tiles_k + 1) + t->tap[n].tile_k] = letters[t->tap[n].route];
}

static void expect(struct plain_case *t, size_t tiles_k, const char *wanted)
{
    char picture[400];
    draw(t, tiles_k, picture);
    assert_string_equal(picture, wanted);
}

static void begin(struct plain_case *t, enum mxv_kernel kernel, size_t lq, size_t lk)
{
    case_defaults(t, kernel, MXV_ARCH_SM_100, lq, lk);
    t->a.tile_m = 32;
    t->a.mask = MXV_MASK_CAUSAL;
    case_tensors(t);
}

// Keys seen by a row are those whose score is not -inf (all scores are 0 here).
static void expect_keys(struct plain_case *t, size_t row, size_t first, size_t end)
{
    size_t seen = 0, seen_inside = 0;
    case_run(t, 0, 0);
    for (size_t n = 0; n < t->taps; n++) {
        const struct mxv_tap *tap = &t->tap[n];
        if (tap->stage != MXV_STAGE_SCORE || tap->tile_q != row / t->a.tile_m)
            continue;
        for (size_t c = 0; c < tap->cols; c++) {
            const size_t key = tap->tile_k * t->a.tile_n + c;
            const bool sees = tap->words[row % t->a.tile_m * tap->cols + c] == 0;
            seen += sees;
            seen_inside += sees && key >= first && key < end;
        }
    }
    assert_int_equal(seen, end - first);
    assert_int_equal(seen_inside, end - first);
}

static void windows_and_alignment(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, 50, 70); // bottom right: off = 20
    expect_keys(&t, 0, 0, 21);
    expect_keys(&t, 49, 0, 70);
    t.a.left = 5;
    expect_keys(&t, 0, 15, 21);
    expect_keys(&t, 49, 64, 70);
    t.a.left = 0;
    expect_keys(&t, 7, 27, 28);
    t.a.align = MXV_ALIGN_TOP_LEFT;
    expect_keys(&t, 7, 7, 8);
    t.a.mask = MXV_MASK_FULL;
    t.a.left = -1;
    t.a.right = 2;
    expect_keys(&t, 10, 0, 13);
    t.a.left = 3;
    expect_keys(&t, 10, 7, 13);
    expect_keys(&t, 1, 0, 4);
    t.a.left = t.a.right = -1;
    expect_keys(&t, 10, 0, 70);
    case_free(&t);
}

static void tiles_without_visible_keys_are_skipped(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_FLASH, 128, 128);
    expect(&t, 4, "f.../ff../fff./ffff");
    t.a.left = 31; // row 32 sees keys 1..32, row 63 sees 32..63
    expect(&t, 4, "f.../ff../.ff./..ff");
    t.a.order = MXV_ORDER_DESC;
    case_run(&t, 0, 0);
    assert_int_equal(case_tap(&t, MXV_STAGE_SCORE, 1)->tile_k, 1);
    assert_int_equal(case_tap(&t, MXV_STAGE_SCORE, 2)->tile_k, 0);
    t.a.mask = MXV_MASK_FULL;
    t.a.right = 32;
    t.a.left = -1;
    expect(&t, 4, "ff../fff./ffff/ffff"); // row 31 sees key 63, row 63 key 95
    t.a.right = 33;
    expect(&t, 4, "fff./ffff/ffff/ffff");
    case_free(&t);
}

static void diagonal_plan(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_DMA, 160, 160);
    expect(&t, 5, "h..../hh.../hlh../hllh./hlllh");
    t.a.diag = 2;
    t.a.sink = 0;
    expect(&t, 5, "h..../hh.../lhh../llhh./lllhh");
    t.a.diag = 0;
    expect(&t, 5, "l..../ll.../lll../llll./lllll");
    t.a.diag = 1;
    t.a.mask = MXV_MASK_FULL;
    expect(&t, 5, "hllll/lhlll/llhll/lllhl/llllh");
    t.a.mode = MXV_MODE_HIGH;
    expect(&t, 5, "hhhhh/hhhhh/hhhhh/hhhhh/hhhhh");
    t.a.mode = MXV_MODE_LOW;
    expect(&t, 5, "lllll/lllll/lllll/lllll/lllll");
    case_free(&t);
}

// lq = 64, lk = 112: off = 48; query tile 0 spans diagonal keys 48..79: tiles 1 and 2.
static void diagonal_through_two_tiles(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_DMA, 64, 112);
    t.a.sink = 0;
    expect(&t, 4, "lhh./llhh");
    t.a.diag = 2;
    expect(&t, 4, "hhh./lhhh");
    t.a.diag = 1;
    t.a.align = MXV_ALIGN_TOP_LEFT;
    expect(&t, 4, "h.../lh..");
    case_free(&t);
    begin(&t, MXV_KERNEL_DMA, 100, 20); // off = -80: the diagonal of tile 0 lies at key tile -3
    t.a.mask = MXV_MASK_FULL;
    t.a.sink = 0;
    t.a.diag = 3; // tile 0: jl = floor(-49 / 32) = -2, distance 2
    expect(&t, 1, "h/h/h/h");
    t.a.diag = 2;
    expect(&t, 1, "l/h/h/h");
    case_free(&t);
}

static void entropy_plan(void **state)
{
    (void)state;
    static const uint32_t widths[] = {1, 1, 3, 2};
    struct plain_case t;
    begin(&t, MXV_KERNEL_DMA, 128, 128);
    t.a.plan = MXV_PLAN_ENTROPY;
    t.a.diag_tiles = widths;
    t.a.sink = 0;
    expect(&t, 4, "h.../lh../hhh./llhh");
    t.a.sink = 1;
    expect(&t, 4, "h.../hh../hhh./hlhh");
    case_free(&t);
}

// T = 5: C = 5, 9, 12, 14, 15 for w = 1..5; shares 1/3, 3/5, 4/5, 14/15, 1.
static void zones_plan(void **state)
{
    (void)state;
    struct plain_case t;
    begin(&t, MXV_KERNEL_DMA, 160, 160);
    t.a.plan = MXV_PLAN_ZONES;
    t.a.sink = 0;
    t.a.core_share = 0.3;    // w1 = 1
    t.a.buffer_share = 0.25; // (9 - 5) / 15 = 0.267: w2 = 2
    expect(&t, 5, "c..../hc.../lhc../llhc./lllhc");
    t.a.buffer_share = 0.3; // w2 = 3
    expect(&t, 5, "c..../hc.../hhc../lhhc./llhhc");
    t.a.core_share = 0.5;   // w1 = 2
    t.a.buffer_share = 0.0; // w2 = 2
    t.a.sink = 1;
    expect(&t, 5, "c..../cc.../ccc../clcc./cllcc");
    t.a.core_share = 1.0;
    expect(&t, 5, "c..../cc.../ccc../cccc./ccccc");
    case_free(&t);
    begin(&t, MXV_KERNEL_DMA, 64, 160); // T counts key tiles; the diagonal starts in tile 3
    t.a.mask = MXV_MASK_FULL;
    t.a.plan = MXV_PLAN_ZONES;
    t.a.sink = 0;
    t.a.core_share = t.a.buffer_share = 0.3;
    expect(&t, 5, "lhhch/llhhc");
    case_free(&t);
}

// Two words a row, so that every index counts.
static void route_words(void **state)
{
    (void)state;
    struct plain_case t;
    static uint64_t words[8] = {0x1, 0, 0x2, 0, 0x5, 0, 0x80000006, 0};
    begin(&t, MXV_KERNEL_TILEMIX, 128, 128);
    t.a.route_words = words;
    t.a.words_per_row = 2;
    expect(&t, 4, "f.../8f../f8f./8ff8");
    t.a.one_is_int8 = true;
    expect(&t, 4, "8.../f8../8f8./f88f");
    t.a.msb_first = true; // bit 31 of the word is group 0
    expect(&t, 4, "f.../ff../fff./8fff");
    t.a.one_is_int8 = false;
    t.a.msb_first = false;
    t.a.group = 2;
    expect(&t, 4, "f.../88../ff8./88ff");
    t.a.word_bits = 64;
    t.a.msb_first = true;
    words[6] = UINT64_C(1) << 63;
    expect(&t, 4, "8.../88../888./ff88");
    words[6] = 0x80000006;
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_and_alignment),
        cmocka_unit_test(tiles_without_visible_keys_are_skipped),
        cmocka_unit_test(diagonal_plan),
        cmocka_unit_test(diagonal_through_two_tiles),
        cmocka_unit_test(entropy_plan),
        cmocka_unit_test(zones_plan),
        cmocka_unit_test(route_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
