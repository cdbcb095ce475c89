// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a small case, written out around its first difference: inputs, and what the
// emulation and the implementation make of them. Scores and weights come from taps of a second run;
// an adapter is not run again, so that only its expected numbers are given.
// tests/gate/test_shrink.c fails if a printed score is not that of the tap.
#include "case_internal.h"
#include "shrink_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, KEYS = 8 };

// Scores and weights of one head, NaN where no tile was processed.
struct sheet_pair {
    const struct mxv_attention *a;
    size_t lq, lk;
    float *scores, *weights; // [lq][lk]
    uint32_t *out, *lse;     // [lq][d], [lq]
};

static float word_value(enum mxv_element format, uint32_t code)
{
    uint32_t word = format == MXV_F32 ? code : mxv_element_to_f32(format, code);
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static void take(void *ctx, const struct mxv_tap *tap)
{
    struct sheet_pair *s = ctx;
    bool score = tap->stage == MXV_STAGE_SCORE;
    if (!score && tap->stage != MXV_STAGE_WEIGHT)
        return;
    enum mxv_element format = mxv_tap_format(s->a, tap->stage, tap->route);
    float *to = score ? s->scores : s->weights;
    size_t top = tap->tile_q * s->a->tile_m, left = tap->tile_k * s->a->tile_n;
    for (size_t r = 0; r < tap->rows; r++)
        for (size_t c = 0; c < tap->cols && left + c < s->lk; c++)
            to[(top + r) * s->lk + left + c] = word_value(format, tap->words[r * tap->cols + c]);
}

static int pair_make(struct sheet_pair *s, const struct mxv_attention *a, size_t lq, size_t lk)
{
    size_t n = lq * lk;
    *s = (struct sheet_pair){.a = a, .lq = lq, .lk = lk};
    s->scores = malloc((n + 1) * sizeof(float));
    s->weights = malloc((n + 1) * sizeof(float));
    s->out = calloc(lq * a->d + 1, sizeof *s->out);
    s->lse = calloc(lq + 1, sizeof *s->lse);
    if (!s->scores || !s->weights || !s->out || !s->lse)
        return -1;
    for (size_t i = 0; i < n; i++)
        s->scores[i] = s->weights[i] = NAN;
    return 0;
}

static void pair_free(struct sheet_pair *s)
{
    free(s->scores);
    free(s->weights);
    free(s->out);
    free(s->lse);
}

// What to show: rows r0..r1-1, keys k0..k1-1.
struct window {
    size_t r0, r1, k0, k1;
};

static size_t place(size_t at, size_t span, size_t count, size_t *end)
{
    size_t first = at / span * span;
    if (first >= count)
        first = count ? (count - 1) / span * span : 0;
    *end = first + span < count ? first + span : count;
    return first;
}

static struct window window_of(const struct mxv_attention *a, const struct mxv_verify_result *v,
                               size_t lq, size_t lk)
{
    const struct mxv_tap_key *key = &v->first.key;
    size_t row = key->tile_q * a->tile_m, col = key->tile_k * a->tile_n;
    size_t r = v->element.rows ? v->element.row : 0, c = v->element.rows ? v->element.col : 0;
    struct window w;
    switch (key->stage) {
    case MXV_STAGE_K_SIGMA:
    case MXV_STAGE_K_SCALE:
    case MXV_STAGE_K_CODE:
    case MXV_STAGE_V_SCALE:
    case MXV_STAGE_V_CODE:
        col = r;
        row = 0;
        break;
    case MXV_STAGE_SCORE:
    case MXV_STAGE_WEIGHT:
        row += r;
        col += c;
        break;
    default:
        row += r;
    }
    w.r0 = place(row, ROWS, lq, &w.r1);
    w.k0 = place(col, KEYS, lk, &w.k1);
    return w;
}

static void print_vector(FILE *f, const char *name, size_t i, const float *x, size_t n)
{
    fprintf(f, "%s[%zu]", name, i);
    for (size_t c = 0; c < n; c++)
        fprintf(f, "%s%.6g", c && c % 16 == 0 ? "\n      " : " ", (double)x[c]);
    fprintf(f, "\n");
}

static void print_row(FILE *f, const char *name, size_t row, const float *x, const struct window *w)
{
    if (!x)
        return;
    fprintf(f, "  %-8s", name);
    for (size_t k = w->k0; k < w->k1; k++)
        fprintf(f, " %12.6g", (double)x[row + k]);
    fprintf(f, "\n");
}

static void print_sheets(FILE *f, const struct window *w, const char *name, size_t lk,
                         const float *expected, const float *got)
{
    for (size_t r = w->r0; r < w->r1; r++) {
        fprintf(f, "%s of row %zu, keys %zu to %zu\n", name, r, w->k0, w->k1 - 1);
        print_row(f, "expected", r * lk, expected, w);
        print_row(f, "got", r * lk, got, w);
    }
}

static void print_output(FILE *f, const struct window *w, const struct sheet_pair *e,
                         const struct sheet_pair *g)
{
    size_t d = e->a->d;
    for (size_t r = w->r0; r < w->r1; r++)
        for (int side = 0; side < (g ? 2 : 1); side++) {
            const struct sheet_pair *s = side ? g : e;
            fprintf(f, "out of row %zu, %s\n     ", r, side ? "got" : "expected");
            for (size_t c = 0; c < d; c++)
                fprintf(f, "%s%.6g", c && c % 16 == 0 ? "\n      " : " ",
                        (double)word_value(e->a->out, s->out[r * d + c]));
            if (e->a->lse != MXV_LSE_NONE)
                fprintf(f, "\n      lse %.9g", (double)word_value(MXV_F32, s->lse[r]));
            fprintf(f, "\n");
        }
}

static void print_all(FILE *f, const struct mxv_attention *a, const struct mxv_verify_result *v,
                      const struct sheet_pair *e, const struct sheet_pair *g)
{
    size_t s = v->first.key.sequence, head = v->first.key.head;
    size_t kv = head / (a->heads_q / a->heads_kv);
    struct window w = window_of(a, v, e->lq, e->lk);
    const float *q = a->q + (head * a->cu_q[a->sequences] + a->cu_q[s]) * a->d;
    size_t keys = (kv * a->cu_k[a->sequences] + a->cu_k[s]) * a->d;
    fprintf(f, "sequence %zu, query head %zu of %zu x %zu scores, softmax scale %.17g\n", s, head,
            e->lq, e->lk, a->scale);
    for (size_t r = w.r0; r < w.r1; r++)
        print_vector(f, "q", r, q + r * a->d, a->d);
    for (size_t k = w.k0; k < w.k1; k++)
        print_vector(f, "k", k, a->k + keys + k * a->d, a->d);
    for (size_t k = w.k0; k < w.k1; k++)
        print_vector(f, "v", k, a->v + keys + k * a->d, a->d);
    print_sheets(f, &w, "score", e->lk, e->scores, g ? g->scores : NULL);
    print_sheets(f, &w, "weight", e->lk, e->weights, g ? g->weights : NULL);
    print_output(f, &w, e, g);
}

static int run_pair(struct sheet_pair *s, const struct mxv_attention *call, bool plain,
                    const struct mxv_verify_result *v, char *message, size_t size)
{
    struct mxv_tap_sink sink = {take, s};
    return (plain ? mxv_plain_head : mxv_engine_head)(
        call, v->first.key.sequence, v->first.key.head, s->out, s->lse, &sink, message, size);
}

static char *numbers(struct mxv_case_data *data, const struct mxv_verify_options *options,
                     const struct mxv_verify_result *v, char *message, size_t size)
{
    struct mxv_attention *a = &data->a, subject = *a;
    size_t s = v->first.key.sequence;
    size_t lq = a->cu_q[s + 1] - a->cu_q[s], lk = a->cu_k[s + 1] - a->cu_k[s], length;
    bool known = !options->adapter, plain = options->impl == MXV_IMPL_PLAIN && !subject.faults;
    struct sheet_pair e, g = {.a = NULL};
    char *text = NULL;
    a->faults = 0;
    text_message(message, size, "out of memory");
    int bad = pair_make(&e, a, lq, lk) || pair_make(&g, a, lq, lk);
    if (!bad)
        bad = run_pair(&e, a, false, v, message, size) ||
              (known && run_pair(&g, &subject, plain, v, message, size));
    FILE *f = bad ? NULL : open_memstream(&text, &length);
    if (f) {
        print_all(f, a, v, &e, known ? &g : NULL);
        if (fclose(f)) {
            free(text);
            text = NULL;
        }
    }
    pair_free(&e);
    pair_free(&g);
    return text;
}

char *mxv_shrink_numbers(const struct mxv_case *c, const struct mxv_verify_options *options,
                         const struct mxv_verify_result *verified, char *message, size_t size)
{
    struct mxv_case_data data;
    if (mxv_case_build(c, &data, message, size) != MXV_OK)
        return NULL;
    char *text = numbers(&data, options, verified, message, size);
    mxv_case_free(&data);
    return text;
}
