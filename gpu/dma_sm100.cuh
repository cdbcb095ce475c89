// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma on the fifth-generation tensor core of sm_100a (docs/kernels/dma.md 3, row sm_100; contract 5
// with two row-sum lanes): MXFP8 E4M3 high, MXFP4 or NVFP4 low, scores by the block-scaled kinds, V
// and weights in f16, accumulators in tensor memory. d = 64 or 128, key tiles of 128 keys. Operands
// are the codes and linear scales of the block quantisers. Compiled, never run on a device;
// unit.kernel_text runs this text on a model of the instructions.
//
// A block is 128 query rows of one head. Warps 0 to 3: a query row a thread (row_sm100.cuh). Warp 4
// loads (stages_sm100.cuh). One thread of warp 5 issues all products: the scores of tile n + 1,
// which run while tile n is weighed, then the weights of tile n, which the rows have put into
// tensor memory, times V. Chains ascend in channels and keys, as they are issued (PTX ISA 9.2,
// 9.7.16.6.2).
#ifndef MXV_GPU_DMA_SM100_CUH
#define MXV_GPU_DMA_SM100_CUH

#include "launch_sm90.h"
#include "stages_sm100.cuh"

template <int TILES>
static __device__ __forceinline__ void copy_scale_tiles(uint32_t columns, uint32_t tiles)
{
#pragma unroll
    for (int i = 0; i < TILES; i++)
        copy_scale_tile(columns + i * SCALE_TILE_COLUMNS, scales_operand(tiles + i * SCALE_TILE));
}

// Scores of a tile of one route: its key scales to tensor memory, then the chain over d.
template <int UNIT, int D>
static __device__ __forceinline__ void issue_scores(uint32_t c, uint32_t q, uint32_t k,
                                                    uint32_t q_columns, uint32_t k_columns,
                                                    uint32_t k_tiles)
{
    constexpr int BYTES = unit_row_bytes(UNIT, D);
    constexpr enum tensor_element ELEMENT = UNIT == MXV_UNIT_MXF8 ? TENSOR_E4M3 : TENSOR_E2M1;
    const uint64_t a = rows_operand(q, BYTES), b = rows_operand(k, BYTES);
    copy_scale_tiles<scale_tiles(UNIT, D)>(k_columns, k_tiles);
#pragma unroll
    for (int step = 0; step < BYTES / 32; step++) {
        const uint32_t byte = step * block_step_scales(UNIT), at = scale_columns(byte);
        const uint32_t instruction =
            instruction_blocks(ELEMENT, UNIT != MXV_UNIT_NVF4, ROW_KEYS, scale_id(byte));
        tensor_blocks<UNIT>(c, rows_step(a, step), rows_step(b, step), instruction, q_columns + at,
                            k_columns + at, step > 0);
    }
}

template <int D>
static __device__ __forceinline__ void issue_values(uint32_t tensor, uint32_t v, bool accumulate)
{
    const uint64_t b = columns_operand(v, memory<D>::V_PANEL);
#pragma unroll
    for (int step = 0; step < ROW_KEYS / 16; step++)
        tensor_f16(tensor + TENSOR_OUTPUT, tensor + TENSOR_WEIGHTS + step * 8,
                   columns_step(b, step), instruction_f16(D), accumulate || step > 0);
}

