// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Bound of scores of dma's rebased low route (docs/bounds.md): the E5M2 unit on chosen and random
// operands against exact sums in binary64, and factors that overflow on the way.
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

enum { D = BOUND_CALL_D };

static struct mxv_attention rebased_call(void)
{
    struct mxv_attention a = bound_call(MXV_KERNEL_DMA, MXV_ARCH_SM_90, MXV_F16);
    a.rebase = true;
    return a;
}

// Option rebase: E2M1 values at a distance from the base, up to rows of K that are nothing but
// subnormals of E5M2.
static void test_scores_of_rebased_rows(void **unused)
{
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const struct mxv_attention a = rebased_call();
    const struct mxv_mma_model *m = mxv_mma_find("sm_90.wgmma.e5m2.f32");
    struct mxv_bound_contract c;
    double worst = 0;
    (void)unused;
    assert_true(mxv_bound_contract_of(&a, &c));
    assert_non_null(m);
    state = 77;
    for (size_t trial = 0; trial < 20000; trial++) {
        uint32_t q[D], k[D];
        double sum = 0, size = 0, q_max = 0, k_max = 0;
        for (size_t i = 0; i < D; i++) {
            const bool edge = trial % 2 != 0; // one large product, all others just below its grid
            const double below = edge ? (i ? 12 + (double)(trial / 2 % 4) : 0)
                                      : floor(fabs(uniform()) * (double)(trial % 8) * 4);
            const double x = values[(size_t)(fabs(uniform()) * 7.99)] * (uniform() < 0 ? -1 : 1);
            const double y = values[(size_t)(fabs(uniform()) * 7.99)] * (uniform() < 0 ? -1 : 1);
            q[i] = code_of(MXV_E5M2, ldexp(edge && i == 0 ? 6 : x, 13 - (int)below));
            k[i] = code_of(MXV_E5M2, ldexp(edge ? 6 : y, 13 - (int)(trial % 31)));
            const double qv = mxv_code_value(MXV_E5M2, q[i]), kv = mxv_code_value(MXV_E5M2, k[i]);
            sum += qv * kv;
            size += fabs(qv * kv);
            q_max = fmax(q_max, fabs(qv));
            k_max = fmax(k_max, fabs(kv));
        }
        double got = mxv_code_value(MXV_F32, mxv_mma_dot(m, D, q, k, 0, NULL, NULL));
        double bound = mxv_bound_score(&c, MXV_ROUTE_LOW, D, size, q_max, k_max);
        if (fabs(got - sum) > bound)
            fail_msg("trial %zu: error %g, bound %g", trial, fabs(got - sum), bound);
        worst = fmax(worst, fabs(got - sum) / bound);
    }
    printf("rebased low route: largest error / bound %.3f\n", worst);
    assert_true(worst > 0.01);
}

// fl(S * phi_q) is infinite where the score is not: q = 1.75 * 2^112, k = 1.75 * 2^-40.
static void test_rebased_rows_may_overflow_on_the_way(void **unused)
{
    const struct mxv_attention a = rebased_call();
    struct mxv_bound_contract c;
    const float s = (float)D * 0x1.cp+15f * 0x1.cp+15f, q_factor = 0x1p97f, k_factor = 0x1p-55f;
    const double q = 0x1.cp+112, k = 0x1.cp-40;
    (void)unused;
    assert_true(mxv_bound_contract_of(&a, &c));
    assert_true(isinf(s * q_factor * k_factor) && (double)D * q * k < 0x1p127);
    assert_true(isinf(mxv_bound_score(&c, MXV_ROUTE_LOW, D, (double)D * q * k, q, k)));
    assert_true(isfinite(mxv_bound_score(&c, MXV_ROUTE_LOW, D, 1, 0x1p100, 0x1p-100)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_of_rebased_rows),
        cmocka_unit_test(test_rebased_rows_may_overflow_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
