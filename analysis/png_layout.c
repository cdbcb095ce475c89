// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Layout, titles, axes and colour bar of a map picture. tests/unit/test_map_png.c fails if this
// file is wrong.
#include "png_layout.h"

#include <stdio.h>
#include <string.h>

enum { TICK = 7, BAR_WIDTH = 26, BAR_GAP = 30, MARK_CHARACTERS = 7, MARKS = 16 };

static size_t number_width(size_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", number);
    return mxv_png_text_width(text, MXV_PNG_TEXT_SCALE);
}

static size_t axis_end(const struct mxv_map_axis *axis)
{
    return axis->origin + axis->extent;
}

static size_t cell_size(size_t cells)
{
    size_t size = MXV_PNG_PLOT_SIZE / cells;
    return size < 1 ? 1 : size > MXV_PNG_CELL_LIMIT ? MXV_PNG_CELL_LIMIT : size;
}

void mxv_png_layout_set(struct mxv_png_layout *layout, const struct mxv_map *map)
{
    memset(layout, 0, sizeof *layout);
    layout->cell_width = cell_size(map->cols);
    layout->cell_height = cell_size(map->rows);
    size_t square =
        layout->cell_width < layout->cell_height ? layout->cell_width : layout->cell_height;
    if (square >= 4)
        layout->cell_width = layout->cell_height = square;
    layout->width = layout->cell_width * map->cols;
    layout->height = layout->cell_height * map->rows;
    layout->body_height = layout->height > MXV_PNG_MIN_BODY ? layout->height : MXV_PNG_MIN_BODY;
    layout->x = MXV_PNG_MARGIN + MXV_PNG_LINE + number_width(axis_end(&map->down)) + TICK + 6;
    layout->bar_x = layout->x + layout->width + BAR_GAP;
    size_t end = layout->bar_x + BAR_WIDTH + TICK + 6 +
                 MARK_CHARACTERS * MXV_PNG_GLYPH_ADVANCE * MXV_PNG_TEXT_SCALE + MXV_PNG_LINE +
                 MXV_PNG_MARGIN;
    layout->picture_width = end > MXV_PNG_MIN_WIDTH ? end : MXV_PNG_MIN_WIDTH;
}

// Characters of the next line: up to the last blank that fits, or as many as fit.
static size_t line_length(const char *text, size_t fits)
{
    size_t length = strlen(text);
    if (length <= fits)
        return length;
    for (size_t i = fits; i > fits / 2; i--) {
        if (text[i] == ' ')
            return i;
    }
    return fits;
}

size_t mxv_png_draw_lines(struct mxv_png_canvas *canvas, size_t y, uint32_t colour, bool bold,
                          const char *text)
{
    size_t fits =
        (canvas->width - 2 * MXV_PNG_MARGIN) / (MXV_PNG_GLYPH_ADVANCE * MXV_PNG_TEXT_SCALE);
    char line[MXV_MAP_TITLE_SIZE + 1];
    while (*text) {
        size_t length = line_length(text, fits < sizeof line - 1 ? fits : sizeof line - 1);
        memcpy(line, text, length);
        line[length] = '\0';
        mxv_png_canvas_text(canvas, MXV_PNG_MARGIN, y, MXV_PNG_TEXT_SCALE, colour, line);
        if (bold)
            mxv_png_canvas_text(canvas, MXV_PNG_MARGIN + 1, y, MXV_PNG_TEXT_SCALE, colour, line);
        y += MXV_PNG_LINE;
        text += length;
        text += *text == ' ';
    }
    return y;
}

static void draw_number(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", number);
    mxv_png_canvas_text(canvas, x, y, MXV_PNG_TEXT_SCALE, MXV_PNG_GREY_INK, text);
}

static void draw_tick_across(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l,
                             size_t at, size_t number)
{
    size_t x = l->x + at, y = l->y + l->height;
    mxv_png_canvas_fill(canvas, x, y, 2, TICK, MXV_PNG_GREY_INK);
    draw_number(canvas, x - number_width(number) / 2, y + TICK + 4, number);
}

static void draw_tick_down(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l, size_t at,
                           size_t number)
{
    size_t x = l->x - TICK, y = l->y + at;
    mxv_png_canvas_fill(canvas, x, y, TICK, 2, MXV_PNG_GREY_INK);
    draw_number(canvas, x - 4 - number_width(number), y - 6, number);
}

