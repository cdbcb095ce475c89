// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What a consumer of the wgmma engine (attention_sm90.cuh) does with the scores of a key tile:
// docs/kernels/contract.md 4 and 5 on the words that the product leaves in registers. Words are
// read as they are where that gives the contract's bits (struct word_use), else scaled and masked
// first. What is known of a tile before its scores are (struct key_step, struct slot) is made in
// straight-line code beside the exponentials of the tile before.
#ifndef MXV_GPU_SCORES_SM90_CUH
#define MXV_GPU_SCORES_SM90_CUH

#include "fragment.cuh"
#include "stages_sm90.cuh"

// What a consumer warpgroup knows of its piece of work.
template <class K> struct piece {
    struct place w;
    struct key_range tiles;
    typename K::plan plan;
    int group, row;               // of this thread
    struct key_range seen_by_all; // keys that every row of the warp sees
    int cut_tile;                 // a key tile with another sequence's V in it, or -1
    typename K::row row_factors;
    struct softmax_rows rows;
    bool raw_rows; // K::raw_row of all rows of the warp
};

template <int N>
static __device__ __forceinline__ void as_floats(const uint32_t (&words)[N][4], float (&x)[N][4])
{
#pragma unroll
    for (int t = 0; t < N; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[t][e] = __uint_as_float(words[t][e]);
}

// A key tile on its way: what is known of it before its scores are. raw: its words may stay as they
// are; edge: some of its keys are not visible to all rows of the warp.
template <class K> struct key_step {
    int j, route;
    bool raw, edge;
    typename K::tile tile;
    struct word_use use;
};

template <class K>
static __device__ __forceinline__ typename K::tile fetch_tile(const typename K::params &p,
                                                              const struct piece<K> &x, int n)
{
    const int last = x.tiles.end - x.tiles.begin - 1;
    return K::tile_of(p, x.w, x.plan, tile_at(p.call, x.tiles, min(n, last)));
}

// Straight-line code: it belongs between the exponentials of the tile before.
template <class K, int BN>
static __device__ __forceinline__ struct key_step<K> step_of(const typename K::params &p,
                                                             const struct piece<K> &x, int n,
                                                             const typename K::tile &tile) {
    struct key_step<K> step;
    step.j = tile_at(p.call, x.tiles, min(n, x.tiles.end - x.tiles.begin - 1));
    step.route = K::route_of(p, x.plan, tile, step.j);
    step.edge = (step.j * BN < x.seen_by_all.begin) | (step.j * BN + BN > x.seen_by_all.end);
    step.raw = !step.edge & K::raw(p, step.route, x.raw_rows, tile);
    step.tile = tile;
    step.use = K::use_of(p, step.route, x.row_factors, tile);
    return step;
}

// The same in all lanes of a warp: now the compiler knows it too, and keeps operand descriptors in
// uniform registers past the branches that depend on it.
template <class K>
static __device__ __forceinline__ void agree(struct key_step<K> &step)
{
    const int flags =
        __shfl_sync(0xffffffffu, step.route | (int)step.raw << 8 | (int)step.edge << 9, 0);
    step.route = flags & 0xff;
    step.raw = flags >> 8 & 1;
    step.edge = flags >> 9 & 1;
}

// Where use number `count` of a stage lies.
struct slot {
    uint32_t keys, values; // operand_at
    uint32_t key_full, key_empty, value_full, value_empty, parity;
};

template <class K, int D, int BN>
static __device__ __forceinline__ struct slot slot_of(const struct memory<K, D, BN> &mem,
                                                      uint32_t count)
{
    return {operand_at(mem.key_stage(count), 16),
            operand_at(mem.value_stage(count), K::UNIT == MXV_UNIT_E4M3 ? 16 : BN * 128),
            mem.barrier(K_FULL, count),
            mem.barrier(K_EMPTY, count),
            mem.barrier(V_FULL, count),
            mem.barrier(V_EMPTY, count),
            mem.parity(count)};
}

// Contract 5 on words of kind WORDS, read as `use` says. folded: words are the integers of an INT8
// tile at the edge of what is visible, as binary32 numbers, with -inf where a key is not visible;
// the exponent passes that on whatever the scale is. True where alpha is known to be one for the
// whole warp.
template <class K, int WORDS, bool OPTIONS, int TILES, class F>
static __device__ __forceinline__ bool
weigh_words(const struct mxv_gpu_call &call, struct word_use use, bool folded,
            struct softmax_rows &rows, float (&s)[TILES][4], float (&alpha)[2], F &&beside)
{
    float m[2], shift[2];
    const bool kept = softmax_maxima<K::LOG2, WORDS != NUMBERS>(call, use, rows.m, m, s);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        alpha[h] = rescale_factor<K::LOG2, OPTIONS>(call, rows.m[h], m[h]);
        shift[h] = softmax_shift<K::LOG2>(call, m[h]);
    }
    if (K::FOLDS && WORDS == NUMBERS && __builtin_expect(folded, 0)) {
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                s[t][e] = s[t][e] == -INFINITY
                              ? s[t][e]
                              : __fmaf_rn(s[t][e], use.exponent[e / 2], -shift[e / 2]);
        use.exponent[0] = use.exponent[1] = 1;
        shift[0] = shift[1] = 0; // fma(x, 1, -0) = x
    }
    beside();
#pragma unroll
    for (int h = 0; h < 2; h++)
        softmax_weights<OPTIONS, WORDS>(call, TILES * 8, h, m[h], alpha[h], shift[h], use, rows, s);
    return kept;
}

