// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// tilemix: 16-bit and INT8 score routes into one softmax state (docs/kernels/tilemix.md) as the
// engines attention.cuh and attention_sm90.cuh take it. Route 0 is the 16-bit product, route 1 the
// exact INT8 one, scaled by the rounded product of the two row scales; with fold=1 that product
// times c multiplies the integer in the exponent, and the score itself is made for maxima alone. A
// packed word says which route: one bit per group of key tiles.
#ifndef MXV_GPU_TILEMIX_CUH
#define MXV_GPU_TILEMIX_CUH

#include "softmax.cuh"
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
        float scale[2];
    };
    struct tile { // word of the plan; scale of the keys, where they share one
        uint32_t word;
        float scale;
    };
    enum { UNIT = PV_UNIT, ROUTES = 2 };
    static constexpr bool LOG2 = false, FOLDS = true, FP8 = false;

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
    static __device__ __forceinline__ uint32_t bit_of(const struct plan &plan, int j)
    {
        return (uint32_t)(j >> plan.group_shift) ^ plan.flip;
    }
    static __device__ __forceinline__ int route_of(const params &, const struct plan &plan,
                                                   const struct tile &tile, int j)
    {
        return (tile.word >> bit_of(plan, j) % 32 & 1) == plan.int8_bit ? 1 : 0;
    }
    static __device__ __forceinline__ int route(const params &p, const struct plan &plan, int j)
    {
        return route_of(p, plan, {plan.words[bit_of(plan, j) / 32], 0}, j);
    }
    static __device__ __forceinline__ struct row row_of(const params &p, const struct place &w,
                                                        int row)
    {
        const float *scale = p.q_scale + (size_t)w.head * p.call.tokens_q + w.q_first;
        return {{row < w.end ? scale[row] : 0, row + 8 < w.end ? scale[row + 8] : 0}};
    }
    static __device__ __forceinline__ const float *key_scales(const params &p,
                                                              const struct place &w)
    {
        return p.k_scale + (size_t)w.kv_head * p.call.tokens_k + w.k_first;
    }
    static __device__ __forceinline__ struct tile tile_of(const params &p, const struct place &w,
                                                          const struct plan &plan, int j)
    {
        return {plan.words[bit_of(plan, j) / 32], key_scales(p, w)[j * p.call.tile_n]};
    }
    static __device__ __forceinline__ bool folds(const params &p, int route)
    {
        return p.fold && route == 1;
    }
    static bool needs_options(const params &p)
    {
        return p.fold && (!p.k_scale_per_tile || p.call.finite);
    }
    static __device__ __forceinline__ bool raw_row(const struct row &)
    {
        return true;
    }
    static __device__ __forceinline__ bool raw(const params &p, int route, bool,
                                               const struct tile &)
    {
        return (route == 0) | p.k_scale_per_tile;
    }
    static __device__ __forceinline__ struct word_use
    use_of(const params &p, int route, const struct row &row, const struct tile &tile)
    {
        const float by[2] = {route == 0 ? 1 : __fmul_rn(row.scale[0], tile.scale),
                             route == 0 ? 1 : __fmul_rn(row.scale[1], tile.scale)};
        const float c = p.call.c;
        return {{by[0], by[1]},
                {p.fold ? __fmul_rn(by[0], c) : c, p.fold ? __fmul_rn(by[1], c) : c}};
    }
    // Scale of a key of the sequence; 0 where there is none.
    static __device__ __forceinline__ float key_scale(const params &p, const struct place &w, int j,
                                                      const struct tile &tile, int column)
    {
        const int key = j * p.call.tile_n + column;
        if (column >= p.call.tile_n || key >= w.lk)
            return 0;
        return p.k_scale_per_tile ? tile.scale : key_scales(p, w)[key];
    }
    // Integers become scores; s: from column `first` of the tile on.
    template <int TILES>
    static __device__ __forceinline__ void
    scale(const params &p, const struct place &w, int route, int j, const struct row &row,
          const struct tile &tile, float (&s)[TILES][4], int first = 0)
    {
        if (route == 0)
            return;
        if (p.k_scale_per_tile) {
            const float by[2] = {__fmul_rn(row.scale[0], tile.scale),
                                 __fmul_rn(row.scale[1], tile.scale)};
#pragma unroll
            for (int t = 0; t < TILES; t++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    s[t][e] = __fmul_rn(word_value<true>(s[t][e]), by[e / 2]);
            return;
        }
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const float by = key_scale(p, w, j, tile, first + t * 8 + threadIdx.x % 4 * 2 + e);
#pragma unroll
                for (int h = 0; h < 2; h++)
                    s[t][2 * h + e] =
                        __fmul_rn(word_value<true>(s[t][2 * h + e]), __fmul_rn(row.scale[h], by));
            }
    }
    // Exponents of weights (contract 5, fold=1) of an INT8 tile, from its integers; s: its scores.
    template <int TILES>
    static __device__ __forceinline__ void
    fold_exponents(const params &p, const struct place &w, int j, int first_row,
                   const struct row &row, const struct tile &tile, const float (&shift)[2],
                   const float (&integers)[TILES][4], float (&s)[TILES][4])
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const struct key_range seen = visible_keys(p.call, w, first_row + 8 * h);
            for_tiles<TILES>([&](int t) {
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int column = t * 8 + threadIdx.x % 4 * 2 + e,
                              key = j * p.call.tile_n + column;
                    const float by = __fmul_rn(
                        __fmul_rn(row.scale[h], key_scale(p, w, j, tile, column)), p.call.c);
                    float &x = s[t][2 * h + e];
                    x = key >= seen.begin && key < seen.end
                            ? __fmaf_rn(word_value<true>(integers[t][2 * h + e]), by, -shift[h])
                            : __fmaf_rn(x, p.call.c, -shift[h]);
                }
            });
        }
    }
};

#endif
