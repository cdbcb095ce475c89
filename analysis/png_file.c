// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A picture into a PNG file, all or nothing.
//
// Encoding is libpng's simplified interface (8-bit RGB) into memory; the bytes then take the way of
// every output file (tensor_file_output.h). No time stamp is stored.
// tests/unit/test_map_png.c fails if this file is wrong.
#include "png_canvas.h"
#include "tensor_file_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

static enum mxv_status encode(const struct mxv_png_canvas *canvas, uint8_t **bytes, size_t *length,
                              const struct mxv_file_report *report)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)canvas->width;
    image.height = (png_uint_32)canvas->height;
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    *bytes = malloc(size);
    if (!*bytes)
        return mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for the picture");
    if (!png_image_write_to_memory(&image, *bytes, &size, 0, canvas->rgb, 0, NULL)) {
        free(*bytes);
        *bytes = NULL;
        return mxv_file_fail(report, MXV_ERR_INTERNAL, "libpng: %s", image.message);
    }
    *length = size;
    return MXV_OK;
}

static enum mxv_status store(const char *path, const uint8_t *bytes, size_t length,
                             const struct mxv_file_report *report)
{
    struct mxv_file_output output;
    enum mxv_status status = mxv_file_output_begin(path, &output, report);
    if (status != MXV_OK)
        return status;
    errno = 0;
    if (fwrite(bytes, 1, length, output.stream) != length) {
        int error = errno ? errno : EIO;
        mxv_file_output_abandon(&output);
        return mxv_file_fail(report, MXV_ERR_IO, "cannot be written: %s", strerror(error));
    }
    return mxv_file_output_commit(&output, report);
}

enum mxv_status mxv_png_canvas_write(const struct mxv_png_canvas *canvas, const char *path,
                                     char *message, size_t message_size)
{
    struct mxv_file_report report = {path, message, message_size};
    uint8_t *bytes = NULL;
    size_t length = 0;
    enum mxv_status status = encode(canvas, &bytes, &length, &report);
    if (status == MXV_OK)
        status = store(path, bytes, length, &report);
    free(bytes);
    return status;
}
