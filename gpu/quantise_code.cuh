// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Element codes of 8 neighbours of a block, given the block's scale (E2M1: quantise_e2m1.cuh).
//
// FP8: the product with a power of two, exact or far below every threshold, and the conversion
// instruction. FP6: the same for the FP8 format with as many fraction bits, at a scale where its
// subnormals are those of the FP6 format; then both have the same fields, and what exceeds 1F is
// saturated. MXINT8: one fused multiply-add that ends on 1.5 * 2^23, whose last place is 1.
//
// Values times a factor (struct mxv_gpu_rows): RN(x f) times a power of two is RN(x f 2^n) unless
// one of them leaves the normal numbers, so f 2^n is one multiplier of the block where the scale
// byte keeps it normal; what RN(x f) then rounds below 2^-126 lies below every threshold. MXINT8
// rounds that product before it adds. Other blocks take both multiplications.
//
// NVFP4 divides by an E4M3 number s. y = q + (x - q s) r with q = x r, r = 1 / s rounded, meets a
// midpoint exactly when x / s does (checked for every x and s of binary16 and bfloat16). Other
// orders: quantise_nvfp4.cuh says which multiplier stands for what they do.
#ifndef MXV_GPU_QUANTISE_CODE_CUH
#define MXV_GPU_QUANTISE_CODE_CUH

#include "quantise_e2m1.cuh"
#include "quantise_nvfp4.cuh"

// MXFP4 in pairs.
template <int SOURCE>
static __device__ __forceinline__ uint2 mxfp4_codes_of_pairs(const chunk<SOURCE> &c, int k)
{
    using P = pair<SOURCE>;
    using T = typename P::type;
    int e = min(1 - k, P::EXP_MOST); // of the slope
    uint32_t w[4] = {c.word[0], c.word[1], c.word[2], c.word[3]};
    while (e > P::EXP_MAX) { // magnitudes below 2^-10: exact
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[i] = word_of(__hmul2(pair_of<T>(w[i]), P::splat(256)));
        e -= 8;
    }
    const T slope = P::splat(power_of_two(max(e, P::EXP_MIN + 2)));
#pragma unroll
    for (int i = 0; i < 4; i++)
        w[i] = pair_magnitudes<SOURCE>(w[i], slope);
    return with_signs(four_of_pairs(w[0], w[1]), four_of_pairs(w[2], w[3]), chunk_signs<SOURCE>(c));
}

// FP8 codes of x * factor.
static __device__ __forceinline__ uint2 fp8_codes(const float x[CHUNK], float factor, bool e5m2)
{
    uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        pairs[i] = __nv_cvt_float2_to_fp8x2(
            make_float2(__fmul_rn(x[2 * i], factor), __fmul_rn(x[2 * i + 1], factor)),
            __NV_SATFINITE, e5m2 ? __NV_E5M2 : __NV_E4M3);
    return make_uint2(__byte_perm(pairs[0], pairs[1], 0x5410),
                      __byte_perm(pairs[2], pairs[3], 0x5410));
}

// Four FP8 codes whose subnormals are those of an FP6 format with the same fraction bits: the same
// fields, saturated at 1F.
static __device__ __forceinline__ uint32_t fp6_of_fp8(uint32_t w)
{
    const uint32_t magnitude = w & 0x7f7f7f7fu, beyond = (magnitude + 0x60606060u) & 0x80808080u;
    return ((magnitude | (beyond - (beyond >> 7))) & 0x1f1f1f1fu) | (w >> 2 & 0x20202020u);
}

// MXINT8 codes of x * slope: 1.5 * 2^23 leaves two's complement in the low byte. ROUNDED: the
// product is rounded to binary32 first.
template <bool ROUNDED>
static __device__ __forceinline__ uint2 mxint8_codes(const float x[CHUNK], float slope)
{
    uint32_t code[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        const float r = ROUNDED ? __fadd_rn(__fmul_rn(x[i], slope), 12582912.0f)
                                : __fmaf_rn(x[i], slope, 12582912.0f);
        code[i] = __float_as_uint(fminf(fmaxf(r, 12582785.0f), 12583039.0f));
    }
    return make_uint2(four_bytes(code[0], code[1], code[2], code[3]),
                      four_bytes(code[4], code[5], code[6], code[7]));
}

