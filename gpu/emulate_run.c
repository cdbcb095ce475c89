// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See emulate_run.h. Operands once for the call, then batches of query tiles that fit the work
// space: score tiles route by route, softmax, values (emulate.h). Which keys a row sees and which
// route a tile takes is asked of ref/attention_plan.c on the host, tile by tile.
// gpu/emulate_verify compares every operand, tap and output with the CPU's emulation.
#include "emulate_run.h"
#include "emulate_state.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t work_bytes = (size_t)6 << 30; // of a batch's score tiles and weights

// Query tiles of a batch and the score tiles of each route.
struct batch {
    struct mxv_emulate_item *items;
    struct mxv_emulate_pair *pairs[MXV_ROUTE_COUNT];
    size_t slots, count, pair_count[MXV_ROUTE_COUNT];
};

int mxv_emulate_supports(const struct mxv_attention *a, char *message, size_t size)
{
    const char *why = NULL;
    if (mxv_attention_check(a, message, size))
        return -1;
    if (a->kernel == MXV_KERNEL_DMA_RELEASED)
        why = "gpu-emulation offers flash, dma and tilemix";
    else if (a->faults)
        why = "gpu-emulation has no faults";
    if (why && size)
        snprintf(message, size, "%s", why);
    return why ? -1 : 0;
}

static void fill_call(struct emulation *e)
{
    const struct mxv_attention *a = e->s.a;
    e->call = (struct mxv_emulate_call){
        .d = (int32_t)a->d,
        .tile_m = (int32_t)a->tile_m,
        .tile_n = (int32_t)a->tile_n,
        .key_tiles = (int32_t)e->key_tiles,
        .tokens_q = (int32_t)a->cu_q[a->sequences],
        .tokens_k = (int32_t)a->cu_k[a->sequences],
        .left = a->left,
        .right = a->mask == MXV_MASK_CAUSAL ? 0 : a->right,
        .descending = a->order == MXV_ORDER_DESC,
        .log2 = a->kernel == MXV_KERNEL_DMA,
        .finite = a->masked == MXV_MASKED_FINITE,
        .empty_nan = a->empty == MXV_EMPTY_NAN,
        .lse_natural = a->lse == MXV_LSE_E,
        .pair_lanes = a->arch == MXV_ARCH_SM_100,
        .exp = a->exp,
        .c = (float)(a->scale * 1.4426950408889634),
        .tau = a->tau,
        .offset = a->p_offset,
        .v_type = a->vt,
        .out_type = a->out == MXV_F32   ? MXV_GPU_F32
                    : a->out == MXV_F16 ? MXV_GPU_F16
                                        : MXV_GPU_BF16,
    };
}

static size_t longest_keys(const struct mxv_attention *a)
{
    size_t lk = 0;
    for (size_t i = 0; i < a->sequences; i++)
        lk = a->cu_k[i + 1] - a->cu_k[i] > lk ? a->cu_k[i + 1] - a->cu_k[i] : lk;
    return lk;
}

static void allocate_work(struct emulation *e, size_t slots)
{
    const struct mxv_attention *a = e->s.a;
    struct mxv_emulate_call *c = &e->call;
    struct cuda_run *run = &e->s.run;
    const size_t tokens = a->cu_q[a->sequences], rows = slots * e->key_tiles * a->tile_m;
    c->out = cuda_allocate(run, a->heads_q * tokens * a->d * (a->out == MXV_F32 ? 4 : 2));
    c->lse =
        a->lse == MXV_LSE_NONE ? NULL : cuda_allocate(run, a->heads_q * tokens * sizeof *c->lse);
    c->score = cuda_allocate(run, rows * a->tile_n * sizeof *c->score);
    c->folded = a->fold ? cuda_allocate(run, rows * a->tile_n * sizeof *c->folded) : NULL;
    c->factor = a->fold ? cuda_allocate(run, rows * a->tile_n * sizeof *c->factor) : NULL;
    c->weight = cuda_allocate(run, rows * a->tile_n * sizeof *c->weight);
    c->alpha = cuda_allocate(run, rows * sizeof *c->alpha);
    c->total = cuda_allocate(run, slots * a->tile_m * sizeof *c->total);
    if (e->s.taps) {
        c->max = cuda_allocate(run, rows * sizeof *c->max);
        c->sum = cuda_allocate(run, rows * sizeof *c->sum);
        c->acc = cuda_allocate(run, rows * a->d * sizeof *c->acc);
    }
}

