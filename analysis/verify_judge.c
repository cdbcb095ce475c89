// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What bounds and gates of the heads say of the case. Order of blame: a difference in bits
// (verify.c), an oracle that contradicts the other, a word proved wrong, words that stay undecided,
// a gate too weak to have noticed a mandatory mutant.
#include "verify.h"
#include "verify_adapter.h"
#include <math.h>
#include <stdio.h>

static void merge_lse(struct mxv_bound_lse_report *into, const struct mxv_bound_lse_report *from)
{
    if (!from->elements)
        return;
    if (!into->elements || from->error_max > into->error_max) {
        into->error_max = from->error_max;
        into->bound_at_max = from->bound_at_max;
        into->model_at_max = from->model_at_max;
    }
    if (!into->elements || from->ratio > into->ratio) {
        into->ratio = from->ratio;
        into->worst = from->worst;
    }
    into->elements += from->elements;
    into->within += from->within;
    into->wrong += from->wrong;
    into->model_within += from->model_within;
    into->model_wrong += from->model_wrong;
}

static void merge_bound(struct mxv_bound_report *into, const struct mxv_bound_report *from)
{
    if (!from->available)
        return;
    double share = (double)from->elements / (double)(into->elements + from->elements);
    into->bound_median += share * (from->bound_median - into->bound_median);
    into->model_median =
        isinf(from->model_median)
            ? INFINITY
            : into->model_median + share * (from->model_median - into->model_median);
    into->elements += from->elements;
    into->rows += from->rows;
    into->words += from->words;
    merge_lse(&into->lse, &from->lse);
    into->unbounded += from->unbounded;
    into->within += from->within;
    into->wrong += from->wrong;
    into->model_within += from->model_within;
    into->model_wrong += from->model_wrong;
    if (!into->available || from->error_max > into->error_max) {
        into->error_max = from->error_max;
        into->bound_at_max = from->bound_at_max;
        into->model_at_max = from->model_at_max;
    }
    into->model_ratio = fmax(into->model_ratio, from->model_ratio);
    if (!into->available || from->ratio > into->ratio) {
        into->ratio = from->ratio;
        into->worst = from->worst;
    }
    into->available = true;
}

static void merge_split(struct mxv_score_split *into, const struct mxv_score_split *from)
{
    into->pairs += from->pairs;
    into->quantisation_max = fmax(into->quantisation_max, from->quantisation_max);
    into->quantisation_squares += from->quantisation_squares;
    into->compute_max = fmax(into->compute_max, from->compute_max);
    into->compute_squares += from->compute_squares;
}

// Sums of the head's tiles by route, and the tile to which each cause contributes most.
static void merge_causes(struct verification *v, const struct head_result *h, struct mxv_split *out)
{
    const struct mxv_attention *a = &v->data.a;
    size_t across = (h->lk + a->tile_n - 1) / a->tile_n;
    size_t all = (h->lq + a->tile_m - 1) / a->tile_m * across;
    out->residual = fmax(out->residual, h->split_residual);
    for (size_t i = 0; h->causes && i < all; i++) {
        enum mxv_route route = (enum mxv_route)h->emulated_scores.routes[i];
        if (route >= MXV_ROUTE_COUNT || route == MXV_ROUTE_SKIP)
            continue;
        mxv_split_merge(&out->by_route[route], &h->causes[i]);
        for (unsigned k = 0; k < MXV_CAUSE_COUNT; k++) {
            double rms = mxv_split_rms(&h->causes[i], (enum mxv_cause)k);
            if (rms > out->worst[k].rms)
                out->worst[k] = (struct mxv_split_place){rms,        h->sequence, h->head,
                                                         i / across, i % across,  route};
        }
    }
}

static void split_outputs(struct verification *v, struct mxv_verify_result *out)
{
    double quantisation = 0, compute = 0, count = 0;
    size_t d = v->data.a.d;
    for (size_t k = 0; k < v->heads; k++) {
        const struct head_result *h = &v->results[k];
        for (size_t i = 0; i < h->row_count * d; i++) {
            double a = h->from_inputs[i].centre, b = h->from_operands[i].centre;
            double x = mxv_code_value(v->data.a.out, h->subject[h->rows[i / d] * d + i % d]);
            if (!verify_row_is_measured(v, h, i / d) || !isfinite(a) || !isfinite(b) ||
                !isfinite(x))
                continue;
            quantisation += (a - b) * (a - b);
            compute += (x - b) * (x - b);
            count++;
        }
    }
    out->quantisation_rms = count > 0 ? sqrt(quantisation / count) : 0;
    out->compute_rms = count > 0 ? sqrt(compute / count) : 0;
}

