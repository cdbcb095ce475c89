// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Online softmax, PV product and finish of the plain emulation: docs/kernels/contract.md sections 5
// and 6, one line of code per step of the page.
//
// Online softmax after arXiv 1805.02867. What implementations choose (first m, masked value, lazy
// rescale, offset of P, exp2) comes from struct mxv_attention. Each operator rounds to binary32
// once; the matrix unit rounds as its model says. Not handled: dma-released. Silent: with
// `masked=finite` step 3 applies as written (alpha = 1 if m' = m). tests/unit/test_plain.c and
// test_plain_softmax.c fail if this is wrong.
#include "plain.h"
#include <math.h>

static bool log2_style(const struct mxv_attention *a)
{
    return a->kernel == MXV_KERNEL_DMA;
}

static float shifted_max(const struct plain_head *h, float m)
{
    if (isinf(m) && m < 0.0f)
        return 0.0f;
    return (log2_style(h->a) ? m : m * h->c) - h->a->p_offset;
}

static float weight_exponent(const struct plain_head *h, float s, float shift)
{
    return log2_style(h->a) ? s - shift : fmaf(s, h->c, -shift);
}

// tilemix.md 3: kappa takes the place of the scales and c for a visible key of an INT8 tile.
static float folded_exponent(const struct plain_head *h, size_t row, size_t key, float integer,
                             float shift)
{
    const float delta_q = plain_float(h->q.copy[MXV_ROUTE_INT8].scale[row]);
    const float delta_k = plain_float(h->k.copy[MXV_ROUTE_INT8].scale[key]);
    const float scales = delta_q * delta_k;
    const float kappa = scales * h->c;
    return fmaf(integer, kappa, -shift);
}

// Exponent of P for row t and column n of tile (i, j).
static float exponent_of(const struct plain_head *h, size_t i, size_t j, size_t t, size_t n,
                         float shift)
{
    const size_t row = i * h->a->tile_m + t, key = j * h->a->tile_n + n;
    const size_t at = t * h->a->tile_n + n;
    if (h->folds && plain_visible(h, row, key))
        return folded_exponent(h, row, key, h->integer[at], shift);
    return weight_exponent(h, h->score[at], shift);
}

static float alpha_exponent(const struct plain_head *h, float m, float m_next)
{
    const float step = m - m_next;
    return log2_style(h->a) ? step : step * h->c;
}

static float alpha_of(const struct plain_head *h, float m, float m_next)
{
    if (isinf(m) && m < 0.0f)
        return 0.0f;
    if (m_next == m)
        return 1.0f;
    return plain_ex2(h->a, alpha_exponent(h, m, m_next));
}

static float next_max(const struct plain_head *h, float m, const float *s)
{
    float m_next = m;
    for (size_t n = 0; n < h->a->tile_n; n++)
        m_next = plain_max(m_next, s[n]);
    const bool unset = isinf(m) && m < 0.0f;
    if (h->a->tau > 0.0f && !unset && m_next > m && alpha_exponent(h, m, m_next) >= -h->a->tau)
        return m;
    return m_next;
}

static size_t lane_count(const struct mxv_attention *a)
{
    return a->arch == MXV_ARCH_SM_100 ? 2 : 4;
}

static size_t lane_of(const struct mxv_attention *a, size_t n)
{
    return a->arch == MXV_ARCH_SM_100 ? n % 2 : n % 8 / 2;
}

