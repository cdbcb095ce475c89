// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The header of a .safetensors file (huggingface/safetensors, README): a little-endian 64-bit size
// N of at most 100,000,000, N bytes of JSON that begin with '{' and may end in blanks, then the
// data. Each tensor has dtype, shape and data_offsets [begin, end) relative to the data; together
// they cover the data without hole or overlap.
//
// The whole header is checked, strictly: duplicate keys at any depth, an unknown dtype, a key that
// the format does not have, a size that does not follow from dtype and shape, bytes that belong to
// no tensor. `__metadata__` must map strings to strings and is otherwise passed over.
// Shapes of F4 and F6 tensors count elements; their bits must fill whole bytes.
// tests/unit/test_tensor_file_safetensors.c and tests/fuzz/fuzz_safetensors.c fail if this is
// wrong.
#include "safetensors_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { SIZE_FIELD = 8, HEADER_LIMIT = 100000000 };

static const struct mxv_safetensors_dtype dtypes[] = {
    {"BOOL", 8, true, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT},
    {"F4", 4, true, MXV_STORED_ELEMENT, MXV_E2M1},
    {"F6_E2M3", 6, true, MXV_STORED_ELEMENT, MXV_E2M3},
    {"F6_E3M2", 6, true, MXV_STORED_ELEMENT, MXV_E3M2},
    {"U8", 8, true, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT},
    {"I8", 8, true, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT},
    {"F8_E5M2", 8, true, MXV_STORED_ELEMENT, MXV_E5M2},
    {"F8_E4M3", 8, true, MXV_STORED_ELEMENT, MXV_E4M3},
    {"F8_E8M0", 8, true, MXV_STORED_ELEMENT, MXV_E8M0},
    {"F8_E4M3FNUZ", 8, true, MXV_STORED_ELEMENT, MXV_E4M3FNUZ},
    {"F8_E5M2FNUZ", 8, true, MXV_STORED_ELEMENT, MXV_E5M2FNUZ},
    {"I16", 16, true, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT},
    {"U16", 16, true, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT},
    {"F16", 16, true, MXV_STORED_ELEMENT, MXV_F16},
    {"BF16", 16, true, MXV_STORED_ELEMENT, MXV_BF16},
    {"I32", 32, true, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT},
    {"U32", 32, true, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT},
    {"F32", 32, true, MXV_STORED_ELEMENT, MXV_F32},
    {"C64", 64, false, MXV_STORED_LOST, MXV_ELEMENT_COUNT},
    {"F64", 64, true, MXV_STORED_ELEMENT, MXV_F64},
    {"I64", 64, true, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT},
    {"U64", 64, true, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT},
};

