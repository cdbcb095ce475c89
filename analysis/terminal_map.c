// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A map drawn with characters.
//
// Three ways, by what the terminal can do. ASCII: a digit 0 to 9 per cell for its level on the
// scale,
// '.' for an exact 0, '!' for NaN or Inf, '-' for not computed, and in front of it the route's
// letter where the map has routes. Colour: the cell's colour of the picture behind the same
// letters. Colour and Unicode without routes: half blocks, two rows of cells in one line. A map too
// large for the width is reduced first. tests/unit/test_map_terminal.c fails if this file is wrong.
#include "map_scale.h"
#include "terminal_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ROWS = 48, MIN_COLUMNS = 20, LEVELS = 10 };

struct drawing {
    const struct mxv_map *map;
    const struct mxv_map_terminal *terminal;
    struct mxv_map_scale scale;
    struct mxv_text text;
    size_t number_width; // of row labels
    size_t room;         // characters beside them
    size_t cell_width;   // characters: 1, with routes 2, or 3 with a blank where there is room
};

static size_t digits(size_t number)
{
    size_t count = 1;
    while (number >= 10) {
        number /= 10;
        count++;
    }
    return count;
}

// Nearest colour of the 6 x 6 x 6 cube of the 256-colour palette.
static unsigned palette_index(uint32_t colour)
{
    static const unsigned steps[] = {0, 95, 135, 175, 215, 255};
    unsigned index = 16, weight = 36;
    for (unsigned shift = 24; shift > 0; shift -= 8, weight /= 6) {
        int channel = (int)(colour >> (shift - 8) & 0xFF);
        unsigned best = 0;
        for (unsigned i = 1; i < 6; i++) {
            if (abs(channel - (int)steps[i]) < abs(channel - (int)steps[best]))
                best = i;
        }
        index += best * weight;
    }
    return index;
}

static int level_digit(const struct drawing *d, double value)
{
    int level = (int)(mxv_map_scale_level(&d->scale, value) * LEVELS);
    return level < LEVELS ? level : LEVELS - 1;
}

static char level_character(const struct drawing *d, double value)
{
    if (isnan(value))
        return '-';
    if (isinf(value))
        return '!';
    return value == 0 ? '.' : (char)('0' + level_digit(d, value));
}

static uint32_t value_colour(const struct drawing *d, double value)
{
    if (isnan(value))
        return MXV_MAP_EMPTY_COLOUR;
    if (isinf(value))
        return MXV_MAP_BROKEN_COLOUR;
    return value == 0 ? MXV_MAP_ZERO_COLOUR : mxv_map_colour(mxv_map_scale_level(&d->scale, value));
}

static void add_coloured(struct drawing *d, uint32_t colour, const char *content)
{
    mxv_text_add(&d->text, "\033[38;5;%u;48;5;%um%s\033[0m", mxv_map_ink_on(colour) ? 231u : 16u,
                 palette_index(colour), content);
}

static void add_cell(struct drawing *d, size_t row, size_t col)
{
    const struct mxv_map *map = d->map;
    double value = map->values[row * map->cols + col];
    char content[3] = {0};
    size_t length = 0;
    if (map->routes)
        content[length++] =
            isnan(value) ? ' ' : mxv_map_route_letter(map->routes[row * map->cols + col]);
    content[length] = level_character(d, value);
    if (d->terminal->colour)
        add_coloured(d, value_colour(d, value), content);
    else
        mxv_text_add(&d->text, "%*s", (int)d->cell_width, content);
}

static void add_half_blocks(struct drawing *d, size_t row, size_t col)
{
    const struct mxv_map *map = d->map;
    uint32_t upper = value_colour(d, map->values[row * map->cols + col]);
    if (row + 1 == map->rows) {
        mxv_text_add(&d->text, "\033[38;5;%um\u2580\033[0m", palette_index(upper));
        return;
    }
    uint32_t lower = value_colour(d, map->values[(row + 1) * map->cols + col]);
    mxv_text_add(&d->text, "\033[38;5;%u;48;5;%um\u2580\033[0m", palette_index(upper),
                 palette_index(lower));
}

// The tokens at the top, each above the cell it begins. The last may stand out beyond the cells.
static void add_head(struct drawing *d)
{
    const struct mxv_map_axis *axis = &d->map->across;
    size_t width = digits(axis->origin + axis->extent) + 1, stride = 1, column = 0;
    while (stride * d->cell_width < width)
        stride *= 2;
    mxv_text_add(&d->text, "%*s  %s\n", (int)d->number_width, "", axis->label);
    mxv_text_add(&d->text, "%*s  ", (int)d->number_width, "");
    for (size_t i = 0; i < d->map->cols; i += stride) {
        size_t place = i * d->cell_width + d->cell_width / 3;
        size_t number = axis->origin + i * axis->step;
        if (place + digits(number) > d->room && i > 0)
            break;
        mxv_text_add(&d->text, "%*s%zu", (int)(place - column), "", number);
        column = place + digits(number);
    }
    mxv_text_add(&d->text, "\n");
}

