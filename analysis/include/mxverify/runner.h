// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Worker processes: numbered tasks are done in child processes, so that one that dies, hangs or
// answers nonsense costs its own task only.
//
//     mxv_runner_open(&options, &job, &runner, message, sizeof message)
//     while (...) {
//         while (tasks are left && mxv_runner_submit(runner, task, ...) == 1) ...
//         if (mxv_runner_wait(runner, &result, 0.2)) ...
//     }
//     mxv_runner_close(runner)
//
// Workers are forked copies of the caller (no exec): they see its memory as it was at the fork. The
// caller must not have started threads of its own (OpenMP included) before mxv_runner_open, nor
// start any while the runner is open. In a worker standard output is standard error, standard input
// is empty, SIGINT is ignored (the parent decides), and the death of the parent kills it (Linux).
//
// A worker is replaced after a crash, a time-out or nonsense, before the next task. Which worker
// does a task is not determined; a task's answer must not depend on it.
#ifndef MXVERIFY_RUNNER_H
#define MXVERIFY_RUNNER_H

#include <mxverify/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MXV_RUNNER_WORKERS_MAX 1024u

struct mxv_runner_options {
    unsigned workers;   // 1 to MXV_RUNNER_WORKERS_MAX
    double timeout;     // seconds a task may take; 0: no limit
    double start_limit; // seconds a worker may take to start; 0: 60
};

// Both functions are called in the worker.
struct mxv_runner_job {
    void *ctx;
    // Once in every worker, before its first task; NULL: nothing to do. Returns 0, or non-zero with
    // a message when this job cannot be done at all.
    int (*start)(void *ctx, char *message, size_t size);
    // Does a task; leaves its answer in *bytes (malloc'ed, released by the runner), *size. Returns
    // 0; MXV_RUNNER_RETIRE when the answer stands but this process must not do another task;
    // MXV_RUNNER_LACKS when memory is short even for an answer; any other value ends the worker
    // without an answer, which counts as a crash.
    int (*run)(void *ctx, uint64_t task, unsigned char **bytes, size_t *size);
};

enum { MXV_RUNNER_RETIRE = 2, MXV_RUNNER_LACKS = 4 };

enum mxv_runner_end {
    MXV_RUNNER_ANSWER,   // bytes and size hold the answer
    MXV_RUNNER_CRASH,    // the worker died or closed its channel
    MXV_RUNNER_TIMEOUT,  // the time limit passed; the worker was killed
    MXV_RUNNER_GARBAGE,  // what came back is no answer; the worker was killed
    MXV_RUNNER_NO_MEMORY // the worker, or this process for the answer, lacked memory
};

struct mxv_runner_result {
    uint64_t task;
    enum mxv_runner_end end;
    unsigned char *bytes; // of an answer; the caller frees it. NULL otherwise
    size_t size;
    double seconds;   // from submission to the end
    char reason[160]; // what happened, unless it is an answer
};

struct mxv_runner;

// Forks the workers and waits until all have started. MXV_ERR_UNSUPPORTED when `start` refuses or
// does not survive, MXV_ERR_IO or MXV_ERR_MEMORY when the system does.
enum mxv_status mxv_runner_open(const struct mxv_runner_options *options,
                                const struct mxv_runner_job *job, struct mxv_runner **out,
                                char *message, size_t size);

// Gives a task to an idle worker, replacing it first when the last one was lost. Returns 1, or 0
// when all are busy, or -1 with a message when a worker could not be replaced.
int mxv_runner_submit(struct mxv_runner *runner, uint64_t task, char *message, size_t size);
unsigned mxv_runner_busy(const struct mxv_runner *runner);

// The next ended task, whichever it is: true with *result, false when none ended within `seconds`
// or a signal came.
bool mxv_runner_wait(struct mxv_runner *runner, struct mxv_runner_result *result, double seconds);

// In a worker, from any thread of a task: tells the parent that memory is short and ends the
// process. For libraries that would end it themselves. In no worker it returns.
void mxv_runner_lacks_memory(void);

// Kills the workers, whatever they do, and frees everything. NULL is allowed.
void mxv_runner_close(struct mxv_runner *runner);

#ifdef __cplusplus
}
#endif
#endif
