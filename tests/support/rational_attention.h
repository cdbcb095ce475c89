/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third oracle of the truth: attention in exact rationals (GMP mpq), where there is one.
 * Weights are rational if the base is 2 and all scores of the row differ by integers, or in any
 * base if they are all equal. No softcap. Shares no code with ref/ and rounds nothing.
 */
#ifndef RATIONAL_ATTENTION_H
#define RATIONAL_ATTENTION_H

#include <gmp.h>
#include <mxverify/truth.h>
#include <stdbool.h>

static inline void rational_score(const struct mxv_truth_problem *p, size_t row, size_t key,
                                  mpq_t s)
{
    const unsigned r = p->route ? p->route(p->ctx, row, key) : 0;
    mpq_t x, y;
    mpq_init(x);
    mpq_init(y);
    mpq_set_ui(s, 0, 1);
    for (size_t e = 0; e < p->d; e++) {
        mpq_set_d(x, p->q[r][row * p->d + e]);
        mpq_set_d(y, p->k[r][key * p->d + e]);
        mpq_mul(x, x, y);
        mpq_add(s, s, x);
    }
    mpq_set_d(x, p->scale);
    mpq_mul(s, s, x);
    mpq_clear(x);
    mpq_clear(y);
}

/* w = base^(s - s0), if rational and |s - s0| <= 4000; false else. */
static inline bool rational_weight(const mpq_t s, const mpq_t s0, unsigned base, mpq_t w)
{
    mpq_t x;
    mpq_init(x);
    mpq_sub(x, s, s0);
    const bool integer = mpz_cmp_ui(mpq_denref(x), 1) == 0;
    const bool ok =
        mpq_sgn(x) == 0 || (base == 2 && integer && mpz_cmpabs_ui(mpq_numref(x), 4000) <= 0);
    const long shift = ok ? mpz_get_si(mpq_numref(x)) : 0;
    mpq_set_ui(w, 1, 1);
    if (shift >= 0)
        mpq_mul_2exp(w, w, (mp_bitcnt_t)shift);
    else
        mpq_div_2exp(w, w, (mp_bitcnt_t)-shift);
    mpq_clear(x);
    return ok;
}

/* o[dv] (initialised by the caller); false: no key, or a weight is not rational. */
static inline bool rational_attention(const struct mxv_truth_problem *p, size_t row, mpq_t *o)
{
    size_t first = 0, end = p->lk;
    mpq_t s0, s, w, sum, v;
    if (p->visible)
        p->visible(p->ctx, row, &first, &end);
    if (first == end || p->softcap != 0)
        return false;
    mpq_inits(s0, s, w, sum, v, (mpq_ptr)0);
    rational_score(p, row, first, s0);
    for (size_t c = 0; c < p->dv; c++)
        mpq_set_ui(o[c], 0, 1);
    bool ok = true;
    for (size_t j = first; ok && j < end; j++) {
        rational_score(p, row, j, s);
        ok = rational_weight(s, s0, p->base, w);
        mpq_add(sum, sum, w);
        for (size_t c = 0; c < p->dv; c++) {
            mpq_set_d(v, p->v[j * p->dv + c]);
            mpq_mul(v, v, w);
            mpq_add(o[c], o[c], v);
        }
    }
    for (size_t c = 0; ok && c < p->dv; c++)
        mpq_div(o[c], o[c], sum);
    mpq_clears(s0, s, w, sum, v, (mpq_ptr)0);
    return ok;
}

/* |exact - centre| <= radius, decided in rationals. */
static inline bool rational_inside(const mpq_t exact, struct mxv_truth_ball ball)
{
    mpq_t x, r;
    mpq_init(x);
    mpq_init(r);
    mpq_set_d(x, ball.centre);
    mpq_sub(x, x, exact);
    mpq_abs(x, x);
    mpq_set_d(r, ball.radius);
    const bool inside = mpq_cmp(x, r) <= 0;
    mpq_clear(x);
    mpq_clear(r);
    return inside;
}

#endif