static float combined(const struct mxv_attention *a, const float *lane)
{
    if (lane_count(a) == 2)
        return lane[0] + lane[1];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static uint32_t weight_code(const struct mxv_attention *a, float p)
{
    return a->vt == MXV_E4M3 ? plain_round_saturate(MXV_E4M3, p) : plain_round(a->vt, p);
}

void plain_softmax_start(struct plain_head *h, size_t i)
{
    for (size_t t = 0; t < plain_tile_rows(h, i); t++) {
        h->max[t] = h->a->masked == MXV_MASKED_FINITE ? -5e6f : -INFINITY;
        h->sum[t] = 0.0f;
        for (size_t lane = 0; lane < PLAIN_LANES_MAX; lane++)
            h->lane[t * PLAIN_LANES_MAX + lane] = 0.0f;
        for (size_t c = 0; c < h->a->d; c++)
            h->acc[t * h->a->d + c] = 0.0f;
    }
}

// Steps 1 to 7 for row t of tile (i, j).
static void weigh_row(struct plain_head *h, size_t i, size_t j, size_t t)
{
    const size_t bn = h->a->tile_n;
    const float *s = h->score + t * bn;
    float *lane = h->lane + t * PLAIN_LANES_MAX;
    bool entered[PLAIN_LANES_MAX] = {false};
    const float m = h->max[t];
    const float m_next = next_max(h, m, s);
    const float alpha = alpha_of(h, m, m_next);
    const float shift = shifted_max(h, m_next);
    for (size_t n = 0; n < bn; n++) {
        const float p = plain_ex2(h->a, exponent_of(h, i, j, t, n, shift));
        const size_t l = lane_of(h->a, n);
        lane[l] = entered[l] ? lane[l] + p : fmaf(lane[l], alpha, p);
        entered[l] = true;
        h->weight[t * bn + n] = weight_code(h->a, p);
    }
    h->max[t] = m_next;
    h->alpha[t] = alpha;
    h->sum[t] = combined(h->a, lane);
}

void plain_fill_v(struct plain_head *h, size_t j, enum mxv_element f)
{
    const size_t d = h->a->d, bn = h->a->tile_n;
    for (size_t c = 0; c < d; c++)
        for (size_t n = 0; n < bn; n++) {
            const size_t at = (j * bn + n) * d + c;
            uint32_t word = 0;
            if (j * bn + n < h->lk)
                word = f == MXV_F32 ? plain_word(h->v[at]) : h->v_code[at];
            h->v_words[c * bn + n] = word;
        }
}

// Steps 8 and 9 for row t of the tile.
static void accumulate_row(struct plain_head *h, size_t t)
{
    const size_t d = h->a->d, bn = h->a->tile_n;
    for (size_t c = 0; c < d; c++) {
        float *o = &h->acc[t * d + c];
        *o = plain_dot(h->pv_model, bn, h->weight + t * bn, h->v_words + c * bn, *o * h->alpha[t]);
    }
}

void plain_softmax_tile(struct plain_head *h, size_t i, size_t j)
{
    plain_fill_v(h, j, h->a->vt);
    for (size_t t = 0; t < plain_tile_rows(h, i); t++) {
        weigh_row(h, i, j, t);
        accumulate_row(h, t);
    }
}

static void finish_empty(struct plain_head *h, size_t row)
{
    const bool zero = h->a->empty == MXV_EMPTY_ZERO;
    for (size_t c = 0; c < h->a->d; c++)
        h->out[row * h->a->d + c] = plain_round(h->a->out, zero ? 0.0f : NAN);
    h->lse[row] = plain_word(zero ? -INFINITY : NAN);
}

static void finish_row(struct plain_head *h, size_t t, size_t row)
{
    const float l = combined(h->a, h->lane + t * PLAIN_LANES_MAX);
    if (l == 0.0f) {
        finish_empty(h, row);
        return;
    }
    float g = plain_rcp(l);
    if (h->a->vt == MXV_E4M3)
        g = g * h->v_scale;
    for (size_t c = 0; c < h->a->d; c++)
        h->out[row * h->a->d + c] = plain_round(h->a->out, h->acc[t * h->a->d + c] * g);
    const float lse = shifted_max(h, h->max[t]) + plain_lg2(l);
    h->lse[row] = plain_word(h->a->lse == MXV_LSE_TWO ? lse : lse * plain_float(0x3F317218u));
}

void plain_softmax_finish(struct plain_head *h, size_t i)
{
    for (size_t t = 0; t < plain_tile_rows(h, i); t++)
        finish_row(h, t, i * h->a->tile_m + t);
}
