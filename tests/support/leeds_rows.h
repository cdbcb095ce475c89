// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The published rows of north-numerical-computing/MATLAB-tensor-core (BSD-2, Khattak and Mikaitis,
// arXiv 2512.07004): per GPU and operand format, 5,000 dot products with their result words. One
// comment line, then A, B (hexadecimal words run together), C, D and D16 or `-`.
#ifndef MXV_TESTS_LEEDS_ROWS_H
#define MXV_TESTS_LEEDS_ROWS_H

#include "vector_file.h"

enum { LEEDS_MAX_K = 32, LEEDS_ROWS = 5000 };

struct leeds_row {
    uint32_t a[LEEDS_MAX_K], b[LEEDS_MAX_K], c, d, d16;
    bool has_d16;
};

struct leeds_set {
    size_t k, count;
    struct leeds_row *rows;
};

static inline size_t leeds_words(const char *text, size_t digits, uint32_t *out)
{
    size_t n = strlen(text) / digits;
    char word[9] = {0};
    for (size_t i = 0; i < n && i < LEEDS_MAX_K; i++) {
        memcpy(word, text + i * digits, digits);
        out[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    return n;
}

// Reads GPU_format.txt.gz; digits is the number of hexadecimal digits of one operand word.
static inline struct leeds_set leeds_read(const char *set, size_t digits)
{
    char path[512];
    snprintf(path, sizeof path, "%s/vectors/third-party/leeds/%s.txt.gz", MXV_SHARED_DIR, set);
    struct vector_bytes file = vector_read_command("gzip -dc", path);
    struct leeds_set s = {0, 0, calloc(LEEDS_ROWS, sizeof *s.rows)};
    if (!s.rows)
        vector_fail("out of memory", path);
    char *rest = NULL;
    for (char *line = strtok_r((char *)file.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char a[513], b[513], d16[16];
        unsigned c = 0, d = 0;
        if (line[0] == '#')
            continue;
        if (s.count == LEEDS_ROWS || sscanf(line, "%512s %512s %x %x %15s", a, b, &c, &d, d16) != 5)
            vector_fail("unreadable row", path);
        struct leeds_row *r = &s.rows[s.count++];
        s.k = leeds_words(a, digits, r->a);
        if (s.k > LEEDS_MAX_K || leeds_words(b, digits, r->b) != s.k)
            vector_fail("operands of different length", path);
        r->c = c;
        r->d = d;
        r->has_d16 = d16[0] != '-';
        r->d16 = r->has_d16 ? (uint32_t)strtoul(d16, NULL, 16) : 0;
    }
    free(file.data);
    return s;
}

#endif
