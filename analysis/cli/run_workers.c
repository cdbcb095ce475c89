// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Cases in worker processes. A case whose worker dies, hangs or answers nonsense gets that verdict
// and the run goes on. A case that failed in any of these ways is done once more: another outcome
// makes it flaky. Outcomes are handed on in the order of the indices.
#include "cli.h"
#include "interrupt.h"
#include "run.h"
#include <mxverify/runner.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Cases that may be done before the oldest one still running.
enum { WINDOW = 512 };

enum entry_state { ENTRY_FREE, ENTRY_WAITING, ENTRY_RUNNING, ENTRY_DONE };

struct entry {
    enum entry_state state;
    bool again; // this is the second run; `first` is the outcome of the first one
    struct run_slot slot, *first;
};

struct pool {
    struct run *run;
    struct mxv_runner *runner;
    struct entry *ring; // [WINDOW], from `head` on, `count` in use
    size_t head, count;
    char message[MXV_VERIFY_TEXT];
};

// ---- in the worker

struct job {
    struct run *run;
    struct run_config config; // the worker's own: with the adapter that it has loaded
    unsigned threads;         // of OpenMP in each worker
    struct run_slot slot;
};

static int start_job(void *ctx, char *message, size_t size)
{
    struct job *job = ctx;
    omp_set_num_threads((int)job->threads);
    if (job->run->lock >= 0)
        close(job->run->lock); // the parent's alone: a resumed run must not wait for a worker
    job->config = *job->run->config;
    job->run->config = &job->config;
    return job->config.impl_library ? run_load_library(&job->config, message, size) : 0;
}

static int do_task(void *ctx, uint64_t task, unsigned char **bytes, size_t *size)
{
    struct job *job = ctx;
    run_slot_make(job->run, &job->slot, task);
    run_slot_verify(job->run, &job->slot);
    bool packed = run_slot_pack(&job->slot, bytes, size);
    bool lost = job->slot.result.verdict == MXV_VERDICT_DEVICE_LOST;
    mxv_verify_free(&job->slot.result);
    return !packed ? MXV_RUNNER_LACKS
           : lost  ? MXV_RUNNER_RETIRE // the error would stick to the process
                   : 0;
}

// ---- in the parent

static struct entry *entry_at(struct pool *p, size_t i)
{
    return &p->ring[(p->head + i) % WINDOW];
}

static struct entry *entry_of(struct pool *p, uint64_t index)
{
    for (size_t i = 0; i < p->count; i++)
        if (entry_at(p, i)->slot.index == index)
            return entry_at(p, i);
    return NULL;
}

static void set_verdict(struct run_slot *s, enum mxv_verdict verdict, const char *reason)
{
    s->status = MXV_OK;
    s->result.verdict = verdict;
    snprintf(s->result.reason, sizeof s->result.reason, "%s", reason);
}

static void take_result(struct run_slot *s, struct mxv_runner_result *r)
{
    static const enum mxv_verdict verdicts[] = {
        [MXV_RUNNER_CRASH] = MXV_VERDICT_CRASH,
        [MXV_RUNNER_TIMEOUT] = MXV_VERDICT_TIMEOUT,
        [MXV_RUNNER_GARBAGE] = MXV_VERDICT_FAIL,
    };
    bool answered = r->end == MXV_RUNNER_ANSWER && run_slot_unpack(s, r->bytes, r->size);
    if (r->end == MXV_RUNNER_NO_MEMORY) {
        s->status = MXV_ERR_MEMORY;
        snprintf(s->message, sizeof s->message, "%s", r->reason);
    } else if (!answered) {
        set_verdict(s, r->end == MXV_RUNNER_ANSWER ? MXV_VERDICT_FAIL : verdicts[r->end],
                    r->reason[0] ? r->reason : "the worker's answer is damaged");
        s->result.seconds = r->seconds;
    }
    free(r->bytes);
}

static bool worth_another_run(const struct pool *p, const struct run_slot *s)
{
    enum mxv_verdict v = s->result.verdict;
    return !p->run->config->no_retry && s->status == MXV_OK &&
           (v == MXV_VERDICT_FAIL || v == MXV_VERDICT_CRASH || v == MXV_VERDICT_TIMEOUT ||
            v == MXV_VERDICT_DEVICE_LOST);
}

