// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Builds .npy files byte by byte (NEP 1) and states what reading them must give.
#ifndef TEST_TENSOR_FILE_NPY_H
#define TEST_TENSOR_FILE_NPY_H

#include "test_tensor_file.h"

static const struct mxv_tensor_read_options no_options;

static inline struct mxv_tensor_read_options named(enum mxv_element type)
{
    return (struct mxv_tensor_read_options){.has_type = true, .type = type};
}

/// Begins a file of the given version; the caller appends the data.
static inline struct bytes *begin_npy(unsigned version, const char *dict)
{
    static struct bytes file;
    size_t field = version == 1 ? 2 : 4, length = strlen(dict);
    size_t total = (8 + field + length + 1 + 63) / 64 * 64;
    file.size = 0;
    append(&file, "\x93NUMPY", 6);
    append_word(&file, version, 2);
    append_word(&file, total - 8 - field, (unsigned)field);
    append(&file, dict, length);
    while (file.size < total - 1)
        append(&file, " ", 1);
    append(&file, "\n", 1);
    return &file;
}

static inline struct bytes *begin_array(const char *descr, const char *order, const char *shape)
{
    char dict[256];
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order,
             shape);
    return begin_npy(1, dict);
}

static inline enum mxv_status parse(const struct bytes *file,
                                    const struct mxv_tensor_read_options *options,
                                    struct mxv_tensor *out, char message[MXV_TENSOR_MESSAGE_SIZE])
{
    message[0] = '\0';
    return mxv_tensor_parse_npy(file->data, file->size, "case.npy", options, out, message,
                                MXV_TENSOR_MESSAGE_SIZE);
}

static inline void expect_refused(const struct bytes *file,
                                  const struct mxv_tensor_read_options *options,
                                  enum mxv_status expected, const char *part)
{
    char message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    enum mxv_status status = parse(file, options, &tensor, message);
    assert_refused(status, expected, &tensor, message, "case.npy: ", part);
}

static inline struct mxv_tensor expect_read(const struct bytes *file,
                                            const struct mxv_tensor_read_options *options)
{
    char message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    if (parse(file, options, &tensor, message) != MXV_OK)
        fail_msg("%s", message);
    assert_non_null(tensor.data);
    assert_int_equal(tensor.bytes, tensor.count * tensor.container);
    return tensor;
}

#endif
