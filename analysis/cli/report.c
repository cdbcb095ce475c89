// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify report LOG [--junit FILE] [--html FILE]`: what a log says, as text and as files.
#include "cli.h"
#include <argp.h>
#include <mxverify/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JUNIT = 256, OPT_HTML, OPT_ALL, MESSAGE = 1024, LISTED = 20 };

struct report_config {
    const char *log, *junit, *html;
    bool all, quiet;
};

static const struct argp_option options[] = {
    {"junit", OPT_JUNIT, "FILE", 0, "write JUnit XML", 0},
    {"html", OPT_HTML, "FILE", 0, "write one self-contained page", 0},
    {"all", OPT_ALL, NULL, 0, "list every case that did not pass, not 20 of them", 0},
    {"quiet", 'q', NULL, 0, "print nothing", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct report_config *c = state->input;
    switch (key) {
    case OPT_JUNIT:
        c->junit = arg;
        break;
    case OPT_HTML:
        c->html = arg;
        break;
    case OPT_ALL:
        c->all = true;
        break;
    case 'q':
        c->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (c->log)
            argp_failure(state, 3, 0, "one log at a time (mxverify merge joins several)");
        c->log = arg;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void cli_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input)
{
    char **words = cli_realloc(NULL, ((size_t)argc + 2) * sizeof *words);
    char *first = cli_realloc(NULL, strlen(name) + 1);
    words[0] = strcpy(first, name);
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    words[argc + 1] = NULL;
    argp_err_exit_status = 3;
    argp_parse(argp, argc + 1, words, 0, NULL, input);
    free(first);
    free(words);
}

static void print_head(const struct mxv_report *r)
{
    printf("%s: %s against %s, version %s, %s\n", r->path,
           mxv_report_text(&r->header, "implementation", "?"),
           mxv_report_text(&r->header, "reference", "?"),
           mxv_report_text(&r->header, "version", "?"), mxv_report_text(&r->header, "date", "?"));
    if (!r->complete)
        printf("incomplete: %s\n",
               r->has_totals ? "the run was stopped early" : "the log ends before its totals");
    if (mxv_report_events_missing(r))
        printf("the tier misses %zu mandatory events\n", mxv_report_events_missing(r));
    if (r->torn)
        printf("%zu records cut off\n", r->torn);
    if (r->repeated)
        printf("%zu records replaced by a later one of the same case\n", r->repeated);
    printf("\n");
}

static bool seen_before(const struct mxv_report *r, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (r->cases[i].kernel == r->cases[at].kernel)
            return true;
    return false;
}

static void print_kernel(const struct mxv_report *r, const char *kernel)
{
    size_t counts[MXV_VERDICT_COUNT] = {0}, cases = 0;
    for (size_t i = 0; i < r->case_count; i++)
        if (r->cases[i].kernel == kernel) {
            counts[r->cases[i].verdict]++;
            cases++;
        }
    printf("%-14s %7zu", kernel, cases);
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        if (r->counts[v])
            printf(" %12zu", counts[v]);
    printf("\n");
}

static void print_table(const struct mxv_report *r)
{
    printf("%-14s %7s", "kernel", "cases");
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        if (r->counts[v])
            printf(" %12s", mxv_verdict_name(v));
    printf("\n");
    const char *last = NULL;
    for (size_t i = 0; i < r->case_count; i++) {
        const char *kernel = r->cases[i].kernel;
        if (kernel != last && !seen_before(r, i))
            print_kernel(r, kernel);
        last = kernel;
    }
}

static void print_bad(const struct mxv_report *r, const struct report_config *config)
{
    size_t bad = 0;
    for (size_t i = 0; i < r->case_count; i++) {
        const struct mxv_report_case *c = &r->cases[i];
        if (mxv_verdict_class_of(c->verdict) != MXV_VERDICT_BAD)
            continue;
        if (bad++ >= LISTED && !config->all)
            continue;
        char *repro = mxv_report_repro(r, c);
        printf("\n%s %s\n  %s\n", c->id, mxv_verdict_name(c->verdict), repro ? repro : c->line);
        if (c->reason)
            printf("  %s\n", c->reason);
        if (mxv_report_find(&c->values, "texts.diagnosis"))
            printf("  %s\n", mxv_report_text(&c->values, "texts.diagnosis", ""));
        free(repro);
    }
    if (bad > LISTED && !config->all)
        printf("\n%zu more did not pass (--all lists them)\n", bad - LISTED);
}

int cli_report(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "LOG",
        "Reads the log of a run (out/run.jsonl), prints its verdicts, and writes reports.\v"
        "The exit status is that of the run: 0 all passed or waived, 1 something did not, 2 cases "
        "are missing, 77 all were skipped; 3 if the log cannot be read.",
        NULL,
        NULL,
        NULL};
    struct report_config config = {0};
    struct mxv_report report;
    char message[MESSAGE];
    cli_parse(&argp, "mxverify report", argc, argv, &config);
    if (!config.log)
        return cli_usage("report: the log is missing, as in mxverify report out/run.jsonl");
    if (config.all && config.quiet)
        return cli_usage("report: --all and --quiet: nothing is listed");
    const struct cli_file files[] = {{"the log", config.log, false},
                                     {"--junit", config.junit, true},
                                     {"--html", config.html, true}};
    if (cli_files_apart("report", files, sizeof files / sizeof files[0]) ||
        (config.junit && cli_file_writable("--junit", config.junit)) ||
        (config.html && cli_file_writable("--html", config.html)))
        return 3;
    if (mxv_report_read(config.log, &report, message, sizeof message) != MXV_OK)
        return cli_usage("%s", message);
    if (!config.quiet) {
        print_head(&report);
        print_table(&report);
        print_bad(&report, &config);
    }
    int status = mxv_report_exit_status(&report);
    if (config.junit &&
        mxv_report_write_junit(&report, config.junit, message, sizeof message) != MXV_OK)
        status = cli_usage("%s", message);
    if (config.html &&
        mxv_report_write_html(&report, config.html, message, sizeof message) != MXV_OK)
        status = cli_usage("%s", message);
    mxv_report_free(&report);
    return fflush(stdout) ? cli_usage("writing the report failed") : status;
}
