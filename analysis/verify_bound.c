// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bounds of the judged rows of a head: puts the terms of bound.h together for each element, holds
// the emulation to them (scores, weights with row sum, output: three checks of one oracle against
// the other), and judges the implementation's words. Rows without a visible key, and rows of
// masked=finite whose scores come near the sentinel, are compared by bits only.
#include "verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find_broken_values(struct bound_walk *w)
{
    size_t d = w->v->data.a.d, bn = w->v->data.a.tile_n, tiles = (w->h->lk + bn - 1) / bn;
    const double *v = w->operands->exact.v;
    for (size_t i = 0; i < w->h->lk * d; i++) {
        if (isfinite(v[i]))
            continue;
        if (!w->broken && !(w->broken = calloc(tiles * d + 1, sizeof *w->broken)))
            return -1;
        w->broken[i / d / bn * d + i % d] = true;
    }
    return 0;
}

int bound_walk_start(struct bound_walk *w, struct verification *v, struct head_result *h,
                     const struct problem *operands)
{
    size_t d = v->data.a.d, lk = h->lk, all = h->row_count * d;
    *w = (struct bound_walk){.v = v, .h = h, .operands = operands};
    w->memory = calloc(lk * d + 4 * lk + 2 * d + 2 * all + 1, sizeof *w->memory);
    w->terms = calloc(d, sizeof *w->terms);
    w->products = calloc(d, sizeof *w->products);
    if (!w->memory || !w->terms || !w->products)
        return -1;
    double **const parts[] = {&w->scores, &w->slack, &w->weights, &w->own_weights};
    double *at = w->memory;
    w->values = at;
    at += lk * d;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++, at += lk)
        *parts[i] = at;
    w->out = at;
    w->own_out = at + d;
    w->bounds = at + 2 * d;
    w->model_bounds = w->bounds + all;
    if (find_broken_values(w))
        return -1;
    for (size_t i = 0; i < lk * d; i++)
        w->values[i] = operands->exact.v[i] / (double)h->state.v_scale;
    for (size_t i = 0; i < MXV_GATE_ROWS && h->row_count; i++) {
        size_t place = i * (h->row_count - 1) / (MXV_GATE_ROWS - 1);
        if (i == 0 || place != w->gate_places[w->gate_count - 1])
            w->gate_places[w->gate_count++] = place;
    }
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bound_walk_finish(struct bound_walk *w)
{
    if (w->bound_count) {
        qsort(w->bounds, w->bound_count, sizeof *w->bounds, by_size);
        qsort(w->model_bounds, w->bound_count, sizeof *w->model_bounds, by_size);
        w->h->bound.bound_median = w->bounds[w->bound_count / 2];
        w->h->bound.model_median = w->model_bounds[w->bound_count / 2];
    }
    free(w->memory);
    free(w->terms);
    free(w->products);
    free(w->broken);
}

void bound_accuse(struct head_result *h, double ratio, enum mxv_stage stage, size_t row)
{
    if (isnan(ratio))
        ratio = INFINITY;
    if (ratio <= h->oracle_ratio)
        return;
    h->oracle_ratio = ratio;
    h->oracle_stage = stage;
    h->oracle_row = row;
}

static double ratio_of(double error, double bound)
{
    return error == 0 || isinf(bound) ? 0 : error / bound;
}

