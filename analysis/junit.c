// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A run as JUnit XML.
//
// JUnit XML has no standard. Written is what its readers have in common (the schema of the Jenkins
// xUnit plugin, junit-10.xsd; GitLab; Azure): testsuites, testsuite with properties, testcase with
// at most one of failure, error and skipped, then system-out. GitLab shows class name, name, time
// and the text of a failure alone, so the command that repeats the case comes first there.
// Characters that XML 1.0 cannot carry are written as \xNN. tests/unit/test_report_junit.c fails if
// this file is wrong.
#include "report_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum outcome { PASSED, FAILURE, ERROR, SKIPPED };
static const char *const elements[] = {NULL, "failure", "error", "skipped"};

static enum outcome outcome_of(enum mxv_verdict verdict)
{
    switch (verdict) {
    case MXV_VERDICT_CRASH:
    case MXV_VERDICT_TIMEOUT:
    case MXV_VERDICT_DEVICE_LOST:
    case MXV_VERDICT_ORACLE_ERROR:
        return ERROR;
    case MXV_VERDICT_WAIVED:
        return SKIPPED;
    default:
        break;
    }
    enum mxv_verdict_class class_ = mxv_verdict_class_of(verdict);
    return class_ == MXV_VERDICT_GOOD ? PASSED : class_ == MXV_VERDICT_BAD ? FAILURE : SKIPPED;
}

// U+FFFE and U+FFFF, in UTF-8.
static bool is_noncharacter(const unsigned char *c)
{
    return c[0] == 0xEF && c[1] == 0xBF && c[2] >= 0xBE;
}

static void put_text(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '&')
            fputs("&amp;", out);
        else if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '"')
            fputs("&quot;", out);
        else if (*c == '\n' || *c == '\t' || *c == '\r')
            fprintf(out, "&#%d;", *c);
        else if (*c < 0x20 || *c == 0x7F)
            fprintf(out, "\\x%02X", *c);
        else if (is_noncharacter(c)) {
            fprintf(out, "\\xFFF%c", c[2] == 0xBE ? 'E' : 'F');
            c += 2;
        } else
            putc(*c, out);
    }
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    put_text(out, value);
    putc('"', out);
}

// Seconds with three decimals, whatever the locale.
static void put_time(FILE *out, double seconds)
{
    unsigned long long ms =
        seconds > 0 && seconds < 1e12 ? (unsigned long long)llround(seconds * 1e3) : 0;
    fprintf(out, " time=\"%llu.%03llu\"", ms / 1000, ms % 1000);
}

struct sums {
    size_t tests, failures, errors, skipped;
    double seconds;
};

// Of one kernel, or of all (NULL).
static struct sums sums_of(const struct mxv_report *report, const char *kernel)
{
    struct sums s = {0};
    for (size_t i = 0; i < report->case_count; i++) {
        const struct mxv_report_case *c = &report->cases[i];
        if (kernel && c->kernel != kernel)
            continue;
        enum outcome outcome = outcome_of(c->verdict);
        s.tests++;
        s.failures += outcome == FAILURE;
        s.errors += outcome == ERROR;
        s.skipped += outcome == SKIPPED;
        s.seconds += c->seconds;
    }
    return s;
}

static void put_sums(FILE *out, const struct sums *s, bool with_skipped)
{
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", s->tests, s->failures,
            s->errors);
    if (with_skipped)
        fprintf(out, " skipped=\"%zu\"", s->skipped);
    put_time(out, s->seconds);
}

static void put_line(FILE *out, const char *name, const char *value)
{
    if (name) {
        put_text(out, name);
        fputs(": ", out);
    }
    put_text(out, value);
    putc('\n', out);
}

// Message of a failure, error or skip: the reason; for a waived case the address of its report,
// too, wherever the ledger put it.
static void put_message(FILE *out, const struct mxv_report_case *c)
{
    const char *reason = c->reason ? c->reason : mxv_verdict_text(c->verdict);
    fputs(" message=\"", out);
    put_text(out, reason);
    for (size_t i = 0; c->verdict == MXV_VERDICT_WAIVED && i < c->values.count; i++) {
        const char *text = c->values.at[i].text;
        if (text && strstr(text, "://") && !strstr(reason, text)) {
            putc(' ', out);
            put_text(out, text);
        }
    }
    putc('"', out);
}

static bool put_outcome(FILE *out, const struct mxv_report *report, const struct mxv_report_case *c,
                        enum outcome outcome)
{
    char *repro = mxv_report_repro(report, c);
    fprintf(out, "      <%s", elements[outcome]);
    put_attribute(out, "type", mxv_verdict_name(c->verdict));
    put_message(out, c);
    if (outcome == SKIPPED) {
        fputs("/>\n", out);
    } else {
        putc('>', out);
        put_line(out, NULL, repro ? repro : "");
        put_line(out, "verdict", mxv_verdict_name(c->verdict));
        put_line(out, "reason", c->reason ? c->reason : mxv_verdict_text(c->verdict));
        const char *diagnosis = mxv_report_text(&c->values, "texts.diagnosis", NULL);
        if (diagnosis)
            put_line(out, "diagnosis", diagnosis);
        put_line(out, "id", c->id);
        for (size_t i = 0; i < c->map_count; i++)
            put_line(out, "map", c->maps[i]);
        fprintf(out, "</%s>\n", elements[outcome]);
    }
    bool good = repro != NULL;
    free(repro);
    return good;
}

