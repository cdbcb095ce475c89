// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of an NVFP4 call that is not of order exact without tensor scale (struct nvfp4_entry):
// a warp for each scale byte.
//
// Where a byte begins is found among 32 neighbouring maxima around the quotient of the midpoint
// below its value, by the order's own steps.
//
// For 16-bit inputs an order's code, also after a factor, is a monotone function of the 2^15
// magnitudes, and so is the word of |x| m + 1/2, each step of which is a correct rounding. Two such
// functions are equal if they step from below k to k between the same neighbours for k = 1 .. 7, so
// seven pairs of values show that m gives the order's codes for every x. Candidates are 1 / 16 of
// the reciprocal of the divisor, its neighbours (a tie of the exact quotient must stay one) and
// 2^-16 more and less (two quotients of 11-bit numbers by one divisor lie both within 2^-15 of a
// midpoint only if they miss it by the same ratio, so one direction suits all that nearly tie).
// Without one that passes the entry has none, and its blocks take the order's own steps.
#ifndef MXV_GPU_QUANTISE_TABLE_CUH
#define MXV_GPU_QUANTISE_TABLE_CUH

#include "quantise_code.cuh"

static __device__ __forceinline__ float value_of_16(enum mxv_gpu_type type, uint32_t word)
{
    return type == MXV_GPU_F16 ? __half2float(__ushort_as_half((unsigned short)word))
                               : __uint_as_float(word << 16);
}

// Steps of an order for one scale byte: 16-bit values times `times`, then what nvfp4_code_of does.
struct order_steps {
    enum mxv_gpu_nvfp4_order order;
    enum mxv_gpu_type type;
    float times, factor, g;
};

static __device__ __forceinline__ uint32_t code_by_steps(struct order_steps o, uint32_t word)
{
    return nvfp4_code_of(o.order, __fmul_rn(value_of_16(o.type, word), o.times), o.factor, o.g);
}

static __device__ __forceinline__ uint32_t code_by_multiplier(enum mxv_gpu_type type, float m,
                                                              uint32_t word)
{
    return magnitude_code(raised_word(fma_sat(value_of_16(type, word), m, 0.5f)));
}

// Code `k` begins at word `word`.
struct code_step {
    uint32_t k, word;
    bool found;
};

// one: the value that becomes 1 before it is rounded to a code.
static __device__ struct code_step find_step(struct order_steps o, double one, uint32_t k)
{
    const double middle = k <= 4 ? 0.5 * k - 0.25 : k == 5 ? 2.5 : k == 6 ? 3.5 : 5.0;
    const uint32_t infinite = o.type == MXV_GPU_F16 ? 0x7c00u : 0x7f80u;
    const float near = __double2float_rz(middle * one);
    uint32_t w = o.type == MXV_GPU_F16 ? __half_as_ushort(__float2half_rz(near))
                                       : __float_as_uint(near) >> 16;
    w = min(max((int)w - 1, 1), (int)infinite);
    for (int i = 0; i < 4 && w < infinite && code_by_steps(o, w) < k; i++)
        w++;
    return {k, w, code_by_steps(o, w) >= k && code_by_steps(o, w - 1) < k};
}

// The multiplier for 16-bit inputs; all lanes of a warp call.
static __device__ float checked_multiplier(struct order_steps o)
{
    const enum nvfp4_how how = how_of(o.order, true);
    const double divisor = how == NVFP4_TENSOR   ? (double)o.factor * o.g / 2688
                           : how == NVFP4_FACTOR ? 1 / (double)o.factor
                                                 : (double)o.factor;
    const double one = divisor / o.times, wanted = 1 / (16 * one);
    const uint32_t word = __float_as_uint((float)wanted);
    const bool idle = threadIdx.x >= 7;
    const struct code_step s = find_step(o, one, idle ? 1 : threadIdx.x + 1);
    for (int i = 0; i < 5; i++) {
        const float m = i < 3 ? __uint_as_float(i < 2 ? word + i : word - 1)
                              : (float)(wanted * (i == 3 ? 1 + 0x1p-16 : 1 - 0x1p-16));
        const bool alike = s.found && code_by_multiplier(o.type, m, s.word) >= s.k &&
                           code_by_multiplier(o.type, m, s.word - 1) < s.k;
        if (__all_sync(~0u, idle || alike))
            return m;
    }
    return __uint_as_float(0x7fffffffu);
}

// The multiplier for any binary32 input.
static __device__ float any_multiplier(enum mxv_gpu_nvfp4_order order, float factor, float g)
{
    const enum nvfp4_how how = how_of(order, true);
    const float nan = __uint_as_float(0x7fffffffu);
    if (how == NVFP4_FACTOR)
        return within(factor, 0x1p-120f, NVFP4_FLT_MAX) ? __fmul_rn(factor, 0.125f) : nan;
    if (how == NVFP4_DIVISOR)
        return within(factor, 0x1p-90f, 0x1p90f) ? __frcp_rn(factor) : nan;
    const double m = 2688 / (8 * (double)factor * g);
    return m >= 0x1p-120 && m <= 0x1p120 ? (float)m : nan;
}

