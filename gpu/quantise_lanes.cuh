// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the block quantiser kernel (quantise.cuh) is made of besides arithmetic: who has which
// values, blocks and scales, loads and stores.
//
// A warp takes 1024 values as four chunks of 256; a lane loads 8 neighbours of each chunk, so 4 or
// 8 independent 16-byte loads are in flight. A block of 32 is 4 lanes, of 16 it is 2. The maxima of
// the four chunks are reduced crosswise, so that a lane of a group of 4 ends with the block of one
// chunk, of a group of 2 with two, and each scale is computed once; a shuffle hands it back. Codes
// leave in words or double words, contiguous over the warp. Rows with steps other than a factor and
// a mean go one chunk a warp.
#ifndef MXV_GPU_QUANTISE_LANES_CUH
#define MXV_GPU_QUANTISE_LANES_CUH

#include "quantise_code.cuh"

enum { QUANTISE_THREADS = 256 };

// Steps that a kernel takes with values in memory: none, a factor, a mean; both if there are any.
enum steps { AS_STORED, TIMES_FACTOR, LESS_MEAN, ANY_STEPS };

struct division { // n / d = n * magic >> shift
    uint32_t magic, shift;
};

struct quantise_args {
    struct mxv_gpu_rows rows;
    struct mxv_gpu_quantiser q;
    uint8_t *codes, *scales;
    size_t values;
    uint32_t blocks, per_row, size_shift; // block size is 2^size_shift
    struct division by_row, by_head;      // of a block: rows and heads before it
    uint32_t tiles_across;                // of the scale layout
    uint32_t row_shift, distance_shift;   // log2 of its tile's rows and of their distance
    float factor;                         // of values that go through no step after it
    bool d_divides_256;
    enum nvfp4_how how;              // NVFP4; 16-bit values: not NEAR times a factor
    const struct nvfp4_table *table; // NVFP4, not NEAR
};

static __device__ __forceinline__ uint32_t divided(uint32_t n, struct division by)
{
    return (uint32_t)((uint64_t)n * by.magic >> by.shift);
}

static __device__ __forceinline__ uint32_t row_of(const struct quantise_args &a, uint32_t block)
{
    return divided(block, a.by_row);
}

static __device__ __forceinline__ size_t scale_offset(const struct quantise_args &a, uint32_t block)
{
    if (a.q.layout == MXV_GPU_LAYOUT_LINEAR)
        return block;
    const uint32_t row = row_of(a, block);
    const uint32_t col = block - row * a.per_row, r = row & ((1u << a.row_shift) - 1);
    const size_t tile = (size_t)(row >> a.row_shift) * a.tiles_across + col / 4;
    const uint32_t line = (r & ((1u << a.distance_shift) - 1)) << (a.row_shift - a.distance_shift);
    return (tile << (a.row_shift + 2)) + (line + (r >> a.distance_shift)) * 4 + col % 4;
}

// Part of a warp: values from `first`, of which `left` exist, 8 neighbours a lane of each chunk.
// FULL: all exist.
template <bool FULL> struct span {
    size_t first;
    uint32_t left;
    unsigned lane;
    __device__ __forceinline__ bool inside(int u) const
    {
        return FULL || (u * 32 + lane) * CHUNK < left;
    }
};

// Of a chunk that a lane has none of, zeros.
template <int SOURCE, bool FULL>
static __device__ __forceinline__ chunk<SOURCE> source_chunk(const struct quantise_args &a,
                                                             struct span<FULL> s, int u)
{
    chunk<SOURCE> c = {};
    const size_t at = s.first + (u * 32 + s.lane) * CHUNK;
    if (!s.inside(u))
        return c;
    if constexpr (SOURCE == SOURCE_ROWS) {
        const uint32_t row = row_of(a, (uint32_t)(at >> a.size_shift));
        float x[CHUNK];
        source_values(a.rows, row, (int)(at - (size_t)row * a.rows.d), x);
        return chunk_of<SOURCE>(x);
    } else {
        return load_chunk<SOURCE>(a.rows.data, at);
    }
}

// Where the mean of a block's row begins, in vectors.
static __device__ __forceinline__ uint32_t mean_of(const struct quantise_args &a, uint32_t block)
{
    const uint32_t head = divided(block, a.by_head), sequences = (uint32_t)a.rows.sequences;
    if (sequences == 1 || !a.rows.sequence_of)
        return head * sequences;
    const uint32_t token = row_of(a, block) - head * (uint32_t)a.rows.tokens;
    return head * sequences + (uint32_t)a.rows.sequence_of[token];
}

// Chunks less a mean. Those of a lane have one mean vector if the first and the last have, and the
// same channels if rows of d values fit into 256; then it is loaded once.
template <int SOURCE, int CHUNKS, bool FULL>
static __device__ __forceinline__ void load_less_mean(const struct quantise_args &a,
                                                      struct span<FULL> s, chunk<SOURCE> c[CHUNKS])
{
    const size_t at = s.first + s.lane * CHUNK;
    const uint32_t first = (uint32_t)(at >> a.size_shift), step = 256u >> a.size_shift;
    float mean[CHUNK];
#pragma unroll
    for (int u = 0; u < CHUNKS; u++)
        c[u] = source_chunk<SOURCE>(a, s, u);
    if (FULL && a.d_divides_256 && mean_of(a, first) == mean_of(a, first + (CHUNKS - 1) * step)) {
        const uint32_t channel = (uint32_t)at & (uint32_t)(a.rows.d - 1);
        load_mean(a.rows.mean + (size_t)mean_of(a, first) * a.rows.d + channel, mean);
#pragma unroll
        for (int u = 0; u < CHUNKS; u++)
            subtract<SOURCE>(c[u], mean);
        return;
    }
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const uint32_t block = first + u * step;
        if (s.inside(u)) {
            const size_t channel = at + u * 256 - (size_t)row_of(a, block) * a.rows.d;
            load_mean(a.rows.mean + (size_t)mean_of(a, block) * a.rows.d + channel, mean);
            subtract<SOURCE>(c[u], mean);
        }
    }
}

