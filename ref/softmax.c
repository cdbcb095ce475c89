// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See softmax.h and docs/kernels/contract.md 5 and 6, dma-released.md 4. Left open by the papers
// and fixed by parameters: initial m and l, masked value, lazy rescale, offset of P, exp2, lane
// order.
#include "engine.h"
#include <math.h>
#include <mxverify/special.h>

static const float log2_e = 0x1.715476p+0f; // 0x3FB8AA3B
static const float ln_2 = 0x1.62e430p-1f;   // 0x3F317218

static float exp2_by(enum mxv_exp kind, float x)
{
    uint32_t w = word_of(x);
    if (kind == MXV_EXP_POLY)
        return value_of(mxv_ex2_poly(w, 3));
    return value_of(kind == MXV_EXP_CR ? mxv_ex2_rn(w) : mxv_ex2(w, true));
}

void mxv_softmax_start(const struct mxv_softmax *p, struct mxv_softmax_row *row)
{
    row->m = p->finite ? MXV_MASKED_SENTINEL : -INFINITY;
    if (p->faults & MXV_SOFTMAX_SENTINEL)
        row->m = MXV_SOFTMAX_SMALL_SENTINEL;
    for (int t = 0; t < MXV_SOFTMAX_LANES_MAX; t++)
        row->l[t] = 0;
    if (p->unguarded)
        row->l[0] = 1;
}

float mxv_softmax_max(float m, const float *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        m = s[i] > m ? s[i] : m;
    return m;
}

static bool guarded(const struct mxv_softmax *p)
{
    return !p->unguarded && !(p->faults & MXV_SOFTMAX_NO_GUARD);
}

static float rescale_argument(const struct mxv_softmax *p, float old, float m)
{
    float d = old - m;
    return p->log2_scores ? d : d * p->c;
}

float mxv_softmax_keep(const struct mxv_softmax *p, float old, float candidate)
{
    if (!(p->tau > 0 && old != -INFINITY && candidate > old))
        return candidate;
    bool keep = rescale_argument(p, old, candidate) >= -p->tau;
    if (p->faults & MXV_SOFTMAX_KEEP_INVERTED)
        keep = !keep;
    return keep ? old : candidate;
}

float mxv_softmax_rescale(const struct mxv_softmax *p, float old, float m)
{
    if (guarded(p) && old == -INFINITY)
        return 0;
    if (guarded(p) && old == m)
        return 1;
    float x = rescale_argument(p, old, m);
    return exp2_by(p->exp, p->natural ? x * log2_e : x);
}

float mxv_softmax_shift(const struct mxv_softmax *p, float m)
{
    if (guarded(p) && m == -INFINITY)
        return 0;
    return p->log2_scores ? m - p->offset : m * p->c - p->offset;
}

float mxv_softmax_weight(const struct mxv_softmax *p, float score, float shift)
{
    float x = p->log2_scores ? score - shift : fmaf(score, p->c, -shift);
    return exp2_by(p->exp, p->natural ? x * log2_e : x);
}

float mxv_softmax_weight_by(const struct mxv_softmax *p, float x, float factor, float shift)
{
    float exponent = fmaf(x, factor, -shift);
    return exp2_by(p->exp, p->natural ? exponent * log2_e : exponent);
}

static void add_tile(struct mxv_softmax_row *row, float alpha, const float *w, size_t n)
{
    float s[4];
    for (size_t t = 0; t < 4; t++) {
        s[t] = w[2 * t] + w[2 * t + 1];
        for (size_t j = 8; j < n; j += 8) {
            s[t] += w[j + 2 * t];
            s[t] += w[j + 2 * t + 1];
        }
    }
    float low = s[0] + s[2], high = s[1] + s[3];
    row->l[0] = fmaf(row->l[0], alpha, low + high);
}

void mxv_softmax_add(const struct mxv_softmax *p, struct mxv_softmax_row *row, float alpha,
                     const float *w, size_t n)
{
    if (p->sum == MXV_SUM_TILE) {
        add_tile(row, alpha, w, n);
        return;
    }
    bool started[MXV_SOFTMAX_LANES_MAX] = {false};
    for (size_t i = 0; i < n; i++) {
        size_t lane = p->sum == MXV_SUM_QUAD ? i % 8 / 2 : i % 2;
        row->l[lane] = started[lane] ? row->l[lane] + w[i] : fmaf(row->l[lane], alpha, w[i]);
        started[lane] = true;
    }
}

float mxv_softmax_total(const struct mxv_softmax *p, const struct mxv_softmax_row *row)
{
    if (p->sum == MXV_SUM_TILE)
        return row->l[0];
    if (p->sum == MXV_SUM_PAIR)
        return row->l[0] + row->l[1];
    float even = row->l[0] + row->l[2], odd = row->l[1] + row->l[3];
    return even + odd;
}

float mxv_softmax_lse(const struct mxv_softmax *p, float m, float total, enum mxv_lse base)
{
    if (total == 0)
        return p->empty == MXV_EMPTY_ZERO ? -INFINITY : NAN;
    float shift = mxv_softmax_shift(p, m);
    if (p->faults & MXV_SOFTMAX_LSE_NO_MAX)
        shift = 0;
    if (p->faults & MXV_SOFTMAX_LSE_OFFSET)
        shift = shift + p->offset;
    float lse = shift + value_of(mxv_lg2(word_of(total), true));
    return base == MXV_LSE_E ? lse * ln_2 : lse;
}
