// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The tile engine on mma.sync: docs/kernels/contract.md 4 to 6, one thread block per 128 query
// rows and head, 8 warps of 16 rows. A kernel (flash.cu, dma.cu, tilemix.cu) is a struct that says
// which route a key tile takes, where its operands lie, and how raw scores are scaled:
//
//   typedef ... params;                    with a member `call`
//   UNIT, LOG2, ROUTES             PV unit, argument style, copies of Q
//   unit(route)                    MXV_UNIT_* of the scores
//   query(p, route), keys(p, route)  tensors of a route; NULL: the call has no such route
//   plan_of(p, w), route(p, plan, j)  0 .. ROUTES - 1
//   row_of(p, w, row), tile_of(p, w, plan_of, j)  what scores are scaled by
//   route_of(p, plan_of, tile_of, j)  the route, from what tile_of has fetched
//   scale(p, w, route, j, row_of, tile_of, s, first)  words of the product become scores
//   FOLDS, folds(p, route), fold_exponents(...)  exponents from the words themselves (fold=1)
//   FP8, codes(p, route), score_codes(...)  routes with FP8 products, sm_90a alone (dma_fp8.cuh)
//   raw_row, raw, use_of           whether and how words stay as they are (scores_sm90.cuh)
//   needs_options(p)               the wgmma engine's build for options takes the call
//   block_rows_of(p, w, route, row, key)       where block scales lie, for block-scaled units
//
// Keys and values stream through two buffers of 64 rows, filled by cp.async one step ahead: the
// chunks of K of a tile, then its chunks of V. Which warp computes what never depends on timing;
// sums run in the contract's order. D is d. The build for OPTIONS stores every tap of the contract
// if asked, takes key tiles of more than 128 keys and exp=cr; nothing else changes.
#ifndef MXV_GPU_ATTENTION_CUH
#define MXV_GPU_ATTENTION_CUH

#include "blocks.cuh"
#include "fp8_sm90.cuh"
#include "fragment.cuh"
#include "tile.cuh"

enum { CHUNK_TILES = MXV_GPU_CHUNK / 8, PLAIN_TILE_N = 128 };

// Tiles of 8 keys that a build holds.
static __host__ __device__ constexpr int score_tiles(bool options)
{
    return (options ? MXV_GPU_TILE_N_MAX : PLAIN_TILE_N) / 8;
}

static __host__ __device__ constexpr int row_stride(int unit, int d)
{
    return unit_row_bytes(unit, d) + 16;
}

// Bytes of shared memory: the copies of Q, then two buffers.
template <class K, int D> static constexpr int shared_bytes()
{
    int bytes = 2 * MXV_GPU_CHUNK * row_stride(MXV_UNIT_F16, D);
    for (int r = 0; r < K::ROUTES; r++)
        bytes += MXV_GPU_ROWS * row_stride(K::unit(r), D);
    return bytes;
}

// Step `step` of the stream: which key tile, which part of it.
struct part {
    int tile, chunk;
    bool values;
};

static __device__ __forceinline__ struct part part_of(const struct mxv_gpu_call &call,
                                                      struct key_range tiles, int step)
{
    const int chunks = (call.tile_n + MXV_GPU_CHUNK - 1) / MXV_GPU_CHUNK;
    const int n = step / (2 * chunks), rest = step % (2 * chunks);
    return {call.descending ? tiles.end - 1 - n : tiles.begin + n, rest % chunks, rest >= chunks};
}

// Starts the copy of a part to `buffer`.
template <class K, int D>
static __device__ __forceinline__ void fetch_part(const typename K::params &p,
                                                  const struct place &w, const struct part &part,
                                                  uint32_t buffer)
{
    const struct mxv_gpu_call &call = p.call;
    const int route = part.values ? 0 : K::route(p, K::plan_of(p, w), part.tile);
    const int inside = part.chunk * MXV_GPU_CHUNK, key = part.tile * call.tile_n + inside;
    const int existing = max(0, min(call.tile_n - inside, w.lk - key));
    const size_t first = (size_t)w.kv_head * call.tokens_k + w.k_first;
    if constexpr (K::FP8 && (int)K::UNIT == (int)MXV_UNIT_E4M3) {
        if (part.values) {
            fetch_value_codes<D>(call, w, inside, key, buffer);
            return;
        }
    }
    if constexpr (K::FP8) {
        if (!part.values && K::codes(p, route)) {
            const uint8_t *rows = (const uint8_t *)K::keys(p, route) + first * D;
            load_codes(buffer, existing ? rows + (size_t)key * D : rows, D, MXV_GPU_CHUNK, D / 16,
                       existing, D / 16);
            return;
        }
    }
    const int unit = part.values ? MXV_UNIT_F16 : K::unit(route);
    const int row_bytes = unit_row_bytes(unit, call.d);
    const uint8_t *rows =
        (const uint8_t *)(part.values ? call.v : K::keys(p, route)) + first * row_bytes;
    load_rows(buffer, row_stride(unit, D), existing ? rows + (size_t)key * row_bytes : rows,
              row_bytes, MXV_GPU_CHUNK, existing);
}

