// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tensor file tests: files built byte by byte, and what a refusal must look like.
#ifndef TEST_TENSOR_FILE_H
#define TEST_TENSOR_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <mxverify/tensor_file.h>

enum { FILE_LIMIT = 1 << 16 };

struct bytes {
    uint8_t data[FILE_LIMIT];
    size_t size;
};

static inline void append(struct bytes *file, const void *data, size_t size)
{
    assert_true(size <= sizeof file->data - file->size);
    if (size)
        memcpy(file->data + file->size, data, size);
    file->size += size;
}

/// Appends the low `count` bytes of value, least significant first.
static inline void append_word(struct bytes *file, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t byte = (uint8_t)(value >> (8 * i));
        append(file, &byte, 1);
    }
}

static inline char *test_folder(void)
{
    static char name[64];
    strcpy(name, "/tmp/mxverify-tensor-XXXXXX");
    assert_non_null(mkdtemp(name));
    return name;
}

static inline void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static inline void write_bytes(const char *path, const struct bytes *file)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file->data, 1, file->size, stream), file->size);
    assert_int_equal(fclose(stream), 0);
}

/// A refusal: the status, an empty tensor, one line that begins with the label and has `part` in
/// it.
static inline void assert_refused(enum mxv_status status, enum mxv_status expected,
                                  const struct mxv_tensor *tensor, const char *message,
                                  const char *label, const char *part)
{
    if (status != expected || !strstr(message, part))
        print_error("status %d, expected %d: %s (wanted: %s)\n", status, expected, message, part);
    assert_int_equal(status, expected);
    assert_null(tensor->data);
    assert_int_equal(tensor->bytes, 0);
    assert_non_null(strstr(message, part));
    assert_int_equal(strncmp(message, label, strlen(label)), 0);
    assert_null(strchr(message, '\n'));
}

#endif
