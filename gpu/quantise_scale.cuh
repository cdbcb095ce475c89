// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Scale of a block from its largest magnitude: E8M0 by the rules of <mxverify/policies.def>
// (scale_rule), E4M3 by the NVFP4 orders of operations of published quantisers (nvfp4_order).
//
// E8M0 rules are integer comparisons of 24-bit significands, never a logarithm; what binary32 log2f
// adds in the two libm rules is the closed form of formats/scale.c. NVFP4 orders are correctly
// rounded binary32 operations, named. Where E4M3(amax / 6) is meant exactly, the quotient rounded
// to binary32 first gives the same code: it meets a midpoint t only when amax = 6 t, since the next
// binary32 number lies further than half an ulp of t away. gpu/device_check fails if this is wrong.
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

// NVFP4: the stored byte, and what elements meet.
struct nvfp4_scale {
    uint8_t byte;
    float factor;  // multiplier or divisor, NaN for a block with NaN; NEAR: value of the byte
    float inverse; // NEAR: 1 / factor rounded, 0 for factor 0
};

// How elements are brought to E2M1: order exact without tensor scale and with one, a factor, a
// divisor.
enum nvfp4_how { NVFP4_NEAR, NVFP4_TENSOR, NVFP4_FACTOR, NVFP4_DIVISOR };

static inline enum nvfp4_how how_of(enum mxv_gpu_nvfp4_order order, bool tensor_scaled)
{
    return order == MXV_GPU_NVFP4_EXACT ? (tensor_scaled ? NVFP4_TENSOR : NVFP4_NEAR)
           : order == MXV_GPU_NVFP4_MODELOPT || order == MXV_GPU_NVFP4_MODELOPT_STATIC
               ? NVFP4_DIVISOR
               : NVFP4_FACTOR;
}

static __device__ __forceinline__ float at_least(float a, float bound)
{
    return a != a || a > bound ? a : bound;
}

static __device__ __forceinline__ float at_most(float a, float bound)
{
    return a != a || a < bound ? a : bound;
}

#define NVFP4_FLT_MAX __uint_as_float(0x7f7fffffu)

// What follows from the tensor's largest magnitude g alone.
struct nvfp4_tensor {
    float g, encode, decode; // decode: g / 2688; FACTOR of te and trtllm: 1 / encode
    float scale_factor;      // of the block maximum (te), 1 / decode (torchao)
};

// tensor_amax: device memory, or NULL for no tensor scale.
template <int HOW>
static __device__ __forceinline__ struct nvfp4_tensor
nvfp4_tensor_of(enum mxv_gpu_nvfp4_order order, const float *tensor_amax)
{
    struct nvfp4_tensor t = {2688.0f, 1, 1, 1};
    if constexpr (HOW == NVFP4_NEAR)
        return t;
    const float given = tensor_amax ? fabsf(*tensor_amax) : 0.0f;
    t.g = given == 0 ? 2688.0f : given;
    t.decode = __fdiv_rn(t.g, 2688.0f);
    if constexpr (HOW == NVFP4_FACTOR) {
        if (order == MXV_GPU_NVFP4_TORCHAO) {
            t.scale_factor = __fdiv_rn(1.0f, t.decode);
            return t;
        }
        t.encode = __fdiv_rn(2688.0f, t.g);
        if (order == MXV_GPU_NVFP4_TE)
            t.encode = t.encode == 0 ? 1.0f : at_most(t.encode, NVFP4_FLT_MAX);
        t.decode = __fdiv_rn(1.0f, t.encode);
        t.scale_factor = __fmul_rn(t.encode, __fdiv_rn(1.0f, 6.0f));
    }
    return t;
}

// E4M3 of b * 448 / g, the exact quotient rounded once: binary64 keeps 30 bits more than midpoint
// comparisons need, and the step to binary32 is made odd.
static __device__ __forceinline__ uint8_t exact_scale(float g, float b)
{
    const double q = __ddiv_rn(__dmul_rn((double)b, 448.0), (double)g);
    float f = __double2float_rz(q);
    if ((double)f != q)
        f = __uint_as_float(__float_as_uint(f) | 1u);
    return (uint8_t)to_fp8(f, false);
}

