// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify diff A.jsonl B.jsonl`: what changed between two runs.
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <mxverify/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_METRIC = 256, OPT_SPEED, OPT_ALL, MESSAGE = 1024, LISTED = 10 };

struct diff_config {
    const char *logs[2];
    size_t count;
    struct mxv_report_tolerance tolerance;
    bool all, quiet;
};

static const struct argp_option options[] = {
    {"metric-tolerance", OPT_METRIC, "R", 0,
     "relative change of a metric that counts as equal; default 0", 0},
    {"speed-factor", OPT_SPEED, "F", 0,
     "factor in time from which a case counts as slower or quicker; default 1.5", 0},
    {"all", OPT_ALL, NULL, 0, "list every case of a kind, not 10 of them", 0},
    {"quiet", 'q', NULL, 0, "print nothing", 0},
    {0},
};

static void parse_real(struct argp_state *state, const char *name, const char *arg, double least,
                       double *out)
{
    char *end;
    errno = 0;
    *out = strtod(arg, &end);
    if (errno || end == arg || *end || !(*out >= least && *out < 1e9))
        argp_failure(state, 3, 0, "%s %s: expected a number from %g", name, arg, least);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct diff_config *c = state->input;
    switch (key) {
    case OPT_METRIC:
        parse_real(state, "--metric-tolerance", arg, 0, &c->tolerance.metric);
        break;
    case OPT_SPEED:
        parse_real(state, "--speed-factor", arg, 1, &c->tolerance.speed);
        break;
    case OPT_ALL:
        c->all = true;
        break;
    case 'q':
        c->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (c->count == 2)
            argp_failure(state, 3, 0, "two logs are compared, not more");
        c->logs[c->count++] = arg;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

// Facts of the headers that differ: who ran what, where.
static void print_heads(const struct mxv_report *a, const struct mxv_report *b)
{
    static const char *const facts[] = {"version",   "revision", "implementation",
                                        "reference", "device",   "machine.cpu",
                                        "compiler",  "seed",     "command"};
    printf("first  %s, %zu cases%s\nsecond %s, %zu cases%s\n", a->path, a->case_count,
           a->complete ? "" : " (incomplete)", b->path, b->case_count,
           b->complete ? "" : " (incomplete)");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *x = mxv_report_text(&a->header, facts[i], "-");
        const char *y = mxv_report_text(&b->header, facts[i], "-");
        if (strcmp(x, y) != 0)
            printf("%s: %s -> %s\n", facts[i], x, y);
    }
}

static void print_value(const struct mxv_report_value *v)
{
    if (v->text)
        printf("%s", v->text);
    else
        printf("%.6g", v->number);
}

static void print_metric(const struct mxv_report_difference *d)
{
    printf("    %s ", d->metric_b->name);
    print_value(d->metric_a);
    printf(" -> ");
    print_value(d->metric_b);
    if (!d->metric_a->text && !d->metric_b->text && d->metric_a->number != 0)
        printf(" (x %.4g)", d->metric_b->number / d->metric_a->number);
    if (d->metrics_moved > 1)
        printf(" and %zu more", d->metrics_moved - 1);
    printf("\n");
}

static void print_verdicts(const struct mxv_report_difference *d)
{
    const struct mxv_report_case *c = d->b ? d->b : d->a;
    printf("    %s -> %s", d->a ? mxv_verdict_name(d->a->verdict) : "absent",
           d->b ? mxv_verdict_name(d->b->verdict) : "absent");
    printf("%s%s\n", c->reason ? ": " : "", c->reason ? c->reason : "");
}

static void print_difference(const struct mxv_report_difference *d)
{
    const struct mxv_report_case *c = d->b ? d->b : d->a;
    printf("  %s %s\n", c->id, c->line);
    switch (d->kind) {
    case MXV_CHANGE_METRIC:
        print_metric(d);
        break;
    case MXV_CHANGE_HASH:
        printf("    %s -> %s\n", mxv_report_text(&d->a->values, "texts.output_hash", ""),
               mxv_report_text(&d->b->values, "texts.output_hash", ""));
        break;
    case MXV_CHANGE_SLOWER:
    case MXV_CHANGE_QUICKER:
        printf("    %.3f s -> %.3f s\n", d->a->seconds, d->b->seconds);
        break;
    default:
        print_verdicts(d);
        break;
    }
}

static void print_comparison(const struct mxv_report_comparison *comparison, bool all)
{
    for (unsigned kind = 0, at = 0; kind < MXV_CHANGE_COUNT; kind++) {
        size_t count = comparison->counts[kind];
        if (count)
            printf("\n%s: %zu (%s)\n", mxv_change_name(kind), count, mxv_change_text(kind));
        for (size_t i = 0; i < count; i++, at++)
            if (all || i < LISTED)
                print_difference(&comparison->at[at]);
        if (count > LISTED && !all)
            printf("  %zu more (--all lists them)\n", count - LISTED);
    }
    printf("\n%zu cases in both logs, %.1f s -> %.1f s\n", comparison->common,
           comparison->seconds_a, comparison->seconds_b);
    for (unsigned kind = 0; kind < MXV_CHANGE_COUNT; kind++)
        printf("%s%zu %s", kind ? ", " : "", comparison->counts[kind], mxv_change_name(kind));
    printf("\n");
}

static int diff_reports(const struct mxv_report *a, const struct mxv_report *b,
                        const struct diff_config *config)
{
    struct mxv_report_comparison comparison;
    if (mxv_report_compare(a, b, &config->tolerance, &comparison) != MXV_OK)
        return cli_usage("diff: out of memory");
    if (!config->quiet) {
        print_heads(a, b);
        print_comparison(&comparison, config->all);
    }
    int status = comparison.counts[MXV_CHANGE_BROKEN] ? 1 : 0;
    mxv_report_comparison_free(&comparison);
    return fflush(stdout) ? cli_usage("writing the report failed") : status;
}

int cli_diff(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "FIRST SECOND",
        "Compares the logs of two runs case by case.\v"
        "Exit status: 1 if the second has failures that the first has not, else 0; 3 if a log "
        "cannot be read.",
        NULL,
        NULL,
        NULL};
    struct diff_config config = {.tolerance = {0, 1.5, 0.1}};
    struct mxv_report a, b;
    char message[MESSAGE];
    cli_parse(&argp, "mxverify diff", argc, argv, &config);
    if (config.count < 2)
        return cli_usage("diff: two logs are needed, as in mxverify diff old.jsonl new.jsonl");
    if (config.all && config.quiet)
        return cli_usage("diff: --all and --quiet: nothing is listed");
    if (mxv_report_read(config.logs[0], &a, message, sizeof message) != MXV_OK)
        return cli_usage("%s", message);
    if (mxv_report_read(config.logs[1], &b, message, sizeof message) != MXV_OK) {
        mxv_report_free(&a);
        return cli_usage("%s", message);
    }
    int status = diff_reports(&a, &b, &config);
    mxv_report_free(&a);
    mxv_report_free(&b);
    return status;
}
