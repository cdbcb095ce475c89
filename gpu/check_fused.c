// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See check_blocks.h. dma as one kernel with its quantisers against the kernels one by one: those
// of mxv_gpu_prepare_dma, which check_prepare compares with formats/, and of mxv_gpu_dma, which
// gpu/cuda_verify compares with the emulation. Each call runs three times, twice without a pause,
// on the state that the one before left, over poisoned copies and outputs; copies, outputs and LSE
// have equal bytes, and the state counts the launches.
#include "check_blocks.h"
#include "check_tensor.h"
#include "launch_sm90.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILE = 128, SEQUENCES_MAX = 3, BLOCKS_MAX = 64, RUNS = 3, POISON = 0xA5 };

struct shape {
    int heads_q, heads_kv, d, sequences, tile_m, left, right;
    bool all_low, bf16_values;
    bool other_order; // keys from the last tile on, diagonal from the top left
    enum mxv_gpu_scale_rule rule;
    int queries[SEQUENCES_MAX], keys[SEQUENCES_MAX];
};

static const struct shape shapes[] = {
    {2, 2, 128, 1, 128, -1, 0, false, false, true, MXV_GPU_RULE_FLOOR, {1024}, {1024}},
    {4, 2, 64, 1, 128, -1, -1, false, true, true, MXV_GPU_RULE_RCEIL, {700}, {1001}},
    {6,
     2,
     128,
     3,
     256,
     -1,
     0,
     false,
     false,
     false,
     MXV_GPU_RULE_EVEN,
     {300, 1, 129},
     {300, 255, 640}},
    {3, 3, 128, 2, 128, 200, 40, false, true, false, MXV_GPU_RULE_CEIL_LIBM, {513, 127}, {600, 64}},
    {8, 1, 64, 2, 128, -1, 0, true, false, false, MXV_GPU_RULE_NEAR_SQRT2, {0, 515}, {33, 515}},
    {40, 20, 128, 1, 128, -1, 0, false, false, false, MXV_GPU_RULE_FLOOR, {2048}, {2048}},
    {64, 64, 64, 1, 128, -1, -1, false, false, false, MXV_GPU_RULE_CEIL, {1}, {1300}},
    {2, 1, 128, 2, 128, -1, -1, false, false, false, MXV_GPU_RULE_FLOOR, {0, 0}, {300, 40}},
    {1, 1, 128, 1, 128, -1, -1, false, false, false, MXV_GPU_RULE_FLOOR, {1}, {7000}},
};

// What is compared: copies and powers of two of both sides, outputs, LSE.
struct bytes {
    void *device;
    size_t size;
    const char *what;
};
enum { RESULTS = 8 };

// Even seeds: any words, whose NaN and Inf reach most outputs. Odd ones: numbers of magnitude 2^-5
// to 2, which reach none.
static uint16_t drawn_word(enum mxv_gpu_type type, size_t i, uint64_t seed)
{
    const uint32_t word = check_drawn_word(type, i / 32, i % 32, seed);
    const uint32_t frac = type == MXV_GPU_F16 ? 10 : 7, bias = type == MXV_GPU_F16 ? 15 : 127;
    const uint32_t exponent = bias - 5 + (word >> frac) % 6;
    return (uint16_t)(seed % 2 == 0 ? word
                                    : (word & (0x8000u | ((1u << frac) - 1))) | exponent << frac);
}

