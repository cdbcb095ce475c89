// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the parts of a map picture stand, in dots, and the parts that are drawn around the cells.
#ifndef MXV_PNG_LAYOUT_H
#define MXV_PNG_LAYOUT_H

#include "map_scale.h"
#include "png_canvas.h"

enum {
    MXV_PNG_PLOT_SIZE = 768, // the plot is at most this wide and high
    MXV_PNG_CELL_LIMIT = 96, // a cell is at most this wide and high
    MXV_PNG_MIN_WIDTH = 760, // of the picture
    MXV_PNG_MIN_BODY = 300,  // height kept for plot, axis names and colour bar
    MXV_PNG_MARGIN = 20,
    MXV_PNG_TEXT_SCALE = 2,
    MXV_PNG_TEXT_HEIGHT = 18,
    MXV_PNG_LINE = 26,
    MXV_PNG_GREY_INK = 0x444444
};

struct mxv_png_layout {
    size_t cell_width, cell_height;
    size_t x, y, width, height; // the plot
    size_t body_height;         // plot height or what the colour bar needs
    size_t bar_x;
    size_t picture_width;
};

// Everything but y, which depends on the titles.
void mxv_png_layout_set(struct mxv_png_layout *layout, const struct mxv_map *map);

// Draws a text in lines that fit the width, from y down; returns y below it.
size_t mxv_png_draw_lines(struct mxv_png_canvas *canvas, size_t y, uint32_t colour, bool bold,
                          const char *text);
void mxv_png_draw_axes(struct mxv_png_canvas *canvas, const struct mxv_png_layout *layout,
                       const struct mxv_map *map);
void mxv_png_draw_bar(struct mxv_png_canvas *canvas, const struct mxv_png_layout *layout,
                      const struct mxv_map *map, const struct mxv_map_scale *scale);
// The hatching of a cell without data.
void mxv_png_draw_hatch(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                        size_t height);
void mxv_png_draw_cross(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                        size_t height);
// The key of colours and routes and the summary lines; returns y below them.
size_t mxv_png_draw_legend(struct mxv_png_canvas *canvas, size_t y, const struct mxv_map *map,
                           const struct mxv_map *original);

#endif
