// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers MXFP8 (E4M3, E5M2), MXFP4 and NVFP4, and the way back to bf16 (operands.h; OCP
// Microscaling v1.0, 6.3; docs/kernels/dma.md 1.4). One thread a block.
//
// Dividing by an E8M0 scale is one multiplication by a power of two: exact, or below every
// threshold of the element format (a product that is rounded is a binary32 subnormal). E8M0 rules
// are integer comparisons of 24-bit significands. NVFP4 divides by the stored scale.
// gpu/cuda_verify compares codes and scales with the emulation's taps; gpu/device_check compares
// blocks over all scale rules with formats/.
#include "source.cuh"

#include <cuda_fp8.h>

struct element { // of an MX block
    int emax;    // of its largest normal number, whose significand in [2^23, 2^24) is `largest`
    uint32_t largest;
    int frac_bits;
};

static __device__ __forceinline__ struct element element_of(enum mxv_gpu_block_format format)
{
    if (format == MXV_GPU_MXFP8_E4M3)
        return {8, 0xE00000, 3}; // 448
    if (format == MXV_GPU_MXFP8_E5M2)
        return {15, 0xE00000, 2}; // 57344
    return {2, 0xC00000, 1};      // 6
}

static __device__ __forceinline__ int scale_exponent(enum mxv_gpu_scale_rule rule, struct element e,
                                                     int exponent, uint32_t sig)
{
    const int shrink = exponent - e.emax;
    const uint64_t m = e.largest, ratio = (uint64_t)sig << (sig < e.largest);
    const int ratio_floor = shrink - (sig < e.largest);
    const unsigned drop = 23 - e.frac_bits;
    const uint32_t kept = (sig + (1u << (drop - 1)) - 1 + (sig >> drop & 1)) >> drop << drop;
    switch (rule) {
    case MXV_GPU_RULE_RCEIL:
        return shrink + (sig > e.largest);
    case MXV_GPU_RULE_CEIL:
        return shrink + (sig != 1u << 23);
    case MXV_GPU_RULE_EVEN:
        return shrink + (int)((sig + (1u << (22 - e.frac_bits))) >> 24);
    case MXV_GPU_RULE_RATIO_FLOOR:
        return ratio_floor;
    case MXV_GPU_RULE_NEAR15:
        return ratio_floor + (2 * ratio >= 3 * m);
    case MXV_GPU_RULE_NEAR_SQRT2:
        return ratio_floor + (ratio * ratio >= 2 * m * m);
    case MXV_GPU_RULE_MIDMAX:
        return shrink + (kept > e.largest);
    default:
        return shrink;
    }
}

// E8M0 code of a block's amax, which is not NaN.
static __device__ __forceinline__ uint8_t scale_code(enum mxv_gpu_scale_rule rule,
                                                     enum mxv_gpu_block_format format, float amax)
{
    const uint32_t word = __float_as_uint(amax);
    if (word == 0)
        return 0;
    if (word == 0x7f800000u)
        return 0xFE;
    const uint32_t fraction = word & 0x7fffffu;
    const int up = word >> 23 ? 0 : __clz((int)fraction) - 8; // subnormal: shift to normal
    const int exponent = word >> 23 ? (int)(word >> 23) - 127 : -126 - up;
    const uint32_t sig = word >> 23 ? fraction | 1u << 23 : fraction << up;
    const int code = scale_exponent(rule, element_of(format), exponent, sig) + 127;
    return (uint8_t)min(max(code, 0), 0xFE);
}

static __device__ __forceinline__ float power_of_two(int exponent) // -127 .. 127
{
    return __uint_as_float(exponent == -127 ? 0x00400000u : (uint32_t)(exponent + 127) << 23);
}

// E2M1, nearest even, saturating; y is not NaN.
static __device__ __forceinline__ uint32_t e2m1_code(float y)
{
    const float a = fabsf(y);
    const uint32_t magnitude = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) +
                               (a > 2.5f) + (a >= 3.5f) + (a > 5.0f);
    return __float_as_uint(y) >> 31 << 3 | magnitude;
}

static __device__ __forceinline__ float e2m1_value(uint32_t code)
{
    const uint32_t exponent = code >> 1 & 3, fraction = code & 1;
    const float magnitude = exponent ? __uint_as_float((126 + exponent) << 23 | fraction << 22)
                                     : 0.5f * (float)fraction;
    return code >> 3 & 1 ? -magnitude : magnitude;
}

static __device__ __forceinline__ float fp8_value(uint8_t code, bool e5m2)
{
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, e5m2 ? __NV_E5M2 : __NV_E4M3)));
}

template <int FORMAT> static __device__ __forceinline__ uint32_t element_code(float y)
{
    if constexpr (FORMAT == MXV_GPU_MXFP8_E4M3)
        return __nv_cvt_float_to_fp8(y, __NV_SATFINITE, __NV_E4M3);
    else if constexpr (FORMAT == MXV_GPU_MXFP8_E5M2)
        return __nv_cvt_float_to_fp8(y, __NV_SATFINITE, __NV_E5M2);
    else
        return e2m1_code(y);
}

