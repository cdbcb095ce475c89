// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One attention call emulated on whatever GPU is there: the words that the GPU named by the call's
// arch would compute. The interface is that of cuda_run.h, the result structure the same.
//
// Errors: -1 with one line in `message`. Threads: one call at a time (the caller serialises).
#ifndef MXV_EMULATE_RUN_H
#define MXV_EMULATE_RUN_H

#include "cuda_run.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether the call can be emulated here: what mxv_attention_check accepts on any arch, without
// faults and dma-released.
int mxv_emulate_supports(const struct mxv_attention *a, char *message, size_t size);

// Runs the call; `taps` keeps all taps. *out must be zero or hold an earlier result; the caller
// frees it with mxv_cuda_result_free, after an error too.
int mxv_emulate_run(const struct mxv_attention *a, enum mxv_cuda_build build,
                    struct mxv_cuda_result *out, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
