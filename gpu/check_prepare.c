// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See check_blocks.h. Expectations are made of formats/ alone, by the definition: MXFP8 and MXFP4
// blocks of x, B the largest scale byte that is no NaN, E5M2 of the value of a code times
// 2^(e - B + 13), the factor 2^(B - 140).
#include "check_blocks.h"
#include "check_tensor.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <mxverify/block.h>
#include <mxverify/element.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, NAN_SCALE = 0xFF, TILE = 96 };

static const int32_t starts[] = {0, 200, 200, 201, 519}; // tokens of four sequences
enum { SEQUENCES = 4, TOKENS = 519 };

struct copies { // expected or found, of [HEADS][TOKENS] rows
    uint16_t high[HEADS * TOKENS * 128];
    uint8_t low[HEADS * TOKENS * 128];
    float factor[HEADS * TOKENS];
};

struct side {
    size_t d, tile; // tile 0: rows alone
    bool scaled;
    uint32_t x[HEADS * TOKENS * 128]; // binary32 words, after the factor
    uint8_t codes[HEADS * TOKENS * 128], scales[HEADS * TOKENS * 4];
};

// First and last + 1 token of the rows that share a power of two with this one.
static void sharers(const struct side *s, size_t token, size_t *begin, size_t *end)
{
    size_t sequence = 0;
    while (token >= (size_t)starts[sequence + 1])
        sequence++;
    const size_t first = (size_t)starts[sequence], last = (size_t)starts[sequence + 1];
    *begin = s->tile ? token - (token - first) % s->tile : token;
    *end = s->tile && *begin + s->tile < last ? *begin + s->tile : s->tile ? last : token + 1;
}

static void expect_block(const struct side *s, size_t block, struct copies *want)
{
    const struct mxv_block_policy policy = {.scale.inf = MXV_SCALE_INF_MAX};
    const struct mxv_encode to_inf = {.overflow = MXV_OVERFLOW_IEEE}; // TB of the contract
    const uint32_t *x = s->x + block * 32;
    uint8_t scale, code[32];
    mxv_block_quantize(MXV_MXFP8_E4M3, &policy, x, &scale, code);
    for (size_t i = 0; i < 32; i++) {
        struct mxv_value v = mxv_element_decode(MXV_E4M3, code[i]);
        v.exp += (int)scale - 127;
        want->high[block * 32 + i] =
            scale == NAN_SCALE ? 0x7fff : (uint16_t)mxv_element_encode(MXV_BF16, v, &to_inf);
    }
}

static void expect_low(const struct side *s, size_t row, uint8_t base, struct copies *want)
{
    for (size_t i = row * s->d; i < (row + 1) * s->d; i++) {
        const uint8_t e = s->scales[i / 32];
        struct mxv_value v = mxv_element_decode(MXV_E2M1, s->codes[i]);
        v.exp += (int)e - (int)base + 13;
        want->low[i] = e == NAN_SCALE ? 0x7f : (uint8_t)mxv_element_encode(MXV_E5M2, v, NULL);
    }
    want->factor[row] = ldexpf(1, (int)base - 140);
}

static void expect(struct side *s, struct copies *want)
{
    const struct mxv_block_policy policy = {.scale.inf = MXV_SCALE_INF_MAX};
    const size_t blocks = s->d / 32;
    for (size_t b = 0; b < HEADS * TOKENS * blocks; b++) {
        mxv_block_quantize(MXV_MXFP4, &policy, s->x + b * 32, &s->scales[b], s->codes + b * 32);
        expect_block(s, b, want);
    }
    for (size_t row = 0; row < HEADS * TOKENS; row++) {
        size_t begin, end;
        uint8_t base = 0;
        sharers(s, row % TOKENS, &begin, &end);
        for (size_t b = (row - row % TOKENS + begin) * blocks;
             b < (row - row % TOKENS + end) * blocks; b++)
            base = s->scales[b] != NAN_SCALE && s->scales[b] > base ? s->scales[b] : base;
        expect_low(s, row, base, want);
    }
}

// Draws the words of a side; returns them as they lie in memory.
static uint16_t *draw(struct side *s, enum mxv_gpu_type type, float factor, uint64_t seed)
{
    const enum mxv_element e = type == MXV_GPU_F16 ? MXV_F16 : MXV_BF16;
    const size_t n = HEADS * TOKENS * s->d;
    uint16_t *words = check_memory(n * sizeof *words);
    for (size_t i = 0; i < n; i++) {
        float x;
        words[i] = (uint16_t)check_drawn_word(type, i / 32, i % 32, seed);
        s->x[i] = mxv_element_to_f32(e, words[i]);
        memcpy(&x, &s->x[i], sizeof x);
        x = s->scaled ? x * factor : x;
        memcpy(&s->x[i], &x, sizeof x);
    }
    return words;
}

static uint64_t unlike(const char *what, const void *want, const void *device, size_t bytes)
{
    const uint8_t *found = cuda_fetch(&check_run, device, bytes), *expected = want;
    uint64_t bad = 0;
    check_call(0, "results");
    for (size_t i = 0; i < bytes; i++)
        if (found[i] != expected[i] && bad++ == 0)
            printf("%s, byte %zu: device %02x, formats %02x\n", what, i, found[i], expected[i]);
    free((void *)(uintptr_t)found);
    return bad;
}

