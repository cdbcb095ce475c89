// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Multiply-adds per second of each model family: score tiles of 8,192 queries and keys, d = 128,
// full, tiles of 128 x 128 (2^33 multiply-adds a launch), operands random and finite; the values
// stage on the same shape; softmax weights per second. Events around each launch, one warm-up,
// median of 5.
#include "emulate_parts.h"
#include "emulate_state.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 8192, D = 128, TILE = 128, TILES = TOKENS / TILE, REPEATS = 5 };

struct bench {
    struct cuda_run run;
    char message[512];
    struct mxv_emulate_call call;
    uint8_t *codes[2], *scales[2];
    float *factors;
    struct mxv_emulate_pair *pairs;
};

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 31;
}

// Bytes that are finite in every format: as a high byte of f16, bf16, as E4M3, E5M2 or two E2M1.
static uint8_t *random_bytes(struct bench *b, size_t n, uint64_t seed, uint8_t mask, uint8_t offset)
{
    uint8_t *host = malloc(n);
    if (!host) {
        cuda_refuse(&b->run, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        host[i] = (uint8_t)((mix(seed * UINT64_C(1000003) + i) & mask) + offset);
    uint8_t *device = cuda_send(&b->run, host, n);
    free(host);
    return device;
}

static void send_plan(struct bench *b)
{
    struct mxv_emulate_item items[TILES] = {0};
    struct mxv_emulate_pair *pairs = malloc(TILES * TILES * sizeof *pairs);
    for (int32_t i = 0; i < TILES; i++) {
        items[i].slot = i;
        items[i].row = items[i].q_first = i * TILE;
        items[i].rows = TILE;
        items[i].lk = TOKENS;
        items[i].end = TILES;
        for (int32_t j = 0; pairs && j < TILES; j++)
            pairs[i * TILES + j] = (struct mxv_emulate_pair){i, j};
    }
    b->call.items = cuda_send(&b->run, items, sizeof items);
    if (pairs)
        b->pairs = cuda_send(&b->run, pairs, TILES * TILES * sizeof *pairs);
    else
        cuda_refuse(&b->run, "out of memory");
    free(pairs);
}

static void prepare(struct bench *b)
{
    const size_t elements = (size_t)TOKENS * D, rows = (size_t)TILES * TILES * TILE;
    b->run = (struct cuda_run){.message = b->message, .size = sizeof b->message};
    cuda_memory_reset();
    b->call = (struct mxv_emulate_call){.item_count = TILES,
                                        .d = D,
                                        .tile_m = TILE,
                                        .tile_n = TILE,
                                        .key_tiles = TILES,
                                        .tokens_q = TOKENS,
                                        .tokens_k = TOKENS,
                                        .left = -1,
                                        .right = -1,
                                        .log2 = true,
                                        .pair_lanes = true,
                                        .exp = MXV_EXP_HW,
                                        .c = 0.1275174f,
                                        .v_type = MXV_F16,
                                        .out_type = MXV_GPU_F16};
    send_plan(b);
    for (int i = 0; i < 2; i++) {
        b->codes[i] = random_bytes(b, 2 * elements, 1 + (uint64_t)i, 0xb7, 0);
        b->scales[i] = random_bytes(b, elements / 16, 3 + (uint64_t)i, 0x07, 0x38);
    }
    b->factors = (float *)random_bytes(b, elements / 8, 5, 0x07, 0x38);
    b->call.score = cuda_allocate(&b->run, rows * TILE * sizeof *b->call.score);
    b->call.weight = (uint16_t *)random_bytes(b, rows * TILE * 2, 6, 0x37, 0);
    b->call.alpha = (float *)random_bytes(b, rows * sizeof *b->call.alpha, 7, 0x01, 0x3e);
    b->call.total = (float *)random_bytes(b, TOKENS * sizeof *b->call.total, 8, 0x01, 0x3e);
    b->call.out = cuda_allocate(&b->run, elements * 2);
    b->call.v = b->codes[1];
}

static int by_value(const void *x, const void *y)
{
    const float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

enum stage { SCORES, SOFTMAX, VALUES };

static void launch(struct bench *b, enum stage stage, const struct mxv_emulate_scores *scores)
{
    const int error = stage == SCORES    ? mxv_emulate_scores(scores)
                      : stage == SOFTMAX ? mxv_emulate_softmax(&b->call)
                                         : mxv_emulate_values(&b->call);
    cuda_failed(&b->run, error, "launch");
}

static double median_seconds(struct bench *b, enum stage stage,
                             const struct mxv_emulate_scores *scores)
{
    float ms[REPEATS] = {0};
    cudaEvent_t start, end;
    cuda_failed(&b->run, (int)cudaEventCreate(&start), "event");
    cuda_failed(&b->run, (int)cudaEventCreate(&end), "event");
    launch(b, stage, scores);
    for (int i = 0; i < REPEATS && !b->run.failed; i++) {
        cudaEventRecord(start, 0);
        launch(b, stage, scores);
        cudaEventRecord(end, 0);
        cuda_failed(&b->run, (int)cudaEventSynchronize(end), "kernel");
        cudaEventElapsedTime(&ms[i], start, end);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    qsort(ms, REPEATS, sizeof ms[0], by_value);
    return (double)ms[REPEATS / 2] * 1e-3;
}

static void print_rate(const char *stage, const char *name, double amount, double s)
{
    printf("rates: %-8s %-36s %8.2f ms %8.3f T/s\n", stage, name, s * 1e3, amount / s * 1e-12);
}

static void score_rate(struct bench *b, const char *name, enum mxv_emulate_scaling scaling)
{
    const struct mxv_emulate_scores p = {.call = b->call,
                                         .model = emulate_model(&b->run, name),
                                         .scaling = scaling,
                                         .pairs = b->pairs,
                                         .pair_count = TILES * TILES,
                                         .q = b->codes[0],
                                         .k = b->codes[1],
                                         .q_scale = b->scales[0],
                                         .k_scale = b->scales[1],
                                         .q_factor = b->factors,
                                         .k_factor = b->factors};
    if (!b->run.failed)
        print_rate(scaling == MXV_EMULATE_CORE ? "core" : "scores", name,
                   (double)TOKENS * TOKENS * D, median_seconds(b, SCORES, &p));
}

static void value_rate(struct bench *b, const char *name)
{
    b->call.pv = emulate_model(&b->run, name);
    if (!b->run.failed)
        print_rate("values", name, (double)TOKENS * TOKENS * D, median_seconds(b, VALUES, NULL));
}

int emulate_rates(void)
{
    static const char *const scores[] = {
        "sm_80.mma.f16.f32",
        "sm_80.mma.bf16.f32",
        "sm_90.wgmma.f16.f32",
        "sm_90.wgmma.bf16.f32",
        "sm_100.tcgen05.mxf8f6f4.e4m3.f32",
        "sm_100.tcgen05.mxf8f6f4.e5m2.f32",
        "sm_100.tcgen05.mxf4.ue8m0.f32",
        "sm_100.tcgen05.mxf4nvf4.ue4m3.f32",
        "sm_90.mma.s8.s32",
    };
    static struct bench b;
    prepare(&b);
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++)
        score_rate(&b, scores[i], MXV_EMULATE_PLAIN);
    score_rate(&b, "sm_90.wgmma.e4m3.f32", MXV_EMULATE_CORE);
    value_rate(&b, "sm_80.mma.f16.f32");
    value_rate(&b, "sm_100.tcgen05.f16.f32");
    value_rate(&b, "sm_100.tcgen05.e4m3.f32");
    score_rate(&b, "sm_100.tcgen05.mxf8f6f4.e4m3.f32", MXV_EMULATE_PLAIN); // scores for softmax
    if (!b.run.failed)
        print_rate("softmax", "weights, two lanes, ex2 model", (double)TOKENS * TOKENS,
                   median_seconds(&b, SOFTMAX, NULL));
    if (b.run.failed)
        fprintf(stderr, "emulate_check: rates: %s\n", b.message);
    return b.run.failed ? 3 : 0;
}
