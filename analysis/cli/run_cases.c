// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The loop of a run: cases are verified in chunks on OpenMP threads and reported in their order, so
// that log, hash and totals do not depend on the number of threads. An interrupt ends the run after
// the chunk in flight (exit status 2).
#include "cli.h"
#include "run.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { CHUNK = 16 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

struct slot {
    struct mxv_case c;
    struct mxv_verify_result result;
    enum mxv_status status;
    char message[MXV_VERIFY_TEXT];
};

struct run {
    const struct run_config *config;
    struct run_source *source;
    struct run_totals totals;
    struct mxv_log *log;
    XXH3_state_t *hash;
    double start, last_progress;
    char folder[1024];
    bool drawn;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int run_make_folder(const char *path)
{
    char part[1024];
    if (strlen(path) >= sizeof part)
        return cli_usage("--out %.60s...: the path is too long", path);
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            return cli_usage("--out %s: cannot make folder %s: %s", path, part, strerror(errno));
    }
    struct stat info;
    if (stat(path, &info) || !S_ISDIR(info.st_mode) || access(path, W_OK | X_OK))
        return cli_usage("--out %s: not a folder that can be written", path);
    return 0;
}

static void progress(struct run *run, bool last)
{
    double t = now();
    bool terminal = isatty(2);
    if (run->config->quiet || (!last && t - run->last_progress < (terminal ? 0.2 : 10)))
        return;
    run->last_progress = t;
    size_t bad = 0;
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        if (mxv_verdict_class_of((enum mxv_verdict)v) == MXV_VERDICT_BAD)
            bad += run->totals.counts[v];
    char of[32] = "";
    if (run->source->count != SIZE_MAX)
        snprintf(of, sizeof of, "/%zu", run->source->count);
    fprintf(stderr, "%s%zu%s cases, %zu not passed, %.1f s, %.1f cases/s%s", terminal ? "\r" : "",
            run->totals.done, of, bad, t - run->start,
            (double)run->totals.done / (t - run->start + 1e-9), terminal && !last ? "" : "\n");
}

static void apply_settings(const struct run_config *config, struct slot *s)
{
    for (size_t i = 0; s->status == MXV_OK && i < config->setting_count; i++)
        s->status = mxv_case_set(&s->c, config->settings[i], s->message, sizeof s->message);
    if (s->status == MXV_OK && config->setting_count)
        s->status = mxv_case_check(&s->c, s->message, sizeof s->message);
}

static void verify_slot(const struct run *run, struct slot *s, size_t index)
{
    const struct run_config *config = run->config;
    struct mxv_verify_options options = config->verify;
    s->status = MXV_OK;
    if (run->source->tier)
        mxv_tier_case(run->source->tier, index, &s->c);
    else
        s->c = run->source->single;
    apply_settings(config, s);
    bool first = index < RUN_MAPS_AUTO || s->c.input[0];
    options.map_folder = config->maps == MAPS_NONE ? NULL : run->folder;
    options.maps_on_pass = config->maps == MAPS_ALL || (config->maps == MAPS_AUTO && first);
    if (s->c.faults)
        options.impl = MXV_IMPL_EMULATION;
    memset(&s->result, 0, sizeof s->result);
    if (s->status == MXV_OK)
        s->status = mxv_verify_case(&s->c, &options, &s->result, s->message, sizeof s->message);
    if (s->status == MXV_ERR_UNSUPPORTED) {
        s->result.verdict = MXV_VERDICT_UNSUPPORTED;
        snprintf(s->result.reason, sizeof s->result.reason, "%s", s->message);
        s->status = MXV_OK;
    }
}

