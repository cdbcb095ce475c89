// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Score tiles of emulated GPUs (emulate.h): matrix-unit product, route scales, mask, by
// docs/kernels/contract.md 4, dma.md 3 and tilemix.md 3. One thread block per 64 x 64 scores.
// 4-bit and INT8 products are exact sums by __dp4a of doubled or plain values; the rest is
// emulate_tile.cuh. gpu/emulate_verify compares the `score` taps with the CPU's emulation.
#include "emulate_tile.cuh"

// 64 one-byte elements of a row, bank-free; a thread block of 2 x 4 outputs a thread.
enum { WORDS = 16, WORD_STRIDE = WORDS + 4, BYTE_THREADS = 512, BYTE_ROWS = 2, ROW_STEP = 32 };

// What a thread block computes.
struct score_block {
    struct mxv_emulate_item item;
    int key_tile, row, column; // first row and column in the tile
    int rows, columns;         // that exist; the others are zero operands
    size_t q_first, k_first;   // rows of the operand tensors
};

static __device__ __forceinline__ bool score_block_of(const struct mxv_emulate_scores &p,
                                                      struct score_block &w)
{
    const struct mxv_emulate_call &call = p.call;
    const struct mxv_emulate_pair pair = p.pairs[blockIdx.x];
    w.item = call.items[pair.item];
    w.key_tile = pair.key_tile;
    w.row = blockIdx.y * EDGE;
    w.column = blockIdx.z * EDGE;
    const int key = w.key_tile * call.tile_n + w.column;
    w.rows = min(EDGE, w.item.rows - w.row);
    w.columns = max(0, min(min(EDGE, call.tile_n - w.column), w.item.lk - key));
    w.q_first = (size_t)w.item.head * call.tokens_q + w.item.q_first + w.row;
    w.k_first = (size_t)w.item.kv_head * call.tokens_k + w.item.k_first + key;
    return w.rows > 0;
}

static __device__ __forceinline__ bool visible(const struct mxv_emulate_call &call,
                                               const struct mxv_emulate_item &item, int row,
                                               int64_t key)
{
    const int64_t diagonal = (int64_t)item.row + row + item.diagonal;
    return (call.left < 0 || key >= diagonal - call.left) &&
           (call.right < 0 || key <= diagonal + call.right);
}

// Scales and mask of the raw score of row r and column n of the block; stores it.
static __device__ __forceinline__ void
store_score(const struct mxv_emulate_scores &p, const struct score_block &w, int r, int n, float s)
{
    const struct mxv_emulate_call &call = p.call;
    const int key = w.key_tile * call.tile_n + w.column + n;
    if (r >= w.rows || w.column + n >= call.tile_n)
        return;
    float x = s, factor = call.c; // of option fold
    if (n < w.columns && p.scaling == MXV_EMULATE_FACTORS) {
        const float scales = __fmul_rn(p.q_factor[w.q_first + r], p.k_factor[w.k_first + n]);
        s = __fmul_rn(s, scales);
        factor = __fmul_rn(scales, call.c);
    }
    if (n < w.columns && p.scaling == MXV_EMULATE_REBASED)
        s = __fmul_rn(__fmul_rn(s, p.q_factor[w.q_first + r]), p.k_factor[w.k_first + n]);
    if (n < w.columns && p.q_sigma)
        s = __fmul_rn(__fmul_rn(s, p.q_sigma[w.q_first + r]), p.k_sigma[w.k_first + n]);
    uint32_t word = __float_as_uint(s);
    const bool exists = key < w.item.lk, seen = exists && visible(call, w.item, w.row + r, key);
    if (!seen)
        word = exists && call.finite ? 0xca989680u : 0xff800000u; // -5e6, -inf
    const size_t tile = (size_t)w.item.slot * call.key_tiles + w.key_tile;
    const size_t at = (tile * call.tile_m + w.row + r) * call.tile_n + w.column + n;
    call.score[at] = word;
    if (call.folded) {
        call.folded[at] = seen ? x : __uint_as_float(word);
        call.factor[at] = seen ? factor : call.c;
    }
}

// E8M0 scales of this thread's four rows for a chunk; bit i of the result: a NaN scale.
static __device__ __forceinline__ unsigned take_scales(const uint8_t *scales, size_t first, int row,
                                                       int existing, int blocks, int block,
                                                       int (&exp)[4])
{
    unsigned nan = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint8_t byte = row + i < existing ? scales[(first + row + i) * blocks + block] : 127;
        exp[i] = (int)byte - 127;
        nan |= (unsigned)(byte == 255) << i;
    }
    return nan;
}

