// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of `mxverify bench` for one head: emulation of `dma`, truth, and plain MPFR on a sample of
// rows; and `--scaling`. Times are wall time, the least of the repetitions being the best. Truth
// that would take longer than ROW_BUDGET is measured on evenly spread query rows and scaled by the
// score elements, which the note says.
#include "bench.h"
#include "bench_head.h"
#include "cli.h"
#include <math.h>
#include <mxverify/case.h>
#include <mxverify/truth.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOKENS = 4096, MESSAGE = 512, REPETITIONS = 5, PROBE_ROWS = 16, PLAIN_ROWS = 4, PAIRS = 9 };
static const double row_budget = 20, least_seconds = 0.3;
// Rows of the table are timed by the wall clock, `--scaling` by the processor time of all threads.
static clockid_t stopwatch = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(stopwatch, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// A causal head; its `rows` query rows are the last ones of the sequence.
static bool open_rows(size_t rows, size_t tokens, struct mxv_case_data *data, char *message)
{
    char line[128];
    struct mxv_case c;
    snprintf(line, sizeof line, "dma lq=%zu lk=%zu d=128 mask=causal hq=1 hk=1 seed=1", rows,
             tokens);
    return mxv_case_parse(line, &c, message, MESSAGE) == MXV_OK &&
           mxv_case_build(&c, data, message, MESSAGE) == MXV_OK;
}

static bool open_head(size_t tokens, struct mxv_case_data *data, char *message)
{
    return open_rows(tokens, tokens, data, message);
}

// Seconds of one emulation; negative when refused.
static double engine_seconds(const struct mxv_attention *a, int threads, uint32_t *out,
                             char *message)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    const double start = now();
    const int status = mxv_engine_head(a, 0, 0, out, NULL, NULL, message, MESSAGE);
    const double seconds = now() - start;
    omp_set_num_threads(before);
    return status ? -1 : seconds;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool time_engine(size_t tokens, int threads, struct bench_figure *figure)
{
    struct mxv_case_data data;
    char message[MESSAGE];
    double seconds[REPETITIONS], processor = 0;
    bool good = open_head(tokens, &data, message);
    uint32_t *out = cli_realloc(NULL, tokens * 128 * sizeof *out);
    for (int i = 0; good && i < REPETITIONS; i++) {
        const double before = processor_seconds();
        seconds[i] = engine_seconds(&data.a, threads, out, message);
        const double used = processor_seconds() - before;
        processor = i == 0 || used < processor ? used : processor;
        good = seconds[i] >= 0;
    }
    if (good) {
        qsort(seconds, REPETITIONS, sizeof *seconds, compare_doubles);
        figure->median = seconds[REPETITIONS / 2];
        figure->best = seconds[0];
        figure->checksum = bench_mix(0, out, tokens * 128 * sizeof *out);
        snprintf(figure->note, BENCH_NOTE, "best %.3f s, processor time %.3f s", seconds[0],
                 processor);
    } else {
        snprintf(figure->note, BENCH_NOTE, "%.150s", message);
    }
    free(out);
    mxv_case_free(&data);
    return good;
}

bool bench_engine(const struct bench_row *row, const struct bench_options *options,
                  struct bench_figure *figure)
{
    (void)options;
    return time_engine(TOKENS, atoi(row->argument), figure);
}

// Seconds of one of `calls` emulations in a row; negative when refused.
static double repeated_seconds(const struct mxv_attention *a, int threads, size_t calls,
                               uint32_t *out, char *message)
{
    double total = 0;
    for (size_t i = 0; i < calls; i++) {
        const double once = engine_seconds(a, threads, out, message);
        if (once < 0)
            return -1;
        total += once;
    }
    return total / (double)calls;
}

// Timings of one thread and of two by turns, so that what else the host does meets both: PAIRS
// neighbouring timings of at least least_seconds each. False when refused.
static bool time_pairs(const struct mxv_attention *a, uint32_t *out[2], double seconds[2][PAIRS],
                       double processor[2], char *message)
{
    processor[0] = processor[1] = 0;
    const double once = engine_seconds(a, 2, out[1], message);
    if (once < 0)
        return false;
    const size_t calls = once < least_seconds ? (size_t)(least_seconds / once) + 1 : 1;
    for (int i = 0; i < PAIRS; i++)
        for (int turn = 0; turn < 2; turn++) {
            const int n = (turn + i) % 2; // 1 2, 2 1, 1 2: a drift of the host cancels
            const double before = processor_seconds();
            seconds[n][i] = repeated_seconds(a, n + 1, calls, out[n], message);
            processor[n] += (processor_seconds() - before) / (double)(calls * PAIRS);
            if (seconds[n][i] < 0)
                return false;
        }
    return true;
}

// The median of the ratios of neighbouring timings; their spread goes to the note.
// processor: seconds of one emulation, all threads together.
static void judge_pairs(double seconds[2][PAIRS], const double processor[2],
                        struct bench_figure *figure)
{
    double ratio[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        ratio[i] = seconds[0][i] / seconds[1][i];
    qsort(ratio, PAIRS, sizeof *ratio, compare_doubles);
    for (int n = 0; n < 2; n++)
        qsort(seconds[n], PAIRS, sizeof *seconds[n], compare_doubles);
    figure->median = ratio[PAIRS / 2];
    figure->best = ratio[PAIRS - 1];
    snprintf(
        figure->note, BENCH_NOTE,
        "%d pairs, %.3f to %.3f, quartiles %.3f %.3f; %.3f s, %.3f s; processor %.3f s, %.3f s",
        PAIRS, ratio[0], ratio[PAIRS - 1], ratio[PAIRS / 4], ratio[PAIRS - 1 - PAIRS / 4],
        seconds[0][PAIRS / 2], seconds[1][PAIRS / 2], processor[0], processor[1]);
}

bool bench_threads(const struct bench_row *row, const struct bench_options *options,
                   struct bench_figure *figure)
{
    const size_t size = (size_t)TOKENS * 128 * sizeof(uint32_t);
    double seconds[2][PAIRS], processor[2];
    struct mxv_case_data data;
    char message[MESSAGE];
    uint32_t *out[2] = {cli_realloc(NULL, size), cli_realloc(NULL, size)};
    (void)row;
    (void)options;
    bool good =
        open_head(TOKENS, &data, message) && time_pairs(&data.a, out, seconds, processor, message);
    if (good && memcmp(out[0], out[1], size) != 0) {
        snprintf(message, sizeof message, "outputs of 1 and 2 threads differ");
        good = false;
    }
    if (good) {
        judge_pairs(seconds, processor, figure);
        figure->checksum = bench_mix(0, out[0], size);
    } else {
        snprintf(figure->note, BENCH_NOTE, "%.150s", message);
    }
    free(out[0]);
    free(out[1]);
    mxv_case_free(&data);
    return good;
}

// The exact attention of a head's inputs.
struct exact {
    struct mxv_truth_problem problem;
    double *q, *k, *v;
    size_t tokens;
};

static void causal_keys(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct mxv_attention *a = ctx;
    mxv_attention_visible(a, a->cu_q[1], a->cu_k[1], row, first, end);
}

static double *widen(const float *x, size_t n)
{
    double *y = cli_realloc(NULL, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
    return y;
}

static void exact_open(struct exact *e, const struct mxv_attention *a, size_t tokens)
{
    e->tokens = tokens;
    e->q = widen(a->q, tokens * a->d);
    e->k = widen(a->k, tokens * a->d);
    e->v = widen(a->v, tokens * a->d);
    e->problem = (struct mxv_truth_problem){.lq = tokens,
                                            .lk = tokens,
                                            .d = a->d,
                                            .dv = a->d,
                                            .routes = 1,
                                            .q = {e->q},
                                            .k = {e->k},
                                            .v = e->v,
                                            .scale = a->scale,
                                            .visible = causal_keys,
                                            .ctx = a};
}

static void exact_close(struct exact *e)
{
    free(e->q);
    free(e->k);
    free(e->v);
}

// n rows spread evenly, the last one among them.
static size_t *spread_rows(size_t tokens, size_t n)
{
    size_t *rows = cli_realloc(NULL, n * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (i + 1) * tokens / n - 1;
    return rows;
}

// Visible keys of those rows over those of all rows.
static double share_of(const size_t *rows, size_t n, size_t tokens)
{
    double keys = 0;
    for (size_t i = 0; i < n; i++)
        keys += (double)rows[i] + 1;
    return keys / (0.5 * (double)tokens * ((double)tokens + 1));
}

// Wall seconds of truth for n spread rows; negative on failure.
static double truth_seconds(const struct exact *e, size_t n, unsigned threads, double *share)
{
    size_t *rows = spread_rows(e->tokens, n);
    struct mxv_truth_ball *out = cli_realloc(NULL, n * 128 * sizeof *out);
    const struct mxv_truth_options options = {.radius = 0x1p-40, .threads = threads};
    const double start = now();
    const enum mxv_truth_status status =
        mxv_truth_rows(&e->problem, rows, n, &options, out, NULL, NULL);
    const double seconds = now() - start;
    *share = share_of(rows, n, e->tokens);
    free(out);
    free(rows);
    return status == MXV_TRUTH_OK ? seconds : -1;
}

// Seconds of truth for the whole head: measured, or scaled from a sample whose size *sampled gets.
static double truth_head(const struct exact *e, unsigned threads, size_t *sampled)
{
    double share, start_share;
    const double start = truth_seconds(e, 1, threads, &start_share); // images of k and v, one row
    const double probe = truth_seconds(e, PROBE_ROWS, threads, &share);
    const double estimate = start + (probe - start) / (share - start_share);
    *sampled = 0;
    if (estimate <= row_budget)
        return truth_seconds(e, e->tokens, threads, &share);
    *sampled = (size_t)((double)e->tokens * row_budget / estimate / 2);
    *sampled = *sampled < 2 * PROBE_ROWS ? 2 * PROBE_ROWS : *sampled;
    const double seconds = truth_seconds(e, *sampled, threads, &share);
    return start + (seconds - start) / (share - start_share);
}

bool bench_truth(const struct bench_row *row, const struct bench_options *options,
                 struct bench_figure *figure)
{
    (void)options;
    struct mxv_case_data data;
    struct exact e;
    char message[MESSAGE];
    size_t sampled;
    if (!open_head(TOKENS, &data, message)) {
        snprintf(figure->note, BENCH_NOTE, "%.150s", message);
        return false;
    }
    exact_open(&e, &data.a, TOKENS);
    figure->median = figure->best = truth_head(&e, (unsigned)atoi(row->argument), &sampled);
    if (sampled)
        snprintf(figure->note, BENCH_NOTE, "scaled from %zu of %d rows", sampled, TOKENS);
    exact_close(&e);
    mxv_case_free(&data);
    return figure->median > 0;
}

bool bench_truth_plain(const struct bench_row *row, const struct bench_options *options,
                       struct bench_figure *figure)
{
    (void)row;
    (void)options;
    struct mxv_case_data data;
    struct exact e;
    char message[MESSAGE];
    double share, first;
    if (!open_head(TOKENS, &data, message)) {
        snprintf(figure->note, BENCH_NOTE, "%.150s", message);
        return false;
    }
    exact_open(&e, &data.a, TOKENS);
    size_t *rows = spread_rows(TOKENS, PLAIN_ROWS);
    double *out = cli_realloc(NULL, PLAIN_ROWS * 128 * sizeof *out);
    const double start = now();
    const bool good =
        mxv_truth_plain_rows(&e.problem, rows, PLAIN_ROWS, 64, out, NULL) == MXV_TRUTH_OK;
    const double plain = (now() - start) / share_of(rows, PLAIN_ROWS, TOKENS);
    // by the key, without the images of k and v, which a whole head makes once
    const double once = truth_seconds(&e, 1, 1, &first);
    const double many = truth_seconds(&e, 8 * PROBE_ROWS, 1, &share);
    figure->median = figure->best = plain / ((many - once) / (share - first));
    snprintf(figure->note, BENCH_NOTE, "1 thread each; plain: %d rows at 64 bits, truth: %d rows",
             PLAIN_ROWS, 8 * PROBE_ROWS);
    free(rows);
    free(out);
    exact_close(&e);
    mxv_case_free(&data);
    return good && figure->median > 0;
}

// Seconds of a head whose one query tile leaves nearly nothing but the operands of the keys.
static double engine_prepare_seconds(size_t tokens, char *message)
{
    struct mxv_case_data data;
    uint32_t out[128];
    if (!open_rows(1, tokens, &data, message))
        return 0;
    const double seconds = engine_seconds(&data.a, omp_get_max_threads(), out, message);
    mxv_case_free(&data);
    return seconds > 0 ? seconds : 0;
}

// The last `rows` query rows see all keys of the sequence: lq = rows, lk = tokens, bottom-right.
double bench_head_emulation(size_t tokens, size_t *sampled)
{
    const size_t most = 16384;                          // tokens whose whole head is measured
    const size_t rows = tokens <= most ? tokens : 4096; // query tiles enough for many threads
    struct mxv_case_data data;
    char message[MESSAGE];
    *sampled = rows < tokens ? rows : 0;
    stopwatch = CLOCK_PROCESS_CPUTIME_ID;
    if (!open_rows(rows, tokens, &data, message))
        return -1;
    uint32_t *out = cli_realloc(NULL, rows * 128 * sizeof *out);
    double seconds = engine_seconds(&data.a, omp_get_max_threads(), out, message);
    if (*sampled && seconds > 0) {
        // score elements of the whole head over those of the sample, operands apart
        const double n = (double)tokens, r = (double)rows;
        const double prepare = engine_prepare_seconds(tokens, message);
        seconds = prepare + (seconds - prepare) * (n * (n + 1) / 2) / (r * (n - (r - 1) / 2));
    }
    free(out);
    mxv_case_free(&data);
    return seconds;
}

double bench_head_truth(size_t tokens, size_t *sampled)
{
    struct mxv_case_data data;
    struct exact e;
    char message[MESSAGE];
    stopwatch = CLOCK_PROCESS_CPUTIME_ID;
    if (!open_rows(tokens, tokens, &data, message))
        return -1;
    exact_open(&e, &data.a, tokens);
    const double seconds = truth_head(&e, (unsigned)omp_get_max_threads(), sampled);
    exact_close(&e);
    mxv_case_free(&data);
    return seconds;
}