// The emulation may only be blamed where the truth was not made wrong on purpose, and on kernels
// that claim to compute attention.
static void judge_oracle(const struct head_result *h, struct mxv_verify_result *out)
{
    if (h->oracle_ratio > out->worst_bound_ratio)
        out->worst_bound_ratio = h->oracle_ratio;
    if (h->oracle_ratio <= 1 || out->verdict != MXV_VERDICT_PASS)
        return;
    // weights are not a tap of one rounding: what disagrees is the output they lead to
    enum mxv_stage stage = h->oracle_stage == MXV_STAGE_WEIGHT ? MXV_STAGE_OUT : h->oracle_stage;
    out->verdict = MXV_VERDICT_ORACLE_ERROR;
    out->first.key = (struct mxv_tap_key){stage, MXV_ROUTE_F16, h->sequence, h->head, 0, 0};
    snprintf(out->reason, sizeof out->reason,
             "emulation and truth disagree at %s, sequence %zu head %zu row %zu: %.3g times the "
             "bound on compute error; one of the two oracles is wrong",
             mxv_choice_name(MXV_CHOICE_STAGE, h->oracle_stage), h->sequence, h->head,
             h->oracle_row, h->oracle_ratio);
}

static void judge_elements(struct mxv_verify_result *out)
{
    struct mxv_bound_report *b = &out->bound;
    verify_count_undecided(b);
    out->bound_verdict = !b->available                      ? MXV_VERDICT_SKIP
                         : b->wrong || b->lse.wrong         ? MXV_VERDICT_FAIL
                         : b->undecided || b->lse.undecided ? MXV_VERDICT_UNDECIDED
                                                            : MXV_VERDICT_PASS;
    if (out->verdict != MXV_VERDICT_PASS || out->bound_verdict == MXV_VERDICT_SKIP ||
        out->bound_verdict == MXV_VERDICT_PASS)
        return;
    out->verdict = out->bound_verdict;
    if (!b->wrong && !b->undecided) {
        snprintf(out->reason, sizeof out->reason,
                 "same bits, but of %llu LSE words %llu are proved wrong and %llu undecided; worst "
                 "at sequence %zu head %zu row %zu: %.9g against %.9g, error %.3g, bound %.3g",
                 (unsigned long long)b->lse.elements, (unsigned long long)b->lse.wrong,
                 (unsigned long long)b->lse.undecided, b->lse.worst.sequence, b->lse.worst.head,
                 b->lse.worst.row, b->lse.worst.value, b->lse.worst.truth, b->lse.worst.error,
                 b->lse.worst.bound);
        return;
    }
    snprintf(out->reason, sizeof out->reason,
             "same bits, but of %llu output elements %llu are proved wrong and %llu undecided; "
             "worst at sequence %zu head %zu (%zu, %zu): %.9g against %.9g, error %.3g, bound %.3g",
             (unsigned long long)b->elements, (unsigned long long)b->wrong,
             (unsigned long long)b->undecided, b->worst.sequence, b->worst.head, b->worst.row,
             b->worst.channel, b->worst.value, b->worst.truth, b->worst.error, b->worst.bound);
}

// The gate that is tried is the one that judged.
static void judge_gate(bool claims_bits, struct mxv_verify_result *out)
{
    uint64_t killed = claims_bits ? out->gate.bound : out->gate.model;
    uint64_t alive = out->bound.available ? mxv_gate_survivors(&out->gate, killed)
                                          : mxv_gate_survivors_bits(&out->gate);
    char names[200];
    if (!alive || out->verdict != MXV_VERDICT_PASS)
        return;
    mxv_mutants_print(alive, names, sizeof names);
    out->verdict = MXV_VERDICT_WEAK;
    snprintf(out->reason, sizeof out->reason,
             "the %s gate would have passed mandatory mutants: %s (smallest gain caught: 2^-%d)",
             !out->bound.available ? "bits"
             : claims_bits         ? "bound"
                                   : "model bound",
             names, claims_bits ? out->gate.gain_up : out->gate.model_up);
}

void judge_bounds(struct verification *v, struct mxv_verify_result *out)
{
    mxv_gate_report_init(&out->gate);
    for (size_t i = 0; i < v->heads; i++) {
        const struct head_result *h = &v->results[i];
        merge_bound(&out->bound, &h->bound);
        mxv_gate_report_merge(&out->gate, &h->gate);
        for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
            merge_split(&out->split[r], &h->split[r]);
        merge_causes(v, h, &out->causes);
        judge_oracle(h, out);
    }
    split_outputs(v, out);
    if (verify_claims_bits(v))
        judge_elements(out);
    else
        verify_judge_model(out);
    judge_gate(verify_claims_bits(v), out);
}
