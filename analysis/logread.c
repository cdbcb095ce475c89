// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Run logs read back, line by line (docs/reports.md, "The log").
//
// A record that ends too early was cut off by a kill; where a resumed run went on in the same line,
// the record behind it is found by its beginning, which cannot stand inside a JSON string. Other
// broken lines are errors. Records of unknown kinds and unknown members are passed over or kept as
// named values: a later writer may add some without raising `format`.
// tests/unit/test_report_read.c fails if this file is wrong.
#include "report_internal.h"

#include <errno.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_FORMAT = 1 };

struct reader {
    struct mxv_report *report;
    json_t *places; // case line, and index with case line -> place in the report
    size_t line;
    size_t headers, room;
    struct mxv_file_report messages;
};

static enum mxv_status no_memory(const struct reader *r)
{
    return mxv_file_fail(&r->messages, MXV_ERR_MEMORY, "line %zu: no memory", r->line);
}

static void free_case(struct mxv_report_case *c)
{
    free(c->id);
    free(c->line);
    free(c->reason);
    for (size_t i = 0; i < c->map_count; i++)
        free(c->maps[i]);
    free(c->maps);
    mxv_report_values_free(&c->values);
    *c = (struct mxv_report_case){0};
}

void mxv_report_free(struct mxv_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->case_count; i++)
        free_case(&report->cases[i]);
    free(report->cases);
    free(report->path);
    mxv_report_values_free(&report->header);
    mxv_report_values_free(&report->totals);
    json_decref(report->names);
    *report = (struct mxv_report){0};
}

static bool copy_text(const json_t *record, const char *key, char **out)
{
    const char *text = json_string_value(json_object_get(record, key));
    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

static bool copy_maps(const json_t *maps, struct mxv_report_case *c)
{
    size_t count = json_array_size(maps);
    c->maps = count ? calloc(count, sizeof *c->maps) : NULL;
    if (count && !c->maps)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *path = json_string_value(json_array_get(maps, i));
        if (!path)
            continue;
        c->maps[c->map_count] = strdup(path);
        if (!c->maps[c->map_count++])
            return false;
    }
    return true;
}

// 0 for what no run can have lasted: sums stay finite.
static double seconds_of(const json_t *record)
{
    double seconds = json_number_value(json_object_get(record, "seconds"));
    return seconds >= 0 && seconds < 1e12 ? seconds : 0;
}

static bool fill_case(struct reader *r, const json_t *record, struct mxv_report_case *c)
{
    static const char *const without[] = {"record", "id",      "case", "verdict",
                                          "reason", "seconds", "maps", NULL};
    c->seconds = seconds_of(record);
    if (!copy_text(record, "id", &c->id) || !copy_text(record, "case", &c->line) ||
        !copy_text(record, "reason", &c->reason) ||
        !copy_maps(json_object_get(record, "maps"), c) ||
        !mxv_report_flatten(r->report, record, without, &c->values))
        return false;
    c->kernel = mxv_report_name(r->report, c->line, strcspn(c->line, " "));
    return c->kernel != NULL;
}

// Cases are told apart by index and line; a record without index (of a dying process) stands for
// whatever case has its line.
static bool key_of(const struct mxv_report_case *c, char **key)
{
    const struct mxv_report_value *index = mxv_report_find(&c->values, "numbers.index");
    *key = NULL;
    return !index || index->text || asprintf(key, "\n%.0f\n%s", index->number, c->line) >= 0;
}

static const json_t *known_place(const struct reader *r, const struct mxv_report_case *c,
                                 const char *key)
{
    const json_t *same_line = json_object_get(r->places, c->line);
    if (!key || !same_line)
        return same_line;
    const json_t *same_key = json_object_get(r->places, key);
    const struct mxv_report_case *other = &r->report->cases[json_integer_value(same_line)];
    bool without_index = !mxv_report_find(&other->values, "numbers.index");
    return same_key ? same_key : without_index ? same_line : NULL;
}

static bool remember_place(struct reader *r, const struct mxv_report_case *c, const char *key,
                           json_int_t place)
{
    return json_object_set_new(r->places, c->line, json_integer(place)) == 0 &&
           (!key || json_object_set_new(r->places, key, json_integer(place)) == 0);
}

static bool append_case(struct reader *r, const struct mxv_report_case *c)
{
    struct mxv_report *report = r->report;
    if (report->case_count == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        struct mxv_report_case *grown = realloc(report->cases, room * sizeof *grown);
        if (!grown)
            return false;
        report->cases = grown;
        r->room = room;
    }
    report->cases[report->case_count++] = *c;
    return true;
}

// Puts the case at the end, or in the place of an earlier record of it. False: no memory, and the
// case still belongs to the caller.
static bool place_case(struct reader *r, const struct mxv_report_case *c)
{
    struct mxv_report *report = r->report;
    char *key;
    if (!key_of(c, &key))
        return false;
    const json_t *known = known_place(r, c, key);
    size_t place = known ? (size_t)json_integer_value(known) : report->case_count;
    bool good = remember_place(r, c, key, (json_int_t)place);
    if (good && known) {
        free_case(&report->cases[place]);
        report->cases[place] = *c;
        report->repeated++;
    } else if (good) {
        good = append_case(r, c);
    }
    free(key);
    return good;
}

