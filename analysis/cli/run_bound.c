// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bounds and gate power of one case on the terminal, and --explain: the terms behind the worst
// element (docs/bounds.md).
#include "run.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static unsigned bits_in(uint64_t set)
{
    unsigned n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

double run_gate_count(uint64_t set)
{
    return bits_in(set);
}

double run_rms(double squares, uint64_t count)
{
    return count ? sqrt(squares / (double)count) : 0;
}

double run_gain(const struct mxv_gate_report *gate, int k)
{
    return gate->judged >> MXV_MUTANT_GAIN_105 & 1 ? k : -1;
}

static void print_gate(const struct mxv_verify_result *r)
{
    const struct mxv_gate_report *g = &r->gate;
    char names[512];
    uint64_t idle = mxv_mutants_mandatory() & ~g->applicable;
    if (idle) {
        mxv_mutants_print(idle, names, sizeof names);
        printf("  gate: not applicable, as this output would be the same: %s\n", names);
    }
    if (!g->applicable)
        return;
    if (!r->bound.available) {
        printf("  gate: by bits alone, %u of %u mutants killed\n", bits_in(g->bits),
               bits_in(g->applicable));
        return;
    }
    mxv_mutants_print(g->applicable & ~g->bound, names, sizeof names);
    printf("  gate: of %u mutants killed %u by bits, %u by bound, %u by model bound; passed by "
           "bound: %s\n",
           bits_in(g->applicable), bits_in(g->bits), bits_in(g->bound), bits_in(g->model), names);
    printf("        smallest gain caught: 1+2^-%d, 1-2^-%d by bound; 1+2^-%d, 1-2^-%d by model "
           "bound; error of one\n        element certain to be caught: from %.3g (%.3g ulp), "
           "everywhere from %.3g (%.3g ulp)\n",
           g->gain_up, g->gain_down, g->model_up, g->model_down, g->element, g->element_ulp,
           g->blind, g->blind_ulp);
}

static void print_split(const struct mxv_verify_result *r)
{
    for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++) {
        const struct mxv_score_split *s = &r->split[i];
        if (s->pairs)
            printf("  scores %-5s quantisation rms %.3g max %.3g, compute rms %.3g max %.3g log2 "
                   "units (%" PRIu64 " pairs)\n",
                   mxv_choice_name(MXV_CHOICE_ROUTE, i), run_rms(s->quantisation_squares, s->pairs),
                   s->quantisation_max, run_rms(s->compute_squares, s->pairs), s->compute_max,
                   s->pairs);
    }
    printf("  outputs      quantisation rms %.3g, compute rms %.3g\n", r->quantisation_rms,
           r->compute_rms);
}

void run_worst_tiles(const struct mxv_split *split, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (unsigned k = 0; k < MXV_CAUSE_COUNT && n < size; k++) {
        const struct mxv_split_place *w = &split->worst[k];
        if (w->rms > 0)
            n += (size_t)snprintf(
                text + n, size - n, "%s%s %.3g at sequence %zu head %zu tile (%zu, %zu) %s",
                n ? "; " : "", mxv_cause_name(k), w->rms, w->sequence, w->head, w->tile_q,
                w->tile_k, mxv_choice_name(MXV_CHOICE_ROUTE, w->route));
    }
}

static void print_causes(const struct mxv_split *split)
{
    bool any = false;
    for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++)
        any = any || split->by_route[i].elements;
    if (!any)
        return;
    printf("  error of the outputs by cause: rms over the tiles of a route (largest), and the tile "
           "with most of it\n");
    for (unsigned k = 0; k < MXV_CAUSE_COUNT; k++) {
        const struct mxv_split_place *w = &split->worst[k];
        printf("    %-14s", mxv_cause_name(k));
        for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++)
            if (split->by_route[i].elements)
                printf("  %s %.3g (%.3g)", mxv_choice_name(MXV_CHOICE_ROUTE, i),
                       mxv_split_rms(&split->by_route[i], (enum mxv_cause)k),
                       split->by_route[i].largest[k]);
        if (w->rms > 0)
            printf("  %.3g at sequence %zu head %zu tile (%zu, %zu)", w->rms, w->sequence, w->head,
                   w->tile_q, w->tile_k);
        printf("\n");
    }
}

void run_print_bound(const struct mxv_verify_result *r)
{
    const struct mxv_bound_report *b = &r->bound;
    if (!r->has_truth)
        return;
    if (b->available)
        printf("  bound: %s; of %" PRIu64 " elements %" PRIu64 " within, %" PRIu64
               " wrong, %" PRIu64 " undecided (model: %" PRIu64 " wrong, %" PRIu64
               " undecided);\n         largest error %.3g, bound there %.3g, model bound %.3g\n",
               mxv_verdict_name(r->bound_verdict), b->elements, b->within, b->wrong, b->undecided,
               b->model_wrong, b->model_undecided, b->error_max, b->bound_at_max, b->model_at_max);
    const struct mxv_bound_lse_report *l = &b->lse;
    if (l->elements)
        printf("         LSE: of %" PRIu64 " words %" PRIu64 " within, %" PRIu64 " wrong, %" PRIu64
               " undecided (model: %" PRIu64 " wrong, %" PRIu64 " undecided);\n"
               "         largest error %.3g, bound there %.3g, model bound %.3g\n",
               l->elements, l->within, l->wrong, l->undecided, l->model_wrong, l->model_undecided,
               l->error_max, l->bound_at_max, l->model_at_max);
    if (b->words)
        printf("         %" PRIu64 " of the elements are NaN, infinite or of rows without a key: "
               "judged word by word\n",
               b->words);
    if (b->unbounded)
        printf("         %" PRIu64 " more without a finite bound: bits only\n", b->unbounded);
    if (!b->available)
        printf("  bound: none (no row of this case, or not this kernel, can be judged so)\n");
    print_gate(r);
}

static void print_terms(const struct mxv_bound_worst *w, bool lse)
{
    printf("    %-14s %12s %12s\n", "term", "contract", "model");
    for (unsigned t = 0; t < MXV_BOUND_TERM_COUNT; t++)
        if (lse || t != MXV_BOUND_LOGARITHM)
            printf("    %-14s %12.3g %12.3g  %s\n", mxv_bound_term_name(t), w->contract.term[t],
                   w->model.term[t], mxv_bound_term_text(t));
}

void run_explain(const struct mxv_verify_result *r)
{
    const struct mxv_bound_worst *w = &r->bound.worst, *l = &r->bound.lse.worst;
    if (!r->bound.available)
        return;
    print_split(r);
    print_causes(&r->causes);
    printf("  nearest to its bound: sequence %zu head %zu (%zu, %zu): %.9g against %.9g +- %.2g\n"
           "    error %.3g, bound %.3g by contract, %.3g by model\n"
           "    known by contract: scores %.3g, weights and row sum %.3g; open: %.3g\n",
           w->sequence, w->head, w->row, w->channel, w->value, w->truth, w->radius, w->error,
           w->bound, w->model_bound, w->known[0], w->known[1], w->known[2]);
    print_terms(w, false);
    if (!r->bound.lse.elements)
        return;
    printf("  LSE nearest to its model bound: sequence %zu head %zu row %zu: %.9g against %.9g +- "
           "%.2g\n    error %.3g, bound %.3g by contract, %.3g by model\n",
           l->sequence, l->head, l->row, l->value, l->truth, l->radius, l->error, l->bound,
           l->model_bound);
    print_terms(l, true);
}
