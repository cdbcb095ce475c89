// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Worker processes: every way in which a task can end, with workers that do just that.
#include <errno.h>
#include <mxverify/runner.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// What a task does is its number modulo ACTS.
enum act { SQUARE, DIE, EXIT, HANG, SPOIL, CLOSE, LARGE, RETIRE, ACTS };

static void for_each_socket(void (*act)(int fd))
{
    for (int fd = 3; fd < 64; fd++) {
        int type;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
            act(fd);
    }
}

static void spoil(int fd)
{
    static const char noise[] = "this is no frame, but long enough to be taken for the head of one";
    if (write(fd, noise, sizeof noise) < 0)
        _exit(9);
}

static void shut(int fd)
{
    close(fd);
}

static int act(void *ctx, uint64_t task, unsigned char **bytes, size_t *size)
{
    static bool retired;
    (void)ctx;
    if (retired)
        _exit(6);
    uint64_t square = task * task;
    *size = task % ACTS == LARGE ? 3000000 : sizeof square;
    *bytes = calloc(1, *size);
    memcpy(*bytes, &square, sizeof square);
    switch (task % ACTS) {
    case DIE:
        raise(SIGKILL);
        break;
    case EXIT:
        _exit(5);
    case HANG:
        for (;;)
            pause();
    case SPOIL:
        for_each_socket(spoil);
        break;
    case CLOSE:
        for_each_socket(shut);
        for (;;)
            pause();
    case RETIRE:
        retired = true;
        return MXV_RUNNER_RETIRE;
    default:
        break;
    }
    return 0;
}

static struct mxv_runner *open_runner(unsigned workers, double timeout)
{
    struct mxv_runner *runner;
    char message[256];
    struct mxv_runner_options options = {.workers = workers, .timeout = timeout};
    struct mxv_runner_job job = {.run = act};
    assert_int_equal(mxv_runner_open(&options, &job, &runner, message, sizeof message), MXV_OK);
    return runner;
}

static void check_end(const struct mxv_runner_result *r)
{
    static const enum mxv_runner_end expected[ACTS] = {
        [SQUARE] = MXV_RUNNER_ANSWER, [DIE] = MXV_RUNNER_CRASH,     [EXIT] = MXV_RUNNER_CRASH,
        [HANG] = MXV_RUNNER_TIMEOUT,  [SPOIL] = MXV_RUNNER_GARBAGE, [CLOSE] = MXV_RUNNER_CRASH,
        [LARGE] = MXV_RUNNER_ANSWER,  [RETIRE] = MXV_RUNNER_ANSWER};
    assert_int_equal(r->end, expected[r->task % ACTS]);
    if (r->end == MXV_RUNNER_ANSWER) {
        uint64_t square;
        assert_int_equal(r->size, r->task % ACTS == LARGE ? 3000000 : sizeof square);
        memcpy(&square, r->bytes, sizeof square);
        assert_int_equal(square, r->task * r->task);
    } else {
        assert_null(r->bytes);
        assert_true(r->reason[0]);
    }
    if (r->task % ACTS == DIE)
        assert_non_null(strstr(r->reason, "killed by signal 9"));
    if (r->task % ACTS == EXIT)
        assert_non_null(strstr(r->reason, "exited with status 5"));
}

static void every_task_ends_once(void **state)
{
    (void)state;
    enum { TASKS = 4 * ACTS };
    unsigned seen[TASKS] = {0};
    char message[256];
    struct mxv_runner *runner = open_runner(3, 0.4);
    uint64_t next = 0;
    unsigned ended = 0;
    while (ended < TASKS) {
        int taken = 1;
        while (next < TASKS &&
               (taken = mxv_runner_submit(runner, next, message, sizeof message)) == 1)
            next++;
        assert_int_not_equal(taken, -1);
        struct mxv_runner_result result;
        if (!mxv_runner_wait(runner, &result, 5))
            continue;
        check_end(&result);
        seen[result.task]++;
        free(result.bytes);
        ended++;
    }
    assert_int_equal(mxv_runner_busy(runner), 0);
    for (unsigned i = 0; i < TASKS; i++)
        assert_int_equal(seen[i], 1);
    mxv_runner_close(runner);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // nobody is left
    assert_int_equal(errno, ECHILD);
}

static void wait_gives_up(void **state)
{
    (void)state;
    char message[256];
    struct mxv_runner_result result;
    struct mxv_runner *runner = open_runner(1, 0);
    assert_int_equal(mxv_runner_submit(runner, HANG, message, sizeof message), 1);
    assert_int_equal(mxv_runner_submit(runner, SQUARE, message, sizeof message), 0);
    assert_false(mxv_runner_wait(runner, &result, 0.3));
    assert_int_equal(mxv_runner_busy(runner), 1);
    mxv_runner_close(runner); // although it hangs
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static int refuse_start(void *ctx, char *message, size_t size)
{
    snprintf(message, size, "no %s here", (const char *)ctx);
    return 1;
}

static int die_at_start(void *ctx, char *message, size_t size)
{
    (void)ctx;
    (void)message;
    (void)size;
    abort();
}

static int never_start(void *ctx, char *message, size_t size)
{
    (void)ctx;
    (void)message;
    (void)size;
    while (getppid() > 0)
        pause();
    return 0;
}

static void start_is_judged(void **state)
{
    (void)state;
    static char device[] = "device";
    struct mxv_runner *runner;
    char message[256];
    struct mxv_runner_options options = {.workers = 2, .start_limit = 0.4};
    struct mxv_runner_job job = {.ctx = device, .start = refuse_start, .run = act};
    assert_int_equal(mxv_runner_open(&options, &job, &runner, message, sizeof message),
                     MXV_ERR_UNSUPPORTED);
    assert_string_equal(message, "no device here");
    job.start = die_at_start;
    assert_int_equal(mxv_runner_open(&options, &job, &runner, message, sizeof message),
                     MXV_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "signal 6"));
    job.start = never_start;
    assert_int_equal(mxv_runner_open(&options, &job, &runner, message, sizeof message),
                     MXV_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "time limit"));
    options.workers = 0;
    assert_int_equal(mxv_runner_open(&options, &job, &runner, message, sizeof message),
                     MXV_ERR_INPUT);
    assert_null(runner);
    mxv_runner_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_ends_once),
        cmocka_unit_test(wait_gives_up),
        cmocka_unit_test(start_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
