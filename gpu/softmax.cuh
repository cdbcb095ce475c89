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

template <bool OPTIONS>
static __device__ __forceinline__ float exp2_by(const struct mxv_gpu_call &call, float x)
{
    return OPTIONS && call.poly ? exp2_poly(x) : exp2_approx(x);
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

// Step 3. EX2(-inf) is 0 and EX2(0) is 1, so without poly a choice of exponents does for the choice
// of results, and no branch is left.
template <bool LOG2, bool OPTIONS>
static __device__ __forceinline__ float rescale_factor(const struct mxv_gpu_call &call, float old,
                                                       float m)
{
    const float exponent = rescale_exponent<LOG2>(call, old, m);
    if (OPTIONS && call.poly)
        return old == -INFINITY ? 0.0f : old == m ? 1.0f : exp2_poly(exponent);
    return exp2_approx(old == -INFINITY ? -INFINITY : old == m ? 0.0f : exponent);
}

// Step 1 for row half h.
template <int TILES>
static __device__ __forceinline__ float softmax_max(int columns, int h, float old,
                                                    const float (&s)[TILES][4])
{
    float even = old, odd = old; // fmaxf passes over NaN
#pragma unroll
    for (int t = 0; t < TILES; t++)
        if (t / 4 * 32 < columns) {
            even = fmaxf(even, s[t][2 * h]);
            odd = fmaxf(odd, s[t][2 * h + 1]);
        }
    float m = fmaxf(even, odd);
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    return fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
}

// Step 1 for both row halves of full tiles, three words an instruction: binary32 words order as
// integers once the maximum so far is not negative, and a NaN shows as a word above infinity; in
// the other cases the plain way.
template <int TILES>
static __device__ __forceinline__ void softmax_maxima(const float (&old)[2], float (&m)[2],
                                                      const float (&s)[TILES][4])
{
    int best[2];
    bool plain = false;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int even = __float_as_int(old[h]), odd = even;
#pragma unroll
        for (int t = 0; t < TILES; t += 2) {
            even = __vimax3_s32(even, __float_as_int(s[t][2 * h]), __float_as_int(s[t][2 * h + 1]));
            odd = __vimax3_s32(odd, __float_as_int(s[t + 1][2 * h]),
                               __float_as_int(s[t + 1][2 * h + 1]));
        }
        best[h] = max(even, odd);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        best[h] = max(best[h], __shfl_xor_sync(0xffffffffu, best[h], 1));
        best[h] = max(best[h], __shfl_xor_sync(0xffffffffu, best[h], 2));
        plain = plain || __float_as_int(old[h]) < 0 || best[h] > 0x7f800000;
        m[h] = __int_as_float(best[h]);
    }
    if (__any_sync(0xffffffffu, plain)) {
        m[0] = softmax_max(TILES * 8, 0, old[0], s);
        m[1] = softmax_max(TILES * 8, 1, old[1], s);
    }
}

// Steps 1 to 6 and 10 for row half h and the first `columns` columns, a multiple of 32; scores
// become unrounded weights. Returns alpha. Without OPTIONS the call has no tau and exp=hw.
template <bool LOG2, bool OPTIONS, int TILES>
static __device__ __forceinline__ float softmax_row(const struct mxv_gpu_call &call, int columns,
                                                    int h, float m, struct softmax_rows &rows,
                                                    float (&s)[TILES][4])
{
    const float old = rows.m[h];
    if (OPTIONS && call.tau > 0 && old != -INFINITY && m > old &&
        rescale_exponent<LOG2>(call, old, m) >= -call.tau)
        m = old;
    const float alpha = rescale_factor<LOG2, OPTIONS>(call, old, m);
    const float shift = softmax_shift<LOG2>(call, m);
    float l = rows.l[h];
#pragma unroll
    for (int t = 0; t < TILES; t++)
        if (t / 4 * 32 < columns)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const float x = s[t][2 * h + e];
                const float p = exp2_by<OPTIONS>(call, LOG2 ? __fsub_rn(x, shift)
                                                            : __fmaf_rn(x, call.c, -shift));
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
