// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One attention call on the device: from the description that the emulations take to output words,
// and to the words of every tap when asked.
//
// Errors, with one line in `message`: -1 an option that these kernels do not offer, or a CUDA error
// with its call; -2 lack of memory, of the host or the device. Threads: one call at a time (the
// caller serialises).
#ifndef MXV_CUDA_RUN_H
#define MXV_CUDA_RUN_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

// Results; words as an emulation writes them, but for the payload of a NaN.
struct mxv_cuda_result {
    uint32_t *out;                                    // [heads_q][tokens of all sequences][d]
    uint32_t *lse;                                    // [heads_q][tokens]; NULL for lse=none
    size_t key_tiles;                                 // slots of a query tile in tile taps
    bool wgmma;                                       // the engine: wgmma, else the portable one
    bool fused;                                       // dma as one kernel with its quantisers
    bool v_scale_by_sequence;                         // FP8 V: one scale a sequence, not a key
    uint32_t *taps[MXV_STAGE_COUNT][MXV_ROUTE_COUNT]; // NULL: not recorded
};

// Whether the kernels here offer the call: what mxv_attention_check accepts on the arch of the
// device (sm_80 or sm_90), without faults and dma-released.
int mxv_cuda_supports(const struct mxv_attention *a, char *message, size_t size);

// Which kernels run. All give the same bits.
enum mxv_cuda_build {
    MXV_CUDA_PRODUCTION, // without taps: dma as one kernel with its quantisers where it takes the
                         // call, all else one by one
    MXV_CUDA_TRACING,    // operands one by one, then the tracing kernel; all taps are fetched
    MXV_CUDA_PREPARED    // operands one by one, then the production kernel
};

// Runs the call. *out must be zero or hold an earlier result; the caller frees it with
// mxv_cuda_result_free, after an error too.
int mxv_cuda_run(const struct mxv_attention *a, enum mxv_cuda_build build,
                 struct mxv_cuda_result *out, char *message, size_t size);
void mxv_cuda_result_free(struct mxv_cuda_result *r);

// The device's words of the tap that an emulation emitted; NULL: not recorded.
const uint32_t *mxv_cuda_tap(const struct mxv_cuda_result *r, const struct mxv_attention *a,
                             const struct mxv_tap *tap);

// Element format of a tap's words; MXV_U8 stands for words without NaN.
enum mxv_element mxv_cuda_tap_format(const struct mxv_attention *a, const struct mxv_tap *tap);
// Sends all recorded taps of a head in the order of the contract, NaNs canonical. -1: out of
// memory.
int mxv_cuda_send_taps(const struct mxv_cuda_result *r, const struct mxv_attention *a,
                       size_t sequence, size_t head, const struct mxv_tap_sink *sink);

// Device 0 in words: name, compute capability, driver and runtime version. -1: no device, why.
int mxv_cuda_device(char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
