// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What a log says as a whole: exit status, repro commands, and the reports in one call.
// tests/unit/test_report_read.c fails if this file is wrong.
#include "report_internal.h"

#include <stdlib.h>
#include <string.h>

size_t mxv_report_events_missing(const struct mxv_report *report)
{
    const struct mxv_report_value *v = mxv_report_find(&report->totals, "numbers.events.missing");
    return v && !v->text && v->number > 0 && v->number < 1e9 ? (size_t)v->number : 0;
}

int mxv_report_exit_status(const struct mxv_report *report)
{
    const struct mxv_report_value *shards = mxv_report_find(&report->totals, "numbers.shards");
    int status = mxv_exit_status(report->counts, !report->complete);
    if (status == 3 && shards && !shards->text && shards->number > 1)
        status = 77; // a shard beyond the last case
    return status == 0 && mxv_report_events_missing(report) ? 1 : status;
}

// `repro` takes the default implementation, and the faulty emulation for a line with a fault; any
// other has to be named.
char *mxv_report_repro(const struct mxv_report *report, const struct mxv_report_case *c)
{
    const char *impl = mxv_report_text(&report->header, "implementation", NULL);
    char *text = NULL;
    bool named = impl && strcmp(impl, "plain") != 0 && !strstr(c->line, " fault=");
    if (!mxv_report_append(&text, "mxverify repro ") || !mxv_report_append_quoted(&text, c->line))
        return NULL;
    if (named && (!mxv_report_append(&text, " --impl ") || !mxv_report_append_quoted(&text, impl)))
        return NULL;
    return text;
}

enum mxv_status mxv_report_write(const char *log, const char *junit, const char *html,
                                 char *message, size_t message_size)
{
    struct mxv_report report;
    enum mxv_status status = mxv_report_read(log, &report, message, message_size);
    if (status == MXV_OK && junit)
        status = mxv_report_write_junit(&report, junit, message, message_size);
    if (status == MXV_OK && html)
        status = mxv_report_write_html(&report, html, message, message_size);
    mxv_report_free(&report);
    return status;
}
