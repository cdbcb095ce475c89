// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The key of a map picture: what the special colours mean, which outline is which route, and the
// summary lines. tests/unit/test_map_png.c fails if this file is wrong.
#include "png_layout.h"

#include <stdio.h>

enum { SWATCH = 20, ITEM_GAP = 28 };

// Items one after the other, going on below when a line is full.
struct flow {
    struct mxv_png_canvas *canvas;
    size_t x, y;
};

// Makes room for a swatch and its text; returns the x of the swatch.
static size_t place_item(struct flow *flow, const char *text)
{
    size_t width = SWATCH + 8 + mxv_png_text_width(text, MXV_PNG_TEXT_SCALE);
    if (flow->x > MXV_PNG_MARGIN && flow->x + width > flow->canvas->width - MXV_PNG_MARGIN) {
        flow->x = MXV_PNG_MARGIN;
        flow->y += MXV_PNG_LINE + 2;
    }
    size_t x = flow->x;
    mxv_png_canvas_text(flow->canvas, x + SWATCH + 8, flow->y + 3, MXV_PNG_TEXT_SCALE, 0, text);
    flow->x += width + ITEM_GAP;
    return x;
}

static void draw_colour_item(struct flow *flow, uint32_t colour, const char *text)
{
    size_t x = place_item(flow, text);
    mxv_png_canvas_fill(flow->canvas, x, flow->y, SWATCH, SWATCH, colour);
    if (colour == MXV_MAP_EMPTY_COLOUR)
        mxv_png_draw_hatch(flow->canvas, x, flow->y, SWATCH, SWATCH);
    if (colour == MXV_MAP_BROKEN_COLOUR)
        mxv_png_draw_cross(flow->canvas, x, flow->y, SWATCH, SWATCH);
    mxv_png_canvas_frame(flow->canvas, x, flow->y, SWATCH, SWATCH, 1, MXV_PNG_GREY_INK);
}

static void draw_route_item(struct flow *flow, unsigned route)
{
    char text[64];
    snprintf(text, sizeof text, "route %s (%c)", mxv_map_route_name(route),
             mxv_map_route_letter(route));
    size_t x = place_item(flow, text);
    mxv_png_canvas_frame(flow->canvas, x, flow->y, SWATCH, SWATCH, 1, 0);
    mxv_png_canvas_frame(flow->canvas, x + 1, flow->y + 1, SWATCH - 2, SWATCH - 2, 4,
                         mxv_map_route_colour(route));
}

static void print_cell_line(char *buffer, size_t size, const struct mxv_map *map,
                            const struct mxv_map *original)
{
    int length = snprintf(buffer, size, "one cell: %zu x %zu (%s x %s)", map->down.step,
                          map->across.step, map->down.label, map->across.label);
    size_t high = map->down.step / original->down.step;
    size_t wide = map->across.step / original->across.step;
    if (high * wide > 1 && length > 0 && (size_t)length < size)
        snprintf(buffer + length, size - (size_t)length, ", the largest of its %zu x %zu values",
                 high, wide);
}

size_t mxv_png_draw_legend(struct mxv_png_canvas *canvas, size_t y, const struct mxv_map *map,
                           const struct mxv_map *original)
{
    struct flow flow = {canvas, MXV_PNG_MARGIN, y};
    struct mxv_map_range range = mxv_map_range(map);
    if (range.zero)
        draw_colour_item(&flow, MXV_MAP_ZERO_COLOUR, "exact (0)");
    if (range.broken)
        draw_colour_item(&flow, MXV_MAP_BROKEN_COLOUR, "NaN or Inf");
    if (range.empty)
        draw_colour_item(&flow, MXV_MAP_EMPTY_COLOUR, "not computed");
    unsigned routes[MXV_ROUTE_COUNT + 1];
    size_t count = mxv_map_routes_present(map, routes);
    for (size_t i = 0; i < count; i++)
        draw_route_item(&flow, routes[i]);
    y = flow.y + (flow.x > MXV_PNG_MARGIN ? MXV_PNG_LINE + 8 : 0);
    char line[MXV_MAP_TITLE_SIZE + 160];
    mxv_map_worst_line(original, line, sizeof line);
    y = mxv_png_draw_lines(canvas, y, 0, false, line);
    mxv_map_count_line(original, line, sizeof line);
    y = mxv_png_draw_lines(canvas, y, MXV_PNG_GREY_INK, false, line);
    print_cell_line(line, sizeof line, map, original);
    return mxv_png_draw_lines(canvas, y, MXV_PNG_GREY_INK, false, line);
}
