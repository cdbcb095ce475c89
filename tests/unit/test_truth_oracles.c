/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth on trial: random problems against a direct evaluation at 600 bits and against exact
 * rationals; the requested radius is met; centres and problems made wrong on purpose are caught.
 */
#include "direct_attention.h"
#include "random_values.h"
#include "rational_attention.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { MAX_Q = 4, MAX_K = 40, MAX_D = 24, MAX_DV = 6, BITS = 600, SLACK = -400 };

/* A problem with its data, its visible ranges and its map of routes. */
struct instance {
    struct mxv_truth_problem p;
    double q[3][MAX_Q * MAX_D], k[3][MAX_K * MAX_D], v[MAX_K * MAX_DV];
    size_t first[MAX_Q], end[MAX_Q];
    unsigned char route[MAX_Q * MAX_K];
};

static void visible(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct instance *in = ctx;
    *first = in->first[row];
    *end = in->end[row];
}

static unsigned route(const void *ctx, size_t row, size_t key)
{
    const struct instance *in = ctx;
    return in->route[row * MAX_K + key];
}

enum family { FP8, HALF, SINGLE, DOUBLE, SPREAD, CANCEL, INTEGER, TINY, CAPPED, FAMILIES };

static double operand(enum family f)
{
    switch (f) {
    case FP8:
    case CANCEL:
        return value(4, -6, 3);
    case HALF:
        return value(11, -8, 2);
    case SINGLE:
        return value(24, -12, 1);
    case DOUBLE:
        return value(53, -20, 1);
    case CAPPED:
        return 0.5;
    case SPREAD:
        return value(24, -110, between(0, 3) ? 1 : 50);
    case INTEGER:
        return between(-3, 3);
    default:
        return between(0, 1) ? value(8, -1060, -1000) : value(30, 500, 540);
    }
}

static double value_operand(enum family f, const struct instance *in, size_t i)
{
    if (f == CANCEL && i >= in->p.dv && draw() % 8)
        return -in->v[i - in->p.dv];
    switch (f) {
    case SPREAD:
        return draw() & 1 ? value(53, -400, 400) : value(10, -1074, -1040);
    case TINY:
        return value(3, -1072, -1060);
    case INTEGER:
        return value(5, 0, 4);
    case DOUBLE:
        return value(53, -30, 10);
    default:
        return value(11, -6, 3);
    }
}

static void build(struct instance *in, enum family f)
{
    memset(in, 0, sizeof *in);
    struct mxv_truth_problem *p = &in->p;
    static const double caps[] = {0, 0, 0, 0, 5, 30, 0x1p-9, 1e30};
    *p = (struct mxv_truth_problem){.lq = (size_t)between(1, MAX_Q),
                                    .lk = (size_t)between(1, MAX_K),
                                    .d = (size_t)between(1, MAX_D),
                                    .dv = (size_t)between(1, MAX_DV),
                                    .routes = (unsigned)between(1, 3),
                                    .v = in->v,
                                    .scale = between(0, 3) ? 0.125 : value(24, -4, 1),
                                    .base = draw() & 1 ? 2 : 0,
                                    .lse_base = draw() & 1 ? 2 : 0,
                                    .softcap = caps[draw() % 8],
                                    .ctx = in};
    if (f == INTEGER) {
        p->scale = between(-2, 2);
        p->base = draw() % 4 ? 2 : 0;
        p->softcap = 0;
    }
    if (f == CAPPED)
        p->softcap = ldexp(1, between(10, 60));
    for (unsigned r = 0; r < p->routes; r++) {
        p->q[r] = in->q[r];
        p->k[r] = in->k[r];
        for (size_t i = 0; i < p->lq * p->d; i++)
            in->q[r][i] = operand(f);
        for (size_t i = 0; i < p->lk * p->d; i++)
            in->k[r][i] = operand(f);
    }
    if (f == CAPPED) /* scores next to each other, whose capped values are far above 1 */
        for (size_t i = 0; i < p->lk * p->d; i++)
            for (unsigned r = 0; r < p->routes; r++)
                in->k[r][i] = 0x1p30 + (double)(draw() % 64) / 64;
    for (size_t i = 0; i < p->lk * p->dv; i++)
        in->v[i] = value_operand(f, in, i);
    if (draw() % 3)
        p->visible = visible;
    if (p->routes > 1)
        p->route = route;
    for (size_t i = 0; i < p->lq; i++) {
        in->first[i] = draw() % (p->lk + 1);
        in->end[i] = in->first[i] + draw() % (p->lk + 1 - in->first[i]);
        for (size_t j = 0; j < p->lk; j++)
            in->route[i * MAX_K + j] = (unsigned char)(draw() % p->routes);
    }
}

