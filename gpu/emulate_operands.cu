// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of emulated GPUs that are not made as the production kernels' are: rebased MXFP4
// (docs/kernels/dma.md 1.5) and E4M3 values (docs/kernels/contract.md 5).
// gpu/emulate_verify compares codes and scales with the CPU's emulation.
#include "emulate.h"
#include "emulate_units.h"
#include "source.cuh"

#include <cuda_fp8.h>

static __device__ __forceinline__ uint8_t e4m3_code(float x)
{
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}

// The largest scale byte but FF of the rows that share a base with row i; one thread a row.
static __global__ void rebase_bases(const struct mxv_gpu_rows s, int together,
                                    const uint8_t *scales, uint8_t *bases, float *factor)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)s.heads * s.tokens)
        return;
    const int token = (int)(i % s.tokens), sequence = s.sequence_of[token], blocks = s.d / 32;
    const int start = s.cu[sequence], first = start + (token - start) / together * together;
    const int rows = min(together, s.cu[sequence + 1] - first);
    const uint8_t *p = scales + (i - token + first) * blocks;
    int base = 0;
    for (int b = 0; b < rows * blocks; b++)
        base = p[b] != 0xff && p[b] > base ? p[b] : base;
    bases[i] = (uint8_t)base;
    factor[i] = ldexpf(1.0f, base - 140);
}

// One thread a code. Below 2^-60 all round to zero.
static __global__ void rebase_codes(const struct mxv_gpu_rows s, const uint8_t *e2m1,
                                    const uint8_t *scales, const uint8_t *bases, uint8_t *codes)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)s.heads * s.tokens * s.d)
        return;
    const int scale = scales[i / 32], power = max(scale - bases[i / s.d] + 13, -60);
    const uint32_t code = e2m1[i / 2] >> (i % 2 * 4) & 15u;
    const float magnitude = ldexpf((float)unit_double_e2m1(code & 7), power - 1);
    const float x = code & 8 ? -magnitude : magnitude;
    codes[i] = scale == 0xff ? 0x7f : __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}

extern "C" int mxv_emulate_rebase(const struct mxv_gpu_rows *rows, int together,
                                  const uint8_t *e2m1, const uint8_t *scales, uint8_t *bases,
                                  uint8_t *codes, float *factor)
{
    const size_t n = (size_t)rows->heads * rows->tokens;
    if (n == 0)
        return (int)cudaSuccess;
    rebase_bases<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, together, scales, bases,
                                                               factor);
    rebase_codes<<<linear_blocks(n * rows->d), MXV_GPU_LINEAR_THREADS>>>(*rows, e2m1, scales, bases,
                                                                         codes);
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
