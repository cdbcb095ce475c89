// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Host side of the wgmma engine (attention_sm90.cuh): which calls it takes, and how the copy engine
// is told where tensors lie.
#ifndef MXV_GPU_LAUNCH_SM90_H
#define MXV_GPU_LAUNCH_SM90_H

#include "params.h"

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tensor_maps { // of the copies of Q and K by route, and of V
    CUtensorMap q[2], k[2], v;
};

// Whether the device has compute capability 9.0, the engine was compiled, and the call fits it:
// d = 64 or 128, key tiles of 64 or 128 keys, and at least one key.
bool mxv_gpu_takes_wgmma(const struct mxv_gpu_call *call);

// Boxes of box_rows tokens of one head and 128 bytes of channels (or d, if less) of the tensor
// [heads][tokens][d] of 16-bit words, or of bytes. NULL stands for a route that the call lacks. A
// cudaError_t.
int mxv_gpu_map_tensor(CUtensorMap *map, const void *tensor, bool bytes, int d, int tokens,
                       int heads, int box_rows);

// Boxes of `keys` places (64 or 128) of all d channels of one head of V as mxv_gpu_values_e4m3
// leaves it.
int mxv_gpu_map_values_e4m3(CUtensorMap *map, const void *v, int places, int d, int heads,
                            int keys);

int mxv_gpu_multiprocessors(void);

// The launches; as those of params.h, for calls that mxv_gpu_takes_wgmma.
int mxv_gpu_flash_sm90(const struct mxv_gpu_flash *p, bool trace);
int mxv_gpu_dma_sm90(const struct mxv_gpu_dma *p, bool trace);
int mxv_gpu_tilemix_sm90(const struct mxv_gpu_tilemix *p, bool trace);

#ifdef __cplusplus
}
#endif
#endif
