// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of dma with rebase=1 (docs/kernels/dma.md 1.5), 8 values of a lane: E2M1 codes under
// block scales become E5M2 codes under one power of two for each row of Q and each key tile of K.
//
// With B the largest scale byte that shares the power, a code v * 2^(e - 127) becomes
// v * 2^(e - B + 13): a normal E5M2 number for e - B >= -26, whose code is that of v (a table of
// eight) with 4 (e - B + 13) added; below that the conversion instruction rounds.
// Blocks of usual size take a way with few instructions (encode_usual, which says why it gives the
// same bits), all others go by definition. gpu/device_check compares both with formats/, over every
// exponent.
#ifndef MXV_GPU_PREPARE_CUH
#define MXV_GPU_PREPARE_CUH

#include "quantise_code.cuh"

enum { PIECE_ROWS = 128, NAN_SCALE = 0xFF, E5M2_NAN = 0x7f7f7f7f };

// E5M2 codes of four E2M1 codes (one a byte) times 2^s, s from -13 to 13: bytes stay within 04 and
// 7A, so there is no carry and no borrow; those of zero are cleared.
static __device__ __forceinline__ uint32_t e5m2_of_e2m1(uint32_t codes, int s)
{
    const uint32_t magnitude = codes & 0x07070707u;
    const uint32_t pairs = (magnitude | magnitude >> 4) & 0x00770077u;
    const uint32_t selector = pairs | pairs >> 8;
    const uint32_t word =
        __byte_perm(0x3E3C3838u, 0x46444240u, selector) + (uint32_t)s * 0x04040404u;
    return (word & __byte_perm(0xffffff00u, 0xffffffffu, selector)) | (codes & 0x08080808u) << 4;
}

// The same for s below that.
static __device__ __forceinline__ uint32_t rounded_e5m2(uint32_t codes, int s)
{
    const float scale = power_of_two(max(s, -40));
    uint32_t word = (codes & 0x08080808u) << 4;
    for (int i = 0; i < 4; i++) {
        const int m = (int)(codes >> 8 * i & 7);
        const float v = m < 2 ? 0.5f * (float)m : (float)((2 + (m & 1)) << (m / 2 - 1)) * 0.5f;
        word |= to_fp8(__fmul_rn(v, scale), true) << 8 * i;
    }
    return word;
}

// Codes of a block with scale byte e under B.
static __device__ __forceinline__ uint2 rebased(uint2 codes, uint32_t e, uint32_t base)
{
    const int s = (int)e - (int)base + 13; // above 13 for NAN_SCALE alone
    if (s >= -13 && s <= 13)
        return make_uint2(e5m2_of_e2m1(codes.x, s), e5m2_of_e2m1(codes.y, s));
    return e == NAN_SCALE ? make_uint2(E5M2_NAN, E5M2_NAN)
                          : make_uint2(rounded_e5m2(codes.x, s), rounded_e5m2(codes.y, s));
}

static __device__ __forceinline__ float factor_of(uint32_t base)
{
    return power_of_two((int)base - 140);
}

// bf16 of E4M3 codes under a scale byte: exact but for overflow and subnormals, where it rounds.
static __device__ __forceinline__ uint4 decoded(uint2 codes, uint32_t e)
{
    const float scale = power_of_two((int)e - 127);
    uint32_t out[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t pair = (i < 2 ? codes.x : codes.y) >> i % 2 * 16 & 0xffff;
        const float2 x = __half22float2(
            __half2(__nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)pair, __NV_E4M3)));
        out[i] = e == NAN_SCALE
                     ? 0x7fff7fffu
                     : word_of(__floats2bfloat162_rn(__fmul_rn(x.x, scale), __fmul_rn(x.y, scale)));
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

// What a lane makes of its 8 values: E2M1 codes, one a byte, their scale byte, and bf16 of the
// E4M3 codes.
struct prepared {
    uint2 low;
    uint32_t scale;
    uint4 high;
};

// By definition, for any block. m: its largest magnitude, a binary32 word.
template <int SOURCE, bool SCALED>
static __device__ __forceinline__ void encode_any(const chunk<SOURCE> &c, float factor, uint32_t m,
                                                  enum mxv_gpu_scale_rule rule,
                                                  struct prepared &out)
{
    chunk<SOURCE_ROWS> x;
    float values[CHUNK];
    widen<SOURCE>(c, values);
#pragma unroll
    for (int k = 0; k < CHUNK; k++)
        x.word[k] = __float_as_uint(SCALED ? __fmul_rn(values[k], factor) : values[k]);
    const uint32_t e = scale_code(rule, element_of(MXV_GPU_MXFP4), m, false);
    const uint32_t h = scale_code(rule, element_of(MXV_GPU_MXFP8_E4M3), m, false);
    out.scale = e;
    out.low = mx_codes<MXV_GPU_MXFP4, SOURCE_ROWS>(x, min((int)e - 127, 127));
    out.high = decoded(mx_codes<MXV_GPU_MXFP8_E4M3, SOURCE_ROWS>(x, min((int)h - 127, 127)), h);
}

