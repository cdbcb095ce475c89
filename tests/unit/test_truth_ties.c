/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correct rounding of single rows, in bulk: random rows against 1000 bits and against exact
 * rationals, ties hidden behind irrational weights, and what settles them.
 */
#include "direct_attention.h"
#include "random_values.h"
#include "rational_attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { MAX_N = 12, BITS = 1000 };

static uint64_t state = 1;

static float from_word(uint32_t word)
{
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

static uint32_t to_word(float f)
{
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return word;
}

enum { ONE = 0x3F800000, ONE_UP = 0x3F800001 };

static float random_score(int kind)
{
    switch (kind) {
    case 0:
        return (float)((double)(int32_t)draw() * 0x1p-29);
    case 1:
        return from_word((uint32_t)draw() & 0xC3FFFFFFu); /* |s| < 512, or tiny */
    case 2:
        return (float)(draw() % 5);
    default:
        return (float)((double)(int32_t)draw() * 0x1p-30 - 60000);
    }
}

static float random_value(int kind)
{
    if (kind == 0) /* many midpoints */
        return 1 + (float)(draw() % 4) * 0x1p-23f;
    if (kind == 1) /* every binade, subnormals too */
        return from_word((uint32_t)draw() & 0xBFFFFFFFu);
    return (float)((double)(int32_t)draw() * 0x1p-28);
}

static void test_random_rows(void **unused)
{
    size_t rows = 0, capped = 0, blind = 0;
    mpfr_t o, log;
    mpfr_inits2(BITS, o, log, (mpfr_ptr)0);
    (void)unused;
    for (int i = 0; i < 1500; i++) {
        float s[MAX_N], v[MAX_N];
        double q = 1, k[MAX_N], w[MAX_N];
        const size_t n = 1 + draw() % MAX_N;
        const float cap = i % 5 == 0 ? 7.5f : 0;
        for (size_t j = 0; j < n; j++) {
            k[j] = s[j] = random_score(i % 4);
            w[j] = v[j] = random_value(1 + i % 2);
        }
        const struct mxv_truth_problem p = {.lq = 1,
                                            .lk = n,
                                            .d = 1,
                                            .dv = 1,
                                            .routes = 1,
                                            .q = {&q},
                                            .k = {k},
                                            .v = w,
                                            .scale = 1,
                                            .base = i % 3 ? 2 : 0,
                                            .lse_base = i % 3 ? 2 : 0,
                                            .softcap = cap};
        uint32_t out, lse;
        assert_int_equal(mxv_truth_attention_row(s, v, NULL, n, p.base, cap, &out, &lse), 0);
        assert_true(direct_attention(&p, 0, BITS, &o, log));
        if (mpfr_min_prec(o) == 25)
            blind++; /* a midpoint to 1000 bits: the oracle cannot tell on which side the truth is
                      */
        else if (out != to_word(mpfr_get_flt(o, MPFR_RNDN)) && !mpfr_zero_p(o))
            fail_msg("row %d: output %08X", i, out);
        if (lse != to_word(mpfr_get_flt(log, MPFR_RNDN)) && !mpfr_zero_p(log))
            fail_msg("row %d: LSE %08X", i, lse);
        rows++;
        capped += cap != 0;
    }
    mpfr_clears(o, log, (mpfr_ptr)0);
    printf("%zu random rows equal to 1000 bits rounded once (%zu with a softcap, %zu not judged)\n",
           rows, capped, blind);
    assert_true(blind < 20);
}

/* Base 2, small integer scores, values near 1: exact rationals, many of them ties of binary32. */
static void test_rational_ties(void **unused)
{
    size_t rows = 0, ties = 0;
    mpq_t o;
    mpfr_t nearest, finer;
    mpq_init(o);
    mpfr_init2(nearest, 24);
    mpfr_init2(finer, 25);
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        float s[MAX_N], v[MAX_N];
        double q = 1, k[MAX_N], w[MAX_N];
        const size_t n = 1 + draw() % 6;
        for (size_t j = 0; j < n; j++) {
            k[j] = s[j] = (float)(draw() % 3);
            w[j] = v[j] = random_value(0);
        }
        const struct mxv_truth_problem p = {.lq = 1,
                                            .lk = n,
                                            .d = 1,
                                            .dv = 1,
                                            .routes = 1,
                                            .q = {&q},
                                            .k = {k},
                                            .v = w,
                                            .scale = 1,
                                            .base = 2};
        uint32_t out, lse;
        assert_int_equal(mxv_truth_attention_row(s, v, NULL, n, 2, 0, &out, &lse), 0);
        assert_true(rational_attention(&p, 0, &o));
        mpfr_set_q(nearest, o, MPFR_RNDN);
        if (out != to_word(mpfr_get_flt(nearest, MPFR_RNDN)))
            fail_msg("row %d: output %08X", i, out);
        ties += mpfr_set_q(finer, o, MPFR_RNDN) == 0 && mpfr_cmp_q(nearest, o) != 0;
        rows++;
    }
    mpfr_clears(nearest, finer, (mpfr_ptr)0);
    mpq_clear(o);
    printf("%zu rational rows right, %zu of them exact ties\n", rows, ties);
    assert_true(ties > 100);
}

