// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A map of a case as the page embeds it: the picture as a data URI, and the cells as base64 of
// little-endian binary32 (binary64 where a cell has no normal binary32 near it).
//
// Cells come from the array that stands beside every picture. An array beyond MAX_CELLS is joined
// by its largest value (mxv_map_reduce); then the window around the worst cell goes along at full
// resolution. What the axes mean follows from the map's name and the case line: `...score` and
// `split_...` maps have a cell per tile, others one per query token and channel.
// tests/unit/test_report_html.c fails if this file is wrong.
#include "report_internal.h"

#include <float.h>
#include <math.h>
#include <mxverify/case.h>
#include <mxverify/map.h>
#include <mxverify/tensor_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CELLS = 1 << 18, MAX_SIDE = 512, WINDOW = 64, PATH_SIZE = 4096 };

static const struct {
    const char *kind, *title, *unit;
} titles[] = {
    {"score", "score error per tile, against exact scores", "largest |score error|, log2 units"},
    {"out", "output error per element, against exact attention", "|output error|"},
    {"diff_score", "score words that differ from the emulation, per tile", "differing words"},
    {"diff_out", "output difference from the emulation, per element", "code steps (ulp)"},
};

// "weight" of "split_weight", else NULL.
static const char *cause_of(const char *kind)
{
    static const char prefix[] = "split_";
    return strncmp(kind, prefix, sizeof prefix - 1) == 0 ? kind + sizeof prefix - 1 : NULL;
}

static bool has_tiles(const char *kind)
{
    size_t length = strlen(kind);
    return cause_of(kind) || (length >= 5 && strcmp(kind + length - 5, "score") == 0);
}

static char *base64(const void *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = bytes;
    char *text = malloc((length + 2) / 3 * 4 + 1), *at = text;
    for (size_t i = 0; text && i < length; i += 3) {
        size_t left = length - i;
        unsigned triple = (unsigned)in[i] << 16;
        triple |= left > 1 ? (unsigned)in[i + 1] << 8 : 0;
        triple |= left > 2 ? in[i + 2] : 0;
        *at++ = digits[triple >> 18];
        *at++ = digits[triple >> 12 & 63];
        *at++ = left > 1 ? digits[triple >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[triple & 63] : '=';
    }
    if (text)
        *at = '\0';
    return text;
}

static bool fits_binary32(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double size = fabs(values[i]);
        if (isfinite(size) && size != 0 && (size < FLT_MIN || size > FLT_MAX))
            return false;
    }
    return true;
}

static void store_little_endian(unsigned char *to, uint64_t word, size_t width)
{
    for (size_t i = 0; i < width; i++)
        to[i] = (unsigned char)(word >> 8 * i);
}

