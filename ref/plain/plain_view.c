// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Visibility, processed tiles and plans of the plain emulation: docs/kernels/contract.md section 2,
// dma.md section 2, tilemix.md section 2.
//
// Decisions only; integer arithmetic, and binary64 for the shares of plan zones as its page asks.
// The plan of dma-released is in plain_released_tile.c. tests/unit/test_plain_view.c fails if this
// is wrong.
#include "plain.h"

static long diagonal_offset(const struct plain_head *h)
{
    return h->a->align == MXV_ALIGN_BOTTOM_RIGHT ? (long)h->lk - (long)h->lq : 0;
}

bool plain_visible(const struct plain_head *h, size_t row, size_t key)
{
    const long right = h->a->mask == MXV_MASK_CAUSAL ? 0 : h->a->right;
    const long left = h->a->left;
    const long beyond = (long)key - ((long)row + diagonal_offset(h));
    if (key >= h->lk)
        return false;
    if (right != -1 && beyond > right)
        return false;
    return left == -1 || -beyond <= left;
}

size_t plain_tile_rows(const struct plain_head *h, size_t i)
{
    const size_t left = h->lq - i * h->a->tile_m;
    return left < h->a->tile_m ? left : h->a->tile_m;
}

bool plain_processed(const struct plain_head *h, size_t i, size_t j)
{
    for (size_t t = 0; t < plain_tile_rows(h, i); t++)
        for (size_t n = 0; n < h->a->tile_n; n++)
            if (plain_visible(h, i * h->a->tile_m + t, j * h->a->tile_n + n))
                return true;
    return false;
}

static long floor_divide(long x, long y)
{
    const long q = x / y;
    return q * y > x ? q - 1 : q;
}

// Distance of key tile j from the key tiles that the diagonal crosses in query tile i.
static long tile_distance(const struct plain_head *h, size_t i, size_t j)
{
    const long bn = (long)h->a->tile_n, key_tile = (long)j;
    const long first_row = (long)(i * h->a->tile_m);
    const long last_row = first_row + (long)plain_tile_rows(h, i) - 1;
    const long jf = floor_divide(first_row + diagonal_offset(h), bn);
    const long jl = floor_divide(last_row + diagonal_offset(h), bn);
    if (key_tile < jf)
        return jf - key_tile;
    return key_tile > jl ? key_tile - jl : 0;
}

static enum mxv_route banded(const struct plain_head *h, size_t i, size_t j, size_t width)
{
    if (j < h->a->sink)
        return MXV_ROUTE_HIGH;
    return (unsigned long)tile_distance(h, i, j) < width ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
}

// C(w): score tiles within w of the diagonal when there are t tiles.
static double zone_count(double t, double w)
{
    return w * t - w * (w - 1.0) / 2.0;
}

static enum mxv_route zoned(const struct plain_head *h, size_t i, size_t j)
{
    const size_t t = h->tiles_k;
    const double all = zone_count((double)t, (double)t);
    size_t w1 = 1;
    while (w1 < t && !(zone_count((double)t, (double)w1) / all >= h->a->core_share))
        w1++;
    const double core = zone_count((double)t, (double)w1);
    size_t w2 = w1;
    while (w2 < t && !((zone_count((double)t, (double)w2) - core) / all >= h->a->buffer_share))
        w2++;
    const unsigned long distance = (unsigned long)tile_distance(h, i, j);
    if (j < h->a->sink || distance < w1)
        return MXV_ROUTE_CORE;
    return distance < w2 ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
}

static enum mxv_route by_words(const struct plain_head *h, size_t i, size_t j)
{
    const struct mxv_attention *a = h->a;
    const size_t row = h->kv_head * h->all_tiles + h->first_tile + i;
    const size_t group = j / a->group;
    const uint64_t word = a->route_words[row * a->words_per_row + group / a->word_bits];
    const unsigned place = (unsigned)(group % a->word_bits);
    const unsigned shift = a->msb_first ? a->word_bits - 1 - place : place;
    const bool set = (word >> shift & 1) != 0;
    return set == a->one_is_int8 ? MXV_ROUTE_INT8 : MXV_ROUTE_F16;
}

static enum mxv_route dma_route(const struct plain_head *h, size_t i, size_t j)
{
    const struct mxv_attention *a = h->a;
    if (a->mode == MXV_MODE_HIGH)
        return MXV_ROUTE_HIGH;
    if (a->mode == MXV_MODE_LOW)
        return MXV_ROUTE_LOW;
    if (a->plan == MXV_PLAN_ZONES)
        return zoned(h, i, j);
    if (a->plan == MXV_PLAN_ENTROPY)
        return banded(h, i, j, a->diag_tiles[h->head * h->all_tiles + h->first_tile + i]);
    return banded(h, i, j, a->diag);
}

enum mxv_route plain_route(const struct plain_head *h, size_t i, size_t j)
{
    if (!plain_processed(h, i, j))
        return MXV_ROUTE_SKIP;
    if (h->a->kernel == MXV_KERNEL_DMA)
        return dma_route(h, i, j);
    return h->a->kernel == MXV_KERNEL_TILEMIX ? by_words(h, i, j) : MXV_ROUTE_F16;
}

bool plain_uses(const struct mxv_attention *a, enum mxv_route route)
{
    const bool released = a->kernel == MXV_KERNEL_DMA_RELEASED;
    if (a->kernel == MXV_KERNEL_FLASH)
        return route == MXV_ROUTE_F16;
    if (a->kernel == MXV_KERNEL_TILEMIX)
        return route == MXV_ROUTE_F16 || route == MXV_ROUTE_INT8;
    if (route == MXV_ROUTE_CORE)
        return !released && a->plan == MXV_PLAN_ZONES;
    if (route == MXV_ROUTE_HIGH)
        return a->mode != MXV_MODE_LOW &&
               !(released && plain_released_uniform(a) && a->mode == MXV_MODE_MIXED);
    return route == MXV_ROUTE_LOW && a->mode != MXV_MODE_HIGH;
}
