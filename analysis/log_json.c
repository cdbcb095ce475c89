// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON (RFC 8259) written piece by piece into a fixed buffer, one record per line.
//
// Texts are taken as UTF-8; bytes that are no valid UTF-8 are written as U+FFFD, control characters
// as \u00XX. Doubles are written with 17 digits, which read back to the same double, with a point
// whatever the locale says; NaN and infinities are the strings "nan", "inf", "-inf". Everything but
// mxv_json_number and mxv_json_number_twice is async-signal-safe. A record longer than the buffer
// goes out in parts. tests/unit/test_log.c fails if this file is wrong.
#include "log_json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void mxv_json_init(struct mxv_json *json, int fd)
{
    memset(json, 0, sizeof *json);
    json->fd = fd;
    json->record_start = lseek(fd, 0, SEEK_END); // -1 for a pipe or device
}

// After a failed write (a full disk) the half of a record that went out is taken back.
static void cut_half_record(struct mxv_json *json)
{
    if (json->record_start >= 0 && ftruncate(json->fd, json->record_start) == 0)
        json->line_begun = false;
}

static void flush_buffer(struct mxv_json *json)
{
    size_t done = 0;
    json->line_begun = true; // first: a signal may come between here and the end
    while (json->error == 0 && done < json->length) {
        ssize_t written = write(json->fd, json->buffer + done, json->length - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR) {
            json->error = errno;
            cut_half_record(json);
        }
    }
    json->length = 0;
}

static void put(struct mxv_json *json, char c)
{
    if (json->length == MXV_JSON_BUFFER)
        flush_buffer(json);
    json->buffer[json->length++] = c;
}

static void put_plain(struct mxv_json *json, const char *text)
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

static void put_text(struct mxv_json *json, const char *text)
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

static void begin_item(struct mxv_json *json, const char *name)
{
    if (json->item_before[json->depth])
        put(json, ',');
    json->item_before[json->depth] = true;
    if (name) {
        put_text(json, name);
        put(json, ':');
    }
}

void mxv_json_open(struct mxv_json *json, const char *name, char bracket)
{
    begin_item(json, name);
    put(json, bracket);
    assert(json->depth + 1 < MXV_JSON_DEPTH);
    json->item_before[++json->depth] = false;
}

void mxv_json_close(struct mxv_json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    put(json, bracket);
}

void mxv_json_text(struct mxv_json *json, const char *name, const char *value)
{
    begin_item(json, name);
    if (value)
        put_text(json, value);
    else
        put_plain(json, "null");
}

void mxv_json_integer(struct mxv_json *json, const char *name, uint64_t value)
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

void mxv_json_boolean(struct mxv_json *json, const char *name, bool value)
{
    begin_item(json, name);
    put_plain(json, value ? "true" : "false");
}

void mxv_json_hex(struct mxv_json *json, const char *name, uint64_t value, unsigned digits)
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

// printf writes the decimal point of the locale, which may be several bytes: any run of bytes that
// belong to no number becomes one point.
static void put_printed(struct mxv_json *json, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    bool in_point = false;
    for (const char *c = text; *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || *c == '+' || *c == '-';
        if (plain || !in_point)
            put(json, plain ? *c : '.');
        in_point = !plain;
    }
}

void mxv_json_number(struct mxv_json *json, const char *name, double value)
{
    if (!isfinite(value)) {
        mxv_json_text(json, name, special_name(value));
        return;
    }
    begin_item(json, name);
    put_printed(json, "%.17g", value);
}

void mxv_json_number_twice(struct mxv_json *json, const char *name, double value)
{
    char second[128];
    mxv_json_number(json, name, value);
    snprintf(second, sizeof second, "%s_hex", name);
    if (!isfinite(value)) {
        mxv_json_text(json, second, special_name(value));
        return;
    }
    begin_item(json, second);
    put(json, '"');
    put_printed(json, "%a", value);
    put(json, '"');
}

bool mxv_json_end_record(struct mxv_json *json)
{
    assert(json->depth == 0);
    put(json, '\n');
    flush_buffer(json);
    if (json->error == 0 && json->record_start >= 0)
        json->record_start = lseek(json->fd, 0, SEEK_END);
    json->line_begun = false;
    json->item_before[0] = false;
    return json->error == 0;
}

void mxv_json_drop_record(struct mxv_json *json)
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
