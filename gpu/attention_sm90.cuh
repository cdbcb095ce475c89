// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The tile engine on wgmma for sm_90a: docs/kernels/contract.md 4 to 6 in the same order, and the
// same kernels (flash.cuh, dma.cuh, tilemix.cuh), as attention.cuh. A block is three warpgroups:
// one thread of the first copies operands (stages_sm90.cuh), the other two take 64 query rows each.
// A consumer starts the scores of tile n and the weights of tile n - 1 times V together; its
// softmax of tile n runs beside the second product, and beside the other consumer's. Making the two
// take turns at the matrix unit with named barriers was 1 to 3% slower. There are as many blocks as
// multiprocessors, and each fetches its next piece of work in time to copy operands for it before
// the last one is stored.
//
// Which thread computes what, and the order of each sum, never depend on timing; which block takes
// which piece does. OPTIONS builds have poly, tau and the taps of the contract; the others run
// faster and give the same bits. A launch at a time: the counter of pieces is one per kernel.
#ifndef MXV_GPU_ATTENTION_SM90_CUH
#define MXV_GPU_ATTENTION_SM90_CUH

#include "fragment.cuh"
#include "stages_sm90.cuh"

enum { GROUP_ROWS = 64, SM90_THREADS = 384 };

enum { OWN_BARRIER = 1 }; // and the next: named barriers of one consumer each

// Raw scores of 64 rows: chains in ascending channels from zero. q, k: operand_at of their panels.
template <int UNIT, int D, int BN>
static __device__ __forceinline__ void issue_scores(uint32_t (&s)[BN / 8][4], uint32_t q,
                                                    uint32_t k)
{
    constexpr int ROW = panel_row(UNIT, D);
    wgmma_begin();
#pragma unroll
    for (int panel = 0; panel < panels(UNIT, D); panel++)
#pragma unroll
        for (int step = 0; step < ROW / 32; step++)
            wgmma_rows<UNIT, BN>(
                s, operand(q + (panel * MXV_GPU_ROWS * ROW + step * 32) / 16, rows_layout(ROW)),
                operand(k + (panel * BN * ROW + step * 32) / 16, rows_layout(ROW)),
                panel > 0 || step > 0);
    wgmma_commit();
}

template <class K, int D, int BN>
static __device__ __forceinline__ void issue_route(uint32_t (&s)[BN / 8][4], int route, int group,
                                                   const struct memory<K, D, BN> &mem, int count)
{
    const uint32_t keys = operand_at(mem.key_stage(count), 16), q = operand_at(mem.base, 16);
    constexpr int LAST = K::ROUTES - 1, UNIT = K::unit(0), OTHER = K::unit(LAST);
    constexpr int SECOND = q_offset<K, D>(LAST) / 16;
    if (OTHER != UNIT && route == LAST)
        issue_scores<OTHER, D, BN>(s, q + SECOND + group * (GROUP_ROWS * panel_row(OTHER, D) / 16),
                                   keys);
    else
        issue_scores<UNIT, D, BN>(s,
                                  q + (LAST > 0 && route == LAST ? SECOND : 0) +
                                      group * (GROUP_ROWS * panel_row(UNIT, D) / 16),
                                  keys);
}

// O += P V over the keys of a tile, in ascending keys.
template <int UNIT, int D, int BN>
static __device__ __forceinline__ void
issue_values(uint32_t (&o)[D / 8][4], const uint32_t (&weights)[BN / 8][2], uint32_t v)
{
    wgmma_begin();
#pragma unroll
    for (int step = 0; step < BN / 16; step++)
        wgmma_columns<UNIT, D>(o, weights[2 * step][0], weights[2 * step][1],
                               weights[2 * step + 1][0], weights[2 * step + 1][1],
                               operand(v + step * 16 * 128 / 16, columns_layout()));
    wgmma_commit();
}

// Rows of V behind the last key are another sequence's: zero, as the contract has padding.
template <int D, int BN>
static __device__ __forceinline__ void clear_padding(uint32_t v, int keys, int group)
{
    for (int i = threadIdx.x % 128 + keys * 8; i < BN * 8; i += 128)
        for (int panel = 0; panel < D / 64; panel++)
            asm volatile(
                "st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(v + panel * BN * 128 + i * 16),
                "r"(0)
                : "memory");
    fence_async();
    group_sync(OWN_BARRIER + group, 128);
}

// What a consumer warpgroup knows of its piece of work.
template <class K> struct piece {
    struct place w;
    struct key_range tiles;
    typename K::plan plan;
    int group, row;               // of this thread
    struct key_range seen_by_all; // keys that every row of the warp sees
    int cut_tile;                 // a key tile with another sequence's V in it, or -1
    typename K::row row_factors;
    struct softmax_rows rows;
};

