// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the project's own data lie, so that a case line can name them without a machine's path:
// a relative path that does not exist below the current folder is looked up, if it begins with
// data/, in the data folder installed with the running program (from bin/, ../share/mxverify); then
// in the source folder; then, if it begins with data/, in the data folder that the build was
// configured to install to.
#ifndef MXVERIFY_DATA_PATH_H
#define MXVERIFY_DATA_PATH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes the path to open for `path` (file or folder) into buffer: path itself when it exists, is
// absolute, or is found nowhere. Returns buffer. A result that does not fit is cut.
const char *mxv_data_path(const char *path, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
