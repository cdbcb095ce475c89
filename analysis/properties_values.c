// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties of one call with special tensors: V of ones, V of unit vectors, equal keys, one-hot
// queries, a constant in every score. Values of V are small integers, exact in every 16-bit type.
// tests/gate/test_properties.c fails if one of them lets a fault through that it must see.
#include "properties_internal.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS = 130, KEYS = 157, ROWS_RELEASED = 200 };

static void set_shape(const struct trial *t, struct mxv_case *c)
{
    bool released = t->c.kernel == MXV_KERNEL_DMA_RELEASED;
    *c = t->c;
    c->seqs.count = 0;
    c->batch = 1;
    c->lq = released ? ROWS_RELEASED : ROWS;
    c->lk = released ? ROWS_RELEASED : KEYS;
}

static uint32_t draw(const struct trial *t, size_t i, uint32_t stream)
{
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), stream, 0x50524f50};
    uint32_t words[4];
    mxv_random_words(t->options->seed, counter, words);
    return words[0];
}

// Integers in -8..8.
static void fill_integers(const struct trial *t, const struct mxv_attention *a, float *v)
{
    size_t n = a->heads_kv * a->cu_k[a->sequences] * a->d;
    for (size_t i = 0; i < n; i++)
        v[i] = (float)((int)mxv_random_below(draw(t, i, 1), 17) - 8);
}

static void fill_signs(const struct trial *t, const struct mxv_attention *a, float *k)
{
    size_t n = a->heads_kv * a->cu_k[a->sequences] * a->d;
    for (size_t i = 0; i < n; i++)
        k[i] = draw(t, i, 2) & 1 ? 1 : -1;
}

static size_t visible(const struct mxv_attention *a, struct place_of p, size_t *first, size_t *end)
{
    mxv_attention_visible(a, a->cu_q[p.sequence + 1] - a->cu_q[p.sequence],
                          a->cu_k[p.sequence + 1] - a->cu_k[p.sequence], p.row, first, end);
    return *end > *first ? *end - *first : 0;
}

// Whether all keys that a row sees are scored by one route.
static bool one_route(const struct mxv_attention *a, struct place_of p, size_t first, size_t end)
{
    unsigned seen = 0;
    for (size_t j = first / a->tile_n; j * a->tile_n < end; j++)
        seen |= 1u << mxv_attention_route(a, p.sequence, p.head, p.row / a->tile_m, j);
    return (seen & (seen - 1)) == 0;
}

struct check {
    struct trial *t;
    struct outputs o, other;
    const struct mxv_case_data *data;
    double *sums; // of each row
    size_t base;  // first key of the unit vectors
};

static void check_ones(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end, n = visible(a, p, &first, &end), at = row_index(a, p) * a->d;
    for (size_t x = 0; n && x < a->d; x++)
        tally_error(c->t, p, x, (double)c->o.out[at + x], 1, output_tolerance(a, n));
}

int property_V_ONES(struct trial *t)
{
    struct mxv_case c;
    struct mxv_case_data data = {.q = NULL};
    struct check check = {.t = t};
    set_shape(t, &c);
    int status = trial_build(t, &c, &data);
    for (size_t i = 0; status == TRIAL_DONE && i < c.heads_kv * data.a.cu_k[1] * data.a.d; i++)
        data.v[i] = 1;
    if (status == TRIAL_DONE)
        status = trial_run(t, &data.a, &check.o);
    if (status == TRIAL_DONE)
        each_row(&data.a, check_ones, &check);
    outputs_free(&check.o);
    mxv_case_free(&data);
    return status;
}

static void check_identity(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end, keys = a->cu_k[1], row = row_index(a, p);
    visible(a, p, &first, &end);
    for (size_t x = 0; x < a->d && c->base + x < keys; x++) {
        size_t key = c->base + x;
        float weight = c->o.out[row * a->d + x];
        c->sums[row] += (double)weight;
        if (key < first || key >= end)
            tally_bits(c->t, p, x, weight == 0 ? 0 : weight, 0);
    }
}