const struct mxv_safetensors_dtype *mxv_safetensors_dtype_find(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

enum mxv_status mxv_tensor_storage_bytes(const char *dtype, unsigned rank, const size_t *shape,
                                         size_t *bytes)
{
    const struct mxv_safetensors_dtype *row = mxv_safetensors_dtype_find(dtype);
    return row ? mxv_stored_bytes(row->bits, rank, shape, bytes) : MXV_ERR_UNSUPPORTED;
}

// One tensor --------------------------------------------------------------------------------------

static enum mxv_status fail_tensor(const struct mxv_file_report *report, const char *name,
                                   const char *what)
{
    return mxv_file_fail(report, MXV_ERR_INPUT,
                         "tensor '%.80s': %s; the file is damaged, write it "
                         "again",
                         name, what);
}

static enum mxv_status take_dtype(const json_t *value, struct mxv_tensor_entry *entry,
                                  const struct mxv_file_report *report)
{
    const char *text = json_string_value(value);
    if (!text)
        return fail_tensor(report, entry->name, "dtype is missing or no string");
    if (!mxv_safetensors_dtype_find(text))
        return mxv_file_fail(report, MXV_ERR_UNSUPPORTED,
                             "tensor '%.80s': dtype '%.40s' is unknown; see the safetensors format "
                             "for the names",
                             entry->name, text);
    strcpy(entry->dtype, text);
    return MXV_OK;
}

static enum mxv_status take_shape(const json_t *value, struct mxv_tensor_entry *entry,
                                  const struct mxv_file_report *report)
{
    size_t i;
    json_t *item;
    if (!json_is_array(value))
        return fail_tensor(report, entry->name, "shape is missing or no list");
    if (json_array_size(value) > MXV_TENSOR_MAX_RANK)
        return mxv_file_fail(report, MXV_ERR_UNSUPPORTED,
                             "tensor '%.80s': %zu dimensions, more than the %d that are handled; "
                             "reshape it",
                             entry->name, json_array_size(value), MXV_TENSOR_MAX_RANK);
    entry->rank = (unsigned)json_array_size(value);
    json_array_foreach(value, i, item)
    {
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return fail_tensor(report, entry->name, "shape has a dimension that is no size");
        entry->shape[i] = (size_t)json_integer_value(item);
    }
    return MXV_OK;
}

static enum mxv_status take_offsets(const json_t *value, uint64_t data_size,
                                    struct mxv_tensor_entry *entry,
                                    const struct mxv_file_report *report)
{
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return fail_tensor(report, entry->name, "data_offsets is no pair 0 <= begin <= end");
    entry->begin = (uint64_t)json_integer_value(begin);
    entry->end = (uint64_t)json_integer_value(end);
    if (entry->end > data_size)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "tensor '%.80s': data_offsets end at byte %" PRIu64
                             " of the data, the "
                             "file has %" PRIu64 "; copy the file again",
                             entry->name, entry->end, data_size);
    return MXV_OK;
}

static enum mxv_status check_bytes(const struct mxv_tensor_entry *entry,
                                   const struct mxv_file_report *report)
{
    size_t bytes;
    if (mxv_tensor_storage_bytes(entry->dtype, entry->rank, entry->shape, &bytes) != MXV_OK)
        return fail_tensor(report, entry->name,
                           "shape is too large, or its bits are no whole number of bytes "
                           "(misaligned sub-byte dtype)");
    if (bytes == entry->end - entry->begin)
        return MXV_OK;
    return mxv_file_fail(report, MXV_ERR_INPUT,
                         "tensor '%.80s': %s and its shape take %zu bytes, data_offsets give "
                         "%" PRIu64 "; the file is damaged, write it again",
                         entry->name, entry->dtype, bytes, entry->end - entry->begin);
}

static enum mxv_status take_entry(const char *name, const json_t *value, uint64_t data_size,
                                  struct mxv_tensor_entry *entry,
                                  const struct mxv_file_report *report)
{
    if (!(entry->name = strdup(name)))
        return mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for the names of the tensors");
    if (json_object_size(value) != 3)
        return fail_tensor(report, name, "its keys are not dtype, shape, data_offsets");
    enum mxv_status status = take_dtype(json_object_get(value, "dtype"), entry, report);
    if (status == MXV_OK)
        status = take_shape(json_object_get(value, "shape"), entry, report);
    if (status == MXV_OK)
        status = take_offsets(json_object_get(value, "data_offsets"), data_size, entry, report);
    return status == MXV_OK ? check_bytes(entry, report) : status;
}

// All tensors -------------------------------------------------------------------------------------

static int compare_entries(const void *a, const void *b)
{
    const struct mxv_tensor_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static enum mxv_status check_cover(const struct mxv_tensor_list *list, uint64_t data_size,
                                   const struct mxv_file_report *report)
{
    uint64_t covered = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct mxv_tensor_entry *entry = &list->entries[i];
        if (entry->begin != covered)
            return mxv_file_fail(report, MXV_ERR_INPUT,
                                 "tensor '%.80s': begins at byte %" PRIu64 " of the data, the one "
                                 "before ends at %" PRIu64 " (%s); the file is damaged, write it "
                                 "again",
                                 entry->name, entry->begin, covered,
                                 entry->begin > covered ? "a hole" : "an overlap");
        covered = entry->end;
    }
    if (covered == data_size)
        return MXV_OK;
    return mxv_file_fail(report, MXV_ERR_INPUT,
                         "data, byte %" PRIu64 ": %" PRIu64 " bytes behind the last tensor; the "
                         "file is damaged, write it again",
                         covered, data_size - covered);
}

