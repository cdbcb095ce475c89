// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Flow of one head of the plain emulation: operands, tiles, finish, taps, in the order of
// docs/kernels/contract.md section 8.
//
// No arithmetic. Errors: what mxv_attention_check refuses; named faults other than those of
// dma-released, which are part of that kernel; memory. tests/unit/test_plain.c fails if this is
// wrong.
#include "plain.h"
#include <stdio.h>
#include <string.h>

static void run_tiles(struct plain_head *h, size_t i)
{
    plain_softmax_start(h, i);
    for (size_t step = 0; step < h->tiles_k; step++) {
        const size_t j = h->a->order == MXV_ORDER_ASC ? step : h->tiles_k - 1 - step;
        const enum mxv_route route = plain_route(h, i, j);
        if (route == MXV_ROUTE_SKIP)
            continue;
        plain_scores(h, i, j, route);
        plain_softmax_tile(h, i, j);
        plain_tap_tile(h, route, i, j);
    }
    plain_softmax_finish(h, i);
}

static void run(struct plain_head *h)
{
    const bool released = h->a->kernel == MXV_KERNEL_DMA_RELEASED;
    plain_operands(h);
    plain_tap_operands(h);
    for (size_t i = 0; i < h->tiles_q; i++) {
        if (released)
            plain_released_tile(h, i);
        else
            run_tiles(h, i);
    }
    plain_tap_words(h, MXV_STAGE_OUT, MXV_ROUTE_F16, 0, 0, h->lq, h->a->d, h->out);
    if (h->a->lse != MXV_LSE_NONE)
        plain_tap_words(h, MXV_STAGE_LSE, MXV_ROUTE_F16, 0, 0, h->lq, 1, h->lse);
}

static int refuse_faults(const struct mxv_attention *a, char *message, size_t size)
{
    if (a->faults == 0 || a->kernel == MXV_KERNEL_DMA_RELEASED)
        return 0;
    if (message && size)
        snprintf(message, size, "the plain emulation has no switchable faults");
    return MXV_HEAD_UNSUPPORTED;
}

static void copy_words(uint32_t *to, const uint32_t *from, size_t count)
{
    if (to && count)
        memcpy(to, from, count * sizeof *to);
}

int mxv_plain_head(const struct mxv_attention *a, size_t sequence, size_t head, uint32_t *out,
                   uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size)
{
    struct plain_head h = {.a = a, .sink = sink, .sequence = sequence, .head = head};
    if (mxv_attention_check(a, message, size) != 0 || refuse_faults(a, message, size) != 0)
        return MXV_HEAD_UNSUPPORTED;
    const int status = plain_open(&h, message, size);
    if (status == 0) {
        run(&h);
        copy_words(out, h.out, h.lq * a->d);
        if (a->lse != MXV_LSE_NONE)
            copy_words(lse, h.lse, h.lq);
    }
    plain_close(&h);
    return status;
}
