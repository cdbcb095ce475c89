// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma: diagonal-tiled mixed-precision MXFP attention (docs/kernels/dma.md) on the tile engine of
// attention.cuh. Two routes, 0 high and 1 low, each with its block-quantised operands, decoded
// beforehand to bf16 (quantise.cu): exact for MXFP8 and MXFP4 in range, one rounding otherwise,
// as the contract's row for units without block scaling says. Scores are in log2 units; the second
// level is applied to the row first, then to the column.
#include "attention.cuh"

template <int PV_UNIT> struct dma {
    typedef struct mxv_gpu_dma params;
    enum { UNIT = PV_UNIT, ROUTES = 2 };
    static constexpr bool LOG2 = true;

    static __host__ __device__ constexpr int unit(int)
    {
        return MXV_UNIT_BF16;
    }
    static __device__ __forceinline__ bool used(const params &p, int route)
    {
        return route == 0 ? p.q_high != NULL : p.q_low != NULL;
    }
    static __device__ __forceinline__ int route(const params &p, const struct place &w, int j)
    {
        if (p.all_high || p.all_low)
            return p.all_low;
        const int width =
            p.diag_tiles ? (int)p.diag_tiles[w.head * p.query_tiles + w.tile_index] : p.diag;
        return j < p.sink || tile_distance(p.call, w, j) < width ? 0 : 1;
    }
    static __device__ __forceinline__ const uint8_t *query(const params &p, const struct place &w,
                                                           int route)
    {
        return (const uint8_t *)(route == 0 ? p.q_high : p.q_low) +
               ((size_t)w.head * p.call.tokens_q + w.q_first) * p.call.d * 2;
    }
    static __device__ __forceinline__ const uint8_t *keys(const params &p, const struct place &w,
                                                          int route)
    {
        return (const uint8_t *)(route == 0 ? p.k_high : p.k_low) +
               ((size_t)w.kv_head * p.call.tokens_k + w.k_first) * p.call.d * 2;
    }
    static __device__ __forceinline__ void scale(const params &p, const struct place &w, int, int j,
                                                 int row, float (&s)[SCORE_TILES][4])
    {
        if (!p.q_sigma)
            return;
        const float *sigma_q = p.q_sigma + (size_t)w.head * p.call.tokens_q + w.q_first;
        const float *sigma_k = p.k_sigma + (size_t)w.kv_head * p.call.tokens_k + w.k_first;
        const float low = row < w.end ? sigma_q[row] : 0,
                    high = row + 8 < w.end ? sigma_q[row + 8] : 0;
#pragma unroll
        for (int t = 0; t < SCORE_TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = t * 8 + threadIdx.x % 4 * 2 + e,
                          key = j * p.call.tile_n + column;
                if (column < p.call.tile_n && key < w.lk) {
                    const float column_sigma = sigma_k[key];
                    s[t][e] = __fmul_rn(__fmul_rn(s[t][e], low), column_sigma);
                    s[t][2 + e] = __fmul_rn(__fmul_rn(s[t][2 + e], high), column_sigma);
                }
            }
    }
};

extern "C" int mxv_gpu_dma(const struct mxv_gpu_dma *p, bool trace)
{
    return p->call.v_type == MXV_GPU_F16 ? launch<dma<MXV_UNIT_F16>>(*p, trace)
                                         : launch<dma<MXV_UNIT_BF16>>(*p, trace);
}
