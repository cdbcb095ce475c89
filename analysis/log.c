// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The run log's file: opening, ending records, flushing, closing, and the record of a dying
// process.
//
// A record reaches the system with its last byte, so a crash of the program loses none; the disk is
// flushed every 64 records, so a crash of the machine loses at most those. tests/unit/test_log.c
// fails if this file is wrong.
#include "log_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS_PER_SYNC = 64 };

static enum mxv_status fail(const char *path, int error, char *message, size_t message_size)
{
    const bool full = error == ENOSPC || error == EDQUOT;
    if (message && message_size)
        snprintf(message, message_size, "%s: cannot write the log: %s%s", path, strerror(error),
                 full ? "; make room on the disk, and --resume goes on from the last whole record"
                      : "");
    return error == ENOMEM ? MXV_ERR_MEMORY : MXV_ERR_IO;
}

static void release(struct mxv_log *log)
{
    if (log)
        free(log->path);
    free(log);
}

enum mxv_status mxv_log_open(const char *path, bool append, struct mxv_log **out, char *message,
                             size_t message_size)
{
    *out = NULL;
    struct mxv_log *log = calloc(1, sizeof *log);
    char *copy = strdup(path);
    if (!log || !copy) {
        free(copy);
        release(log);
        return fail(path, ENOMEM, message, message_size);
    }
    log->path = copy;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC);
    int fd = open(path, flags, (mode_t)0666);
    if (fd < 0) {
        int error = errno;
        release(log);
        return fail(path, error, message, message_size);
    }
    mxv_json_init(&log->json, fd);
    *out = log;
    return MXV_OK;
}

// Pipes and some devices cannot be flushed to a disk: that is no error.
static void sync_file(struct mxv_log *log)
{
    if (fsync(log->json.fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        log->json.error = errno;
    log->unsynced = 0;
}

enum mxv_status mxv_log_finish_record(struct mxv_log *log, bool now, char *message,
                                      size_t message_size)
{
    mxv_json_end_record(&log->json);
    log->unsynced++;
    if (log->json.error == 0 && (now || log->unsynced >= RECORDS_PER_SYNC))
        sync_file(log);
    if (log->json.error)
        return fail(log->path, log->json.error, message, message_size);
    return MXV_OK;
}

enum mxv_status mxv_log_close(struct mxv_log *log, char *message, size_t message_size)
{
    if (!log)
        return MXV_OK;
    if (log->json.error == 0)
        sync_file(log);
    int error = log->json.error;
    if (close(log->json.fd) != 0 && error == 0)
        error = errno;
    enum mxv_status status = MXV_OK;
    if (error)
        status = fail(log->path, error, message, message_size);
    release(log);
    return status;
}

bool mxv_log_abort(struct mxv_log *log, const char *id, const char *line, enum mxv_verdict verdict)
{
    int saved = errno;
    struct mxv_json *json = &log->json;
    mxv_json_drop_record(json);
    mxv_json_open(json, NULL, '{');
    mxv_json_text(json, "record", "case");
    mxv_json_text(json, "id", id);
    mxv_json_text(json, "case", line);
    mxv_json_text(json, "verdict", mxv_verdict_name(verdict));
    mxv_json_close(json, '}');
    bool good = mxv_json_end_record(json);
    errno = saved;
    return good;
}
