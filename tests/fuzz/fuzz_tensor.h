// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the fuzz targets of tensor files share: the options to try and the contract to hold.
#ifndef FUZZ_TENSOR_H
#define FUZZ_TENSOR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mxverify/tensor_file.h>

static const struct mxv_tensor_read_options fuzz_options[] = {
    {0},
    {.integers = true},
    {.has_type = true, .type = MXV_E4M3},
    {.has_type = true, .type = MXV_E2M1},
    {.has_type = true, .type = MXV_E2M1, .packed = true},
    {.has_type = true, .type = MXV_E2M1, .packed = true, .nibble_order = MXV_NIBBLE_SPLIT8},
    {.has_type = true, .type = MXV_BF16},
    {.has_type = true, .type = MXV_F32},
    {.packed = true, .nibble_order = MXV_NIBBLE_HIGH_FIRST},
};

static inline void fuzz_require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "contract broken: %s\n", what);
        abort();
    }
}

/// Checks a result for a file of `size` bytes, and releases it.
static inline void fuzz_check(enum mxv_status status, size_t size, struct mxv_tensor *tensor,
                              const char *message)
{
    fuzz_require(status != MXV_ERR_INTERNAL && status != MXV_ERR_IO, "status");
    if (status != MXV_OK) {
        fuzz_require(!tensor->data && !tensor->bytes, "a refusal leaves an empty tensor");
        fuzz_require(strncmp(message, "fuzz: ", 6) == 0 && message[6], "a refusal says why");
        fuzz_require(!strchr(message, '\n'), "a message is one line");
        return;
    }
    size_t product = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        product *= tensor->shape[i];
    fuzz_require(tensor->data != NULL, "data");
    fuzz_require(tensor->count == product, "count is the product of the shape");
    fuzz_require(tensor->bytes == product * tensor->container, "bytes");
    fuzz_require(tensor->bytes <= 2 * size, "no more elements than the file can hold");
    fuzz_require((tensor->type == MXV_ELEMENT_COUNT) == (tensor->integer_bits != 0), "type");
    unsigned bits =
        tensor->integer_bits ? tensor->integer_bits : mxv_element_get(tensor->type)->bits;
    for (size_t i = 0; i < tensor->count; i++)
        fuzz_require(bits == 64 || mxv_tensor_code(tensor, i) >> bits == 0, "code");
    mxv_tensor_free(tensor);
    fuzz_require(!tensor->data, "freeing empties");
}

#endif
