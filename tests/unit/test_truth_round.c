/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correct rounding of single rows: public bugs as rows, random rows against 1000 bits and against
 * exact rationals, exact ties, ties with a perturbation far below any precision, zeros, overflow,
 * special values.
 */
#include "direct_attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { BITS = 1000 };

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

struct row {
    unsigned base;
    size_t n;
    uint32_t scores[4], values[4];
    uint8_t mask[4];
    uint32_t out, lse;
    const char *what;
};

/* Words recomputed with 90 decimal digits and one rounding; the threads give symptoms only. */
static const struct row PUBLIC_ROWS[] = {
    {0,
     2,
     {0xC76A6000, 0xC76A6100},
     {0x3F800000, 0x40400000},
     {1, 1},
     0x3FC4D958,
     0xC76A5FB0,
     "flashinfer-ai/flashinfer#4267"},
    {0,
     2,
     {0xC69C4000, 0},
     {0x3F800000, 0x42C80000},
     {1, 0},
     0x3F800000,
     0xC69C4000,
     "ohdearquant/lattice#361"},
    {0,
     2,
     {0xC69C4000, 0xC69C4000},
     {0x3F800000, 0x40400000},
     {1, 1},
     0x40000000,
     0xC69C3E9D,
     "tracel-ai/burn#4697"},
    {0,
     3,
     {0x3F800000, 0x40000000, 0},
     {0x3F800000, 0x40400000, 0x40A00000},
     {0, 0, 0},
     0,
     0xFF800000,
     "tracel-ai/burn#4694"},
    {0,
     2,
     {0, 0},
     {0x3F800000, 0x3F800000},
     {1, 1},
     0x3F800000,
     0x3F317218,
     "flashinfer-ai/flashinfer#2113"},
    {2,
     2,
     {0, 0},
     {0x3F800000, 0x3F800000},
     {1, 1},
     0x3F800000,
     0x3F800000,
     "flashinfer-ai/flashinfer#2113"},
};

/* Merges: (o, l) pairs as values and scores. */
static const struct row PUBLIC_MERGES[] = {
    {0,
     2,
     {0x3F317218, 0},
     {0x3F800000, 0x40A00000},
     {1, 1},
     0x40155555,
     0x3F8C9F54,
     "flashinfer-ai/flashinfer#2113"},
    {0, 2, {0xFF800000, 0}, {0, 0x40A00000}, {1, 1}, 0x40A00000, 0, "flashinfer-ai/flashinfer#50"},
    {0,
     2,
     {0xFF800000, 0xFF800000},
     {0, 0},
     {1, 1},
     0,
     0xFF800000,
     "sgl-project/sgl-kernel-xpu#487"},
    {2,
     2,
     {0x3F800000, 0},
     {0x3F800000, 0x40A00000},
     {1, 1},
     0x40155555,
     0x3FCAE00D,
     "flashinfer-ai/flashinfer#4485"},
};

/*
 * By reasoning. The midpoint of 1 and 1 + 2^-23 is a tie: even is 1. A third key at score -1e30 has
 * a weight of e^-1e30 > 0, which settles the tie by its side. A zero sum of values at equal weights
 * is +0.
 */
