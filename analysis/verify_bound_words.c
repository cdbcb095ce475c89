// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What is judged beside the elements of ordinary rows: the log-sum-exp of each of them by its bound
// (docs/bounds.md 5), and words that need no bound: NaN and infinities where both oracles have
// them, zeros or NaN of rows without a visible key. A case whose output is nothing but NaN is
// judged so, and its mutants with it. tests/gate/test_gate_power.c and test_bound_holds.c fail if
// it is wrong.
#include "verify.h"
#include "verify_adapter.h"
#include <math.h>

static double ratio_of(double error, double bound)
{
    return error == 0 || isinf(bound) ? 0 : isnan(error) ? INFINITY : error / bound;
}

static double lse_value(uint32_t word)
{
    return mxv_code_value(MXV_F32, word);
}

static void judge_lse(struct head_result *h, size_t row, const struct mxv_bound_lse *b,
                      struct mxv_truth_ball truth)
{
    struct mxv_bound_lse_report *r = &h->bound.lse;
    double x = lse_value(h->subject_lse[row]), e = fabs(x - b->centre);
    double error = fabs(x - truth.centre), noise = truth.radius + b->noise;
    double rest = mxv_bound_total(&b->contract, MXV_BOUND_SCORE);
    double model = mxv_bound_total(&b->model, MXV_BOUND_SCORE);
    r->elements++;
    r->within += e + b->noise <= rest;
    r->wrong += !(e - b->noise <= rest);
    r->model_within += isfinite(model) && error + noise <= model;
    r->model_wrong += !(error - noise <= model);
    if (!(error <= r->error_max)) {
        r->error_max = isnan(error) ? INFINITY : error;
        r->bound_at_max = fabs(b->centre - truth.centre) + rest;
        r->model_at_max = model;
    }
    double ratio = ratio_of(error, model + noise);
    if (r->elements > 1 && ratio <= r->ratio)
        return;
    r->ratio = ratio;
    r->worst = (struct mxv_bound_worst){.sequence = h->sequence,
                                        .head = h->head,
                                        .row = row,
                                        .value = x,
                                        .truth = truth.centre,
                                        .radius = truth.radius,
                                        .error = error,
                                        .bound = fabs(b->centre - truth.centre) + rest,
                                        .model_bound = model,
                                        .contract = b->contract,
                                        .model = b->model};
}

void bound_lse(struct bound_walk *w, size_t place, const struct mxv_bound_row *row,
               const struct mxv_bound_state *state)
{
    const struct mxv_attention *a = &w->v->data.a;
    struct head_result *h = w->h;
    size_t at = h->rows[place];
    double factor = a->lse == MXV_LSE_E ? 0.69314718055994531 : 1;
    struct mxv_truth_ball truth = h->lse_truth[place];
    struct mxv_bound_lse b;
    bool normal = state->sum >= 0x1p-126F && isfinite(state->sum); // lg2.approx.ftz
    if (a->lse == MXV_LSE_NONE || !normal || !isfinite(truth.centre))
        return;
    truth.centre *= factor;
    truth.radius = truth.radius * factor + fabs(truth.centre) * 0x1p-51;
    mxv_bound_lse_of(&w->v->contract, row, &w->mass, state, a->lse, &b);
    double own = lse_value(h->emulated_lse[at]), noise = truth.radius + b.noise;
    bound_accuse(
        h, ratio_of(fabs(own - b.centre), mxv_bound_total(&b.contract, MXV_BOUND_SCORE) + b.noise),
        MXV_STAGE_LSE, at);
    bound_accuse(
        h, ratio_of(fabs(own - truth.centre), mxv_bound_total(&b.model, MXV_BOUND_SCORE) + noise),
        MXV_STAGE_LSE, at);
    if (verify_judges_lse(w->v))
        judge_lse(h, at, &b, truth);
}

// Whether the word of an element is known without a bound: a NaN or an infinity that the emulation
// and the truth agree on, or what the case says of a row without a key.
static bool known_word(const struct head_result *h, size_t at, bool empty, double own)
{
    double truth = h->from_operands[at].centre;
    if (empty)
        return own == 0 || isnan(own);
    return isnan(own) ? isnan(truth) : isinf(own) && own == truth;
}

void bound_word(struct verification *v, struct head_result *h, size_t at, size_t row, bool empty)
{
    size_t d = v->data.a.d, c = at % d;
    double own = mxv_code_value(v->data.a.out, h->emulated[row * d + c]);
    double x = mxv_code_value(v->data.a.out, h->subject[row * d + c]);
    struct mxv_bound_report *r = &h->bound;
    if (!known_word(h, at, empty, own)) {
        h->rest[at] = h->model[at] = INFINITY;
        return;
    }
    bool right = isnan(own) ? isnan(x) : x == own;
    h->centre[at] = h->model_centre[at] = own;
    h->judged[at / d] = r->available = true;
    r->elements++;
    r->words++;
    r->within += right;
    r->wrong += !right;
    r->model_within += right;
    r->model_wrong += !right;
    if (right)
        return;
    r->error_max = INFINITY;
    if (r->ratio < INFINITY || r->worst.bound > 0)
        r->worst = (struct mxv_bound_worst){.sequence = h->sequence,
                                            .head = h->head,
                                            .row = row,
                                            .channel = c,
                                            .value = x,
                                            .truth = own,
                                            .error = INFINITY};
    r->ratio = INFINITY;
}

void bound_patterns(struct verification *v, struct head_result *h)
{
    const struct mxv_attention *a = &v->data.a;
    for (size_t place = 0; place < h->row_count; place++) {
        size_t row = h->rows[place], first, end;
        if (h->judged[place])
            continue;
        mxv_attention_visible(a, h->lq, h->lk, row, &first, &end);
        bool empty = first >= end && a->masked != MXV_MASKED_FINITE;
        if (!empty && !h->unscored[row]) { // near the sentinel of masked=finite: bits only
            for (size_t c = 0; c < a->d; c++)
                h->rest[place * a->d + c] = h->model[place * a->d + c] = INFINITY;
            continue;
        }
        for (size_t c = 0; c < a->d; c++)
            bound_word(v, h, place * a->d + c, row, empty);
    }
}
