// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What was met and what never was. Values that a kernel offers come from mxv_case_value_allowed;
// routes and events that a kernel cannot have are in the two tables below (docs/kernels/*.md).
// tests/unit/test_coverage.c fails if this is wrong.
#include "case_internal.h"
#include <mxverify/coverage.h>
#include <stdio.h>

#define BIT(i) (UINT64_C(1) << (i))

static const char *const event_names[] = {
#define X(id, name, text) name,
    MXV_COVERAGE_EVENTS(X)
#undef X
};

static const unsigned kernel_routes[MXV_KERNEL_COUNT] = {
    [MXV_KERNEL_FLASH] = BIT(MXV_ROUTE_F16),
    [MXV_KERNEL_DMA] = BIT(MXV_ROUTE_HIGH) | BIT(MXV_ROUTE_LOW) | BIT(MXV_ROUTE_CORE),
    [MXV_KERNEL_DMA_RELEASED] = BIT(MXV_ROUTE_HIGH) | BIT(MXV_ROUTE_LOW),
    [MXV_KERNEL_TILEMIX] = BIT(MXV_ROUTE_F16) | BIT(MXV_ROUTE_INT8),
};

#define BAND                                                                                       \
    (BIT(MXV_EVENT_NO_BAND) | BIT(MXV_EVENT_WIDE_BAND) | BIT(MXV_EVENT_NO_SINK) |                  \
     BIT(MXV_EVENT_MANY_SINKS) | BIT(MXV_EVENT_BAND_TOKENS))
#define WORDS (BIT(MXV_EVENT_GROUPED_TILES) | BIT(MXV_EVENT_WIDE_WORD))
#define OPEN                                                                                       \
    (BIT(MXV_EVENT_NO_KEY) | BIT(MXV_EVENT_MORE_KEYS) | BIT(MXV_EVENT_MORE_QUERIES) |              \
     BIT(MXV_EVENT_EMPTY_ROW) | BIT(MXV_EVENT_LEFT) | BIT(MXV_EVENT_RIGHT) | BIT(MXV_EVENT_TAU) |  \
     BIT(MXV_EVENT_POFF) | BIT(MXV_EVENT_SCALE))

// Events that a kernel cannot have.
static const uint64_t impossible[MXV_KERNEL_COUNT] = {
    [MXV_KERNEL_FLASH] = BAND | WORDS,
    [MXV_KERNEL_DMA] = WORDS,
    [MXV_KERNEL_DMA_RELEASED] = OPEN | WORDS,
    [MXV_KERNEL_TILEMIX] = 0,
};

// One countable thing: `kernel option=value`.
struct item {
    unsigned kernel;
    const char *option, *value;
    uint64_t count;
    bool required;
};
struct walk {
    const struct mxv_coverage *coverage;
    bool with_faults;
    void (*take)(void *ctx, const struct item *item);
    void *ctx;
};

static void walk_field(const struct walk *w, unsigned kernel, enum mxv_case_field field)
{
    for (unsigned v = 0; v < MXV_COVERAGE_VALUES; v++) {
        struct item item = {kernel, mxv_case_field_get(field)->key, mxv_case_value_name(field, v),
                            w->coverage->value[kernel][field][v],
                            field != MXV_FIELD_NONFINITE &&
                                !(field == MXV_FIELD_MIX && v == MXV_MIX_FILE)};
        if (mxv_case_value_allowed((enum mxv_kernel)kernel, field, v))
            w->take(w->ctx, &item);
    }
}

static void walk_fields(const struct walk *w, unsigned kernel)
{
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        enum mxv_case_kind kind = mxv_case_field_get((enum mxv_case_field)f)->kind;
        if (kind == MXV_KIND_CHOICE || kind == MXV_KIND_FLAG)
            walk_field(w, kernel, (enum mxv_case_field)f);
    }
}

