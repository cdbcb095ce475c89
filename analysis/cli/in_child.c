// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A verb's work in a forked child. What the parent must know lies in a shared mapping: the case at
// hand, and whether the work came to its end (an adapter may call exit). Not handled: processes
// that an adapter starts. tests/cli/test_properties.sh and test_shrink.sh fail if this is wrong.
#include "in_child.h"
#include "cli.h"
#include "interrupt.h"
#include <errno.h>
#include <mxverify/case.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
    bool finished;
    char line[MXV_CASE_LINE_SIZE];
};

static struct shared *mine; // of the child

void cli_child_ends(void)
{
    if (mine)
        mine->finished = true;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void work_in_child(const struct child_work *work, struct shared *shared)
{
    mine = shared;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (work->ends_in_order)
        cli_take_interrupts_as_child();
    int status = work->run(work->ctx, shared->line, sizeof shared->line);
    if (fflush(stdout))
        status = cli_usage("%s: writing failed", work->verb);
    shared->finished = true;
    _exit(status);
}

// True with the state that waitpid gives; false when the limit passed and the child was killed.
static bool wait_for(pid_t child, double timeout, int *state)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    double start = now();
    bool in_time = true, told = false;
    for (;;) {
        pid_t ended = waitpid(child, state, in_time ? WNOHANG : 0);
        if (ended == 0 && cli_interrupted() && !told) {
            told = true;
            kill(child, SIGINT);
        }
        if (ended == child || (ended < 0 && errno != EINTR))
            return in_time;
        if (ended == 0)
            nanosleep(&pause, NULL);
        if (in_time && timeout > 0 && now() - start > timeout) {
            in_time = false;
            kill(child, SIGKILL);
        }
    }
}

static int conclude(const struct child_work *work, struct shared *shared, bool in_time, int state)
{
    shared->line[sizeof shared->line - 1] = 0;
    const char *line = shared->line, *at = line[0] ? "at " : "while it was loaded";
    if (in_time && WIFEXITED(state) && shared->finished)
        return WEXITSTATUS(state);
    if (!in_time)
        cli_usage("%s: no end within %g s (--timeout); the adapter was killed %s%s", work->verb,
                  work->timeout, at, line);
    else if (WIFSIGNALED(state))
        cli_usage("%s: the adapter died of signal %d (%s) %s%s", work->verb, WTERMSIG(state),
                  strsignal(WTERMSIG(state)), at, line);
    else
        cli_usage("%s: the adapter ended its process with status %d %s%s", work->verb,
                  WEXITSTATUS(state), at, line);
    return 1;
}

int cli_in_child(const struct child_work *work)
{
    int state = 0;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return cli_usage("%s: %s", work->verb, strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        work_in_child(work, shared);
    int status;
    if (child < 0) {
        status = cli_usage("%s: %s", work->verb, strerror(errno));
    } else {
        bool in_time = wait_for(child, work->timeout, &state);
        status = conclude(work, shared, in_time, state);
    }
    munmap(shared, sizeof *shared);
    return status;
}