// Bound on the error of each score, and the first check.
static void bound_scores(struct bound_walk *w, const struct mxv_bound_row *r, size_t row,
                         const double *exact)
{
    const struct problem *p = w->operands;
    size_t d = r->d;
    double q_max[MXV_TRUTH_MAX_ROUTES] = {0};
    for (unsigned i = 0; i < p->exact.routes; i++)
        for (size_t c = 0; c < d; c++)
            q_max[i] = fmax(q_max[i], fabs(p->exact.q[i][row * d + c]));
    for (size_t n = r->first; n < r->end; n++) {
        unsigned i = problem_route(p, row, n);
        const double *q = p->exact.q[i] + row * d, *k = p->exact.k[i] + n * d;
        double sum = 0, k_max = 0;
        for (size_t c = 0; c < d; c++)
            sum += fabs(q[c]) * fabs(k[c]);
        for (size_t c = 0; c < d; c++)
            k_max = fabs(k[c]) > k_max ? fabs(k[c]) : k_max;
        enum mxv_route route = (enum mxv_route)r->routes[n / w->v->contract.tile_n];
        double raw = mxv_bound_score(&w->v->contract, route, d, sum, q_max[i], k_max);
        w->slack[n] = raw * p->log2_unit + fabs(exact[n]) * 0x1p-50;
        bool overflows = q_max[i] >= 0x1p+127 || k_max >= 0x1p+127; // bf16 may hold an infinity
        if (!(sum * 1.01 < 0x1p+127) || overflows)
            w->slack[n] = INFINITY;
        if (exact[n] == -INFINITY && w->scores[n] == -INFINITY) {
            w->slack[n] = 0;
            continue;
        }
        bound_accuse(w->h, ratio_of(fabs(w->scores[n] - exact[n]), w->slack[n]), MXV_STAGE_SCORE,
                     row);
    }
}

// The tighter of two enclosures of any output of the model: around exact attention, and around our
// own sum P v / l.
static void choose_model(struct bound_walk *w, size_t at, size_t c, double noise,
                         const struct mxv_bound_members *members, struct mxv_bound_terms *model)
{
    struct head_result *h = w->h;
    const struct mxv_bound_product *p = &w->products[c];
    struct mxv_truth_ball b = h->from_operands[at];
    h->model_centre[at] = b.centre;
    h->model_noise[at] = b.radius;
    h->model[at] = mxv_bound_total(model, MXV_BOUND_SCORE) + noise;
    if (!members->gap)
        return;
    struct mxv_bound_terms t = mxv_bound_member_terms(members, p);
    t.term[MXV_BOUND_QUANTISATION] = model->term[MXV_BOUND_QUANTISATION];
    mxv_bound_finish(&w->v->contract, fabs(p->centre) + mxv_bound_total(&t, MXV_BOUND_SCORE), &t);
    double rest = mxv_bound_total(&t, MXV_BOUND_SCORE);
    if (!(rest + noise < h->model[at]))
        return;
    *model = t;
    h->model_centre[at] = p->centre;
    h->model_noise[at] = noise;
    h->model[at] = rest;
}

// Contract and model bound of one channel from the parts of the row.
static void bound_element(struct bound_walk *w, size_t at, size_t c, double float_error,
                          const struct mxv_bound_members *members, struct mxv_bound_terms *contract,
                          struct mxv_bound_terms *model)
{
    struct head_result *h = w->h;
    const struct mxv_bound_contract *k = &w->v->contract;
    const struct mxv_bound_product *p = &w->products[c];
    struct mxv_truth_ball a = h->from_inputs[at], b = h->from_operands[at];
    double noise = p->noise + float_error * p->size;
    *model = w->terms[c];
    double before = mxv_bound_total(model, MXV_BOUND_SCORE);
    bound_accuse(h, ratio_of(fabs(p->centre - b.centre), before + noise + b.radius),
                 MXV_STAGE_WEIGHT, h->rows[at / w->v->data.a.d]);
    model->term[MXV_BOUND_QUANTISATION] = fabs(a.centre - b.centre) + a.radius + b.radius;
    model->term[MXV_BOUND_PRODUCT] = p->any;
    mxv_bound_finish(k, fabs(b.centre) + before + p->any, model);
    *contract = (struct mxv_bound_terms){{0}};
    contract->term[MXV_BOUND_RESCALE] = p->rescale;
    contract->term[MXV_BOUND_PRODUCT] = p->own;
    mxv_bound_finish(k, fabs(p->centre) + p->rescale + p->own, contract);
    h->centre[at] = p->centre;
    h->noise[at] = p->noise;
    h->rest[at] = mxv_bound_total(contract, MXV_BOUND_SCORE);
    choose_model(w, at, c, noise, members, model);
}

// Whether an infinite word may stand for an exact value this large.
static bool overflow_allowed(enum mxv_element format, double x, double reach)
{
    double least = format == MXV_F16 ? 65520 : 0x1.ffp+127;
    return isinf(x) && reach >= least;
}