// Notes the score tiles of an item by route and the interval of its processed key tiles.
static void plan_item(struct emulation *e, struct batch *b, struct mxv_emulate_item *item,
                      size_t sequence, size_t tile)
{
    const struct mxv_attention *a = e->s.a;
    const int32_t tiles = (item->lk + (int32_t)a->tile_n - 1) / (int32_t)a->tile_n;
    bool processed = false;
    for (int32_t j = 0; j < tiles; j++) {
        const enum mxv_route route =
            mxv_attention_route(a, sequence, (size_t)item->head, tile, (size_t)j);
        if (route == MXV_ROUTE_SKIP)
            continue;
        if (processed && item->end != j)
            cuda_refuse(&e->s.run, "gpu-emulation needs processed key tiles in one interval");
        item->begin = processed ? item->begin : j;
        item->end = j + 1;
        processed = true;
        b->pairs[route][b->pair_count[route]++] = (struct mxv_emulate_pair){(int32_t)b->count, j};
    }
}

static void add_item(struct emulation *e, struct batch *b, size_t head, size_t sequence,
                     size_t tile, size_t tile_index)
{
    const struct mxv_attention *a = e->s.a;
    const size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    const size_t lk = a->cu_k[sequence + 1] - a->cu_k[sequence], row = tile * a->tile_m;
    struct mxv_emulate_item *item = &b->items[b->count];
    const size_t kv_head = head / (a->heads_q / a->heads_kv);
    *item = (struct mxv_emulate_item){
        .head = (int32_t)head,
        .kv_head = (int32_t)kv_head,
        .slot = (int32_t)(e->s.taps ? head * e->query_tiles + tile_index : b->count),
        .row = (int32_t)row,
        .rows = (int32_t)(lq - row < a->tile_m ? lq - row : a->tile_m),
        .q_first = (int32_t)(a->cu_q[sequence] + row),
        .k_first = (int32_t)a->cu_k[sequence],
        .lk = (int32_t)lk,
        .diagonal = a->align == MXV_ALIGN_TOP_LEFT ? 0 : (int32_t)lk - (int32_t)lq,
        .scale = (int32_t)(kv_head * a->sequences + sequence),
    };
    plan_item(e, b, item, sequence, tile);
    b->count++;
}

static void launch_batch(struct emulation *e, const struct batch *b)
{
    struct cuda_run *run = &e->s.run;
    e->call.items = cuda_send(run, b->items, b->count * sizeof *b->items);
    e->call.item_count = (int32_t)b->count;
    for (unsigned r = 0; r < MXV_ROUTE_COUNT && !run->failed; r++) {
        struct mxv_emulate_scores p = e->route[r];
        if (b->pair_count[r] == 0)
            continue;
        p.call = e->call;
        p.pairs = cuda_send(run, b->pairs[r], b->pair_count[r] * sizeof *p.pairs);
        p.pair_count = (int32_t)b->pair_count[r];
        if (!run->failed)
            cuda_launched(&e->s, mxv_emulate_scores(&p), "score tiles");
    }
    if (!run->failed)
        cuda_launched(&e->s, mxv_emulate_softmax(&e->call), "softmax");
    if (!run->failed)
        cuda_launched(&e->s, mxv_emulate_values(&e->call), "values");
    cuda_failed(run, (int)cudaDeviceSynchronize(), "emulation");
}

static void add_to_batch(struct emulation *e, struct batch *b, size_t head, size_t sequence,
                         size_t tile, size_t tile_index)
{
    add_item(e, b, head, sequence, tile, tile_index);
    if (b->count < b->slots)
        return;
    launch_batch(e, b);
    b->count = 0;
    memset(b->pair_count, 0, sizeof b->pair_count);
}

