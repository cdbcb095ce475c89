// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Casts, K smoothing, row and channel scales, INT8 quantisation (operands.h). The order of every
// sum is fixed: one thread adds the 128 keys of a partial sum, one the partial sums. Maxima of
// magnitudes are taken on their words, which order as the values do, so atomicMax leaves no choice.
// gpu/cuda_verify compares each result with the emulation's operand taps.
#include "quantise_int8.cuh"

#include <cuda_fp8.h>

static __global__ void partial_sums(const struct mxv_gpu_rows s, int slots, float *partial)
{
    const int head = blockIdx.z, sequence = blockIdx.y, channel = threadIdx.x;
    const int first = s.cu[sequence] + blockIdx.x * 128, end = min(s.cu[sequence + 1], first + 128);
    if (first >= end)
        return;
    const int slot = s.cu[sequence] / 128 + sequence + blockIdx.x;
    float sum = 0;
    for (int token = first; token < end; token++)
        sum = __fadd_rn(sum, row_value(s, (size_t)head * s.tokens + token, channel));
    partial[((size_t)head * slots + slot) * s.d + channel] = sum;
}

static __global__ void mean_of_sums(const struct mxv_gpu_rows s, int slots, const float *partial,
                                    float *out)
{
    const int head = blockIdx.y, sequence = blockIdx.x, channel = threadIdx.x;
    const int tokens = s.cu[sequence + 1] - s.cu[sequence];
    const int slot = s.cu[sequence] / 128 + sequence;
    float total = 0;
    for (int i = 0; i * 128 < tokens; i++) {
        const float sum = partial[((size_t)head * slots + slot + i) * s.d + channel];
        total = i == 0 ? sum : __fadd_rn(total, sum);
    }
    out[((size_t)head * s.sequences + sequence) * s.d + channel] =
        tokens ? round_16(s.cast, __fdiv_rn(total, (float)tokens)) : 0;
}

extern "C" int mxv_gpu_means(const struct mxv_gpu_rows *rows, float *partial, float *out)
{
    const int slots = rows->tokens / 128 + rows->sequences + 1;
    const dim3 grid((unsigned)(rows->tokens / 128 + 1), (unsigned)rows->sequences,
                    (unsigned)rows->heads);
    partial_sums<<<grid, (unsigned)rows->d>>>(*rows, slots, partial);
    mean_of_sums<<<dim3((unsigned)rows->sequences, (unsigned)rows->heads), (unsigned)rows->d>>>(
        *rows, slots, partial, out);
    return (int)cudaGetLastError();
}

// First row, in its sequence, of the group of a row.
static __device__ __forceinline__ int group_leader(enum mxv_gpu_group group, int tile, int row)
{
    switch (group) {
    case MXV_GPU_PER_TILE:
        return row / tile * tile;
    case MXV_GPU_PER_SEQUENCE:
        return 0;
    case MXV_GPU_PER_THREAD_Q:
        return row / 32 * 32 + row % 8;
    case MXV_GPU_PER_THREAD_K:
        return row / tile * tile + row % 8 / 2 * 2;
    default:
        return row;
    }
}

static __device__ __forceinline__ size_t leader_row(const struct mxv_gpu_rows &s,
                                                    enum mxv_gpu_group group, int tile, size_t row)
{
    const int token = (int)(row % s.tokens), first = s.cu[s.sequence_of[token]];
    return row - token + first + group_leader(group, tile, token - first);
}

// One warp a row.
static __global__ void group_maxima(const struct mxv_gpu_rows s, enum mxv_gpu_group group, int tile,
                                    uint32_t *work)
{
    const size_t row = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= (size_t)s.heads * s.tokens)
        return;
    float amax = 0;
    for (int c = threadIdx.x % 32; c < s.d; c += 32)
        amax = fmaxf(amax, fabsf(row_value(s, row, c)));
    const uint32_t word = __reduce_max_sync(0xffffffffu, __float_as_uint(amax));
    if (threadIdx.x % 32 == 0)
        atomicMax(&work[leader_row(s, group, tile, row)], word);
}

static __global__ void spread_scales(const struct mxv_gpu_rows s, enum mxv_gpu_group group,
                                     int tile, float divisor, float zero, const uint32_t *work,
                                     float *scale)
{
    const size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= (size_t)s.heads * s.tokens)
        return;
    const float x = __fdiv_rn(__uint_as_float(work[leader_row(s, group, tile, row)]), divisor);
    scale[row] = x == 0 ? zero : x;
}

extern "C" int mxv_gpu_row_scales(const struct mxv_gpu_rows *rows, enum mxv_gpu_group group,
                                  int tile, float divisor, float zero, uint32_t *work, float *scale)
{
    const size_t n = (size_t)rows->heads * rows->tokens;
    if (n == 0)
        return (int)cudaSuccess;
    const cudaError_t error = cudaMemsetAsync(work, 0, n * sizeof *work);
    if (error != cudaSuccess)
        return (int)error;
    group_maxima<<<(unsigned)((n + 7) / 8), 256>>>(*rows, group, tile, work);
    spread_scales<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, group, tile, divisor, zero,
                                                                work, scale);
    return (int)cudaGetLastError();
}

