// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 scale of a block from its largest magnitude, by the orders of operations of published
// quantisers (<mxverify/policies.def>, nvfp4_order): correctly rounded binary32 operations, named.
//
// Order exact without tensor scale: where E4M3(amax / 6) is meant exactly, the quotient rounded to
// binary32 first gives the same code: it meets a midpoint t only when amax = 6 t, since the next
// binary32 number lies further than half an ulp of t away.
//
// Everything else reads a table over the scale bytes, filled once a call (quantise_table.cuh). Of a
// positive maximum the byte is a monotone function, so one product and a conversion, at most a
// little off, give a byte whose least and next maximum in the table prove or refute it; then the
// byte beside it is tried. Only a block that neither fits, as when its maximum is not 0 and not
// 2^-60 .. 2^60, takes the order's own steps. gpu/device_check fails if this is wrong.
#ifndef MXV_GPU_QUANTISE_NVFP4_CUH
#define MXV_GPU_QUANTISE_NVFP4_CUH

#include "quantise_scale.cuh"

// A block's scale and what its elements meet.
struct nvfp4_scale {
    uint32_t byte;    // ZERO_BLOCK more for one of zeros
    float factor;     // what elements are multiplied or divided by; NEAR, TENSOR: the byte's value
    float multiplier; // NEAR: 1 / factor, rounded, 0 for factor 0; others: see struct nvfp4_entry
};

enum { ZERO_BLOCK = 256 };

// How elements are brought to E2M1: order exact without tensor scale and with one, a factor, a
// divisor; any but the first by a multiplier that was checked.
enum nvfp4_how { NVFP4_NEAR, NVFP4_TENSOR, NVFP4_FACTOR, NVFP4_DIVISOR, NVFP4_CHECKED };

static __host__ __device__ inline enum nvfp4_how how_of(enum mxv_gpu_nvfp4_order order,
                                                        bool tensor_scaled)
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

static __device__ __forceinline__ bool within(float x, float least, float most)
{
    return (x >= least) & (x <= most);
}

#define NVFP4_FLT_MAX __uint_as_float(0x7f7fffffu)

// What follows from the tensor's largest magnitude g alone. rate, floor: a block's scale before it
// is rounded is about its maximum times rate, at least floor; zero_byte: that of maximum 0.
struct nvfp4_tensor {
    float g, encode, decode; // decode: g / 2688; of te and trtllm: 1 / encode
    float scale_factor;      // te: of the block maximum; torchao: 1 / decode
    float divisor;           // modelopt: 6 decode; modelopt_static: g / 6
    float rate, floor;
    uint32_t zero_byte;
};

// What follows from the tensor and a block's scale byte. multiplier m, NaN where there is none, so
// that words of E2M1 codes (quantise_e2m1.cuh) of values x are
//   CHECKED: of |x| m + 1/2 (quantise_table.cuh);
//   FACTOR: of |x| m, an eighth of the factor;
//   TENSOR: where |x| m (1 - 2^-21) and |x| m (1 + 2^-21), on both sides of an eighth of the
//     quotient, have one word, that word;
//   DIVISOR: by the quotient's remainder, m = 1 / factor.
struct alignas(16) nvfp4_entry {
    float multiplier, factor;
    uint32_t least, next; // words of maxima that have this byte: from least on, below next
};

struct nvfp4_table {
    struct nvfp4_entry entry[128];
    struct nvfp4_tensor tensor;
};

static __device__ __forceinline__ struct nvfp4_entry load_entry(const struct nvfp4_table *table,
                                                                uint32_t byte)
{
    const uint4 w = __ldg((const uint4 *)&table->entry[byte]);
    return {__uint_as_float(w.x), __uint_as_float(w.y), w.z, w.w};
}

// E4M3 of b * 448 / g, the exact quotient rounded once: binary64 keeps 30 bits more than midpoint
// comparisons need, and the step to binary32 is made odd.
static __device__ __forceinline__ uint32_t exact_scale(float g, float b)
{
    const double q = __ddiv_rn(__dmul_rn((double)b, 448.0), (double)g);
    float f = __double2float_rz(q);
    if ((double)f != q)
        f = __uint_as_float(__float_as_uint(f) | 1u);
    return to_fp8(f, false);
}

