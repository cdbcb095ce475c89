// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// tilemix: 16-bit and INT8 score routes into one softmax state (docs/kernels/tilemix.md) on the
// tile engine of attention.cuh. Route 0 is the 16-bit product, route 1 the exact INT8 one, scaled
// by the rounded product of the two row scales. A packed word says which: one bit per group of key
// tiles.
#include "attention.cuh"

template <int PV_UNIT> struct tilemix {
    typedef struct mxv_gpu_tilemix params;
    enum { UNIT = PV_UNIT, ROUTES = 2 };
    static constexpr bool LOG2 = false;

    static __host__ __device__ constexpr int unit(int route)
    {
        return route == 0 ? PV_UNIT : (int)MXV_UNIT_S8;
    }
    static __device__ __forceinline__ bool used(const params &, int)
    {
        return true;
    }
    static __device__ __forceinline__ int route(const params &p, const struct place &w, int j)
    {
        const int bit = j / p.group;
        const size_t word = ((size_t)w.kv_head * p.query_tiles + w.tile_index) * p.words_per_row +
                            bit / p.word_bits;
        const uint64_t bits = p.word_bits == 32 ? ((const uint32_t *)p.words)[word]
                                                : ((const uint64_t *)p.words)[word];
        const int from_low = bit % p.word_bits;
        const bool set = bits >> (p.msb_first ? p.word_bits - 1 - from_low : from_low) & 1;
        return set != p.one_is_int8 ? 0 : 1;
    }
    static __device__ __forceinline__ const uint8_t *query(const params &p, const struct place &w,
                                                           int route)
    {
        const size_t element = ((size_t)w.head * p.call.tokens_q + w.q_first) * p.call.d;
        return route == 0 ? (const uint8_t *)p.q + element * 2
                          : (const uint8_t *)p.q_int8 + element;
    }
    static __device__ __forceinline__ const uint8_t *keys(const params &p, const struct place &w,
                                                          int route)
    {
        const size_t element = ((size_t)w.kv_head * p.call.tokens_k + w.k_first) * p.call.d;
        return route == 0 ? (const uint8_t *)p.k + element * 2
                          : (const uint8_t *)p.k_int8 + element;
    }
    static __device__ __forceinline__ void scale(const params &p, const struct place &w, int route,
                                                 int j, int row, float (&s)[SCORE_TILES][4])
    {
        if (route == 0)
            return;
        const float *scale_q = p.q_scale + (size_t)w.head * p.call.tokens_q + w.q_first;
        const float *scale_k = p.k_scale + (size_t)w.kv_head * p.call.tokens_k + w.k_first;
        const float low = row < w.end ? scale_q[row] : 0,
                    high = row + 8 < w.end ? scale_q[row + 8] : 0;
#pragma unroll
        for (int t = 0; t < SCORE_TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = t * 8 + threadIdx.x % 4 * 2 + e,
                          key = j * p.call.tile_n + column;
                if (column < p.call.tile_n && key < w.lk) {
                    const float column_scale = scale_k[key];
                    s[t][e] = __fmul_rn(s[t][e], __fmul_rn(low, column_scale));
                    s[t][2 + e] = __fmul_rn(s[t][2 + e], __fmul_rn(high, column_scale));
                }
            }
    }
};

extern "C" int mxv_gpu_tilemix(const struct mxv_gpu_tilemix *p, bool trace)
{
    return p->call.v_type == MXV_GPU_F16 ? launch<tilemix<MXV_UNIT_F16>>(*p, trace)
                                         : launch<tilemix<MXV_UNIT_BF16>>(*p, trace);
}
