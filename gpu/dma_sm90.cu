// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma (dma.cuh) on the wgmma engine.
#include "dma.cuh"
#include "launch_sm90.cuh"

extern "C" int mxv_gpu_dma_sm90(const struct mxv_gpu_dma *p, bool trace)
{
    return p->call.v_type == MXV_GPU_F16 ? launch_sm90<dma<MXV_UNIT_F16>>(*p, trace)
                                         : launch_sm90<dma<MXV_UNIT_BF16>>(*p, trace);
}
