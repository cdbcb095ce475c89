// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E2M1 codes of the 8 values of a chunk. The code of a magnitude y is concave and piecewise linear
// between codes,
//     code(y) = min(2 y, y + 2, y / 2 + 4),
// and a tie goes to the even code. A fused multiply-add that ends on a number whose last place is 1
// rounds once, to nearest even, in whichever format has room for the codes. One that ends at y + M
// - 2, where M is the power of two at which the last place becomes 1 (2^23 in binary32, 2^10 in
// binary16, 2^7 in bfloat16), counts in halves below y = 2 and in ones above: its word is the first
// two pieces at once, less 4. Rounding is monotone, so the minimum of the rounded lines is the
// rounded minimum. The low three bits of the word are the code with its highest bit inverted
// (with_signs turns it back).
//
// The third line, of which 7 must not be exceeded: in pairs M + y / 2 and a further minimum. In
// binary32 y / 8 comes saturated to [0, 1], at no cost, and the line is M + 1 + c y, with c below
// 0.3 by less than an ulp: at y = 5, where 6 becomes 7, it meets the tie from below (5 gives 6, the
// next number 7), for y = 4 .. 8 it lies in its code's range, and below it exceeds the others. Of
// y / 16 + 1/2 the same with c = 64 / 13. (Checked for every y = 1/8 .. 16 and every such sum.)
#ifndef MXV_GPU_QUANTISE_E2M1_CUH
#define MXV_GPU_QUANTISE_E2M1_CUH

#include "quantise_chunk.cuh"

// The code that a word of the lines stands for.
static __device__ __forceinline__ uint32_t magnitude_code(uint32_t word)
{
    return (word & 7u) ^ 4u;
}

// E2M1 codes from words of the lines, one a byte, and signs.
static __device__ __forceinline__ uint2 with_signs(uint32_t low, uint32_t high, uint2 signs)
{
    return make_uint2(((low & 0x07070707u) ^ 0x04040404u) | (signs.x & 0x08080808u),
                      ((high & 0x07070707u) ^ 0x04040404u) | (signs.y & 0x08080808u));
}

static __device__ __forceinline__ uint2 codes_of_words(const uint32_t w[CHUNK], uint2 signs)
{
    return with_signs(four_bytes(w[0], w[1], w[2], w[3]), four_bytes(w[4], w[5], w[6], w[7]),
                      signs);
}

// Words of |y| * slope / 2 by lines, in each half.
template <int SOURCE>
static __device__ __forceinline__ uint32_t pair_magnitudes(uint32_t y,
                                                           typename pair<SOURCE>::type slope)
{
    using P = pair<SOURCE>;
    using T = typename P::type;
    const T a = pair_of<T>(y & 0x7fff7fffu);
    const T first = __hfma2(a, __hmul2(slope, P::splat(0.5f)), P::splat(P::MAGIC - 2));
    const T third = __hfma2(a, __hmul2(slope, P::splat(0.25f)), P::splat(P::MAGIC));
    return word_of(__hmin2(__hmin2(first, third), P::splat(P::MAGIC + 3)));
}

// Words of y for h = y / 8 in [0, 1]. 0x1.333332p-2 lies below 0.3.
static __device__ __forceinline__ uint32_t eighth_word(float h)
{
    return min(__float_as_uint(__fmaf_rn(h, 8.0f, 8388606.0f)),
               __float_as_uint(__fmaf_rn(h, 8 * 0x1.333332p-2f, 8388609.0f)));
}

// The same for h = y / 16 + 1/2 in [1/2, 1]. 0x1.3b13bp+2 lies below 64 / 13.
static __device__ __forceinline__ uint32_t raised_word(float h)
{
    return min(__float_as_uint(__fmaf_rn(h, 16.0f, 8388598.0f)),
               __float_as_uint(__fmaf_rn(h, 0x1.3b13bp+2f, 8388606.5f)));
}

// E2M1 codes of |y| * slope / 2 with given signs; the product is rounded to binary32 (slope a power
// of two: exact).
static __device__ __forceinline__ uint2 fp4_codes(const float y[CHUNK], float slope, uint2 signs)
{
    const float eighth = __fmul_rn(slope, 0.0625f);
    uint32_t w[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        w[i] = eighth_word(mul_sat(fabsf(y[i]), eighth));
    return codes_of_words(w, signs);
}

#endif
