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
#define X(id, name, stage, kernels, source, text) MXV_FAULT_##id,
#include <mxverify/faults.def>
#undef X
    MXV_FAULT_COUNT
};

struct mxv_fault_info {
    const char *name;     // D1 ...
    enum mxv_stage stage; // first stage at which it shows
    unsigned kernels;     // bit set of enum mxv_kernel
    const char *source;   // repository@commit or repo#issue
    const char *text;     // switch name and one sentence
};

const struct mxv_fault_info *mxv_fault_get(enum mxv_fault f);
bool mxv_fault_find(const char *name,
                    enum mxv_fault *f); // by name (D3) or by switch word (sink-nomask)

static inline bool mxv_fault_on(const struct mxv_attention *a, enum mxv_fault f)
{
    return (a->faults >> f & 1u) != 0;
}

#ifdef __cplusplus
}
#endif
#endif
