// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The finished metrics: one formula per row of metrics.def, from the counts and sums of metrics.c.
//
// Cosine, L1, RMSE and PSNR are those of the public DMA attention harness (arXiv 2604.03950,
// yifu-ding/MP-Sparse-Attn), which fixes the peak at 10 and rounds the RMSE to 4 decimals; here the
// peak is an argument and nothing is rounded. Each formula adds a few roundings of binary64 to the
// sums' own; 1 - cosine is therefore known to about 2^-52 only.
// tests/unit/test_compare_metrics.c fails if this file is wrong.
#include <mxverify/compare.h>

#include <math.h>
#include <string.h>

static double total(const struct mxv_sum *sum)
{
    return isfinite(sum->high) ? sum->high + sum->low : sum->high;
}

// a / b where 0 / 0 is full agreement.
static double relative(const struct mxv_metrics *m, double a, double b)
{
    if (m->numbers == 0)
        return NAN;
    return a == 0 && b == 0 ? 0 : a / b;
}

static double formula_words(const struct mxv_metrics *m)
{
    return m->words_compared ? (double)m->words : NAN;
}

static double formula_nan(const struct mxv_metrics *m)
{
    return (double)m->nan;
}

static double formula_inf(const struct mxv_metrics *m)
{
    return (double)m->inf;
}

static double formula_ulp_max(const struct mxv_metrics *m)
{
    return m->elements ? m->ulp_max : NAN;
}

static double formula_ulp_mean(const struct mxv_metrics *m)
{
    return m->numbers ? total(&m->ulp) / (double)m->numbers : NAN;
}

static double formula_ulp_slack(const struct mxv_metrics *m)
{
    return m->elements ? m->ulp_slack : NAN;
}

static double formula_rel_l2(const struct mxv_metrics *m)
{
    return sqrt(relative(m, total(&m->error_squared), total(&m->expected_squared)));
}

static double formula_l1(const struct mxv_metrics *m)
{
    return relative(m, total(&m->error_abs), total(&m->expected_abs));
}

static double formula_max_abs(const struct mxv_metrics *m)
{
    return m->numbers ? m->max_abs : NAN;
}

static double formula_rmse(const struct mxv_metrics *m)
{
    return m->numbers ? sqrt(total(&m->error_squared) / (double)m->numbers) : NAN;
}

static double formula_bias(const struct mxv_metrics *m)
{
    return m->numbers ? total(&m->error) / (double)m->numbers : NAN;
}

static double formula_cosine(const struct mxv_metrics *m)
{
    double norms = sqrt(total(&m->test_squared)) * sqrt(total(&m->expected_squared));
    return norms > 0 ? total(&m->product) / norms : NAN;
}

static double formula_psnr(const struct mxv_metrics *m)
{
    return m->numbers ? mxv_psnr(formula_rmse(m), m->peak) : NAN;
}

double mxv_psnr(double rmse, double peak)
{
    return 20 * log10(peak / rmse);
}

static const struct mxv_metric_info infos[] = {
#define MXV_METRIC_ROW(id, name, unit, better, text) {#name, unit, text, MXV_BETTER_##better},
#include <mxverify/metrics.def>
};

static double (*const formulas[])(const struct mxv_metrics *) = {
#define MXV_METRIC_ROW(id, name, unit, better, text) formula_##name,
#include <mxverify/metrics.def>
};

const struct mxv_metric_info *mxv_metric_get(unsigned metric)
{
    return metric < MXV_METRIC_COUNT ? &infos[metric] : NULL;
}

bool mxv_metric_find(const char *name, enum mxv_metric *out)
{
    for (unsigned i = 0; i < MXV_METRIC_COUNT; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            *out = (enum mxv_metric)i;
            return true;
        }
    }
    return false;
}

double mxv_metric_value(const struct mxv_metrics *metrics, enum mxv_metric metric)
{
    return formulas[metric](metrics);
}

void mxv_metrics_finish(const struct mxv_metrics *metrics, double values[MXV_METRIC_COUNT])
{
    for (unsigned i = 0; i < MXV_METRIC_COUNT; i++)
        values[i] = formulas[i](metrics);
}
