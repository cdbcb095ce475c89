// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The run log: JSON Lines, appended as the run goes on. docs/reports.md lists the fields.
//
// The first record is the header (who ran what on which machine), then one record per case, at last
// the totals. Every record is handed to the system when it is complete, and the file is flushed to
// the disk every 64 records and at the end, so that a killed run loses no finished case. Numbers
// that JSON cannot carry are the strings "nan", "inf", "-inf"; numbers that matter stand a second
// time as C hexadecimal floating constants.
//
// Errors: functions return an enum mxv_status with one line in `message` (NULL allowed). After a
// failed write the log stays failed: later calls return the same error and write nothing.
// Threads: one thread at a time per log.
#ifndef MXVERIFY_LOG_H
#define MXVERIFY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/compare.h>
#include <mxverify/status.h>
#include <mxverify/taps.h>

#ifdef __cplusplus
extern "C" {
#endif

// Verdict words. Class: GOOD counts as passed, BAD makes the run fail, SKIPPED was not run. "Not
// verified" (undecided, weak) is BAD: it never counts as passed.
#define MXV_VERDICTS(X)                                                                            \
    X(PASS, "pass", GOOD, "every check held")                                                      \
    X(WARN, "warn", GOOD, "within its bound, but worse than the profile promises")                 \
    X(WEAK, "weak", BAD, "passed, but the gate would have let a mandatory fault through")          \
    X(FAIL, "fail", BAD, "differs where it must not")                                              \
    X(UNDECIDED, "undecided", BAD, "the enclosure is too wide to tell")                            \
    X(SKIP, "skip", SKIPPED, "not run, for the reason given")                                      \
    X(UNSUPPORTED, "unsupported", SKIPPED, "the implementation does not offer this case")          \
    X(CRASH, "crash", BAD, "the implementation died")                                              \
    X(TIMEOUT, "timeout", BAD, "no answer within the time limit")                                  \
    X(DEVICE_LOST, "device-lost", BAD, "the device stopped answering")                             \
    X(WAIVED, "waived", GOOD, "a known failure listed in the ledger")                              \
    X(XPASS, "xpass", BAD, "listed in the ledger as failing, but passed")                          \
    X(ORACLE_ERROR, "oracle-error", BAD, "the oracles disagree: nothing is known of the subject")  \
    X(FLAKY, "flaky", BAD, "two runs of the same case gave different words")

enum mxv_verdict {
#define MXV_VERDICT_ROW(id, name, class_, text) MXV_VERDICT_##id,
    MXV_VERDICTS(MXV_VERDICT_ROW)
#undef MXV_VERDICT_ROW
        MXV_VERDICT_COUNT
};
enum mxv_verdict_class { MXV_VERDICT_GOOD, MXV_VERDICT_BAD, MXV_VERDICT_SKIPPED };

// NULL beyond the last verdict.
const char *mxv_verdict_name(unsigned verdict);
const char *mxv_verdict_text(unsigned verdict);
enum mxv_verdict_class mxv_verdict_class_of(enum mxv_verdict verdict);
bool mxv_verdict_find(const char *name, enum mxv_verdict *out);

// Exit status of a run: 1 when any verdict is BAD; else 2 when it stopped early; else 0 when at
// least one case is GOOD; else 77 when cases were skipped; else 3, because nothing was selected at
// all.
int mxv_exit_status(const size_t counts[MXV_VERDICT_COUNT], bool stopped_early);

struct mxv_log;

// Opens or creates `path` (append: keeps what is there, as a resumed run does). On success *out is
// released with mxv_log_close.
enum mxv_status mxv_log_open(const char *path, bool append, struct mxv_log **out, char *message,
                             size_t message_size);

// What decides how a case is judged, beside the case itself: a run is resumed, and shards are
// merged, only where these agree.
struct mxv_log_judging {
    bool truth;
    uint64_t truth_scores; // before rows are sampled, 0: all rows; left out without truth
    bool events, wide_p;
    double psnr_peak;
};

// Strings are NUL-terminated and may be NULL (written as null) unless said otherwise.
struct mxv_log_header {
    const char *program; // "mxverify"
    const char *version;
    int argc; // the command line
    const char *const *argv;
    bool has_seed;
    uint64_t seed; // written as a hexadecimal string: JSON readers keep 53 bits of a number
    const char *implementation, *reference; // what is tested against what
    const char *device;                     // NULL: no device took part
    const struct mxv_log_judging *judging;  // NULL: left out
};
// Adds by itself: format version of the log, machine (cpu, cores, system), compiler, source
// revision (MXV_GIT_DESCRIBE at build), date in UTC (SOURCE_DATE_EPOCH if set, else now).
enum mxv_status mxv_log_write_header(struct mxv_log *log, const struct mxv_log_header *header,
                                     char *message, size_t message_size);

struct mxv_log_metrics {
    const char *name; // "out", "out.truth", "score.high" ...
    const struct mxv_metrics *metrics;
};
struct mxv_log_number {
    const char *name;
    double value; // written as decimal and as hexadecimal constant
};
struct mxv_log_text {
    const char *name, *value;
};

struct mxv_log_case {
    const char *id, *line; // not NULL
    enum mxv_verdict verdict;
    const char *reason; // why it was skipped, waived, ...
    double seconds;
    const struct mxv_taps_where *first;    // NULL or kind EQUAL: no difference
    const struct mxv_tap_element *element; // NULL: not looked for
    enum mxv_element element_format;       // of *element
    size_t metrics_count, numbers_count, texts_count, maps_count;
    const struct mxv_log_metrics *metrics;
    const struct mxv_log_number *numbers;
    const struct mxv_log_text *texts; // hashes, names
    const char *const *maps;          // paths
};
enum mxv_status mxv_log_write_case(struct mxv_log *log, const struct mxv_log_case *c, char *message,
                                   size_t message_size);

struct mxv_log_totals {
    size_t counts[MXV_VERDICT_COUNT];
    bool stopped_early;
    bool lacking; // the cases lack something that the run had to meet: exit status 1 for 0
    double seconds;
    const char *hash; // of all outputs of the run
    size_t numbers_count;
    const struct mxv_log_number *numbers;
};
// Writes the exit status that follows from the counts, too.
enum mxv_status mxv_log_write_totals(struct mxv_log *log, const struct mxv_log_totals *totals,
                                     char *message, size_t message_size);

// Flushes to the disk and closes. NULL is allowed. The log is gone whatever the answer is.
enum mxv_status mxv_log_close(struct mxv_log *log, char *message, size_t message_size);

// From a signal handler, when the process dies in a case: drops an unfinished record, then appends
// a case record of id, line and verdict. Async-signal-safe: no allocation, no stdio, no locks.
// Returns false when the write failed. id and line must be plain strings that outlive the call.
bool mxv_log_abort(struct mxv_log *log, const char *id, const char *line, enum mxv_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
