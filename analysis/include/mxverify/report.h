// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Run logs read back, and what is made of them: JUnit XML, one self-contained HTML page, and the
// difference of two runs. docs/reports.md describes the files for their readers.
//
//     mxv_report_write("out/run.jsonl", "junit.xml", "report.html", message, sizeof message)
//
// or, step by step, mxv_report_read, then mxv_report_write_junit, mxv_report_write_html,
// mxv_report_compare.
//
// Reading. A case that is logged twice (a resumed run) counts once: the last record holds, at the
// place of the first. Cases are told apart by index in the run and line, where there is no index by
// line. A record that is cut off, as a
// killed run leaves it, is passed over and counted. Everything else that is no record is an error
// that names the file, the line and the column.
//
// Errors: functions return an enum mxv_status and write one line into `message` (NULL allowed):
// MXV_ERR_INPUT (not a run log, or a later format), MXV_ERR_IO, MXV_ERR_MEMORY. Files are written
// whole or not at all: temporary file, flush, rename. Threads: no shared state.
#ifndef MXVERIFY_REPORT_H
#define MXVERIFY_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <mxverify/log.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; // jansson's; only the library looks inside

// A number or a text of a record under its path in the record: "metrics.out.inputs.rel_l2",
// "numbers.taps", "first.stage". Arrays are joined into one text; null and the `_hex` twins of
// numbers are left out.
struct mxv_report_value {
    const char *name; // owned by the report
    double number;    // if text is NULL
    char *text;
};

struct mxv_report_values {
    size_t count;
    struct mxv_report_value *at; // in the order of the record
};

struct mxv_report_case {
    char *id, *line;
    char *reason;       // NULL: none
    const char *kernel; // first word of the line
    enum mxv_verdict verdict;
    double seconds;
    struct mxv_report_values values; // all but id, case, verdict, reason, seconds, maps
    size_t map_count;
    char **maps; // paths as logged
};

struct mxv_report {
    char *path;
    struct mxv_report_values header, totals; // first header, last totals
    bool complete;   // the totals stand after the last header and say that no case is missing
    bool has_totals; // false: the run was killed, or goes on
    double seconds;  // wall time as the totals say, else the sum over the cases
    size_t torn;     // records cut off
    size_t repeated; // records that a later one of the same case replaced
    size_t case_count;
    struct mxv_report_case *cases;
    size_t counts[MXV_VERDICT_COUNT];
    struct json_t *names; // pool of value names and kernels
};

// Reads a log. The caller releases *out with mxv_report_free; after an error *out is empty and
// releasing it is allowed.
enum mxv_status mxv_report_read(const char *path, struct mxv_report *out, char *message,
                                size_t message_size);
void mxv_report_free(struct mxv_report *report);

// The value of that name, or NULL. The text of a value, or `fallback` if it is absent or a number.
const struct mxv_report_value *mxv_report_find(const struct mxv_report_values *values,
                                               const char *name);
const char *mxv_report_text(const struct mxv_report_values *values, const char *name,
                            const char *fallback);

// Mandatory events (events.def) that the run had to meet and did not.
size_t mxv_report_events_missing(const struct mxv_report *report);

// Exit status of the run that the log records: mxv_exit_status, an incomplete log counting as
// stopped early; 1 where mandatory events are missing.
int mxv_report_exit_status(const struct mxv_report *report);

// The command that repeats the case, quoted for a POSIX shell; release with free(). NULL when
// memory is short.
char *mxv_report_repro(const struct mxv_report *report, const struct mxv_report_case *c);

// JUnit XML: a suite per kernel, a test case per case. fail, weak, undecided, xpass and flaky
// become <failure>; crash, timeout, device-lost and oracle-error <error>; skip, unsupported and
// waived <skipped>. A log that is not complete gets an <error> of its own, so that cases which
// never ran are not taken for passed.
enum mxv_status mxv_report_write_junit(const struct mxv_report *report, const char *path,
                                       char *message, size_t message_size);

// One HTML page that loads nothing else. Maps are looked for in the log's folder, then under the
// path in the log: pictures go in as data URIs, the arrays beside them (.npy) for the tile view.
// Arrays beyond 2^18 cells are joined by their largest value and accompanied by the window around
// the worst cell; when the page reaches 64 MiB further maps are left out, those of cases that did
// not pass last. The page says so wherever it happened.
enum mxv_status mxv_report_write_html(const struct mxv_report *report, const char *path,
                                      char *message, size_t message_size);

// Reads `log` and writes the reports whose path is not NULL.
enum mxv_status mxv_report_write(const char *log, const char *junit, const char *html,
                                 char *message, size_t message_size);

// How two runs differ. X(ID, name, text)
#define MXV_CHANGES(X)                                                                             \
    X(BROKEN, "new failures", "bad now, not bad or absent before")                                 \
    X(FIXED, "fixed", "bad before, good now")                                                      \
    X(VERDICT, "changed verdicts", "another verdict, neither of the two above")                    \
    X(HASH, "changed output", "the words of the output differ")                                    \
    X(METRIC, "changed metrics", "some metric moved by more than the tolerance")                   \
    X(SLOWER, "slower", "beyond the factor for speed")                                             \
    X(QUICKER, "quicker", "beyond the factor for speed")                                           \
    X(ONLY_A, "only in the first", "not in the second log")                                        \
    X(ONLY_B, "only in the second", "not in the first log")

enum mxv_change {
#define X(id, name, text) MXV_CHANGE_##id,
    MXV_CHANGES(X)
#undef X
        MXV_CHANGE_COUNT
};
const char *mxv_change_name(unsigned change); // NULL beyond the last one
const char *mxv_change_text(unsigned change);

struct mxv_report_difference {
    enum mxv_change kind;
    const struct mxv_report_case *a, *b; // NULL: not in that log
    // The metric that moved most (METRIC): its values and how many moved.
    const struct mxv_report_value *metric_a, *metric_b;
    size_t metrics_moved;
};

struct mxv_report_comparison {
    size_t counts[MXV_CHANGE_COUNT];
    size_t common;               // cases in both
    double seconds_a, seconds_b; // over the cases in both
    size_t count;
    struct mxv_report_difference *at; // by kind, then in the order of b (ONLY_A: of a)
};

struct mxv_report_tolerance {
    double metric;      // relative change of a metric that still counts as equal; 0: none
    double speed;       // factor in time from which a case counts as slower or quicker; above 1
    double speed_floor; // seconds that the times must differ by, too
};

// Compares two runs case by case. A case can be listed under several kinds. NULL tolerance:
// {0, 1.5, 0.1}. The reports must outlive *out, which mxv_report_comparison_free releases.
enum mxv_status mxv_report_compare(const struct mxv_report *a, const struct mxv_report *b,
                                   const struct mxv_report_tolerance *tolerance,
                                   struct mxv_report_comparison *out);
void mxv_report_comparison_free(struct mxv_report_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
