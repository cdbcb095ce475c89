// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify selftest`: the judge on trial. --faults: every fault on every kernel it applies to,
// must be caught within the quick tier and blamed on a stage of its row. --healthy N: N fuzz cases
// of the second emulation with exact attention; every one that does not pass is a false alarm.
#include "cli.h"
#include <mxverify/selftest.h>
#include <mxverify/verify.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_RIGHT_PERCENT = 90 };

struct arguments {
    struct mxv_selftest_options faults;
    bool run_faults, markdown;
    size_t healthy;
    uint64_t seed;
};

static int help(void)
{
    printf(
        "Usage: mxverify selftest --faults [--kernel K] [--fault F] [--count N]\n"
        "       mxverify selftest --healthy N [--kernel K] [--seed S]\n"
        "       mxverify selftest --markdown\n\n"
        "  --faults       switch on each fault of `mxverify list faults`, alone, in the emulation\n"
        "                 of each kernel it applies to, and run the quick tier until a case is\n"
        "                 caught; fails if one is missed, or fewer than %d%% are blamed on the\n"
        "                 right stage\n"
        "  --kernel K     one kernel only\n"
        "  --fault F      one fault only\n"
        "  --count N      at most N cases for each kernel\n"
        "  --healthy N    N fuzz cases on the healthy kernels; fails on a false alarm\n"
        "  --seed S       seed of the fuzz cases, hexadecimal (default 1)\n"
        "  --markdown     print the table of docs/faults.md\n",
        LEAST_RIGHT_PERCENT);
    return 0;
}

static void cell_text(const struct mxv_selftest_cell *cell, char *text, size_t size)
{
    if (!cell->applies)
        snprintf(text, size, ".");
    else if (!cell->caught)
        snprintf(text, size, "MISSED in %zu", cell->cases);
    else
        snprintf(text, size, "%s %zu %s%s", cell->tier, cell->cases,
                 mxv_choice_name(MXV_CHOICE_STAGE, cell->stage), cell->right_stage ? "" : " (!)");
}

static void print_table(const struct mxv_selftest_faults *result)
{
    char text[64];
    printf("%-22s", "fault");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        printf(" %-20s", mxv_choice_name(MXV_CHOICE_KERNEL, k));
    printf("\n");
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        bool any = false;
        for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
            any = any || result->cells[k][f].applies;
        if (!any)
            continue;
        printf("%-22s", mxv_fault_get((enum mxv_fault)f)->name);
        for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
            cell_text(&result->cells[k][f], text, sizeof text);
            printf(" %-20s", text);
        }
        printf("\n");
    }
    printf("\nA cell: tier and number of the first case that tells the broken kernel from the "
           "healthy one,\nstage of the first difference ((!): not one that the fault names); `.`: "
           "does not apply.\n");
}

