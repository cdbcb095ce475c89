// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Input coverage as tables and text: what was met, what is missing, one word for a log.
// tests/unit/test_events.c fails if a missing event is not named or the text loses a count.
#include "case_internal.h"
#include <mxverify/events.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
    unsigned must;
} events[] = {
#define X(id, name, must, text) {name, text, must},
#include <mxverify/events.def>
#undef X
};

#define KERNELS_E2M1  (1u << MXV_KERNEL_DMA | 1u << MXV_KERNEL_DMA_RELEASED)
#define KERNELS_E4M3  KERNELS_E2M1
#define KERNELS_E5M2  KERNELS_E2M1
#define KERNELS_INT8  (1u << MXV_KERNEL_TILEMIX)
#define KERNELS_E8M0  KERNELS_E2M1
#define KERNELS_UE4M3 KERNELS_E2M1

static const struct {
    const char *name, *text;
    unsigned codes, must, released, kernels;
} tables[] = {
#define X(id, name, codes, must, released, text) {name, text, codes, must, released, KERNELS_##id},
    MXV_EVENT_TABLES(X)
#undef X
};

const char *mxv_event_name(unsigned event)
{
    return event < MXV_INPUT_COUNT ? events[event].name : NULL;
}

const char *mxv_event_text(unsigned event)
{
    return event < MXV_INPUT_COUNT ? events[event].text : NULL;
}

void mxv_events_merge(struct mxv_events *sum, const struct mxv_events *other)
{
    for (unsigned e = 0; e < MXV_INPUT_COUNT; e++)
        sum->count[e] += other->count[e];
    for (unsigned t = 0; t < MXV_TABLE_COUNT; t++)
        for (unsigned i = 0; i < 8; i++)
            sum->codes[t][i] |= other->codes[t][i];
}

unsigned mxv_events_codes(const struct mxv_events *e, enum mxv_event_table table)
{
    unsigned n = 0;
    for (unsigned i = 0; i < 8; i++)
        for (uint32_t bits = e->codes[table][i]; bits; bits &= bits - 1)
            n++;
    return n;
}

static unsigned codes_needed(unsigned table, unsigned kernel)
{
    return kernel == MXV_KERNEL_DMA_RELEASED ? tables[table].released : tables[table].must;
}

size_t mxv_events_missing(const struct mxv_events *e, enum mxv_kernel kernel,
                          void (*take)(void *ctx, const char *what), void *ctx)
{
    char what[160];
    size_t n = 0;
    for (unsigned i = 0; i < MXV_INPUT_COUNT; i++) {
        if (!(events[i].must >> kernel & 1) || e->count[i])
            continue;
        n++;
        snprintf(what, sizeof what, "%s %s: %s", mxv_choice_name(MXV_CHOICE_KERNEL, kernel),
                 events[i].name, events[i].text);
        if (take)
            take(ctx, what);
    }
    for (unsigned t = 0; t < MXV_TABLE_COUNT; t++) {
        unsigned met = mxv_events_codes(e, (enum mxv_event_table)t), must = codes_needed(t, kernel);
        if (!(tables[t].kernels >> kernel & 1) || met >= must)
            continue;
        n++;
        snprintf(what, sizeof what, "%s %s: %u met, %u needed of %u (%s)",
                 mxv_choice_name(MXV_CHOICE_KERNEL, kernel), tables[t].name, met, must,
                 tables[t].codes, tables[t].text);
        if (take)
            take(ctx, what);
    }
    return n;
}

// A count with `!` behind it where it is mandatory and 0.
static void add_count(struct text *t, uint64_t count, bool must)
{
    char cell[32];
    snprintf(cell, sizeof cell, "%llu%s", (unsigned long long)count, must && !count ? "!" : "");
    text_add(t, " %14s", cell);
}

static void add_codes(struct text *t, const struct mxv_events *e, unsigned table, unsigned kernel)
{
    char cell[32];
    unsigned met = mxv_events_codes(e, (enum mxv_event_table)table);
    bool has = tables[table].kernels >> kernel & 1;
    if (has)
        snprintf(cell, sizeof cell, "%u/%u%s", met, tables[table].codes,
                 met < codes_needed(table, kernel) ? "!" : "");
    else
        snprintf(cell, sizeof cell, ".");
    text_add(t, " %14s", cell);
}

size_t mxv_events_print(const struct mxv_events e[MXV_KERNEL_COUNT], unsigned kernels, char *buf,
                        size_t size)
{
    struct text t = {buf, size, 0};
    if (size)
        buf[0] = '\0';
    text_add(&t, "%-18s", "event");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (kernels >> k & 1)
            text_add(&t, " %14s", mxv_choice_name(MXV_CHOICE_KERNEL, k));
    text_add(&t, "\n");
    for (unsigned i = 0; i < MXV_INPUT_COUNT; i++) {
        text_add(&t, "%-18s", events[i].name);
        for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
            if (kernels >> k & 1)
                add_count(&t, e[k].count[i], events[i].must >> k & 1);
        text_add(&t, "  %s\n", events[i].text);
    }
    for (unsigned i = 0; i < MXV_TABLE_COUNT; i++) {
        text_add(&t, "%-18s", tables[i].name);
        for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
            if (kernels >> k & 1)
                add_codes(&t, &e[k], i, k);
        text_add(&t, "  %s\n", tables[i].text);
    }
    return t.length;
}

// Counts in order, separated by commas; a semicolon; the bit sets in hexadecimal.
size_t mxv_events_write(const struct mxv_events *e, char *buf, size_t size)
{
    struct text t = {buf, size, 0};
    if (size)
        buf[0] = '\0';
    for (unsigned i = 0; i < MXV_INPUT_COUNT; i++)
        text_add(&t, "%s%llu", i ? "," : "", (unsigned long long)e->count[i]);
    for (unsigned i = 0; i < MXV_TABLE_COUNT; i++)
        for (unsigned w = 0; w < 8; w++)
            text_add(&t, "%s%x", i == 0 && w == 0 ? ";" : ",", e->codes[i][w]);
    return t.length;
}

bool mxv_events_read(const char *text, struct mxv_events *e)
{
    char *end;
    memset(e, 0, sizeof *e);
    for (unsigned i = 0; i < MXV_INPUT_COUNT; i++) {
        e->count[i] = strtoull(text, &end, 10);
        if (end == text || *end != (i + 1 < MXV_INPUT_COUNT ? ',' : ';'))
            return false;
        text = end + 1;
    }
    for (unsigned i = 0; i < MXV_TABLE_COUNT * 8; i++) {
        e->codes[i / 8][i % 8] = (uint32_t)strtoul(text, &end, 16);
        if (end == text || *end != (i + 1 < MXV_TABLE_COUNT * 8 ? ',' : '\0'))
            return false;
        text = end + 1;
    }
    return true;
}
