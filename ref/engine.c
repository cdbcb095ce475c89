// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The tile-routed attention engine: one head of one sequence, every rounding in the order of
// docs/kernels/contract.md and the page of the kernel. Kernels differ by their recipe
// (engine_recipe.c), operands (engine_operands.c, engine_released.c), plan (attention_plan.c) and
// scores (engine_scores.c). ref/plain/ does the same from the documents alone; tests/gate compares
// every tap. Faults act at the functions of engine_faults.h, D3 here. Memory: operand copies of the
// head and one tile.
#include "engine_faults.h"
#include "engine_rows.h"
#include <math.h>
#include <mxverify/special.h>
#include <stdio.h>
#include <stdlib.h>

// Working state of one query tile.
struct tile {
    size_t i, rows, done;        // done: key tiles processed
    struct mxv_softmax_row *row; // [rows]
    uint32_t *s;                 // [rows][tile_n] score words
    float *p;                    // [tile_n] weights of one row
    uint32_t *p_codes;           // [rows][tile_n]
    struct mxv_operand *p_op;    // [rows][tile_n]
    float *alpha;                // [rows]
    uint32_t *o;                 // [rows][d] accumulator words
    uint32_t *product;           // [rows][d], PV_F16_TILE
    bool fold;                   // weights of this key tile by option fold
    struct folded folded;        // NULL without option fold
};

static float log2_scale(const struct mxv_attention *a)
{
    return (float)(a->scale * 1.4426950408889634);
}

// Bytes of Q and K, of their copies for each route, and of V, about.
static size_t array_bytes(const struct head *h)
{
    const struct mxv_attention *a = h->a;
    const size_t rows = h->lq + h->lk, keys = h->lk + h->key_tiles * a->tile_n;
    size_t copies = a->kernel == MXV_KERNEL_TILEMIX ? 2 : 1;
    if (a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED)
        copies = (size_t)(a->mode == MXV_MODE_MIXED ? 2 : 1) + (a->plan == MXV_PLAN_ZONES);
    return (rows * (1 + 2 * copies) + keys + h->lk) * a->d * sizeof(uint32_t) + 4096;
}

int head_open(struct head *h, const struct mxv_attention *a, size_t sequence, size_t index,
              const struct mxv_tap_sink *sink, char *message, size_t size)
{
    memset(h, 0, sizeof *h);
    h->call = *a;
    fault_call(&h->call);
    h->a = &h->call;
    h->rows = row_forms_in_use();
    h->healthy = h->call.faults == 0;
    h->sequence = sequence;
    h->index = index;
    h->kv_index = fault_kv_head(a, index);
    h->lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    h->lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    h->key_tiles = (h->lk + a->tile_n - 1) / a->tile_n;
    h->c = log2_scale(h->a);
    h->sink = sink;
    h->message = message;
    h->message_size = size;
    if (mxv_attention_check(a, message, size) || recipe_choose(h))
        return h->status = MXV_HEAD_UNSUPPORTED;
    fault_models(h);
    arrays_open(&h->arrays, array_bytes(h), !h->sink);
    if (operands_prepare(h) == 0 && values_prepare(h) == 0 && fault_copies(h) == 0)
        operands_rebase(h);
    return h->status;
}

static void side_free(struct operand_side *side)
{
    free(side->sigma);
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++) {
        free(side->copy[r].scale_bytes);
        free(side->copy[r].scales);
        free(side->copy[r].factor);
    }
}

void head_close(struct head *h)
{
    side_free(&h->q);
    side_free(&h->k);
    free(h->v_scales);
    arrays_close(&h->arrays);
}

static int tile_allocate(struct tile *t, const struct mxv_attention *a)
{
    size_t m = a->tile_m, n = a->tile_n;
    memset(t, 0, sizeof *t);
    t->row = calloc(m, sizeof *t->row);
    t->s = calloc(m * n, sizeof *t->s);
    t->p = calloc(n, sizeof *t->p);
    t->p_codes = calloc(m * n, sizeof *t->p_codes);
    t->p_op = calloc(m * n, sizeof *t->p_op);
    t->alpha = calloc(m, sizeof *t->alpha);
    t->o = calloc(m * a->d, sizeof *t->o);
    t->product = calloc(m * a->d, sizeof *t->product);
    t->folded.x = a->fold ? calloc(m * n, sizeof *t->folded.x) : NULL;
    t->folded.factor = a->fold ? calloc(m * n, sizeof *t->folded.factor) : NULL;
    if (a->fold && (!t->folded.x || !t->folded.factor))
        return -1;
    return t->row && t->s && t->p && t->p_codes && t->p_op && t->alpha && t->o && t->product ? 0
                                                                                             : -1;
}

