/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner loops of the certified truth: the table and the weights against MPFR, sums of slices and
 * joined scores against exact integers, weighted sums against exact sums and their bound, and the
 * same bits at every instruction level.
 */
#include "../../ref/truth_kernels.h"
#include "random_values.h"

#include <gmp.h>
#include <math.h>
#include <mpfr.h>
#include <mxverify/simd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the above first */
#include <cmocka.h>

static uint64_t state = 11;

static double uniform(void)
{
    return (double)(draw() >> 11) * 0x1p-53;
}

/* An integer of at most 2^22 in size. */
static double slice(void)
{
    return (double)((int64_t)(draw() % ((1u << 23) + 1)) - (1 << 22));
}

static void test_table(void **unused)
{
    mpfr_t x;
    (void)unused;
    mpfr_init2(x, 200);
    for (int i = 0; i < MXV_EXP2_STEPS; i++) {
        mpfr_set_si_2exp(x, i, -7, MPFR_RNDN);
        mpfr_exp2(x, x, MPFR_RNDN);
        assert_true(mpfr_get_d(x, MPFR_RNDN) == mxv_truth_exp2_table[i]);
    }
    mpfr_clear(x);
}

/* Arguments of every size and the edges of the steps of the table. */
static double argument(size_t i)
{
    switch (i % 4) {
    case 0:
        return -uniform();
    case 1:
        return -1000 * uniform();
    case 2: /* a step and a half, and its neighbours */
        return nextafter(-(double)(draw() % 4000 * 2 + 1) / 256, (double)(i % 3) - 2000);
    default:
        return -ldexp(uniform(), -(int)(draw() % 60));
    }
}

/* The weights: within 2.2 * 2^-53 of 2^y, y as binary64; 0 below 2^-1000; 1 at 0. */
static void test_weights(void **unused)
{
    enum { N = 200000 };
    double *high = malloc(N * sizeof *high), *y = malloc(N * sizeof *y);
    double *low = calloc(N, sizeof *low), worst = 0;
    mpfr_t exact;
    (void)unused;
    mpfr_init2(exact, 120);
    for (size_t i = 0; i < N; i++)
        high[i] = y[i] = argument(i);
    high[0] = y[0] = 0;
    high[1] = y[1] = -1000;
    high[2] = y[2] = nextafter(-1000, -INFINITY);
    high[3] = y[3] = MXV_UNSEEN;
    mxv_truth_kernels()->weigh(high, low, N, 0, 0, 1);
    assert_true(high[0] == 1 && high[1] == 0x1p-1000 && high[2] == 0 && high[3] == 0);
    for (size_t i = 4; i < N; i++) {
        mpfr_set_d(exact, y[i], MPFR_RNDN);
        mpfr_exp2(exact, exact, MPFR_RNDN);
        mpfr_d_div(exact, high[i], exact, MPFR_RNDN);
        mpfr_sub_ui(exact, exact, 1, MPFR_RNDN);
        worst = fmax(worst, fabs(mpfr_get_d(exact, MPFR_RNDA)));
    }
    printf("%d weights, largest relative error %.4f * 2^-53 (bound 2.2)\n", N, worst * 0x1p53);
    assert_true(worst <= 2.2 * 0x1p-53 && worst > 0x1p-54);
    mpfr_clear(exact);
    free(high);
    free(low);
    free(y);
}

