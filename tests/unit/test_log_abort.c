// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The run log of a process that dies, exit statuses, and the words for verdicts.
#include "test_log.h"

static struct mxv_log *dying_log;

static void on_abort(int number)
{
    (void)number;
    mxv_log_abort(dying_log, "feedbeef00", "dma \"x\"", MXV_VERDICT_CRASH);
    _exit(7);
}

// A child dies by a signal between two records; its last record names the case.
static void test_abort(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct mxv_log_case c = plain_case();
        dying_log = open_log(false);
        mxv_log_write_case(dying_log, &c, NULL, 0);
        signal(SIGABRT, on_abort);
        abort();
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    size_t count;
    json_t *lines = read_lines(&count), *last = json_array_get(lines, 1);
    assert_int_equal(count, 2);
    assert_string_equal(text_at(last, "id"), "feedbeef00");
    assert_string_equal(text_at(last, "case"), "dma \"x\"");
    assert_string_equal(text_at(last, "verdict"), "crash");
    json_decref(lines);
}

enum { RECORD_BYTES = 400000 };

static void write_long_record_into_pipe(const char *pipe_path)
{
    static char line[RECORD_BYTES + 1];
    memset(line, 'x', RECORD_BYTES);
    struct mxv_log_case c = plain_case();
    c.line = line;
    signal(SIGUSR1, on_abort);
    if (mxv_log_open(pipe_path, false, &dying_log, NULL, 0) == MXV_OK)
        mxv_log_write_case(dying_log, &c, NULL, 0); // blocks: the pipe holds less
    _exit(1);
}

// A child dies while the pipe behind its log is full, in the middle of a record: the torn line is
// ended, and the line after it is the whole record of the dying case.
static void test_abort_inside_a_record(void **state)
{
    (void)state;
    static char bytes[2 * RECORD_BYTES];
    char pipe_path[64];
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_long_record_into_pipe(pipe_path);
    int fd = open(pipe_path, O_RDONLY);
    assert_true(fd >= 0);
    size_t length = 1;
    assert_int_equal(read(fd, bytes, 1), 1); // the record has begun
    assert_int_equal(kill(child, SIGUSR1), 0);
    for (ssize_t got; (got = read(fd, bytes + length, sizeof bytes - 1 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(unlink(pipe_path), 0);
    bytes[length] = '\0';
    char *last = strchr(bytes, '\n');
    assert_non_null(last);
    assert_null(json_loadb(bytes, (size_t)(last - bytes), 0, NULL)); // torn
    json_t *record = json_loads(last + 1, 0, NULL);
    assert_non_null(record);
    assert_string_equal(text_at(record, "id"), "feedbeef00");
    json_decref(record);
}

// The rule of the command line: 0 passed or waived, 1 something is wrong, 2 stopped early, 3
// nothing was selected, 77 all skipped.
static void test_exit_status(void **state)
{
    (void)state;
    const struct {
        enum mxv_verdict verdict;
        int alone;
    } rows[] = {
        {MXV_VERDICT_PASS, 0},  {MXV_VERDICT_WARN, 0},         {MXV_VERDICT_WAIVED, 0},
        {MXV_VERDICT_WEAK, 1},  {MXV_VERDICT_FAIL, 1},         {MXV_VERDICT_UNDECIDED, 1},
        {MXV_VERDICT_CRASH, 1}, {MXV_VERDICT_TIMEOUT, 1},      {MXV_VERDICT_DEVICE_LOST, 1},
        {MXV_VERDICT_XPASS, 1}, {MXV_VERDICT_FLAKY, 1},        {MXV_VERDICT_ORACLE_ERROR, 1},
        {MXV_VERDICT_SKIP, 77}, {MXV_VERDICT_UNSUPPORTED, 77},
    };
    assert_int_equal(sizeof rows / sizeof *rows, MXV_VERDICT_COUNT);
    for (size_t i = 0; i < MXV_VERDICT_COUNT; i++) {
        size_t counts[MXV_VERDICT_COUNT] = {0};
        counts[rows[i].verdict] = 3;
        assert_int_equal(mxv_exit_status(counts, false), rows[i].alone);
        assert_int_equal(mxv_exit_status(counts, true), rows[i].alone == 1 ? 1 : 2);
        counts[MXV_VERDICT_PASS]++;
        assert_int_equal(mxv_exit_status(counts, false), rows[i].alone == 1 ? 1 : 0);
    }
    const size_t nothing[MXV_VERDICT_COUNT] = {0};
    assert_int_equal(mxv_exit_status(nothing, false), 3);
}

static void test_verdict_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "pass",  "warn",    "weak",        "fail",   "undecided", "skip",         "unsupported",
        "crash", "timeout", "device-lost", "waived", "xpass",     "oracle-error", "flaky"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum mxv_verdict found;
        assert_true(mxv_verdict_find(names[i], &found));
        assert_string_equal(mxv_verdict_name(found), names[i]);
        assert_true(strlen(mxv_verdict_text(found)) > 10);
    }
    assert_null(mxv_verdict_name(MXV_VERDICT_COUNT));
    enum mxv_verdict found;
    assert_false(mxv_verdict_find("passed", &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_abort_inside_a_record),
        cmocka_unit_test(test_exit_status),
        cmocka_unit_test(test_verdict_names),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
