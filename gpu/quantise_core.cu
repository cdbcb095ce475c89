// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies of dma's core zone (docs/kernels/dma.md 1.4): E4M3 codes with a binary32 scale for 32
// channels, each line one rounding. gpu/cuda_verify compares codes and scales with the emulation.
#include "source.cuh"

#include <cuda_fp8.h>

// One thread a block of 32 channels.
static __global__ void quantise_core(const struct mxv_gpu_rows s, uint8_t *codes, float *scales)
{
    const size_t block = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int per_row = s.d / 32;
    if (block >= (size_t)s.heads * s.tokens * per_row)
        return;
    const int first = (int)(block % per_row) * 32;
    float amax = 0;
    for (int i = 0; i < 32; i++) // passes over NaN
        amax = fmaxf(amax, fabsf(source_value(s, block / per_row, first + i)));
    float scale = __fdiv_rn(amax, 448.0f);
    scale = scale == 0 ? 1.0f : scale;
    scales[block] = scale;
    for (int i = 0; i < 32; i++)
        codes[block * 32 + i] =
            __nv_cvt_float_to_fp8(__fdiv_rn(source_value(s, block / per_row, first + i), scale),
                                  __NV_SATFINITE, __NV_E4M3);
}

extern "C" int mxv_gpu_quantise_core(const struct mxv_gpu_rows *rows, uint8_t *codes, float *scales)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d / 32;
    if (n)
        quantise_core<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, codes, scales);
    return (int)cudaGetLastError();
}
