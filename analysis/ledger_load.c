// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ledger's file. What is not understood is refused, with its place: a misspelt member must not
// widen or lift a waiver silently. tests/unit/test_ledger.c fails if this file is wrong.
#include "ledger_internal.h"
#include <errno.h>
#include <jansson.h>
#include <mxverify/ledger.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_FILE = 1 << 26 };

struct reader {
    const char *path, *text;
    const char *at; // the entry that is read
    char *message;
    size_t size;
};

// Names the place of member `name` of the value at `at`; the value's own when it has none.
static enum mxv_status refuse_at(const struct reader *r, const char *at, const char *why)
{
    size_t line, column;
    ledger_json_place(r->text, at, &line, &column);
    snprintf(r->message, r->size, "%s:%zu:%zu: %s", r->path, line, column, why);
    return MXV_ERR_INPUT;
}

static enum mxv_status refuse_member(const struct reader *r, const char *name, const char *why)
{
    char text[512];
    snprintf(text, sizeof text, "`%s`: %s", name, why);
    return refuse_at(r, ledger_json_member(r->at, name), text);
}

// ---- members

static enum mxv_status read_text(const struct reader *r, const char *name, const json_t *value,
                                 const char **out)
{
    *out = json_string_value(value);
    return *out ? MXV_OK : refuse_member(r, name, "expected a string");
}

static enum mxv_status read_where(const struct reader *r, json_t *value, char texts[][256],
                                  struct mxv_ledger_entry *e)
{
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return refuse_member(r, "where", "expected an object of fields and their values");
    json_object_foreach(value, key, item)
    {
        char number[32], *text = texts[e->field_count];
        const char *word = json_string_value(item);
        if (json_is_integer(item)) {
            snprintf(number, sizeof number, "%lld", (long long)json_integer_value(item));
            word = number;
        } else if (json_is_boolean(item)) {
            word = json_is_true(item) ? "1" : "0";
        }
        if (e->field_count == MXV_LEDGER_FIELDS_MAX)
            return refuse_member(r, "where", "too many fields");
        if (!word || snprintf(text, 256, "%s=%s", key, word) >= 256)
            return refuse_member(r, "where", "expected strings, whole numbers or true and false");
        e->fields[e->field_count++] = text;
    }
    return MXV_OK;
}

static enum mxv_status read_driver(const struct reader *r, json_t *value,
                                   struct mxv_ledger_entry *e)
{
    const char *key;
    json_t *item;
    if (!json_is_object(value) || json_object_size(value) == 0)
        return refuse_member(r, "driver", "expected an object with `from`, `to` or both");
    json_object_foreach(value, key, item)
    {
        const char **out = strcmp(key, "from") == 0 ? &e->driver_from
                           : strcmp(key, "to") == 0 ? &e->driver_to
                                                    : NULL;
        if (!out || !json_is_string(item))
            return refuse_member(r, "driver", "expected the strings `from` and `to`");
        *out = json_string_value(item);
    }
    return MXV_OK;
}

static enum mxv_status read_verdicts(const struct reader *r, const json_t *value,
                                     struct mxv_ledger_entry *e)
{
    size_t i;
    json_t *item;
    if (!json_is_array(value) || json_array_size(value) == 0)
        return refuse_member(r, "verdicts", "expected an array of verdict words");
    json_array_foreach(value, i, item)
    {
        enum mxv_verdict v;
        if (!json_is_string(item) || !mxv_verdict_find(json_string_value(item), &v))
            return refuse_member(r, "verdicts", "no such verdict (docs/reports.md)");
        e->verdicts |= 1u << v;
    }
    return MXV_OK;
}

static enum mxv_status read_member(const struct reader *r, const char *key, json_t *value,
                                   char texts[][256], struct mxv_ledger_entry *e)
{
    const struct {
        const char *name;
        const char **out;
    } strings[] = {{"case", &e->case_glob}, {"implementation", &e->implementation},
                   {"device", &e->device},  {"reason", &e->reason},
                   {"owner", &e->owner},    {"url", &e->url},
                   {"expires", &e->expires}};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        if (strcmp(key, strings[i].name) == 0)
            return read_text(r, key, value, strings[i].out);
    if (strcmp(key, "where") == 0)
        return read_where(r, value, texts, e);
    if (strcmp(key, "driver") == 0)
        return read_driver(r, value, e);
    if (strcmp(key, "verdicts") == 0)
        return read_verdicts(r, value, e);
    if (strcmp(key, "quarantine") == 0) {
        e->quarantine = json_is_true(value);
        return json_is_boolean(value) ? MXV_OK : refuse_member(r, key, "expected true or false");
    }
    return refuse_member(r, key,
                         "no such member; expected case, where, implementation, device, driver, "
                         "verdicts, quarantine, reason, owner, url or expires");
}