static void judge_element(struct bound_walk *w, size_t at, size_t c,
                          const struct mxv_bound_terms *contract,
                          const struct mxv_bound_terms *model)
{
    struct head_result *h = w->h;
    struct mxv_bound_report *r = &h->bound;
    size_t d = w->v->data.a.d, row = h->rows[at / d];
    struct mxv_truth_ball b = h->from_operands[at];
    double x = mxv_code_value(w->v->data.a.out, h->subject[row * d + c]);
    double e = fabs(x - h->centre[at]), error = fabs(x - b.centre);
    double f = fabs(x - h->model_centre[at]);
    double known = fabs(h->centre[at] - b.centre), bound = known + h->rest[at] + h->noise[at];
    double reach = fabs(h->model_centre[at] - b.centre) + h->model_noise[at] + h->model[at];
    if (overflow_allowed(w->v->data.a.out, x, fabs(h->centre[at]) + h->rest[at]))
        e = f = error = 0;
    if (!isfinite(h->rest[at])) { // beyond the range of the accumulator: left to the bits
        r->unbounded++;
        return;
    }
    r->available = true;
    r->elements++;
    r->within += e + h->noise[at] <= h->rest[at];
    r->wrong += !(e - h->noise[at] <= h->rest[at]);
    r->model_within += isfinite(h->model[at]) && f + h->model_noise[at] <= h->model[at];
    r->model_wrong += !(f - h->model_noise[at] <= h->model[at]);
    w->bounds[w->bound_count] = bound;
    w->model_bounds[w->bound_count++] = reach;
    if (!(error <= r->error_max)) {
        r->error_max = isnan(error) ? INFINITY : error;
        r->bound_at_max = bound;
        r->model_at_max = reach;
    }
    double ratio = isnan(error) ? INFINITY : ratio_of(error, bound + b.radius);
    r->model_ratio = fmax(r->model_ratio, ratio_of(f, h->model[at] + h->model_noise[at]));
    if (ratio < r->ratio || (ratio == r->ratio && bound <= r->worst.bound))
        return;
    r->ratio = ratio;
    r->worst = (struct mxv_bound_worst){
        h->sequence,
        h->head,
        row,
        c,
        x,
        b.centre,
        b.radius,
        error,
        bound,
        reach,
        {fabs(w->own_out[c] - b.centre), fabs(h->centre[at] - w->own_out[c]), h->rest[at]},
        *contract,
        *model};
}

static void check_emulation(struct bound_walk *w, size_t at, size_t c)
{
    struct head_result *h = w->h;
    size_t d = w->v->data.a.d, row = h->rows[at / d];
    double x = mxv_code_value(w->v->data.a.out, h->emulated[row * d + c]);
    double bound = h->rest[at] + h->noise[at];
    if (!overflow_allowed(w->v->data.a.out, x, fabs(h->centre[at]) + bound))
        bound_accuse(h, ratio_of(fabs(x - h->centre[at]), bound), MXV_STAGE_OUT, row);
}

// Whether a NaN or infinity of V is multiplied in the channel, be it by 0.
static bool channel_is_broken(const struct bound_walk *w, const struct mxv_bound_row *r, size_t c)
{
    size_t bn = w->v->data.a.tile_n, tiles = (r->keys + bn - 1) / bn;
    for (size_t j = 0; w->broken && j < tiles; j++)
        if (r->routes[j] != MXV_ROUTE_SKIP && w->broken[j * r->d + c])
            return true;
    return false;
}

// Whether P of the row is infinite where the contract allows that: 2^(off_P + tau) is beyond the
// type of P, or what roundings of the largest score make of it.
static bool weights_overflow(const struct bound_walk *w, const struct mxv_bound_row *r, size_t row,
                             double top)
{
    const struct mxv_bound_contract *c = &w->v->contract;
    const float *p = &w->h->state.weights[row * w->h->lk];
    double peak = (double)c->softmax.offset + (double)c->softmax.tau + fabs(top) * 0x1p-20;
    bool may = !c->p_saturates && exp2(peak) * 1.01 > c->p_largest, found = false;
    for (size_t n = r->first; may && n < r->end; n++)
        found |= !isfinite(p[n]);
    return found;
}

