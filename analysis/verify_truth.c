// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact attention beside an emulated head, of (a) the inputs and (b) the operands that the routes
// multiply; on the way, the errors of the scores by tile and route, and the bounds of each judged
// row (verify_bound.c). Rows in reach of a NaN or infinity follow IEEE rules and are not judged.
// tests/gate/test_faults.c fails if a wrong mask of the reference is not noticed.
#include "head_status.h"
#include "verify.h"
#include <math.h>
#include <mxverify/faults.h>
#include <mxverify/truth.h>
#include <stdio.h>
#include <stdlib.h>

static const double log2_e = 1.4426950408889634;

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

int verify_choose_rows(struct verification *v, struct head_result *h)
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
    h->unscored = calloc(h->lq + 1, sizeof *h->unscored);
    if (!h->rows || !h->undefined || !h->unscored)
        return -1;
    for (size_t row = 0; row < h->lq; row++)
        if ((row + h->head) % stride == 0 || row + 1 == h->lq)
            h->rows[h->row_count++] = row;
    h->judged = calloc(h->row_count + 1, sizeof *h->judged);
    h->bounded_rows = calloc(h->row_count + 1, sizeof *h->bounded_rows);
    h->operand_scores = malloc((h->row_count * h->lk + 1) * sizeof *h->operand_scores);
    size_t all = h->row_count * v->data.a.d;
    h->centre = calloc(6 * all + 1, sizeof *h->centre);
    h->lse_truth = calloc(h->row_count + 1, sizeof *h->lse_truth);
    h->from_inputs = calloc(h->row_count * v->data.a.d + 1, sizeof *h->from_inputs);
    h->from_operands = calloc(h->row_count * v->data.a.d + 1, sizeof *h->from_operands);
    if (!h->judged || !h->bounded_rows || !h->operand_scores || !h->centre || !h->lse_truth ||
        !h->from_inputs || !h->from_operands)
        return -1;
    double **const parts[] = {&h->noise, &h->rest, &h->model_centre, &h->model_noise, &h->model};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i] = h->centre + (i + 1) * all;
    return 0;
}

// Largest |score - exact score of the inputs| of each tile, and the split by route; log2 units.
// With K smoothing up to the constant that smoothing adds to a row.
static void score_errors(struct head_result *h, const struct problem *p, double unit, size_t place,
                         const struct mxv_truth_ball *exact)
{
    const struct mxv_attention *a = p->a;
    size_t row = h->rows[place], first, end, tiles = (h->lk + a->tile_n - 1) / a->tile_n;
    const float *s = &h->emulated_scores.scores[row * h->lk];
    const double *b = &h->operand_scores[place * h->lk];
    double shift = 0, shift_b = 0;
    mxv_attention_visible(a, h->lq, h->lk, row, &first, &end);
    for (size_t n = first; a->smooth_k && n < end; n++) {
        shift += (s[n] * unit - exact[n].centre * log2_e) / (double)(end - first);
        shift_b += (b[n] - exact[n].centre * log2_e) / (double)(end - first);
    }
    for (size_t n = first; n < end; n++) {
        size_t tile = row / a->tile_m * tiles + n / a->tile_n;
        double *cell = &h->score_error[tile], t = exact[n].centre * log2_e;
        struct mxv_score_split *split = &h->split[h->emulated_scores.routes[tile]];
        double error = fabs(s[n] * unit - t - shift), quantisation = fabs(b[n] - t - shift_b);
        double compute = fabs(s[n] * unit - b[n]);
        if (!(error <= *cell))
            *cell = isnan(error) ? INFINITY : error;
        if (!isfinite(quantisation) || !isfinite(compute))
            continue;
        split->pairs++;
        split->quantisation_max = fmax(split->quantisation_max, quantisation);
        split->quantisation_squares += quantisation * quantisation;
        split->compute_max = fmax(split->compute_max, compute);
        split->compute_squares += compute * compute;
    }
}

// What the two walks over the judged rows share.
struct walk {
    struct head_result *h;
    const struct problem *problem; // inputs or operands
    double log2_unit;
    struct bound_walk *bounds; // NULL: none
    struct split_walk *split;  // NULL: none
    double *scores;            // [lk] of the inputs, log2 units
    const size_t *places;      // of the judged rows in h->rows
};

static void take_operand_scores(void *ctx, size_t index, const struct mxv_truth_ball *exact)
{
    struct walk *w = ctx;
    size_t place = w->places[index];
    double unit = w->problem->exact.base == 2 ? 1 : log2_e;
    for (size_t n = 0; n < w->h->lk; n++)
        w->h->operand_scores[place * w->h->lk + n] = exact[n].centre * unit;
    if (w->bounds)
        bound_walk_row(w->bounds, place);
}

