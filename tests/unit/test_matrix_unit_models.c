// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of matrix-unit models: every instruction of the parameter table (docs/numerics.md) is
// there under its name with the table's numbers, names are unique, rows are consistent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mxverify/matrix_unit.h>

// Name, K, L, F, kept bits, z as in the parameter table; 0 where the rule has no such number.
static const struct expected {
    const char *name;
    unsigned k, step, frac_bits, keep_bits;
    int zero_exp;
} table[] = {
    {"sm_70.mma.f16.f32", 4, 4, 23, 23, -131},
    {"sm_70.mma.f16.f16", 4, 4, 23, 23, -19},
    {"sm_75.mma.f16.f32", 8, 8, 24, 23, -132},
    {"sm_75.mma.f16.f16", 8, 8, 24, 23, -20},
    {"sm_80.mma.f16.f32", 16, 8, 24, 23, -132},
    {"sm_80.mma.bf16.f32", 16, 8, 24, 23, -132},
    {"sm_80.mma.tf32.f32", 8, 4, 24, 23, -132},
    {"sm_80.mma.f16.f16", 16, 8, 24, 23, -20},
    {"sm_86.mma.bf16.f32", 16, 8, 24, 23, -132},
    {"sm_89.mma.f16.f16", 16, 8, 24, 23, -20},
    {"sm_89.mma.tf32.f32", 8, 4, 24, 23, -132},
    {"sm_89.mma.e4m3.f32", 32, 16, 13, 13, -132},
    {"sm_89.mma.e5m2.f32", 32, 16, 13, 13, -132},
    {"sm_89.mma.e4m3.e5m2.f32", 32, 16, 13, 13, -132},
    {"sm_89.mma.e5m2.f16", 32, 16, 13, 13, -132},
    {"sm_90.mma.f16.f32", 16, 16, 25, 23, -133},
    {"sm_90.mma.bf16.f32", 16, 16, 25, 23, -133},
    {"sm_90.mma.tf32.f32", 8, 8, 25, 23, -133},
    {"sm_90.mma.f16.f16", 16, 16, 25, 23, -21},
    {"sm_90.mma.e4m3.f32", 32, 16, 25, 23, -133},
    {"sm_90.mma.e5m2.e4m3.f16", 32, 16, 25, 23, -21},
    {"sm_90.wgmma.f16.f32", 16, 16, 25, 23, -133},
    {"sm_90.wgmma.f16.f16", 16, 16, 25, 23, -21},
    {"sm_90.wgmma.tf32.f32", 8, 8, 25, 23, -133},
    {"sm_90.wgmma.e4m3.f32", 32, 32, 13, 13, -133},
    {"sm_90.wgmma.e5m2.e4m3.f32", 32, 32, 13, 13, -133},
    {"sm_90.wgmma.e4m3.f16", 32, 32, 13, 13, -133},
    {"sm_100.mma.f16.f16", 16, 16, 25, 23, -21},
    {"sm_100.mma.e5m2.f32", 32, 16, 25, 23, -133},
    {"sm_100.tcgen05.bf16.f32", 16, 16, 25, 23, -133},
    {"sm_100.tcgen05.tf32.f32", 8, 8, 25, 23, -133},
    {"sm_100.tcgen05.f16.f16", 16, 16, 25, 23, -133},
    {"sm_100.tcgen05.e4m3.f32", 32, 32, 25, 23, -133},
    {"sm_100.tcgen05.e2m1.e4m3.f32", 32, 32, 25, 23, -133},
    {"sm_100.tcgen05.e3m2.e2m3.f16", 32, 32, 25, 23, -133},
    {"sm_100.tcgen05.mxf8f6f4.e2m1.e4m3.f32", 32, 32, 25, 23, -133},
    {"sm_100.tcgen05.mxf8f6f4.e4m3.f32", 32, 32, 25, 23, -133},
    {"sm_100.tcgen05.mxf4.ue8m0.f32", 64, 64, 35, 23, -139},
    {"sm_100.tcgen05.mxf4nvf4.ue8m0.f32", 64, 64, 35, 23, -139},
    {"sm_100.tcgen05.mxf4nvf4.ue8m0x16.f32", 64, 64, 35, 23, -139},
    {"sm_100.tcgen05.mxf4nvf4.ue4m3.f32", 64, 64, 35, 23, -139},
    {"sm_110.tcgen05.bf16.f32", 16, 16, 25, 23, -133},
    {"sm_110.tcgen05.mxf8f6f4.e4m3.f32", 32, 32, 25, 23, -133},
    {"sm_120.mma.f16.f32", 16, 16, 25, 23, -133},
    {"sm_120.mma.bf16.f32", 16, 16, 25, 23, -133},
    {"sm_120.mma.tf32.f32", 8, 8, 25, 23, -133},
    {"sm_120.mma.e2m3.f32", 32, 32, 25, 23, -133},
    {"sm_120.mma.e2m1.f16", 32, 32, 25, 23, -21},
    {"sm_120.mma.mxf8f6f4.e3m2.e5m2.f32", 32, 32, 25, 23, -133},
    {"sm_120.mma.mxf4.ue8m0.f32", 64, 64, 35, 23, -139},
    {"sm_120.mma.mxf4nvf4.ue4m3.f32", 64, 64, 35, 23, -139},
    {"sm_120.mma.mxf4nvf4.ue4m3x32.f32", 64, 64, 35, 23, -139},
    {"sm_80.mma.s8.s32", 32, 32, 0, 0, 0},
    {"sm_90.mma.s8.s32.satfinite", 32, 32, 0, 0, 0},
    {"sm_90.wgmma.u8.s8.s32", 32, 32, 0, 0, 0},
    {"sm_100.tcgen05.s8.u8.s32.satfinite", 32, 32, 0, 0, 0},
    {"sm_120.mma.u8.s32", 32, 32, 0, 0, 0},
    {"cdna3.mfma.bf16.f32", 16, 8, 24, 23, 0},
    {"cdna3.mfma.xf32.f32", 8, 4, 24, 23, 0},
    {"cdna3.mfma.e4m3fnuz.f32", 32, 16, 24, 23, 0},
    {"cdna2.mfma.bf16.f32", 8, 2, 23, 23, 0},
    {"cdna2.mfma.f16.f32", 16, 4, 23, 23, 0},
    {"cdna1.mfma.f16.f32", 16, 4, 23, 23, 0},
    {"cdna1.mfma.bf16.f32", 8, 2, 23, 23, 0},
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct expected *e = &table[i];
        const struct mxv_mma_model *m = mxv_mma_find(e->name);
        if (!m)
            fail_msg("no model %s", e->name);
        assert_string_equal(m->name, e->name);
        assert_int_equal(m->k, e->k);
        assert_int_equal(m->step, e->step);
        assert_int_equal(m->frac_bits, e->frac_bits);
        assert_int_equal(m->keep_bits, e->keep_bits);
        assert_int_equal(m->zero_exp, e->zero_exp);
    }
}