#define ONE       0x3F800000u
#define ONE_UP    0x3F800001u
#define ONE_2UP   0x3F800002u
#define TWO       0x40000000u
#define MINUS     0xBF800000u
#define MINUS_0   0x80000000u
#define LN2       0x3F317218u
#define FAR       0xF149F2CAu
#define M5000     0xC59C4000u
#define MOST      0x7F7FFFFFu
#define PLUS_INF  0x7F800000u
#define MINUS_INF 0xFF800000u
#define NAN_WORD  0x7FFFFFFFu
static const struct row REASONED_ROWS[] = {
    {0, 2, {0, 0}, {ONE_UP, 0x3F800002}, {1, 1}, 0x3F800002, LN2, "tie to even above"},
    {0, 3, {0, 0, FAR}, {ONE, ONE_UP, TWO}, {1, 1, 1}, ONE_UP, LN2, "tie pushed up, base e"},
    {0, 3, {0, 0, FAR}, {ONE, ONE_UP, 0}, {1, 1, 1}, ONE, LN2, "tie pushed down, base e"},
    {2, 3, {0, 0, FAR}, {ONE, ONE_UP, TWO}, {1, 1, 1}, ONE_UP, ONE, "tie pushed up, base 2"},
    {2, 3, {0, 0, FAR}, {ONE_UP, ONE_2UP, 0}, {1, 1, 1}, ONE_UP, ONE, "tie pushed down, base 2"},
    {2, 4, {0, 0, M5000, M5000}, {ONE, ONE_UP, ONE, ONE_UP}, {1, 1, 1, 1}, ONE, ONE, "5000 apart"},
    {0, 3, {0, 0, FAR}, {ONE, MINUS, ONE}, {1, 1, 1}, 0, LN2, "zero pushed up"},
    {0, 3, {0, 0, FAR}, {ONE, MINUS, MINUS}, {1, 1, 1}, MINUS_0, LN2, "zero pushed down"},
    {2, 2, {MINUS, MINUS}, {ONE, ONE}, {1, 1}, ONE, 0, "LSE exactly 0"},
    {0, 2, {MINUS_0, FAR}, {ONE, TWO}, {1, 1}, ONE, 0, "LSE just above 0"},
    {2, 2, {ONE_UP, ONE_UP}, {ONE, ONE}, {1, 1}, ONE, TWO, "LSE tie 2 + 2^-23, even below"},
    {2, 2, {0x3F800003, 0x3F800003}, {ONE, ONE}, {1, 1}, ONE, 0x40000002, "LSE tie, even above"},
    {2, 3, {ONE_UP, ONE_UP, FAR}, {ONE, ONE, ONE}, {1, 1, 1}, ONE, 0x40000001, "LSE tie pushed up"},
    {0, 2, {MOST, MOST}, {MOST, MOST}, {1, 1}, MOST, MOST, "largest scores and values"},
    {0, 2, {0, 0}, {1, 0}, {1, 1}, 0, LN2, "half the least subnormal is a tie to 0"},
    {0, 2, {0, 0}, {1, 2}, {1, 1}, 2, LN2, "3/2 of the least subnormal is a tie to 2"},
    {0, 2, {PLUS_INF, 0}, {ONE, ONE}, {1, 1}, NAN_WORD, NAN_WORD, "score +Inf"},
    {0, 2, {0x7FC00000, 0}, {ONE, ONE}, {1, 1}, NAN_WORD, NAN_WORD, "score NaN"},
    {0, 2, {0x7FC00000, 0}, {ONE, TWO}, {0, 1}, TWO, 0, "score NaN, masked"},
    {0, 2, {MINUS_INF, 0}, {0x7FC00000, TWO}, {1, 1}, TWO, 0, "v NaN at weight exactly 0"},
    {0, 2, {0, FAR}, {ONE, PLUS_INF}, {1, 1}, PLUS_INF, 0, "v Inf at a tiny weight"},
    {0, 2, {0, 0}, {MINUS_INF, PLUS_INF}, {1, 1}, NAN_WORD, LN2, "v Inf - Inf"},
    {2, 0, {0}, {0}, {0}, 0, MINUS_INF, "no keys"},
};

static void check(const struct row *r, bool merge)
{
    float s[4], v[4];
    uint32_t out = 0xdead, lse = 0xdead;
    for (size_t j = 0; j < 4; j++) {
        s[j] = from_word(r->scores[j]);
        v[j] = from_word(r->values[j]);
    }
    if (merge)
        assert_int_equal(mxv_truth_lse_merge(v[0], s[0], v[1], s[1], r->base, &out, &lse), 0);
    else
        assert_int_equal(mxv_truth_attention_row(s, v, r->mask, r->n, r->base, 0, &out, &lse), 0);
    if (out != r->out || lse != r->lse)
        fail_msg("%s: got %08X %08X, right is %08X %08X", r->what, out, lse, r->out, r->lse);
}

