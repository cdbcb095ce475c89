// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda_bench: times the kernels on random data: 32 heads, d = 128, 8,192 and 16,384 tokens, causal
// and not, operands prepared beforehand, and the block quantisers beside a device copy. Events
// around each launch, 3 warm-up launches, median of 15; two input sets in turn. TFLOP/s counts 4 d
// operations a score, half of the scores under a causal mask. gpu/bench/compare.py times PyTorch on
// the same shapes. Exit status: 0, or 3 without a device.
#include "cuda_memory.h"
#include "operands.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 32, D = 128, SETS = 2, REPEATS = 15, WARM_UP = 3 };

static struct cuda_run run;
static char message[512];

static void checked(int error, const char *what)
{
    if (cuda_failed(&run, error, what) || run.failed) {
        fprintf(stderr, "cuda_bench: %s\n", message);
        exit(3);
    }
}

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ (z >> 31);
}

// Random 16-bit words that are numbers of magnitude 2^-4 .. 2 in binary16, and moderate in
// bfloat16.
static uint16_t *random_halves(size_t n, uint64_t seed)
{
    uint16_t *host = malloc(n * sizeof *host);
    if (!host)
        exit(3);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = mix(seed * UINT64_C(1000003) + i);
        host[i] = (uint16_t)((r & 0x83ff) | (11 + (r >> 20) % 5) << 10);
    }
    uint16_t *device = cuda_send(&run, host, n * sizeof *host);
    free(host);
    checked(0, "input");
    return device;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Median milliseconds of launch(ctx, set).
static float median_ms(int (*launch)(void *ctx, int set), void *ctx)
{
    float ms[REPEATS];
    cudaEvent_t start, end;
    checked((int)cudaEventCreate(&start), "event");
    checked((int)cudaEventCreate(&end), "event");
    for (int i = 0; i < WARM_UP; i++)
        checked(launch(ctx, i % SETS), "launch");
    for (int i = 0; i < REPEATS; i++) {
        checked((int)cudaEventRecord(start, 0), "event");
        checked(launch(ctx, i % SETS), "launch");
        checked((int)cudaEventRecord(end, 0), "event");
        checked((int)cudaEventSynchronize(end), "kernel");
        checked((int)cudaEventElapsedTime(&ms[i], start, end), "event");
    }
    qsort(ms, REPEATS, sizeof ms[0], by_value);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return ms[REPEATS / 2];
}

struct bench {
    struct mxv_gpu_flash flash[SETS];
    struct mxv_gpu_dma dma[SETS];
    struct mxv_gpu_tilemix tilemix[SETS];
    struct mxv_gpu_rows rows[SETS];
    uint8_t *codes, *scales;
    enum mxv_gpu_block_format format;
    size_t copy_bytes;
};

static int launch_flash(void *ctx, int set)
{
    return mxv_gpu_flash(&((struct bench *)ctx)->flash[set], false);
}

static int launch_dma(void *ctx, int set)
{
    return mxv_gpu_dma(&((struct bench *)ctx)->dma[set], false);
}

static int launch_tilemix(void *ctx, int set)
{
    return mxv_gpu_tilemix(&((struct bench *)ctx)->tilemix[set], false);
}

static int launch_quantise(void *ctx, int set)
{
    const struct bench *b = ctx;
    return mxv_gpu_quantise(&b->rows[set], b->format, MXV_GPU_RULE_FLOOR, b->codes, b->scales);
}

