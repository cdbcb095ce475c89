// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Files that a verb reads and writes, checked before it begins: none that is written may be another
// one, and each must be writable. tests/cli/test_bad_input.sh fails if this file is wrong.
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Folder of a path, resolved ("." for a name alone), or as given where it does not exist; the
// caller frees it.
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    char *folder = cli_realloc(NULL, length + 1);
    memcpy(folder, slash ? path : ".", length);
    folder[length] = 0;
    char *resolved = realpath(folder, NULL);
    if (!resolved)
        return folder;
    free(folder);
    return resolved;
}

// Files that do not exist yet are the same where folder and name are.
static bool same_name(const char *a, const char *b)
{
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    if (strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) != 0)
        return false;
    char *folder_a = folder_of(a), *folder_b = folder_of(b);
    bool same = strcmp(folder_a, folder_b) == 0;
    free(folder_a);
    free(folder_b);
    return same;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    if (has_a && has_b)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return !has_a && !has_b && same_name(a, b);
}

int cli_files_apart(const char *verb, const struct cli_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (files[i].path && files[k].path && (files[i].written || files[k].written) &&
                same_file(files[i].path, files[k].path))
                return cli_usage("%s%s%s (%s) and %s (%s) are one file: give each its own",
                                 verb ? verb : "", verb ? ": " : "", files[i].what, files[i].path,
                                 files[k].what, files[k].path);
    return 0;
}

// A device may be full; nothing is written to find out.
static bool takes_bytes(const char *path)
{
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool good = file >= 0 && write(file, "", 0) == 0;
    int error = errno;
    if (file >= 0)
        close(file);
    errno = error;
    return good;
}

int cli_file_writable(const char *what, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return cli_usage("%s %s: a folder, not a file", what, path);
        bool good = S_ISCHR(info.st_mode) ? takes_bytes(path) : access(path, W_OK) == 0;
        return good ? 0 : cli_usage("%s %s: cannot be written: %s", what, path, strerror(errno));
    }
    if (errno != ENOENT)
        return cli_usage("%s %s: %s", what, path, strerror(errno));
    char *folder = folder_of(path);
    int status = 0;
    if (path[0] == 0 || path[strlen(path) - 1] == '/')
        status = cli_usage("%s `%s`: expected the name of a file", what, path);
    else if (access(folder, W_OK | X_OK))
        status = cli_usage("%s %s: folder %s: %s", what, path, folder, strerror(errno));
    free(folder);
    return status;
}
