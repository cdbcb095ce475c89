// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The shared object of an adapter. Loading may change the floating point environment, which is put
// back. tests/cli/test_runner_adapter.sh fails if this file is wrong.
#include "adapter_internal.h"
#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A name without a slash is a file of the current folder where there is one; dlopen would look for
// it in the system's folders alone. The caller frees it; NULL: out of memory.
static char *file_of(const char *path)
{
    const size_t size = strlen(path) + 3;
    char *file = malloc(size);
    if (file)
        snprintf(file, size, "%s%s", strchr(path, '/') || access(path, F_OK) ? "" : "./", path);
    return file;
}

// What dlerror says, without the path that it may begin with.
static const char *load_error(const char *path)
{
    const char *text = dlerror();
    const size_t length = strlen(path);
    if (!text)
        return "cannot be loaded";
    return strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0
               ? text + length + 2
               : text;
}

void *adapter_load(const char *path, char *message, size_t size)
{
    fenv_t environment;
    char *file = file_of(path);
    if (!file) {
        snprintf(message, size, "out of memory");
        return NULL;
    }
    fegetenv(&environment);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL); // -ffast-math: flushes to zero from here
    fesetenv(&environment);
    if (!library)
        snprintf(message, size, "%s: %s", path, load_error(file));
    free(file);
    return library;
}