// Texts of the record: hashes, diagnosis, what the gate let through. Numbers stay in the log.
static void put_texts(FILE *out, const struct mxv_report_case *c)
{
    bool any = false;
    for (size_t i = 0; i < c->values.count; i++) {
        const struct mxv_report_value *v = &c->values.at[i];
        if (!v->text || strncmp(v->name, "texts.", 6) != 0)
            continue;
        if (!any)
            fputs("      <system-out>", out);
        any = true;
        put_line(out, v->name + 6, v->text);
    }
    if (any)
        fputs("</system-out>\n", out);
}

static bool put_case(FILE *out, const struct mxv_report *report, const struct mxv_report_case *c)
{
    enum outcome outcome = outcome_of(c->verdict);
    fputs("    <testcase", out);
    put_attribute(out, "classname", c->kernel);
    put_attribute(out, "name", c->line);
    put_time(out, c->seconds);
    fputs(">\n", out);
    bool good = outcome == PASSED || put_outcome(out, report, c, outcome);
    put_texts(out, c);
    fputs("    </testcase>\n", out);
    return good;
}

static void put_properties(FILE *out, const struct mxv_report *report)
{
    fputs("    <properties>\n", out);
    for (size_t i = 0; i < report->header.count; i++) {
        const struct mxv_report_value *v = &report->header.at[i];
        if (!v->text || strcmp(v->name, "date") == 0)
            continue;
        fputs("      <property", out);
        put_attribute(out, "name", v->name);
        put_attribute(out, "value", v->text);
        fputs("/>\n", out);
    }
    fputs("    </properties>\n", out);
}

static void begin_suite(FILE *out, const struct mxv_report *report, const char *name,
                        const struct sums *sums)
{
    char timestamp[20] = ""; // without the zone, which some readers refuse; it is UTC
    snprintf(timestamp, sizeof timestamp, "%s", mxv_report_text(&report->header, "date", ""));
    fputs("  <testsuite", out);
    put_attribute(out, "name", name);
    put_sums(out, sums, true);
    if (timestamp[0])
        put_attribute(out, "timestamp", timestamp);
    fputs(">\n", out);
    put_properties(out, report);
}

static bool put_suite(FILE *out, const struct mxv_report *report, const char *kernel)
{
    struct sums sums = sums_of(report, kernel);
    bool good = true;
    begin_suite(out, report, kernel, &sums);
    for (size_t i = 0; i < report->case_count; i++)
        if (report->cases[i].kernel == kernel)
            good = put_case(out, report, &report->cases[i]) && good;
    fputs("  </testsuite>\n", out);
    return good;
}

// A suite of its own for what is wrong with the whole run.
static void put_run_error(FILE *out, const struct mxv_report *report, const char *name,
                          const char *type, const char *text)
{
    struct sums sums = {.tests = 1, .errors = 1};
    begin_suite(out, report, "mxverify", &sums);
    fprintf(out,
            "    <testcase classname=\"mxverify\" name=\"%s\" time=\"0.000\">\n"
            "      <error type=\"%s\" message=\"%s\"/>\n    </testcase>\n  </testsuite>\n",
            name, type, text);
}

static void put_run_errors(FILE *out, const struct mxv_report *report)
{
    char text[80];
    if (!report->complete)
        put_run_error(out, report, "the run is complete", "incomplete",
                      report->has_totals ? "the run was stopped early: cases are missing"
                                         : "the log ends before its totals: cases are missing");
    snprintf(text, sizeof text, "%zu mandatory events were never met",
             mxv_report_events_missing(report));
    if (mxv_report_events_missing(report))
        put_run_error(out, report, "the tier meets its events", "events", text);
}

static bool is_first_of_kernel(const struct mxv_report *report, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (report->cases[i].kernel == report->cases[at].kernel)
            return false;
    return true;
}

static bool put_document(FILE *out, const struct mxv_report *report)
{
    struct sums all = sums_of(report, NULL);
    bool good = true;
    size_t errors = !report->complete + (mxv_report_events_missing(report) > 0);
    all.tests += errors;
    all.errors += errors;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mxverify\"", out);
    put_sums(out, &all, false);
    fputs(">\n", out);
    const char *last = NULL;
    for (size_t i = 0; i < report->case_count; i++) {
        const char *kernel = report->cases[i].kernel;
        if (kernel != last && is_first_of_kernel(report, i))
            good = put_suite(out, report, kernel) && good;
        last = kernel;
    }
    put_run_errors(out, report);
    fputs("</testsuites>\n", out);
    return good;
}

enum mxv_status mxv_report_write_junit(const struct mxv_report *report, const char *path,
                                       char *message, size_t message_size)
{
    struct mxv_file_report messages = {path, message, message_size};
    struct mxv_file_output output;
    enum mxv_status status = mxv_file_output_begin(path, &output, &messages);
    if (status != MXV_OK)
        return status;
    if (!put_document(output.stream, report)) {
        mxv_file_output_abandon(&output);
        return mxv_file_fail(&messages, MXV_ERR_MEMORY, "no memory for the report");
    }
    return mxv_file_output_commit(&output, &messages);
}
