// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Host side of the wgmma engine (attention_sm90.cuh): which calls it takes, and how the copy engine
// is told where tensors lie.
#ifndef MXV_GPU_LAUNCH_SM90_H
#define MXV_GPU_LAUNCH_SM90_H

#include "operands.h"

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tensor_maps { // of the copies of Q and K by route, and of V
    CUtensorMap q[2], k[2], v;
};

// Whether the device has compute capability 9.0, the engine was compiled, and the call fits it:
// d = 64 or 128, key tiles of 64 or 128 keys, not exp=cr, and at least one key. Nor does it take
// zones of dma.
bool mxv_gpu_takes_wgmma(const struct mxv_gpu_call *call);

// Boxes of one head of the tensor [heads][rows][columns] of bytes or 16-bit words, swizzled at
// their width of 128, 64 or 32 bytes. NULL stands for a tensor that the call lacks. A cudaError_t.
int mxv_gpu_map_box(CUtensorMap *map, const void *tensor, bool bytes, int columns, int rows,
                    int heads, int box_columns, int box_rows);

// Boxes of box_rows tokens of one head and 128 bytes of channels (or d, if less) of the tensor
// [heads][tokens][d] of 16-bit words, or of bytes; otherwise as mxv_gpu_map_box.
int mxv_gpu_map_tensor(CUtensorMap *map, const void *tensor, bool bytes, int d, int tokens,
                       int heads, int box_rows);

int mxv_gpu_multiprocessors(void);

// Heads whose pieces of work take turns (stages_sm90.cuh): where rows differ in length as many as
// half of the second-level cache holds the keys and values of, else one; at least one key head's.
// key_bytes: of a key and its value.
int mxv_gpu_heads_at_once(const struct mxv_gpu_call *call, int key_bytes);

// The launches; as those of params.h, for calls that mxv_gpu_takes_wgmma.
int mxv_gpu_flash_sm90(const struct mxv_gpu_flash *p, bool trace);
int mxv_gpu_dma_sm90(const struct mxv_gpu_dma *p, bool trace);
int mxv_gpu_tilemix_sm90(const struct mxv_gpu_tilemix *p, bool trace);

// As mxv_gpu_dma_fused, for what mxv_gpu_takes_fused.
int mxv_gpu_dma_fused_sm90(const struct mxv_gpu_dma_fused *p);

// dma with FP8 products on the portable engine (dma_fp8.cuh): rebased, with V in E4M3 or with
// zones, any d and key tile, on compute capability 9.0 alone.
int mxv_gpu_dma_fp8_sm90(const struct mxv_gpu_dma *p, bool trace);

#ifdef __cplusplus
}
#endif
#endif
