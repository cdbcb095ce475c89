// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A JSON Lines writer over a file descriptor that never allocates after it is set up.
#ifndef MXV_LOG_JSON_H
#define MXV_LOG_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_JSON_BUFFER = 1 << 16, LOG_JSON_DEPTH = 16 };

struct log_json {
    int fd;
    int error;                        // errno of the first failed write, 0 so far
    bool line_begun;                  // a part of the present record is in the file already
    bool item_before[LOG_JSON_DEPTH]; // a comma is due at this depth
    unsigned depth;
    size_t length; // bytes in the buffer: the present record, or its tail
    char buffer[LOG_JSON_BUFFER];
};

void log_json_init(struct log_json *json, int fd);

// Values. `name` is the member's name inside an object, NULL inside an array and at the top.
void log_json_open(struct log_json *json, const char *name, char bracket);      // '{' or '['
void log_json_close(struct log_json *json, char bracket);                       // '}' or ']'
void log_json_text(struct log_json *json, const char *name, const char *value); // NULL: null
void log_json_integer(struct log_json *json, const char *name, uint64_t value);
void log_json_boolean(struct log_json *json, const char *name, bool value);
void log_json_hex(struct log_json *json, const char *name, uint64_t value, unsigned digits);
void log_json_number(struct log_json *json, const char *name, double value);
// `name` as decimal and `name`_hex as a hexadecimal constant.
void log_json_number_twice(struct log_json *json, const char *name, double value);

// Ends the record and hands it to the system. false after an error.
bool log_json_end_record(struct log_json *json);
// Forgets the present record; what of it is in the file already is ended with a newline.
void log_json_drop_record(struct log_json *json);

#endif
