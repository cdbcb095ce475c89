// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A small RGB picture in memory: rectangles, lettering, and the way into a file.
#ifndef MXV_PNG_CANVAS_H
#define MXV_PNG_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/status.h>

enum { MXV_PNG_GLYPH_COLS = 5, MXV_PNG_GLYPH_ROWS = 9, MXV_PNG_GLYPH_ADVANCE = 6 };

// Bit rows of a character; those outside printable ASCII show as '?'.
const unsigned char *mxv_png_glyph(char character);

struct mxv_png_canvas {
    size_t width, height;
    uint8_t *rgb; // [height][width][3]
};

// Filled with `colour` (0xRRGGBB). false when memory is short.
bool mxv_png_canvas_init(struct mxv_png_canvas *canvas, size_t width, size_t height,
                         uint32_t colour);
void mxv_png_canvas_free(struct mxv_png_canvas *canvas);

// All drawing is clipped to the canvas.
void mxv_png_canvas_dot(struct mxv_png_canvas *canvas, size_t x, size_t y, uint32_t colour);
void mxv_png_canvas_fill(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                         size_t height, uint32_t colour);
// The edge of a rectangle, `thickness` dots drawn inwards.
void mxv_png_canvas_frame(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                          size_t height, size_t thickness, uint32_t colour);

// Lettering at `scale` dots per font dot; (x, y) is the top left corner. text_up reads from bottom
// to top and (x, y) is its top left corner as it stands in the picture.
void mxv_png_canvas_text(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t scale,
                         uint32_t colour, const char *text);
void mxv_png_canvas_text_up(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t scale,
                            uint32_t colour, const char *text);
size_t mxv_png_text_width(const char *text, size_t scale);

// Writes the picture as an 8-bit RGB PNG, all or nothing.
enum mxv_status mxv_png_canvas_write(const struct mxv_png_canvas *canvas, const char *path,
                                     char *message, size_t message_size);

#endif
