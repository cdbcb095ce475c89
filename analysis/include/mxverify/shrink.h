// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shrinking: from a case that does not pass to a small one that fails in the same way, that is,
// with the same verdict, the same kind of first difference and the same stage of it.
//
// Greedy: simpler cases are tried in a fixed order, and the first that fails in the same way is
// gone on from, until none is left (a fixed point) or time is over. `Simpler` is, in this order:
// fewer score tiles, fewer scores, fewer tensor elements, fewer options that are not the kernel's
// defaults, smaller windows and bands, simpler data. Every accepted step is simpler, so the search
// ends. Deterministic, except where time cuts it off. docs/shrink.md lists the steps.
// Threads: independent calls.
#ifndef MXVERIFY_SHRINK_H
#define MXVERIFY_SHRINK_H

#include <mxverify/verify.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mxv_shrink_options {
    struct mxv_verify_options verify; // impl and adapter are used; truth is switched on if needed
    double seconds;                   // time limit; 0: none
    // After each accepted step; NULL: none.
    void (*step)(void *ctx, const struct mxv_case *c, size_t tries);
    // Asked before each case; true ends the search as the time limit does. NULL: never.
    bool (*stop)(void *ctx);
    void *ctx;
};

// How a case fails.
struct mxv_failure {
    enum mxv_verdict verdict;
    enum mxv_tap_difference difference; // of the first difference
    enum mxv_stage stage;               // of it
};
bool mxv_failure_equal(const struct mxv_failure *a, const struct mxv_failure *b);

// How large a case is, in the order in which cases are compared. Tensors of files count with the
// ranges given.
struct mxv_case_size {
    uint64_t tiles;    // query tiles x key tiles, over sequences and query heads
    uint64_t scores;   // query rows x keys, likewise
    uint64_t elements; // of Q, K and V, and one for each token and sequence
    uint64_t options;  // fields that are not at the kernel's default, data aside
    uint64_t widths;   // window, band, sinks, group
    uint64_t data;     // rank of the generator, digits of the seed
};
void mxv_case_size(const struct mxv_case *c, struct mxv_case_size *size);

struct mxv_shrink_result {
    struct mxv_case c; // the small case
    struct mxv_failure failure;
    struct mxv_verify_result verified; // of the small case, without truth and maps
    struct mxv_case_size before, after;
    size_t tries, steps; // cases verified, accepted
    bool fixed_point;    // false: time was over, memory was short, or it was stopped
    bool interrupted;    // by options.stop
};

// MXV_ERR_INPUT when the case passes, or when it was stopped before it failed; errors of
// mxv_verify_case on the case itself.
enum mxv_status mxv_shrink_case(const struct mxv_case *c, const struct mxv_shrink_options *options,
                                struct mxv_shrink_result *out, char *message, size_t size);

// The numbers of a case around its first difference, for a check by hand: at most 4 query rows and
// 8 keys of q, k, v, scores, weights and output, expected and got. Text to be released with free();
// NULL with a message.
char *mxv_shrink_numbers(const struct mxv_case *c, const struct mxv_verify_options *options,
                         const struct mxv_verify_result *verified, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
