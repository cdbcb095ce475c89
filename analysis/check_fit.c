// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Check: which options of the emulation, and which known fault, give O. From the base, every value
// of every choice and flag, and a few tiles and numbers, are tried; the change that leaves the
// fewest differing words (then the smallest mean difference) is kept, and the search goes on from
// there until nothing improves. Every fault of the kernel is tried alone, on the base before that
// and on the options so found after it.
// Heads are compared in order until fit_scores are spent; the result says how many. A local search:
// it may miss two changes that only help together. tests/cli/test_check.sh fails if it finds none.
#include "check_internal.h"
#include "head_status.h"
#include <math.h>
#include <mxverify/compare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 };

struct fitting {
    const struct check_subject *s;
    struct mxv_check_result *r;
    size_t heads;       // query heads of sequences that are compared
    bool out_of_memory; // of a trial: nothing is known of it
};

struct trial {
    struct mxv_case c;
    struct mxv_check_fit fit;
};

static void add_head(struct fitting *f, const struct mxv_attention *a, size_t sequence, size_t head,
                     struct mxv_check_fit *fit, uint32_t *buf)
{
    const struct check_subject *s = f->s;
    size_t n = s->lq * s->d;
    uint32_t *mine = buf, *mine_lse = buf + n, *got = mine_lse + s->lq, *got_lse = got + n;
    char message[256];
    bool lse = s->lse && a->lse != MXV_LSE_NONE;
    check_head(s, sequence, head, got, got_lse);
    enum mxv_status status = status_of_head(mxv_engine_head(
        a, sequence, head, mine, lse ? mine_lse : NULL, NULL, message, sizeof message));
    if (status != MXV_OK) {
        f->out_of_memory = f->out_of_memory || status == MXV_ERR_MEMORY;
        fit->differing = UINT64_MAX;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double x = mxv_code_value(a->out, mine[i]), y = mxv_code_value(s->out_type, got[i]);
        fit->differing += a->out != s->out_type || mine[i] != got[i];
        fit->distance += isfinite(x - y) ? fabs(x - y) : (isnan(x) && isnan(y)) || x == y ? 0 : 1e9;
    }
    for (size_t i = 0; lse && i < s->lq; i++)
        fit->differing += mine_lse[i] != got_lse[i];
    fit->words += n + (lse ? s->lq : 0);
}

// False when the kernel does not offer the options, or with f->out_of_memory.
static bool attempt(struct fitting *f, struct trial *t)
{
    struct mxv_case_data data;
    char message[256];
    const struct check_subject *s = f->s;
    uint32_t *buf = malloc(2 * (s->lq * s->d + s->lq) * sizeof *buf + 1);
    enum mxv_status status = MXV_ERR_MEMORY;
    if (buf)
        status = mxv_case_build(&t->c, &data, message, sizeof message);
    bool good = status == MXV_OK;
    f->out_of_memory = f->out_of_memory || status == MXV_ERR_MEMORY;
    t->fit.differing = t->fit.words = 0;
    t->fit.distance = 0;
    for (size_t i = 0; good && i < f->heads; i++) {
        add_head(f, &data.a, i / s->heads, i % s->heads, &t->fit, buf);
        good = t->fit.differing != UINT64_MAX;
    }
    if (good && t->fit.words)
        t->fit.distance /= (double)t->fit.words;
    if (good)
        mxv_case_free(&data);
    free(buf);
    f->r->attempts += good;
    return good;
}

static bool nearer(const struct mxv_check_fit *a, const struct mxv_check_fit *b)
{
    return a->differing != b->differing ? a->differing < b->differing : a->distance < b->distance;
}

// A further change without effect says nothing.
static bool idle(const struct mxv_check_fit *less, const struct mxv_check_fit *more)
{
    return less->differing == more->differing && !(less->distance < more->distance) &&
           !(more->distance < less->distance) &&
           strncmp(less->change, more->change, strlen(less->change)) == 0;
}

// Keeps the nearest attempts, in order.
static void note(struct mxv_check_result *r, const struct mxv_check_fit *fit)
{
    size_t at = r->fit_count;
    for (size_t i = 0; i < r->fit_count; i++)
        if (idle(&r->fits[i], fit))
            return;
    while (at > 0 && nearer(fit, &r->fits[at - 1]))
        at--;
    if (at == MXV_CHECK_FITS)
        return;
    size_t last = r->fit_count < MXV_CHECK_FITS ? r->fit_count++ : MXV_CHECK_FITS - 1;
    memmove(&r->fits[at + 1], &r->fits[at], (last - at) * sizeof *fit);
    r->fits[at] = *fit;
}