// The issuing thread. Writing scores over those of tile n - 2, and key scales over theirs, comes
// after the wait for the weights of tile n - 2.
template <int LOW, int D>
static __device__ __forceinline__ void issue(const params &p, const struct work &x,
                                             const struct memory<D> &mem, uint32_t tensor)
{
    const int tiles = x.tiles.end - x.tiles.begin;
    const uint32_t q_columns[2] = {tensor + TENSOR_Q_SCALES, tensor + TENSOR_Q_SCALES + 8};
    barrier_wait(mem.barrier(Q_FULL), 0);
    fence_after_sync();
    if (rules::query(p.codes, 0))
        copy_scale_tiles<scale_tiles(MXV_UNIT_MXF8, D)>(q_columns[0], mem.query_scales(0));
    if (rules::query(p.codes, 1))
        copy_scale_tiles<scale_tiles(LOW, D)>(q_columns[1], mem.query_scales(1));
    for (int n = 0; n <= tiles; n++) {
        if (n < tiles) {
            const int route = rules::route(p.codes, x.plan, tile_at(p.codes.call, x, n));
            const uint32_t c = tensor + TENSOR_SCORES + n % 2 * ROW_KEYS;
            const uint32_t k_columns = tensor + TENSOR_K_SCALES + n % 2 * 8;
            barrier_wait(mem.staged(K_FULL, n), stage_parity(n));
            fence_after_sync();
            if (route == 0)
                issue_scores<MXV_UNIT_MXF8, D>(c, mem.query(0), mem.keys(n), q_columns[0],
                                               k_columns, mem.key_scales(n));
            else
                issue_scores<LOW, D>(c, mem.query(1), mem.keys(n), q_columns[1], k_columns,
                                     mem.key_scales(n));
            tensor_commit(mem.barrier(SCORES_READY + n % 2));
            if (n + STAGES < tiles) // no arrival that nobody waits for: the block may have ended
                tensor_commit(mem.staged(K_EMPTY, n));
        }
        if (n > 0) {
            barrier_wait(mem.barrier(WEIGHTS_READY), (n - 1) & 1);
            barrier_wait(mem.staged(V_FULL, n - 1), stage_parity(n - 1));
            fence_after_sync();
            issue_values<D>(tensor, mem.values(n - 1), n > 1);
            tensor_commit(mem.barrier(OUTPUT_READY));
            if (n - 1 + STAGES < tiles)
                tensor_commit(mem.staged(V_EMPTY, n - 1));
        }
    }
}

// A whole warp waits for what a commit announces.
static __device__ __forceinline__ void wait_ready(uint32_t barrier, uint32_t parity)
{
    barrier_wait(barrier, parity);
    __syncwarp();
    fence_after_sync();
}

// Contract 5.8, but for rows whose maximum stays: O times 1 is O.
template <int D> static __device__ __forceinline__ void rescale_output(uint32_t output, float alpha)
{
    if (__all_sync(0xffffffffu, alpha == 1))
        return;
    for (int c = 0; c < D; c += 32) {
        uint32_t o[32];
        tensor_load(o, output + c);
        tensor_wait_loads();
#pragma unroll
        for (int i = 0; i < 32; i++)
            o[i] = __float_as_uint(__fmul_rn(__uint_as_float(o[i]), alpha));
        tensor_store(output + c, o);
    }
}

// Rows of V behind the last key belong to the next sequence; the contract has zeros there. Thread r
// clears row r, which the swizzle only permutes in itself.
template <int D>
static __device__ __forceinline__ void clear_values(const struct memory<D> &mem, int n, int keys)
{
    barrier_wait(mem.staged(V_FULL, n), stage_parity(n));
    const uint32_t zeros[4] = {0, 0, 0, 0}, row = mem.values(n) + threadIdx.x * 128;
    if ((int)threadIdx.x >= keys)
        for (int i = 0; i < 2 * D; i += 16)
            store_shared(row + i / 128 * mem.V_PANEL + i % 128, zeros);
    fence_async();
    __syncwarp();
}

// Taps of tile n that tensor memory holds until the next tile: weights and O.
template <int D>
static __device__ __forceinline__ void trace_tensor(const struct mxv_gpu_call &call,
                                                    const struct place &w, int j, int row,
                                                    uint32_t tensor)
{
    uint32_t *weights = row_tap(call, w, j, row, ROW_KEYS, call.trace.weight);
    uint32_t *acc = row_tap(call, w, j, row, D, call.trace.acc);
    uint32_t words[32];
#pragma unroll 1
    for (int c = 0; c < ROW_KEYS / 2; c += 32) {
        tensor_load(words, tensor + TENSOR_WEIGHTS + c);
        if (row < w.end)
            trace_pairs(weights + 2 * c, words);
    }
#pragma unroll 1
    for (int c = 0; c < D; c += 32) {
        tensor_load(words, tensor + TENSOR_OUTPUT + c);
        if (row < w.end)
            trace_words(acc + c, words);
    }
    tensor_wait_loads();
}

