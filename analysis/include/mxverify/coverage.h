// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option coverage of a run: how often each kernel met each value of each option, each route, and
// each shape event. A value that a kernel offers and that no case took is missing.
#ifndef MXVERIFY_COVERAGE_H
#define MXVERIFY_COVERAGE_H

#include <mxverify/case.h>

#ifdef __cplusplus
extern "C" {
#endif

// Events that no single option names: X(id, name, text).
#define MXV_COVERAGE_EVENTS(X)                                                                     \
    X(ONE_QUERY, "one_query", "a sequence of one query")                                           \
    X(ONE_KEY, "one_key", "a sequence of one key")                                                 \
    X(NO_QUERY, "no_query", "a sequence without query in a batch")                                 \
    X(NO_KEY, "no_key", "a sequence with queries and no key")                                      \
    X(BATCH, "batch", "more than one sequence of equal length")                                    \
    X(VARLEN, "varlen", "sequences of different lengths")                                          \
    X(GROUPED, "grouped", "several query heads on one KV head")                                    \
    X(MANY_HEADS, "many_kv_heads", "several KV heads")                                             \
    X(MORE_KEYS, "lq<lk", "more keys than queries")                                                \
    X(MORE_QUERIES, "lq>lk", "more queries than keys")                                             \
    X(RAGGED_Q, "ragged_q", "a last query tile that is not full")                                  \
    X(RAGGED_K, "ragged_k", "a last key tile that is not full")                                    \
    X(FULL_TILES, "full_tiles", "query and key tiles all full")                                    \
    X(MANY_Q_TILES, "many_q_tiles", "three query tiles or more")                                   \
    X(MANY_K_TILES, "many_k_tiles", "three key tiles or more")                                     \
    X(EMPTY_ROW, "empty_row", "a row that sees no key")                                            \
    X(LEFT, "left", "a left window")                                                               \
    X(RIGHT, "right", "a right window")                                                            \
    X(TAU, "tau>0", "lazy rescale")                                                                \
    X(POFF, "poff", "an explicit P offset")                                                        \
    X(SCALE, "scale", "an explicit softmax scale")                                                 \
    X(NO_BAND, "D=0", "no diagonal band")                                                          \
    X(WIDE_BAND, "D>1", "a band of several tiles")                                                 \
    X(NO_SINK, "s=0", "no sink tile")                                                              \
    X(MANY_SINKS, "s>1", "several sink tiles")                                                     \
    X(BAND_TOKENS, "diag_tokens", "a band given in tokens")                                        \
    X(GROUPED_TILES, "g>1", "several key tiles for a bit")                                         \
    X(WIDE_WORD, "W=64", "route words of 64 bits")                                                 \
    X(REAL_DATA, "input", "tensors from files")

#define X(id, name, text) MXV_EVENT_##id,
enum mxv_coverage_event { MXV_COVERAGE_EVENTS(X) MXV_EVENT_COUNT };
#undef X

enum { MXV_COVERAGE_VALUES = 64 };

struct mxv_coverage {
    uint64_t cases[MXV_KERNEL_COUNT];
    uint64_t value[MXV_KERNEL_COUNT][MXV_FIELD_COUNT][MXV_COVERAGE_VALUES];   // CHOICE, FLAG fields
    uint64_t tile_rows[MXV_KERNEL_COUNT][17], tile_keys[MXV_KERNEL_COUNT][9]; // in 16s and in 32s
    uint64_t head_dim[MXV_KERNEL_COUNT][257];
    uint64_t route[MXV_KERNEL_COUNT][MXV_ROUTE_COUNT];
    uint64_t event[MXV_KERNEL_COUNT][MXV_EVENT_COUNT];
    uint64_t fault[MXV_KERNEL_COUNT][MXV_FAULT_COUNT];
};

void mxv_coverage_clear(struct mxv_coverage *coverage);
// Counts a case; `routes` is the bit set of enum mxv_route its tiles took (mxv_coverage_routes).
// Not thread-safe: count in one thread, or add up with mxv_coverage_merge.
void mxv_coverage_add(struct mxv_coverage *coverage, const struct mxv_case *c, unsigned routes);
void mxv_coverage_merge(struct mxv_coverage *sum, const struct mxv_coverage *other);
// Routes of all tiles of a built case, skipped ones left out.
unsigned mxv_coverage_routes(const struct mxv_attention *a);

// Calls `take` with `kernel option=value` for everything that the kernels in `kernels` (bit set)
// offer and that was never met; returns how many. take may be NULL. `with_faults`: faults too.
// Tensors from files (gen unused, nonfinite, the event `input`) and planfile are never required.
size_t mxv_coverage_missing(const struct mxv_coverage *coverage, unsigned kernels, bool with_faults,
                            void (*take)(void *ctx, const char *what), void *ctx);

// Table of all counts, one option a line, for the kernels that were run. Returns its length, as
// snprintf does.
size_t mxv_coverage_print(const struct mxv_coverage *coverage, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif
