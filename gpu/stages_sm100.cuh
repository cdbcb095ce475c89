// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of dma_sm100.cuh and the warp that fills it: codes of Q, and codes of K and V tile
// by tile in three stages, by the copy engine; scales by the warp itself. They come linear,
// [heads][tokens][d / block], since the rows of a packed sequence begin anywhere; each lane puts
// the words of four rows where tcgen05.cp takes them (tcgen05_layout.h).
#ifndef MXV_GPU_STAGES_SM100_CUH
#define MXV_GPU_STAGES_SM100_CUH

#include "blocks.cuh"
#include "dma.cuh"
#include "row_sm100.cuh"
#include "tcgen05.cuh"

enum { STAGES = 3, LOADER = 128, ISSUER = 160, THREADS = 192, SWIZZLE_PATTERN = 1024 };

// mbarriers. Full: bytes arrived and, but for V, 32 lanes have stored scales. Empty, scores and
// output ready: commits. Weights ready: all 128 rows; also says that the scores have been read.
enum {
    Q_FULL,
    WEIGHTS_READY,
    OUTPUT_READY,
    SCORES_READY, // two
    K_FULL = SCORES_READY + 2,
    K_EMPTY = K_FULL + STAGES,
    V_FULL = K_EMPTY + STAGES,
    V_EMPTY = V_FULL + STAGES,
    BARRIERS = V_EMPTY + STAGES
};

// Shared memory. A key stage holds codes of either route; scales are tiles: one of Q high, two of Q
// low, two of each key stage.
template <int D> struct memory {
    static constexpr int K_STAGE = ROW_KEYS * D, V_STAGE = ROW_KEYS * 2 * D,
                         V_PANEL = ROW_KEYS * 128, K_AT = MXV_GPU_ROWS * (D + D / 2),
                         V_AT = K_AT + STAGES * K_STAGE, SCALES_AT = V_AT + STAGES * V_STAGE,
                         BARRIERS_AT = SCALES_AT + (3 + 2 * STAGES) * SCALE_TILE,
                         TENSOR_AT = BARRIERS_AT + 8 * BARRIERS,
                         BYTES = TENSOR_AT + 4 + SWIZZLE_PATTERN;
    static_assert(K_AT % SWIZZLE_PATTERN == 0 && K_STAGE % SWIZZLE_PATTERN == 0, "swizzle");
    uint32_t base;

    __device__ __forceinline__ uint32_t query(int route) const
    {
        return base + route * MXV_GPU_ROWS * D;
    }
    __device__ __forceinline__ uint32_t keys(int n) const
    {
        return base + K_AT + n % STAGES * K_STAGE;
    }
    __device__ __forceinline__ uint32_t values(int n) const
    {
        return base + V_AT + n % STAGES * V_STAGE;
    }
    __device__ __forceinline__ uint32_t query_scales(int route) const
    {
        return base + SCALES_AT + route * SCALE_TILE;
    }
    __device__ __forceinline__ uint32_t key_scales(int n) const
    {
        return base + SCALES_AT + (3 + n % STAGES * 2) * SCALE_TILE;
    }
    __device__ __forceinline__ uint32_t barrier(int i) const
    {
        return base + BARRIERS_AT + 8 * i;
    }
    __device__ __forceinline__ uint32_t staged(int first, int n) const
    {
        return barrier(first + n % STAGES);
    }
};

static __device__ __forceinline__ uint32_t stage_parity(int n) // of its nth tile becoming full
{
    return n / STAGES & 1;
}

struct maps { // rows of bytes: codes of Q and K by route, V
    CUtensorMap q[2], k[2], v;
};

typedef struct mxv_gpu_dma_blocks params;
typedef dma<MXV_UNIT_F16> rules; // the plan

struct work {
    struct place w;
    struct key_range tiles;
    rules::plan plan;
};