// One assignment more than `from`; the nearest so far goes to *best.
static void try_one(struct fitting *f, const struct trial *from, const char *assignment,
                    struct trial *best)
{
    struct trial t = *from;
    char message[256];
    size_t length = strlen(t.fit.change);
    if (mxv_case_set(&t.c, assignment, message, sizeof message) != MXV_OK ||
        mxv_case_equal(&t.c, &from->c) || mxv_case_check(&t.c, message, sizeof message) != MXV_OK)
        return;
    snprintf(t.fit.change + length, sizeof t.fit.change - length, "%s%s", length ? " " : "",
             assignment);
    if (!attempt(f, &t))
        return;
    note(f->r, &t.fit);
    if (nearer(&t.fit, &best->fit))
        *best = t;
}

// Data and their reading are not options of the kernel.
static bool is_option(enum mxv_case_field field)
{
    return field != MXV_FIELD_IN && field != MXV_FIELD_OUT && field != MXV_FIELD_GENERATOR &&
           field != MXV_FIELD_NONFINITE;
}

static void try_fields(struct fitting *f, const struct trial *from, struct trial *best)
{
    static const char *const numbers[] = {
        "tile=64x64", "tile=128x64", "tile=64x128", "tile=128x128", "tile=64x32", "tile=128x32",
        "tau=0",      "tau=4",       "tau=8",       "poff=0",       "poff=8",     "D=0",
        "D=1",        "D=2",         "s=0",         "s=1"};
    char assignment[128];
    for (unsigned field = 0; field < MXV_FIELD_COUNT; field++) {
        const struct mxv_case_field_info *info = mxv_case_field_get((enum mxv_case_field)field);
        bool choice = info->kind == MXV_KIND_CHOICE || info->kind == MXV_KIND_FLAG;
        for (unsigned v = 0; choice && is_option((enum mxv_case_field)field); v++) {
            const char *name = mxv_case_value_name((enum mxv_case_field)field, v);
            if (!name)
                break;
            if (!mxv_case_value_allowed(from->c.kernel, (enum mxv_case_field)field, v))
                continue;
            snprintf(assignment, sizeof assignment, "%s=%s", info->key, name);
            try_one(f, from, assignment, best);
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        try_one(f, from, numbers[i], best);
}

static void try_faults(struct fitting *f, const struct trial *from)
{
    struct trial ignored = *from;
    char assignment[128];
    for (unsigned i = 0; i < MXV_FAULT_COUNT; i++) {
        const struct mxv_fault_info *info = mxv_fault_get((enum mxv_fault)i);
        if (!(info->kernels >> from->c.kernel & 1))
            continue;
        snprintf(assignment, sizeof assignment, "fault=%s", info->name);
        try_one(f, from, assignment, &ignored);
    }
    for (size_t i = 0; i < f->r->fit_count; i++)
        f->r->fits[i].fault = strstr(f->r->fits[i].change, "fault=") != NULL;
}

// Other roundings are the kernel's affair; another mask is another function.
static bool same_meaning(const struct mxv_case *a, const struct mxv_case *b)
{
    return a->mask == b->mask && a->align == b->align;
}

static enum mxv_status no_memory(char *message, size_t size)
{
    snprintf(message, size, "out of memory for the emulation under one of the options tried");
    return MXV_ERR_MEMORY;
}

enum mxv_status check_fit(const struct mxv_check_options *o, const struct check_subject *s,
                          struct mxv_check_result *r, struct mxv_case *best_case, char *message,
                          size_t size)
{
    struct fitting f = {.s = s, .r = r};
    struct trial from = {.c = s->c}, best;
    size_t cost = s->lq * s->lk, affordable = cost ? o->fit_scores / cost : SIZE_MAX;
    r->heads = s->batch * s->heads;
    f.heads = affordable < 1 ? 1 : affordable < r->heads ? affordable : r->heads;
    r->heads_compared = f.heads;
    if (mxv_case_check(&s->c, message, size) != MXV_OK)
        return MXV_ERR_INPUT;
    if (!attempt(&f, &from) && !f.out_of_memory) {
        struct mxv_case_data data; // for its message
        enum mxv_status status = mxv_case_build(&s->c, &data, message, size);
        if (status == MXV_OK) {
            mxv_case_free(&data);
            snprintf(message, size, "the emulation does not offer these options");
        }
        return MXV_ERR_INPUT;
    }
    if (f.out_of_memory)
        return no_memory(message, size);
    note(r, &from.fit);
    if (from.fit.differing)
        try_faults(&f, &from);
    bool known = r->fits[0].differing == 0; // nothing to search for
    for (int round = 0; round < ROUNDS && from.fit.differing && !known; round++) {
        best = from;
        try_fields(&f, &from, &best);
        if (!nearer(&best.fit, &from.fit))
            break;
        from = best;
    }
    *best_case = from.c;
    r->same_bits = from.fit.differing == 0 && f.heads == r->heads && same_meaning(&from.c, &s->c);
    if (from.fit.differing && !known)
        try_faults(&f, &from);
    return f.out_of_memory ? no_memory(message, size) : MXV_OK;
}
