// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 codes under row scales (operands.h): R(RN(x / scale)), cut at +-127.
//
// Magnitudes in units of 256, so that [0, 1] is what saturation leaves (NaN gives 0): from h = x r,
// r = 1 / scale rounded, steps h + (x - h scale) r with an exact remainder end on the correctly
// rounded quotient wherever it is below 256 and not tiny (its code is 0), for scales 2^-90 .. 2^90.
// Binary32 takes two steps; for 11-bit x one is enough (checked at every number that decides a
// code: n + 1/2, half a place beside it and a place beside it, for every x and every scale near).
// One more operation puts the integer into the low bits. Half away from zero: half the integer
// below 2 h + 1.
#ifndef MXV_GPU_QUANTISE_INT8_CUH
#define MXV_GPU_QUANTISE_INT8_CUH

#include "quantise_chunk.cuh"

// What the codes of a lane are made from: magnitudes of quotients / 256, and their signs.
struct int8_parts {
    float h[CHUNK];
    uint2 signs;
};

template <int SOURCE>
static __device__ __forceinline__ struct int8_parts int8_quotients(const chunk<SOURCE> &c,
                                                                   float scale)
{
    struct int8_parts p;
    float x[CHUNK];
    widen<SOURCE>(c, x);
    p.signs = chunk_signs<SOURCE>(c);
    if (scale >= 0x1p-90f && scale <= 0x1p90f) {
        const float r = __fmul_rn(__frcp_rn(scale), 0x1p-8f), divisor = __fmul_rn(scale, 256.0f);
#pragma unroll
        for (int i = 0; i < CHUNK; i++) {
            const float a = fabsf(x[i]);
            float h = mul_sat(a, r);
            h = fma_sat(__fmaf_rn(-h, divisor, a), r, h);
            if constexpr (chunk<SOURCE>::WIDE)
                h = fma_sat(__fmaf_rn(-h, divisor, a), r, h);
            p.h[i] = h;
        }
        return p;
    }
    chunk<SOURCE_ROWS> q;
    for (int i = 0; i < CHUNK; i++) {
        const float y = scale == 0 ? 0.0f : __fdiv_rn(x[i], scale);
        q.word[i] = __float_as_uint(y);
        p.h[i] = mul_sat(fabsf(y), 0x1p-8f);
    }
    p.signs = chunk_signs<SOURCE_ROWS>(q);
    return p;
}

// Four codes of magnitude words in each half of a and b, 0 .. 127, under signs: 80 - m does not
// borrow, and 80 more or less makes it -m.
static __device__ __forceinline__ uint32_t four_signed(uint32_t a, uint32_t b, uint32_t signs)
{
    const uint32_t m = four_of_pairs(a, b);
    return ((0x80808080u - m) & signs | m & ~signs) ^ (signs & 0x80808080u);
}

template <bool AWAY> static __device__ __forceinline__ uint2 int8_codes(const struct int8_parts &p)
{
    uint32_t pairs[4], w[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        w[i] = __float_as_uint(AWAY ? __fmaf_rz(p.h[i], 512.0f, 8388609.0f)
                                    : __fmaf_rn(p.h[i], 256.0f, 8388608.0f));
#pragma unroll
    for (int i = 0; i < 4; i++) {
        pairs[i] = __byte_perm(w[2 * i], w[2 * i + 1], 0x5410);
        if (AWAY)
            pairs[i] = pairs[i] >> 1 & 0x7fff7fffu;
        pairs[i] = __vminu2(pairs[i], 0x007f007fu);
    }
    return make_uint2(four_signed(pairs[0], pairs[1], p.signs.x),
                      four_signed(pairs[2], pairs[3], p.signs.y));
}

// Chunks of a lane: one where each value takes many steps, else four.
template <int SOURCE> static constexpr int INT8_CHUNKS = SOURCE == SOURCE_ROWS ? 1 : 4;

// Chunks number i, i + 32 .. less the means of their rows. Where the first and the last row are of
// one head with one sequence and the chunks have the same channels, the mean is loaded once.
template <int SOURCE, int CHUNKS>
static __device__ __forceinline__ void subtract_row_means(const struct mxv_gpu_rows &s,
                                                          const uint32_t row[CHUNKS], size_t i,
                                                          size_t count, chunk<SOURCE> c[CHUNKS])
{
    const uint32_t eighths = (uint32_t)s.d / CHUNK, tokens = (uint32_t)s.tokens;
    float mean[CHUNK];
    if (i + (CHUNKS - 1) * 32 < count && s.sequences == 1 && 32 % eighths == 0 &&
        (s.heads == 1 || row[0] / tokens == row[CHUNKS - 1] / tokens)) {
        load_mean(s.mean + vectors_of(s, row[0]).own + ((uint32_t)i & (eighths - 1)) * CHUNK, mean);
#pragma unroll
        for (int u = 0; u < CHUNKS; u++)
            subtract<SOURCE>(c[u], mean);
        return;
    }
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        if (i + u * 32 >= count)
            break;
        const size_t channel = (i + u * 32 - (size_t)row[u] * eighths) * CHUNK;
        load_mean(s.mean + vectors_of(s, row[u]).own + channel, mean);
        subtract<SOURCE>(c[u], mean);
    }
}

