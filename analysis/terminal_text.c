// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A growing text. After a failed allocation it takes nothing more and yields NULL.
// tests/unit/test_map_terminal.c fails if this file is wrong.
#include "terminal_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct mxv_text *text, size_t more)
{
    if (text->length + more < text->capacity)
        return true;
    size_t capacity = (text->length + more) * 2 + 256;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) {
        text->out_of_memory = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void mxv_text_add(struct mxv_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (text->out_of_memory || length < 0 || !make_room(text, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(text->bytes + text->length, text->capacity - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

char *mxv_text_take(struct mxv_text *text)
{
    char *bytes = text->out_of_memory ? NULL : text->bytes;
    if (text->out_of_memory)
        free(text->bytes);
    memset(text, 0, sizeof *text);
    return bytes;
}
