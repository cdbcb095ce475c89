// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Drawing into a picture in memory. tests/unit/test_map_png.c fails if this file is wrong.
#include "png_canvas.h"

#include <stdlib.h>
#include <string.h>

bool png_canvas_init(struct png_canvas *canvas, size_t width, size_t height, uint32_t colour)
{
    canvas->width = width;
    canvas->height = height;
    canvas->rgb = malloc(width * height * 3 + 1);
    if (canvas->rgb)
        png_canvas_fill(canvas, 0, 0, width, height, colour);
    return canvas->rgb != NULL;
}

void png_canvas_free(struct png_canvas *canvas)
{
    free(canvas->rgb);
    memset(canvas, 0, sizeof *canvas);
}

void png_canvas_dot(struct png_canvas *canvas, size_t x, size_t y, uint32_t colour)
{
    if (x >= canvas->width || y >= canvas->height)
        return;
    uint8_t *dot = canvas->rgb + (y * canvas->width + x) * 3;
    dot[0] = (uint8_t)(colour >> 16);
    dot[1] = (uint8_t)(colour >> 8);
    dot[2] = (uint8_t)colour;
}

void png_canvas_fill(struct png_canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                     uint32_t colour)
{
    size_t right = x + width < canvas->width ? x + width : canvas->width;
    size_t bottom = y + height < canvas->height ? y + height : canvas->height;
    for (size_t j = y; j < bottom; j++) {
        for (size_t i = x; i < right; i++)
            png_canvas_dot(canvas, i, j, colour);
    }
}

void png_canvas_frame(struct png_canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                      size_t thickness, uint32_t colour)
{
    png_canvas_fill(canvas, x, y, width, thickness, colour);
    png_canvas_fill(canvas, x, y + height - thickness, width, thickness, colour);
    png_canvas_fill(canvas, x, y, thickness, height, colour);
    png_canvas_fill(canvas, x + width - thickness, y, thickness, height, colour);
}

size_t png_text_width(const char *text, size_t scale)
{
    size_t length = strlen(text);
    return length == 0 ? 0 : (length * PNG_GLYPH_ADVANCE - 1) * scale;
}

void png_canvas_text(struct png_canvas *canvas, size_t x, size_t y, size_t scale, uint32_t colour,
                     const char *text)
{
    for (; *text; text++, x += PNG_GLYPH_ADVANCE * scale) {
        const unsigned char *glyph = png_glyph(*text);
        for (size_t row = 0; row < PNG_GLYPH_ROWS; row++) {
            for (size_t col = 0; col < PNG_GLYPH_COLS; col++) {
                if (glyph[row] >> (PNG_GLYPH_COLS - 1 - col) & 1)
                    png_canvas_fill(canvas, x + col * scale, y + row * scale, scale, scale, colour);
            }
        }
    }
}

void png_canvas_text_up(struct png_canvas *canvas, size_t x, size_t y, size_t scale,
                        uint32_t colour, const char *text)
{
    size_t bottom = y + png_text_width(text, scale);
    for (; *text; text++, bottom -= PNG_GLYPH_ADVANCE * scale) {
        const unsigned char *glyph = png_glyph(*text);
        for (size_t row = 0; row < PNG_GLYPH_ROWS; row++) {
            for (size_t col = 0; col < PNG_GLYPH_COLS; col++) {
                if (glyph[row] >> (PNG_GLYPH_COLS - 1 - col) & 1)
                    png_canvas_fill(canvas, x + row * scale, bottom - (col + 1) * scale, scale,
                                    scale, colour);
            }
        }
    }
}
