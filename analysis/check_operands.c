// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Check: quantised operands of the foreign kernel against the operand taps of the emulation
// (docs/kernels/contract.md 8), under the options that O is judged by. The rows of a file lie as
// those of Q and K do; its last dimension must be that of the tap. Where several routes have the
// shape, the one with the fewest differing words is reported. Not handled: scales in a blocked
// layout (mxverify eval scale_offset undoes those), second-level scales.
// tests/unit/test_check.c fails if this is wrong.
#include "check_internal.h"
#include "head_status.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mxv_check_operand_name(unsigned operand)
{
#define X(id, name, text) name,
    static const char *const names[] = {MXV_CHECK_OPERANDS(X)};
#undef X
    return operand < MXV_CHECK_OPERAND_COUNT ? names[operand] : NULL;
}

static enum mxv_stage stage_of(unsigned operand)
{
#define X(id, name, text) MXV_STAGE_##id,
    static const enum mxv_stage stages[] = {MXV_CHECK_OPERANDS(X)};
#undef X
    return stages[operand];
}

struct comparison {
    const struct check_subject *s;
    enum mxv_stage stage;
    struct check_words words;
    struct mxv_check_operand by_route[MXV_ROUTE_COUNT];
};

static void take(void *ctx, const struct mxv_tap *tap)
{
    struct comparison *c = ctx;
    bool keys = c->stage == MXV_STAGE_K_CODE || c->stage == MXV_STAGE_K_SCALE;
    size_t tokens = keys ? c->s->lk : c->s->lq, group = c->s->heads / c->s->heads_kv;
    size_t head = keys ? tap->head / group : tap->head;
    if (tap->stage != c->stage || tap->cols != c->words.cols || tap->rows != tokens ||
        (keys && tap->head % group))
        return;
    struct mxv_check_operand *r = &c->by_route[tap->route];
    size_t first = (head * c->words.rows + tap->sequence * tokens) * tap->cols;
    r->found = true;
    for (size_t i = 0; i < tap->rows * tap->cols; i++) {
        uint32_t got = c->words.words[first + i];
        if (got != tap->words[i] && r->differing++ == 0) {
            r->head = head;
            r->row = i / tap->cols;
            r->col = i % tap->cols;
            r->expected = tap->words[i];
            r->got = got;
        }
    }
    r->words += tap->rows * tap->cols;
}

static void nearest(const struct comparison *c, struct mxv_check_operand *out)
{
    for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++) {
        const struct mxv_check_operand *r = &c->by_route[i];
        if (!r->found || (out->found && out->differing <= r->differing))
            continue;
        *out = *r;
        out->route = (enum mxv_route)i;
    }
    out->given = true;
}

static enum mxv_status compare(const struct check_subject *s, const struct mxv_attention *a,
                               struct comparison *c, char *message, size_t size)
{
    struct mxv_tap_sink sink = {take, c};
    uint32_t *out = malloc((s->lq * s->d + s->lq) * sizeof *out + 1);
    enum mxv_status status = out ? MXV_OK : MXV_ERR_MEMORY;
    if (!out)
        snprintf(message, size, "out of memory for a head of %zu rows", s->lq);
    for (size_t i = 0; i < s->batch * s->heads && status == MXV_OK; i++)
        status = status_of_head(mxv_engine_head(a, i / s->heads, i % s->heads, out,
                                                out + s->lq * s->d, &sink, message, size));
    free(out);
    return status;
}

static enum mxv_status one(const struct mxv_check_options *o, const struct check_subject *s,
                           const struct mxv_attention *a, unsigned operand,
                           struct mxv_check_result *r, char *message, size_t size)
{
    struct comparison c = {.s = s, .stage = stage_of(operand)};
    const char *name = mxv_check_operand_name(operand);
    bool keys = operand >= MXV_CHECK_K_CODE;
    enum mxv_status status =
        check_read_words(&o->operands[operand], name, o->layout, &c.words, message, size);
    if (status == MXV_OK && (c.words.heads != (keys ? s->heads_kv : s->heads) ||
                             c.words.rows != s->batch * (keys ? s->lk : s->lq))) {
        snprintf(message, size, "%s: its heads and tokens are not those of %s", name,
                 keys ? "k" : "q");
        status = MXV_ERR_INPUT;
    }
    if (status == MXV_OK)
        status = compare(s, a, &c, message, size);
    if (status == MXV_OK)
        nearest(&c, &r->operands[operand]);
    free(c.words.words);
    return status;
}

enum mxv_status check_operands(const struct mxv_check_options *o, const struct check_subject *s,
                               struct mxv_check_result *r, char *message, size_t size)
{
    struct mxv_case_data data;
    enum mxv_status status = mxv_case_build(&r->c, &data, message, size);
    if (status != MXV_OK)
        return status;
    for (unsigned i = 0; i < MXV_CHECK_OPERAND_COUNT && status == MXV_OK; i++)
        if (o->operands[i].where)
            status = one(o, s, &data.a, i, r, message, size);
    mxv_case_free(&data);
    return status;
}
