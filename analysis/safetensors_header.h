// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The header of a .safetensors file and the tensors behind it.
#ifndef MXVERIFY_SAFETENSORS_HEADER_H
#define MXVERIFY_SAFETENSORS_HEADER_H

#include "tensor_file_store.h"

/// What a dtype name says of its words; NULL for a name that the format does not have.
struct mxv_safetensors_dtype {
    const char *name;
    unsigned bits;
    bool readable; ///< false for complex numbers, which have a size but no element format
    enum mxv_stored_kind kind;
    enum mxv_element element;
};
const struct mxv_safetensors_dtype *mxv_safetensors_dtype_find(const char *name);

/// Reads and checks the whole header. *data is the offset of the data in the source.
enum mxv_status mxv_safetensors_list(const struct mxv_file_source *source,
                                     struct mxv_tensor_list *out, uint64_t *data,
                                     const struct mxv_file_report *report);

/// Reads the tensor `name` (NULL: the only one); *out is filled or left empty.
enum mxv_status mxv_safetensors_read(const struct mxv_file_source *source, const char *name,
                                     const struct mxv_tensor_read_options *options,
                                     struct mxv_tensor *out, const struct mxv_file_report *report);

#endif
