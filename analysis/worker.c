// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The parent's end of a worker: fork, requests, answers, end. tests/unit/test_runner.c fails if
// this file is wrong.
#include "worker.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

double worker_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int worker_fork(struct worker *w, const struct mxv_runner_job *job, const struct worker *others,
                unsigned count)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return errno;
    pid_t parent = getpid();
    fflush(NULL); // or the child would print the parent's pending output again
    pid_t pid = fork();
    if (pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    if (pid == 0) {
        close(ends[0]);
        for (unsigned i = 0; i < count; i++)
            if (others[i].pid)
                close(others[i].fd);
        worker_serve(ends[1], parent, job);
    }
    close(ends[1]);
    w->pid = pid;
    w->fd = ends[0];
    w->busy = false;
    w->used = 0;
    w->started = worker_now();
    return 0;
}

bool worker_ask(struct worker *w, uint64_t task)
{
    w->task = task;
    w->busy = true;
    w->used = 0;
    w->started = worker_now();
    return send(w->fd, &task, sizeof task, MSG_NOSIGNAL) == (ssize_t)sizeof task;
}

struct worker_frame worker_head(const struct worker *w)
{
    struct worker_frame head;
    memcpy(&head, w->bytes, sizeof head);
    return head;
}

static enum worker_state judge(const struct worker *w)
{
    if (w->used < sizeof(struct worker_frame))
        return WORKER_PENDING;
    struct worker_frame head = worker_head(w);
    if (head.magic != WORKER_MAGIC || head.kind < WORKER_READY || head.kind > WORKER_LACKS ||
        head.size > WORKER_ANSWER_MAX || head.task != w->task || w->used - sizeof head > head.size)
        return WORKER_NONSENSE;
    if (w->used - sizeof head < head.size)
        return WORKER_PENDING;
    return XXH3_64bits(w->bytes + sizeof head, head.size) == head.hash ? WORKER_COMPLETE
                                                                       : WORKER_NONSENSE;
}

enum worker_state worker_read(struct worker *w)
{
    for (;;) {
        if (w->used == w->room) {
            size_t room = w->room ? 2 * w->room : 1 << 15;
            unsigned char *bytes = realloc(w->bytes, room);
            if (!bytes)
                return WORKER_NO_ROOM;
            w->bytes = bytes;
            w->room = room;
        }
        ssize_t n = recv(w->fd, w->bytes + w->used, w->room - w->used, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? WORKER_PENDING : WORKER_CLOSED;
        if (n == 0)
            return WORKER_CLOSED;
        w->used += (size_t)n;
        enum worker_state state = judge(w);
        if (state != WORKER_PENDING)
            return state;
    }
}

unsigned char *worker_take(struct worker *w)
{
    unsigned char *bytes = w->bytes;
    size_t size = w->used - sizeof(struct worker_frame);
    memmove(bytes, bytes + sizeof(struct worker_frame), size);
    w->bytes = NULL;
    w->used = w->room = 0;
    return bytes;
}

bool worker_ended(struct worker *w, double patience, int *status)
{
    double until = worker_now() + patience;
    const struct timespec step = {0, 2000000};
    for (;;) {
        pid_t pid = waitpid(w->pid, status, WNOHANG);
        if (pid == w->pid || (pid < 0 && errno == ECHILD)) {
            if (pid < 0)
                *status = 0;
            w->pid = 0;
            close(w->fd);
            w->used = 0;
            return true;
        }
        if (worker_now() >= until)
            return false;
        nanosleep(&step, NULL);
    }
}

void worker_kill(struct worker *w)
{
    if (w->pid) {
        kill(w->pid, SIGKILL);
        while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(w->fd);
    }
    w->pid = 0;
    w->busy = false;
    w->used = 0;
}

void worker_describe(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
}
