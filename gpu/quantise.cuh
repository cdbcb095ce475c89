// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The block quantiser kernel, one template for all formats and sources (operands.h), and how it is
// launched. Who has which values: quantise_lanes.cuh; arithmetic: quantise_code.cuh.
#ifndef MXV_GPU_QUANTISE_CUH
#define MXV_GPU_QUANTISE_CUH

#include "quantise_lanes.cuh"

template <int STEPS> static constexpr bool HAS_FACTOR = STEPS == TIMES_FACTOR || STEPS == ANY_STEPS;

// The largest magnitude of a block from what its chunks gave. Rounding is monotone, so the factor
// may come after the maximum.
template <int SOURCE, int STEPS>
static __device__ __forceinline__ uint32_t block_amax(const struct quantise_args &a, uint32_t m)
{
    const uint32_t word = amax_word<SOURCE>(maximum_of<SOURCE>(m));
    return HAS_FACTOR<STEPS> ? __float_as_uint(__fmul_rn(__uint_as_float(word), a.factor)) : word;
}

template <int FORMAT, int SOURCE, int STEPS, int CHUNKS, bool FULL>
static __device__ __forceinline__ void mx_tile(const struct quantise_args &a, struct span<FULL> s,
                                               const chunk<SOURCE> c[CHUNKS],
                                               const uint32_t m[CHUNKS])
{
    using own = owner<4, CHUNKS>;
    const uint32_t fill = a.q.nan_is_zero ? 0 : nan_code(FORMAT);
    uint32_t amax[CHUNKS];
    group_maxima<SOURCE, 4, CHUNKS>(m, s.lane, amax);
    const uint32_t mine = scale_code(a.q.rule, element_of(FORMAT),
                                     block_amax<SOURCE, STEPS>(a, amax[0]), a.q.inf_is_nan);
    const size_t block = own::block(s.first, s.lane, 0);
    if ((FULL || block < a.blocks) && (CHUNKS > 1 || s.lane % 4 == 0))
        a.scales[scale_offset(a, (uint32_t)block)] = (uint8_t)mine;
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const uint32_t code = __shfl_sync(~0u, mine, own::lane_of(s.lane, u));
        uint2 bytes;
        if constexpr (HAS_FACTOR<STEPS>)
            bytes = mx_codes_times<FORMAT, SOURCE>(c[u], code, a.factor);
        else
            bytes = mx_codes<FORMAT, SOURCE>(c[u], min((int)code - 127, 127));
        if (code == 0xFF)
            bytes = make_uint2(fill, fill);
        store_codes<FORMAT>(a, s, u, bytes);
    }
}

// Codes of a warp's chunks once more, by the order's own steps, and those of blocks with NaN.
// Values are read again: this is rare, and registers are not kept for it.
template <int SOURCE, int HOW, int STEPS, int CHUNKS, bool FULL>
static __device__ __forceinline__ void
nvfp4_again(const struct quantise_args &a, struct span<FULL> s,
            const struct nvfp4_scale mine[owner<2, CHUNKS>::COUNT])
{
    const uint32_t fill = a.q.nan_is_zero ? 0 : nan_code(MXV_GPU_NVFP4);
    chunk<SOURCE> c[CHUNKS];
    if (HOW != NVFP4_NEAR)
        load_chunks<SOURCE, STEPS, CHUNKS>(a, s, c);
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const uint32_t byte =
            __shfl_sync(~0u, mine[u / 2].byte, owner<2, CHUNKS>::lane_of(s.lane, u));
        uint2 bytes = make_uint2(fill, fill);
        if constexpr (HOW == NVFP4_NEAR) {
            if (byte == 0x7F)
                store_codes<MXV_GPU_NVFP4>(a, s, u, bytes);
        } else {
            const float factor = byte >= ZERO_BLOCK ? 1.0f : load_entry(a.table, byte).factor;
            const float g = a.table->tensor.g;
            float x[CHUNK];
            widen<SOURCE>(c[u], x);
#pragma unroll
            for (int i = 0; i < CHUNK; i++)
                x[i] = HAS_FACTOR<STEPS> ? __fmul_rn(x[i], a.factor) : x[i];
            if (factor == factor)
                bytes = make_uint2(
                    codes_by_steps(a.q.order, make_float4(x[0], x[1], x[2], x[3]), factor, g),
                    codes_by_steps(a.q.order, make_float4(x[4], x[5], x[6], x[7]), factor, g));
            store_codes<MXV_GPU_NVFP4>(a, s, u, bytes);
        }
    }
}

