// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Taps of an emulated call in the order of docs/kernels/contract.md 8. Where they lie is what
// cuda_taps.c says, but for the scale of an FP8 V: one for each sequence, not for each key.
#include "emulate_run.h"

#include <stdlib.h>

const uint32_t *mxv_emulate_tap(const struct mxv_cuda_result *r, const struct mxv_attention *a,
                                const struct mxv_tap *tap)
{
    if (tap->stage != MXV_STAGE_V_SCALE || a->vt != MXV_E4M3)
        return mxv_cuda_tap(r, a, tap);
    const uint32_t *words = r->taps[tap->stage][tap->route];
    const size_t kv_head = tap->head / (a->heads_q / a->heads_kv);
    return words ? words + kv_head * a->sequences + tap->sequence : NULL;
}

struct sender {
    const struct mxv_cuda_result *r;
    const struct mxv_attention *a;
    const struct mxv_tap_sink *sink;
    size_t sequence, head, lq, lk;
    bool failed;
};

// Sends a tap, each NaN replaced by the canonical one; not one that was not kept.
static void send(struct sender *s, enum mxv_stage stage, enum mxv_route route, size_t i, size_t j,
                 size_t rows, size_t cols)
{
    struct mxv_tap tap = {stage, route, s->sequence, s->head, i, j, rows, cols, NULL};
    const uint32_t *words = mxv_emulate_tap(s->r, s->a, &tap);
    const enum mxv_element format = mxv_cuda_tap_format(s->a, &tap);
    const uint32_t nan =
        format == MXV_F32 ? MXV_NAN_WORD : (uint32_t)mxv_element_get(format)->nan_code;
    uint32_t *copy = words ? malloc((rows * cols + 1) * sizeof *copy) : NULL;
    s->failed = s->failed || (words && !copy);
    for (size_t n = 0; copy && n < rows * cols; n++)
        copy[n] = format != MXV_U8 && mxv_element_is_nan(format, words[n]) ? nan : words[n];
    tap.words = copy;
    if (copy)
        s->sink->take(s->sink->ctx, &tap);
    free(copy);
}

static void send_side(struct sender *s, bool key)
{
    const struct mxv_attention *a = s->a;
    const size_t rows = key ? s->lk : s->lq;
    const bool channel = key && a->dual == MXV_DUAL_CHANNEL;
    send(s, key ? MXV_STAGE_K_SIGMA : MXV_STAGE_Q_SIGMA, MXV_ROUTE_F16, 0, 0, channel ? 1 : rows,
         channel ? a->d : 1);
    for (unsigned route = 0; route < MXV_ROUTE_SKIP; route++) {
        const size_t block = route == MXV_ROUTE_LOW && a->low == MXV_LOW_NVFP4 ? 16 : 32;
        send(s, key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, (enum mxv_route)route, 0, 0, rows,
             route == MXV_ROUTE_INT8 ? 1 : a->d / block);
        send(s, key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, (enum mxv_route)route, 0, 0, rows, a->d);
    }
}

static void send_query_tile(struct sender *s, size_t i)
{
    const struct mxv_attention *a = s->a;
    const size_t left = s->lq - i * a->tile_m, rows = left < a->tile_m ? left : a->tile_m;
    const size_t tiles = (s->lk + a->tile_n - 1) / a->tile_n;
    for (size_t n = 0; n < tiles; n++) {
        const size_t j = a->order == MXV_ORDER_ASC ? n : tiles - 1 - n;
        const enum mxv_route route = mxv_attention_route(a, s->sequence, s->head, i, j);
        if (route == MXV_ROUTE_SKIP)
            continue;
        send(s, MXV_STAGE_SCORE, route, i, j, rows, a->tile_n);
        send(s, MXV_STAGE_MAX, route, i, j, rows, 1);
        send(s, MXV_STAGE_WEIGHT, route, i, j, rows, a->tile_n);
        send(s, MXV_STAGE_SUM, route, i, j, rows, 1);
        send(s, MXV_STAGE_ACC, route, i, j, rows, a->d);
    }
}

int mxv_emulate_send_taps(const struct mxv_cuda_result *r, const struct mxv_attention *a,
                          size_t sequence, size_t head, const struct mxv_tap_sink *sink)
{
    struct sender s = {.r = r, .a = a, .sink = sink, .sequence = sequence, .head = head};
    s.lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    s.lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    send_side(&s, false);
    send_side(&s, true);
    send(&s, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, 0, 0, a->vt == MXV_E4M3 ? 1 : s.lk, 1);
    send(&s, MXV_STAGE_V_CODE, MXV_ROUTE_F16, 0, 0, s.lk, a->d);
    for (size_t i = 0; i * a->tile_m < s.lq; i++)
        send_query_tile(&s, i);
    send(&s, MXV_STAGE_OUT, MXV_ROUTE_F16, 0, 0, s.lq, a->d);
    send(&s, MXV_STAGE_LSE, MXV_ROUTE_F16, 0, 0, s.lq, 1);
    return s.failed ? -1 : 0;
}