template <int N>
static __device__ __forceinline__ void as_floats(const uint32_t (&words)[N][4], float (&x)[N][4])
{
#pragma unroll
    for (int t = 0; t < N; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[t][e] = __uint_as_float(words[t][e]);
}

// Contract 4 and 5 on the scores of tile j, which become weights, not rounded yet.
template <class K, int BN, bool OPTIONS>
static __device__ __forceinline__ void
softmax_scores(const typename K::params &p, struct piece<K> &x, int j, int route,
               const typename K::tile &tile, uint32_t (&words)[BN / 8][4], float (&alpha)[2])
{
    const struct mxv_gpu_call &call = p.call;
    float s[BN / 8][4];
    if (K::unit(K::ROUTES - 1) == MXV_UNIT_S8 && route == K::ROUTES - 1) {
#pragma unroll
        for (int t = 0; t < BN / 8; t++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                words[t][e] = __float_as_uint(__int2float_rn((int)words[t][e]));
    }
    as_floats(words, s);
    K::scale(p, x.w, route, j, x.row_factors, tile, s);
    if (j * BN < x.seen_by_all.begin || j * BN + BN > x.seen_by_all.end)
        mask_scores(call, x.w, j, x.row, s);
    if (OPTIONS && call.trace.score)
        trace_matrix(call, x.w, j, x.row, BN, call.trace.score, s);
    float m[2];
    softmax_maxima(x.rows.m, m, s);
    alpha[0] = softmax_row<K::LOG2, OPTIONS>(call, BN, 0, m[0], x.rows, s);
    alpha[1] = softmax_row<K::LOG2, OPTIONS>(call, BN, 1, m[1], x.rows, s);
#pragma unroll
    for (int t = 0; t < BN / 8; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            words[t][e] = __float_as_uint(s[t][e]);
}

// Contract 5.7 and 5.8. Multiplying by one changes nothing, so a warp without change leaves O.
template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void
round_and_rescale(const struct mxv_gpu_call &call, const struct piece<K> &x, int j,
                  const uint32_t (&words)[BN / 8][4], const float (&alpha)[2],
                  uint32_t (&weights)[BN / 8][2], uint32_t (&o)[D / 8][4])
{
    if (__any_sync(0xffffffffu, alpha[0] != 1 || alpha[1] != 1)) {
#pragma unroll
        for (int t = 0; t < D / 8; t++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                o[t][e] = __float_as_uint(__fmul_rn(__uint_as_float(o[t][e]), alpha[e / 2]));
    }
#pragma unroll
    for (int t = 0; t < BN / 8; t++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            weights[t][h] = pack_pair<K::UNIT>(__uint_as_float(words[t][2 * h]),
                                               __uint_as_float(words[t][2 * h + 1]));
    if (OPTIONS && call.trace.score) {
        trace_rows(call, x.w, j, x.row, x.rows);
        trace_weights(call, x.w, j, x.row, weights);
    }
}

// Waits for V of tile j.
template <class K, int D, int BN>
static __device__ __forceinline__ void
wait_values(const struct piece<K> &x, const struct memory<K, D, BN> &mem, int count, int j)
{
    barrier_wait(mem.barrier(V_FULL, count), mem.parity(count));
    if (j == x.cut_tile)
        clear_padding<D, BN>(mem.value_stage(count), x.w.lk - j * BN, x.group);
}

static __device__ __forceinline__ void warp_arrive(uint32_t barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

// Stores to a spare word where a row sum is negative, which none is: a store that needs the sums,
// so that ptxas does not move waiting for the matrix unit before the softmax that it should
// overlap.
static __device__ __forceinline__ void after_sums(const struct softmax_rows &rows, uint32_t spare)
{
    asm volatile("{.reg .pred p, q;\n"
                 "setp.lt.f32 p, %0, 0f00000000;\n"
                 "setp.lt.or.f32 q, %1, 0f00000000, p;\n"
                 "@q st.shared.f32 [%2], %0;}" ::"f"(rows.l[0]),
                 "f"(rows.l[1]), "r"(spare)
                 : "memory");
}

// A consumer's part of a piece of work with at least one tile.
template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void attend_piece(const typename K::params &p, struct piece<K> &x,
                                                    const struct memory<K, D, BN> &mem, int count,
                                                    uint32_t (&o)[D / 8][4])
{
    const struct mxv_gpu_call &call = p.call;
    const int tiles = x.tiles.end - x.tiles.begin;
    const uint32_t q_empty = mem.barrier(Q_EMPTY, 0);
    uint32_t s[BN / 8][4], weights[BN / 8][2];
    float alpha[2], traced[D / 8][4];
    int j = tile_at(call, x.tiles, 0), route = K::route(p, x.plan, j);
    typename K::tile tile = K::tile_of(p, x.w, route, j);
    barrier_wait(mem.barrier(K_FULL, count), mem.parity(count));
    issue_route<K, D, BN>(s, route, x.group, mem, count);
    wgmma_wait<0>();
    pin(s);
    warp_arrive(mem.barrier(K_EMPTY, count));
    if (tiles == 1)
        warp_arrive(q_empty);
    softmax_scores<K, BN, OPTIONS>(p, x, j, route, tile, s, alpha);
    round_and_rescale<K, D, BN, OPTIONS>(call, x, j, s, alpha, weights, o);
    for (int n = 1; n < tiles; n++) {
        const int before = j;
        count++;
        j = tile_at(call, x.tiles, n);
        route = K::route(p, x.plan, j);
        tile = K::tile_of(p, x.w, route, j);
        barrier_wait(mem.barrier(K_FULL, count), mem.parity(count));
        wait_values<K, D, BN>(x, mem, count - 1, before);
        pin(s);
        issue_route<K, D, BN>(s, route, x.group, mem, count);
        pin(o);
        issue_values<K::UNIT, D, BN>(o, weights, operand_at(mem.value_stage(count - 1), BN * 128));
        wgmma_wait<1>();
        pin(s);
        warp_arrive(mem.barrier(K_EMPTY, count));
        if (n + 1 == tiles)
            warp_arrive(q_empty);
        softmax_scores<K, BN, OPTIONS>(p, x, j, route, tile, s, alpha);
        after_sums(x.rows, mem.base + mem.SPARE_AT);
        wgmma_wait<0>();
        pin(o);
        warp_arrive(mem.barrier(V_EMPTY, count - 1));
        if (OPTIONS && call.trace.score) {
            as_floats(o, traced);
            trace_matrix(call, x.w, before, x.row, D, call.trace.acc, traced);
        }
        round_and_rescale<K, D, BN, OPTIONS>(call, x, j, s, alpha, weights, o);
    }
    wait_values<K, D, BN>(x, mem, count, j);
    pin(o);
    issue_values<K::UNIT, D, BN>(o, weights, operand_at(mem.value_stage(count), BN * 128));
    wgmma_wait<0>();
    pin(o);
    warp_arrive(mem.barrier(V_EMPTY, count));
    if (OPTIONS && call.trace.score) {
        as_floats(o, traced);
        trace_matrix(call, x.w, j, x.row, D, call.trace.acc, traced);
    }
}

template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void consume(const typename K::params &p,
                                               const struct memory<K, D, BN> &mem)
{
    const struct mxv_gpu_call &call = p.call;
    const int warp_row = threadIdx.x / 32 % 4 * 16;
    struct piece<K> x;
    x.group = __shfl_sync(0xffffffffu, threadIdx.x / 128 - 1, 0);
    for (int count = 0, round = 0;; round++) {
        uint32_t o[D / 8][4] = {};
        float result[D / 8][4];
        int item = 0;
        barrier_wait(mem.barrier(Q_FULL, 0), round & 1);
        // One lane reads it: the lane that says when the word may be written again.
        if (threadIdx.x % 32 == 0)
            asm volatile("ld.shared.b32 %0, [%1];"
                         : "=r"(item)
                         : "r"(mem.base + mem.ITEM_AT)
                         : "memory");
        item = __shfl_sync(0xffffffffu, item, 0);
        if (item >= call.block_count * call.heads_q)
            break;
        x.w = place_of(call, item % call.block_count, item / call.block_count);
        x.tiles = processed_tiles(call, x.w);
        x.plan = K::plan_of(p, x.w);
        const int first = x.w.first + x.group * GROUP_ROWS + warp_row;
        x.row = first + threadIdx.x % 32 / 4;
        x.seen_by_all = {visible_keys(call, x.w, first + 15).begin,
                         visible_keys(call, x.w, first).end};
        x.cut_tile = x.w.lk % BN && x.w.k_first + x.w.lk < call.tokens_k ? x.w.lk / BN : -1;
        x.row_factors = K::row_of(p, x.w, x.row);
        softmax_start(call, x.rows);
        if (x.tiles.begin < x.tiles.end)
            attend_piece<K, D, BN, OPTIONS>(p, x, mem, count, o);
        else
            warp_arrive(mem.barrier(Q_EMPTY, 0));
        count += x.tiles.end - x.tiles.begin;
        as_floats(o, result);
        finish<K::LOG2, D>(call, x.w, x.row, x.rows, result);
    }
}

template <class K, int D, int BN, bool OPTIONS>
static __global__ void __launch_bounds__(SM90_THREADS, 1)
    attention_sm90(const __grid_constant__ typename K::params p,
                   const __grid_constant__ struct tensor_maps maps)
{
    extern __shared__ uint8_t shared[];
    const struct memory<K, D, BN> mem = {
        (shared_address(shared) + 1023) / 1024 * 1024
    };
    if (threadIdx.x == 0) {
        for (int i = 0; i < BARRIERS; i++) {
            const bool full =
                i == Q_FULL || (i >= K_FULL && i < K_EMPTY) || (i >= V_FULL && i < V_EMPTY);
            barrier_init(mem.base + mem.BARRIERS_AT + 8 * i, full ? 1 : 8);
        }
        fence_async();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        fewer_registers<24>();
        if (threadIdx.x == 0)
            produce<K, D, BN>(p, maps, mem);
    } else {
        more_registers<240>();
        consume<K, D, BN, OPTIONS>(p, mem);
    }
}

#endif
