// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Element codes of 8 neighbours of a block, given the block's scale.
//
// FP8: the product with a power of two, exact or far below every threshold, and the conversion
// instruction. FP6: the same for the FP8 format with as many fraction bits, at a scale where its
// subnormals are those of the FP6 format; then both have the same fields, and what exceeds 1F is
// saturated. MXINT8: one fused multiply-add that ends on 1.5 * 2^23, whose last place is 1.
//
// E2M1: the code of a magnitude y is concave and piecewise linear between codes,
//     code(y) = min(2 y, y + 2, y / 2 + 4),
// and a tie goes to the even code. So each line is one fused multiply-add that ends on a number M
// whose last place is 1: one rounding to nearest even of the exact value, in whichever format has
// room for the codes (M = 2^23 in binary32, 2^10 in binary16, 2^7 in bfloat16). Rounding is
// monotone, so the minimum of the rounded lines is the rounded minimum; a further minimum with M +
// 7 saturates, also Inf and NaN. The power of two of the scale is part of the slopes; a block whose
// slopes would leave the format is scaled up first, exactly.
//
// NVFP4 divides by an E4M3 number s. y = q + (x - q s) r with q = x r, r = 1 / s rounded, meets a
// midpoint exactly when x / s does (checked for every x and s of binary16 and bfloat16); other
// orders round as they say.
#ifndef MXV_GPU_QUANTISE_CODE_CUH
#define MXV_GPU_QUANTISE_CODE_CUH

#include "quantise_scale.cuh"

// Where values come from: as they lie in memory, or through all steps of struct mxv_gpu_rows.
enum quantise_source { SOURCE_F16, SOURCE_BF16, SOURCE_F32, SOURCE_ROWS };

enum { CHUNK = 8 }; // values of a lane

// 8 values: pairs of 16 bits, or binary32 words.
template <int SOURCE> struct chunk {
    static constexpr bool WIDE = SOURCE == SOURCE_F32 || SOURCE == SOURCE_ROWS;
    uint32_t word[WIDE ? 8 : 4];
};

// 16-bit pairs, and what the line method needs of their format: the least and the largest power of
// two, and a slope exponent that no block but an all-zero one exceeds.
template <int SOURCE> struct pair {
    using type = __half2;
    static constexpr int MAGIC = 1024, EXP_MAX = 15, EXP_MIN = -24, EXP_MOST = 39;
    static __device__ type splat(float x)
    {
        return __float2half2_rn(x);
    }
};
template <> struct pair<SOURCE_BF16> {
    using type = __nv_bfloat162;
    static constexpr int MAGIC = 128, EXP_MAX = 127, EXP_MIN = -133, EXP_MOST = 260;
    static __device__ type splat(float x)
    {
        return __float2bfloat162_rn(x);
    }
};

template <class T> static __device__ __forceinline__ T pair_of(uint32_t word)
{
    T x;
    memcpy(&x, &word, sizeof x);
    return x;
}

template <class T> static __device__ __forceinline__ uint32_t word_of(T x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

template <int SOURCE>
static __device__ __forceinline__ void widen(const chunk<SOURCE> &c, float x[CHUNK])
{
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        if constexpr (chunk<SOURCE>::WIDE) {
            x[i] = __uint_as_float(c.word[i]);
        } else if constexpr (SOURCE == SOURCE_F16) {
            const __half2 p = pair_of<__half2>(c.word[i / 2]);
            x[i] = i % 2 ? __high2float(p) : __low2float(p);
        } else {
            x[i] = __uint_as_float(i % 2 ? c.word[i / 2] & 0xffff0000u : c.word[i / 2] << 16);
        }
    }
}

