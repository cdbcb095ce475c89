// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What both engines (attention.cuh on mma.sync, attention_sm90.cuh on wgmma) do to the scores,
// weights and outputs in a thread's registers: masks (contract 4), the tap stores of a tracing
// build, and the last steps of a row (contract 6). A warp holds 16 rows; thread t of it columns
// 8 i + 2 (t mod 4) and the next, of rows t / 4 and t / 4 + 8: x[i][0..1] and x[i][2..3].
#ifndef MXV_GPU_FRAGMENT_CUH
#define MXV_GPU_FRAGMENT_CUH

#include "softmax.cuh"
#include "tile.cuh"

// Whether the 16 rows from `first` on see every key of key tile j.
static __device__ __forceinline__ bool all_visible(const struct mxv_gpu_call &call,
                                                   const struct place &w, int j, int first)
{
    const int key = j * call.tile_n;
    return visible_keys(call, w, first + 15).begin <= key &&
           visible_keys(call, w, first).end >= key + call.tile_n;
}

// Contract 4: what is not visible; beyond the keys of the sequence always -inf. s: from column
// `first` of the tile on.
template <int TILES>
static __device__ __forceinline__ void mask_scores(const struct mxv_gpu_call &call,
                                                   const struct place &w, int j, int row,
                                                   float (&s)[TILES][4], int first = 0)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const struct key_range seen = visible_keys(call, w, row + 8 * h);
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int key = j * call.tile_n + first + t * 8 + threadIdx.x % 4 * 2 + e;
                if (key >= w.lk)
                    s[t][2 * h + e] = -INFINITY;
                else if (key < seen.begin || key >= seen.end)
                    s[t][2 * h + e] = call.finite ? MXV_MASKED_SCORE : -INFINITY;
            }
    }
}

template <int TILES>
static __device__ __forceinline__ void copy_words(float (&to)[TILES][4],
                                                  const float (&from)[TILES][4])
{
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            to[t][e] = from[t][e];
}

// Integers become the numbers they are.
template <int TILES> static __device__ __forceinline__ void float_words(float (&s)[TILES][4])
{
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[t][e] = word_value<true>(s[t][e]);
}

// Contract 5.3 to 5.6 and 5.10 on the scores of a tile, which become weights, not rounded yet; m:
// after step 2; words: what the scores were made of, where K folds.
template <class K, int OPTIONS, int TILES, int WORDS>
static __device__ __forceinline__ void
weigh_scores(const typename K::params &p, const struct place &w, int j, int route, int row,
             const typename K::row &row_factors, const typename K::tile &tile, int columns,
             const float (&m)[2], const float (&words)[WORDS][4], struct softmax_rows &rows,
             float (&s)[TILES][4], float (&alpha)[2])
{
    const float c = K::LOG2 ? 1 : p.call.c;
    struct word_use use = {{1, 1}, {c, c}};
    float shift[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        alpha[h] = rescale_factor<K::LOG2, OPTIONS>(p.call, rows.m[h], m[h]);
        shift[h] = softmax_shift<K::LOG2>(p.call, m[h]);
    }
    if constexpr (K::FOLDS) {
        if (K::folds(p, route)) {
            K::fold_exponents(p, w, j, row, row_factors, tile, shift, words, s);
            use.exponent[0] = use.exponent[1] = 1;
            shift[0] = shift[1] = 0; // fma(x, 1, -0) = x
        }
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
        softmax_weights<OPTIONS, NUMBERS>(p.call, columns, h, m[h], alpha[h], shift[h], use, rows,
                                          s);
}

static __device__ __forceinline__ size_t trace_slot(const struct mxv_gpu_call &call,
                                                    const struct place &w, int j)
{
    const struct mxv_gpu_trace &trace = call.trace;
    return ((size_t)w.head * trace.query_tiles + w.tile_index) * trace.key_tiles + j;
}

// Accumulator-shaped taps: columns of `words` of the rows of this thread.
template <int TILES>
static __device__ void trace_matrix(const struct mxv_gpu_call &call, const struct place &w, int j,
                                    int row, int cols, uint32_t *words, const float (&x)[TILES][4])
{
#pragma unroll
    for (int h = 0; h < 2; h++)
        for_tiles<TILES>([&](int t) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int r = row + 8 * h, column = t * 8 + threadIdx.x % 4 * 2 + e;
                if (r < w.end && column < cols)
                    words[(trace_slot(call, w, j) * call.tile_m + r - w.tile_begin) * cols +
                          column] = __float_as_uint(x[t][2 * h + e]);
            }
        });
}

