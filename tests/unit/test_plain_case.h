// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Small attention calls for the tests of the plain emulation, and a recorder of their taps.
//
// The softmax scale of a case makes the binary32 of scale * log2 e exactly 1, so that scores are
// the dot products themselves, in log2 units, under both argument styles.
#ifndef MXV_TEST_PLAIN_CASE_H
#define MXV_TEST_PLAIN_CASE_H

// cmocka.h wants the first four.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mxverify/attention.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_TAPS_MAX = 512, CASE_SEQUENCES_MAX = 4 };

struct plain_case {
    struct mxv_attention a;
    size_t cu_q[CASE_SEQUENCES_MAX + 1], cu_k[CASE_SEQUENCES_MAX + 1];
    float *q, *k, *v;
    struct mxv_tap tap[CASE_TAPS_MAX]; // words are copies
    size_t taps;
    uint32_t *out, *lse;
};

static inline float case_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static inline uint32_t case_word(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

// All inputs zero. Shapes, heads and options may be changed before case_tensors.
static inline void case_defaults(struct plain_case *t, enum mxv_kernel kernel, enum mxv_arch arch,
                                 size_t lq, size_t lk)
{
    const bool released = kernel == MXV_KERNEL_DMA_RELEASED;
    memset(t, 0, sizeof *t);
    t->cu_q[1] = lq;
    t->cu_k[1] = lk;
    t->a = (struct mxv_attention){.kernel = kernel,
                                  .arch = arch,
                                  .sequences = 1,
                                  .heads_q = 1,
                                  .heads_kv = 1,
                                  .d = released ? 128 : 32,
                                  .in = MXV_F32,
                                  .vt = MXV_F16,
                                  .out = MXV_F32,
                                  .scale = 1.0 / 1.4426950408889634,
                                  .left = -1,
                                  .right = -1,
                                  .tile_m = released ? 128 : 16,
                                  .tile_n = released ? 128 : 32,
                                  .lse = released ? MXV_LSE_NONE : MXV_LSE_TWO,
                                  .low = released ? MXV_LOW_NVFP4 : MXV_LOW_MXFP4,
                                  .diag = 1,
                                  .sink = 1,
                                  .word_bits = 32,
                                  .words_per_row = 1,
                                  .group = 1};
}

static inline void case_tensors(struct plain_case *t)
{
    struct mxv_attention *a = &t->a;
    const size_t rows = a->heads_q * t->cu_q[a->sequences];
    const size_t keys = a->heads_kv * t->cu_k[a->sequences];
    t->q = calloc(rows * a->d + 1, sizeof(float));
    t->k = calloc(keys * a->d + 1, sizeof(float));
    t->v = calloc(keys * a->d + 1, sizeof(float));
    t->out = calloc(rows * a->d + 1, sizeof(uint32_t));
    t->lse = calloc(rows + 1, sizeof(uint32_t));
    assert_true(t->q && t->k && t->v && t->out && t->lse);
    a->cu_q = t->cu_q;
    a->cu_k = t->cu_k;
    a->q = t->q;
    a->k = t->k;
    a->v = t->v;
}

static inline void case_forget_taps(struct plain_case *t)
{
    while (t->taps > 0)
        free((void *)(uintptr_t)t->tap[--t->taps].words);
}

static inline void case_free(struct plain_case *t)
{
    case_forget_taps(t);
    free(t->q);
    free(t->k);
    free(t->v);
    free(t->out);
    free(t->lse);
}

static inline void case_take(void *ctx, const struct mxv_tap *tap)
{
    struct plain_case *t = ctx;
    const size_t count = tap->rows * tap->cols;
    uint32_t *words = malloc((count + 1) * sizeof *words);
    assert_non_null(words);
    assert_true(t->taps < CASE_TAPS_MAX);
    if (count)
        memcpy(words, tap->words, count * sizeof *words);
    t->tap[t->taps] = *tap;
    t->tap[t->taps++].words = words;
}

static inline void case_run(struct plain_case *t, size_t sequence, size_t head)
{
    const struct mxv_tap_sink sink = {case_take, t};
    char message[200] = "";
    case_forget_taps(t);
    if (mxv_plain_head(&t->a, sequence, head, t->out, t->lse, &sink, message, sizeof message) != 0)
        fail_msg("refused: %s", message);
}

// The number-th tap (from 0) of a stage; fails if there is none.
static inline const struct mxv_tap *case_tap(const struct plain_case *t, enum mxv_stage stage,
                                             size_t number)
{
    for (size_t n = 0; n < t->taps; n++)
        if (t->tap[n].stage == stage && number-- == 0)
            return &t->tap[n];
    fail_msg("no such tap: %s", mxv_choice_name(MXV_CHOICE_STAGE, stage));
    return NULL;
}

static inline float case_out(const struct plain_case *t, size_t row, size_t channel)
{
    return case_float(t->out[row * t->a.d + channel]);
}

// Numbers for tests that need arbitrary data: 24 bits of a linear congruential generator.
static inline uint32_t case_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 40);
}

#endif
