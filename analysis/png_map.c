// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The picture of a map: cells, route borders, and what is drawn around them.
//
// A border stands on every edge between cells of different routes: a dark line, and inside each of
// the two cells a stripe in its route's colour, so that a region is outlined in its own colour.
// Below 3 dots a cell there is no room for borders and they are left out. tests/unit/test_map_png.c
// fails if this file is wrong.
#include "png_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HATCH_PITCH = 8, HATCH_COLOUR = 0xBDBDBD, GRID_COLOUR = 0xC8C8C8, BORDER_COLOUR = 0x000000 };
enum { MIN_GRID_CELL = 12, MIN_BORDER_CELL = 3, MIN_STRIPE_CELL = 8, MIN_CROSS_CELL = 9 };
enum { MIN_LETTER_CELL = 30, SUBTITLE_LIMIT = 480 };

void mxv_png_draw_hatch(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                        size_t height)
{
    mxv_png_canvas_fill(canvas, x, y, width, height, MXV_MAP_EMPTY_COLOUR);
    for (size_t j = y; j < y + height; j++) {
        for (size_t i = x; i < x + width; i++) {
            if ((i + j) % HATCH_PITCH < 2)
                mxv_png_canvas_dot(canvas, i, j, HATCH_COLOUR);
        }
    }
}

void mxv_png_draw_cross(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                        size_t height)
{
    size_t arm = width < height ? width : height;
    size_t left = x + (width - arm) / 2, top = y + (height - arm) / 2;
    for (size_t i = 2; i + 3 < arm; i++) {
        mxv_png_canvas_fill(canvas, left + i, top + i, 2, 2, 0xFFFFFF);
        mxv_png_canvas_fill(canvas, left + arm - 2 - i, top + i, 2, 2, 0xFFFFFF);
    }
}

static uint32_t cell_colour(const struct mxv_map_scale *scale, double value)
{
    if (isinf(value))
        return MXV_MAP_BROKEN_COLOUR;
    return value == 0 ? MXV_MAP_ZERO_COLOUR : mxv_map_colour(mxv_map_scale_level(scale, value));
}

static unsigned route_at(const struct mxv_map *map, size_t row, size_t col)
{
    return map->routes ? map->routes[row * map->cols + col] : MXV_ROUTE_SKIP;
}

// Route letter at the top, value at the bottom, where there is room.
static void draw_cell_text(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l,
                           const struct mxv_map *map, size_t row, size_t col, uint32_t colour)
{
    size_t x = l->x + col * l->cell_width, y = l->y + row * l->cell_height;
    if (l->cell_width < MIN_LETTER_CELL || l->cell_height < MIN_LETTER_CELL)
        return;
    double value = map->values[row * map->cols + col];
    unsigned route = route_at(map, row, col);
    const char letter[] = {mxv_map_route_letter(route), '\0'};
    if (route != MXV_ROUTE_SKIP)
        mxv_png_canvas_text(canvas, x + 8, y + 8, MXV_PNG_TEXT_SCALE, mxv_map_ink_on(colour),
                            letter);
    char text[32];
    mxv_map_number_print(value, text, sizeof text);
    size_t width = mxv_png_text_width(text, MXV_PNG_TEXT_SCALE);
    if (isfinite(value) && width + 12 <= l->cell_width && l->cell_height >= 48)
        mxv_png_canvas_text(canvas, x + (l->cell_width - width) / 2, y + l->cell_height - 24,
                            MXV_PNG_TEXT_SCALE, mxv_map_ink_on(colour), text);
}

static void draw_cell(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l,
                      const struct mxv_map *map, const struct mxv_map_scale *scale, size_t row,
                      size_t col)
{
    size_t x = l->x + col * l->cell_width, y = l->y + row * l->cell_height;
    double value = map->values[row * map->cols + col];
    if (isnan(value)) {
        mxv_png_draw_hatch(canvas, x, y, l->cell_width, l->cell_height);
        return;
    }
    uint32_t colour = cell_colour(scale, value);
    mxv_png_canvas_fill(canvas, x, y, l->cell_width, l->cell_height, colour);
    bool large = l->cell_width >= MIN_GRID_CELL && l->cell_height >= MIN_GRID_CELL;
    if (large) {
        mxv_png_canvas_fill(canvas, x + l->cell_width - 1, y, 1, l->cell_height, GRID_COLOUR);
        mxv_png_canvas_fill(canvas, x, y + l->cell_height - 1, l->cell_width, 1, GRID_COLOUR);
    }
    if (isinf(value) && l->cell_width >= MIN_CROSS_CELL && l->cell_height >= MIN_CROSS_CELL)
        mxv_png_draw_cross(canvas, x, y, l->cell_width, l->cell_height);
    draw_cell_text(canvas, l, map, row, col, colour);
}

// One side of a cell: a dark line, then the stripe of its route; in a small cell a line in its
// colour.
static void draw_side(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l, size_t row,
                      size_t col, int down, int right, unsigned route)
{
    size_t x = l->x + col * l->cell_width, y = l->y + row * l->cell_height;
    size_t w = l->cell_width, h = l->cell_height, smaller = w < h ? w : h;
    bool skipped = route == MXV_ROUTE_SKIP, small = smaller < MIN_STRIPE_CELL;
    size_t lines = small ? !skipped : skipped ? 1 : smaller < 24 ? 3 : 4;
    for (size_t i = 0; i < lines; i++) {
        uint32_t colour = i == 0 && !small ? BORDER_COLOUR : mxv_map_route_colour(route);
        if (down)
            mxv_png_canvas_fill(canvas, x, down > 0 ? y + h - 1 - i : y + i, w, 1, colour);
        if (right)
            mxv_png_canvas_fill(canvas, right > 0 ? x + w - 1 - i : x + i, y, 1, h, colour);
    }
}