template <int SOURCE, int STEPS, int CHUNKS, bool FULL>
static __device__ __forceinline__ void load_chunks(const struct quantise_args &a,
                                                   struct span<FULL> s, chunk<SOURCE> c[CHUNKS])
{
    if constexpr (STEPS == LESS_MEAN) {
        load_less_mean<SOURCE, CHUNKS>(a, s, c);
    } else if (STEPS == ANY_STEPS && a.rows.mean) {
        load_less_mean<SOURCE, CHUNKS>(a, s, c);
    } else {
#pragma unroll
        for (int u = 0; u < CHUNKS; u++)
            c[u] = source_chunk<SOURCE>(a, s, u);
    }
}

// Whose block a lane computes the scale of: number `i` of the lane's, and of which chunk it is.
template <int GROUP, int CHUNKS> struct owner {
    static constexpr int COUNT = CHUNKS == 1 ? 1 : CHUNKS / GROUP;
    static __device__ unsigned chunk(unsigned lane, int i)
    {
        return CHUNKS == 1 ? 0 : (lane & (GROUP - 1)) + i * GROUP;
    }
    static __device__ size_t block(size_t first, unsigned lane, int i)
    {
        constexpr unsigned PER_CHUNK = 32 / GROUP;
        return first / (GROUP * CHUNK) + chunk(lane, i) * PER_CHUNK + lane / GROUP;
    }
    // Lane that owns the block of chunk u, in the reader's group.
    static __device__ int lane_of(unsigned lane, int u)
    {
        return CHUNKS == 1 ? (int)lane : (int)((lane & ~(GROUP - 1u)) | (u & (GROUP - 1)));
    }
};

// Of every chunk the maximum over the group. Of four chunks each lane keeps those it owns,
// crosswise.
template <int SOURCE, int GROUP, int CHUNKS>
static __device__ __forceinline__ void group_maxima(const uint32_t m[CHUNKS], unsigned lane,
                                                    uint32_t out[CHUNKS])
{
    const auto most = [](uint32_t x, uint32_t y) { return maxima_of<SOURCE>(x, y); };
    if constexpr (CHUNKS == 1) {
        out[0] = most(m[0], __shfl_xor_sync(~0u, m[0], 1));
        if constexpr (GROUP == 4)
            out[0] = most(out[0], __shfl_xor_sync(~0u, out[0], 2));
    } else {
        const bool odd = lane & 1, high = lane & 2;
        uint32_t a = most(odd ? m[1] : m[0], __shfl_xor_sync(~0u, odd ? m[0] : m[1], 1));
        uint32_t b = most(odd ? m[3] : m[2], __shfl_xor_sync(~0u, odd ? m[2] : m[3], 1));
        if constexpr (GROUP == 4)
            a = most(high ? b : a, __shfl_xor_sync(~0u, high ? a : b, 2));
        out[0] = a;
        out[1] = b;
    }
}

// 8 codes of 6 bits, 48 bits a lane: the four lanes of a block write 24 bytes as three double
// words, lane j the bytes from 2 j of its own 6 and its neighbour's. `block`: where those begin.
static __device__ __forceinline__ void store_sixbit(uint8_t *block, bool inside, unsigned lane,
                                                    uint2 bytes)
{
    const unsigned j = lane & 3, selector = 0x3210u + j * 0x2222u;
    const uint32_t first =
        __dp4a(bytes.x, 0x00004001u, 0u) + (__dp4a(bytes.x, 0x40010000u, 0u) << 12);
    const uint32_t second =
        __dp4a(bytes.y, 0x00004001u, 0u) + (__dp4a(bytes.y, 0x40010000u, 0u) << 12);
    const uint32_t low = first | second << 24, high = second >> 8;
    const uint32_t next_low = __shfl_down_sync(~0u, low, 1);
    const uint32_t next_high = __shfl_down_sync(~0u, high, 1);
    const uint32_t middle = __byte_perm(high, next_low, 0x5410);
    const uint32_t last = __byte_perm(next_low, next_high, 0x5432);
    if (inside && j < 3)
        *(uint2 *)(block + 8 * j) =
            make_uint2(__byte_perm(low, middle, selector), __byte_perm(middle, last, selector));
}

template <int FORMAT, bool FULL>
static __device__ __forceinline__ void store_codes(const struct quantise_args &a,
                                                   struct span<FULL> s, int u, uint2 bytes)
{
    constexpr int BITS = element_of(FORMAT).bits;
    const bool in = s.inside(u);
    if (BITS == 8 || a.q.unpacked) {
        if (in)
            ((uint2 *)(a.codes + s.first) + s.lane)[u * 32] = bytes;
    } else if constexpr (BITS == 6) {
        store_sixbit(a.codes + (s.first / 32 + s.lane / 4) * 24 + u * 192, in, s.lane, bytes);
    } else {
        const uint32_t low = bytes.x | bytes.x >> 4, high = bytes.y | bytes.y >> 4;
        if (in)
            ((uint32_t *)(a.codes + s.first / 2) + s.lane)[u * 32] = __byte_perm(low, high, 0x6420);
    }
}

static __host__ __device__ constexpr uint32_t nan_code(int format)
{
    return element_of(format).bits == 8   ? 0x7f7f7f7fu
           : element_of(format).bits == 6 ? 0x1f1f1f1fu
                                          : 0x07070707u;
}

#endif