// Exponent of what mx_codes_of multiplies values of scale 2^0 by.
static __host__ __device__ constexpr int multiplier_exponent(int format)
{
    return format == MXV_GPU_MXFP6_E2M3   ? -6
           : format == MXV_GPU_MXFP6_E3M2 ? -12
           : format == MXV_GPU_MXFP4      ? 1
           : format == MXV_GPU_MXINT8     ? 6
                                          : 0;
}

// MX codes of x * multiplier, one a byte.
template <int FORMAT, bool ROUNDED>
static __device__ __forceinline__ uint2 mx_codes_of(const float x[CHUNK], float multiplier,
                                                    uint2 signs)
{
    if constexpr (FORMAT == MXV_GPU_MXFP8_E4M3 || FORMAT == MXV_GPU_MXFP8_E5M2)
        return fp8_codes(x, multiplier, FORMAT == MXV_GPU_MXFP8_E5M2);
    if constexpr (FORMAT == MXV_GPU_MXFP6_E2M3 || FORMAT == MXV_GPU_MXFP6_E3M2) {
        const uint2 w = fp8_codes(x, multiplier, FORMAT == MXV_GPU_MXFP6_E3M2);
        return make_uint2(fp6_of_fp8(w.x), fp6_of_fp8(w.y));
    }
    if constexpr (FORMAT == MXV_GPU_MXINT8)
        return mxint8_codes<ROUNDED>(x, multiplier);
    return fp4_codes(x, multiplier, signs);
}

// Scaled up when the multiplier 2^e would leave binary32: magnitudes below 2^-110, exact.
static __device__ __forceinline__ float multiplier_of(float x[CHUNK], int e)
{
    if (e > 127) {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            x[i] = __fmul_rn(x[i], 256.0f);
        e -= 8;
    }
    return power_of_two(e);
}

// MX codes of a chunk, one a byte, for scale exponent k = -127 .. 127.
template <int FORMAT, int SOURCE>
static __device__ __forceinline__ uint2 mx_codes(const chunk<SOURCE> &c, int k)
{
    if constexpr (FORMAT == MXV_GPU_MXFP4 && !chunk<SOURCE>::WIDE) {
        return mxfp4_codes_of_pairs<SOURCE>(c, k);
    } else {
        float x[CHUNK];
        widen<SOURCE>(c, x);
        const float multiplier = multiplier_of(x, multiplier_exponent(FORMAT) - k);
        return mx_codes_of<FORMAT, false>(x, multiplier, chunk_signs<SOURCE>(c));
    }
}

// The same of values times `factor`, for a scale byte that is not FF. factor: 2^-30 .. 2^30.
template <int FORMAT, int SOURCE>
static __device__ __forceinline__ uint2 mx_codes_times(const chunk<SOURCE> &c, uint32_t scale,
                                                       float factor)
{
    float x[CHUNK];
    widen<SOURCE>(c, x);
    const int e = multiplier_exponent(FORMAT) + 127 - (int)scale;
    float multiplier = factor;
    if (scale - 57 <= 150u) { // the multiplier is 2^-122 .. 2^106
        multiplier = __fmul_rn(multiplier, power_of_two(e));
    } else {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            x[i] = __fmul_rn(x[i], factor);
        multiplier = multiplier_of(x, e);
    }
    return mx_codes_of<FORMAT, true>(x, multiplier, chunk_signs<SOURCE>(c));
}

// x / s of pairs as the head comment says, then E2M1.
template <int SOURCE>
static __device__ __forceinline__ uint2 nvfp4_codes_of_pairs(const chunk<SOURCE> &c, float s,
                                                             float r)
{
    using P = pair<SOURCE>;
    using T = typename P::type;
    const T divisor = P::splat(s), inverse = P::splat(r), two = P::splat(2);
    uint32_t w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const T x = pair_of<T>(c.word[i]), q = __hmul2(x, inverse);
        const T y = __hfma2(__hfma2(__hneg2(q), divisor, x), inverse, q);
        w[i] = pair_magnitudes<SOURCE>(word_of(y), two);
    }
    return with_signs(four_of_pairs(w[0], w[1]), four_of_pairs(w[2], w[3]), chunk_signs<SOURCE>(c));
}

// Order exact with a tensor scale: |x| * 2688 against midpoint * s * g, 31 bits, exact in binary64.
static __device__ __forceinline__ uint32_t tensor_magnitude(float x, float s, float g)
{
    const double a = __dmul_rn((double)fabsf(x), 2688.0), u = __dmul_rn((double)s, (double)g);
    const uint32_t magnitude = (a > __dmul_rn(0.25, u)) + (a >= __dmul_rn(0.75, u)) +
                               (a > __dmul_rn(1.25, u)) + (a >= __dmul_rn(1.75, u)) +
                               (a > __dmul_rn(2.5, u)) + (a >= __dmul_rn(3.5, u)) +
                               (a > __dmul_rn(5.0, u));
    return s == 0 ? 0 : magnitude;
}

