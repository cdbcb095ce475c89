// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Which keys a row sees, which tiles are processed, which route a tile takes
// (docs/kernels/contract.md 2, dma.md 2, tilemix.md 2, dma-released.md 5). Integer arithmetic
// except the tile shares of plan `zones`, which the contract fixes in binary64. Wrong lines show in
// tests/unit/test_attention.c (visible_keys tables) and against ref/plain/.
#include "engine.h"

static long floor_div(long a, long b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static long diagonal_offset(const struct mxv_attention *a, size_t lq, size_t lk)
{
    return a->align == MXV_ALIGN_BOTTOM_RIGHT ? (long)lk - (long)lq : 0;
}

void mxv_attention_visible(const struct mxv_attention *a, size_t lq, size_t lk, size_t row,
                           size_t *first, size_t *end)
{
    long diagonal = (long)row + diagonal_offset(a, lq, lk);
    long right = a->mask == MXV_MASK_CAUSAL ? 0 : a->right;
    long lo = a->left >= 0 ? diagonal - a->left : 0;
    long hi = right >= 0 ? diagonal + right + 1 : (long)lk;
    lo = lo < 0 ? 0 : lo > (long)lk ? (long)lk : lo;
    hi = hi > (long)lk ? (long)lk : hi;
    *first = (size_t)lo;
    *end = hi > lo ? (size_t)hi : (size_t)lo;
}

size_t mxv_attention_first_tile(const struct mxv_attention *a, size_t sequence)
{
    size_t tiles = 0;
    for (size_t s = 0; s < sequence; s++)
        tiles += (a->cu_q[s + 1] - a->cu_q[s] + a->tile_m - 1) / a->tile_m;
    return tiles;
}

// Some row of query tile i sees a key of key tile j.
static bool tile_processed(const struct mxv_attention *a, size_t lq, size_t lk, size_t i, size_t j)
{
    size_t last = (i + 1) * a->tile_m < lq ? (i + 1) * a->tile_m : lq;
    for (size_t row = i * a->tile_m; row < last; row++) {
        size_t first, end;
        mxv_attention_visible(a, lq, lk, row, &first, &end);
        if (first < (j + 1) * a->tile_n && end > j * a->tile_n && first < end)
            return true;
    }
    return false;
}

static long tile_distance(const struct mxv_attention *a, size_t lq, size_t lk, size_t i, size_t j)
{
    long off = diagonal_offset(a, lq, lk);
    size_t last = (i + 1) * a->tile_m < lq ? (i + 1) * a->tile_m - 1 : lq - 1;
    long jf = floor_div((long)(i * a->tile_m) + off, (long)a->tile_n);
    long jl = floor_div((long)last + off, (long)a->tile_n);
    if ((long)j < jf)
        return jf - (long)j;
    return (long)j > jl ? (long)j - jl : 0;
}

// Tiles at distance below w among tiles x tiles causal ones.
static double zone_tiles(double tiles, double w)
{
    return w * tiles - w * (w - 1) / 2;
}

static void zone_widths(const struct mxv_attention *a, size_t tiles, long *core, long *buffer)
{
    double t = (double)tiles, total = zone_tiles(t, t);
    double w1 = 1, w2;
    while (w1 < t && zone_tiles(t, w1) / total < a->core_share)
        w1++;
    w2 = w1;
    while (w2 < t && (zone_tiles(t, w2) - zone_tiles(t, w1)) / total < a->buffer_share)
        w2++;
    *core = (long)w1;
    *buffer = (long)w2;
}

static enum mxv_route dma_route(const struct mxv_attention *a, size_t sequence, size_t head,
                                size_t i, size_t j)
{
    size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    size_t lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    if (a->mode != MXV_MODE_MIXED)
        return a->mode == MXV_MODE_HIGH ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
    long distance = tile_distance(a, lq, lk, i, j);
    if (a->plan == MXV_PLAN_ZONES) {
        long core, buffer;
        zone_widths(a, (lk + a->tile_n - 1) / a->tile_n, &core, &buffer);
        if (j < a->sink || distance < core)
            return MXV_ROUTE_CORE;
        return distance < buffer ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
    }
    long width = (long)a->diag;
    if (a->plan == MXV_PLAN_ENTROPY) {
        size_t tiles = mxv_attention_first_tile(a, a->sequences);
        width = (long)a->diag_tiles[head * tiles + mxv_attention_first_tile(a, sequence) + i];
    }
    return j < a->sink || distance < width ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
}

static enum mxv_route tilemix_route(const struct mxv_attention *a, size_t sequence, size_t head,
                                    size_t i, size_t j)
{
    size_t tiles = mxv_attention_first_tile(a, a->sequences);
    size_t row =
        (head / (a->heads_q / a->heads_kv)) * tiles + mxv_attention_first_tile(a, sequence) + i;
    size_t g = j / a->group;
    unsigned place = (unsigned)(g % a->word_bits);
    if (a->msb_first)
        place = a->word_bits - 1 - place;
    bool bit = a->route_words[row * a->words_per_row + g / a->word_bits] >> place & 1;
    return bit != a->one_is_int8 ? MXV_ROUTE_F16 : MXV_ROUTE_INT8;
}

// The released program's three loops; uniform kernels run tiles 0..i (causal) or all.
static enum mxv_route released_route(const struct mxv_attention *a, size_t i, size_t j)
{
    bool uniform = a->mode != MXV_MODE_MIXED || (a->diag == 0 && a->sink == 0);
    enum mxv_route low = MXV_ROUTE_LOW;
    if (uniform) {
        if (a->mask == MXV_MASK_CAUSAL && j > i)
            return MXV_ROUTE_SKIP;
        return a->mode == MXV_MODE_HIGH ? MXV_ROUTE_HIGH : low;
    }
    size_t width = a->diag ? a->diag : 1;
    if (j < a->sink)
        return MXV_ROUTE_HIGH;
    if (j > i)
        return MXV_ROUTE_SKIP;
    return j + width > i ? MXV_ROUTE_HIGH : low;
}

enum mxv_route mxv_attention_route(const struct mxv_attention *a, size_t sequence, size_t head,
                                   size_t i, size_t j)
{
    size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    size_t lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    if (a->kernel == MXV_KERNEL_DMA_RELEASED)
        return released_route(a, i, j);
    if (!tile_processed(a, lq, lk, i, j))
        return MXV_ROUTE_SKIP;
    if (a->kernel == MXV_KERNEL_FLASH)
        return MXV_ROUTE_F16;
    return a->kernel == MXV_KERNEL_TILEMIX ? tilemix_route(a, sequence, head, i, j)
                                           : dma_route(a, sequence, head, i, j);
}
