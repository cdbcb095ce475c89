// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches that make the operands of dma with rebase=1 (prepare.cuh).
//
// mxv_gpu_prepare_dma does all in one pass: a block takes at most 128 rows, keeps their codes in
// registers until the tile's B is known, and writes the high copy meanwhile. mxv_gpu_rebase takes
// codes and scales as they are. gpu/device_check compares both with formats/ and with each other.
// dma_fused_sm90.cu does the first inside the attention kernel.
#include "prepare.cuh"

enum { PREPARE_THREADS = 512 };

struct prepare_args {
    struct mxv_gpu_dma_side side[2];
    enum mxv_gpu_scale_rule rule;
    int first_block[2]; // of each side
};

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
