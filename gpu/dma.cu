// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Launch of dma (dma.cuh): on wgmma where the call and the device allow it, else on mma.sync, with
// FP8 products by wgmma in its place (dma_fp8.cuh).
#include "attention.cuh"
#include "dma.cuh"
#include "launch_sm90.h"

extern "C" int mxv_gpu_dma(const struct mxv_gpu_dma *p, bool trace)
{
#ifdef MXV_GPU_SM90
    if (mxv_gpu_takes_wgmma(&p->call) && !p->zones)
        return mxv_gpu_dma_sm90(p, trace);
    if (p->zones || p->q_factor || p->call.v_type == MXV_GPU_E4M3)
        return mxv_gpu_dma_fp8_sm90(p, trace);
#endif
    if (p->zones || p->q_factor || p->call.v_type == MXV_GPU_E4M3)
        return (int)cudaErrorNotSupported; // FP8 by mma.sync is another unit
    return p->call.v_type == MXV_GPU_F16 ? launch<dma<MXV_UNIT_F16>>(*p, trace)
                                         : launch<dma<MXV_UNIT_BF16>>(*p, trace);
}
