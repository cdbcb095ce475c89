// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole record against the emulation, word by word in the order of the taps. See
// mxverify/recorded.h. tests/golden/test_recorded_whole.c fails if this is wrong.
#include <inttypes.h>
#include <mxverify/compare.h>
#include <mxverify/recorded.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct comparison {
    const struct mxv_recorded *r;
    const struct mxv_attention *a;
    struct mxv_recorded_comparison *c;
    bool *seen;    // [tap_count]
    size_t cursor; // the tap after the one found last
    bool results;  // the record has the stages out and lse alone
    bool named;    // c->first is set
};

static bool same(enum mxv_element format, enum mxv_stage stage, uint32_t x, uint32_t y)
{
    if (x == y)
        return true;
    if (stage == MXV_STAGE_MAX && ((x | y) & 0x7fffffffu) == 0)
        return true;
    return mxv_element_is_nan(format, x) && mxv_element_is_nan(format, y);
}

static bool same_key(const struct mxv_tap_key *k, const struct mxv_tap *t)
{
    return k->stage == t->stage && k->route == t->route && k->sequence == t->sequence &&
           k->head == t->head && k->tile_q == t->tile_q && k->tile_k == t->tile_k;
}

// The recorded tap; NULL: none, or none that no earlier one was.
static const struct mxv_recorded_tap *find(struct comparison *c, const struct mxv_tap *t)
{
    for (size_t n = 0; n < c->r->tap_count; n++) {
        const size_t i = (c->cursor + n) % c->r->tap_count;
        if (!c->seen[i] && same_key(&c->r->taps[i].key, t)) {
            c->seen[i] = true;
            c->cursor = i + 1;
            return &c->r->taps[i];
        }
    }
    return NULL;
}

static void name_missing(struct comparison *c, const struct mxv_tap_key *key)
{
    c->c->missing++;
    if (!c->named)
        c->c->first = *key;
    c->named = true;
}

static void name_element(struct comparison *c, const struct mxv_tap *t, enum mxv_element format,
                         size_t i, uint32_t device)
{
    struct mxv_tap_key key = {t->stage, t->route, t->sequence, t->head, t->tile_q, t->tile_k};
    if (t->stage == MXV_STAGE_OUT || t->stage == MXV_STAGE_LSE)
        key.tile_q = i / t->cols / c->a->tile_m;
    c->named = true;
    c->c->first = key;
    c->c->format = format;
    c->c->element = (struct mxv_tap_element){.row = i / t->cols,
                                             .col = i % t->cols,
                                             .word_a = t->words[i],
                                             .word_b = device,
                                             .value_a = mxv_code_value(format, t->words[i]),
                                             .value_b = mxv_code_value(format, device),
                                             .ulp = mxv_ulp_distance(format, t->words[i], device),
                                             .rows = t->rows,
                                             .cols = t->cols};
}

static void compare_tap(void *ctx, const struct mxv_tap *t)
{
    struct comparison *c = ctx;
    if (c->results && t->stage != MXV_STAGE_OUT && t->stage != MXV_STAGE_LSE)
        return;
    const struct mxv_recorded_tap *device = find(c, t);
    if (!device || device->rows != t->rows || device->cols != t->cols) {
        name_missing(c, &(struct mxv_tap_key){t->stage, t->route, t->sequence, t->head, t->tile_q,
                                              t->tile_k});
        return;
    }
    const enum mxv_element format = mxv_tap_format(c->a, t->stage, t->route);
    size_t differing = 0;
    bool here = false;
    for (size_t i = 0; i < t->rows * t->cols; i++)
        if (!same(format, t->stage, device->words[i], t->words[i])) {
            differing++;
            if (!c->named) {
                name_element(c, t, format, i, device->words[i]);
                here = true;
            }
        }
    if (here)
        c->c->element.differing = differing;
    c->c->differing += differing;
    c->c->taps++;
    c->c->words += t->rows * t->cols;
}

static bool results_alone(const struct mxv_recorded *r)
{
    for (size_t i = 0; i < r->tap_count; i++)
        if (r->taps[i].key.stage != MXV_STAGE_OUT && r->taps[i].key.stage != MXV_STAGE_LSE)
            return false;
    return true;
}

static enum mxv_status compare_heads(struct comparison *c, uint32_t *out, char *message,
                                     size_t size)
{
    const struct mxv_attention *a = c->a;
    const struct mxv_tap_sink sink = {compare_tap, c};
    int status;
    for (size_t head = 0; head < a->heads_q; head++)
        for (size_t s = 0; s < a->sequences; s++)
            if ((status = mxv_engine_head(a, s, head, out, NULL, &sink, message, size)))
                return status == MXV_HEAD_NO_MEMORY ? MXV_ERR_MEMORY : MXV_ERR_INPUT;
    return MXV_OK;
}

enum mxv_status mxv_recorded_compare(const struct mxv_recorded *r, const struct mxv_attention *a,
                                     struct mxv_recorded_comparison *out, char *message,
                                     size_t size)
{
    *out = (struct mxv_recorded_comparison){0};
    uint32_t *words = malloc((a->cu_q[a->sequences] * a->d + 1) * sizeof *words);
    struct comparison c = {r, a, out, calloc(r->tap_count + 1, sizeof *c.seen), 0, false, false};
    c.results = results_alone(r);
    enum mxv_status status = words && c.seen ? MXV_OK : MXV_ERR_MEMORY;
    if (status == MXV_OK)
        status = compare_heads(&c, words, message, size);
    else
        snprintf(message, size, "out of memory");
    for (size_t i = 0; status == MXV_OK && i < r->tap_count; i++)
        if (!c.seen[i])
            name_missing(&c, &r->taps[i].key);
    free(words);
    free(c.seen);
    return status;
}

void mxv_recorded_comparison_print(const struct mxv_recorded_comparison *c, char *text, size_t size)
{
    const struct mxv_tap_key *k = &c->first;
    const struct mxv_tap_element *e = &c->element;
    char where[96] = "only one side has this tap";
    if (e->rows)
        snprintf(where, sizeof where,
                 "row %zu, column %zu: device %08" PRIx32 ", emulation %08" PRIx32, e->row, e->col,
                 e->word_b, e->word_a);
    snprintf(
        text, size, "stage %s, route %s, sequence %zu, head %zu, query tile %zu, key tile %zu, %s",
        mxv_choice_name(MXV_CHOICE_STAGE, k->stage), mxv_choice_name(MXV_CHOICE_ROUTE, k->route),
        k->sequence, k->head, k->tile_q, k->tile_k, where);
}
