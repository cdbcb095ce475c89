// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact attention beside an emulated head, of (a) the inputs and (b) the operands that the routes
// multiply, and the bound on the distance of the emulation from (b) that guards the oracles against
// each other. The terms of the bound are derived in docs/truth.md, "Distance of an emulation from
// the truth"; it is proved for finite operands, coarse (relative to the row's largest |v|), and not
// the judge of implementations. tests/gate/test_oracle.c fails if a wrong mask is not noticed, or a
// healthy emulation is accused.
#include "verify.h"
#include <math.h>
#include <mxverify/faults.h>
#include <mxverify/truth.h>
#include <stdio.h>
#include <stdlib.h>

static const double log2_e = 1.4426950408889634;

struct problem {
    const struct mxv_attention *a;
    const struct head_result *h;
    struct mxv_truth_problem exact;
    double *buffers[2 * MXV_ROUTE_COUNT + 1];
    unsigned buffer_count;
    unsigned index_of_route[MXV_ROUTE_COUNT];
    bool ignore_mask;
    double log2_unit; // factor from a kernel's score to log2 units
};

static void visible(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct problem *p = ctx;
    *first = 0;
    *end = p->h->lk;
    if (!p->ignore_mask)
        mxv_attention_visible(p->a, p->h->lq, p->h->lk, row, first, end);
}

static unsigned route_of(const void *ctx, size_t row, size_t key)
{
    const struct problem *p = ctx;
    size_t tiles = (p->h->lk + p->a->tile_n - 1) / p->a->tile_n;
    unsigned route = p->h->emulated_scores.routes[row / p->a->tile_m * tiles + key / p->a->tile_n];
    return p->index_of_route[route];
}

static double *buffer(struct problem *p, size_t n)
{
    double *b = malloc((n + 1) * sizeof *b);
    p->buffers[p->buffer_count++] = b;
    return b;
}

static void problem_free(struct problem *p)
{
    for (unsigned i = 0; i < p->buffer_count; i++)
        free(p->buffers[i]);
}

static void problem_start(struct problem *p, const struct mxv_attention *a,
                          const struct head_result *h, bool ignore_mask)
{
    *p = (struct problem){.a = a, .h = h, .ignore_mask = ignore_mask};
    p->exact = (struct mxv_truth_problem){.lq = h->lq,
                                          .lk = h->lk,
                                          .d = a->d,
                                          .dv = a->d,
                                          .routes = 1,
                                          .scale = a->scale,
                                          .visible = visible,
                                          .ctx = p};
}

static const double *widen(struct problem *p, const float *x, size_t n)
{
    double *b = buffer(p, n);
    for (size_t i = 0; b && i < n; i++)
        b[i] = x[i];
    return b;
}

// Kind (a): the inputs as they are.
static int problem_inputs(struct problem *p)
{
    const struct mxv_attention *a = p->a;
    const struct head_result *h = p->h;
    size_t tq = a->cu_q[a->sequences], tk = a->cu_k[a->sequences];
    size_t kv = h->head / (a->heads_q / a->heads_kv);
    size_t key = (kv * tk + a->cu_k[h->sequence]) * a->d;
    p->exact.q[0] = widen(p, a->q + (h->head * tq + a->cu_q[h->sequence]) * a->d, h->lq * a->d);
    p->exact.k[0] = widen(p, a->k + key, h->lk * a->d);
    p->exact.v = widen(p, a->v + key, h->lk * a->d);
    return p->exact.q[0] && p->exact.k[0] && p->exact.v ? 0 : -1;
}

// Kind (b): the operands of every route that some tile of the head took.
static int problem_operands(struct problem *p)
{
    const struct mxv_attention *a = p->a;
    const struct head_result *h = p->h;
    size_t tiles = ((h->lq + a->tile_m - 1) / a->tile_m) * ((h->lk + a->tile_n - 1) / a->tile_n);
    unsigned used = 0, routes = 0;
    char message[128];
    double *v = buffer(p, h->lk * a->d);
    for (size_t i = 0; i < tiles; i++)
        used |= 1u << h->emulated_scores.routes[i];
    for (unsigned r = 0; v && r < MXV_ROUTE_SKIP; r++) {
        if (!(used >> r & 1) && !(r + 1 == MXV_ROUTE_SKIP && routes == 0))
            continue;
        double *q = buffer(p, h->lq * a->d), *k = buffer(p, h->lk * a->d);
        if (used >> r & 1 &&
            (!q || !k ||
             mxv_engine_operands(a, h->sequence, h->head, (enum mxv_route)r, q, k, v,
                                 &p->exact.scale, &p->exact.base, message, sizeof message)))
            return -1;
        if (!(used >> r & 1)) // no tile at all: any operands do
            for (size_t i = 0; i < h->lq * a->d || i < h->lk * a->d; i++) {
                if (i < h->lq * a->d)
                    q[i] = 0;
                if (i < h->lk * a->d)
                    k[i] = v[i] = 0;
            }
        p->exact.q[routes] = q;
        p->exact.k[routes] = k;
        p->index_of_route[r] = routes++;
    }
    p->exact.v = v;
    p->exact.routes = routes;
    p->exact.route = route_of;
    p->log2_unit = p->exact.scale * (p->exact.base == 2 ? 1 : log2_e);
    return v ? 0 : -1;
}

