// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See bench_calls.h.
#include "bench_calls.h"
#include "bench_quantisers.h"
#include "cuda_memory.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

static char message[512];
static struct cuda_run run = {.message = message, .size = sizeof message};
static const int32_t *zeros; // on the device: everything is sequence 0

void bench_checked(int error, const char *what)
{
    if (cuda_failed(&run, error, what) || run.failed) {
        fprintf(stderr, "cuda_bench: %s\n", message);
        exit(3);
    }
}

// A tensor of binary16 numbers close to standard normal: sums of eight random bytes.
static const void *random_tensor(size_t n, uint64_t seed)
{
    float *host = malloc(n * sizeof *host);
    if (!host)
        exit(3);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        uint64_t r = bench_mix(seed * UINT64_C(1000003) + i);
        unsigned sum = 0;
        for (int k = 0; k < 8; k++, r >>= 8)
            sum += (unsigned)(r & 255);
        host[i] = ((float)sum - 1020.0f) / 209.0f;
    }
    const struct mxv_gpu_rows rows = {.data = cuda_send(&run, host, n * sizeof *host),
                                      .type = MXV_GPU_F32,
                                      .cast = MXV_GPU_F16,
                                      .heads = 1,
                                      .tokens = (int32_t)(n / D),
                                      .d = D,
                                      .sequences = 1,
                                      .cu = zeros,
                                      .sequence_of = zeros,
                                      .channel_group = 1};
    void *tensor = cuda_allocate(&run, n * 2);
    free(host);
    bench_checked(0, "input");
    bench_checked(mxv_gpu_cast(&rows, tensor), "cast");
    bench_checked((int)cudaDeviceSynchronize(), "cast");
    return tensor;
}

int bench_prepare(const struct bench *b, int set)
{
    return mxv_gpu_prepare_dma(&b->q_side[set], &b->k_side[set], MXV_GPU_RULE_FLOOR);
}

// Quantises one side to MXFP8 and MXFP4 and decodes it into the buffers that the kernel reads.
static int quantise_side(const struct bench *b, struct mxv_gpu_rows rows, float factor,
                         const void *high, const void *low)
{
    const size_t n = (size_t)rows.heads * (size_t)rows.tokens * (size_t)rows.d;
    rows.scaled = factor != 1;
    rows.factor = factor;
    int error = 0;
    for (int pass = 0; pass < 2 && error == 0; pass++) {
        const enum mxv_gpu_block_format format = pass ? MXV_GPU_MXFP4 : MXV_GPU_MXFP8_E4M3;
        error = mxv_gpu_quantise(&rows, format, MXV_GPU_RULE_FLOOR, b->codes, b->scales);
        if (error == 0)
            error = mxv_gpu_decode(format, b->codes, b->scales, n,
                                   (uint16_t *)(uintptr_t)(pass ? low : high));
    }
    return error;
}

static int quantise_dma(const struct bench *b, int set)
{
    const struct mxv_gpu_dma *p = &b->dma[set];
    const int error = quantise_side(b, b->q[set], p->call.c, p->q_high, p->q_low);
    return error ? error : quantise_side(b, b->k[set], 1, p->k_high, p->k_low);
}

// INT8 codes and scales of one side, a scale for `tile` rows.
static const int8_t *quantise_int8(struct bench *b, const struct mxv_gpu_rows *rows, int tile,
                                   const float **scale)
{
    int8_t *codes = cuda_allocate(&run, (size_t)HEADS * TOKENS * D);
    float *scales = cuda_allocate(&run, (size_t)HEADS * TOKENS * sizeof *scales);
    bench_checked(0, "memory");
    bench_checked(mxv_gpu_row_scales(rows, MXV_GPU_PER_TILE, tile, 127, 0, b->work, scales),
                  "scales");
    bench_checked(mxv_gpu_quantise_int8(rows, scales, false, codes), "codes");
    *scale = scales;
    return codes;
}

