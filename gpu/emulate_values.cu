// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The PV product of emulated GPUs and the end of a row (emulate.h; docs/kernels/contract.md 5,
// steps 8 and 9, and 6): one thread block per 64 rows and 64 channels, along all processed key
// tiles in visiting order. gpu/emulate_verify compares the `acc` taps and outputs with the CPU's
// emulation.
#include "emulate_special.h"
#include "emulate_tile.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// CHUNK keys of the weights of a tile; zeros for rows that do not exist.
static __device__ __forceinline__ void load_weights(operand_tile &t, const struct reading &r,
                                                    const uint16_t *weights, int stride, int rows)
{
    for (int i = threadIdx.x; i < EDGE * CHUNK; i += EMULATE_THREADS) {
        const int row = i / CHUNK, n = i % CHUNK;
        t[n][row] = row < rows ? unit_decode(r.layout, weights[(size_t)row * stride + n], r.up)
                               : unit_pack(0, MXV_OPERAND_ZERO);
    }
}

// CHUNK keys of V, of which the first `existing` come from memory.
static __device__ __forceinline__ void load_values(operand_tile &t, const struct reading &r,
                                                   const void *v, size_t first, int d, int channel,
                                                   int existing)
{
    for (int i = threadIdx.x; i < EDGE * CHUNK; i += EMULATE_THREADS) {
        const int n = i / EDGE, c = i % EDGE;
        t[n][c] = n < existing && channel + c < d
                      ? read_operand(r, v, (first + n) * d + channel + c)
                      : unit_pack(0, MXV_OPERAND_ZERO);
    }
}

// Where a thread block works: rows and channels of a query tile.
struct value_block {
    struct mxv_emulate_item item;
    int row, channel, rows; // first row in the tile, first channel, existing rows
    int own_row, own_channel;
};

// Step 8: O times the factor of its row.
static __device__ __forceinline__ void rescale(const struct mxv_emulate_call &call,
                                               const struct value_block &w, size_t tile,
                                               uint32_t (&o)[4][4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int r = w.own_row + i;
        const float alpha = r < w.rows ? call.alpha[tile * call.tile_m + w.row + r] : 0;
#pragma unroll
        for (int j = 0; j < 4; j++)
            o[i][j] = __float_as_uint(__fmul_rn(__uint_as_float(o[i][j]), alpha));
    }
}

static __device__ __forceinline__ void keep_accumulator(const struct mxv_emulate_call &call,
                                                        const struct value_block &w, size_t tile,
                                                        const uint32_t (&o)[4][4])
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int r = w.own_row + i / 4, c = w.channel + w.own_channel + i % 4;
        if (r < w.rows && c < call.d)
            call.acc[(tile * call.tile_m + w.row + r) * call.d + c] =
                __uint_as_float(o[i / 4][i % 4]);
    }
}

static __device__ __forceinline__ void store_output(const struct mxv_emulate_call &call, size_t at,
                                                    float o)
{
    if (call.out_type == MXV_GPU_F32)
        ((float *)call.out)[at] = o;
    else if (call.out_type == MXV_GPU_F16)
        ((__half *)call.out)[at] = __float2half_rn(o);
    else
        ((__nv_bfloat16 *)call.out)[at] = __float2bfloat16_rn(o);
}

// Contract 6, steps 2 and 3.
static __device__ __forceinline__ void
finish(const struct mxv_emulate_call &call, const struct value_block &w, const uint32_t (&o)[4][4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int r = w.own_row + i;
        if (r >= w.rows)
            continue;
        const float total = call.total[(size_t)w.item.slot * call.tile_m + w.row + r];
        const float empty = call.empty_nan ? __uint_as_float(UNIT_NAN) : 0.0f;
        float g = __uint_as_float(special_rcp(__float_as_uint(total)));
        if (call.v_scale)
            g = __fmul_rn(g, call.v_scale[w.item.scale]);
        const size_t row = (size_t)w.item.head * call.tokens_q + w.item.q_first + w.row + r;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int c = w.channel + w.own_channel + j;
            if (c < call.d)
                store_output(call, row * call.d + c,
                             total == 0 ? empty : __fmul_rn(__uint_as_float(o[i][j]), g));
        }
    }
}

template <int L>
static __global__ void __launch_bounds__(EMULATE_THREADS, 2)
    value_steps(const __grid_constant__ struct mxv_emulate_call call)
{
    __shared__ __align__(16) operand_tile a, b;
    struct value_block w;
    w.item = call.items[blockIdx.x];
    w.row = blockIdx.y * EDGE;
    w.channel = blockIdx.z * EDGE;
    w.rows = min(EDGE, w.item.rows - w.row);
    w.own_row = threadIdx.x / 16 * 4;
    w.own_channel = threadIdx.x % 16 * 4;
    if (w.rows <= 0)
        return;
    const struct unit_step u = step_of(call.pv);
    const struct reading read_p = reading_of(call.pv, false), read_v = reading_of(call.pv, true);
    const size_t key = (size_t)w.item.kv_head * call.tokens_k + w.item.k_first;
    const int unscaled[4] = {};
    uint32_t o[4][4] = {};
    for (int n = 0; n < w.item.end - w.item.begin; n++) {
        const int j = call.descending ? w.item.end - 1 - n : w.item.begin + n;
        const size_t tile = (size_t)w.item.slot * call.key_tiles + j;
        const uint16_t *weights = call.weight + (tile * call.tile_m + w.row) * call.tile_n;
        rescale(call, w, tile, o);
        for (int at = 0; at < call.tile_n; at += CHUNK) {
            const int first = j * call.tile_n + at;
            __syncthreads();
            load_weights(a, read_p, weights + at, call.tile_n, w.rows);
            load_values(b, read_v, call.v, key + first, call.d, w.channel, w.item.lk - first);
            __syncthreads();
            for (int k = 0; k < CHUNK; k += L)
                multiply_step<L>(a, b, k, u, unscaled, unscaled, o);
        }
        if (call.acc)
            keep_accumulator(call, w, tile, o);
    }
    finish(call, w, o);
}

extern "C" int mxv_emulate_values(const struct mxv_emulate_call *p)
{
    const dim3 grid((unsigned)p->item_count, (unsigned)(p->tile_m + EDGE - 1) / EDGE,
                    (unsigned)(p->d + EDGE - 1) / EDGE);
    if (p->item_count == 0)
        return (int)cudaSuccess;
    if (p->pv.unit == MXV_EMULATE_T8)
        value_steps<8><<<grid, EMULATE_THREADS>>>(*p);
    else if (p->pv.unit == MXV_EMULATE_T16)
        value_steps<16><<<grid, EMULATE_THREADS>>>(*p);
    else
        value_steps<32><<<grid, EMULATE_THREADS>>>(*p);
    return (int)cudaGetLastError();
}
