// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See check_units.h. Fragments as in PTX ISA, "Matrix fragments for mma": a thread holds 4-byte
// pieces of rows g and g + 8 of A and of row g of B's transpose.
#include "check_units.h"
#include "softmax.cuh"

#include <cuda_fp8.h>

template <int OP> static __device__ uint32_t word_op(uint32_t word)
{
    const float x = __uint_as_float(word);
    float y = 0;
    if constexpr (OP == MXV_CHECK_EX2_FTZ)
        y = exp2_approx(x);
    else if constexpr (OP == MXV_CHECK_RCP_FTZ)
        y = reciprocal_approx(x);
    else if constexpr (OP == MXV_CHECK_RSQRT_FTZ)
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    else if constexpr (OP == MXV_CHECK_LG2_FTZ)
        y = log2_approx(x);
    else if constexpr (OP == MXV_CHECK_EX2)
        asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    else if constexpr (OP == MXV_CHECK_RCP)
        asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    else if constexpr (OP == MXV_CHECK_RSQRT)
        asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    else if constexpr (OP == MXV_CHECK_LG2)
        asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    else if constexpr (OP == MXV_CHECK_EX2_POLY)
        y = exp2_poly(x);
    else if constexpr (OP == MXV_CHECK_TO_F16)
        return pack_pair<MXV_UNIT_F16>(x, 0) & 0xffff;
    else if constexpr (OP == MXV_CHECK_TO_BF16)
        return pack_pair<MXV_UNIT_BF16>(x, 0) & 0xffff;
    else if constexpr (OP == MXV_CHECK_TO_E4M3)
        return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    else
        return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
    return __float_as_uint(y);
}

template <int OP>
static __global__ void words(uint32_t first, uint32_t stride, uint32_t n, uint32_t *out)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        out[i] = word_op<OP>(first + (uint32_t)i * stride);
}

extern "C" int mxv_check_words(enum mxv_check_word_op op, uint32_t first, uint32_t stride,
                               uint32_t n, uint32_t *out)
{
    switch (op) {
#define X(id, text)                                                                                \
    case MXV_CHECK_##id:                                                                           \
        words<MXV_CHECK_##id><<<2048, 256>>>(first, stride, n, out);                               \
        break;
        MXV_CHECK_WORD_OPS(X)
#undef X
    default:
        return (int)cudaErrorInvalidValue;
    }
    return (int)cudaGetLastError();
}

#define MULTIPLY(text, type)                                                                       \
    asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"    \
                 : "+" type(d[0]), "+" type(d[1]), "+" type(d[2]), "+" type(d[3])                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <int OP>
static __global__ void tiles(const uint8_t *ma, const uint8_t *mb, const uint32_t *mc, uint32_t *md)
{
    const int g = threadIdx.x / 4, q = threadIdx.x % 4;
    const uint32_t *ra = (const uint32_t *)(ma + blockIdx.x * (size_t)512);
    const uint32_t *rb = (const uint32_t *)(mb + blockIdx.x * (size_t)256);
    const uint32_t a[4] = {ra[g * 8 + q], ra[(g + 8) * 8 + q], ra[g * 8 + 4 + q],
                           ra[(g + 8) * 8 + 4 + q]};
    const uint32_t b[2] = {rb[g * 8 + q], rb[g * 8 + 4 + q]};
    uint32_t words[4];
    for (int i = 0; i < 4; i++)
        words[i] = mc[blockIdx.x * (size_t)128 + (g + i / 2 * 8) * 8 + q * 2 + i % 2];
    if constexpr (OP == MXV_CHECK_MMA_S8) {
        int d[4] = {(int)words[0], (int)words[1], (int)words[2], (int)words[3]};
        MULTIPLY("m16n8k32.row.col.s32.s8.s8.s32", "r");
        for (int i = 0; i < 4; i++)
            words[i] = (uint32_t)d[i];
    } else {
        float d[4];
        for (int i = 0; i < 4; i++)
            d[i] = __uint_as_float(words[i]);
#define X(id, model, k, bytes, text)                                                               \
    if constexpr (OP == MXV_CHECK_MMA_##id && MXV_CHECK_MMA_##id != MXV_CHECK_MMA_S8)              \
        MULTIPLY(text, "f");
        X(F16, , , , "m16n8k16.row.col.f32.f16.f16.f32")
        X(BF16, , , , "m16n8k16.row.col.f32.bf16.bf16.f32")
        X(TF32, , , , "m16n8k8.row.col.f32.tf32.tf32.f32")
#if __CUDA_ARCH__ >= 890
        X(E4M3, , , , "m16n8k32.row.col.f32.e4m3.e4m3.f32")
        X(E5M2, , , , "m16n8k32.row.col.f32.e5m2.e5m2.f32")
#endif
#undef X
        for (int i = 0; i < 4; i++)
            words[i] = __float_as_uint(d[i]);
    }
    for (int i = 0; i < 4; i++)
        md[blockIdx.x * (size_t)128 + (g + i / 2 * 8) * 8 + q * 2 + i % 2] = words[i];
}

extern "C" int mxv_check_mma(enum mxv_check_mma_op op, size_t count, const uint8_t *a,
                             const uint8_t *b, const uint32_t *c, uint32_t *d)
{
    switch (op) {
#define X(id, model, k, bytes, text)                                                               \
    case MXV_CHECK_MMA_##id:                                                                       \
        tiles<MXV_CHECK_MMA_##id><<<(unsigned)count, 32>>>(a, b, c, d);                            \
        break;
        MXV_CHECK_MMA_OPS(X)
#undef X
    default:
        return (int)cudaErrorInvalidValue;
    }
    return (int)cudaGetLastError();
}