// Marks at every stride-th cell border, and at the end of the axis where it does not crowd the
// last.
static void draw_ticks(struct mxv_png_canvas *canvas, const struct mxv_png_layout *l,
                       const struct mxv_map_axis *axis, size_t cells, size_t cell, size_t room,
                       void (*draw)(struct mxv_png_canvas *, const struct mxv_png_layout *, size_t,
                                    size_t))
{
    size_t stride = mxv_map_axis_stride(cells, cells * cell / room + 1), latest = 0;
    for (size_t i = 0; i < cells; i += stride) {
        draw(canvas, l, i * cell, axis->origin + i * axis->step);
        latest = i * cell;
    }
    if (cells * cell - latest >= room)
        draw(canvas, l, cells * cell, axis_end(axis));
}

static void draw_text_up_beside(struct mxv_png_canvas *canvas, size_t x,
                                const struct mxv_png_layout *l, const char *text)
{
    size_t length = mxv_png_text_width(text, MXV_PNG_TEXT_SCALE);
    size_t y = length < l->height ? l->y + (l->height - length) / 2 : l->y;
    mxv_png_canvas_text_up(canvas, x, y, MXV_PNG_TEXT_SCALE, 0, text);
}

void mxv_png_draw_axes(struct mxv_png_canvas *canvas, const struct mxv_png_layout *layout,
                       const struct mxv_map *map)
{
    draw_ticks(canvas, layout, &map->across, map->cols, layout->cell_width,
               number_width(axis_end(&map->across)) + 18, draw_tick_across);
    draw_ticks(canvas, layout, &map->down, map->rows, layout->cell_height, MXV_PNG_LINE,
               draw_tick_down);
    draw_text_up_beside(canvas, MXV_PNG_MARGIN, layout, map->down.label);
    size_t label = mxv_png_text_width(map->across.label, MXV_PNG_TEXT_SCALE);
    size_t x = label < layout->width ? layout->x + (layout->width - label) / 2 : layout->x;
    mxv_png_canvas_text(canvas, x, layout->y + layout->height + TICK + MXV_PNG_LINE,
                        MXV_PNG_TEXT_SCALE, 0, map->across.label);
}

void mxv_png_draw_bar(struct mxv_png_canvas *canvas, const struct mxv_png_layout *layout,
                      const struct mxv_map *map, const struct mxv_map_scale *scale)
{
    size_t height = layout->body_height, x = layout->bar_x;
    for (size_t i = 0; i < height; i++) {
        double level = 1 - (double)i / (double)(height - 1);
        mxv_png_canvas_fill(canvas, x, layout->y + i, BAR_WIDTH, 1, mxv_map_colour(level));
    }
    mxv_png_canvas_frame(canvas, x, layout->y, BAR_WIDTH, height, 1, MXV_PNG_GREY_INK);
    double marks[MARKS];
    size_t count = mxv_map_scale_marks(scale, marks, MARKS);
    for (size_t i = 0; i < count; i++) {
        double level = marks[i] > 0 ? mxv_map_scale_level(scale, marks[i]) : 0;
        size_t y = layout->y + (size_t)((1 - level) * (double)(height - 2) + 0.5);
        mxv_png_canvas_fill(canvas, x + BAR_WIDTH, y, TICK, 2, MXV_PNG_GREY_INK);
        char text[32];
        mxv_map_number_print(marks[i], text, sizeof text);
        mxv_png_canvas_text(canvas, x + BAR_WIDTH + TICK + 4, y - 6, MXV_PNG_TEXT_SCALE,
                            MXV_PNG_GREY_INK, text);
    }
    char name[MXV_MAP_LABEL_SIZE + 32];
    snprintf(name, sizeof name, "%s%s", map->unit, scale->logarithmic ? " (log scale)" : "");
    size_t length = mxv_png_text_width(name, MXV_PNG_TEXT_SCALE);
    mxv_png_canvas_text_up(
        canvas,
        x + BAR_WIDTH + TICK + 10 + MARK_CHARACTERS * MXV_PNG_GLYPH_ADVANCE * MXV_PNG_TEXT_SCALE,
        layout->y + (length < height ? (height - length) / 2 : 0), MXV_PNG_TEXT_SCALE, 0, name);
}