static int run_faults(const struct arguments *args)
{
    char message[MXV_VERIFY_TEXT] = "";
    struct mxv_selftest_faults *r = cli_realloc(NULL, sizeof *r);
    enum mxv_status status = mxv_selftest_faults(&args->faults, r, message, sizeof message);
    if (status != MXV_OK) {
        free(r);
        return cli_usage("selftest: %s", message);
    }
    if (r->applicable == 0) {
        free(r);
        printf("no fault applies: skipped\n");
        return 77;
    }
    print_table(r);
    double percent = r->caught ? 100.0 * (double)r->right_stage / (double)r->caught : 0;
    bool good = r->caught == r->applicable && percent >= LEAST_RIGHT_PERCENT;
    printf("%zu of %zu faults x kernels caught, %zu (%.1f%%) at the right stage, in %.1f s: %s\n",
           r->caught, r->applicable, r->right_stage, percent, r->seconds, good ? "pass" : "fail");
    free(r);
    return good ? 0 : 1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// What bounds say of one case: largest error over its bound, and the median bound over the largest
// error; negative where nothing was judged or nothing differs from the truth.
struct tightness {
    double ratio, slack;
};

static struct tightness tightness_of(const struct mxv_verify_result *r)
{
    bool judged = r->bound.available && r->bound.elements > 0;
    bool inexact = judged && r->bound.error_max > 0;
    return (struct tightness){judged ? r->bound.ratio : -1,
                              inexact ? r->bound.bound_median / r->bound.error_max : -1};
}

// Returns 1 for a false alarm; *exit_status is 3 where memory was short.
static size_t healthy_case(const struct mxv_tier *tier, size_t i, struct tightness *t,
                           int *exit_status)
{
    const struct mxv_verify_options options = {
        .impl = MXV_IMPL_PLAIN, .truth = true, .truth_scores = 100000};
    struct mxv_verify_result result;
    struct mxv_case c;
    char message[MXV_VERIFY_TEXT] = "", line[MXV_CASE_LINE_SIZE];
    mxv_tier_case(tier, i, &c);
    enum mxv_status status = mxv_verify_case(&c, &options, &result, message, sizeof message);
    bool lacking = status == MXV_ERR_MEMORY, bad = status != MXV_OK && !lacking;
    bool alarm = bad || (!lacking && mxv_verdict_class_of(result.verdict) != MXV_VERDICT_GOOD);
    *t = status == MXV_OK ? tightness_of(&result) : (struct tightness){-1, -1};
    if (alarm || lacking)
        mxv_case_print(&c, line, sizeof line);
    if (lacking) {
#pragma omp critical(selftest_print)
        *exit_status = cli_no_memory(line, message);
    }
    if (alarm) {
#pragma omp critical(selftest_print)
        printf("false alarm: %s\n  %s\n", line, status == MXV_OK ? result.reason : message);
    }
    mxv_verify_free(&result);
    return alarm;
}

// Median and greatest of the values of n cases that are not negative, sorted in place.
static size_t summarise(double *x, size_t n, double *median, double *greatest)
{
    size_t none = 0;
    qsort(x, n, sizeof *x, by_value);
    while (none < n && x[none] < 0)
        none++;
    *median = none < n ? x[none + (n - none) / 2] : 0;
    *greatest = none < n ? x[n - 1] : 0;
    return n - none;
}

static void print_tightness(const struct tightness *t, size_t n)
{
    double *x = cli_realloc(NULL, n * sizeof *x), median, greatest;
    for (size_t i = 0; i < n; i++)
        x[i] = t[i].ratio;
    size_t judged = summarise(x, n, &median, &greatest);
    printf("largest error / its bound: median %.3g, greatest %.3g over %zu cases judged\n", median,
           greatest, judged);
    for (size_t i = 0; i < n; i++)
        x[i] = t[i].slack;
    judged = summarise(x, n, &median, &greatest);
    printf("median bound / largest error: median %.3g, greatest %.3g over %zu cases with an "
           "error\n",
           median, greatest, judged);
    free(x);
}

static int run_healthy(const struct arguments *args)
{
    struct mxv_tier *tier;
    char message[MXV_VERIFY_TEXT];
    size_t alarms = 0, n = args->healthy;
    const struct mxv_tier_options o = {
        .tier = "fuzz", .kernel = args->faults.kernel, .seed = args->seed, .count = n};
    if (mxv_tier_open(&o, &tier, message, sizeof message) != MXV_OK)
        return cli_usage("selftest: %s", message);
    struct tightness *t = cli_realloc(NULL, n * sizeof *t);
    int short_of_memory = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : alarms)
    for (size_t i = 0; i < n; i++)
        alarms += healthy_case(tier, i, &t[i], &short_of_memory);
    mxv_tier_close(tier);
    if (!short_of_memory) {
        print_tightness(t, n);
        printf("%zu fuzz cases on healthy kernels, %zu false alarms: %s\n", n, alarms,
               alarms ? "fail" : "pass");
    }
    free(t);
    return short_of_memory ? short_of_memory : alarms ? 1 : 0;
}

static void markdown_kernels(unsigned kernels)
{
    const char *comma = "";
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (kernels >> k & 1) {
            printf("%s%s", comma, mxv_choice_name(MXV_CHOICE_KERNEL, k));
            comma = ", ";
        }
}

