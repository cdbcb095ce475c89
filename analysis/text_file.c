// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Text files under a limit. See mxverify/text_file.h.
#include <mxverify/text_file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct source {
    int descriptor;
    uint64_t file, line; // bytes read: of the file, and since its last line end
};

static ssize_t read_source(void *cookie, char *bytes, size_t size)
{
    struct source *s = cookie;
    ssize_t n;
    do
        n = read(s->descriptor, bytes, size);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n;
    const char *end = memrchr(bytes, '\n', (size_t)n);
    s->file += (uint64_t)n;
    s->line = end ? (uint64_t)(bytes + n - 1 - end) : s->line + (uint64_t)n;
    if (s->file <= MXV_TEXT_FILE_BYTES && s->line <= MXV_TEXT_LINE_BYTES)
        return n;
    errno = EFBIG;
    return -1;
}

static int close_source(void *cookie)
{
    struct source *s = cookie;
    const int status = close(s->descriptor);
    free(s);
    return status;
}

FILE *mxv_text_open(const char *path)
{
    const cookie_io_functions_t functions = {.read = read_source, .close = close_source};
    struct source *s = calloc(1, sizeof *s);
    FILE *file = NULL;
    if (!s)
        return NULL;
    s->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (s->descriptor >= 0)
        file = fopencookie(s, "r", functions);
    if (!file) {
        const int error = errno;
        if (s->descriptor >= 0)
            close(s->descriptor);
        free(s);
        errno = error;
    }
    return file;
}

ssize_t mxv_text_line(char **line, size_t *room, FILE *file)
{
    const ssize_t length = getline(line, room, file);
    return ferror(file) ? -1 : length;
}

const char *mxv_text_error(int error)
{
    return error == EFBIG ? "too large: a text file has at most 4 GiB, and a line 64 MiB"
                          : strerror(error);
}
