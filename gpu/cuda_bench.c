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
#include "bench_calls.h"
#include "bench_quantisers.h"
#include "cuda_run.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 15, WARM_UP = 3 };

// Median milliseconds of launch(ctx, set).
static float median_ms(int (*launch)(void *ctx, int set), void *ctx)
{
    float ms[REPEATS];
    cudaEvent_t start, end;
    bench_checked((int)cudaEventCreate(&start), "event");
    bench_checked((int)cudaEventCreate(&end), "event");
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    for (int i = 0; i < WARM_UP; i++)
        bench_checked(launch(ctx, i % SETS), "launch");
    for (int i = 0; i < REPEATS; i++) {
        bench_checked((int)cudaEventRecord(start, 0), "event");
        bench_checked(launch(ctx, i % SETS), "launch");
        bench_checked((int)cudaEventRecord(end, 0), "event");
        bench_checked((int)cudaEventSynchronize(end), "kernel");
        bench_checked((int)cudaEventElapsedTime(&ms[i], start, end), "event");
    }
    qsort(ms, REPEATS, sizeof ms[0], bench_by_value);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return ms[REPEATS / 2];
}

static int launch_flash(void *ctx, int set)
{
    return mxv_gpu_flash(&((struct bench *)ctx)->flash[set], false);
}

static int launch_dma(void *ctx, int set)
{
    return mxv_gpu_dma(&((struct bench *)ctx)->dma[set], false);
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
    const int error = bench_prepare(ctx, set);
    return error ? error : launch_rebased(ctx, set);
}

static int launch_fused(void *ctx, int set)
{
    const struct bench *b = ctx;
    const struct mxv_gpu_dma_fused f = {.dma = b->rebased[set],
                                        .q = b->q_side[set],
                                        .k = b->k_side[set],
                                        .rule = MXV_GPU_RULE_FLOOR,
                                        .state = b->fused_state[set]};
    return mxv_gpu_dma_fused(&f);
}

static int launch_tilemix(void *ctx, int set)
{
    return mxv_gpu_tilemix(&((struct bench *)ctx)->tilemix[set], false);
}

static int launch_wide(void *ctx, int set)
{
    return mxv_gpu_tilemix(&((struct bench *)ctx)->wide[set], false);
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
    bench_checked((int)cudaMemset(b->words, byte, (size_t)HEADS * (size_t)n / 128 * 32), "memset");
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
    bench_fill(b, n, causal);
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
    print_rate("dma rebase tau=8, one kernel", n, causal, median_ms(launch_fused, b));
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
