// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A text that grows, for drawings and records made of many small pieces.
#ifndef MXV_TERMINAL_TEXT_H
#define MXV_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct mxv_text {
    char *bytes; // NUL-terminated once something was added
    size_t length, capacity;
    bool out_of_memory;
};

void mxv_text_add(struct mxv_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The text, to be released with free(); NULL (and nothing to release) when memory ran out.
char *mxv_text_take(struct mxv_text *text);

#endif
