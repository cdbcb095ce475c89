// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One score tile of a route: matrix-unit product and scales (docs/kernels/dma.md 3, tilemix.md 3,
// dma-released.md 5). Options rebase and fold: engine_rebase.c, engine_fold.c. Faults D4, D7 and D8
// act here. Compared tap by tap with ref/plain/.
#include "engine_faults.h"
#include <math.h>

static void product(const struct head *h, enum mxv_route route, size_t first, size_t rows,
                    size_t key, size_t cols, uint32_t *s)
{
    const struct operand_copy *q = &h->q.copy[route], *k = &h->k.copy[route];
    const struct mxv_mma_model *m = h->recipe.score[route];
    size_t d = h->a->d, bn = h->a->tile_n;
    bool scaled = m->scale != MXV_MMA_NO_SCALE;
    for (size_t r = 0; r < rows; r++)
        memset(s + r * bn, 0, cols * sizeof *s);
    mxv_mma_tile(m, rows, cols, d, q->operand + first * d, k->operand + key * d,
                 scaled ? q->scale_bytes + first * q->blocks : NULL,
                 scaled ? k->scale_bytes + key * k->blocks : NULL, s, bn);
}

enum { GROUP = 32, GROUP_ROWS = 64, MAX_TILE = 256 };

// Products of one group of channels for up to GROUP_ROWS rows, w [rows][cols].
static void group_product(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
                          size_t g, uint32_t *w)
{
    const size_t d = h->a->d;
    struct mxv_operand a[GROUP_ROWS * GROUP], b[MAX_TILE * GROUP];
    for (size_t r = 0; r < rows; r++)
        memcpy(a + r * GROUP, h->q.copy[MXV_ROUTE_CORE].operand + (first + r) * d + g * GROUP,
               GROUP * sizeof *a);
    for (size_t n = 0; n < cols; n++)
        memcpy(b + n * GROUP, h->k.copy[MXV_ROUTE_CORE].operand + (key + n) * d + g * GROUP,
               GROUP * sizeof *b);
    memset(w, 0, rows * cols * sizeof *w);
    mxv_mma_tile(h->recipe.score[MXV_ROUTE_CORE], rows, cols, GROUP, a, b, NULL, NULL, w, cols);
}

// E4M3 with binary32 scales per group of 32 channels: one instruction a group, promoted by fma.
static void core_rows(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
                      uint32_t *s)
{
    const struct operand_copy *q = &h->q.copy[MXV_ROUTE_CORE], *k = &h->k.copy[MXV_ROUTE_CORE];
    size_t bn = h->a->tile_n;
    uint32_t w[GROUP_ROWS * MAX_TILE];
    for (size_t g = 0; g < q->blocks; g++) {
        group_product(h, first, rows, key, cols, g, w);
        for (size_t r = 0; r < rows; r++)
            for (size_t n = 0; n < cols; n++) {
                uint32_t *out = &s[r * bn + n];
                float scale =
                    q->scales[(first + r) * q->blocks + g] * k->scales[(key + n) * k->blocks + g];
                float acc = g ? value_of(*out) : 0;
                *out = word_of(fault_promoted(h, fmaf(value_of(w[r * cols + n]), scale, acc)));
            }
    }
}

static void core_product(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
                         uint32_t *s)
{
    for (size_t r = 0; r < rows; r += GROUP_ROWS)
        core_rows(h, first + r, rows - r < GROUP_ROWS ? rows - r : GROUP_ROWS, key, cols,
                  s + r * h->a->tile_n);
}

static void int8_scale(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
                       uint32_t *s)
{
    const float *dq = h->q.copy[MXV_ROUTE_INT8].scales + first;
    const float *dk = h->k.copy[MXV_ROUTE_INT8].scales + key;
    size_t bn = h->a->tile_n;
    for (size_t r = 0; r < rows; r++)
        for (size_t n = 0; n < cols; n++)
            s[r * bn + n] = word_of((float)(int32_t)s[r * bn + n] * (dq[r] * dk[n]));
}

// Query row whose second-level scale is used for row r of tile i (another one under defect D4).
static float query_sigma(const struct head *h, size_t i, size_t r)
{
    const struct mxv_attention *a = h->a;
    size_t row = i * a->tile_m + r;
    bool stride = a->kernel == MXV_KERNEL_DMA_RELEASED || mxv_fault_on(a, MXV_FAULT_SIGMA_Q_STRIDE);
    if (stride && a->dual == MXV_DUAL_TOKEN)
        row = i + r;
    return row < h->lq ? h->q.sigma[row] : 0;
}

static void second_level(const struct head *h, size_t i, size_t key, size_t rows, size_t cols,
                         uint32_t *s)
{
    const struct mxv_attention *a = h->a;
    bool released = a->kernel == MXV_KERNEL_DMA_RELEASED;
    bool product_first = released && a->diag == 0; // the sink-only kernel
    for (size_t r = 0; r < rows; r++) {
        float sq = query_sigma(h, i, r);
        for (size_t n = 0; n < cols; n++) {
            uint32_t *w = &s[r * a->tile_n + n];
            float sk = h->k.sigma[key + n];
            *w = word_of(product_first ? value_of(*w) * (sq * sk) : value_of(*w) * sq * sk);
        }
    }
}

static void channel_on_keys(const struct head *h, size_t rows, size_t cols, uint32_t *s)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t n = 0; n < cols; n++) {
            uint32_t *w = &s[r * h->a->tile_n + n];
            *w = word_of(value_of(*w) * h->k.sigma[n % h->a->d]);
        }
}

static bool second_level_applies(const struct mxv_attention *a)
{
    bool dma = a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED;
    if (!dma || a->dual == MXV_DUAL_NONE || a->dual == MXV_DUAL_CHANNEL)
        return false;
    if (a->kernel == MXV_KERNEL_DMA_RELEASED) // D7: dropped by the uniform kernels
        return a->mode == MXV_MODE_MIXED && (a->diag > 0 || a->sink > 0);
    return !mxv_fault_on(a, MXV_FAULT_DUAL_DROPPED);
}

void scores_compute(const struct head *h, enum mxv_route route, size_t i, size_t j, size_t rows,
                    size_t cols, uint32_t *s, struct folded *folded)
{
    size_t first = i * h->a->tile_m, key = fault_key_tile(h, j) * h->a->tile_n;
    size_t scale_key = fault_scale_tile(h, j) * h->a->tile_n;
    if (route == MXV_ROUTE_CORE)
        core_product(h, first, rows, key, cols, s);
    else
        product(h, route, first, rows, key, cols, s);
    if (folded)
        fold_take(h, first, rows, scale_key, cols, s, folded);
    if (route == MXV_ROUTE_LOW && h->a->rebase)
        scores_rebased(h, first, rows, scale_key, cols, s);
    if (route == MXV_ROUTE_INT8)
        int8_scale(h, first, rows, scale_key, cols, s);
    if (second_level_applies(h->a))
        second_level(h, i, scale_key, rows, cols, s);
    if (h->a->kernel == MXV_KERNEL_DMA && h->a->dual == MXV_DUAL_CHANNEL &&
        mxv_fault_on(h->a, MXV_FAULT_CHANNEL_ON_KEYS))
        channel_on_keys(h, rows, cols, s);
}
