// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The instructions that the kernels name: mma.sync (PTX ISA, "Matrix fragments for mma.m16n8k16"
// and ".m16n8k32"), ldmatrix, cp.async, and the special-function unit. One function each, no
// arithmetic of its own. A 16-bit operand step is 16 channels and an INT8 step 32: 32 bytes either
// way, so that fragments are loaded alike.
#ifndef MXV_GPU_MMA_CUH
#define MXV_GPU_MMA_CUH

#include "unit_names.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

// 16 bytes to shared memory; zeros when !valid (then src is not read).
static __device__ __forceinline__ void copy_async(uint32_t dst, const void *src, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src),
                 "r"(valid ? 16 : 0)
                 : "memory");
}

static __device__ __forceinline__ void copy_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// All groups but the last committed one have arrived.
static __device__ __forceinline__ void copy_wait_but_one(void)
{
    asm volatile("cp.async.wait_group 1;" ::: "memory");
}

static __device__ __forceinline__ void load_matrix(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

static __device__ __forceinline__ void load_matrix_transposed(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// c += a b, one instruction.
template <int UNIT>
static __device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                uint32_t b1)
{
    if constexpr (UNIT == MXV_UNIT_F16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ __forceinline__ void multiply_s8(int (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                                   uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ __forceinline__ float exp2_approx(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ __forceinline__ float reciprocal_approx(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ __forceinline__ float log2_approx(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two binary32 to a pair of codes, low half first, nearest even: 16 bits, overflow to infinity;
// E4M3, saturating.
template <int UNIT> static __device__ __forceinline__ uint32_t pack_pair(float low, float high)
{
    uint32_t pair;
    if constexpr (UNIT == MXV_UNIT_E4M3) {
        uint16_t bytes; // saturating
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bytes) : "f"(high), "f"(low));
        return bytes;
    }
    if constexpr (UNIT == MXV_UNIT_F16)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

#endif