// d is a multiple of 8. shift: log2 (d / 8) where that is a power of two, else negative.
template <int SOURCE, bool AWAY>
static __global__ void __launch_bounds__(MXV_GPU_LINEAR_THREADS)
    quantise_int8(const __grid_constant__ struct mxv_gpu_rows s, int shift, const float *scale,
                  int8_t *codes)
{
    constexpr int CHUNKS = INT8_CHUNKS<SOURCE>;
    const uint32_t eighths = (uint32_t)s.d / CHUNK, lane = threadIdx.x % 32;
    const size_t count = (size_t)s.heads * s.tokens * eighths;
    const size_t warp = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    chunk<SOURCE> c[CHUNKS];
    float divisor[CHUNKS];
    uint32_t row[CHUNKS];
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const size_t i = (warp * CHUNKS + u) * 32 + lane;
        if (i >= count)
            break;
        row[u] = shift < 0 ? (uint32_t)i / eighths : (uint32_t)i >> shift;
        divisor[u] = scale[row[u]];
        if constexpr (SOURCE == SOURCE_ROWS) {
            float x[CHUNK];
            source_values(s, row[u], (int)((i - (size_t)row[u] * eighths) * CHUNK), x);
            c[u] = chunk_of<SOURCE>(x);
        } else {
            c[u] = load_chunk<SOURCE>(s.data, i * CHUNK);
        }
    }
    if constexpr (SOURCE != SOURCE_ROWS)
        if (s.mean)
            subtract_row_means<SOURCE, CHUNKS>(s, row, warp * CHUNKS * 32 + lane, count, c);
#pragma unroll
    for (int u = 0; u < CHUNKS; u++) {
        const size_t i = (warp * CHUNKS + u) * 32 + lane;
        if (i >= count)
            break;
        ((uint2 *)codes)[i] = int8_codes<AWAY>(int8_quotients<SOURCE>(c[u], divisor[u]));
    }
}

template <int SOURCE>
static void launch_int8(const struct mxv_gpu_rows *rows, const float *scale, bool away,
                        int8_t *codes)
{
    constexpr size_t PER_THREAD = (size_t)CHUNK * INT8_CHUNKS<SOURCE>;
    const size_t n = (size_t)rows->heads * rows->tokens * rows->d;
    const unsigned grid = linear_blocks((n + PER_THREAD - 1) / PER_THREAD);
    int shift = 0;
    while (CHUNK << shift < rows->d)
        shift++;
    shift = CHUNK << shift == rows->d ? shift : -1;
    if (away)
        quantise_int8<SOURCE, true><<<grid, MXV_GPU_LINEAR_THREADS>>>(*rows, shift, scale, codes);
    else
        quantise_int8<SOURCE, false><<<grid, MXV_GPU_LINEAR_THREADS>>>(*rows, shift, scale, codes);
}

#endif
