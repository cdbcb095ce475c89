// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The dict literal in the header of a .npy file (NEP 1): exactly the keys descr, fortran_order and
// shape, in any order, each once. Python's literal syntax is taken as far as NumPy writes it:
// strings without escapes, True and False, tuples of decimal integers (with the L of Python 2), a
// trailing comma. Everything else is refused with the byte where it stands.
//
// descr: one letter for the byte order, one for the kind, a width in bytes. '=' is the host's
// order, as in NumPy. Kinds f, i, u, b and V (raw) are read; f1 is the name that old ml_dtypes gave
// E5M2, which NumPy itself refuses, and counts as raw. Objects, structured types, sub-arrays,
// complex numbers, text and times are refused. tests/unit/test_tensor_file_npy.c fails if this is
// wrong.
#include "npy_header.h"

#include <stdio.h>
#include <string.h>

struct cursor {
    const char *text;
    size_t length, at, base;
    const struct mxv_file_report *report;
};

static enum mxv_status fail_at(const struct cursor *c, const char *what)
{
    return mxv_file_fail(c->report, MXV_ERR_INPUT,
                         "header, byte %zu: %s; write the file again with numpy.save",
                         c->base + c->at, what);
}

static char peek(struct cursor *c)
{
    while (c->at < c->length && strchr(" \t\r\n", c->text[c->at]) && c->text[c->at])
        c->at++;
    return c->at < c->length ? c->text[c->at] : '\0';
}

static bool take(struct cursor *c, char wanted)
{
    bool found = peek(c) == wanted && c->at < c->length;
    c->at += found;
    return found;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t size = strlen(word);
    peek(c);
    bool found = c->length - c->at >= size && memcmp(c->text + c->at, word, size) == 0;
    c->at += found ? size : 0;
    return found;
}

/// A string literal without escapes, shortened to what `out` holds.
static enum mxv_status take_string(struct cursor *c, char *out, size_t size)
{
    char quote = peek(c);
    if (quote != '\'' && quote != '"')
        return fail_at(c, "a string is expected");
    size_t first = ++c->at;
    while (c->at < c->length && c->text[c->at] != quote) {
        if (c->text[c->at] == '\\' || (unsigned char)c->text[c->at] < 0x20)
            return fail_at(c, "an escape or a control character in a string");
        c->at++;
    }
    if (c->at == c->length)
        return fail_at(c, "a string without an end");
    snprintf(out, size, "%.*s", (int)(c->at - first < size ? c->at - first : size),
             c->text + first);
    c->at++;
    return MXV_OK;
}

/// Refuses the bracketed type that begins here, and shows it, to 60 bytes at most.
static enum mxv_status fail_structured(const struct cursor *c)
{
    size_t shown = 0, depth = 0;
    do {
        char byte = c->text[c->at + shown++];
        depth += strchr("[({", byte) && byte ? 1 : 0;
        depth -= strchr("])}", byte) && byte ? 1 : 0;
    } while (depth && shown < 60 && c->at + shown < c->length);
    return mxv_file_fail(
        c->report, MXV_ERR_UNSUPPORTED,
        "header, byte %zu: structured descr %.*s%s is not handled; save each field "
        "as an array of its own",
        c->base + c->at, (int)shown, c->text + c->at, depth ? "..." : "");
}

static enum mxv_status take_descr(struct cursor *c, char *descr)
{
    char first = peek(c);
    if (first == '[' || first == '(' || first == '{')
        return fail_structured(c);
    return take_string(c, descr, MXV_NPY_DESCR_SIZE);
}

static enum mxv_status take_dimension(struct cursor *c, size_t *value)
{
    char digit = peek(c);
    size_t first = c->at;
    if (digit == '-')
        return fail_at(c, "a negative dimension");
    if (digit < '0' || digit > '9')
        return fail_at(c, "a dimension is expected");
    for (*value = 0; c->at < c->length && c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++)
        if (!mxv_size_multiply(*value, 10, value) ||
            __builtin_add_overflow(*value, (size_t)(c->text[c->at] - '0'), value))
            return fail_at(c, "a dimension too large for this machine");
    if (c->text[first] == '0' && c->at - first > 1)
        return fail_at(c, "a dimension with a leading zero");
    if (c->at < c->length && c->text[c->at] == 'L')
        c->at++;
    return MXV_OK;
}

static enum mxv_status take_shape(struct cursor *c, struct mxv_stored_array *stored)
{
    bool comma = true;
    if (!take(c, '('))
        return fail_at(c, "the shape must be a tuple");
    for (stored->rank = 0; !take(c, ')'); stored->rank++) {
        if (!comma)
            return fail_at(c, "',' or ')' is expected in the shape");
        if (stored->rank == MXV_TENSOR_MAX_RANK)
            return mxv_file_fail(c->report, MXV_ERR_UNSUPPORTED,
                                 "header, byte %zu: more than %d dimensions; reshape the array",
                                 c->base + c->at, MXV_TENSOR_MAX_RANK);
        enum mxv_status status = take_dimension(c, &stored->shape[stored->rank]);
        if (status != MXV_OK)
            return status;
        comma = take(c, ',');
    }
    if (stored->rank == 1 && !comma)
        return fail_at(c, "a tuple of one needs a comma");
    return MXV_OK;
}