static void *drawn(size_t n, uint64_t seed, enum mxv_gpu_type type)
{
    uint16_t *words = check_memory(n * sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = drawn_word(type, i, seed);
    void *sent = cuda_send(&check_run, words, n * sizeof *words);
    free(words);
    return sent;
}

static const int32_t *send_starts(const int *lengths, int sequences, int32_t *total)
{
    int32_t starts[SEQUENCES_MAX + 1] = {0};
    for (int i = 0; i < sequences; i++)
        starts[i + 1] = starts[i] + lengths[i];
    *total = starts[sequences];
    return cuda_send(&check_run, starts, sizeof starts);
}

static const struct mxv_gpu_block *send_pieces(const int *lengths, int sequences, int tile_m,
                                               int32_t *count)
{
    struct mxv_gpu_block pieces[BLOCKS_MAX];
    int32_t n = 0, tiles = 0;
    for (int32_t s = 0; s < sequences; s++) {
        for (int32_t row = 0; row < lengths[s]; row += TILE)
            pieces[n++] = (struct mxv_gpu_block){s, row / tile_m, tiles + row / tile_m, row};
        tiles += (lengths[s] + tile_m - 1) / tile_m;
    }
    *count = n;
    return cuda_send(&check_run, pieces, ((size_t)n + 1) * sizeof pieces[0]);
}

static struct mxv_gpu_dma_side side_of(const struct mxv_gpu_call *c, const struct shape *s,
                                       bool key, const struct mxv_gpu_block *pieces, int32_t count,
                                       uint64_t seed)
{
    const int32_t heads = key ? c->heads_kv : c->heads_q, tokens = key ? c->tokens_k : c->tokens_q;
    const size_t rows = (size_t)heads * (size_t)tokens, n = rows * (size_t)c->d;
    return (struct mxv_gpu_dma_side){.rows = {.data = drawn(n, seed, MXV_GPU_F16),
                                              .type = MXV_GPU_F16,
                                              .cast = MXV_GPU_F16,
                                              .heads = heads,
                                              .tokens = tokens,
                                              .d = c->d,
                                              .sequences = s->sequences,
                                              .cu = key ? c->cu_k : c->cu_q,
                                              .scaled = !key,
                                              .factor = c->c,
                                              .channel_group = 1},
                                     .pieces = pieces,
                                     .piece_count = count,
                                     .tile = key ? TILE : 0,
                                     .high = s->all_low ? NULL : cuda_allocate(&check_run, n * 2),
                                     .low = cuda_allocate(&check_run, n),
                                     .factor = cuda_allocate(&check_run, rows * sizeof(float))};
}

static void make_call(const struct shape *s, uint64_t seed, struct mxv_gpu_dma_fused *f)
{
    struct mxv_gpu_call *c = &f->dma.call;
    int32_t keys;
    *c = (struct mxv_gpu_call){.heads_q = s->heads_q,
                               .heads_kv = s->heads_kv,
                               .d = s->d,
                               .tile_m = s->tile_m,
                               .tile_n = TILE,
                               .left = s->left,
                               .right = s->right,
                               .top_left = s->other_order,
                               .descending = s->other_order,
                               .c = 0.1275174f,
                               .tau = seed % 4 < 2 ? 8 : 0,
                               .v_type = s->bf16_values ? MXV_GPU_BF16 : MXV_GPU_F16,
                               .out_type = MXV_GPU_F32};
    c->cu_q = send_starts(s->queries, s->sequences, &c->tokens_q);
    c->cu_k = send_starts(s->keys, s->sequences, &c->tokens_k);
    c->blocks = send_pieces(s->queries, s->sequences, s->tile_m, &c->block_count);
    const struct mxv_gpu_block *tiles = send_pieces(s->keys, s->sequences, TILE, &keys);
    const size_t rows = (size_t)s->heads_q * (size_t)c->tokens_q, d = (size_t)s->d;
    c->v = drawn((size_t)s->heads_kv * (size_t)c->tokens_k * d, seed + 200, c->v_type);
    c->out = cuda_allocate(&check_run, rows * d * sizeof(float));
    c->lse = cuda_allocate(&check_run, rows * sizeof(float));
    f->dma.all_low = s->all_low;
    f->dma.diag = f->dma.sink = 1;
    f->rule = s->rule;
    f->q = side_of(c, s, false, c->blocks, c->block_count, seed);
    f->k = side_of(c, s, true, tiles, keys, seed + 100);
    const size_t bytes = mxv_gpu_fused_words(c, s->sequences) * sizeof *f->state;
    f->state = cuda_allocate(&check_run, bytes);
    check_call(0, "operands");
    check_call((int)cudaMemset(f->state, 0, bytes), "memset");
}

static void list_results(const struct mxv_gpu_dma_fused *f, struct bytes results[RESULTS])
{
    const struct mxv_gpu_call *c = &f->dma.call;
    const size_t d = (size_t)c->d, rows = (size_t)c->heads_q * (size_t)c->tokens_q;
    const size_t keys = (size_t)c->heads_kv * (size_t)c->tokens_k;
    const struct bytes all[RESULTS] = {{f->q.high, f->q.high ? rows * d * 2 : 0, "high copy of q"},
                                       {f->q.low, rows * d, "low copy of q"},
                                       {f->q.factor, rows * 4, "powers of two of q"},
                                       {f->k.high, f->k.high ? keys * d * 2 : 0, "high copy of k"},
                                       {f->k.low, keys * d, "low copy of k"},
                                       {f->k.factor, keys * 4, "powers of two of k"},
                                       {c->out, rows * d * 4, "outputs"},
                                       {c->lse, rows * 4, "LSE"}};
    for (int i = 0; i < RESULTS; i++)
        results[i] = all[i];
}

static int run_one_by_one(const struct mxv_gpu_dma_fused *f)
{
    struct mxv_gpu_dma p = f->dma;
    p.q_high = f->q.high;
    p.k_high = f->k.high;
    p.q_low = f->q.low;
    p.k_low = f->k.low;
    p.q_factor = f->q.factor;
    p.k_factor = f->k.factor;
    const int error = mxv_gpu_prepare_dma(&f->q, &f->k, f->rule);
    return error ? error : mxv_gpu_dma(&p, false);
}

static uint64_t unlike(const uint8_t *want, const struct bytes *b, const char *shape)
{
    const uint8_t *found = cuda_fetch(&check_run, b->device, b->size);
    uint64_t bad = 0;
    check_call(0, "results");
    for (size_t i = 0; i < b->size; i++)
        if (found[i] != want[i] && bad++ == 0)
            printf("%s, %s, byte %zu: one kernel %02x, one by one %02x\n", shape, b->what, i,
                   found[i], want[i]);
    free((void *)(uintptr_t)found);
    return bad;
}

// Whether the state counts `launches` and no part of a launch that goes on.
static bool counted(const struct mxv_gpu_dma_fused *f, uint32_t launches)
{
    uint32_t *state = cuda_fetch(&check_run, f->state, 2 * sizeof *state);
    check_call(0, "state");
    const bool good = state[0] == 0 && state[1] == (f->dma.call.block_count ? launches : 0);
    free(state);
    return good;
}

static void check_shape(const struct shape *s, uint64_t seed, check_report *report)
{
    struct mxv_gpu_dma_fused f = {0};
    struct bytes results[RESULTS];
    uint8_t *want[RESULTS];
    char text[128];
    uint64_t bad = 0, compared = 0;
    cuda_memory_reset();
    make_call(s, seed, &f);
    list_results(&f, results);
    snprintf(text, sizeof text, "dma as one kernel, %d/%d heads of %d x %d, d = %d", s->heads_q,
             s->heads_kv, f.dma.call.tokens_q, f.dma.call.tokens_k, s->d);
    check_call(run_one_by_one(&f), "one by one");
    for (int i = 0; i < RESULTS; i++)
        want[i] = cuda_fetch(&check_run, results[i].device, results[i].size);
    check_call(0, "results");
    for (int n = 0; n < RUNS; n++) {
        for (int i = 0; i < RESULTS; i++)
            if (results[i].size)
                check_call((int)cudaMemset(results[i].device, POISON, results[i].size), "poison");
        for (int again = 0; again < 2; again++)
            check_call(mxv_gpu_dma_fused(&f), "one kernel");
        check_call((int)cudaDeviceSynchronize(), "one kernel");
        bad += !counted(&f, 2 * (uint32_t)n + 2);
        for (int i = 0; i < RESULTS; i++) {
            bad += unlike(want[i], &results[i], text);
            compared += results[i].size;
        }
    }
    for (int i = 0; i < RESULTS; i++)
        free(want[i]);
    report(text, compared, bad);
}

void check_fused(uint64_t seed, check_report *report)
{
    const struct mxv_gpu_call any = {.d = 64, .tile_n = TILE, .tokens_k = 1};
    if (!mxv_gpu_takes_wgmma(&any)) {
        printf("dma as one kernel: skipped, not offered on this device\n");
        return;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint64_t draw = 0; draw < 2; draw++)
            check_shape(&shapes[i], seed * 131 + i * 2 + draw, report);
}
