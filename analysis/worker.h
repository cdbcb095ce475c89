// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the runner: one worker process and the channel to it.
//
// The channel is a pair of stream sockets. A request is the task's number (8 bytes); an answer is a
// frame head and its payload. The head carries a magic word, the task, the size and the XXH3-64 of
// the payload, so that stray bytes in the channel are not taken for an answer.
#ifndef MXV_WORKER_H
#define MXV_WORKER_H

#include <mxverify/runner.h>
#include <sys/types.h>

enum worker_frame_kind {
    WORKER_READY = 1,
    WORKER_REFUSES,
    WORKER_ANSWERS,
    WORKER_RETIRES,
    WORKER_LACKS // memory for the task
};

struct worker_frame {
    uint32_t magic, kind;
    uint64_t task, size, hash;
};

struct worker {
    pid_t pid; // 0: none
    int fd;
    bool busy;
    uint64_t task;
    double started; // of the task, or of the process
    unsigned char *bytes;
    size_t used, room;
};

// NO_ROOM: no memory here for what comes.
enum worker_state {
    WORKER_PENDING,
    WORKER_COMPLETE,
    WORKER_CLOSED,
    WORKER_NONSENSE,
    WORKER_NO_ROOM
};

double worker_now(void); // seconds, monotonic

// Forks a worker that serves `job`. `others` are closed in it. 0, or errno.
int worker_fork(struct worker *w, const struct mxv_runner_job *job, const struct worker *others,
                unsigned count);
// Asks for a task; false when the worker no longer listens.
bool worker_ask(struct worker *w, uint64_t task);
// Reads what has come. COMPLETE: a whole, undamaged frame is in w->bytes.
enum worker_state worker_read(struct worker *w);
// The frame that is complete.
struct worker_frame worker_head(const struct worker *w);
// Takes its payload over (the caller frees it) and makes room for the next frame.
unsigned char *worker_take(struct worker *w);
// Whether the process has ended by itself; then it is reaped and *status is that of waitpid.
bool worker_ended(struct worker *w, double patience, int *status);
// Kills and reaps the process if there is one, closes the channel, forgets what came.
void worker_kill(struct worker *w);
// "killed by signal 11 (Segmentation fault)", "exited with status 3".
void worker_describe(int status, char *text, size_t size);

// The life of a worker, behind the fork: does not return.
void worker_serve(int fd, pid_t parent, const struct mxv_runner_job *job) __attribute__((noreturn));

enum { WORKER_MAGIC = 0x5652584d, WORKER_ANSWER_MAX = 1 << 28 };

#endif
