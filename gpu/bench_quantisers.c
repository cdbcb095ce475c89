// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers beside a device copy, part of cuda_bench: 1 GiB of random values, two input
// sets in turn, events around each launch, 3 warm-up launches, median of 15, after half a second of
// launches that bring the clocks up. Before each series a tenth of a second of rest: without it the
// series together reach the chip's power limit, which then sets the clock. Bytes are those read
// and written, by the copy too (of 1 GiB, between the two sets). The last column is the rate over
// that of the copy.
#include "bench_quantisers.h"
#include "operands.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SETS = 2,
    REPEATS = 15,
    WARM_UP = 3,
    CLOCK_UP = 1500,
    D = 128,
    HEADS = 32,
    REST_NS = 100000000
};
#define BYTES   ((size_t)1 << 30)
#define PATTERN ((size_t)1 << 24)

struct job {
    void *data[SETS];
    struct mxv_gpu_rows rows;
    struct mxv_gpu_quantiser q;
    uint8_t *codes, *scales;
    float *row_scale, *amax, *mean;
    bool away;
};

static void checked(int error, const char *what)
{
    if (error != (int)cudaSuccess) {
        fprintf(stderr, "cuda_bench: %s: %s\n", what, cudaGetErrorString((cudaError_t)error));
        exit(3);
    }
}

static void *device_memory(size_t bytes)
{
    void *p = NULL;
    checked((int)cudaMalloc(&p, bytes), "cudaMalloc");
    return p;
}

uint64_t bench_mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ (z >> 31);
}

// Random words of `type` of magnitude 2^-6 .. 2; a pattern of PATTERN bytes, repeated.
static void fill(void *device, enum mxv_gpu_type type, uint64_t seed)
{
    const unsigned frac = type == MXV_GPU_F32 ? 23 : type == MXV_GPU_F16 ? 10 : 7;
    const unsigned bits = type == MXV_GPU_F32 ? 32 : 16, bias = type == MXV_GPU_F16 ? 15 : 127;
    uint8_t *host = malloc(PATTERN);
    if (!host)
        checked((int)cudaErrorMemoryAllocation, "host memory");
#pragma omp parallel for
    for (size_t i = 0; i < PATTERN * 8 / bits; i++) {
        const uint64_t r = bench_mix(seed * UINT64_C(1000003) + i);
        const uint32_t word = (uint32_t)(r >> 60 & 1) << (bits - 1) |
                              (uint32_t)(bias - r % 7) << frac |
                              ((uint32_t)(r >> 8) & ((1u << frac) - 1));
        if (bits == 32)
            ((uint32_t *)host)[i] = word;
        else
            ((uint16_t *)host)[i] = (uint16_t)word;
    }
    checked((int)cudaMemcpy(device, host, PATTERN, cudaMemcpyHostToDevice), "input");
    free(host);
    for (size_t at = PATTERN; at < BYTES; at += PATTERN)
        checked((int)cudaMemcpy((uint8_t *)device + at, device, PATTERN, cudaMemcpyDeviceToDevice),
                "input");
}

int bench_by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double median_ms(int (*launch)(struct job *), struct job *j)
{
    const struct timespec rest = {.tv_nsec = REST_NS};
    float ms[REPEATS];
    cudaEvent_t start, end;
    nanosleep(&rest, NULL);
    checked((int)cudaEventCreate(&start), "event");
    checked((int)cudaEventCreate(&end), "event");
    for (int i = -WARM_UP; i < REPEATS; i++) {
        j->rows.data = j->data[(i + WARM_UP) % SETS];
        checked((int)cudaEventRecord(start, 0), "event");
        checked(launch(j), "launch");
        checked((int)cudaEventRecord(end, 0), "event");
        checked((int)cudaEventSynchronize(end), "kernel");
        if (i >= 0)
            checked((int)cudaEventElapsedTime(&ms[i], start, end), "event");
    }
    qsort(ms, REPEATS, sizeof ms[0], bench_by_value);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return (double)ms[REPEATS / 2];
}

