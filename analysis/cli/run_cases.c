// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A run from start to report. In this process cases are verified in chunks on OpenMP threads; with
// workers, in processes (run_workers.c). Either way they are reported in the order of their
// indices, so that log, hash and totals do not depend on threads or workers. An interrupt ends the
// run after the cases in flight, with workers without them (exit status 2); a second one kills it.
#include "cli.h"
#include "interrupt.h"
#include "run.h"
#include <errno.h>
#include <mxverify/report.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 16, REFUSED_PRINTED = 3 };

// What the first interrupt says.
static const char stops_after_cases[] = "\nmxverify: interrupted: the run ends after the cases "
                                        "under way; a second signal ends it now\n";
static const char stops_now[] =
    "\nmxverify: interrupted: the run ends without the cases under way\n";

double run_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Cases of this shard, resumed ones included; SIZE_MAX when there is no end.
static size_t expected_cases(const struct run *run)
{
    const struct mxv_shard *s = &run->config->shard;
    size_t count = run->source->count;
    if (count == SIZE_MAX || s->count <= 1)
        return count;
    return count / s->count + (s->index < count % s->count);
}

void run_progress(struct run *run, bool last)
{
    double t = run_now();
    bool terminal = isatty(2);
    if (run->config->quiet || (!last && t - run->last_progress < (terminal ? 0.2 : 10)))
        return;
    run->last_progress = t;
    size_t bad = 0, fresh = run->totals.done - run->totals.resumed, all = expected_cases(run);
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        if (mxv_verdict_class_of((enum mxv_verdict)v) == MXV_VERDICT_BAD)
            bad += run->totals.counts[v];
    char of[32] = "", left[48] = "";
    double rate = (double)fresh / (t - run->start + 1e-9);
    if (all != SIZE_MAX)
        snprintf(of, sizeof of, "/%zu", all);
    if (terminal && !last && all != SIZE_MAX && fresh && rate > 0)
        snprintf(left, sizeof left, ", %.0f s left", (double)(all - run->totals.done) / rate);
    fprintf(stderr, "%s%zu%s cases, %zu not passed, %.1f s, %.1f cases/s%s%s", terminal ? "\r" : "",
            run->totals.done, of, bad, t - run->start, rate, left, terminal && !last ? "" : "\n");
}

static void print_slot(struct run *run, const struct run_slot *s, const char *id, const char *line)
{
    const struct mxv_verify_result *r = &s->result;
    bool good = mxv_verdict_class_of(r->verdict) == MXV_VERDICT_GOOD;
    bool single = !run->source->tier;
    bool skipped = mxv_verdict_class_of(r->verdict) == MXV_VERDICT_SKIPPED;
    if (run->config->quiet ||
        (good && !single && !run->config->explain && (run->drawn || !r->drawing)) ||
        (s->refused && run->refused++ >= REFUSED_PRINTED))
        return;
    if (isatty(2))
        fprintf(stderr, "\r\033[K");
    printf("%s %s\n  %s\n", id, mxv_verdict_name(r->verdict), line);
    if (r->reason[0])
        printf("  %s\n", r->reason);
    if (r->diagnosis[0])
        printf("  %s\n", r->diagnosis);
    if (r->drawing && !run->drawn) {
        printf("\n%s\n", r->drawing);
        run->drawn = true;
    }
    for (size_t i = 0; i < r->map_count; i++)
        printf("  map: %s\n", r->maps[i]);
    if (!skipped && (single || run->config->explain || !good))
        run_print_bound(r);
    if (!skipped && run->config->explain)
        run_explain(r);
    if (s->refused && run->refused == REFUSED_PRINTED)
        printf("  further cases that cannot take the settings are in the log alone\n");
    fflush(stdout);
}

int run_finish(struct run *run, struct run_slot *s)
{
    char id[MXV_CASE_ID_SIZE];
    char *line = cli_realloc(NULL, MXV_CASE_LINE_SIZE);
    mxv_case_id(&s->c, id);
    mxv_case_print(&s->c, line, MXV_CASE_LINE_SIZE);
    int status = 0;
    if (s->status == MXV_ERR_MEMORY) {
        status = cli_no_memory(line, s->message);
    } else if (s->status != MXV_OK) {
        fprintf(stderr, "mxverify: case %s\n", line);
        status = cli_usage("%s", s->message);
    } else {
        struct run_outcome outcome;
        run_apply_ledger(run, s);
        run_outcome_of(s, &outcome);
        outcome.has_events = run->config->verify.events && outcome.numbers[RUN_WORDS] > 0;
        run_totals_add(&run->totals, &outcome, &s->c);
        print_slot(run, s, id, line);
        status = run_write_record(run, s, id, line);
    }
    mxv_verify_free(&s->result);
    free(line);
    return status;
}

