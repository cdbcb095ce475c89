// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_mma_tile on tall tiles, more rows than a vector form packs at a time, against the scalar
// chain: every model, every level of this machine, rows and products that end anywhere. One operand
// in 64 and one accumulator in 32 have any bits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <mxverify/element.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/simd.h>

#include "splitmix.h"

enum { LEAST_ROWS = 120, MAX_ROWS = 280, MAX_COLS = 20, MAX_PRODUCTS = 140 };

static uint64_t state_ = 11;

static uint32_t below(uint32_t n)
{
    return (uint32_t)((splitmix_next(&state_) >> 32) * n >> 32);
}

static uint32_t operand(enum mxv_element e)
{
    const uint32_t any = (uint32_t)splitmix_next(&state_);
    const int32_t whole = (int32_t)below(4095) - 2047;
    float x = (float)whole / (float)(1u << below(12));
    uint32_t word;
    if (below(64) == 0 || e == MXV_S8 || e == MXV_U8)
        return any;
    memcpy(&word, &x, sizeof word);
    return e == MXV_TF32 ? word : (uint32_t)mxv_element_from_f32(e, word, NULL);
}

static uint32_t accumulator(const struct mxv_mma_model *m)
{
    const uint32_t any = (uint32_t)splitmix_next(&state_);
    if (m->result == MXV_MMA_S32 || below(32) == 0)
        return m->result == MXV_MMA_F16 ? any & 0xffff : any;
    return operand(m->result == MXV_MMA_F16 ? MXV_F16 : MXV_TF32);
}

static uint8_t scale(const struct mxv_mma_model *m)
{
    return (uint8_t)((m->scale == MXV_E8M0 ? 120 : 0x30) + below(15));
}

static uint32_t a_words[MAX_ROWS * MAX_PRODUCTS], b_words[MAX_COLS * MAX_PRODUCTS];
static struct mxv_operand a_[MAX_ROWS * MAX_PRODUCTS], b_[MAX_COLS * MAX_PRODUCTS];
static uint8_t scale_a[MAX_ROWS * MAX_PRODUCTS], scale_b[MAX_COLS * MAX_PRODUCTS];
static uint32_t before[MAX_ROWS * MAX_COLS], want[MAX_ROWS * MAX_COLS], got[MAX_ROWS * MAX_COLS];

struct shape {
    size_t rows, cols, k;
};

static struct shape draw_tile(const struct mxv_mma_model *m)
{
    const struct shape s = {LEAST_ROWS + below(MAX_ROWS - LEAST_ROWS + 1), 1 + below(MAX_COLS),
                            1 + below(MAX_PRODUCTS)};
    for (size_t i = 0; i < s.rows * s.k; i++)
        a_words[i] = operand(m->a);
    for (size_t i = 0; i < s.cols * s.k; i++)
        b_words[i] = operand(m->b);
    for (size_t i = 0; i < s.rows * s.k; i++)
        scale_a[i] = scale(m);
    for (size_t i = 0; i < s.cols * s.k; i++)
        scale_b[i] = scale(m);
    for (size_t i = 0; i < s.rows * s.cols; i++)
        before[i] = accumulator(m);
    mxv_mma_decode_a(m, a_words, s.rows * s.k, a_);
    mxv_mma_decode_b(m, b_words, s.cols * s.k, b_);
    return s;
}

static void chain(const struct mxv_mma_model *m, const struct shape *s)
{
    const size_t scales = mxv_mma_scale_count(m, s->k);
    for (size_t r = 0; r < s->rows; r++)
        for (size_t c = 0; c < s->cols; c++)
            want[r * s->cols + c] =
                mxv_mma_dot(m, s->k, a_words + r * s->k, b_words + c * s->k,
                            before[r * s->cols + c], scale_a + r * scales, scale_b + c * scales);
}

static void test_tall_tiles(void **state)
{
    const enum mxv_simd most = mxv_simd_level();
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        const struct mxv_mma_model *m = mxv_mma_at(i);
        const struct shape s = draw_tile(m);
        chain(m, &s);
        for (int level = 0; level <= (int)most; level++) {
            size_t here = 0;
            mxv_simd_limit((enum mxv_simd)level);
            memcpy(got, before, sizeof got);
            mxv_mma_tile(m, s.rows, s.cols, s.k, a_, b_, scale_a, scale_b, got, s.cols);
            for (size_t n = 0; n < s.rows * s.cols; n++)
                here += got[n] != want[n];
            if (here)
                print_error("%s at %s, %zu x %zu x %zu: %zu words differ\n", m->name,
                            mxv_simd_name((enum mxv_simd)level), s.rows, s.cols, s.k, here);
            wrong += here;
        }
        mxv_simd_limit(most);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tall_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
