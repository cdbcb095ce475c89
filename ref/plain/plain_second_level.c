// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Second-level scales of kernel dma in the plain emulation: docs/kernels/dma.md section 1.3.
//
// sigma = A / c2, or 1 where that is 0; x / sigma. Both divisions are IEEE binary32. A is a largest
// magnitude, so exact. tests/unit/test_plain_operands.c fails if this is wrong.
#include "plain.h"
#include <math.h>

static float divisor_of(const struct mxv_attention *a)
{
    if (a->mode == MXV_MODE_MIXED)
        return 128.0f;
    if (a->mode == MXV_MODE_HIGH)
        return 8.0f;
    return a->low == MXV_LOW_MXFP4 ? 6.0f : 8.0f;
}

static float sigma_of(float a, float c2)
{
    const float sigma = a / c2;
    return sigma == 0.0f ? 1.0f : sigma;
}

// Rows first .. first + count - 1 share one sigma and are divided by it.
static void scale_rows(struct plain_side *side, size_t d, size_t first, size_t count, float c2)
{
    const float sigma = sigma_of(plain_amax(side->x + first * d, count * d), c2);
    for (size_t r = first; r < first + count; r++) {
        side->sigma[r] = sigma;
        for (size_t c = 0; c < d; c++)
            side->x[r * d + c] = side->x[r * d + c] / sigma;
    }
}

static void scale_side(const struct mxv_attention *a, struct plain_side *side, size_t tile)
{
    size_t together = 1;
    if (a->dual == MXV_DUAL_BLOCK)
        together = tile;
    if (a->dual == MXV_DUAL_TENSOR)
        together = side->rows;
    for (size_t first = 0; first < side->rows; first += together) {
        const size_t left = side->rows - first;
        scale_rows(side, a->d, first, left < together ? left : together, divisor_of(a));
    }
}

static void scale_channel(struct plain_head *h, size_t c)
{
    const size_t d = h->a->d;
    float a = 0.0f;
    for (size_t n = 0; n < h->lk; n++)
        a = plain_max(a, fabsf(h->k.x[n * d + c]));
    const float sigma = sigma_of(a, divisor_of(h->a));
    h->k.sigma[c] = sigma;
    for (size_t n = 0; n < h->lk; n++)
        h->k.x[n * d + c] = h->k.x[n * d + c] / sigma;
    for (size_t r = 0; r < h->lq; r++)
        h->q.x[r * d + c] = h->q.x[r * d + c] * sigma;
}

void plain_second_level(struct plain_head *h)
{
    if (h->a->dual == MXV_DUAL_NONE)
        return;
    if (h->a->dual == MXV_DUAL_CHANNEL) {
        for (size_t c = 0; c < h->a->d; c++)
            scale_channel(h, c);
        return;
    }
    scale_side(h->a, &h->q, h->a->tile_m);
    scale_side(h->a, &h->k, h->a->tile_n);
}
