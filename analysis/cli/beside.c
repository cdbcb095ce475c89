// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared objects: what the CUDA build puts beside the program (`gpu/` in a build folder,
// `lib/mxverify/` where it is installed), and what names an adapter.
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
             "no CUDA kernels are built beside this program (no %s in %s/gpu or "
             "%s/../lib/mxverify): ./bootstrap builds them where it finds nvcc 12.8 or later "
             "(./bootstrap run builds the program alone)",
             name, folder, folder);
    return NULL;
}

bool cli_names_library(const char *impl)
{
    const size_t length = strlen(impl);
    return strchr(impl, '/') || (length > 3 && strcmp(impl + length - 3, ".so") == 0);
}
