// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Where block scales lie in memory. See mxverify/pack.h.
//
// Every tiled layout is tiles of R rows and 4 scale columns, row-major over tiles, padded to whole
// tiles. Inside a tile: 128x4 (cuBLAS documentation, CUTLASS Sm1xxBlkScaledConfig) keeps rows r and
// r + 32 side by side, 64x4 (SageAttention3) rows r and r + 16, 8x4 (TensorRT-LLM) none: offset =
// (r mod S) * (R / S) * 4 + (r / S) * 4 + column, S = 32, 16, 8. tests/unit/test_pack.c fails if
// this file is wrong.
#include <mxverify/pack.h>

/// A tile: rows, scale columns, and the row distance of neighbours in memory.
struct tile {
    size_t rows;
    size_t cols;
    size_t distance;
};

static MXV_FN struct tile tile_of(enum mxv_scale_layout layout)
{
    MXV_TABLE struct tile tiles[] = {{1, 1, 1}, {128, 4, 32}, {8, 4, 8}, {64, 4, 16}};
    return tiles[layout];
}

MXV_FN size_t mxv_scale_layout_tile_rows(enum mxv_scale_layout layout)
{
    return tile_of(layout).rows;
}

MXV_FN size_t mxv_scale_layout_tile_cols(enum mxv_scale_layout layout)
{
    return tile_of(layout).cols;
}

static MXV_FN size_t tiles_across(size_t count, size_t size)
{
    return count / size + (count % size != 0);
}

MXV_FN size_t mxv_scale_layout_size(enum mxv_scale_layout layout, size_t rows, size_t cols)
{
    const struct tile t = tile_of(layout);
    return tiles_across(rows, t.rows) * tiles_across(cols, t.cols) * t.rows * t.cols;
}

MXV_FN size_t mxv_scale_layout_offset(enum mxv_scale_layout layout, size_t cols, size_t row,
                                      size_t col)
{
    const struct tile t = tile_of(layout);
    const size_t tile_index = row / t.rows * tiles_across(cols, t.cols) + col / t.cols;
    const size_t r = row % t.rows;
    const size_t line = t.rows / t.distance * t.cols;
    return tile_index * t.rows * t.cols + r % t.distance * line + r / t.distance * t.cols +
           col % t.cols;
}

MXV_FN void mxv_scale_layout_write(enum mxv_scale_layout layout, const uint8_t *scales, size_t rows,
                                   size_t cols, uint8_t fill, uint8_t *out)
{
    const size_t size = mxv_scale_layout_size(layout, rows, cols);
    for (size_t i = 0; i < size; i++)
        out[i] = fill;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            out[mxv_scale_layout_offset(layout, cols, r, c)] = scales[r * cols + c];
    }
}

MXV_FN void mxv_scale_layout_read(enum mxv_scale_layout layout, const uint8_t *in, size_t rows,
                                  size_t cols, uint8_t *scales)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            scales[r * cols + c] = in[mxv_scale_layout_offset(layout, cols, r, c)];
    }
}
