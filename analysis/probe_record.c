// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: recorded answers of one instruction. Captures (data/golden/h200-mma/README.md: eight u32,
// then A, B, C, D of every tile), raw or in one zstd frame, state their formats; text lines
// `A | B | C [| scales A | scales B] | D` hold hexadecimal words, `#` starts a comment, and the
// face is the caller's. Not handled: more than 64 products a dot.
// tests/cli/test_probe.sh fails if this is wrong.
#include "probe_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { HEADER = 32 };
#define LARGEST ((size_t)1 << 30)

struct bytes {
    uint8_t *data; // followed by a zero byte
    size_t size;
};

static enum mxv_status fail(char *message, size_t size, const char *path, const char *what)
{
    snprintf(message, size, "%.400s: %s", path, what);
    return MXV_ERR_INPUT;
}

static enum mxv_status load(const char *path, struct bytes *out, char *message, size_t size)
{
    FILE *f = fopen(path, "rb");
    long length = -1;
    if (f && fseek(f, 0, SEEK_END) == 0)
        length = ftell(f);
    if (!f || length < 0 || (size_t)length > LARGEST || fseek(f, 0, SEEK_SET)) {
        snprintf(message, size, "%.400s: %s", path, errno ? strerror(errno) : "too large");
        if (f)
            fclose(f);
        return MXV_ERR_IO;
    }
    out->data = calloc((size_t)length + 1, 1);
    out->size = out->data ? fread(out->data, 1, (size_t)length, f) : 0;
    fclose(f);
    return out->data ? MXV_OK : MXV_ERR_MEMORY;
}

static enum mxv_status unpack(const char *path, struct bytes *b, char *message, size_t size)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (b->size < 4 || memcmp(b->data, magic, 4) != 0)
        return MXV_OK;
    unsigned long long length = ZSTD_getFrameContentSize(b->data, b->size);
    if (length > LARGEST)
        return fail(message, size, path, "the zstd frame states no plausible size");
    uint8_t *raw = calloc(length + 1, 1);
    size_t got = raw ? ZSTD_decompress(raw, length, b->data, b->size) : 0;
    free(b->data);
    *b = (struct bytes){raw, length};
    return raw && got == length ? MXV_OK : fail(message, size, path, "the zstd frame is damaged");
}

static uint32_t word(const uint8_t *p, size_t bytes)
{
    uint32_t w = 0;
    for (size_t i = 0; i < bytes; i++)
        w |= (uint32_t)p[i] << 8 * i;
    return w;
}

struct capture {
    size_t rows, cols, k, in, out, tiles;
    unsigned format;
    const uint8_t *a, *b, *c, *d;
};

static bool capture_shape(const struct bytes *b, struct capture *t)
{
    uint32_t h[8];
    for (size_t i = 0; i < 8 && b->size >= HEADER; i++)
        h[i] = word(b->data + 4 * i, 4);
    if (b->size < HEADER || h[0] == 0 || h[0] > 256 || h[1] == 0 || h[1] > 256 || h[2] == 0 ||
        h[2] > MXV_PROBE_K || h[3] == 0 || h[3] > 4 || (h[4] != 2 && h[4] != 4) || h[5] > 65536 ||
        h[6] > 5)
        return false;
    *t = (struct capture){h[0], h[1], h[2], h[3], h[4], h[5], h[6], b->data + HEADER, 0, 0, 0};
    t->b = t->a + t->tiles * t->rows * t->k * t->in;
    t->c = t->b + t->tiles * t->cols * t->k * t->in;
    t->d = t->c + t->tiles * t->rows * t->cols * t->out;
    return b->size == HEADER + t->tiles * ((t->rows + t->cols) * t->k * t->in +
                                           2 * t->rows * t->cols * t->out);
}

static void capture_face(const struct capture *t, struct mxv_mma_model *face)
{
    static const enum mxv_element formats[] = {MXV_F16,  MXV_BF16, MXV_TF32,
                                               MXV_E4M3, MXV_E5M2, MXV_S8};
    memset(face, 0, sizeof *face);
    face->a = face->b = formats[t->format];
    face->result = face->a == MXV_S8 ? MXV_MMA_S32 : t->out == 2 ? MXV_MMA_F16 : MXV_MMA_F32;
    face->scale = MXV_MMA_NO_SCALE;
}

