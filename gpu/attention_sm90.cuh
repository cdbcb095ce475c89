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
// beside the exponentials. Making the two take turns at the matrix unit with named barriers changed
// nothing. There are as many blocks as multiprocessors, and each fetches its next piece of work in
// time to copy operands for it before the last one is stored.
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
    bool raw_rows; // K::raw_row of all rows of the warp
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

// A key tile on its way: what is known of it before its scores are. raw: its words may stay as they
// are; edge: some of its keys are not visible to all rows of the warp.
template <class K> struct step {
    int j, route;
    bool raw, edge;
    typename K::tile tile;
    struct word_use use;
};

template <class K>
static __device__ __forceinline__ typename K::tile fetch_tile(const typename K::params &p,
                                                              const struct piece<K> &x, int n)
{
    const int last = x.tiles.end - x.tiles.begin - 1;
    return K::tile_of(p, x.w, x.plan, tile_at(p.call, x.tiles, min(n, last)));
}

// Straight-line code: it belongs between the exponentials of the tile before.
template <class K, int BN>
static __device__ __forceinline__ struct step<K> step_of(const typename K::params &p,
                                                         const struct piece<K> &x, int n,
                                                         const typename K::tile &tile) {
    struct step<K> step;
    step.j = tile_at(p.call, x.tiles, min(n, x.tiles.end - x.tiles.begin - 1));
    step.route = K::route_of(p, x.plan, tile, step.j);
    step.edge = (step.j * BN < x.seen_by_all.begin) | (step.j * BN + BN > x.seen_by_all.end);
    step.raw = !step.edge & K::raw(p, step.route, x.raw_rows, tile);
    step.tile = tile;
    step.use = K::use_of(p, step.route, x.row_factors, tile);
    return step;
}

// The same in all lanes of a warp: now the compiler knows it too, and keeps operand descriptors in
// uniform registers past the branches that depend on it.
template <class K>
static __device__ __forceinline__ void agree(struct step<K> &step)
{
    const int flags =
        __shfl_sync(0xffffffffu, step.route | (int)step.raw << 8 | (int)step.edge << 9, 0);
    step.route = flags & 0xff;
    step.raw = flags >> 8 & 1;
    step.edge = flags >> 9 & 1;
}

// Where use number `count` of a stage lies.
struct slot {
    uint32_t keys, values; // operand_at
    uint32_t key_full, key_empty, value_full, value_empty, parity;
};

template <class K, int D, int BN>
static __device__ __forceinline__ struct slot slot_of(const struct memory<K, D, BN> &mem,
                                                      uint32_t count)
{
    return {operand_at(mem.key_stage(count), 16),
            operand_at(mem.value_stage(count), BN * 128),
            mem.barrier(K_FULL, count),
            mem.barrier(K_EMPTY, count),
            mem.barrier(V_FULL, count),
            mem.barrier(V_EMPTY, count),
            mem.parity(count)};
}

// Contract 5 on words of kind WORDS, read as `use` says. folded: words are the integers of an INT8
// tile at the edge of what is visible, as binary32 numbers, with -inf where a key is not visible;
// the exponent passes that on whatever the scale is. True where alpha is known to be one for the
// whole warp.
template <class K, int WORDS, bool OPTIONS, int TILES, class F>
static __device__ __forceinline__ bool
weigh_words(const struct mxv_gpu_call &call, struct word_use use, bool folded,
            struct softmax_rows &rows, float (&s)[TILES][4], float (&alpha)[2], F &&beside)
{
    float m[2], shift[2];
    const bool kept = softmax_maxima<K::LOG2, WORDS != NUMBERS>(call, use, rows.m, m, s);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        alpha[h] = rescale_factor<K::LOG2, OPTIONS>(call, rows.m[h], m[h]);
        shift[h] = softmax_shift<K::LOG2>(call, m[h]);
    }
    if (K::FOLDS && WORDS == NUMBERS && __builtin_expect(folded, 0)) {
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                s[t][e] = s[t][e] == -INFINITY
                              ? s[t][e]
                              : __fmaf_rn(s[t][e], use.exponent[e / 2], -shift[e / 2]);
        use.exponent[0] = use.exponent[1] = 1;
        shift[0] = shift[1] = 0; // fma(x, 1, -0) = x
    }
    beside();