// Contract 4 and 5 on the words of a tile, which become weights, not rounded yet. Words stay as
// they are where the kernel and the place allow it, else they are made scores first. beside():
// called before the exponentials. True where alpha is known to be one for the whole warp.
template <class K, int BN, bool OPTIONS, class F>
static __device__ __forceinline__ bool
softmax_scores(const typename K::params &p, struct piece<K> &x, const struct key_step<K> &step,
               uint32_t (&words)[BN / 8][4], float (&alpha)[2], F &&beside)
{
    const struct mxv_gpu_call &call = p.call;
    const int j = step.j, route = step.route;
    const bool raw = !OPTIONS && step.raw;
    const bool fold = K::FOLDS && K::folds(p, route);
    const float c = K::LOG2 ? 1.0f : call.c;
    struct word_use use = step.use;
    bool kept = false;
    float s[BN / 8][4];
    as_floats(words, s);
    if (raw && K::FOLDS && route == K::ROUTES - 1) {
        kept = fold ? weigh_words<K, INTEGERS, OPTIONS>(call, use, false, x.rows, s, alpha, beside)
                    : weigh_words<K, SCALED_INTEGERS, OPTIONS>(call, use, false, x.rows, s, alpha,
                                                               beside);
    } else {
        if (__builtin_expect(!raw, 0)) {
            if (!OPTIONS && fold) {
                float_words(s);
            } else {
                K::scale(p, x.w, route, j, x.row_factors, step.tile, s);
                use = {{1, 1}, {c, c}};
            }
            if (step.edge)
                mask_scores(call, x.w, j, x.row, s);
            if (OPTIONS && call.trace.score)
                trace_matrix(call, x.w, j, x.row, BN, call.trace.score, s);
        }
        if (OPTIONS && fold) {
            float integers[BN / 8][4], m[2];
            as_floats(words, integers);
            softmax_maxima<K::LOG2, false>(call, use, x.rows.m, m, s);
            weigh_scores<K, OPTIONS>(p, x.w, j, route, x.row, x.row_factors, step.tile, BN, m,
                                     integers, x.rows, s, alpha);
            beside();
        } else {
            kept =
                weigh_words<K, NUMBERS, OPTIONS>(call, use, fold && !raw, x.rows, s, alpha, beside);
        }
    }
#pragma unroll
    for (int t = 0; t < BN / 8; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            words[t][e] = __float_as_uint(s[t][e]);
    return kept;
}

// E4M3 weights, saturating, as operands of 32 keys: weights[2 t][h] holds the columns 32 t + 2 q,
// the next, and both 8 further of row half h, weights[2 t + 1][h] those 16 further (q: lane mod 4).
// V lies in the order of keys that makes this an operand (mxv_gpu_values_e4m3).
template <int BN>
static __device__ __forceinline__ void pack_e4m3(const uint32_t (&words)[BN / 8][4],
                                                 uint32_t (&weights)[BN / 8][2])
{
#pragma unroll
    for (int t = 0; t < BN / 16; t++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            uint32_t pair[2];
#pragma unroll
            for (int i = 0; i < 2; i++)
                pair[i] = pack_pair<MXV_UNIT_E4M3>(__uint_as_float(words[2 * t + i][2 * h]),
                                                   __uint_as_float(words[2 * t + i][2 * h + 1]));
            weights[t][h] = pair[0] | pair[1] << 16;
        }
}

// Contract 5.7 and 5.8. Multiplying by one changes nothing, so a warp without change leaves O.
template <class K, int D, int BN, bool OPTIONS>
static __device__ __forceinline__ void
round_and_rescale(const struct mxv_gpu_call &call, const struct piece<K> &x, int j, bool kept,
                  const uint32_t (&words)[BN / 8][4], const float (&alpha)[2],
                  uint32_t (&weights)[BN / 8][2], uint32_t (&o)[D / 8][4])
{
    if (!kept && __any_sync(0xffffffffu, alpha[0] != 1 || alpha[1] != 1)) {
#pragma unroll
        for (int t = 0; t < D / 8; t++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                o[t][e] = __float_as_uint(__fmul_rn(__uint_as_float(o[t][e]), alpha[e / 2]));
    }
    if constexpr (K::UNIT == MXV_UNIT_E4M3) {
        pack_e4m3<BN>(words, weights);
    } else {
#pragma unroll
        for (int t = 0; t < BN / 8; t++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                weights[t][h] = pack_pair<K::UNIT>(__uint_as_float(words[t][2 * h]),
                                                   __uint_as_float(words[t][2 * h + 1]));
    }
    if (OPTIONS && call.trace.score) {
        trace_rows(call, x.w, j, x.row, x.rows);
        trace_weights<K::UNIT>(call, x.w, j, x.row, weights);
    }
}

#endif
