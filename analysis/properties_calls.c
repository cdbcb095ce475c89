// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties that relate two calls: scaled values, written-out KV heads, keys in another order,
// batches, repetition. Each is skipped on options by which the calls may differ (plans by chance,
// groups of keys by their place). tests/gate/test_properties.c fails if one of them lets a fault
// through that it must see.
#include "properties_internal.h"
#include <math.h>
#include <string.h>

// dma-released sums PV in binary16, whose subnormals do not scale: there within a tolerance.
static void check_scaled(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    const struct pair_check *x = ctx;
    size_t row = row_index(a, p), d = a->d;
    double most =
        trial_released(x->t) ? 8 * largest_value(a) * 2 * output_tolerance(a, a->cu_k[1]) : 0;
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
    struct pair *p = pair_make(t, 100, trial_released(t) ? 100 : 130);
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
        struct pair_check x = {t, p};
        each_row(&p->a.a, check_scaled, &x);
    }
    if (p)
        pair_free(p);
    return status;
}

static void check_same(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    const struct pair_check *x = ctx;
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
    size_t lq = 70, lk = trial_released(t) ? 70 : 90;
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
        struct pair_check x = {t, p};
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
    const struct pair_check *x = ctx;
    size_t row = row_index(a, p), d = a->d, keys = a->cu_k[1];
    double tolerance = 2 * largest_value(a) * output_tolerance(a, keys);
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
    if (fixed || (trial_released(t) && (t->c.mode == MXV_MODE_MIXED || t->c.dual != MXV_DUAL_NONE)))
        return TRIAL_SKIPPED; // the mixed released kernel is causal only
    size_t lk = trial_released(t) ? 150 : 170;
    struct pair *p = pair_make(t, trial_released(t) ? 150 : 70, lk);
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
        struct pair_check x = {t, p};
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
    struct pair *p = pair_make(t, 70, trial_released(t) ? 70 : 90);
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
    struct pair *p = pair_make(t, 130, trial_released(t) ? 130 : 157);
    int status = p ? trial_build(t, &p->first, &p->a) : TRIAL_FAILED;
    if (status == TRIAL_DONE)
        status = trial_run(t, &p->a.a, &p->oa);
    if (status == TRIAL_DONE)
        status = trial_run(t, &p->a.a, &p->ob);
    if (status == TRIAL_DONE) {
        struct pair_check x = {t, p};
        each_row(&p->a.a, check_same, &x);
    }
    if (p)
        pair_free(p);
    return status;
}
