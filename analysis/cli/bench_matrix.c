// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of `mxverify bench` for single functions: a tile of matrix-unit instructions, ex2.approx.
// Operands are random and finite, of exponents as normal values have them; C is in play. The scalar
// figure is the readable definition, mxv_mma_dot and mxv_ex2, on a part of the same work.
#include "bench.h"
#include "cli.h"
#include <math.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 128, COLS = 128, DEPTH = 256, SCALAR_COLS = 8, EX2_WORDS = 16384 };

struct tile {
    const struct mxv_mma_model *model;
    uint32_t a_words[ROWS * DEPTH], b_words[COLS * DEPTH];
    struct mxv_operand a[ROWS * DEPTH], b[COLS * DEPTH];
    uint8_t a_scales[ROWS * DEPTH], b_scales[COLS * DEPTH];
    uint32_t c[ROWS * COLS], d[ROWS * COLS];
};

static uint32_t word_of(float x)
{
    uint32_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

static uint32_t operand_word(struct bench_random *r, enum mxv_element format)
{
    if (format == MXV_S8 || format == MXV_U8)
        return bench_word(r) & 0xFF;
    if (format == MXV_E2M1)
        return bench_word(r) & 0xF;
    return (uint32_t)mxv_element_from_f32(format, word_of(bench_normal(r)), NULL);
}

static void fill_tile(struct tile *t)
{
    const struct mxv_mma_model *m = t->model;
    struct bench_random r = {1};
    for (size_t i = 0; i < ROWS * DEPTH; i++) {
        t->a_words[i] = operand_word(&r, m->a);
        t->a_scales[i] = (uint8_t)((m->scale == MXV_E8M0 ? 123 : 0x30) + bench_word(&r) % 9);
    }
    for (size_t i = 0; i < COLS * DEPTH; i++) {
        t->b_words[i] = operand_word(&r, m->b);
        t->b_scales[i] = (uint8_t)((m->scale == MXV_E8M0 ? 123 : 0x30) + bench_word(&r) % 9);
    }
    for (size_t i = 0; i < ROWS * COLS; i++)
        t->c[i] = m->result == MXV_MMA_S32 ? bench_word(&r) >> 8 : word_of(16 * bench_normal(&r));
    mxv_mma_decode_a(m, t->a_words, ROWS * DEPTH, t->a);
    mxv_mma_decode_b(m, t->b_words, COLS * DEPTH, t->b);
}

static uint64_t tile_work(void *state)
{
    struct tile *t = state;
    const bool scaled = t->model->scale != MXV_MMA_NO_SCALE;
    memcpy(t->d, t->c, sizeof t->d);
    mxv_mma_tile(t->model, ROWS, COLS, DEPTH, t->a, t->b, scaled ? t->a_scales : NULL,
                 scaled ? t->b_scales : NULL, t->d, COLS);
    return t->d[0];
}

static uint64_t dot_work(void *state)
{
    struct tile *t = state;
    const size_t count = mxv_mma_scale_count(t->model, DEPTH);
    uint64_t sum = 0;
    for (size_t i = 0; i < SCALAR_COLS; i++) {
        const uint32_t d =
            mxv_mma_dot(t->model, DEPTH, t->a_words + i * DEPTH, t->b_words + i * DEPTH,
                        t->c[i * COLS + i], t->a_scales + i * count, t->b_scales + i * count);
        sum += d;
    }
    return sum;
}

bool bench_matrix(const struct bench_row *row, const struct bench_options *options,
                  struct bench_figure *figure)
{
    struct tile *t = cli_realloc(NULL, sizeof *t);
    double median, best;
    uint64_t unused;
    t->model = mxv_mma_find(row->argument);
    if (t->model == NULL) {
        free(t);
        snprintf(figure->note, BENCH_NOTE, "no model named %s", row->argument);
        return false;
    }
    fill_tile(t);
    bench_time(tile_work, t, options->seconds, &median, &best, &unused);
    figure->checksum = bench_mix(0, t->d, sizeof t->d);
    figure->median = (double)ROWS * COLS * DEPTH / median;
    figure->best = (double)ROWS * COLS * DEPTH / best;
    bench_time(dot_work, t, options->seconds / 4, &median, &best, &unused);
    figure->scalar = (double)SCALAR_COLS * DEPTH / best;
    free(t);
    return true;
}

struct ex2 {
    uint32_t x[EX2_WORDS], y[EX2_WORDS];
};

static uint64_t ex2_work(void *state)
{
    struct ex2 *e = state;
    mxv_ex2_array(e->x, EX2_WORDS, true, e->y);
    return e->y[EX2_WORDS / 2];
}

static uint64_t ex2_scalar(void *state)
{
    struct ex2 *e = state;
    for (size_t i = 0; i < EX2_WORDS; i++)
        e->y[i] = mxv_ex2(e->x[i], true);
    return e->y[EX2_WORDS / 2];
}

bool bench_ex2(const struct bench_row *row, const struct bench_options *options,
               struct bench_figure *figure)
{
    (void)row;
    struct ex2 *e = cli_realloc(NULL, sizeof *e);
    struct bench_random r = {2};
    double median, best;
    uint64_t unused;
    for (size_t i = 0; i < EX2_WORDS; i++)
        e->x[i] = word_of(-20 * fabsf(bench_normal(&r)));
    bench_time(ex2_scalar, e, options->seconds / 4, &median, &best, &unused);
    figure->scalar = EX2_WORDS / best;
    bench_time(ex2_work, e, options->seconds, &median, &best, &unused);
    figure->median = EX2_WORDS / median;
    figure->best = EX2_WORDS / best;
    figure->checksum = bench_mix(0, e->y, sizeof e->y);
    free(e);
    return true;
}
