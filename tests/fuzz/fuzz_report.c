// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target of the reader of logs and the writers of reports: no bytes may crash them; a log that
// is read adds up, differs in nothing from itself and can be written as JUnit and HTML; a refusal
// leaves a message.
#include <mxverify/report.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz_report: %s\n", what);
    abort();
}

static void check(const struct mxv_report *report)
{
    struct mxv_report_comparison comparison;
    char message[512] = "";
    size_t sum = 0;
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        sum += report->counts[v];
    require(sum == report->case_count, "the counts do not add up");
    require(mxv_report_compare(report, report, NULL, &comparison) == MXV_OK, "no comparison");
    require(comparison.count == 0, "a log differs from itself");
    mxv_report_comparison_free(&comparison);
    require(mxv_report_write_junit(report, "/dev/null", message, sizeof message) == MXV_OK,
            message);
    require(mxv_report_write_html(report, "/dev/null", message, sizeof message) == MXV_OK, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mxv_report report;
    char message[512] = "", path[64];
    int file = memfd_create("log", MFD_CLOEXEC);
    require(file >= 0 && write(file, data, size) == (ssize_t)size, "no memory file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (mxv_report_read(path, &report, message, sizeof message) == MXV_OK)
        check(&report);
    else
        require(message[0] != '\0', "refused without a message");
    mxv_report_free(&report);
    close(file);
    return 0;
}
