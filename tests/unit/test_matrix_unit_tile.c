// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_mma_tile against mxv_mma_dot, word by word, for every model of the list: shapes that do not
// fill lanes, chunks or instructions; operands moderate, of any bit pattern, tiny, mostly zero and
// sprinkled with NaN and infinity; accumulators of any pattern. A test of the test: a tile run with
// a changed model must differ somewhere.
#include "splitmix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include <mxverify/matrix_unit.h>

enum { MAX_ROWS = 5, MAX_COLS = 37, MAX_PRODUCTS = 600, FAMILIES = 5, TILES_PER_FAMILY = 3 };

static uint64_t state_;

static uint32_t draw(void)
{
    return (uint32_t)(splitmix_next(&state_) >> 32);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)((uint64_t)draw() * n >> 32);
}

// A word of a float format with the exponent field in [low, high] of its range, in 64ths.
static uint32_t draw_exponent(enum mxv_element e, uint32_t low, uint32_t high)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    uint32_t top = (1u << f->exp_bits) - 1, frac = draw() & ((1u << f->frac_bits) - 1);
    uint32_t first = top * low / 64, field = first + below(top * high / 64 - first + 1);
    uint32_t w = draw() % 2 << (f->exp_bits + f->frac_bits) | field << f->frac_bits | frac;
    return e == MXV_TF32 ? w << 13 | (draw() & 0x1fff) : w;
}

static uint32_t draw_special(enum mxv_element e)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    uint32_t all = (1u << (f->exp_bits + f->frac_bits)) - 1;
    uint32_t inf = all - ((1u << f->frac_bits) - 1);
    uint32_t w = (draw() % 2 ? all : inf) | draw() % 2 << (f->exp_bits + f->frac_bits);
    if (f->special == MXV_SPECIAL_FNUZ)
        w = 0x80;
    return e == MXV_TF32 ? w << 13 : w;
}

static uint32_t draw_operand(enum mxv_element e, unsigned family)
{
    if (e == MXV_S8 || e == MXV_U8)
        return family == 0 ? draw() : (draw() % 2 ? 0x80 : 0x7f);
    switch (family) {
    case 0:
        return draw_exponent(e, 28, 36);
    case 1:
        return draw_exponent(e, 0, 64);
    case 2:
        return draw_exponent(e, 0, 12);
    case 3:
        return below(4) ? 0 : draw_exponent(e, 0, 62);
    default:
        return below(60) ? draw_exponent(e, 8, 56) : draw_special(e);
    }
}

static uint32_t draw_accumulator(const struct mxv_mma_model *m, unsigned family)
{
    enum mxv_element e = m->result == MXV_MMA_F16 ? MXV_F16 : MXV_F32;
    if (m->result == MXV_MMA_S32)
        return draw();
    if (family == 1)
        return draw() & (m->result == MXV_MMA_F16 ? 0xffff : 0xffffffff);
    if (family == 3)
        return below(2) ? 0 : 0x80000000u >> (m->result == MXV_MMA_F16 ? 16 : 0);
    return family == 2 ? draw_exponent(e, 0, 6) : draw_exponent(e, 24, 40);
}

static uint8_t draw_scale(const struct mxv_mma_model *m, unsigned family)
{
    if (family == 1 || family == 4)
        return (uint8_t)(below(40) ? draw() & (m->scale == MXV_E8M0 ? 0xfe : 0x77) : draw());
    if (m->scale == MXV_E8M0)
        return (uint8_t)(120 + below(15));
    return (uint8_t)(family == 3 ? below(12) : 0x28 + below(32));
}

static struct mxv_operand a_[MAX_ROWS * MAX_PRODUCTS], b_[MAX_COLS * MAX_PRODUCTS];
static uint32_t a_words[MAX_ROWS * MAX_PRODUCTS], b_words[MAX_COLS * MAX_PRODUCTS];
static uint8_t scale_a[MAX_ROWS * MAX_PRODUCTS], scale_b[MAX_COLS * MAX_PRODUCTS];