static enum mxv_status read_entry(const struct reader *r, json_t *object, struct mxv_ledger *ledger)
{
    char texts[MXV_LEDGER_FIELDS_MAX][256], why[512] = "";
    struct mxv_ledger_entry e = {0};
    enum mxv_status status = MXV_OK;
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return refuse_at(r, r->at, "an entry is an object");
    json_object_foreach(object, key, value)
    {
        status = read_member(r, key, value, texts, &e);
        if (status != MXV_OK)
            return status;
    }
    status = mxv_ledger_add(ledger, &e, why, sizeof why);
    if (status == MXV_OK)
        return status;
    // a message that begins with a member's name in quotes is placed there
    char name[64];
    const char *at = r->at;
    if (sscanf(why, "`%63[^`]`", name) == 1)
        at = ledger_json_member(r->at, name);
    return refuse_at(r, at, why);
}

// ---- the file

static enum mxv_status read_entries(struct reader *r, const json_t *root, struct mxv_ledger *ledger)
{
    json_t *entries = json_object_get(root, "entries");
    const char *start = ledger_json_start(r->text), *key;
    json_t *value;
    enum mxv_status status = MXV_OK;
    r->at = start;
    if (!json_is_object(root))
        return refuse_at(r, start, "expected an object with `format` and `entries`");
    if (json_integer_value(json_object_get(root, "format")) != 1)
        return refuse_member(r, "format", "expected 1");
    if (!json_is_array(entries))
        return refuse_member(r, "entries", "expected an array");
    json_object_foreach((json_t *)root, key, value)
    {
        if (strcmp(key, "format") != 0 && value != entries)
            return refuse_member(r, key, "no such member; expected format and entries");
    }
    const char *array = ledger_json_member(start, "entries");
    for (size_t i = 0; i < json_array_size(entries) && status == MXV_OK; i++) {
        r->at = ledger_json_item(array, i);
        status = read_entry(r, json_array_get(entries, i), ledger);
    }
    return status;
}

static enum mxv_status read_file(const char *path, char **text, char *message, size_t size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = file ? malloc(SIZE_MAX_FILE + 1) : NULL;
    size_t length = bytes ? fread(bytes, 1, SIZE_MAX_FILE + 1, file) : 0;
    bool good = bytes && !ferror(file) && length <= SIZE_MAX_FILE;
    if (!good)
        snprintf(message, size, "%s: %s", path,
                 length > SIZE_MAX_FILE ? "too large for a ledger" : strerror(errno));
    if (file)
        fclose(file);
    char *kept = good ? realloc(bytes, length + 1) : NULL;
    if (!kept) {
        free(bytes);
        return MXV_ERR_IO;
    }
    kept[length] = 0;
    *text = kept;
    return MXV_OK;
}

enum mxv_status mxv_ledger_parse(const char *text, const char *name, struct mxv_ledger **out,
                                 char *message, size_t size)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    struct reader reader = {name, text, text, message, size};
    struct mxv_ledger *ledger = mxv_ledger_new();
    enum mxv_status status = MXV_ERR_MEMORY;
    *out = NULL;
    if (!root) {
        snprintf(message, size, "%s:%d:%d: %s", name, error.line, error.column, error.text);
        status = MXV_ERR_INPUT;
    } else if (ledger) {
        status = read_entries(&reader, root, ledger);
    }
    json_decref(root);
    if (status != MXV_OK) {
        mxv_ledger_free(ledger);
        return status;
    }
    *out = ledger;
    return MXV_OK;
}

enum mxv_status mxv_ledger_load(const char *path, struct mxv_ledger **out, char *message,
                                size_t size)
{
    char *text = NULL;
    *out = NULL;
    enum mxv_status status = read_file(path, &text, message, size);
    if (status == MXV_OK)
        status = mxv_ledger_parse(text, path, out, message, size);
    free(text);
    return status;
}
