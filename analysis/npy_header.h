// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The header of a .npy file.
#ifndef MXVERIFY_NPY_HEADER_H
#define MXVERIFY_NPY_HEADER_H

#include "tensor_file_store.h"

enum { MXV_NPY_DESCR_SIZE = 64 };

/// A header as read. `stored.text` points into `descr`, so the struct is not to be copied.
struct mxv_npy_header {
    char descr[MXV_NPY_DESCR_SIZE]; ///< shortened if longer
    struct mxv_stored_array stored;
};

/// Settles kind, width and byte order of the stored words from header->descr.
enum mxv_status mxv_npy_descr_parse(struct mxv_npy_header *header,
                                    const struct mxv_file_report *report);

/// Parses the dict literal `text`, which begins at byte `base` of the file; fills all but
/// stored.offset.
enum mxv_status mxv_npy_dict_parse(const char *text, size_t length, size_t base,
                                   struct mxv_npy_header *header,
                                   const struct mxv_file_report *report);

/// Reads the array that a source holds; *out is filled or left empty.
enum mxv_status mxv_npy_read(const struct mxv_file_source *source,
                             const struct mxv_tensor_read_options *options, struct mxv_tensor *out,
                             const struct mxv_file_report *report);

#endif
