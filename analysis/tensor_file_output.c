// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// All-or-nothing output (POSIX): a temporary file in the same folder is written, flushed with fsync
// and renamed over the target, so a reader sees the old file or the whole of the other. Any
// failure, of a write that the stream has buffered too, removes the temporary file. The temporary
// file is made exclusively under a name with the process id; it gets the target's permissions if
// there is a target, else those of the umask. Not handled: ownership, extended attributes, hard
// links. tests/unit/test_tensor_file_write.c fails if this is wrong.
#include "tensor_file_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ATTEMPTS = 10000 };

static enum mxv_status fail_errno(const struct mxv_file_report *report, const char *what, int error)
{
    const char *remedy = error == ENOSPC || error == EDQUOT ? "; make room on the disk"
                         : error == EACCES || error == EPERM || error == EROFS
                             ? "; choose a folder that may be written"
                         : error == ENOENT ? "; make the folder first"
                                           : "";
    return mxv_file_fail(report, MXV_ERR_IO, "%s: %s%s", what, strerror(error), remedy);
}

/// Opens a file of an unused name beside the target; output->temporary holds the name.
static int open_temporary(struct mxv_file_output *output)
{
    const char *slash = strrchr(output->target, '/');
    int folder = slash ? (int)(slash - output->target) + 1 : 0;
    size_t size = (size_t)folder + 64;
    output->temporary = malloc(size);
    if (!output->temporary) {
        errno = ENOMEM;
        return -1;
    }
    for (int i = 0; i < NAME_ATTEMPTS; i++) {
        snprintf(output->temporary, size, "%.*s.mxverify-%ld-%d.tmp", folder, output->target,
                 (long)getpid(), i);
        int descriptor =
            open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)0666);
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
    return -1;
}

static void release(struct mxv_file_output *output)
{
    free(output->target);
    free(output->temporary);
    *output = (struct mxv_file_output){0};
}

/// Makes the stream of an open descriptor, or closes and removes all there is.
static enum mxv_status open_stream(struct mxv_file_output *output, int descriptor,
                                   const struct mxv_file_report *report)
{
    int error = errno;
    output->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (output->stream)
        return MXV_OK;
    if (descriptor >= 0) {
        error = errno;
        close(descriptor);
        if (output->temporary)
            unlink(output->temporary);
    }
    release(output);
    return fail_errno(report, "cannot be created", error);
}

enum mxv_status mxv_file_output_begin(const char *path, struct mxv_file_output *output,
                                      const struct mxv_file_report *report)
{
    struct stat status;
    bool exists = stat(path, &status) == 0;
    *output = (struct mxv_file_output){0};
    if (exists && S_ISDIR(status.st_mode))
        return mxv_file_fail(report, MXV_ERR_IO, "is a folder; name a file in it");
    output->target = exists ? realpath(path, NULL) : strdup(path);
    if (!output->target)
        return fail_errno(report, "cannot be created", errno);
    if (exists && !S_ISREG(status.st_mode))
        return open_stream(output, open(path, O_WRONLY | O_CLOEXEC), report);
    int descriptor = open_temporary(output);
    if (descriptor >= 0 && exists && fchmod(descriptor, status.st_mode & 07777) != 0) {
        int error = errno;
        close(descriptor);
        unlink(output->temporary);
        release(output);
        return fail_errno(report, "cannot be given its permissions", error);
    }
    return open_stream(output, descriptor, report);
}

void mxv_file_output_abandon(struct mxv_file_output *output)
{
    if (output->stream)
        fclose(output->stream);
    if (output->temporary)
        unlink(output->temporary);
    release(output);
}

enum mxv_status mxv_file_output_fail(struct mxv_file_output *output,
                                     const struct mxv_file_report *report)
{
    int error = errno ? errno : EIO;
    mxv_file_output_abandon(output);
    return fail_errno(report, "cannot be written", error);
}

/// Puts the entry of a renamed file on the disk too. A folder that cannot be synced is no failure:
/// the data are written, and only a crash of the machine could still bring the old file back.
static void sync_folder(char *target)
{
    char *slash = strrchr(target, '/');
    if (slash)
        slash[slash == target] = '\0';
    int folder = open(slash ? target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

enum mxv_status mxv_file_output_commit(struct mxv_file_output *output,
                                       const struct mxv_file_report *report)
{
    bool failed = ferror(output->stream) != 0;
    errno = failed ? EIO : 0;
    failed = fflush(output->stream) != 0 || failed;
    failed = failed || (fsync(fileno(output->stream)) != 0 && errno != EINVAL && errno != ENOTSUP);
    int error = errno;
    if (fclose(output->stream) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    output->stream = NULL;
    if (!failed && output->temporary && rename(output->temporary, output->target) != 0) {
        failed = true;
        error = errno;
    }
    if (failed) {
        errno = error;
        return mxv_file_output_fail(output, report);
    }
    if (output->temporary)
        sync_folder(output->target);
    release(output);
    return MXV_OK;
}