static int log_slot(struct run *run, const struct slot *s, const char *id, const char *line)
{
    const struct mxv_verify_result *r = &s->result;
    char message[MXV_VERIFY_TEXT], hash[20];
    const char *maps[MXV_VERIFY_MAPS];
    for (size_t i = 0; i < r->map_count; i++)
        maps[i] = r->maps[i];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)r->output_hash);
    const struct mxv_log_metrics metrics[] = {{"out.inputs", &r->against_inputs},
                                              {"out.operands", &r->against_operands}};
    const struct mxv_log_number numbers[] = {
        {"bound_ratio", r->worst_bound_ratio}, {"taps", (double)r->taps},
        {"words", (double)r->words},           {"truth_rows", (double)r->truth_rows},
        {"rows", (double)r->truth_rows_total}, {"undefined_rows", (double)r->undefined_rows},
    };
    const struct mxv_log_text texts[] = {{"output_hash", hash}};
    struct mxv_log_case record = {
        .id = id,
        .line = line,
        .verdict = r->verdict,
        .reason = r->reason[0] ? r->reason : NULL,
        .seconds = r->seconds,
        .first = r->verdict == MXV_VERDICT_FAIL ? &r->first : NULL,
        .element = r->element.rows ? &r->element : NULL,
        .element_format = r->element_format,
        .metrics_count = r->has_truth ? 2 : 0,
        .metrics = metrics,
        .numbers_count = sizeof numbers / sizeof numbers[0],
        .numbers = numbers,
        .texts_count = 1,
        .texts = texts,
        .maps_count = r->map_count,
        .maps = maps,
    };
    if (!run->log || mxv_log_write_case(run->log, &record, message, sizeof message) == MXV_OK)
        return 0;
    return cli_usage("%s", message);
}

static void add_totals(struct run *run, const struct slot *s)
{
    const struct mxv_verify_result *r = &s->result;
    struct run_totals *t = &run->totals;
    enum mxv_kernel k = s->c.kernel;
    t->counts[r->verdict]++;
    t->by_kernel[k][r->verdict]++;
    t->done++;
    t->maps += r->map_count;
    t->words[k] += r->words;
    t->truth_rows[k] += r->truth_rows;
    t->truth_rows_total[k] += r->has_truth ? r->truth_rows_total : 0;
    for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++)
        t->tiles[k][route] += r->tiles[route];
    double inputs = mxv_metric_value(&r->against_inputs, MXV_METRIC_REL_L2);
    double operands = mxv_metric_value(&r->against_operands, MXV_METRIC_REL_L2);
    if (r->has_truth && inputs > t->rel_l2_inputs[k])
        t->rel_l2_inputs[k] = inputs;
    if (r->has_truth && operands > t->rel_l2_operands[k])
        t->rel_l2_operands[k] = operands;
    if (r->worst_bound_ratio > t->bound_ratio[k])
        t->bound_ratio[k] = r->worst_bound_ratio;
    mxv_coverage_add(&t->coverage, &s->c, r->routes);
    XXH3_64bits_update(run->hash, &r->output_hash, sizeof r->output_hash);
}

static void print_slot(struct run *run, const struct slot *s, const char *id, const char *line)
{
    const struct mxv_verify_result *r = &s->result;
    bool good = mxv_verdict_class_of(r->verdict) == MXV_VERDICT_GOOD;
    bool single = !run->source->tier;
    if (run->config->quiet || (good && !single && (run->drawn || !r->drawing)))
        return;
    if (isatty(2))
        fprintf(stderr, "\r\033[K");
    printf("%s %s\n  %s\n", id, mxv_verdict_name(r->verdict), line);
    if (r->reason[0])
        printf("  %s\n", r->reason);
    if (r->drawing && !run->drawn) {
        printf("\n%s\n", r->drawing);
        run->drawn = true;
    }
    for (size_t i = 0; i < r->map_count; i++)
        printf("  map: %s\n", r->maps[i]);
    fflush(stdout);
}

static int finish_slot(struct run *run, struct slot *s)
{
    char id[MXV_CASE_ID_SIZE];
    char *line = cli_realloc(NULL, MXV_CASE_LINE_SIZE);
    mxv_case_id(&s->c, id);
    mxv_case_print(&s->c, line, MXV_CASE_LINE_SIZE);
    int status = 0;
    if (s->status != MXV_OK) {
        fprintf(stderr, "mxverify: case %s\n", line);
        status = cli_usage("%s", s->message);
    } else {
        add_totals(run, s);
        print_slot(run, s, id, line);
        status = log_slot(run, s, id, line);
    }
    mxv_verify_free(&s->result);
    free(line);
    return status;
}

