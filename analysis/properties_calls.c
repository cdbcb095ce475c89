// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties that relate two or more calls: parts of the keys, prefixes, scaled values, written-out
// KV heads, keys in another order, batches, repetition. Each is skipped on options by which one
// call may see more than the other (scales over the whole sequence, K smoothing, plans by length).
// tests/gate/test_properties.c fails if one of them lets a fault through that it must see.
#include "properties_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    struct mxv_case first, second;
    struct mxv_case_data a, b;
    struct outputs oa, ob;
};

static void pair_free(struct pair *p)
{
    outputs_free(&p->oa);
    outputs_free(&p->ob);
    mxv_case_free(&p->a);
    mxv_case_free(&p->b);
    free(p);
}

static struct pair *pair_make(const struct trial *t, size_t lq, size_t lk)
{
    struct pair *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->first = t->c;
    p->first.seqs.count = 0;
    p->first.batch = 1;
    p->first.lq = lq;
    p->first.lk = lk;
    p->second = p->first;
    return p;
}

static int pair_build(struct trial *t, struct pair *p)
{
    int status = trial_build(t, &p->first, &p->a);
    return status == TRIAL_DONE ? trial_build(t, &p->second, &p->b) : status;
}

static int pair_run(struct trial *t, struct pair *p)
{
    int status = trial_run(t, &p->a.a, &p->oa);
    return status == TRIAL_DONE ? trial_run(t, &p->b.a, &p->ob) : status;
}

// Rows `from`.. of a tensor [heads][tokens][d] into another one's rows `to`...
static void copy_tokens(const float *source, size_t source_tokens, size_t from, float *target,
                        size_t target_tokens, size_t to, size_t count, size_t heads, size_t d)
{
    for (size_t h = 0; h < heads; h++)
        memcpy(target + (h * target_tokens + to) * d, source + (h * source_tokens + from) * d,
               count * d * sizeof *target);
}

static bool released(const struct trial *t)
{
    return t->c.kernel == MXV_KERNEL_DMA_RELEASED;
}

// Something looks at all keys of a sequence at once.
static bool sees_whole_sequence(const struct mxv_case *c)
{
    return c->smooth_k || c->dual == MXV_DUAL_TENSOR || c->dual == MXV_DUAL_CHANNEL ||
           c->v == MXV_E4M3;
}

// Largest |v| that a head reads.
static double largest(const struct mxv_attention *a)
{
    double most = 0;
    for (size_t i = 0; i < a->heads_kv * a->cu_k[a->sequences] * a->d; i++)
        most = fmax(most, fabs((double)a->v[i]));
    return most;
}

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
        struct merge m = {t, &p->oa, &p->ob, &rest, largest(a)};
        each_row(a, check_merged, &m);
    }
    outputs_free(&rest);
    mxv_case_free(&data);
    return status;
}

int property_LSE_MERGE(struct trial *t)
{
    if (released(t) || !t->one_route || sees_whole_sequence(&t->c))
        return TRIAL_SKIPPED;
    size_t cut = t->c.tile.n, lk = 2 * cut + 29;
    struct pair *p = pair_make(t, 70, lk);
    struct mxv_case *third = calloc(1, sizeof *third);
    int status = p && third ? TRIAL_DONE : TRIAL_FAILED;
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

struct prefix {
    struct trial *t;
    const struct pair *p;
};

static void check_prefix(void *ctx, const struct mxv_attention *b, struct place_of p)
{
    const struct prefix *x = ctx;
    size_t short_row = row_index(b, p), long_row = row_index(&x->p->a.a, p), d = b->d;
    for (size_t c = 0; c < d; c++)
        tally_bits(x->t, p, c, x->p->oa.out[long_row * d + c], x->p->ob.out[short_row * d + c]);
    if (b->lse != MXV_LSE_NONE)
        tally_bits(x->t, p, d, x->p->oa.lse[long_row], x->p->ob.lse[short_row]);
}

int property_CAUSAL_PREFIX(struct trial *t)
{
    bool by_length =
        t->c.kernel == MXV_KERNEL_DMA && t->c.mode == MXV_MODE_MIXED && t->c.plan != MXV_PLAN_DIAG;
    if (sees_whole_sequence(&t->c) || by_length || t->c.mask != MXV_MASK_CAUSAL ||
        t->c.mix == MXV_MIX_FILE)
        return TRIAL_SKIPPED;
    size_t n = common_multiple(t->c.tile.m, t->c.tile.n), total = n + n / 2 + 5;
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
        struct prefix x = {t, p};
        each_row(&p->b.a, check_prefix, &x);
    }
    if (p)
        pair_free(p);
    return status;
}

