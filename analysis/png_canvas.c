// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Drawing into a picture in memory. tests/unit/test_map_png.c fails if this file is wrong.
#include "png_canvas.h"

#include <stdlib.h>
#include <string.h>

bool mxv_png_canvas_init(struct mxv_png_canvas *canvas, size_t width, size_t height,
                         uint32_t colour)
{
    canvas->width = width;
    canvas->height = height;
    canvas->rgb = malloc(width * height * 3 + 1);
    if (canvas->rgb)
        mxv_png_canvas_fill(canvas, 0, 0, width, height, colour);
    return canvas->rgb != NULL;
}

void mxv_png_canvas_free(struct mxv_png_canvas *canvas)
{
    free(canvas->rgb);
    memset(canvas, 0, sizeof *canvas);
}

void mxv_png_canvas_dot(struct mxv_png_canvas *canvas, size_t x, size_t y, uint32_t colour)
{
    if (x >= canvas->width || y >= canvas->height)
        return;
    uint8_t *dot = canvas->rgb + (y * canvas->width + x) * 3;
    dot[0] = (uint8_t)(colour >> 16);
    dot[1] = (uint8_t)(colour >> 8);
    dot[2] = (uint8_t)colour;
}

void mxv_png_canvas_fill(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                         size_t height, uint32_t colour)
{
    size_t right = x + width < canvas->width ? x + width : canvas->width;
    size_t bottom = y + height < canvas->height ? y + height : canvas->height;
    for (size_t j = y; j < bottom; j++) {
        for (size_t i = x; i < right; i++)
            mxv_png_canvas_dot(canvas, i, j, colour);
    }
}

void mxv_png_canvas_frame(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t width,
                          size_t height, size_t thickness, uint32_t colour)
{
    mxv_png_canvas_fill(canvas, x, y, width, thickness, colour);
    mxv_png_canvas_fill(canvas, x, y + height - thickness, width, thickness, colour);
    mxv_png_canvas_fill(canvas, x, y, thickness, height, colour);
    mxv_png_canvas_fill(canvas, x + width - thickness, y, thickness, height, colour);
}

size_t mxv_png_text_width(const char *text, size_t scale)
{
    size_t length = strlen(text);
    return length == 0 ? 0 : (length * MXV_PNG_GLYPH_ADVANCE - 1) * scale;
}

void mxv_png_canvas_text(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t scale,
                         uint32_t colour, const char *text)
{
    for (; *text; text++, x += MXV_PNG_GLYPH_ADVANCE * scale) {
        const unsigned char *glyph = mxv_png_glyph(*text);
        for (size_t row = 0; row < MXV_PNG_GLYPH_ROWS; row++) {
            for (size_t col = 0; col < MXV_PNG_GLYPH_COLS; col++) {
                if (glyph[row] >> (MXV_PNG_GLYPH_COLS - 1 - col) & 1)
                    mxv_png_canvas_fill(canvas, x + col * scale, y + row * scale, scale, scale,
                                        colour);
            }
        }
    }
}

void mxv_png_canvas_text_up(struct mxv_png_canvas *canvas, size_t x, size_t y, size_t scale,
                            uint32_t colour, const char *text)
{
    size_t bottom = y + mxv_png_text_width(text, scale);
    for (; *text; text++, bottom -= MXV_PNG_GLYPH_ADVANCE * scale) {
        const unsigned char *glyph = mxv_png_glyph(*text);
        for (size_t row = 0; row < MXV_PNG_GLYPH_ROWS; row++) {
            for (size_t col = 0; col < MXV_PNG_GLYPH_COLS; col++) {
                if (glyph[row] >> (MXV_PNG_GLYPH_COLS - 1 - col) & 1)
                    mxv_png_canvas_fill(canvas, x + row * scale, bottom - (col + 1) * scale, scale,
                                        scale, colour);
            }
        }
    }
}
