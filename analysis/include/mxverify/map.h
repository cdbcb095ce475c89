// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Error maps: a number per tile or element, as a picture (PNG), an array (NPY) or a drawing of
// characters. docs/reports.md says how to read them.
//
// A cell is a finite number >= 0 (an error), +Inf (broken: a NaN or an infinity on one side only)
// or NaN (no data: the tile was skipped by the plan or the mask).
//
// Writers are all or nothing: a temporary file in the same folder, flushed, then renamed; on
// failure it is removed and what stood at the path stays. Pictures of equal maps are equal byte for
// byte (one libpng and zlib). Threads: no shared state.
#ifndef MXVERIFY_MAP_H
#define MXVERIFY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/compare.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Route id of a cell that joins tiles of several routes, and of a map that has none.
enum { MXV_MAP_ROUTE_MIXED = 255 };

enum { MXV_MAP_TITLE_SIZE = 192, MXV_MAP_SUBTITLE_SIZE = 4096, MXV_MAP_LABEL_SIZE = 48 };

// One axis: cell i covers positions [origin + i * step, origin + (i + 1) * step) of `label`, and no
// position at or beyond origin + extent (the last cell may be ragged).
struct mxv_map_axis {
    char label[MXV_MAP_LABEL_SIZE]; // "query token", "key token", "head dim"
    size_t origin, step, extent;
};

struct mxv_map {
    size_t rows, cols;
    double *values;  // [rows][cols], owned
    uint8_t *routes; // [rows][cols] enum mxv_route or MXV_MAP_ROUTE_MIXED, owned; NULL: no routes
    struct mxv_map_axis down, across;
    char title[MXV_MAP_TITLE_SIZE];       // what the map shows, of which case
    char subtitle[MXV_MAP_SUBTITLE_SIZE]; // the case line; may be empty
    char unit[MXV_MAP_LABEL_SIZE];        // of the values
    bool log_scale; // colours by the logarithm; exact zeros have their own colour
};

// Every cell NaN, routes (if wanted) MXV_ROUTE_SKIP, axes of step 1. MXV_ERR_MEMORY, or
// MXV_ERR_INPUT for an empty map. mxv_map_free takes a failed or zeroed map too.
enum mxv_status mxv_map_init(struct mxv_map *map, size_t rows, size_t cols, bool with_routes);
void mxv_map_free(struct mxv_map *map);

// Score map: one cell per tile of the grid, the metric of the tile (its magnitude for a signed
// one); tiles without elements, and a metric without meaning in a tile, are NaN. MXV_ERR_INPUT for
// a metric of which more is better. Titles are copied in, cut at their size; NULL is empty.
enum mxv_status mxv_map_from_grid(struct mxv_map *map, const struct mxv_grid *grid,
                                  enum mxv_metric metric, const char *title, const char *subtitle);

// Output map: one cell per element [rows][cols] (query token x head dim), its error in ulp: code
// distance from the expected word, or |error| against the exact value.
enum mxv_status mxv_map_from_words(struct mxv_map *map, enum mxv_element format, size_t rows,
                                   size_t cols, const uint32_t *test, const uint32_t *expected,
                                   const char *title, const char *subtitle);
enum mxv_status mxv_map_from_exact(struct mxv_map *map, enum mxv_element format, size_t rows,
                                   size_t cols, const uint32_t *test,
                                   const struct mxv_truth_ball *exact, const char *title,
                                   const char *subtitle);

// *out = the map with blocks of cells joined so that it has at most max_rows x max_cols cells. A
// joined cell holds the largest of its values (+Inf over all, NaN only if all are NaN), and its
// route when all its cells with data agree. max_* > 0.
enum mxv_status mxv_map_reduce(const struct mxv_map *map, size_t max_rows, size_t max_cols,
                               struct mxv_map *out);

// What a reader wants first: smallest nonzero and largest finite value, and counts of cells.
struct mxv_map_range {
    double smallest, largest; // of the finite nonzero cells; 0 when there are none
    size_t zero, nonzero, broken, empty;
    size_t worst_row, worst_col; // cell of the first broken or else largest value
};
struct mxv_map_range mxv_map_range(const struct mxv_map *map);

// Draws the map at 500 to 1600 pixels with title, axes in tokens, colour bar, and legend; borders
// are drawn between cells of different routes. Maps larger than the picture are reduced.
enum mxv_status mxv_map_write_png(const struct mxv_map *map, const char *path, char *message,
                                  size_t message_size);

// The values as binary64 [rows][cols] (NaN: no data, Inf: broken).
enum mxv_status mxv_map_write_npy(const struct mxv_map *map, const char *path, char *message,
                                  size_t message_size);

// How to draw with characters.
struct mxv_map_terminal {
    unsigned columns; // width limit, at least 20
    unsigned rows;    // cells down at most; 0: 48
    bool unicode;     // blocks and box lines instead of ASCII
    bool colour;      // 256 colours by escape sequences
};

// What suits the stream behind `fd`: colour when it is a terminal, NO_COLOR is unset or empty and
// TERM is not "dumb"; Unicode when it is a terminal with a UTF-8 locale; width from COLUMNS, else
// from the terminal, else 80.
struct mxv_map_terminal mxv_map_terminal_for(int fd);

// The drawing as text, to be released with free(); NULL when memory is short.
char *mxv_map_text(const struct mxv_map *map, const struct mxv_map_terminal *terminal);

// The letter and the colour (0xRRGGBB) that stand for a route in drawings and legends.
char mxv_map_route_letter(unsigned route);
uint32_t mxv_map_route_colour(unsigned route);

// Colour 0xRRGGBB of level t in 0..1: pale yellow through green to dark violet, lightness falling
// evenly, so that the order survives colour blindness and grey printing.
uint32_t mxv_map_colour(double t);

#ifdef __cplusplus
}
#endif
#endif