/* Slices of 22 bits over 128 dimensions add up exactly, at the largest sizes too. */
static void test_dots(void **unused)
{
    enum { D = 128 };
    static double q[D * MXV_STRIP], k[D * MXV_PANEL];
    (void)unused;
    for (int n = 0; n < 200; n++) {
        double sum[MXV_STRIP * MXV_PANEL];
        for (size_t i = 0; i < D * MXV_STRIP; i++)
            q[i] = n ? slice() : 0x1p22;
        for (size_t i = 0; i < D * MXV_PANEL; i++)
            k[i] = n ? slice() : 0x1p22;
        for (size_t i = 0; i < MXV_STRIP * MXV_PANEL; i++)
            sum[i] = (double)((int64_t)(draw() % (1ull << 52)) - (1ll << 51));
        if (n == 0)
            sum[0] = 0x1p51;
        double expected[MXV_STRIP * MXV_PANEL];
        for (size_t r = 0; r < MXV_STRIP; r++)
            for (size_t c = 0; c < MXV_PANEL; c++) {
                int64_t s = (int64_t)sum[r * MXV_PANEL + c];
                for (size_t e = 0; e < D; e++)
                    s += (int64_t)q[e * MXV_STRIP + r] * (int64_t)k[e * MXV_PANEL + c];
                assert_true(s <= (1ll << 53) && s >= -(1ll << 53));
                expected[r * MXV_PANEL + c] = (double)s;
            }
        mxv_truth_kernels()->dots(q, k, D, true, sum);
        assert_memory_equal(sum, expected, sizeof sum);
    }
}

/* high + low = hh 2^44 + cross 2^22 + ll in exact integers, or off by 2.1 * 2^-106 of their size.
 */
static void test_join(void **unused)
{
    mpz_t sum, part;
    mpz_init(sum);
    mpz_init(part);
    (void)unused;
    for (int n = 0; n < 20000; n++) {
        double x[3][MXV_PANEL], unit[MXV_PANEL], high[MXV_PANEL], low[MXV_PANEL];
        const double f[3] = {0x1p44, 0x1p22, 1};
        for (size_t c = 0; c < MXV_PANEL; c++) {
            unit[c] = ldexp(1, (int)(draw() % 3));
            for (int i = 0; i < 3; i++)
                x[i][c] = (double)((int64_t)draw() >> (11 + draw() % 50));
            if (n % 4 == 0)
                x[2][c] = -x[1][c] * 0x1p22 + (double)(draw() % 3); /* cancels */
            if (n % 4 == 1)
                x[2][c] = 0x1p53 - (double)(draw() % 8); /* its sum with a rest takes 54 bits */
        }
        mxv_truth_kernels()->join(x[0], x[1], x[2], f, unit, high, low);
        for (size_t c = 0; c < MXV_PANEL; c++) {
            mpz_set_ui(sum, 0);
            for (int i = 0; i < 3; i++) {
                mpz_set_d(part, x[i][c] * f[i] * unit[c]);
                mpz_add(sum, sum, part);
            }
            mpz_set_d(part, high[c]);
            mpz_sub(sum, sum, part);
            mpz_set_d(part, low[c]);
            mpz_sub(sum, sum, part);
            assert_int_equal(mpz_sgn(sum), 0);
            assert_true(fabs(low[c]) <= fabs(high[c]) * 0x1p-52);
        }
    }
    mpz_clears(sum, part, (mpz_ptr)0);
}

/* Blocks of products: the compensated total is within 17.1 * 2^-53 of sum w |v|. */
static void test_sums(void **unused)
{
    enum { KEYS = 256 * MXV_SUM_BLOCK, STRIDE = MXV_PANEL };
    static double w[MXV_STRIP * KEYS], v[KEYS * STRIDE];
    double worst = 0;
    mpfr_t sum, term, size;
    (void)unused;
    mpfr_inits2(2400, sum, term, size, (mpfr_ptr)0);
    for (int n = 0; n < 12; n++) {
        double total[MXV_STRIP * STRIDE] = {0}, error[MXV_STRIP * STRIDE] = {0};
        for (size_t i = 0; i < MXV_STRIP * KEYS; i++)
            w[i] = n % 2 ? uniform() : exp2(-40 * uniform());
        for (size_t i = 0; i < KEYS * STRIDE; i++)
            v[i] =
                (n % 3 ? uniform() - 0.5 : 1 + uniform()) * exp2(n % 5 == 4 ? -90 * uniform() : 0);
        for (size_t i = 0; n == 0 && i < MXV_STRIP * KEYS;
             i++) /* rounded one way, block by block */
            w[i] = 1 + 0x1p-47 * 0.875;
        for (size_t i = 0; n == 0 && i < KEYS * STRIDE; i++)
            v[i] = 1;
        for (size_t j = 0; j < KEYS; j += MXV_SUM_BLOCK)
            mxv_truth_kernels()->add(w + j, KEYS, v + j * STRIDE, STRIDE, total, error);
        for (size_t i = 0; i < MXV_STRIP * STRIDE; i++) {
            mpfr_set_zero(sum, 1);
            mpfr_set_zero(size, 1);
            for (size_t j = 0; j < KEYS; j++) {
                mpfr_set_d(term, w[i / STRIDE * KEYS + j], MPFR_RNDN);
                mpfr_mul_d(term, term, v[j * STRIDE + i % STRIDE], MPFR_RNDN);
                mpfr_add(sum, sum, term, MPFR_RNDN);
                mpfr_abs(term, term, MPFR_RNDN);
                mpfr_add(size, size, term, MPFR_RNDN);
            }
            mpfr_sub_d(sum, sum, total[i] + error[i], MPFR_RNDN);
            mpfr_div(sum, sum, size, MPFR_RNDN);
            worst = fmax(worst, fabs(mpfr_get_d(sum, MPFR_RNDA)));
        }
    }
    mpfr_clears(sum, term, size, (mpfr_ptr)0);
    printf("sums of %d keys, largest error %.3f * 2^-53 of sum w |v| (bound 17.1)\n", KEYS,
           worst * 0x1p53);
    assert_true(worst <= 17.1 * 0x1p-53 && worst > 0);
}