// bf16 of two E4M3 codes times the two powers of two of `scale`, which are 2^112 too large: their
// fields, moved into those of bf16, are a normal number 2^112 too small.
static __device__ __forceinline__ uint32_t bf16_of_e4m3(uint32_t codes, uint32_t scale)
{
    const uint32_t w =
        word_of(__half2(__nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)codes, __NV_E4M3)));
    const __nv_bfloat162 moved = pair_of<__nv_bfloat162>(w >> 3 & 0x0fff0fffu);
    return (w & 0x80008000u) | word_of(__hmul2(moved, pair_of<__nv_bfloat162>(scale)));
}

// Scale bytes h of the E4M3 copy for which encode_usual holds. From binary16 without a factor it
// multiplies by 2^(127 - h) in binary16: what that rounds lies below 2^-14, which E4M3 makes zero.
template <int SOURCE, bool SCALED>
static __device__ __forceinline__ bool usual(uint32_t h, uint32_t m)
{
    constexpr uint32_t least = SOURCE == SOURCE_F16 && !SCALED ? 112 : 1;
    return h - least <= 141 - least || m == 0;
}

// The codes that encode_any makes, for `usual` scale bytes e and h (any powers of two do for a
// block of zeros).
template <int SOURCE, bool SCALED>
static __device__ __forceinline__ void encode_usual(const chunk<SOURCE> &c, float factor,
                                                    uint32_t e, uint32_t h, struct prepared &out)
{
    constexpr bool HALF = SOURCE == SOURCE_F16 && !SCALED;
    uint32_t pairs[4], high[4];
    float x[CHUNK];
    e = max(e, HALF ? 113u : 2u);
    h = max(h, HALF ? 112u : 1u);
    const uint32_t wide = (112 + h) * 0x00800080u, down = (142 - h) * 0x04000400u;
    const float power = __uint_as_float((254 - h) << 23);
    widen<SOURCE>(c, x);
    if constexpr (SCALED) {
        const float slope = __uint_as_float((255 - e) << 23);
        const uint32_t flip = (uint32_t)(__float_as_int(factor) >> 31);
        const uint2 signs = chunk_signs<SOURCE>(c);
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            x[i] = __fmul_rn(x[i], factor);
        out.low = fp4_codes(x, slope, make_uint2(signs.x ^ flip, signs.y ^ flip));
    } else {
        const uint32_t slope =
            SOURCE == SOURCE_F16 ? (143 - e) * 0x04000400u : (255 - e) * 0x00800080u;
#pragma unroll
        for (int i = 0; i < 4; i++)
            pairs[i] =
                pair_magnitudes<SOURCE>(c.word[i], pair_of<typename pair<SOURCE>::type>(slope));
        out.low = with_signs(four_of_pairs(pairs[0], pairs[1]), four_of_pairs(pairs[2], pairs[3]),
                             chunk_signs<SOURCE>(c));
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t codes =
            HALF ? __nv_cvt_halfraw2_to_fp8x2(
                       __hmul2(pair_of<__half2>(c.word[i]), pair_of<__half2>(down)), __NV_SATFINITE,
                       __NV_E4M3)
                 : __nv_cvt_float2_to_fp8x2(
                       make_float2(__fmul_rn(x[2 * i], power), __fmul_rn(x[2 * i + 1], power)),
                       __NV_SATFINITE, __NV_E4M3);
        high[i] = bf16_of_e4m3(codes, wide);
    }
    out.high = make_uint4(high[0], high[1], high[2], high[3]);
}

template <int SOURCE, bool SCALED, bool FLOOR>
static __device__ __forceinline__ struct prepared encode(uint4 words, float factor,
                                                         enum mxv_gpu_scale_rule rule)
{
    constexpr struct element E2M1 = element_of(MXV_GPU_MXFP4),
                             E4M3 = element_of(MXV_GPU_MXFP8_E4M3);
    const chunk<SOURCE> c = {{words.x, words.y, words.z, words.w}};
    struct prepared out;
    uint32_t m = chunk_amax<SOURCE>(c);
    m = max(m, __shfl_xor_sync(~0u, m, 1));
    m = max(m, __shfl_xor_sync(~0u, m, 2));
    m = amax_word<SOURCE>(m); // rounding is monotone: the maximum may be taken before it
    if (SCALED)
        m = __float_as_uint(__fmul_rn(__uint_as_float(m), fabsf(factor)));
    // Rule floor of NaN and Inf is wrong here, and not `usual`.
    const uint32_t e =
        FLOOR ? (uint32_t)max((int)(m >> 23) - E2M1.emax, 0) : scale_code(rule, E2M1, m, false);
    const uint32_t h =
        FLOOR ? (uint32_t)max((int)(m >> 23) - E4M3.emax, 0) : scale_code(rule, E4M3, m, false);
    if (usual<SOURCE, SCALED>(h, m)) {
        out.scale = e;
        encode_usual<SOURCE, SCALED>(c, factor, e, h, out);
    } else {
        encode_any<SOURCE, SCALED>(c, factor, m, FLOOR ? MXV_GPU_RULE_FLOOR : rule, out);
    }
    return out;
}

template <int LANES> static __device__ __forceinline__ uint32_t largest_of_row(uint32_t base)
{
#pragma unroll
    for (int distance = 4; distance < LANES; distance *= 2)
        base = max(base, __shfl_xor_sync(~0u, base, distance));
    return base;
}

#endif
