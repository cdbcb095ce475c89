// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a head while a case is judged: memory, and the sinks that sort taps into score
// sheets and softmax state beside their digests.
#include "verify.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t tiles_of(size_t tokens, size_t tile)
{
    return (tokens + tile - 1) / tile;
}

static void take_scores(struct collector *c, const struct mxv_tap *tap)
{
    size_t key = tap->tile_k * c->a->tile_n, row = tap->tile_q * c->a->tile_m;
    size_t cols = c->lk - key < tap->cols ? c->lk - key : tap->cols;
    size_t tiles = tiles_of(c->lk, c->a->tile_n);
    c->sheet->routes[tap->tile_q * tiles + tap->tile_k] = (uint8_t)tap->route;
    for (size_t r = 0; r < tap->rows; r++)
        memcpy(&c->sheet->scores[(row + r) * c->lk + key], &tap->words[r * tap->cols],
               cols * sizeof(float));
}

static void take_weights(struct collector *c, const struct mxv_tap *tap)
{
    size_t key = tap->tile_k * c->a->tile_n, row = tap->tile_q * c->a->tile_m;
    size_t cols = c->lk - key < tap->cols ? c->lk - key : tap->cols;
    for (size_t r = 0; r < tap->rows; r++)
        for (size_t n = 0; n < cols; n++) {
            uint32_t word = mxv_element_to_f32(c->a->vt, tap->words[r * tap->cols + n]);
            memcpy(&c->state->weights[(row + r) * c->lk + key + n], &word, sizeof word);
        }
}

static void keep_words(struct collector *c, const struct mxv_tap *tap, uint32_t **kept)
{
    size_t n = tap->rows * tap->cols;
    free(*kept);
    *kept = malloc((n + 1) * sizeof **kept);
    if (!*kept) {
        c->out_of_memory = true;
        return;
    }
    memcpy(*kept, tap->words, n * sizeof **kept);
}

static void take_key_scales(struct collector *c, const struct mxv_tap *tap)
{
    keep_words(c, tap, &c->state->key_scales[tap->route]);
    c->state->key_blocks[tap->route] = tap->cols;
}

static void take_state(struct collector *c, const struct mxv_tap *tap)
{
    size_t tiles = tiles_of(c->lk, c->a->tile_n), row = tap->tile_q * c->a->tile_m;
    if (tap->stage == MXV_STAGE_WEIGHT)
        take_weights(c, tap);
    else if (tap->stage == MXV_STAGE_K_SCALE)
        take_key_scales(c, tap);
    else if (tap->stage == MXV_STAGE_Q_SCALE && c->a->fold && tap->route == MXV_ROUTE_INT8)
        keep_words(c, tap, &c->state->query_scales);
    else if (tap->stage == MXV_STAGE_V_SCALE && c->a->vt == MXV_E4M3 && tap->rows)
        memcpy(&c->state->v_scale, tap->words, sizeof c->state->v_scale);
    for (size_t r = 0; tap->stage == MXV_STAGE_MAX && r < tap->rows; r++)
        memcpy(&c->state->maxima[(row + r) * tiles + tap->tile_k], &tap->words[r], sizeof(float));
    for (size_t r = 0; tap->stage == MXV_STAGE_SUM && r < tap->rows; r++) {
        memcpy(&c->state->sums[row + r], &tap->words[r], sizeof(float));
        c->state->tile_sums[(row + r) * tiles + tap->tile_k] = c->state->sums[row + r];
    }
    for (size_t r = 0; tap->stage == MXV_STAGE_ACC && r < tap->rows; r++) {
        size_t place = c->state->place_of[row + r];
        if (place != SIZE_MAX)
            memcpy(&c->state->acc[(place * tiles + tap->tile_k) * tap->cols],
                   &tap->words[r * tap->cols], tap->cols * sizeof(float));
    }
}

void verify_collect(void *ctx, const struct mxv_tap *tap)
{
    struct collector *c = ctx;
    c->digest.take(c->digest.ctx, tap);
    if (tap->stage == MXV_STAGE_SCORE && c->sheet->scores)
        take_scores(c, tap);
    else if (c->state && c->state->weights)
        take_state(c, tap);
}