static enum mxv_status check_metadata(json_t *metadata, const struct mxv_file_report *report)
{
    const char *key;
    json_t *value;
    bool strings = json_is_object(metadata);
    json_object_foreach(metadata, key, value) strings = strings && json_is_string(value);
    return strings ? MXV_OK
                   : mxv_file_fail(report, MXV_ERR_INPUT,
                                   "header, __metadata__: is no map of strings; write the file "
                                   "again");
}

static enum mxv_status take_tensors(json_t *root, uint64_t data_size, struct mxv_tensor_list *list,
                                    const struct mxv_file_report *report)
{
    const char *name;
    json_t *value;
    size_t room = json_object_size(root);
    if (!(list->entries = calloc(room ? room : 1, sizeof *list->entries)))
        return mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for %zu tensors", room);
    json_object_foreach(root, name, value)
    {
        enum mxv_status status =
            strcmp(name, "__metadata__") == 0
                ? check_metadata(value, report)
                : take_entry(name, value, data_size, &list->entries[list->count++], report);
        if (status != MXV_OK)
            return status;
    }
    qsort(list->entries, list->count, sizeof *list->entries, compare_entries);
    return check_cover(list, data_size, report);
}

static enum mxv_status parse_header(const struct mxv_file_source *source, uint64_t size,
                                    struct mxv_tensor_list *list,
                                    const struct mxv_file_report *report)
{
    json_error_t error;
    char *text = malloc(size);
    if (!text)
        return mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for the header");
    enum mxv_status status = mxv_file_source_read(source, SIZE_FIELD, text, size, report);
    if (status == MXV_OK && text[0] != '{')
        status = mxv_file_fail(report, MXV_ERR_INPUT,
                               "header, byte 8: is not a .safetensors file ('{' is expected); use "
                               "a .npy or .safetensors file");
    json_t *root = status == MXV_OK ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &error) : NULL;
    free(text);
    if (status == MXV_OK && !root)
        status = mxv_file_fail(report, MXV_ERR_INPUT,
                               "header, before byte %d: %s; the file is damaged, write it again",
                               error.position + SIZE_FIELD, error.text);
    if (status == MXV_OK)
        status = take_tensors(root, source->length - SIZE_FIELD - size, list, report);
    json_decref(root);
    return status;
}

enum mxv_status mxv_safetensors_list(const struct mxv_file_source *source,
                                     struct mxv_tensor_list *out, uint64_t *data,
                                     const struct mxv_file_report *report)
{
    uint64_t size = 0;
    *out = (struct mxv_tensor_list){0};
    if (source->length < SIZE_FIELD)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "is neither .npy nor .safetensors: it has only %" PRIu64 " bytes; "
                             "copy the file again",
                             source->length);
    enum mxv_status status = mxv_file_source_read(source, 0, &size, SIZE_FIELD, report);
    if (status != MXV_OK)
        return status;
    if (size == 0 || size > HEADER_LIMIT || size > source->length - SIZE_FIELD)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "header, byte 0: a header of %" PRIu64 " bytes is impossible in a "
                             ".safetensors file of %" PRIu64 "; use a .npy or .safetensors file, "
                             "copied whole",
                             size, source->length);
    *data = SIZE_FIELD + size;
    status = parse_header(source, size, out, report);
    if (status != MXV_OK)
        mxv_tensor_list_free(out);
    return status;
}
