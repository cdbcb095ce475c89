// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bound on the log-sum-exp of a row (docs/bounds.md 5). With weights 2^(t_n) (1 + e_n) and a row
// sum that is wrong by a factor 1 + s,
//
//     lse' - lse = log2(sum p (1 + e)) + log2(1 + s) + errors of M + LG2(l)
//
// exactly, p the exact weights, sum 1. Where sum p |e| reaches one half, the largest error of one
// key stands in, as a mean of factors lies between them. lg2.approx.ftz.f32: 2^-22 for l in
// (0.5, 2), 2^-22 of the result elsewhere (PTX ISA). tests/gate/test_bound_holds.c fails if it is
// wrong.
#include "bound_internal.h"
#include <math.h>

static const double ln_2 = MXV_BOUND_LN2, unit = MXV_BOUND_UNIT;

// What a logarithm and the additions to it may do at row sum l and maximum m, log2 units; an
// implementation that adds its maximum to the logarithm rounds both.
static double logarithm_error(double l, double m)
{
    return 0x1p-22 * fmax(1, fabs(l)) + 2 * unit * fabs(m);
}

static void model_terms(const struct mxv_bound_contract *c, const struct mxv_bound_mass *mass,
                        double log_sum, double *t)
{
    double all = mass->score + mass->exponential + mass->rescale;
    if (all < 0.5) {
        double scale = 1 / ((1 - all) * ln_2);
        t[MXV_BOUND_SCORE] = mass->score * scale;
        t[MXV_BOUND_EXP2] = mass->exponential * scale;
        t[MXV_BOUND_RESCALE] = mass->rescale * scale;
    } else {
        t[MXV_BOUND_SCORE] = mass->slack;
        t[MXV_BOUND_EXP2] = mass->kept + 0x1p-90;
    }
    if (!c->softmax.log2_scores) // the constant c, which moves all keys alike
        t[MXV_BOUND_EXP2] += unit * (fabs(mass->top) + mass->slack);
    t[MXV_BOUND_SUM] = mass->sum / ((1 - mass->sum) * ln_2);
    double lag =
        (double)c->softmax.tau + fabs((double)c->softmax.offset) + mass->slack + mass->moved;
    t[MXV_BOUND_LOGARITHM] = logarithm_error(fabs(log_sum) + 1 + lag, fabs(mass->top) + lag);
}

void mxv_bound_lse_of(const struct mxv_bound_contract *c, const struct mxv_bound_row *row,
                      const struct mxv_bound_mass *mass, const struct mxv_bound_state *state,
                      enum mxv_lse base, struct mxv_bound_lse *out)
{
    size_t tiles = (row->keys + c->tile_n - 1) / c->tile_n;
    float last = c->softmax.finite ? MXV_MASKED_SENTINEL : -INFINITY;
    for (size_t i = 0; i < tiles; i++) {
        size_t j = bound_visited(c, tiles, i);
        last = row->routes[j] == MXV_ROUTE_SKIP ? last : state->maxima[j];
    }
    double shift = (double)mxv_softmax_shift(&c->softmax, last), log_sum = log2((double)state->sum);
    double factor = base == MXV_LSE_E ? ln_2 : 1, lse = shift + log_sum;
    *out = (struct mxv_bound_lse){.centre = lse * factor};
    model_terms(c, mass, log_sum, out->model.term);
    out->contract.term[MXV_BOUND_LOGARITHM] = logarithm_error(log_sum, 0);
    double open = mxv_bound_total(&out->model, MXV_BOUND_SCORE);
    // one addition, for base e one product with a constant that is 2^-28 off
    double step = (base == MXV_LSE_E ? 2.1 : 1) * unit;
    double own = fabs(lse) + out->contract.term[MXV_BOUND_LOGARITHM];
    out->model.term[MXV_BOUND_OUTPUT] = (fabs(lse) + open) * step + 0x1p-149;
    out->contract.term[MXV_BOUND_OUTPUT] = own * step + 0x1p-149;
    for (unsigned t = 0; t < MXV_BOUND_TERM_COUNT; t++) {
        out->model.term[t] *= factor;
        out->contract.term[t] *= factor;
    }
    out->noise = (fabs(shift) + fabs(log_sum) + fabs(mass->top) + (double)row->keys + 16) * 0x1p-50;
}
