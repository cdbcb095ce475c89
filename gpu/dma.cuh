// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma: diagonal-tiled mixed-precision MXFP attention (docs/kernels/dma.md) as the engines
// attention.cuh and attention_sm90.cuh take it. Two routes, 0 high and 1 low, each with its
// block-quantised operands, decoded beforehand to bf16 (quantise.cu): exact for MXFP8 and MXFP4 in
// range, one rounding otherwise, as the contract's row for units without block scaling says. Scores
// are in log2 units; the second level is applied to the row first, then to the column.
//
// REBASED: low operands are E5M2 codes under one power of two for each row of Q and each key tile
// (prepare.cuh), multiplied by FP8 wgmma. A score is the accumulator times both powers. Both being
// in [2^-50, 2^40], every product of theirs with an accumulator is exact (a multiple of 2^-32
// below 2^39), and so is the sum of exponents fma(accumulator, product, -shift): tiles like that
// need no multiplication of their scores.
#ifndef MXV_GPU_DMA_CUH
#define MXV_GPU_DMA_CUH

#include "softmax.cuh"
#include "tile.cuh"

template <int PV_UNIT, bool REBASED = false> struct dma {
    typedef struct mxv_gpu_dma params;
    struct plan { // high: j < sink, or first - width < j < last + width
        int sink, begin, end;
    };
    struct row { // second level and power of two of a thread's rows
        float sigma[2], factor[2];
    };
    struct tile { // power of two of the keys, for the low route
        float factor;
    };
    enum { UNIT = PV_UNIT, ROUTES = 2 };
    static constexpr bool LOG2 = true, FOLDS = false, FP8 = false;

    static __host__ __device__ constexpr int unit(int route)
    {
        return REBASED && route == 1 ? (int)MXV_UNIT_E5M2 : (int)MXV_UNIT_BF16;
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
        return plan_within(p, w, p.sink, width);
    }
    static __device__ __forceinline__ struct plan
    plan_within(const params &p, const struct place &w, int sink, int width)
    {
        if (width < 1)
            return {sink, 0, 0};
        const int first = floor_divide(w.tile_begin + w.diagonal, p.call.tile_n);
        const int last = floor_divide(w.tile_end - 1 + w.diagonal, p.call.tile_n);
        return {sink, max(first, -(1 << 30)) - (width - 1), min(last, 1 << 30) + (width - 1) + 1};
    }
    static __device__ __forceinline__ int route(const params &, const struct plan &plan, int j)
    {
        return (j < plan.sink) | ((j >= plan.begin) & (j < plan.end)) ? 0 : 1;
    }
    static __device__ __forceinline__ struct row row_of(const params &p, const struct place &w,
                                                        int row)
    {
        const size_t first = (size_t)w.head * p.call.tokens_q + w.q_first;
        struct row r;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const bool exists = row + 8 * h < w.end;
            r.sigma[h] = p.q_sigma && exists ? p.q_sigma[first + row + 8 * h] : 0;
            r.factor[h] = REBASED && exists ? p.q_factor[first + row + 8 * h] : 1;
        }
        return r;
    }
    static __device__ __forceinline__ struct tile tile_of(const params &p, const struct place &w,
                                                          const struct plan &, int j)
    {
        return {
            REBASED
                ? p.k_factor[(size_t)w.kv_head * p.call.tokens_k + w.k_first + j * p.call.tile_n]
                : 1};
    }
    static __device__ __forceinline__ int route_of(const params &p, const struct plan &plan,
                                                   const struct tile &, int j)
    {
        return route(p, plan, j);
    }
    static __device__ __forceinline__ bool folds(const params &, int)
    {
        return false;
    }
    static bool needs_options(const params &)
    {
        return false;
    }
    static __device__ __forceinline__ bool exact(float factor)
    {
        return (factor >= 0x1p-50f) & (factor <= 0x1p40f);
    }
    static __device__ __forceinline__ bool raw_row(const struct row &row)
    {
        return exact(row.factor[0]) && exact(row.factor[1]);
    }
    // Whether the scores of a warp may stay accumulators; rows: raw_row of them all.
    static __device__ __forceinline__ bool raw(const params &p, int route, bool rows,
                                               const struct tile &tile)
    {
        return !p.q_sigma & (!REBASED | (route == 0) | (rows & exact(tile.factor)));
    }
    static __device__ __forceinline__ struct word_use
    use_of(const params &, int route, const struct row &row, const struct tile &tile)
    {
        const bool scaled = REBASED && route == 1;
        const float f[2] = {scaled ? __fmul_rn(row.factor[0], tile.factor) : 1,
                            scaled ? __fmul_rn(row.factor[1], tile.factor) : 1};
        return {{f[0], f[1]}, {f[0], f[1]}};
    }
    template <int TILES>
    static __device__ __forceinline__ void
    scale(const params &p, const struct place &w, int route, int j, const struct row &row,
          const struct tile &tile, float (&s)[TILES][4], int first = 0)
    {
        if (REBASED && route == 1) {
#pragma unroll
            for (int t = 0; t < TILES; t++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    s[t][e] = __fmul_rn(__fmul_rn(s[t][e], row.factor[e / 2]), tile.factor);
        }
        if (!p.q_sigma)
            return;
        const float *sigma_k = p.k_sigma + (size_t)w.kv_head * p.call.tokens_k + w.k_first;
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = first + t * 8 + threadIdx.x % 4 * 2 + e,
                          key = j * p.call.tile_n + column;
                if (column < p.call.tile_n && key < w.lk) {
                    const float column_sigma = sigma_k[key];
                    s[t][e] = __fmul_rn(__fmul_rn(s[t][e], row.sigma[0]), column_sigma);
                    s[t][2 + e] = __fmul_rn(__fmul_rn(s[t][2 + e], row.sigma[1]), column_sigma);
                }
            }
    }
};

#endif