// dma-released sums PV in binary16, whose subnormals do not scale: there within a tolerance.
static void check_scaled(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    const struct prefix *x = ctx;
    size_t row = row_index(a, p), d = a->d;
    double most = released(x->t) ? 8 * largest(a) * 2 * output_tolerance(a, a->cu_k[1]) : 0;
    for (size_t c = 0; c < d; c++) {
        float one = x->p->oa.out[row * d + c], eight = x->p->ob.out[row * d + c];
        if (most > 0)
            tally_error(x->t, p, c, (double)eight, 8 * (double)one, most);
        else
            tally_bits(x->t, p, c, eight, 8 * one);
    }
}

int property_POWER_OF_TWO_V(struct trial *t)
{
    struct pair *p = pair_make(t, 100, released(t) ? 100 : 130);
    int status = p ? TRIAL_DONE : TRIAL_FAILED;
    if (status == TRIAL_DONE) {
        p->first.out = p->second.out = MXV_F32;
        status = pair_build(t, p);
    }
    if (status == TRIAL_DONE) {
        size_t n = p->a.a.heads_kv * p->a.a.cu_k[1] * p->a.a.d;
        for (size_t i = 0; i < n; i++)
            p->b.v[i] = 8 * p->a.v[i];
        status = pair_run(t, p);
    }
    if (status == TRIAL_DONE) {
        struct prefix x = {t, p};
        each_row(&p->a.a, check_scaled, &x);
    }
    if (p)
        pair_free(p);
    return status;
}

static void check_same(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    const struct prefix *x = ctx;
    size_t row = row_index(a, p), d = a->d;
    for (size_t c = 0; c < d; c++)
        tally_bits(x->t, p, c, x->p->oa.out[row * d + c], x->p->ob.out[row * d + c]);
    if (a->lse != MXV_LSE_NONE)
        tally_bits(x->t, p, d, x->p->oa.lse[row], x->p->ob.lse[row]);
}

int property_GQA_REPLICATION(struct trial *t)
{
    bool by_head = t->c.mix == MXV_MIX_RANDOM || t->c.mix == MXV_MIX_RATIO ||
                   t->c.mix == MXV_MIX_FILE ||
                   (t->c.kernel == MXV_KERNEL_DMA && t->c.plan == MXV_PLAN_ENTROPY);
    if (by_head)
        return TRIAL_SKIPPED;
    size_t lq = 70, lk = released(t) ? 70 : 90;
    struct pair *p = pair_make(t, lq, lk);
    int status = p ? TRIAL_DONE : TRIAL_FAILED;
    if (status == TRIAL_DONE) {
        p->first.heads_q = p->second.heads_q = p->second.heads_kv = 4;
        p->first.heads_kv = 2;
        status = pair_build(t, p);
    }
    if (status == TRIAL_DONE) {
        size_t n = lk * p->a.a.d;
        for (size_t h = 0; h < 4; h++) {
            memcpy(p->b.k + h * n, p->a.k + h / 2 * n, n * sizeof(float));
            memcpy(p->b.v + h * n, p->a.v + h / 2 * n, n * sizeof(float));
        }
        memcpy(p->b.q, p->a.q, 4 * lq * p->a.a.d * sizeof(float));
        status = pair_run(t, p);
    }
    if (status == TRIAL_DONE) {
        struct prefix x = {t, p};
        each_row(&p->a.a, check_same, &x);
    }
    if (p)
        pair_free(p);
    return status;
}

// The place of a key when each tile is read backwards.
static size_t turned(size_t key, size_t tile, size_t keys)
{
    size_t first = key / tile * tile, end = first + tile < keys ? first + tile : keys;
    return first + (end - 1 - key);
}

static void check_permuted(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    const struct prefix *x = ctx;
    size_t row = row_index(a, p), d = a->d, keys = a->cu_k[1];
    double tolerance = 2 * largest(a) * output_tolerance(a, keys);
    for (size_t c = 0; c < d; c++)
        tally_error(x->t, p, c, (double)x->p->ob.out[row * d + c],
                    (double)x->p->oa.out[row * d + c], tolerance);
    if (a->lse != MXV_LSE_NONE)
        tally_error(x->t, p, d, (double)x->p->ob.lse[row], (double)x->p->oa.lse[row],
                    2 * sum_tolerance(a, keys) + 0x1p-22 * (1 + fabs((double)x->p->oa.lse[row])));
}

