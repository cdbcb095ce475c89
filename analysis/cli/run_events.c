// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Mandatory events (events.def) of a run: a tier that lost one tests less than it says. Judged are
// the tiers that mxv_tier_has_events names, whole and as they are; of shards, by `merge`. Nothing
// is said where a case did not run: it may have been the one. tests/cli/test_run_events.sh fails if
// this file is wrong.
#include "cli.h"
#include "run.h"
#include <stdio.h>
#include <stdlib.h>

void run_events_decide(struct run_config *c, const struct mxv_tier_options *o)
{
    struct mxv_tier_options all = *o;
    struct mxv_tier *whole;
    all.count = 0;
    c->events_tier = mxv_tier_has_events(c->cases) && c->asked_settings == 0;
    if (c->events_tier && o->count && mxv_tier_open(&all, &whole, NULL, 0) == MXV_OK) {
        c->events_tier = o->count >= mxv_tier_count(whole);
        mxv_tier_close(whole);
    }
    if (c->events == EVENTS_REQUIRED || c->events_tier)
        c->verify.events = true;
    if (c->events == EVENTS_FREE) // counted all the same: the log may be resumed either way
        c->events_tier = false;
}

static unsigned kernels_run(const struct run_totals *t)
{
    unsigned kernels = 0;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
            kernels |= t->by_kernel[k][v] ? 1u << k : 0;
    return kernels;
}

static size_t missing(const struct run_totals *t, void (*take)(void *ctx, const char *what))
{
    unsigned kernels = kernels_run(t);
    size_t n = 0;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (kernels >> k & 1)
            n += mxv_events_missing(&t->events[k], (enum mxv_kernel)k, take, NULL);
    return n;
}

void run_events_judge(struct run_totals *t, enum events_wanted wanted, bool tier, bool whole)
{
    t->events_tier = tier && whole && !t->stopped_early;
    t->events_judged =
        wanted == EVENTS_REQUIRED || (t->events_tier && !t->part && t->without_events == 0);
    t->events_missing = t->events_judged ? missing(t, NULL) : 0;
}

static void print_missing(void *ctx, const char *what)
{
    (void)ctx;
    printf("  never met: %s\n", what);
}

static void print_table(const struct run_totals *t)
{
    size_t size = mxv_events_print(t->events, kernels_run(t), NULL, 0) + 1;
    char *text = cli_realloc(NULL, size);
    mxv_events_print(t->events, kernels_run(t), text, size);
    printf("\n%s", text);
    free(text);
}

int run_events_report(const struct run_totals *t, bool table, bool quiet)
{
    if (table)
        print_table(t);
    if (t->events_judged && (t->events_missing || !quiet)) {
        missing(t, print_missing);
        printf("events: %zu mandatory events of the kernels run were never met\n",
               t->events_missing);
    } else if (t->events_tier && t->part && !quiet) {
        printf("events: judged when the shards are merged\n");
    } else if (t->events_tier && !t->events_judged && !quiet) {
        printf("events: not judged, as %zu of %zu cases have no counts: skipped (%zu), unsupported "
               "(%zu), others\n",
               t->without_events, t->done, t->counts[MXV_VERDICT_SKIP],
               t->counts[MXV_VERDICT_UNSUPPORTED]);
    }
    return t->events_missing ? 1 : 0;
}