#pragma unroll
    for (int h = 0; h < 2; h++)
        softmax_weights<OPTIONS, WORDS>(call, TILES * 8, h, m[h], alpha[h], shift[h], use, rows, s);
    return kept;
}

// Contract 4 and 5 on the words of a tile, which become weights, not rounded yet. Words stay as
// they are where the kernel and the place allow it, else they are made scores first. beside():
// called before the exponentials. True where alpha is known to be one for the whole warp.
template <class K, int BN, bool OPTIONS, class F>
static __device__ __forceinline__ bool
softmax_scores(const typename K::params &p, struct piece<K> &x, const struct step<K> &step,
               uint32_t (&words)[BN / 8][4], float (&alpha)[2], F &&beside)
{
    const struct mxv_gpu_call &call = p.call;
    const int j = step.j, route = step.route;
    const bool raw = !OPTIONS && step.raw;
    const bool fold = K::FOLDS && K::folds(p, route);
    const float c = K::LOG2 ? 1.0f : call.c;
    struct word_use use = step.use;
    bool kept = false;
    float s[BN / 8][4];
    as_floats(words, s);
    if (raw && K::FOLDS && route == K::ROUTES - 1) {
        kept = fold ? weigh_words<K, INTEGERS, OPTIONS>(call, use, false, x.rows, s, alpha, beside)
                    : weigh_words<K, SCALED_INTEGERS, OPTIONS>(call, use, false, x.rows, s, alpha,
                                                               beside);
    } else {
        if (__builtin_expect(!raw, 0)) {
            if (!OPTIONS && fold) {
                float_words(s);
            } else {
                K::scale(p, x.w, route, j, x.row_factors, step.tile, s);
                use = {{1, 1}, {c, c}};
            }
            if (step.edge)
                mask_scores(call, x.w, j, x.row, s);
            if (OPTIONS && call.trace.score)
                trace_matrix(call, x.w, j, x.row, BN, call.trace.score, s);
        }
        if (OPTIONS && fold) {
            float integers[BN / 8][4], m[2];
            as_floats(words, integers);
            softmax_maxima<K::LOG2, false>(call, use, x.rows.m, m, s);
            weigh_scores<K, OPTIONS>(p, x.w, j, route, x.row, x.row_factors, step.tile, BN, m,
                                     integers, x.rows, s, alpha);
            beside();
        } else {
            kept =
                weigh_words<K, NUMBERS, OPTIONS>(call, use, fold && !raw, x.rows, s, alpha, beside);
        }
    }
#pragma unroll
    for (int t = 0; t < BN / 8; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            words[t][e] = __float_as_uint(s[t][e]);
    return kept;
}

// Contract 5.7 and 5.8. Multiplying by one changes nothing, so a warp without change leaves O.
template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void
round_and_rescale(const struct mxv_gpu_call &call, const struct piece<K> &x, int j, bool kept,
                  const uint32_t (&words)[BN / 8][4], const float (&alpha)[2],
                  uint32_t (&weights)[BN / 8][2], uint32_t (&o)[D / 8][4])
{
    if (!kept && __any_sync(0xffffffffu, alpha[0] != 1 || alpha[1] != 1)) {
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
    struct step<K> now = step_of<K, BN>(p, x, 0, fetch_tile(p, x, 0)), next = now;
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
static __device__ __forceinline__ void consume(const typename K::params &p,
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
        x.w = place_of(call, item % call.block_count, item / call.block_count);
        x.tiles = processed_tiles(call, x.w);
        x.plan = K::plan_of(p, x.w);
        const int first = x.w.first + x.group * GROUP_ROWS + warp_row;
        x.row = first + threadIdx.x % 32 / 4;
        x.seen_by_all = {visible_keys(call, x.w, first + 15).begin,
                         visible_keys(call, x.w, first).end};
        x.cut_tile = x.w.lk % BN && x.w.k_first + x.w.lk < call.tokens_k ? x.w.lk / BN : -1;
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
