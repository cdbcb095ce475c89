// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers of binary16 and bfloat16 tensors as they lie in memory (quantise.cuh).
#include "quantise.cuh"

int mxv_quantise_narrow(const struct quantise_args *a)
{
    return a->rows.type == MXV_GPU_F16 ? quantise_from<SOURCE_F16>(a)
                                       : quantise_from<SOURCE_BF16>(a);
}