// Starts the copy of a step's chunk, if there is such a step, and closes the group.
template <class K, int D>
static __device__ __forceinline__ void fetch(const typename K::params &p, const struct place &w,
                                             struct key_range tiles, int step, uint32_t buffers)
{
    const struct part part = part_of(p.call, tiles, step);
    if (part.tile >= tiles.begin && part.tile < tiles.end)
        fetch_part<K, D>(p, w, part,
                         buffers + step % 2 * MXV_GPU_CHUNK * row_stride(MXV_UNIT_F16, D));
    copy_commit();
}

// Raw scores of the warp's rows and of the keys from `key` on, which lie at k. copies: the
// warp's rows of each copy of Q in shared memory.
template <class K, int D>
static __device__ __forceinline__ void
score_route(const typename K::params &p, const struct place &w, int route, int row, int key,
            const uint32_t (&copies)[K::ROUTES], uint32_t k, float (*s)[4])
{
    if constexpr (K::FP8) {
        if (K::codes(p, route)) {
            K::template score_codes<D>(p, w, route, row, key, k, s);
            return;
        }
    }
    const int stride = row_stride(K::unit(route), D);
    const uint32_t q = copies[route];
    if constexpr (K::unit(K::ROUTES - 1) == MXV_UNIT_S8) {
        if (route == K::ROUTES - 1) {
            score_chunk_s8<D / 32>(s, q, k, stride);
            return;
        }
    }
#pragma unroll
    for (int t = 0; t < CHUNK_TILES; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[t][e] = 0;
    if constexpr (K::unit(0) >= MXV_UNIT_MXF8) {
        const struct block_rows rows = K::block_rows_of(p, w, route, row, key);
        if (route == 0)
            score_chunk_blocks<K::unit(0), D>(s, q, k, stride, rows);
        else
            score_chunk_blocks<K::unit(1), D>(s, q, k, stride, rows);
    } else {
        score_chunk<K::unit(0), D / 16>(s, q, k, stride);
    }
}

// The stream of chunks of a thread block: the next step, and where the two buffers lie.
struct stream {
    struct key_range tiles;
    int step;
    uint32_t buffers;
};

// Starts the copy of the step after this one and waits for this one's; returns its buffer.
template <class K, int D>
static __device__ __forceinline__ uint32_t next_chunk(const typename K::params &p,
                                                      const struct place &w, struct stream &stream)
{
    const uint32_t buffer =
        stream.buffers + stream.step % 2 * MXV_GPU_CHUNK * row_stride(MXV_UNIT_F16, D);
    stream.step++;
    fetch<K, D>(p, w, stream.tiles, stream.step, stream.buffers);
    copy_wait_but_one();
    if constexpr (K::FP8)
        fence_async(); // wgmma reads it
    __syncthreads();
    return buffer;
}

// Starts the copy of the block's rows of each copy of Q; q: where this warp's rows will be. Returns
// the end of shared memory in use.
template <class K, int D>
static __device__ __forceinline__ uint32_t load_queries(const typename K::params &p,
                                                        const struct place &w, uint32_t end,
                                                        uint32_t (&q)[K::ROUTES])
{
    const struct mxv_gpu_call &call = p.call;
    for (int r = 0; r < K::ROUTES; r++) {
        const int stride = row_stride(K::unit(r), D);
        const int row_bytes = unit_row_bytes(K::unit(r), D);
        const size_t first = (size_t)w.head * call.tokens_q + w.q_first + w.first;
        if (K::query(p, r))
            load_rows(end, stride, (const uint8_t *)K::query(p, r) + first * row_bytes, row_bytes,
                      MXV_GPU_ROWS, w.end - w.first);
        q[r] = end + threadIdx.x / 32 * 16 * stride;
        end += MXV_GPU_ROWS * stride;
    }
    return end;
}

template <int TILES>
static __device__ __forceinline__ void put_chunk(float (&s)[TILES][4], int chunk,
                                                 const float (&x)[CHUNK_TILES][4])
{
#pragma unroll
    for (int t = 0; t < CHUNK_TILES; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[chunk * CHUNK_TILES + t][e] = x[t][e];
}

// Contract 4 on columns of key tile j from `first` on: words become scores.
template <class K, int TILES>
static __device__ __forceinline__ void scale_and_mask(const typename K::params &p,
                                                      const struct place &w, int j, int route,
                                                      int row, int first, float (&s)[TILES][4])
{
    K::scale(p, w, route, j, K::row_of(p, w, row), K::tile_of(p, w, K::plan_of(p, w), j), s, first);
    if (!all_visible(p.call, w, j, row - threadIdx.x % 32 / 4))
        mask_scores(p.call, w, j, row, s, first);
}

// Words of a chunk of key tile j, whose keys lie at k. The build for options makes them scores
// here, in registers, and keeps the words themselves where K folds; the other once for the whole
// tile.
template <class K, int D, bool OPTIONS, int TILES, int WORDS>
static __device__ __forceinline__ void
score_chunk_of(const typename K::params &p, const struct place &w, int j, int route, int row,
               int chunk, const uint32_t (&copies)[K::ROUTES], uint32_t k, float (&words)[WORDS][4],
               float (&s)[TILES][4])
{
    const int first = chunk * MXV_GPU_CHUNK;
    float x[CHUNK_TILES][4];
    score_route<K, D>(p, w, route, row, j * p.call.tile_n + first, copies, k, x);
    if constexpr (OPTIONS) {
        if constexpr (K::FOLDS)
            put_chunk(words, chunk, x);
        scale_and_mask<K>(p, w, j, route, row, first, x);
    }
    put_chunk(s, chunk, x);
}

// Contract 5 on a tile: its scores become packed weights, O is rescaled. words: what the scores
// were made of, where K folds.
template <class K, int D, bool OPTIONS, int TILES, int WORDS>
static __device__ __forceinline__ void
softmax_tile(const typename K::params &p, const struct place &w, int j, int route, int row,
             float (&words)[WORDS][4], struct softmax_rows &rows, float (&s)[TILES][4],
             uint32_t (&weights)[TILES][2], float (&o)[D / 8][4])
{
    const struct mxv_gpu_call &call = p.call;
    float alpha[2];
    if constexpr (!OPTIONS) {
        if constexpr (K::FOLDS)
            copy_words(words, s);
        scale_and_mask<K>(p, w, j, route, row, 0, s);
    }
    if (OPTIONS && call.trace.score)
        trace_matrix(call, w, j, row, call.tile_n, call.trace.score, s);
    const float m[2] = {
        softmax_keep<K::LOG2>(call, rows.m[0], softmax_max(call.tile_n, 0, rows.m[0], s)),
        softmax_keep<K::LOG2>(call, rows.m[1], softmax_max(call.tile_n, 1, rows.m[1], s))};
    weigh_scores<K, OPTIONS ? EXP2_ANY : EXP2_POLY>(p, w, j, route, row, K::row_of(p, w, row),
                                                    K::tile_of(p, w, K::plan_of(p, w), j),
                                                    call.tile_n, m, words, rows, s, alpha);
    pack_weights<K::UNIT>(s, weights);
#pragma unroll
    for (int t = 0; t < D / 8; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            o[t][e] = __fmul_rn(o[t][e], alpha[e / 2]);
    if (OPTIONS && call.trace.score) {
        trace_rows(call, w, j, row, rows);
        trace_weights<K::UNIT>(call, w, j, row, weights);
    }
}

// O += P V over a chunk, which lies at v; weights: of the whole tile.
template <class K, int D, int TILES>
static __device__ __forceinline__ void add_values(float (&o)[D / 8][4],
                                                  const uint32_t (&weights)[TILES][2], int chunk,
                                                  uint32_t v, int keys)
{
    if constexpr ((int)K::UNIT == (int)MXV_UNIT_E4M3)
        value_chunk_codes<D>(o, weights + chunk * CHUNK_TILES / 2, v, keys);
    else
        value_chunk<K::UNIT, D>(o, weights + chunk * CHUNK_TILES, v, row_stride(MXV_UNIT_F16, D),
                                keys);
}

template <class K, int D, bool OPTIONS>
static __global__ void __launch_bounds__(MXV_GPU_THREADS, 1)
    attention(const __grid_constant__ typename K::params p)
{
    extern __shared__ __align__(128) uint8_t shared[];
    constexpr int TILES = score_tiles(OPTIONS);
    const struct mxv_gpu_call &call = p.call;
    const struct place w = place_of(call, blockIdx.x, blockIdx.y);
    const int row = w.first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    // The same for a whole warp; wgmma needs all warps.
    const bool active = K::FP8 || w.first + threadIdx.x / 32 * 16 < w.end;
    uint32_t q[K::ROUTES];
    struct stream stream = {processed_tiles(call, w), 0, 0};
    struct softmax_rows rows;
    float o[D / 8][4] = {};
    stream.buffers = load_queries<K, D>(p, w, shared_address(shared), q);
    softmax_start(call, rows);
    fetch<K, D>(p, w, stream.tiles, 0, stream.buffers);
    for (int n = 0; n < stream.tiles.end - stream.tiles.begin; n++) {
        const int j = call.descending ? stream.tiles.end - 1 - n : stream.tiles.begin + n;
        const int route = K::route(p, K::plan_of(p, w), j);
        float s[TILES][4], words[K::FOLDS ? TILES : 1][4];
        uint32_t weights[TILES][2];
#pragma unroll(OPTIONS ? 1 : 2)
        for (int chunk = 0; chunk < TILES / CHUNK_TILES; chunk++)
            if (chunk * MXV_GPU_CHUNK < call.tile_n) {
                const uint32_t keys = next_chunk<K, D>(p, w, stream);
                if (active)
                    score_chunk_of<K, D, OPTIONS>(p, w, j, route, row, chunk, q, keys, words, s);
                __syncthreads();
            }
        if (active)
            softmax_tile<K, D, OPTIONS>(p, w, j, route, row, words, rows, s, weights, o);
#pragma unroll(OPTIONS ? 1 : 2)
        for (int chunk = 0; chunk < TILES / CHUNK_TILES; chunk++)
            if (chunk * MXV_GPU_CHUNK < call.tile_n) {
                const uint32_t values = next_chunk<K, D>(p, w, stream);
                if (active)
                    add_values<K, D>(o, weights, chunk, values,
                                     call.tile_n - chunk * MXV_GPU_CHUNK);
                __syncthreads();
            }
        if (OPTIONS && active && call.trace.acc) {
            float traced[D / 8][4]; // sums stay in registers
            copy_words(traced, o);
            trace_matrix(call, w, j, row, D, call.trace.acc, traced);
        }
    }
    if (active)
        finish<K::LOG2, D>(call, w, row, rows, o);
}

// One launch; a cudaError_t.
template <class K, int D, bool OPTIONS> static int launch_as(const typename K::params &p)
{
    constexpr int bytes = shared_bytes<K, D>();
    cudaError_t error = cudaFuncSetAttribute(attention<K, D, OPTIONS>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return (int)error;
    const dim3 grid((unsigned)p.call.block_count, (unsigned)p.call.heads_q);
    attention<K, D, OPTIONS><<<grid, MXV_GPU_THREADS, bytes>>>(p);
    return (int)cudaGetLastError();
}

template <class K, bool OPTIONS> static int launch_build(const typename K::params &p)
{
    switch (p.call.d) {
    case 32:
        return launch_as<K, 32, OPTIONS>(p);
    case 64:
        return launch_as<K, 64, OPTIONS>(p);
    case 96:
        return launch_as<K, 96, OPTIONS>(p);
    case 128:
        return launch_as<K, 128, OPTIONS>(p);
    case 256:
        return launch_as<K, 256, OPTIONS>(p);
    default:
        return (int)cudaErrorInvalidValue;
    }
}

// By the build for options, whether or not there are any.
template <class K> static int launch_options(typename K::params p, bool trace)
{
    if (!trace)
        p.call.trace.score = p.call.trace.acc = NULL;
    return p.call.block_count == 0 ? (int)cudaSuccess : launch_build<K, true>(p);
}

static inline bool needs_options(const struct mxv_gpu_call &call, bool trace)
{
    return trace || call.cr || call.tile_n > PLAIN_TILE_N;
}

template <class K> static int launch(const typename K::params &p, bool trace)
{
    if (needs_options(p.call, trace))
        return launch_options<K>(p, trace);
    return p.call.block_count == 0 ? (int)cudaSuccess : launch_build<K, false>(p);
}

#endif