static void walk_sizes(const struct walk *w, unsigned kernel, const char *option,
                       const uint64_t *counts, size_t first, size_t last, size_t step, size_t unit,
                       size_t only)
{
    char value[32];
    for (size_t i = first; i <= last; i += step) {
        if ((only && i * unit != only) || (unit == 1 && (i == 160 || i == 192 || i == 224)))
            continue; // head dimensions are 32, 64, 96, 128 and 256
        snprintf(value, sizeof value, "%zu", i * unit);
        struct item item = {kernel, option, value, counts[i], true};
        w->take(w->ctx, &item);
    }
}

static void walk_shapes(const struct walk *w, unsigned kernel)
{
    size_t only = kernel == MXV_KERNEL_DMA_RELEASED ? 128 : 0;
    const struct mxv_coverage *c = w->coverage;
    walk_sizes(w, kernel, "d", c->head_dim[kernel], 32, 256, 32, 1, only);
    walk_sizes(w, kernel, "tile rows", c->tile_rows[kernel], 1, 16, 1, 16, only);
    walk_sizes(w, kernel, "tile keys", c->tile_keys[kernel], 1, 8, 1, 32, only);
}

static void walk_sets(const struct walk *w, unsigned kernel)
{
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++) {
        struct item item = {kernel, "route", mxv_choice_name(MXV_CHOICE_ROUTE, r),
                            w->coverage->route[kernel][r], true};
        if (kernel_routes[kernel] >> r & 1)
            w->take(w->ctx, &item);
    }
    for (unsigned e = 0; e < MXV_EVENT_COUNT; e++) {
        struct item item = {kernel, "event", event_names[e], w->coverage->event[kernel][e],
                            e != MXV_EVENT_REAL_DATA};
        if (!(impossible[kernel] >> e & 1))
            w->take(w->ctx, &item);
    }
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        const struct mxv_fault_info *info = mxv_fault_get((enum mxv_fault)f);
        struct item item = {kernel, "fault", info->name, w->coverage->fault[kernel][f],
                            w->with_faults};
        if (info->kernels >> kernel & 1)
            w->take(w->ctx, &item);
    }
}

static void walk_kernel(const struct walk *w, unsigned kernel)
{
    walk_fields(w, kernel);
    walk_shapes(w, kernel);
    walk_sets(w, kernel);
}

struct missing {
    void (*take)(void *ctx, const char *what);
    void *ctx;
    size_t count;
};

static void take_missing(void *ctx, const struct item *item)
{
    struct missing *m = ctx;
    char what[200];
    if (item->count || !item->required)
        return;
    m->count++;
    snprintf(what, sizeof what, "%s %s=%s", mxv_choice_name(MXV_CHOICE_KERNEL, item->kernel),
             item->option, item->value);
    if (m->take)
        m->take(m->ctx, what);
}

size_t mxv_coverage_missing(const struct mxv_coverage *coverage, unsigned kernels, bool with_faults,
                            void (*take)(void *ctx, const char *what), void *ctx)
{
    struct missing m = {take, ctx, 0};
    struct walk w = {coverage, with_faults, take_missing, &m};
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (kernels >> k & 1)
            walk_kernel(&w, k);
    return m.count;
}

struct table {
    struct text t;
    const char *option; // of the line being written
};

static void take_line(void *ctx, const struct item *item)
{
    struct table *table = ctx;
    if (table->option != item->option)
        text_add(&table->t, "\n  %-18s", item->option);
    table->option = item->option;
    text_add(&table->t, " %s:%llu", item->value, (unsigned long long)item->count);
}

size_t mxv_coverage_print(const struct mxv_coverage *coverage, char *buf, size_t size)
{
    struct table table = {{buf, size, 0}, NULL};
    struct walk w = {coverage, false, take_line, &table};
    if (size)
        buf[0] = '\0';
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        if (coverage->cases[k] == 0)
            continue;
        text_add(&table.t, "%s: %llu cases", mxv_choice_name(MXV_CHOICE_KERNEL, k),
                 (unsigned long long)coverage->cases[k]);
        table.option = NULL;
        walk_kernel(&w, k);
        text_add(&table.t, "\n");
    }
    return table.t.length;
}