static void add_rows(struct drawing *d, bool half_blocks)
{
    const struct mxv_map_axis *axis = &d->map->down;
    size_t label_length = strlen(axis->label);
    if (label_length > d->number_width)
        mxv_text_add(&d->text, "%s\n", axis->label);
    for (size_t row = 0; row < d->map->rows; row += half_blocks ? 2 : 1) {
        mxv_text_add(&d->text, "%*zu  ", (int)d->number_width, axis->origin + row * axis->step);
        for (size_t col = 0; col < d->map->cols; col++) {
            if (half_blocks)
                add_half_blocks(d, row, col);
            else
                add_cell(d, row, col);
        }
        mxv_text_add(&d->text, "\n");
    }
}

static void add_scale_legend(struct drawing *d)
{
    mxv_text_add(&d->text, "%s: ", d->map->unit);
    for (int i = 0; i < LEVELS; i++) {
        const char digit[] = {(char)('0' + i), '\0'};
        if (d->terminal->colour)
            add_coloured(d, mxv_map_colour((i + 0.5) / LEVELS), digit);
        else
            mxv_text_add(&d->text, "%s", digit);
    }
    char low[32], high[32];
    mxv_map_number_print(d->scale.low, low, sizeof low);
    mxv_map_number_print(d->scale.high, high, sizeof high);
    mxv_text_add(&d->text, " from %s to %s%s", low, high, d->scale.logarithmic ? " (log)" : "");
    static const struct {
        double value;
        const char *sign, *text;
    } special[] = {{0, ".", "exact"}, {INFINITY, "!", "NaN/Inf"}, {NAN, "-", "not computed"}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        mxv_text_add(&d->text, "  ");
        if (d->terminal->colour)
            add_coloured(d, value_colour(d, special[i].value), special[i].sign);
        else
            mxv_text_add(&d->text, "%s", special[i].sign);
        mxv_text_add(&d->text, " %s", special[i].text);
    }
    mxv_text_add(&d->text, "\n");
}

static void add_legend(struct drawing *d, const struct mxv_map *original)
{
    char line[MXV_MAP_TITLE_SIZE + 160];
    unsigned routes[MXV_ROUTE_COUNT + 1];
    size_t count = mxv_map_routes_present(d->map, routes);
    add_scale_legend(d);
    for (size_t i = 0; i < count; i++)
        mxv_text_add(&d->text, "%s%c %s%s", i == 0 ? "routes: " : "  ",
                     mxv_map_route_letter(routes[i]), mxv_map_route_name(routes[i]),
                     i + 1 == count ? "\n" : "");
    mxv_map_worst_line(original, line, sizeof line);
    mxv_text_add(&d->text, "%s\n", line);
    mxv_map_count_line(original, line, sizeof line);
    mxv_text_add(&d->text, "%s; one character cell: %zu x %zu\n", line, d->map->down.step,
                 d->map->across.step);
}

char *mxv_map_text(const struct mxv_map *map, const struct mxv_map_terminal *terminal)
{
    struct drawing d = {.terminal = terminal, .scale = mxv_map_scale_for(map)};
    bool half_blocks = terminal->colour && terminal->unicode && !map->routes;
    size_t columns = terminal->columns > MIN_COLUMNS ? terminal->columns : MIN_COLUMNS;
    size_t rows = terminal->rows ? terminal->rows : DEFAULT_ROWS;
    d.number_width = digits(map->down.origin + map->down.extent);
    d.cell_width = map->routes ? 2 : 1;
    d.room = columns > d.number_width + 4 ? columns - d.number_width - 2 : 2;
    struct mxv_map reduced;
    if (mxv_map_reduce(map, half_blocks ? rows * 2 : rows, d.room / d.cell_width, &reduced) !=
        MXV_OK)
        return NULL;
    d.map = &reduced;
    if (map->routes && !terminal->colour && reduced.cols * 3 <= d.room)
        d.cell_width = 3;
    if (map->title[0])
        mxv_text_add(&d.text, "%s\n", map->title);
    if (map->subtitle[0])
        mxv_text_add(&d.text, "%s\n", map->subtitle);
    add_head(&d);
    add_rows(&d, half_blocks);
    add_legend(&d, map);
    mxv_map_free(&reduced);
    return mxv_text_take(&d.text);
}
