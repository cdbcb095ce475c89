// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Named kernel faults, switches of the engine (struct mxv_attention.faults is a bit set of them).
#ifndef MXVERIFY_FAULTS_H
#define MXVERIFY_FAULTS_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_fault {
#define X(id, name, stage, also, kernels, trigger, source, text) MXV_FAULT_##id,
#include <mxverify/faults.def>
#undef X
    MXV_FAULT_COUNT
};

struct mxv_fault_info {
    const char *name;     // D1, nibble-order ...
    enum mxv_stage stage; // first stage at which it shows on `trigger`
    unsigned stages;      // bit set of the stages at which it may show first, `stage` among them
    unsigned kernels;     // bit set of enum mxv_kernel
    const char *trigger;  // a case on which it shows
    const char *source;   // repository@commit, repository#issue or arXiv id
    const char *text;     // one sentence, of D1 to D13 after a switch name and a colon
};

const struct mxv_fault_info *mxv_fault_get(enum mxv_fault f);
bool mxv_fault_find(const char *name,
                    enum mxv_fault *f); // by name (D3) or by switch word (sink-nomask)

// a->faults has one bit for each.
typedef char mxv_faults_fit_in_64_bits[MXV_FAULT_COUNT <= 64 ? 1 : -1];

static inline bool mxv_fault_on(const struct mxv_attention *a, enum mxv_fault f)
{
    return (a->faults >> f & 1u) != 0;
}

#ifdef __cplusplus
}
#endif
#endif