static void check_sum(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end, n = visible(a, p, &first, &end);
    if (n)
        tally_error(c->t, p, 0, c->sums[row_index(a, p)], 1, output_tolerance(a, n));
}

static int run_identity(struct check *c, struct mxv_case_data *data)
{
    struct mxv_attention *a = &data->a;
    size_t keys = a->cu_k[1], status = TRIAL_DONE;
    for (c->base = 0; status == TRIAL_DONE && c->base < keys; c->base += a->d) {
        for (size_t i = 0; i < a->heads_kv * keys * a->d; i++)
            data->v[i] = i / a->d % keys == c->base + i % a->d ? 1 : 0;
        status = (size_t)trial_run(c->t, a, &c->o);
        if (status == TRIAL_DONE)
            each_row(a, check_identity, c);
        outputs_free(&c->o);
    }
    if (status == TRIAL_DONE)
        each_row(a, check_sum, c);
    return (int)status;
}

int property_IDENTITY_V(struct trial *t)
{
    struct mxv_case c;
    struct mxv_case_data data = {.q = NULL};
    struct check check = {.t = t};
    set_shape(t, &c);
    int status = trial_build(t, &c, &data);
    if (status == TRIAL_DONE)
        check.sums = calloc(data.a.heads_q * data.a.cu_q[1] + 1, sizeof *check.sums);
    if (status == TRIAL_DONE)
        status = check.sums ? run_identity(&check, &data) : trial_no_memory(t);
    free(check.sums);
    mxv_case_free(&data);
    return status;
}

static void check_mean(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end, n = visible(a, p, &first, &end), at = row_index(a, p) * a->d;
    if (n == 0 || !one_route(a, p, first, end))
        return;
    for (size_t x = 0; x < a->d; x++) {
        double mean = 0;
        for (size_t k = first; k < end; k++)
            mean += (double)a->v[key_index(a, p, k) * a->d + x] / (double)n;
        tally_error(c->t, p, x, (double)c->o.out[at + x], mean, 8 * output_tolerance(a, n));
    }
}

int property_UNIFORM(struct trial *t)
{
    struct mxv_case c;
    struct mxv_case_data data = {.q = NULL};
    struct check check = {.t = t};
    set_shape(t, &c);
    int status = trial_build(t, &c, &data);
    if (status == TRIAL_DONE) {
        size_t keys = data.a.cu_k[1], d = data.a.d;
        for (size_t i = 0; i < c.heads_kv * keys * d; i++)
            data.k[i] = data.k[i / d / keys * keys * d + i % d];
        fill_integers(t, &data.a, data.v);
        status = trial_run(t, &data.a, &check.o);
    }
    if (status == TRIAL_DONE)
        each_row(&data.a, check_mean, &check);
    outputs_free(&check.o);
    mxv_case_free(&data);
    return status;
}

// A key that the row sees.
static size_t target(const struct trial *t, struct place_of p, size_t first, size_t end)
{
    return first + mxv_random_below(draw(t, p.row, 3), (uint32_t)(end - first));
}

static void point_query(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end;
    if (!visible(a, p, &first, &end))
        return;
    size_t at = row_index(a, p) * a->d, key = key_index(a, p, target(c->t, p, first, end)) * a->d;
    for (size_t x = 0; x < a->d; x++)
        c->data->q[at + x] = 16 * c->data->k[key + x];
}

// Weight of the other keys, when quantisation takes 3/10 off the score of the target and adds 1/20
// to the others.
static double other_weight(const struct mxv_attention *a, struct place_of p, size_t first,
                           size_t end, size_t aim)
{
    const float *k = a->k, *at = k + key_index(a, p, aim) * a->d;
    double sum = 0, unit = 16 * a->scale * 1.4426950408889634;
    for (size_t n = first; n < end; n++) {
        const float *other = k + key_index(a, p, n) * a->d;
        double dot = 0;
        for (size_t x = 0; x < a->d; x++)
            dot += (double)at[x] * other[x];
        if (n != aim)
            sum += exp2((fabs(dot) * 1.05 - 0.7 * (double)a->d) * unit);
    }
    return sum;
}

