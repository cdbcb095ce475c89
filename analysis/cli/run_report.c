// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The verdict table at the end of a run.
#include "cli.h"
#include "run.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t kernel_total(const struct run_totals *t, unsigned k)
{
    size_t n = 0;
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        n += t->by_kernel[k][v];
    return n;
}

static void verdict_rows(const struct run_totals *t)
{
    printf("%-14s %7s %7s %7s %7s %16s\n", "kernel", "cases", "pass", "fail", "other",
           "words compared");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        size_t n = kernel_total(t, k), pass = t->by_kernel[k][MXV_VERDICT_PASS];
        size_t fail = t->by_kernel[k][MXV_VERDICT_FAIL];
        if (n)
            printf("%-14s %7zu %7zu %7zu %7zu %16" PRIu64 "\n",
                   mxv_choice_name(MXV_CHOICE_KERNEL, k), n, pass, fail, n - pass - fail,
                   t->words[k]);
    }
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        if (t->counts[v] && v != MXV_VERDICT_PASS && v != MXV_VERDICT_FAIL)
            printf("  %zu %s: %s\n", t->counts[v], mxv_verdict_name(v), mxv_verdict_text(v));
}

static void tile_rows(const struct run_totals *t)
{
    printf("\nscore tiles by route:");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        if (!kernel_total(t, k))
            continue;
        printf("\n  %-12s", mxv_choice_name(MXV_CHOICE_KERNEL, k));
        for (unsigned r = 0; r < MXV_ROUTE_SKIP; r++)
            if (t->tiles[k][r])
                printf("  %s %" PRIu64, mxv_choice_name(MXV_CHOICE_ROUTE, r), t->tiles[k][r]);
    }
    printf("\n");
}

// How many rows were enclosed in binary64, and why the others by MPFR (docs/truth.md).
static void enclosure_row(const struct run_totals *t)
{
    uint64_t left = 0;
    for (unsigned i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        left += t->left[i];
    if (t->certified + left == 0)
        return;
    printf("enclosures of rows: %" PRIu64 " certified in binary64, %" PRIu64 " (%.3g%%) by MPFR",
           t->certified, left, 100 * (double)left / (double)(t->certified + left));
    const char *mark = ": ";
    for (unsigned i = 0; i < MXV_TRUTH_LEFT_COUNT; i++) {
        if (!t->left[i])
            continue;
        printf("%s%s %" PRIu64, mark, mxv_truth_left_text((enum mxv_truth_left)i), t->left[i]);
        mark = ", ";
    }
    printf("\n");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A figure over the cases of a kernel, without those where it is NaN.
struct spread {
    size_t count;
    double median, largest;
};

static struct spread spread_of(const struct run_totals *t, unsigned kernel, size_t offset)
{
    double *all = cli_realloc(NULL, (t->done + 1) * sizeof *all), x;
    struct spread s = {0};
    for (size_t i = 0; i < t->done; i++) {
        memcpy(&x, (const char *)&t->hashes[i] + offset, sizeof x);
        if (t->hashes[i].kernel == (enum mxv_kernel)kernel && !isnan(x))
            all[s.count++] = x;
    }
    qsort(all, s.count, sizeof *all, by_size);
    if (s.count) {
        s.median = all[s.count / 2];
        s.largest = all[s.count - 1];
    }
    free(all);
    return s;
}

static void print_figure(int width, bool there, double x)
{
    if (there)
        printf(" %*.3g", width, x);
    else
        printf(" %*s", width, "-");
}

static void truth_row(const struct run_totals *t, unsigned k)
{
    struct spread inputs = spread_of(t, k, offsetof(struct run_hash, rel_l2_inputs));
    struct spread operands = spread_of(t, k, offsetof(struct run_hash, rel_l2_operands));
    printf("%-14s %8" PRIu64 "/%-9" PRIu64 " %8" PRIu64, mxv_choice_name(MXV_CHOICE_KERNEL, k),
           t->truth_rows[k], t->truth_rows_total[k], t->unmeasured_rows[k]);
    print_figure(10, inputs.count, inputs.median);
    print_figure(10, inputs.count, inputs.largest);
    print_figure(10, operands.count, operands.median);
    print_figure(10, operands.count, operands.largest);
    print_figure(11, t->bounded[k], t->bound_ratio[k]);
    printf("\n");
}

static void truth_rows(const struct run_totals *t)
{
    bool any = false, out = false;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        any = any || t->truth_rows[k];
        out = out || t->unmeasured_rows[k];
    }
    if (!any)
        return;
    printf("\nagainst exact attention (MPFR), over the cases of the run:\n"
           "%-14s %18s %8s %21s %21s %11s\n%-14s %18s %8s %10s %10s %10s %10s %11s\n",
           "", "", "", "rel L2 to inputs", "rel L2 to operands", "error/bound", "kernel",
           "rows evaluated", "left out", "median", "worst", "median", "worst", "worst");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (t->truth_rows[k])
            truth_row(t, k);
    if (out)
        printf(
            "left out of rel L2, judged by words or, where the implementation claims them, by "
            "bits: rows without\na visible key, or with a NaN or infinity in reach, and the like "
            "(docs/bounds.md 1)\n");
    if (t->truth_rows[MXV_KERNEL_DMA_RELEASED])
        printf("dma-released has no bound: its defects are part of rel L2 to operands\n");
    enclosure_row(t);
}

static void power_rows(const struct run_totals *t)
{
    bool any = false;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        any = any || t->power[k].cases;
    if (!any)
        return;
    printf("\nbound and gate power (docs/bounds.md), by contract and by declared model:\n"
           "%-14s %6s %21s %23s %17s %10s\n",
           "kernel", "cases", "median bound/error", "mutants killed", "gain always seen",
           "model weak");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        const struct run_power *p = &t->power[k];
        if (!p->cases)
            continue;
        struct spread bound = spread_of(t, k, offsetof(struct run_hash, tightness));
        struct spread model = spread_of(t, k, offsetof(struct run_hash, model_tightness));
        printf("%-14s %6zu", mxv_choice_name(MXV_CHOICE_KERNEL, k), p->cases);
        print_figure(10, bound.count, bound.median);
        print_figure(10, model.count, model.median);
        printf(" %9.0f %5.0f /%6.0f %8s%-3.0f 2^-%-2.0f %10zu\n", p->bound, p->model, p->applicable,
               "2^-", p->gain, p->model_gain, p->model_weak);
    }
}

void run_report(const struct run_config *config, const struct run_totals *t, uint64_t hash,
                const char *log_path)
{
    if (config->print_hash)
        printf("hash %016" PRIx64 "\n", hash);
    if (config->quiet)
        return;
    printf("\n%s, cases %s, implementation %s against the emulation, %zu cases in %.1f s\n\n",
           config->kernel, config->cases, config->impl_name, t->done, t->seconds);
    verdict_rows(t);
    tile_rows(t);
    truth_rows(t);
    power_rows(t);
    if (t->maps)
        printf("\nmaps: %zu pictures (and arrays) in %s/\n", t->maps, config->out);
    if (log_path)
        printf("log: %s\n", log_path);
    printf("hash of all outputs: %016" PRIx64 "\n", hash);
}