// The block scale before it is rounded to E4M3, orders that multiply elements.
static __device__ __forceinline__ float factor_scale(enum mxv_gpu_nvfp4_order order,
                                                     struct nvfp4_tensor t, float b)
{
    if (order == MXV_GPU_NVFP4_TE)
        return __fmul_rn(b, t.scale_factor);
    if (order == MXV_GPU_NVFP4_TRTLLM)
        return __fmul_rn(t.encode, __fmul_rn(b, __fdiv_rn(1.0f, 6.0f)));
    const float sixth = __fdiv_rn(b, 6.0f);
    return order == MXV_GPU_NVFP4_SAGE3
               ? sixth
               : at_most(at_least(__fdiv_rn(sixth, t.decode), 0x1p-6f), 448.0f);
}

static __device__ __forceinline__ float element_factor(enum mxv_gpu_nvfp4_order order,
                                                       struct nvfp4_tensor t, float scale)
{
    if (order == MXV_GPU_NVFP4_TORCHAO)
        return __fdiv_rn(t.scale_factor, scale);
    if (order != MXV_GPU_NVFP4_TE && scale == 0)
        return 0;
    const float m =
        __fdiv_rn(1.0f, order == MXV_GPU_NVFP4_SAGE3 ? scale : __fmul_rn(scale, t.decode));
    return order == MXV_GPU_NVFP4_TE ? at_most(m, NVFP4_FLT_MAX) : m;
}

// The same for orders that divide them.
static __device__ __forceinline__ float divisor_scale(enum mxv_gpu_nvfp4_order order,
                                                      struct nvfp4_tensor t, float b)
{
    if (order == MXV_GPU_NVFP4_MODELOPT) {
        const float q = __fdiv_rn(b, __fmul_rn(6.0f, t.decode));
        return at_least(q == 0 ? 1.0f : q, 0x1p-9f);
    }
    const float sixth = __fdiv_rn(b, 6.0f), filled = sixth == 0 ? 1.0f : sixth;
    const float q = __fdiv_rn(__fmul_rn(filled, 448.0f), __fdiv_rn(t.g, 6.0f));
    return at_most(at_least(q, 0x1p-9f), 448.0f);
}

// b / 6 rounded to binary32, as far as E4M3 can tell: one correction step, and Inf is any number
// beyond 2688.
static __device__ __forceinline__ float sixth_of(float b)
{
    const float a = fminf(b, NVFP4_FLT_MAX), q = __fmul_rn(a, 1.0f / 6.0f);
    return __fmaf_rn(__fmaf_rn(-q, 6.0f, a), 1.0f / 6.0f, q);
}

// 1 / s for the value s of an E4M3 code, rounded to binary32: one step from rcp.approx.
static __device__ __forceinline__ float inverse_of(float s)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(s));
    return __fmaf_rn(__fmaf_rn(-s, r, 1.0f), r, r);
}

template <int HOW>
static __device__ __forceinline__ struct nvfp4_scale
nvfp4_scale_of(enum mxv_gpu_nvfp4_order order, struct nvfp4_tensor t, uint32_t amax)
{
    const float b = __uint_as_float(amax);
    struct nvfp4_scale s = {0x7F, __uint_as_float(0x7fffffffu), 0};
    if (amax > 0x7f800000u)
        return s;
    if constexpr (HOW == NVFP4_NEAR) {
        s.byte = (uint8_t)to_fp8(sixth_of(b), false);
        s.factor = fp8_value(s.byte, false);
        s.inverse = s.byte == 0 ? 0.0f : inverse_of(s.factor);
    } else if constexpr (HOW == NVFP4_TENSOR) {
        s.byte = exact_scale(t.g, b);
        s.factor = fp8_value(s.byte, false);
        s.inverse = t.g;
    } else {
        s.byte = (uint8_t)to_fp8(
            HOW == NVFP4_FACTOR ? factor_scale(order, t, b) : divisor_scale(order, t, b), false);
        const float value = fp8_value(s.byte, false);
        s.factor = amax == 0             ? 1.0f
                   : HOW == NVFP4_FACTOR ? element_factor(order, t, value)
                                         : __fmul_rn(value, t.decode);
    }
    return s;
}

#endif