// sigma_k: of the tile's keys, of which `keys` exist; NULL: none.
static __device__ __forceinline__ void
read_scores(uint32_t columns, float sigma_q, const float *sigma_k, int keys, float (&s)[ROW_KEYS])
{
#pragma unroll
    for (int c = 0; c < ROW_KEYS; c += 32) {
        uint32_t words[32];
        tensor_load(words, columns + c);
        if (sigma_k)
            row_scale(sigma_q, sigma_k + c, keys - c, words);
#pragma unroll
        for (int i = 0; i < 32; i++)
            s[c + i] = __uint_as_float(words[i]);
    }
    tensor_wait_loads();
}

// Tile n for the row of this thread: contract 4 and 5.1 to 5.8.
template <int D, bool OPTIONS>
static __device__ __forceinline__ void weigh_tile(const params &p, const struct work &x,
                                                  const struct memory<D> &mem, uint32_t tensor,
                                                  int n, struct row_state &r)
{
    const struct mxv_gpu_call &call = p.codes.call;
    const struct place &w = x.w;
    const int j = tile_at(call, x, n);
    const bool traces = OPTIONS && call.trace.score;
    float s[ROW_KEYS];
    uint32_t weights[ROW_KEYS / 2];
    wait_ready(mem.barrier(SCORES_READY + n % 2), n >> 1 & 1);
    read_scores(tensor + TENSOR_SCORES + n % 2 * ROW_KEYS, r.sigma,
                p.codes.q_sigma
                    ? p.codes.k_sigma + (size_t)w.kv_head * call.tokens_k + w.k_first + j * ROW_KEYS
                    : NULL,
                w.lk - j * ROW_KEYS, s);
    row_mask(call, w, j, r.row, s);
    if (traces)
        trace_row_scores(call, w, j, r.row, s);
    const float alpha = row_weights<OPTIONS>(call, r, s, weights);
    if (traces)
        trace_row_sums(call, w, j, r);
    if (n > 0) { // the product before has read its weights and written O
        wait_ready(mem.barrier(OUTPUT_READY), (n - 1) & 1);
        rescale_output<D>(tensor + TENSOR_OUTPUT, alpha);
    }
    tensor_store(tensor + TENSOR_WEIGHTS, weights);
    tensor_store(tensor + TENSOR_WEIGHTS + 32, weights + 32);
    if ((j + 1) * ROW_KEYS > w.lk)
        clear_values<D>(mem, n, w.lk - j * ROW_KEYS);
    tensor_wait_stores();
    fence_before_sync();
    barrier_arrive(mem.barrier(WEIGHTS_READY));
    if (traces) {
        wait_ready(mem.barrier(OUTPUT_READY), n & 1);
        trace_tensor<D>(call, w, j, r.row, tensor);
    }
}

