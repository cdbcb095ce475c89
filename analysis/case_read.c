// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading the text of one value into a field, and the words for what a field allows.
// Integers are plain decimal digits; anything after the value is an error; no number is cut or
// wrapped. tests/unit/test_case_errors.c fails if a bad value gets through.
#include "case_internal.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const size_t offsets[] = {
#define X(id, key, member, kind, a, b, kernels, text) offsetof(struct mxv_case, member),
#include <mxverify/case_fields.def>
#undef X
};

// Digits up to a character that is none; -1 if there is no digit or more than 18.
static int read_digits(const char **text, uint64_t *out)
{
    const char *s = *text;
    uint64_t x = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (s - *text >= 18)
            return -1;
        x = x * 10 + (uint64_t)(*s - '0');
    }
    if (s == *text)
        return -1;
    *text = s;
    *out = x;
    return 0;
}

static int read_pair(const char **text, char between, uint64_t *a, uint64_t *b)
{
    if (read_digits(text, a) || **text != between)
        return -1;
    (*text)++;
    return read_digits(text, b);
}

static int read_real(const char **text, const struct mxv_case_field_info *info, double *out)
{
    char *end;
    if (!strchr("-.0123456789", **text) || !**text)
        return -1;
    double x = strtod(*text, &end);
    if (end == *text || !(x >= info->least && x <= info->greatest))
        return -1;
    *text = end;
    *out = x + 0.0; // -0 becomes 0
    return 0;
}

static int read_choice(struct mxv_case *c, enum mxv_case_field field, const char *text)
{
    const char *name;
    for (unsigned v = 0; (name = mxv_case_value_name(field, v)) != NULL; v++) {
        if (strcmp(name, text) == 0 && mxv_case_value_allowed(c->kernel, field, v)) {
            case_store_choice(c, field, v);
            return 0;
        }
    }
    return -1;
}

static int read_size(void *at, const struct mxv_case_field_info *info, const char *text)
{
    uint64_t x;
    if (read_digits(&text, &x) || *text || (double)x < info->least || (double)x > info->greatest)
        return -1;
    *(size_t *)at = (size_t)x;
    return 0;
}

static int read_long(void *at, const struct mxv_case_field_info *info, const char *text)
{
    bool minus = *text == '-';
    uint64_t x;
    text += minus;
    if (read_digits(&text, &x) || *text)
        return -1;
    long value = minus ? -(long)x : (long)x;
    if ((double)value < info->least || (double)value > info->greatest)
        return -1;
    *(long *)at = value;
    return 0;
}

static int read_seed(void *at, const char *text)
{
    uint64_t x = 0;
    size_t n = strspn(text, "0123456789abcdefABCDEF");
    if (n == 0 || n > 16 || text[n])
        return -1;
    x = strtoull(text, NULL, 16);
    *(uint64_t *)at = x;
    return 0;
}

static int read_tile(void *at, const char *text)
{
    uint64_t m, n;
    if (read_pair(&text, 'x', &m, &n) || *text || m < 16 || m > 256 || m % 16 || n < 32 ||
        n > 256 || n % 32)
        return -1;
    *(struct mxv_case_tile *)at = (struct mxv_case_tile){(size_t)m, (size_t)n};
    return 0;
}

static int read_range(void *at, const char *text)
{
    uint64_t first, end;
    if (read_pair(&text, ':', &first, &end) || *text)
        return -1;
    if (first >= end && (first || end))
        return -1;
    *(struct mxv_case_range *)at = (struct mxv_case_range){(size_t)first, (size_t)end};
    return 0;
}

static int read_seqs(void *at, const char *text)
{
    struct mxv_case_seqs seqs = {.count = 0};
    uint64_t lq, lk;
    do {
        text += seqs.count > 0;
        if (seqs.count == MXV_CASE_SEQS_MAX || read_pair(&text, ':', &lq, &lk) || lq > 1048576 ||
            lk > 1048576)
            return -1;
        seqs.at[seqs.count].lq = (uint32_t)lq;
        seqs.at[seqs.count++].lk = (uint32_t)lk;
    } while (*text == ',');
    if (*text)
        return -1;
    *(struct mxv_case_seqs *)at = seqs;
    return 0;
}

