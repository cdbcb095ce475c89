// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bound terms against what they bound: matrix-unit models on chosen and random operands against
// exact sums, perturbed softmax rows, roundings of known values. Expectations are exact sums in
// binary64 (operands short enough), long double, and IEEE half steps.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "bound_call.h"
#include "uniform_codes.h"
#include <mxverify/bound.h>
#include <mxverify/compare.h>
#include <mxverify/matrix_unit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = BOUND_CALL_D, KEYS = 96 };

static void fill(enum mxv_element format, double spread, uint32_t *codes, double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        codes[i] = code_of(format, uniform() * exp2(uniform() * spread));
        values[i] = mxv_code_value(format, codes[i]);
    }
}

static void test_scores_of_every_16_bit_unit(void **unused)
{
    static const struct {
        enum mxv_arch arch;
        const char *model;
    } units[] = {{MXV_ARCH_SM_80, "sm_80.mma.f16.f32"},
                 {MXV_ARCH_SM_90, "sm_90.wgmma.f16.f32"},
                 {MXV_ARCH_SM_100, "sm_100.tcgen05.f16.f32"},
                 {MXV_ARCH_SM_120, "sm_120.mma.f16.f32"}};
    (void)unused;
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        struct mxv_attention a = bound_call(MXV_KERNEL_FLASH, units[u].arch, MXV_F16);
        struct mxv_bound_contract c;
        const struct mxv_mma_model *m = mxv_mma_find(units[u].model);
        double worst = 0;
        assert_true(mxv_bound_contract_of(&a, &c));
        assert_non_null(m);
        state = 11 + u;
        for (size_t trial = 0; trial < 4000; trial++) {
            uint32_t q[D], k[D];
            double qv[D], kv[D], sum = 0, size = 0, q_max = 0, k_max = 0;
            double spread = (double)(trial % 5) * 3; // up to subnormal operands
            fill(MXV_F16, spread, q, qv, D);
            fill(MXV_F16, spread, k, kv, D);
            for (size_t i = 0; i < D; i++) {
                sum += qv[i] * kv[i]; // 22-bit products in a window of 53 bits or a rounding of it
                size += fabs(qv[i] * kv[i]);
                q_max = fmax(q_max, fabs(qv[i]));
                k_max = fmax(k_max, fabs(kv[i]));
            }
            double got = mxv_code_value(MXV_F32, mxv_mma_dot(m, D, q, k, 0, NULL, NULL));
            double bound = mxv_bound_score(&c, MXV_ROUTE_F16, D, size, q_max, k_max);
            double error = fabs(got - sum);
            if (error > bound + size * 0x1p-46)
                fail_msg("%s: error %g, bound %g", units[u].model, error, bound);
            worst = fmax(worst, error / bound);
        }
        printf("%s: largest error / bound %.3f\n", units[u].model, worst);
        assert_true(worst > 0.01); // a bound a hundred times too wide would be useless
    }
}

static void test_units_of_dma_have_a_bound(void **unused)
{
    (void)unused;
    for (unsigned arch = 0; arch < MXV_ARCH_COUNT; arch++)
        for (unsigned low = 0; low < MXV_LOW_COUNT; low++) {
            struct mxv_attention a = bound_call(MXV_KERNEL_DMA, (enum mxv_arch)arch, MXV_F16);
            struct mxv_bound_contract c;
            a.low = (enum mxv_low_format)low;
            assert_true(mxv_bound_contract_of(&a, &c));
            for (unsigned r = MXV_ROUTE_HIGH; r <= MXV_ROUTE_LOW; r++) {
                double bound = mxv_bound_score(&c, (enum mxv_route)r, D, 1, 0.1, 0.1);
                assert_true(bound > 0x1p-24 && bound < 0x1p-16);
            }
        }
    struct mxv_attention a = bound_call(MXV_KERNEL_DMA_RELEASED, MXV_ARCH_SM_90, MXV_F16);
    struct mxv_bound_contract c;
    assert_false(mxv_bound_contract_of(&a, &c));
}

struct row {
    uint8_t routes[KEYS / BOUND_CALL_TILE_N];
    double v[KEYS * D], scores[KEYS], weights[KEYS], out[D];
    struct mxv_bound_row r;
};

static struct row *row_of(double spread)
{
    struct row *row = calloc(1, sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < KEYS * D; i++)
        row->v[i] = uniform();
    for (size_t n = 0; n < KEYS; n++)
        row->scores[n] = uniform() * spread;
    row->r = (struct mxv_bound_row){
        .keys = KEYS, .first = 3, .end = KEYS - 5, .d = D, .routes = row->routes, .v = row->v};
    mxv_bound_softmax(&row->r, row->scores, row->weights, row->out);
    return row;
}

static void test_softmax_against_long_double(void **unused)
{
    (void)unused;
    state = 5;
    struct row *row = row_of(8);
    for (size_t c = 0; c < D; c++) {
        long double sum = 0, o = 0;
        for (size_t n = row->r.first; n < row->r.end; n++) {
            long double w = exp2l((long double)row->scores[n]);
            sum += w;
            o += w * row->v[n * D + c];
        }
        assert_true(fabsl(o / sum - row->out[c]) < 0x1p-44L);
    }
    assert_true(row->weights[0] == 0 && row->weights[KEYS - 1] == 0);
    free(row);
}