enum key { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static enum mxv_status take_pair(struct cursor *c, struct mxv_npy_header *header, unsigned *seen)
{
    char name[16];
    enum mxv_status status = take_string(c, name, sizeof name);
    if (status != MXV_OK)
        return status;
    unsigned key = strcmp(name, "descr") == 0           ? KEY_DESCR
                   : strcmp(name, "fortran_order") == 0 ? KEY_ORDER
                   : strcmp(name, "shape") == 0         ? KEY_SHAPE
                                                        : 0;
    if (!key || *seen & key)
        return fail_at(c, key ? "a key that came before" : "a key that .npy does not have");
    *seen |= key;
    if (!take(c, ':'))
        return fail_at(c, "':' is expected");
    if (key == KEY_DESCR)
        return take_descr(c, header->descr);
    if (key == KEY_SHAPE)
        return take_shape(c, &header->stored);
    header->stored.column_major = take_word(c, "True");
    if (!header->stored.column_major && !take_word(c, "False"))
        return fail_at(c, "fortran_order must be True or False");
    return MXV_OK;
}

enum mxv_status mxv_npy_dict_parse(const char *text, size_t length, size_t base,
                                   struct mxv_npy_header *header,
                                   const struct mxv_file_report *report)
{
    struct cursor c = {.text = text, .length = length, .base = base, .report = report};
    unsigned seen = 0;
    bool comma = true;
    *header = (struct mxv_npy_header){.stored = {.field = "descr"}};
    if (!take(&c, '{'))
        return fail_at(&c, "'{' is expected");
    while (!take(&c, '}')) {
        if (!comma)
            return fail_at(&c, "',' or '}' is expected");
        enum mxv_status status = take_pair(&c, header, &seen);
        if (status != MXV_OK)
            return status;
        comma = take(&c, ',');
    }
    if (seen != KEY_ALL)
        return fail_at(&c, "one of the keys descr, fortran_order, shape is missing");
    peek(&c);
    if (c.at != c.length)
        return fail_at(&c, "something stands after the dict");
    return mxv_npy_descr_parse(header, report);
}

// descr -------------------------------------------------------------------------------------------

/// The descrs that are read: kind, width in bytes, what they say.
static const struct {
    char kind;
    unsigned width;
    enum mxv_stored_kind stored;
    enum mxv_element element;
    bool ambiguous;
} descrs[] = {
    {'f', 2, MXV_STORED_ELEMENT, MXV_F16, false},
    {'f', 4, MXV_STORED_ELEMENT, MXV_F32, false},
    {'f', 8, MXV_STORED_ELEMENT, MXV_F64, false},
    {'f', 1, MXV_STORED_LOST, MXV_ELEMENT_COUNT, false},
    {'i', 1, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT, false},
    {'i', 2, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT, false},
    {'i', 4, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT, false},
    {'i', 8, MXV_STORED_SIGNED, MXV_ELEMENT_COUNT, false},
    {'u', 1, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT, true},
    {'u', 2, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT, true},
    {'u', 4, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT, false},
    {'u', 8, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT, false},
    {'b', 1, MXV_STORED_UNSIGNED, MXV_ELEMENT_COUNT, false},
    {'V', 1, MXV_STORED_LOST, MXV_ELEMENT_COUNT, false},
    {'V', 2, MXV_STORED_LOST, MXV_ELEMENT_COUNT, false},
    {'V', 4, MXV_STORED_LOST, MXV_ELEMENT_COUNT, false},
    {'V', 8, MXV_STORED_LOST, MXV_ELEMENT_COUNT, false},
};

static enum mxv_status refuse_descr(const struct mxv_npy_header *header,
                                    const struct mxv_file_report *report)
{
    bool object = strchr(header->descr, 'O') != NULL;
    return mxv_file_fail(report, MXV_ERR_UNSUPPORTED, "descr '%s' %s; %s", header->descr,
                         object ? "holds Python objects" : "is not handled",
                         object ? "save the numbers themselves"
                                : "save floats, integers or raw codes of 1, 2, 4 or 8 bytes");
}

enum mxv_status mxv_npy_descr_parse(struct mxv_npy_header *header,
                                    const struct mxv_file_report *report)
{
    const char *descr = header->descr;
    struct mxv_stored_array *stored = &header->stored;
    stored->text = descr;
    if (!descr[0] || !strchr("<>=|", descr[0]) || !descr[1] || !descr[2] || descr[3])
        return refuse_descr(header, report);
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        if (descrs[i].kind != descr[1] || descrs[i].width != (unsigned)(descr[2] - '0'))
            continue;
        if (descr[0] == '|' && descrs[i].width > 1 && descr[1] != 'V')
            return mxv_file_fail(
                report, MXV_ERR_INPUT,
                "descr '%s' leaves the byte order out; '<' or '>' must stand there", descr);
        stored->kind = descrs[i].stored;
        stored->element = descrs[i].element;
        stored->bits = 8 * descrs[i].width;
        stored->ambiguous = descrs[i].ambiguous;
        stored->big_endian = descr[0] == '>';
        return MXV_OK;
    }
    return refuse_descr(header, report);
}
