// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The words of CUDA C++ that the kernel's text uses, for a host compiler: qualifiers, vector types,
// intrinsics (binary32, nearest even but for __fadd_rd), and what gpu/mma.cuh names. Special
// functions are the models of ref/, as in the emulation; conversions are those of formats/.
// Instructions that the text does not reach throw. Included before the text, whose own mma.cuh is
// left out by its guard.
#ifndef MXV_TESTS_KERNEL_TEXT_CUDA_WORDS_H
#define MXV_TESTS_KERNEL_TEXT_CUDA_WORDS_H

#define MXV_GPU_MMA_CUH

#include "block.h"
#include "sabotage.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <mxverify/element.h>
#include <mxverify/special.h>

#define __device__ __attribute__((unused))
#define __host__
#define __global__      __attribute__((unused))
#define __forceinline__ inline
#define __shared__
#define __grid_constant__
#define __launch_bounds__(threads, blocks)

struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct uint4 {
    uint32_t x, y, z, w;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}

struct block_index {
    unsigned x, y;
};
extern struct block_index blockIdx;
static inline struct block_index thread_index()
{
    return {(unsigned)block.current, 0};
}
#define threadIdx thread_index()

static inline int min(int a, int b)
{
    return a < b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
static inline int max(int a, int b)
{
    return a > b ? a : b;
}
static inline int __vimax3_s32(int a, int b, int c)
{
    return max(max(a, b), c);
}
static inline uint32_t __float_as_uint(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}
static inline float __uint_as_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}
static inline int __float_as_int(float x)
{
    return (int)__float_as_uint(x);
}
static inline float __int_as_float(int word)
{
    return __uint_as_float((uint32_t)word);
}
static inline float __int2float_rn(int n)
{
    return (float)n;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fsub_rn(float a, float b)
{
    return a - b;
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
// Toward minus infinity: sum and its error in binary64 are exact (Knuth's TwoSum), and the nearest
// binary32 number is at most one place too large. A sum of zero keeps the sign of nearest even.
static inline float __fadd_rd(float a, float b)
{
    const double x = a, y = b, sum = x + y, part = sum - x;
    const double error = (x - (sum - part)) + (y - part);
    const float nearest = (float)sum;
    const bool above = (double)nearest > sum || ((double)nearest == sum && error < 0);
    return above ? nextafterf(nearest, -INFINITY) : nearest;
}

static inline void __syncthreads()
{
    thread_arrives();
    block_meet();
}
// Lanes that have exited do not count; here none has.
static inline void __syncwarp()
{
    if (sabotaged(SABOTAGE_NO_WARP_SYNC))
        return;
    warp_meet(true, UINT64_MAX);
    thread_now().diverged = false;
}
static inline bool __all_sync(unsigned, bool vote)
{
    const bool all = warp_meet(vote, UINT64_MAX - 1);
    thread_now().diverged = false;
    return all;
}

// Not of this kernel.
[[noreturn]] static inline void not_offered()
{
    rule_break("the text reaches an instruction that has no model here");
}
static inline bool __any_sync(unsigned, bool)
{
    not_offered();
}
template <class T> static inline T __shfl_xor_sync(unsigned, T, int)
{
    not_offered();
}

// The functions of gpu/mma.cuh.
#include <unit_names.cuh>

static inline uint32_t shared_address(const void *p)
{
    return (uint32_t)((const uint8_t *)p - shared) + SHARED_FIRST;
}
static inline void copy_async(uint32_t, const void *, bool)
{
    not_offered();
}
static inline void load_matrix(uint32_t (&)[4], uint32_t)
{
    not_offered();
}
static inline void load_matrix_transposed(uint32_t (&)[4], uint32_t)
{
    not_offered();
}
template <int UNIT>
static inline void multiply(float (&)[4], const uint32_t (&)[4], uint32_t, uint32_t)
{
    not_offered();
}
static inline void multiply_s8(int (&)[4], const uint32_t (&)[4], uint32_t, uint32_t)
{
    not_offered();
}
static inline float exp2_approx(float x)
{
    return __uint_as_float(mxv_ex2(__float_as_uint(x), true));
}
static inline float reciprocal_approx(float x)
{
    return __uint_as_float(mxv_rcp(__float_as_uint(x), true));
}
static inline float log2_approx(float x)
{
    return __uint_as_float(mxv_lg2(__float_as_uint(x), true));
}
template <int UNIT> static inline uint32_t pack_pair(float low, float high)
{
    const enum mxv_element type = UNIT == MXV_UNIT_F16 ? MXV_F16 : MXV_BF16;
    return (uint32_t)(mxv_element_from_f32(type, __float_as_uint(low), NULL) |
                      mxv_element_from_f32(type, __float_as_uint(high), NULL) << 16);
}

#endif
