// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Sinks that keep taps: as hashes (all taps of a run) or in full (one tap).
//
// Hashes are XXH3-64 (xxHash) of the words as little-endian bytes, seeded with nothing, so that
// records of different machines compare. Two different taps get the same hash with probability
// about 2^-64. tests/unit/test_taps.c fails if this file is wrong.
#include <mxverify/taps.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tap hashes are defined over little-endian words: this host needs a byte swap here"
#endif

static struct mxv_tap_key key_of(const struct mxv_tap *tap)
{
    struct mxv_tap_key key = {tap->stage, tap->route,  tap->sequence,
                              tap->head,  tap->tile_q, tap->tile_k};
    return key;
}

static bool same_key(const struct mxv_tap_key *a, const struct mxv_tap_key *b)
{
    return a->stage == b->stage && a->route == b->route && a->sequence == b->sequence &&
           a->head == b->head && a->tile_q == b->tile_q && a->tile_k == b->tile_k;
}

void mxv_tap_record_init(struct mxv_tap_record *record)
{
    memset(record, 0, sizeof *record);
    for (size_t i = 0; i < MXV_STAGE_COUNT; i++)
        record->keep[i] = true;
}

void mxv_tap_record_free(struct mxv_tap_record *record)
{
    free(record->taps);
    record->taps = NULL;
    record->count = record->capacity = 0;
}

static bool make_room(struct mxv_tap_record *record)
{
    if (record->count < record->capacity)
        return true;
    size_t capacity = record->capacity ? record->capacity * 2 : 64;
    struct mxv_tap_digest *taps = realloc(record->taps, capacity * sizeof *taps);
    if (!taps)
        return false;
    record->taps = taps;
    record->capacity = capacity;
    return true;
}

static void take_digest(void *ctx, const struct mxv_tap *tap)
{
    struct mxv_tap_record *record = ctx;
    if (!record->keep[tap->stage] || record->out_of_memory)
        return;
    if (!make_room(record)) {
        record->out_of_memory = true;
        return;
    }
    struct mxv_tap_digest *digest = &record->taps[record->count++];
    digest->key = key_of(tap);
    digest->rows = tap->rows;
    digest->cols = tap->cols;
    digest->hash = XXH3_64bits(tap->words, tap->rows * tap->cols * sizeof *tap->words);
}

struct mxv_tap_sink mxv_taps_record(struct mxv_tap_record *record)
{
    struct mxv_tap_sink sink = {take_digest, record};
    return sink;
}

uint64_t mxv_tap_record_hash(const struct mxv_tap_record *record)
{
    uint64_t hash = XXH3_64bits("", 0);
    for (size_t i = 0; i < record->count; i++) {
        const struct mxv_tap_digest *tap = &record->taps[i];
        uint64_t words[] = {hash,          tap->key.stage,  tap->key.route,  tap->key.sequence,
                            tap->key.head, tap->key.tile_q, tap->key.tile_k, tap->rows,
                            tap->cols,     tap->hash};
        hash = XXH3_64bits(words, sizeof words);
    }
    return hash;
}

void mxv_tap_capture_init(struct mxv_tap_capture *capture, const struct mxv_tap_key *key)
{
    memset(capture, 0, sizeof *capture);
    capture->key = *key;
}

void mxv_tap_capture_free(struct mxv_tap_capture *capture)
{
    free(capture->words);
    capture->words = NULL;
    capture->found = false;
}

static void take_words(void *ctx, const struct mxv_tap *tap)
{
    struct mxv_tap_capture *capture = ctx;
    struct mxv_tap_key key = key_of(tap);
    if (capture->found || capture->out_of_memory || !same_key(&key, &capture->key))
        return;
    if (capture->skip > 0) {
        capture->skip--;
        return;
    }
    size_t count = tap->rows * tap->cols;
    capture->words = malloc((count + 1) * sizeof *capture->words);
    capture->out_of_memory = !capture->words;
    if (capture->out_of_memory)
        return;
    if (count > 0)
        memcpy(capture->words, tap->words, count * sizeof *capture->words);
    capture->rows = tap->rows;
    capture->cols = tap->cols;
    capture->found = true;
}

struct mxv_tap_sink mxv_taps_capture(struct mxv_tap_capture *capture)
{
    struct mxv_tap_sink sink = {take_words, capture};
    return sink;
}