static enum mxv_status read_case(struct reader *r, const json_t *record)
{
    struct mxv_report_case c = {0};
    const char *verdict = json_string_value(json_object_get(record, "verdict"));
    const char *line = json_string_value(json_object_get(record, "case"));
    if (!line || !*line || !json_is_string(json_object_get(record, "id")))
        return mxv_file_fail(&r->messages, MXV_ERR_INPUT, "line %zu: a case without `id` or `case`",
                             r->line);
    if (!verdict || !mxv_verdict_find(verdict, &c.verdict))
        return mxv_file_fail(&r->messages, MXV_ERR_INPUT, "line %zu: no such verdict: `%.40s`",
                             r->line, verdict ? verdict : "");
    if (fill_case(r, record, &c) && place_case(r, &c))
        return MXV_OK;
    free_case(&c);
    return no_memory(r);
}

static enum mxv_status read_header(struct reader *r, const json_t *record)
{
    static const char *const without[] = {"record", NULL};
    json_int_t format = json_integer_value(json_object_get(record, "format"));
    if (format != LOG_FORMAT)
        return mxv_file_fail(&r->messages, MXV_ERR_INPUT,
                             "line %zu: format %lld; this version reads format %d", r->line,
                             (long long)format, LOG_FORMAT);
    r->report->has_totals = false;
    if (r->headers++ > 0)
        return MXV_OK;
    return mxv_report_flatten(r->report, record, without, &r->report->header) ? MXV_OK
                                                                              : no_memory(r);
}

static enum mxv_status read_totals(struct reader *r, const json_t *record)
{
    static const char *const without[] = {"record", NULL};
    struct mxv_report *report = r->report;
    mxv_report_values_free(&report->totals);
    report->has_totals = true;
    report->complete = !json_is_true(json_object_get(record, "stopped_early"));
    report->seconds = seconds_of(record);
    return mxv_report_flatten(report, record, without, &report->totals) ? MXV_OK : no_memory(r);
}

static enum mxv_status read_record(struct reader *r, const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "record"));
    if (!kind || (r->headers == 0 && strcmp(kind, "header") != 0))
        return mxv_file_fail(&r->messages, MXV_ERR_INPUT, "line %zu: %s", r->line,
                             kind ? "no header before the first record: not a run log"
                                  : "an object without `record`: not a run log");
    if (strcmp(kind, "header") == 0)
        return read_header(r, record);
    if (strcmp(kind, "case") == 0)
        return read_case(r, record);
    return strcmp(kind, "totals") == 0 ? read_totals(r, record) : MXV_OK;
}

// The record that begins inside the text, behind one that was cut off; NULL: none.
static const char *next_record(const char *text)
{
    return *text ? strstr(text + 1, "{\"record\":") : NULL;
}

static enum mxv_status read_line(struct reader *r, const char *text, bool ended)
{
    json_error_t error;
    if (text[strspn(text, " \t\r")] == '\0')
        return MXV_OK;
    json_t *record = json_loads(text, 0, &error);
    while (!record) {
        const char *next = next_record(text);
        bool torn = !ended || next || json_error_code(&error) == json_error_premature_end_of_input;
        if (!torn || text[0] != '{')
            return mxv_file_fail(&r->messages, MXV_ERR_INPUT, "line %zu, column %d: %s", r->line,
                                 error.column, error.text);
        r->report->torn++;
        if (!next)
            return MXV_OK;
        text = next;
        record = json_loads(text, 0, &error);
    }
    enum mxv_status status = read_record(r, record);
    json_decref(record);
    return status;
}

static enum mxv_status read_lines(struct reader *r, FILE *file)
{
    enum mxv_status status = MXV_OK;
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    errno = 0;
    while (status == MXV_OK && (length = mxv_text_line(&text, &room, file)) >= 0) {
        bool ended = length > 0 && text[length - 1] == '\n';
        if (ended)
            text[--length] = '\0';
        r->line++;
        if (strlen(text) != (size_t)length)
            status = mxv_file_fail(&r->messages, MXV_ERR_INPUT, "line %zu: a NUL byte", r->line);
        else
            status = read_line(r, text, ended);
        errno = 0;
    }
    if (status == MXV_OK && ferror(file))
        status =
            mxv_file_fail(&r->messages, MXV_ERR_IO, "cannot be read: %s", mxv_text_error(errno));
    free(text);
    return status;
}

static void add_up(struct mxv_report *report)
{
    double seconds = 0;
    for (size_t i = 0; i < report->case_count; i++) {
        report->counts[report->cases[i].verdict]++;
        seconds += report->cases[i].seconds;
    }
    report->complete = report->has_totals && report->complete;
    if (!report->has_totals)
        report->seconds = seconds;
}

enum mxv_status mxv_report_read(const char *path, struct mxv_report *out, char *message,
                                size_t message_size)
{
    *out = (struct mxv_report){.path = strdup(path)};
    struct reader r = {
        .report = out, .places = json_object(), .messages = {path, message, message_size}};
    FILE *file = mxv_text_open(path);
    enum mxv_status status = MXV_OK;
    if (!out->path || !r.places)
        status = no_memory(&r);
    else if (!file)
        status = mxv_file_fail(&r.messages, MXV_ERR_IO, "cannot be read: %s", strerror(errno));
    else
        status = read_lines(&r, file);
    if (status == MXV_OK && r.headers == 0)
        status = mxv_file_fail(&r.messages, MXV_ERR_INPUT, "holds no record: not a run log");
    if (file)
        fclose(file);
    json_decref(r.places);
    if (status == MXV_OK)
        add_up(out);
    else
        mxv_report_free(out);
    return status;
}
