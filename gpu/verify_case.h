// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Comparison of one case: device against emulation, word by word, tap by tap.
#ifndef MXV_VERIFY_CASE_H
#define MXV_VERIFY_CASE_H

#include "cuda_run.h"

#include <mxverify/case.h>
#include <mxverify/recorded.h>

struct verify_options {
    bool taps;       // compare every tap as well, and the tracing kernel's outputs with the other's
    size_t tiles;    // 0: all query tiles; else so many of each head, spread over it
    size_t whole;    // record all words of a case with no more than so many output and LSE words;
                     // with `taps` those of every tap as well, if they are no more either
    uint64_t faults; // switched on in the emulation
};

struct verify_outcome {
    bool ran;   // false: `message` says why
    bool wgmma; // the device's path: wgmma, else mma.sync
    bool fused; // dma ran as one kernel with its quantisers
    char message[512];
    uint64_t words, taps;     // compared
    uint64_t differing;       // words of outputs and taps that differ
    uint64_t trace_differing; // output words of the tracing kernel, and of kernels one by one
                              // beside one that quantises itself, unlike the production kernel's
    uint64_t tile_count[MXV_ROUTE_COUNT];
    char first[512]; // first difference in the order of the taps; empty: none
    double device_seconds, emulation_seconds;
    struct mxv_recorded record; // of the device's results
};

// Runs a case on both sides. Thread-safe: the device part is serialised. The caller frees
// out->record.
void verify_case(const struct mxv_case *c, const struct verify_options *options,
                 struct verify_outcome *out);

#endif