// A thread of warps 0 to 3: all tiles of its row, then contract 6.
template <int D, bool OPTIONS>
static __device__ __forceinline__ void attend(const params &p, const struct work &x,
                                              const struct memory<D> &mem, uint32_t tensor)
{
    const struct mxv_gpu_call &call = p.codes.call;
    const int tiles = x.tiles.end - x.tiles.begin;
    struct row_state r = row_start(p.codes, x.w, x.w.first + (int)threadIdx.x);
    tensor += threadIdx.x / 32 << 21; // lanes 32 (warp mod 4) and on, in bits 16 to 31
    for (int n = 0; n < tiles; n++)
        weigh_tile<D, OPTIONS>(p, x, mem, tensor, n, r);
    if (tiles > 0)
        wait_ready(mem.barrier(OUTPUT_READY), (tiles - 1) & 1);
    const size_t token = (size_t)x.w.head * call.tokens_q + x.w.q_first + r.row;
    const float total = row_total(r);
    for (int c = 0; c < D; c += 32) {
        uint32_t o[32] = {};
        if (tiles > 0)
            tensor_load(o, tensor + TENSOR_OUTPUT + c);
        if (r.row < x.w.end)
            row_output(call, token, c, total, o);
    }
    if (call.lse && r.row < x.w.end)
        call.lse[token] = softmax_lse<true>(call, r.m, total);
    tensor_wait_loads();
    fence_before_sync();
}

template <int D> static __device__ __forceinline__ void start_barriers(const struct memory<D> &mem)
{
    for (int i = 0; i < BARRIERS; i++)
        barrier_init(mem.barrier(i), i == Q_FULL || (i >= K_FULL && i < K_EMPTY) ? 32
                                     : i == WEIGHTS_READY                        ? MXV_GPU_ROWS
                                                                                 : 1);
    fence_async();
}

template <int LOW, int D, bool OPTIONS>
static __global__ void __launch_bounds__(THREADS, 1)
    dma_sm100(const __grid_constant__ params p, const __grid_constant__ struct maps maps)
{
    extern __shared__ uint8_t shared[];
    const uint32_t end = shared_address(shared) + SWIZZLE_PATTERN - 1;
    const struct memory<D> mem = {
        end - end % SWIZZLE_PATTERN
    };
    struct work x;
    x.w = place_of(p.codes.call, blockIdx.x, blockIdx.y);
    x.tiles = processed_tiles(p.codes.call, x.w);
    x.plan = rules::plan_of(p.codes, x.w);
    if (threadIdx.x == 0)
        start_barriers<D>(mem);
    if (threadIdx.x >= ISSUER)
        tensor_allocate<TENSOR_COLUMNS>(mem.base + mem.TENSOR_AT);
    fence_before_sync();
    __syncthreads();
    fence_after_sync();
    const uint32_t tensor = load_shared(mem.base + mem.TENSOR_AT);
    if (threadIdx.x < LOADER)
        attend<D, OPTIONS>(p, x, mem, tensor);
    else if (x.tiles.begin < x.tiles.end && threadIdx.x < ISSUER)
        load<LOW, D>(p, maps, x, mem);
    else if (x.tiles.begin < x.tiles.end && threadIdx.x == ISSUER)
        issue<LOW, D>(p, x, mem, tensor);
    __syncthreads();
    fence_after_sync();
    if (threadIdx.x >= ISSUER) {
        __syncwarp();
        tensor_give_back<TENSOR_COLUMNS>(tensor);
    }
}

// Boxes of 128 rows of a head and up to 128 bytes of each, of the tensor
// [heads][tokens][row_bytes].
static int map_rows(CUtensorMap *map, const void *tensor, int row_bytes, int tokens, int heads)
{
    return mxv_gpu_map_box(map, tensor, true, row_bytes, tokens, heads,
                           row_bytes < 128 ? row_bytes : 128, ROW_KEYS);
}

template <int LOW> static int make_maps(const params &p, struct maps &maps)
{
    const struct mxv_gpu_call &call = p.codes.call;
    int error = map_rows(&maps.v, call.v, 2 * call.d, call.tokens_k, call.heads_kv);
    for (int r = 0; r < 2 && error == (int)cudaSuccess; r++) {
        const int bytes = unit_row_bytes(route_unit<LOW>(r), call.d);
        error = map_rows(&maps.q[r], rules::query(p.codes, r), bytes, call.tokens_q, call.heads_q);
        if (error == (int)cudaSuccess)
            error =
                map_rows(&maps.k[r], rules::keys(p.codes, r), bytes, call.tokens_k, call.heads_kv);
    }
    return error;
}

#endif