// Core: one instruction per 32 channels from zero, promoted into acc by fma.
static __device__ __forceinline__ void promote(const struct mxv_emulate_scores &p,
                                               const struct score_block &w, int block,
                                               uint32_t (&c)[4][4], float (&acc)[4][4])
{
    const int r = threadIdx.x / 16 * 4, n = threadIdx.x % 16 * 4, blocks = p.call.d / CHUNK;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (r + i < w.rows && n + j < w.columns) {
                const float scale = __fmul_rn(p.q_factor[(w.q_first + r + i) * blocks + block],
                                              p.k_factor[(w.k_first + n + j) * blocks + block]);
                acc[i][j] = __fmaf_rn(__uint_as_float(c[i][j]), scale, acc[i][j]);
            }
            c[i][j] = 0;
        }
}

template <int L>
static __global__ void __launch_bounds__(EMULATE_THREADS, 2)
    score_steps(const __grid_constant__ struct mxv_emulate_scores p)
{
    __shared__ __align__(16) operand_tile a, b;
    struct score_block w;
    if (!score_block_of(p, w))
        return;
    const struct unit_step u = step_of(p.model);
    const struct reading read_a = reading_of(p.model, false), read_b = reading_of(p.model, true);
    const bool core = L == CHUNK && p.scaling == MXV_EMULATE_CORE,
               scaled = L == CHUNK && p.model.scaled;
    const int r = threadIdx.x / 16 * 4, n = threadIdx.x % 16 * 4, blocks = p.call.d / CHUNK;
    uint32_t c[4][4] = {};
    float acc[4][4] = {};
    int scale_a[4] = {}, scale_b[4] = {};
    for (int block = 0; block < blocks; block++) {
        __syncthreads();
        load_channels(a, read_a, p.q, w.q_first, p.call.d, block * CHUNK, w.rows);
        load_channels(b, read_b, p.k, w.k_first, p.call.d, block * CHUNK, w.columns);
        __syncthreads();
        unsigned nan_a = 0, nan_b = 0;
        if (scaled) {
            nan_a = take_scales(p.q_scale, w.q_first, r, w.rows, blocks, block, scale_a);
            nan_b = take_scales(p.k_scale, w.k_first, n, w.columns, blocks, block, scale_b);
        }
        for (int k = 0; k < CHUNK; k += L)
            multiply_step<L>(a, b, k, u, scale_a, scale_b, c);
        if (nan_a | nan_b)
#pragma unroll
            for (int i = 0; i < 16; i++)
                if ((nan_a >> (i / 4) | nan_b >> (i % 4)) & 1)
                    c[i / 4][i % 4] = UNIT_NAN;
        if (core)
            promote(p, w, block, c, acc);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            store_score(p, w, r + i, n + j, core ? acc[i][j] : __uint_as_float(c[i][j]));
}

// 64 elements of 64 rows as bytes, and what GST needs of each 16.
struct byte_tile {
    uint32_t words[EDGE][WORD_STRIDE];
    uint32_t groups[EDGE][4];
};

// 16 E2M1 codes as doubled values; returns which of them are nonzero.
static __device__ __forceinline__ uint32_t double_codes(uint2 codes, uint32_t (&words)[4])
{
    uint32_t nonzero = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const uint32_t code = (i < 8 ? codes.x : codes.y) >> (i % 8 * 4) & 15u;
        const uint32_t byte = (uint32_t)unit_double_e2m1(code) & 0xffu;
        words[i / 4] = i % 4 ? words[i / 4] | byte << (i % 4 * 8) : byte;
        nonzero |= (uint32_t)((code & 7) != 0) << i;
    }
    return nonzero;
}

// Each thread brings 16 elements of one side: row `thread` / 4, group `thread` % 4.
template <int UNIT>
static __device__ __forceinline__ void load_bytes(byte_tile &t, int thread, const void *codes,
                                                  const uint8_t *scales, size_t first, int d,
                                                  int channel, int existing)
{
    constexpr bool UE4M3 = UNIT == MXV_EMULATE_NVFP4;
    const int row = thread / 4, group = thread % 4, at = channel + 16 * group;
    const bool exists = row < existing && at < d;
    const size_t element = (first + row) * d + at;
    uint32_t words[4] = {}, nonzero = 0;
    if (UNIT == MXV_EMULATE_INT8) {
        if (exists)
            take_four(words, (const uint32_t *)((const uint8_t *)codes + element));
    } else {
        if (exists)
            nonzero = double_codes(*(const uint2 *)((const uint8_t *)codes + element / 2), words);
        const uint32_t scale =
            !exists ? (UE4M3 ? 0x38 : 0x7f) : scales[element / (UE4M3 ? 16 : 32)];
        t.groups[row][group] = unit_group(UE4M3, nonzero, scale);
    }
    *(uint4 *)&t.words[row][4 * group] = make_uint4(words[0], words[1], words[2], words[3]);
}