// The code of a value by the order's own steps. NaN gives 7.
static __device__ __forceinline__ uint32_t nvfp4_code_of(enum mxv_gpu_nvfp4_order order, float x,
                                                         float factor, float g)
{
    const enum nvfp4_how how = how_of(order, true);
    if (how == NVFP4_TENSOR)
        return tensor_magnitude(x, factor, g) | (__float_as_uint(x) >> 31 << 3);
    const float y = how == NVFP4_DIVISOR ? __fdiv_rn(x, factor) : __fmul_rn(x, factor);
    return y != y ? 7u
                  : magnitude_code(eighth_word(mul_sat(fabsf(y), 0.125f))) |
                        (__float_as_uint(y) >> 31 << 3);
}

// Four of them, one a byte. Not in line: it is seldom needed.
static __device__ __noinline__ uint32_t codes_by_steps(enum mxv_gpu_nvfp4_order order, float4 x,
                                                       float factor, float g)
{
    return nvfp4_code_of(order, x.x, factor, g) | nvfp4_code_of(order, x.y, factor, g) << 8 |
           nvfp4_code_of(order, x.z, factor, g) << 16 | nvfp4_code_of(order, x.w, factor, g) << 24;
}

// Words of E2M1 codes of binary32 values; false if they may be wrong. s.multiplier: as
// quantise_nvfp4.cuh says.
template <int HOW>
static __device__ __forceinline__ bool nvfp4_words(const float x[CHUNK], struct nvfp4_scale s,
                                                   uint32_t w[CHUNK])
{
    const float m = s.multiplier;
    uint32_t differ = 0;
    if constexpr (HOW == NVFP4_CHECKED) {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            w[i] = raised_word(fma_sat(fabsf(x[i]), m, 0.5f));
    } else if constexpr (HOW == NVFP4_FACTOR) {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            w[i] = eighth_word(mul_sat(fabsf(x[i]), m));
    } else if constexpr (HOW == NVFP4_TENSOR) {
        const float low = __fmul_rn(m, 1 - 0x1p-21f), high = __fmul_rn(m, 1 + 0x1p-21f);
#pragma unroll
        for (int i = 0; i < CHUNK; i++) {
            w[i] = eighth_word(mul_sat(fabsf(x[i]), low));
            differ |= w[i] ^ eighth_word(mul_sat(fabsf(x[i]), high));
        }
    } else { // an eighth of the quotient
        const float r = __fmul_rn(m, 0.125f), divisor = __fmul_rn(s.factor, 8.0f);
#pragma unroll
        for (int i = 0; i < CHUNK; i++) {
            const float a = fabsf(x[i]);
            float h = mul_sat(a, r);
            if constexpr (HOW == NVFP4_DIVISOR)
                h = fma_sat(__fmaf_rn(-h, divisor, a), r, h);
            w[i] = eighth_word(fma_sat(__fmaf_rn(-h, divisor, a), r, h));
        }
    }
    return (m == m) & !differ;
}

// NVFP4 codes of a chunk, one a byte, of values times `factor` unless they are CHECKED; *sure is
// cleared if they may be wrong.
template <int HOW, int SOURCE, bool TIMES>
static __device__ __forceinline__ uint2 nvfp4_codes(const chunk<SOURCE> &c, struct nvfp4_scale s,
                                                    float factor, bool *sure)
{
    if constexpr (HOW == NVFP4_NEAR && !chunk<SOURCE>::WIDE) {
        *sure &= s.factor == s.factor;
        return nvfp4_codes_of_pairs<SOURCE>(c, s.factor, s.multiplier);
    } else {
        float x[CHUNK];
        uint32_t w[CHUNK];
        widen<SOURCE>(c, x);
        if constexpr (TIMES && HOW != NVFP4_CHECKED) {
#pragma unroll
            for (int i = 0; i < CHUNK; i++)
                x[i] = __fmul_rn(x[i], factor);
        }
        *sure &= nvfp4_words<HOW>(x, s, w);
        return codes_of_words(w, chunk_signs<SOURCE>(c));
    }
}

#endif
