// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The pool of workers: waits on all channels at once, and tells a crash, a time-out and nonsense
// from an answer. tests/unit/test_runner.c fails if this file is wrong.
#include "worker.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_LIMIT    60.0
#define TICK           0.2 // seconds between looks at silent workers
#define EXIT_GRACE     1.0 // seconds between a closed channel and the end of its process
#define TRANSFER_GRACE 5.0 // seconds beyond the limit for an answer that has begun to arrive

struct mxv_runner {
    struct mxv_runner_options options;
    struct mxv_runner_job job;
    unsigned count;
    struct pollfd *polls;
    struct worker workers[];
};

static enum mxv_status refuse(char *message, size_t size, const char *what, const char *why)
{
    snprintf(message, size, "%s%s", what, why);
    return MXV_ERR_UNSUPPORTED;
}

// Waits for the first frame of a worker just forked.
static enum mxv_status await_ready(const struct mxv_runner *r, struct worker *w, char *message,
                                   size_t size)
{
    double limit = r->options.start_limit > 0 ? r->options.start_limit : START_LIMIT;
    double until = w->started + limit;
    enum worker_state state = WORKER_PENDING;
    w->task = 0;
    while (state == WORKER_PENDING && worker_now() < until) {
        struct pollfd p = {w->fd, POLLIN, 0};
        poll(&p, 1, (int)(TICK * 1000));
        state = worker_read(w);
    }
    int status;
    char how[96] = "";
    if (state == WORKER_CLOSED && worker_ended(w, EXIT_GRACE, &status)) {
        worker_describe(status, how, sizeof how);
        return refuse(message, size, "a worker process died while it started: ", how);
    }
    if (state != WORKER_COMPLETE) {
        worker_kill(w);
        return refuse(message, size, "a worker process did not start",
                      state == WORKER_PENDING ? " within its time limit" : "");
    }
    struct worker_frame head = worker_head(w);
    unsigned char *said = worker_take(w);
    bool ready = head.kind == WORKER_READY;
    if (!ready) {
        snprintf(message, size, "%.*s", (int)head.size, (const char *)said);
        worker_kill(w);
    }
    free(said);
    return ready ? MXV_OK : MXV_ERR_UNSUPPORTED;
}

static enum mxv_status start_worker(struct mxv_runner *r, struct worker *w, char *message,
                                    size_t size)
{
    int error = worker_fork(w, &r->job, r->workers, r->count);
    if (error) {
        snprintf(message, size, "cannot start a worker process: %s", strerror(error));
        return error == ENOMEM ? MXV_ERR_MEMORY : MXV_ERR_IO;
    }
    return await_ready(r, w, message, size);
}

enum mxv_status mxv_runner_open(const struct mxv_runner_options *options,
                                const struct mxv_runner_job *job, struct mxv_runner **out,
                                char *message, size_t size)
{
    unsigned n = options->workers;
    *out = NULL;
    if (n == 0 || n > MXV_RUNNER_WORKERS_MAX) {
        snprintf(message, size, "%u workers: expected 1 to %u", n, MXV_RUNNER_WORKERS_MAX);
        return MXV_ERR_INPUT;
    }
    struct mxv_runner *r = calloc(1, sizeof *r + n * sizeof r->workers[0]);
    struct pollfd *polls = calloc(n, sizeof *polls);
    if (!r || !polls) {
        free(r);
        free(polls);
        snprintf(message, size, "out of memory for %u workers", n);
        return MXV_ERR_MEMORY;
    }
    r->options = *options;
    r->job = *job;
    r->count = n;
    r->polls = polls;
    enum mxv_status status = MXV_OK;
    for (unsigned i = 0; i < n && status == MXV_OK; i++)
        status = start_worker(r, &r->workers[i], message, size);
    if (status != MXV_OK) {
        mxv_runner_close(r);
        return status;
    }
    *out = r;
    return MXV_OK;
}

int mxv_runner_submit(struct mxv_runner *r, uint64_t task, char *message, size_t size)
{
    for (unsigned i = 0; i < r->count; i++) {
        struct worker *w = &r->workers[i];
        if (w->busy)
            continue;
        if (!w->pid && start_worker(r, w, message, size) != MXV_OK)
            return -1;
        worker_ask(w, task); // a worker that no longer listens is found by wait
        return 1;
    }
    return 0;
}

