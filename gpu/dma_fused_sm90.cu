// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Launch of dma as one kernel with its quantisers (fused_sm90.cuh).
#include "fused_sm90.cuh"
#include "launch_sm90.cuh"

template <int PV_UNIT> static int launch_fused(const struct fused_call &p)
{
    typedef dma_fused<PV_UNIT> K;
    struct tensor_maps maps;
    const int error = make_maps<K>(p, maps);
    if (error != (int)cudaSuccess)
        return error;
    return p.call.d == 128 ? launch_sm90_as<K, 128, PIECE_ROWS, false>(p, maps)
                           : launch_sm90_as<K, 64, PIECE_ROWS, false>(p, maps);
}

extern "C" int mxv_gpu_dma_fused_sm90(const struct mxv_gpu_dma_fused *f)
{
    struct fused_call p = {f->dma, {f->q, f->k}, f->rule, f->state};
    p.q_high = f->q.high;
    p.k_high = f->k.high;
    p.q_low = f->q.low;
    p.k_low = f->k.low;
    p.q_factor = f->q.factor;
    p.k_factor = f->k.factor;
    p.call.trace.score = NULL;
    return p.call.v_type == MXV_GPU_E4M3  ? launch_fused<MXV_UNIT_E4M3>(p)
           : p.call.v_type == MXV_GPU_F16 ? launch_fused<MXV_UNIT_F16>(p)
                                          : launch_fused<MXV_UNIT_BF16>(p);
}
