// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A run log in a folder of its own, and its lines as jansson, an independent and strict JSON
// reader, reads them.
#ifndef MXV_TEST_LOG_H
#define MXV_TEST_LOG_H

#include <mxverify/log.h>

#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/mxv-log-XXXXXX";
static char path[64];

static inline struct mxv_log *open_log(bool append)
{
    char message[256] = "";
    struct mxv_log *log = NULL;
    if (mxv_log_open(path, append, &log, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    return log;
}

// All lines of the file as JSON objects; *count of them.
static inline json_t *read_lines(size_t *count)
{
    static char line[1 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    json_t *lines = json_array();
    while (fgets(line, sizeof line, file)) {
        json_error_t error;
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (!object)
            fail_msg("line %zu: %s: %s", json_array_size(lines), error.text, line);
        json_array_append_new(lines, object);
    }
    fclose(file);
    *count = json_array_size(lines);
    return lines;
}

static const char *text_at(json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static inline long long integer_at(json_t *object, const char *name)
{
    assert_true(json_is_integer(json_object_get(object, name)));
    return json_integer_value(json_object_get(object, name));
}

static const char *const command[] = {"mxverify", "run", "--kernel", "dma \"quoted\"\n"};

static inline void write_header(struct mxv_log *log)
{
    struct mxv_log_header header = {0};
    header.program = "mxverify";
    header.version = "1.2.3";
    header.argc = 4;
    header.argv = command;
    header.has_seed = true;
    header.seed = 0xFEDCBA9876543210;
    header.implementation = "plain";
    header.reference = "engine";
    assert_int_equal(mxv_log_write_header(log, &header, NULL, 0), MXV_OK);
}

static inline struct mxv_log_case plain_case(void)
{
    struct mxv_log_case c = {0};
    c.id = "0123456789";
    c.line = "dma lq=5 lk=7";
    c.verdict = MXV_VERDICT_PASS;
    c.seconds = 0.125;
    return c;
}

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/run.jsonl", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return unlink(path) || rmdir(folder);
}

#endif
