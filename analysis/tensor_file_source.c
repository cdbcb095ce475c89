// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a tensor file and its error line. A regular file is read in place, only the parts that
// are asked for, so one tensor of a large file costs its own size. A file that shrinks while it is
// read gives MXV_ERR_IO. tests/unit/test_tensor_file_npy_refusals.c fails if this is wrong.
#include "tensor_file_source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensor files are read and written as the little-endian words of the host");

enum { PIPE_CHUNK = 1 << 16, PIPE_BYTES = 1 << 30 }; // of a read, and of a whole stream at most

enum mxv_status mxv_file_fail(const struct mxv_file_report *report, enum mxv_status status,
                              const char *format, ...)
{
    if (!report->message || report->size == 0)
        return status;
    int used = snprintf(report->message, report->size, "%s: ", report->label);
    if (used >= 0 && (size_t)used < report->size) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(report->message + used, report->size - (size_t)used, format, arguments);
        va_end(arguments);
    }
    for (char *c = report->message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return status;
}

static enum mxv_status fail_system(const struct mxv_file_report *report, const char *what)
{
    return mxv_file_fail(report, MXV_ERR_IO, "%s: %s", what, strerror(errno));
}

static ssize_t read_some(int descriptor, void *destination, size_t count)
{
    ssize_t got;
    do
        got = read(descriptor, destination, count);
    while (got < 0 && errno == EINTR);
    return got;
}

static enum mxv_status read_pipe(struct mxv_file_source *source,
                                 const struct mxv_file_report *report)
{
    size_t room = 0, used = 0;
    ssize_t got = 0;
    do {
        used += (size_t)got;
        if (used > PIPE_BYTES)
            return mxv_file_fail(report, MXV_ERR_INPUT,
                                 "too large: more than 1 GiB through a pipe or device");
        if (room - used < PIPE_CHUNK) {
            room = 2 * room < PIPE_BYTES ? 2 * room + PIPE_CHUNK : PIPE_BYTES + 2 * PIPE_CHUNK;
            uint8_t *grown = realloc(source->owned, room);
            if (!grown)
                return mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for %zu bytes", room);
            source->owned = grown;
        }
        got = read_some(source->descriptor, source->owned + used, room - used);
    } while (got > 0);
    if (got < 0)
        return fail_system(report, "cannot be read");
    source->memory = source->owned;
    source->length = used;
    return MXV_OK;
}

enum mxv_status mxv_file_source_open(const char *path, struct mxv_file_source *source,
                                     const struct mxv_file_report *report)
{
    *source = (struct mxv_file_source){.descriptor = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat status;
    enum mxv_status result = MXV_OK;
    if (source->descriptor < 0)
        return mxv_file_fail(report, MXV_ERR_IO, "cannot be opened: %s; check the path",
                             strerror(errno));
    if (fstat(source->descriptor, &status) != 0)
        result = fail_system(report, "cannot be examined");
    else if (S_ISDIR(status.st_mode))
        result = mxv_file_fail(report, MXV_ERR_IO, "is a folder; name a file");
    else if (S_ISREG(status.st_mode))
        source->length = (uint64_t)status.st_size;
    else
        result = read_pipe(source, report);
    if (result != MXV_OK)
        mxv_file_source_close(source);
    return result;
}

struct mxv_file_source mxv_file_source_memory(const void *buffer, size_t length)
{
    static const uint8_t nothing[1];
    const uint8_t *memory = buffer ? (const uint8_t *)buffer : nothing;
    return (struct mxv_file_source){.length = length, .memory = memory, .descriptor = -1};
}

void mxv_file_source_close(struct mxv_file_source *source)
{
    free(source->owned);
    if (source->descriptor >= 0)
        close(source->descriptor);
    *source = (struct mxv_file_source){.descriptor = -1};
}

enum mxv_status mxv_file_source_read(const struct mxv_file_source *source, uint64_t offset,
                                     void *destination, size_t count,
                                     const struct mxv_file_report *report)
{
    assert(offset <= source->length && count <= source->length - offset);
    if (source->memory) {
        if (count)
            memcpy(destination, source->memory + offset, count);
        return MXV_OK;
    }
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(source->descriptor, (uint8_t *)destination + done, count - done,
                            (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_system(report, "cannot be read");
        if (got == 0)
            return mxv_file_fail(report, MXV_ERR_IO, "became shorter while it was read");
        done += (size_t)got;
    }
    return MXV_OK;
}