/* Rows whose words come from 1000 bits; lse = 1: but the output word is reasoned. */
static const struct row DIRECT_ROWS[] = {
    {0,
     4,
     {0, 0, ONE, ONE},
     {ONE, ONE_UP, ONE, ONE_UP},
     {1, 1, 1, 1},
     ONE,
     1,
     "tie in two groups, base e"},
    {2,
     4,
     {0, 0, 0x3F000000, 0x3F000000},
     {ONE, ONE_UP, ONE, ONE_UP},
     {1, 1, 1, 1},
     ONE,
     1,
     "tie in two groups, base 2"},
    /* weights 1 and 2: (1 - 2^-24 + 2 (1 + 2^-23)) / 3 = 1 + 2^-24, the mean of the other group */
    {2,
     4,
     {0, ONE, 0x3F000000, 0x3F000000},
     {0x3F7FFFFF, ONE_UP, ONE, ONE_UP},
     {1, 1, 1, 1},
     ONE,
     1,
     "tie in two groups, unequal weights, base 2"},
    /* the same with mean 1 + 3 * 2^-24, a tie to the word above */
    {2,
     4,
     {0, ONE, 0x3F000000, 0x3F000000},
     {0x3F7FFFFD, 0x3F800003, ONE_UP, ONE_2UP},
     {1, 1, 1, 1},
     ONE_2UP,
     1,
     "tie to even above in two groups, unequal weights, base 2"},
    {0,
     4,
     {0, 0, 0x40400000, 0x40400000},
     {ONE, MINUS, ONE, MINUS},
     {1, 1, 1, 1},
     0,
     1,
     "exact zero"},
    {0,
     3,
     {0, 0, ONE},
     {0x7F000000, 0xFF000000, 0x0D800000},
     {1, 1, 1},
     0,
     0,
     "2^-100 beside +-2^127"},
    {2,
     3,
     {0, 0, 0x3F000000},
     {0x7F000000, 0xFF000000, 3},
     {1, 1, 1},
     0,
     0,
     "subnormal beside +-2^127"},
};

static void check_direct(const struct row *r)
{
    struct row copy = *r;
    double q = 1, k[4], v[4];
    mpfr_t lse, o;
    mpfr_inits2(BITS, lse, o, (mpfr_ptr)0);
    for (size_t j = 0; j < r->n; j++) {
        k[j] = from_word(r->scores[j]);
        v[j] = from_word(r->values[j]);
    }
    const struct mxv_truth_problem p = {.lq = 1,
                                        .lk = r->n,
                                        .d = 1,
                                        .dv = 1,
                                        .routes = 1,
                                        .q = {&q},
                                        .k = {k},
                                        .v = v,
                                        .scale = 1,
                                        .base = r->base,
                                        .lse_base = r->base};
    assert_true(direct_attention(&p, 0, BITS, &o, lse));
    if (!r->lse)
        copy.out = to_word(mpfr_get_flt(o, MPFR_RNDN));
    copy.lse = to_word(mpfr_get_flt(lse, MPFR_RNDN));
    mpfr_clears(lse, o, (mpfr_ptr)0);
    check(&copy, false);
}

static void test_rows(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof PUBLIC_ROWS / sizeof *PUBLIC_ROWS; i++)
        check(&PUBLIC_ROWS[i], false);
    for (size_t i = 0; i < sizeof PUBLIC_MERGES / sizeof *PUBLIC_MERGES; i++)
        check(&PUBLIC_MERGES[i], true);
    for (size_t i = 0; i < sizeof REASONED_ROWS / sizeof *REASONED_ROWS; i++)
        check(&REASONED_ROWS[i], false);
    for (size_t i = 0; i < sizeof DIRECT_ROWS / sizeof *DIRECT_ROWS; i++)
        check_direct(&DIRECT_ROWS[i]);
    printf("%zu public rows, %zu public merges, %zu reasoned rows, %zu rows against 1000 bits\n",
           sizeof PUBLIC_ROWS / sizeof *PUBLIC_ROWS, sizeof PUBLIC_MERGES / sizeof *PUBLIC_MERGES,
           sizeof REASONED_ROWS / sizeof *REASONED_ROWS, sizeof DIRECT_ROWS / sizeof *DIRECT_ROWS);
}