// Whether no further case may start.
static bool must_end(const struct run *run)
{
    double budget = run->config->time_budget;
    return cli_interrupted() || (budget > 0 && run_now() - run->start > budget);
}

bool run_next(struct run *run, uint64_t *index)
{
    const struct run_config *config = run->config;
    if (must_end(run))
        return false;
    while (run->next < run->source->count &&
           (!mxv_shard_has(&config->shard, run->next) ||
            (run->next < run->finished_count && run->finished[run->next])))
        run->next++;
    if (run->next >= run->source->count)
        return false;
    *index = run->next++;
    return true;
}

// A chunk under way: cases end in any order and are reported in theirs.
struct chunk {
    struct run_slot *slots;
    bool done[CHUNK], left_out[CHUNK]; // left out: not begun, since the run had to end
    size_t count, reported;
    int status;
};

// A case that could not be verified or reported ends the run.
static bool chunk_failed(struct chunk *c)
{
    int status;
#pragma omp atomic read
    status = c->status;
    return status != 0;
}

// Reports what has ended without a gap before it. One thread at a time.
static void report_ended(struct run *run, struct chunk *c)
{
    for (; c->reported < c->count && c->done[c->reported]; c->reported++) {
        if (c->left_out[c->reported])
            continue;
        int one = run_finish(run, &c->slots[c->reported]);
        if (c->status == 0 && one != 0) {
#pragma omp atomic write
            c->status = one;
        }
    }
    run_progress(run, false);
}

static void run_chunk(struct run *run, struct chunk *c)
{
#pragma omp parallel for schedule(dynamic) if (c->count > 1)
    for (size_t i = 0; i < c->count; i++) {
        bool begin = !chunk_failed(c) && !must_end(run);
        if (begin) {
            run_slot_make(run, &c->slots[i], c->slots[i].index);
            if (!run_quarantine(run, &c->slots[i]))
                run_slot_verify(run, &c->slots[i]);
        }
#pragma omp critical(mxv_run_report)
        {
            c->done[i] = true;
            c->left_out[i] = !begin;
            report_ended(run, c);
        }
    }
}

static int run_chunks(struct run *run)
{
    struct chunk c = {.slots = cli_realloc(NULL, CHUNK * sizeof *c.slots), .count = 1};
    while (c.status == 0 && c.count > 0) {
        uint64_t index;
        memset(c.done, 0, sizeof c.done);
        c.reported = 0;
        for (c.count = 0; c.count < CHUNK && run_next(run, &index); c.count++)
            c.slots[c.count].index = index;
        run_chunk(run, &c);
    }
    free(c.slots);
    return c.status;
}

static int open_log(struct run *run)
{
    const struct run_config *config = run->config;
    char message[MXV_VERIFY_TEXT];
    bool has_header = false;
    int status = run_lock_log(run);
    if (status == 0 && config->resume)
        status = run_resume(run, &has_header);
    if (status)
        return status;
    if (mxv_log_open(run->log_path, config->resume, &run->log, message, sizeof message) != MXV_OK)
        return cli_usage("%s", message);
    struct mxv_log_judging judging = run_judging_of(config);
    struct mxv_log_header header = {
        .program = "mxverify",
        .version = MXV_VERSION,
        .argc = config->argc,
        .argv = (const char *const *)config->argv,
        .has_seed = run->source->tier != NULL,
        .seed = config->seed,
        .implementation = config->impl_name,
        .reference = "emulation",
        .device = config->device,
        .judging = &judging,
    };
    if (has_header || mxv_log_write_header(run->log, &header, message, sizeof message) == MXV_OK)
        return 0;
    return run_log_failed(message);
}

static int close_log(struct run *run, uint64_t hash, bool failed)
{
    char message[MXV_VERIFY_TEXT];
    if (!run->log)
        return 0;
    run->totals.stopped_early = run->totals.stopped_early || failed;
    int status = run_write_totals(run->log, &run->totals, hash, &run->config->shard);
    if (mxv_log_close(run->log, message, sizeof message) != MXV_OK && status == 0)
        status = run_log_failed(message);
    return status;
}

