// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The calls that cuda_bench times: 32 heads, d = 128, random data, everything on the device.
#ifndef MXV_BENCH_CALLS_H
#define MXV_BENCH_CALLS_H

#include "operands.h"

enum { HEADS = 32, D = 128, TOKENS = 16384, SETS = 2 };

struct inputs { // of a set, for the longest sequence; shorter ones use the beginning
    const void *q, *k, *v;
};

struct bench {
    struct inputs in[SETS];
    struct mxv_gpu_flash flash[SETS];
    struct mxv_gpu_dma dma[SETS], rebased[SETS], e4m3[SETS]; // e4m3: rebased, V in E4M3
    struct mxv_gpu_dma_side q_side[SETS], k_side[SETS];      // of rebased
    uint32_t *fused_state[SETS];
    struct mxv_gpu_tilemix tilemix[SETS], wide[SETS]; // key tiles of 64 and of 128 keys
    struct mxv_gpu_rows q[SETS], k[SETS];
    uint8_t *codes, *scales;
    uint32_t *work, *words; // of row scales; the route words
};

// Ends the program with status 3 and one line after a CUDA error.
void bench_checked(int error, const char *what);
// Fills *b for n tokens, 8,192 or 16,384, operands included. n: of queries and keys.
void bench_fill(struct bench *b, int n, bool causal);
// Makes the operands of rebased[set] again: a launch.
int bench_prepare(const struct bench *b, int set);

#endif