static void draw_borders_of(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l,
                            const struct mxv_map *map, size_t row, size_t col)
{
    unsigned route = route_at(map, row, col);
    bool skipped = route == MXV_ROUTE_SKIP;
    if (row == 0 ? !skipped : route_at(map, row - 1, col) != route)
        draw_side(canvas, l, row, col, -1, 0, route);
    if (row + 1 == map->rows ? !skipped : route_at(map, row + 1, col) != route)
        draw_side(canvas, l, row, col, 1, 0, route);
    if (col == 0 ? !skipped : route_at(map, row, col - 1) != route)
        draw_side(canvas, l, row, col, 0, -1, route);
    if (col + 1 == map->cols ? !skipped : route_at(map, row, col + 1) != route)
        draw_side(canvas, l, row, col, 0, 1, route);
}

static void draw_plot(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l,
                      const struct mxv_map *map, const struct mxv_map_scale *scale)
{
    for (size_t i = 0; i < map->rows * map->cols; i++)
        draw_cell(canvas, l, map, scale, i / map->cols, i % map->cols);
    bool room = l->cell_width >= MIN_BORDER_CELL && l->cell_height >= MIN_BORDER_CELL;
    for (size_t i = 0; map->routes && room && i < map->rows * map->cols; i++)
        draw_borders_of(canvas, l, map, i / map->cols, i % map->cols);
    mxv_png_canvas_frame(canvas, l->x - 1, l->y - 1, l->width + 2, l->height + 2, 1, 0);
}

// A subtitle too long for a picture ends in dots.
static size_t draw_subtitle(struct mxv_png_canvas *canvas, size_t y, const char *subtitle)
{
    char shown[SUBTITLE_LIMIT + 5];
    size_t length = strlen(subtitle);
    snprintf(shown, sizeof shown, "%.*s%s", SUBTITLE_LIMIT, subtitle,
             length > SUBTITLE_LIMIT ? " ..." : "");
    return mxv_png_draw_lines(canvas, y, MXV_PNG_GREY_INK, false, shown);
}

// Draws into a canvas that is high enough and cuts it to what was used.
static void draw_picture(struct mxv_png_canvas *canvas, struct mxv_png_layout *layout,
                         const struct mxv_map *map, const struct mxv_map *original)
{
    struct mxv_map_scale scale = mxv_map_scale_for(original);
    size_t y = mxv_png_draw_lines(canvas, MXV_PNG_MARGIN, 0, true, map->title);
    y = draw_subtitle(canvas, y, map->subtitle);
    layout->y = y + 12;
    draw_plot(canvas, layout, map, &scale);
    mxv_png_draw_axes(canvas, layout, map);
    mxv_png_draw_bar(canvas, layout, map, &scale);
    size_t below_plot = layout->y + layout->height + 3 * MXV_PNG_LINE;
    size_t below_body = layout->y + layout->body_height + MXV_PNG_LINE;
    y = mxv_png_draw_legend(canvas, below_plot > below_body ? below_plot : below_body, map,
                            original);
    canvas->height =
        y + MXV_PNG_MARGIN - 8 < canvas->height ? y + MXV_PNG_MARGIN - 8 : canvas->height;
}

// Lines of text a picture may need: both titles broken at half width, legend and summary.
static size_t text_height(const struct mxv_png_layout *layout, const struct mxv_map *map)
{
    size_t characters =
        (layout->picture_width - 2 * MXV_PNG_MARGIN) / MXV_PNG_GLYPH_ADVANCE / MXV_PNG_TEXT_SCALE;
    size_t titles = 2 * (strlen(map->title) + SUBTITLE_LIMIT) / characters + 2;
    return (titles + MXV_ROUTE_COUNT + 24) * MXV_PNG_LINE;
}

enum mxv_status mxv_map_write_png(const struct mxv_map *map, const char *path, char *message,
                                  size_t message_size)
{
    struct mxv_map reduced;
    struct mxv_png_canvas canvas;
    enum mxv_status status = mxv_map_reduce(map, MXV_PNG_PLOT_SIZE, MXV_PNG_PLOT_SIZE, &reduced);
    if (status == MXV_OK) {
        struct mxv_png_layout layout;
        mxv_png_layout_set(&layout, &reduced);
        size_t height = layout.body_height + text_height(&layout, &reduced);
        status = MXV_ERR_MEMORY;
        if (mxv_png_canvas_init(&canvas, layout.picture_width, height, 0xFFFFFF)) {
            draw_picture(&canvas, &layout, &reduced, map);
            status = mxv_png_canvas_write(&canvas, path, message, message_size);
            mxv_png_canvas_free(&canvas);
            mxv_map_free(&reduced);
            return status;
        }
        mxv_map_free(&reduced);
    }
    if (message && message_size)
        snprintf(message, message_size, "%s: %s", path,
                 status == MXV_ERR_INPUT ? "the map is empty" : "no memory for the picture");
    return status;
}
