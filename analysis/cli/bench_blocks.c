// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of `mxverify bench` for block quantisation and decoding. Elements are normal values times a
// power of two that changes from row to row of 128. A quantisation row measures every scale policy
// of its format and reports the slowest, which the note names: all scale rules of MX, with the
// exact quotient, fl32(x / s) and fl32(x * fl32(1 / s)) in turn; all NVFP4 orders, with a tensor
// scale where they have one, and four over six by each of its errors; all INT8 arithmetics with all
// that keeps a scale from zero, for groups of 128. The scalar figure is the function for one block.
#include "bench.h"
#include "cli.h"
#include <mxverify/block_array.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1 << 14, SCALAR_ELEMENTS = 1 << 10, GROUP = 128 };

struct blocks {
    enum mxv_block format;
    bool int8, half;
    struct mxv_block_plan plan;
    struct mxv_int8_policy int8_policy;
    uint32_t x[ELEMENTS], out[ELEMENTS], scale_words[ELEMENTS / GROUP];
    uint16_t x_half[ELEMENTS];
    uint8_t scales[ELEMENTS / 16], codes[ELEMENTS];
};

static void fill(struct blocks *b)
{
    struct bench_random r = {3};
    float factor = 1;
    for (size_t i = 0; i < ELEMENTS; i++) {
        if (i % GROUP == 0)
            factor = (float)(1u << bench_word(&r) % 8) / 16;
        const float x = factor * bench_normal(&r);
        memcpy(&b->x[i], &x, sizeof x);
        b->x_half[i] = (uint16_t)mxv_element_from_f32(MXV_F16, b->x[i], NULL);
    }
    if (b->half)
        for (size_t i = 0; i < ELEMENTS; i++)
            b->x[i] = mxv_element_to_f32(MXV_F16, b->x_half[i]);
}

static uint64_t quantise_work(void *state)
{
    struct blocks *b = state;
    int8_t *codes = (int8_t *)b->codes;
    const size_t size = b->int8 ? GROUP : mxv_block_get(b->format)->size;
    if (b->int8 && b->half)
        mxv_int8_quantize_array_f16(&b->int8_policy, b->x_half, size, ELEMENTS / size,
                                    b->scale_words, codes);
    else if (b->int8)
        mxv_int8_quantize_array(&b->int8_policy, b->x, size, ELEMENTS / size, b->scale_words,
                                codes);
    else if (b->half)
        mxv_block_quantize_array_f16(&b->plan, b->x_half, ELEMENTS / size, b->scales, b->codes);
    else
        mxv_block_quantize_array(&b->plan, b->x, ELEMENTS / size, b->scales, b->codes);
    return b->codes[0];
}

static uint64_t quantise_scalar(void *state)
{
    struct blocks *b = state;
    int8_t *codes = (int8_t *)b->codes;
    const size_t size = b->int8 ? GROUP : mxv_block_get(b->format)->size;
    for (size_t at = 0, i = 0; at < SCALAR_ELEMENTS; at += size, i++) {
        if (b->int8)
            mxv_int8_quantize(&b->int8_policy, b->x + at, size, 1, &b->scale_words[i], codes + at);
        else
            mxv_block_quantize(b->format, &b->plan.policy, b->x + at, &b->scales[i], b->codes + at);
    }
    return b->codes[0];
}

enum {
    MX_POLICIES = MXV_SCALE_RULE_COUNT,
    NVFP4_POLICIES = MXV_NVFP4_ORDER_COUNT + MXV_FOUR_SIX_ERR_COUNT,
    INT8_POLICIES = MXV_INT8_ARITH_COUNT * MXV_INT8_EPS_COUNT
};

static int policy_count(const struct blocks *b)
{
    return b->int8 ? INT8_POLICIES : b->format == MXV_NVFP4 ? NVFP4_POLICIES : MX_POLICIES;
}

static void choose_int8(struct blocks *b, int i, char *name, size_t size)
{
    const enum mxv_int8_arith arith = (enum mxv_int8_arith)(i % MXV_INT8_ARITH_COUNT);
    const enum mxv_int8_eps eps = (enum mxv_int8_eps)(i / MXV_INT8_ARITH_COUNT);
    b->int8_policy = (struct mxv_int8_policy){.arith = arith, .eps = eps};
    snprintf(name, size, "%s, eps %s", mxv_int8_arith_name(arith), mxv_int8_eps_name(eps));
}