static void take_input_scores(void *ctx, size_t index, const struct mxv_truth_ball *exact)
{
    struct walk *w = ctx;
    score_errors(w->h, w->problem, w->log2_unit, w->places[index], exact);
    for (size_t n = 0; w->split && n < w->h->lk; n++)
        w->scores[n] = exact[n].centre * log2_e;
    if (w->split)
        split_row(w->split, w->places[index], w->scores);
}

// The judged rows, without the undefined ones where those are left out, and their places in
// h->rows.
static size_t rows_to_walk(const struct head_result *h, bool undefined, size_t *rows,
                           size_t *places)
{
    size_t n = 0;
    for (size_t i = 0; i < h->row_count; i++) {
        if (h->undefined[h->rows[i]] && !undefined)
            continue;
        rows[n] = h->rows[i];
        places[n++] = i;
    }
    return n;
}

static enum mxv_truth_status walk_rows(struct verification *v, struct head_result *h,
                                       const struct problem *inputs, const struct problem *operands)
{
    const struct mxv_attention *a = inputs->a;
    size_t tiles = ((h->lq + a->tile_m - 1) / a->tile_m) * ((h->lk + a->tile_n - 1) / a->tile_n);
    size_t *rows = malloc((2 * h->row_count + 1) * sizeof *rows);
    struct bound_walk bounds = {0};
    struct split_walk split = {0};
    double *scores = malloc((h->lk + 1) * sizeof *scores);
    enum mxv_truth_status status = MXV_TRUTH_NO_MEMORY;
    h->score_error = malloc((tiles + 1) * sizeof *h->score_error);
    if (rows && scores && h->score_error &&
        (!v->bounded || (bound_walk_start(&bounds, v, h, operands) == 0 &&
                         split_start(&split, v, h, inputs, operands) == 0))) {
        size_t *places = rows + h->row_count, n = rows_to_walk(h, true, rows, places);
        struct walk w = {h,
                         operands,
                         operands->log2_unit,
                         v->bounded ? &bounds : NULL,
                         v->bounded ? &split : NULL,
                         scores,
                         places};
        for (size_t i = 0; i < tiles; i++)
            h->score_error[i] = NAN;
        status = mxv_truth_scores_of_rows(&operands->exact, rows, n, take_operand_scores, &w);
        w.problem = inputs;
        n = rows_to_walk(h, false, rows, places);
        h->undefined_rows += h->row_count - n;
        if (status == MXV_TRUTH_OK)
            status = mxv_truth_scores_of_rows(&inputs->exact, rows, n, take_input_scores, &w);
        if (status == MXV_TRUTH_OK && bounds.out_of_memory)
            status = MXV_TRUTH_NO_MEMORY;
    }
    bound_walk_finish(&bounds);
    split_finish(&split);
    free(scores);
    if (status == MXV_TRUTH_OK && v->bounded)
        bound_patterns(v, h);
    free(rows);
    return status;
}

enum mxv_status verify_truth(struct verification *v, struct head_result *h)
{
    struct problem inputs, operands;
    bool ignore_mask = mxv_fault_on(&v->subject_call, MXV_FAULT_NONCAUSAL_REFERENCE);
    const struct mxv_truth_options options = {.radius = 0x1p-40, .threads = 1};
    problem_start(&inputs, &v->data.a, h, ignore_mask);
    problem_start(&operands, &v->data.a, h, ignore_mask);
    operands.exact.lse_base = 2;
    enum mxv_truth_status status =
        problem_inputs(&inputs) ? MXV_TRUTH_NO_MEMORY : problem_operands(&operands);
    if (status == MXV_TRUTH_OK) {
        mark_undefined(h, &inputs);
        mark_undefined(h, &operands);
        status = mxv_truth_rows(&inputs.exact, h->rows, h->row_count, &options, h->from_inputs,
                                NULL, &h->enclosures[0]);
        if (status == MXV_TRUTH_OK)
            status = mxv_truth_rows(&operands.exact, h->rows, h->row_count, &options,
                                    h->from_operands, h->lse_truth, &h->enclosures[1]);
        if (status == MXV_TRUTH_OK)
            status = walk_rows(v, h, &inputs, &operands);
    }
    problem_free(&inputs);
    problem_free(&operands);
    if (status != MXV_TRUTH_OK)
        snprintf(h->message, sizeof h->message, "exact attention: %s",
                 mxv_truth_status_text(status));
    return status_of_truth(status);
}
