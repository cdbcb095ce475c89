// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A folder of recorded results in memory, by case line. tests/cli/test_recorded.sh and
// tests/golden/test_recorded_whole.c fail if this is wrong.
#include <dirent.h>
#include <errno.h>
#include <mxverify/recorded.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mxv_recorded_store {
    struct mxv_recorded *records; // sorted by line
    size_t count, room;
    struct mxv_recorded_origin origin;
};

static enum mxv_status keep(struct mxv_recorded_store *s, const struct mxv_recorded *r)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 1024;
        struct mxv_recorded *records = realloc(s->records, room * sizeof *records);
        if (!records)
            return MXV_ERR_MEMORY;
        s->records = records;
        s->room = room;
    }
    s->records[s->count++] = *r;
    return MXV_OK;
}

// `# key: value`; other comments say nothing to the program.
static void read_comment(struct mxv_recorded_store *s, const char *text)
{
    const struct {
        const char *key;
        char *value;
    } fields[] = {{"# device: ", s->origin.device},
                  {"# driver: ", s->origin.driver},
                  {"# arch: ", s->origin.arch}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const size_t n = strlen(fields[i].key);
        if (strncmp(text, fields[i].key, n) == 0)
            snprintf(fields[i].value, sizeof s->origin.device, "%.*s",
                     (int)strcspn(text + n, "\r\n"), text + n);
    }
}

// The record that ends here, if the file (whose first record has the number `first`) has one.
static enum mxv_status check_last(const struct mxv_recorded_store *s, size_t first, char *message,
                                  size_t size)
{
    return s->count > first ? mxv_recorded_check(&s->records[s->count - 1], message, size) : MXV_OK;
}

// A line that is no comment: a case, or a tap of the case before it.
static enum mxv_status read_line(struct mxv_recorded_store *s, const char *text, size_t first,
                                 char *message, size_t size)
{
    if (text[0] == '@') {
        if (s->count > first)
            return mxv_recorded_parse_tap(text, &s->records[s->count - 1], message, size);
        snprintf(message, size, "a tap stands behind the line of its case");
        return MXV_ERR_INPUT;
    }
    struct mxv_recorded r;
    enum mxv_status status = check_last(s, first, message, size);
    if (status == MXV_OK)
        status = mxv_recorded_parse(text, &r, message, size);
    if (status == MXV_OK && keep(s, &r) != MXV_OK) {
        mxv_recorded_free(&r);
        snprintf(message, size, "out of memory");
        status = MXV_ERR_MEMORY;
    }
    return status;
}

static enum mxv_status read_file(struct mxv_recorded_store *s, const char *path, char *message,
                                 size_t size)
{
    enum mxv_status status = MXV_OK;
    FILE *file = mxv_text_open(path);
    char *text = NULL, said[256] = "";
    size_t room = 0, number = 0;
    const size_t first = s->count;
    if (!file) {
        snprintf(message, size, "%s: %s", path, strerror(errno));
        return MXV_ERR_IO;
    }
    while (status == MXV_OK && mxv_text_line(&text, &room, file) >= 0) {
        number++;
        if (text[0] == '#')
            read_comment(s, text);
        else
            status = read_line(s, text, first, said, sizeof said);
    }
    if (status == MXV_OK && ferror(file)) {
        snprintf(said, sizeof said, "%s", mxv_text_error(errno));
        status = MXV_ERR_IO;
    }
    if (status == MXV_OK)
        status = check_last(s, first, said, sizeof said);
    if (status != MXV_OK)
        snprintf(message, size, "%s: line %zu: %s", path, number, said);
    free(text);
    fclose(file);
    return status;
}

static int by_line(const void *a, const void *b)
{
    return strcmp(((const struct mxv_recorded *)a)->line, ((const struct mxv_recorded *)b)->line);
}

// By case line; of equal ones a whole record first.
static int by_line_and_words(const void *a, const void *b)
{
    const struct mxv_recorded *x = a, *y = b;
    const int lines = strcmp(x->line, y->line);
    return lines ? lines : (y->tap_count > x->tap_count) - (y->tap_count < x->tap_count);
}

static int is_text(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".txt") == 0;
}

static enum mxv_status read_folder(struct mxv_recorded_store *s, const char *folder, char *message,
                                   size_t size)
{
    struct dirent **entries;
    enum mxv_status status = MXV_OK;
    const int n = scandir(folder, &entries, is_text, alphasort);
    if (n < 0) {
        snprintf(message, size, "recorded results: %s: %s", folder, strerror(errno));
        return MXV_ERR_IO;
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (status == MXV_OK)
            status = read_file(s, path, message, size);
        free(entries[i]);
    }
    free(entries);
    if (status == MXV_OK && s->count == 0) {
        snprintf(message, size, "recorded results: no .txt file with results in %s", folder);
        status = MXV_ERR_INPUT;
    }
    return status;
}

enum mxv_status mxv_recorded_open(const char *folder, struct mxv_recorded_store **out,
                                  char *message, size_t size)
{
    struct mxv_recorded_store *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) {
        snprintf(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    const enum mxv_status status = read_folder(s, folder, message, size);
    if (status != MXV_OK) {
        mxv_recorded_close(s);
        return status;
    }
    qsort(s->records, s->count, sizeof *s->records, by_line_and_words);
    *out = s;
    return MXV_OK;
}

void mxv_recorded_close(struct mxv_recorded_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        mxv_recorded_free(&s->records[i]);
    free(s->records);
    free(s);
}

size_t mxv_recorded_count(const struct mxv_recorded_store *s)
{
    return s->count;
}

const struct mxv_recorded *mxv_recorded_find(const struct mxv_recorded_store *s, const char *line)
{
    char *text = strdup(line);
    const struct mxv_recorded key = {.line = text};
    const struct mxv_recorded *found =
        text ? bsearch(&key, s->records, s->count, sizeof key, by_line) : NULL;
    while (found && found > s->records && by_line(found - 1, &key) == 0)
        found--;
    free(text);
    return found;
}

const struct mxv_recorded *mxv_recorded_at(const struct mxv_recorded_store *s, size_t i)
{
    return &s->records[i];
}

const struct mxv_recorded_origin *mxv_recorded_origin(const struct mxv_recorded_store *s)
{
    return &s->origin;
}
