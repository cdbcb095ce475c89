// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers of binary32 tensors, and of rows with smoothing, factors or divisors
// (quantise.cuh).
#include "quantise.cuh"

int mxv_quantise_wide(const struct quantise_args *a, bool rows)
{
    return rows ? quantise_from<SOURCE_ROWS, AS_STORED>(a)
                : quantise_from<SOURCE_F32, ANY_STEPS>(a);
}
