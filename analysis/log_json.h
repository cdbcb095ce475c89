// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A JSON Lines writer over a file descriptor that never allocates after it is set up.
#ifndef MXV_LOG_JSON_H
#define MXV_LOG_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MXV_JSON_BUFFER = 1 << 16, MXV_JSON_DEPTH = 16 };

struct mxv_json {
    int fd;
    int error;                        // errno of the first failed write, 0 so far
    bool line_begun;                  // a part of the present record is in the file already
    bool item_before[MXV_JSON_DEPTH]; // a comma is due at this depth
    unsigned depth;
    off_t record_start; // where the present record begins in a regular file, else -1
    size_t length;      // bytes in the buffer: the present record, or its tail
    char buffer[MXV_JSON_BUFFER];
};

void mxv_json_init(struct mxv_json *json, int fd);

// Values. `name` is the member's name inside an object, NULL inside an array and at the top.
void mxv_json_open(struct mxv_json *json, const char *name, char bracket);      // '{' or '['
void mxv_json_close(struct mxv_json *json, char bracket);                       // '}' or ']'
void mxv_json_text(struct mxv_json *json, const char *name, const char *value); // NULL: null
void mxv_json_integer(struct mxv_json *json, const char *name, uint64_t value);
void mxv_json_boolean(struct mxv_json *json, const char *name, bool value);
void mxv_json_hex(struct mxv_json *json, const char *name, uint64_t value, unsigned digits);
void mxv_json_number(struct mxv_json *json, const char *name, double value);
// `name` as decimal and `name`_hex as a hexadecimal constant.
void mxv_json_number_twice(struct mxv_json *json, const char *name, double value);

// Ends the record and hands it to the system. false after an error.
bool mxv_json_end_record(struct mxv_json *json);
// Forgets the present record; what of it is in the file already is ended with a newline.
void mxv_json_drop_record(struct mxv_json *json);

#endif
