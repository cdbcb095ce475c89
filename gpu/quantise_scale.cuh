// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E8M0 scale of a block from its largest magnitude, by the rules of <mxverify/policies.def>
// (scale_rule): integer comparisons of 24-bit significands, never a logarithm; what binary32 log2f
// adds in the two libm rules is the closed form of formats/scale.c. gpu/device_check fails if this
// is wrong.
#ifndef MXV_GPU_QUANTISE_SCALE_CUH
#define MXV_GPU_QUANTISE_SCALE_CUH

#include "source.cuh"

#include <cuda_fp8.h>

static __device__ __forceinline__ uint32_t to_fp8(float x, bool e5m2)
{
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, e5m2 ? __NV_E5M2 : __NV_E4M3);
}

static __device__ __forceinline__ float fp8_value(uint8_t code, bool e5m2)
{
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, e5m2 ? __NV_E5M2 : __NV_E4M3)));
}

static __device__ __forceinline__ float power_of_two(int exponent) // -149 .. 127
{
    return __uint_as_float(exponent < -126 ? 1u << (exponent + 149)
                                           : (uint32_t)(exponent + 127) << 23);
}

// Elements of a block format. The largest number is `largest` (significand in [2^23, 2^24)) times
// 2^emax.
struct element {
    int bits, frac_bits, emax;
    uint32_t largest;
};

static __host__ __device__ constexpr struct element element_of(int format)
{
    return format == MXV_GPU_MXFP8_E4M3   ? element{8, 3, 8, 0xE00000}  // 448
           : format == MXV_GPU_MXFP8_E5M2 ? element{8, 2, 15, 0xE00000} // 57344
           : format == MXV_GPU_MXFP6_E2M3 ? element{6, 3, 2, 0xF00000}  // 7.5
           : format == MXV_GPU_MXFP6_E3M2 ? element{6, 2, 4, 0xE00000}  // 28
           : format == MXV_GPU_MXINT8     ? element{8, 6, 0, 0xFE0000}  // 127 / 64
                                          : element{4, 1, 2, 0xC00000};     // 6
}

struct normalised { // sig * 2^(exponent - 23), sig in [2^23, 2^24)
    int exponent;
    uint32_t sig;
};

static __device__ __forceinline__ struct normalised normalise(uint32_t word) // finite, positive
{
    const uint32_t fraction = word & 0x7fffffu;
    if (word >> 23)
        return {(int)(word >> 23) - 127, fraction | 1u << 23};
    const int up = __clz((int)fraction) - 8;
    return {-126 - up, fraction << up};
}

// floor(2^m ln 2); see formats/scale.c.
static __device__ __forceinline__ uint32_t log2_slack(int m)
{
    return m < 0 ? 0 : 22713u >> (15 - m); // 22713 = floor(2^15 ln 2); m is at most 7
}

static __device__ __forceinline__ int top_bit(int x)
{
    return 31 - __clz(x);
}

// floor(log2f(x)) and ceil(log2f(x)), log2f correctly rounded to binary32.
static __device__ __forceinline__ int log2_floor_libm(struct normalised x)
{
    const int k = x.exponent + 1;
    if (k == 0 || k == 1)
        return x.exponent;
    return (1u << 24) - x.sig <= log2_slack(top_bit(k > 0 ? k - 1 : -k)) ? k : x.exponent;
}

static __device__ __forceinline__ int log2_ceil_libm(struct normalised x)
{
    const int k = x.exponent;
    const uint32_t above = x.sig - (1u << 23);
    if (above == 0)
        return k;
    if (k == 0 || k == -1)
        return k + 1;
    return above <= log2_slack(top_bit(k > 0 ? k : -k - 1) - 1) ? k : k + 1;
}

// The quotient amax / largest is made in binary64, where one correction step rounds it correctly;
// its way to binary32 is a single rounding, as ratios of 24 by 7 bits are no midpoints nearly.
static __device__ __forceinline__ int ceil_libm(struct element e, uint32_t amax)
{
    const double largest = (double)power_of_two(e.emax - 23) * e.largest;
    const double inverse = 1.0 / largest, a = (double)__uint_as_float(amax); // of constants
    const double q = __dmul_rn(a, inverse), rest = __fma_rn(-q, largest, a);
    const uint32_t quotient = __float_as_uint(__double2float_rn(__fma_rn(rest, inverse, q)));
    return quotient == 0 ? -1024 : log2_ceil_libm(normalise(quotient));
}

static __device__ __forceinline__ int scale_exponent(enum mxv_gpu_scale_rule rule, struct element e,
                                                     uint32_t amax)
{
    const struct normalised a = normalise(amax);
    const uint32_t sig = a.sig;
    const int shrink = a.exponent - e.emax, ratio_floor = shrink - (sig < e.largest);
    const uint64_t m = e.largest, ratio = (uint64_t)sig << (sig < e.largest);
    const int drop = 23 - e.frac_bits;
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
    case MXV_GPU_RULE_FLOOR_LIBM:
        return log2_floor_libm(a) - e.emax;
    case MXV_GPU_RULE_CEIL_LIBM:
        return ceil_libm(e, amax);
    default:
        return shrink;
    }
}

// E8M0 code of a largest magnitude: FF for NaN, and for Inf if `inf_is_nan`, else FE.
static __device__ __forceinline__ uint32_t scale_code(enum mxv_gpu_scale_rule rule,
                                                      struct element e, uint32_t amax,
                                                      bool inf_is_nan)
{
    if (amax >= 0x7f800000u)
        return amax > 0x7f800000u || inf_is_nan ? 0xFF : 0xFE;
    if (amax == 0)
        return 0;
    if (rule == MXV_GPU_RULE_FLOOR) // below the normal numbers it is 0 anyway
        return (uint32_t)max((int)(amax >> 23) - e.emax, 0);
    return (uint32_t)min(max(scale_exponent(rule, e, amax) + 127, 0), 0xFE);
}

#endif
