/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact scores scale * <q, k> of one row, as dyadic numbers.
 *
 * Integer images of all k lines are made once and shared; the row of q is imaged when its turn
 * comes. Operands with NaN or Inf give a score by the IEEE rules: -Inf drops the key, NaN and +Inf
 * make the row undefined. Exact throughout. If this file is wrong, unit.truth and
 * unit.truth_oracles fail.
 */
#include "truth_internal.h"

#include <math.h>
#include <stdlib.h>

static bool base_ok(unsigned base)
{
    return base == MXV_TRUTH_NATURAL || base == MXV_TRUTH_BINARY;
}

bool mxv_truth_problem_ok(const struct mxv_truth_problem *p)
{
    const size_t limit = (size_t)1 << 31;
    if (!p || p->routes < 1 || p->routes > MXV_TRUTH_MAX_ROUTES || !base_ok(p->base) ||
        !base_ok(p->lse_base) || !isfinite(p->scale) || !isfinite(p->softcap) || p->softcap < 0)
        return false;
    if (p->lq >= limit || p->lk >= limit || p->d >= limit || p->dv >= limit)
        return false;
    for (unsigned r = 0; r < p->routes; r++)
        if ((!p->q[r] && p->lq && p->d) || (!p->k[r] && p->lk && p->d))
            return false;
    return true;
}

void mxv_truth_operands_clear(struct mxv_truth_operands *o)
{
    mxv_dyadic_clear(&o->scale);
    free(o->line);
    free(o->sig);
}

bool mxv_truth_operands_init(struct mxv_truth_operands *o, const struct mxv_truth_problem *p)
{
    const size_t lines = p->routes * p->lk;
    o->p = p;
    mxv_dyadic_init(&o->scale);
    mxv_dyadic_set_double(&o->scale, p->scale);
    o->line = malloc((lines + 1) * sizeof *o->line);
    o->sig = malloc((lines * p->d + 1) * sizeof *o->sig);
    if (!o->line || !o->sig) {
        mxv_truth_operands_clear(o);
        return false;
    }
    for (unsigned r = 0; r < p->routes; r++)
        for (size_t j = 0; j < p->lk; j++) {
            const size_t line = r * p->lk + j;
            o->line[line] = mxv_truth_line_build(p->k[r] + j * p->d, p->d, 1, o->sig + line * p->d);
        }
    return true;
}

bool mxv_truth_query_init(struct mxv_truth_query *query, const struct mxv_truth_problem *p)
{
    *query = (struct mxv_truth_query){.sig = malloc((p->routes * p->d + 1) * sizeof *query->sig)};
    return query->sig != NULL;
}

void mxv_truth_query_clear(struct mxv_truth_query *query)
{
    free(query->sig);
}

/* Pushes the exact score of (i, j), or drops the key, or marks the row undefined. */
static void score_key(const struct mxv_truth_operands *o, struct mxv_truth_query *query,
                      unsigned route, size_t i, size_t j, struct mxv_truth_row *row)
{
    const struct mxv_truth_problem *p = o->p;
    const size_t line = route * p->lk + j;
    const struct mxv_truth_line ql = query->line[route], kl = o->line[line];
    const double *q = p->q[route] + i * p->d, *k = p->k[route] + j * p->d;
    if (ql.bits == MXV_LINE_SPECIAL || kl.bits == MXV_LINE_SPECIAL) {
        const double special = mxv_truth_dot_special(q, k, p->d, p->scale);
        row->undefined |= isnan(special) || special > 0;
        return;
    }
    struct mxv_dyadic *score = mxv_truth_row_push(row, j);
    query->dots[mxv_truth_dot(score, ql, query->sig + route * p->d, q, kl, o->sig + line * p->d, k,
                              p->d)]++;
    mxv_dyadic_mul(score, score, &o->scale);
}

enum mxv_truth_status mxv_truth_score_row(const struct mxv_truth_operands *o,
                                          struct mxv_truth_query *query, size_t i,
                                          struct mxv_truth_row *row)
{
    const struct mxv_truth_problem *p = o->p;
    size_t first = 0, end = p->lk;
    if (i >= p->lq)
        return MXV_TRUTH_BAD_ARGUMENT;
    if (p->visible)
        p->visible(p->ctx, i, &first, &end);
    if (first > end || end > p->lk)
        return MXV_TRUTH_BAD_ARGUMENT;
    for (size_t r = 0; r < p->routes; r++)
        query->line[r] = mxv_truth_line_build(p->q[r] + i * p->d, p->d, 1, query->sig + r * p->d);
    mxv_truth_row_begin(row);
    for (size_t j = first; j < end; j++) {
        const unsigned route = p->route ? p->route(p->ctx, i, j) : 0;
        if (route >= p->routes)
            return MXV_TRUTH_BAD_ARGUMENT;
        score_key(o, query, route, i, j, row);
    }
    return MXV_TRUTH_OK;
}