static void tile_release(struct tile *t)
{
    free(t->row);
    free(t->s);
    free(t->p);
    free(t->p_codes);
    free(t->p_op);
    free(t->alpha);
    free(t->o);
    free(t->product);
    free(t->folded.x);
    free(t->folded.factor);
}

static void tap(const struct head *h, enum mxv_stage stage, enum mxv_route route, size_t i,
                size_t j, size_t rows, size_t cols, const uint32_t *words)
{
    struct mxv_tap t = {stage, route, h->sequence, h->index, i, j, rows, cols, words};
    if (h->sink)
        h->sink->take(h->sink->ctx, &t);
}

static bool sink_unmasked(const struct mxv_attention *a, size_t j)
{
    bool defect = a->kernel == MXV_KERNEL_DMA_RELEASED
                      ? a->mode == MXV_MODE_MIXED
                      : a->mode == MXV_MODE_MIXED && mxv_fault_on(a, MXV_FAULT_SINK_NOMASK);
    return defect && j < a->sink;
}

static void mask_tile(const struct head *h, const struct tile *t, size_t j)
{
    const struct mxv_attention *a = h->a;
    size_t key = j * a->tile_n;
    const uint32_t minus_inf = 0xFF800000u;
    bool unmasked = sink_unmasked(a, j);
    for (size_t r = 0; r < t->rows; r++) {
        size_t first, end, row = t->i * a->tile_m + r;
        mxv_attention_visible(a, h->lq, h->lk, row, &first, &end);
        end = fault_visible_end(h, end);
        if (first <= key && key + a->tile_n <= end && key + a->tile_n <= h->lk)
            continue;
        for (size_t n = 0; n < a->tile_n; n++) {
            uint32_t *w = &t->s[r * a->tile_n + n];
            bool visible = key + n >= first && key + n < end;
            if (key + n >= h->lk)
                *w = fault_padding_word(h, minus_inf);
            else if (unmasked || visible)
                continue;
            else if (h->recipe.additive_mask)
                *w = word_of(value_of(*w) + -1.0e6f);
            else
                *w = fault_masked_word(h, h->recipe.softmax.finite ? word_of(MXV_MASKED_SENTINEL)
                                                                   : minus_inf);
        }
    }
}

// Weights of row r, their codes, and what of them is summed.
static void row_weights(const struct head *h, struct tile *t, size_t r, float shift)
{
    size_t bn = h->a->tile_n;
    uint32_t *codes = t->p_codes + r * bn;
    if (t->fold)
        h->rows->folded(&h->recipe.softmax, t->folded.x + r * bn, t->folded.factor + r * bn, shift,
                        bn, t->p);
    else
        h->rows->weights(&h->recipe.softmax, t->s + r * bn, shift, bn, t->p);
    h->rows->codes(h->recipe.p_type, t->p, bn, codes);
    for (size_t n = 0; !h->healthy && n < bn; n++)
        codes[n] = fault_weight_code(h, t->p[n], codes[n]);
    fault_weights_summed(h, codes, t->p);
}

// Contract 5, steps 1 to 7 and 10, for row r of the tile.
static void softmax_row(const struct head *h, struct tile *t, size_t r)
{
    const struct mxv_softmax *p = &h->recipe.softmax;
    struct mxv_softmax_row *row = &t->row[r];
    size_t bn = h->a->tile_n;
    float m = mxv_softmax_keep(p, row->m, h->rows->max(row->m, t->s + r * bn, bn));
    t->alpha[r] = mxv_softmax_rescale(p, row->m, m);
    row_weights(h, t, r, mxv_softmax_shift(p, m));
    h->rows->add(p, row, fault_sum_alpha(h, row->m, t->alpha[r]), t->p, bn);
    row->m = m;
}

