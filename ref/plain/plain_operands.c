// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From the inputs of a head to the operand copies of its routes: docs/kernels/contract.md sections
// 5 (V) and 7, flash.md 1, dma.md 1, tilemix.md 1.
//
// Order: q, k to 16 bits; K smoothing; log2 e and the softmax scale into Q (dma); second-level
// scales (dma); block copies; V. One binary32 rounding per operator. Not handled: dma-released,
// which has its own order (plain_released_quantise.c). Silent: K smoothing comes before the INT8
// cache. tests/unit/test_plain_operands.c fails if this is wrong.
#include "plain.h"

static float to_16_bits(const struct plain_head *h, float x)
{
    return plain_decode(h->t16, plain_round(h->t16, x));
}

static void load(struct plain_head *h)
{
    const struct mxv_attention *a = h->a;
    const size_t d = a->d;
    const float *q = a->q + (h->head * a->cu_q[a->sequences] + a->cu_q[h->sequence]) * d;
    const size_t key0 = h->kv_head * a->cu_k[a->sequences] + a->cu_k[h->sequence];
    for (size_t e = 0; e < h->lq * d; e++)
        h->q.x[e] = to_16_bits(h, q[e]);
    for (size_t e = 0; e < h->lk * d; e++) {
        h->k.x[e] = to_16_bits(h, a->k[key0 * d + e]);
        h->v[e] = a->v[key0 * d + e];
    }
}

// Mean of one channel over the keys: sums of 128, then their sum.
static float channel_mean(const struct plain_head *h, size_t channel)
{
    float total = 0.0f;
    for (size_t first = 0; first < h->lk; first += 128) {
        float part = 0.0f;
        for (size_t n = first; n < h->lk && n < first + 128; n++)
            part = part + h->k.x[n * h->a->d + channel];
        total = first == 0 ? part : total + part;
    }
    return to_16_bits(h, total / (float)h->lk);
}

static void smooth_k(struct plain_head *h)
{
    const size_t d = h->a->d;
    for (size_t c = 0; c < d && h->lk > 0; c++) {
        const float mean = channel_mean(h, c);
        for (size_t n = 0; n < h->lk; n++)
            h->k.x[n * d + c] = to_16_bits(h, h->k.x[n * d + c] - mean);
    }
}

static void one_block(const struct mxv_attention *a, enum mxv_route route, const float *x,
                      uint32_t *scale, uint32_t *code)
{
    if (a->kernel == MXV_KERNEL_DMA_RELEASED)
        plain_released_block(a, route, x, scale, code);
    else if (route == MXV_ROUTE_CORE)
        plain_quantise_core(x, scale, code);
    else if (route == MXV_ROUTE_HIGH)
        plain_quantise_mx(a->rule, a->high == MXV_HIGH_MXFP8_E4M3 ? MXV_E4M3 : MXV_E5M2, x, scale,
                          code);
    else if (a->low == MXV_LOW_MXFP4)
        plain_quantise_mx(a->rule, MXV_E2M1, x, scale, code);
    else
        plain_quantise_nvfp4(x, scale, code);
}

static void block_copies(struct plain_head *h, struct plain_side *side)
{
    const size_t d = h->a->d;
    for (enum mxv_route r = MXV_ROUTE_HIGH; r <= MXV_ROUTE_CORE; r++) {
        struct plain_copy *copy = &side->copy[r];
        if (!copy->code)
            continue;
        const size_t block = d / copy->scales_per_row;
        for (size_t b = 0; b < side->rows * copy->scales_per_row; b++)
            one_block(h->a, r, side->x + b * block, copy->scale + b, copy->code + b * block);
    }
}

static void f16_copy(struct plain_head *h, struct plain_side *side)
{
    for (size_t e = 0; e < side->rows * h->a->d; e++)
        side->copy[MXV_ROUTE_F16].code[e] = plain_round(h->t16, side->x[e]);
}

static void finish_v(struct plain_head *h)
{
    const enum mxv_element f = h->a->vt;
    const size_t count = h->lk * h->a->d;
    h->v_scale = 1.0f;
    if (f == MXV_E4M3) {
        h->v_scale = plain_amax(h->v, count) / 448.0f;
        if (h->v_scale == 0.0f)
            h->v_scale = 1.0f;
    }
    for (size_t e = 0; e < count; e++) {
        h->v_code[e] =
            f == MXV_E4M3 ? plain_round_saturate(f, h->v[e] / h->v_scale) : plain_round(f, h->v[e]);
        h->v[e] = plain_decode(f, h->v_code[e]);
    }
}

void plain_operands(struct plain_head *h)
{
    const struct mxv_attention *a = h->a;
    load(h);
    if (a->smooth_k)
        smooth_k(h);
    if (a->kernel == MXV_KERNEL_DMA_RELEASED) {
        plain_released_scale(h);
    } else if (a->kernel == MXV_KERNEL_DMA) {
        for (size_t e = 0; e < h->lq * a->d; e++)
            h->q.x[e] = h->q.x[e] * h->c;
        plain_second_level(h);
    } else if (a->kernel == MXV_KERNEL_TILEMIX) {
        plain_int8_copies(h);
    }
    block_copies(h, &h->q);
    block_copies(h, &h->k);
    if (a->rebase)
        plain_rebase(h);
    if (h->q.copy[MXV_ROUTE_F16].code) {
        f16_copy(h, &h->q);
        f16_copy(h, &h->k);
    }
    finish_v(h);
}
