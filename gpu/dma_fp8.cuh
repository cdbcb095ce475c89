// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma with FP8 products for the portable engine on sm_90 (fp8_sm90.cuh): plan zones, whose third
// route is the core zone, a rebased low route, and V in E4M3, for every d and key tile. Which of
// them a call has is known when it runs; a low route that is not rebased has factors of one, by
// which a multiplication changes nothing. d = 64 and 128 with key tiles of 64 and 128 keys and
// without zones are the wgmma engine's (attention_sm90.cuh), with the same words.
#ifndef MXV_GPU_DMA_FP8_CUH
#define MXV_GPU_DMA_FP8_CUH

#include "dma.cuh"
#include "fp8_sm90.cuh"

template <int PV_UNIT> struct dma_fp8 : dma<PV_UNIT, true> {
    typedef struct dma<PV_UNIT, true> rebased;
    typedef typename rebased::params params;
    typedef typename rebased::row row;
    typedef typename rebased::tile tile;
    struct plan { // near: core where the call has zones
        typename rebased::plan high, near;
    };
    enum { HIGH, LOW, CORE };
    static constexpr bool FP8 = true;

    // Of the 16-bit copies, which lie in shared memory.
    static __host__ __device__ constexpr int unit(int)
    {
        return MXV_UNIT_BF16;
    }
    static __device__ __forceinline__ bool codes(const params &p, int route)
    {
        return route == CORE || (route == LOW && p.q_factor);
    }
    static __device__ __forceinline__ const void *query(const params &p, int route)
    {
        return codes(p, route) ? NULL : rebased::query(p, route);
    }
    static __device__ __forceinline__ const void *keys(const params &p, int route)
    {
        return route == CORE ? p.k_core : rebased::keys(p, route);
    }
    static __device__ __forceinline__ struct plan plan_of(const params &p, const struct place &w)
    {
        if (!p.zones)
            return {rebased::plan_of(p, w), {0, 0, 0}};
        const int32_t *width = p.zones + 2 * (size_t)w.sequence;
        return {rebased::plan_within(p, w, 0, width[1]),
                rebased::plan_within(p, w, p.sink, width[0])};
    }
    static __device__ __forceinline__ int route(const params &p, const struct plan &plan, int j)
    {
        return rebased::route(p, plan.near, j) == HIGH ? (int)CORE
                                                       : rebased::route(p, plan.high, j);
    }
    static __device__ __forceinline__ row row_of(const params &p, const struct place &w, int first)
    {
        const size_t at = (size_t)w.head * p.call.tokens_q + w.q_first + first;
        row r;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const bool exists = first + 8 * h < w.end;
            r.sigma[h] = p.q_sigma && exists ? p.q_sigma[at + 8 * h] : 0;
            r.factor[h] = p.q_factor && exists ? p.q_factor[at + 8 * h] : 1;
        }
        return r;
    }
    static __device__ __forceinline__ tile tile_of(const params &p, const struct place &w,
                                                   const struct plan &, int j)
    {
        const size_t first = (size_t)w.kv_head * p.call.tokens_k + w.k_first;
        return {p.k_factor ? p.k_factor[first + j * p.call.tile_n] : 1};
    }
    // Scores of the chunk of keys from `key` on, which lie at k; codes(p, route) holds.
    template <int D>
    static __device__ __forceinline__ void score_codes(const params &p, const struct place &w,
                                                       int route, int row, int key, uint32_t k,
                                                       float (*s)[4])
    {
        const size_t q_row = (size_t)w.head * p.call.tokens_q + w.q_first + row;
        const size_t k_row = (size_t)w.kv_head * p.call.tokens_k + w.k_first + key;
        const uint8_t *q = route == CORE ? p.q_core : (const uint8_t *)p.q_low;
        const bool there[2] = {row < w.end, row + 8 < w.end};
        const struct code_rows rows = {
            {there[0] ? q + q_row * D : NULL, there[1] ? q + (q_row + 8) * D : NULL}};
        if (route != CORE) {
            score_chunk_codes<MXV_UNIT_E5M2, D>(s, rows, k);
            return;
        }
        const float *const scales[2] = {there[0] ? p.q_core_scale + q_row * (D / 32) : NULL,
                                        there[1] ? p.q_core_scale + (q_row + 8) * (D / 32) : NULL};
        score_chunk_core<D>(s, rows, scales, k, p.k_core_scale + k_row * (D / 32), w.lk - key);
    }
};

#endif