static int sheet_allocate(struct score_sheet *s, const struct mxv_attention *a, size_t lq,
                          size_t lk)
{
    size_t tiles = tiles_of(lq, a->tile_m) * tiles_of(lk, a->tile_n);
    s->scores = malloc((lq * lk + 1) * sizeof *s->scores);
    s->routes = malloc(tiles + 1);
    if (!s->scores || !s->routes)
        return -1;
    for (size_t i = 0; i < lq * lk; i++)
        s->scores[i] = NAN;
    memset(s->routes, MXV_ROUTE_SKIP, tiles + 1);
    return 0;
}

static int state_allocate(struct head_result *h, const struct mxv_attention *a)
{
    struct state_sheet *s = &h->state;
    size_t lq = h->lq, lk = h->lk, tiles = tiles_of(lk, a->tile_n);
    s->v_scale = 1;
    s->tile_sums = calloc(lq * tiles + 1, sizeof *s->tile_sums);
    s->acc = calloc(h->row_count * tiles * a->d + 1, sizeof *s->acc);
    s->place_of = malloc((lq + 1) * sizeof *s->place_of);
    if (!s->tile_sums || !s->acc || !s->place_of)
        return -1;
    memset(s->place_of, 0xff, (lq + 1) * sizeof *s->place_of);
    for (size_t i = 0; i < h->row_count; i++)
        s->place_of[h->rows[i]] = i;
    s->weights = calloc(lq * lk + 1, sizeof *s->weights);
    s->maxima = calloc(lq * tiles_of(lk, a->tile_n) + 1, sizeof *s->maxima);
    s->sums = calloc(lq + 1, sizeof *s->sums);
    return s->weights && s->maxima && s->sums ? 0 : -1;
}

int head_allocate(struct verification *v, struct head_result *h)
{
    const struct mxv_attention *a = &v->data.a;
    size_t n = h->lq * a->d + 1;
    h->emulated = calloc(n, sizeof *h->emulated);
    h->subject = calloc(n, sizeof *h->subject);
    h->emulated_lse = calloc(h->lq + 1, sizeof *h->emulated_lse);
    h->subject_lse = calloc(h->lq + 1, sizeof *h->subject_lse);
    mxv_tap_record_init(&h->emulated_taps);
    mxv_tap_record_init(&h->subject_taps);
    mxv_gate_report_init(&h->gate);
    if (!h->emulated || !h->subject || !h->emulated_lse || !h->subject_lse ||
        sheet_allocate(&h->emulated_scores, a, h->lq, h->lk) ||
        sheet_allocate(&h->subject_scores, a, h->lq, h->lk) ||
        (v->options->truth && verify_choose_rows(v, h)) ||
        (v->options->truth && v->bounded && state_allocate(h, a))) {
        snprintf(h->message, sizeof h->message, "out of memory for a head of %zu x %zu scores",
                 h->lq, h->lk);
        return -1;
    }
    // a word the implementation does not write must not pass
    memset(h->subject, 0xA5, n * sizeof *h->subject);
    memset(h->subject_lse, 0xA5, (h->lq + 1) * sizeof *h->subject_lse);
    return 0;
}

enum mxv_status verify_no_memory(struct head_result *h, const char *for_what)
{
    snprintf(h->message, sizeof h->message, "out of memory for %s", for_what);
    return MXV_ERR_MEMORY;
}

void head_free(struct head_result *h)
{
    void *const all[] = {h->emulated,
                         h->subject,
                         h->emulated_lse,
                         h->subject_lse,
                         h->emulated_scores.scores,
                         h->emulated_scores.routes,
                         h->subject_scores.scores,
                         h->subject_scores.routes,
                         h->state.query_scales,
                         h->state.weights,
                         h->state.maxima,
                         h->state.sums,
                         h->state.tile_sums,
                         h->state.acc,
                         h->state.place_of,
                         h->causes,
                         h->bounded_rows,
                         h->rows,
                         h->undefined,
                         h->unscored,
                         h->from_inputs,
                         h->from_operands,
                         h->score_error,
                         h->operand_scores,
                         h->judged,
                         h->centre,
                         h->lse_truth};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
        free(h->state.key_scales[r]);
    mxv_tap_record_free(&h->emulated_taps);
    mxv_tap_record_free(&h->subject_taps);
}
