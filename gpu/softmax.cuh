// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The online softmax of docs/kernels/contract.md 5 and 6 on accumulator fragments: a thread holds
// columns 2q and 2q+1 (q = lane mod 4) of rows g and g + 8 (g = lane / 4) of each 8-column tile,
// so the four lanes of a row sum are the four threads of a quad. Every rounding is an intrinsic;
// the step numbers are the contract's. OPTIONS of a build: what it may take 2^x from.
#ifndef MXV_GPU_SOFTMAX_CUH
#define MXV_GPU_SOFTMAX_CUH

#include "exp2_exact.h"
#include "mma.cuh"
#include "params.h"

#define MXV_MASKED_SCORE (-5.0e6f)

// f(t) for the tiles of 8 columns: unrolled, but for the up to 32 tiles of a build for options,
// which lie in memory.
template <int TILES, class F> static __device__ __forceinline__ void for_tiles(F &&f)
{
    if constexpr (TILES > 16) {
#pragma unroll 1
        for (int t = 0; t < TILES; t++)
            f(t);
    } else {
#pragma unroll
        for (int t = 0; t < TILES; t++)
            f(t);
    }
}

struct softmax_rows { // of the two rows of a thread
    float m[2], l[2];
};

// FlashAttention-4's degree-3 polynomial (docs/numerics.md).
static __device__ __forceinline__ float exp2_poly(float x)
{
    const float magic = 12582912.0f; // 1.5 * 2^23
    const float v = x > -127.0f ? x : -127.0f;
    const float t = __fadd_rd(v, magic);
    const float f = __fsub_rn(v, __fsub_rn(t, magic));
    float p = __fmaf_rn(0.077119089663028717041015625f, f, 0.227564394474029541015625f);
    p = __fmaf_rn(p, f, 0.695146143436431884765625f);
    p = __fmaf_rn(p, f, 1.0f);
    return __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));
}

// The instruction alone; the polynomial where the call asks for it (`true` of a bool); the
// correctly rounded 2^x as well.
enum { EXP2_HARDWARE, EXP2_POLY, EXP2_ANY };

static __device__ __forceinline__ float exp2_exact(float x)
{
    bool undecided; // never (exp2_exact.h)
    return __uint_as_float(special_ex2_cr(__float_as_uint(x), &undecided));
}

template <int OPTIONS>
static __device__ __forceinline__ float exp2_by(const struct mxv_gpu_call &call, float x)
{
    if (OPTIONS == EXP2_ANY && call.cr)
        return exp2_exact(x);
    return OPTIONS != EXP2_HARDWARE && call.poly ? exp2_poly(x) : exp2_approx(x);
}

static __device__ __forceinline__ void softmax_start(const struct mxv_gpu_call &call,
                                                     struct softmax_rows &rows)
{
    for (int h = 0; h < 2; h++) {
        rows.m[h] = call.finite ? MXV_MASKED_SCORE : -INFINITY;
        rows.l[h] = 0;
    }
}

template <bool LOG2>
static __device__ __forceinline__ float rescale_exponent(const struct mxv_gpu_call &call, float old,
                                                         float m)
{
    const float difference = __fsub_rn(old, m);
    return LOG2 ? difference : __fmul_rn(difference, call.c);
}

// Step 4, M.
template <bool LOG2>
static __device__ __forceinline__ float softmax_shift(const struct mxv_gpu_call &call, float m)
{
    if (m == -INFINITY)
        return 0;
    return __fsub_rn(LOG2 ? m : __fmul_rn(m, call.c), call.offset);
}

// Step 3. EX2(-inf) is 0 and EX2(0) is 1, so for the instruction a choice of exponents does for the
// choice of results, and no branch is left.
template <bool LOG2, int OPTIONS>
static __device__ __forceinline__ float rescale_factor(const struct mxv_gpu_call &call, float old,
                                                       float m)
{
    const float exponent = rescale_exponent<LOG2>(call, old, m);
    if (OPTIONS != EXP2_HARDWARE && (call.poly || (OPTIONS == EXP2_ANY && call.cr)))
        return old == -INFINITY ? 0.0f : old == m ? 1.0f : exp2_by<OPTIONS>(call, exponent);
    return exp2_approx(old == -INFINITY ? -INFINITY : old == m ? 0.0f : exponent);
}

// Step 1 for row half h.
template <int TILES>
static __device__ __forceinline__ float softmax_max(int columns, int h, float old,
                                                    const float (&s)[TILES][4])
{
    float even = old, odd = old; // fmaxf passes over NaN
    for_tiles<TILES>([&](int t) {
        if (t / 4 * 32 < columns) {
            even = fmaxf(even, s[t][2 * h]);
            odd = fmaxf(odd, s[t][2 * h + 1]);
        }
    });
    float m = fmaxf(even, odd);
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    return fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
}

// How the words of a score tile are read, by row half: a score is the word times `score`, the
// exponent of a weight fma(word, exponent, -shift).
struct word_use {
    float score[2], exponent[2];
};

// What words are: binary32 numbers; integers; integers whose exponent is fma(score, exponent,
// -shift) with the score rounded first.
enum { NUMBERS, INTEGERS, SCALED_INTEGERS };

