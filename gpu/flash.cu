// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Launch of flash (flash.cuh): on wgmma where the call and the device allow it, else on mma.sync.
#include "attention.cuh"
#include "flash.cuh"
#include "launch_sm90.h"

extern "C" int mxv_gpu_flash(const struct mxv_gpu_flash *p, bool trace)
{
#ifdef MXV_GPU_SM90
    if (mxv_gpu_takes_wgmma(&p->call))
        return mxv_gpu_flash_sm90(p, trace);
#endif
    return p->call.v_type == MXV_GPU_F16 ? launch<flash<MXV_UNIT_F16>>(*p, trace)
                                         : launch<flash<MXV_UNIT_BF16>>(*p, trace);
}
