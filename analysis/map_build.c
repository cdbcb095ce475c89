// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Maps from comparisons: a tile grid's metric, or the ulp error of each element.
// tests/unit/test_map.c fails if this file is wrong.
#include <mxverify/map.h>

#include <math.h>
#include <stdio.h>

static void set_texts(struct mxv_map *map, const char *title, const char *subtitle,
                      const char *unit, const char *across)
{
    snprintf(map->title, sizeof map->title, "%s", title ? title : "");
    snprintf(map->subtitle, sizeof map->subtitle, "%s", subtitle ? subtitle : "");
    snprintf(map->unit, sizeof map->unit, "%s", unit);
    snprintf(map->down.label, sizeof map->down.label, "query token");
    snprintf(map->across.label, sizeof map->across.label, "%s", across);
    map->log_scale = true;
}

enum mxv_status mxv_map_from_grid(struct mxv_map *map, const struct mxv_grid *grid,
                                  enum mxv_metric metric, const char *title, const char *subtitle)
{
    const struct mxv_metric_info *info = mxv_metric_get(metric);
    if (!info || info->better == MXV_BETTER_HIGH)
        return MXV_ERR_INPUT;
    enum mxv_status status = mxv_map_init(map, grid->tiles_down, grid->tiles_across, true);
    if (status != MXV_OK)
        return status;
    for (size_t i = 0; i < map->rows * map->cols; i++) {
        const struct mxv_metrics *tile = &grid->by_tile[i];
        map->values[i] = tile->elements ? fabs(mxv_metric_value(tile, metric)) : NAN;
        map->routes[i] = grid->route[i];
    }
    map->down.step = grid->tile_rows;
    map->down.extent = grid->rows;
    map->across.step = grid->tile_cols;
    map->across.extent = grid->cols;
    set_texts(map, title, subtitle, info->unit, "key token");
    return MXV_OK;
}

enum mxv_status mxv_map_from_words(struct mxv_map *map, enum mxv_element format, size_t rows,
                                   size_t cols, const uint32_t *test, const uint32_t *expected,
                                   const char *title, const char *subtitle)
{
    enum mxv_status status = mxv_map_init(map, rows, cols, false);
    if (status != MXV_OK)
        return status;
    for (size_t i = 0; i < rows * cols; i++) {
        uint64_t distance = mxv_ulp_distance(format, test[i], expected[i]);
        map->values[i] = distance == MXV_ULP_DISTANCE_NAN ? INFINITY : (double)distance;
    }
    set_texts(map, title, subtitle, "ulp", "head dim");
    return MXV_OK;
}

enum mxv_status mxv_map_from_exact(struct mxv_map *map, enum mxv_element format, size_t rows,
                                   size_t cols, const uint32_t *test,
                                   const struct mxv_truth_ball *exact, const char *title,
                                   const char *subtitle)
{
    enum mxv_status status = mxv_map_init(map, rows, cols, false);
    if (status != MXV_OK)
        return status;
    for (size_t i = 0; i < rows * cols; i++)
        map->values[i] =
            fabs(mxv_ulp_error(format, test[i], exact[i].centre, exact[i].radius).error);
    set_texts(map, title, subtitle, "ulp", "head dim");
    return MXV_OK;
}
