// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The tile engine on wgmma for sm_90a: docs/kernels/contract.md 4 to 6 in the same order, and the
// same kernels (flash.cuh, dma.cuh, tilemix.cuh), as attention.cuh. A block is three warpgroups:
// one thread of the first copies operands (stages_sm90.cuh), the other two take 64 query rows each.
// A consumer starts the scores of tile n and the weights of tile n - 1 times V together; its
// softmax of tile n runs beside the second product, and beside the other consumer's. Each
// consumer's own stream of instructions is what a tile waits for, so words of scores are read as
// the product leaves them (struct word_use), and all that can be known of the next tile is made
// beside the exponentials. Making the two take turns at the matrix unit or at the exponentials with
// named barriers gained nothing, and starting the scores of tile n + 1 before the softmax of tile n
// (registers suffice for E4M3 values) lost a fifth. There are as many blocks as multiprocessors,
// and each fetches its next piece of work in time to copy operands for it before the last one is
// stored.
//
// A launch may begin while the one before it still runs (programmatic dependent launch): what comes
// before wait_for_launch_before touches this block's own shared memory alone.
//
// Which thread computes what, and the order of each sum, never depend on timing; which block takes
// which piece does. OPTIONS builds have poly, tau and the taps of the contract; the others run
// faster and give the same bits. A launch at a time: the counter of pieces is one per kernel.
#ifndef MXV_GPU_ATTENTION_SM90_CUH
#define MXV_GPU_ATTENTION_SM90_CUH

#include "scores_sm90.cuh"

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

