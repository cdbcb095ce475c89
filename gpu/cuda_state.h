// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What is on the device during a run, and the operand steps. After a failure every function does
// nothing more; the first message stays.
#ifndef MXV_CUDA_STATE_H
#define MXV_CUDA_STATE_H

#include "cuda_memory.h"
#include "operands.h"

struct side {
    struct mxv_gpu_rows rows;
    bool key;
};

struct state {
    struct cuda_run run;
    const struct mxv_attention *a;
    struct mxv_cuda_result *result;
    bool taps, one_by_one; // as enum mxv_cuda_build says
    struct side q, k, v;
    struct mxv_gpu_call call;
    int32_t query_tiles;
};

// Takes note of the cudaError_t of a launch.
void cuda_launched(struct state *s, int error, const char *what);
size_t cuda_row_count(const struct side *side);
size_t cuda_element_count(const struct side *side);
// Fetches a tap's words when taps are wanted. bytes as for cuda_fetch_words.
void cuda_keep(struct state *s, enum mxv_stage stage, enum mxv_route route, const void *device,
               size_t n, unsigned bytes);
// 16-bit operands of a side; its tap.
const void *cuda_cast_side(struct state *s, struct side *side, enum mxv_stage tap);
// The means of K become part of how its rows are read.
void cuda_smooth(struct state *s, struct side *k);
// The same for second-level scales (dma).
void cuda_second_level(struct state *s);
// Block codes and scales of one side and route; returns their bf16 values.
enum mxv_gpu_scale_rule cuda_scale_rule(enum mxv_scale_rule rule);
const void *cuda_quantise(struct state *s, struct side *side, enum mxv_route route);
// The copy of the core zone: E4M3 codes; *scale: of 32 channels each.
const uint8_t *cuda_core(struct state *s, struct side *side, const float **scale);
// Widths of the zones of each sequence, as struct mxv_gpu_dma has them.
const int32_t *cuda_zones(struct state *s);
// The low copy of rebase=1: E5M2 codes; *factor: the power of two of each row.
const void *cuda_rebase(struct state *s, struct side *side, const float **factor);
// Runs dma as one kernel with its quantisers, if it takes the call. false: it does not, or has
// failed. p: the call without operands of q and k.
bool cuda_run_fused(struct state *s, const struct mxv_gpu_dma *p);
// V in E4M3 under one scale for a KV head and sequence, as both engines read it.
const void *cuda_values_e4m3(struct state *s);
// tilemix: V, INT8 scales, codes, and what a cache of codes returns.
const void *cuda_tilemix_values(struct state *s);
const float *cuda_granular_scales(struct state *s, struct side *side, enum mxv_granularity g,
                                  size_t tile);
const int8_t *cuda_int8_codes(struct state *s, struct side *side, const float *scale,
                              enum mxv_stage scale_tap, enum mxv_stage code_tap);
const void *cuda_cached(struct state *s, struct side *side, const float *scale, const int8_t *codes,
                        enum mxv_stage tap);

#endif
