// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Score tiles of the plain emulation: docs/kernels/contract.md section 4, flash.md 3, dma.md 3,
// tilemix.md 3.
//
// One matrix-unit dot product per score, chained in ascending channels from zero; the INT8 sum is
// exact in an integer. Padding keys get no product: the mask decides their score. Not handled: the
// masks and scales of dma-released (plain_released_tile.c). tests/unit/test_plain_scores.c fails if
// this is wrong.
#include "plain.h"
#include <math.h>

static enum mxv_element element_of(const struct mxv_attention *a, enum mxv_route route)
{
    if (route == MXV_ROUTE_LOW)
        return MXV_E2M1;
    return a->high == MXV_HIGH_MXFP8_E4M3 ? MXV_E4M3 : MXV_E5M2;
}

// bf16 of code * scale. The product is exact in binary32 or overflows in both.
static uint32_t bf16_of(const struct mxv_attention *a, enum mxv_route route, uint32_t code,
                        uint32_t scale)
{
    const bool nvfp4 = route == MXV_ROUTE_LOW && a->low == MXV_LOW_NVFP4;
    const float s = plain_decode(nvfp4 ? MXV_E4M3 : MXV_E8M0, scale);
    return plain_round(MXV_BF16, plain_decode(element_of(a, route), code) * s);
}

static bool reads_bf16(const struct plain_head *h, enum mxv_route route)
{
    return (route == MXV_ROUTE_HIGH || route == MXV_ROUTE_LOW) &&
           h->score_model[route]->a == MXV_BF16;
}

// Rows first .. first + count - 1 as the matrix unit reads them; rows beyond the end are zero.
static void fill_words(const struct plain_head *h, const struct plain_side *side,
                       enum mxv_route route, size_t first, size_t count, uint32_t *words)
{
    const size_t d = h->a->d;
    const struct plain_copy *copy = &side->copy[route];
    const size_t block = copy->scales_per_row ? d / copy->scales_per_row : d;
    for (size_t e = 0; e < count * d; e++) {
        const size_t at = first * d + e;
        if (at >= side->rows * d)
            words[e] = 0;
        else if (reads_bf16(h, route))
            words[e] = bf16_of(h->a, route, copy->code[at], copy->scale[at / block]);
        else
            words[e] = copy->code[at];
    }
}

static void scale_bytes(const struct plain_copy *copy, size_t row, uint8_t *bytes)
{
    for (size_t b = 0; b < copy->scales_per_row; b++)
        bytes[b] = (uint8_t)copy->scale[row * copy->scales_per_row + b];
}

static float block_scaled(const struct plain_head *h, enum mxv_route route, size_t row, size_t key,
                          const uint32_t *q, const uint32_t *k)
{
    uint8_t q_bytes[PLAIN_D_MAX / 16], k_bytes[PLAIN_D_MAX / 16];
    scale_bytes(&h->q.copy[route], row, q_bytes);
    scale_bytes(&h->k.copy[route], key, k_bytes);
    return plain_float(
        mxv_mma_dot(h->score_model[route], h->a->d, q, k, plain_word(0.0f), q_bytes, k_bytes));
}

// One E4M3 instruction per 32 channels; the sum is kept in binary32.
static float core(const struct plain_head *h, size_t row, size_t key, const uint32_t *q,
                  const uint32_t *k)
{
    const struct plain_copy *qc = &h->q.copy[MXV_ROUTE_CORE], *kc = &h->k.copy[MXV_ROUTE_CORE];
    float acc = 0.0f;
    for (size_t g = 0; g < h->a->d / 32; g++) {
        const float w = plain_dot(h->score_model[MXV_ROUTE_CORE], 32, q + 32 * g, k + 32 * g, 0.0f);
        const float s_q = plain_float(qc->scale[row * qc->scales_per_row + g]);
        const float s_k = plain_float(kc->scale[key * kc->scales_per_row + g]);
        acc = fmaf(w, s_q * s_k, acc);
    }
    return acc;
}