static void capture_dot(const struct capture *t, size_t at, struct mxv_probe_question *q,
                        uint32_t *answer)
{
    size_t tile = at / (t->rows * t->cols), row = at / t->cols % t->rows, col = at % t->cols;
    memset(q, 0, sizeof *q);
    q->k = (unsigned)t->k;
    for (size_t i = 0; i < t->k; i++) {
        q->a[i] = word(t->a + ((tile * t->rows + row) * t->k + i) * t->in, t->in);
        q->b[i] = word(t->b + ((tile * t->cols + col) * t->k + i) * t->in, t->in);
    }
    q->c = word(t->c + at * t->out, t->out);
    *answer = word(t->d + at * t->out, t->out);
}

static enum mxv_status read_capture(const struct bytes *b, const struct capture *t,
                                    struct mxv_probe_record *out)
{
    (void)b;
    out->count = t->tiles * t->rows * t->cols;
    out->questions = malloc(out->count * sizeof *out->questions + 1);
    out->answers = malloc(out->count * sizeof *out->answers + 1);
    if (!out->questions || !out->answers)
        return MXV_ERR_MEMORY;
    capture_face(t, &out->face);
    for (size_t i = 0; i < out->count; i++)
        capture_dot(t, i, &out->questions[i], &out->answers[i]);
    return MXV_OK;
}

// Words of one group of a line, up to `|` or its end; false when there are too many or no words.
static bool group(char **at, uint32_t *words, size_t most, size_t *count)
{
    for (*count = 0;; (*count)++) {
        *at += strspn(*at, " \t\r");
        if (**at == '|' || **at == 0)
            break;
        char *after;
        unsigned long long value = strtoull(*at, &after, 16);
        if (after == *at || *count == most || value > UINT32_MAX)
            return false;
        words[*count] = (uint32_t)value;
        *at = after;
    }
    *at += **at == '|';
    return *count > 0;
}

static bool text_line(char *line, const struct mxv_mma_model *face, struct mxv_probe_question *q,
                      uint32_t *answer)
{
    size_t na, nb, n, scales = 0;
    uint32_t sa[MXV_PROBE_SCALES] = {0}, sb[MXV_PROBE_SCALES] = {0};
    bool good = group(&line, q->a, MXV_PROBE_K, &na) && group(&line, q->b, MXV_PROBE_K, &nb) &&
                group(&line, &q->c, 1, &n);
    if (good && face->scale != MXV_MMA_NO_SCALE) {
        good = group(&line, sa, MXV_PROBE_SCALES, &scales) &&
               group(&line, sb, MXV_PROBE_SCALES, &n) && n == scales &&
               n == mxv_mma_scale_count(face, na);
        for (size_t i = 0; i < scales; i++) {
            q->scale_a[i] = (uint8_t)sa[i];
            q->scale_b[i] = (uint8_t)sb[i];
        }
    }
    q->k = good ? (unsigned)na : 0;
    return good && na == nb && group(&line, answer, 1, &n) && *line == 0;
}

static enum mxv_status read_text(char *text, const char *path, const struct mxv_mma_model *face,
                                 struct mxv_probe_record *out, char *message, size_t size)
{
    struct probe_list list = {0};
    size_t number = 0;
    char what[64];
    out->face = *face;
    for (char *line = text, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] != 0);
        line[length] = 0;
        number++;
        line[strcspn(line, "#")] = 0;
        if (line[strspn(line, " \t\r")] == 0)
            continue;
        struct mxv_probe_question *q = probe_list_add(&list, face, 1);
        if (q && text_line(line, face, q, &list.answers[list.count - 1]))
            continue;
        probe_list_free(&list);
        snprintf(what, sizeof what, "line %zu is not A | B | C [| scales] | D", number);
        return fail(message, size, path, what);
    }
    out->questions = list.questions;
    out->answers = list.answers;
    out->count = list.count;
    return list.count ? MXV_OK : fail(message, size, path, "holds no line");
}

enum mxv_status mxv_probe_read(const char *path, const struct mxv_mma_model *face,
                               struct mxv_probe_record *out, char *message, size_t size)
{
    struct bytes b = {0};
    struct capture t;
    memset(out, 0, sizeof *out);
    snprintf(message, size, "out of memory");
    enum mxv_status status = load(path, &b, message, size);
    if (status == MXV_OK)
        status = unpack(path, &b, message, size);
    if (status == MXV_OK && capture_shape(&b, &t))
        status = read_capture(&b, &t, out);
    else if (status == MXV_OK && memchr(b.data, 0, b.size))
        status = fail(message, size, path, "is neither a capture nor text");
    else if (status == MXV_OK)
        status = read_text((char *)b.data, path, face, out, message, size);
    free(b.data);
    if (status != MXV_OK)
        mxv_probe_record_free(out);
    return status;
}

void mxv_probe_record_free(struct mxv_probe_record *record)
{
    free(record->questions);
    free(record->answers);
    memset(record, 0, sizeof *record);
}
