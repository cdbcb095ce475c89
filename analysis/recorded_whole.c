// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Words of recorded taps: their text, and their hashes against those of the case line. See
// mxverify/recorded.h. tests/golden/test_recorded_whole.c fails if this is wrong.
#define XXH_STATIC_LINKING_ONLY // a state on the stack cannot lack memory
#include "recorded_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { HEAD_SIZE = 256, SIDE = 1 << 24 }; // text before the words; rows and cols of a tap at most

static bool is_result(enum mxv_stage stage)
{
    return stage == MXV_STAGE_OUT || stage == MXV_STAGE_LSE;
}

static uint64_t hash_of(const struct mxv_recorded_tap *t)
{
    return XXH3_64bits(t->words, t->rows * t->cols * sizeof *t->words);
}

// The record owns t->words afterwards, or on false nobody.
static bool append(struct mxv_recorded *r, const struct mxv_recorded_tap *t)
{
    const bool full = (r->tap_count & (r->tap_count - 1)) == 0; // room: the next power of two
    struct mxv_recorded_tap *taps = r->taps;
    if (full)
        taps = realloc(taps, (r->tap_count ? 2 * r->tap_count : 1) * sizeof *taps);
    if (!taps) {
        free(t->words);
        return false;
    }
    r->taps = taps;
    r->taps[r->tap_count++] = *t;
    return true;
}

static void drop_stages(struct mxv_recorded *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->tap_count; i++)
        if (is_result(r->taps[i].key.stage))
            r->taps[kept++] = r->taps[i];
        else
            free(r->taps[i].words);
    r->tap_count = kept;
}

static void take(void *ctx, const struct mxv_tap *tap)
{
    struct mxv_recorded_taker *t = ctx;
    const size_t n = tap->rows * tap->cols;
    if (!is_result(tap->stage)) {
        const bool over = t->words > t->limit;
        t->words += n;
        if (t->words > t->limit) {
            if (!over)
                drop_stages(t->to);
            return;
        }
    }
    struct mxv_recorded_tap copy = {
        {tap->stage, tap->route, tap->sequence, tap->head, tap->tile_q, tap->tile_k},
        tap->rows,
        tap->cols,
        malloc((n + 1) * sizeof *copy.words)};
    if (!copy.words) {
        t->out_of_memory = true;
        return;
    }
    if (n)
        memcpy(copy.words, tap->words, n * sizeof *copy.words);
    t->out_of_memory |= !append(t->to, &copy);
}

struct mxv_tap_sink mxv_recorded_take(struct mxv_recorded_taker *taker)
{
    return (struct mxv_tap_sink){take, taker};
}

size_t recorded_taps_size(const struct mxv_recorded *r)
{
    size_t size = 1;
    for (size_t i = 0; i < r->tap_count; i++)
        size += HEAD_SIZE + 9 * r->taps[i].rows * r->taps[i].cols;
    return size;
}

void recorded_taps_print(const struct mxv_recorded *r, char *text)
{
    for (size_t i = 0; i < r->tap_count; i++) {
        const struct mxv_recorded_tap *t = &r->taps[i];
        const struct mxv_tap_key *k = &t->key;
        text += snprintf(text, HEAD_SIZE, "\n@%s %s %zu %zu %zu %zu %zu %zu %016" PRIx64 "\t",
                         mxv_choice_name(MXV_CHOICE_STAGE, k->stage),
                         mxv_choice_name(MXV_CHOICE_ROUTE, k->route), k->sequence, k->head,
                         k->tile_q, k->tile_k, t->rows, t->cols, hash_of(t));
        for (size_t n = 0; n < t->rows * t->cols; n++)
            text += snprintf(text, 10, "%s%" PRIx32, n ? " " : "", t->words[n]);
    }
}

static enum mxv_status refuse(char *message, size_t size, const char *text)
{
    if (size)
        snprintf(message, size, "%s", text);
    return MXV_ERR_INPUT;
}

