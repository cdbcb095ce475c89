// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda_bench [--quantisers | --attention]: times the kernels on random data: 32 heads, d = 128,
// 8,192 and 16,384 tokens, causal and not, operands prepared beforehand, and the block quantisers
// (bench_quantisers.c). Events around each launch, half a second of rest before a series (the chip
// runs into its power limit within a tenth), 3 warm-up launches, median of 15; two input sets in
// turn. TFLOP/s counts 4 d operations a score, half of the scores under a causal mask.
// gpu/bench/compare.py times PyTorch on the same shapes in the same way. Exit status: 0, or 3
// without a device.
#include "bench_quantisers.h"
#include "cuda_memory.h"
#include "operands.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 32, D = 128, TOKENS = 16384, SETS = 2, REPEATS = 15, WARM_UP = 3 };

static struct cuda_run run;
static char message[512];
static const int32_t *zeros; // on the device: everything is sequence 0

static void checked(int error, const char *what)
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
    checked(0, "input");
    checked(mxv_gpu_cast(&rows, tensor), "cast");
    checked((int)cudaDeviceSynchronize(), "cast");
    return tensor;
}

// Median milliseconds of launch(ctx, set).
static float median_ms(int (*launch)(void *ctx, int set), void *ctx)
{
    float ms[REPEATS];
    cudaEvent_t start, end;
    checked((int)cudaEventCreate(&start), "event");
    checked((int)cudaEventCreate(&end), "event");
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    for (int i = 0; i < WARM_UP; i++)
        checked(launch(ctx, i % SETS), "launch");
    for (int i = 0; i < REPEATS; i++) {
        checked((int)cudaEventRecord(start, 0), "event");
        checked(launch(ctx, i % SETS), "launch");
        checked((int)cudaEventRecord(end, 0), "event");
        checked((int)cudaEventSynchronize(end), "kernel");
        checked((int)cudaEventElapsedTime(&ms[i], start, end), "event");
    }
    qsort(ms, REPEATS, sizeof ms[0], bench_by_value);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return ms[REPEATS / 2];
}

struct inputs { // of a set, for the longest sequence; shorter ones use the beginning
    const void *q, *k, *v;
};

struct bench {
    struct inputs in[SETS];
    struct mxv_gpu_flash flash[SETS];
    struct mxv_gpu_dma dma[SETS], rebased[SETS], e4m3[SETS]; // e4m3: rebased, V in E4M3
    struct mxv_gpu_dma_side q_side[SETS], k_side[SETS];      // of rebased
    struct mxv_gpu_tilemix tilemix[SETS], wide[SETS];        // key tiles of 64 and of 128 keys
    struct mxv_gpu_rows q[SETS], k[SETS];
    uint8_t *codes, *scales;
    uint32_t *work, *words; // of row scales; the route words
};

static int launch_flash(void *ctx, int set)
{
    return mxv_gpu_flash(&((struct bench *)ctx)->flash[set], false);
}

static int launch_dma(void *ctx, int set)
{
    return mxv_gpu_dma(&((struct bench *)ctx)->dma[set], false);
}

static int prepare_rebased(const struct bench *b, int set)
{
    return mxv_gpu_prepare_dma(&b->q_side[set], &b->k_side[set], MXV_GPU_RULE_FLOOR);
}

static int launch_rebased(void *ctx, int set)
{
    return mxv_gpu_dma(&((struct bench *)ctx)->rebased[set], false);
}

static int launch_e4m3(void *ctx, int set)
{
    return mxv_gpu_dma(&((struct bench *)ctx)->e4m3[set], false);
}

static int launch_prepared_rebased(void *ctx, int set)
{
    const int error = prepare_rebased(ctx, set);
    return error ? error : launch_rebased(ctx, set);
}

static int launch_tilemix(void *ctx, int set)
{
    return mxv_gpu_tilemix(&((struct bench *)ctx)->tilemix[set], false);
}

