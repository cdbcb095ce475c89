// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers of binary32 tensors, and of rows with smoothing, factors or divisors
// (quantise.cuh).
#include "quantise.cuh"

int mxv_quantise_wide(const struct quantise_args *a, bool rows)
{
    const enum nvfp4_how how = how_of(a->q.order, a->q.tensor_amax != NULL);
    if (!rows)
        return quantise_from<SOURCE_F32>(a);
    if (a->q.format == MXV_GPU_NVFP4 && how == NVFP4_TENSOR)
        return quantise_with<MXV_GPU_NVFP4, SOURCE_ROWS, NVFP4_TENSOR>(a);
    if (a->q.format == MXV_GPU_NVFP4 && how == NVFP4_DIVISOR)
        return quantise_with<MXV_GPU_NVFP4, SOURCE_ROWS, NVFP4_DIVISOR>(a);
    return quantise_from<SOURCE_ROWS>(a);
}