// The block scale before it is rounded to E4M3, orders but exact.
static __device__ __forceinline__ float scale_before(enum mxv_gpu_nvfp4_order order,
                                                     const struct nvfp4_tensor &t, float b)
{
    const float sixth = __fdiv_rn(b, 6.0f);
    switch (order) {
    case MXV_GPU_NVFP4_TE:
        return __fmul_rn(b, t.scale_factor);
    case MXV_GPU_NVFP4_TRTLLM:
        return __fmul_rn(t.encode, __fmul_rn(b, __fdiv_rn(1.0f, 6.0f)));
    case MXV_GPU_NVFP4_TORCHAO:
        return at_most(at_least(__fdiv_rn(sixth, t.decode), t.floor), 448.0f);
    case MXV_GPU_NVFP4_MODELOPT: {
        const float q = __fdiv_rn(b, t.divisor);
        return at_least(q == 0 ? 1.0f : q, t.floor);
    }
    case MXV_GPU_NVFP4_MODELOPT_STATIC: {
        const float filled = __fmul_rn(sixth == 0 ? 1.0f : sixth, 448.0f);
        return at_most(at_least(__fdiv_rn(filled, t.divisor), t.floor), 448.0f);
    }
    default:
        return sixth;
    }
}

// The scale byte of any maximum by the order's own steps. Not in line: it is seldom needed.
static __device__ __noinline__ uint32_t byte_by_steps(enum mxv_gpu_nvfp4_order order,
                                                      const struct nvfp4_tensor &t, uint32_t amax)
{
    const float b = __uint_as_float(amax);
    if (amax > 0x7f800000u)
        return 0x7F;
    return order == MXV_GPU_NVFP4_EXACT ? exact_scale(t.g, b)
                                        : to_fp8(scale_before(order, t, b), false);
}

// What elements are multiplied or divided by under a scale.
static __device__ __forceinline__ float element_factor(enum mxv_gpu_nvfp4_order order,
                                                       const struct nvfp4_tensor &t, float scale)
{
    switch (order) {
    case MXV_GPU_NVFP4_EXACT:
        return scale;
    case MXV_GPU_NVFP4_TORCHAO:
        return __fdiv_rn(t.scale_factor, scale);
    case MXV_GPU_NVFP4_MODELOPT:
    case MXV_GPU_NVFP4_MODELOPT_STATIC:
        return __fmul_rn(scale, t.decode);
    case MXV_GPU_NVFP4_TE:
        return at_most(__fdiv_rn(1.0f, __fmul_rn(scale, t.decode)), NVFP4_FLT_MAX);
    case MXV_GPU_NVFP4_TRTLLM:
        return scale == 0 ? 0 : __fdiv_rn(1.0f, __fmul_rn(scale, t.decode));
    default:
        return scale == 0 ? 0 : __fdiv_rn(1.0f, scale);
    }
}

static __device__ __forceinline__ bool belongs(uint32_t amax, struct nvfp4_entry e)
{
    return (amax == 0) | ((amax >= e.least) & (amax < e.next));
}

// The byte of a maximum and its entry when the byte that was found may be wrong: if the one beside
// it is not right, by the order's own steps.
static __device__ __forceinline__ struct nvfp4_entry
entry_again(enum mxv_gpu_nvfp4_order order, const struct nvfp4_table *table, uint32_t amax,
            struct nvfp4_entry e, uint32_t *byte)
{
    if (belongs(amax, e))
        return e;
    *byte = (*byte + (amax >= e.next) - (amax < e.least)) & 0x7Fu;
    e = load_entry(table, *byte);
    if (belongs(amax, e))
        return e;
    *byte = byte_by_steps(order, table->tensor, amax);
    return load_entry(table, *byte);
}

// Scales of a lane's blocks, all but NEAR.
template <int COUNT>
static __device__ __forceinline__ void
nvfp4_scales(enum mxv_gpu_nvfp4_order order, const struct nvfp4_table *table,
             const struct nvfp4_tensor &t, const uint32_t amax[COUNT], struct nvfp4_scale s[COUNT])
{
    struct nvfp4_entry e[COUNT];
    bool sure = true;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const float about = fmaxf(__fmul_rn(__uint_as_float(amax[i]), t.rate), t.floor);
        s[i].byte = amax[i] == 0 ? t.zero_byte : to_fp8(about, false);
        e[i] = load_entry(table, s[i].byte);
        sure &= belongs(amax[i], e[i]);
    }
    if (!sure)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            e[i] = entry_again(order, table, amax[i], e[i], &s[i].byte);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        s[i].byte += amax[i] == 0 ? ZERO_BLOCK : 0;
        s[i].factor = amax[i] == 0 ? 1.0f : e[i].factor;
        s[i].multiplier = amax[i] == 0 ? 0.0f : e[i].multiplier;
    }
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

// NEAR.
static __device__ __forceinline__ struct nvfp4_scale near_scale(uint32_t amax)
{
    const float nan = __uint_as_float(0x7fffffffu);
    struct nvfp4_scale s = {0x7F, nan, nan};
    if (amax <= 0x7f800000u) {
        s.byte = to_fp8(sixth_of(__uint_as_float(amax)), false);
        s.factor = fp8_value((uint8_t)s.byte, false);
        s.multiplier = s.byte == 0 ? 0.0f : inverse_of(s.factor);
    }
    return s;
}

#endif
