// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of dma with rebase=1 (docs/kernels/dma.md 1.5): E2M1 codes under block scales become
// E5M2 codes under one power of two for each row of Q and each key tile of K.
//
// With B the largest scale byte that shares the power, a code v * 2^(e - 127) becomes
// v * 2^(e - B + 13): a normal E5M2 number for e - B >= -26, whose code is that of v (a table of
// eight) with 4 (e - B + 13) added; below that the conversion instruction rounds.
// mxv_gpu_prepare_dma does all in one pass: a block takes at most 128 rows, keeps their codes in
// registers until the tile's B is known, and writes the high copy meanwhile. mxv_gpu_rebase takes
// codes and scales as they are. gpu/device_check compares both with formats/ and with each other.
#include "quantise_code.cuh"

enum { PIECE_ROWS = 128, PREPARE_THREADS = 256, NAN_SCALE = 0xFF, E5M2_NAN = 0x7f7f7f7f };

struct prepare_args {
    struct mxv_gpu_dma_side side[2];
    enum mxv_gpu_scale_rule rule;
    int first_block[2]; // of each side
};

// E5M2 codes of four E2M1 codes (one a byte) times 2^s.
static __device__ __forceinline__ uint32_t e5m2_of_e2m1(uint32_t codes, int s)
{
    const uint32_t magnitude = codes & 0x07070707u, sign = (codes & 0x08080808u) << 4;
    uint32_t word = 0;
    if (s >= -13) { // bytes stay within 04 and 7A: no carry, no borrow; those of zero are cleared
        const uint32_t pairs = (magnitude | magnitude >> 4) & 0x00770077u;
        const uint32_t selector = pairs | pairs >> 8;
        word = (__byte_perm(0x3E3C3838u, 0x46444240u, selector) + (uint32_t)(4 * s) * 0x01010101u) &
               __byte_perm(0xffffff00u, 0xffffffffu, selector);
    } else {
        const float scale = power_of_two(max(s, -40));
        for (int i = 0; i < 4; i++) {
            const int m = (int)(magnitude >> 8 * i & 7);
            const float v = m < 2 ? 0.5f * (float)m : (float)((2 + (m & 1)) << (m / 2 - 1)) * 0.5f;
            word |= to_fp8(__fmul_rn(v, scale), true) << 8 * i;
        }
    }
    return word | sign;
}

// Codes of a block with scale byte e under B.
static __device__ __forceinline__ uint2 rebased(uint2 codes, uint32_t e, uint32_t base)
{
    const int s = (int)e - (int)base + 13;
    return e == NAN_SCALE ? make_uint2(E5M2_NAN, E5M2_NAN)
                          : make_uint2(e5m2_of_e2m1(codes.x, s), e5m2_of_e2m1(codes.y, s));
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

template <int SOURCE, int D>
static __device__ __forceinline__ void prepare_piece(const struct mxv_gpu_dma_side side,
                                                     enum mxv_gpu_scale_rule rule, int block)
{
    constexpr int LANES = D / CHUNK, STEP = PREPARE_THREADS / LANES, STEPS = PIECE_ROWS / STEP;
    const struct mxv_gpu_rows rows = side.rows;
    const struct mxv_gpu_block piece = side.pieces[block % side.piece_count];
    const int lane = threadIdx.x % LANES, own = threadIdx.x / LANES;
    const int first = rows.cu[piece.sequence] + piece.row;
    const int count = min(side.tile ? side.tile : PIECE_ROWS, rows.cu[piece.sequence + 1] - first);
    const size_t row = (size_t)(block / side.piece_count) * rows.tokens + first + own;
    __shared__ uint32_t highest[PREPARE_THREADS / 32];
    uint4 words[STEPS];
    uint2 codes[STEPS];
    uint32_t scales[STEPS], base = 0;
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        words[i] = own + i * STEP < count
                       ? __ldcs((const uint4 *)rows.data + (row + i * STEP) * LANES + lane)
                       : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const chunk<SOURCE> c = {{words[i].x, words[i].y, words[i].z, words[i].w}};
        chunk<SOURCE_ROWS> x;
        float values[CHUNK];
        uint32_t m = chunk_amax<SOURCE>(c);
        m = max(m, __shfl_xor_sync(~0u, m, 1));
        m = max(m, __shfl_xor_sync(~0u, m, 2));
        m = amax_word<SOURCE>(m); // rounding is monotone: the maximum may be taken before it
        if (rows.scaled)
            m = __float_as_uint(__fmul_rn(__uint_as_float(m), fabsf(rows.factor)));
        widen<SOURCE>(c, values);
#pragma unroll
        for (int k = 0; k < CHUNK; k++)
            x.word[k] =
                __float_as_uint(rows.scaled ? __fmul_rn(values[k], rows.factor) : values[k]);
        const uint32_t e = scale_code(rule, element_of(MXV_GPU_MXFP4), m, false);
        codes[i] = mx_codes<MXV_GPU_MXFP4, SOURCE_ROWS>(x, min((int)e - 127, 127));
        scales[i] = e;
        base = max(base, e == NAN_SCALE ? 0 : e);
        if (side.high && own + i * STEP < count) {
            const uint32_t h = scale_code(rule, element_of(MXV_GPU_MXFP8_E4M3), m, false);
            const uint2 high = mx_codes<MXV_GPU_MXFP8_E4M3, SOURCE_ROWS>(x, min((int)h - 127, 127));
            __stcs((uint4 *)side.high + (row + i * STEP) * LANES + lane, decoded(high, h));
        }
    }
    if (side.tile) {
        base = __reduce_max_sync(~0u, base);
        if (threadIdx.x % 32 == 0)
            highest[threadIdx.x / 32] = base;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < PREPARE_THREADS / 32; i++)
            base = max(base, highest[i]);
    }
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        if (!side.tile) {
            base = scales[i] == NAN_SCALE ? 0 : scales[i];
#pragma unroll
            for (int distance = 4; distance < LANES; distance *= 2)
                base = max(base, __shfl_xor_sync(~0u, base, distance));
        }
        const uint2 low = rebased(codes[i], scales[i], base);
        if (own + i * STEP < count) {
            __stcs((uint2 *)side.low + (row + i * STEP) * LANES + lane, low);
            if (lane == 0)
                side.factor[row + i * STEP] = factor_of(base);
        }
    }
}

