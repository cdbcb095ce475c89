// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Text files of somebody else's making (case lists, plan files, run logs, recorded results), read
// under one limit, so that a device or a pipe without end is an error and not a full memory.
// tests/cli/test_endless_input.sh fails if this is wrong.
#ifndef MXVERIFY_TEXT_FILE_H
#define MXVERIFY_TEXT_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of a file, and of what is kept in memory at once: a line, or the answers of a command.
#define MXV_TEXT_FILE_BYTES (UINT64_C(4) << 30)
#define MXV_TEXT_LINE_BYTES (UINT64_C(64) << 20)

// Opens a file for reading as fopen does; the caller closes it with fclose. A stream of more bytes
// than above ends in an error with errno = EFBIG. NULL with errno: it cannot be opened.
FILE *mxv_text_open(const char *path);

// getline, which gives the bytes before a failure as a line; here they are none. -1: the end, or a
// failure, which ferror tells.
ssize_t mxv_text_line(char **line, size_t *room, FILE *file);

// What a failed mxv_text_open or read of its stream means: strerror, or the limit that was passed.
const char *mxv_text_error(int error);

#ifdef __cplusplus
}
#endif
#endif
