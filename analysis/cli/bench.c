// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify bench`: speed of the emulation, at every dispatch level that the machine has (MXV_SIMD
// limits it), beside the targets of docs/performance.md and the scalar definitions. Operands are
// random, results are hashed: the hash of a row must not depend on the level, which is checked.
// tests/cli/test_bench.sh holds the ratios above a floor.
#include "bench.h"
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_FILTER = 256, OPT_SECONDS, OPT_LEVEL, OPT_JSON, OPT_IMPL, OPT_SCALING };

static const struct bench_row rows[] = {
#define ROW(group, name, argument, kind, portable, avx2, avx512, vnni, run)                        \
    {group, name, argument, kind, {portable, avx2, avx512, vnni}, run},
#include "bench_rows.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct argp_option argp_options[] = {
    {"filter", OPT_FILTER, "TEXT", 0, "rows whose name or group contains TEXT", 0},
    {"seconds", OPT_SECONDS, "S", 0, "time for one figure of one row; default 0.3", 0},
    {"level", OPT_LEVEL, "NAME", 0, "this dispatch level alone: portable, avx2, avx512 or vnni", 0},
    {"json", OPT_JSON, NULL, 0, "one JSON object for each row and level", 0},
    {"impl", OPT_IMPL, "NAME", 0,
     "cuda: the kernels and quantisers of gpu/ on this machine's device instead", 0},
    {"scaling", OPT_SCALING, NULL, 0,
     "time and memory of emulation and truth from 1,024 to 32,768 tokens instead", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench_options *o = state->input;
    char *end;
    switch (key) {
    case OPT_FILTER:
        o->filter = arg;
        break;
    case OPT_SECONDS:
        errno = 0;
        o->seconds = strtod(arg, &end);
        if (errno || end == arg || *end || !(o->seconds >= 0.001 && o->seconds <= 60))
            argp_failure(state, 3, 0, "--seconds %s: expected seconds from 0.001 to 60", arg);
        break;
    case OPT_LEVEL:
        if (!mxv_simd_find(arg, &o->level) || o->level > mxv_simd_level())
            argp_failure(state, 3, 0, "--level %s: no level of this machine", arg);
        o->one_level = true;
        break;
    case OPT_JSON:
        o->json = true;
        break;
    case OPT_IMPL:
        if (strcmp(arg, "cuda") != 0)
            argp_failure(state, 3, 0, "--impl %s: expected cuda", arg);
        o->cuda = true;
        break;
    case OPT_SCALING:
        o->scaling = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool selected(const struct bench_row *row, const char *filter)
{
    return filter == NULL || strstr(row->name, filter) || strstr(row->group, filter);
}

// Target over measured or the reverse, so that 1 and more is what was wanted; 0 without a target.
static double of_target(const struct bench_row *row, const struct bench_figure *f, double target)
{
    if (target == 0)
        return 0;
    if (row->kind == BENCH_SECONDS)
        return target / f->median;
    return (row->kind == BENCH_RATE ? f->median * 1e-9 : f->median) / target;
}

static void format_figure(const struct bench_row *row, double value, char *text, size_t size)
{
    const char *unit = row->kind == BENCH_SECONDS ? " s" : row->kind == BENCH_RATIO ? " x" : " G/s";
    if (value == 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.3g%s", value, unit);
}

static void print_figure(const struct bench_row *row, const struct bench_figure *f,
                         enum mxv_simd level)
{
    const double unit = row->kind == BENCH_RATE ? 1e-9 : 1;
    char target[32], measured[32], share[32] = "-", ratio[32] = "-";
    format_figure(row, row->target[level], target, sizeof target);
    format_figure(row, f->median * unit, measured, sizeof measured);
    if (row->target[level] > 0)
        snprintf(share, sizeof share, "%.2f", of_target(row, f, row->target[level]));
    if (f->scalar > 0)
        snprintf(ratio, sizeof ratio, "%.3g", f->median / f->scalar);
    printf("| %-32s | %-9s | %-9s | %-5s | %-6s | %-8s |", row->name, target, measured, share,
           ratio, mxv_simd_name(level));
    if (f->note[0])
        printf(" %s", f->note);
    printf("\n");
    fflush(stdout);
}

static void print_json(const struct bench_row *row, const struct bench_figure *f,
                       enum mxv_simd level)
{
    static const char *const kinds[] = {"per_second", "seconds", "ratio"};
    char hash[20];
    const double unit = row->kind == BENCH_RATE ? 1e9 : 1;
    snprintf(hash, sizeof hash, "%016" PRIx64, f->checksum);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:s, s:s}", "group", row->group, "work",
                  row->name, "level", mxv_simd_name(level), "kind", kinds[row->kind], "measured",
                  f->median, "best", f->best, "scalar", f->scalar, "target",
                  row->target[level] * unit, "checksum", hash, "note", f->note);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text)
        printf("%s\n", text);
    free(text);
    json_decref(object);
    fflush(stdout);
}

// Results of a row at two levels that differ: the one thing that bench calls a failure.
static int compare_levels(const struct bench_row *row, const struct bench_figure *f,
                          enum mxv_simd level, uint64_t *first)
{
    if (level == MXV_SIMD_PORTABLE || *first == 0)
        *first = f->checksum;
    if (*first == f->checksum)
        return 0;
    fprintf(stderr, "mxverify bench: %s: the results at level %s differ from the portable ones\n",
            row->name, mxv_simd_name(level));
    return 1;
}

static int run_row(const struct bench_row *row, const struct bench_options *options,
                   enum mxv_simd most)
{
    // whole heads are timed at the level of use only, unless they are asked for by name
    const bool slow = row->kind != BENCH_RATE && options->filter == NULL;
    int status = 0;
    uint64_t checksum = 0;
    const int first = options->one_level ? (int)options->level : slow ? (int)most : 0;
    const int last = options->one_level ? (int)options->level : (int)most;
    for (int level = first; level <= last; level++) {
        struct bench_figure f = {0};
        mxv_simd_limit((enum mxv_simd)level);
        if (row->run(row, options, &f)) {
            if (options->json)
                print_json(row, &f, (enum mxv_simd)level);
            else
                print_figure(row, &f, (enum mxv_simd)level);
            status |= compare_levels(row, &f, (enum mxv_simd)level, &checksum);
        } else {
            fprintf(stderr, "mxverify bench: %s: %s\n", row->name,
                    f.note[0] ? f.note : "could not be measured");
            status = 1;
        }
    }
    mxv_simd_limit(most);
    return status;
}

// Becomes the program of the CUDA build that times kernels and quantisers.
static int run_cuda_bench(void)
{
    char message[8192], *path = cli_beside("cuda_bench", message, sizeof message);
    if (!path)
        return cli_usage("bench --impl cuda: %s", message);
    char *const words[] = {path, NULL};
    execv(path, words);
    return cli_usage("bench --impl cuda: %s: %s", path, strerror(errno));
}

int cli_bench(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options,
        parse,
        NULL,
        "Speed of the emulation and of truth on this machine, beside the targets of "
        "docs/performance.md and the scalar definitions.",
        NULL,
        NULL,
        NULL};
    struct bench_options options = {0};
    const enum mxv_simd most = mxv_simd_level();
    int status = 0, matched = 0;
    cli_parse(&argp, "mxverify bench", argc, argv, &options);
    if ((options.cuda || options.scaling) &&
        (options.cuda == options.scaling || options.filter || options.seconds > 0 ||
         options.one_level || options.json))
        return cli_usage("bench: --impl cuda and --scaling take no other option");
    if (options.seconds == 0)
        options.seconds = 0.3;
    if (options.cuda)
        return run_cuda_bench();
    if (options.scaling)
        return bench_scaling(&options);
    for (int i = 0; i < ROWS; i++)
        matched += selected(&rows[i], options.filter);
    if (matched == 0)
        return cli_usage("bench: no row contains `%s`", options.filter);
    if (!options.json)
        printf("| %-32s | target    | measured  | share | scalar | level    |\n"
               "|----------------------------------|-----------|-----------|-------|--------|-----"
               "-----|\n",
               "work");
    for (int i = 0; i < ROWS; i++)
        if (selected(&rows[i], options.filter))
            status |= run_row(&rows[i], &options, most);
    return status;
}
