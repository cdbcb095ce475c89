// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Error by cause of one judged row (docs/bounds.md 7). The output is taken through a chain of
// attentions, from that of the inputs to the word stored, each differing from the one before by one
// cause; weights p, sum 1, whose keys get relative errors e move it by
//
//     O' - O = sum_n p_n e_n (v_n - O) / sum_n p_n (1 + e_n)
//
// exactly, which is a sum over keys, so over key tiles; a tile without errors contributes 0. A
// factor common to the row is taken out of e where the error leaves one (K smoothing), or where e
// is so large that nothing else makes sense. The accumulator and the row sum after each tile come
// from the emulation's taps. Arithmetic is binary64: `residual` is what it leaves unexplained.
// tests/gate/test_split.c fails if a cause is charged to another tile or another cause.
#include "verify.h"
#include <math.h>
#include <mxverify/special.h>
#include <stdlib.h>
#include <string.h>

static uint32_t word_of(float x)
{
    uint32_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

static float value_of(uint32_t w)
{
    float x;
    memcpy(&x, &w, sizeof x);
    return x;
}

int split_start(struct split_walk *s, struct verification *v, struct head_result *h,
                const struct problem *inputs, const struct problem *operands)
{
    const struct mxv_attention *a = &v->data.a;
    size_t tiles = (h->lk + a->tile_n - 1) / a->tile_n, d = a->d;
    size_t rows = (h->lq + a->tile_m - 1) / a->tile_m;
    *s = (struct split_walk){.v = v, .h = h, .inputs = inputs, .operands = operands};
    s->tiles = tiles;
    s->memory =
        calloc(MXV_CAUSE_COUNT * tiles * d + 3 * h->lk + tiles + 2 * d + 1, sizeof *s->memory);
    s->order = calloc(tiles + 1, sizeof *s->order);
    s->alpha = calloc(2 * tiles + 1, sizeof *s->alpha);
    h->causes = calloc(rows * tiles + 1, sizeof *h->causes);
    if (!s->memory || !s->order || !s->alpha || !h->causes)
        return -1;
    s->shift = s->alpha + tiles;
    s->share = s->memory;
    s->weights = s->share + MXV_CAUSE_COUNT * tiles * d;
    s->plain = s->weights + h->lk;
    s->kept = s->plain + h->lk;
    s->out = s->kept + tiles;
    s->errors = s->out + d; // [lk] and at least d
    return 0;
}

void split_finish(struct split_walk *s)
{
    free(s->memory);
    free(s->order);
    free(s->alpha);
}

static double *share_of(const struct split_walk *s, enum mxv_cause cause, size_t tile)
{
    return s->share + (cause * s->tiles + tile) * s->v->data.a.d;
}

// Moves weights and out by the relative errors e of the keys, and charges tiles for it.
static void move_weights(struct split_walk *s, enum mxv_cause cause, const double *v)
{
    size_t d = s->v->data.a.d, bn = s->v->data.a.tile_n;
    double sum = 0, out[256] = {0};
    for (size_t n = s->first; n < s->end; n++)
        sum += s->weights[n] * (1 + s->errors[n]);
    for (size_t n = s->first; n < s->end; n++) {
        double moved = s->weights[n] * s->errors[n] / sum, *share = share_of(s, cause, n / bn);
        s->weights[n] = s->weights[n] * (1 + s->errors[n]) / sum;
        for (size_t c = 0; c < d; c++) {
            if (moved != 0)
                share[c] += moved * (v[n * d + c] - s->out[c]);
            out[c] += s->weights[n] * v[n * d + c];
        }
    }
    memcpy(s->out, out, d * sizeof *out);
}

// Errors as differences of scores, log2 units; `common`: without what the row has in common.
static void errors_of_scores(struct split_walk *s, bool common)
{
    double factor = 0;
    for (size_t n = s->first; n < s->end; n++)
        factor += s->weights[n] * exp2(s->errors[n]);
    if (!common && factor > 0.5 && factor < 2)
        factor = 1;
    for (size_t n = s->first; n < s->end; n++)
        s->errors[n] = s->weights[n] == 0 ? 0 : exp2(s->errors[n]) / factor - 1;
}

// Exact attention of the inputs, then of the operands.
static void quantisation(struct split_walk *s, size_t place, const double *exact)
{
    const struct mxv_attention *a = &s->v->data.a;
    const double *va = s->inputs->exact.v, *vb = s->operands->exact.v;
    const double *b = &s->h->operand_scores[place * s->h->lk];
    double top = -INFINITY, sum = 0;
    for (size_t n = s->first; n < s->end; n++)
        top = fmax(top, exact[n]);
    for (size_t n = s->first; n < s->end; n++)
        sum += s->weights[n] = exp2(exact[n] - top);
    memset(s->out, 0, a->d * sizeof *s->out);
    for (size_t n = s->first; n < s->end; n++) {
        s->weights[n] /= sum;
        s->errors[n] = b[n] - exact[n];
        for (size_t c = 0; c < a->d; c++)
            s->out[c] += s->weights[n] * va[n * a->d + c];
    }
    errors_of_scores(s, a->smooth_k);
    move_weights(s, MXV_CAUSE_QUANTISATION, va);
    for (size_t n = s->first; n < s->end; n++) {
        double *share = share_of(s, MXV_CAUSE_QUANTISATION, n / a->tile_n);
        for (size_t c = 0; c < a->d; c++) {
            double moved = s->weights[n] * (vb[n * a->d + c] - va[n * a->d + c]);
            share[c] += moved;
            s->out[c] += moved;
        }
    }
}

// The processed tiles of the row in visiting order: alpha, shift, and the product of all later
// factors.
static void walk_tiles(struct split_walk *s)
{
    const struct mxv_bound_contract *k = &s->v->contract;
    float m = k->softmax.finite ? MXV_MASKED_SENTINEL : -INFINITY;
    s->count = 0;
    for (size_t i = 0; i < s->tiles; i++) {
        size_t j = k->descending ? s->tiles - 1 - i : i;
        if (s->routes[j] == MXV_ROUTE_SKIP)
            continue;
        s->order[s->count++] = j;
        s->alpha[j] = mxv_softmax_rescale(&k->softmax, m, s->maxima[j]);
        m = s->maxima[j];
        s->shift[j] = mxv_softmax_shift(&k->softmax, m);
    }
    double product = 1;
    for (size_t i = s->count; i-- > 0;) {
        s->kept[s->order[i]] = product;
        product *= (double)s->alpha[s->order[i]];
    }
}

// The unrounded weight of key n. With option fold (docs/kernels/tilemix.md 3) the integer sum that
// an INT8 tile takes it from is found again in the score, which is within 2^-23 of its product.
static double plain_weight(const struct split_walk *s, size_t row, size_t n, float score)
{
    const struct mxv_attention *a = &s->v->data.a;
    const struct mxv_softmax *p = &s->v->contract.softmax;
    const struct state_sheet *state = &s->h->state;
    const uint32_t *keys = state->key_scales[MXV_ROUTE_INT8];
    float shift = s->shift[n / a->tile_n];
    if (!a->fold || s->routes[n / a->tile_n] != MXV_ROUTE_INT8 || !state->query_scales || !keys)
        return (double)mxv_softmax_weight(p, score, shift);
    float scales = value_of(state->query_scales[row]) * value_of(keys[n]);
    if (!(fabsf(score) >= 0x1p-100f) || !(scales > 0))
        return (double)mxv_softmax_weight(p, score, shift);
    float sum = (float)rint((double)score / (double)scales), factor = scales * p->c;
    return (double)mxv_softmax_weight_by(p, sum, factor, shift);
}

// Scores and weights as the emulation has them; leaves unrounded weights in s->plain.
static void weights_of_emulation(struct split_walk *s, size_t place, size_t row)
{
    const struct head_result *h = s->h;
    const double *b = &h->operand_scores[place * h->lk], *v = s->operands->exact.v;
    const float *scores = &h->emulated_scores.scores[row * h->lk];
    size_t bn = s->v->data.a.tile_n;
    double unit = s->operands->log2_unit, last = (double)s->shift[s->order[s->count - 1]];
    for (size_t n = s->first; n < s->end; n++)
        s->errors[n] = (double)scores[n] * unit - b[n];
    errors_of_scores(s, false);
    move_weights(s, MXV_CAUSE_SCORE, v);
    for (size_t n = s->first; n < s->end; n++) {
        double shift = (double)s->shift[n / bn];
        s->plain[n] = plain_weight(s, row, n, scores[n]);
        double exact = exp2((double)scores[n] * unit - shift);
        s->errors[n] = exact > 0 && s->weights[n] > 0 ? s->plain[n] / exact - 1 : 0;
    }
    move_weights(s, MXV_CAUSE_EXP2, v);
    for (size_t n = s->first; n < s->end; n++) {
        double exact = exp2((double)s->shift[n / bn] - last);
        s->errors[n] = exact > 0 && s->weights[n] > 0 ? s->kept[n / bn] / exact - 1 : 0;
    }
    move_weights(s, MXV_CAUSE_RESCALE, v);
}

// From sum P v over sum P to the same with rounded P.
static void rounding_of_weights(struct split_walk *s, size_t row, double total)
{
    const struct mxv_attention *a = &s->v->data.a;
    const float *rounded = &s->h->state.weights[row * s->h->lk];
    for (size_t n = s->first; n < s->end; n++) {
        size_t j = n / a->tile_n;
        const double *v = s->operands->exact.v + n * a->d;
        double moved = ((double)rounded[n] - s->plain[n]) * s->kept[j] / total;
        double *share = share_of(s, MXV_CAUSE_WEIGHT, j);
        for (size_t c = 0; moved != 0 && c < a->d; c++) {
            share[c] += moved * v[c];
            s->out[c] += moved * v[c];
        }
    }
}

// The row sum as it was kept, against the sum of the weights.
static void row_sum(struct split_walk *s, size_t row, double total)
{
    const struct mxv_attention *a = &s->v->data.a;
    const float *sums = &s->h->state.tile_sums[row * s->tiles];
    double before = 0, l = (double)sums[s->order[s->count - 1]];
    for (size_t i = 0; i < s->count; i++) {
        size_t j = s->order[i], n = j * a->tile_n, end = n + a->tile_n;
        double added = 0;
        for (n = n < s->first ? s->first : n; n < end && n < s->end; n++)
            added += s->plain[n];
        double error = (double)sums[j] - (double)s->alpha[j] * before - added;
        before = (double)sums[j];
        for (size_t c = 0; c < a->d; c++)
            share_of(s, MXV_CAUSE_SUM, j)[c] = -s->out[c] * error * s->kept[j] / l;
    }
    for (size_t c = 0; c < a->d; c++)
        s->out[c] *= total / l;
}

// The accumulator after each tile, against its products.
static void accumulator(struct split_walk *s, size_t place, size_t row)
{
    const struct mxv_attention *a = &s->v->data.a;
    const float *rounded = &s->h->state.weights[row * s->h->lk], *before = NULL;
    double scale = (double)s->h->state.v_scale, *products = s->errors; // at least d wide
    double l = (double)s->h->state.sums[row];
    for (size_t i = 0; i < s->count; i++) {
        size_t j = s->order[i], n = j * a->tile_n, end = n + a->tile_n;
        const float *acc = &s->h->state.acc[(place * s->tiles + j) * a->d];
        double factor = s->kept[j] * scale / l;
        memset(products, 0, a->d * sizeof *products);
        for (n = n < s->first ? s->first : n; n < end && n < s->end; n++)
            for (size_t c = 0; c < a->d; c++)
                products[c] += (double)rounded[n] * (s->operands->exact.v[n * a->d + c] / scale);
        for (size_t c = 0; c < a->d; c++) {
            float held = before ? before[c] * s->alpha[j] : 0;
            double exact = before ? (double)before[c] * (double)s->alpha[j] : 0;
            share_of(s, MXV_CAUSE_RESCALE, j)[c] += ((double)held - exact) * factor;
            share_of(s, MXV_CAUSE_PRODUCT, j)[c] =
                ((double)acc[c] - (double)held - products[c]) * factor;
        }
        before = acc;
    }
}

// What becomes of the last accumulator: charged to the last tile.
static void finish_row(struct split_walk *s, size_t place, size_t row)
{
    const struct mxv_attention *a = &s->v->data.a;
    const struct head_result *h = s->h;
    size_t j = s->order[s->count - 1];
    const float *acc = &h->state.acc[(place * s->tiles + j) * a->d];
    float l = h->state.sums[row], g = value_of(mxv_rcp(word_of(l), true));
    if (a->vt == MXV_E4M3)
        g = g * h->state.v_scale;
    for (size_t c = 0; c < a->d; c++) {
        double exact = (double)acc[c] * (double)h->state.v_scale / (double)l;
        double divided = (double)(acc[c] * g);
        double own = mxv_code_value(a->out, h->emulated[row * a->d + c]);
        share_of(s, MXV_CAUSE_DIVISION, j)[c] = divided - exact;
        share_of(s, MXV_CAUSE_OUTPUT, j)[c] = own - divided;
        share_of(s, MXV_CAUSE_IMPLEMENTATION, j)[c] =
            mxv_code_value(a->out, h->subject[row * a->d + c]) - own;
    }
}

static bool all_shares_finite(const struct split_walk *s)
{
    for (size_t i = 0; i < MXV_CAUSE_COUNT * s->tiles * s->v->data.a.d; i++)
        if (!isfinite(s->share[i]))
            return false;
    return true;
}

static void keep_row(struct split_walk *s, size_t place, size_t row)
{
    const struct mxv_attention *a = &s->v->data.a;
    struct head_result *h = s->h;
    double largest = 0;
    for (size_t n = s->first * a->d; n < s->end * a->d; n++)
        largest = fmax(largest, fabs(s->inputs->exact.v[n]));
    for (size_t c = 0; c < a->d; c++) {
        double sum = 0;
        for (unsigned k = 0; k < MXV_CAUSE_COUNT; k++)
            for (size_t i = 0; i < s->count; i++)
                sum += share_of(s, (enum mxv_cause)k, s->order[i])[c];
        double x = mxv_code_value(a->out, h->subject[row * a->d + c]);
        double left = fabs(x - h->from_inputs[place * a->d + c].centre - sum);
        h->split_residual = fmax(h->split_residual, largest > 0 ? left / largest : left);
    }
    for (size_t i = 0; i < s->count; i++) {
        size_t j = s->order[i];
        struct mxv_split_cell *cell = &h->causes[row / a->tile_m * s->tiles + j];
        cell->elements += a->d;
        for (unsigned k = 0; k < MXV_CAUSE_COUNT; k++) {
            const double *share = share_of(s, (enum mxv_cause)k, j);
            for (size_t c = 0; c < a->d; c++) {
                cell->squares[k] += share[c] * share[c];
                cell->largest[k] = fmax(cell->largest[k], fabs(share[c]));
            }
        }
    }
}

void split_row(struct split_walk *s, size_t place, const double *exact)
{
    const struct mxv_attention *a = &s->v->data.a;
    struct head_result *h = s->h;
    size_t row = h->rows[place];
    s->routes = &h->emulated_scores.routes[row / a->tile_m * s->tiles];
    s->maxima = &h->state.maxima[row * s->tiles];
    mxv_attention_visible(a, h->lq, h->lk, row, &s->first, &s->end);
    if (!h->bounded_rows[place] || s->first >= s->end)
        return;
    memset(s->share, 0, MXV_CAUSE_COUNT * s->tiles * a->d * sizeof *s->share);
    walk_tiles(s);
    quantisation(s, place, exact);
    weights_of_emulation(s, place, row);
    double total = 0;
    for (size_t n = s->first; n < s->end; n++)
        total += s->plain[n] * s->kept[n / a->tile_n];
    rounding_of_weights(s, row, total);
    row_sum(s, row, total);
    accumulator(s, place, row);
    finish_row(s, place, row);
    if (all_shares_finite(s))
        keep_row(s, place, row);
}