// Exact sums of the products of 64 elements, 16 each.
static __device__ __forceinline__ void sum_groups(const uint32_t (&x)[WORDS], const uint32_t *y,
                                                  int (&q)[4])
{
#pragma unroll
    for (int g = 0; g < 4; g++) {
        uint32_t v[4];
        take_four(v, y + 4 * g);
        q[g] = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            q[g] = __dp4a((int)x[4 * g + i], (int)v[i], q[g]);
    }
}

template <int UNIT>
static __device__ __forceinline__ void multiply_bytes(const byte_tile &ta, const byte_tile &tb,
                                                      const struct unit_step &u,
                                                      uint32_t (&c)[BYTE_ROWS][4])
{
#pragma unroll
    for (int i = 0; i < BYTE_ROWS; i++) {
        const int r = threadIdx.x / 16 + ROW_STEP * i;
        uint32_t x[WORDS], groups_a[4], groups_b[4];
#pragma unroll
        for (int g = 0; g < WORDS; g++)
            x[g] = ta.words[r][g];
        if (UNIT != MXV_EMULATE_INT8)
            take_four(groups_a, ta.groups[r]);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int n = threadIdx.x % 16 + 16 * j;
            int q[4];
            sum_groups(x, tb.words[n], q);
            if (UNIT == MXV_EMULATE_INT8) {
                c[i][j] += (uint32_t)(q[0] + q[1] + q[2] + q[3]);
            } else {
                take_four(groups_b, tb.groups[n]);
                c[i][j] = unit_gst(UNIT == MXV_EMULATE_NVFP4, u, q, groups_a, groups_b, c[i][j]);
            }
        }
    }
}

template <int UNIT>
static __global__ void __launch_bounds__(BYTE_THREADS)
    score_bytes(const __grid_constant__ struct mxv_emulate_scores p)
{
    __shared__ __align__(16) byte_tile a, b;
    struct score_block w;
    if (!score_block_of(p, w))
        return;
    const struct unit_step u = step_of(p.model);
    uint32_t c[BYTE_ROWS][4] = {};
    const bool side_b = threadIdx.x >= BYTE_THREADS / 2;
    const int thread = threadIdx.x % (BYTE_THREADS / 2);
    for (int channel = 0; channel < p.call.d; channel += 4 * WORDS) {
        __syncthreads();
        load_bytes<UNIT>(side_b ? b : a, thread, side_b ? p.k : p.q, side_b ? p.k_scale : p.q_scale,
                         side_b ? w.k_first : w.q_first, p.call.d, channel,
                         side_b ? w.columns : w.rows);
        __syncthreads();
        multiply_bytes<UNIT>(a, b, u, c);
    }
#pragma unroll
    for (int i = 0; i < BYTE_ROWS; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            store_score(p, w, threadIdx.x / 16 + ROW_STEP * i, threadIdx.x % 16 + 16 * j,
                        UNIT == MXV_EMULATE_INT8 ? __int2float_rn((int)c[i][j])
                                                 : __uint_as_float(c[i][j]));
}

extern "C" int mxv_emulate_scores(const struct mxv_emulate_scores *p)
{
    const dim3 grid((unsigned)p->pair_count, (unsigned)(p->call.tile_m + EDGE - 1) / EDGE,
                    (unsigned)(p->call.tile_n + EDGE - 1) / EDGE);
    if (p->pair_count == 0)
        return (int)cudaSuccess;
    switch (p->model.unit) {
    case MXV_EMULATE_T8:
        score_steps<8><<<grid, EMULATE_THREADS>>>(*p);
        break;
    case MXV_EMULATE_T16:
        score_steps<16><<<grid, EMULATE_THREADS>>>(*p);
        break;
    case MXV_EMULATE_T32:
        score_steps<32><<<grid, EMULATE_THREADS>>>(*p);
        break;
    case MXV_EMULATE_MXFP4:
        score_bytes<MXV_EMULATE_MXFP4><<<grid, BYTE_THREADS>>>(*p);
        break;
    case MXV_EMULATE_NVFP4:
        score_bytes<MXV_EMULATE_NVFP4><<<grid, BYTE_THREADS>>>(*p);
        break;
    default:
        score_bytes<MXV_EMULATE_INT8><<<grid, BYTE_THREADS>>>(*p);
    }
    return (int)cudaGetLastError();
}
