// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma with FP8 products on the portable engine (dma_fp8.cuh): its build for options alone.
#include "attention.cuh"
#include "dma_fp8.cuh"
#include "launch_sm90.h"

extern "C" int mxv_gpu_dma_fp8_sm90(const struct mxv_gpu_dma *p, bool trace)
{
    return p->call.v_type == MXV_GPU_E4M3  ? launch_options<dma_fp8<MXV_UNIT_E4M3>>(*p, trace)
           : p->call.v_type == MXV_GPU_F16 ? launch_options<dma_fp8<MXV_UNIT_F16>>(*p, trace)
                                           : launch_options<dma_fp8<MXV_UNIT_BF16>>(*p, trace);
}
