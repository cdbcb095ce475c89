// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Taps of a device run, of the production kernels or of the emulation: where the words of a tap
// lie, and all taps of a head in the order of docs/kernels/contract.md 8.
#include "cuda_run.h"

#include <stdlib.h>

// Scale of an FP8 V of no keys: binary32 1 (docs/kernels/contract.md 5).
static const uint32_t scale_without_keys = 0x3f800000;

enum mxv_element mxv_cuda_tap_format(const struct mxv_attention *a, const struct mxv_tap *t)
{
    switch (t->stage) {
    case MXV_STAGE_Q_SCALE:
    case MXV_STAGE_K_SCALE:
        return t->route == MXV_ROUTE_INT8 || t->route == MXV_ROUTE_CORE ? MXV_F32 : MXV_U8;
    case MXV_STAGE_Q_CODE:
    case MXV_STAGE_K_CODE:
        if (t->route == MXV_ROUTE_LOW && a->rebase)
            return MXV_E5M2;
        return t->route != MXV_ROUTE_F16 ? MXV_U8 : a->kernel == MXV_KERNEL_DMA ? MXV_F16 : a->vt;
    case MXV_STAGE_V_CODE:
    case MXV_STAGE_WEIGHT:
        return a->vt;
    case MXV_STAGE_OUT:
        return a->out;
    default:
        return MXV_F32;
    }
}

// Scale of an FP8 V: one for each key row, all equal within a sequence, or one for each sequence.
static const uint32_t *value_scale(const struct mxv_cuda_result *r, const struct mxv_attention *a,
                                   const struct mxv_tap *t)
{
    const uint32_t *words = r->taps[MXV_STAGE_V_SCALE][t->route];
    const size_t kv_head = t->head / (a->heads_q / a->heads_kv), first = a->cu_k[t->sequence];
    if (r->v_scale_by_sequence)
        return words ? words + kv_head * a->sequences + t->sequence : NULL;
    if (a->cu_k[t->sequence + 1] == first)
        return &scale_without_keys;
    return words ? words + kv_head * a->cu_k[a->sequences] + first : NULL;
}

const uint32_t *mxv_cuda_tap(const struct mxv_cuda_result *r, const struct mxv_attention *a,
                             const struct mxv_tap *t)
{
    const bool tile = t->stage >= MXV_STAGE_SCORE && t->stage <= MXV_STAGE_ACC &&
                      t->stage != MXV_STAGE_OUT && t->stage != MXV_STAGE_LSE;
    const bool query =
        t->stage <= MXV_STAGE_Q_CODE || t->stage == MXV_STAGE_OUT || t->stage == MXV_STAGE_LSE;
    const size_t kv_head = t->head / (a->heads_q / a->heads_kv);
    const size_t *cu = query ? a->cu_q : a->cu_k;
    const size_t row = (query ? t->head : kv_head) * cu[a->sequences] + cu[t->sequence];
    if (t->stage == MXV_STAGE_OUT)
        return r->out + row * t->cols;
    if (t->stage == MXV_STAGE_LSE)
        return r->lse ? r->lse + row : NULL;
    if (t->stage == MXV_STAGE_V_SCALE && a->vt == MXV_E4M3)
        return value_scale(r, a, t);
    const uint32_t *words = r->taps[t->stage][tile ? 0 : t->route];
    if (!words)
        return NULL;
    if (tile) {
        const size_t tiles = mxv_attention_first_tile(a, a->sequences);
        const size_t index = mxv_attention_first_tile(a, t->sequence) + t->tile_q;
        return words + ((t->head * tiles + index) * r->key_tiles + t->tile_k) * a->tile_m * t->cols;
    }
    if (t->stage == MXV_STAGE_K_SIGMA && a->dual == MXV_DUAL_CHANNEL)
        return words + (kv_head * a->sequences + t->sequence) * a->d;
    return words + row * t->cols;
}

struct sender {
    const struct mxv_cuda_result *r;
    const struct mxv_attention *a;
    const struct mxv_tap_sink *sink;
    size_t sequence, head, lq, lk;
    uint32_t *words; // room for one tap
    size_t room;
    bool failed;
};

// Sends a tap, each NaN replaced by the canonical one; not one that the device did not record.
static void send(struct sender *s, enum mxv_stage stage, enum mxv_route route, size_t i, size_t j,
                 size_t rows, size_t cols)
{
    struct mxv_tap tap = {stage, route, s->sequence, s->head, i, j, rows, cols, NULL};
    const uint32_t *device = mxv_cuda_tap(s->r, s->a, &tap);
    const enum mxv_element format = mxv_cuda_tap_format(s->a, &tap);
    const uint32_t nan =
        format == MXV_F32 ? MXV_NAN_WORD : (uint32_t)mxv_element_get(format)->nan_code;
    if (!device || s->failed)
        return;
    if (rows * cols > s->room) {
        uint32_t *words = realloc(s->words, rows * cols * sizeof *words);
        s->failed = !words;
        if (!words)
            return;
        s->words = words;
        s->room = rows * cols;
    }
    for (size_t n = 0; n < rows * cols; n++)
        s->words[n] = format != MXV_U8 && mxv_element_is_nan(format, device[n]) ? nan : device[n];
    tap.words = s->words;
    s->sink->take(s->sink->ctx, &tap);
}

static void send_side(struct sender *s, bool key)
{
    const struct mxv_attention *a = s->a;
    const enum mxv_stage sigma = key ? MXV_STAGE_K_SIGMA : MXV_STAGE_Q_SIGMA;
    const enum mxv_stage scale = key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE;
    const enum mxv_stage code = key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE;
    const size_t rows = key ? s->lk : s->lq;
    const bool channel = key && a->dual == MXV_DUAL_CHANNEL;
    send(s, sigma, MXV_ROUTE_F16, 0, 0, channel ? 1 : rows, channel ? a->d : 1);
    for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++) {
        const size_t block = route == MXV_ROUTE_LOW && a->low == MXV_LOW_NVFP4 ? 16 : 32;
        send(s, scale, (enum mxv_route)route, 0, 0, rows,
             route == MXV_ROUTE_INT8 ? 1 : a->d / block);
        send(s, code, (enum mxv_route)route, 0, 0, rows, a->d);
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

int mxv_cuda_send_taps(const struct mxv_cuda_result *r, const struct mxv_attention *a,
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
    free(s.words);
    return s.failed ? -1 : 0;
}