// tensor_amax: device memory, or NULL for no tensor scale.
static __device__ struct nvfp4_tensor tensor_of(enum mxv_gpu_nvfp4_order order,
                                                const float *tensor_amax)
{
    struct nvfp4_tensor t = {2688.0f, 1, 1, 1, 1, 1, 0, 0};
    const float given = tensor_amax ? fabsf(*tensor_amax) : 0.0f;
    t.g = given == 0 ? 2688.0f : given;
    t.decode = __fdiv_rn(t.g, 2688.0f);
    t.rate = order == MXV_GPU_NVFP4_SAGE3 ? 1.0f / 6.0f : __fdiv_rn(448.0f, t.g);
    switch (order) {
    case MXV_GPU_NVFP4_TE:
    case MXV_GPU_NVFP4_TRTLLM:
        t.encode = __fdiv_rn(2688.0f, t.g);
        if (order == MXV_GPU_NVFP4_TE)
            t.encode = t.encode == 0 ? 1.0f : at_most(t.encode, NVFP4_FLT_MAX);
        t.decode = __fdiv_rn(1.0f, t.encode);
        t.scale_factor = __fmul_rn(t.encode, __fdiv_rn(1.0f, 6.0f));
        break;
    case MXV_GPU_NVFP4_TORCHAO:
        t.scale_factor = __fdiv_rn(1.0f, t.decode);
        t.floor = 0x1p-6f;
        break;
    case MXV_GPU_NVFP4_MODELOPT:
    case MXV_GPU_NVFP4_MODELOPT_STATIC:
        t.divisor =
            order == MXV_GPU_NVFP4_MODELOPT ? __fmul_rn(6.0f, t.decode) : __fdiv_rn(t.g, 6.0f);
        t.floor = 0x1p-9f;
        break;
    default:
        break;
    }
    t.zero_byte = byte_by_steps(order, t, 0);
    return t;
}

// The least word of a maximum 2^-60 .. 2^60 whose byte is at least `byte`, one more than the last
// if there is none; NOT_FOUND if it is not where it should be. All lanes of a warp call.
enum { LEAST_WORD = 0x21800000, LAST_WORD = 0x5d800000, NOT_FOUND = -1 };

static __device__ uint32_t least_word(enum mxv_gpu_nvfp4_order order, const struct nvfp4_tensor &t,
                                      uint32_t byte)
{
    if (byte_by_steps(order, t, LEAST_WORD) >= byte)
        return LEAST_WORD;
    if (byte_by_steps(order, t, LAST_WORD) < byte)
        return LAST_WORD + 1;
    const float below = fp8_value((uint8_t)(byte - 1), false);
    const float middle = __fmul_rn(0.5f, __fadd_rn(below, fp8_value((uint8_t)byte, false)));
    const uint32_t first = __float_as_uint((float)((double)middle / t.rate)) - 16;
    const uint32_t reach = __ballot_sync(~0u, byte_by_steps(order, t, first + threadIdx.x) >= byte);
    return reach == 0 || reach & 1 ? (uint32_t)NOT_FOUND : first + __ffs((int)reach) - 1;
}

// A block of one warp for each byte. type: of inputs for which multipliers are checked, and what
// they are multiplied by; f32: of those for which they are not.
static __global__ void fill_table(enum mxv_gpu_nvfp4_order order, const float *tensor_amax,
                                  enum mxv_gpu_type type, float times, struct nvfp4_table *table)
{
    const uint32_t byte = blockIdx.x;
    const struct nvfp4_tensor t = tensor_of(order, tensor_amax);
    struct nvfp4_entry e = {0, 0, ~0u, 0};
    e.factor = element_factor(order, t, fp8_value((uint8_t)byte, false));
    if (!(byte == 0 && e.factor == 0)) // else of a finite maximum, and every code is 0
        e.multiplier = type == MXV_GPU_F32
                           ? any_multiplier(order, e.factor, t.g)
                           : checked_multiplier({order, type, times, e.factor, t.g});
    if (within(t.rate, 0x1p-50f, 0x1p50f) && byte < 0x7F) {
        const uint32_t least = least_word(order, t, byte), next = least_word(order, t, byte + 1);
        if (least != (uint32_t)NOT_FOUND && next != (uint32_t)NOT_FOUND) {
            e.least = least;
            e.next = next;
        }
    }
    if (threadIdx.x == 0) {
        table->entry[byte] = e;
        if (byte == 0)
            table->tensor = t;
    }
}

#endif