// Scores moved by up to their slack move the output by no more than term SCORE.
static void test_score_term_covers_moved_scores(void **unused)
{
    (void)unused;
    state = 7;
    struct mxv_attention a = bound_call(MXV_KERNEL_DMA, MXV_ARCH_SM_100, MXV_F16);
    struct mxv_bound_contract c;
    assert_true(mxv_bound_contract_of(&a, &c));
    static const double slacks[] = {1e-6, 1e-3, 0.05, 0.4, 3, 60};
    for (size_t s = 0; s < sizeof slacks / sizeof slacks[0]; s++) {
        struct row *row = row_of(4);
        struct mxv_bound_terms terms[D];
        double slack[KEYS], moved[KEYS], weights[KEYS], out[D], tightest = INFINITY;
        for (size_t n = 0; n < KEYS; n++)
            slack[n] = slacks[s];
        mxv_bound_weights(&c, &row->r, row->scores, slack, row->weights, row->out, terms);
        for (size_t trial = 0; trial < 300; trial++) {
            size_t channel = trial % D; // against the value: the worst signs for one channel
            for (size_t n = 0; n < KEYS; n++) {
                double sign = row->v[n * D + channel] > row->out[channel] ? 1 : -1;
                moved[n] = row->scores[n] + slacks[s] * (trial < D ? sign : uniform());
            }
            mxv_bound_softmax(&row->r, moved, weights, out);
            for (size_t i = 0; i < D; i++) {
                double error = fabs(out[i] - row->out[i]);
                if (error > terms[i].term[MXV_BOUND_SCORE] + 0x1p-45)
                    fail_msg("slack %g: moved by %g, term %g", slacks[s], error,
                             terms[i].term[MXV_BOUND_SCORE]);
                if (error > 0)
                    tightest = fmin(tightest, terms[i].term[MXV_BOUND_SCORE] / error);
            }
        }
        printf("slack %g: term / largest error %.2f\n", slacks[s], tightest);
        if (slacks[s] <= 0.05)
            assert_true(tightest < 1.3);
        free(row);
    }
}

// Rounding weights to the PV type, whole softmax otherwise exact.
static void test_weight_term_covers_rounded_weights(void **unused)
{
    static const enum mxv_element types[] = {MXV_F16, MXV_BF16, MXV_E4M3};
    (void)unused;
    state = 9;
    for (size_t t = 0; t < 3; t++) {
        struct mxv_attention a = bound_call(MXV_KERNEL_DMA, MXV_ARCH_SM_100, types[t]);
        struct mxv_bound_contract c;
        a.p_offset = types[t] == MXV_E4M3 ? 8 : 0;
        assert_true(mxv_bound_contract_of(&a, &c));
        double worst = 0;
        for (size_t trial = 0; trial < 60; trial++) {
            struct row *row = row_of(trial % 2 ? 2 : 12);
            struct mxv_bound_terms terms[D];
            double top = -INFINITY, sum = 0;
            for (size_t n = row->r.first; n < row->r.end; n++)
                top = fmax(top, row->scores[n]);
            for (size_t i = 0; i < KEYS / 32; i++)
                row->routes[i] = MXV_ROUTE_HIGH;
            // one tile order in which the first tile holds the maximum keeps M constant
            row->scores[row->r.first] = top + 0.25;
            mxv_bound_softmax(&row->r, row->scores, row->weights, row->out);
            mxv_bound_weights(&c, &row->r, row->scores, NULL, row->weights, row->out, terms);
            double rounded[KEYS] = {0};
            for (size_t n = row->r.first; n < row->r.end; n++) {
                double p = exp2(row->scores[n] - (top + 0.25) + (double)a.p_offset);
                rounded[n] = mxv_code_value(types[t], code_of(types[t], p));
                sum += p;
            }
            for (size_t i = 0; i < D; i++) {
                double o = 0;
                for (size_t n = row->r.first; n < row->r.end; n++)
                    o += rounded[n] * row->v[n * D + i];
                double error = fabs(o / sum - row->out[i]);
                double bound = terms[i].term[MXV_BOUND_WEIGHT];
                if (error > bound + 0x1p-25)
                    fail_msg("type %zu: error %g, term %g", t, error, bound);
                worst = fmax(worst, error / bound);
            }
            free(row);
        }
        printf("%s: largest error / term %.3f\n", mxv_element_get(types[t])->name, worst);
        assert_true(worst > 0.15);
    }
}

