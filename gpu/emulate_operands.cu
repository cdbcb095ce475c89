// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of emulated GPUs that the production kernels do not have: E4M3 with binary32 scales of
// 32 channels (docs/kernels/dma.md 1.4, core) and E4M3 values (docs/kernels/contract.md 5).
// gpu/emulate_verify compares codes and scales with the CPU's emulation.
#include "emulate.h"
#include "source.cuh"

#include <cuda_fp8.h>

static __device__ __forceinline__ uint8_t e4m3_code(float x)
{
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}

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
            e4m3_code(__fdiv_rn(source_value(s, block / per_row, first + i), scale));
}

extern "C" int mxv_emulate_quantise_core(const struct mxv_gpu_rows *rows, uint8_t *codes,
                                         float *scales)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d / 32;
    if (n)
        quantise_core<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, codes, scales);
    return (int)cudaGetLastError();
}

static __global__ void quantise_v(const struct mxv_gpu_rows s, const float *row_scale,
                                  uint8_t *codes)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)s.heads * s.tokens * s.d)
        codes[i] =
            e4m3_code(__fdiv_rn(source_value(s, i / s.d, (int)(i % s.d)), row_scale[i / s.d]));
}

// One scale per head and sequence: that of its first row, 1 without rows.
static __global__ void sequence_scales(const struct mxv_gpu_rows s, const float *row_scale,
                                       float *scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.heads * s.sequences)
        return;
    const int head = i / s.sequences, first = s.cu[i % s.sequences];
    scale[i] =
        s.cu[i % s.sequences + 1] > first ? row_scale[(size_t)head * s.tokens + first] : 1.0f;
}

extern "C" int mxv_emulate_quantise_v(const struct mxv_gpu_rows *rows, const float *row_scale,
                                      uint8_t *codes, float *scale)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d;
    if (n)
        quantise_v<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, row_scale, codes);
    sequence_scales<<<linear_blocks((size_t)rows->heads * rows->sequences),
                      MXV_GPU_LINEAR_THREADS>>>(*rows, row_scale, scale);
    return (int)cudaGetLastError();
}