template <bool INTEGER> static __device__ __forceinline__ float word_value(float word)
{
    return INTEGER ? __int2float_rn(__float_as_int(word)) : word;
}

// Whether step 2 keeps the old maximum.
template <bool LOG2>
static __device__ __forceinline__ bool keeps(const struct mxv_gpu_call &call, float old, float m)
{
    return (old != -INFINITY) & (rescale_exponent<LOG2>(call, old, m) >= -call.tau);
}

// The largest word of a thread, as an integer, for both row halves: four chains.
template <int TILES>
static __device__ __forceinline__ void largest_words(const float (&s)[TILES][4], int (&best)[2])
{
    int chain[2][2];
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            chain[h][i] = max(__float_as_int(s[i][2 * h]), __float_as_int(s[i][2 * h + 1]));
#pragma unroll
    for (int t = 2; t < TILES; t++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            chain[h][t & 1] = __vimax3_s32(chain[h][t & 1], __float_as_int(s[t][2 * h]),
                                           __float_as_int(s[t][2 * h + 1]));
#pragma unroll
    for (int h = 0; h < 2; h++)
        best[h] = max(chain[h][0], chain[h][1]);
}

// Steps 1 and 2 for both row halves of full tiles, three words an instruction. Integers order as
// they are; binary32 words order as integers once the maximum so far is not negative, and a NaN
// shows as a word above infinity; in the other cases the plain way. Returns true where tau lets
// every row of the warp keep its maximum: then no thread asks the others of its rows.
template <bool LOG2, bool INTEGER, int TILES>
static __device__ __forceinline__ bool
softmax_maxima(const struct mxv_gpu_call &call, const struct word_use &use, const float (&old)[2],
               float (&m)[2], const float (&s)[TILES][4])
{
    int best[2];
    bool plain = false, kept = call.tau > 0;
    largest_words(s, best);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float top = __fmul_rn(word_value<INTEGER>(__int_as_float(best[h])), use.score[h]);
        const bool ordered = INTEGER || ((__float_as_int(old[h]) >= 0) & (best[h] <= 0x7f800000));
        kept = kept & ordered & keeps<LOG2>(call, old[h], top);
        m[h] = old[h];
    }
    if (__all_sync(0xffffffffu, kept))
        return true;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        best[h] = max(best[h], __shfl_xor_sync(0xffffffffu, best[h], 1));
        best[h] = max(best[h], __shfl_xor_sync(0xffffffffu, best[h], 2));
        plain = plain || (!INTEGER && (__float_as_int(old[h]) < 0 || best[h] > 0x7f800000));
        m[h] = fmaxf(old[h], __fmul_rn(word_value<INTEGER>(__int_as_float(best[h])), use.score[h]));
    }
    if (__any_sync(0xffffffffu, plain)) {
#pragma unroll
        for (int h = 0; h < 2; h++)
            m[h] = fmaxf(old[h], __fmul_rn(softmax_max(TILES * 8, h, -INFINITY, s), use.score[h]));
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
        if (call.tau > 0 && keeps<LOG2>(call, old[h], m[h]))
            m[h] = old[h];
    return false;
}

// Step 2 alone.
template <bool LOG2>
static __device__ __forceinline__ float softmax_keep(const struct mxv_gpu_call &call, float old,
                                                     float m)
{
    return call.tau > 0 && keeps<LOG2>(call, old, m) ? old : m;
}

// Steps 5, 6 and 10 for row half h and the first `columns` columns, a multiple of 32: words become
// unrounded weights. m: after step 2; alpha: step 3; shift: M of step 4.
template <int OPTIONS, int WORDS, int TILES>
static __device__ __forceinline__ void
softmax_weights(const struct mxv_gpu_call &call, int columns, int h, float m, float alpha,
                float shift, const struct word_use &use, struct softmax_rows &rows,
                float (&s)[TILES][4])
{
    float l = rows.l[h];
    for_tiles<TILES>([&](int t) {
        if (t / 4 * 32 < columns)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float x = word_value<WORDS != NUMBERS>(s[t][2 * h + e]);
                if (WORDS == SCALED_INTEGERS)
                    x = __fmul_rn(x, use.score[h]);
                const float p = exp2_by<OPTIONS>(call, __fmaf_rn(x, use.exponent[h], -shift));
                l = t == 0 && e == 0 ? __fmaf_rn(l, alpha, p) : __fadd_rn(l, p);
                s[t][2 * h + e] = p;
            }
    });
    rows.l[h] = l;
    rows.m[h] = m;
}

// Contract 6.1: (l0 + l2) + (l1 + l3), on all four threads.
static __device__ __forceinline__ float softmax_total(float l)
{
    const float pair = __fadd_rn(l, __shfl_xor_sync(0xffffffffu, l, 2));
    return __fadd_rn(pair, __shfl_xor_sync(0xffffffffu, pair, 1));
}

template <bool LOG2>
static __device__ __forceinline__ float softmax_lse(const struct mxv_gpu_call &call, float m,
                                                    float total)
{
    if (total == 0)
        return call.empty_nan ? __uint_as_float(0x7fffffffu) : -INFINITY;
    const float lse = __fadd_rn(softmax_shift<LOG2>(call, m), log2_approx(total));
    return call.lse_natural ? __fmul_rn(lse, 0x1.62e430p-1f) : lse;
}

#endif
