// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Published result words of V100, A100, Ada, H100 and B200 (tests/support/leeds_rows.h) against the
// models: every D and D16 word. The second part shows that the rows have teeth: neighbouring models
// miss exactly as many rows as an independent implementation of the rules found them to miss.
// H100 FP8: D is wgmma with C taken as 0, D16 is mma.sync with C. For D16, C is first rounded to
// f16.
#include "leeds_rows.h"

#include <mxverify/matrix_unit.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct leeds_case {
    const char *set, *model, *model16;
    size_t digits;
    bool ignore_c;
};

static const struct leeds_case cases[] = {
    {"V100_f16", "sm_70.mma.f16.f32", "sm_70.mma.f16.f16", 4, false},
    {"A100_f16", "sm_80.mma.f16.f32", "sm_80.mma.f16.f16", 4, false},
    {"A100_bf16", "sm_80.mma.bf16.f32", NULL, 4, false},
    {"A100_tf32", "sm_80.mma.tf32.f32", NULL, 8, false},
    {"Ada_f16", "sm_89.mma.f16.f32", "sm_89.mma.f16.f16", 4, false},
    {"Ada_bf16", "sm_89.mma.bf16.f32", NULL, 4, false},
    {"Ada_tf32", "sm_89.mma.tf32.f32", NULL, 8, false},
    {"Ada_e4m3", "sm_89.mma.e4m3.f32", "sm_89.mma.e4m3.f16", 2, false},
    {"Ada_e5m2", "sm_89.mma.e5m2.f32", "sm_89.mma.e5m2.f16", 2, false},
    {"H100_f16", "sm_90.mma.f16.f32", "sm_90.mma.f16.f16", 4, false},
    {"H100_bf16", "sm_90.mma.bf16.f32", NULL, 4, false},
    {"H100_tf32", "sm_90.mma.tf32.f32", NULL, 8, false},
    {"H100_e4m3", "sm_90.wgmma.e4m3.f32", "sm_90.mma.e4m3.f16", 2, true},
    {"H100_e5m2", "sm_90.wgmma.e5m2.f32", "sm_90.mma.e5m2.f16", 2, true},
    {"B200_f16", "sm_100.mma.f16.f32", "sm_100.mma.f16.f16", 4, false},
    {"B200_bf16", "sm_100.mma.bf16.f32", NULL, 4, false},
};

static uint32_t to_f16(uint32_t word)
{
    const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE, .inf = MXV_INF_KEEP};
    return (uint32_t)mxv_element_from_f32(MXV_F16, word, &ieee);
}

static size_t count_wrong(const struct leeds_set *s, const struct mxv_mma_model *m, bool ignore_c)
{
    size_t wrong = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct leeds_row *r = &s->rows[i];
        wrong += mxv_mma_dot(m, s->k, r->a, r->b, ignore_c ? 0 : r->c, NULL, NULL) != r->d;
    }
    return wrong;
}

static size_t count_wrong16(const struct leeds_set *s, const struct mxv_mma_model *m, size_t *words)
{
    size_t wrong = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct leeds_row *r = &s->rows[i];
        *words += r->has_d16;
        wrong += r->has_d16 && mxv_mma_dot(m, s->k, r->a, r->b, to_f16(r->c), NULL, NULL) != r->d16;
    }
    return wrong;
}

static int check_words(void)
{
    size_t words = 0, words16 = 0, wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct leeds_case *t = &cases[i];
        struct leeds_set s = leeds_read(t->set, t->digits);
        size_t n16 = 0, d = count_wrong(&s, mxv_mma_find(t->model), t->ignore_c);
        size_t d16 = t->model16 ? count_wrong16(&s, mxv_mma_find(t->model16), &n16) : 0;
        printf("%-10s %-22s %zu words, %zu differ; D16 %zu words, %zu differ\n", t->set, t->model,
               s.count, d, n16, d16);
        words += s.count;
        words16 += n16;
        wrong += d + d16;
        free(s.rows);
    }
    printf("%zu D words and %zu D16 words, %zu differences\n", words, words16, wrong);
    return words != 80000 || words16 != 45000 || wrong != 0;
}

