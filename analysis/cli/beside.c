// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the CUDA build puts beside the program: `gpu/` in a build folder, `lib/mxverify/` where it
// is installed.
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Folder of the running program, "." where the system does not say.
static void program_folder(char *folder, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    else
        snprintf(folder, size, ".");
}

char *cli_beside(const char *name, char *message, size_t message_size)
{
    static const char *const places[] = {"gpu", "../lib/mxverify"};
    char folder[4096];
    program_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const size_t size = strlen(folder) + strlen(name) + 32;
        char *path = cli_realloc(NULL, size);
        snprintf(path, size, "%s/%s/%s", folder, places[i], name);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    snprintf(message, message_size,
             "this build has no CUDA kernels (no %s in %s/gpu or %s/../lib/mxverify): configure "
             "with -DMXV_CUDA=ON and build",
             name, folder, folder);
    return NULL;
}
