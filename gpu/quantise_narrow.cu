// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers of binary16 and bfloat16 tensors as they lie in memory, less a mean or times a
// factor (quantise.cuh).
#include "quantise.cuh"

template <int SOURCE> static int quantise_steps(const struct quantise_args *a, enum steps steps)
{
    return steps == AS_STORED      ? quantise_from<SOURCE, AS_STORED>(a)
           : steps == TIMES_FACTOR ? quantise_from<SOURCE, TIMES_FACTOR>(a)
                                   : quantise_from<SOURCE, LESS_MEAN>(a);
}

int mxv_quantise_narrow(const struct quantise_args *a, enum steps steps)
{
    return a->rows.type == MXV_GPU_F16 ? quantise_steps<SOURCE_F16>(a, steps)
                                       : quantise_steps<SOURCE_BF16>(a, steps);
}
