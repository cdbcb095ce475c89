// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory, and reading by "FILE" or "FILE:TENSOR" whatever the kind of file.
// tests/unit/test_tensor_file_names.c fails if this is wrong.
#include <mxverify/tensor_file.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "npy_header.h"
#include "safetensors_header.h"

void mxv_tensor_free(struct mxv_tensor *tensor)
{
    if (!tensor)
        return;
    free(tensor->data);
    *tensor = (struct mxv_tensor){.type = MXV_ELEMENT_COUNT};
}

uint64_t mxv_tensor_code(const struct mxv_tensor *tensor, size_t index)
{
    uint64_t code = 0;
    assert(index < tensor->count);
    memcpy(&code, (const uint8_t *)tensor->data + index * tensor->container, tensor->container);
    return code;
}

/// Where the name of a tensor begins in FILE:TENSOR: after the colon behind ".safetensors", else
/// after the last colon; NULL if the text names a file as it stands or has no colon.
static const char *find_colon(const char *where)
{
    static const char ending[] = ".safetensors:";
    struct stat status;
    if (stat(where, &status) == 0)
        return NULL;
    const char *found = strstr(where, ending);
    return found ? found + sizeof ending - 2 : strrchr(where, ':');
}

/// What a caller asked for: the kind of file is settled by `name` and `kind`.
struct request {
    enum { KIND_NPY, KIND_SAFETENSORS, KIND_BY_MAGIC } kind;
    const char *name; ///< of a safetensors tensor, or NULL
    const struct mxv_tensor_read_options *options;
};

static enum mxv_status settle_kind(const struct mxv_file_source *source, struct request *request,
                                   const struct mxv_file_report *report)
{
    uint8_t first[6] = {0};
    if (request->kind != KIND_BY_MAGIC)
        return MXV_OK;
    size_t have = source->length < sizeof first ? (size_t)source->length : sizeof first;
    enum mxv_status status = mxv_file_source_read(source, 0, first, have, report);
    bool npy = memcmp(first, "\x93NUMPY", sizeof first) == 0;
    if (status == MXV_OK && npy && request->name)
        status = mxv_file_fail(report, MXV_ERR_INPUT,
                               "is a .npy file and has no tensor '%s'; leave the name out",
                               request->name);
    request->kind = npy ? KIND_NPY : KIND_SAFETENSORS;
    return status;
}

static enum mxv_status read_source(const struct mxv_file_source *source, struct request request,
                                   struct mxv_tensor *out, const struct mxv_file_report *report)
{
    *out = (struct mxv_tensor){.type = MXV_ELEMENT_COUNT};
    enum mxv_status status = settle_kind(source, &request, report);
    if (status != MXV_OK)
        return status;
    return request.kind == KIND_NPY
               ? mxv_npy_read(source, request.options, out, report)
               : mxv_safetensors_read(source, request.name, request.options, out, report);
}

static enum mxv_status read_path(const char *path, struct request request, struct mxv_tensor *out,
                                 const struct mxv_file_report *report)
{
    struct mxv_file_source source;
    *out = (struct mxv_tensor){.type = MXV_ELEMENT_COUNT};
    enum mxv_status status = mxv_file_source_open(path, &source, report);
    if (status != MXV_OK)
        return status;
    status = read_source(&source, request, out, report);
    mxv_file_source_close(&source);
    return status;
}

enum mxv_status mxv_tensor_read_npy(const char *path, const struct mxv_tensor_read_options *options,
                                    struct mxv_tensor *out, char *message, size_t message_size)
{
    const struct mxv_file_report report = {path, message, message_size};
    return read_path(path, (struct request){KIND_NPY, NULL, options}, out, &report);
}

enum mxv_status mxv_tensor_parse_npy(const void *buffer, size_t length, const char *label,
                                     const struct mxv_tensor_read_options *options,
                                     struct mxv_tensor *out, char *message, size_t message_size)
{
    const struct mxv_file_report report = {label, message, message_size};
    const struct mxv_file_source source = mxv_file_source_memory(buffer, length);
    return read_source(&source, (struct request){KIND_NPY, NULL, options}, out, &report);
}

enum mxv_status mxv_tensor_read_safetensors(const char *path, const char *name,
                                            const struct mxv_tensor_read_options *options,
                                            struct mxv_tensor *out, char *message,
                                            size_t message_size)
{
    const struct mxv_file_report report = {path, message, message_size};
    return read_path(path, (struct request){KIND_SAFETENSORS, name, options}, out, &report);
}

enum mxv_status mxv_tensor_parse_safetensors(const void *buffer, size_t length, const char *label,
                                             const char *name,
                                             const struct mxv_tensor_read_options *options,
                                             struct mxv_tensor *out, char *message,
                                             size_t message_size)
{
    const struct mxv_file_report report = {label, message, message_size};
    const struct mxv_file_source source = mxv_file_source_memory(buffer, length);
    return read_source(&source, (struct request){KIND_SAFETENSORS, name, options}, out, &report);
}

enum mxv_status mxv_tensor_read(const char *where, const struct mxv_tensor_read_options *options,
                                struct mxv_tensor *out, char *message, size_t message_size)
{
    const char *colon = find_colon(where);
    size_t length = colon ? (size_t)(colon - where) : strlen(where);
    struct mxv_file_report report = {where, message, message_size};
    char *path = strndup(where, length);
    *out = (struct mxv_tensor){.type = MXV_ELEMENT_COUNT};
    if (!path)
        return mxv_file_fail(&report, MXV_ERR_MEMORY, "no memory for the path");
    report.label = path;
    struct request request = {KIND_BY_MAGIC, colon ? colon + 1 : NULL, options};
    enum mxv_status status = read_path(path, request, out, &report);
    free(path);
    return status;
}

enum mxv_status mxv_tensor_list_safetensors(const char *path, struct mxv_tensor_list *out,
                                            char *message, size_t message_size)
{
    const struct mxv_file_report report = {path, message, message_size};
    struct mxv_file_source source;
    uint64_t data;
    *out = (struct mxv_tensor_list){0};
    enum mxv_status status = mxv_file_source_open(path, &source, &report);
    if (status != MXV_OK)
        return status;
    status = mxv_safetensors_list(&source, out, &data, &report);
    mxv_file_source_close(&source);
    return status;
}

void mxv_tensor_list_free(struct mxv_tensor_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        free(list->entries[i].name);
    free(list->entries);
    *list = (struct mxv_tensor_list){0};
}