static void test_product_term_covers_the_unit(void **unused)
{
    static const struct {
        enum mxv_arch arch;
        enum mxv_element type;
        const char *model;
    } units[] = {{MXV_ARCH_SM_80, MXV_F16, "sm_80.mma.f16.f32"},
                 {MXV_ARCH_SM_90, MXV_BF16, "sm_90.wgmma.bf16.f32"},
                 {MXV_ARCH_SM_90, MXV_E4M3, "sm_90.wgmma.e4m3.f32"},
                 {MXV_ARCH_SM_100, MXV_E4M3, "sm_100.tcgen05.e4m3.f32"},
                 {MXV_ARCH_SM_120, MXV_F16, "sm_120.mma.f16.f32"}};
    (void)unused;
    state = 21;
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        struct mxv_attention a = bound_call(MXV_KERNEL_DMA, units[u].arch, units[u].type);
        const struct mxv_mma_model *m = mxv_mma_find(units[u].model);
        struct mxv_bound_contract c;
        double worst = 0;
        assert_true(mxv_bound_contract_of(&a, &c) && m);
        for (size_t trial = 0; trial < 60; trial++) {
            struct row *row = row_of(1);
            float weights[KEYS], maxima[KEYS / 32] = {1, 1, 1};
            uint32_t p[KEYS], v[KEYS];
            struct mxv_bound_product products[D];
            double spread = (double)(trial % 6) * 2;
            for (size_t n = 0; n < KEYS; n++) {
                p[n] = code_of(units[u].type, fabs(uniform()) * exp2(uniform() * spread));
                weights[n] = (float)mxv_code_value(units[u].type, p[n]);
            }
            for (size_t i = 0; i < KEYS * D; i++)
                row->v[i] = mxv_code_value(
                    units[u].type, code_of(units[u].type, uniform() * exp2(uniform() * spread)));
            const struct mxv_bound_state s = {weights, NULL, row->v, 1, maxima, 1};
            mxv_bound_products(&c, &row->r, &s, &(struct mxv_bound_mass){0}, NULL, products);
            for (size_t i = 0; i < D; i++) {
                for (size_t n = 0; n < KEYS; n++)
                    v[n] = code_of(units[u].type, row->v[n * D + i]);
                double got = mxv_code_value(MXV_F32, mxv_mma_dot(m, KEYS, p, v, 0, NULL, NULL));
                double error = fabs(got - products[i].centre), own = products[i].own;
                if (error > own + products[i].noise || error > products[i].any + products[i].noise)
                    fail_msg("%s: error %g, own %g, any %g", units[u].model, error, own,
                             products[i].any);
                worst = fmax(worst, error / own);
            }
            free(row);
        }
        printf("%s: largest error / own term %.3f\n", units[u].model, worst);
        assert_true(worst > 0.05);
    }
}

static void test_output_term_is_half_a_step(void **unused)
{
    (void)unused;
    struct mxv_attention a = bound_call(MXV_KERNEL_FLASH, MXV_ARCH_SM_90, MXV_F16);
    struct mxv_bound_contract c;
    struct mxv_bound_terms t;
    assert_true(mxv_bound_contract_of(&a, &c));
    mxv_bound_finish(&c, 1.5, &t);
    assert_true(t.term[MXV_BOUND_OUTPUT] == 0x1p-11);
    assert_true(t.term[MXV_BOUND_DIVISION] >= 1.5 * 0x1.8p-23);
    mxv_bound_finish(&c, 1e-7, &t);
    assert_true(t.term[MXV_BOUND_OUTPUT] == 0x1p-25); // subnormal step of binary16 is 2^-24
    c.out = MXV_BF16;
    mxv_bound_finish(&c, 1.5, &t);
    assert_true(t.term[MXV_BOUND_OUTPUT] == 0x1p-8);
    c.out = MXV_F32;
    mxv_bound_finish(&c, 1.5, &t);
    assert_true(t.term[MXV_BOUND_OUTPUT] == 0);
    mxv_bound_finish(&c, 0, &t);
    assert_true(t.term[MXV_BOUND_OUTPUT] == 0 && t.term[MXV_BOUND_DIVISION] <= 0x1p-148);
}

static void test_total_adds_from_a_term(void **unused)
{
    (void)unused;
    struct mxv_bound_terms t;
    double sum = 0;
    for (unsigned i = 0; i < MXV_BOUND_TERM_COUNT; i++)
        t.term[i] = ldexp(1, (int)i);
    for (unsigned i = MXV_BOUND_SCORE; i < MXV_BOUND_TERM_COUNT; i++)
        sum += ldexp(1, (int)i);
    assert_true(mxv_bound_total(&t, MXV_BOUND_SCORE) == sum * MXV_BOUND_MARGIN);
    assert_string_equal(mxv_bound_term_name(MXV_BOUND_WEIGHT), "weight");
    assert_null(mxv_bound_term_name(MXV_BOUND_TERM_COUNT));
    assert_non_null(mxv_bound_term_text(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_of_every_16_bit_unit),
        cmocka_unit_test(test_units_of_dma_have_a_bound),
        cmocka_unit_test(test_softmax_against_long_double),
        cmocka_unit_test(test_score_term_covers_moved_scores),
        cmocka_unit_test(test_weight_term_covers_rounded_weights),
        cmocka_unit_test(test_product_term_covers_the_unit),
        cmocka_unit_test(test_output_term_is_half_a_step),
        cmocka_unit_test(test_total_adds_from_a_term),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
