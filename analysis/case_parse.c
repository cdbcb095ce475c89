// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading a case line. Grammar (docs/case-language.md): KERNEL { blank KEY=VALUE }, blanks being
// spaces and tabs; keys in any order, each at most once. Messages begin with the column, counted
// from 1, of the word that is wrong.
// tests/unit/test_case_errors.c, tests/unit/test_case.c and tests/fuzz/fuzz_case.c fail if this is
// wrong.
#include "case_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    struct mxv_case *c;
    char *message;
    size_t size;
    size_t column[MXV_FIELD_COUNT]; // where a field was set, 0 if it was not
};

struct word {
    const char *text;
    size_t length, column;
};

// Next word of a line; length 0 at its end.
static struct word next_word(const char *line, size_t *at)
{
    struct word w;
    *at += strspn(line + *at, " \t");
    w.text = line + *at;
    w.length = strcspn(w.text, " \t\r\n");
    w.column = *at + 1;
    *at += w.length;
    return w;
}

static enum mxv_status add_kernel_names(const struct word *w, char *message, size_t size)
{
    struct text t = {message, size, 0};
    text_add(&t, "column %zu: %s`%.*s`; kernels:", w->column,
             w->length ? "unknown kernel " : "no kernel ", (int)(w->length < 60 ? w->length : 60),
             w->text);
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        text_add(&t, " %s", mxv_choice_name(MXV_CHOICE_KERNEL, k));
    return MXV_ERR_INPUT;
}

static enum mxv_status read_kernel(const struct word *w, enum mxv_kernel *out, char *message,
                                   size_t size)
{
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        const char *name = mxv_choice_name(MXV_CHOICE_KERNEL, k);
        if (strlen(name) == w->length && memcmp(name, w->text, w->length) == 0) {
            *out = (enum mxv_kernel)k;
            return MXV_OK;
        }
    }
    return add_kernel_names(w, message, size);
}

// `window=N` is written left=N-1.
static bool is_window(enum mxv_kernel kernel, const char *key)
{
    return strcmp(key, "window") == 0 && case_field_find(kernel, "left") != MXV_FIELD_COUNT;
}

static int read_window(struct mxv_case *c, const char *value, char *why, size_t size)
{
    char left[32];
    char *end;
    size_t digits = strspn(value, "0123456789");
    unsigned long n = digits > 0 && digits < 9 ? strtoul(value, &end, 10) : 0;
    if (n == 0 || value[digits]) {
        text_message(why, size, "whole number, 1..1048577");
        return -1;
    }
    snprintf(left, sizeof left, "%lu", n - 1);
    return case_field_read(c, MXV_FIELD_LEFT, left, why, size);
}

// Keys that the kernel does not have: says so when another one has them.
static enum mxv_status unknown_key(struct mxv_case *c, const char *key, char *message, size_t size)
{
    struct text t = {message, size, 0};
    text_add(&t, "unknown key `%.60s`", key);
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        if (strcmp(mxv_case_field_get((enum mxv_case_field)f)->key, key) == 0) {
            t.length = 0;
            text_add(&t, "key `%s` does not apply to kernel %s", key,
                     mxv_choice_name(MXV_CHOICE_KERNEL, c->kernel));
            break;
        }
    }
    text_add(&t, "; keys:");
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        const struct mxv_case_field_info *info = mxv_case_field_get((enum mxv_case_field)f);
        if (info->kernels >> c->kernel & 1)
            text_add(&t, " %s", info->key);
    }
    return MXV_ERR_INPUT;
}

// KEY=VALUE into the case; *field is the field it set.
static enum mxv_status assign(struct mxv_case *c, const char *text, enum mxv_case_field *field,
                              char *message, size_t size)
{
    char key[64], why[2048];
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (n == 0 || n >= sizeof key) {
        text_message(message, size, "`%.60s`: expected key=value", text);
        return MXV_ERR_INPUT;
    }
    memcpy(key, text, n);
    key[n] = '\0';
    bool window = is_window(c->kernel, key);
    *field = window ? MXV_FIELD_LEFT : case_field_find(c->kernel, key);
    if (*field == MXV_FIELD_COUNT)
        return unknown_key(c, key, message, size);
    if (window ? read_window(c, equals + 1, why, sizeof why)
               : case_field_read(c, *field, equals + 1, why, sizeof why)) {
        text_message(message, size, "%s=%.80s: bad value; allowed: %s", key, equals + 1, why);
        return MXV_ERR_INPUT;
    }
    return MXV_OK;
}

// Puts `column N: ` before what a callee said.
static enum mxv_status at_column(enum mxv_status status, size_t column, const char *said,
                                 char *message, size_t size)
{
    text_message(message, size, "column %zu: %s", column, said);
    return status;
}

