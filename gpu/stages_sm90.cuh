// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of the wgmma engine (attention_sm90.cuh) and the thread that fills it: copies of Q,
// and K and V tile by tile, each in two or four stages, by the copy engine. A stage is full when
// its bytes have arrived and empty when all eight consumer warps have read it.
#ifndef MXV_GPU_STAGES_SM90_CUH
#define MXV_GPU_STAGES_SM90_CUH

#include "launch_sm90.h"
#include "tile.cuh"
#include "wgmma.cuh"

enum { STAGES_MAX = 4 };

// mbarriers: full when the copy has arrived, empty when all eight warps have read it.
enum {
    Q_FULL,
    Q_EMPTY,
    K_FULL,
    K_EMPTY = K_FULL + STAGES_MAX,
    V_FULL = K_EMPTY + STAGES_MAX,
    V_EMPTY = V_FULL + STAGES_MAX,
    BARRIERS = V_EMPTY + STAGES_MAX
};

static __host__ __device__ constexpr int panel_row(int unit, int d)
{
    return unit_row_bytes(unit, d) == d ? d : 128;
}

static __host__ __device__ constexpr int panels(int unit, int d)
{
    return unit_row_bytes(unit, d) == d ? 1 : d / 64;
}

// Where operands come from: they lie ready before the launch. A kernel that makes its own
// (fused_sm90.cuh) says otherwise: it has the other three warps of the copying thread make them and
// the copying thread wait for them. REGISTERS: of the copying warpgroup and of the consumers.
template <class K> struct feed {
    enum { MAKES = 0, REGISTERS = 24, CONSUMER_REGISTERS = 240 };
    static __host__ __device__ constexpr int bytes(int)
    {
        return 0;
    }
    static __host__ __device__ __forceinline__ int part_count(const typename K::params &)
    {
        return 0;
    }
    static __device__ __forceinline__ feed start(const typename K::params &)
    {
        return {};
    }
    __device__ __forceinline__ void wait_query(const typename K::params &, const struct place &)
    {
    }
    __device__ __forceinline__ void wait_keys(const typename K::params &, const struct place &, int)
    {
    }
};

template <class K, int D> static __host__ __device__ constexpr int q_offset(int route)
{
    int bytes = 0;
    for (int r = 0; r < route; r++)
        bytes += MXV_GPU_ROWS * panel_row(K::unit(r), D) * panels(K::unit(r), D);
    return bytes;
}

// Shared memory: copies of Q, stages of K, stages of V, mbarriers, and what the feed needs; 1024
// bytes to align it.
template <class K, int D, int BN> struct memory {
    static constexpr int STAGES = BN * D <= 8192 ? STAGES_MAX : 2; // 128 KiB at most
    static constexpr int STAGE = BN * 2 * D, K_AT = q_offset<K, D>(K::ROUTES),
                         V_AT = K_AT + STAGES * STAGE, BARRIERS_AT = V_AT + STAGES * STAGE,
                         ITEM_AT = BARRIERS_AT + 8 * BARRIERS, SPARE_AT = ITEM_AT + 4,
                         FEED_AT = (SPARE_AT + 4 + 15) / 16 * 16,
                         BYTES = FEED_AT + feed<K>::bytes(D) + 1024;
    uint32_t base;

    __device__ __forceinline__ uint32_t key_stage(uint32_t count) const
    {
        return base + K_AT + count % STAGES * STAGE;
    }
    __device__ __forceinline__ uint32_t value_stage(uint32_t count) const
    {
        return base + V_AT + count % STAGES * STAGE;
    }
    __device__ __forceinline__ uint32_t barrier(int first, uint32_t count) const
    {
        return base + BARRIERS_AT + 8 * (first + count % STAGES);
    }
    // Parity of the phase in which use number `count` of a stage becomes full.
    static __device__ __forceinline__ uint32_t parity(uint32_t count)
    {
        return count / STAGES & 1;
    }
};

template <int D, int ROWS>
static __device__ __forceinline__ void copy_panels(uint32_t dst, const CUtensorMap &map, int unit,
                                                   int token, int head, uint32_t barrier)
{
    for (int i = 0; i < panels(unit, D); i++)
        copy_box(dst + i * ROWS * panel_row(unit, D), &map, i * 64, token, head, barrier);
}

static __device__ __forceinline__ int tile_at(const struct mxv_gpu_call &call,
                                              struct key_range tiles, int n)
{
    return call.descending ? tiles.end - 1 - n : tiles.begin + n;
}

// Says which piece of work comes and copies its Q, if it has tiles.
template <class K, int D, int BN>
static __device__ __forceinline__ void
start_piece(const typename K::params &p, const struct tensor_maps &maps, const struct place &w,
            bool has_tiles, const struct memory<K, D, BN> &mem, int item)
{
    const uint32_t q_full = mem.barrier(Q_FULL, 0);
    int bytes = 0;
    for (int r = 0; has_tiles && r < K::ROUTES; r++)
        if (K::query(p, r))
            bytes += MXV_GPU_ROWS * panel_row(K::unit(r), D) * panels(K::unit(r), D);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(mem.base + mem.ITEM_AT), "r"(item) : "memory");
    barrier_expect(q_full, bytes);
    for (int r = 0; has_tiles && r < K::ROUTES; r++)
        if (K::query(p, r))
            copy_panels<D, MXV_GPU_ROWS>(mem.base + q_offset<K, D>(r), maps.q[r], K::unit(r),
                                         w.q_first + w.first, w.head, q_full);
}

