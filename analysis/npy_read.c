// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads .npy (NEP 1): magic, version, header length, dict, data to the very end of the file.
//
// Versions 1.0, 2.0 and 3.0. The data may begin at any offset (NumPy aligns it to 64 bytes, older
// versions to 16). A file is refused when its size is not exactly what its header says: too short
// is a truncated copy, too long a second array or a lying shape. Sizes are checked before memory is
// taken, so what is allocated is bounded by what the file holds.
// tests/unit/test_tensor_file_npy.c and tests/fuzz/fuzz_npy.c fail if this is wrong.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npy_header.h"

enum { MAGIC_SIZE = 6, PREFIX_SIZE = 8 };

static const uint8_t magic[MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static enum mxv_status fail_short(const struct mxv_file_report *report, uint64_t length)
{
    return mxv_file_fail(report, MXV_ERR_INPUT,
                         "ends within the .npy header, at byte %" PRIu64 "; copy the file again",
                         length);
}

/// Finds where the dict stands.
static enum mxv_status locate_dict(const struct mxv_file_source *source, uint64_t *first,
                                   uint64_t *size, const struct mxv_file_report *report)
{
    uint8_t prefix[PREFIX_SIZE + 4] = {0};
    size_t have = source->length < sizeof prefix ? (size_t)source->length : sizeof prefix;
    enum mxv_status status = mxv_file_source_read(source, 0, prefix, have, report);
    if (status != MXV_OK)
        return status;
    if (have < MAGIC_SIZE || memcmp(prefix, magic, MAGIC_SIZE) != 0)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "is not a .npy file (its first bytes are not 93 'NUMPY'); use "
                             "numpy.save or a .safetensors file");
    unsigned version = prefix[MAGIC_SIZE], field = version == 1 ? 2 : 4;
    if (have < PREFIX_SIZE + field)
        return fail_short(report, source->length);
    if (version < 1 || version > 3 || prefix[MAGIC_SIZE + 1] != 0)
        return mxv_file_fail(report, MXV_ERR_UNSUPPORTED,
                             ".npy version %u.%u, byte 6; versions 1.0, 2.0 and 3.0 are read",
                             version, prefix[MAGIC_SIZE + 1]);
    *first = PREFIX_SIZE + field;
    *size = 0;
    for (unsigned i = field; i-- > 0;)
        *size = *size << 8 | prefix[PREFIX_SIZE + i];
    if (*size > source->length - *first)
        return fail_short(report, source->length);
    return MXV_OK;
}

static enum mxv_status check_size(const struct mxv_file_source *source,
                                  const struct mxv_stored_array *stored,
                                  const struct mxv_file_report *report)
{
    size_t bytes;
    if (mxv_stored_bytes(stored->bits, stored->rank, stored->shape, &bytes) != MXV_OK)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "shape: its size exceeds what this machine can address; the header "
                             "is damaged");
    uint64_t have = source->length - stored->offset;
    if (have == bytes)
        return MXV_OK;
    return mxv_file_fail(report, MXV_ERR_INPUT,
                         "data, byte %" PRIu64 ": the header promises %zu bytes of data, the file "
                         "has %" PRIu64 "; %s",
                         stored->offset, bytes, have,
                         have < bytes ? "copy the file again" : "store one array a file");
}

enum mxv_status mxv_npy_read(const struct mxv_file_source *source,
                             const struct mxv_tensor_read_options *options, struct mxv_tensor *out,
                             const struct mxv_file_report *report)
{
    uint64_t first = 0, size = 0;
    struct mxv_npy_header header;
    *out = (struct mxv_tensor){.type = MXV_ELEMENT_COUNT};
    enum mxv_status status = locate_dict(source, &first, &size, report);
    if (status != MXV_OK)
        return status;
    char *text = malloc(size ? size : 1);
    if (!text)
        return mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for the header");
    status = mxv_file_source_read(source, first, text, size, report);
    if (status == MXV_OK)
        status = mxv_npy_dict_parse(text, size, first, &header, report);
    free(text);
    if (status != MXV_OK)
        return status;
    header.stored.offset = first + size;
    status = check_size(source, &header.stored, report);
    return status == MXV_OK ? mxv_stored_read(source, &header.stored, options, out, report)
                            : status;
}
