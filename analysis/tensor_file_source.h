// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a tensor file's bytes come from (a file, a pipe, memory), and how its errors are told.
#ifndef MXVERIFY_TENSOR_FILE_SOURCE_H
#define MXVERIFY_TENSOR_FILE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include <mxverify/status.h>

/// The message buffer of a call and the file that its message names.
struct mxv_file_report {
    const char *label;
    char *message;
    size_t size;
};

/// Writes "LABEL: TEXT" as one line, control characters replaced, and returns `status`.
enum mxv_status mxv_file_fail(const struct mxv_file_report *report, enum mxv_status status,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

/// A sequence of `length` bytes that can be read at any offset. Not copied: close it once.
struct mxv_file_source {
    uint64_t length;
    const uint8_t *memory; ///< NULL if the bytes are read from the descriptor
    uint8_t *owned;        ///< released on closing (the contents of a pipe)
    int descriptor;
};

/// Opens a file; a pipe is read to its end into memory.
enum mxv_status mxv_file_source_open(const char *path, struct mxv_file_source *source,
                                     const struct mxv_file_report *report);

/// Wraps bytes that the caller keeps alive.
struct mxv_file_source mxv_file_source_memory(const void *buffer, size_t length);

void mxv_file_source_close(struct mxv_file_source *source);

/// Copies `count` bytes at `offset`, both within the length that the source has stated.
enum mxv_status mxv_file_source_read(const struct mxv_file_source *source, uint64_t offset,
                                     void *destination, size_t count,
                                     const struct mxv_file_report *report);

#endif