static int print_markdown(void)
{
    printf("| fault | what is wrong | shows at | kernels | source | a case |\n"
           "|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < MXV_FAULT_COUNT; i++) {
        const struct mxv_fault_info *f = mxv_fault_get((enum mxv_fault)i);
        printf("| `%s` | ", f->name);
        for (const char *c = f->text; *c; c++)
            printf(*c == '|' ? "\\%c" : "%c", *c);
        printf(" | `%s`", mxv_choice_name(MXV_CHOICE_STAGE, f->stage));
        for (unsigned s = 0; s < MXV_STAGE_COUNT; s++)
            if (s != (unsigned)f->stage && f->stages >> s & 1)
                printf(", `%s`", mxv_choice_name(MXV_CHOICE_STAGE, s));
        printf(" | ");
        markdown_kernels(f->kernels);
        printf(" | %s | `%s` |\n", f->source, f->trigger);
    }
    return 0;
}

static bool read_size(const char *text, int base, uint64_t *value)
{
    char *end;
    if (!text || !text[0] || text[0] == '-')
        return false;
    *value = strtoull(text, &end, base);
    return *end == '\0';
}

// Reads the option at argv[*i], which may take the next word. 0, or an exit status.
static int read_option(int argc, char **argv, int *i, struct arguments *args)
{
    const char *name = argv[*i], *value = *i + 1 < argc ? argv[*i + 1] : NULL;
    uint64_t number = 0;
    bool seed = strcmp(name, "--seed") == 0;
    if (strcmp(name, "--faults") == 0) {
        args->run_faults = true;
        return 0;
    }
    if (strcmp(name, "--markdown") == 0) {
        args->markdown = true;
        return 0;
    }
    if (!value)
        return cli_usage("selftest: `%s` is not understood or misses its value; see mxverify "
                         "selftest --help",
                         name);
    ++*i;
    if (strcmp(name, "--kernel") == 0)
        args->faults.kernel = value;
    else if (strcmp(name, "--fault") == 0)
        args->faults.fault = value;
    else if (!seed && strcmp(name, "--count") != 0 && strcmp(name, "--healthy") != 0)
        return cli_usage("selftest: `%s` is not understood; see mxverify selftest --help", name);
    else if (!read_size(value, seed ? 16 : 10, &number) || (!seed && number == 0))
        return cli_usage("selftest: %s %s: not a %s", name, value,
                         seed ? "hexadecimal number" : "positive number");
    if (seed)
        args->seed = number;
    else if (strcmp(name, "--count") == 0)
        args->faults.count = number;
    else if (strcmp(name, "--healthy") == 0)
        args->healthy = number;
    return 0;
}

// Names first: what is missing beside a name that does not exist is no help.
static int check_names(const struct mxv_selftest_options *o)
{
    enum mxv_fault fault;
    unsigned kernel;
    if (o->kernel && strcmp(o->kernel, "all") != 0 &&
        !mxv_choice_find(MXV_CHOICE_KERNEL, o->kernel, &kernel))
        return cli_usage("selftest: --kernel %s: no such kernel (mxverify list kernels)",
                         o->kernel);
    if (o->fault && !mxv_fault_find(o->fault, &fault))
        return cli_usage("selftest: --fault %s: no such fault (mxverify list faults)", o->fault);
    return 0;
}

int cli_selftest(int argc, char **argv)
{
    struct arguments args = {.seed = 1};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help();
        int status = read_option(argc, argv, &i, &args);
        if (status)
            return status;
    }
    int wrong = check_names(&args.faults);
    if (wrong)
        return wrong;
    if (args.markdown)
        return print_markdown();
    if (!args.run_faults && !args.healthy)
        return cli_usage("selftest: --faults or --healthy N is missing; see mxverify selftest "
                         "--help");
    if (args.faults.fault && !args.run_faults)
        return cli_usage("selftest: --fault %s goes with --faults", args.faults.fault);
    int status = args.run_faults ? run_faults(&args) : 0;
    if (args.healthy && (status == 0 || status == 1 || status == 77)) {
        int healthy = run_healthy(&args);
        status = status == 77 || healthy ? healthy : status;
    }
    return fflush(stdout) ? cli_usage("selftest: writing failed") : status;
}