static void choose_nvfp4(struct blocks *b, int i, char *name, size_t size)
{
    struct mxv_block_policy p = {.nvfp4 = {.tensor_amax = UINT32_C(0x42000000)}};
    if (i < MXV_NVFP4_ORDER_COUNT) {
        p.nvfp4.order = (enum mxv_nvfp4_order)i;
        p.nvfp4.tensor_scaled = i != MXV_NVFP4_SAGE3 && i != MXV_NVFP4_GGML;
        snprintf(name, size, "%s", mxv_nvfp4_order_name(p.nvfp4.order));
    } else {
        p.nvfp4.variant = MXV_NVFP4_FOUR_SIX;
        p.nvfp4.err = (enum mxv_four_six_err)(i - MXV_NVFP4_ORDER_COUNT);
        p.nvfp4.tensor_scaled = true;
        snprintf(name, size, "four_six, %s", mxv_four_six_err_name(p.nvfp4.err));
    }
    mxv_block_plan_prepare(&b->plan, b->format, &p);
}

static void choose_mx(struct blocks *b, int i, char *name, size_t size)
{
    const struct mxv_block_policy p = {.rule = (enum mxv_scale_rule)i,
                                       .arith = (enum mxv_arith)(i % MXV_ARITH_COUNT)};
    snprintf(name, size, "%s", mxv_scale_rule_name(p.rule));
    mxv_block_plan_prepare(&b->plan, b->format, &p);
}

/// Sets policy i and writes its name.
static void choose_policy(struct blocks *b, int i, char *name, size_t size)
{
    if (b->int8)
        choose_int8(b, i, name, size);
    else if (b->format == MXV_NVFP4)
        choose_nvfp4(b, i, name, size);
    else
        choose_mx(b, i, name, size);
}

static uint64_t hash_codes(const struct blocks *b, uint64_t sum)
{
    sum = bench_mix(sum, b->codes, sizeof b->codes);
    return b->int8 ? bench_mix(sum, b->scale_words, sizeof b->scale_words)
                   : bench_mix(sum, b->scales, ELEMENTS / mxv_block_get(b->format)->size);
}

bool bench_quantise(const struct bench_row *row, const struct bench_options *options,
                    struct bench_figure *figure)
{
    struct blocks *b = cli_realloc(NULL, sizeof *b);
    memset(b, 0, sizeof *b);
    b->half = strncmp(row->argument, "f16", 3) == 0;
    b->int8 = !mxv_block_find(row->argument + 4, &b->format);
    fill(b);
    const int count = policy_count(b);
    double slowest = 0;
    for (int i = 0; i < count; i++) {
        double median, best, scalar, unused;
        uint64_t sum;
        char name[64];
        choose_policy(b, i, name, sizeof name);
        bench_time(quantise_work, b, options->seconds / count, &median, &best, &sum);
        figure->checksum = hash_codes(b, figure->checksum);
        if (median <= slowest)
            continue;
        slowest = median;
        bench_time(quantise_scalar, b, options->seconds / count / 4, &unused, &scalar, &sum);
        figure->median = ELEMENTS / median;
        figure->best = ELEMENTS / best;
        figure->scalar = SCALAR_ELEMENTS / scalar;
        snprintf(figure->note, BENCH_NOTE, "slowest of %d policies: %s", count, name);
    }
    free(b);
    return true;
}

static uint64_t decode_work(void *state)
{
    struct blocks *b = state;
    if (b->int8)
        mxv_int8_dequantize_array((const int8_t *)b->codes, b->scale_words, GROUP, ELEMENTS / GROUP,
                                  b->out);
    else
        mxv_block_dequantize_array(b->format, b->scales, b->codes,
                                   ELEMENTS / mxv_block_get(b->format)->size, b->out);
    return b->out[0];
}

static uint64_t decode_scalar(void *state)
{
    struct blocks *b = state;
    const size_t size = b->int8 ? GROUP : mxv_block_get(b->format)->size;
    for (size_t at = 0, i = 0; at < SCALAR_ELEMENTS; at += size, i++) {
        if (!b->int8)
            mxv_block_dequantize(b->format, b->scales[i], b->codes + at, b->out + at);
        for (size_t j = 0; b->int8 && j < size; j++)
            b->out[at + j] = mxv_int8_dequantize((int8_t)b->codes[at + j], b->scale_words[i]);
    }
    return b->out[0];
}

bool bench_decode(const struct bench_row *row, const struct bench_options *options,
                  struct bench_figure *figure)
{
    struct blocks *b = cli_realloc(NULL, sizeof *b);
    double median, best;
    uint64_t sum;
    memset(b, 0, sizeof *b);
    b->int8 = !mxv_block_find(row->argument, &b->format);
    fill(b);
    char name[64];
    choose_policy(b, 0, name, sizeof name);
    quantise_work(b);
    bench_time(decode_scalar, b, options->seconds / 4, &median, &best, &sum);
    figure->scalar = SCALAR_ELEMENTS / best;
    bench_time(decode_work, b, options->seconds, &median, &best, &sum);
    figure->median = ELEMENTS / median;
    figure->best = ELEMENTS / best;
    figure->checksum = bench_mix(0, b->out, sizeof b->out);
    free(b);
    return true;
}
