// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Builds .safetensors files byte by byte and states what reading them must give.
#ifndef TEST_TENSOR_FILE_SAFETENSORS_H
#define TEST_TENSOR_FILE_SAFETENSORS_H

#include "test_tensor_file.h"

/// The header of a file with one tensor "a".
#define HEADER_A(dtype, shape, offsets)                                                            \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/// A file of the given JSON, `size` bytes of data 00 01 02 ... behind it.
static inline struct bytes *make_file(const char *json, size_t size)
{
    static struct bytes file;
    file.size = 0;
    append_word(&file, strlen(json), 8);
    append(&file, json, strlen(json));
    for (size_t i = 0; i < size; i++)
        append_word(&file, i, 1);
    return &file;
}

static inline enum mxv_status parse(const struct bytes *file, const char *name,
                                    const struct mxv_tensor_read_options *options,
                                    struct mxv_tensor *out, char message[MXV_TENSOR_MESSAGE_SIZE])
{
    message[0] = '\0';
    return mxv_tensor_parse_safetensors(file->data, file->size, "case", name, options, out, message,
                                        MXV_TENSOR_MESSAGE_SIZE);
}

static inline struct mxv_tensor expect_read(const struct bytes *file, const char *name,
                                            const struct mxv_tensor_read_options *options)
{
    char message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    if (parse(file, name, options, &tensor, message) != MXV_OK)
        fail_msg("%s", message);
    assert_non_null(tensor.data);
    assert_int_equal(tensor.bytes, tensor.count * tensor.container);
    return tensor;
}

static inline void expect_refused(const struct bytes *file, const char *name,
                                  enum mxv_status expected, const char *part)
{
    char message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    enum mxv_status status = parse(file, name, NULL, &tensor, message);
    assert_refused(status, expected, &tensor, message, "case: ", part);
}

#endif