static __global__ void channel_maxima(const struct mxv_gpu_rows s, float divisor, float *scale)
{
    const int head = blockIdx.y, sequence = blockIdx.x, channel = threadIdx.x;
    float amax = 0;
    for (int token = s.cu[sequence]; token < s.cu[sequence + 1]; token++)
        amax = fmaxf(amax, fabsf(row_value(s, (size_t)head * s.tokens + token, channel)));
    const float x = __fdiv_rn(amax, divisor);
    scale[((size_t)head * s.sequences + sequence) * s.d + channel] = x == 0 ? 1 : x;
}

extern "C" int mxv_gpu_channel_scales(const struct mxv_gpu_rows *rows, float divisor, float *scale)
{
    channel_maxima<<<dim3((unsigned)rows->sequences, (unsigned)rows->heads), (unsigned)rows->d>>>(
        *rows, divisor, scale);
    return (int)cudaGetLastError();
}

static __global__ void cast_rows(const struct mxv_gpu_rows s, void *out)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)s.heads * s.tokens * s.d)
        store_16(s.cast, out, i, source_value(s, i / s.d, (int)(i % s.d)));
}

extern "C" int mxv_gpu_cast(const struct mxv_gpu_rows *rows, void *out)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d;
    if (n)
        cast_rows<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, out);
    return (int)cudaGetLastError();
}

extern "C" int mxv_gpu_quantise_int8(const struct mxv_gpu_rows *rows, const float *scale, bool away,
                                     int8_t *codes)
{
    if ((size_t)rows->heads * rows->tokens * rows->d == 0)
        return (int)cudaSuccess;
    if (rows_of_their_type(*rows) && !rows->scaled)
        (rows->type == MXV_GPU_F16    ? launch_int8<SOURCE_F16>
         : rows->type == MXV_GPU_BF16 ? launch_int8<SOURCE_BF16>
                                      : launch_int8<SOURCE_F32>)(rows, scale, away, codes);
    else
        launch_int8<SOURCE_ROWS>(rows, scale, away, codes);
    return (int)cudaGetLastError();
}

static __global__ void decode_int8(const struct mxv_gpu_rows s, const float *scale,
                                   const int8_t *codes, void *out)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)s.heads * s.tokens * s.d)
        store_16(s.cast, out, i, __fmul_rn((float)codes[i], scale[i / s.d]));
}

extern "C" int mxv_gpu_decode_int8(const struct mxv_gpu_rows *rows, const float *scale,
                                   const int8_t *codes, void *out)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d;
    if (n)
        decode_int8<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, scale, codes, out);
    return (int)cudaGetLastError();
}

static __global__ void e4m3_codes(const struct mxv_gpu_rows s, const float *scale, uint8_t *codes)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, row = i / s.d;
    if (row >= (size_t)s.heads * s.tokens)
        return;
    const float x = __fdiv_rn(source_value(s, row, (int)(i % s.d)), scale[row]);
    codes[i] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}

// Key of place `place` within 32, so that a thread's packed weights are an operand (pack_e4m3).
static __device__ __forceinline__ int key_of_place(int place)
{
    return place / 16 * 16 + place % 4 / 2 * 8 + place % 16 / 4 * 2 + place % 2;
}

// A thread takes 32 places of one channel, a block those of all channels.
static __global__ void e4m3_places(const struct mxv_gpu_rows s, const uint8_t *codes,
                                   const int32_t *first, int places, uint8_t *v)
{
    const int begin = blockIdx.x * 32, head = blockIdx.y, channel = threadIdx.x;
    int sequence = 0;
    while (sequence + 1 < s.sequences && first[sequence + 1] <= begin)
        sequence++;
    const int token = s.cu[sequence] + begin - first[sequence];
    const int left = s.cu[sequence + 1] - token;
    uint32_t word[8] = {};
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const int key = key_of_place(i);
        if (key < left)
            word[i / 4] |= (uint32_t)codes[((size_t)head * s.tokens + token + key) * s.d + channel]
                           << i % 4 * 8;
    }
    uint4 *to = (uint4 *)(v + ((size_t)head * s.d + channel) * places + begin);
    to[0] = make_uint4(word[0], word[1], word[2], word[3]);
    to[1] = make_uint4(word[4], word[5], word[6], word[7]);
}

extern "C" int mxv_gpu_values_e4m3(const struct mxv_gpu_rows *rows, const float *scale,
                                   const int32_t *first, int places, uint8_t *codes, uint8_t *v)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d;
    if (n == 0)
        return (int)cudaSuccess;
    e4m3_codes<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, scale, codes);
    e4m3_places<<<dim3(places / 32, rows->heads), rows->d>>>(*rows, codes, first, places, v);
    return (int)cudaGetLastError();
}
