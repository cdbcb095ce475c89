// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The block quantiser kernel, one template for all formats and sources (operands.h).
//
// A warp takes 1024 values as four chunks of 256; a lane loads 8 neighbours of each chunk, so 4 or
// 8 independent 16-byte loads are in flight. A block of 32 is 4 lanes, of 16 it is 2. The maxima of
// the four chunks are reduced crosswise, so that a lane of a group of 4 ends with the block of one
// chunk, of a group of 2 with two, and each scale is computed once; a shuffle hands it back. Codes
// leave in words or double words, contiguous over the warp. Rows with steps on their way go one
// chunk a warp.
#ifndef MXV_GPU_QUANTISE_CUH
#define MXV_GPU_QUANTISE_CUH

#include "quantise_code.cuh"

enum { QUANTISE_THREADS = 256 };

struct quantise_args {
    struct mxv_gpu_rows rows;
    struct mxv_gpu_quantiser q;
    uint8_t *codes, *scales;
    size_t values;
    uint32_t blocks, per_row, size_shift; // block size is 2^size_shift
    uint32_t magic, shift;                // block / per_row = block * magic >> shift
    uint32_t tiles_across;                // of the scale layout
    uint32_t row_shift, distance_shift;   // log2 of its tile's rows and of their distance
};

static __device__ __forceinline__ uint32_t row_of(const struct quantise_args &a, uint32_t block)
{
    return (uint32_t)((uint64_t)block * a.magic >> a.shift);
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
struct span {
    size_t first;
    uint32_t left;
    unsigned lane;
};

static __device__ __forceinline__ bool inside(struct span s, int u)
{
    return (u * 32 + s.lane) * CHUNK < s.left;
}

template <int SOURCE>
static __device__ __forceinline__ chunk<SOURCE> load_chunk(const struct quantise_args &a,
                                                           struct span s, int u)
{
    chunk<SOURCE> c = {};
    if (!inside(s, u))
        return c;
    if constexpr (SOURCE == SOURCE_ROWS) {
        const size_t at = s.first + (u * 32 + s.lane) * CHUNK;
        const uint32_t row = row_of(a, (uint32_t)(at >> a.size_shift));
        float x[CHUNK];
        source_values(a.rows, row, (int)(at - (size_t)row * a.rows.d), x);
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            c.word[i] = __float_as_uint(x[i]);
    } else {
        constexpr int VECTORS = sizeof c / sizeof(uint4);
        const uint4 *p = (const uint4 *)a.rows.data + (s.first / CHUNK + s.lane) * VECTORS;
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const uint4 v = __ldcs(p + u * 32 * VECTORS + i);
            c.word[4 * i] = v.x, c.word[4 * i + 1] = v.y;
            c.word[4 * i + 2] = v.z, c.word[4 * i + 3] = v.w;
        }
    }
    return c;
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
template <int GROUP, int CHUNKS>
static __device__ __forceinline__ void group_maxima(const uint32_t m[CHUNKS], unsigned lane,
                                                    uint32_t out[CHUNKS])
{
    if constexpr (CHUNKS == 1) {
        out[0] = max(m[0], __shfl_xor_sync(~0u, m[0], 1));
        if constexpr (GROUP == 4)
            out[0] = max(out[0], __shfl_xor_sync(~0u, out[0], 2));
    } else {
        const bool odd = lane & 1, high = lane & 2;
        uint32_t a = max(odd ? m[1] : m[0], __shfl_xor_sync(~0u, odd ? m[0] : m[1], 1));
        uint32_t b = max(odd ? m[3] : m[2], __shfl_xor_sync(~0u, odd ? m[2] : m[3], 1));
        if constexpr (GROUP == 4)
            a = max(high ? b : a, __shfl_xor_sync(~0u, high ? a : b, 2));
        out[0] = a;
        out[1] = b;
    }
}

// 8 codes of 6 bits, 48 bits a lane: the four lanes of a block write 24 bytes as three double
// words. `block`: where those begin.
static __device__ __forceinline__ void store_sixbit(uint8_t *block, bool inside, unsigned lane,
                                                    uint2 bytes)
{
    uint32_t w[2] = {bytes.x, bytes.y};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t t = (w[i] & 0x003f003fu) | (w[i] >> 2 & 0x0fc00fc0u);
        w[i] = (t & 0xfffu) | (t >> 16 << 12);
    }
    const uint64_t own = w[0] | (uint64_t)w[1] << 24, next = __shfl_down_sync(~0u, own, 1);
    const unsigned j = lane & 3;
    if (inside && j < 3)
        *(uint64_t *)(block + 8 * j) = own >> 16 * j | next << (48 - 16 * j);
}

template <int FORMAT>
static __device__ __forceinline__ void store_codes(const struct quantise_args &a, struct span s,
                                                   int u, uint2 bytes)
{
    constexpr int BITS = element_of(FORMAT).bits;
    const bool in = inside(s, u);
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

template <int FORMAT, int SOURCE, int CHUNKS>
static __device__ __forceinline__ void mx_tile(const struct quantise_args &a, struct span s,
                                               chunk<SOURCE> c[CHUNKS], const uint32_t m[CHUNKS])
{
    using own = owner<4, CHUNKS>;
    const uint32_t fill = a.q.nan_is_zero ? 0 : nan_code(FORMAT);
    uint32_t amax[CHUNKS];
    group_maxima<4, CHUNKS>(m, s.lane, amax);
    const uint32_t mine =
        scale_code(a.q.rule, element_of(FORMAT), amax_word<SOURCE>(amax[0]), a.q.inf_is_nan);
    const size_t block = own::block(s.first, s.lane, 0);
    if (block < a.blocks && (CHUNKS > 1 || s.lane % 4 == 0))
        a.scales[scale_offset(a, (uint32_t)block)] = (uint8_t)mine;
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const uint32_t code = __shfl_sync(~0u, mine, own::lane_of(s.lane, u));
        uint2 bytes = mx_codes<FORMAT, SOURCE>(c[u], min((int)code - 127, 127));
        if (code == 0xFF)
            bytes = make_uint2(fill, fill);
        store_codes<FORMAT>(a, s, u, bytes);
    }
}