/* |exact - centre| <= radius + slack * 2^SLACK. */
static bool inside(mpfr_t exact, struct mxv_truth_ball ball, double slack)
{
    mpfr_t off, most;
    mpfr_inits2(2 * BITS, off, most, (mpfr_ptr)0);
    mpfr_sub_d(off, exact, ball.centre, MPFR_RNDN);
    mpfr_abs(off, off, MPFR_RNDN);
    mpfr_set_d(most, slack, MPFR_RNDU);
    mpfr_mul_2si(most, most, SLACK, MPFR_RNDU);
    mpfr_add_d(most, most, ball.radius, MPFR_RNDU);
    const bool ok = mpfr_lessequal_p(off, most);
    mpfr_clears(off, most, (mpfr_ptr)0);
    return ok;
}

static double largest(const struct instance *in, size_t row, size_t c)
{
    double most = 0;
    size_t first = 0, end = in->p.lk;
    if (in->p.visible)
        visible(in, row, &first, &end);
    for (size_t j = first; j < end; j++)
        most = fmax(most, fabs(in->v[j * in->p.dv + c]));
    return most;
}

struct tally {
    size_t problems, rows, empty, elements, inside, met, exact, wrong_centres, caught, lse_inside,
        lse_rows, repeats, rationals, certified, dots[3];
    double tightest;
};

/* A centre moved just out of reach of the radius must not pass. */
static void wrong_centre(mpfr_t exact, struct mxv_truth_ball ball, double slack, struct tally *t)
{
    const double step =
        2.5 * ball.radius + 0x1p-45 * fabs(ball.centre) + ldexp(slack, SLACK + 2) + DBL_MIN;
    const struct mxv_truth_ball up = {ball.centre + step, ball.radius};
    const struct mxv_truth_ball down = {ball.centre - step, ball.radius};
    t->wrong_centres += 2;
    t->caught += !inside(exact, up, slack);
    t->caught += !inside(exact, down, slack);
}

static void check_row(const struct instance *in, size_t row, const struct mxv_truth_ball *out,
                      struct mxv_truth_ball lse, double radius, struct tally *t)
{
    const size_t dv = in->p.dv;
    mpfr_t o[MAX_DV], direct_log;
    for (size_t c = 0; c < MAX_DV; c++)
        mpfr_init2(o[c], BITS);
    mpfr_init2(direct_log, BITS);
    t->rows++;
    if (!direct_attention(&in->p, row, BITS, o, direct_log)) {
        t->empty++;
        assert_true(isinf(lse.centre) && lse.centre < 0 && lse.radius == 0);
        for (size_t c = 0; c < dv; c++)
            assert_true(out[c].centre == 0 && !signbit(out[c].centre) && out[c].radius == 0);
    } else {
        for (size_t c = 0; c < dv; c++) {
            const double most = largest(in, row, c);
            t->elements++;
            t->inside += inside(o[c], out[c], most);
            t->met += out[c].radius <= radius * most + 0x1p-1074;
            t->exact += out[c].radius == 0;
            wrong_centre(o[c], out[c], most, t);
        }
        t->lse_rows++;
        if (isinf(lse.radius)) {
            mpfr_abs(direct_log, direct_log, MPFR_RNDN);
            t->lse_inside += mpfr_cmp_d(direct_log, DBL_MAX) > 0 && fabs(lse.centre) == DBL_MAX;
        } else {
            const double reach = fmax(1, fabs(lse.centre));
            t->lse_inside += inside(direct_log, lse, reach) && lse.radius <= radius * reach;
        }
    }
    mpfr_clear(direct_log);
    for (size_t c = 0; c < MAX_DV; c++)
        mpfr_clear(o[c]);
}

static void check_rational(const struct instance *in, size_t row, const struct mxv_truth_ball *out,
                           struct tally *t)
{
    mpq_t o[MAX_DV];
    for (size_t c = 0; c < MAX_DV; c++)
        mpq_init(o[c]);
    if (rational_attention(&in->p, row, o))
        for (size_t c = 0; c < in->p.dv; c++) {
            assert_true(rational_inside(o[c], out[c]));
            t->rationals++;
        }
    for (size_t c = 0; c < MAX_DV; c++)
        mpq_clear(o[c]);
}

/* Balls that hold the same number meet. */
static void check_meeting(const struct mxv_truth_ball *a, const struct mxv_truth_ball *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].centre != b[i].centre)
            assert_true(fabs(a[i].centre - b[i].centre) <= (a[i].radius + b[i].radius) * 1.0000001);
}

static void run_problem(struct instance *in, enum family f, struct tally *t)
{
    struct mxv_truth_ball out[MAX_Q * MAX_DV], lse[MAX_Q], out2[MAX_Q * MAX_DV], lse2[MAX_Q];
    struct mxv_truth_stats stats;
    build(in, f);
    struct mxv_truth_options o = {.radius = ldexp(1, -between(8, 50)), .threads = 1};
    if (draw() % 4 == 0)
        o.grid_bits = (unsigned)between(1, 20);
    o.path = MXV_TRUTH_MPFR;
    assert_int_equal(mxv_truth_rows(&in->p, NULL, in->p.lq, &o, out2, lse2, &stats), MXV_TRUTH_OK);
    assert_int_equal(stats.certified_rows, 0);
    if (t->problems % 2) {
        o.path = MXV_TRUTH_CERTIFIED;
        o.grid_bits = 0;
    }
    assert_int_equal(mxv_truth_rows(&in->p, NULL, in->p.lq, &o, out, lse, &stats), MXV_TRUTH_OK);
    check_meeting(out, out2, in->p.lq * in->p.dv);
    check_meeting(lse, lse2, in->p.lq);
    t->problems++;
    t->certified += stats.certified_rows;
    t->repeats += stats.repeated_rows;
    t->dots[0] += stats.dots_int64;
    t->dots[1] += stats.dots_int128;
    t->dots[2] += stats.dots_wide;
    t->tightest = fmax(t->tightest, stats.radius_max / o.radius);
    for (size_t i = 0; i < in->p.lq; i++) {
        check_row(in, i, out + i * in->p.dv, lse[i], o.radius, t);
        if (in->p.softcap == 0 && f != TINY && f != SPREAD)
            check_rational(in, i, out + i * in->p.dv, t);
    }
}

