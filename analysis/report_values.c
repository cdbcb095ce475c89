// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Records as lists of named numbers and texts, and the words of a repro command.
//
// A record is flattened rather than read member by member, so that whatever a later writer adds
// shows up in reports and differences by itself. tests/unit/test_report_read.c fails if this file
// is wrong.
#include "report_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 512 };

const char *mxv_report_name(struct mxv_report *report, const char *text, size_t length)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    if (!report->names)
        report->names = json_object();
    void *at = json_object_iter_at(report->names, name);
    if (!at) {
        if (!report->names || json_object_set_new(report->names, name, json_true()))
            return NULL;
        at = json_object_iter_at(report->names, name);
    }
    return at ? json_object_iter_key(at) : NULL;
}

bool mxv_report_append(char **text, const char *more)
{
    size_t before = *text ? strlen(*text) : 0;
    char *grown = realloc(*text, before + strlen(more) + 1);
    if (!grown) {
        free(*text);
        *text = NULL;
        return false;
    }
    strcpy(grown + before, more);
    *text = grown;
    return true;
}

bool mxv_report_append_quoted(char **text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:=+@%";
    if (*word && strspn(word, plain) == strlen(word))
        return mxv_report_append(text, word);
    bool good = mxv_report_append(text, "'");
    for (const char *c = word; good && *c;) {
        size_t run = strcspn(c, "'");
        char *part = strndup(c, run);
        good = part && mxv_report_append(text, part);
        free(part);
        c += run;
        if (good && *c) {
            good = mxv_report_append(text, "'\\''");
            c++;
        }
    }
    return good && mxv_report_append(text, "'");
}

static bool add_value(struct mxv_report *report, struct mxv_report_values *values, const char *name,
                      double number, char *text)
{
    struct mxv_report_value *grown = values->at;
    if ((values->count & (values->count - 1)) == 0) // full at every power of two
        grown = realloc(values->at, (values->count ? 2 * values->count : 1) * sizeof *grown);
    if (grown)
        values->at = grown;
    const char *kept = mxv_report_name(report, name, strlen(name));
    if (!grown || !kept) {
        free(text);
        return false;
    }
    grown[values->count++] = (struct mxv_report_value){kept, number, text};
    return true;
}

static bool add_text(struct mxv_report *report, struct mxv_report_values *values, const char *name,
                     const char *text)
{
    char *copy = strdup(text);
    return copy && add_value(report, values, name, 0, copy);
}

static bool append_scalar(char **text, const json_t *item, bool quoted)
{
    char *number = NULL;
    const char *word = json_string_value(item);
    if (!word)
        word = number = json_dumps(item, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    bool good =
        word && (quoted ? mxv_report_append_quoted(text, word) : mxv_report_append(text, word));
    free(number);
    return good;
}

// The scalars of an array, separated by commas; the words of a command line as a shell takes them.
static bool add_array(struct mxv_report *report, struct mxv_report_values *values, const char *name,
                      const json_t *array)
{
    bool command = strcmp(name, "command") == 0, first = true;
    char *text = NULL;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (json_is_object(item) || json_is_array(item))
            continue;
        if (!first && !mxv_report_append(&text, command ? " " : ", "))
            return false;
        // the program and its verb stand in one word
        if (!append_scalar(&text, item, command && !first))
            return false;
        first = false;
    }
    return !text || add_value(report, values, name, 0, text);
}

static bool is_hex_twin(const json_t *object, const char *key)
{
    char base[NAME_SIZE];
    size_t length = strlen(key);
    if (length < 4 || length >= sizeof base || strcmp(key + length - 4, "_hex") != 0)
        return false;
    snprintf(base, sizeof base, "%.*s", (int)length - 4, key);
    return json_object_get(object, base) != NULL;
}

static bool add_members(struct mxv_report *report, const json_t *object, const char *prefix,
                        const char *const *without, struct mxv_report_values *values)
{
    const char *key;
    json_t *item;
    bool good = true;
    json_object_foreach((json_t *)object, key, item)
    {
        char name[NAME_SIZE];
        bool left_out = is_hex_twin(object, key);
        for (size_t i = 0; without && without[i]; i++)
            left_out = left_out || strcmp(key, without[i]) == 0;
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (!good || left_out)
            continue;
        if (json_is_object(item))
            good = add_members(report, item, name, NULL, values);
        else if (json_is_array(item))
            good = add_array(report, values, name, item);
        else if (json_is_number(item))
            good = add_value(report, values, name, json_number_value(item), NULL);
        else if (json_is_string(item))
            good = add_text(report, values, name, json_string_value(item));
        else if (json_is_boolean(item))
            good = add_text(report, values, name, json_is_true(item) ? "true" : "false");
    }
    return good;
}

bool mxv_report_flatten(struct mxv_report *report, const json_t *object, const char *const *without,
                        struct mxv_report_values *values)
{
    return add_members(report, object, "", without, values);
}

void mxv_report_values_free(struct mxv_report_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->at[i].text);
    free(values->at);
    *values = (struct mxv_report_values){0};
}

const struct mxv_report_value *mxv_report_find(const struct mxv_report_values *values,
                                               const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->at[i].name, name) == 0)
            return &values->at[i];
    return NULL;
}

const char *mxv_report_text(const struct mxv_report_values *values, const char *name,
                            const char *fallback)
{
    const struct mxv_report_value *value = mxv_report_find(values, name);
    return value && value->text ? value->text : fallback;
}