static enum mxv_status read_word(struct scan *scan, const struct word *w)
{
    char said[4096], *text = malloc(w->length + 1);
    enum mxv_case_field field;
    if (!text)
        return at_column(MXV_ERR_MEMORY, w->column, "out of memory", scan->message, scan->size);
    memcpy(text, w->text, w->length);
    text[w->length] = '\0';
    enum mxv_status status = assign(scan->c, text, &field, said, sizeof said);
    if (status == MXV_OK && scan->column[field]) {
        text_message(said, sizeof said, "%.200s: %s was set before, at column %zu", text,
                     mxv_case_field_get(field)->key, scan->column[field]);
        status = MXV_ERR_INPUT;
    }
    free(text);
    if (status != MXV_OK)
        return at_column(status, w->column, said, scan->message, scan->size);
    scan->column[field] = w->column;
    return MXV_OK;
}

// Shape fields that were not written are open where `input` or `seqs` gives them.
static void open_shape(struct scan *scan)
{
    static const enum mxv_case_field shape[] = {MXV_FIELD_BATCH,    MXV_FIELD_HEADS_Q,
                                                MXV_FIELD_HEADS_KV, MXV_FIELD_LQ,
                                                MXV_FIELD_LK,       MXV_FIELD_D};
    struct mxv_case base;
    size_t *const to[] = {&scan->c->batch, &scan->c->heads_q, &scan->c->heads_kv,
                          &scan->c->lq,    &scan->c->lk,      &scan->c->d};
    case_base(scan->c, &base);
    const size_t from[] = {base.batch, base.heads_q, base.heads_kv, base.lq, base.lk, base.d};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        if (!scan->column[shape[i]])
            *to[i] = from[i];
}

static enum mxv_status refuse_both(struct scan *scan, enum mxv_case_field first,
                                   enum mxv_case_field second)
{
    char said[200];
    if (!scan->column[first] || !scan->column[second])
        return MXV_OK;
    text_message(said, sizeof said, "%s: not together with %s", mxv_case_field_get(second)->key,
                 mxv_case_field_get(first)->key);
    return at_column(MXV_ERR_INPUT, scan->column[second], said, scan->message, scan->size);
}

static enum mxv_status check_line(struct scan *scan)
{
    static const enum mxv_case_field pairs[][2] = {{MXV_FIELD_SEQS, MXV_FIELD_BATCH},
                                                   {MXV_FIELD_SEQS, MXV_FIELD_LQ},
                                                   {MXV_FIELD_SEQS, MXV_FIELD_LK},
                                                   {MXV_FIELD_DIAG, MXV_FIELD_DIAG_TOKENS}};
    enum mxv_case_field blame = MXV_FIELD_COUNT;
    char said[4096];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        enum mxv_status both = refuse_both(scan, pairs[i][0], pairs[i][1]);
        if (both != MXV_OK)
            return both;
    }
    open_shape(scan);
    enum mxv_status status = case_check_fields(scan->c, &blame, said, sizeof said);
    if (status == MXV_OK)
        return MXV_OK;
    size_t column = blame < MXV_FIELD_COUNT && scan->column[blame] ? scan->column[blame] : 1;
    return at_column(status, column, said, scan->message, scan->size);
}

enum mxv_status mxv_case_parse(const char *line, struct mxv_case *out, char *message, size_t size)
{
    struct mxv_case c;
    struct scan scan = {.c = &c, .message = message, .size = size};
    size_t at = 0;
    struct word w = next_word(line, &at);
    enum mxv_kernel kernel;
    enum mxv_status status = read_kernel(&w, &kernel, message, size);
    if (status != MXV_OK)
        return status;
    mxv_case_defaults(kernel, &c);
    while (status == MXV_OK && (w = next_word(line, &at)).length > 0)
        status = read_word(&scan, &w);
    if (status == MXV_OK && line[at + strspn(line + at, "\r\n")])
        status = at_column(MXV_ERR_INPUT, at + 1, "a case is one line", message, size);
    if (status == MXV_OK)
        status = check_line(&scan);
    if (status == MXV_OK)
        *out = c;
    return status;
}

enum mxv_status mxv_case_set(struct mxv_case *c, const char *assignment, char *message, size_t size)
{
    struct mxv_case changed = *c, before, after;
    enum mxv_case_field field;
    enum mxv_status status = assign(&changed, assignment, &field, message, size);
    if (status != MXV_OK)
        return status;
    // Shape fields that stood at the old default move to the default that now holds.
    case_base(c, &before);
    case_base(&changed, &after);
#define FOLLOW(member)                                                                             \
    if (changed.member == before.member)                                                           \
    changed.member = after.member
    if (field == MXV_FIELD_INPUT || field == MXV_FIELD_SEQS) {
        FOLLOW(batch);
        FOLLOW(heads_q);
        FOLLOW(heads_kv);
        FOLLOW(lq);
        FOLLOW(lk);
        FOLLOW(d);
    }
    *c = changed;
    return MXV_OK;
}
