// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Recorded outputs of the public DMA program (yifu-ding/MP-Sparse-Attn@3d554ec: its Triton 3.6
// quantisers and uniform attention kernels, run unchanged on an NVIDIA H200): one batch entry, 2
// heads, 384 tokens, d = 128. Arrays quant_MODE.DTYPE.dualD.GRANULARITY.I hold return value I of a
// quantiser, attn.MODE.causalC the binary32 output of an attention run.
//
// released_compare is a tap sink that holds the operand taps of a head against the arrays of one
// quantiser run, byte for byte.
#ifndef MXV_TESTS_RELEASED_RECORD_H
#define MXV_TESTS_RELEASED_RECORD_H

#include "npz.h"

#include <mxverify/attention.h>

#define RELEASED_FILE MXV_SHARED_DIR "/vectors/third-party/dma-released/seed77.npz"

enum {
    RELEASED_HEADS = 2,
    RELEASED_ROWS = 384,
    RELEASED_D = 128,
    RELEASED_TILE = 128,
    RELEASED_RUNS = 18,       // quantiser runs in the file
    RELEASED_BYTES = 3778848, // bytes they wrote
    RELEASED_ARRAYS = 10      // most arrays of one run
};

static const size_t released_lengths[2] = {0, RELEASED_ROWS};