/* Results of every kernel on one set of numbers. */
struct outcome {
    double dots[MXV_STRIP * MXV_PANEL], high[MXV_PANEL], low[MXV_PANEL], weights[4096];
    double total[MXV_STRIP * 2 * MXV_PANEL], error[MXV_STRIP * 2 * MXV_PANEL];
};

static void run_all(uint64_t seed, struct outcome *o)
{
    enum { D = 77, STRIDE = 2 * MXV_PANEL };
    static double q[D * MXV_STRIP], k[D * MXV_PANEL], v[MXV_SUM_BLOCK * STRIDE], low[4096];
    const double f[3] = {0x1p44, 0x1p22, 1}, unit[MXV_PANEL] = {1, 2, 4, 0.5, 1, 1, 8, 1};
    const struct mxv_truth_kernels *kernels = mxv_truth_kernels();
    memset(o, 0, sizeof *o);
    state = seed;
    for (size_t i = 0; i < D * MXV_STRIP; i++)
        q[i] = slice();
    for (size_t i = 0; i < D * MXV_PANEL; i++)
        k[i] = slice();
    for (size_t i = 0; i < MXV_SUM_BLOCK * STRIDE; i++)
        v[i] = uniform() - 0.5;
    for (size_t i = 0; i < 4096; i++) {
        o->weights[i] = i % 64 ? argument(i) : MXV_UNSEEN;
        low[i] = o->weights[i] * 0x1p-54 * uniform();
    }
    kernels->dots(q, k, D, seed % 2, o->dots);
    kernels->join(o->dots, o->dots + MXV_PANEL, o->dots + 2 * MXV_PANEL, f, unit, o->high, o->low);
    kernels->weigh(o->weights, low, 4096, -0.25, 0x1p-60, 0.7);
    for (size_t j = 0; j + 4 * MXV_SUM_BLOCK <= 4096; j += MXV_SUM_BLOCK)
        kernels->add(o->weights + j, MXV_SUM_BLOCK, v, STRIDE, o->total, o->error);
}

static void test_levels(void **unused)
{
    static struct outcome portable, other;
    const enum mxv_simd most = mxv_simd_level();
    (void)unused;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        assert_int_equal(mxv_simd_limit(MXV_SIMD_PORTABLE), MXV_SIMD_PORTABLE);
        run_all(seed, &portable);
        for (int level = MXV_SIMD_AVX2; level <= (int)most; level++) {
            assert_int_equal(mxv_simd_limit((enum mxv_simd)level), level);
            run_all(seed, &other);
            assert_memory_equal(&portable, &other, sizeof portable);
        }
    }
    mxv_simd_limit(most);
    printf("portable and %s: the same bits\n", mxv_simd_name(most));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_weights), cmocka_unit_test(test_dots),
        cmocka_unit_test(test_join),  cmocka_unit_test(test_sums),    cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
