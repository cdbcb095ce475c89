// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties of parts of a sequence: keys in two parts merged by their LSE, the first tokens alone.
// Skipped on options by which the whole sees more than a part (scales over the whole sequence, K
// smoothing, plans by length). tests/gate/test_properties.c fails if one of them lets a fault
// through that it must see.
#include "properties_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct merge {
    struct trial *t;
    const struct outputs *whole, *left, *right;
    double most;
};

static void check_merged(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct merge *m = ctx;
    size_t row = row_index(a, p), keys = a->cu_k[1];
    double l1 = (double)m->left->lse[row], l2 = (double)m->right->lse[row], top = fmax(l1, l2);
    double w1 = exp(l1 - top), w2 = exp(l2 - top), lse = top + log(w1 + w2);
    double slack = 2 * sum_tolerance(a, keys) + 0x1p-20 * (1 + fabs(l1) + fabs(l2));
    double tolerance = m->most * (2 * output_tolerance(a, keys) + 4 * slack);
    for (size_t x = 0; x < a->d; x++) {
        size_t i = row * a->d + x;
        double merged = (w1 * (double)m->left->out[i] + w2 * (double)m->right->out[i]) / (w1 + w2);
        tally_error(m->t, p, x, (double)m->whole->out[i], merged, tolerance);
    }
    tally_error(m->t, p, a->d, (double)m->whole->lse[row], lse, slack);
}

// The third call: the second part of the keys.
static int run_merge(struct trial *t, struct pair *p, struct mxv_case *third, size_t cut)
{
    struct mxv_case_data data = {.q = NULL};
    struct outputs rest = {0};
    struct mxv_attention *a = &p->a.a;
    size_t lq = a->cu_q[1], lk = a->cu_k[1], kv = a->heads_kv, d = a->d;
    int status = trial_build(t, third, &data);
    if (status == TRIAL_DONE) {
        memcpy(p->b.q, p->a.q, lq * a->heads_q * d * sizeof(float));
        memcpy(data.q, p->a.q, lq * a->heads_q * d * sizeof(float));
        copy_tokens(p->a.k, lk, 0, p->b.k, cut, 0, cut, kv, d);
        copy_tokens(p->a.v, lk, 0, p->b.v, cut, 0, cut, kv, d);
        copy_tokens(p->a.k, lk, cut, data.k, lk - cut, 0, lk - cut, kv, d);
        copy_tokens(p->a.v, lk, cut, data.v, lk - cut, 0, lk - cut, kv, d);
        status = pair_run(t, p);
    }
    if (status == TRIAL_DONE)
        status = trial_run(t, &data.a, &rest);
    if (status == TRIAL_DONE) {
        struct merge m = {t, &p->oa, &p->ob, &rest, largest_value(a)};
        each_row(a, check_merged, &m);
    }
    outputs_free(&rest);
    mxv_case_free(&data);
    return status;
}

int property_LSE_MERGE(struct trial *t)
{
    if (trial_released(t) || !t->one_route || sees_whole_sequence(&t->c))
        return TRIAL_SKIPPED;
    size_t cut = t->c.tile.n, lk = 2 * cut + 29;
    struct pair *p = pair_make(t, 70, lk);
    struct mxv_case *third = calloc(1, sizeof *third);
    int status = p && third ? TRIAL_DONE : trial_no_memory(t);
    if (status == TRIAL_DONE) {
        p->first.mask = MXV_MASK_FULL;
        p->first.left = p->first.right = -1;
        p->first.lse = MXV_LSE_E;
        p->second = *third = p->first;
        p->second.lk = cut;
        third->lk = lk - cut;
        status = pair_build(t, p);
    }
    if (status == TRIAL_DONE)
        status = run_merge(t, p, third, cut);
    if (p)
        pair_free(p);
    free(third);
    return status;
}

static size_t common_multiple(size_t a, size_t b)
{
    size_t n = a;
    while (n % b)
        n += a;
    return n;
}

static void check_prefix(void *ctx, const struct mxv_attention *b, struct place_of p)
{
    const struct pair_check *x = ctx;
    size_t short_row = row_index(b, p), long_row = row_index(&x->p->a.a, p), d = b->d;
    for (size_t c = 0; c < d; c++)
        tally_bits(x->t, p, c, x->p->oa.out[long_row * d + c], x->p->ob.out[short_row * d + c]);
    if (b->lse != MXV_LSE_NONE)
        tally_bits(x->t, p, d, x->p->oa.lse[long_row], x->p->ob.lse[short_row]);
}

// The first n of `total` tokens.
static int run_prefix(struct trial *t, size_t n, size_t total)
{
    struct pair *p = pair_make(t, total, total);
    int status = p ? TRIAL_DONE : TRIAL_FAILED;
    if (status == TRIAL_DONE) {
        p->second.lq = p->second.lk = n;
        status = pair_build(t, p);
    }
    if (status == TRIAL_DONE) {
        const struct mxv_attention *a = &p->a.a;
        copy_tokens(p->a.q, total, 0, p->b.q, n, 0, n, a->heads_q, a->d);
        copy_tokens(p->a.k, total, 0, p->b.k, n, 0, n, a->heads_kv, a->d);
        copy_tokens(p->a.v, total, 0, p->b.v, n, 0, n, a->heads_kv, a->d);
        status = pair_run(t, p);
    }
    if (status == TRIAL_DONE) {
        struct pair_check x = {t, p};
        each_row(&p->b.a, check_prefix, &x);
    }
    if (p)
        pair_free(p);
    return status;
}

// No scale joins rows, so that a prefix may end inside a tile.
static bool rows_scaled_alone(const struct mxv_case *c)
{
    if (c->kernel == MXV_KERNEL_TILEMIX)
        return c->q_gran == MXV_GRAN_TOKEN && c->k_gran == MXV_GRAN_TOKEN;
    return (c->dual == MXV_DUAL_NONE || c->dual == MXV_DUAL_TOKEN) && !c->rebase;
}

int property_CAUSAL_PREFIX(struct trial *t)
{
    bool by_length =
        t->c.kernel == MXV_KERNEL_DMA && t->c.mode == MXV_MODE_MIXED && t->c.plan != MXV_PLAN_DIAG;
    if (sees_whole_sequence(&t->c) || by_length || t->c.mask != MXV_MASK_CAUSAL ||
        t->c.mix == MXV_MIX_FILE)
        return TRIAL_SKIPPED;
    size_t n = common_multiple(t->c.tile.m, t->c.tile.n), total = n + n / 2 + 5;
    int status = run_prefix(t, n, total);
    bool sinks = trial_released(t) && t->c.mode == MXV_MODE_MIXED && t->c.sink; // D3: they see all
    if (status == TRIAL_DONE && rows_scaled_alone(&t->c) && !sinks)
        status = run_prefix(t, n - 7, total);
    return status;
}