static int read_shares(void *at, const struct mxv_case_field_info *info, const char *text)
{
    struct mxv_case_shares shares = {.count = 0};
    do {
        text += shares.count > 0;
        if (shares.count == MXV_CASE_SHARES_MAX || read_real(&text, info, &shares.at[shares.count]))
            return -1;
        shares.count++;
    } while (*text == ',');
    if (*text)
        return -1;
    *(struct mxv_case_shares *)at = shares;
    return 0;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    return at && c ? (int)(at - digits) : -1;
}

static bool needs_escape(unsigned char c)
{
    return c <= ' ' || c == 0x7f || c == '%' || c == '#';
}

size_t mxv_case_escape(const char *path, char *buf, size_t size)
{
    struct text t = {buf, size, 0};
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        text_add(&t, needs_escape(c) || c == ',' ? "%%%02X" : "%c", c);
    }
    return t.length;
}

// Copies a path with each character in its one spelling.
static int read_path(char *at, const char *text)
{
    char out[MXV_CASE_PATH_SIZE];
    size_t n = 0;
    if (!*text)
        return -1;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool escaped = c == '%';
        if (escaped) {
            if (hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
                return -1;
            c = (unsigned char)(hex_digit(text[1]) << 4 | hex_digit(text[2]));
            text += 2;
        }
        escaped = needs_escape(c) || (escaped && c == ',');
        if (c == 0 || n + (escaped ? 3 : 1) >= sizeof out)
            return -1;
        if (escaped) {
            out[n++] = '%';
            out[n++] = "0123456789ABCDEF"[c >> 4];
            out[n++] = "0123456789ABCDEF"[c & 15];
        } else {
            out[n++] = (char)c;
        }
    }
    memset(at, 0, MXV_CASE_PATH_SIZE);
    memcpy(at, out, n);
    return 0;
}

void case_unescape(const char *escaped, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < size; i++) {
        char c = escaped[i];
        if (c == '%' && i + 2 < length) {
            c = (char)(hex_digit(escaped[i + 1]) << 4 | hex_digit(escaped[i + 2]));
            i += 2;
        }
        out[n++] = c;
    }
    out[n] = '\0';
}

static int read_faults(struct mxv_case *c, void *at, const char *text)
{
    uint64_t faults = 0;
    char name[64];
    enum mxv_fault fault;
    for (;;) {
        size_t n = strcspn(text, ",");
        if (n == 0 || n >= sizeof name)
            return -1;
        memcpy(name, text, n);
        name[n] = '\0';
        if (!mxv_fault_find(name, &fault) || !(mxv_fault_get(fault)->kernels >> c->kernel & 1))
            return -1;
        faults |= UINT64_C(1) << fault;
        if (!text[n])
            break;
        text += n + 1;
    }
    *(uint64_t *)at = faults;
    return 0;
}

static int read_auto(void *at, const struct mxv_case_field_info *info, const char *text)
{
    double x = MXV_CASE_AUTO;
    if (strcmp(text, "auto") != 0 && (read_real(&text, info, &x) || *text))
        return -1;
    *(double *)at = x;
    return 0;
}

static int read_value(struct mxv_case *c, enum mxv_case_field field, const char *text)
{
    const struct mxv_case_field_info *info = mxv_case_field_get(field);
    void *at = (char *)c + offsets[field];
    double x;
    switch (info->kind) {
    case MXV_KIND_CHOICE:
    case MXV_KIND_FLAG:
        return read_choice(c, field, text);
    case MXV_KIND_SIZE:
        return read_size(at, info, text);
    case MXV_KIND_LONG:
        return read_long(at, info, text);
    case MXV_KIND_REAL:
        if (read_real(&text, info, &x) || *text)
            return -1;
        *(double *)at = x;
        return 0;
    case MXV_KIND_AUTO:
        return read_auto(at, info, text);
    case MXV_KIND_SEED:
        return read_seed(at, text);
    case MXV_KIND_TILE:
        return read_tile(at, text);
    case MXV_KIND_RANGE:
        return read_range(at, text);
    case MXV_KIND_SEQS:
        return read_seqs(at, text);
    case MXV_KIND_SHARES:
        return read_shares(at, info, text);
    case MXV_KIND_PATH:
        return read_path(at, text);
    case MXV_KIND_FAULTS:
        return read_faults(c, at, text);
    }
    return -1;
}

int case_field_read(struct mxv_case *c, enum mxv_case_field field, const char *value, char *why,
                    size_t size)
{
    if (read_value(c, field, value) == 0)
        return 0;
    mxv_case_field_allowed(c->kernel, field, why, size);
    return -1;
}
