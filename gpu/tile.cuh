// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Geometry of a thread block's work, tiles in shared memory, and the two products on them. A tile
// row is stored in D * size + 16 bytes, so that the eight rows of an ldmatrix phase lie in
// different banks. Rows that do not exist are zero.
#ifndef MXV_GPU_TILE_CUH
#define MXV_GPU_TILE_CUH

#include "mma.cuh"
#include "params.h"

#define MXV_GPU_THREADS 256 // 8 warps of 16 query rows
#define MXV_GPU_CHUNK   64  // keys loaded at a time

// Where a thread block works: one head, rows first .. end - 1 of a query tile of one sequence.
struct place {
    int head, kv_head, sequence, tile, tile_index;
    int q_first, k_first, lq, lk; // first token of the sequence, tokens
    int diagonal;                 // key on the diagonal of row 0
    int first, end;               // rows of this block
    int tile_begin, tile_end;     // rows of the query tile
};

// Visible keys of a row: begin .. end - 1 (contract 2).
struct key_range {
    int begin, end;
};

static __device__ __forceinline__ struct place place_of(const struct mxv_gpu_call &call, int index,
                                                        int head)
{
    const struct mxv_gpu_block block = call.blocks[index];
    struct place w;
    w.head = head;
    w.kv_head = w.head / (call.heads_q / call.heads_kv);
    w.sequence = block.sequence;
    w.tile = block.tile;
    w.tile_index = block.tile_index;
    w.q_first = call.cu_q[block.sequence];
    w.k_first = call.cu_k[block.sequence];
    w.lq = call.cu_q[block.sequence + 1] - w.q_first;
    w.lk = call.cu_k[block.sequence + 1] - w.k_first;
    w.diagonal = call.top_left ? 0 : w.lk - w.lq;
    w.tile_begin = block.tile * call.tile_m;
    w.tile_end = min(w.lq, w.tile_begin + call.tile_m);
    w.first = block.row;
    w.end = min(w.tile_end, block.row + MXV_GPU_ROWS);
    return w;
}

static __device__ __forceinline__ struct key_range visible_keys(const struct mxv_gpu_call &call,
                                                                const struct place &w, int row)
{
    const int diagonal = row + w.diagonal;
    const int begin = call.left >= 0 ? diagonal - call.left : 0;
    const int end = call.right >= 0 ? diagonal + call.right + 1 : w.lk;
    return {min(max(begin, 0), w.lk), min(end, w.lk)};
}

// Processed key tiles begin .. end - 1: the rows of a query tile see one interval together, since
// each row's window is the window of the row before it, moved by one key.
static __device__ __forceinline__ struct key_range processed_tiles(const struct mxv_gpu_call &call,
                                                                   const struct place &w)
{
    const int begin = visible_keys(call, w, w.tile_begin).begin;
    const int end = visible_keys(call, w, w.tile_end - 1).end;
    if (end <= begin)
        return {0, 0};
    return {begin / call.tile_n, (end + call.tile_n - 1) / call.tile_n};
}

static __device__ __forceinline__ int floor_divide(int a, int b)
{
    return a / b - (a % b != 0 && a < 0);
}

// `rows` rows of row_bytes bytes, of which the first `existing` come from src.
static __device__ __forceinline__ void load_rows(uint32_t dst, int stride, const uint8_t *src,
                                                 int row_bytes, int rows, int existing)
{
    const int pieces = row_bytes / 16;
    for (int i = threadIdx.x; i < rows * pieces; i += MXV_GPU_THREADS) {
        const int row = i / pieces, piece = i % pieces;
        const bool valid = row < existing;
        copy_async(dst + row * stride + piece * 16,
                   src + (valid ? (size_t)row * row_bytes + piece * 16 : 0), valid);
    }
}

// A fragment: 16 rows x 32 bytes at `step`.
static __device__ __forceinline__ void load_a(uint32_t (&a)[4], uint32_t tile, int stride, int step)
{
    const int lane = threadIdx.x % 32;
    load_matrix(a, tile + (lane % 16) * stride + step * 32 + lane / 16 * 16);
}

// B fragments of two 8-key tiles: b[0], b[1] of the first, b[2], b[3] of the second.
static __device__ __forceinline__ void load_b(uint32_t (&b)[4], uint32_t tile, int stride, int step)
{
    const int lane = threadIdx.x % 32;
    load_matrix(b, tile + (lane % 8 + lane / 16 * 8) * stride + step * 32 + lane / 8 % 2 * 16);
}

// Scores of 16 rows and MXV_GPU_CHUNK keys: chains of instructions in ascending channels.
template <int UNIT, int STEPS>
static __device__ __forceinline__ void score_chunk(float (*s)[4], uint32_t q, uint32_t k,
                                                   int stride)
{
#pragma unroll 4
    for (int step = 0; step < STEPS; step++) {
        uint32_t a[4], b[4];
        load_a(a, q, stride, step);
#pragma unroll
        for (int t = 0; t < MXV_GPU_CHUNK / 8; t += 2) {
            load_b(b, k + t * 8 * stride, stride, step);
            multiply<UNIT>(s[t], a, b[0], b[1]);
            multiply<UNIT>(s[t + 1], a, b[2], b[3]);
        }
    }
}

// The same on INT8 codes: exact sums, as words.
template <int STEPS>
static __device__ __forceinline__ void score_chunk_s8(float (*s)[4], uint32_t q, uint32_t k,
                                                      int stride)
{
    int sums[MXV_GPU_CHUNK / 8][4] = {};
#pragma unroll 4
    for (int step = 0; step < STEPS; step++) {
        uint32_t a[4], b[4];
        load_a(a, q, stride, step);
#pragma unroll
        for (int t = 0; t < MXV_GPU_CHUNK / 8; t += 2) {
            load_b(b, k + t * 8 * stride, stride, step);
            multiply_s8(sums[t], a, b[0], b[1]);
            multiply_s8(sums[t + 1], a, b[2], b[3]);
        }
    }
#pragma unroll
    for (int t = 0; t < MXV_GPU_CHUNK / 8; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[t][e] = __int_as_float(sums[t][e]);
}

// O += P V over `keys` keys (32 or more): chains in ascending keys. p: packed weights of the chunk,
// [8-key tile][row half]; v: [key][channel].
template <int UNIT, int D>
static __device__ __forceinline__ void value_chunk(float (&o)[D / 8][4], const uint32_t (*p)[2],
                                                   uint32_t v, int stride, int keys)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < MXV_GPU_CHUNK / 16; step++)
        if (step < 2 || keys > 32) {
            const uint32_t a[4] = {p[2 * step][0], p[2 * step][1], p[2 * step + 1][0],
                                   p[2 * step + 1][1]};
            const uint32_t row = v + (step * 16 + lane % 16) * stride + lane / 16 * 16;
#pragma unroll
            for (int t = 0; t < D / 8; t += 2) {
                uint32_t b[4];
                load_matrix_transposed(b, row + t * 16);
                multiply<UNIT>(o[t], a, b[0], b[1]);
                multiply<UNIT>(o[t + 1], a, b[2], b[3]);
            }
        }
}

#endif