static int launch_copy(void *ctx, int set)
{
    const struct bench *b = ctx;
    return (int)cudaMemcpyAsync((void *)b->rows[1 - set].data, b->rows[set].data, b->copy_bytes,
                                cudaMemcpyDeviceToDevice, 0);
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

static void fill(struct bench *b, int n, bool causal)
{
    const size_t elements = (size_t)HEADS * (size_t)n * D, words = (size_t)HEADS * (size_t)n / 128;
    const int32_t starts[2] = {0, n};
    cuda_memory_reset();
    const int32_t *cu = cuda_send(&run, starts, sizeof starts);
    const struct mxv_gpu_call wide = call_of(n, causal, 128, cu),
                              narrow = call_of(n, causal, 64, cu);
    float *scale = malloc((size_t)HEADS * (size_t)n * sizeof *scale);
    for (size_t i = 0; scale && i < (size_t)HEADS * (size_t)n; i++)
        scale[i] = 1.0f / 64;
    const float *row_scale = cuda_send(&run, scale, (size_t)HEADS * (size_t)n * sizeof *scale);
    uint32_t *plan = cuda_allocate(&run, words * 8 * sizeof *plan);
    int32_t *sequence_of = cuda_allocate(&run, (size_t)n * sizeof *sequence_of);
    b->codes = cuda_allocate(&run, elements);
    b->scales = cuda_allocate(&run, elements / 16);
    checked(0, "memory");
    checked((int)cudaMemset(sequence_of, 0, (size_t)n * sizeof *sequence_of), "memset");
    free(scale);
    for (int i = 0; i < SETS; i++) {
        const uint64_t seed = (uint64_t)(10 * i);
        const void *q = random_halves(elements, seed + 1), *k = random_halves(elements, seed + 2);
        const void *v = random_halves(elements, seed + 3);
        const int8_t *q8 = (const int8_t *)random_halves(elements / 2, seed + 4);
        const int8_t *k8 = (const int8_t *)random_halves(elements / 2, seed + 5);
        void *out = cuda_allocate(&run, elements * 2);
        checked(0, "memory");
        b->flash[i] = (struct mxv_gpu_flash){.call = wide, .q = q, .k = k};
        b->dma[i] = (struct mxv_gpu_dma){
            .call = wide, .q_high = q, .k_high = k, .q_low = k, .k_low = q, .diag = 1, .sink = 1};
        b->tilemix[i] = (struct mxv_gpu_tilemix){.call = narrow,
                                                 .q = q,
                                                 .k = k,
                                                 .q_int8 = q8,
                                                 .k_int8 = k8,
                                                 .q_scale = row_scale,
                                                 .k_scale = row_scale,
                                                 .words = plan,
                                                 .words_per_row = 8,
                                                 .word_bits = 32,
                                                 .query_tiles = n / 128,
                                                 .group = 1};
        b->flash[i].call.v = b->dma[i].call.v = b->tilemix[i].call.v = v;
        b->flash[i].call.out = b->dma[i].call.out = b->tilemix[i].call.out = out;
        b->rows[i] = (struct mxv_gpu_rows){.data = q,
                                           .type = MXV_GPU_F16,
                                           .cast = MXV_GPU_F16,
                                           .heads = HEADS,
                                           .tokens = n,
                                           .d = D,
                                           .sequences = 1,
                                           .cu = cu,
                                           .sequence_of = sequence_of,
                                           .channel_group = 1};
    }
    b->copy_bytes = elements * 2;
}

static void print_rate(const char *name, int n, bool causal, float ms)
{
    const double operations = 4.0 * HEADS * D * (double)n * n * (causal ? 0.5 : 1);
    printf("%-22s %6d tokens %-6s %9.3f ms %7.1f TFLOP/s\n", name, n, causal ? "causal" : "full",
           (double)ms, operations / (double)ms * 1e-9);
    fflush(stdout);
}

static void set_plan(struct bench *b, int n, int byte)
{
    checked(
        (int)cudaMemset((void *)b->tilemix[0].words, byte, (size_t)HEADS * (size_t)n / 128 * 32),
        "memset");
}

static void attention_rates(struct bench *b, int n, bool causal)
{
    fill(b, n, causal);
    print_rate("flash f16", n, causal, median_ms(launch_flash, b));
    print_rate("dma D=s=1, decoded", n, causal, median_ms(launch_dma, b));
    set_plan(b, n, 0);
    print_rate("tilemix all INT8", n, causal, median_ms(launch_tilemix, b));
    set_plan(b, n, 0x55);
    print_rate("tilemix 50% INT8", n, causal, median_ms(launch_tilemix, b));
}

static void quantiser_rates(struct bench *b)
{
    static const char *const names[] = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4", "nvfp4"};
    static const double bits[] = {8.25, 8.25, 4.25,
                                  4.5}; // a value, its share of the scale included
    const double elements = (double)b->copy_bytes / 2;
    float ms = median_ms(launch_copy, b);
    printf("%-22s %9.3f ms %7.1f GB/s\n", "device copy", (double)ms,
           2 * (double)b->copy_bytes / (double)ms * 1e-6);
    for (int f = MXV_GPU_MXFP8_E4M3; f <= MXV_GPU_NVFP4; f++) {
        b->format = (enum mxv_gpu_block_format)f;
        ms = median_ms(launch_quantise, b);
        printf("quantise %-13s %9.3f ms %7.1f GB/s\n", names[f], (double)ms,
               elements * (2 + bits[f] / 8) / (double)ms * 1e-6);
    }
}

int main(void)
{
    static struct bench b;
    char text[256];
    run = (struct cuda_run){.message = message, .size = sizeof message};
    if (mxv_cuda_device(text, sizeof text)) {
        fprintf(stderr, "cuda_bench: %s\n", text);
        return 3;
    }
    printf("device: %s\n", text);
    for (int n = 8192; n <= 16384; n *= 2)
        for (int causal = 0; causal < 2; causal++)
            attention_rates(&b, n, causal);
    quantiser_rates(&b);
    return 0;
}
