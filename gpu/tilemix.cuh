// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// tilemix: 16-bit and INT8 score routes into one softmax state (docs/kernels/tilemix.md) as the
// engines attention.cuh and attention_sm90.cuh take it. Route 0 is the 16-bit product, route 1 the
// exact INT8 one, scaled by the rounded product of the two row scales. A packed word says which:
// one bit per group of key tiles.
#ifndef MXV_GPU_TILEMIX_CUH
#define MXV_GPU_TILEMIX_CUH

#include "tile.cuh"

template <int PV_UNIT> struct tilemix {
    typedef struct mxv_gpu_tilemix params;
    struct plan {
        const uint32_t *words; // of the query tile; words of 64 bits: low half first
        int group_shift;
        uint32_t flip; // bits of a bit's number in its word, for bits counted from the other end
        bool int8_bit;
    };
    struct row { // scales of a thread's rows
        float low, high;
    };
    struct tile { // scale of the keys, where they share one
        float scale;
    };
    enum { UNIT = PV_UNIT, ROUTES = 2 };
    static constexpr bool LOG2 = false;

    static __host__ __device__ constexpr int unit(int route)
    {
        return route == 0 ? PV_UNIT : (int)MXV_UNIT_S8;
    }
    static __host__ __device__ __forceinline__ const void *query(const params &p, int route)
    {
        return route == 0 ? p.q : p.q_int8;
    }
    static __host__ __device__ __forceinline__ const void *keys(const params &p, int route)
    {
        return route == 0 ? p.k : p.k_int8;
    }
    static __device__ __forceinline__ struct plan plan_of(const params &p, const struct place &w)
    {
        const size_t row = (size_t)w.kv_head * p.query_tiles + w.tile_index;
        return {(const uint32_t *)p.words + row * p.words_per_row * (p.word_bits / 32),
                __ffs(p.group) - 1, p.msb_first ? (uint32_t)p.word_bits - 1 : 0, p.one_is_int8};
    }
    static __device__ __forceinline__ int route(const params &, const struct plan &plan, int j)
    {
        const uint32_t bit = (uint32_t)(j >> plan.group_shift) ^ plan.flip;
        return (plan.words[bit / 32] >> bit % 32 & 1) == plan.int8_bit ? 1 : 0;
    }
    static __device__ __forceinline__ struct row row_of(const params &p, const struct place &w,
                                                        int row)
    {
        const float *scale = p.q_scale + (size_t)w.head * p.call.tokens_q + w.q_first;
        return {row < w.end ? scale[row] : 0, row + 8 < w.end ? scale[row + 8] : 0};
    }
    static __device__ __forceinline__ const float *key_scales(const params &p,
                                                              const struct place &w)
    {
        return p.k_scale + (size_t)w.kv_head * p.call.tokens_k + w.k_first;
    }
    static __device__ __forceinline__ struct tile tile_of(const params &p, const struct place &w,
                                                          int, int j)
    {
        return {p.k_scale_per_tile ? key_scales(p, w)[j * p.call.tile_n] : 0};
    }
    template <int TILES>
    static __device__ __forceinline__ void scale(const params &p, const struct place &w, int route,
                                                 int j, const struct row &row,
                                                 const struct tile &tile, float (&s)[TILES][4])
    {
        if (route == 0)
            return;
        const float *scale_k = key_scales(p, w);
        if (p.k_scale_per_tile) {
            const float by[2] = {__fmul_rn(row.low, tile.scale), __fmul_rn(row.high, tile.scale)};
#pragma unroll
            for (int t = 0; t < TILES; t++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    s[t][e] = __fmul_rn(s[t][e], by[e / 2]);
            return;
        }
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = t * 8 + threadIdx.x % 4 * 2 + e,
                          key = j * p.call.tile_n + column;
                if (column < p.call.tile_n && key < w.lk) {
                    const float column_scale = scale_k[key];
                    s[t][e] = __fmul_rn(s[t][e], __fmul_rn(row.low, column_scale));
                    s[t][2 + e] = __fmul_rn(s[t][2 + e], __fmul_rn(row.high, column_scale));
                }
            }
    }
};

#endif