// False: not to be judged. Else scores of the emulation in w->scores.
static bool row_can_be_judged(struct bound_walk *w, const struct mxv_bound_row *r, size_t row,
                              const double *exact)
{
    const struct mxv_attention *a = &w->v->data.a;
    const float *s = &w->h->emulated_scores.scores[row * w->h->lk];
    double unit = w->operands->log2_unit, top = -INFINITY;
    for (size_t n = r->first; n < r->end; n++) {
        w->scores[n] = (double)s[n] * unit;
        top = fmax(top, exact[n]);
        if (isnan(exact[n]) || exact[n] == INFINITY)
            w->h->unscored[row] = true;
    }
    bool sentinel = a->masked == MXV_MASKED_FINITE && !(top > -5.0e6 * unit + 200);
    return r->first < r->end && !sentinel && isfinite(top) && !w->h->unscored[row] &&
           !weights_overflow(w, r, row, top);
}

// Without bounds (dma-released) no row is left to words: each has a visible key.
bool verify_row_is_measured(const struct verification *v, const struct head_result *h, size_t place)
{
    return !h->undefined[h->rows[place]] && (!v->bounded || h->bounded_rows[place]);
}

void bound_walk_row(struct bound_walk *w, size_t place)
{
    const struct mxv_attention *a = &w->v->data.a;
    struct head_result *h = w->h;
    size_t row = h->rows[place], d = a->d, tiles = (h->lk + a->tile_n - 1) / a->tile_n;
    const double *exact = &h->operand_scores[place * h->lk];
    struct mxv_bound_row r = {.keys = h->lk, .d = d, .v = w->operands->exact.v};
    r.routes = &h->emulated_scores.routes[row / a->tile_m * tiles];
    mxv_attention_visible(a, h->lq, h->lk, row, &r.first, &r.end);
    if (!row_can_be_judged(w, &r, row, exact))
        return;
    const struct mxv_bound_state state = {
        &h->state.weights[row * h->lk], &h->emulated_scores.scores[row * h->lk], w->values,
        (double)h->state.v_scale,       &h->state.maxima[row * tiles],           h->state.sums[row],
    };
    struct mxv_bound_members members = {0};
    bound_scores(w, &r, row, exact);
    mxv_bound_softmax(&r, exact, w->weights, w->out);
    mxv_bound_softmax(&r, w->scores, w->own_weights, w->own_out);
    w->mass = mxv_bound_weights(&w->v->contract, &r, exact, w->slack, w->weights, w->out, w->terms);
    bool known = !w->v->options->wide_weights &&
                 mxv_bound_members_of(&w->v->contract, &r, exact, w->slack, &state, &members);
    bool products = mxv_bound_products(&w->v->contract, &r, &state, &w->mass,
                                       known ? &members : NULL, w->products);
    if (w->mass.out_of_memory || members.out_of_memory || !products) {
        w->out_of_memory = true;
        mxv_bound_members_free(&members);
        return;
    }
    double largest = 0;
    for (size_t n = r.first; n < r.end; n++)
        largest = exact[n] == -INFINITY ? largest : fmax(largest, fabs(exact[n]));
    double float_error = ((double)h->lk + 2 * largest + 16) * 0x1p-51;
    h->judged[place] = h->bounded_rows[place] = true;
    h->bound.rows++;
    for (size_t c = 0; c < d; c++) {
        struct mxv_bound_terms contract, model;
        if (channel_is_broken(w, &r, c)) {
            bound_word(w->v, h, place * d + c, row, false);
            continue;
        }
        bound_element(w, place * d + c, c, float_error, &members, &contract, &model);
        check_emulation(w, place * d + c, c);
        judge_element(w, place * d + c, c, &contract, &model);
    }
    mxv_bound_members_free(&members);
    bound_lse(w, place, &r, &state);
    for (size_t i = 0; i < w->gate_count; i++)
        if (w->gate_places[i] == place)
            gate_row(w, place, &r);
}
