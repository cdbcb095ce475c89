// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of gpu/cuda_run.h with the emulation as the device, for tests of programs that need
// one. `device_faults` are switched on in it. The including file brings gpu/cuda_taps.c, which says
// where the taps lie, and cmocka.
#ifndef MXV_TESTS_EMULATED_DEVICE_H
#define MXV_TESTS_EMULATED_DEVICE_H

#include "../../gpu/cuda_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t device_faults;

int mxv_cuda_device(char *text, size_t size)
{
    snprintf(text, size, "an emulation, compute capability 9.0, no driver");
    return 0;
}

void mxv_cuda_result_free(struct mxv_cuda_result *r)
{
    free(r->out);
    free(r->lse);
    for (unsigned s = 0; s < MXV_STAGE_COUNT; s++)
        for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++)
            free(r->taps[s][route]);
    *r = (struct mxv_cuda_result){0};
}

struct playing {
    struct mxv_cuda_result *r;
    const struct mxv_attention *a;
};

// Puts a tap where the device would have left it.
static void place_tap(void *ctx, const struct mxv_tap *t)
{
    const struct playing *p = ctx;
    const struct mxv_attention *a = p->a;
    const bool tile = t->stage >= MXV_STAGE_SCORE && t->stage <= MXV_STAGE_ACC;
    const size_t tiles = mxv_attention_first_tile(a, a->sequences);
    const size_t tokens = a->cu_q[a->sequences] + a->cu_k[a->sequences] + a->sequences;
    if (t->stage == MXV_STAGE_OUT || t->stage == MXV_STAGE_LSE)
        return;
    uint32_t **words = &p->r->taps[t->stage][tile ? 0 : t->route];
    if (!*words)
        *words = calloc(a->heads_q * (tile ? tiles * p->r->key_tiles * a->tile_m : tokens) *
                            (t->cols > a->d ? t->cols : a->d),
                        sizeof **words);
    assert_non_null(*words);
    memcpy((uint32_t *)mxv_cuda_tap(p->r, a, t), t->words, t->rows * t->cols * sizeof **words);
}

int mxv_cuda_run(const struct mxv_attention *a, enum mxv_cuda_build build,
                 struct mxv_cuda_result *r, char *message, size_t size)
{
    const size_t tokens = a->cu_q[a->sequences];
    struct mxv_attention device = *a;
    struct playing playing = {r, a};
    const struct mxv_tap_sink sink = {place_tap, &playing};
    device.faults = device_faults;
    r->out = calloc(a->heads_q * tokens * a->d + 1, sizeof *r->out);
    r->lse = a->lse == MXV_LSE_NONE ? NULL : calloc(a->heads_q * tokens + 1, sizeof *r->lse);
    for (size_t s = 0; s < a->sequences; s++) {
        const size_t n = (a->cu_k[s + 1] - a->cu_k[s] + a->tile_n - 1) / a->tile_n;
        r->key_tiles = n > r->key_tiles ? n : r->key_tiles;
    }
    for (size_t head = 0; head < a->heads_q; head++)
        for (size_t s = 0; s < a->sequences; s++) {
            const size_t row = head * tokens + a->cu_q[s];
            if (mxv_engine_head(&device, s, head, r->out + row * a->d, r->lse ? r->lse + row : NULL,
                                build == MXV_CUDA_TRACING ? &sink : NULL, message, size))
                return -1;
        }
    return 0;
}

#endif