template <int SOURCE, int HOW, int STEPS, int CHUNKS, bool FULL>
static __device__ __forceinline__ void
nvfp4_tile(const struct quantise_args &a, struct span<FULL> s, const struct nvfp4_tensor &tensor,
           const chunk<SOURCE> c[CHUNKS], const uint32_t m[CHUNKS])
{
    using own = owner<2, CHUNKS>;
    uint32_t amax[CHUNKS];
    struct nvfp4_scale mine[own::COUNT], theirs[CHUNKS] = {};
    bool sure = true;
    group_maxima<SOURCE, 2, CHUNKS>(m, s.lane, amax);
#pragma unroll
    for (int i = 0; i < own::COUNT; i++)
        amax[i] = block_amax<SOURCE, STEPS>(a, amax[i]);
    if constexpr (HOW == NVFP4_NEAR) {
#pragma unroll
        for (int i = 0; i < own::COUNT; i++)
            mine[i] = near_scale(amax[i]);
    } else {
        nvfp4_scales<own::COUNT>(a.q.order, a.table, tensor, amax, mine);
    }
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const int from = own::lane_of(s.lane, u);
        theirs[u].multiplier = __shfl_sync(~0u, mine[u / 2].multiplier, from);
        if (HOW == NVFP4_NEAR || HOW == NVFP4_DIVISOR)
            theirs[u].factor = __shfl_sync(~0u, mine[u / 2].factor, from);
    }
#pragma unroll
    for (int i = 0; i < own::COUNT; i++) {
        const size_t block = own::block(s.first, s.lane, i);
        if ((FULL || block < a.blocks) && (CHUNKS > 1 || s.lane % 2 == 0))
            a.scales[scale_offset(a, (uint32_t)block)] = (uint8_t)mine[i].byte;
    }
#pragma unroll
    for (int u = 0; u < CHUNKS; u++)
        store_codes<MXV_GPU_NVFP4>(
            a, s, u, nvfp4_codes<HOW, SOURCE, HAS_FACTOR<STEPS>>(c[u], theirs[u], a.factor, &sure));
    if (__any_sync(~0u, !sure))
        nvfp4_again<SOURCE, HOW, STEPS, CHUNKS>(a, s, mine);
}

// Chunks of a warp: one where each value takes many steps, else four.
template <int SOURCE> static constexpr int CHUNKS_OF = SOURCE == SOURCE_ROWS ? 1 : 4;
// Blocks of a multiprocessor: as many as registers allow without spilling.
template <int FORMAT, int SOURCE, int HOW, int STEPS> static constexpr int blocks_of()
{
    constexpr bool TABLE = FORMAT == MXV_GPU_NVFP4 && HOW != NVFP4_NEAR;
    if (chunk<SOURCE>::WIDE)
        return TABLE ? 3 : 4;
    return TABLE || STEPS == LESS_MEAN ? 4 : 5;
}

template <int FORMAT, int SOURCE, int HOW, int STEPS, bool FULL>
static __device__ __forceinline__ void quantise_tile(const struct quantise_args &a,
                                                     struct span<FULL> s)
{
    constexpr int CHUNKS = CHUNKS_OF<SOURCE>;
    struct nvfp4_tensor tensor = {};
    chunk<SOURCE> c[CHUNKS];
    uint32_t m[CHUNKS];
    if constexpr (FORMAT == MXV_GPU_NVFP4 && HOW != NVFP4_NEAR)
        tensor = a.table->tensor;
    load_chunks<SOURCE, STEPS, CHUNKS>(a, s, c);
#pragma unroll
    for (int u = 0; u < CHUNKS; u++)
        m[u] = chunk_maxima<SOURCE>(c[u]);
    if constexpr (FORMAT == MXV_GPU_NVFP4)
        nvfp4_tile<SOURCE, HOW, STEPS, CHUNKS>(a, s, tensor, c, m);
    else
        mx_tile<FORMAT, SOURCE, STEPS, CHUNKS>(a, s, c, m);
}