// A neighbour of a model and the number of rows it must miss.
struct neighbour {
    const char *set, *model, *what;
    size_t digits;
    bool ignore_c;
    int frac, step_divisor, keep;
    size_t misses;
};

static const struct neighbour neighbours[] = {
    {"A100_bf16", "sm_80.mma.bf16.f32", "F-1", 4, false, -1, 1, 0, 1003},
    {"A100_bf16", "sm_80.mma.bf16.f32", "F+1", 4, false, 1, 1, 0, 426},
    {"A100_bf16", "sm_80.mma.bf16.f32", "L/2", 4, false, 0, 2, 0, 741},
    {"H100_e4m3", "sm_90.wgmma.e4m3.f32", "F-1", 2, true, -1, 1, 0, 1963},
    {"H100_e4m3", "sm_90.wgmma.e4m3.f32", "F+1", 2, true, 1, 1, 0, 867},
    {"H100_e4m3", "sm_90.wgmma.e4m3.f32", "23 bits kept", 2, true, 0, 1, 10, 1415},
    {"B200_bf16", "sm_100.mma.bf16.f32", "F-1", 4, false, -1, 1, 0, 487},
    {"B200_bf16", "sm_100.mma.bf16.f32", "F+1", 4, false, 1, 1, 0, 177},
    {"B200_bf16", "sm_100.mma.bf16.f32", "L/2", 4, false, 0, 2, 0, 942},
};

static int check_neighbours(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        const struct neighbour *t = &neighbours[i];
        struct leeds_set s = leeds_read(t->set, t->digits);
        struct mxv_mma_model m = *mxv_mma_find(t->model);
        m.frac_bits = (unsigned)((int)m.frac_bits + t->frac);
        m.step /= (unsigned)t->step_divisor;
        m.keep_bits += (unsigned)t->keep;
        size_t wrong = count_wrong(&s, &m, t->ignore_c);
        printf("%s with %s: misses %zu of %zu rows, expected %zu\n", t->model, t->what, wrong,
               s.count, t->misses);
        failed |= wrong != t->misses;
        free(s.rows);
    }
    return failed;
}

// Order of the products inside an Ada FP8 instruction: reversed halves, and even k before odd k.
static int check_step_order(void)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_89.mma.e4m3.f32");
    struct leeds_set s = leeds_read("Ada_e4m3", 2);
    size_t reversed = 0, interleaved = 0;
    for (size_t i = 0; i < s.count; i++) {
        const struct leeds_row *r = &s.rows[i];
        uint32_t a[2][LEEDS_MAX_K], b[2][LEEDS_MAX_K];
        for (size_t j = 0; j < s.k; j++) {
            size_t swap = (j + 16) % 32, even = j % 16 * 2 + j / 16;
            a[0][j] = r->a[swap], b[0][j] = r->b[swap];
            a[1][j] = r->a[even], b[1][j] = r->b[even];
        }
        reversed += mxv_mma_dot(m, s.k, a[0], b[0], r->c, NULL, NULL) != r->d;
        interleaved += mxv_mma_dot(m, s.k, a[1], b[1], r->c, NULL, NULL) != r->d;
    }
    printf("%s: reversed steps miss %zu rows (expected 1635), even/odd order %zu (expected 1550)\n",
           m->name, reversed, interleaved);
    free(s.rows);
    return reversed != 1635 || interleaved != 1550;
}

static void words(void **state)
{
    (void)state;
    assert_int_equal(check_words(), 0);
}

static void wrong_models(void **state)
{
    (void)state;
    assert_int_equal(check_neighbours(), 0);
}

static void step_order(void **state)
{
    (void)state;
    assert_int_equal(check_step_order(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(wrong_models),
        cmocka_unit_test(step_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