template <int SOURCE, int HOW, int CHUNKS>
static __device__ __forceinline__ void nvfp4_tile(const struct quantise_args &a, struct span s,
                                                  chunk<SOURCE> c[CHUNKS], const uint32_t m[CHUNKS])
{
    using own = owner<2, CHUNKS>;
    const uint32_t fill = a.q.nan_is_zero ? 0 : nan_code(MXV_GPU_NVFP4);
    uint32_t amax[CHUNKS];
    struct nvfp4_scale mine[own::COUNT];
    const struct nvfp4_tensor tensor = nvfp4_tensor_of<HOW>(a.q.order, a.q.tensor_amax);
    group_maxima<2, CHUNKS>(m, s.lane, amax);
#pragma unroll
    for (int i = 0; i < own::COUNT; i++) {
        mine[i] = nvfp4_scale_of<HOW>(a.q.order, tensor, amax_word<SOURCE>(amax[i]));
        const size_t block = own::block(s.first, s.lane, i);
        if (block < a.blocks && (CHUNKS > 1 || s.lane % 2 == 0))
            a.scales[scale_offset(a, (uint32_t)block)] = mine[i].byte;
    }
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const int from = own::lane_of(s.lane, u);
        const float factor = __shfl_sync(~0u, mine[u / 2].factor, from);
        const float inverse = __shfl_sync(~0u, mine[u / 2].inverse, from);
        uint2 bytes = nvfp4_codes<HOW, SOURCE>(c[u], factor, inverse);
        if (factor != factor)
            bytes = make_uint2(fill, fill);
        store_codes<MXV_GPU_NVFP4>(a, s, u, bytes);
    }
}

// Chunks of a warp: one where each value takes many steps, else four.
template <int SOURCE> static constexpr int CHUNKS_OF = SOURCE == SOURCE_ROWS ? 1 : 4;

template <int FORMAT, int SOURCE, int HOW>
static __global__ void __launch_bounds__(QUANTISE_THREADS)
    quantise_tiles(const __grid_constant__ struct quantise_args a)
{
    constexpr int CHUNKS = CHUNKS_OF<SOURCE>;
    constexpr size_t TILE = (size_t)CHUNKS * CHUNK * 32;
    const size_t warp = (size_t)blockIdx.x * (QUANTISE_THREADS / 32) + threadIdx.x / 32;
    if (warp * TILE >= a.values)
        return;
    const struct span s = {warp * TILE, (uint32_t)min(a.values - warp * TILE, TILE),
                           threadIdx.x % 32};
    chunk<SOURCE> c[CHUNKS];
    uint32_t m[CHUNKS];
#pragma unroll
    for (int u = 0; u < CHUNKS; u++)
        c[u] = load_chunk<SOURCE>(a, s, u);
#pragma unroll
    for (int u = 0; u < CHUNKS; u++)
        m[u] = chunk_amax<SOURCE>(c[u]);
    if constexpr (FORMAT == MXV_GPU_NVFP4)
        nvfp4_tile<SOURCE, HOW, CHUNKS>(a, s, c, m);
    else
        mx_tile<FORMAT, SOURCE, CHUNKS>(a, s, c, m);
}

template <int FORMAT, int SOURCE, int HOW> static int quantise_with(const struct quantise_args *a)
{
    const size_t per_block = (size_t)CHUNKS_OF<SOURCE> * CHUNK * QUANTISE_THREADS;
    const unsigned grid = (unsigned)((a->values + per_block - 1) / per_block);
    quantise_tiles<FORMAT, SOURCE, HOW><<<grid, QUANTISE_THREADS>>>(*a);
    return (int)cudaGetLastError();
}

// All formats of one source; of NVFP4 order exact without tensor scale and those that multiply.
template <int SOURCE> static int quantise_from(const struct quantise_args *a)
{
    switch (a->q.format) {
    case MXV_GPU_MXFP8_E4M3:
        return quantise_with<MXV_GPU_MXFP8_E4M3, SOURCE, 0>(a);
    case MXV_GPU_MXFP8_E5M2:
        return quantise_with<MXV_GPU_MXFP8_E5M2, SOURCE, 0>(a);
    case MXV_GPU_MXFP6_E2M3:
        return quantise_with<MXV_GPU_MXFP6_E2M3, SOURCE, 0>(a);
    case MXV_GPU_MXFP6_E3M2:
        return quantise_with<MXV_GPU_MXFP6_E3M2, SOURCE, 0>(a);
    case MXV_GPU_MXFP4:
        return quantise_with<MXV_GPU_MXFP4, SOURCE, 0>(a);
    case MXV_GPU_MXINT8:
        return quantise_with<MXV_GPU_MXINT8, SOURCE, 0>(a);
    default:
        return a->q.order == MXV_GPU_NVFP4_EXACT
                   ? quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_NEAR>(a)
                   : quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_FACTOR>(a);
    }
}

int mxv_quantise_narrow(const struct quantise_args *a); // f16 and bf16 as they lie in memory
// f32 as it lies in memory, and rows with steps on their way; the latter takes everything.
int mxv_quantise_wide(const struct quantise_args *a, bool rows);

#endif
