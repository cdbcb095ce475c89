// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Contract 5 and 6 along the key tiles of each row (emulate.h): as many threads a row as it has
// sum lanes (four, or two on sm_100), each with the columns of its lane in ascending order. The
// step numbers are the contract's. Exponentials and logarithms are the integer models, not the
// instructions of the device that runs this.
#include "emulate.h"
#include "emulate_special.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

enum { SOFTMAX_THREADS = 128 };

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

static __device__ __forceinline__ float exp2_by(enum mxv_exp kind, float x)
{
    bool undecided;
    if (kind == MXV_EXP_POLY)
        return exp2_poly(x);
    return __uint_as_float(kind == MXV_EXP_CR ? special_ex2_cr(__float_as_uint(x), &undecided)
                                              : special_ex2(__float_as_uint(x)));
}

static __device__ __forceinline__ float rescale_exponent(const struct mxv_emulate_call &call,
                                                         float old, float m)
{
    const float difference = __fsub_rn(old, m);
    return call.log2 ? difference : __fmul_rn(difference, call.c);
}

// Step 4, M.
static __device__ __forceinline__ float shift_of(const struct mxv_emulate_call &call, float m)
{
    if (m == -INFINITY)
        return 0;
    return __fsub_rn(call.log2 ? m : __fmul_rn(m, call.c), call.offset);
}

// Exponent of P of column n in row `at` of the score tiles.
static __device__ __forceinline__ float weight_exponent(const struct mxv_emulate_call &call,
                                                        size_t at, int n, float shift)
{
    const size_t i = at * call.tile_n + n;
    const float s = __uint_as_float(call.score[i]);
    if (call.folded)
        return __fmaf_rn(call.folded[i], call.factor[i], -shift);
    return call.log2 ? __fsub_rn(s, shift) : __fmaf_rn(s, call.c, -shift);
}

static __device__ __forceinline__ uint32_t weight_code(enum mxv_element type, float p)
{
    if (type == MXV_F16)
        return __half_as_ushort(__float2half_rn(p));
    if (type == MXV_BF16)
        return __bfloat16_as_ushort(__float2bfloat16_rn(p));
    return __nv_cvt_float_to_fp8(p, __NV_SATFINITE, __NV_E4M3);
}

// The lanes of a row.
template <int LANES> struct lanes {
    unsigned mask; // of the row's threads
    int lane;

    // i-th column of the lane.
    __device__ __forceinline__ int column(int i) const
    {
        return LANES == 4 ? i / 2 * 8 + lane * 2 + i % 2 : i * 2 + lane;
    }
    __device__ __forceinline__ float max(float m) const
    {
#pragma unroll
        for (int step = 1; step < LANES; step *= 2)
            m = fmaxf(m, __shfl_xor_sync(mask, m, step));
        return m;
    }
    // Contract 6.1.
    __device__ __forceinline__ float total(float l) const
    {
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            l = __fadd_rn(l, __shfl_xor_sync(mask, l, step));
        return l;
    }
};

// Steps 1 to 7 and 10 for one row of a key tile; returns alpha.
template <int LANES>
static __device__ __forceinline__ float row_tile(const struct mxv_emulate_call &call,
                                                 const lanes<LANES> &own, size_t at, float &m,
                                                 float &l)
{
    const uint32_t *s = call.score + at * call.tile_n;
    uint16_t *weights = call.weight + at * call.tile_n;
    const int columns = call.tile_n / LANES;
    const float old = m;
    float candidate = old; // comparisons pass over NaN
    for (int i = 0; i < columns; i++) {
        const float x = __uint_as_float(s[own.column(i)]);
        candidate = x > candidate ? x : candidate;
    }
    m = own.max(candidate);
    if (call.tau > 0 && old != -INFINITY && m > old && rescale_exponent(call, old, m) >= -call.tau)
        m = old;
    const float alpha = old == -INFINITY ? 0.0f
                        : old == m       ? 1.0f
                                         : exp2_by(call.exp, rescale_exponent(call, old, m));
    const float shift = shift_of(call, m);
    for (int i = 0; i < columns; i++) {
        const float p = exp2_by(call.exp, weight_exponent(call, at, own.column(i), shift));
        l = i == 0 ? __fmaf_rn(l, alpha, p) : __fadd_rn(l, p);
        weights[own.column(i)] = (uint16_t)weight_code(call.v_type, p);
    }
    return alpha;
}

static __device__ __forceinline__ float lse_of(const struct mxv_emulate_call &call, float m,
                                               float total)
{
    if (total == 0)
        return call.empty_nan ? __uint_as_float(UNIT_NAN) : -INFINITY;
    const float lse =
        __fadd_rn(shift_of(call, m), __uint_as_float(special_lg2(__float_as_uint(total))));
    return call.lse_natural ? __fmul_rn(lse, 0x1.62e430p-1f) : lse;
}

template <int LANES>
static __global__ void softmax_rows(const __grid_constant__ struct mxv_emulate_call call)
{
    const struct mxv_emulate_item item = call.items[blockIdx.x];
    const int row = (blockIdx.y * SOFTMAX_THREADS + threadIdx.x) / LANES,
              tiles = item.end - item.begin;
    const lanes<LANES> own = {((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES),
                              (int)threadIdx.x % LANES};
    if (row >= item.rows)
        return;
    float m = call.finite ? -5.0e6f : -INFINITY, l = 0;
    for (int n = 0; n < tiles; n++) {
        const int j = call.descending ? item.end - 1 - n : item.begin + n;
        const size_t at = ((size_t)item.slot * call.key_tiles + j) * call.tile_m + row;
        const float alpha = row_tile<LANES>(call, own, at, m, l);
        if (own.lane == 0)
            call.alpha[at] = alpha;
        if (call.max) {
            const float total = own.total(l);
            call.max[at] = m;
            call.sum[at] = total;
        }
    }
    const float total = own.total(l);
    call.total[(size_t)item.slot * call.tile_m + row] = total;
    if (call.lse && own.lane == 0)
        call.lse[(size_t)item.head * call.tokens_q + item.q_first + row] = lse_of(call, m, total);
}

extern "C" int mxv_emulate_softmax(const struct mxv_emulate_call *p)
{
    const int rows = SOFTMAX_THREADS / (p->pair_lanes ? 2 : 4);
    const dim3 grid((unsigned)p->item_count, (unsigned)((p->tile_m + rows - 1) / rows));
    if (p->item_count == 0)
        return (int)cudaSuccess;
    if (p->pair_lanes)
        softmax_rows<2><<<grid, SOFTMAX_THREADS>>>(*p);
    else
        softmax_rows<4><<<grid, SOFTMAX_THREADS>>>(*p);
    return (int)cudaGetLastError();
}
