// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 copies and INT8 K/V cache of kernel tilemix in the plain emulation: docs/kernels/tilemix.md
// section 1.
//
// delta = amax / 127 over the rows of a group, code = R(x / delta) in -127..127; the cache is the
// group of one token. Which rows form a group is `q_gran` and `k_gran`, R is `int8_round`.
// tests/unit/test_plain_operands.c fails if this is wrong.
#include "plain.h"

static size_t group_of(const struct mxv_attention *a, bool is_k, size_t row)
{
    const enum mxv_granularity granularity = is_k ? a->k_gran : a->q_gran;
    switch (granularity) {
    case MXV_GRAN_TOKEN:
        return row;
    case MXV_GRAN_WARP:
        return is_k ? row / a->tile_n : row / 32;
    case MXV_GRAN_THREAD:
        return is_k ? row / a->tile_n * 4 + row % 8 / 2 : row / 32 * 8 + row % 8;
    default: // MXV_GRAN_BLOCK
        return is_k ? row / a->tile_n : row / a->tile_m;
    }
}

static float group_amax(const struct plain_head *h, const struct plain_side *side, bool is_k,
                        size_t row)
{
    float amax = 0.0f;
    for (size_t r = 0; r < side->rows; r++)
        if (group_of(h->a, is_k, r) == group_of(h->a, is_k, row))
            amax = plain_max(amax, side->sigma[r]);
    return amax;
}

// `sigma`, which this kernel has no other use for, holds the largest magnitude of each row.
static void int8_copy(struct plain_head *h, struct plain_side *side, bool is_k)
{
    const size_t d = h->a->d;
    struct plain_copy *copy = &side->copy[MXV_ROUTE_INT8];
    for (size_t r = 0; r < side->rows; r++)
        side->sigma[r] = plain_amax(side->x + r * d, d);
    for (size_t r = 0; r < side->rows; r++) {
        const float delta = group_amax(h, side, is_k, r) / 127.0f;
        copy->scale[r] = plain_word(delta);
        for (size_t e = r * d; e < (r + 1) * d; e++)
            copy->code[e] = (uint32_t)plain_int8_code(h->a->int8_round, side->x[e], delta) & 0xFF;
    }
}

// What the cache gives back for one row: T(fl(code * delta)).
static float through_cache(const struct plain_head *h, float *x)
{
    const float delta = plain_amax(x, h->a->d) / 127.0f;
    for (size_t c = 0; c < h->a->d; c++) {
        const float value = (float)plain_int8_code(h->a->int8_round, x[c], delta) * delta;
        x[c] = plain_decode(h->t16, plain_round(h->t16, value));
    }
    return delta;
}

void plain_int8_copies(struct plain_head *h)
{
    const size_t d = h->a->d;
    for (size_t e = 0; e < h->lk * d; e++)
        h->v[e] = plain_decode(h->t16, plain_round(h->t16, h->v[e]));
    int8_copy(h, &h->q, false);
    int8_copy(h, &h->k, true); // with kv_cache per token, hence the codes of the cache itself
    for (size_t n = 0; n < h->lk && h->a->kv_cache; n++) {
        (void)through_cache(h, h->k.x + n * d);
        h->v_row_scale[n] = through_cache(h, h->v + n * d);
    }
}
