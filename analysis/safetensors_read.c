// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Takes one tensor out of a .safetensors file. Only its own bytes are read, after the header has
// been checked. U8 and I8 are what they say unless the caller names another one-byte type: many FP4
// checkpoints hold packed E2M1 codes and E8M0 scales in U8 tensors.
// tests/unit/test_tensor_file_safetensors.c fails if this is wrong.
#include <stdio.h>
#include <string.h>

#include "safetensors_header.h"

enum { NAMES_SIZE = 300 };

/// The names in a file as far as they fit, for a message.
static const char *join_names(const struct mxv_tensor_list *list, char text[NAMES_SIZE])
{
    size_t used = 0, i = 0;
    text[0] = '\0';
    for (; i < list->count; i++) {
        size_t length = strlen(list->entries[i].name);
        if (used + length + 40 > NAMES_SIZE)
            break;
        used += (size_t)snprintf(text + used, NAMES_SIZE - used, "%s'%s'", i ? ", " : "",
                                 list->entries[i].name);
    }
    if (i < list->count)
        snprintf(text + used, NAMES_SIZE - used, "%s%zu more", i ? " and " : "", list->count - i);
    return text;
}

static enum mxv_status find_entry(const struct mxv_tensor_list *list, const char *name,
                                  const struct mxv_tensor_entry **entry,
                                  const struct mxv_file_report *report)
{
    char names[NAMES_SIZE];
    *entry = NULL;
    if (list->count == 0)
        return mxv_file_fail(report, MXV_ERR_INPUT, "holds no tensor; write the file again");
    if (!name && list->count == 1)
        *entry = &list->entries[0];
    for (size_t i = 0; name && i < list->count; i++)
        if (strcmp(list->entries[i].name, name) == 0)
            *entry = &list->entries[i];
    if (*entry)
        return MXV_OK;
    if (!name)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "holds %zu tensors; name one as FILE:TENSOR, of %s", list->count,
                             join_names(list, names));
    return mxv_file_fail(report, MXV_ERR_INPUT, "has no tensor '%.80s'; it holds %s", name,
                         join_names(list, names));
}

static enum mxv_status read_entry(const struct mxv_file_source *source, uint64_t data,
                                  const struct mxv_tensor_entry *entry,
                                  const struct mxv_tensor_read_options *options,
                                  struct mxv_tensor *out, const struct mxv_file_report *report)
{
    const struct mxv_safetensors_dtype *dtype = mxv_safetensors_dtype_find(entry->dtype);
    if (!dtype->readable)
        return mxv_file_fail(report, MXV_ERR_UNSUPPORTED,
                             "tensor '%.80s': dtype '%s' is not handled; store real numbers",
                             entry->name, entry->dtype);
    struct mxv_stored_array stored = {.kind = dtype->kind,
                                      .element = dtype->element,
                                      .bits = dtype->bits,
                                      .field = "dtype",
                                      .text = entry->dtype,
                                      .rank = entry->rank,
                                      .offset = data + entry->begin};
    memcpy(stored.shape, entry->shape, sizeof stored.shape);
    return mxv_stored_read(source, &stored, options, out, report);
}

enum mxv_status mxv_safetensors_read(const struct mxv_file_source *source, const char *name,
                                     const struct mxv_tensor_read_options *options,
                                     struct mxv_tensor *out, const struct mxv_file_report *report)
{
    struct mxv_tensor_list list;
    const struct mxv_tensor_entry *entry;
    uint64_t data;
    enum mxv_status status = mxv_safetensors_list(source, &list, &data, report);
    if (status == MXV_OK)
        status = find_entry(&list, name, &entry, report);
    if (status == MXV_OK)
        status = read_entry(source, data, entry, options, out, report);
    mxv_tensor_list_free(&list);
    return status;
}