// Largest magnitude as an integer that orders like it, NaN above all: a binary32 word, or 16 bits.
template <int SOURCE> static __device__ __forceinline__ uint32_t chunk_amax(const chunk<SOURCE> &c)
{
    if constexpr (chunk<SOURCE>::WIDE) {
        uint32_t m = 0;
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            m = max(m, c.word[i] & 0x7fffffffu);
        return m;
    } else {
        using T = typename pair<SOURCE>::type;
        const T a = __hmax2_nan(__habs2(pair_of<T>(c.word[0])), __habs2(pair_of<T>(c.word[1])));
        const T b = __hmax2_nan(__habs2(pair_of<T>(c.word[2])), __habs2(pair_of<T>(c.word[3])));
        const uint32_t m = word_of(__hmax2_nan(a, b)) & 0x7fff7fffu;
        return max(m & 0xffffu, m >> 16);
    }
}

// The binary32 word of what chunk_amax gave.
template <int SOURCE> static __device__ __forceinline__ uint32_t amax_word(uint32_t m)
{
    if constexpr (SOURCE == SOURCE_F16)
        return __float_as_uint(__half2float(__ushort_as_half((unsigned short)m)));
    return SOURCE == SOURCE_BF16 ? m << 16 : m;
}

// Four codes from the low bytes of four words; of two words with a code in each half.
static __device__ __forceinline__ uint32_t four_bytes(uint32_t a, uint32_t b, uint32_t c,
                                                      uint32_t d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

static __device__ __forceinline__ uint32_t four_of_pairs(uint32_t a, uint32_t b)
{
    return __byte_perm(a, b, 0x6420);
}

// FF in the byte of each negative value, 00 elsewhere.
static __device__ __forceinline__ uint32_t sign_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t r; // prmt.b32 spreads the sign of a byte where bit 3 of its selector is set
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
}

template <int SOURCE> static __device__ __forceinline__ uint2 chunk_signs(const chunk<SOURCE> &c)
{
    if constexpr (!chunk<SOURCE>::WIDE)
        return make_uint2(sign_bytes(c.word[0], c.word[1], 0xfdb9),
                          sign_bytes(c.word[2], c.word[3], 0xfdb9));
    else
        return make_uint2(__byte_perm(sign_bytes(c.word[0], c.word[1], 0xfb),
                                      sign_bytes(c.word[2], c.word[3], 0xfb), 0x5410),
                          __byte_perm(sign_bytes(c.word[4], c.word[5], 0xfb),
                                      sign_bytes(c.word[6], c.word[7], 0xfb), 0x5410));
}

// E2M1 codes from magnitudes and signs, one a byte.
static __device__ __forceinline__ uint2 with_signs(uint32_t low, uint32_t high, uint2 signs)
{
    return make_uint2(low | (signs.x & 0x08080808u), high | (signs.y & 0x08080808u));
}

// E2M1 magnitudes of |y| * slope / 2 by lines, in the low byte of each half or of the word.
template <int SOURCE>
static __device__ __forceinline__ uint32_t pair_magnitudes(uint32_t y,
                                                           typename pair<SOURCE>::type slope)
{
    using P = pair<SOURCE>;
    using T = typename P::type;
    const T a = pair_of<T>(y & 0x7fff7fffu);
    const T first = __hfma2(a, slope, P::splat(P::MAGIC));
    const T second = __hfma2(a, __hmul2(slope, P::splat(0.5f)), P::splat(P::MAGIC + 2));
    const T third = __hfma2(a, __hmul2(slope, P::splat(0.25f)), P::splat(P::MAGIC + 4));
    return word_of(__hmin2(__hmin2(__hmin2(first, second), third), P::splat(P::MAGIC + 7)));
}

// Positive floats order like integers; NaN comes last.
static __device__ __forceinline__ uint32_t float_magnitude(float y, float slope)
{
    const float a = fabsf(y);
    const uint32_t first = __float_as_uint(__fmaf_rn(a, slope, 8388608.0f));
    const uint32_t second = __float_as_uint(__fmaf_rn(a, __fmul_rn(slope, 0.5f), 8388610.0f));
    const uint32_t third = __float_as_uint(__fmaf_rn(a, __fmul_rn(slope, 0.25f), 8388612.0f));
    return min(min(min(first, second), third), 0x4b000007u);
}

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

