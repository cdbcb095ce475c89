// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/kernels/contract.md 4 to 6 where a thread holds a whole query row, as tensor memory hands it
// out: arch sm_100, argument style log2. The row sum has two lanes, even and odd columns, both of
// this thread. Step numbers are those of section 5. Every rounding is an intrinsic.
#ifndef MXV_GPU_ROW_SM100_CUH
#define MXV_GPU_ROW_SM100_CUH

#include "fragment.cuh"

enum { ROW_KEYS = 128 }; // keys of a key tile

struct row_state {
    int row; // in its sequence; may lie beyond the last one
    float m, l[2];
    float sigma; // second level of the query
};

static __device__ __forceinline__ struct row_state row_start(const struct mxv_gpu_dma &p,
                                                             const struct place &w, int row)
{
    const size_t token = (size_t)w.head * p.call.tokens_q + w.q_first + row;
    return {row,
            p.call.finite ? MXV_MASKED_SCORE : -INFINITY,
            {0, 0},
            p.q_sigma && row < w.end ? p.q_sigma[token] : 0};
}

// Second level (docs/kernels/dma.md 3) of 32 scores: fl(fl(S sigma_q) sigma_k). sigma_k: of `keys`
// existing keys; the others are masked later.
static __device__ __forceinline__ void row_scale(float sigma_q, const float *sigma_k, int keys,
                                                 uint32_t (&s)[32])
{
#pragma unroll
    for (int n = 0; n < 32; n++)
        s[n] = __float_as_uint(
            __fmul_rn(__fmul_rn(__uint_as_float(s[n]), sigma_q), n < keys ? sigma_k[n] : 0));
}

// Contract 4: what is not visible; beyond the keys of the sequence always -inf.
static __device__ __forceinline__ void row_mask(const struct mxv_gpu_call &call,
                                                const struct place &w, int j, int row,
                                                float (&s)[ROW_KEYS])
{
    const struct key_range seen = visible_keys(call, w, row);
    const int first = j * ROW_KEYS, begin = seen.begin - first, end = seen.end - first;
    const float hidden = call.finite ? MXV_MASKED_SCORE : -INFINITY;
    if (__all_sync(0xffffffffu, begin <= 0 && end >= ROW_KEYS))
        return;
#pragma unroll
    for (int n = 0; n < ROW_KEYS; n++)
        s[n] = n >= begin && n < end ? s[n] : hidden;
    if (w.lk - first < ROW_KEYS)
#pragma unroll
        for (int n = 0; n < ROW_KEYS; n++)
            s[n] = n < w.lk - first ? s[n] : -INFINITY;
}

// Steps 1 and 2; fmaxf passes over NaN.
static __device__ __forceinline__ float row_maximum(const struct mxv_gpu_call &call, float old,
                                                    const float (&s)[ROW_KEYS])
{
    float m[4] = {old, old, old, old};
#pragma unroll
    for (int n = 0; n < ROW_KEYS; n++)
        m[n % 4] = fmaxf(m[n % 4], s[n]);
    return softmax_keep<true>(call, old, fmaxf(fmaxf(m[0], m[1]), fmaxf(m[2], m[3])));
}

// Steps 5 to 7: scores become unrounded weights, and packed f16 ones.
template <bool POLY>
static __device__ __forceinline__ void row_exponentials(float alpha, float shift, float (&l)[2],
                                                        float (&s)[ROW_KEYS],
                                                        uint32_t (&weights)[ROW_KEYS / 2])
{
#pragma unroll
    for (int n = 0; n < ROW_KEYS; n++) {
        const float x = __fsub_rn(s[n], shift), p = POLY ? exp2_poly(x) : exp2_approx(x);
        l[n % 2] = n < 2 ? __fmaf_rn(l[n % 2], alpha, p) : __fadd_rn(l[n % 2], p);
        s[n] = p;
        if (n % 2)
            weights[n / 2] = pack_pair<MXV_UNIT_F16>(s[n - 1], p);
    }
}

// Steps 1 to 7 and 10; returns alpha.
template <bool OPTIONS>
static __device__ __forceinline__ float row_weights(const struct mxv_gpu_call &call,
                                                    struct row_state &r, float (&s)[ROW_KEYS],
                                                    uint32_t (&weights)[ROW_KEYS / 2])
{
    const float m = row_maximum(call, r.m, s);
    const float alpha = rescale_factor<true, OPTIONS>(call, r.m, m);
    const float shift = softmax_shift<true>(call, m);
    r.m = m;
    if (OPTIONS && call.poly)
        row_exponentials<true>(alpha, shift, r.l, s, weights);
    else
        row_exponentials<false>(alpha, shift, r.l, s, weights);
    return alpha;
}

// Contract 6.1.
static __device__ __forceinline__ float row_total(const struct row_state &r)
{
    return __fadd_rn(r.l[0], r.l[1]);
}

// Contract 6.2 and 6.3 for 32 channels from `channel` on; words: O.
static __device__ __forceinline__ void row_output(const struct mxv_gpu_call &call, size_t token,
                                                  int channel, float total, const uint32_t (&o)[32])
{
    const float empty = call.empty_nan ? __uint_as_float(0x7fffffffu) : 0.0f;
    const float g = reciprocal_approx(total);
#pragma unroll
    for (int c = 0; c < 32; c += 2) {
        const float x = total == 0 ? empty : __fmul_rn(__uint_as_float(o[c]), g);
        const float y = total == 0 ? empty : __fmul_rn(__uint_as_float(o[c + 1]), g);
        store_pair(call, token * call.d + channel + c, x, y);
    }
}

// Row of a tap with `cols` columns in the slot of key tile j.
static __device__ __forceinline__ uint32_t *row_tap(const struct mxv_gpu_call &call,
                                                    const struct place &w, int j, int row, int cols,
                                                    uint32_t *words)
{
    return words + (trace_slot(call, w, j) * call.tile_m + row - w.tile_begin) * cols;
}

static __device__ __forceinline__ void trace_row_scores(const struct mxv_gpu_call &call,
                                                        const struct place &w, int j, int row,
                                                        const float (&s)[ROW_KEYS])
{
    if (row >= w.end)
        return;
    float *to = (float *)row_tap(call, w, j, row, ROW_KEYS, call.trace.score);
#pragma unroll
    for (int n = 0; n < ROW_KEYS; n += 4)
        *(float4 *)(to + n) = make_float4(s[n], s[n + 1], s[n + 2], s[n + 3]);
}

static __device__ __forceinline__ void trace_row_sums(const struct mxv_gpu_call &call,
                                                      const struct place &w, int j,
                                                      const struct row_state &r)
{
    if (r.row >= w.end)
        return;
    *row_tap(call, w, j, r.row, 1, call.trace.max) = __float_as_uint(r.m);
    *row_tap(call, w, j, r.row, 1, call.trace.sum) = __float_as_uint(row_total(r));
}

// 32 words of a tap.
static __device__ __forceinline__ void trace_words(uint32_t *to, const uint32_t (&words)[32])
{
#pragma unroll
    for (int i = 0; i < 32; i += 4)
        *(uint4 *)(to + i) = make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
}

// 64 words of a tap from packed weights.
static __device__ __forceinline__ void trace_pairs(uint32_t *to, const uint32_t (&pairs)[32])
{
#pragma unroll
    for (int i = 0; i < 32; i += 2)
        *(uint4 *)(to + 2 * i) = make_uint4(pairs[i] & 0xffff, pairs[i] >> 16,
                                            pairs[i + 1] & 0xffff, pairs[i + 1] >> 16);
}

#endif