// {"type": "f32" | "f64", "data": base64}. NULL: no memory.
static json_t *pack_cells(const double *values, size_t count)
{
    bool narrow = fits_binary32(values, count);
    size_t width = narrow ? 4 : 8;
    unsigned char *bytes = malloc(count * width + 1);
    for (size_t i = 0; bytes && i < count; i++) {
        uint64_t word = 0;
        uint32_t half = 0;
        float single = (float)values[i];
        memcpy(&half, &single, sizeof half);
        memcpy(&word, &values[i], sizeof word);
        store_little_endian(bytes + i * width, narrow ? half : word, width);
    }
    char *text = bytes ? base64(bytes, count * width) : NULL;
    json_t *packed =
        text ? json_pack("{s:s,s:s}", "type", narrow ? "f32" : "f64", "data", text) : NULL;
    free(text);
    free(bytes);
    return packed;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Where the file is now: in the log's folder (which may have been moved), or where it was written.
static bool locate(const struct mxv_report *report, const char *logged, char *path)
{
    int folder = (int)(base_name(report->path) - report->path);
    int length = snprintf(path, PATH_SIZE, "%.*s%s", folder, report->path, base_name(logged));
    if (length < PATH_SIZE && access(path, R_OK) == 0)
        return true;
    length = snprintf(path, PATH_SIZE, "%s", logged);
    return length < PATH_SIZE && access(path, R_OK) == 0;
}

// "out" of ".../7f6daae9f4_out.png".
static void kind_of(const char *path, char *kind, size_t size)
{
    const char *name = base_name(path), *line = strchr(name, '_');
    const char *from = line ? line + 1 : name;
    snprintf(kind, size, "%.*s", (int)strcspn(from, "."), from);
}

static bool set_text(json_t *object, const char *key, const char *text)
{
    return json_object_set_new(object, key, json_string(text)) == 0;
}

static bool set_number(json_t *object, const char *key, size_t number)
{
    return json_object_set_new(object, key, json_integer((json_int_t)number)) == 0;
}

// The picture as a data URI; a file that cannot be read is a note.
static bool embed_picture(json_t *object, const char *path)
{
    static const char prefix[] = "data:image/png;base64,";
    struct stat info;
    FILE *file = fopen(path, "re");
    bool good = file && fstat(fileno(file), &info) == 0 && info.st_size >= 0;
    size_t size = good ? (size_t)info.st_size : 0;
    unsigned char *bytes = malloc(size + 1);
    good = good && bytes && fread(bytes, 1, size, file) == size;
    if (file)
        fclose(file);
    char *text = good ? base64(bytes, size) : NULL;
    free(bytes);
    if (!text)
        return set_text(object, "note", "the picture cannot be read");
    char *uri = NULL;
    good = mxv_report_append(&uri, prefix) && mxv_report_append(&uri, text) &&
           set_text(object, "image", uri);
    free(uri);
    free(text);
    return good;
}

static bool read_cells(const char *path, struct mxv_map *map)
{
    struct mxv_tensor tensor;
    if (mxv_tensor_read_npy(path, NULL, &tensor, NULL, 0) != MXV_OK)
        return false;
    bool good = tensor.type == MXV_F64 && tensor.rank == 2 &&
                mxv_map_init(map, tensor.shape[0], tensor.shape[1], false) == MXV_OK;
    if (good)
        memcpy(map->values, tensor.data, tensor.bytes);
    mxv_tensor_free(&tensor);
    return good;
}

static void name_axes(const struct mxv_report_case *c, const char *kind, struct mxv_map *map,
                      size_t tile[2])
{
    struct mxv_case parsed;
    bool tiles = has_tiles(kind), known = mxv_case_parse(c->line, &parsed, NULL, 0) == MXV_OK;
    tile[0] = known ? parsed.tile.m : 1;
    tile[1] = known ? parsed.tile.n : 1;
    snprintf(map->down.label, sizeof map->down.label, "query token");
    snprintf(map->across.label, sizeof map->across.label, tiles ? "key token" : "head dim");
    if (!tiles)
        return;
    map->down.step = tile[0];
    map->across.step = tile[1];
    map->down.extent = map->rows * tile[0];
    map->across.extent = map->cols * tile[1];
    if (known && parsed.seqs.count == 0 && parsed.lq && parsed.lq < map->down.extent)
        map->down.extent = parsed.lq;
    if (known && parsed.seqs.count == 0 && parsed.lk && parsed.lk < map->across.extent)
        map->across.extent = parsed.lk;
}

static json_t *axis(const struct mxv_map_axis *a)
{
    return json_pack("{s:s,s:I,s:I,s:I}", "label", a->label, "origin", (json_int_t)a->origin,
                     "step", (json_int_t)a->step, "extent", (json_int_t)a->extent);
}

static json_t *grid(const struct mxv_map *map)
{
    json_t *cells = pack_cells(map->values, map->rows * map->cols);
    return cells ? json_pack("{s:I,s:I,s:o*,s:o*,s:o}", "rows", (json_int_t)map->rows, "cols",
                             (json_int_t)map->cols, "down", axis(&map->down), "across",
                             axis(&map->across), "cells", cells)
                 : NULL;
}

// The window of the map around its worst cell.
static json_t *worst_window(const struct mxv_map *map)
{
    struct mxv_map_range range = mxv_map_range(map);
    struct mxv_map window;
    size_t rows = map->rows < WINDOW ? map->rows : WINDOW;
    size_t cols = map->cols < WINDOW ? map->cols : WINDOW;
    size_t top = range.worst_row / WINDOW * WINDOW, left = range.worst_col / WINDOW * WINDOW;
    top = top + rows > map->rows ? map->rows - rows : top;
    left = left + cols > map->cols ? map->cols - cols : left;
    if (mxv_map_init(&window, rows, cols, false) != MXV_OK)
        return NULL;
    for (size_t i = 0; i < rows; i++)
        memcpy(window.values + i * cols, map->values + (top + i) * map->cols + left,
               cols * sizeof *window.values);
    window.down = map->down;
    window.across = map->across;
    window.down.origin += top * map->down.step;
    window.across.origin += left * map->across.step;
    json_t *object = grid(&window);
    mxv_map_free(&window);
    return object;
}

static bool embed_cells(json_t *object, const struct mxv_map *map)
{
    if (map->rows * map->cols <= MAX_CELLS)
        return json_object_set_new(object, "grid", grid(map)) == 0;
    struct mxv_map joined;
    if (mxv_map_reduce(map, MAX_SIDE, MAX_SIDE, &joined) != MXV_OK)
        return false;
    bool good = json_object_set_new(object, "grid", grid(&joined)) == 0 &&
                json_object_set_new(object, "window", worst_window(map)) == 0 &&
                set_number(object, "all_rows", map->rows) &&
                set_number(object, "all_cols", map->cols);
    mxv_map_free(&joined);
    return good;
}

static bool embed(json_t *object, const struct mxv_report_case *c, const char *kind, char *path)
{
    struct mxv_map map = {0};
    size_t tile[2];
    if (!cause_of(kind) && !embed_picture(object, path)) // causes share one figure of cells
        return false;
    char *dot = strrchr(base_name(path), '.');
    if (!dot || (size_t)(dot - path) + 5 > PATH_SIZE)
        return true;
    strcpy(dot, ".npy");
    if (!read_cells(path, &map))
        return set_text(object, "note", "the array beside the picture cannot be read");
    name_axes(c, kind, &map, tile);
    bool good = json_object_set_new(object, "tiles", json_boolean(has_tiles(kind))) == 0 &&
                embed_cells(object, &map) && set_number(object, "tile_q", tile[0]) &&
                set_number(object, "tile_k", tile[1]);
    mxv_map_free(&map);
    return good;
}

static size_t text_size(const json_t *object)
{
    size_t size = json_string_length(json_object_get(object, "image"));
    static const char *const grids[] = {"grid", "window"};
    for (int i = 0; i < 2; i++)
        size += json_string_length(
            json_object_get(json_object_get(json_object_get(object, grids[i]), "cells"), "data"));
    return size;
}

json_t *mxv_html_map(const struct mxv_report *report, const struct mxv_report_case *c, size_t index,
                     size_t limit, size_t *bytes)
{
    char kind[64], path[PATH_SIZE];
    json_t *object = json_object();
    kind_of(c->maps[index], kind, sizeof kind);
    const char *title = kind, *unit = "", *cause = cause_of(kind);
    if (cause) {
        title = "output error by cause and tile";
        unit = "rms of contributions to the output";
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].kind, kind) == 0) {
            title = titles[i].title;
            unit = titles[i].unit;
        }
    bool good = set_text(object, "path", c->maps[index]) && set_text(object, "kind", kind) &&
                set_text(object, "title", title) && set_text(object, "unit", unit) &&
                (!cause || set_text(object, "cause", cause));
    if (good && *bytes >= limit)
        good = set_text(object, "note", "left out: the page has reached its limit of size");
    else if (good && !locate(report, c->maps[index], path))
        good = set_text(object, "note", "no such file");
    else if (good)
        good = embed(object, c, kind, path);
    *bytes += good ? text_size(object) : 0;
    if (good)
        return object;
    json_decref(object);
    return NULL;
}