static void test_fp8(void **unused)
{
    const double one[3] = {1, 1, 1}, two[3] = {2, 1, 2}, huge[2] = {448, 448}, v[2] = {-448, 3};
    uint32_t out, lse;
    (void)unused;
    assert_int_equal(mxv_truth_attention_fp8_row(1, one, two, 1, 1, 1, 1, &out, &lse), 0);
    assert_true(out == 0x40000000 && lse == 0x3F800000);
    /* Logits 448 * 448 * 2^119 exceed binary32: the rounded LSE is Inf, the output an ordinary
     * mean. */
    assert_int_equal(
        mxv_truth_attention_fp8_row(448, huge, v, 2, 0x1p100f, 0x1p19f, 0.5f, &out, &lse), 0);
    assert_true(out == to_word(-111.25f) && lse == 0x7F800000);
    /* The last product would lose a bit in binary32: 15 * 15 * (1 + 2^-23)^2. LSE of one key. */
    const float odd = 1 + 0x1p-23f;
    const double fifteen[1] = {15};
    assert_int_equal(mxv_truth_attention_fp8_row(15, fifteen, one, 1, odd, odd, odd, &out, &lse),
                     0);
    assert_true(out == to_word(odd) && lse == to_word((float)(225 * (double)odd * odd)));
    /*
     * 31 * 1082401 = 2^25 - 1: values 15 and 16 at equal weights have the midpoint of FLT_MAX and
     * 2^128 as their mean, and a third key of weight e^-2^21 takes it below or above.
     */
    const double keys[3] = {1, 1, -1}, below[3] = {15, 16, 0}, above[3] = {15, 16, 20};
    const float descale = 0x1p104f * 1082401;
    assert_int_equal(mxv_truth_attention_fp8_row(1, keys, below, 2, 1, 1, descale, &out, &lse), 0);
    assert_int_equal(out, PLUS_INF); /* a tie: FLT_MAX is odd */
    assert_int_equal(
        mxv_truth_attention_fp8_row(1, keys, below, 3, 1, 0x1p20f, descale, &out, &lse), 0);
    assert_int_equal(out, MOST);
    assert_int_equal(
        mxv_truth_attention_fp8_row(1, keys, above, 3, 1, 0x1p20f, descale, &out, &lse), 0);
    assert_int_equal(out, PLUS_INF);
    /* Descales of Inf and NaN make the row NaN, or the values. */
    assert_int_equal(mxv_truth_attention_fp8_row(1, one, two, 1, INFINITY, 1, 1, &out, &lse), 0);
    assert_true(out == 0x7FFFFFFF && lse == 0x7FFFFFFF);
    assert_int_equal(mxv_truth_attention_fp8_row(1, one, two, 1, 1, 1, INFINITY, &out, &lse), 0);
    assert_true(out == 0x7F800000 && lse == 0x3F800000);
}

static void test_arguments(void **unused)
{
    const float x[1] = {0};
    uint32_t out, lse;
    (void)unused;
    assert_int_equal(mxv_truth_attention_row(x, x, NULL, 1, 10, 0, &out, &lse),
                     MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_attention_row(x, x, NULL, 1, 0, -1, &out, &lse),
                     MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_attention_row(x, x, NULL, 1, 0, 0, NULL, &lse),
                     MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_attention_row(NULL, x, NULL, 1, 0, 0, &out, &lse),
                     MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_lse_merge(0, 0, 0, 0, 1, &out, &lse), MXV_TRUTH_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_fp8),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