static int launch_wide(void *ctx, int set)
{
    return mxv_gpu_tilemix(&((struct bench *)ctx)->wide[set], false);
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
    checked(0, "memory");
    checked(mxv_gpu_row_scales(rows, MXV_GPU_PER_TILE, tile, 127, 0, b->work, scales), "scales");
    checked(mxv_gpu_quantise_int8(rows, scales, false, codes), "codes");
    *scale = scales;
    return codes;
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
    const int tiles = n / 128;
    struct mxv_gpu_block *blocks = malloc((size_t)tiles * sizeof *blocks);
    for (int i = 0; blocks && i < tiles; i++) // the longest rows first
        blocks[i] = (struct mxv_gpu_block){0, tiles - 1 - i, tiles - 1 - i, (tiles - 1 - i) * 128};
    c.blocks = cuda_send(&run, blocks, (size_t)tiles * sizeof *blocks);
    c.block_count = tiles;
    free(blocks);
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
static struct mxv_gpu_dma_side side_of(const struct bench *b, const struct mxv_gpu_rows *rows,
                                       float factor, int tile, const void *high)
{
    struct mxv_gpu_dma_side s = {.rows = *rows,
                                 .pieces = b->rebased[0].call.blocks,
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
    b->q_side[i] = side_of(b, &b->q[i], p->call.c, 0, p->q_high);
    b->k_side[i] = side_of(b, &b->k[i], 1, 128, p->k_high);
    p->q_low = b->q_side[i].low;
    p->k_low = b->k_side[i].low;
    p->q_factor = b->q_side[i].factor;
    p->k_factor = b->k_side[i].factor;
}

// V in E4M3, its weights up to 2^8: offset 4 and rescaling put off by up to 4.
static void fill_e4m3(struct bench *b, int i, struct mxv_gpu_rows v)
{
    const size_t rows = (size_t)HEADS * (size_t)v.tokens;
    float *scale = cuda_allocate(&run, rows * sizeof *scale);
    uint8_t *places = cuda_allocate(&run, rows * D);
    struct mxv_gpu_dma *p = &b->e4m3[i];
    checked(0, "memory");
    checked(mxv_gpu_row_scales(&v, MXV_GPU_PER_SEQUENCE, 1, 448, 1, b->work, scale), "scales");
    checked(mxv_gpu_values_e4m3(&v, scale, zeros, v.tokens, b->codes, places), "values");
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
    checked(0, "memory");
    checked(quantise_dma(b, i), "quantise");
    checked(prepare_rebased(b, i), "prepare");
    fill_e4m3(b, i, rows_of(in->v, n, cu));
}

static void fill(struct bench *b, int n, bool causal)
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
    checked(0, "memory");
    checked((int)cudaMemset(zero, 0, elements / D * sizeof *zero), "memset");
    zeros = zero;
    for (int i = 0; i < SETS; i++) {
        b->in[i].q = random_tensor(elements, (uint64_t)(10 * i + 1));
        b->in[i].k = random_tensor(elements, (uint64_t)(10 * i + 2));
        b->in[i].v = random_tensor(elements, (uint64_t)(10 * i + 3));
    }
    const int32_t *cu = cuda_send(&run, starts, sizeof starts);
    for (int i = 0; i < SETS; i++)
        fill_set(b, i, n, causal, cu);
    checked((int)cudaDeviceSynchronize(), "operands");
}

static void print_rate(const char *name, int n, bool causal, float ms)
{
    const double operations = 4.0 * HEADS * D * (double)n * n * (causal ? 0.5 : 1);
    printf("%-28s %6d tokens %-6s %9.3f ms %7.1f TFLOP/s\n", name, n, causal ? "causal" : "full",
           (double)ms, operations / (double)ms * 1e-9);
    fflush(stdout);
}

static void set_plan(struct bench *b, int n, int byte)
{
    checked((int)cudaMemset(b->words, byte, (size_t)HEADS * (size_t)n / 128 * 32), "memset");
}

static void set_lazy(struct bench *b, float tau)
{
    for (int i = 0; i < SETS; i++) {
        b->flash[i].call.tau = b->rebased[i].call.tau = b->wide[i].call.tau = tau;
        b->wide[i].fold = tau > 0;
    }
}

static void attention_rates(struct bench *b, int n, bool causal)
{
    fill(b, n, causal);
    print_rate("flash f16", n, causal, median_ms(launch_flash, b));
    print_rate("dma D=s=1, decoded", n, causal, median_ms(launch_dma, b));
    print_rate("dma rebase", n, causal, median_ms(launch_rebased, b));
    set_plan(b, n, 0);
    print_rate("tilemix INT8, 128x64", n, causal, median_ms(launch_tilemix, b));
    print_rate("tilemix INT8, 128x128", n, causal, median_ms(launch_wide, b));
    set_plan(b, n, 0x55);
    print_rate("tilemix 50%, 128x128", n, causal, median_ms(launch_wide, b));
    set_lazy(b, 8);
    print_rate("flash f16, tau=8", n, causal, median_ms(launch_flash, b));
    print_rate("dma rebase tau=8", n, causal, median_ms(launch_rebased, b));
    print_rate("dma rebase tau=8, quantising", n, causal, median_ms(launch_prepared_rebased, b));
    print_rate("dma rebase v=e4m3 poff=tau=4", n, causal, median_ms(launch_e4m3, b));
    set_plan(b, n, 0);
    print_rate("tilemix INT8, fold tau=8", n, causal, median_ms(launch_wide, b));
    set_plan(b, n, 0x55);
    print_rate("tilemix 50%, fold tau=8", n, causal, median_ms(launch_wide, b));
    set_lazy(b, 0);
}

int main(int argc, char **argv)
{
    static struct bench b;
    const bool quantisers_alone = argc == 2 && strcmp(argv[1], "--quantisers") == 0;
    const bool attention_alone = argc == 2 && strcmp(argv[1], "--attention") == 0;
    char text[256];
    run = (struct cuda_run){.message = message, .size = sizeof message};
    if (argc > 1 && !quantisers_alone && !attention_alone) {
        fprintf(stderr, "usage: cuda_bench [--quantisers | --attention]\n");
        return 3;
    }
    if (mxv_cuda_device(text, sizeof text)) {
        fprintf(stderr, "cuda_bench: %s\n", text);
        return 3;
    }
    printf("device: %s\n", text);
    for (int n = 8192; n <= TOKENS && !quantisers_alone; n *= 2)
        for (int causal = 0; causal < 2; causal++)
            attention_rates(&b, n, causal);
    if (!attention_alone)
        bench_quantisers();
    return 0;
}
