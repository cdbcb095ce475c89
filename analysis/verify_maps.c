// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Maps of a verified case, for the head that differs first, else for the one with the largest score
// error: score error against the exact scores of the inputs per tile, output error against exact
// attention of the inputs per element, and where the implementation departs from the emulation.
#include "verify.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t tiles_of(size_t tokens, size_t tile)
{
    return (tokens + tile - 1) / tile;
}

static double head_error(const struct verification *v, const struct head_result *h)
{
    size_t n = tiles_of(h->lq, v->data.a.tile_m) * tiles_of(h->lk, v->data.a.tile_n);
    double worst = -1;
    for (size_t i = 0; h->score_error && i < n; i++)
        worst = fmax(worst, h->score_error[i]);
    return worst;
}

static struct head_result *worst_head(struct verification *v)
{
    struct head_result *worst = NULL;
    for (size_t i = 0; i < v->heads; i++) {
        struct head_result *h = &v->results[i];
        if (h->differs)
            return h;
        if (h->lq && h->lk && (!worst || head_error(v, h) > head_error(v, worst)))
            worst = h;
    }
    return worst;
}

static void name_axes(struct mxv_map *map, size_t row_step, size_t rows, const char *across,
                      size_t col_step, size_t cols)
{
    snprintf(map->down.label, sizeof map->down.label, "query token");
    map->down.step = row_step;
    map->down.extent = rows;
    snprintf(map->across.label, sizeof map->across.label, "%s", across);
    map->across.step = col_step;
    map->across.extent = cols;
}

static void name_map(struct verification *v, const struct head_result *h, struct mxv_map *map,
                     const char *what, const char *unit)
{
    char line[MXV_CASE_LINE_SIZE];
    mxv_case_print(v->c, line, sizeof line);
    snprintf(map->title, sizeof map->title, "%s, sequence %zu, query head %zu of %zu", what,
             h->sequence, h->head, v->data.a.heads_q);
    snprintf(map->subtitle, sizeof map->subtitle, "%.*s", (int)sizeof map->subtitle - 1, line);
    snprintf(map->unit, sizeof map->unit, "%s", unit);
    map->log_scale = true;
}

static int tile_map(struct verification *v, const struct head_result *h, struct mxv_map *map)
{
    const struct mxv_attention *a = &v->data.a;
    size_t rows = tiles_of(h->lq, a->tile_m), cols = tiles_of(h->lk, a->tile_n);
    if (mxv_map_init(map, rows, cols, true) != MXV_OK)
        return -1;
    memcpy(map->routes, h->emulated_scores.routes, rows * cols);
    name_axes(map, a->tile_m, h->lq, "key token", a->tile_n, h->lk);
    return 0;
}

static int score_map(struct verification *v, const struct head_result *h, struct mxv_map *map)
{
    if (tile_map(v, h, map))
        return -1;
    memcpy(map->values, h->score_error, map->rows * map->cols * sizeof *map->values);
    name_map(v, h, map, "largest score error per tile, against exact scores of the inputs",
             "|score error|, log2 units");
    return 0;
}

static int score_difference_map(struct verification *v, const struct head_result *h,
                                struct mxv_map *map)
{
    const struct mxv_attention *a = &v->data.a;
    if (tile_map(v, h, map))
        return -1;
    for (size_t i = 0; i < map->rows * map->cols; i++)
        map->values[i] = h->emulated_scores.routes[i] == MXV_ROUTE_SKIP &&
                                 h->subject_scores.routes[i] == MXV_ROUTE_SKIP
                             ? NAN
                             : 0;
    for (size_t r = 0; r < h->lq; r++)
        for (size_t n = 0; n < h->lk; n++) {
            uint32_t e, s;
            memcpy(&e, &h->emulated_scores.scores[r * h->lk + n], sizeof e);
            memcpy(&s, &h->subject_scores.scores[r * h->lk + n], sizeof s);
            map->values[r / a->tile_m * map->cols + n / a->tile_n] +=
                mxv_ulp_distance(MXV_F32, e, s) != 0;
        }
    name_map(v, h, map, "score words that differ from the emulation, per tile", "differing words");
    return 0;
}

static int output_map(struct verification *v, const struct head_result *h, struct mxv_map *map)
{
    size_t d = v->data.a.d;
    if (mxv_map_init(map, h->lq, d, false) != MXV_OK)
        return -1;
    for (size_t i = 0; i < h->row_count; i++)
        for (size_t c = 0; c < d && verify_row_is_measured(v, h, i); c++) {
            double o = mxv_code_value(v->data.a.out, h->subject[h->rows[i] * d + c]);
            double error = fabs(o - h->from_inputs[i * d + c].centre);
            map->values[h->rows[i] * d + c] = isnan(error) ? INFINITY : error;
        }
    name_axes(map, 1, h->lq, "head dim", 1, d);
    name_map(v, h, map, "output error per element, against exact attention of the inputs",
             "|output error|");
    return 0;
}

