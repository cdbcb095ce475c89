// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of kernel dma-released in the plain emulation: docs/kernels/dma-released.md sections 4
// and 5 (yifu-ding/MP-Sparse-Attn@3d554ec).
//
// Defects D3, D4, D5, D7 are part of what is computed; infinities and NaN run their course. Nothing
// is left open. Silent: mixed with D = s = 0 is mode low in everything, its c2 included; `v.code`
// stays binary16 where PV is TF32. tests/unit/test_plain_released_tile.c fails if this is wrong.
#include "plain.h"
#include <math.h>

enum pv { PV_F16_DOT, PV_TF32, PV_WGMMA };

static bool causal(const struct plain_head *h)
{
    return h->a->mask == MXV_MASK_CAUSAL;
}

static enum pv pv_of(const struct plain_head *h)
{
    if (!causal(h))
        return PV_TF32;
    return plain_released_uniform(h->a) || h->a->diag == 0 ? PV_F16_DOT : PV_WGMMA;
}

// D4: a token's scale is looked up i rows after the first, which always exists.
static float sigma_q(const struct plain_head *h, size_t i, size_t t)
{
    return h->q.sigma[h->a->dual == MXV_DUAL_TOKEN ? i + t : i * 128 + t];
}

// The second-level scales come back in the mixed kernel only (D7).
static float rescaled(const struct plain_head *h, float s, size_t i, size_t t, size_t key)
{
    if (plain_released_uniform(h->a) || h->a->dual == MXV_DUAL_NONE)
        return s;
    if (h->a->diag == 0)
        return s * (sigma_q(h, i, t) * h->k.sigma[key]);
    return s * sigma_q(h, i, t) * h->k.sigma[key];
}

static void score_tile(struct plain_head *h, size_t i, size_t j, enum mxv_route route, bool masked)
{
    plain_raw_scores(h, i, j, route);
    for (size_t t = 0; t < plain_tile_rows(h, i); t++)
        for (size_t n = 0; n < 128; n++) {
            float *s = &h->score[t * 128 + n];
            const size_t key = j * 128 + n;
            if (key >= h->lk) {
                *s = -INFINITY;
                continue;
            }
            *s = rescaled(h, *s, i, t, key);
            if (masked && key > i * 128 + t)
                *s = *s + -1e6f;
        }
}

static float exp2_of(const struct plain_head *h, float x)
{
    if (!causal(h))
        x = x * plain_float(0x3FB8AA3Bu); // D5
    return plain_ex2(h->a, x);
}

// Four sums over columns 8j + 2t and 8j + 2t + 1.
static float row_sum(const float *p)
{
    float part[4];
    for (size_t t = 0; t < 4; t++)
        for (size_t j = 0; j < 16; j++) {
            const float first = p[8 * j + 2 * t], second = p[8 * j + 2 * t + 1];
            part[t] = j == 0 ? first : part[t] + first;
            part[t] = part[t] + second;
        }
    return (part[0] + part[2]) + (part[1] + part[3]);
}

static void weigh_row(struct plain_head *h, size_t t, enum pv pv)
{
    const float *s = h->score + t * 128;
    float p[128];
    float m = h->max[t];
    for (size_t n = 0; n < 128; n++)
        m = plain_max(m, s[n]);
    for (size_t n = 0; n < 128; n++) {
        p[n] = exp2_of(h, s[n] - m);
        h->weight[t * 128 + n] = pv == PV_TF32 ? plain_word(p[n]) : plain_round(MXV_F16, p[n]);
    }
    h->alpha[t] = exp2_of(h, h->max[t] - m);
    h->sum[t] = fmaf(h->sum[t], h->alpha[t], row_sum(p));
    h->max[t] = m;
}

static void accumulate_row(struct plain_head *h, size_t t, enum pv pv)
{
    const uint32_t *p = h->weight + t * 128;
    for (size_t c = 0; c < 128; c++) {
        const uint32_t *v = h->v_words + c * 128;
        float *o = &h->acc[t * 128 + c];
        if (pv == PV_F16_DOT) {
            const uint32_t dot = mxv_mma_dot(h->pv_f16_model, 128, p, v, 0, NULL, NULL);
            *o = fmaf(*o, h->alpha[t], plain_decode(MXV_F16, dot));
        } else {
            const struct mxv_mma_model *m = pv == PV_TF32 ? h->pv_tf32_model : h->pv_model;
            *o = plain_dot(m, 128, p, v, *o * h->alpha[t]);
        }
    }
}

static void one_tile(struct plain_head *h, size_t i, size_t j, enum mxv_route route, bool masked)
{
    const enum pv pv = pv_of(h);
    score_tile(h, i, j, route, masked);
    plain_fill_v(h, j, pv == PV_TF32 ? MXV_F32 : MXV_F16);
    for (size_t t = 0; t < plain_tile_rows(h, i); t++) {
        weigh_row(h, t, pv);
        accumulate_row(h, t, pv);
    }
    plain_tap_tile(h, route, i, j);
}

static void uniform_tiles(struct plain_head *h, size_t i)
{
    const enum mxv_route route = h->a->mode == MXV_MODE_HIGH ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
    const size_t end = causal(h) ? i + 1 : h->tiles_k;
    for (size_t j = 0; j < end; j++)
        one_tile(h, i, j, route, causal(h) && j == i);
}

static void mixed_tiles(struct plain_head *h, size_t i)
{
    const size_t width = h->a->diag == 0 ? 1 : h->a->diag, sink = h->a->sink;
    const size_t band = i + 1 > width ? i + 1 - width : 0; // first tile of the diagonal band
    for (size_t j = 0; j < sink && j < h->tiles_k; j++)
        one_tile(h, i, j, MXV_ROUTE_HIGH, false); // D3
    for (size_t j = sink; j < band; j++)
        one_tile(h, i, j, MXV_ROUTE_LOW, false);
    for (size_t j = band > sink ? band : sink; j <= i; j++)
        one_tile(h, i, j, MXV_ROUTE_HIGH, true);
}

void plain_released_tile(struct plain_head *h, size_t i)
{
    for (size_t t = 0; t < plain_tile_rows(h, i); t++) {
        h->max[t] = -INFINITY;
        h->sum[t] = 1.0f;
        for (size_t c = 0; c < 128; c++)
            h->acc[t * 128 + c] = 0.0f;
    }
    if (plain_released_uniform(h->a))
        uniform_tiles(h, i);
    else
        mixed_tiles(h, i);
    for (size_t t = 0; t < plain_tile_rows(h, i); t++)
        for (size_t c = 0; c < 128; c++) {
            const float o = plain_div_full(h->acc[t * 128 + c], h->sum[t]);
            h->out[(i * 128 + t) * 128 + c] = plain_round(h->a->out, o);
        }
}