static int run_chunks(struct run *run)
{
    struct slot *slots = cli_realloc(NULL, CHUNK * sizeof *slots);
    size_t next = 0;
    int status = 0;
    while (status == 0 && next < run->source->count && !interrupted) {
        size_t left = run->source->count - next, n = left < CHUNK ? left : CHUNK;
        if (run->config->time_budget > 0 && now() - run->start > run->config->time_budget)
            break;
#pragma omp parallel for schedule(dynamic) if (n > 1)
        for (size_t i = 0; i < n; i++)
            verify_slot(run, &slots[i], next + i);
        for (size_t i = 0; i < n; i++) {
            int one = finish_slot(run, &slots[i]);
            status = status ? status : one;
        }
        next += n;
        progress(run, false);
    }
    run->totals.stopped_early = interrupted;
    free(slots);
    return status;
}

static int open_log(struct run *run)
{
    const struct run_config *config = run->config;
    char path[1100], message[MXV_VERIFY_TEXT];
    snprintf(path, sizeof path, "%s/%s", run->folder, config->log_name);
    if (mxv_log_open(path, false, &run->log, message, sizeof message) != MXV_OK)
        return cli_usage("%s", message);
    struct mxv_log_header header = {
        .program = "mxverify",
        .version = MXV_VERSION,
        .argc = config->argc,
        .argv = (const char *const *)config->argv,
        .has_seed = run->source->tier != NULL,
        .seed = config->seed,
        .implementation = mxv_impl_name(config->verify.impl),
        .reference = "emulation",
    };
    if (mxv_log_write_header(run->log, &header, message, sizeof message) == MXV_OK)
        return 0;
    return cli_usage("%s", message);
}

static int close_log(struct run *run, uint64_t hash, bool failed)
{
    char text[20], message[MXV_VERIFY_TEXT];
    int status = 0;
    if (!run->log)
        return 0;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    struct mxv_log_totals totals = {.stopped_early = run->totals.stopped_early || failed,
                                    .seconds = run->totals.seconds,
                                    .hash = text};
    memcpy(totals.counts, run->totals.counts, sizeof totals.counts);
    if (mxv_log_write_totals(run->log, &totals, message, sizeof message) != MXV_OK)
        status = cli_usage("%s", message);
    if (mxv_log_close(run->log, message, sizeof message) != MXV_OK && status == 0)
        status = cli_usage("%s", message);
    return status;
}

static void print_missing(void *ctx, const char *what)
{
    (void)ctx;
    printf("  never met: %s\n", what);
}

static int coverage_status(const struct run *run)
{
    unsigned kernels = 0;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (run->totals.coverage.cases[k])
            kernels |= 1u << k;
    if (run->config->print_coverage) {
        size_t size = mxv_coverage_print(&run->totals.coverage, NULL, 0) + 1;
        char *text = cli_realloc(NULL, size);
        mxv_coverage_print(&run->totals.coverage, text, size);
        printf("\n%s", text);
        free(text);
    }
    if (!run->config->require_coverage)
        return 0;
    size_t missing =
        mxv_coverage_missing(&run->totals.coverage, kernels, false, print_missing, NULL);
    printf("coverage: %zu option values of the kernels run were never met\n", missing);
    return missing ? 1 : 0;
}

int run_cases(const struct run_config *config, struct run_source *source)
{
    struct run run = {.config = config, .source = source, .start = now()};
    bool files = !config->no_log || config->maps != MAPS_NONE;
    run.last_progress = run.start;
    snprintf(run.folder, sizeof run.folder, "%s", config->out);
    int status = files ? run_make_folder(run.folder) : 0;
    if (status == 0 && !config->no_log)
        status = open_log(&run);
    if (status)
        return status;
    run.hash = XXH3_createState();
    XXH3_64bits_reset(run.hash);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    status = run_chunks(&run);
    run.totals.seconds = now() - run.start;
    uint64_t hash = XXH3_64bits_digest(run.hash);
    XXH3_freeState(run.hash);
    progress(&run, true);
    int log_status = close_log(&run, hash, status != 0);
    if (status || log_status)
        return status ? status : log_status;
    run_report(config, &run.totals, hash);
    int covered = coverage_status(&run);
    int verdict = mxv_exit_status(run.totals.counts, run.totals.stopped_early);
    if (fflush(stdout))
        return cli_usage("writing the report failed: %s", strerror(errno));
    return verdict ? verdict : covered;
}
