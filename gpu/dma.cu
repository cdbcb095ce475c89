// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Launch of dma (dma.cuh): on wgmma where the call and the device allow it, else on mma.sync.
#include "attention.cuh"
#include "dma.cuh"
#include "launch_sm90.h"

extern "C" int mxv_gpu_dma(const struct mxv_gpu_dma *p, bool trace)
{
#ifdef MXV_GPU_SM90
    if (mxv_gpu_takes_wgmma(&p->call))
        return mxv_gpu_dma_sm90(p, trace);
#endif
    struct mxv_gpu_dma without_keys = *p;
    // FP8 by mma.sync is another unit; without keys no product is made.
    if (p->q_factor || p->call.v_type == MXV_GPU_E4M3) {
        if (p->call.tokens_k > 0)
            return (int)cudaErrorNotSupported;
        without_keys.q_low = without_keys.q_high = NULL;
        p = &without_keys;
    }
    return p->call.v_type == MXV_GPU_F16 ? launch<dma<MXV_UNIT_F16>>(*p, trace)
                                         : launch<dma<MXV_UNIT_BF16>>(*p, trace);
}
