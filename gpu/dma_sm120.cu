// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma with the block-scaled units of sm_120a for its scores (docs/kernels/dma.md 3, row sm_120):
// MXFP8 E4M3 high, MXFP4 or NVFP4 low, V in f16, d = 64 or 128. Operands are the codes and scales
// of the block quantisers, undecoded. Everything else is the portable engine. Compiled, never run.
#include "attention.cuh"
#include "dma.cuh"

struct dma_block_params : mxv_gpu_dma { // its operands are codes
    const uint8_t *q_scales[2], *k_scales[2];
};

template <int LOW_UNIT> struct dma_blocks : dma<MXV_UNIT_F16> {
    typedef struct dma_block_params params;

    static __host__ __device__ constexpr int unit(int route)
    {
        return route == 0 ? (int)MXV_UNIT_MXF8 : LOW_UNIT;
    }
    static __device__ __forceinline__ struct block_rows
    block_rows_of(const params &p, const struct place &w, int route, int row, int key)
    {
        const int bytes = block_row_scales(unit(route), p.call.d);
        const int first = row - (int)(threadIdx.x % 32 / 4);
        const size_t q = (size_t)w.head * p.call.tokens_q + w.q_first + first;
        const size_t k = (size_t)w.kv_head * p.call.tokens_k + w.k_first + key;
        return {p.q_scales[route] + q * bytes, p.k_scales[route] + k * bytes, w.end - first,
                w.lk - key};
    }
};

template <int LOW_UNIT> static int launch_blocks(struct dma_block_params p, bool trace)
{
    typedef struct dma_blocks<LOW_UNIT> K;
    const bool options = needs_options(p.call, trace);
    if (p.call.block_count == 0)
        return (int)cudaSuccess;
    if (p.call.v_type != MXV_GPU_F16 || p.zones)
        return (int)cudaErrorInvalidValue;
    if (!trace)
        p.call.trace.score = p.call.trace.acc = NULL;
    switch (p.call.d) {
    case 64:
        return options ? launch_as<K, 64, true>(p) : launch_as<K, 64, false>(p);
    case 128:
        return options ? launch_as<K, 128, true>(p) : launch_as<K, 128, false>(p);
    default:
        return (int)cudaErrorInvalidValue;
    }
}

extern "C" int mxv_gpu_dma_sm120(const struct mxv_gpu_dma_blocks *p, bool trace)
{
    struct dma_block_params q;
    static_cast<struct mxv_gpu_dma &>(q) = p->codes;
    q.q_scales[0] = p->q_high_scales;
    q.q_scales[1] = p->q_low_scales;
    q.k_scales[0] = p->k_high_scales;
    q.k_scales[1] = p->k_low_scales;
    return p->low_is_nvfp4 ? launch_blocks<MXV_UNIT_NVF4>(q, trace)
                           : launch_blocks<MXV_UNIT_MXF4>(q, trace);
}