static const struct mxv_gpu_block *send_blocks(int tiles, bool last_first)
{
    struct mxv_gpu_block *blocks = malloc((size_t)tiles * sizeof *blocks);
    for (int i = 0; blocks && i < tiles; i++) {
        const int tile = last_first ? tiles - 1 - i : i;
        blocks[i] = (struct mxv_gpu_block){0, tile, tile, tile * 128};
    }
    const struct mxv_gpu_block *sent = cuda_send(&run, blocks, (size_t)tiles * sizeof *blocks);
    free(blocks);
    return sent;
}

static struct mxv_gpu_call call_of(int n, bool causal, int tile_n, const int32_t *cu)
{
    struct mxv_gpu_call c = {.heads_q = HEADS,
                             .heads_kv = HEADS,
                             .d = D,
                             .tokens_q = n,
                             .tokens_k = n,
                             .cu_q = cu,
                             .cu_k = cu,
                             .tile_m = 128,
                             .tile_n = tile_n,
                             .left = -1,
                             .right = causal ? 0 : -1,
                             .c = 0.1275174f,
                             .v_type = MXV_GPU_F16,
                             .out_type = MXV_GPU_F16};
    c.blocks = send_blocks(n / 128, true); // the longest rows first
    c.block_count = n / 128;
    return c;
}

static struct mxv_gpu_rows rows_of(const void *data, int n, const int32_t *cu)
{
    return (struct mxv_gpu_rows){.data = data,
                                 .type = MXV_GPU_F16,
                                 .cast = MXV_GPU_F16,
                                 .heads = HEADS,
                                 .tokens = n,
                                 .d = D,
                                 .sequences = 1,
                                 .cu = cu,
                                 .sequence_of = zeros,
                                 .channel_group = 1};
}

// A side of rebase=1, which shares the high copy with `dma` (the same bits).
static struct mxv_gpu_dma_side side_of(const struct bench *b, int i,
                                       const struct mxv_gpu_rows *rows, float factor, int tile,
                                       const void *high)
{
    struct mxv_gpu_dma_side s = {.rows = *rows,
                                 .pieces = tile ? send_blocks(rows->tokens / 128, false)
                                                : b->rebased[i].call.blocks,
                                 .piece_count = rows->tokens / 128,
                                 .tile = tile,
                                 .high = (uint16_t *)(uintptr_t)high,
                                 .low = cuda_allocate(&run, (size_t)HEADS * TOKENS * D),
                                 .factor = cuda_allocate(&run, (size_t)HEADS * TOKENS * 4)};
    s.rows.scaled = factor != 1;
    s.rows.factor = factor;
    return s;
}

static void fill_rebased(struct bench *b, int i)
{
    struct mxv_gpu_dma *p = &b->rebased[i];
    *p = b->dma[i];
    b->q_side[i] = side_of(b, i, &b->q[i], p->call.c, 0, p->q_high);
    b->k_side[i] = side_of(b, i, &b->k[i], 1, 128, p->k_high);
    p->q_low = b->q_side[i].low;
    p->k_low = b->k_side[i].low;
    p->q_factor = b->q_side[i].factor;
    p->k_factor = b->k_side[i].factor;
    const size_t bytes = mxv_gpu_fused_words(&p->call, 1) * sizeof *b->fused_state[i];
    b->fused_state[i] = cuda_allocate(&run, bytes);
    bench_checked(0, "memory");
    bench_checked((int)cudaMemset(b->fused_state[i], 0, bytes), "memset");
}

