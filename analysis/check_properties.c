// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Check: what must hold of O whatever the arithmetic. A row of attention is a convex combination of
// the visible rows of V, so each element lies between the smallest and the largest visible value of
// its channel, but for the rounding of P, V and O: four steps of the coarser of the PV and output
// types, relative to the largest visible magnitude. An element beyond that but within the range of
// all keys speaks for a leak. The gain of a row is its projection on the emulation's row.
// Rows without a visible key are passed over. tests/cli/test_check.sh fails if this is wrong.
#include "check_internal.h"
#include "head_status.h"
#include <math.h>
#include <mxverify/compare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hull {
    double low, high, all_low, all_high;
};

static struct hull visible(const struct mxv_attention *a, const float *v, size_t lk, size_t first,
                           size_t end, size_t channel)
{
    struct hull h = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t n = 0; n < lk; n++) {
        double x = (double)v[n * a->d + channel];
        h.all_low = fmin(h.all_low, x);
        h.all_high = fmax(h.all_high, x);
        if (n >= first && n < end) {
            h.low = fmin(h.low, x);
            h.high = fmax(h.high, x);
        }
    }
    return h;
}

static double step(const struct mxv_attention *a, enum mxv_element out)
{
    int pv = mxv_element_get(a->vt)->frac_bits, o = mxv_element_get(out)->frac_bits;
    return 4 * ldexp(1, -(pv < o ? pv : o));
}

static void place(struct mxv_check_properties *p, struct hull h, double x, double relative)
{
    double slack = relative * fmax(fabs(h.low), fabs(h.high));
    double all = relative * fmax(fabs(h.all_low), fabs(h.all_high));
    p->elements++;
    if (!isfinite(x)) {
        p->nonfinite++;
        return;
    }
    if (x >= h.low - slack && x <= h.high + slack)
        return;
    p->outside++;
    p->leaking += x >= h.all_low - all && x <= h.all_high + all;
}

// One head; gains[lq] gets NaN where a row has none.
static void head_properties(const struct check_subject *s, const struct mxv_attention *a,
                            size_t sequence, size_t head, const uint32_t *mine, const uint32_t *got,
                            struct mxv_check_properties *p, double *gains)
{
    size_t kv = head / (a->heads_q / a->heads_kv);
    const float *v = a->v + (kv * a->cu_k[a->sequences] + a->cu_k[sequence]) * a->d;
    for (size_t r = 0; r < s->lq; r++) {
        size_t first, end;
        double dot = 0, square = 0;
        mxv_attention_visible(a, s->lq, s->lk, r, &first, &end);
        for (size_t c = 0; c < a->d; c++) {
            double x = mxv_code_value(s->out_type, got[r * a->d + c]);
            double e = mxv_code_value(a->out, mine[r * a->d + c]);
            dot += x * e;
            square += e * e;
            if (first < end)
                place(p, visible(a, v, s->lk, first, end, c), x, step(a, s->out_type));
        }
        gains[r] = square > 0 && isfinite(dot) ? dot / square : NAN;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void gain_range(double *gains, size_t count, struct mxv_check_properties *p)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(gains[i]))
            gains[n++] = gains[i];
    qsort(gains, n, sizeof *gains, by_size);
    p->gain_low = n ? gains[0] : NAN;
    p->gain_median = n ? gains[n / 2] : NAN;
    p->gain_high = n ? gains[n - 1] : NAN;
}

static enum mxv_status all_heads(const struct check_subject *s, const struct mxv_attention *a,
                                 struct mxv_check_result *r, char *message, size_t size)
{
    size_t heads = r->heads_compared, n = s->lq * s->d;
    uint32_t *words = malloc(2 * n * sizeof *words + 1);
    double *gains = malloc(heads * s->lq * sizeof *gains + 1);
    enum mxv_status status = words && gains ? MXV_OK : MXV_ERR_MEMORY;
    snprintf(message, size, "out of memory");
    for (size_t i = 0; i < heads && status == MXV_OK; i++) {
        size_t sequence = i / s->heads, head = i % s->heads;
        check_head(s, sequence, head, words + n, NULL);
        status =
            status_of_head(mxv_engine_head(a, sequence, head, words, NULL, NULL, message, size));
        if (status == MXV_OK)
            head_properties(s, a, sequence, head, words, words + n, &r->properties,
                            gains + i * s->lq);
    }
    if (status == MXV_OK)
        gain_range(gains, heads * s->lq, &r->properties);
    free(words);
    free(gains);
    return status;
}

enum mxv_status check_properties(const struct check_subject *s, struct mxv_check_result *r,
                                 char *message, size_t size)
{
    struct mxv_case_data data;
    enum mxv_status status = mxv_case_build(&r->c, &data, message, size);
    if (status != MXV_OK)
        return status;
    status = all_heads(s, &data.a, r, message, size);
    mxv_case_free(&data);
    return status;
}
