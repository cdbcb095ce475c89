// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: a black box behind a shell command. Questions go to a temporary file, the command reads it
// as standard input, and its output is taken apart: one line of hexadecimal words for each
// question. The command is run once per batch, so that it may buffer as it likes, within a time
// limit. Words are as wide as in `mxverify eval` (docs/eval.md). tests/cli/test_probe.sh fails if
// this is wrong.
#include "probe_internal.h"
#include <errno.h>
#include <mxverify/element.h>
#include <mxverify/text_file.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double limit = 60; // seconds a batch may take

void mxv_probe_time_limit(double seconds)
{
    limit = seconds;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Bytes at hand: as read; -1 with errno ETIMEDOUT after the deadline.
static ssize_t read_some(int fd, char *to, size_t room, double deadline)
{
    for (;;) {
        double left = deadline - now();
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready =
            limit > 0 ? poll(&wait, 1, left > 0 ? (int)(left < 1e6 ? left * 1e3 + 1 : 1e9) : 0) : 1;
        if (ready == 0 && left <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        ssize_t n = ready > 0 ? read(fd, to, room) : -1;
        if (n >= 0 || (ready < 0 && errno != EINTR) || (ready > 0 && errno != EINTR))
            return n;
    }
}

static enum mxv_status read_all(int fd, char **text, double deadline)
{
    size_t room = 1 << 16, length = 0;
    ssize_t n;
    char *buf = malloc(room + 1);
    while (buf && (n = read_some(fd, buf + length, room - length, deadline)) != 0) {
        char *more = n < 0 ? NULL : buf;
        length += n < 0 ? 0 : (size_t)n;
        if (length > MXV_TEXT_LINE_BYTES) {
            errno = EFBIG;
            n = -1;
            more = NULL;
        }
        if (more && length == room)
            more = realloc(buf, 2 * room + 1);
        if (!more) {
            const int error = errno;
            free(buf);
            errno = error;
            return n < 0 ? MXV_ERR_IO : MXV_ERR_MEMORY;
        }
        buf = more;
        room = length == room ? 2 * room : room;
    }
    if (!buf)
        return MXV_ERR_MEMORY;
    buf[length] = 0;
    *text = buf;
    return MXV_OK;
}

// The state of the command after its end; false after the deadline.
static bool wait_for(pid_t child, int *state, double deadline)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    for (;;) {
        pid_t ended = waitpid(child, state, limit > 0 ? WNOHANG : 0);
        if (ended == child || (ended < 0 && errno != EINTR))
            return ended == child;
        if (limit > 0 && now() > deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

// The child: `input` as standard input, the pipe as standard output.
static _Noreturn void become(const char *command, FILE *input, const int pipes[2])
{
    setpgid(0, 0); // so that all of a pipeline can be killed
    if (dup2(fileno(input), STDIN_FILENO) >= 0 && dup2(pipes[1], STDOUT_FILENO) >= 0) {
        close(pipes[0]);
        close(pipes[1]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    }
    _exit(127);
}

enum mxv_status probe_command(const char *command, FILE *input, char **text, char *message,
                              size_t size)
{
    int pipes[2], state = 0;
    if (fflush(input) || fseek(input, 0, SEEK_SET) || pipe(pipes)) {
        snprintf(message, size, "questions for `%.200s`: %s", command, strerror(errno));
        return MXV_ERR_IO;
    }
    double deadline = now() + limit;
    pid_t child = fork();
    if (child == 0)
        become(command, input, pipes);
    close(pipes[1]);
    if (child < 0) {
        close(pipes[0]);
        snprintf(message, size, "`%.200s` could not be run: %s", command, strerror(errno));
        return MXV_ERR_IO;
    }
    setpgid(child, child);
    enum mxv_status status = read_all(pipes[0], text, deadline);
    bool late = status == MXV_ERR_IO && errno == ETIMEDOUT;
    bool large = status == MXV_ERR_IO && errno == EFBIG;
    close(pipes[0]);
    bool ended = status == MXV_OK && wait_for(child, &state, deadline);
    if (!ended) {
        kill(-child, SIGKILL);
        while (waitpid(child, &state, 0) < 0 && errno == EINTR)
            ;
    }
    if (late || (status == MXV_OK && !ended))
        snprintf(message, size, "`%.200s` did not end within %g s (--timeout)", command, limit);
    else if (status != MXV_OK)
        snprintf(message, size, "`%.200s` %s", command,
                 large ? "answers more than 64 MiB" : "could not be read");
    else if (!(WIFEXITED(state) && WEXITSTATUS(state) == 0))
        snprintf(message, size, "`%.200s` ended with %s %d", command,
                 WIFEXITED(state) ? "status" : "signal",
                 WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
    else
        return MXV_OK;
    if (status == MXV_OK)
        free(*text);
    *text = NULL;
    return status == MXV_OK ? MXV_ERR_IO : status;
}

bool probe_next_answer(char **at, uint32_t *words, size_t most, size_t *count, const char **line)
{
    while (**at) {
        char *start = *at, *stop = strchr(start, '\n'), *word = start;
        *line = start;
        *at = stop ? stop + 1 : start + strlen(start);
        if (stop)
            *stop = 0;
        for (*count = 0; *count < most; (*count)++) {
            word += strspn(word, " \t\r");
            size_t length = strspn(word, "0123456789abcdefABCDEF");
            unsigned long long value = length && length <= 16 ? strtoull(word, NULL, 16) : ~0ull;
            if (value > UINT32_MAX || (word[length] && !strchr(" \t\r", word[length])))
                break;
            words[*count] = (uint32_t)value;
            word += length;
        }
        if (word[strspn(word, " \t\r")])
            *count = *count == most ? most + 1 : 0; // more than was asked for, or no word
        if (start[strspn(start, " \t\r")])
            return true;
    }
    return false;
}

static FILE *question_file(char *message, size_t size)
{
    FILE *f = tmpfile();
    if (!f)
        snprintf(message, size, "no temporary file: %s", strerror(errno));
    return f;
}

static int digits(enum mxv_element f)
{
    unsigned bits = f == MXV_TF32 ? 32 : mxv_element_get(f)->bits;
    return bits <= 8 ? 2 : bits <= 16 ? 4 : 8;
}

static void print_question(FILE *f, const struct mxv_mma_model *face,
                           const struct mxv_probe_question *q)
{
    for (unsigned i = 0; i < q->k; i++)
        fprintf(f, "%0*X ", digits(face->a), q->a[i]);
    fprintf(f, "|");
    for (unsigned i = 0; i < q->k; i++)
        fprintf(f, " %0*X", digits(face->b), q->b[i]);
    fprintf(f, " | %0*X", face->result == MXV_MMA_F16 ? 4 : 8, q->c);
    size_t scales = mxv_mma_scale_count(face, q->k);
    for (size_t i = 0; i < scales; i++)
        fprintf(f, "%s %02X", i ? "" : " |", q->scale_a[i]);
    for (size_t i = 0; i < scales; i++)
        fprintf(f, "%s %02X", i ? "" : " |", q->scale_b[i]);
    fprintf(f, "\n");
}

enum mxv_status mxv_probe_ask_command(void *ctx, const struct mxv_mma_model *face,
                                      const struct mxv_probe_question *questions, size_t count,
                                      uint32_t *answers, char *message, size_t size)
{
    FILE *f = question_file(message, size);
    char *text = NULL;
    if (!f)
        return MXV_ERR_IO;
    for (size_t i = 0; i < count; i++)
        print_question(f, face, &questions[i]);
    enum mxv_status status = probe_command(ctx, f, &text, message, size);
    fclose(f);
    char *at = text;
    for (size_t i = 0, words = 0; i < count && status == MXV_OK; i++) {
        const char *line = "";
        bool answered = probe_next_answer(&at, &answers[i], 1, &words, &line);
        if (answered && words == 1)
            continue;
        int n = snprintf(message, size, "`%.200s`: answer %zu of %zu is %s", (const char *)ctx,
                         i + 1, count, answered ? "not one hexadecimal word: " : "missing");
        if (answered && n > 0 && (size_t)n < size)
            snprintf(message + n, size - (size_t)n, "`%.100s`", line);
        status = MXV_ERR_INPUT;
    }
    free(text);
    return status;
}

enum mxv_status mxv_probe_quantise_command(void *ctx, enum mxv_block block, const uint32_t *x,
                                           size_t count, uint8_t *scale, uint8_t *codes,
                                           char *message, size_t size)
{
    FILE *f = question_file(message, size);
    char *text = NULL;
    size_t n = mxv_block_get(block)->size;
    if (!f)
        return MXV_ERR_IO;
    for (size_t i = 0; i < count * n; i++)
        fprintf(f, "%08X%c", x[i], i % n == n - 1 ? '\n' : ' ');
    enum mxv_status status = probe_command(ctx, f, &text, message, size);
    fclose(f);
    char *at = text;
    for (size_t i = 0; i < count && status == MXV_OK; i++) {
        uint32_t words[MXV_BLOCK_SIZE_MAX + 1] = {0};
        size_t got = 0;
        const char *line = "";
        if (!probe_next_answer(&at, words, n + 1, &got, &line) || got != n + 1) {
            snprintf(message, size,
                     "`%.200s`: answer %zu of %zu does not have the words, not scale and %zu "
                     "codes: `%.100s`",
                     (const char *)ctx, i + 1, count, n, line);
            status = MXV_ERR_INPUT;
        }
        scale[i] = (uint8_t)words[0];
        for (size_t j = 0; j < n; j++)
            codes[i * n + j] = (uint8_t)words[j + 1];
    }
    free(text);
    return status;
}