// FLOOR: a copy for the rule that needs a subtraction alone.
template <int SOURCE, int D, bool FLOOR>
static __global__ void __launch_bounds__(PREPARE_THREADS)
    prepare(const __grid_constant__ struct prepare_args a)
{
    const int key = blockIdx.x >= a.first_block[1];
    prepare_piece<SOURCE, D>(a.side[key], FLOOR ? MXV_GPU_RULE_FLOOR : a.rule,
                             (int)blockIdx.x - a.first_block[key]);
}

template <int SOURCE, int D> static int launch_prepare(const struct prepare_args &a, int blocks)
{
    if (a.rule == MXV_GPU_RULE_FLOOR)
        prepare<SOURCE, D, true><<<blocks, PREPARE_THREADS>>>(a);
    else
        prepare<SOURCE, D, false><<<blocks, PREPARE_THREADS>>>(a);
    return (int)cudaGetLastError();
}

static bool offered(const struct mxv_gpu_dma_side *s)
{
    const struct mxv_gpu_rows *r = &s->rows;
    return (r->type == MXV_GPU_F16 || r->type == MXV_GPU_BF16) && r->cast == r->type &&
           (r->d == 64 || r->d == 128) && !r->mean && !r->channel_factor && !r->channel_divisor &&
           !r->row_divisor && s->tile <= PIECE_ROWS;
}

extern "C" int mxv_gpu_prepare_dma(const struct mxv_gpu_dma_side *q,
                                   const struct mxv_gpu_dma_side *k, enum mxv_gpu_scale_rule rule)
{
    struct prepare_args a = {{*q, *k}, rule, {0, q->piece_count * q->rows.heads}};
    const int blocks = a.first_block[1] + k->piece_count * k->rows.heads;
    if (!offered(q) || !offered(k) || q->rows.type != k->rows.type || q->rows.d != k->rows.d)
        return (int)cudaErrorInvalidValue;
    if (blocks == 0)
        return (int)cudaSuccess;
    const bool half = q->rows.type == MXV_GPU_F16, wide = q->rows.d == 128;
    if (half)
        return wide ? launch_prepare<SOURCE_F16, 128>(a, blocks)
                    : launch_prepare<SOURCE_F16, 64>(a, blocks);
    return wide ? launch_prepare<SOURCE_BF16, 128>(a, blocks)
                : launch_prepare<SOURCE_BF16, 64>(a, blocks);
}

// First row (of all heads' rows) whose word of `work` a row shares.
static __device__ __forceinline__ size_t leader(const struct mxv_gpu_rows &r, int tile, size_t row)
{
    if (!tile)
        return row;
    const int token = (int)(row % r.tokens), first = r.cu[r.sequence_of[token]];
    return row - (token - first) % tile;
}

static __global__ void find_bases(const struct mxv_gpu_rows r, int tile, const uint8_t *scales,
                                  uint32_t *work)
{
    const size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int blocks = r.d / 32;
    if (row >= (size_t)r.heads * r.tokens)
        return;
    uint32_t base = 0;
    for (int i = 0; i < blocks; i++) {
        const uint32_t e = scales[row * blocks + i];
        base = max(base, e == NAN_SCALE ? 0 : e);
    }
    atomicMax(work + leader(r, tile, row), base);
}

static __global__ void rebase(const struct mxv_gpu_rows r, int tile, const uint8_t *codes,
                              const uint8_t *scales, const uint32_t *work, uint8_t *low,
                              float *factor)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; // 8 codes
    const size_t row = i * CHUNK / r.d;
    if (row >= (size_t)r.heads * r.tokens)
        return;
    const uint32_t base = work[leader(r, tile, row)], w = ((const uint32_t *)codes)[i];
    const uint2 spread =
        make_uint2((w & 0xf) | (w & 0xf0) << 4 | (w & 0xf00) << 8 | (w & 0xf000) << 12,
                   (w >> 16 & 0xf) | (w >> 16 & 0xf0) << 4 | (w >> 16 & 0xf00) << 8 |
                       (w >> 16 & 0xf000) << 12);
    ((uint2 *)low)[i] = rebased(spread, scales[i / 4], base);
    if (i * CHUNK % r.d == 0)
        factor[row] = factor_of(base);
}

extern "C" int mxv_gpu_rebase(const struct mxv_gpu_rows *rows, int tile, const uint8_t *codes,
                              const uint8_t *scales, uint32_t *work, uint8_t *low, float *factor)
{
    const size_t n = (size_t)rows->heads * rows->tokens;
    if (n == 0)
        return (int)cudaSuccess;
    const cudaError_t error = cudaMemsetAsync(work, 0, n * sizeof *work);
    if (error != cudaSuccess)
        return (int)error;
    find_bases<<<linear_blocks(n), MXV_GPU_LINEAR_THREADS>>>(*rows, tile, scales, work);
    rebase<<<linear_blocks(n * rows->d / CHUNK), MXV_GPU_LINEAR_THREADS>>>(
        *rows, tile, codes, scales, work, low, factor);
    return (int)cudaGetLastError();
}
