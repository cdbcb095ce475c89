// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Maps: making, reducing, looking over. Reduction keeps the largest value of each block, so that
// one bad element of a million still shows. tests/unit/test_map.c fails if this file is wrong.
#include <mxverify/map.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mxverify/tensor_file.h>

enum mxv_status mxv_map_init(struct mxv_map *map, size_t rows, size_t cols, bool with_routes)
{
    memset(map, 0, sizeof *map);
    if (rows == 0 || cols == 0)
        return MXV_ERR_INPUT;
    if (rows > SIZE_MAX / sizeof *map->values / cols)
        return MXV_ERR_MEMORY;
    map->values = malloc(rows * cols * sizeof *map->values);
    map->routes = with_routes ? malloc(rows * cols) : NULL;
    if (!map->values || (with_routes && !map->routes)) {
        mxv_map_free(map);
        return MXV_ERR_MEMORY;
    }
    map->rows = rows;
    map->cols = cols;
    for (size_t i = 0; i < rows * cols; i++)
        map->values[i] = NAN;
    if (with_routes)
        memset(map->routes, MXV_ROUTE_SKIP, rows * cols);
    map->down.step = map->across.step = 1;
    map->down.extent = rows;
    map->across.extent = cols;
    return MXV_OK;
}

void mxv_map_free(struct mxv_map *map)
{
    free(map->values);
    free(map->routes);
    memset(map, 0, sizeof *map);
}

// Joins one cell into another. Cells without data do not count.
static void join_cell(double *value, uint8_t *route, double other, const uint8_t *other_route)
{
    if (isnan(other))
        return;
    if (route)
        *route = isnan(*value) || *route == *other_route ? *other_route : MXV_MAP_ROUTE_MIXED;
    if (isnan(*value) || other > *value)
        *value = other;
}

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

enum mxv_status mxv_map_reduce(const struct mxv_map *map, size_t max_rows, size_t max_cols,
                               struct mxv_map *out)
{
    if (map->rows == 0 || map->cols == 0)
        return MXV_ERR_INPUT;
    size_t high = ceil_div(map->rows, max_rows), wide = ceil_div(map->cols, max_cols);
    struct mxv_map reduced;
    enum mxv_status status = mxv_map_init(&reduced, ceil_div(map->rows, high),
                                          ceil_div(map->cols, wide), map->routes != NULL);
    if (status != MXV_OK)
        return status;
    for (size_t i = 0; i < map->rows * map->cols; i++) {
        size_t target = i / map->cols / high * reduced.cols + i % map->cols / wide;
        join_cell(&reduced.values[target], map->routes ? &reduced.routes[target] : NULL,
                  map->values[i], map->routes ? &map->routes[i] : NULL);
    }
    reduced.down = map->down;
    reduced.across = map->across;
    reduced.down.step *= high;
    reduced.across.step *= wide;
    memcpy(reduced.title, map->title, sizeof reduced.title);
    memcpy(reduced.subtitle, map->subtitle, sizeof reduced.subtitle);
    memcpy(reduced.unit, map->unit, sizeof reduced.unit);
    reduced.log_scale = map->log_scale;
    *out = reduced;
    return MXV_OK;
}

struct mxv_map_range mxv_map_range(const struct mxv_map *map)
{
    struct mxv_map_range range = {0};
    double worst = 0;
    for (size_t i = 0; i < map->rows * map->cols; i++) {
        double value = map->values[i];
        range.empty += isnan(value);
        range.zero += value == 0;
        range.broken += isinf(value) != 0;
        if (value > worst) {
            worst = value;
            range.worst_row = i / map->cols;
            range.worst_col = i % map->cols;
        }
        if (!isfinite(value) || value == 0)
            continue;
        range.smallest = range.nonzero == 0 || value < range.smallest ? value : range.smallest;
        range.largest = fmax(range.largest, value);
        range.nonzero++;
    }
    return range;
}

enum mxv_status mxv_map_write_npy(const struct mxv_map *map, const char *path, char *message,
                                  size_t message_size)
{
    const size_t shape[] = {map->rows, map->cols};
    return mxv_npy_write(path, "<f8", 2, shape, map->values, message, message_size);
}
