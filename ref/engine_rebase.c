// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option rebase of kernel dma (docs/kernels/dma.md 1.5 and 3): the MXFP4 blocks of one row of Q, or
// of a whole key tile, share a power of two inside E5M2, so that the low route is a plain FP8
// product with a factor for each row and column. Exact for block scales within 28 binades; below
// that, one rounding to nearest even in E5M2. Rows that share a base: one of Q, tile_n keys; the
// call carries the choice. tests/unit/test_rebase.c holds hand-computed values; tests/gate compares
// every tap with ref/plain/.
#include "engine_faults.h"
#include <math.h>
#include <stdlib.h>

// Codes of every E2M1 value at every distance of its block's scale from the base: the smallest
// value that does not round to zero is 6 at 32 binades.
enum { REACH = 33, TOP = 13, BIAS = 127, NAN_SCALE = 0xFF };

struct codes_at {
    uint8_t code[REACH][16];
};

static void fill_codes(struct codes_at *t)
{
    for (int below = 0; below < REACH; below++)
        for (uint32_t code = 0; code < 16; code++) {
            struct mxv_value v = mxv_element_decode(MXV_E2M1, code);
            v.exp += TOP - below;
            t->code[below][code] = (uint8_t)mxv_element_encode(MXV_E5M2, v, NULL);
        }
}

static uint8_t base_of(const uint8_t *scale, size_t count)
{
    uint8_t base = 0;
    for (size_t b = 0; b < count; b++)
        base = scale[b] != NAN_SCALE && scale[b] > base ? scale[b] : base;
    return base;
}

static void rebase_block(const struct codes_at *t, uint8_t scale, uint8_t base, uint32_t *codes)
{
    const int below = base > scale ? base - scale : 0; // 0 for more than the base under a fault
    for (size_t c = 0; c < 32; c++) {
        if (scale == NAN_SCALE)
            codes[c] = (uint32_t)mxv_element_get(MXV_E5M2)->nan_code;
        else if (below >= REACH)
            codes[c] = codes[c] & 8 ? 0x80 : 0;
        else
            codes[c] = t->code[below][codes[c] & 15];
    }
}

// Rows that share a base: `together` of them.
static int rebase_side(struct head *h, struct operand_side *side, size_t together, bool side_b)
{
    struct operand_copy *copy = &side->copy[MXV_ROUTE_LOW];
    struct codes_at table;
    copy->factor = calloc(copy->rows + 1, sizeof *copy->factor);
    if (!copy->factor)
        return head_no_memory(h, "operand copies");
    fill_codes(&table);
#pragma omp parallel for if (!h->sink)
    for (size_t first = 0; first < copy->rows; first += together) {
        const size_t end = copy->rows - first < together ? copy->rows : first + together;
        const uint8_t base = base_of(copy->scale_bytes + first * copy->blocks,
                                     fault_base_blocks(h, copy->blocks, end - first));
        for (size_t b = first * copy->blocks; b < end * copy->blocks; b++)
            rebase_block(&table, copy->scale_bytes[b], base, copy->codes + b * 32);
        for (size_t row = first; row < end; row++) {
            copy->factor[row] = ldexpf(1, base - BIAS - TOP);
            copy_decode_row(h, MXV_ROUTE_LOW, copy, row, side_b);
        }
    }
    return 0;
}

int operands_rebase(struct head *h)
{
    if (!h->a->rebase)
        return 0;
    return rebase_side(h, &h->q, 1, false) || rebase_side(h, &h->k, h->a->tile_n, true);
}

void scores_rebased(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
                    uint32_t *s)
{
    const float *q = h->q.copy[MXV_ROUTE_LOW].factor + first;
    const float *k = h->k.copy[MXV_ROUTE_LOW].factor + key;
    for (size_t r = 0; r < rows; r++)
        for (size_t n = 0; n < cols; n++) {
            uint32_t *w = &s[r * h->a->tile_n + n];
            const float by_row = value_of(*w) * q[r];
            *w = word_of(by_row * k[n]);
        }
}