static bool all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static void mark_undefined(struct head_result *h, const struct problem *p)
{
    size_t d = p->a->d;
    bool keys = all_finite(p->exact.v, h->lk * d);
    for (unsigned r = 0; r < p->exact.routes; r++)
        keys = keys && all_finite(p->exact.k[r], h->lk * d);
    for (size_t row = 0; row < h->lq; row++)
        for (unsigned r = 0; r < p->exact.routes; r++)
            if (!keys || !all_finite(p->exact.q[r] + row * d, d))
                h->undefined[row] = true;
}

static int choose_rows(struct verification *v, struct head_result *h)
{
    struct mxv_case_extent extent;
    mxv_case_extent(v->c, &extent);
    uint64_t scores = 0;
    for (size_t i = 0; i < v->heads; i++)
        scores += (uint64_t)v->results[i].lq * v->results[i].lk;
    size_t budget = v->options->truth_scores, stride = 1;
    if (budget && scores > budget)
        stride = (size_t)((scores + budget - 1) / budget);
    h->rows = malloc((h->lq + 1) * sizeof *h->rows);
    h->undefined = calloc(h->lq + 1, sizeof *h->undefined);
    if (!h->rows || !h->undefined)
        return -1;
    for (size_t row = 0; row < h->lq; row++)
        if ((row + h->head) % stride == 0 || row + 1 == h->lq)
            h->rows[h->row_count++] = row;
    h->from_inputs = calloc(h->row_count * v->data.a.d + 1, sizeof *h->from_inputs);
    h->from_operands = calloc(h->row_count * v->data.a.d + 1, sizeof *h->from_operands);
    return h->from_inputs && h->from_operands ? 0 : -1;
}

// Roundings between scores and output: terms of the bound that a case fixes (docs/truth.md).
struct bound_terms {
    double weight; // relative error of one weight by exp2 and rescaling
    double p_relative, p_absolute;
    double product; // PV accumulation, relative to max |v|
    double out_relative, out_absolute;
};

static double step_error(const struct mxv_attention *a)
{
    if (a->vt == MXV_E4M3)
        return a->arch == MXV_ARCH_SM_90 ? 34 * 0x1p-10 : 34 * 0x1p-20;
    return a->arch == MXV_ARCH_SM_80 ? 2 * 10 * 0x1p-21 : 18 * 0x1p-22;
}

static struct bound_terms bound_terms(const struct mxv_attention *a, size_t lk)
{
    struct bound_terms t = {0};
    double tiles = (double)((lk + a->tile_n - 1) / a->tile_n), peak = a->p_offset + (double)a->tau;
    double ex2 = a->exp == MXV_EXP_POLY ? 0x1.8p-13 : 0x1p-22, unit = ldexp(1, (int)-a->p_offset);
    t.weight = (tiles + 1) * (ex2 + 0x1p-23);
    t.p_relative = a->vt == MXV_F16 ? 0x1p-11 : a->vt == MXV_BF16 ? 0x1p-8 : 0x1p-4;
    t.p_absolute = (a->vt == MXV_F16 ? 0x1p-25 : a->vt == MXV_BF16 ? 0x1p-134 : 0x1p-10) * unit;
    if (a->vt == MXV_E4M3 && exp2(peak) > 448)
        t.p_relative = fmax(t.p_relative, 1 - 448 / exp2(peak));
    if (a->vt == MXV_F16 && peak > 15.99)
        t.p_relative = INFINITY;
    size_t step = a->vt == MXV_E4M3 ? 32 : 16;
    t.product = tiles * (double)(a->tile_n / step) * step_error(a) + tiles * 0x1p-23;
    t.out_relative = a->out == MXV_F16 ? 0x1p-11 : a->out == MXV_BF16 ? 0x1p-8 : 0x1p-22;
    t.out_absolute = a->out == MXV_F16 ? 0x1p-25 : 0x1p-125;
    return t;
}