int property_KEY_PERMUTATION(struct trial *t)
{
    bool fixed = t->c.smooth_k || t->c.k_gran == MXV_GRAN_THREAD;
    if (fixed || (released(t) && (t->c.mode == MXV_MODE_MIXED || t->c.dual != MXV_DUAL_NONE)))
        return TRIAL_SKIPPED; // the mixed released kernel is causal only
    size_t lk = released(t) ? 150 : 170;
    struct pair *p = pair_make(t, released(t) ? 150 : 70, lk);
    int status = p ? TRIAL_DONE : TRIAL_FAILED;
    if (status == TRIAL_DONE) {
        p->first.mask = p->second.mask = MXV_MASK_FULL;
        p->first.left = p->first.right = p->second.left = p->second.right = -1;
        status = pair_build(t, p);
    }
    if (status == TRIAL_DONE) {
        const struct mxv_attention *a = &p->a.a;
        for (size_t i = 0; i < a->heads_kv * lk; i++) {
            size_t from = i / lk * lk + turned(i % lk, a->tile_n, lk);
            memcpy(p->b.k + i * a->d, p->a.k + from * a->d, a->d * sizeof(float));
            memcpy(p->b.v + i * a->d, p->a.v + from * a->d, a->d * sizeof(float));
        }
        status = pair_run(t, p);
    }
    if (status == TRIAL_DONE) {
        struct prefix x = {t, p};
        each_row(&p->a.a, check_permuted, &x);
    }
    if (p)
        pair_free(p);
    return status;
}

struct alone {
    struct trial *t;
    const struct pair *p;
    size_t sequence;
};

static void check_alone(void *ctx, const struct mxv_attention *b, struct place_of p)
{
    const struct alone *x = ctx;
    struct place_of in_batch = {x->sequence, p.head, p.row};
    size_t one = row_index(b, p), many = row_index(&x->p->a.a, in_batch), d = b->d;
    for (size_t c = 0; c < d; c++)
        tally_bits(x->t, in_batch, c, x->p->oa.out[many * d + c], x->p->ob.out[one * d + c]);
    if (b->lse != MXV_LSE_NONE)
        tally_bits(x->t, in_batch, d, x->p->oa.lse[many], x->p->ob.lse[one]);
}

static int run_alone(struct trial *t, struct pair *p, size_t sequence)
{
    const struct mxv_attention *a = &p->a.a, *b = &p->b.a;
    size_t lq = b->cu_q[1], lk = b->cu_k[1], all_q = a->cu_q[a->sequences];
    size_t all_k = a->cu_k[a->sequences];
    copy_tokens(p->a.q, all_q, a->cu_q[sequence], p->b.q, lq, 0, lq, a->heads_q, a->d);
    copy_tokens(p->a.k, all_k, a->cu_k[sequence], p->b.k, lk, 0, lk, a->heads_kv, a->d);
    copy_tokens(p->a.v, all_k, a->cu_k[sequence], p->b.v, lk, 0, lk, a->heads_kv, a->d);
    outputs_free(&p->ob);
    int status = trial_run(t, b, &p->ob);
    if (status == TRIAL_DONE) {
        struct alone x = {t, p, sequence};
        each_row(b, check_alone, &x);
    }
    return status;
}

int property_BATCH_INVARIANCE(struct trial *t)
{
    bool by_sequence = t->c.mix == MXV_MIX_RANDOM || t->c.mix == MXV_MIX_FILE ||
                       (t->c.kernel == MXV_KERNEL_DMA && t->c.plan == MXV_PLAN_ENTROPY);
    if (by_sequence)
        return TRIAL_SKIPPED;
    struct pair *p = pair_make(t, 70, released(t) ? 70 : 90);
    int status = p ? TRIAL_DONE : TRIAL_FAILED;
    if (status == TRIAL_DONE) {
        p->first.batch = 3;
        p->first.heads_q = p->second.heads_q = 2;
        p->first.heads_kv = p->second.heads_kv = 1;
        status = pair_build(t, p);
    }
    if (status == TRIAL_DONE)
        status = trial_run(t, &p->a.a, &p->oa);
    for (size_t s = 0; status == TRIAL_DONE && s < 3; s++)
        status = run_alone(t, p, s);
    if (p)
        pair_free(p);
    return status;
}

int property_DETERMINISM(struct trial *t)
{
    struct pair *p = pair_make(t, 130, released(t) ? 130 : 157);
    int status = p ? trial_build(t, &p->first, &p->a) : TRIAL_FAILED;
    if (status == TRIAL_DONE)
        status = trial_run(t, &p->a.a, &p->oa);
    if (status == TRIAL_DONE)
        status = trial_run(t, &p->a.a, &p->ob);
    if (status == TRIAL_DONE) {
        struct prefix x = {t, p};
        each_row(&p->a.a, check_same, &x);
    }
    if (p)
        pair_free(p);
    return status;
}