/* Saturated softcaps: the scores differ by 2^-23000 after the cap, which decides a tie. */
static void test_saturated_cap(void **unused)
{
    const float s[6] = {60000, 60001, 60002, -60000, -60001, -60002}, up[2] = {1, 1 + 0x1p-23f};
    const float down[2] = {1 + 0x1p-23f, 1};
    uint32_t out, lse;
    (void)unused;
    for (unsigned base = 0; base <= 2; base += 2)
        for (size_t j = 0; j < 2; j++) {
            /* the later positive score has the larger weight; the later negative one the smaller */
            assert_int_equal(mxv_truth_attention_row(s + j, up, NULL, 2, base, 7.5f, &out, &lse),
                             0);
            assert_int_equal(out, ONE_UP);
            assert_int_equal(mxv_truth_attention_row(s + j, down, NULL, 2, base, 7.5f, &out, &lse),
                             0);
            assert_int_equal(out, ONE);
            assert_int_equal(
                mxv_truth_attention_row(s + 3 + j, up, NULL, 2, base, 7.5f, &out, &lse), 0);
            assert_int_equal(out, ONE);
            assert_int_equal(
                mxv_truth_attention_row(s + 3 + j, down, NULL, 2, base, 7.5f, &out, &lse), 0);
            assert_int_equal(out, ONE_UP);
        }
}

/* Equal means in every group of equal scores: a tie at irrational weights, for many groupings. */
static void test_hidden_ties(void **unused)
{
    size_t ties = 0, settled = 0;
    (void)unused;
    for (int i = 0; i < 200; i++) {
        const unsigned base = i & 1 ? 2 : 0;
        const size_t groups = 1 + draw() % 5;
        float s[MAX_N], v[MAX_N];
        uint32_t out, lse;
        for (size_t g = 0; g < groups; g++) {
            s[2 * g] = s[2 * g + 1] = random_score(i % 4);
            const float m = (float)(draw() % 64); /* mean 1 + 2^-24 for every m */
            v[2 * g] = 1 - m * 0x1p-23f;
            v[2 * g + 1] = 1 + (m + 1) * 0x1p-23f;
        }
        assert_int_equal(mxv_truth_attention_row(s, v, NULL, 2 * groups, base, 0, &out, &lse), 0);
        assert_int_equal(out, ONE);
        ties++;
        const bool up = draw() & 1;
        s[2 * groups] = -3e38f;
        v[2 * groups] = up ? 1 + 0x1p-20f : 1;
        assert_int_equal(mxv_truth_attention_row(s, v, NULL, 2 * groups + 1, base, 0, &out, &lse),
                         0);
        assert_int_equal(out, up ? ONE_UP : ONE);
        settled++;
    }
    printf("%zu hidden ties, %zu settled by a key of weight base^-3e38\n", ties, settled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_rows),
        cmocka_unit_test(test_rational_ties),
        cmocka_unit_test(test_hidden_ties),
        cmocka_unit_test(test_saturated_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
