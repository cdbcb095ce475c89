// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of tilemix: INT8 copies with one scale for a group of rows, the INT8 K/V cache, and the
// 16-bit copies (docs/kernels/tilemix.md 1). One binary32 division and one rounding of its exact
// result for each code; groups by row index alone. Rounding and granularity are options of the
// call. The cache of V is in engine_values.c. Compared tap by tap with ref/plain/ (tests/gate).
#include "engine_faults.h"
#include <math.h>
#include <stdlib.h>

// Group of a row for INT8 scales (tilemix.md 1.3).
static size_t int8_group(enum mxv_granularity g, size_t row, size_t tile, bool key)
{
    switch (g) {
    case MXV_GRAN_TOKEN:
        return row;
    case MXV_GRAN_WARP:
        return key ? row / tile : row / 32;
    case MXV_GRAN_THREAD:
        return key ? row / tile * 4 + row % 8 / 2 : row / 32 * 8 + row % 8;
    default:
        return row / tile;
    }
}

static int int8_code(const struct mxv_attention *a, float x, float delta)
{
    struct mxv_encode encode = {.round = a->int8_round, .min_set = true, .min = -127};
    if (delta == 0)
        return 0;
    fault_int8_encode(a, &encode);
    float y = x / delta;
    return fault_int8_code(a, y, (int8_t)mxv_element_from_f32(MXV_S8, word_of(y), &encode));
}

static int int8_copy(struct head *h, struct operand_side *side, enum mxv_granularity g, size_t tile,
                     bool key)
{
    struct operand_copy *copy = &side->copy[MXV_ROUTE_INT8];
    size_t d = h->a->d, groups = side->rows * 9 + 64;
    float *amax = calloc(groups, sizeof *amax);
    if (!amax || copy_allocate(h, copy, side->rows, 1, false)) {
        free(amax);
        return head_no_memory(h, "INT8 copies");
    }
    for (size_t row = 0; row < side->rows; row++) {
        float *m = &amax[int8_group(g, row, tile, key)], x = amax_of(side->x + row * d, d);
        *m = x > *m ? x : *m;
    }
    for (size_t row = 0; row < side->rows; row++) {
        copy->scales[row] = amax[int8_group(g, row, tile, key)] / fault_int8_range(h->a);
        for (size_t c = 0; c < d; c++)
            copy->codes[row * d + c] =
                (uint8_t)int8_code(h->a, side->x[row * d + c], copy->scales[row]);
        copy_decode_row(h, MXV_ROUTE_INT8, copy, row, key);
    }
    free(amax);
    return 0;
}

// The copy of K, of the keys before smoothing under fault int8-unsmoothed.
static int int8_keys(struct head *h)
{
    const struct mxv_attention *a = h->a;
    enum mxv_granularity g = a->kv_cache ? MXV_GRAN_TOKEN : a->k_gran;
    float *smoothed = h->k.x;
    if (!a->smooth_k || !mxv_fault_on(a, MXV_FAULT_INT8_UNSMOOTHED))
        return int8_copy(h, &h->k, g, a->tile_n, true);
    h->k.x = calloc(h->lk * a->d + 1, sizeof *h->k.x);
    int status = h->k.x ? 0 : head_no_memory(h, "INT8 copies");
    if (status == 0) {
        load_rows(h, h->k.x, key_source(h), h->lk);
        status = int8_copy(h, &h->k, g, a->tile_n, true);
    }
    free(h->k.x);
    h->k.x = smoothed;
    return status;
}

// Replaces x by what an INT8 cache with per-token scales returns.
static void cache_rows(const struct head *h, float *x, size_t rows)
{
    size_t d = h->a->d;
    for (size_t row = 0; row < rows; row++) {
        float delta = amax_of(x + row * d, d) / 127;
        for (size_t c = 0; c < d; c++) {
            int code = int8_code(h->a, x[row * d + c], delta);
            x[row * d + c] = round_to(h->a->vt, (float)code * delta);
        }
    }
}

int tilemix_operands(struct head *h)
{
    const struct mxv_attention *a = h->a;
    if (int8_copy(h, &h->q, a->q_gran, a->tile_m, false) || int8_keys(h))
        return -1;
    if (a->kv_cache)
        cache_rows(h, h->k.x, h->lk);
    return block_copy(h, &h->q, MXV_ROUTE_F16, false) || block_copy(h, &h->k, MXV_ROUTE_F16, true);
}
