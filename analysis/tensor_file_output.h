// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A file that is written as a whole or not at all.
#ifndef MXVERIFY_TENSOR_FILE_OUTPUT_H
#define MXVERIFY_TENSOR_FILE_OUTPUT_H

#include <stdio.h>

#include "tensor_file_source.h"

/// An output under way. Write to `stream`, then commit, fail or abandon: each ends it.
struct mxv_file_output {
    FILE *stream;
    char *target;    ///< what the temporary file will be renamed to
    char *temporary; ///< NULL when the target is written directly (a pipe, a device)
};

/// Opens a temporary file in the folder of `path`. A link at `path` is followed, so that the file
/// behind it is replaced and the link stays. MXV_ERR_IO, MXV_ERR_MEMORY.
enum mxv_status mxv_file_output_begin(const char *path, struct mxv_file_output *output,
                                      const struct mxv_file_report *report);

/// Flushes, stores on the disk and renames. On failure nothing is left of the output.
enum mxv_status mxv_file_output_commit(struct mxv_file_output *output,
                                       const struct mxv_file_report *report);

/// Removes what was written, and reports the failed write that errno names.
enum mxv_status mxv_file_output_fail(struct mxv_file_output *output,
                                     const struct mxv_file_report *report);

/// Removes what was written.
void mxv_file_output_abandon(struct mxv_file_output *output);

#endif