// keys: operand_at of the stage.
template <class K, int D, int BN>
static __device__ __forceinline__ void issue_route(uint32_t (&s)[BN / 8][4], int route, int group,
                                                   const struct memory<K, D, BN> &mem,
                                                   uint32_t keys)
{
    const uint32_t q = operand_at(mem.base, 16);
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
    if constexpr (UNIT == MXV_UNIT_E4M3) {
#pragma unroll
        for (int step = 0; step < BN / 32; step++)
            wgmma_values_e4m3<D>(o, weights[2 * step][0], weights[2 * step][1],
                                 weights[2 * step + 1][0], weights[2 * step + 1][1],
                                 operand(v + step * 32 / 16, rows_layout(BN)));
    } else {
#pragma unroll
        for (int step = 0; step < BN / 16; step++)
            wgmma_columns<UNIT, D>(o, weights[2 * step][0], weights[2 * step][1],
                                   weights[2 * step + 1][0], weights[2 * step + 1][1],
                                   operand(v + step * 16 * 128 / 16, columns_layout()));
    }
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

// Waits for V of tile j, unless it is known to have arrived.
template <class K, int D, int BN>
static __device__ __forceinline__ void
wait_values(const struct piece<K> &x, const struct memory<K, D, BN> &mem, uint32_t count,
            const struct slot &slot, int j, uint32_t arrived)
{
    barrier_wait_unless(arrived, slot.value_full, slot.parity);
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

// A consumer's part of a piece of work with at least one tile. What the next tile needs is made,
// its barriers are asked, and what the tile after that needs is fetched beside the exponentials of
// this one: between two products a consumer does little else than wait.
template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void attend_piece(const typename K::params &p, struct piece<K> &x,
                                                    const struct memory<K, D, BN> &mem,
                                                    uint32_t count, uint32_t (&o)[D / 8][4])
{
    const struct mxv_gpu_call &call = p.call;
    const int tiles = x.tiles.end - x.tiles.begin;
    const uint32_t q_empty = mem.barrier(Q_EMPTY, 0);
    uint32_t s[BN / 8][4], weights[BN / 8][2], keys_arrived = 0, values_arrived = 0;
    float alpha[2], traced[D / 8][4];
    struct key_step<K> now = step_of<K, BN>(p, x, 0, fetch_tile(p, x, 0)), next = now;
    struct slot here = slot_of(mem, count), before = here, ahead = here;
    agree(now);
    typename K::tile fetched = fetch_tile(p, x, 1);
    int n = 0;
    auto prepare_next = [&]() {
        keys_arrived = barrier_test(ahead.key_full, ahead.parity);
        values_arrived = barrier_test(here.value_full, here.parity);
        next = step_of<K, BN>(p, x, n + 1, fetched);
        fetched = fetch_tile(p, x, n + 2);
    };
    barrier_wait(here.key_full, here.parity);
    issue_route<K, D, BN>(s, now.route, x.group, mem, here.keys);
    ahead = slot_of(mem, count + 1);
    wgmma_wait<0>();
    pin(s);
    warp_arrive(here.key_empty);
    if (tiles == 1)
        warp_arrive(q_empty);
    bool kept = softmax_scores<K, BN, OPTIONS>(p, x, now, s, alpha, prepare_next);
    round_and_rescale<K, D, BN, OPTIONS>(call, x, now.j, kept, s, alpha, weights, o);
    for (n = 1; n < tiles; n++) {
        const int j = now.j;
        now = next;
        agree(now);
        before = here;
        here = ahead;
        barrier_wait_unless(keys_arrived, here.key_full, here.parity);
        wait_values<K, D, BN>(x, mem, count + n - 1, before, j, values_arrived);
        pin(s);
        issue_route<K, D, BN>(s, now.route, x.group, mem, here.keys);
        pin(o);
        issue_values<K::UNIT, D, BN>(o, weights, before.values);
        ahead = slot_of(mem, count + n + 1);
        wgmma_wait<1>();
        pin(s);
        warp_arrive(here.key_empty);
        if (n + 1 == tiles)
            warp_arrive(q_empty);
        kept = softmax_scores<K, BN, OPTIONS>(p, x, now, s, alpha, prepare_next);
        after_sums(x.rows, mem.base + mem.SPARE_AT);
        wgmma_wait<0>();
        pin(o);
        warp_arrive(before.value_empty);
        if (OPTIONS && call.trace.score) {
            as_floats(o, traced);
            trace_matrix(call, x.w, j, x.row, D, call.trace.acc, traced);
        }
        round_and_rescale<K, D, BN, OPTIONS>(call, x, now.j, kept, s, alpha, weights, o);
    }
    wait_values<K, D, BN>(x, mem, count + tiles - 1, here, now.j, values_arrived);
    pin(o);
    issue_values<K::UNIT, D, BN>(o, weights, here.values);
    wgmma_wait<0>();
    pin(o);
    warp_arrive(here.value_empty);
    if (OPTIONS && call.trace.score) {
        as_floats(o, traced);
        trace_matrix(call, x.w, now.j, x.row, D, call.trace.acc, traced);
    }
}

template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void consume(const typename K::params &p, int heads,
                                               const struct memory<K, D, BN> &mem)
{
    const struct mxv_gpu_call &call = p.call;
    const int warp_row = threadIdx.x / 32 % 4 * 16;
    struct piece<K> x;
    x.group = __shfl_sync(0xffffffffu, threadIdx.x / 128 - 1, 0);
    uint32_t count = 0;
    for (int round = 0;; round++) {
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
        x.w = item_place(call, heads, item);
        x.tiles = processed_tiles(call, x.w);
        x.plan = K::plan_of(p, x.w);
        const int first = x.w.first + x.group * GROUP_ROWS + warp_row;
        x.row = first + threadIdx.x % 32 / 4;
        x.seen_by_all = {visible_keys(call, x.w, first + 15).begin,
                         visible_keys(call, x.w, first).end};
        x.cut_tile = K::UNIT != MXV_UNIT_E4M3 && x.w.lk % BN && x.w.k_first + x.w.lk < call.tokens_k
                         ? x.w.lk / BN
                         : -1;
        x.row_factors = K::row_of(p, x.w, x.row);
        x.raw_rows = __all_sync(0xffffffffu, K::raw_row(x.row_factors));
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
                   const __grid_constant__ struct tensor_maps maps, const int heads)
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
    wait_for_launch_before();
    feed<K> source = feed<K>::start(p);
    __syncthreads();
    if constexpr (feed<K>::MAKES)
        source.template make_first<D>(p, heads, mem.base + mem.FEED_AT);
    if (threadIdx.x < 128) {
        fewer_registers<feed<K>::REGISTERS>();
        if (threadIdx.x == 0)
            produce<K, D, BN>(p, maps, heads, mem, source);
        else if constexpr (feed<K>::MAKES)
            source.template make<D>(p, heads, mem.base + mem.FEED_AT);
    } else {
        more_registers<feed<K>::CONSUMER_REGISTERS>();
        consume<K, D, BN, OPTIONS>(p, heads, mem);
    }
}

#endif