// What every row must satisfy, and that its name says what it is.
static void assert_consistent(const struct mxv_mma_model *m)
{
    char tail[64];
    size_t arch = strlen(m->arch);
    assert_true(strncmp(m->name, m->arch, arch) == 0 && m->name[arch] == '.');
    assert_true(m->k >= m->step && m->k % m->step == 0 && m->k <= 64);
    assert_true(m->block == 0 || m->k % m->block == 0);
    assert_int_equal(m->scale == MXV_MMA_NO_SCALE, m->block == 0);
    assert_int_equal(m->rule == MXV_MMA_INT, m->result == MXV_MMA_S32);
    assert_true(!m->saturate || m->result == MXV_MMA_S32);
    snprintf(tail, sizeof tail, ".%s%s", mxv_mma_result_name(m->result),
             m->saturate ? ".satfinite" : "");
    assert_true(strlen(m->name) > strlen(tail));
    assert_string_equal(m->name + strlen(m->name) - strlen(tail), tail);
    if (m->rule == MXV_MMA_T || m->rule == MXV_MMA_ST || m->rule == MXV_MMA_INT) {
        const char *a = mxv_element_get(m->a)->name, *b = mxv_element_get(m->b)->name;
        snprintf(tail, sizeof tail, ".%s%s%s.", a, m->a == m->b ? "" : ".", m->a == m->b ? "" : b);
        assert_non_null(strstr(m->name, tail));
    }
    assert_true(strlen(m->note) > 0 && strlen(mxv_mma_rule_name(m->rule)) > 0);
    assert_true(strncmp(m->arch, "cdna", 4) != 0 || m->evidence == MXV_MMA_UNVERIFIED);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        const struct mxv_mma_model *m = mxv_mma_at(i);
        assert_consistent(m);
        assert_ptr_equal(mxv_mma_find(m->name), m); // also: no earlier row of that name
    }
    printf("%zu models\n", mxv_mma_count());
}

static void test_other_spellings(void **state)
{
    static const char *const same[][2] = {
        {"sm_100.tcgen05.mxf8f6f4.e4m3.e4m3.f32", "sm_100.tcgen05.mxf8f6f4.e4m3.f32"},
        {"sm_90.mma.f16.f16.f16", "sm_90.mma.f16.f16"},
        {"sm_90.mma.f16.f16.f32", "sm_90.mma.f16.f32"},
        {"sm_90.wgmma.s8.s8.s32.satfinite", "sm_90.wgmma.s8.s32.satfinite"},
        {"sm_120.mma.mxf4nvf4.ue4m3x16.f32", "sm_120.mma.mxf4nvf4.ue4m3.f32"},
        {"sm_100.tcgen05.mxf4nvf4.ue8m0x32.f32", "sm_100.tcgen05.mxf4nvf4.ue8m0.f32"},
    };
    static const char *const absent[] = {"",
                                         "sm_90",
                                         "sm_90.mma.f16",
                                         "sm_90.mma.f16.f64",
                                         "sm_90.mma.f16.f32 ",
                                         "mma.f16.f32",
                                         "sm_90..mma",
                                         "sm_100.tcgen05.mxf4nvf4.ue4m3x64.f32",
                                         "sm_90.mma.e4m3.e4m3.e4m3.e4m3.f32"};
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_ptr_equal(mxv_mma_find(same[i][0]), mxv_mma_find(same[i][1]));
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        assert_null(mxv_mma_find(absent[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_other_spellings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