// Keeps the first result; when the second one is another, that is the finding.
static void compare_runs(struct entry *e)
{
    struct run_slot *first = e->first;
    struct mxv_verify_result *a = &first->result, *b = &e->slot.result;
    if (e->slot.status == MXV_ERR_MEMORY) { // so may the first run have died of it
        mxv_verify_free(a);
        free(first);
        e->first = NULL;
        return;
    }
    bool same =
        e->slot.status == MXV_OK && a->verdict == b->verdict && a->output_hash == b->output_hash;
    if (!same) {
        char text[MXV_VERIFY_TEXT];
        snprintf(text, sizeof text, "first run %s (%.200s), second run %s%s%.200s%s",
                 mxv_verdict_name(a->verdict), a->reason,
                 e->slot.status == MXV_OK ? mxv_verdict_name(b->verdict) : "not evaluated",
                 b->reason[0] ? " (" : "", b->reason, b->reason[0] ? ")" : "");
        set_verdict(first, MXV_VERDICT_FLAKY, text);
    }
    mxv_verify_free(b);
    e->slot = *first;
    free(first);
    e->first = NULL;
}

static void settle(struct pool *p, struct mxv_runner_result *r)
{
    struct entry *e = entry_of(p, r->task);
    take_result(&e->slot, r);
    e->state = ENTRY_DONE;
    if (e->again) {
        compare_runs(e);
    } else if (worth_another_run(p, &e->slot)) {
        e->first = cli_realloc(NULL, sizeof *e->first);
        *e->first = e->slot;
        e->again = true;
        run_slot_make(p->run, &e->slot, r->task);
        e->state = ENTRY_WAITING;
    }
}

// Takes further cases in while there is room; those that need no worker are done at once.
static void fill(struct pool *p)
{
    uint64_t index;
    unsigned workers = p->run->config->workers;
    size_t waiting = 0;
    for (size_t i = 0; i < p->count; i++)
        waiting += entry_at(p, i)->state == ENTRY_WAITING;
    while (p->count < WINDOW && waiting <= workers && run_next(p->run, &index)) {
        struct entry *e = entry_at(p, p->count++);
        memset(e, 0, offsetof(struct entry, slot));
        run_slot_make(p->run, &e->slot, index);
        bool done = run_quarantine(p->run, &e->slot) || e->slot.status != MXV_OK ||
                    e->slot.result.verdict != MXV_VERDICT_COUNT;
        e->state = done ? ENTRY_DONE : ENTRY_WAITING;
        waiting += !done;
    }
}

static int hand_out(struct pool *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct entry *e = entry_at(p, i);
        if (e->state != ENTRY_WAITING)
            continue;
        int taken = mxv_runner_submit(p->runner, e->slot.index, p->message, sizeof p->message);
        if (taken < 0)
            return cli_usage("%s", p->message);
        if (taken == 0)
            break;
        e->state = ENTRY_RUNNING;
    }
    return 0;
}

static int hand_on(struct pool *p)
{
    int status = 0;
    while (status == 0 && p->count && entry_at(p, 0)->state == ENTRY_DONE) {
        status = run_finish(p->run, &entry_at(p, 0)->slot);
        p->head = (p->head + 1) % WINDOW;
        p->count--;
    }
    run_progress(p->run, false);
    return status;
}

static void drop_entries(struct pool *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct entry *e = entry_at(p, i);
        mxv_verify_free(&e->slot.result);
        if (e->first)
            mxv_verify_free(&e->first->result);
        free(e->first);
    }
}

static int serve(struct pool *p)
{
    struct mxv_runner_result result;
    int status = 0;
    fill(p);
    while (status == 0 && p->count && !cli_interrupted()) {
        status = hand_out(p);
        if (status == 0 && mxv_runner_wait(p->runner, &result, 0.2))
            settle(p, &result);
        if (status == 0)
            status = hand_on(p);
        fill(p);
    }
    return status;
}

int run_workers(struct run *run)
{
    struct pool p = {.run = run};
    struct job *job = cli_realloc(NULL, sizeof *job);
    const struct run_config *config = run->config;
    unsigned threads = run->threads / config->workers;
    struct mxv_runner_options options = {.workers = config->workers, .timeout = config->timeout};
    struct mxv_runner_job what = {job, start_job, do_task};
    job->run = run;
    job->threads = threads ? threads : 1;
    p.ring = cli_realloc(NULL, WINDOW * sizeof *p.ring);
    int status = 0;
    if (mxv_runner_open(&options, &what, &p.runner, p.message, sizeof p.message) != MXV_OK)
        status = cli_usage("%s", p.message);
    else
        status = serve(&p);
    mxv_runner_close(p.runner);
    drop_entries(&p);
    free(p.ring);
    free(job);
    return status;
}
