// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Input coverage: what the data of a run made the arithmetic do. Option coverage (coverage.h) says
// which options were met; this says whether ties, saturations, subnormals, empty rows, underflows
// and so on were met, and which codes of each element and scale format. Counted on the taps of the
// emulation, so that it tells of the cases, not of the implementation.
// Threads: a reader belongs to one run of one head; add counts up with mxv_events_merge.
#ifndef MXVERIFY_EVENTS_H
#define MXVERIFY_EVENTS_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_input_event {
#define X(id, name, must, text) MXV_INPUT_##id,
#include <mxverify/events.def>
#undef X
    MXV_INPUT_COUNT
};

// Codes met among the operands of Q and K: X(id, name, codes, must, released, text). `codes` is how
// many there are (finite elements; scale bytes that are not NaN), `must` and `released` how many
// have to be met, the latter on dma-released: its E4M3 elements are at most 256, or 448 for a NaN.
#define MXV_EVENT_TABLES(X)                                                                        \
    X(E2M1, "codes.e2m1", 16, 16, 16, "element codes of MXFP4 and NVFP4")                          \
    X(E4M3, "codes.e4m3", 254, 254, 243, "finite codes of MXFP8 E4M3 and of the core zone")        \
    X(E5M2, "codes.e5m2", 248, 248, 248, "finite element codes of MXFP8 E5M2")                     \
    X(INT8, "codes.int8", 255, 255, 0, "INT8 codes -127 to 127")                                   \
    X(E8M0, "scales.e8m0", 255, 32, 24, "E8M0 scale bytes")                                        \
    X(UE4M3, "scales.ue4m3", 127, 64, 64, "E4M3 scale bytes of NVFP4")

#define X(id, name, codes, must, released, text) MXV_TABLE_##id,
enum mxv_event_table { MXV_EVENT_TABLES(X) MXV_TABLE_COUNT };
#undef X

struct mxv_events {
    uint64_t count[MXV_INPUT_COUNT];
    uint32_t codes[MXV_TABLE_COUNT][8]; // bit sets of codes
};

const char *mxv_event_name(unsigned event); // NULL beyond the last one
const char *mxv_event_text(unsigned event);
void mxv_events_merge(struct mxv_events *sum, const struct mxv_events *other);
// How many codes of a table were met.
unsigned mxv_events_codes(const struct mxv_events *events, enum mxv_event_table table);

// Counts the taps of one head. What is kept between taps is freed by mxv_events_end.
struct mxv_events_reader {
    const struct mxv_attention *a;
    size_t lq, lk;
    struct mxv_events *events;
    struct mxv_tap_sink next; // gets every tap, too; take NULL: none
    uint32_t *scales;         // of K, of the route whose codes follow
    size_t scale_cols;
    float *scores;        // of the tile
    float *max, *old_max; // of its rows
    size_t tile_q;        // of the last score tile
    bool started, fresh;  // a tile was seen; it is the first of its query tile
    bool out_of_memory;   // counts are incomplete
};
// *events is added to. next may be NULL.
void mxv_events_begin(struct mxv_events_reader *reader, const struct mxv_attention *a,
                      size_t sequence, struct mxv_events *events, const struct mxv_tap_sink *next);
struct mxv_tap_sink mxv_events_sink(struct mxv_events_reader *reader);
void mxv_events_end(struct mxv_events_reader *reader);

// Mandatory events of a kernel that were not met; take (may be NULL) gets each as a line.
size_t mxv_events_missing(const struct mxv_events *events, enum mxv_kernel kernel,
                          void (*take)(void *ctx, const char *what), void *ctx);
// A table for people, as snprintf; rows: events, columns: kernels with a bit in `kernels`.
size_t mxv_events_print(const struct mxv_events events[MXV_KERNEL_COUNT], unsigned kernels,
                        char *buf, size_t size);

// As one word of text for a log, and back; both as snprintf / false for text of another form.
size_t mxv_events_write(const struct mxv_events *events, char *buf, size_t size);
bool mxv_events_read(const char *text, struct mxv_events *events);

#ifdef __cplusplus
}
#endif
#endif
