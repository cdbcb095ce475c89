// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The two exact problems beside an emulated head: (a) of the inputs, (b) of the operands that the
// routes multiply (dequantised: codes times scales), with the emulation's routes and the case's
// visibility. Everything is exact in binary64.
#include "verify.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void visible(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct problem *p = ctx;
    *first = 0;
    *end = p->h->lk;
    if (!p->ignore_mask)
        mxv_attention_visible(p->a, p->h->lq, p->h->lk, row, first, end);
}

unsigned problem_route(const void *ctx, size_t row, size_t key)
{
    const struct problem *p = ctx;
    size_t tiles = (p->h->lk + p->a->tile_n - 1) / p->a->tile_n;
    unsigned route = p->h->emulated_scores.routes[row / p->a->tile_m * tiles + key / p->a->tile_n];
    return p->index_of_route[route];
}

static double *buffer(struct problem *p, size_t n)
{
    double *b = malloc((n + 1) * sizeof *b);
    p->buffers[p->buffer_count++] = b;
    return b;
}

void problem_free(struct problem *p)
{
    for (unsigned i = 0; i < p->buffer_count; i++)
        free(p->buffers[i]);
}

void problem_start(struct problem *p, const struct mxv_attention *a, const struct head_result *h,
                   bool ignore_mask)
{
    *p = (struct problem){.a = a, .h = h, .ignore_mask = ignore_mask};
    p->exact = (struct mxv_truth_problem){.lq = h->lq,
                                          .lk = h->lk,
                                          .d = a->d,
                                          .dv = a->d,
                                          .routes = 1,
                                          .scale = a->scale,
                                          .visible = visible,
                                          .ctx = p};
}

static const double *widen(struct problem *p, const float *x, size_t n)
{
    double *b = buffer(p, n);
    for (size_t i = 0; b && i < n; i++)
        b[i] = x[i];
    return b;
}

// Kind (a): the inputs as they are.
int problem_inputs(struct problem *p)
{
    const struct mxv_attention *a = p->a;
    const struct head_result *h = p->h;
    size_t tq = a->cu_q[a->sequences], tk = a->cu_k[a->sequences];
    size_t kv = h->head / (a->heads_q / a->heads_kv);
    size_t key = (kv * tk + a->cu_k[h->sequence]) * a->d;
    p->exact.q[0] = widen(p, a->q + (h->head * tq + a->cu_q[h->sequence]) * a->d, h->lq * a->d);
    p->exact.k[0] = widen(p, a->k + key, h->lk * a->d);
    p->exact.v = widen(p, a->v + key, h->lk * a->d);
    return p->exact.q[0] && p->exact.k[0] && p->exact.v ? 0 : -1;
}

// Kind (b): the operands of every route that some tile of the head took.
enum mxv_truth_status problem_operands(struct problem *p)
{
    const struct mxv_attention *a = p->a;
    const struct head_result *h = p->h;
    size_t tiles = ((h->lq + a->tile_m - 1) / a->tile_m) * ((h->lk + a->tile_n - 1) / a->tile_n);
    unsigned used = 0, routes = 0;
    char message[128];
    double *v = buffer(p, h->lk * a->d);
    for (size_t i = 0; i < tiles; i++)
        used |= 1u << h->emulated_scores.routes[i];
    for (unsigned r = 0; v && r < MXV_ROUTE_SKIP; r++) {
        if (!(used >> r & 1) && !(r + 1 == MXV_ROUTE_SKIP && routes == 0))
            continue;
        double *q = buffer(p, h->lq * a->d), *k = buffer(p, h->lk * a->d);
        if (!q || !k)
            return MXV_TRUTH_NO_MEMORY;
        int status =
            !(used >> r & 1)
                ? MXV_HEAD_OK
                : mxv_engine_operands(a, h->sequence, h->head, (enum mxv_route)r, q, k, v,
                                      &p->exact.scale, &p->exact.base, message, sizeof message);
        if (status != MXV_HEAD_OK)
            return status == MXV_HEAD_NO_MEMORY ? MXV_TRUTH_NO_MEMORY : MXV_TRUTH_BAD_ARGUMENT;
        if (!(used >> r & 1)) // no tile at all: any operands do
            for (size_t i = 0; i < h->lq * a->d || i < h->lk * a->d; i++) {
                if (i < h->lq * a->d)
                    q[i] = 0;
                if (i < h->lk * a->d)
                    k[i] = v[i] = 0;
            }
        p->exact.q[routes] = q;
        p->exact.k[routes] = k;
        p->index_of_route[r] = routes++;
    }
    p->exact.v = v;
    p->exact.routes = routes;
    p->exact.route = problem_route;
    p->log2_unit = p->exact.scale * (p->exact.base == 2 ? 1 : 1.4426950408889634);
    return v ? MXV_TRUTH_OK : MXV_TRUTH_NO_MEMORY;
}
