// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics over the tile grid: every element counts once in the whole, in its row, its tile and its
// route, wherever the borders of the added blocks lie.
#include <mxverify/compare.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 10, COLS = 14, TILE_ROWS = 4, TILE_COLS = 6, ONE = 0x3C00 };

// Element (r, c) differs from the expected word by (r * 14 + c) % 5 codes.
static void fill(uint32_t *test, uint32_t *expected)
{
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        expected[i] = ONE;
        test[i] = ONE + i % 5;
    }
}

static void cut(const uint32_t *from, size_t row, size_t col, size_t rows, size_t cols,
                uint32_t *to)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * cols, from + (row + r) * COLS + col, cols * sizeof *to);
}

static size_t count_differing(const uint32_t *test, size_t r0, size_t r1, size_t c0, size_t c1)
{
    size_t count = 0;
    for (size_t r = r0; r < r1 && r < ROWS; r++) {
        for (size_t c = c0; c < c1 && c < COLS; c++)
            count += test[r * COLS + c] != ONE;
    }
    return count;
}

static void check_counts(const struct mxv_grid *grid, const uint32_t *test)
{
    assert_int_equal(grid->whole.elements, ROWS * COLS);
    assert_int_equal(grid->whole.words, count_differing(test, 0, ROWS, 0, COLS));
    for (size_t r = 0; r < ROWS; r++) {
        assert_int_equal(grid->by_row[r].elements, COLS);
        assert_int_equal(grid->by_row[r].words, count_differing(test, r, r + 1, 0, COLS));
    }
    for (size_t i = 0; i < grid->tiles_down; i++) {
        for (size_t j = 0; j < grid->tiles_across; j++) {
            const struct mxv_metrics *tile = &grid->by_tile[i * grid->tiles_across + j];
            assert_int_equal(tile->words, count_differing(test, i * TILE_ROWS, (i + 1) * TILE_ROWS,
                                                          j * TILE_COLS, (j + 1) * TILE_COLS));
        }
    }
}

static void test_one_block(void **state)
{
    (void)state;
    uint32_t test[ROWS * COLS], expected[ROWS * COLS];
    struct mxv_grid grid;
    fill(test, expected);
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, ROWS, COLS, TILE_ROWS, TILE_COLS, 10), 0);
    assert_int_equal(grid.tiles_down, 3);
    assert_int_equal(grid.tiles_across, 3);
    mxv_grid_add_words(&grid, 0, 0, ROWS, COLS, MXV_ROUTE_COUNT, test, expected);
    check_counts(&grid, test);
    assert_int_equal(grid.by_tile[8].elements, 2 * 2); // ragged in both directions
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(grid.route[i], MXV_ROUTE_SKIP);
    assert_int_equal(grid.by_route[MXV_ROUTE_HIGH].elements, 0);
    mxv_grid_free(&grid);
}

// Blocks of 3 x 5 lie across the tiles of 4 x 6.
static void test_blocks_across_tiles(void **state)
{
    (void)state;
    uint32_t test[ROWS * COLS], expected[ROWS * COLS], t[15], e[15];
    struct mxv_grid grid;
    fill(test, expected);
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, ROWS, COLS, TILE_ROWS, TILE_COLS, 10), 0);
    for (size_t r = 0; r < ROWS; r += 3) {
        for (size_t c = 0; c < COLS; c += 5) {
            size_t rows = r + 3 < ROWS ? 3 : ROWS - r, cols = c + 5 < COLS ? 5 : COLS - c;
            cut(test, r, c, rows, cols, t);
            cut(expected, r, c, rows, cols, e);
            mxv_grid_add_words(&grid, r, c, rows, cols, MXV_ROUTE_COUNT, t, e);
        }
    }
    check_counts(&grid, test);
    mxv_grid_free(&grid);
}

static void test_routes(void **state)
{
    (void)state;
    uint32_t test[ROWS * COLS], expected[ROWS * COLS], t[24], e[24];
    struct mxv_grid grid;
    fill(test, expected);
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, ROWS, COLS, TILE_ROWS, TILE_COLS, 10), 0);
    const struct {
        size_t row, col;
        enum mxv_route route;
    } tiles[] = {{0, 0, MXV_ROUTE_HIGH}, {4, 0, MXV_ROUTE_LOW}, {4, 6, MXV_ROUTE_HIGH}};
    for (size_t i = 0; i < 3; i++) {
        cut(test, tiles[i].row, tiles[i].col, 4, 6, t);
        cut(expected, tiles[i].row, tiles[i].col, 4, 6, e);
        mxv_grid_add_words(&grid, tiles[i].row, tiles[i].col, 4, 6, tiles[i].route, t, e);
    }
    const uint8_t expected_routes[9] = {
        MXV_ROUTE_HIGH, MXV_ROUTE_SKIP, MXV_ROUTE_SKIP, MXV_ROUTE_LOW,  MXV_ROUTE_HIGH,
        MXV_ROUTE_SKIP, MXV_ROUTE_SKIP, MXV_ROUTE_SKIP, MXV_ROUTE_SKIP,
    };
    assert_memory_equal(grid.route, expected_routes, 9);
    assert_int_equal(grid.by_route[MXV_ROUTE_HIGH].elements, 48);
    assert_int_equal(grid.by_route[MXV_ROUTE_HIGH].words,
                     count_differing(test, 0, 4, 0, 6) + count_differing(test, 4, 8, 6, 12));
    assert_int_equal(grid.by_route[MXV_ROUTE_LOW].words, count_differing(test, 4, 8, 0, 6));
    assert_int_equal(grid.by_tile[2].elements, 0);
    mxv_grid_free(&grid);
}

static void test_exact_block(void **state)
{
    (void)state;
    const uint32_t test[] = {ONE, ONE + 1, 0x7E00, 0x4000};
    const struct mxv_truth_ball exact[] = {{1, 0}, {1, 0}, {1, 0}, {2.5, 0x1p-12}};
    struct mxv_grid grid;
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, 2, 2, 1, 1, 10), 0);
    mxv_grid_add_exact(&grid, 0, 0, 2, 2, MXV_ROUTE_INT8, test, exact);
    assert_true(grid.by_tile[0].ulp_max == 0);
    assert_true(grid.by_tile[1].ulp_max == 2); // the unit at 1 is that of the binade below
    assert_true(grid.by_tile[2].ulp_max == INFINITY && grid.by_tile[2].nan == 1);
    assert_true(grid.by_tile[3].ulp_max == 256); // half of 512 codes between 2 and 3
    assert_true(grid.by_tile[3].ulp_slack == 0.125);
    assert_int_equal(grid.by_route[MXV_ROUTE_INT8].elements, 4);
    mxv_grid_free(&grid);
}

static void test_refused(void **state)
{
    (void)state;
    struct mxv_grid grid;
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, 2, 2, 0, 1, 10), -1);
    mxv_grid_free(&grid);
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, SIZE_MAX, SIZE_MAX, 1, 1, 10), -1);
    mxv_grid_free(&grid);
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, 0, 5, 4, 4, 10), 0);
    assert_int_equal(grid.tiles_down, 0);
    mxv_grid_free(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_block), cmocka_unit_test(test_blocks_across_tiles),
        cmocka_unit_test(test_routes),    cmocka_unit_test(test_exact_block),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
