// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: a black box behind a shell command. Questions go to a temporary file, the command reads it
// as standard input, and its output is taken apart: one line of hexadecimal words for each
// question. The command is run once per batch, so that it may buffer as it likes. Words are as wide
// as in `mxverify eval` (docs/eval.md). tests/cli/test_probe.sh fails if this is wrong.
#include "probe_internal.h"
#include <errno.h>
#include <mxverify/element.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static enum mxv_status read_all(FILE *f, char **text)
{
    size_t room = 1 << 16, length = 0, n;
    char *buf = malloc(room + 1);
    while (buf && (n = fread(buf + length, 1, room - length, f)) > 0) {
        length += n;
        if (length < room)
            continue;
        char *more = realloc(buf, 2 * room + 1);
        if (!more) {
            free(buf);
            return MXV_ERR_MEMORY;
        }
        buf = more;
        room *= 2;
    }
    if (!buf)
        return MXV_ERR_MEMORY;
    buf[length] = 0;
    *text = buf;
    return MXV_OK;
}

// The child: `input` as standard input, the pipe as standard output.
static _Noreturn void become(const char *command, FILE *input, const int pipes[2])
{
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
    pid_t child = fork();
    if (child == 0)
        become(command, input, pipes);
    close(pipes[1]);
    FILE *f = child > 0 ? fdopen(pipes[0], "r") : NULL;
    enum mxv_status status = f ? read_all(f, text) : MXV_ERR_IO;
    if (f)
        fclose(f);
    else
        close(pipes[0]);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    if (status == MXV_OK && !(WIFEXITED(state) && WEXITSTATUS(state) == 0)) {
        free(*text);
        *text = NULL;
        status = MXV_ERR_IO;
        snprintf(message, size, "`%.200s` ended with %s %d", command,
                 WIFEXITED(state) ? "status" : "signal",
                 WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
    } else if (status != MXV_OK) {
        snprintf(message, size, "`%.200s` could not be run or read", command);
    }
    return status;
}

bool probe_next_answer(char **at, uint32_t *words, size_t most, size_t *count)
{
    while (**at) {
        char *line = *at, *stop = strchr(line, '\n');
        *at = stop ? stop + 1 : line + strlen(line);
        if (stop)
            *stop = 0;
        *count = 0;
        for (char *word = line; *count < most; (*count)++) {
            char *after;
            unsigned long long value = strtoull(word, &after, 16);
            if (after == word || value > UINT32_MAX)
                break;
            words[*count] = (uint32_t)value;
            word = after;
        }
        if (line[strspn(line, " \t\r")])
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
    for (size_t i = 0, words = 0; i < count && status == MXV_OK; i++)
        if (!probe_next_answer(&at, &answers[i], 1, &words) || words != 1) {
            snprintf(message, size, "`%.200s`: answer %zu of %zu is %s", (const char *)ctx, i + 1,
                     count, words || !*at ? "missing" : "no hexadecimal word");
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
        if (!probe_next_answer(&at, words, n + 1, &got) || got != n + 1) {
            snprintf(message, size,
                     "`%.200s`: answer %zu of %zu has %zu words, not scale and %zu codes",
                     (const char *)ctx, i + 1, count, got, n);
            status = MXV_ERR_INPUT;
        }
        scale[i] = (uint8_t)words[0];
        for (size_t j = 0; j < n; j++)
            codes[i * n + j] = (uint8_t)words[j + 1];
    }
    free(text);
    return status;
}
