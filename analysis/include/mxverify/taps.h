// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tap records: what every stage of one emulation computed, kept as one hash per tap, so that two
// emulations are compared stage by stage and tile by tile in little memory; and the capture of one
// tap's full words, with which a second run finds the first differing element.
//
//     mxv_taps_record(&a) as the sink of one run, mxv_taps_record(&b) of the other
//     mxv_taps_first_difference(&a, &b, &where)      stage, route, sequence, head, tile_q, tile_k
//     mxv_tap_capture_init(&ca, &where.key), ...     run both again with mxv_taps_capture(&ca)
//     mxv_taps_first_element(&ca, &cb, format, &e)   row, column, both words and values
//
// Taps are matched by what they are (stage, route, sequence, head, tiles; the n-th of equal ones
// with the n-th), not by their place in the stream, so that a missing tap is named as missing and
// does not make all later ones differ. Hashes are XXH3-64 of the words in little-endian order.
// Words are compared as they are: a NaN must be canonical (MXV_NAN_WORD), as <mxverify/attention.h>
// asks.
//
// Threads: one record belongs to one run at a time.
#ifndef MXVERIFY_TAPS_H
#define MXVERIFY_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a tap is.
struct mxv_tap_key {
    enum mxv_stage stage;
    enum mxv_route route;
    size_t sequence, head, tile_q, tile_k;
};

struct mxv_tap_digest {
    struct mxv_tap_key key;
    size_t rows, cols;
    uint64_t hash;
};

// The taps of a run in the order of their emission. All zero is the empty record.
struct mxv_tap_record {
    struct mxv_tap_digest *taps;
    size_t count, capacity;
    bool out_of_memory;         // some tap could not be kept: the record proves nothing
    bool keep[MXV_STAGE_COUNT]; // set by init: which stages are kept
};

void mxv_tap_record_init(struct mxv_tap_record *record); // keeps all stages
void mxv_tap_record_free(struct mxv_tap_record *record);

// The sink that appends to *record. The record must outlive the run.
struct mxv_tap_sink mxv_taps_record(struct mxv_tap_record *record);

// XXH3-64 over all digests of the record, in order: one word for a whole run.
uint64_t mxv_tap_record_hash(const struct mxv_tap_record *record);

enum mxv_tap_difference {
    MXV_TAPS_EQUAL,
    MXV_TAPS_WORDS,   // same shape, other words
    MXV_TAPS_SHAPE,   // other rows or cols
    MXV_TAPS_MISSING, // in a, not in b
    MXV_TAPS_EXTRA,   // in b, not in a
    MXV_TAPS_ORDER    // all taps equal, but emitted in another order
};

struct mxv_taps_where {
    enum mxv_tap_difference kind;
    struct mxv_tap_key key;
    size_t rows, cols;                 // of the tap in a (in b when extra)
    size_t taps[MXV_STAGE_COUNT];      // taps of each stage in a
    size_t differing[MXV_STAGE_COUNT]; // with other words or another shape
    size_t missing[MXV_STAGE_COUNT], extra[MXV_STAGE_COUNT];
    size_t out_of_order; // matched taps which b emitted before an earlier one of a
};

// First tap at which b departs from a, in the order in which a emitted them; an extra tap of b
// counts behind the tap that b emitted before it. Returns 1 when there is a difference, 0 when
// there is none, -1 when memory is short or a record is incomplete.
int mxv_taps_first_difference(const struct mxv_tap_record *a, const struct mxv_tap_record *b,
                              struct mxv_taps_where *where);

// "score low sequence 0 head 3 tile (2, 1)"; always NUL-terminated.
void mxv_tap_key_print(const struct mxv_tap_key *key, char *buffer, size_t size);
const char *mxv_tap_difference_name(enum mxv_tap_difference kind);

// The full words of one tap.
struct mxv_tap_capture {
    struct mxv_tap_key key;
    size_t skip; // how many taps of the same key to let pass first
    bool found, out_of_memory;
    size_t rows, cols;
    uint32_t *words; // [rows][cols], owned
};

void mxv_tap_capture_init(struct mxv_tap_capture *capture, const struct mxv_tap_key *key);
void mxv_tap_capture_free(struct mxv_tap_capture *capture);
struct mxv_tap_sink mxv_taps_capture(struct mxv_tap_capture *capture);

struct mxv_tap_element {
    size_t row, col;
    uint32_t word_a, word_b;
    double value_a, value_b;
    uint64_t ulp;      // code distance, MXV_ULP_DISTANCE_NAN with a NaN on one side
    size_t differing;  // elements of the tap that differ
    size_t rows, cols; // compared
};

// First differing element in row order of two captures of equal shape. Returns 1 and *element, 0
// when all words are equal, -1 when a capture found nothing or the shapes differ.
int mxv_taps_first_element(const struct mxv_tap_capture *a, const struct mxv_tap_capture *b,
                           enum mxv_element format, struct mxv_tap_element *element);

// Format of the words of a stage and route of a call: binary32 for scores, state and LSE; element
// and scale codes by the route; V and P by a->vt; the output by a->out.
enum mxv_element mxv_tap_format(const struct mxv_attention *a, enum mxv_stage stage,
                                enum mxv_route route);

#ifdef __cplusplus
}
#endif
#endif