// V of key tile j: panels of 64 channels, keys one below the other; of E4M3 channels one below the
// other, each with the tile's keys.
template <class K, int D, int BN>
static __device__ __forceinline__ void
copy_values(const struct mxv_gpu_call &call, const struct tensor_maps &maps, const struct place &w,
            int j, uint32_t stage, uint32_t full)
{
    if constexpr (K::UNIT == MXV_UNIT_E4M3) {
        barrier_expect(full, BN * D);
        copy_box(stage, &maps.v, call.v_first[w.sequence] + j * BN, 0, w.kv_head, full);
    } else {
        barrier_expect(full, BN * 2 * D);
        copy_panels<D, BN>(stage, maps.v, MXV_UNIT_F16, w.k_first + j * BN, w.kv_head, full);
    }
}

// Copies K and V of the tiles of a piece of work; count: tiles before it. Consumers read what
// belongs to a tile of keys two tiles ahead.
template <class K, int D, int BN>
static __device__ __forceinline__ void
copy_tiles(const typename K::params &p, const struct tensor_maps &maps, const struct place &w,
           struct key_range tiles, const struct memory<K, D, BN> &mem, uint32_t count,
           feed<K> &source)
{
    const struct mxv_gpu_call &call = p.call;
    const typename K::plan plan = K::plan_of(p, w);
    for (int n = 0; n <= tiles.end - tiles.begin; n++, count++) {
        if (n < tiles.end - tiles.begin) {
            const int j = tile_at(call, tiles, n), route = K::route(p, plan, j);
            const int unit = K::unit(route);
            const uint32_t full = mem.barrier(K_FULL, count);
            if (n + 2 < tiles.end - tiles.begin)
                source.wait_keys(p, w, tile_at(call, tiles, n + 2));
            barrier_wait(mem.barrier(K_EMPTY, count), mem.parity(count) ^ 1);
            barrier_expect(full, BN * panel_row(unit, D) * panels(unit, D));
            copy_panels<D, BN>(mem.key_stage(count), maps.k[route], unit, w.k_first + j * BN,
                               w.kv_head, full);
        }
        if (n > 0) {
            const uint32_t full = mem.barrier(V_FULL, count - 1);
            barrier_wait(mem.barrier(V_EMPTY, count - 1), mem.parity(count - 1) ^ 1);
            copy_values<K, D, BN>(call, maps, w, tile_at(call, tiles, n - 1),
                                  mem.value_stage(count - 1), full);
        }
    }
}

// Piece of work number `item`. Every head has the call's list of blocks; `heads` heads take turns,
// the first block of each, then the second, so that long rows do not begin when most is done. Where
// heads do not divide, the first go in a smaller group.
static __device__ __forceinline__ struct place item_place(const struct mxv_gpu_call &call,
                                                          int heads, int item)
{
    const int rest = call.heads_q % heads, whole = item - rest * call.block_count;
    const int group = heads * call.block_count;
    if (whole < 0)
        return place_of(call, item / rest, item % rest);
    return place_of(call, whole % group / heads, rest + whole / group * heads + whole % heads);
}

// The next piece of work of this block, after its first. Which block takes which piece depends on
// timing, what comes out does not. The last of all calls leaves the counter at zero for the next
// launch.
static __device__ __forceinline__ int next_item(int items)
{
    static __device__ unsigned taken;
    const unsigned before = atomicAdd(&taken, 1);
    if ((int)before == items - 1)
        taken = 0;
    return (int)(gridDim.x + before);
}

// The copying thread: the number of each piece goes to the consumers with its Q.
template <class K, int D, int BN>
static __device__ __forceinline__ void produce(const typename K::params &p,
                                               const struct tensor_maps &maps, int heads,
                                               const struct memory<K, D, BN> &mem, feed<K> source)
{
    const struct mxv_gpu_call &call = p.call;
    const int items = call.block_count * call.heads_q;
    uint32_t count = 0;
    int item = blockIdx.x, round = 0;
    for (; item < items; round++) {
        const struct place w = item_place(call, heads, item);
        const struct key_range tiles = processed_tiles(call, w);
        source.wait_query(p, w);
        for (int n = 0; n < min(2, tiles.end - tiles.begin); n++)
            source.wait_keys(p, w, tile_at(call, tiles, n));
        barrier_wait(mem.barrier(Q_EMPTY, 0), (round & 1) ^ 1);
        start_piece<K, D, BN>(p, maps, w, tiles.begin < tiles.end, mem, item);
        copy_tiles<K, D, BN>(p, maps, w, tiles, mem, count, source);
        count += tiles.end - tiles.begin;
        item = next_item(items);
    }
    barrier_wait(mem.barrier(Q_EMPTY, 0), (round & 1) ^ 1);
    start_piece<K, D, BN>(p, maps, {}, false, mem, item);
}

#endif
