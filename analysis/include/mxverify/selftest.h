// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The judge tried on broken kernels: every fault of faults.def is switched on, alone, in the
// emulation of every kernel it applies to, and the cases of a tier are run in their order until one
// tells the broken emulation from the healthy one. What counts is the first case that does: after
// how many, and whether the first differing tap is of a stage that the fault's row names.
// Threads: independent calls; inside, OpenMP threads. Results do not depend on their number.
#ifndef MXVERIFY_SELFTEST_H
#define MXVERIFY_SELFTEST_H

#include <mxverify/case.h>
#include <mxverify/faults.h>
#include <mxverify/taps.h>
#include <mxverify/tiers.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mxv_selftest_options {
    const char *kernel; // name, or "all" (NULL the same)
    const char *fault;  // name, or NULL for all
    size_t count;       // at most so many cases of the tier for each kernel; 0: all of them
};

// One kernel with one fault.
struct mxv_selftest_cell {
    bool applies;     // the fault makes sense on the kernel, and was asked for
    bool caught;      //
    bool right_stage; // the stage is one of the fault's
    size_t cases;     // run, the catching one included
    const char *tier; // of the catching case: "smoke" or "quick"
    enum mxv_stage stage;
    char id[MXV_CASE_ID_SIZE]; // of the catching case, without the fault
};

struct mxv_selftest_faults {
    struct mxv_selftest_cell cells[MXV_KERNEL_COUNT][MXV_FAULT_COUNT];
    size_t applicable, caught, right_stage;
    double seconds;
};

// MXV_OK whatever was caught; an error only when a case could not be run (message). The fault D12
// is one of the reference: it is caught when the verdict is oracle-error.
enum mxv_status mxv_selftest_faults(const struct mxv_selftest_options *options,
                                    struct mxv_selftest_faults *out, char *message, size_t size);

// First difference that the faults of `call` make on a case whose healthy taps are `healthy`, one
// record for each head (sequence-major). 1 caught and *where, 0 not, -1 with a message.
int mxv_selftest_compare(const struct mxv_attention *call, const struct mxv_tap_record *healthy,
                         struct mxv_taps_where *where, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
