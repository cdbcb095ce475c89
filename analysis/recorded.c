// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Recorded results of a device. See mxverify/recorded.h.
#define XXH_STATIC_LINKING_ONLY // a state on the stack cannot lack memory
#include "recorded_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void canonical(enum mxv_element type, uint32_t *words, size_t n)
{
    const uint32_t nan = type == MXV_F32 ? MXV_NAN_WORD : (uint32_t)mxv_element_get(type)->nan_code;
    for (size_t i = 0; i < n; i++)
        if (mxv_element_is_nan(type, words[i]))
            words[i] = nan;
}

static void add_sizes(XXH3_state_t *h, const size_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t v = x[i];
        XXH3_64bits_update(h, &v, sizeof v);
    }
}

uint64_t mxv_recorded_inputs(const struct mxv_attention *a)
{
    const size_t tq = a->cu_q[a->sequences], tk = a->cu_k[a->sequences];
    const size_t tiles = mxv_attention_first_tile(a, a->sequences);
    XXH3_state_t state, *h = &state;
    XXH3_64bits_reset(h);
    add_sizes(h, a->cu_q, a->sequences + 1);
    add_sizes(h, a->cu_k, a->sequences + 1);
    XXH3_64bits_update(h, a->q, a->heads_q * tq * a->d * sizeof *a->q);
    XXH3_64bits_update(h, a->k, a->heads_kv * tk * a->d * sizeof *a->k);
    XXH3_64bits_update(h, a->v, a->heads_kv * tk * a->d * sizeof *a->v);
    if (a->route_words)
        XXH3_64bits_update(h, a->route_words,
                           a->heads_kv * tiles * a->words_per_row * sizeof *a->route_words);
    if (a->diag_tiles)
        XXH3_64bits_update(h, a->diag_tiles, a->heads_q * tiles * sizeof *a->diag_tiles);
    const uint64_t hash = XXH3_64bits_digest(h);
    return hash;
}

static void hash_tiles(const struct mxv_attention *a, const uint32_t *out, const uint32_t *lse,
                       uint32_t *tiles)
{
    const size_t tokens = a->cu_q[a->sequences];
    for (size_t head = 0; head < a->heads_q; head++)
        for (size_t s = 0; s < a->sequences; s++)
            for (size_t row = a->cu_q[s]; row < a->cu_q[s + 1]; row += a->tile_m) {
                size_t rows = a->cu_q[s + 1] - row, at = head * tokens + row;
                rows = rows < a->tile_m ? rows : a->tile_m;
                uint64_t h = XXH3_64bits(out + at * a->d, rows * a->d * sizeof *out);
                if (lse)
                    h = XXH3_64bits_withSeed(lse + at, rows * sizeof *lse, h);
                *tiles++ = (uint32_t)h;
            }
}

enum mxv_status mxv_recorded_make(const struct mxv_attention *a, const char *line, uint32_t *out,
                                  uint32_t *lse, struct mxv_recorded *r)
{
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    const size_t tiles = a->heads_q * mxv_attention_first_tile(a, a->sequences);
    *r = (struct mxv_recorded){.tile_count = tiles,
                               .tiles = malloc((tiles + 1) * sizeof *r->tiles),
                               .line = malloc(strlen(line) + 1)};
    if (!r->tiles || !r->line) {
        mxv_recorded_free(r);
        return MXV_ERR_MEMORY;
    }
    strcpy(r->line, line);
    canonical(a->out, out, rows * a->d);
    if (lse)
        canonical(MXV_F32, lse, rows);
    r->inputs = mxv_recorded_inputs(a);
    r->out = XXH3_64bits(out, rows * a->d * sizeof *out);
    r->lse = XXH3_64bits(lse, lse ? rows * sizeof *lse : 0);
    hash_tiles(a, out, lse, r->tiles);
    return MXV_OK;
}

void mxv_recorded_free(struct mxv_recorded *r)
{
    for (size_t i = 0; i < r->tap_count; i++)
        free(r->taps[i].words);
    free(r->taps);
    free(r->line);
    free(r->tiles);
    *r = (struct mxv_recorded){0};
}

char *mxv_recorded_print(const struct mxv_recorded *r)
{
    const size_t size = strlen(r->line) + 64 + 9 * r->tile_count + recorded_taps_size(r);
    char *text = malloc(size);
    if (!text)
        return NULL;
    size_t n = (size_t)snprintf(text, size, "%s\t%016" PRIx64 "\t%016" PRIx64 "\t%016" PRIx64 "\t",
                                r->line, r->inputs, r->out, r->lse);
    for (size_t i = 0; i < r->tile_count; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%08" PRIx32, i ? "," : "", r->tiles[i]);
    recorded_taps_print(r, text + n);
    return text;
}

// Reads hexadecimal digits and the character after them; false if the number is not there.
static bool read_number(const char **text, char after, uint64_t *out)
{
    char *end;
    *out = strtoull(*text, &end, 16);
    if (end == *text || *end != after)
        return false;
    *text = end + 1;
    return true;
}

static bool read_tiles(const char *text, struct mxv_recorded *r)
{
    while (*text && *text != '\n' && *text != '\r') {
        char *end;
        r->tiles[r->tile_count++] = (uint32_t)strtoul(text, &end, 16);
        if (end == text || (*end != ',' && *end != '\r' && *end != '\n' && *end != '\0'))
            return false;
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

enum mxv_status mxv_recorded_parse(const char *text, struct mxv_recorded *r, char *message,
                                   size_t size)
{
    const char *tab = strchr(text, '\t');
    const size_t length = tab ? (size_t)(tab - text) : 0;
    *r = (struct mxv_recorded){.line = malloc(length + 1),
                               .tiles = malloc((strlen(text) / 2 + 1) * sizeof *r->tiles)};
    enum mxv_status status = r->line && r->tiles ? MXV_OK : MXV_ERR_MEMORY;
    if (status == MXV_OK) {
        memcpy(r->line, text, length);
        r->line[length] = '\0';
        const char *at = tab ? tab + 1 : text;
        if (!tab || !read_number(&at, '\t', &r->inputs) || !read_number(&at, '\t', &r->out) ||
            !read_number(&at, '\t', &r->lse) || !read_tiles(at, r))
            status = MXV_ERR_INPUT;
    }
    if (status != MXV_OK) {
        if (size)
            snprintf(message, size, "%s",
                     status == MXV_ERR_INPUT
                         ? "a recorded result is CASE, inputs, out, lse, tiles, with tabs between"
                         : "out of memory");
        mxv_recorded_free(r);
    }
    return status;
}

size_t mxv_recorded_difference(const struct mxv_recorded *a, const struct mxv_recorded *b)
{
    const size_t n = a->tile_count < b->tile_count ? a->tile_count : b->tile_count;
    for (size_t i = 0; i < n; i++)
        if (a->tiles[i] != b->tiles[i])
            return i;
    return a->tile_count != b->tile_count || a->out != b->out || a->lse != b->lse ? n : SIZE_MAX;
}
