// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Binary32 attention with online softmax, one warp for each query row: lane i holds channels i,
// i + 32, ... of the row. Replace it by your kernel.
#include "kernel.h"

enum { CHANNELS = 8 }; // of a lane: d up to 256

static __device__ float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

static __global__ void attention(struct mykernel p)
{
    const int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int head = blockIdx.y, kv_head = head / (p.heads_q / p.heads_kv);
    if (row >= p.tokens_q)
        return;
    const size_t at = ((size_t)head * p.tokens_q + row) * p.d;
    const float *k = p.k + (size_t)kv_head * p.tokens_k * p.d;
    const float *v = p.v + (size_t)kv_head * p.tokens_k * p.d;
    float q[CHANNELS], o[CHANNELS] = {}, m = -INFINITY, l = 0;
    for (int i = 0; i < p.d / 32; i++)
        q[i] = p.q[at + lane + 32 * i];
    const int end = p.causal ? min(p.tokens_k, row + p.offset + 1) : p.tokens_k;
    for (int n = 0; n < end; n++) {
        float s = 0;
        for (int i = 0; i < p.d / 32; i++)
            s += q[i] * k[(size_t)n * p.d + lane + 32 * i];
        s = warp_sum(s) * p.scale;
        const float top = fmaxf(m, s), alpha = expf(m - top), weight = expf(s - top);
        l = l * alpha + weight;
        for (int i = 0; i < p.d / 32; i++)
            o[i] = o[i] * alpha + weight * v[(size_t)n * p.d + lane + 32 * i];
        m = top;
    }
    for (int i = 0; i < p.d / 32; i++)
        p.out[at + lane + 32 * i] = l > 0 ? o[i] / l : 0;
    if (lane == 0)
        p.lse[(size_t)head * p.tokens_q + row] = l > 0 ? m + logf(l) : -INFINITY;
}

int mykernel_launch(const struct mykernel *p)
{
    const int warps = 4;
    const dim3 grid((unsigned)((p->tokens_q + warps - 1) / warps), (unsigned)p->heads_q);
    attention<<<grid, warps * 32>>>(*p);
    return (int)cudaGetLastError();
}
