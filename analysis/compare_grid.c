// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics laid over the tile grid: whole, per route, per tile, per row.
//
// Each stretch of a row inside one tile is summed by itself and then merged into its row, its tile,
// its route and the whole, in the order of rows and then tiles of the block: one fixed order for a
// fixed sequence of calls. tests/unit/test_compare_grid.c fails if this file is wrong.
#include <mxverify/compare.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int mxv_grid_init(struct mxv_grid *grid, enum mxv_element format, size_t rows, size_t cols,
                  size_t tile_rows, size_t tile_cols, double peak)
{
    memset(grid, 0, sizeof *grid);
    if (tile_rows == 0 || tile_cols == 0)
        return -1;
    grid->format = format;
    grid->rows = rows;
    grid->cols = cols;
    grid->tile_rows = tile_rows;
    grid->tile_cols = tile_cols;
    grid->tiles_down = rows / tile_rows + (rows % tile_rows != 0);
    grid->tiles_across = cols / tile_cols + (cols % tile_cols != 0);
    size_t tiles = grid->tiles_down * grid->tiles_across;
    if (grid->tiles_across && tiles / grid->tiles_across != grid->tiles_down)
        return -1;
    grid->by_tile = calloc(tiles + 1, sizeof *grid->by_tile);
    grid->by_row = calloc(rows + 1, sizeof *grid->by_row);
    grid->route = malloc(tiles + 1);
    if (!grid->by_tile || !grid->by_row || !grid->route) {
        mxv_grid_free(grid);
        return -1;
    }
    memset(grid->route, MXV_ROUTE_SKIP, tiles);
    mxv_metrics_init(&grid->whole, format, peak);
    for (size_t i = 0; i < MXV_ROUTE_COUNT; i++)
        mxv_metrics_init(&grid->by_route[i], format, peak);
    for (size_t i = 0; i < tiles; i++)
        mxv_metrics_init(&grid->by_tile[i], format, peak);
    for (size_t i = 0; i < rows; i++)
        mxv_metrics_init(&grid->by_row[i], format, peak);
    return 0;
}

void mxv_grid_free(struct mxv_grid *grid)
{
    free(grid->by_tile);
    free(grid->by_row);
    free(grid->route);
    memset(grid, 0, sizeof *grid);
}

// A dense block of the caller: words against either of the two kinds of expectation.
struct block {
    size_t row, col, rows, cols;
    unsigned route;
    const uint32_t *test, *expected;
    const struct mxv_truth_ball *exact;
};

static void add_stretch(struct mxv_grid *grid, const struct block *b, size_t row, size_t first,
                        size_t end)
{
    struct mxv_metrics stretch;
    mxv_metrics_init(&stretch, grid->format, grid->whole.peak);
    for (size_t i = row * b->cols + first; i < row * b->cols + end; i++) {
        if (b->exact)
            mxv_metrics_add_exact(&stretch, b->test[i], b->exact[i]);
        else
            mxv_metrics_add_word(&stretch, b->test[i], b->expected[i]);
    }
    size_t tile =
        (b->row + row) / grid->tile_rows * grid->tiles_across + (b->col + first) / grid->tile_cols;
    mxv_metrics_merge(&grid->by_tile[tile], &stretch);
    mxv_metrics_merge(&grid->by_row[b->row + row], &stretch);
    mxv_metrics_merge(&grid->whole, &stretch);
    if (b->route < MXV_ROUTE_COUNT) {
        mxv_metrics_merge(&grid->by_route[b->route], &stretch);
        grid->route[tile] = (uint8_t)b->route;
    }
}

static void add_block(struct mxv_grid *grid, const struct block *b)
{
    assert(b->row + b->rows <= grid->rows && b->col + b->cols <= grid->cols);
    for (size_t row = 0; row < b->rows; row++) {
        for (size_t first = 0; first < b->cols;) {
            size_t end = first + grid->tile_cols - (b->col + first) % grid->tile_cols;
            if (end > b->cols)
                end = b->cols;
            add_stretch(grid, b, row, first, end);
            first = end;
        }
    }
}

void mxv_grid_add_words(struct mxv_grid *grid, size_t row, size_t col, size_t rows, size_t cols,
                        unsigned route, const uint32_t *test, const uint32_t *expected)
{
    struct block b = {row, col, rows, cols, route, test, expected, NULL};
    add_block(grid, &b);
}

void mxv_grid_add_exact(struct mxv_grid *grid, size_t row, size_t col, size_t rows, size_t cols,
                        unsigned route, const uint32_t *test, const struct mxv_truth_ball *exact)
{
    struct block b = {row, col, rows, cols, route, test, NULL, exact};
    add_block(grid, &b);
}