template <int FORMAT, int SOURCE, int HOW, int STEPS>
static __global__ void __launch_bounds__(QUANTISE_THREADS, blocks_of<FORMAT, SOURCE, HOW, STEPS>())
    quantise_tiles(const __grid_constant__ struct quantise_args a)
{
    constexpr size_t TILE = (size_t)CHUNKS_OF<SOURCE> * CHUNK * 32;
    const size_t first = ((size_t)blockIdx.x * (QUANTISE_THREADS / 32) + threadIdx.x / 32) * TILE;
    const unsigned lane = threadIdx.x % 32;
    if (first >= a.values)
        return;
    const uint32_t left = (uint32_t)min(a.values - first, TILE);
    if (SOURCE != SOURCE_ROWS && left == TILE)
        quantise_tile<FORMAT, SOURCE, HOW, STEPS>(a,
                                                  span<SOURCE != SOURCE_ROWS>{first, left, lane});
    else
        quantise_tile<FORMAT, SOURCE, HOW, STEPS>(a, span<false>{first, left, lane});
}

template <int FORMAT, int SOURCE, int HOW, int STEPS>
static int quantise_with(const struct quantise_args *a)
{
    const size_t per_block = (size_t)CHUNKS_OF<SOURCE> * CHUNK * QUANTISE_THREADS;
    const unsigned grid = (unsigned)((a->values + per_block - 1) / per_block);
    quantise_tiles<FORMAT, SOURCE, HOW, STEPS><<<grid, QUANTISE_THREADS>>>(*a);
    return (int)cudaGetLastError();
}

template <int SOURCE, int STEPS> static int quantise_nvfp4(const struct quantise_args *a)
{
    constexpr bool WIDE = chunk<SOURCE>::WIDE;
    if (a->how == NVFP4_FACTOR)
        return quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_FACTOR, STEPS>(a);
    if constexpr (WIDE || !HAS_FACTOR<STEPS>)
        if (a->how == NVFP4_NEAR)
            return quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_NEAR, STEPS>(a);
    if constexpr (!WIDE)
        return quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_CHECKED, STEPS>(a);
    else
        return a->how == NVFP4_TENSOR
                   ? quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_TENSOR, STEPS>(a)
                   : quantise_with<MXV_GPU_NVFP4, SOURCE, NVFP4_DIVISOR, STEPS>(a);
}

// All formats of one source.
template <int SOURCE, int STEPS> static int quantise_from(const struct quantise_args *a)
{
    switch (a->q.format) {
    case MXV_GPU_MXFP8_E4M3:
        return quantise_with<MXV_GPU_MXFP8_E4M3, SOURCE, 0, STEPS>(a);
    case MXV_GPU_MXFP8_E5M2:
        return quantise_with<MXV_GPU_MXFP8_E5M2, SOURCE, 0, STEPS>(a);
    case MXV_GPU_MXFP6_E2M3:
        return quantise_with<MXV_GPU_MXFP6_E2M3, SOURCE, 0, STEPS>(a);
    case MXV_GPU_MXFP6_E3M2:
        return quantise_with<MXV_GPU_MXFP6_E3M2, SOURCE, 0, STEPS>(a);
    case MXV_GPU_MXFP4:
        return quantise_with<MXV_GPU_MXFP4, SOURCE, 0, STEPS>(a);
    case MXV_GPU_MXINT8:
        return quantise_with<MXV_GPU_MXINT8, SOURCE, 0, STEPS>(a);
    default:
        return quantise_nvfp4<SOURCE, STEPS>(a);
    }
}

// f16 and bf16 as they lie in memory, or with one of the two steps.
int mxv_quantise_narrow(const struct quantise_args *a, enum steps steps);
// f32 with or without them, and rows with any steps.
int mxv_quantise_wide(const struct quantise_args *a, bool rows);

#endif
