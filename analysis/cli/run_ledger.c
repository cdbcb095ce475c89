// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Known failures in a run: what is not run, what is waived, what passed unexpectedly, and what the
// report says about it. tests/cli/test_ledger.sh fails if this file is wrong.
#include "cli.h"
#include "run.h"
#include <stdio.h>
#include <string.h>

int run_open_ledger(struct run *run)
{
    const struct run_config *config = run->config;
    char message[1024];
    if (!config->ledger)
        return 0;
    if (mxv_ledger_load(config->ledger, &run->ledger, message, sizeof message) != MXV_OK)
        return cli_usage("--ledger: %s", message);
    mxv_ledger_today(run->today);
    run->place =
        (struct mxv_ledger_place){config->impl_name, config->device, config->driver, run->today};
    for (size_t i = 0; i < mxv_ledger_count(run->ledger); i++) {
        const struct mxv_ledger_entry *e = mxv_ledger_get(run->ledger, i);
        if (!mxv_ledger_expired(e, run->today))
            continue;
        run->expired++;
        fprintf(stderr,
                "mxverify: %s: entry %zu expired on %s (%s; %s; %s): it waives nothing, and the "
                "run fails until it is renewed or removed\n",
                config->ledger, i + 1, e->expires, e->reason, e->owner, e->url);
    }
    return 0;
}

bool run_quarantine(struct run *run, struct run_slot *s)
{
    const struct mxv_ledger_entry *e = NULL;
    if (!run->ledger || s->status != MXV_OK || s->result.verdict != MXV_VERDICT_COUNT)
        return false;
#pragma omp critical(ledger)
    e = mxv_ledger_quarantine(run->ledger, &s->c, &run->place);
    if (!e)
        return false;
    s->entry = e;
    s->found = s->result.verdict = MXV_VERDICT_SKIP;
    snprintf(s->result.reason, sizeof s->result.reason, "quarantined: %s (%s, %s, until %s)",
             e->reason, e->owner, e->url, e->expires);
    return true;
}

void run_apply_ledger(struct run *run, struct run_slot *s)
{
    const struct mxv_ledger_entry *e;
    if (!run->ledger || s->entry)
        return;
    s->found = s->result.verdict;
    enum mxv_verdict verdict = mxv_ledger_judge(run->ledger, &s->c, &run->place, s->found, &e);
    if (!e)
        return;
    char before[MXV_VERIFY_TEXT], *reason = s->result.reason;
    memcpy(before, reason, sizeof before);
    s->entry = e;
    s->result.verdict = verdict;
    int n = snprintf(reason, sizeof before, "%s: %.120s (%.60s, %.120s, until %s)",
                     verdict == MXV_VERDICT_WAIVED ? "known failure"
                                                   : "passed, but is listed as failing",
                     e->reason, e->owner, e->url, e->expires);
    if (before[0] && n > 0 && (size_t)n + 3 < sizeof before)
        snprintf(reason + n, sizeof before - (size_t)n, "; %.*s",
                 (int)(sizeof before - (size_t)n - 3), before);
}

void run_report_ledger(const struct run *run)
{
    if (!run->ledger || run->config->quiet)
        return;
    printf("\nledger %s:\n", run->config->ledger);
    for (size_t i = 0; i < mxv_ledger_count(run->ledger); i++) {
        const struct mxv_ledger_entry *e = mxv_ledger_get(run->ledger, i);
        size_t uses = mxv_ledger_uses(run->ledger, i);
        printf("  entry %zu: %zu case%s, until %s%s: %s (%s, %s)\n", i + 1, uses,
               uses == 1 ? "" : "s", e->expires,
               mxv_ledger_expired(e, run->today) ? ", EXPIRED" : "", e->reason, e->owner, e->url);
    }
}
