// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON (RFC 8259) written piece by piece into a fixed buffer, one record per line.
//
// Texts are taken as UTF-8; bytes that are no valid UTF-8 are written as U+FFFD, control characters
// as \u00XX. Doubles are written with 17 digits, which read back to the same double, with a point
// whatever the locale says; NaN and infinities are the strings "nan", "inf", "-inf". Everything but
// log_json_number and log_json_number_twice is async-signal-safe. A record longer than the buffer
// goes out in parts. tests/unit/test_log.c fails if this file is wrong.
#include "log_json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void log_json_init(struct log_json *json, int fd)
{
    memset(json, 0, sizeof *json);
    json->fd = fd;
}

static void flush_buffer(struct log_json *json)
{
    size_t done = 0;
    while (json->error == 0 && done < json->length) {
        ssize_t written = write(json->fd, json->buffer + done, json->length - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            json->error = errno;
    }
    json->line_begun = true;
    json->length = 0;
}

static void put(struct log_json *json, char c)
{
    if (json->length == LOG_JSON_BUFFER)
        flush_buffer(json);
    json->buffer[json->length++] = c;
}

static void put_plain(struct log_json *json, const char *text)
{
    while (*text)
        put(json, *text++);
}

// Bytes of the UTF-8 sequence that begins at `text`; 0 if there is none (RFC 3629).
static size_t utf8_length(const unsigned char *text)
{
    unsigned char lead = text[0];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : (lead & 0xF0) == 0xE0       ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    }
    bool bad = (lead == 0xE0 && text[1] < 0xA0) || (lead == 0xED && text[1] >= 0xA0) ||
               (lead == 0xF0 && text[1] < 0x90) || (lead == 0xF4 && text[1] >= 0x90);
    return bad ? 0 : length;
}

static void put_text(struct log_json *json, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = (const unsigned char *)text;
    put(json, '"');
    while (*bytes) {
        size_t length = utf8_length(bytes);
        if (length == 0) {
            put_plain(json, "\\ufffd");
            bytes++;
        } else if (*bytes < 0x20 || *bytes == 0x7F) {
            put_plain(json, "\\u00");
            put(json, digits[*bytes >> 4]);
            put(json, digits[*bytes & 15]);
            bytes++;
        } else {
            if (*bytes == '"' || *bytes == '\\')
                put(json, '\\');
            for (size_t i = 0; i < length; i++)
                put(json, (char)*bytes++);
        }
    }
    put(json, '"');
}

static void begin_item(struct log_json *json, const char *name)
{
    if (json->item_before[json->depth])
        put(json, ',');
    json->item_before[json->depth] = true;
    if (name) {
        put_text(json, name);
        put(json, ':');
    }
}

void log_json_open(struct log_json *json, const char *name, char bracket)
{
    begin_item(json, name);
    put(json, bracket);
    assert(json->depth + 1 < LOG_JSON_DEPTH);
    json->item_before[++json->depth] = false;
}

void log_json_close(struct log_json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    put(json, bracket);
}

void log_json_text(struct log_json *json, const char *name, const char *value)
{
    begin_item(json, name);
    if (value)
        put_text(json, value);
    else
        put_plain(json, "null");
}

void log_json_integer(struct log_json *json, const char *name, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    begin_item(json, name);
    put_plain(json, digits + at);
}

void log_json_boolean(struct log_json *json, const char *name, bool value)
{
    begin_item(json, name);
    put_plain(json, value ? "true" : "false");
}

void log_json_hex(struct log_json *json, const char *name, uint64_t value, unsigned digits)
{
    begin_item(json, name);
    put(json, '"');
    while (digits > 0)
        put(json, "0123456789abcdef"[value >> 4 * --digits & 15]);
    put(json, '"');
}

static const char *special_name(double value)
{
    return isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// printf writes the decimal point of the locale.
static void put_printed(struct log_json *json, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    for (const char *c = text; *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || strchr("+-.", *c);
        if (plain)
            put(json, *c);
        else if (c == text || (unsigned char)c[0] < 0x80 || (unsigned char)c[-1] < 0x80)
            put(json, '.');
    }
}

void log_json_number(struct log_json *json, const char *name, double value)
{
    if (!isfinite(value)) {
        log_json_text(json, name, special_name(value));
        return;
    }
    begin_item(json, name);
    put_printed(json, "%.17g", value);
}

void log_json_number_twice(struct log_json *json, const char *name, double value)
{
    char second[128];
    log_json_number(json, name, value);
    snprintf(second, sizeof second, "%s_hex", name);
    if (!isfinite(value)) {
        log_json_text(json, second, special_name(value));
        return;
    }
    begin_item(json, second);
    put(json, '"');
    put_printed(json, "%a", value);
    put(json, '"');
}

bool log_json_end_record(struct log_json *json)
{
    assert(json->depth == 0);
    put(json, '\n');
    flush_buffer(json);
    json->line_begun = false;
    json->item_before[0] = false;
    return json->error == 0;
}

void log_json_drop_record(struct log_json *json)
{
    json->length = 0;
    if (json->line_begun) {
        put(json, '\n');
        flush_buffer(json);
    }
    json->line_begun = false;
    json->depth = 0;
    json->item_before[0] = false;
}
