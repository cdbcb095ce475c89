// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A folder of recorded results in memory, by case line. tests/cli/test_recorded.sh fails if this is
// wrong.
#include <dirent.h>
#include <errno.h>
#include <mxverify/recorded.h>
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

static enum mxv_status read_file(struct mxv_recorded_store *s, const char *path, char *message,
                                 size_t size)
{
    enum mxv_status status = MXV_OK;
    FILE *file = fopen(path, "r");
    char *text = NULL, said[256] = "";
    size_t room = 0, number = 0;
    if (!file) {
        snprintf(message, size, "%s: %s", path, strerror(errno));
        return MXV_ERR_IO;
    }
    while (status == MXV_OK && getline(&text, &room, file) >= 0) {
        struct mxv_recorded r;
        number++;
        if (text[0] == '#') {
            read_comment(s, text);
            continue;
        }
        status = mxv_recorded_parse(text, &r, said, sizeof said);
        if (status == MXV_OK && keep(s, &r) != MXV_OK) {
            mxv_recorded_free(&r);
            snprintf(said, sizeof said, "out of memory");
            status = MXV_ERR_MEMORY;
        }
        if (status != MXV_OK)
            snprintf(message, size, "%s: line %zu: %s", path, number, said);
    }
    free(text);
    fclose(file);
    return status;
}

static int by_line(const void *a, const void *b)
{
    return strcmp(((const struct mxv_recorded *)a)->line, ((const struct mxv_recorded *)b)->line);
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
    qsort(s->records, s->count, sizeof *s->records, by_line);
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
    free(text);
    return found;
}

const struct mxv_recorded_origin *mxv_recorded_origin(const struct mxv_recorded_store *s)
{
    return &s->origin;
}