static int launch_copy(struct job *j)
{
    void *to = j->rows.data == j->data[0] ? j->data[1] : j->data[0];
    return (int)cudaMemcpyAsync(to, j->rows.data, BYTES, cudaMemcpyDeviceToDevice, 0);
}

static int launch_quantise(struct job *j)
{
    return mxv_gpu_quantise_blocks(&j->rows, &j->q, j->codes, j->scales);
}

static int launch_amax(struct job *j)
{
    return mxv_gpu_tensor_amax(j->rows.data, j->rows.type,
                               (size_t)(j->rows.heads * j->rows.tokens) * (size_t)j->rows.d,
                               j->amax);
}

static int launch_int8_codes(struct job *j)
{
    return mxv_gpu_quantise_int8(&j->rows, j->row_scale, j->away, (int8_t *)j->codes);
}

static double copy_rate;

static void print_rate(const char *what, double bytes, double ms)
{
    printf("%-56s %8.3f ms %7.0f GB/s  %.2f of copy\n", what, ms, bytes / ms * 1e-6,
           bytes / ms * 1e-6 / copy_rate);
    fflush(stdout);
}

static void quantiser_rate(struct job *j, const char *name)
{
    const size_t rows = (size_t)j->rows.heads * (size_t)j->rows.tokens, d = (size_t)j->rows.d;
    const size_t out = mxv_gpu_code_bytes(&j->q, rows, d) + mxv_gpu_scale_bytes(&j->q, rows, d);
    print_rate(name, (double)(BYTES + out), median_ms(launch_quantise, j));
}

// What is measured besides every format in its plain form. tensor: under the tensor's maximum.
enum on_the_way { NOTHING, FACTOR, SMOOTHING };

static const struct variant {
    const char *name;
    struct mxv_gpu_quantiser q;
    bool tensor;
    enum on_the_way steps;
} variants[] = {
    {"mxfp4, rule rceil, 128x4",
     {.format = MXV_GPU_MXFP4, .rule = MXV_GPU_RULE_RCEIL, .layout = MXV_GPU_LAYOUT_128X4},
     false,
     NOTHING},
    {"mxfp8_e4m3, rule near15, 128x4",
     {.format = MXV_GPU_MXFP8_E4M3, .rule = MXV_GPU_RULE_NEAR15, .layout = MXV_GPU_LAYOUT_128X4},
     false,
     NOTHING},
    {"nvfp4, 128x4", {.format = MXV_GPU_NVFP4, .layout = MXV_GPU_LAYOUT_128X4}, false, NOTHING},
#define NVFP4(order_name, name)                                                                    \
    {                                                                                              \
        "nvfp4, order " name, {.format = MXV_GPU_NVFP4, .order = order_name}, true, NOTHING        \
    }
    NVFP4(MXV_GPU_NVFP4_EXACT, "exact, tensor scale"),
    NVFP4(MXV_GPU_NVFP4_TE, "te, tensor scale"),
    NVFP4(MXV_GPU_NVFP4_TORCHAO, "torchao, tensor scale"),
    NVFP4(MXV_GPU_NVFP4_MODELOPT, "modelopt, tensor scale"),
    NVFP4(MXV_GPU_NVFP4_MODELOPT_STATIC, "modelopt_static, tensor scale"),
    NVFP4(MXV_GPU_NVFP4_TRTLLM, "trtllm, tensor scale"),
#undef NVFP4
    {"nvfp4, order sage3", {.format = MXV_GPU_NVFP4, .order = MXV_GPU_NVFP4_SAGE3}, false, NOTHING},
    {"mxfp8_e4m3, rows times a factor", {.format = MXV_GPU_MXFP8_E4M3}, false, FACTOR},
    {"mxfp6_e2m3, rows times a factor", {.format = MXV_GPU_MXFP6_E2M3}, false, FACTOR},
    {"mxfp4, rows times a factor", {.format = MXV_GPU_MXFP4}, false, FACTOR},
    {"mxint8, rows times a factor", {.format = MXV_GPU_MXINT8}, false, FACTOR},
    {"nvfp4, rows times a factor", {.format = MXV_GPU_NVFP4}, false, FACTOR},
    {"nvfp4, exact, tensor scale, times a factor", {.format = MXV_GPU_NVFP4}, true, FACTOR},
    {"mxfp8_e4m3, rows less their mean", {.format = MXV_GPU_MXFP8_E4M3}, false, SMOOTHING},
    {"mxfp4, rows less their mean", {.format = MXV_GPU_MXFP4}, false, SMOOTHING},
    {"nvfp4, rows less their mean", {.format = MXV_GPU_NVFP4}, false, SMOOTHING},
};