// O * alpha, or zeros for a product that is added afterwards.
static void before_product(const struct head *h, struct tile *t, uint32_t *cd)
{
    size_t d = h->a->d;
    for (size_t r = 0; r < t->rows; r++) {
        t->alpha[r] = fault_acc_alpha(h, t->alpha[r]);
        if (cd != t->o)
            memset(cd + r * d, 0, d * sizeof *cd);
        else if (t->alpha[r] != 1) // a factor of 1 changes no word
            h->rows->scale(cd + r * d, t->alpha[r], d);
    }
}

static void accumulate(const struct head *h, struct tile *t, size_t j)
{
    const struct recipe *recipe = &h->recipe;
    size_t d = h->a->d, bn = h->a->tile_n;
    const struct mxv_operand *v = h->vt + fault_value_tile(h, j) * d * bn;
    bool separate = recipe->pv_kind == PV_F16_TILE;
    uint32_t *cd = separate ? t->product : t->o;
    mxv_mma_decode_a(recipe->pv, t->p_codes, t->rows * bn, t->p_op);
    before_product(h, t, cd);
    mxv_mma_tile(recipe->pv, t->rows, d, bn, t->p_op, v, NULL, NULL, cd, d);
    for (size_t r = 0; separate && r < t->rows; r++)
        for (size_t c = 0; c < d; c++) {
            uint32_t *w = &t->o[r * d + c];
            *w = word_of(fmaf(value_of(*w), t->alpha[r], from_f16(t->product[r * d + c])));
        }
    fault_accumulator(h, t->o, t->rows * d);
}

static float row_total(const struct head *h, const struct mxv_softmax_row *row)
{
    return fault_total(h, mxv_softmax_total(&h->recipe.softmax, row));
}

static void tap_state(const struct head *h, const struct tile *t, enum mxv_route route, size_t j)
{
    uint32_t max[256], sum[256];
    for (size_t r = 0; r < t->rows; r++) {
        max[r] = word_of(t->row[r].m);
        sum[r] = word_of(row_total(h, &t->row[r]));
    }
    tap(h, MXV_STAGE_MAX, route, t->i, j, t->rows, 1, max);
    tap(h, MXV_STAGE_WEIGHT, route, t->i, j, t->rows, h->a->tile_n, t->p_codes);
    tap(h, MXV_STAGE_SUM, route, t->i, j, t->rows, 1, sum);
    tap(h, MXV_STAGE_ACC, route, t->i, j, t->rows, h->a->d, t->o);
}

static void key_tile(const struct head *h, struct tile *t, size_t j)
{
    const struct mxv_attention *a = h->a;
    enum mxv_route route = fault_route(h, t->i, j);
    struct fragment stale;
    if (route == MXV_ROUTE_SKIP && sink_unmasked(a, j))
        route = MXV_ROUTE_HIGH;
    if (route == MXV_ROUTE_SKIP || fault_skips_tile(h, j))
        return;
    size_t key = j * a->tile_n, cols = h->lk - key < a->tile_n ? h->lk - key : a->tile_n;
    fault_keep_fragment(h, t->done++, t->s, t->rows, cols, &stale);
    t->fold = a->fold && route == MXV_ROUTE_INT8;
    scores_compute(h, route, t->i, j, t->rows, cols, t->s, t->fold ? &t->folded : NULL);
    fault_scores(h, route, t->rows, cols, &stale, t->s);
    mask_tile(h, t, j);
    if (t->fold)
        fold_finish(h, t->i, j, t->rows, t->s, &t->folded);
    tap(h, MXV_STAGE_SCORE, route, t->i, j, t->rows, a->tile_n, t->s);
    for (size_t r = 0; r < t->rows; r++)
        softmax_row(h, t, r);
    accumulate(h, t, j);
    if (h->sink)
        tap_state(h, t, route, j);
}

// o * g, or o / total by div.full.
static void finish_row(const struct head *h, const uint32_t *o, float total, float *out)
{
    float g = 0;
    if (!h->recipe.divide && total != 0) {
        g = value_of(mxv_rcp(word_of(total), true));
        if (h->a->vt == MXV_E4M3)
            g = g * fault_value_scale(h, h->v_scales[0]);
    }
    for (size_t c = 0; c < h->a->d; c++) {
        if (h->recipe.divide)
            out[c] = value_of(mxv_div_full(o[c], word_of(total), false));
        else if (total == 0)
            out[c] = h->recipe.softmax.empty == MXV_EMPTY_ZERO ? 0 : NAN;
        else
            out[c] = value_of(o[c]) * g;
    }
}

