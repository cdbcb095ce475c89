// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Files of tests of reports: a folder of their own, whole files in and out, logs line by line.
#ifndef MXV_TEST_REPORT_FILES_H
#define MXV_TEST_REPORT_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mxverify/report.h>

#define LOG_HEADER                                                                                 \
    "{\"record\":\"header\",\"format\":1,\"program\":\"mxverify\",\"version\":\"0.1.0\","          \
    "\"command\":[\"mxverify run\",\"--kernel\",\"dma\",\"--set\",\"a b\"],"                       \
    "\"implementation\":\"plain\",\"reference\":\"emulation\",\"device\":null,"                    \
    "\"machine\":{\"cpu\":\"C\",\"cores\":2},\"date\":\"2026-11-30T10:11:54Z\"}\n"
#define LOG_CASE(id, line, verdict, rest)                                                          \
    "{\"record\":\"case\",\"id\":\"" id "\",\"case\":\"" line "\",\"verdict\":\"" verdict          \
    "\"" rest "}\n"
#define LOG_TOTALS(stopped)                                                                        \
    "{\"record\":\"totals\",\"cases\":1,\"verdicts\":{\"pass\":1},\"stopped_early\":" stopped      \
    ",\"exit_status\":0,\"seconds\":7.5,\"hash\":\"00000000000000aa\",\"numbers\":{}}\n"

static char test_folder[] = "/tmp/mxverify-report-XXXXXX";

static inline int make_test_folder(void **state)
{
    (void)state;
    return mkdtemp(test_folder) ? 0 : -1;
}

static inline int remove_test_folder(void **state)
{
    char command[sizeof test_folder + 16];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", test_folder);
    return system(command);
}

// Path of a file in the folder; the buffers are used in turn.
static inline const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", test_folder, name);
    return paths[next];
}

static inline const char *write_bytes(const char *name, const char *bytes, size_t length)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

// The whole file, NUL-terminated; released by the caller.
static inline char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long length = ftell(file);
    rewind(file);
    char *text = malloc((size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)length, file), length);
    text[length] = '\0';
    fclose(file);
    return text;
}

static inline size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static inline void read_log(const char *text, struct mxv_report *report)
{
    char message[512] = "";
    if (mxv_report_read(write_text("run.jsonl", text), report, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
}

#endif
