// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option rebase of kernel dma in the plain emulation: docs/kernels/dma.md section 1.5 and its line
// of section 3.
//
// Block scales of a row of Q, or of a key tile, become one power of two; E2M1 codes become E5M2
// codes by one rounding. ldexpf is exact, or below every E5M2 value that does not round to zero.
// tests/unit/test_rebase.c fails if this is wrong.
#include "plain.h"
#include <math.h>

static uint32_t largest_scale(const struct plain_copy *copy, size_t first, size_t count)
{
    uint32_t base = 0;
    for (size_t r = first; r < first + count; r++)
        for (size_t b = 0; b < copy->scales_per_row; b++) {
            const uint32_t byte = copy->scale[r * copy->scales_per_row + b];
            if (byte != 0xFF && byte > base)
                base = byte;
        }
    return base;
}

static void rebase_row(const struct plain_copy *copy, size_t row, size_t d, uint32_t base)
{
    for (size_t c = 0; c < d; c++) {
        const uint32_t byte = copy->scale[row * copy->scales_per_row + c / 32];
        uint32_t *code = &copy->code[row * d + c];
        const float value = plain_decode(MXV_E2M1, *code);
        if (byte == 0xFF)
            *code = 0x7F;
        else
            *code = plain_round_saturate(MXV_E5M2, ldexpf(value, (int)byte - (int)base + 13));
    }
    copy->phi[row] = ldexpf(1.0f, (int)base - 140);
}

static void rebase_side(const struct plain_side *side, size_t d, size_t rows_together)
{
    const struct plain_copy *copy = &side->copy[MXV_ROUTE_LOW];
    for (size_t first = 0; first < side->rows; first += rows_together) {
        const size_t left = side->rows - first;
        const size_t count = left < rows_together ? left : rows_together;
        const uint32_t base = largest_scale(copy, first, count);
        for (size_t r = first; r < first + count; r++)
            rebase_row(copy, r, d, base);
    }
}

void plain_rebase(struct plain_head *h)
{
    rebase_side(&h->q, h->a->d, 1);
    rebase_side(&h->k, h->a->d, h->a->tile_n);
}
