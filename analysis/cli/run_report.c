// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The verdict table at the end of a run.
#include "cli.h"
#include "run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static void truth_rows(const struct run_totals *t)
{
    bool any = false;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        any = any || t->truth_rows[k];
    if (!any)
        return;
    printf("\nagainst exact attention (MPFR), worst case of the run:\n"
           "%-14s %18s %22s %22s %14s\n",
           "kernel", "rows evaluated", "rel L2 to inputs", "rel L2 to operands", "error/bound");
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        if (t->truth_rows[k])
            printf("%-14s %8" PRIu64 "/%-9" PRIu64 " %22.6g %22.6g %14.3g\n",
                   mxv_choice_name(MXV_CHOICE_KERNEL, k), t->truth_rows[k], t->truth_rows_total[k],
                   t->rel_l2_inputs[k], t->rel_l2_operands[k], t->bound_ratio[k]);
    enclosure_row(t);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median over the cases of a kernel of bound / largest error; 0 when no case has both.
static double tightness(const struct run_totals *t, unsigned kernel, bool model)
{
    double *all = cli_realloc(NULL, (t->done + 1) * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < t->done; i++) {
        double x = model ? t->hashes[i].model_tightness : t->hashes[i].tightness;
        if (t->hashes[i].kernel == (enum mxv_kernel)kernel && x > 0)
            all[n++] = x;
    }
    qsort(all, n, sizeof *all, by_size);
    double median = n ? all[n / 2] : 0;
    free(all);
    return median;
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
        if (p->cases)
            printf("%-14s %6zu %10.3g %10.3g %9.0f %5.0f /%6.0f %8s%-3.0f 2^-%-2.0f %10zu\n",
                   mxv_choice_name(MXV_CHOICE_KERNEL, k), p->cases, tightness(t, k, false),
                   tightness(t, k, true), p->bound, p->model, p->applicable, "2^-", p->gain,
                   p->model_gain, p->model_weak);
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
