// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Chunks: 8 neighbouring values of a lane, in the words they have in memory.
#ifndef MXV_GPU_QUANTISE_CHUNK_CUH
#define MXV_GPU_QUANTISE_CHUNK_CUH

#include "source.cuh"

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

// The larger magnitude, NaN above all; its sign means nothing.
template <int SOURCE> static __device__ __forceinline__ uint32_t larger(uint32_t x, uint32_t y)
{
    uint32_t r;
#if __CUDA_ARCH__ >= 860
    if constexpr (chunk<SOURCE>::WIDE)
        asm("max.NaN.xorsign.abs.f32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    else if constexpr (SOURCE == SOURCE_F16)
        asm("max.NaN.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    else
        asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
#else
    if constexpr (chunk<SOURCE>::WIDE)
        r = max(x & 0x7fffffffu, y & 0x7fffffffu);
    else
        r = __vmaxu2(x & 0x7fff7fffu, y & 0x7fff7fffu);
#endif
    return r;
}

// Largest magnitudes as integers that order like them, NaN above all: of a chunk's binary32 words,
// or of its low and its high halves.
template <int SOURCE>
static __device__ __forceinline__ uint32_t chunk_maxima(const chunk<SOURCE> &c)
{
    uint32_t m =
        larger<SOURCE>(larger<SOURCE>(c.word[0], c.word[1]), larger<SOURCE>(c.word[2], c.word[3]));
    if constexpr (chunk<SOURCE>::WIDE) {
        m = larger<SOURCE>(m, larger<SOURCE>(larger<SOURCE>(c.word[4], c.word[5]),
                                             larger<SOURCE>(c.word[6], c.word[7])));
        return m & 0x7fffffffu;
    }
    return m & 0x7fff7fffu;
}

// Of two such results, and what they come to.
template <int SOURCE> static __device__ __forceinline__ uint32_t maxima_of(uint32_t a, uint32_t b)
{
    return chunk<SOURCE>::WIDE ? max(a, b) : __vmaxu2(a, b);
}

template <int SOURCE> static __device__ __forceinline__ uint32_t maximum_of(uint32_t m)
{
    return chunk<SOURCE>::WIDE ? m : max(m & 0xffffu, m >> 16);
}

template <int SOURCE> static __device__ __forceinline__ uint32_t chunk_amax(const chunk<SOURCE> &c)
{
    return maximum_of<SOURCE>(chunk_maxima<SOURCE>(c));
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

// x * y and x * y + z, rounded once and then brought to [0, 1]; NaN gives 0.
static __device__ __forceinline__ float mul_sat(float x, float y)
{
    float r;
    asm("mul.rn.sat.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}

static __device__ __forceinline__ float fma_sat(float x, float y, float z)
{
    float r;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z));
    return r;
}

// The 8 values at value `at` of data.
template <int SOURCE>
static __device__ __forceinline__ chunk<SOURCE> load_chunk(const void *data, size_t at)
{
    chunk<SOURCE> c;
    constexpr int VECTORS = sizeof c / sizeof(uint4);
    const uint4 *p = (const uint4 *)data + at / CHUNK * VECTORS;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const uint4 v = __ldcs(p + i);
        c.word[4 * i] = v.x, c.word[4 * i + 1] = v.y;
        c.word[4 * i + 2] = v.z, c.word[4 * i + 3] = v.w;
    }
    return c;
}

template <int SOURCE> static __device__ __forceinline__ chunk<SOURCE> chunk_of(const float x[CHUNK])
{
    chunk<SOURCE> c;
    if constexpr (chunk<SOURCE>::WIDE) {
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            c.word[i] = __float_as_uint(x[i]);
    } else {
#pragma unroll
        for (int i = 0; i < CHUNK / 2; i++)
            c.word[i] = SOURCE == SOURCE_F16
                            ? word_of(__floats2half2_rn(x[2 * i], x[2 * i + 1]))
                            : word_of(__floats2bfloat162_rn(x[2 * i], x[2 * i + 1]));
    }
    return c;
}

// Means of a chunk's channels, 16-byte aligned. One statement, so that no wait for values comes
// between the two loads.
static __device__ __forceinline__ void load_mean(const float *p, float m[CHUNK])
{
    asm volatile("{ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%8];\n"
                 " ld.global.nc.v4.f32 {%4, %5, %6, %7}, [%8 + 16];}"
                 : "=f"(m[0]), "=f"(m[1]), "=f"(m[2]), "=f"(m[3]), "=f"(m[4]), "=f"(m[5]),
                   "=f"(m[6]), "=f"(m[7])
                 : "l"(p));
}

// T(x - mean); SOURCE is that of T.
template <int SOURCE>
static __device__ __forceinline__ void subtract(chunk<SOURCE> &c, const float mean[CHUNK])
{
    float x[CHUNK];
    widen<SOURCE>(c, x);
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        x[i] = __fsub_rn(x[i], mean[i]);
    c = chunk_of<SOURCE>(x);
}

#endif
