// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics: what one element adds, and how sets are joined. The formulas of the finished metrics are
// in metrics_formulas.c.
//
// Sums are binary64 with the rounding error of each addition kept beside the sum (A. Neumaier,
// "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974), so that a sum of
// n terms x is off by about 2^-53 |sum| + n 2^-106 sum|x|; the terms (differences, squares,
// products) are each rounded once. Elements that are not finite numbers on both sides enter the
// counts only. tests/unit/test_compare_metrics.c fails if this file is wrong.
#include <mxverify/compare.h>

#include <assert.h>
#include <math.h>
#include <string.h>

// What one element adds to a set.
struct sample {
    double test, expected; // values, when `numbers`
    double ulp, slack;     // magnitudes
    bool numbers, nan, inf;
};

static void sum_add(struct mxv_sum *sum, double x)
{
    double total = sum->high + x;
    if (isfinite(total)) {
        bool high_is_larger = fabs(sum->high) >= fabs(x);
        sum->low += high_is_larger ? (sum->high - total) + x : (x - total) + sum->high;
    }
    sum->high = total;
}

static void sum_merge(struct mxv_sum *into, const struct mxv_sum *from)
{
    sum_add(into, from->high);
    into->low += from->low;
}

void mxv_metrics_init(struct mxv_metrics *metrics, enum mxv_element format, double peak)
{
    assert(peak > 0);
    memset(metrics, 0, sizeof *metrics);
    metrics->format = format;
    metrics->peak = peak;
}

static void add_sample(struct mxv_metrics *m, const struct sample *s)
{
    if (s->ulp > m->ulp_max) {
        m->ulp_max = s->ulp;
        m->ulp_max_at = m->elements;
    }
    m->ulp_slack = fmax(m->ulp_slack, s->slack);
    m->elements++;
    m->nan += s->nan;
    m->inf += s->inf;
    if (!s->numbers)
        return;
    m->numbers++;
    double difference = s->test - s->expected;
    m->max_abs = fmax(m->max_abs, fabs(difference));
    sum_add(&m->ulp, s->ulp);
    sum_add(&m->error, difference);
    sum_add(&m->error_abs, fabs(difference));
    sum_add(&m->error_squared, difference * difference);
    sum_add(&m->expected_abs, fabs(s->expected));
    sum_add(&m->expected_squared, s->expected * s->expected);
    sum_add(&m->test_squared, s->test * s->test);
    sum_add(&m->product, s->test * s->expected);
}

void mxv_metrics_add_word(struct mxv_metrics *metrics, uint64_t test, uint64_t expected)
{
    struct sample s = {0};
    s.test = mxv_code_value(metrics->format, test);
    s.expected = test == expected ? s.test : mxv_code_value(metrics->format, expected);
    bool both_nan = isnan(s.test) && isnan(s.expected);
    uint64_t distance = 0;
    if (test != expected)
        distance = mxv_ulp_distance(metrics->format, test, expected);
    s.ulp = distance == MXV_ULP_DISTANCE_NAN ? INFINITY : (double)distance;
    s.numbers = isfinite(s.test) && isfinite(s.expected);
    s.nan = isnan(s.test) != isnan(s.expected);
    s.inf = !s.nan && !both_nan && !s.numbers && s.test != s.expected;
    metrics->words_compared++;
    metrics->words += test != expected && !both_nan;
    add_sample(metrics, &s);
}

void mxv_metrics_add_exact(struct mxv_metrics *metrics, uint64_t test, struct mxv_truth_ball exact)
{
    struct sample s = {0};
    struct mxv_ulp_error e = mxv_ulp_error(metrics->format, test, exact.centre, exact.radius);
    s.test = mxv_code_value(metrics->format, test);
    s.expected = exact.centre;
    s.ulp = fabs(e.error);
    s.slack = e.slack;
    s.numbers = isfinite(s.test) && isfinite(s.expected);
    s.nan = isnan(s.test) != isnan(s.expected);
    s.inf = !s.nan && !s.numbers && s.ulp > 0.5 + s.slack;
    add_sample(metrics, &s);
}

void mxv_metrics_merge(struct mxv_metrics *into, const struct mxv_metrics *from)
{
    assert(into->format == from->format);
    if (from->ulp_max > into->ulp_max) {
        into->ulp_max = from->ulp_max;
        into->ulp_max_at = into->elements + from->ulp_max_at;
    }
    into->elements += from->elements;
    into->numbers += from->numbers;
    into->words_compared += from->words_compared;
    into->words += from->words;
    into->nan += from->nan;
    into->inf += from->inf;
    into->ulp_slack = fmax(into->ulp_slack, from->ulp_slack);
    into->max_abs = fmax(into->max_abs, from->max_abs);
    sum_merge(&into->ulp, &from->ulp);
    sum_merge(&into->error, &from->error);
    sum_merge(&into->error_abs, &from->error_abs);
    sum_merge(&into->error_squared, &from->error_squared);
    sum_merge(&into->expected_abs, &from->expected_abs);
    sum_merge(&into->expected_squared, &from->expected_squared);
    sum_merge(&into->test_squared, &from->test_squared);
    sum_merge(&into->product, &from->product);
}
