// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// tilemix (tilemix.cuh) on the wgmma engine.
#include "launch_sm90.cuh"
#include "tilemix.cuh"

extern "C" int mxv_gpu_tilemix_sm90(const struct mxv_gpu_tilemix *p, bool trace)
{
    return p->call.v_type == MXV_GPU_F16 ? launch_sm90<tilemix<MXV_UNIT_F16>>(*p, trace)
                                         : launch_sm90<tilemix<MXV_UNIT_BF16>>(*p, trace);
}
