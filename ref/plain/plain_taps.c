// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Taps of the plain emulation: docs/kernels/contract.md section 8.
//
// Order and shapes only; no arithmetic. Silent: sigma, v, out and lse taps, which belong to no
// route, carry route f16 (the zero value); `max`, `weight`, `sum` and `acc` carry that of their
// tile; taps without rows are emitted; `v.scale` of an E4M3 V has 1 row and 1 column.
// tests/unit/test_plain_taps.c fails if this is wrong.
#include "plain.h"

void plain_tap_words(struct plain_head *h, enum mxv_stage stage, enum mxv_route route, size_t i,
                     size_t j, size_t rows, size_t cols, const uint32_t *words)
{
    const struct mxv_tap tap = {.stage = stage,
                                .route = route,
                                .sequence = h->sequence,
                                .head = h->head,
                                .tile_q = i,
                                .tile_k = j,
                                .rows = rows,
                                .cols = cols,
                                .words = words};
    if (h->sink)
        h->sink->take(h->sink->ctx, &tap);
}

void plain_tap_floats(struct plain_head *h, enum mxv_stage stage, enum mxv_route route, size_t i,
                      size_t j, size_t rows, size_t cols, const float *values)
{
    if (!h->sink)
        return;
    for (size_t e = 0; e < rows * cols; e++)
        h->words[e] = plain_word(values[e]);
    plain_tap_words(h, stage, route, i, j, rows, cols, h->words);
}

static void tap_copies(struct plain_head *h, const struct plain_side *side, enum mxv_stage scale,
                       enum mxv_stage code)
{
    for (enum mxv_route r = MXV_ROUTE_F16; r < MXV_ROUTE_SKIP; r++) {
        const struct plain_copy *copy = &side->copy[r];
        if (!copy->code)
            continue;
        if (copy->scales_per_row)
            plain_tap_words(h, scale, r, 0, 0, side->rows, copy->scales_per_row, copy->scale);
        plain_tap_words(h, code, r, 0, 0, side->rows, h->a->d, copy->code);
    }
}

static bool has_sigma(const struct mxv_attention *a)
{
    return a->dual != MXV_DUAL_NONE &&
           (a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED);
}

static void tap_v(struct plain_head *h)
{
    const struct mxv_attention *a = h->a;
    if (a->vt == MXV_E4M3)
        plain_tap_floats(h, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, 0, 0, 1, 1, &h->v_scale);
    if (a->kernel == MXV_KERNEL_TILEMIX && a->kv_cache)
        plain_tap_floats(h, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, 0, 0, h->lk, 1, h->v_row_scale);
    plain_tap_words(h, MXV_STAGE_V_CODE, MXV_ROUTE_F16, 0, 0, h->lk, a->d, h->v_code);
}

void plain_tap_operands(struct plain_head *h)
{
    const struct mxv_attention *a = h->a;
    const bool channel = a->dual == MXV_DUAL_CHANNEL;
    if (has_sigma(a) && !channel)
        plain_tap_floats(h, MXV_STAGE_Q_SIGMA, MXV_ROUTE_F16, 0, 0, h->lq, 1, h->q.sigma);
    tap_copies(h, &h->q, MXV_STAGE_Q_SCALE, MXV_STAGE_Q_CODE);
    if (has_sigma(a))
        plain_tap_floats(h, MXV_STAGE_K_SIGMA, MXV_ROUTE_F16, 0, 0, channel ? 1 : h->lk,
                         channel ? a->d : 1, h->k.sigma);
    tap_copies(h, &h->k, MXV_STAGE_K_SCALE, MXV_STAGE_K_CODE);
    tap_v(h);
}

void plain_tap_tile(struct plain_head *h, enum mxv_route route, size_t i, size_t j)
{
    const size_t rows = plain_tile_rows(h, i), bn = h->a->tile_n, d = h->a->d;
    plain_tap_floats(h, MXV_STAGE_SCORE, route, i, j, rows, bn, h->score);
    plain_tap_floats(h, MXV_STAGE_MAX, route, i, j, rows, 1, h->max);
    plain_tap_words(h, MXV_STAGE_WEIGHT, route, i, j, rows, bn, h->weight);
    plain_tap_floats(h, MXV_STAGE_SUM, route, i, j, rows, 1, h->sum);
    plain_tap_floats(h, MXV_STAGE_ACC, route, i, j, rows, d, h->acc);
}
