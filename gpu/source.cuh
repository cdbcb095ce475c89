// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading one value of a side (operands.h, struct mxv_gpu_rows): each line is one rounding of the
// contract. Rounding to 16 bits and back is exact on the way back.
#ifndef MXV_GPU_SOURCE_CUH
#define MXV_GPU_SOURCE_CUH

#include "operands.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define MXV_GPU_LINEAR_THREADS 256

static inline unsigned linear_blocks(size_t n)
{
    return (unsigned)((n + MXV_GPU_LINEAR_THREADS - 1) / MXV_GPU_LINEAR_THREADS);
}

static __device__ __forceinline__ float load_value(const void *data, enum mxv_gpu_type type,
                                                   size_t i)
{
    if (type == MXV_GPU_F32)
        return ((const float *)data)[i];
    return type == MXV_GPU_F16 ? __half2float(((const __half *)data)[i])
                               : __bfloat162float(((const __nv_bfloat16 *)data)[i]);
}

// T of the contract; f32 stands for no rounding.
static __device__ __forceinline__ float round_16(enum mxv_gpu_type type, float x)
{
    if (type == MXV_GPU_F32)
        return x;
    return type == MXV_GPU_F16 ? __half2float(__float2half_rn(x))
                               : __bfloat162float(__float2bfloat16_rn(x));
}

static __device__ __forceinline__ void store_16(enum mxv_gpu_type type, void *out, size_t i,
                                                float x)
{
    if (type == MXV_GPU_F16)
        ((__half *)out)[i] = __float2half_rn(x);
    else
        ((__nv_bfloat16 *)out)[i] = __float2bfloat16_rn(x);
}

// Value of `channel` of row `row` (= head * tokens + token), before the row divisor.
static __device__ __forceinline__ float row_value(const struct mxv_gpu_rows &s, size_t row,
                                                  int channel)
{
    const int head = (int)(row / s.tokens), sequence = s.sequence_of[row % s.tokens];
    const size_t own = ((size_t)head * s.sequences + sequence) * s.d + channel;
    float x = round_16(s.cast, load_value(s.data, s.type, row * s.d + channel));
    if (s.mean)
        x = round_16(s.cast, __fsub_rn(x, s.mean[own]));
    if (s.scaled)
        x = __fmul_rn(x, s.factor);
    if (s.channel_factor)
        x = __fmul_rn(
            x, s.channel_factor[((size_t)(head / s.channel_group) * s.sequences + sequence) * s.d +
                                channel]);
    if (s.channel_divisor)
        x = __fdiv_rn(x, s.channel_divisor[own]);
    return x;
}

static __device__ __forceinline__ float source_value(const struct mxv_gpu_rows &s, size_t row,
                                                     int channel)
{
    const float x = row_value(s, row, channel);
    return s.row_divisor ? __fdiv_rn(x, s.row_divisor[row]) : x;
}

#endif