// What the scores of one row tell: largest error against the exact scores of (b) among the keys
// that matter, and the largest magnitude, in log2 units.
struct row_scores {
    double error, magnitude, top;
    size_t keys;
};

static struct row_scores compare_row(const struct problem *p, size_t row,
                                     const struct mxv_truth_ball *exact)
{
    const float *s = &p->h->emulated_scores.scores[row * p->h->lk];
    struct row_scores r = {0, 0, -INFINITY, 0};
    size_t first, end;
    double kernel_top = -INFINITY;
    mxv_attention_visible(p->a, p->h->lq, p->h->lk, row, &first, &end);
    for (size_t n = first; n < end; n++) {
        r.top = fmax(r.top, exact[n].centre * (p->exact.base == 2 ? 1 : log2_e));
        kernel_top = fmax(kernel_top, s[n] * p->log2_unit);
    }
    for (size_t n = first; n < end; n++) {
        double t = exact[n].centre * (p->exact.base == 2 ? 1 : log2_e), k = s[n] * p->log2_unit;
        r.keys++;
        r.magnitude = fmax(r.magnitude, fabs(k));
        if (t < r.top - 60 && k < kernel_top - 50)
            continue;
        r.error = isnan(k) ? INFINITY : fmax(r.error, fabs(k - t));
    }
    return r;
}

static double largest_value(const struct problem *p, size_t channel)
{
    double m = 0;
    for (size_t n = 0; n < p->h->lk; n++)
        m = fmax(m, fabs(p->exact.v[n * p->a->d + channel]));
    return m;
}

static double row_bound(const struct mxv_attention *a, const struct bound_terms *t,
                        const struct row_scores *s, double v, size_t lk)
{
    double tiles = (double)((lk + a->tile_n - 1) / a->tile_n);
    double exponent = s->error + 0x1p-24 * (s->magnitude * (4 * tiles + 4) + 200 * (tiles + 1));
    double factor = exp2(exponent) * (1 + t->weight);
    double shift = 2 * (factor * factor - 1) + (double)s->keys * 0x1p-49;
    double sum = (double)lk * 0x1p-23 + 0x1p-21;
    double relative = shift + t->p_relative + (double)s->keys * t->p_absolute + t->product + sum;
    return 1.1 * v * (relative + t->out_relative) + t->out_absolute;
}

static bool sentinel_matters(const struct mxv_attention *a, const struct row_scores *s, double unit)
{
    return a->masked == MXV_MASKED_FINITE && !(s->top > -5.0e6 * unit + 200);
}

static void bound_row(struct head_result *h, const struct problem *p, size_t i,
                      const struct bound_terms *terms, const double *v_max,
                      const struct mxv_truth_ball *exact)
{
    const struct mxv_attention *a = p->a;
    size_t row = h->rows[i];
    struct row_scores s = compare_row(p, row, exact);
    if (s.keys == 0 || sentinel_matters(a, &s, p->log2_unit))
        return;
    for (size_t c = 0; c < a->d; c++) {
        struct mxv_truth_ball ball = h->from_operands[i * a->d + c];
        double o = mxv_code_value(a->out, h->emulated[row * a->d + c]);
        double bound = row_bound(a, terms, &s, v_max[c], h->lk) + ball.radius;
        double error = fabs(o - ball.centre), ratio = error == 0 ? 0 : error / bound;
        bool overflow = isinf(o) && a->out == MXV_F16 && fabs(ball.centre) + bound >= 65520;
        if (isnan(ratio))
            ratio = INFINITY;
        if (!overflow && !isinf(bound) && ratio > h->bound_ratio) {
            h->bound_ratio = ratio;
            h->bound_row = row;
        }
    }
}