// Scale byte of a block, and what its elements are divided by as a function of the byte.
template <int FORMAT>
static __device__ __forceinline__ uint8_t block_scale(enum mxv_gpu_scale_rule rule, float amax,
                                                      bool nan)
{
    if constexpr (FORMAT == MXV_GPU_NVFP4)
        return nan ? 0x7F : __nv_cvt_float_to_fp8(__fdiv_rn(amax, 6.0f), __NV_SATFINITE, __NV_E4M3);
    else
        return nan ? 0xFF : scale_code(rule, (enum mxv_gpu_block_format)FORMAT, amax);
}

template <int FORMAT>
static __device__ __forceinline__ uint32_t scaled_code(float x, uint8_t scale, bool nan)
{
    if (nan)
        return 0;
    if constexpr (FORMAT == MXV_GPU_NVFP4) {
        const float divisor = fp8_value(scale, false);
        return e2m1_code(divisor == 0 ? copysignf(0.0f, x) : __fdiv_rn(x, divisor));
    } else {
        return element_code<FORMAT>(__fmul_rn(x, power_of_two(127 - (int)scale)));
    }
}

template <int FORMAT>
static __global__ void quantise_blocks(const struct mxv_gpu_rows s, enum mxv_gpu_scale_rule rule,
                                       uint8_t *codes, uint8_t *scales)
{
    constexpr int SIZE = FORMAT == MXV_GPU_NVFP4 ? 16 : 32;
    const size_t block = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int per_row = s.d / SIZE;
    if (block >= (size_t)s.heads * s.tokens * per_row)
        return;
    const int first = (int)(block % per_row) * SIZE;
    float x[SIZE], amax = 0;
    bool nan = false;
#pragma unroll
    for (int i = 0; i < SIZE; i++) {
        x[i] = source_value(s, block / per_row, first + i);
        amax = fmaxf(amax, fabsf(x[i]));
        nan = nan || x[i] != x[i];
    }
    const uint8_t scale = block_scale<FORMAT>(rule, amax, nan);
    scales[block] = scale;
    constexpr bool PACKED = FORMAT == MXV_GPU_MXFP4 || FORMAT == MXV_GPU_NVFP4;
    constexpr int PER_WORD = PACKED ? 8 : 4, BITS = 32 / PER_WORD;
    uint32_t *out = (uint32_t *)codes + block * (SIZE / PER_WORD);
#pragma unroll
    for (int i = 0; i < SIZE / PER_WORD; i++) {
        uint32_t word = 0;
#pragma unroll
        for (int k = 0; k < PER_WORD; k++)
            word |= scaled_code<FORMAT>(x[i * PER_WORD + k], scale, nan) << (k * BITS);
        out[i] = word;
    }
}

extern "C" int mxv_gpu_quantise(const struct mxv_gpu_rows *rows, enum mxv_gpu_block_format format,
                                enum mxv_gpu_scale_rule rule, uint8_t *codes, uint8_t *scales)
{
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d / mxv_gpu_block_size(format);
    const unsigned blocks = linear_blocks(n);
    if (n == 0)
        return (int)cudaSuccess;
    if (format == MXV_GPU_MXFP8_E4M3)
        quantise_blocks<MXV_GPU_MXFP8_E4M3>
            <<<blocks, MXV_GPU_LINEAR_THREADS>>>(*rows, rule, codes, scales);
    else if (format == MXV_GPU_MXFP8_E5M2)
        quantise_blocks<MXV_GPU_MXFP8_E5M2>
            <<<blocks, MXV_GPU_LINEAR_THREADS>>>(*rows, rule, codes, scales);
    else if (format == MXV_GPU_MXFP4)
        quantise_blocks<MXV_GPU_MXFP4>
            <<<blocks, MXV_GPU_LINEAR_THREADS>>>(*rows, rule, codes, scales);
    else
        quantise_blocks<MXV_GPU_NVFP4>
            <<<blocks, MXV_GPU_LINEAR_THREADS>>>(*rows, rule, codes, scales);
    return (int)cudaGetLastError();
}

static __global__ void decode_blocks(enum mxv_gpu_block_format format, int size,
                                     const uint8_t *codes, const uint8_t *scales, size_t elements,
                                     __nv_bfloat16 *out)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements)
        return;
    const bool packed = format == MXV_GPU_MXFP4 || format == MXV_GPU_NVFP4;
    const uint8_t byte = scales[i / size];
    const float scale = format == MXV_GPU_NVFP4 ? fp8_value(byte, false)
                        : byte == 0xFF          ? __uint_as_float(0x7fffffffu)
                                                : power_of_two((int)byte - 127);
    const float value = packed ? e2m1_value(codes[i / 2] >> (i % 2 * 4) & 15u)
                               : fp8_value(codes[i], format == MXV_GPU_MXFP8_E5M2);
    out[i] = __float2bfloat16_rn(__fmul_rn(value, scale));
}

extern "C" int mxv_gpu_decode(enum mxv_gpu_block_format format, const uint8_t *codes,
                              const uint8_t *scales, size_t elements, uint16_t *out)
{
    if (elements)
        decode_blocks<<<linear_blocks(elements), MXV_GPU_LINEAR_THREADS>>>(
            format, mxv_gpu_block_size(format), codes, scales, elements, (__nv_bfloat16 *)out);
    return (int)cudaGetLastError();
}
