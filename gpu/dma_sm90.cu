// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma (dma.cuh) on the wgmma engine.
#include "dma.cuh"
#include "launch_sm90.cuh"

template <int PV_UNIT> static int launch_dma(const struct mxv_gpu_dma &p, bool trace)
{
    return p.q_factor ? launch_sm90<dma<PV_UNIT, true>>(p, trace)
                      : launch_sm90<dma<PV_UNIT>>(p, trace);
}

extern "C" int mxv_gpu_dma_sm90(const struct mxv_gpu_dma *p, bool trace)
{
    return p->call.v_type == MXV_GPU_E4M3  ? launch_dma<MXV_UNIT_E4M3>(*p, trace)
           : p->call.v_type == MXV_GPU_F16 ? launch_dma<MXV_UNIT_F16>(*p, trace)
                                           : launch_dma<MXV_UNIT_BF16>(*p, trace);
}
