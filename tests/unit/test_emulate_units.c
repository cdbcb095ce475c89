// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The matrix-unit models that the emulation on a GPU runs (gpu/emulate_units.h, emulate_dot.h),
// compiled for the host, against mxv_mma_dot: every NVIDIA row of the list, lengths that do and do
// not fill instructions, all operand families, specials included. The oracle shares no code with
// them. A test of the test: a row with one fraction bit less must differ somewhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../../gpu/emulate_dot.h"
#include "../../gpu/emulate_draw.h"

enum { DOTS = 1500, MANY_DOTS = 12000 }; // multiples of the number of families

// Words of `tested`, by the device text, that differ from the dot of `m`.
static size_t compare(const struct mxv_mma_model *m, const struct mxv_mma_model *tested,
                      uint64_t seed, unsigned dots, size_t *words)
{
    struct draw_dot d;
    uint64_t state = seed;
    size_t wrong = 0;
    for (unsigned t = 0; t < dots; t++) {
        const unsigned k = t % 3 == 0 ? 1 + draw_below(&state, DRAW_K) : m->k * (1 + t % 2);
        draw_product(&state, m, t % DRAW_FAMILIES, k, &d);
        const uint32_t want = mxv_mma_dot(m, k, d.a, d.b, d.c, d.scale_a, d.scale_b);
        const uint32_t have = unit_dot(tested, k, d.a, d.b, d.c, d.scale_a, d.scale_b);
        if (want != have && wrong == 0 && m == tested)
            print_error("%s, k = %u: %08x, the model says %08x\n", m->name, k, have, want);
        wrong += want != have;
    }
    *words += dots;
    return wrong;
}

static void test_every_row(void **state)
{
    size_t words = 0, rows = 0, wrong = 0;
    (void)state;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        const struct mxv_mma_model *m = mxv_mma_at(i);
        if (!unit_offers(m))
            continue;
        rows++;
        wrong += compare(m, m, 5 + i, DOTS, &words);
    }
    printf("%zu rows, %zu words, %zu differences\n", rows, words, wrong);
    assert_true(rows > 150);
    assert_int_equal(wrong, 0);
}

static void test_difference_is_seen(void **state)
{
    static const char *const names[] = {"sm_80.mma.bf16.f32", "sm_90.wgmma.e4m3.f32",
                                        "sm_90.mma.e4m3.f32", "sm_120.mma.mxf8f6f4.e4m3.f32",
                                        "sm_100.tcgen05.mxf4nvf4.ue4m3.f32"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mxv_mma_model m = *mxv_mma_find(names[i]);
        size_t words = 0;
        m.frac_bits--;
        const size_t wrong = compare(mxv_mma_find(names[i]), &m, 77 + i, MANY_DOTS, &words);
        printf("%s with F-1: %zu of %zu words differ\n", names[i], wrong, words);
        assert_true(wrong > 0);
    }
}

// The largest terms of a step: 16 products just below 4 * 2^F fit the 32-bit sums.
static void test_largest_step(void **state)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_90.wgmma.f16.f32");
    uint32_t a[16], b[16];
    (void)state;
    for (int negative = 0; negative < 2; negative++) {
        for (int i = 0; i < 16; i++) {
            a[i] = 0x3fff;
            b[i] = 0x3fff | (negative ? 0x8000u : 0);
        }
        const uint32_t c = negative ? 0xbfffffffu : 0x3fffffffu;
        assert_int_equal(unit_dot(m, 16, a, b, c, NULL, NULL),
                         mxv_mma_dot(m, 16, a, b, c, NULL, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row),
                                       cmocka_unit_test(test_difference_is_seen),
                                       cmocka_unit_test(test_largest_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
