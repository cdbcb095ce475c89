// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the picture and the terminal drawing of a map share: value scale, axis marks, summary lines.
#ifndef MXV_MAP_SCALE_H
#define MXV_MAP_SCALE_H

#include <mxverify/map.h>

enum {
    MXV_MAP_ZERO_COLOUR = 0xFFFFFF,
    MXV_MAP_EMPTY_COLOUR = 0xE2E2E2,
    MXV_MAP_BROKEN_COLOUR = 0xFF2D00
};

// Values low .. high become levels 0 .. 1, by logarithm or in proportion.
struct mxv_map_scale {
    bool logarithmic;
    double low, high; // low < high; low is 0 in proportion
};

// The scale that covers the finite nonzero values of the map, widened to round numbers.
struct mxv_map_scale mxv_map_scale_for(const struct mxv_map *map);
double mxv_map_scale_level(const struct mxv_map_scale *scale, double value);

// Round numbers inside the scale, ascending; returns how many, at most `capacity` (>= 2).
size_t mxv_map_scale_marks(const struct mxv_map_scale *scale, double *marks, size_t capacity);

// First and last position (inclusive) that a cell covers.
void mxv_map_axis_span(const struct mxv_map_axis *axis, size_t cell, size_t *first, size_t *last);

// Cells between two axis marks, a power of two, so that at most `marks` marks fit on `cells` cells.
size_t mxv_map_axis_stride(size_t cells, size_t marks);

// A number as short as a mark needs it: 3 digits, "20000" and "1e6" and "2.5e-5".
void mxv_map_number_print(double value, char *buffer, size_t size);

// "largest 12.5 ulp at query token 128-255, key token 0-127", or what stands in its place.
void mxv_map_worst_line(const struct mxv_map *map, char *buffer, size_t size);
// "cells: 14 with error, 20 exact, 0 NaN/Inf, 28 not computed".
void mxv_map_count_line(const struct mxv_map *map, char *buffer, size_t size);

// The routes that occur, ascending, MXV_MAP_ROUTE_MIXED last; returns how many. Skipped is left
// out.
size_t mxv_map_routes_present(const struct mxv_map *map, unsigned routes[MXV_ROUTE_COUNT + 1]);
const char *mxv_map_route_name(unsigned route);

// Black or white, whichever reads better on the colour.
uint32_t mxv_map_ink_on(uint32_t colour);

#endif