// Fields before the tab; *words is behind it.
static bool read_head(const char *text, struct mxv_recorded_tap *t, uint64_t *hash,
                      const char **words)
{
    char stage[32], route[32];
    unsigned stage_value, route_value;
    int end = 0;
    struct mxv_tap_key *k = &t->key;
    if (sscanf(text, "@%31s %31s %zu %zu %zu %zu %zu %zu %16" SCNx64 "%n", stage, route,
               &k->sequence, &k->head, &k->tile_q, &k->tile_k, &t->rows, &t->cols, hash,
               &end) != 9 ||
        text[end] != '\t' || t->rows > SIDE || t->cols > SIDE ||
        !mxv_choice_find(MXV_CHOICE_STAGE, stage, &stage_value) ||
        !mxv_choice_find(MXV_CHOICE_ROUTE, route, &route_value))
        return false;
    k->stage = (enum mxv_stage)stage_value;
    k->route = (enum mxv_route)route_value;
    *words = text + end + 1;
    return true;
}

// Up to `room` words, separated by single spaces; *count is how many there are. False: no words.
static bool read_words(const char *text, uint32_t *words, size_t room, size_t *count)
{
    *count = 0;
    while (*text && *text != '\n' && *text != '\r') {
        const size_t digits = strspn(text, "0123456789abcdef");
        if (digits == 0 || digits > 8)
            return false;
        if (*count < room)
            words[*count] = (uint32_t)strtoul(text, NULL, 16);
        ++*count;
        text += digits;
        if (*text == ' ' && text[1] != '\0' && text[1] != '\n')
            text++;
        else if (*text && *text != '\n' && *text != '\r')
            return false;
    }
    return true;
}

enum mxv_status mxv_recorded_parse_tap(const char *text, struct mxv_recorded *r, char *message,
                                       size_t size)
{
    struct mxv_recorded_tap t = {0};
    const char *at;
    uint64_t hash;
    size_t count;
    if (!read_head(text, &t, &hash, &at))
        return refuse(message, size,
                      "a tap is @STAGE ROUTE SEQUENCE HEAD TILE_Q TILE_K ROWS COLS HASH, a tab, "
                      "its words");
    const size_t n = t.rows * t.cols, room = strlen(at) / 2 + 1;
    t.words = malloc((room + 1) * sizeof *t.words);
    if (!t.words) {
        refuse(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    char said[160] = "the words of a tap are hexadecimal, one space between two";
    const bool good = read_words(at, t.words, room, &count);
    if (good)
        snprintf(said, sizeof said, "%zu words of %zu rows and %zu columns: the line is damaged",
                 count, t.rows, t.cols);
    if (good && count == n && hash_of(&t) != hash)
        snprintf(said, sizeof said,
                 "the words do not have the hash %016" PRIx64 ": the line is damaged", hash);
    if (!good || count != n || hash_of(&t) != hash) {
        free(t.words);
        return refuse(message, size, said);
    }
    if (append(r, &t))
        return MXV_OK;
    refuse(message, size, "out of memory");
    return MXV_ERR_MEMORY;
}

static uint64_t hash_stage(const struct mxv_recorded *r, enum mxv_stage stage)
{
    XXH3_state_t state, *h = &state;
    XXH3_64bits_reset(h);
    for (size_t i = 0; i < r->tap_count; i++)
        if (r->taps[i].key.stage == stage)
            XXH3_64bits_update(h, r->taps[i].words,
                               r->taps[i].rows * r->taps[i].cols * sizeof *r->taps[i].words);
    const uint64_t hash = XXH3_64bits_digest(h);
    return hash;
}

enum mxv_status mxv_recorded_check(const struct mxv_recorded *r, char *message, size_t size)
{
    char said[160];
    for (int i = 0; r->tap_count && i < 2; i++) {
        const enum mxv_stage stage = i ? MXV_STAGE_LSE : MXV_STAGE_OUT;
        if (hash_stage(r, stage) != (i ? r->lse : r->out)) {
            snprintf(said, sizeof said,
                     "the words of stage %s before it do not have the hash of their case line",
                     mxv_choice_name(MXV_CHOICE_STAGE, stage));
            return refuse(message, size, said);
        }
    }
    return MXV_OK;
}
