/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second oracle of the truth: softmax attention written down as its formula, untiled, in MPFR.
 * Shares no code with ref/: scores at DIRECT_EXACT bits, which hold every sum of products of
 * binary64 values exactly; everything else at the `bits` asked for, rounded to nearest, with no
 * error bound kept. Its own error is some 30 bits above 2^-bits (more with a softcap far above 1),
 * so a caller compares with a slack. Finite operands only. For small cases: milliseconds a row.
 */
#ifndef DIRECT_ATTENTION_H
#define DIRECT_ATTENTION_H

#include <mpfr.h>
#include <mxverify/truth.h>
#include <stdbool.h>
#include <stdlib.h>

/* Products of three binary64 values span 2^-3222 .. 2^3072. */
enum { DIRECT_EXACT = 6500 };

static inline void direct_score(const struct mxv_truth_problem *p, size_t row, size_t key, mpfr_t s)
{
    const unsigned r = p->route ? p->route(p->ctx, row, key) : 0;
    mpfr_t product;
    mpfr_init2(product, 106);
    mpfr_set_zero(s, 1);
    for (size_t e = 0; e < p->d; e++) {
        mpfr_set_d(product, p->q[r][row * p->d + e], MPFR_RNDN);
        mpfr_mul_d(product, product, p->k[r][key * p->d + e], MPFR_RNDN);
        mpfr_add(s, s, product, MPFR_RNDN);
    }
    mpfr_mul_d(s, s, p->scale, MPFR_RNDN);
    mpfr_clear(product);
}

static inline void direct_exponential(mpfr_t y, unsigned base)
{
    if (base == 2)
        mpfr_exp2(y, y, MPFR_RNDN);
    else
        mpfr_exp(y, y, MPFR_RNDN);
}

/* y = log of sum in lse_base + top, where top is an exponent of `base`. */
static inline void direct_lse(const struct mxv_truth_problem *p, mpfr_t y, mpfr_t sum, mpfr_t top)
{
    mpfr_t ln2, t;
    mpfr_inits2(mpfr_get_prec(y), ln2, t, (mpfr_ptr)0);
    mpfr_const_log2(ln2, MPFR_RNDN);
    mpfr_set(t, top, MPFR_RNDN);
    mpfr_log(y, sum, MPFR_RNDN);
    if (p->base == 2) {
        mpfr_div(y, y, ln2, MPFR_RNDN);
        mpfr_add(y, y, t, MPFR_RNDN);
        if (p->lse_base == 0)
            mpfr_mul(y, y, ln2, MPFR_RNDN);
    } else {
        mpfr_add(y, y, t, MPFR_RNDN);
        if (p->lse_base == 2)
            mpfr_div(y, y, ln2, MPFR_RNDN);
    }
    mpfr_clears(ln2, t, (mpfr_ptr)0);
}

/* o[dv] and lse (initialised by the caller) at `bits`; false: the row sees no key. */
static inline bool direct_attention(const struct mxv_truth_problem *p, size_t row, mpfr_prec_t bits,
                                    mpfr_t *o, mpfr_t lse)
{
    size_t first = 0, end = p->lk;
    if (p->visible)
        p->visible(p->ctx, row, &first, &end);
    if (first == end)
        return false;
    mpfr_t *const s = malloc((end - first) * sizeof *s);
    mpfr_t top, w, sum, term;
    mpfr_init2(top, DIRECT_EXACT);
    mpfr_inits2(bits, w, sum, term, (mpfr_ptr)0);
    for (size_t j = first; j < end; j++) {
        mpfr_init2(s[j - first], DIRECT_EXACT);
        direct_score(p, row, j, s[j - first]);
        if (p->softcap != 0) {
            mpfr_set_prec(term, bits);
            mpfr_div_d(term, s[j - first], p->softcap, MPFR_RNDN);
            mpfr_tanh(term, term, MPFR_RNDN);
            mpfr_mul_d(s[j - first], term, p->softcap, MPFR_RNDN);
        }
        if (j == first || mpfr_greater_p(s[j - first], top))
            mpfr_set(top, s[j - first], MPFR_RNDN);
    }
    mpfr_set_zero(sum, 1);
    for (size_t c = 0; c < p->dv; c++)
        mpfr_set_zero(o[c], 1);
    for (size_t j = first; j < end; j++) {
        mpfr_sub(w, s[j - first], top, MPFR_RNDN);
        direct_exponential(w, p->base);
        mpfr_add(sum, sum, w, MPFR_RNDN);
        for (size_t c = 0; c < p->dv; c++) {
            mpfr_mul_d(term, w, p->v[j * p->dv + c], MPFR_RNDN);
            mpfr_add(o[c], o[c], term, MPFR_RNDN);
        }
        mpfr_clear(s[j - first]);
    }
    for (size_t c = 0; c < p->dv; c++)
        mpfr_div(o[c], o[c], sum, MPFR_RNDN);
    direct_lse(p, lse, sum, top);
    mpfr_clears(top, w, sum, term, (mpfr_ptr)0);
    free(s);
    return true;
}

#endif