static void test_random_problems(void **unused)
{
    static const char *const names[FAMILIES] = {"fp8",    "half",    "single", "double", "spread",
                                                "cancel", "integer", "tiny",   "capped"};
    struct instance *in = malloc(sizeof *in);
    struct tally all = {0};
    (void)unused;
    state = 2026;
    for (int f = 0; f < FAMILIES; f++) {
        struct tally t = {0};
        for (int n = 0; n < 120; n++)
            run_problem(in, (enum family)f, &t);
        printf("%-8s %zu problems, %zu rows (%zu empty), %zu elements: %zu inside, %zu within the "
               "request, %zu exact, %zu in rationals; LSE %zu of %zu; %zu of %zu wrong centres "
               "caught; dots %zu/%zu/%zu; %zu rows repeated, %zu certified; largest radius %.3f of "
               "the request\n",
               names[f], t.problems, t.rows, t.empty, t.elements, t.inside, t.met, t.exact,
               t.rationals, t.lse_inside, t.lse_rows, t.caught, t.wrong_centres, t.dots[0],
               t.dots[1], t.dots[2], t.repeats, t.certified, t.tightest);
        assert_int_equal(t.inside, t.elements);
        assert_int_equal(t.met, t.elements);
        assert_int_equal(t.caught, t.wrong_centres);
        assert_int_equal(t.lse_inside, t.lse_rows);
        assert_true(t.empty < t.rows);
        for (int w = 0; w < 3; w++)
            all.dots[w] += t.dots[w];
        all.repeats += t.repeats;
        all.certified += t.certified;
        all.rationals += t.rationals;
        all.empty += t.empty;
        all.exact += t.exact;
    }
    /* Each path must have been taken, or the counts above say less than they seem to. */
    assert_true(all.dots[0] > 1000 && all.dots[1] > 1000 && all.dots[2] > 1000);
    assert_true(all.certified > 200);
    assert_true(all.repeats > 50 && all.rationals > 100 && all.empty > 20 && all.exact > 50);
    free(in);
}

/* Problems altered in one place must give balls that exclude the original's answer. */
static void test_altered_problems(void **unused)
{
    struct instance *in = malloc(sizeof *in), *altered = malloc(sizeof *altered);
    struct mxv_truth_ball a[MAX_Q * MAX_DV], b[MAX_Q * MAX_DV];
    const struct mxv_truth_options o = {.radius = 0x1p-48};
    size_t tried = 0, apart = 0;
    (void)unused;
    state = 7;
    for (int n = 0; n < 600; n++) {
        build(in, HALF);
        in->p.visible = NULL;
        in->p.softcap = 0;
        in->p.lk = 8 + in->p.lk / 2;
        in->p.scale = 0.125;
        for (size_t i = 0; i < in->p.lk * in->p.dv; i++)
            in->v[i] = value(11, 0, 1);
        for (size_t i = 0; i < in->p.lk * in->p.d; i++)
            in->k[0][i] = operand(HALF);
        if (in->p.routes > 1)
            continue;
        *altered = *in;
        altered->p.q[0] = altered->q[0];
        altered->p.k[0] = altered->k[0];
        altered->p.v = altered->v;
        switch (n % 4) {
        case 0: /* one ulp of binary32 in one weight's score */
            altered->p.scale = 0.125 + 0x1p-27;
            break;
        case 1: /* the last key lost */
            altered->p.lk--;
            break;
        case 2: /* the other base */
            altered->p.base = 2 - in->p.base;
            break;
        case 3: /* one value off by 2^-30 */
            altered->v[0] += 0x1p-30;
            break;
        }
        assert_int_equal(mxv_truth_rows(&in->p, NULL, 1, &o, a, NULL, NULL), MXV_TRUTH_OK);
        assert_int_equal(mxv_truth_rows(&altered->p, NULL, 1, &o, b, NULL, NULL), MXV_TRUTH_OK);
        tried++;
        apart += fabs(a[0].centre - b[0].centre) > a[0].radius + b[0].radius;
    }
    printf("altered problems told apart: %zu of %zu\n", apart, tried);
    assert_true(tried >= 150);
    assert_true(apart * 100 >= tried * 90);
    free(in);
    free(altered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_problems),
                                       cmocka_unit_test(test_altered_problems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
