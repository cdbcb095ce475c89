// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Places of values in a JSON text (RFC 8259) whose syntax has been checked, by passing over what
// stands before them. Names are compared as they are written: an escaped name is not found.
// tests/unit/test_ledger.c fails if this file is wrong.
#include "ledger_internal.h"
#include <stdbool.h>
#include <string.h>

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

// Behind the value at p. Brackets of both kinds are counted together: the text is known to be good.
static const char *skip_value(const char *p)
{
    size_t depth = 0;
    do {
        if (*p == '"') {
            p = skip_string(p);
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            depth--;
            p++;
        } else if (depth) {
            p++;
        } else {
            p += strcspn(p, ",]} \t\r\n");
        }
    } while (*p && depth);
    return p;
}

// The next item or member behind the one that ends at p; NULL when there is none.
static const char *next_item(const char *p)
{
    p = skip_space(p);
    return *p == ',' ? skip_space(p + 1) : NULL;
}

const char *ledger_json_start(const char *text)
{
    return skip_space(text);
}

const char *ledger_json_member(const char *at, const char *name)
{
    size_t length = strlen(name);
    const char *p = *at == '{' ? skip_space(at + 1) : NULL;
    while (p && *p == '"') {
        const char *end = skip_string(p);
        bool same = (size_t)(end - p) == length + 2 && strncmp(p + 1, name, length) == 0;
        const char *value = skip_space(skip_space(end) + 1); // behind the colon
        if (same)
            return value;
        p = next_item(skip_value(value));
    }
    return at;
}

const char *ledger_json_item(const char *at, size_t i)
{
    const char *p = *at == '[' ? skip_space(at + 1) : NULL;
    for (; p && *p && *p != ']'; i--) {
        if (i == 0)
            return p;
        p = next_item(skip_value(p));
    }
    return at;
}

void ledger_json_place(const char *text, const char *at, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (; text < at; text++) {
        if (*text == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)*text & 0xC0) != 0x80) {
            ++*column;
        }
    }
}
