// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// flash: FP16/BF16 attention (docs/kernels/flash.md) on the tile engine of attention.cuh. One
// route: q and k in the type of V; scores are raw, the exponent's argument is one fma.
#include "attention.cuh"

template <int PV_UNIT> struct flash {
    typedef struct mxv_gpu_flash params;
    enum { UNIT = PV_UNIT, ROUTES = 1 };
    static constexpr bool LOG2 = false;

    static __host__ __device__ constexpr int unit(int)
    {
        return PV_UNIT;
    }
    static __device__ __forceinline__ bool used(const params &, int)
    {
        return true;
    }
    static __device__ __forceinline__ int route(const params &, const struct place &, int)
    {
        return 0;
    }
    static __device__ __forceinline__ const uint8_t *query(const params &p, const struct place &w,
                                                           int)
    {
        return (const uint8_t *)p.q + ((size_t)w.head * p.call.tokens_q + w.q_first) * p.call.d * 2;
    }
    static __device__ __forceinline__ const uint8_t *keys(const params &p, const struct place &w,
                                                          int)
    {
        return (const uint8_t *)p.k +
               ((size_t)w.kv_head * p.call.tokens_k + w.k_first) * p.call.d * 2;
    }
    static __device__ __forceinline__ void scale(const params &, const struct place &, int, int,
                                                 int, float (&)[SCORE_TILES][4])
    {
    }
};

extern "C" int mxv_gpu_flash(const struct mxv_gpu_flash *p, bool trace)
{
    return p->call.v_type == MXV_GPU_F16 ? launch<flash<MXV_UNIT_F16>>(*p, trace)
                                         : launch<flash<MXV_UNIT_BF16>>(*p, trace);
}
