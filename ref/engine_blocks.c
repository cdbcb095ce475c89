// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies of Q and K for the block routes as wholes, by the array functions of the formats layer
// (<mxverify/block_array.h>). docs/kernels/dma.md 1 in their terms: MXFP8 and MXFP4 are their
// blocks with scale_inf=max; NVFP4 is the order modelopt without tensor scale, where the stored
// scale is not 2^-9 or less and the block not all zeros (that order then stores 1, the contract 0).
// A row with a NaN or such a block is done again block by block. tests/gate compares every tap with
// ref/plain/.
#include "engine.h"
#include "engine_rows.h"
#include <mxverify/block_array.h>
#include <stdlib.h>

// Fewer NVFP4 blocks are done one by one in less time than a plan takes.
enum { NVFP4_BLOCKS = 4096, NVFP4_ONE = 0x38 };

// Rows that are quantised in one call; d is at most 256.
enum { ROWS = 32 };

static bool block_of(const struct mxv_attention *a, enum mxv_route route, enum mxv_block *block)
{
    if (route == MXV_ROUTE_HIGH)
        *block = a->high == MXV_HIGH_MXFP8_E4M3 ? MXV_MXFP8_E4M3 : MXV_MXFP8_E5M2;
    else if (route == MXV_ROUTE_LOW)
        *block = a->low == MXV_LOW_NVFP4 ? MXV_NVFP4 : MXV_MXFP4;
    else
        return false;
    return true;
}

static bool all_zero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

// Whether the blocks of a row are what the array functions make of them.
static bool row_stands(const struct head *h, const float *x, enum mxv_block block,
                       const uint8_t *scales, size_t blocks)
{
    if (h->rows->any_nan(x, h->a->d))
        return false;
    for (size_t b = 0; block == MXV_NVFP4 && b < blocks; b++)
        if (scales[b] <= 1 || (scales[b] == NVFP4_ONE && all_zero(x + 16 * b, 16)))
            return false;
    return true;
}

// Rows [first, end), end - first at most ROWS.
static void quantise_rows(const struct head *h, enum mxv_route route,
                          const struct mxv_block_plan *plan, const float *x,
                          struct operand_copy *copy, size_t first, size_t end)
{
    const size_t d = h->a->d, count = (end - first) * d, blocks = copy->blocks;
    uint32_t words[ROWS * 256];
    uint8_t codes[ROWS * 256];
    memcpy(words, x + first * d, count * sizeof *words);
    mxv_block_quantize_array(plan, words, (end - first) * blocks,
                             copy->scale_bytes + first * blocks, codes);
    for (size_t i = 0; i < count; i++)
        copy->codes[first * d + i] = codes[i];
    for (size_t r = first; r < end; r++)
        if (!row_stands(h, x + r * d, plan->block, copy->scale_bytes + r * blocks, blocks))
            copy_quantise_row(h, route, x + r * d, copy, r);
}

bool copy_quantise(const struct head *h, enum mxv_route route, const float *x,
                   struct operand_copy *copy)
{
    struct mxv_block_policy policy = {.rule = h->a->rule, .scale = {.inf = MXV_SCALE_INF_MAX}};
    enum mxv_block block;
    if (!h->healthy || h->a->kernel != MXV_KERNEL_DMA || !block_of(h->a, route, &block))
        return false;
    if (block == MXV_NVFP4 && copy->rows * copy->blocks < NVFP4_BLOCKS)
        return false;
    struct mxv_block_plan *plan = malloc(sizeof *plan);
    if (!plan)
        return false;
    policy.nvfp4.order = MXV_NVFP4_MODELOPT;
    mxv_block_plan_prepare(plan, block, &policy);
#pragma omp parallel for if (!h->sink)
    for (size_t first = 0; first < copy->rows; first += ROWS)
        quantise_rows(h, route, plan, x, copy, first,
                      copy->rows - first < ROWS ? copy->rows : first + ROWS);
    free(plan);
    return true;
}