static void finish_tile(const struct head *h, const struct tile *t, uint32_t *out, uint32_t *lse)
{
    const struct mxv_attention *a = h->a;
    float values[256];
    for (size_t r = 0; r < t->rows; r++) {
        float total = row_total(h, &t->row[r]);
        size_t row = t->i * a->tile_m + r;
        finish_row(h, t->o + r * a->d, total, values);
        h->rows->codes(a->out, values, a->d, out + row * a->d);
        if (lse)
            lse[row] = word_of(mxv_softmax_lse(&h->recipe.softmax, t->row[r].m, total, a->lse));
    }
}

static void query_tile(const struct head *h, struct tile *t, size_t i, uint32_t *out, uint32_t *lse)
{
    const struct mxv_attention *a = h->a;
    t->i = i;
    t->done = 0;
    t->rows = h->lq - i * a->tile_m < a->tile_m ? h->lq - i * a->tile_m : a->tile_m;
    memset(t->o, 0, t->rows * a->d * sizeof *t->o);
    for (size_t r = 0; r < t->rows; r++)
        mxv_softmax_start(&h->recipe.softmax, &t->row[r]);
    for (size_t n = 0; n < h->key_tiles; n++)
        key_tile(h, t, a->order == MXV_ORDER_ASC ? n : h->key_tiles - 1 - n);
    finish_tile(h, t, out, lse);
}

// All query tiles, last to first so that the long rows of a causal mask are not left to the end.
// The unit of work of a thread is a tile. Taps come in order, hence from one thread.
static int query_tiles(struct head *h, uint32_t *out, uint32_t *lse)
{
    const size_t tiles = (h->lq + h->a->tile_m - 1) / h->a->tile_m;
    int failed = 0;
#pragma omp parallel if (!h->sink && tiles > 1) reduction(+ : failed)
    {
        struct tile t;
        const bool good = tile_allocate(&t, h->a) == 0;
        failed += !good;
#pragma omp for schedule(dynamic)
        for (size_t n = 0; n < tiles; n++)
            if (good)
                query_tile(h, &t, h->sink ? n : tiles - 1 - n, out, lse);
        tile_release(&t);
    }
    return failed ? head_no_memory(h, "a query tile") : 0;
}

int mxv_engine_head(const struct mxv_attention *a, size_t sequence, size_t index, uint32_t *out,
                    uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size)
{
    struct head h;
    int status = head_open(&h, a, sequence, index, sink, message, size);
    if (status == 0) {
        uint32_t *rows = lse ? lse : calloc(h.lq + 1, sizeof *rows);
        operands_tap(&h);
        status = !rows      ? head_no_memory(&h, "LSE")
                 : h.status ? h.status
                            : query_tiles(&h, out, rows);
        if (status == 0)
            tap(&h, MXV_STAGE_OUT, MXV_ROUTE_F16, 0, 0, h.lq, a->d, out);
        if (status == 0 && a->lse != MXV_LSE_NONE)
            tap(&h, MXV_STAGE_LSE, MXV_ROUTE_F16, 0, 0, h.lq, 1, rows);
        if (rows != lse)
            free(rows);
    }
    head_close(&h);
    return status;
}

int mxv_engine_operands(const struct mxv_attention *a, size_t sequence, size_t index,
                        enum mxv_route route, double *q, double *k, double *v, double *score_scale,
                        unsigned *base, char *message, size_t size)
{
    struct head h;
    int status = head_open(&h, a, sequence, index, NULL, message, size);
    if (status == 0 && (q || k) && !h.q.copy[route].present)
        status = head_fail(&h, "the call has no operands of that route");
    if (status == 0) {
        bool log2_scores = h.recipe.softmax.log2_scores;
        if (q)
            copy_values(&h, &h.q, route, q);
        if (k)
            copy_values(&h, &h.k, route, k);
        for (size_t i = 0; v && i < h.lk * a->d; i++)
            v[i] = (double)round_to(a->vt, h.v[i]) * (a->vt == MXV_E4M3 ? h.v_scales[0] : 1);
        if (score_scale)
            *score_scale = log2_scores ? 1 : a->scale;
        if (base)
            *base = log2_scores ? 2 : 0;
    }
    head_close(&h);
    return status;
}
