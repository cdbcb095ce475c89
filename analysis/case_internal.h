// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the case language share.
#ifndef MXV_CASE_INTERNAL_H
#define MXV_CASE_INTERNAL_H

#include <mxverify/case.h>

// Bounded text that is appended to; `length` counts what did not fit too, as snprintf does.
struct text {
    char *buf;
    size_t size, length;
};
__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *format, ...);
// Whole message at once; NULL message with size 0 is allowed.
__attribute__((format(printf, 3, 4))) void text_message(char *message, size_t size,
                                                        const char *format, ...);

// The field that `key` names for the kernel; MXV_FIELD_COUNT if there is none.
enum mxv_case_field case_field_find(enum mxv_kernel kernel, const char *key);

// Reads the text of a value into a field. On failure returns -1, leaves the case as it is and
// writes what is allowed into `why`.
int case_field_read(struct mxv_case *c, enum mxv_case_field field, const char *value, char *why,
                    size_t size);

enum { CASE_VALUE_SIZE = 8192 }; // 256 sequences of at most 16 characters, or a path
// Whether a field prints the same.
bool case_field_same(const struct mxv_case *a, const struct mxv_case *b, enum mxv_case_field field);

// Any CHOICE or FLAG field as an integer.
unsigned case_load_choice(const struct mxv_case *c, enum mxv_case_field field);
void case_store_choice(struct mxv_case *c, enum mxv_case_field field, unsigned value);

// The case that all fields are compared with when a line is printed: the kernel's defaults, with
// the shape open where files or `seqs` give it.
void case_base(const struct mxv_case *c, struct mxv_case *base);

// As mxv_case_check; *blame is the field the message is about, MXV_FIELD_COUNT for none in
// particular.
enum mxv_status case_check_fields(const struct mxv_case *c, enum mxv_case_field *blame,
                                  char *message, size_t size);
// The checks of the call as a whole (mxv_attention_check), with the shape in cu_q and cu_k.
enum mxv_status case_check_call(const struct mxv_attention *a, char *message, size_t size);

// Options of the call; the shape, tensors and plan stay empty.
void case_bind(const struct mxv_case *c, struct mxv_attention *a);
// First tokens of the sequences, sequences + 1 of them, in *cu_q and *cu_k (caller frees).
enum mxv_status case_starts(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                            size_t size);

// Tensors from files, with the shape of the call.
enum mxv_status case_read_input(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                                size_t size);
// Undoes %XX.
void case_unescape(const char *escaped, size_t length, char *out, size_t size);

enum mxv_status case_make_words(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                                size_t size);
enum mxv_status case_make_widths(const struct mxv_case *c, struct mxv_case_data *data,
                                 char *message, size_t size);

#endif