// Rounds weights to the PV unit's type: 16 bits as [8-key tile][row half]; E4M3, saturating, as
// [16-key tile][row half], a word for the columns 2 q, 2 q + 1 of both 8-key tiles (q: lane mod 4).
// V lies in the order of keys that makes two such words of each row half an operand of 32 keys
// (mxv_gpu_values_e4m3).
template <int UNIT, int TILES>
static __device__ __forceinline__ void pack_weights(const float (&s)[TILES][4],
                                                    uint32_t (&weights)[TILES][2])
{
    for_tiles<TILES>([&](int t) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint32_t pair = pack_pair<UNIT>(s[t][2 * h], s[t][2 * h + 1]);
            if (UNIT != MXV_UNIT_E4M3)
                weights[t][h] = pair;
            else
                weights[t / 2][h] = t % 2 ? weights[t / 2][h] | pair << 16 : pair;
        }
    });
}

// p: weights as pack_weights leaves them.
template <int UNIT, int TILES>
static __device__ void trace_weights(const struct mxv_gpu_call &call, const struct place &w, int j,
                                     int row, const uint32_t (&p)[TILES][2])
{
    constexpr bool BYTES = UNIT == MXV_UNIT_E4M3;
#pragma unroll
    for (int h = 0; h < 2; h++)
        for_tiles<TILES>([&](int t) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int r = row + 8 * h, column = t * 8 + threadIdx.x % 4 * 2 + e;
                const uint32_t code = BYTES ? p[t / 2][h] >> (16 * (t % 2) + 8 * e) & 0xff
                                            : p[t][h] >> (16 * e) & 0xffff;
                if (r < w.end && column < call.tile_n)
                    call.trace.weight[(trace_slot(call, w, j) * call.tile_m + r - w.tile_begin) *
                                          call.tile_n +
                                      column] = code;
            }
        });
}

static __device__ void trace_rows(const struct mxv_gpu_call &call, const struct place &w, int j,
                                  int row, const struct softmax_rows &rows)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float total = softmax_total(rows.l[h]);
        const size_t at = trace_slot(call, w, j) * call.tile_m + row + 8 * h - w.tile_begin;
        if (row + 8 * h < w.end && threadIdx.x % 4 == 0) {
            call.trace.max[at] = __float_as_uint(rows.m[h]);
            call.trace.sum[at] = __float_as_uint(total);
        }
    }
}

static __device__ __forceinline__ void store_pair(const struct mxv_gpu_call &call, size_t at,
                                                  float x, float y)
{
    if (call.out_type == MXV_GPU_F32)
        *(float2 *)((float *)call.out + at) = make_float2(x, y);
    else
        *(uint32_t *)((uint16_t *)call.out + at) = call.out_type == MXV_GPU_F16
                                                       ? pack_pair<MXV_UNIT_F16>(x, y)
                                                       : pack_pair<MXV_UNIT_BF16>(x, y);
}

// Contract 6.
template <bool LOG2, int D>
static __device__ __forceinline__ void
finish(const struct mxv_gpu_call &call, const struct place &w, int row,
       const struct softmax_rows &rows, const float (&o)[D / 8][4])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float total = softmax_total(rows.l[h]);
        float g = reciprocal_approx(total);
        if (call.v_scale && w.lk > 0)
            g = __fmul_rn(g, call.v_scale[(size_t)w.kv_head * call.tokens_k + w.k_first]);
        const size_t token = (size_t)w.head * call.tokens_q + w.q_first + row + 8 * h;
        if (row + 8 * h >= w.end)
            continue;
#pragma unroll
        for (int t = 0; t < D / 8; t++) {
            const int channel = t * 8 + threadIdx.x % 4 * 2;
            const float empty = call.empty_nan ? __uint_as_float(0x7fffffffu) : 0.0f;
            const float x = total == 0 ? empty : __fmul_rn(o[t][2 * h], g);
            const float y = total == 0 ? empty : __fmul_rn(o[t][2 * h + 1], g);
            store_pair(call, token * D + channel, x, y);
        }
        if (call.lse && threadIdx.x % 4 == 0)
            call.lse[token] = softmax_lse<LOG2>(call, rows.m[h], total);
    }
}

#endif
