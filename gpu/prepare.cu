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
// registers until the tile's B is known, and writes the high copy meanwhile. Blocks of usual size
// take a way with few instructions (encode_usual, which says why it gives the same bits), all
// others go by definition. mxv_gpu_rebase takes codes and scales as they are. gpu/device_check
// compares both with formats/ and with each other, over every exponent.
#include "quantise_code.cuh"

enum { PIECE_ROWS = 128, PREPARE_THREADS = 512, NAN_SCALE = 0xFF, E5M2_NAN = 0x7f7f7f7f };

struct prepare_args {
    struct mxv_gpu_dma_side side[2];
    enum mxv_gpu_scale_rule rule;
    int first_block[2]; // of each side
};

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
static __device__ uint32_t rounded_e5m2(uint32_t codes, int s)
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

static __device__ __forceinline__ uint32_t largest_of_block(uint32_t base)
{
    constexpr int WARPS = PREPARE_THREADS / 32;
    __shared__ uint32_t highest[WARPS];
    base = __reduce_max_sync(~0u, base);
    if (threadIdx.x % 32 == 0)
        highest[threadIdx.x / 32] = base;
    __syncthreads();
    return __reduce_max_sync(~0u, highest[threadIdx.x % WARPS]);
}

// A warp has eight rows, one behind the other: STEPS to each LANES threads, which know their B.
template <int LANES, int STEPS>
static __device__ __forceinline__ void store_factors(float *factor, int count,
                                                     const uint32_t (&bases)[STEPS])
{
    const int thread = threadIdx.x % 32, row = threadIdx.x / 32 * 8 + thread;
    uint32_t base = bases[0];
#pragma unroll
    for (int i = 1; i < STEPS; i++)
        base = thread % STEPS == i ? bases[i] : base;
    base = __shfl_sync(~0u, base, thread / STEPS * LANES + thread % STEPS);
    if (thread < 8 && row < count)
        factor[row] = factor_of(base);
}

template <int SOURCE, int D, bool SCALED, bool FLOOR>
static __device__ __forceinline__ void prepare_piece(const struct mxv_gpu_dma_side &side,
                                                     enum mxv_gpu_scale_rule rule, int block)
{
    constexpr int LANES = D / CHUNK, STEPS = PIECE_ROWS * LANES / PREPARE_THREADS;
    const struct mxv_gpu_rows &rows = side.rows;
    const struct mxv_gpu_block piece = side.pieces[block % side.piece_count];
    const int own = threadIdx.x / LANES * STEPS; // and the rows after it
    const int first = rows.cu[piece.sequence] + piece.row;
    const int count = min(side.tile ? side.tile : PIECE_ROWS, rows.cu[piece.sequence + 1] - first);
    const size_t start = (size_t)(block / side.piece_count) * rows.tokens + first;
    const size_t at = (start + own) * LANES + threadIdx.x % LANES; // in chunks
    uint4 words[STEPS];
    uint2 codes[STEPS];
    uint32_t scales[STEPS], bases[STEPS], base = 0;
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        words[i] = own + i < count ? __ldcs((const uint4 *)rows.data + at + i * LANES)
                                   : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        const struct prepared x = encode<SOURCE, SCALED, FLOOR>(words[i], rows.factor, rule);
        codes[i] = x.low;
        scales[i] = x.scale;
        bases[i] = x.scale == NAN_SCALE ? 0 : x.scale;
        base = max(base, bases[i]);
        if (side.high && own + i < count)
            __stcs((uint4 *)side.high + at + i * LANES, x.high);
    }
    if (side.tile)
        base = largest_of_block(base);
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        bases[i] = side.tile ? base : largest_of_row<LANES>(bases[i]);
        if (own + i < count)
            __stcs((uint2 *)side.low + at + i * LANES, rebased(codes[i], scales[i], bases[i]));
    }
    store_factors<LANES, STEPS>(side.factor + start, count, bases);
}

// A launch that comes next may take multiprocessors as they fall idle, if it says so and waits for
// what is written here (launch_sm90.cuh).
static __device__ __forceinline__ void let_next_launch_begin(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// FLOOR: a copy for the rule that needs a subtraction alone.
template <int SOURCE, int D, bool FLOOR>
static __global__ void __launch_bounds__(PREPARE_THREADS)
    prepare(const __grid_constant__ struct prepare_args a)
{
    const int key = blockIdx.x >= a.first_block[1], block = (int)blockIdx.x - a.first_block[key];
    let_next_launch_begin();
    if (a.side[key].rows.scaled)
        prepare_piece<SOURCE, D, true, FLOOR>(a.side[key], a.rule, block);
    else
        prepare_piece<SOURCE, D, false, FLOOR>(a.side[key], a.rule, block);
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
