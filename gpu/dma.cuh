// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma: diagonal-tiled mixed-precision MXFP attention (docs/kernels/dma.md) as the engines
// attention.cuh and attention_sm90.cuh take it. Two routes, 0 high and 1 low, each with its
// block-quantised operands, decoded beforehand to bf16 (quantise.cu): exact for MXFP8 and MXFP4 in
// range, one rounding otherwise, as the contract's row for units without block scaling says. Scores
// are in log2 units; the second level is applied to the row first, then to the column.
#ifndef MXV_GPU_DMA_CUH
#define MXV_GPU_DMA_CUH

#include "tile.cuh"

template <int PV_UNIT> struct dma {
    typedef struct mxv_gpu_dma params;
    struct plan { // high: j < sink, or first - width < j < last + width
        int sink, begin, end;
    };
    struct row { // second level of a thread's rows
        float low, high;
    };
    struct tile {
    };
    enum { UNIT = PV_UNIT, ROUTES = 2 };
    static constexpr bool LOG2 = true;

    static __host__ __device__ constexpr int unit(int)
    {
        return MXV_UNIT_BF16;
    }
    static __host__ __device__ __forceinline__ const void *query(const params &p, int route)
    {
        return route == 0 ? p.q_high : p.q_low;
    }
    static __host__ __device__ __forceinline__ const void *keys(const params &p, int route)
    {
        return route == 0 ? p.k_high : p.k_low;
    }
    // Distances and widths saturate: no sum of two of them overflows.
    static __device__ __forceinline__ struct plan plan_of(const params &p, const struct place &w)
    {
        if (p.all_high)
            return {INT32_MAX, 0, 0};
        if (p.all_low)
            return {0, 0, 0};
        const int width = min(
            p.diag_tiles ? (int)min(p.diag_tiles[w.head * p.query_tiles + w.tile_index], 1u << 30)
                         : p.diag,
            1 << 30);
        if (width < 1)
            return {p.sink, 0, 0};
        const int first = floor_divide(w.tile_begin + w.diagonal, p.call.tile_n);
        const int last = floor_divide(w.tile_end - 1 + w.diagonal, p.call.tile_n);
        return {p.sink, max(first, -(1 << 30)) - (width - 1), min(last, 1 << 30) + (width - 1) + 1};
    }
    static __device__ __forceinline__ int route(const params &, const struct plan &plan, int j)
    {
        return j < plan.sink || (j >= plan.begin && j < plan.end) ? 0 : 1;
    }
    static __device__ __forceinline__ struct row row_of(const params &p, const struct place &w,
                                                        int row)
    {
        const float *sigma = p.q_sigma + (size_t)w.head * p.call.tokens_q + w.q_first;
        return {p.q_sigma && row < w.end ? sigma[row] : 0,
                p.q_sigma && row + 8 < w.end ? sigma[row + 8] : 0};
    }
    static __device__ __forceinline__ struct tile tile_of(const params &, const struct place &, int,
                                                          int)
    {
        return {};
    }
    template <int TILES>
    static __device__ __forceinline__ void scale(const params &p, const struct place &w, int, int j,
                                                 const struct row &row, const struct tile &,
                                                 float (&s)[TILES][4])
    {
        if (!p.q_sigma)
            return;
        const float *sigma_k = p.k_sigma + (size_t)w.kv_head * p.call.tokens_k + w.k_first;
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = t * 8 + threadIdx.x % 4 * 2 + e,
                          key = j * p.call.tile_n + column;
                if (column < p.call.tile_n && key < w.lk) {
                    const float column_sigma = sigma_k[key];
                    s[t][e] = __fmul_rn(__fmul_rn(s[t][e], row.low), column_sigma);
                    s[t][2 + e] = __fmul_rn(__fmul_rn(s[t][2 + e], row.high), column_sigma);
                }
            }
    }
};

#endif