static int write_reports(const struct run *run)
{
    const struct run_config *config = run->config;
    char message[MXV_VERIFY_TEXT];
    if (!config->junit && !config->html)
        return 0;
    if (mxv_report_write(run->log_path, config->junit, config->html, message, sizeof message) ==
        MXV_OK)
        return 0;
    return cli_usage("%s", message);
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

// Log, ledger and folder; what is in the log of an earlier run.
static int prepare(struct run *run)
{
    const struct run_config *config = run->config;
    bool files = !config->no_log || config->maps != MAPS_NONE;
    snprintf(run->folder, sizeof run->folder, "%s", config->out);
    if (config->shard.count > 1)
        snprintf(run->log_path, sizeof run->log_path, "%s/run-%llu-of-%llu.jsonl", run->folder,
                 (unsigned long long)config->shard.index + 1,
                 (unsigned long long)config->shard.count);
    else
        snprintf(run->log_path, sizeof run->log_path, "%s/%s", run->folder, config->log_name);
    int status = files ? run_make_folder(run->folder) : 0;
    if (status == 0)
        status = run_check_files(run);
    if (status == 0)
        status = run_open_ledger(run);
    if (status == 0 && !config->no_log)
        status = open_log(run);
    return status;
}

// The end of the time is the natural end of a run without a number of cases, once it has one.
static bool stopped_early(const struct run *run)
{
    size_t all = expected_cases(run), done = run->totals.done;
    return cli_interrupted() || (all == SIZE_MAX ? done == 0 : done < all);
}

// A shard beyond the last case has nothing to say, good or bad: 77 instead of 3.
static int empty_shard(const struct run *run)
{
    const struct mxv_shard *s = &run->config->shard;
    if (s->count <= 1 || run->source->count == 0 || expected_cases(run) > 0)
        return 0;
    fprintf(stderr, "mxverify: shard %llu/%llu holds no case\n", (unsigned long long)s->index + 1,
            (unsigned long long)s->count);
    return 77;
}

static int conclude(struct run *run, int status)
{
    run->totals.seconds = run_now() - run->start;
    run->totals.stopped_early = stopped_early(run);
    run->totals.part = run->config->shard.count > 1;
    run_events_judge(&run->totals, run->config->events, run->config->events_tier && status == 0,
                     run->totals.done == expected_cases(run));
    uint64_t hash = run_totals_hash(&run->totals);
    run_progress(run, true);
    int log_status = close_log(run, hash, status != 0);
    if (log_status == 0)
        log_status = write_reports(run);
    if (status || log_status)
        return status ? status : log_status;
    run_report(run->config, &run->totals, hash, run->log ? run->log_path : NULL);
    run_report_ledger(run);
    int covered = coverage_status(run);
    int events = run_events_report(&run->totals, run->config->print_events, run->config->quiet);
    int verdict = mxv_exit_status(run->totals.counts, run->totals.stopped_early);
    if (verdict == 3 && empty_shard(run))
        verdict = 77;
    if (run->expired)
        verdict = 1;
    if (fflush(stdout))
        return cli_usage("writing the report failed: %s", strerror(errno));
    return verdict ? verdict : covered ? covered : events;
}

int run_cases(const struct run_config *config, struct run_source *source)
{
    struct run *run = cli_realloc(NULL, sizeof *run);
    memset(run, 0, sizeof *run);
    run->config = config;
    run->source = source;
    run->start = run->last_progress = run_now();
    run->lock = -1;
    run->threads = (unsigned)omp_get_max_threads();
    if (config->workers) // they are forked: OpenMP's threads started here would be missing there
        omp_set_num_threads(1);
    int status = run_check_settings(run);
    if (status == 0) {
        cli_take_interrupts(config->workers ? stops_now : stops_after_cases);
        status = prepare(run);
    }
    if (status == 0) {
        status = conclude(run, config->workers ? run_workers(run) : run_chunks(run));
    } else {
        mxv_log_close(run->log, NULL, 0);
    }
    if (run->lock >= 0)
        close(run->lock);
    mxv_ledger_free(run->ledger);
    run_totals_free(&run->totals);
    free(run->finished);
    free(run);
    return status;
}