// One random tile; returns the words of `tested` that differ from the dot of `m`.
static size_t compare(const struct mxv_mma_model *m, const struct mxv_mma_model *tested,
                      unsigned family, size_t *words)
{
    size_t rows = 1 + below(MAX_ROWS), cols = 1 + below(MAX_COLS), k = 1 + below(MAX_PRODUCTS);
    size_t ld = cols + below(3), scales = mxv_mma_scale_count(m, k), wrong = 0;
    uint32_t c[MAX_ROWS * (MAX_COLS + 2)], cd[MAX_ROWS * (MAX_COLS + 2)];
    if (below(2))
        k = (k + m->k - 1) / m->k * m->k > MAX_PRODUCTS ? m->k : (k + m->k - 1) / m->k * m->k;
    scales = mxv_mma_scale_count(m, k);
    for (size_t i = 0; i < rows * k; i++)
        a_words[i] = draw_operand(m->a, family);
    for (size_t i = 0; i < cols * k; i++)
        b_words[i] = draw_operand(m->b, family);
    for (size_t i = 0; i < rows * scales; i++)
        scale_a[i] = draw_scale(m, family);
    for (size_t i = 0; i < cols * scales; i++)
        scale_b[i] = draw_scale(m, family);
    for (size_t i = 0; i < rows * ld; i++)
        cd[i] = c[i] = draw_accumulator(m, family);
    mxv_mma_decode_a(tested, a_words, rows * k, a_);
    mxv_mma_decode_b(tested, b_words, cols * k, b_);
    mxv_mma_tile(tested, rows, cols, k, a_, b_, scale_a, scale_b, cd, ld);
    for (size_t i = 0; i < rows * ld; i++) {
        size_t r = i / ld, j = i % ld;
        uint32_t want = c[i];
        if (j < cols)
            want = mxv_mma_dot(m, k, a_words + r * k, b_words + j * k, c[i], scale_a + r * scales,
                               scale_b + j * scales);
        wrong += cd[i] != want;
        *words += j < cols;
    }
    return wrong;
}

static void test_every_model(void **state)
{
    size_t words = 0;
    (void)state;
    state_ = 2;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        const struct mxv_mma_model *m = mxv_mma_at(i);
        size_t wrong = 0;
        for (unsigned t = 0; t < FAMILIES * TILES_PER_FAMILY; t++)
            wrong += compare(m, m, t % FAMILIES, &words);
        if (wrong)
            print_error("%s: %zu words differ\n", m->name, wrong);
        assert_int_equal(wrong, 0);
    }
    printf("%zu models, %zu words, 0 differences\n", mxv_mma_count(), words);
}

static void test_difference_is_seen(void **state)
{
    static const char *const names[] = {"sm_80.mma.bf16.f32", "sm_90.wgmma.e4m3.f32",
                                        "sm_90.mma.e4m3.f32", "sm_120.mma.mxf8f6f4.e4m3.f32",
                                        "sm_100.tcgen05.mxf4nvf4.ue4m3.f32"};
    (void)state;
    state_ = 3;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mxv_mma_model m = *mxv_mma_find(names[i]);
        size_t words = 0, wrong = 0;
        m.frac_bits--;
        for (unsigned t = 0; t < 10 * FAMILIES; t++)
            wrong += compare(mxv_mma_find(names[i]), &m, t % FAMILIES, &words);
        printf("%s with F-1: %zu of %zu words differ\n", names[i], wrong, words);
        assert_true(wrong > 0);
    }
}

static void test_empty(void **state)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_90.mma.bf16.f32");
    uint32_t cd[2] = {0x3f800001, 0x80000000};
    (void)state;
    mxv_mma_tile(m, 1, 2, 0, NULL, NULL, NULL, NULL, cd, 2);
    assert_int_equal(cd[0], 0x3f800001);
    assert_int_equal(cd[1], 0x80000000);
    assert_int_equal(mxv_mma_dot(m, 0, NULL, NULL, 0x80000000, NULL, NULL), 0x80000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_model),
                                       cmocka_unit_test(test_difference_is_seen),
                                       cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
