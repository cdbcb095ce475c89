// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The first tap at which two records part.
//
// Both records are sorted by key and order of emission and walked in step, which pairs the n-th tap
// of a key in one with the n-th in the other. What has no partner is missing or extra. The first
// difference is the one that comes first in the emission order of record a; an extra tap of b
// stands right behind the tap that b emitted before it. tests/unit/test_taps.c fails if this file
// is wrong.
#include <mxverify/taps.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_PARTNER = 0 };

// Records of a and b in one sort: pointers into them.
struct entry {
    const struct mxv_tap_digest *tap;
    size_t index;   // in its record
    size_t partner; // 1 + index in the other record, or NO_PARTNER
};

static int compare_size(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const struct mxv_tap_key *a, const struct mxv_tap_key *b)
{
    const size_t left[] = {a->sequence, a->head, a->stage, a->route, a->tile_q, a->tile_k};
    const size_t right[] = {b->sequence, b->head, b->stage, b->route, b->tile_q, b->tile_k};
    int order = 0;
    for (size_t i = 0; i < sizeof left / sizeof *left && order == 0; i++)
        order = compare_size(left[i], right[i]);
    return order;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = compare_keys(&a->tap->key, &b->tap->key);
    return order ? order : compare_size(a->index, b->index);
}

static int compare_index(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return compare_size(a->index, b->index);
}

static struct entry *sorted_entries(const struct mxv_tap_record *record)
{
    struct entry *entries = calloc(record->count + 1, sizeof *entries);
    for (size_t i = 0; entries && i < record->count; i++) {
        entries[i].tap = &record->taps[i];
        entries[i].index = i;
    }
    if (entries)
        qsort(entries, record->count, sizeof *entries, compare_entries);
    return entries;
}

// Gives partners to entries sorted by key, then puts both back into emission order.
static void pair_up(struct entry *a, size_t a_count, struct entry *b, size_t b_count)
{
    for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
        int order = compare_keys(&a[i].tap->key, &b[j].tap->key);
        if (order == 0) {
            a[i].partner = b[j].index + 1;
            b[j].partner = a[i].index + 1;
        }
        i += order <= 0;
        j += order >= 0;
    }
    qsort(a, a_count, sizeof *a, compare_index);
    qsort(b, b_count, sizeof *b, compare_index);
}

static void set_first(struct mxv_taps_where *where, enum mxv_tap_difference kind,
                      const struct mxv_tap_digest *tap)
{
    where->kind = kind;
    where->key = tap->key;
    where->rows = tap->rows;
    where->cols = tap->cols;
}

// The state of one tap of a, counted.
static enum mxv_tap_difference judge(struct mxv_taps_where *where, const struct entry *a,
                                     const struct entry *b)
{
    enum mxv_stage stage = a->tap->key.stage;
    where->taps[stage]++;
    if (a->partner == NO_PARTNER) {
        where->missing[stage]++;
        return MXV_TAPS_MISSING;
    }
    const struct mxv_tap_digest *other = b[a->partner - 1].tap;
    bool same_shape = a->tap->rows == other->rows && a->tap->cols == other->cols;
    if (same_shape && a->tap->hash == other->hash)
        return MXV_TAPS_EQUAL;
    where->differing[stage]++;
    return same_shape ? MXV_TAPS_WORDS : MXV_TAPS_SHAPE;
}

// Walks the taps of a; returns how many of them precede the first difference (a_count: none).
static size_t walk_a(struct mxv_taps_where *where, const struct entry *a, size_t a_count,
                     const struct entry *b)
{
    size_t first = a_count, latest = 0;
    const struct mxv_tap_digest *disordered = NULL;
    for (size_t i = 0; i < a_count; i++) {
        enum mxv_tap_difference kind = judge(where, &a[i], b);
        if (kind != MXV_TAPS_EQUAL && first == a_count) {
            first = i;
            set_first(where, kind, a[i].tap);
        }
        if (a[i].partner != NO_PARTNER && a[i].partner < latest) {
            where->out_of_order++;
            disordered = disordered ? disordered : a[i].tap;
        }
        latest = a[i].partner > latest ? a[i].partner : latest;
    }
    if (where->kind == MXV_TAPS_EQUAL && disordered)
        set_first(where, MXV_TAPS_ORDER, disordered);
    return first;
}

// Walks the extra taps of b; the earliest one wins over a difference of a at or beyond its place.
static void walk_b(struct mxv_taps_where *where, const struct entry *b, size_t b_count,
                   size_t first)
{
    size_t place = 0; // taps of a before this point of b
    bool found = false;
    for (size_t j = 0; j < b_count; j++) {
        if (b[j].partner != NO_PARTNER) {
            place = b[j].partner;
            continue;
        }
        where->extra[b[j].tap->key.stage]++;
        bool earlier = place <= first || where->kind == MXV_TAPS_ORDER;
        if (!found && earlier)
            set_first(where, MXV_TAPS_EXTRA, b[j].tap);
        found = found || earlier;
    }
}

int mxv_taps_first_difference(const struct mxv_tap_record *a, const struct mxv_tap_record *b,
                              struct mxv_taps_where *where)
{
    memset(where, 0, sizeof *where);
    if (a->out_of_memory || b->out_of_memory)
        return -1;
    struct entry *left = sorted_entries(a), *right = sorted_entries(b);
    int result = -1;
    if (left && right) {
        pair_up(left, a->count, right, b->count);
        size_t first = walk_a(where, left, a->count, right);
        walk_b(where, right, b->count, first);
        result = where->kind != MXV_TAPS_EQUAL;
    }
    free(left);
    free(right);
    return result;
}

const char *mxv_tap_difference_name(enum mxv_tap_difference kind)
{
    static const char *const names[] = {"equal", "words", "shape", "missing", "extra", "order"};
    return names[kind];
}

void mxv_tap_key_print(const struct mxv_tap_key *key, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s %s sequence %zu head %zu tile (%zu, %zu)",
             mxv_choice_name(MXV_CHOICE_STAGE, key->stage),
             mxv_choice_name(MXV_CHOICE_ROUTE, key->route), key->sequence, key->head, key->tile_q,
             key->tile_k);
}
