// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See data_path.h. The folder beside the program comes first, so that an installed tree may be
// moved and needs neither the folder it was configured for nor the source; then the source that the
// program was built from, as a program in a build folder goes with its own data and not with those
// of an older installation. tests/cli/test_run.sh runs a captured case from another folder,
// tests/install/moved.sh one of an installed program without its source.
#include <mxverify/data_path.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef MXV_SOURCE_ROOT
#define MXV_SOURCE_ROOT ""
#endif
#ifndef MXV_INSTALLED_DATA
#define MXV_INSTALLED_DATA ""
#endif
#ifndef MXV_DATA_FROM_PROGRAM
#define MXV_DATA_FROM_PROGRAM ""
#endif

enum { FOLDER = 4096 };

// Folder of the running program; empty where the system does not say.
static void program_folder(char folder[FOLDER])
{
    const ssize_t n = readlink("/proc/self/exe", folder, FOLDER - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
}

static bool joined(const char *folder, const char *path, char *buffer, size_t size)
{
    const int n = snprintf(buffer, size, "%s/%s", folder, path);
    return folder[0] && n > 0 && (size_t)n < size && access(buffer, F_OK) == 0;
}

// `path` without data/ in the folder that is installed with the program.
static bool beside_program(const char *path, char *buffer, size_t size)
{
    char folder[FOLDER], data[FOLDER + sizeof MXV_DATA_FROM_PROGRAM + 1];
    program_folder(folder);
    if (!folder[0] || !MXV_DATA_FROM_PROGRAM[0])
        return false;
    snprintf(data, sizeof data, "%s/%s", folder, MXV_DATA_FROM_PROGRAM);
    return joined(data, path, buffer, size);
}

static bool found(const char *path, char *buffer, size_t size)
{
    const bool data = strncmp(path, "data/", 5) == 0;
    return (data && beside_program(path + 5, buffer, size)) ||
           joined(MXV_SOURCE_ROOT, path, buffer, size) ||
           (data && joined(MXV_INSTALLED_DATA, path + 5, buffer, size));
}

const char *mxv_data_path(const char *path, char *buffer, size_t size)
{
    if (path[0] == '/' || access(path, F_OK) == 0 || !found(path, buffer, size))
        snprintf(buffer, size, "%s", path);
    return buffer;
}
