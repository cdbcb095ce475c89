// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Recorded result words: whole files from a zstd file or from a command's output, and the layout of
// the matrix-unit captures (data/golden/h200-mma/README.md). Test code: stops the program with a
// message when a file is damaged.
#ifndef MXV_TESTS_VECTOR_FILE_H
#define MXV_TESTS_VECTOR_FILE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

struct vector_bytes {
    uint8_t *data; // malloc, followed by a zero byte
    size_t size;
};

static inline _Noreturn void vector_fail(const char *what, const char *where)
{
    fprintf(stderr, "%s: %s\n", where, what);
    exit(1);
}

static inline struct vector_bytes vector_read_stream(FILE *f, const char *where)
{
    struct vector_bytes b = {NULL, 0};
    size_t capacity = 1 << 16, n;
    b.data = malloc(capacity + 1);
    while (b.data && (n = fread(b.data + b.size, 1, capacity - b.size, f)) > 0) {
        b.size += n;
        if (b.size == capacity)
            b.data = realloc(b.data, (capacity *= 2) + 1);
    }
    if (!b.data)
        vector_fail("out of memory", where);
    b.data[b.size] = 0;
    return b;
}

// Output of `program file`, for example ("xz -dc", "x.xz"). Exits with 77, skipped, if the file or
// the program is absent.
static inline struct vector_bytes vector_read_command(const char *program, const char *path)
{
    char command[1024];
    if (access(path, R_OK) != 0) {
        printf("skipped: no %s\n", path);
        exit(77);
    }
    snprintf(command, sizeof command, "%s '%s'", program, path);
    FILE *f = popen(command, "r");
    if (!f)
        vector_fail("cannot run", command);
    struct vector_bytes b = vector_read_stream(f, path);
    int status = pclose(f);
    if (status == 127 << 8) {
        printf("skipped: no program for `%s`\n", command);
        exit(77);
    }
    if (status != 0)
        vector_fail("command failed", command);
    return b;
}

static inline struct vector_bytes vector_read_zst(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        vector_fail("cannot open", path);
    struct vector_bytes packed = vector_read_stream(f, path), b;
    fclose(f);
    unsigned long long size = ZSTD_getFrameContentSize(packed.data, packed.size);
    if (size > (1u << 30))
        vector_fail("no plausible content size", path);
    b.data = malloc(size + 1);
    if (!b.data)
        vector_fail("out of memory", path);
    b.size = ZSTD_decompress(b.data, size, packed.data, packed.size);
    if (ZSTD_isError(b.size) || b.size != size)
        vector_fail("damaged", path);
    b.data[b.size] = 0;
    free(packed.data);
    return b;
}

static inline uint32_t vector_word(const uint8_t *p, size_t bytes)
{
    uint32_t w = 0;
    for (size_t i = 0; i < bytes; i++)
        w |= (uint32_t)p[i] << 8 * i;
    return w;
}

// A capture: D = C + A * B of `tiles` tiles, words widened to 32 bits.
struct mma_capture {
    size_t rows, cols, k, tiles;
    uint32_t *a, *b, *c, *d; // [tiles][rows][k], [tiles][cols][k], [tiles][rows][cols] twice
};

static inline uint32_t *vector_words(const uint8_t **p, size_t count, size_t bytes)
{
    uint32_t *w = malloc(count * sizeof *w);
    if (!w)
        vector_fail("out of memory", "capture");
    for (size_t i = 0; i < count; i++, *p += bytes)
        w[i] = vector_word(*p, bytes);
    return w;
}

static inline struct mma_capture mma_capture_parse(struct vector_bytes file, const char *where)
{
    struct mma_capture t = {0, 0, 0, 0, NULL, NULL, NULL, NULL};
    uint32_t h[8];
    if (file.size < sizeof h)
        vector_fail("too short", where);
    for (size_t i = 0; i < 8; i++)
        h[i] = vector_word(file.data + 4 * i, 4);
    t.rows = h[0], t.cols = h[1], t.k = h[2], t.tiles = h[5];
    size_t in = h[3], out = h[4];
    if (in > 4 || out > 4 || !t.rows || !t.cols || !t.k || !t.tiles || t.rows > 64 || t.cols > 8 ||
        t.k > 64 || t.tiles > 4096 ||
        file.size !=
            sizeof h + t.tiles * ((t.rows + t.cols) * t.k * in + 2 * t.rows * t.cols * out))
        vector_fail("header does not fit the file", where);
    const uint8_t *p = file.data + sizeof h;
    t.a = vector_words(&p, t.tiles * t.rows * t.k, in);
    t.b = vector_words(&p, t.tiles * t.cols * t.k, in);
    t.c = vector_words(&p, t.tiles * t.rows * t.cols, out);
    t.d = vector_words(&p, t.tiles * t.rows * t.cols, out);
    return t;
}

static inline void mma_capture_free(struct mma_capture *t)
{
    free(t->a);
    free(t->b);
    free(t->c);
    free(t->d);
}

#endif