unsigned mxv_runner_busy(const struct mxv_runner *r)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < r->count; i++)
        busy += r->workers[i].busy;
    return busy;
}

static void finish_crash(struct worker *w, struct mxv_runner_result *out, bool reaped, int status)
{
    char how[96];
    out->end = MXV_RUNNER_CRASH;
    if (!reaped && !worker_ended(w, EXIT_GRACE, &status)) {
        worker_kill(w);
        snprintf(out->reason, sizeof out->reason, "the worker process closed its channel");
        return;
    }
    worker_describe(status, how, sizeof how);
    snprintf(out->reason, sizeof out->reason, "the worker process was %s", how);
    if (strncmp(how, "exited", 6) == 0)
        snprintf(out->reason, sizeof out->reason, "the worker process %s", how);
}

// Looks at one busy worker; true when its task has ended. What has come counts even when the limit
// has passed meanwhile.
static bool settle_task(struct mxv_runner *r, struct worker *w, struct mxv_runner_result *out)
{
    enum worker_state state = worker_read(w);
    double spent = worker_now() - w->started;
    int status = 0;
    bool ended = state == WORKER_PENDING && worker_ended(w, 0, &status);
    double limit = r->options.timeout + (w->used ? TRANSFER_GRACE : 0);
    bool late = r->options.timeout > 0 && spent > limit;
    if (state == WORKER_PENDING && !ended && !late)
        return false;
    *out = (struct mxv_runner_result){.task = w->task, .seconds = spent};
    w->busy = false;
    enum worker_frame_kind kind =
        state == WORKER_COMPLETE ? (enum worker_frame_kind)worker_head(w).kind : WORKER_READY;
    if (kind == WORKER_ANSWERS || kind == WORKER_RETIRES) {
        out->end = MXV_RUNNER_ANSWER;
        out->size = worker_head(w).size;
        out->bytes = worker_take(w);
        if (kind == WORKER_RETIRES)
            worker_kill(w);
    } else if (kind == WORKER_LACKS || state == WORKER_NO_ROOM) {
        out->end = MXV_RUNNER_NO_MEMORY;
        snprintf(out->reason, sizeof out->reason, "out of memory %s",
                 kind == WORKER_LACKS ? "in the worker process" : "for the answer of a worker");
        worker_kill(w);
    } else if (state == WORKER_COMPLETE || state == WORKER_NONSENSE) {
        out->end = MXV_RUNNER_GARBAGE;
        snprintf(out->reason, sizeof out->reason,
                 "the worker process wrote bytes into its channel that are no answer");
        worker_kill(w);
    } else if (state == WORKER_CLOSED || ended) {
        finish_crash(w, out, ended, status);
    } else {
        out->end = MXV_RUNNER_TIMEOUT;
        snprintf(out->reason, sizeof out->reason, "no answer within %g s", r->options.timeout);
        worker_kill(w);
    }
    return true;
}

static int await_any(struct mxv_runner *r, double seconds)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->count; i++)
        if (r->workers[i].pid && r->workers[i].busy)
            r->polls[n++] = (struct pollfd){r->workers[i].fd, POLLIN, 0};
    double tick = seconds < TICK ? seconds : TICK;
    return poll(r->polls, n, tick > 0 ? (int)(tick * 1000) + 1 : 0);
}

bool mxv_runner_wait(struct mxv_runner *r, struct mxv_runner_result *result, double seconds)
{
    double until = worker_now() + seconds;
    for (;;) {
        for (unsigned i = 0; i < r->count; i++)
            if (r->workers[i].busy && settle_task(r, &r->workers[i], result))
                return true;
        double left = until - worker_now();
        if (left <= 0 || (await_any(r, left) < 0 && errno == EINTR))
            return false;
    }
}

void mxv_runner_close(struct mxv_runner *r)
{
    for (unsigned i = 0; r && i < r->count; i++) {
        worker_kill(&r->workers[i]);
        free(r->workers[i].bytes);
    }
    if (r)
        free(r->polls);
    free(r);
}
