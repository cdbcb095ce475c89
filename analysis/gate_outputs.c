// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Mutants made from the words of the outputs, tried on every judged row of a head; where nothing is
// judged, against the emulation's words alone.
#include "verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct outputs {
    struct verification *v;
    struct head_result *h;
    const struct head_result *other; // next head of the sequence, NULL if there is none
    enum mxv_element format;
    size_t d, tile_m, middle;
};

static uint32_t scaled(const struct outputs *o, uint32_t word, double gain)
{
    return mxv_gate_word(o->format, mxv_code_value(o->format, word) * gain);
}

static uint32_t next_code(const struct outputs *o, uint32_t word)
{
    double x = mxv_code_value(o->format, word);
    return isfinite(x) ? word + 1 : word;
}

static uint32_t from_row(const struct outputs *o, size_t row, size_t c)
{
    return o->h->subject[row * o->d + c];
}

// Word (row, c) of a mutant.
static uint32_t mutated(const struct outputs *o, enum mxv_mutant m, size_t row, size_t c)
{
    const struct head_result *h = o->h;
    uint32_t own = from_row(o, row, c);
    size_t before = row ? row - 1 : 0, tile_before = row >= o->tile_m ? row - o->tile_m : row;
    size_t last_tile = (h->lq - 1) / o->tile_m, block = c ^ 32;
    switch (m) {
    case MXV_MUTANT_ZERO:
        return 0;
    case MXV_MUTANT_SIGN:
        return own ^ 1u << (mxv_element_get(o->format)->bits - 1);
    case MXV_MUTANT_GAIN_072:
        return scaled(o, own, 0.72);
    case MXV_MUTANT_GAIN_105:
        return scaled(o, own, 1.05);
    case MXV_MUTANT_ROW_ZERO:
        return row == o->middle ? 0 : own;
    case MXV_MUTANT_TILE_ZERO:
        return row / o->tile_m == last_tile ? 0 : own;
    case MXV_MUTANT_ULP:
        return next_code(o, own);
    case MXV_MUTANT_ROW_BEFORE:
        return from_row(o, before, c);
    case MXV_MUTANT_TILE_BEFORE:
        return from_row(o, tile_before, c);
    case MXV_MUTANT_HEAD_OTHER:
        return o->other ? o->other->subject[row * o->d + c] : own;
    case MXV_MUTANT_CHANNEL_SHIFT:
        return from_row(o, row, (c + 1) % o->d);
    case MXV_MUTANT_CHANNEL_BLOCKS:
        return block < o->d ? from_row(o, row, block) : own;
    default:
        return own;
    }
}

// A NaN word must not turn into another NaN that counts as different; -0 is not -(-0) wrong.
static void fill(const struct outputs *o, enum mxv_mutant m, uint32_t *words)
{
    for (size_t i = 0; i < o->h->row_count; i++)
        for (size_t c = 0; c < o->d; c++)
            words[i * o->d + c] = mutated(o, m, o->h->rows[i], c);
}

static void fill_own(const struct outputs *o, uint32_t *words)
{
    for (size_t i = 0; i < o->h->row_count; i++)
        memcpy(words + i * o->d, o->h->subject + o->h->rows[i] * o->d, o->d * sizeof *words);
}

static void try_all(struct outputs *o, uint32_t *own, uint32_t *words)
{
    struct head_result *h = o->h;
    fill_own(o, own);
    const struct mxv_gate_output view = {
        .format = o->format,
        .rows = h->row_count,
        .d = o->d,
        .words = own,
        .judged = h->judged,
        .centre = h->centre,
        .noise = h->noise,
        .rest = h->rest,
        .model_centre = h->model_centre,
        .model_noise = h->model_noise,
        .model = h->model,
    };
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++)
        if (mxv_mutant_get(m)->kind == MXV_MUTANT_KIND_OUTPUT) {
            fill(o, (enum mxv_mutant)m, words);
            mxv_gate_try(&view, (enum mxv_mutant)m, words, &h->gate);
        }
    mxv_gate_limits(&view, &h->gate);
}

enum mxv_status gate_head(struct verification *v, struct head_result *h)
{
    const struct mxv_attention *a = &v->data.a;
    size_t all = h->row_count * a->d;
    if (!all || !h->centre)
        return MXV_OK;
    size_t next = (size_t)(h - v->results) + 1;
    bool has_next = h->head + 1 < a->heads_q;
    struct outputs o = {.v = v,
                        .h = h,
                        .other = has_next         ? &v->results[next]
                                 : a->heads_q > 1 ? &v->results[next - a->heads_q]
                                                  : NULL,
                        .format = a->out,
                        .d = a->d,
                        .tile_m = a->tile_m,
                        .middle = h->rows[h->row_count / 2]};
    uint32_t *words = malloc(2 * all * sizeof *words);
    if (!words)
        return verify_no_memory(h, "mutants of the output");
    try_all(&o, words + all, words);
    free(words);
    return MXV_OK;
}
