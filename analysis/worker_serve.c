// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The worker's end: it starts, says so, and answers tasks until its channel closes.
// tests/unit/test_runner.c fails if this file is wrong.
#include "worker.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static bool send_all(int fd, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool send_frame(int fd, enum worker_frame_kind kind, uint64_t task, const void *bytes,
                       size_t size)
{
    struct worker_frame head = {WORKER_MAGIC, (uint32_t)kind, task, size, XXH3_64bits(bytes, size)};
    return send_all(fd, &head, sizeof head) && send_all(fd, bytes, size);
}

static bool receive_task(int fd, uint64_t *task)
{
    unsigned char bytes[sizeof *task];
    size_t used = 0;
    while (used < sizeof bytes) {
        ssize_t n = recv(fd, bytes + used, sizeof bytes - used, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        used += (size_t)n;
    }
    memcpy(task, bytes, sizeof bytes);
    return true;
}

// The channel and the task of this process, where it is a worker that has one.
static struct {
    int fd;
    uint64_t task;
} serving = {-1, 0};

void mxv_runner_lacks_memory(void)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (serving.fd < 0)
        return;
    while (atomic_flag_test_and_set(&said)) // another thread has; two frames would be garbage
        pause();
    send_frame(serving.fd, WORKER_LACKS, serving.task, "", 0);
    _exit(3);
}

// Results go to the parent alone: what an implementation prints must not mix with them.
static void settle(pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(0); // it died before the call above
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    dup2(2, 1);
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (empty > 0) {
        dup2(empty, 0);
        close(empty);
    }
}

void worker_serve(int fd, pid_t parent, const struct mxv_runner_job *job)
{
    char message[1024] = "";
    uint64_t task;
    settle(parent);
    if (job->start && job->start(job->ctx, message, sizeof message)) {
        send_frame(fd, WORKER_REFUSES, 0, message, strlen(message));
        _exit(3);
    }
    bool alive = send_frame(fd, WORKER_READY, 0, "", 0);
    while (alive && receive_task(fd, &task)) {
        serving.fd = fd;
        serving.task = task;
        unsigned char *bytes = NULL;
        size_t size = 0;
        int end = job->run(job->ctx, task, &bytes, &size);
        if (end == MXV_RUNNER_LACKS)
            mxv_runner_lacks_memory();
        if (end != 0 && end != MXV_RUNNER_RETIRE)
            _exit(3);
        alive = send_frame(fd, end ? WORKER_RETIRES : WORKER_ANSWERS, task,
                           bytes ? bytes : (const void *)"", size) &&
                end == 0;
        free(bytes);
    }
    _exit(0);
}
