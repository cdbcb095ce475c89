// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See data_path.h. tests/cli/test_run.sh runs a captured case from another folder.
#include <mxverify/data_path.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef MXV_SOURCE_ROOT
#define MXV_SOURCE_ROOT ""
#endif
#ifndef MXV_INSTALLED_DATA
#define MXV_INSTALLED_DATA ""
#endif

const char *mxv_data_path(const char *path, char *buffer, size_t size)
{
    if (path[0] != '/' && access(path, F_OK) != 0) {
        snprintf(buffer, size, "%s/%s", MXV_SOURCE_ROOT, path);
        if (MXV_SOURCE_ROOT[0] && access(buffer, F_OK) == 0)
            return buffer;
        if (MXV_INSTALLED_DATA[0] && strncmp(path, "data/", 5) == 0) {
            snprintf(buffer, size, "%s/%s", MXV_INSTALLED_DATA, path + 5);
            if (access(buffer, F_OK) == 0)
                return buffer;
        }
    }
    snprintf(buffer, size, "%s", path);
    return buffer;
}
