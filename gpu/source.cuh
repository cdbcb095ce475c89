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

// 8 neighbours of data by 16-byte loads.
static __device__ __forceinline__ void load_eight(const void *data, enum mxv_gpu_type type,
                                                  size_t at, float x[8])
{
    if (type == MXV_GPU_F32) {
        const float4 a = *(const float4 *)((const float *)data + at);
        const float4 b = *(const float4 *)((const float *)data + at + 4);
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
        return;
    }
    const uint4 v = *(const uint4 *)((const uint16_t *)data + at);
    const uint32_t w[4] = {v.x, v.y, v.z, v.w};
    if (type == MXV_GPU_F16) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] = __half2float(__ushort_as_half((unsigned short)(w[i / 2] >> i % 2 * 16)));
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] = __uint_as_float(i % 2 ? w[i / 2] & 0xffff0000u : w[i / 2] << 16);
    }
}

static __device__ __forceinline__ void round_eight(enum mxv_gpu_type type, float x[8])
{
    if (type == MXV_GPU_F16) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] = round_16(MXV_GPU_F16, x[i]);
    } else if (type == MXV_GPU_BF16) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] = round_16(MXV_GPU_BF16, x[i]);
    }
}

// Where a row's vectors begin: of [heads][sequences][d] and of [factor_heads][sequences][d].
struct row_vectors {
    size_t own, group;
};

static __device__ __forceinline__ struct row_vectors vectors_of(const struct mxv_gpu_rows &s,
                                                                uint32_t row)
{
    const uint32_t head = s.heads == 1 ? 0 : row / (uint32_t)s.tokens;
    const size_t sequence =
        s.sequence_of && s.sequences > 1 ? s.sequence_of[row - head * (uint32_t)s.tokens] : 0;
    const size_t group = head / (uint32_t)s.channel_group;
    return {(head * (size_t)s.sequences + sequence) * s.d, (group * s.sequences + sequence) * s.d};
}

// source_value for 8 neighbouring channels from `channel`, a multiple of 8; d is a multiple of 8
// and all arrays are 16-byte aligned.
static __device__ __forceinline__ void source_values(const struct mxv_gpu_rows &s, uint32_t row,
                                                     int channel, float x[8])
{
    struct row_vectors at = {};
    float y[8];
    load_eight(s.data, s.type, (size_t)row * s.d + channel, x);
    if (s.cast != s.type)
        round_eight(s.cast, x);
    if (s.mean || s.channel_factor || s.channel_divisor)
        at = vectors_of(s, row);
    if (s.mean) {
        load_eight(s.mean, MXV_GPU_F32, at.own + channel, y);
        for (int i = 0; i < 8; i++)
            x[i] = __fsub_rn(x[i], y[i]);
        round_eight(s.cast, x);
    }
    if (s.scaled)
        for (int i = 0; i < 8; i++)
            x[i] = __fmul_rn(x[i], s.factor);
    if (s.channel_factor) {
        load_eight(s.channel_factor, MXV_GPU_F32, at.group + channel, y);
        for (int i = 0; i < 8; i++)
            x[i] = __fmul_rn(x[i], y[i]);
    }
    if (s.channel_divisor) {
        load_eight(s.channel_divisor, MXV_GPU_F32, at.own + channel, y);
        for (int i = 0; i < 8; i++)
            x[i] = __fdiv_rn(x[i], y[i]);
    }
    if (s.row_divisor) {
        const float divisor = s.row_divisor[row];
        for (int i = 0; i < 8; i++)
            x[i] = __fdiv_rn(x[i], divisor);
    }
}

// Whether nothing happens to values on their way but that a mean is subtracted, which leaves them
// of their type, and that they are multiplied by the factor.
static inline bool rows_of_their_type(const struct mxv_gpu_rows &s)
{
    return (s.cast == s.type || (s.cast == MXV_GPU_F32 && !s.mean)) && !s.channel_factor &&
           !s.channel_divisor && !s.row_divisor;
}

static __device__ __forceinline__ float source_value(const struct mxv_gpu_rows &s, size_t row,
                                                     int channel)
{
    const float x = row_value(s, row, channel);
    return s.row_divisor ? __fdiv_rn(x, s.row_divisor[row]) : x;
}

#endif
