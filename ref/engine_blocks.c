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

bool copy_quantise(const struct head *h, enum mxv_route route, const float *x,
                   struct operand_copy *copy)
{
    const size_t d = h->a->d, count = copy->rows * d;
    struct mxv_block_policy policy = {.rule = h->a->rule, .scale = {.inf = MXV_SCALE_INF_MAX}};
    enum mxv_block block;
    if (!h->healthy || h->a->kernel != MXV_KERNEL_DMA || !block_of(h->a, route, &block))
        return false;
    if (block == MXV_NVFP4 && copy->rows * copy->blocks < NVFP4_BLOCKS)
        return false;
    policy.nvfp4.order = MXV_NVFP4_MODELOPT;
    struct mxv_block_plan *plan = malloc(sizeof *plan);
    uint8_t *codes = malloc(count + 1);
    uint32_t *words = malloc((count + 1) * sizeof *words);
    const bool done = plan && codes && words;
    if (done) {
        memcpy(words, x, count * sizeof *words);
        mxv_block_plan_prepare(plan, block, &policy);
        mxv_block_quantize_array(plan, words, copy->rows * copy->blocks, copy->scale_bytes, codes);
        for (size_t i = 0; i < count; i++)
            copy->codes[i] = codes[i];
        for (size_t r = 0; r < copy->rows; r++)
            if (!row_stands(h, x + r * d, block, copy->scale_bytes + r * copy->blocks,
                            copy->blocks))
                copy_quantise_row(h, route, x + r * d, copy, r);
    }
    free(plan);
    free(words);
    free(codes);
    return done;
}