static void type_rates(struct job *j, enum mxv_gpu_type type)
{
    static const char *const types[] = {"f32", "f16", "bf16"};
    static const char *const formats[] = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2",
                                          "mxfp4",      "mxint8",     "nvfp4"};
    const size_t rows = BYTES / D / (type == MXV_GPU_F32 ? 4 : 2);
    char text[96];
    for (int i = 0; i < SETS; i++)
        fill(j->data[i], type, (uint64_t)(10 * (int)type + i));
    j->rows = (struct mxv_gpu_rows){.type = type,
                                    .cast = type,
                                    .heads = HEADS,
                                    .tokens = (int32_t)(rows / HEADS),
                                    .d = D,
                                    .sequences = 1,
                                    .channel_group = 1,
                                    .factor = 0.1275174f};
    for (int f = MXV_GPU_MXFP8_E4M3; f <= MXV_GPU_NVFP4; f++) {
        j->q = (struct mxv_gpu_quantiser){.format = (enum mxv_gpu_block_format)f};
        snprintf(text, sizeof text, "quantise %s %s", types[type], formats[f]);
        quantiser_rate(j, text);
    }
    print_rate("tensor maximum", (double)BYTES, median_ms(launch_amax, j));
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
        j->q = variants[v].q;
        j->q.tensor_amax = variants[v].tensor ? j->amax : NULL;
        j->rows.scaled = variants[v].steps == FACTOR;
        j->rows.mean = variants[v].steps == SMOOTHING ? j->mean : NULL;
        snprintf(text, sizeof text, "quantise %s %s", types[type], variants[v].name);
        quantiser_rate(j, text);
    }
    j->rows.scaled = false;
    j->rows.mean = NULL;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"", ", half away", ", rows less their mean"};
        j->away = i == 1;
        j->rows.mean = i == 2 ? j->mean : NULL;
        snprintf(text, sizeof text, "quantise %s int8, scales given%s", types[type], names[i]);
        print_rate(text, (double)(BYTES + rows * D + rows * 4), median_ms(launch_int8_codes, j));
    }
    j->rows.mean = NULL;
}

void bench_quantisers(void)
{
    struct job j = {.codes = device_memory(BYTES / 2),
                    .scales = device_memory(BYTES / 32),
                    .row_scale = device_memory(BYTES / 64),
                    .amax = device_memory(sizeof(float)),
                    .mean = device_memory(HEADS * D * sizeof(float))};
    for (int i = 0; i < SETS; i++) {
        j.data[i] = device_memory(BYTES);
        fill(j.data[i], MXV_GPU_F16, (uint64_t)i);
    }
    checked((int)cudaMemset(j.row_scale, 0x3c, BYTES / 64), "memset"); // 0.0115
    j.rows = (struct mxv_gpu_rows){.type = MXV_GPU_F16,
                                   .cast = MXV_GPU_F16,
                                   .heads = 1,
                                   .tokens = (int32_t)(BYTES / D / 2),
                                   .d = D};
    j.rows.data = j.data[0];
    for (int i = 0; i < CLOCK_UP; i++)
        checked(launch_quantise(&j), "launch");
    const double ms = median_ms(launch_copy, &j);
    copy_rate = 2 * (double)BYTES / ms * 1e-6;
    print_rate("device copy, 1 GiB", 2 * (double)BYTES, ms);
    type_rates(&j, MXV_GPU_F16);
    type_rates(&j, MXV_GPU_BF16);
    type_rates(&j, MXV_GPU_F32);
    for (int i = 0; i < SETS; i++)
        cudaFree(j.data[i]);
    cudaFree(j.codes);
    cudaFree(j.scales);
    cudaFree(j.row_scale);
    cudaFree(j.amax);
    cudaFree(j.mean);
}
