// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes .npy version 1.0 (NEP 1): the header laid out as NumPy does, data aligned to 64 bytes. The
// descr must be one that the reader takes, little-endian, so that what is written can be read.
// tests/unit/test_tensor_file_write.c fails if this is wrong.
#include <string.h>

#include "npy_header.h"
#include "tensor_file_output.h"

enum { ALIGNMENT = 64, PREFIX_SIZE = 10, HEADER_SIZE = 4 * ALIGNMENT };

/// Fills `text` with the whole header and returns its size. Eight dimensions of 20 digits fit.
static size_t format_header(char text[HEADER_SIZE], const char *descr, unsigned rank,
                            const size_t *shape)
{
    size_t used = PREFIX_SIZE;
    used += (size_t)snprintf(text + used, HEADER_SIZE - used,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (unsigned i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, HEADER_SIZE - used, "%s%zu", i ? ", " : "", shape[i]);
    used += (size_t)snprintf(text + used, HEADER_SIZE - used, rank == 1 ? ",), }" : "), }");
    size_t total = (used + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    memset(text + used, ' ', total - used);
    text[total - 1] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)((total - PREFIX_SIZE) & 0xff);
    text[9] = (char)((total - PREFIX_SIZE) >> 8);
    return total;
}

static enum mxv_status measure(const char *descr, unsigned rank, const size_t *shape, size_t *bytes,
                               const struct mxv_file_report *report)
{
    struct mxv_npy_header header = {.stored = {.field = "descr"}};
    int length = snprintf(header.descr, sizeof header.descr, "%s", descr);
    if (length < 0 || (size_t)length >= sizeof header.descr || rank > MXV_TENSOR_MAX_RANK)
        return mxv_file_fail(report, MXV_ERR_UNSUPPORTED, "descr '%s', rank %u: not writable",
                             header.descr, rank);
    enum mxv_status status = mxv_npy_descr_parse(&header, report);
    if (status != MXV_OK)
        return status;
    if (header.stored.big_endian)
        return mxv_file_fail(report, MXV_ERR_UNSUPPORTED,
                             "descr '%s': only little-endian files are written; use '<'", descr);
    if (mxv_stored_bytes(header.stored.bits, rank, shape, bytes) != MXV_OK)
        return mxv_file_fail(report, MXV_ERR_INPUT, "shape: its product is too large");
    return MXV_OK;
}

enum mxv_status mxv_npy_write(const char *path, const char *descr, unsigned rank,
                              const size_t *shape, const void *data, char *message,
                              size_t message_size)
{
    const struct mxv_file_report report = {path, message, message_size};
    struct mxv_file_output output;
    char header[HEADER_SIZE];
    size_t bytes;
    enum mxv_status status = measure(descr, rank, shape, &bytes, &report);
    if (status == MXV_OK)
        status = mxv_file_output_begin(path, &output, &report);
    if (status != MXV_OK)
        return status;
    size_t size = format_header(header, descr, rank, shape);
    if (fwrite(header, 1, size, output.stream) != size ||
        (bytes && fwrite(data, 1, bytes, output.stream) != bytes))
        return mxv_file_output_fail(&output, &report);
    return mxv_file_output_commit(&output, &report);
}
