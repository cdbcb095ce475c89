// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The online softmax of docs/kernels/contract.md 5 and 6 on accumulator fragments: a thread holds
// columns 2q and 2q+1 (q = lane mod 4) of rows g and g + 8 (g = lane / 4) of each 8-column tile,
// so the four lanes of a row sum are the four threads of a quad. Every rounding is an intrinsic;
// the step numbers are the contract's.
#ifndef MXV_GPU_SOFTMAX_CUH
#define MXV_GPU_SOFTMAX_CUH

#include "mma.cuh"
#include "params.h"

#define MXV_MASKED_SCORE (-5.0e6f)

struct softmax_rows { // of the two rows of a thread
    float m[2], l[2];
};

// FlashAttention-4's degree-3 polynomial (docs/numerics.md).
static __device__ __forceinline__ float exp2_poly(float x)
{
    const float magic = 12582912.0f; // 1.5 * 2^23
    const float v = x > -127.0f ? x : -127.0f;
    const float t = __fadd_rd(v, magic);
    const float f = __fsub_rn(v, __fsub_rn(t, magic));
    float p = __fmaf_rn(0.077119089663028717041015625f, f, 0.227564394474029541015625f);
    p = __fmaf_rn(p, f, 0.695146143436431884765625f);
    p = __fmaf_rn(p, f, 1.0f);
    return __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));
}

static __device__ __forceinline__ float exp2_by(const struct mxv_gpu_call &call, float x)
{
    return call.poly ? exp2_poly(x) : exp2_approx(x);
}

static __device__ __forceinline__ void softmax_start(const struct mxv_gpu_call &call,
                                                     struct softmax_rows &rows)
{
    for (int h = 0; h < 2; h++) {
        rows.m[h] = call.finite ? MXV_MASKED_SCORE : -INFINITY;
        rows.l[h] = 0;
    }
}

template <bool LOG2>
static __device__ __forceinline__ float rescale_exponent(const struct mxv_gpu_call &call, float old,
                                                         float m)
{
    const float difference = __fsub_rn(old, m);
    return LOG2 ? difference : __fmul_rn(difference, call.c);
}

// Step 4, M.
template <bool LOG2>
static __device__ __forceinline__ float softmax_shift(const struct mxv_gpu_call &call, float m)
{
    if (m == -INFINITY)
        return 0;
    return __fsub_rn(LOG2 ? m : __fmul_rn(m, call.c), call.offset);
}

// Steps 1 to 6 and 10 for row half h; scores become unrounded weights. Returns alpha.
template <bool LOG2, int TILES>
static __device__ __forceinline__ float softmax_row(const struct mxv_gpu_call &call, int h,
                                                    struct softmax_rows &rows, float (&s)[TILES][4])
{
    const float old = rows.m[h];
    float m = old;
#pragma unroll
    for (int t = 0; t < TILES; t++)
        if (t / 4 * 32 < call.tile_n) {
            m = fmaxf(m, s[t][2 * h]); // fmaxf passes over NaN
            m = fmaxf(m, s[t][2 * h + 1]);
        }
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
    if (call.tau > 0 && old != -INFINITY && m > old &&
        rescale_exponent<LOG2>(call, old, m) >= -call.tau)
        m = old;
    const float alpha = old == -INFINITY ? 0.0f
                        : old == m       ? 1.0f
                                         : exp2_by(call, rescale_exponent<LOG2>(call, old, m));
    const float shift = softmax_shift<LOG2>(call, m);
    float l = rows.l[h];
#pragma unroll
    for (int t = 0; t < TILES; t++)
        if (t / 4 * 32 < call.tile_n)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const float x = s[t][2 * h + e];
                const float p =
                    exp2_by(call, LOG2 ? __fsub_rn(x, shift) : __fmaf_rn(x, call.c, -shift));
                l = t == 0 && e == 0 ? __fmaf_rn(l, alpha, p) : __fadd_rn(l, p);
                s[t][2 * h + e] = p;
            }
    rows.l[h] = l;
    rows.m[h] = m;
    return alpha;
}

// Contract 6.1: (l0 + l2) + (l1 + l3), on all four threads.
static __device__ __forceinline__ float softmax_total(float l)
{
    const float pair = __fadd_rn(l, __shfl_xor_sync(0xffffffffu, l, 2));
    return __fadd_rn(pair, __shfl_xor_sync(0xffffffffu, pair, 1));
}

template <bool LOG2>
static __device__ __forceinline__ float softmax_lse(const struct mxv_gpu_call &call, float m,
                                                    float total)
{
    if (total == 0)
        return call.empty_nan ? __uint_as_float(0x7fffffffu) : -INFINITY;
    const float lse = __fadd_rn(softmax_shift<LOG2>(call, m), log2_approx(total));
    return call.lse_natural ? __fmul_rn(lse, 0x1.62e430p-1f) : lse;
}

#endif