static void check_pointed(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end, n = visible(a, p, &first, &end), at = row_index(a, p) * a->d;
    if (!n)
        return;
    size_t aim = target(c->t, p, first, end);
    double rest = other_weight(a, p, first, end, aim);
    double sure = 8 * (output_tolerance(a, n) + 0x1p-14) + 16 * rest;
    for (size_t x = 0; rest < 0x1p-12 && x < a->d; x++)
        tally_error(c->t, p, x, (double)c->o.out[at + x],
                    (double)a->v[key_index(a, p, aim) * a->d + x], sure);
}

int property_ONE_HOT(struct trial *t)
{
    struct mxv_case c;
    struct mxv_case_data data = {.q = NULL};
    struct check check = {.t = t, .data = &data};
    if (t->c.smooth_k)
        return TRIAL_SKIPPED; // the mean of the signs moves the scores
    set_shape(t, &c);
    int status = trial_build(t, &c, &data);
    if (status == TRIAL_DONE) {
        fill_signs(t, &data.a, data.k);
        fill_integers(t, &data.a, data.v);
        each_row(&data.a, point_query, &check);
        status = trial_run(t, &data.a, &check.o);
    }
    if (status == TRIAL_DONE)
        each_row(&data.a, check_pointed, &check);
    outputs_free(&check.o);
    mxv_case_free(&data);
    return status;
}

// The last channel of all keys is 1, then -1: each score of a row falls by the same.
static void check_shifted(void *ctx, const struct mxv_attention *a, struct place_of p)
{
    struct check *c = ctx;
    size_t first, end, n = visible(a, p, &first, &end), row = row_index(a, p);
    if (n == 0 || !one_route(a, p, first, end))
        return;
    double sum = 0, last = (double)a->q[row * a->d + a->d - 1];
    for (size_t x = 0; x < a->d; x++)
        sum += fabs((double)a->q[row * a->d + x]) * 1.1;
    double eta = 2 * score_tolerance(a, sum);
    double tolerance = 2 * 8 * (output_tolerance(a, n) + eta * 0.6931471805599453 * 2);
    for (size_t x = 0; x < a->d; x++)
        tally_error(c->t, p, x, (double)c->other.out[row * a->d + x],
                    (double)c->o.out[row * a->d + x], tolerance);
    bool exact = a->kernel == MXV_KERNEL_FLASH ||
                 (a->kernel == MXV_KERNEL_TILEMIX &&
                  mxv_attention_route(a, p.sequence, p.head, p.row / a->tile_m,
                                      first / a->tile_n) == MXV_ROUTE_F16);
    if (exact && a->lse == MXV_LSE_E)
        tally_error(c->t, p, a->d, (double)c->other.lse[row],
                    (double)c->o.lse[row] - 2 * last * a->scale,
                    eta + 2 * sum_tolerance(a, n) + 0x1p-20 * (1 + fabs((double)c->o.lse[row])));
}

static void set_last_channel(const struct mxv_attention *a, float *k, float value)
{
    for (size_t i = 0; i < a->heads_kv * a->cu_k[a->sequences]; i++)
        k[i * a->d + a->d - 1] = value;
}

int property_ROW_CONSTANT(struct trial *t)
{
    struct mxv_case c;
    struct mxv_case_data data = {.q = NULL};
    struct check check = {.t = t, .data = &data};
    if (t->c.smooth_k)
        return TRIAL_SKIPPED; // smoothing takes the constant out again
    set_shape(t, &c);
    int status = trial_build(t, &c, &data);
    if (status == TRIAL_DONE) {
        fill_signs(t, &data.a, data.k);
        fill_integers(t, &data.a, data.v);
        set_last_channel(&data.a, data.k, 1);
        status = trial_run(t, &data.a, &check.o);
    }
    if (status == TRIAL_DONE) {
        set_last_channel(&data.a, data.k, -1);
        status = trial_run(t, &data.a, &check.other);
    }
    if (status == TRIAL_DONE)
        each_row(&data.a, check_shifted, &check);
    outputs_free(&check.o);
    outputs_free(&check.other);
    mxv_case_free(&data);
    return status;
}
