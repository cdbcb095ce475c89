// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify shrink`: a failing case, by its line or by its id in a log, made small.
#include "cli.h"
#include "in_child.h"
#include "interrupt.h"
#include <argp.h>
#include <mxverify/impl.h>
#include <mxverify/report.h>
#include <mxverify/shrink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPT_IMPL = 256, OPT_LOG, OPT_TIME, OPT_NO_NUMBERS, OPT_TIMEOUT };

struct shrink_config {
    const char *what, *log, *library;
    struct mxv_shrink_options options;
    bool no_numbers;
    double timeout; // seconds, with an adapter; negative: by --time
    const struct mxv_case *c;
};

static void set_impl(struct argp_state *state, struct shrink_config *c, const char *name)
{
    if (cli_names_library(name)) {
        c->library = name;
        return;
    }
    for (unsigned i = 0; mxv_impl_name(i); i++)
        if (strcmp(mxv_impl_name(i), name) == 0) {
            c->options.verify.impl = (enum mxv_impl)i;
            return;
        }
    argp_failure(state, 3, 0, "--impl %s: no such implementation (mxverify list impls)", name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct shrink_config *c = state->input;
    char *end;
    switch (key) {
    case OPT_IMPL:
        set_impl(state, c, arg);
        return 0;
    case OPT_LOG:
        c->log = arg;
        return 0;
    case OPT_TIME:
        c->options.seconds = strtod(arg, &end);
        if (end == arg || *end || !(c->options.seconds >= 0 && c->options.seconds < 1e9))
            argp_failure(state, 3, 0, "--time %s: expected seconds, 0 for no limit", arg);
        return 0;
    case OPT_TIMEOUT:
        c->timeout = strtod(arg, &end);
        if (end == arg || *end || !(c->timeout >= 0 && c->timeout < 1e9))
            argp_failure(state, 3, 0, "--timeout %s: expected seconds, 0 for no limit", arg);
        return 0;
    case OPT_NO_NUMBERS:
        c->no_numbers = true;
        return 0;
    case ARGP_KEY_ARG:
        if (c->what)
            argp_failure(state, 3, 0, "give one case line, in quotes, or one id");
        c->what = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// 0, or an exit status after a message.
static int read_case(const struct shrink_config *config, struct mxv_case *c)
{
    struct mxv_report report = {0};
    char message[4096] = "";
    const char *line = config->what;
    bool id = cli_is_id(config->what);
    if (id) {
        if (mxv_report_read(config->log, &report, message, sizeof message) != MXV_OK)
            return cli_usage("shrink: %s", message);
        line = NULL;
        for (size_t i = 0; i < report.case_count && !line; i++)
            if (strncmp(report.cases[i].id, config->what, strlen(config->what)) == 0)
                line = report.cases[i].line;
    }
    int status = 0;
    if (!line)
        status = cli_usage("shrink: no case %s in %s", config->what, config->log);
    else if (mxv_case_parse(line, c, message, sizeof message) != MXV_OK)
        status = cli_usage("shrink: %s", message);
    if (id)
        mxv_report_free(&report);
    return status;
}

static const char stops_shrinking[] =
    "\nmxverify: interrupted: what is found is printed after the case under way; a second signal "
    "ends this now\n";

static bool stop_asked(void *ctx)
{
    (void)ctx;
    return cli_interrupted();
}

// Each step on a terminal; elsewhere one in ten seconds.
static void show_step(void *ctx, const struct mxv_case *c, size_t tries)
{
    char line[MXV_CASE_LINE_SIZE];
    struct timespec now;
    time_t *last = ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!isatty(2) && now.tv_sec - *last < 10)
        return;
    *last = now.tv_sec;
    mxv_case_print(c, line, sizeof line);
    fprintf(stderr, "%5zu  %s\n", tries, line);
}

static void show_size(const char *name, const struct mxv_case_size *s)
{
    printf("%-7s %llu score tiles, %llu scores, %llu tensor elements, %llu options not at their "
           "defaults\n",
           name, (unsigned long long)s->tiles, (unsigned long long)s->scores,
           (unsigned long long)s->elements, (unsigned long long)s->options);
}

static int show(const struct shrink_config *config, const struct mxv_shrink_result *r)
{
    char line[MXV_CASE_LINE_SIZE], message[MXV_VERIFY_TEXT];
    mxv_case_print(&r->c, line, sizeof line);
    printf("%s\n  %s %s\n", line, mxv_verdict_name(r->verified.verdict), r->verified.reason);
    if (r->verified.diagnosis[0])
        printf("  %s\n", r->verified.diagnosis);
    show_size("before:", &r->before);
    show_size("after:", &r->after);
    printf("%zu cases tried, %zu steps taken; %s\n", r->tries, r->steps,
           r->fixed_point   ? "nothing simpler fails in this way"
           : r->interrupted ? "interrupted, a smaller case may exist"
                            : "time was over (--time) or memory short, a smaller case may exist");
    fflush(stdout);
    bool interrupted = r->interrupted || cli_interrupted();
    if (config->no_numbers || interrupted)
        return interrupted ? 2 : 0;
    struct mxv_verify_options verify = config->options.verify;
    if (r->c.faults)
        verify.impl = MXV_IMPL_EMULATION;
    char *numbers = mxv_shrink_numbers(&r->c, &verify, &r->verified, message, sizeof message);
    if (!numbers)
        return cli_usage("shrink: %s", message);
    printf("\n%s", numbers);
    free(numbers);
    return 0;
}

static int run_shrink(void *ctx, char *line, size_t size)
{
    struct shrink_config *config = ctx;
    struct mxv_shrink_result *result = cli_realloc(NULL, sizeof *result);
    struct mxv_adapter *adapter = NULL;
    char message[4096] = "";
    enum mxv_status status = MXV_OK;
    if (config->library)
        status = mxv_adapter_open(config->library, &adapter, message, sizeof message);
    if (adapter)
        mxv_adapter_watch(adapter, line, size);
    config->options.verify.adapter = adapter;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    time_t last = start.tv_sec;
    config->options.step = show_step;
    config->options.stop = stop_asked;
    config->options.ctx = &last;
    if (status == MXV_OK)
        status = mxv_shrink_case(config->c, &config->options, result, message, sizeof message);
    int exit_status = status == MXV_OK ? show(config, result) : cli_usage("shrink: %s", message);
    if (status != MXV_OK && result->interrupted)
        exit_status = 2;
    mxv_adapter_close(adapter);
    free(result);
    if (exit_status != 3 && fflush(stdout))
        exit_status = cli_usage("shrink: writing failed");
    return exit_status;
}

int cli_shrink(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"impl", OPT_IMPL, "NAME|./LIB.so", 0,
         "implementation, default plain; emulation for a case with fault=", 1},
        {"log", OPT_LOG, "FILE", 0, "log in which an id is looked up, default out/run.jsonl", 1},
        {"time", OPT_TIME, "SECONDS", 0, "time limit, default 120, 0: none", 1},
        {"timeout", OPT_TIMEOUT, "SECONDS", 0,
         "with an adapter, when it is killed; default --time + 120, 0: no limit", 1},
        {"no-numbers", OPT_NO_NUMBERS, NULL, 0, "leave the numbers of the small case out", 1},
        {0},
    };
    static const struct argp argp = {options,
                                     parse,
                                     "'CASE LINE' | ID",
                                     "Makes a failing case small: fewer sequences, heads, tokens, "
                                     "channels and options, plainer data, with the same verdict "
                                     "and the same stage of the first difference. Prints the case "
                                     "and its numbers for a check by hand.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct shrink_config config = {
        .log = "out/run.jsonl", .options = {.seconds = 120}, .timeout = -1};
    struct mxv_case *c = cli_realloc(NULL, sizeof *c);
    cli_parse(&argp, "mxverify shrink", argc, argv, &config);
    int status =
        config.what ? read_case(&config, c) : cli_usage("shrink: the case line or id is missing");
    if (status == 0 && config.timeout >= 0 && !config.library)
        status = cli_usage("shrink: --timeout goes with an adapter; --time limits the search");
    if (config.timeout < 0)
        config.timeout = config.options.seconds > 0 ? config.options.seconds + 120 : 0;
    config.c = c;
    const struct child_work work = {.verb = "shrink",
                                    .timeout = config.timeout,
                                    .ends_in_order = true,
                                    .run = run_shrink,
                                    .ctx = &config};
    if (status == 0)
        cli_take_interrupts(stops_shrinking);
    if (status == 0)
        status = config.library ? cli_in_child(&work) : run_shrink(&config, NULL, 0);
    free(c);
    return status;
}