// V in E4M3, its weights up to 2^8: offset 4 and rescaling put off by up to 4.
static void fill_e4m3(struct bench *b, int i, struct mxv_gpu_rows v)
{
    const size_t rows = (size_t)HEADS * (size_t)v.tokens;
    float *scale = cuda_allocate(&run, rows * sizeof *scale);
    uint8_t *places = cuda_allocate(&run, rows * D);
    struct mxv_gpu_dma *p = &b->e4m3[i];
    bench_checked(0, "memory");
    bench_checked(mxv_gpu_row_scales(&v, MXV_GPU_PER_SEQUENCE, 1, 448, 1, b->work, scale),
                  "scales");
    bench_checked(mxv_gpu_values_e4m3(&v, scale, zeros, v.tokens, b->codes, places), "values");
    *p = b->rebased[i];
    p->call.v_type = MXV_GPU_E4M3;
    p->call.v = places;
    p->call.v_first = zeros;
    p->call.v_places = v.tokens;
    p->call.v_scale = scale;
    p->call.offset = p->call.tau = 4;
}

static void fill_set(struct bench *b, int i, int n, bool causal, const int32_t *cu)
{
    const size_t bytes = (size_t)HEADS * TOKENS * D * 2; // the same slabs for every n
    const struct inputs *in = &b->in[i];
    struct mxv_gpu_call call = call_of(n, causal, 128, cu), narrow = call_of(n, causal, 64, cu);
    call.v = narrow.v = in->v;
    call.out = narrow.out = cuda_allocate(&run, bytes);
    b->q[i] = rows_of(in->q, n, cu);
    b->k[i] = rows_of(in->k, n, cu);
    b->flash[i] = (struct mxv_gpu_flash){.call = call, .q = in->q, .k = in->k};
    b->dma[i] = (struct mxv_gpu_dma){.call = call,
                                     .q_high = cuda_allocate(&run, bytes),
                                     .k_high = cuda_allocate(&run, bytes),
                                     .q_low = cuda_allocate(&run, bytes),
                                     .k_low = cuda_allocate(&run, bytes),
                                     .diag = 1,
                                     .sink = 1};
    fill_rebased(b, i);
    struct mxv_gpu_tilemix t = {.call = narrow,
                                .q = in->q,
                                .k = in->k,
                                .words = b->words,
                                .words_per_row = 8,
                                .word_bits = 32,
                                .query_tiles = n / 128,
                                .group = 1,
                                .k_scale_per_tile = true};
    t.q_int8 = quantise_int8(b, &b->q[i], 128, &t.q_scale);
    b->tilemix[i] = b->wide[i] = t;
    b->tilemix[i].k_int8 = quantise_int8(b, &b->k[i], 64, &b->tilemix[i].k_scale);
    b->wide[i].k_int8 = quantise_int8(b, &b->k[i], 128, &b->wide[i].k_scale);
    b->wide[i].call = call;
    bench_checked(0, "memory");
    bench_checked(quantise_dma(b, i), "quantise");
    bench_checked(bench_prepare(b, i), "prepare");
    fill_e4m3(b, i, rows_of(in->v, n, cu));
}

void bench_fill(struct bench *b, int n, bool causal)
{
    const size_t elements = (size_t)HEADS * (size_t)TOKENS * D;
    const int32_t starts[2] = {0, n};
    int32_t *zero;
    cuda_memory_reset();
    zero = cuda_allocate(&run, elements / D * sizeof *zero);
    b->codes = cuda_allocate(&run, elements);
    b->scales = cuda_allocate(&run, elements / 16);
    b->work = cuda_allocate(&run, elements / D * sizeof *b->work);
    b->words = cuda_allocate(&run, (size_t)HEADS * TOKENS / 128 * 8 * sizeof *b->words);
    bench_checked(0, "memory");
    bench_checked((int)cudaMemset(zero, 0, elements / D * sizeof *zero), "memset");
    zeros = zero;
    for (int i = 0; i < SETS; i++) {
        b->in[i].q = random_tensor(elements, (uint64_t)(10 * i + 1));
        b->in[i].k = random_tensor(elements, (uint64_t)(10 * i + 2));
        b->in[i].v = random_tensor(elements, (uint64_t)(10 * i + 3));
    }
    const int32_t *cu = cuda_send(&run, starts, sizeof starts);
    for (int i = 0; i < SETS; i++)
        fill_set(b, i, n, causal, cu);
    bench_checked((int)cudaDeviceSynchronize(), "operands");
}