static __device__ __forceinline__ uint2 fp4_codes(const float y[CHUNK], float slope, uint2 signs)
{
    uint32_t m[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        m[i] = float_magnitude(y[i], slope);
    return with_signs(four_bytes(m[0], m[1], m[2], m[3]), four_bytes(m[4], m[5], m[6], m[7]),
                      signs);
}

// Scaled up when the slope 2^e would leave binary32: magnitudes below 2^-110, exact.
static __device__ __forceinline__ float slope_of(float x[CHUNK], int e)
{
    if (e > 127) {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            x[i] = __fmul_rn(x[i], 256.0f);
        e -= 8;
    }
    return power_of_two(e);
}

static __device__ __forceinline__ uint2 mxint8_codes(float x[CHUNK], int k)
{
    const float slope = slope_of(x, 6 - k);
    uint32_t code[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) { // 1.5 * 2^23: the low byte is two's complement
        const float r = __fmaf_rn(x[i], slope, 12582912.0f);
        code[i] = __float_as_uint(fminf(fmaxf(r, 12582785.0f), 12583039.0f));
    }
    return make_uint2(four_bytes(code[0], code[1], code[2], code[3]),
                      four_bytes(code[4], code[5], code[6], code[7]));
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
        if constexpr (FORMAT == MXV_GPU_MXFP8_E4M3 || FORMAT == MXV_GPU_MXFP8_E5M2)
            return fp8_codes(x, power_of_two(-k), FORMAT == MXV_GPU_MXFP8_E5M2);
        if constexpr (FORMAT == MXV_GPU_MXFP6_E2M3 || FORMAT == MXV_GPU_MXFP6_E3M2) {
            constexpr bool E3M2 = FORMAT == MXV_GPU_MXFP6_E3M2;
            const uint2 w = fp8_codes(x, power_of_two(-k - (E3M2 ? 12 : 6)), E3M2);
            return make_uint2(fp6_of_fp8(w.x), fp6_of_fp8(w.y));
        }
        if constexpr (FORMAT == MXV_GPU_MXINT8)
            return mxint8_codes(x, k);
        const float slope = slope_of(x, 1 - k);
        return fp4_codes(x, slope, chunk_signs<SOURCE>(c));
    }
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

template <int HOW, int SOURCE>
static __device__ __forceinline__ uint2 nvfp4_codes(const chunk<SOURCE> &c, float factor,
                                                    float inverse)
{
    if constexpr (HOW == NVFP4_NEAR && !chunk<SOURCE>::WIDE) {
        return nvfp4_codes_of_pairs<SOURCE>(c, factor, inverse);
    } else {
        float x[CHUNK];
        uint32_t m[CHUNK];
        widen<SOURCE>(c, x);
#pragma unroll
        for (int i = 0; i < CHUNK; i++) {
            float y = x[i];
            if constexpr (HOW == NVFP4_NEAR) {
                const float q = __fmul_rn(x[i], inverse);
                y = __fmaf_rn(__fmaf_rn(-q, factor, x[i]), inverse, q);
            } else if constexpr (HOW == NVFP4_FACTOR) {
                y = __fmul_rn(x[i], factor);
            } else if constexpr (HOW == NVFP4_DIVISOR) {
                y = __fdiv_rn(x[i], factor);
            }
            m[i] = HOW == NVFP4_TENSOR ? tensor_magnitude(x[i], factor, inverse)
                                       : float_magnitude(y, 2.0f);
        }
        return with_signs(four_bytes(m[0], m[1], m[2], m[3]), four_bytes(m[4], m[5], m[6], m[7]),
                          chunk_signs<SOURCE>(c));
    }
}

#endif
