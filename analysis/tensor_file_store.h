// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From the array that a file stores to the tensor that is handed over: type, order, packing.
#ifndef MXVERIFY_TENSOR_FILE_STORE_H
#define MXVERIFY_TENSOR_FILE_STORE_H

#include <mxverify/tensor_file.h>

#include "tensor_file_source.h"

/// What a file says of the words of its array.
enum mxv_stored_kind {
    MXV_STORED_ELEMENT, ///< `element` is known for certain
    MXV_STORED_SIGNED,
    MXV_STORED_UNSIGNED,
    MXV_STORED_LOST ///< raw bytes: only the caller knows
};

/// An array in a file. `shape` counts containers, except where `bits` < 8: then it counts elements,
/// packed without gaps.
struct mxv_stored_array {
    enum mxv_stored_kind kind;
    enum mxv_element element;
    unsigned bits;  ///< of one container: 8, 16, 32, 64; or of one packed element: 4, 6
    bool ambiguous; ///< unsigned integers that may stand for FP8, FP4, E8M0 or bfloat16
    bool big_endian;
    bool column_major;
    const char *field; ///< "descr" or "dtype", for messages
    const char *text;  ///< its value in the file
    unsigned rank;
    size_t shape[MXV_TENSOR_MAX_RANK];
    uint64_t offset; ///< of the data in the source
};

/// product = a * b, false if it does not fit.
bool mxv_size_multiply(size_t a, size_t b, size_t *product);

/// Bytes of `shape` in containers of `bits` bits. MXV_ERR_INPUT: no whole number of bytes, or too
/// large for size_t (the count of elements included, even where a dimension is 0).
enum mxv_status mxv_stored_bytes(unsigned bits, unsigned rank, const size_t *shape, size_t *bytes);

/// Bytes that hold one code of a format in memory.
unsigned mxv_element_container(enum mxv_element type);

/// Reads the array, whose bytes lie within the source, and hands it over as a tensor.
enum mxv_status mxv_stored_read(const struct mxv_file_source *source,
                                const struct mxv_stored_array *stored,
                                const struct mxv_tensor_read_options *options,
                                struct mxv_tensor *out, const struct mxv_file_report *report);

#endif