static inline uint32_t released_word(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static inline float released_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

// Values of the binary16 array `name`, [head][row][channel], malloc.
static inline float *released_input(const struct npz *z, const char *name)
{
    struct mxv_tensor t = npz_tensor(z, name);
    float *x = malloc(t.count * sizeof *x);
    if (!x || t.type != MXV_F16 || t.count != RELEASED_HEADS * RELEASED_ROWS * RELEASED_D)
        vector_fail("not 2 heads of 384 binary16 rows", name);
    for (size_t i = 0; i < t.count; i++)
        x[i] = released_float(mxv_element_to_f32(MXV_F16, mxv_tensor_code(&t, i)));
    mxv_tensor_free(&t);
    return x;
}

// The call of mode mixed (D = s = 1), mxfp8, mxfp4 or nvfp4, causal, without second level.
static inline struct mxv_attention released_call(const char *mode, bool e5m2)
{
    return (struct mxv_attention){
        .kernel = MXV_KERNEL_DMA_RELEASED,
        .arch = MXV_ARCH_SM_90,
        .sequences = 1,
        .heads_q = RELEASED_HEADS,
        .heads_kv = RELEASED_HEADS,
        .d = RELEASED_D,
        .cu_q = released_lengths,
        .cu_k = released_lengths,
        .in = MXV_F16,
        .vt = MXV_F16,
        .out = MXV_F32,
        .scale = 0x1.6a09e667f3bcdp-4, // 128^-0.5
        .mask = MXV_MASK_CAUSAL,
        .left = -1,
        .right = -1,
        .tile_m = RELEASED_TILE,
        .tile_n = RELEASED_TILE,
        .mode = strcmp(mode, "mixed") == 0   ? MXV_MODE_MIXED
                : strcmp(mode, "mxfp8") == 0 ? MXV_MODE_HIGH
                                             : MXV_MODE_LOW,
        .high = e5m2 ? MXV_HIGH_MXFP8_E5M2 : MXV_HIGH_MXFP8_E4M3,
        .low = strcmp(mode, "mxfp4") == 0 ? MXV_LOW_MXFP4 : MXV_LOW_NVFP4,
        .diag = 1,
        .sink = 1,
    };
}

// One quantiser run of the file.
struct released_run {
    char name[NPZ_NAME_SIZE]; // quant_MODE.DTYPE.dualD.GRANULARITY
    struct mxv_attention call;
    size_t arrays, sigma; // how many, and the index of the second-level scales of Q
    struct mxv_tensor array[RELEASED_ARRAYS];
};

static inline void released_parse(struct released_run *run)
{
    char mode[8], dtype[8], granularity[16];
    int dual;
    if (sscanf(run->name, "quant_%7[a-z0-9].%7[a-z0-9].dual%d.%15[a-z]", mode, dtype, &dual,
               granularity) != 4)
        vector_fail("not a quantiser run", run->name);
    run->call = released_call(mode, strcmp(dtype, "e5m2") == 0);
    if (dual)
        run->call.dual = strcmp(granularity, "blockwise") == 0 ? MXV_DUAL_BLOCK : MXV_DUAL_TOKEN;
    run->sigma = run->call.mode == MXV_MODE_MIXED ? 8 : 4;
    run->arrays = run->sigma + 2;
}

static inline void released_load(const struct npz *z, struct released_run *run)
{
    for (size_t i = 0; i < run->arrays; i++) {
        char name[NPZ_NAME_SIZE + 24];
        snprintf(name, sizeof name, "%s.%zu", run->name, i);
        run->array[i] = npz_tensor(z, name);
        if (run->array[i].container != (i < run->sigma ? 1 : 4))
            vector_fail("codes are bytes and second-level scales binary32", name);
    }
}

// The quantiser runs of the file, in its order; RELEASED_RUNS of them, malloc.
static inline struct released_run *released_runs(const struct npz *z)
{
    struct released_run *runs = calloc(RELEASED_RUNS, sizeof *runs);
    size_t n = 0;
    if (!runs)
        vector_fail("out of memory", RELEASED_FILE);
    for (size_t i = 0; i < z->count; i++) {
        const char *name = z->members[i].name;
        size_t length = strlen(name);
        if (strncmp(name, "quant_", 6) != 0 || strcmp(name + length - 2, ".0") != 0)
            continue;
        if (n == RELEASED_RUNS)
            vector_fail("more quantiser runs than the program made", name);
        memcpy(runs[n].name, name, length - 2);
        released_parse(&runs[n]);
        released_load(z, &runs[n++]);
    }
    if (n != RELEASED_RUNS)
        vector_fail("quantiser runs are missing", RELEASED_FILE);
    return runs;
}

static inline void released_runs_free(struct released_run *runs)
{
    for (size_t n = 0; n < RELEASED_RUNS; n++)
        for (size_t i = 0; i < runs[n].arrays; i++)
            mxv_tensor_free(&runs[n].array[i]);
    free(runs);
}

// What a comparison found, over any number of heads and runs.
struct released_count {
    size_t compared[MXV_STAGE_COUNT], wrong[MXV_STAGE_COUNT]; // bytes
};

struct released_comparison {
    const struct released_run *run;
    struct released_count *count;
    bool quiet; // differences are counted and not printed
};

static inline size_t released_total(const size_t stages[MXV_STAGE_COUNT])
{
    size_t sum = 0;
    for (size_t i = 0; i < MXV_STAGE_COUNT; i++)
        sum += stages[i];
    return sum;
}

// Index of the array that a tap answers to, or RELEASED_ARRAYS for a tap of another kind.
static inline size_t released_index(const struct released_run *run, const struct mxv_tap *tap)
{
    size_t low = run->sigma == 8 && tap->route == MXV_ROUTE_LOW ? 4 : 0;
    switch (tap->stage) {
    case MXV_STAGE_Q_CODE:
        return low;
    case MXV_STAGE_Q_SCALE:
        return low + 1;
    case MXV_STAGE_K_CODE:
        return low + 2;
    case MXV_STAGE_K_SCALE:
        return low + 3;
    case MXV_STAGE_Q_SIGMA:
        return run->sigma;
    case MXV_STAGE_K_SIGMA:
        return run->sigma + 1;
    default:
        return RELEASED_ARRAYS;
    }
}

// The tap's bytes in the order of the program: E2M1 codes two a byte, the even channel low; one
// second-level scale a row or tile, little-endian. Returns how many.
static inline size_t released_pack(const struct released_run *run, const struct mxv_tap *tap,
                                   uint8_t *bytes)
{
    bool code = tap->stage == MXV_STAGE_Q_CODE || tap->stage == MXV_STAGE_K_CODE;
    bool sigma = tap->stage == MXV_STAGE_Q_SIGMA || tap->stage == MXV_STAGE_K_SIGMA;
    size_t n = 0, words = tap->rows * tap->cols, step = 1;
    if (code && tap->route == MXV_ROUTE_LOW)
        step = 2;
    if (sigma && run->call.dual == MXV_DUAL_BLOCK)
        step = RELEASED_TILE;
    for (size_t i = 0; i < words; i += step) {
        for (size_t r = 1; sigma && r < step; r++)
            if (tap->words[i + r] != tap->words[i])
                vector_fail("second-level scales differ within a tile", run->name);
        for (size_t b = 0; b < (sigma ? 4 : 1); b++)
            bytes[n++] =
                (uint8_t)(tap->words[i] >> 8 * b | (step == 2 ? tap->words[i + 1] << 4 : 0));
    }
    return n;
}

static inline uint8_t released_byte(const struct mxv_tensor *array, size_t at)
{
    return (uint8_t)(mxv_tensor_code(array, at / array->container) >> 8 * (at % array->container));
}

// The sink's function; its context is a struct released_comparison.
static inline void released_take(void *context, const struct mxv_tap *tap)
{
    static uint8_t bytes[4 * RELEASED_ROWS * RELEASED_D];
    const struct released_comparison *c = context;
    size_t index = released_index(c->run, tap), first = SIZE_MAX;
    if (index == RELEASED_ARRAYS)
        return;
    const struct mxv_tensor *array = &c->run->array[index];
    size_t size = array->bytes / RELEASED_HEADS, at = tap->head * size;
    if (tap->rows * tap->cols > sizeof bytes / 4 || released_pack(c->run, tap, bytes) != size)
        vector_fail("a tap has another shape than the recorded array", c->run->name);
    c->count->compared[tap->stage] += size;
    for (size_t i = size; i-- > 0;)
        if (bytes[i] != released_byte(array, at + i)) {
            c->count->wrong[tap->stage]++;
            first = i;
        }
    if (first != SIZE_MAX && !c->quiet)
        printf("%s.%zu head %zu byte %zu: %02x, recorded %02x\n", c->run->name, index, tap->head,
               first, bytes[first], released_byte(array, at + first));
}

#endif