// Largest |score - exact score of the inputs| of each tile, log2 units; with K smoothing up to the
// constant that smoothing adds to a row.
static void score_errors(struct head_result *h, const struct problem *p, double unit, size_t row,
                         const struct mxv_truth_ball *exact)
{
    const struct mxv_attention *a = p->a;
    const float *s = &h->emulated_scores.scores[row * h->lk];
    size_t first, end, tiles = (h->lk + a->tile_n - 1) / a->tile_n;
    double shift = 0;
    mxv_attention_visible(a, h->lq, h->lk, row, &first, &end);
    for (size_t n = first; a->smooth_k && n < end; n++)
        shift += (s[n] * unit - exact[n].centre * log2_e) / (double)(end - first);
    for (size_t n = first; n < end; n++) {
        double *cell = &h->score_error[row / a->tile_m * tiles + n / a->tile_n];
        double error = fabs(s[n] * unit - exact[n].centre * log2_e - shift);
        if (!(error <= *cell))
            *cell = isnan(error) ? INFINITY : error;
    }
}

// What the two walks over the judged rows share.
struct walk {
    struct head_result *h;
    const struct problem *problem; // inputs or operands
    double log2_unit;
    struct bound_terms terms;
    double v_max[256];
    const size_t *rows; // judged rows, and where they stand in h->rows
    const size_t *places;
};

static void take_operand_scores(void *ctx, size_t index, const struct mxv_truth_ball *exact)
{
    struct walk *w = ctx;
    bound_row(w->h, w->problem, w->places[index], &w->terms, w->v_max, exact);
}

static void take_input_scores(void *ctx, size_t index, const struct mxv_truth_ball *exact)
{
    struct walk *w = ctx;
    score_errors(w->h, w->problem, w->log2_unit, w->rows[index], exact);
}

static size_t judged_rows(struct head_result *h, size_t *rows, size_t *places)
{
    size_t n = 0;
    for (size_t i = 0; i < h->row_count; i++) {
        if (h->undefined[h->rows[i]]) {
            h->undefined_rows++;
            continue;
        }
        rows[n] = h->rows[i];
        places[n++] = i;
    }
    return n;
}

static enum mxv_truth_status walk_rows(struct head_result *h, const struct problem *inputs,
                                       const struct problem *operands)
{
    const struct mxv_attention *a = inputs->a;
    size_t tiles = ((h->lq + a->tile_m - 1) / a->tile_m) * ((h->lk + a->tile_n - 1) / a->tile_n);
    size_t *rows = malloc((2 * h->row_count + 1) * sizeof *rows);
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    h->score_error = malloc((tiles + 1) * sizeof *h->score_error);
    if (rows && h->score_error) {
        size_t *places = rows + h->row_count, n = judged_rows(h, rows, places);
        struct walk w = {.h = h,
                         .problem = operands,
                         .log2_unit = operands->log2_unit,
                         .terms = bound_terms(a, h->lk),
                         .rows = rows,
                         .places = places};
        for (size_t i = 0; i < tiles; i++)
            h->score_error[i] = NAN;
        for (size_t c = 0; c < a->d; c++)
            w.v_max[c] = largest_value(operands, c);
        status = mxv_truth_scores_of_rows(&operands->exact, rows, n, take_operand_scores, &w);
        w.problem = inputs;
        if (status == MXV_TRUTH_OK)
            status = mxv_truth_scores_of_rows(&inputs->exact, rows, n, take_input_scores, &w);
    }
    free(rows);
    return status;
}

int verify_truth(struct verification *v, struct head_result *h)
{
    struct problem inputs, operands;
    bool ignore_mask = mxv_fault_on(&v->subject_call, MXV_FAULT_NONCAUSAL_REFERENCE);
    const struct mxv_truth_options options = {.radius = 0x1p-40, .threads = 1};
    problem_start(&inputs, &v->data.a, h, ignore_mask);
    problem_start(&operands, &v->data.a, h, ignore_mask);
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    if (choose_rows(v, h) == 0 && problem_inputs(&inputs) == 0 &&
        problem_operands(&operands) == 0) {
        mark_undefined(h, &inputs);
        mark_undefined(h, &operands);
        status = mxv_truth_rows(&inputs.exact, h->rows, h->row_count, &options, h->from_inputs,
                                NULL, NULL);
        if (status == MXV_TRUTH_OK)
            status = mxv_truth_rows(&operands.exact, h->rows, h->row_count, &options,
                                    h->from_operands, NULL, NULL);
        if (status == MXV_TRUTH_OK)
            status = walk_rows(h, &inputs, &operands);
    }
    problem_free(&inputs);
    problem_free(&operands);
    if (status != MXV_TRUTH_OK)
        snprintf(h->message, sizeof h->message, "exact attention of sequence %zu head %zu: %s",
                 h->sequence, h->head, mxv_truth_status_text(status));
    return status == MXV_TRUTH_OK ? MXV_OK : MXV_ERR_MEMORY;
}