static int output_difference_map(struct verification *v, const struct head_result *h,
                                 struct mxv_map *map)
{
    size_t d = v->data.a.d;
    if (mxv_map_from_words(map, v->data.a.out, h->lq, d, h->subject, h->emulated, "", "") != MXV_OK)
        return -1;
    name_axes(map, 1, h->lq, "head dim", 1, d);
    name_map(v, h, map, "output difference from the emulation", "code steps (ulp)");
    return 0;
}

static int cause_map(struct verification *v, const struct head_result *h, enum mxv_cause cause,
                     struct mxv_map *map)
{
    char what[96];
    if (tile_map(v, h, map))
        return -1;
    for (size_t i = 0; i < map->rows * map->cols; i++)
        map->values[i] = h->causes[i].elements ? mxv_split_rms(&h->causes[i], cause) : NAN;
    snprintf(what, sizeof what, "output error by %s, rms per tile", mxv_cause_name(cause));
    name_map(v, h, map, what, "rms of contributions");
    return 0;
}

static enum mxv_status no_memory(struct mxv_verify_result *out)
{
    snprintf(out->reason, sizeof out->reason, "out of memory for a map");
    return MXV_ERR_MEMORY;
}

static enum mxv_status write_map(struct verification *v, const struct mxv_map *map,
                                 const char *name, struct mxv_verify_result *out, bool draw)
{
    static const char *const endings[] = {"png", "npy"};
    char id[MXV_CASE_ID_SIZE], message[MXV_VERIFY_TEXT];
    mxv_case_id(v->c, id);
    for (int e = 0; e < 2; e++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s_%s.%s", v->options->map_folder, id, name, endings[e]);
        enum mxv_status status = e == 0 ? mxv_map_write_png(map, path, message, sizeof message)
                                        : mxv_map_write_npy(map, path, message, sizeof message);
        if (status != MXV_OK) {
            snprintf(out->reason, sizeof out->reason, "%.*s", (int)sizeof out->reason - 1, message);
            return status;
        }
        if (e == 0 && out->map_count < MXV_VERIFY_MAPS)
            memcpy(out->maps[out->map_count++], path, sizeof path);
    }
    if (draw && !out->drawing) {
        struct mxv_map_terminal terminal = mxv_map_terminal_for(1);
        out->drawing = mxv_map_text(map, &terminal);
        if (!out->drawing)
            return no_memory(out);
    }
    return MXV_OK;
}

// A map for each cause that contributes anywhere in the head.
static enum mxv_status cause_maps(struct verification *v, const struct head_result *h,
                                  struct mxv_verify_result *out)
{
    size_t tiles = tiles_of(h->lq, v->data.a.tile_m) * tiles_of(h->lk, v->data.a.tile_n);
    for (unsigned k = 0; k < MXV_CAUSE_COUNT; k++) {
        struct mxv_map map = {0};
        char name[64];
        bool any = false;
        for (size_t i = 0; i < tiles; i++)
            any = any || h->causes[i].squares[k] > 0;
        if (!any)
            continue;
        snprintf(name, sizeof name, "split_%s", mxv_cause_name(k));
        enum mxv_status status = cause_map(v, h, (enum mxv_cause)k, &map)
                                     ? no_memory(out)
                                     : write_map(v, &map, name, out, false);
        mxv_map_free(&map);
        if (status != MXV_OK)
            return status;
    }
    return MXV_OK;
}

enum mxv_status verify_maps(struct verification *v, struct mxv_verify_result *out)
{
    static const struct {
        const char *name;
        int (*make)(struct verification *, const struct head_result *, struct mxv_map *);
        bool on_difference, truth;
    } kinds[] = {{"diff_score", score_difference_map, true, false},
                 {"diff_out", output_difference_map, true, false},
                 {"score", score_map, false, true},
                 {"out", output_map, false, true}};
    struct head_result *h = worst_head(v);
    if (!h || h->lq == 0 || h->lk == 0)
        return MXV_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct mxv_map map = {0};
        if ((kinds[i].on_difference && !h->differs) || (kinds[i].truth && !h->score_error))
            continue;
        enum mxv_status status = kinds[i].make(v, h, &map)
                                     ? no_memory(out)
                                     : write_map(v, &map, kinds[i].name, out, true);
        mxv_map_free(&map);
        if (status != MXV_OK)
            return status;
    }
    return h->causes ? cause_maps(v, h, out) : MXV_OK;
}