static struct mxv_gpu_dma_side device_side(const struct side *s, const uint16_t *words,
                                           enum mxv_gpu_type type, float factor)
{
    int32_t of[TOKENS] = {0};
    struct mxv_gpu_block pieces[64];
    int32_t count = 0;
    for (int32_t q = 0; q < SEQUENCES; q++) {
        const int32_t step = s->tile ? (int32_t)s->tile : 128;
        for (int32_t t = starts[q]; t < starts[q + 1]; t++)
            of[t] = q;
        for (int32_t row = 0; row < starts[q + 1] - starts[q]; row += step)
            pieces[count++] = (struct mxv_gpu_block){q, row / step, count, row};
    }
    struct mxv_gpu_dma_side side = {
        .rows = {.data = cuda_send(&check_run, words, HEADS * TOKENS * s->d * 2),
                 .type = type,
                 .cast = type,
                 .heads = HEADS,
                 .tokens = TOKENS,
                 .d = (int32_t)s->d,
                 .sequences = SEQUENCES,
                 .cu = cuda_send(&check_run, starts, sizeof starts),
                 .sequence_of = cuda_send(&check_run, of, sizeof of),
                 .scaled = s->scaled,
                 .factor = factor,
                 .channel_group = 1},
        .pieces = cuda_send(&check_run, pieces, (size_t)count * sizeof pieces[0]),
        .piece_count = count,
        .tile = (int32_t)s->tile,
        .high = cuda_allocate(&check_run, HEADS * TOKENS * s->d * 2),
        .low = cuda_allocate(&check_run, HEADS * TOKENS * s->d),
        .factor = cuda_allocate(&check_run, HEADS * TOKENS * sizeof(float))};
    check_call(0, "operands");
    return side;
}

static uint64_t compare(const struct side *s, const struct mxv_gpu_dma_side *d,
                        const struct copies *want, bool high)
{
    const size_t n = HEADS * TOKENS * s->d;
    uint64_t bad = unlike("low code", want->low, d->low, n) +
                   unlike("factor", want->factor, d->factor, sizeof want->factor);
    if (high)
        bad += unlike("high value", want->high, d->high, n * 2);
    return bad;
}

// From codes, over the same memory poisoned again.
static void rebase_from_codes(const struct mxv_gpu_dma_side *d)
{
    const size_t n = (size_t)HEADS * TOKENS * (size_t)d->rows.d;
    uint8_t *codes = cuda_allocate(&check_run, n / 2), *scales = cuda_allocate(&check_run, n / 32);
    uint32_t *work = cuda_allocate(&check_run, HEADS * TOKENS * sizeof *work);
    check_call((int)cudaMemset(d->low, 0xa5, n), "memset");
    check_call((int)cudaMemset(d->factor, 0xa5, HEADS * TOKENS * sizeof(float)), "memset");
    check_call(mxv_gpu_quantise(&d->rows, MXV_GPU_MXFP4, MXV_GPU_RULE_FLOOR, codes, scales),
               "quantise");
    check_call(mxv_gpu_rebase(&d->rows, d->tile, codes, scales, work, d->low, d->factor), "rebase");
    check_call((int)cudaDeviceSynchronize(), "rebase");
}

static void check_type(enum mxv_gpu_type type, size_t d, uint64_t seed, check_report *report)
{
    static struct side side[2];
    static struct copies want[2];
    struct mxv_gpu_dma_side on_device[2];
    const float factor = 0.1275174f;
    const size_t bytes = HEADS * TOKENS * (3 * d + sizeof(float));
    uint64_t bad = 0;
    char text[96];
    cuda_memory_reset();
    for (int k = 0; k < 2; k++) {
        side[k].d = d;
        side[k].tile = k ? TILE : 0;
        side[k].scaled = k == 0;
        uint16_t *words = draw(&side[k], type, factor, seed + (uint64_t)k * 977);
        expect(&side[k], &want[k]);
        on_device[k] = device_side(&side[k], words, type, factor);
        free(words);
    }
    check_call(mxv_gpu_prepare_dma(&on_device[0], &on_device[1], MXV_GPU_RULE_FLOOR), "prepare");
    check_call((int)cudaDeviceSynchronize(), "prepare");
    for (int k = 0; k < 2; k++)
        bad += compare(&side[k], &on_device[k], &want[k], true);
    for (int k = 0; k < 2; k++) {
        rebase_from_codes(&on_device[k]);
        bad += compare(&side[k], &on_device[k], &want[k], false);
    }
    snprintf(text, sizeof text, "dma operands, rebase=1, %s, d = %zu, one pass and from codes",
             type == MXV_GPU_F16 ? "f16" : "bf16", d);
    report(text, 4 * bytes, bad);
}

void check_prepare(uint64_t seed, check_report *report)
{
    for (uint64_t i = 0; i < 4; i++)
        for (size_t d = 64; d <= 128; d += 64) {
            check_type(MXV_GPU_F16, d, seed * 31 + i, report);
            check_type(MXV_GPU_BF16, d, seed * 31 + i, report);
        }
}