static __device__ __forceinline__ int tile_at(const struct mxv_gpu_call &call, const struct work &x,
                                              int n)
{
    return call.descending ? x.tiles.end - 1 - n : x.tiles.begin + n;
}

static __host__ __device__ constexpr int scale_tiles(int unit, int d)
{
    return (block_row_scales(unit, d) + 3) / 4;
}

// By warp 4: scale words of 128 rows, of which `rows` exist, into tiles.
template <int UNIT, int D>
static __device__ __forceinline__ void store_scales(uint32_t tiles, const uint8_t *scales, int rows)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < scale_tiles(UNIT, D); i++) {
        uint32_t word[4];
#pragma unroll
        for (int g = 0; g < 4; g++)
            word[g] = block_scale_word<UNIT, D>(scales, lane + 32 * g, rows, i);
        store_shared(tiles + i * SCALE_TILE + scale_word_at(lane), word);
    }
}

template <int LOW, int D>
static __device__ __forceinline__ void store_route_scales(int route, uint32_t tiles,
                                                          const uint8_t *high, const uint8_t *low,
                                                          size_t token, int rows)
{
    if (route == 0)
        store_scales<MXV_UNIT_MXF8, D>(tiles, high + token * block_row_scales(MXV_UNIT_MXF8, D),
                                       rows);
    else
        store_scales<LOW, D>(tiles, low + token * block_row_scales(LOW, D), rows);
}

template <int LOW> static __host__ __device__ constexpr int route_unit(int route)
{
    return route == 0 ? (int)MXV_UNIT_MXF8 : LOW;
}

template <int LOW, int D>
static __device__ __forceinline__ void load(const params &p, const struct maps &maps,
                                            const struct work &x, const struct memory<D> &mem)
{
    const struct mxv_gpu_call &call = p.codes.call;
    const struct place &w = x.w;
    const bool copies = threadIdx.x == LOADER;
    const int query = w.q_first + w.first;
    for (int r = 0; r < 2; r++) {
        const int bytes = MXV_GPU_ROWS * unit_row_bytes(route_unit<LOW>(r), D);
        if (!rules::query(p.codes, r))
            continue;
        if (copies) {
            barrier_expect_more(mem.barrier(Q_FULL), bytes);
            copy_box(mem.query(r), &maps.q[r], 0, query, w.head, mem.barrier(Q_FULL));
        }
        store_route_scales<LOW, D>(r, mem.query_scales(r), p.q_high_scales, p.q_low_scales,
                                   (size_t)w.head * call.tokens_q + query, w.end - w.first);
    }
    fence_async();
    barrier_arrive(mem.barrier(Q_FULL));
    for (int n = 0; n < x.tiles.end - x.tiles.begin; n++) {
        const int j = tile_at(call, x, n), route = rules::route(p.codes, x.plan, j);
        const int key = w.k_first + j * ROW_KEYS;
        const uint32_t k_full = mem.staged(K_FULL, n), v_full = mem.staged(V_FULL, n);
        barrier_wait(mem.staged(K_EMPTY, n), stage_parity(n) ^ 1);
        if (copies) {
            barrier_expect_more(k_full, ROW_KEYS * unit_row_bytes(route_unit<LOW>(route), D));
            copy_box(mem.keys(n), &maps.k[route], 0, key, w.kv_head, k_full);
        }
        store_route_scales<LOW, D>(route, mem.key_scales(n), p.k_high_scales, p.k_low_scales,
                                   (size_t)w.kv_head * call.tokens_k + key, w.lk - j * ROW_KEYS);
        fence_async();
        barrier_arrive(k_full);
        if (copies) {
            barrier_wait(mem.staged(V_EMPTY, n), stage_parity(n) ^ 1);
            barrier_expect(v_full, mem.V_STAGE);
            for (int i = 0; i < D / 64; i++)
                copy_box(mem.values(n) + i * mem.V_PANEL, &maps.v, i * 128, key, w.kv_head, v_full);
        }
        __syncwarp();
    }
}

#endif