// All query tiles, those with most keys first under a causal mask.
static void run_batches(struct emulation *e, struct batch *b)
{
    const struct mxv_attention *a = e->s.a;
    for (size_t head = 0; head < a->heads_q; head++)
        for (size_t s = 0; s < a->sequences; s++) {
            const size_t lq = a->cu_q[s + 1] - a->cu_q[s];
            const size_t first = mxv_attention_first_tile(a, s);
            for (size_t tile = (lq + a->tile_m - 1) / a->tile_m; tile-- > 0;)
                if (!e->s.run.failed)
                    add_to_batch(e, b, head, s, tile, first + tile);
        }
    if (b->count && !e->s.run.failed)
        launch_batch(e, b);
}

static void attend(struct emulation *e)
{
    const struct mxv_attention *a = e->s.a;
    const size_t tiles = a->heads_q * e->query_tiles;
    const size_t tile_bytes = e->key_tiles * a->tile_m * a->tile_n * (a->fold ? 14 : 6) + 1;
    struct batch b = {.slots = work_bytes / tile_bytes};
    b.slots = b.slots == 0 ? 1 : b.slots;
    b.slots = b.slots > tiles || e->s.taps ? tiles : b.slots;
    allocate_work(e, b.slots);
    b.items = cuda_host_memory(&e->s.run, b.slots * sizeof *b.items);
    for (unsigned r = 0; r < MXV_ROUTE_SKIP; r++)
        b.pairs[r] = cuda_host_memory(&e->s.run, b.slots * e->key_tiles * sizeof *b.pairs[r]);
    if (!e->s.run.failed)
        run_batches(e, &b);
    free(b.items);
    for (unsigned r = 0; r < MXV_ROUTE_SKIP; r++)
        free(b.pairs[r]);
}

static void fetch_results(struct emulation *e)
{
    const struct mxv_attention *a = e->s.a;
    const struct mxv_emulate_call *c = &e->call;
    struct mxv_cuda_result *out = e->s.result;
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    const size_t tile_rows = a->heads_q * e->query_tiles * e->key_tiles * a->tile_m;
    out->key_tiles = e->key_tiles;
    out->v_scale_by_sequence = true;
    out->out = cuda_fetch_words(&e->s.run, c->out, rows * a->d, a->out == MXV_F32 ? 4 : 2);
    if (c->lse)
        out->lse = cuda_fetch_words(&e->s.run, c->lse, rows, 4);
    if (!e->s.taps)
        return;
    cuda_keep(&e->s, MXV_STAGE_SCORE, 0, c->score, tile_rows * a->tile_n, 4);
    cuda_keep(&e->s, MXV_STAGE_MAX, 0, c->max, tile_rows, 4);
    cuda_keep(&e->s, MXV_STAGE_WEIGHT, 0, c->weight, tile_rows * a->tile_n, 2);
    cuda_keep(&e->s, MXV_STAGE_SUM, 0, c->sum, tile_rows, 4);
    cuda_keep(&e->s, MXV_STAGE_ACC, 0, c->acc, tile_rows * a->d, 4);
}

int mxv_emulate_run(const struct mxv_attention *a, enum mxv_cuda_build build,
                    struct mxv_cuda_result *out, char *message, size_t size)
{
    struct emulation e = {.s = {.run = {.a = a, .message = message, .size = size},
                                .a = a,
                                .result = out,
                                .taps = build == MXV_CUDA_TRACING}};
    mxv_cuda_result_free(out);
    if (mxv_emulate_supports(a, message, size))
        return -1;
    cuda_memory_reset();
    e.query_tiles = mxv_attention_first_tile(a, a->sequences);
    e.key_tiles = (longest_keys(a) + a->tile_n - 1) / a->tile_n;
    fill_call(&e);
    emulate_prepare(&e);
    if (!e.s.run.failed)
        attend(&e);
    if (!e.s.run.failed)
        fetch_results(&e);
    return cuda_status(&e.s.run);
}