static int as_signed(uint32_t byte)
{
    return byte < 128 ? (int)byte : (int)byte - 256;
}

static float int8_sum(const struct plain_head *h, const uint32_t *q, const uint32_t *k)
{
    int sum = 0;
    for (size_t c = 0; c < h->a->d; c++)
        sum += as_signed(q[c]) * as_signed(k[c]);
    return (float)sum;
}

static float int8_score(const struct plain_head *h, size_t row, size_t key, const uint32_t *q,
                        const uint32_t *k)
{
    const float delta_q = plain_float(h->q.copy[MXV_ROUTE_INT8].scale[row]);
    const float delta_k = plain_float(h->k.copy[MXV_ROUTE_INT8].scale[key]);
    return int8_sum(h, q, k) * (delta_q * delta_k);
}

static float rebased(const struct plain_head *h, size_t row, size_t key, const uint32_t *q,
                     const uint32_t *k)
{
    const float s = plain_dot(h->score_model[MXV_ROUTE_LOW], h->a->d, q, k, 0.0f);
    const float by_row = s * h->q.copy[MXV_ROUTE_LOW].phi[row];
    return by_row * h->k.copy[MXV_ROUTE_LOW].phi[key];
}

static float raw_score(const struct plain_head *h, enum mxv_route route, size_t row, size_t key,
                       const uint32_t *q, const uint32_t *k)
{
    if (route == MXV_ROUTE_INT8)
        return int8_score(h, row, key, q, k);
    if (route == MXV_ROUTE_CORE)
        return core(h, row, key, q, k);
    if (route == MXV_ROUTE_LOW && h->a->rebase)
        return rebased(h, row, key, q, k);
    if (route == MXV_ROUTE_F16 || reads_bf16(h, route))
        return plain_dot(h->score_model[route], h->a->d, q, k, 0.0f);
    return block_scaled(h, route, row, key, q, k);
}

void plain_raw_scores(struct plain_head *h, size_t i, size_t j, enum mxv_route route)
{
    const size_t d = h->a->d, bn = h->a->tile_n, row0 = i * h->a->tile_m, key0 = j * bn;
    const size_t rows = plain_tile_rows(h, i);
    fill_words(h, &h->q, route, row0, rows, h->q_words);
    fill_words(h, &h->k, route, key0, bn, h->k_words);
    h->folds = h->a->fold && route == MXV_ROUTE_INT8;
    for (size_t t = 0; t < rows; t++)
        for (size_t n = 0; n < bn && key0 + n < h->lk; n++) {
            const uint32_t *q = h->q_words + t * d, *k = h->k_words + n * d;
            h->score[t * bn + n] = raw_score(h, route, row0 + t, key0 + n, q, k);
            if (h->folds)
                h->integer[t * bn + n] = int8_sum(h, q, k);
        }
}

static bool multiplies_sigma_back(const struct mxv_attention *a)
{
    return a->kernel == MXV_KERNEL_DMA && a->dual != MXV_DUAL_NONE && a->dual != MXV_DUAL_CHANNEL;
}

static float masked_score(const struct plain_head *h, size_t key)
{
    return h->a->masked == MXV_MASKED_FINITE && key < h->lk ? -5e6f : -INFINITY;
}

void plain_scores(struct plain_head *h, size_t i, size_t j, enum mxv_route route)
{
    const size_t bn = h->a->tile_n;
    plain_raw_scores(h, i, j, route);
    for (size_t t = 0; t < plain_tile_rows(h, i); t++) {
        const size_t row = i * h->a->tile_m + t;
        for (size_t n = 0; n < bn; n++) {
            const size_t key = j * bn + n;
            float *s = &h->score[t * bn + n];
            if (!plain_visible(h, row, key))
                *s = masked_score(h, key);
            else if (multiplies_sigma_back(h->a))
                *s = *s * h->q.sigma[row] * h->k.sigma[key];
        }
    }
}
