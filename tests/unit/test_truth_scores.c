/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balls of scores against sums in MPFR wide enough to be exact: the exact score is inside, the
 * radius is 0 if and only if it is a binary64 value, and half an ulp at most; rows of the certified
 * path and rows left to exact integers; special values; order of the rows.
 */
#include "direct_attention.h"
#include "random_values.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { LQ = 37, LK = 43, D = 32 };

static uint64_t state = 31;

struct head {
    double q[2][LQ * D], k[2][LK * D];
    struct mxv_truth_problem p;
};

static unsigned by_tile(const void *ctx, size_t row, size_t key)
{
    (void)ctx;
    return (unsigned)(row / 5 + key / 3) & 1;
}

static void window(const void *ctx, size_t row, size_t *first, size_t *end)
{
    (void)ctx;
    *first = row / 2;
    *end = row == 11 ? row / 2 : row + 4;
}

static const struct {
    int bits, low, high;
    double scale;
} kinds[] = {
    {4, -3, 4, 1},      {11, -14, 3, 0.125},    {11, -8, 2, 0.08838834764831845},
    {8, -9, 3, -0.3},   {24, -10, 2, 0.125},    {24, -10, 2, 0.17677669529663687},
    {53, -40, 2, 0.25}, {11, -500, 400, 0.125}, {24, -9, 3, -1e30},
    {3, 0, 1, 1e-290},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void build(struct head *h, int kind)
{
    memset(h, 0, sizeof *h);
    h->p = (struct mxv_truth_problem){.lq = LQ,
                                      .lk = LK,
                                      .d = D,
                                      .dv = 3, /* and no v: scores do not need it */
                                      .routes = 2,
                                      .q = {h->q[0], h->q[1]},
                                      .k = {h->k[0], h->k[1]},
                                      .scale = kinds[kind].scale,
                                      .visible = window,
                                      .route = by_tile};
    for (size_t i = 0; i < 2 * LQ * D; i++)
        h->q[i / (LQ * D)][i % (LQ * D)] =
            value(kinds[kind].bits, kinds[kind].low, kinds[kind].high);
    for (size_t i = 0; i < 2 * LK * D; i++)
        h->k[i / (LK * D)][i % (LK * D)] =
            value(kinds[kind].bits, kinds[kind].low, kinds[kind].high);
}

struct tally {
    const struct mxv_truth_problem *p;
    const size_t *rows;
    size_t next, scores, exact, unseen;
};

static void check_score(const struct mxv_truth_problem *p, size_t row, size_t key,
                        struct mxv_truth_ball ball, struct tally *t)
{
    mpfr_t s, off;
    mpfr_inits2(DIRECT_EXACT, s, off, (mpfr_ptr)0);
    direct_score(p, row, key, s);
    mpfr_sub_d(off, s, ball.centre, MPFR_RNDN);
    mpfr_abs(off, off, MPFR_RNDN);
    const double x = fabs(ball.centre), ulp = nextafter(x, INFINITY) - x;
    assert_true(mpfr_cmp_d(off, ball.radius) <= 0);
    assert_true(ball.radius <= ulp / 2 * (1 + 0x1p-49) || ulp == 0x1p-1074);
    const bool exact = mpfr_cmp_d(s, mpfr_get_d(s, MPFR_RNDN)) == 0;
    assert_int_equal(ball.radius == 0, exact);
    t->scores++;
    t->exact += exact;
    mpfr_clears(s, off, (mpfr_ptr)0);
}

static void take(void *ctx, size_t index, const struct mxv_truth_ball *scores)
{
    struct tally *t = ctx;
    size_t first, end;
    assert_int_equal(index, t->next++);
    window(NULL, t->rows[index], &first, &end);
    for (size_t j = 0; j < LK; j++) {
        if (j >= first && j < end) {
            check_score(t->p, t->rows[index], j, scores[j], t);
        } else {
            assert_true(scores[j].centre == -INFINITY && scores[j].radius == 0);
            t->unseen++;
        }
    }
}

static void test_balls(void **unused)
{
    struct head *h = malloc(sizeof *h);
    size_t rows[LQ];
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        struct tally t = {&h->p, rows, 0, 0, 0, 0};
        build(h, kind);
        for (size_t i = 0; i < LQ; i++)
            rows[i] = i % 3 ? draw() % LQ : i;
        assert_int_equal(mxv_truth_scores_of_rows(&h->p, rows, LQ, take, &t), MXV_TRUTH_OK);
        assert_int_equal(t.next, LQ);
        printf("%2d bits, scale %g: %zu scores inside, %zu exact, %zu unseen\n", kinds[kind].bits,
               kinds[kind].scale, t.scores, t.exact, t.unseen);
    }
    free(h);
}

/* NaN and infinities by IEEE rules, and the rows beside them as ever. */
static void test_special(void **unused)
{
    struct head *h = malloc(sizeof *h), *clean = malloc(sizeof *clean);
    struct mxv_truth_ball a[LK], b[LK];
    (void)unused;
    state = 77;
    build(h, 1);
    state = 77;
    build(clean, 1);
    h->p.route = clean->p.route = NULL;
    h->q[0][4 * D] = INFINITY;
    h->k[0][9 * D] = NAN;
    for (size_t row = 0; row < LQ; row++) {
        size_t first, end;
        window(NULL, row, &first, &end);
        assert_int_equal(mxv_truth_scores(&h->p, row, a), MXV_TRUTH_OK);
        assert_int_equal(mxv_truth_scores(&clean->p, row, b), MXV_TRUTH_OK);
        for (size_t j = 0; j < LK; j++)
            if (j >= first && j < end && j == 9)
                assert_true(isnan(a[j].centre));
            else if (j >= first && j < end && row == 4)
                assert_true(!isfinite(a[j].centre) && a[j].radius == 0);
            else
                assert_memory_equal(&a[j], &b[j], sizeof *a);
    }
    const size_t bad[2] = {0, LQ};
    struct tally t = {&h->p, bad, 0, 0, 0, 0};
    assert_int_equal(mxv_truth_scores_of_rows(&h->p, bad, 2, take, &t), MXV_TRUTH_BAD_ARGUMENT);
    free(h);
    free(clean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_balls),
                                       cmocka_unit_test(test_special)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
