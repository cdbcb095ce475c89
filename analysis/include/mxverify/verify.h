// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Verification of one case: an implementation against the emulation, tap by tap, and the emulation
// against MPFR truth.
//
// Statements about a case, kept apart in the result:
//   same bits    every tap and output word of the implementation equals the emulation's
//   oracle sane  the emulation's scores, weights and output lie within their proved bounds of the
//                exact attention of the operands (docs/bounds.md); otherwise the verdict is
//                oracle-error and says nothing about the implementation
//   bound        each judged output element of the implementation is proved within its bound of
//                exact attention, or proved wrong, or undecided
//   gate power   which mutations of the output that comparison would have noticed (gate.h); a pass
//                that would not have noticed a mandatory one is `weak`
//   distance     metrics of the implementation's output against exact attention of (a) the inputs
//                and (b) the dequantised operands: quantisation and compute error told apart
// Threads: independent calls; inside, heads run on OpenMP threads unless the caller is parallel.
// Results do not depend on the number of threads.
#ifndef MXVERIFY_VERIFY_H
#define MXVERIFY_VERIFY_H

#include <mxverify/bound.h>
#include <mxverify/case.h>
#include <mxverify/compare.h>
#include <mxverify/events.h>
#include <mxverify/gate.h>
#include <mxverify/log.h>
#include <mxverify/map.h>
#include <mxverify/split.h>
#include <mxverify/taps.h>
#include <mxverify/truth.h>

#ifdef __cplusplus
extern "C" {
#endif

// In-tree implementations: X(id, name, text)
#define MXV_IMPLS(X)                                                                               \
    X(PLAIN, "plain", "second emulation, written from docs/kernels alone")                         \
    X(EMULATION, "emulation", "the engine itself, with the faults of the case switched on")        \
    X(RECORDED, "recorded",                                                                        \
      "what a device computed, kept as hashes in data/golden: the emulation must give them")

#define X(id, name, text) MXV_IMPL_##id,
enum mxv_impl { MXV_IMPLS(X) MXV_IMPL_COUNT };
#undef X
const char *mxv_impl_name(unsigned impl); // NULL beyond the last one
const char *mxv_impl_text(unsigned impl);

struct mxv_adapter;        // <mxverify/impl.h>
struct mxv_recorded_store; // <mxverify/recorded.h>

struct mxv_verify_options {
    enum mxv_impl impl;
    const struct mxv_adapter *adapter; // an implementation behind the adapter interface, instead of
                                       // impl; NULL: none
    const struct mxv_recorded_store *recorded; // of impl RECORDED
    bool truth;                                // evaluate the exact attention
    size_t truth_scores;    // exact scores per case and kind before rows are sampled; 0: all rows
    double psnr_peak;       // peak of PSNR; 0: 10, as published for DMA
    const char *map_folder; // maps are written here; NULL: none
    bool maps_on_pass;      // also for a case without difference
    bool wide_weights;      // the implementation may keep P wider than its declared type: judged by
                            // its distance from exact attention alone, not from the emulation
    bool name_fault;        // of a fail: try every known fault of the kernel on one head
    bool events;            // count what the data make the arithmetic do (events.h)
};

enum { MXV_VERIFY_MAPS = 16, MXV_VERIFY_TEXT = 512 };

// The element that comes nearest to its bound, or goes furthest beyond it.
struct mxv_bound_worst {
    size_t sequence, head, row, channel;
    double value, truth, radius; // of the implementation, and exact attention of the operands
    double error, bound;         // |value - truth|, and what the contract allows
    double model_bound;          // what the declared model allows
    double known[3];             // contract: deviation known by scores, by weights; and open rest
    struct mxv_bound_terms contract, model;
};

// The log-sum-exp of judged rows against its bounds; as below.
struct mxv_bound_lse_report {
    uint64_t elements, within, wrong, undecided;
    uint64_t model_within, model_wrong, model_undecided;
    double error_max, bound_at_max, model_at_max;
    double ratio; // largest error / model bound
    struct mxv_bound_worst worst;
};

// Output elements against the bounds of docs/bounds.md. Contract: for an implementation that claims
// the kernel's contract; model: for one that claims its operands, units and tile order only.
struct mxv_bound_report {
    bool available;          // false: nothing judged
    uint64_t unbounded;      // elements of judged rows without a finite contract bound: bits only
    uint64_t elements, rows; // judged
    uint64_t words;          // of the elements: NaN, infinities, rows without a key; word by word
    uint64_t within, wrong, undecided; // by the contract bound
    uint64_t model_within, model_wrong, model_undecided;
    double error_max;                  // largest |implementation - truth (b)|
    double bound_median, model_median; // of the bounds on it
    double bound_at_max, model_at_max; // at the element of error_max
    double ratio, model_ratio;         // largest error / bound
    struct mxv_bound_worst worst;      // by ratio
    struct mxv_bound_lse_report lse;
};

// Scores of one route, log2 units: exact (b) against exact (a), and the emulation against (b).
struct mxv_score_split {
    uint64_t pairs;
    double quantisation_max, quantisation_squares, compute_max, compute_squares;
};

struct mxv_verify_result {
    enum mxv_verdict verdict;
    char reason[MXV_VERIFY_TEXT]; // of any verdict but pass
    char diagnosis[1056];         // of a fail: what its pattern looks like (diagnose.h); else empty
    double seconds;
    uint64_t words;                  // output and tap words compared
    uint64_t taps;                   // taps compared
    uint64_t tiles[MXV_ROUTE_COUNT]; // score tiles by route
    unsigned routes;                 // bit set
    struct mxv_taps_where first;     // first difference
    struct mxv_tap_element element;  // its first element; rows = 0 when not located
    enum mxv_element element_format;
    uint64_t output_hash; // XXH3-64 of all outputs of the implementation
    bool has_truth;
    size_t truth_rows, truth_rows_total;     // evaluated, of how many
    size_t truth_certified;                  // enclosures of rows, both kinds, without MPFR
    size_t truth_left[MXV_TRUTH_LEFT_COUNT]; // by MPFR, by reason
    size_t unmeasured_rows; // of truth_rows, left out of metrics and rms: judged by words, or
                            // by bits where the implementation claims them
                            // (docs/bounds.md 1), or with a NaN or infinity in reach
    struct mxv_metrics against_inputs, against_operands; // over the other ones
    double worst_bound_ratio; // largest error of the emulation / its bound (oracle sane: <= 1)
    size_t undefined_rows;    // rows with NaN or infinity in reach: compared, not judged
    struct mxv_events events; // of all heads, with options->events
    bool same_bits;           // no tap or output word differs from the emulation
    enum mxv_verdict bound_verdict; // pass, fail or undecided by the contract bound; skip: none
    struct mxv_bound_report bound;
    struct mxv_gate_report gate;
    struct mxv_score_split split[MXV_ROUTE_COUNT];
    struct mxv_split causes;              // of kernels with bounds; else no elements
    double quantisation_rms, compute_rms; // output: truth (a) - (b), implementation - (b)
    size_t map_count;
    char maps[MXV_VERIFY_MAPS][1024];
    char *drawing; // terminal drawing of the first map, owned; NULL without maps
};

// MXV_OK even for a failing case; an error only when the case could not be evaluated (message).
// mxv_verify_free releases what *out owns and may be called after an error.
enum mxv_status mxv_verify_case(const struct mxv_case *c, const struct mxv_verify_options *options,
                                struct mxv_verify_result *out, char *message, size_t size);
void mxv_verify_free(struct mxv_verify_result *result);

#ifdef __cplusplus
}
#endif
#endif
