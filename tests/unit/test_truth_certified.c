/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certified path on trial: problems that it takes, by MPFR on the same rows (balls must meet),
 * by a direct evaluation at 600 bits and by exact rationals (inside), none wider than asked; the
 * reasons for which rows are left; and the same bits for any threads, list of rows and level.
 */
#include "direct_attention.h"
#include "random_values.h"
#include "rational_attention.h"

#include <math.h>
#include <mxverify/simd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { MAX_Q = 40, MAX_K = 90, MAX_D = 48, MAX_DV = 11, BITS = 600 };

struct instance {
    struct mxv_truth_problem p;
    double q[3][MAX_Q * MAX_D], k[3][MAX_K * MAX_D], v[MAX_K * MAX_DV];
    size_t window;
    unsigned tile;
};

static void window(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct instance *in = ctx;
    const size_t last = row * in->p.lk / in->p.lq + 1;
    *end = last < in->p.lk ? last : in->p.lk;
    *first = *end > in->window ? *end - in->window : 0;
    if (row % 13 == 12)
        *first = *end;
}

static unsigned by_tile(const void *ctx, size_t row, size_t key)
{
    const struct instance *in = ctx;
    return (unsigned)((row / in->tile + key / in->tile) % in->p.routes);
}

enum family {
    E4M3,
    F16,
    BF16,
    F32,
    SCALED,
    HUGE,
    DEEP,
    TIES,
    SINK,
    SPREAD_V,
    CONSTANT,
    RATIONAL,
    KINDS
};
static const char *const names[KINDS] = {"e4m3",   "f16",      "bf16",     "f32",
                                         "scaled", "huge",     "deep",     "ties",
                                         "sink",   "spread v", "constant", "rational"};

static double operand(enum family f, int line)
{
    switch (f) {
    case E4M3:
        return value(4, -5, 4);
    case F16:
        return value(11, -14, 3);
    case F32:
        return value(24, -12, 2);
    case SCALED: /* E2M1 under one power of two for a line */
        return value(3, 0, 3) * ldexp(1, line % 7 - 3);
    case HUGE:
        return value(11, 12, 19);
    case TIES:
        return between(-1, 1);
    case RATIONAL:
        return between(-2, 2);
    default:
        return value(8, -8, 2);
    }
}

/* Scores of 2^38 that differ in the last of d products, by about 1: all is in the low parts. */
static void deepen(struct instance *in)
{
    const struct mxv_truth_problem *p = &in->p;
    for (unsigned r = 0; r < p->routes; r++) {
        for (size_t i = 0; i < p->lq * p->d; i++)
            in->q[r][i] = (i + 1) % p->d ? value(24, 14, 16) : value(11, -3, 0);
        for (size_t i = 0; i < p->lk * p->d; i++) {
            const double common = i < p->d ? value(24, 17, 18) : in->k[r][i % p->d];
            in->k[r][i] = (i + 1) % p->d ? common : value(11, -6, 2);
        }
    }
}

static double value_operand(enum family f, size_t i, size_t dv)
{
    if (f == SPREAD_V)
        return value(24, i % 2 ? -120 : -300, i % 2 ? 120 : 300);
    if (f == CONSTANT && i % dv % 2 == 0)
        return 1 + (double)(i % dv) * 0x1p-20;
    return value(f == F32 ? 24 : 11, -6, 4);
}

static void build(struct instance *in, enum family f)
{
    memset(in, 0, sizeof *in);
    static const double scales[] = {0.125, 0.08838834764831845, 1, -0.3};
    in->p = (struct mxv_truth_problem){.lq = (size_t)between(1, MAX_Q),
                                       .lk = (size_t)between(1, MAX_K),
                                       .d = (size_t)between(1, MAX_D),
                                       .dv = (size_t)between(1, MAX_DV),
                                       .routes = (unsigned)between(1, 3),
                                       .v = in->v,
                                       .scale = scales[draw() % 4],
                                       .base = draw() & 1 ? 2 : 0,
                                       .lse_base = draw() & 1 ? 2 : 0,
                                       .ctx = in};
    struct mxv_truth_problem *p = &in->p;
    if (f == RATIONAL) {
        p->scale = 1;
        p->base = 2;
    }
    in->window = (size_t)between(1, MAX_K);
    in->tile = (unsigned)between(1, 9);
    p->visible = draw() & 1 ? window : NULL;
    p->route = p->routes > 1 ? by_tile : NULL;
    for (unsigned r = 0; r < p->routes; r++) {
        p->q[r] = in->q[r];
        p->k[r] = in->k[r];
        for (size_t i = 0; i < p->lq * p->d; i++)
            in->q[r][i] = operand(f, (int)(i / p->d));
        for (size_t i = 0; i < p->lk * p->d; i++)
            in->k[r][i] = operand(f, (int)(i / p->d) + 3);
        for (size_t i = 0; f == SINK && i < p->lk * p->d; i++)
            in->k[r][i] *= i / p->d == 1 ? 64 : 1;
    }
    if (f == DEEP)
        deepen(in);
    for (size_t i = 0; i < p->lk * p->dv; i++)
        in->v[i] = value_operand(f, i, p->dv);
}

struct tally {
    size_t problems, rows, certified, elements, meeting, inside, met, exact, rationals, lse;
    double tightest, apart;
};

static bool inside(mpfr_t exact, struct mxv_truth_ball ball)
{
    mpfr_t off;
    mpfr_init2(off, 2 * BITS);
    mpfr_sub_d(off, exact, ball.centre, MPFR_RNDN);
    mpfr_abs(off, off, MPFR_RNDN);
    mpfr_sub_d(off, off, ball.radius, MPFR_RNDN);
    const bool ok = mpfr_cmp_d(off, 0x1p-350 * (1 + fabs(ball.centre))) <= 0;
    mpfr_clear(off);
    return ok;
}

static bool meet(struct mxv_truth_ball a, struct mxv_truth_ball b)
{
    return fabs(a.centre - b.centre) <= (a.radius + b.radius) * (1 + 0x1p-40) ||
           (isinf(a.centre) && a.centre == b.centre);
}

static double largest(const struct instance *in, size_t row, size_t c)
{
    double most = 0;
    size_t first = 0, end = in->p.lk;
    if (in->p.visible)
        in->p.visible(in, row, &first, &end);
    for (size_t j = first; j < end; j++)
        most = fmax(most, fabs(in->v[j * in->p.dv + c]));
    return most;
}

static void check_direct(const struct instance *in, size_t row, const struct mxv_truth_ball *out,
                         struct mxv_truth_ball lse, struct tally *t)
{
    mpfr_t o[MAX_DV], logarithm;
    mpq_t rational[MAX_DV];
    for (size_t c = 0; c < MAX_DV; c++) {
        mpfr_init2(o[c], BITS);
        mpq_init(rational[c]);
    }
    mpfr_init2(logarithm, BITS);
    if (direct_attention(&in->p, row, BITS, o, logarithm)) {
        for (size_t c = 0; c < in->p.dv; c++)
            t->inside += inside(o[c], out[c]);
        t->lse += inside(logarithm, lse);
    } else {
        t->inside += in->p.dv;
        t->lse++;
    }
    if (rational_attention(&in->p, row, rational))
        for (size_t c = 0; c < in->p.dv; c++) {
            assert_true(rational_inside(rational[c], out[c]));
            t->rationals++;
        }
    mpfr_clear(logarithm);
    for (size_t c = 0; c < MAX_DV; c++) {
        mpfr_clear(o[c]);
        mpq_clear(rational[c]);
    }
}

static void check_problem(const struct instance *in, struct tally *t)
{
    static struct mxv_truth_ball out[MAX_Q * MAX_DV], lse[MAX_Q], out2[MAX_Q * MAX_DV], lse2[MAX_Q];
    struct mxv_truth_options o = {.radius = ldexp(1, -between(20, 45)), .threads = 1};
    struct mxv_truth_stats s;
    const size_t rows = in->p.lq, dv = in->p.dv;
    assert_int_equal(mxv_truth_rows(&in->p, NULL, rows, &o, out, lse, &s), MXV_TRUTH_OK);
    size_t left = s.certified_rows + s.empty_rows;
    for (size_t i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        left += s.left[i];
    assert_int_equal(left, rows); /* no empty row is left to MPFR in these problems */
    t->problems++;
    t->rows += rows - s.empty_rows;
    t->certified += s.certified_rows;
    t->tightest = fmax(t->tightest, s.radius_max);
    o.path = MXV_TRUTH_MPFR;
    assert_int_equal(mxv_truth_rows(&in->p, NULL, rows, &o, out2, lse2, &s), MXV_TRUTH_OK);
    assert_int_equal(s.left[MXV_TRUTH_LEFT_ASKED], rows);
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < dv; c++) {
            const struct mxv_truth_ball a = out[i * dv + c], b = out2[i * dv + c];
            t->elements++;
            t->meeting += meet(a, b);
            t->met += a.radius <= o.radius * largest(in, i, c) + 0x1p-1074;
            t->exact += a.radius == 0;
            if (a.radius > 0)
                t->apart = fmax(t->apart, fabs(a.centre - b.centre) / (a.radius + b.radius));
        }
        assert_true(meet(lse[i], lse2[i]));
        if (i % 4 == 0)
            check_direct(in, i, out + i * dv, lse[i], t);
        else {
            t->inside += dv;
            t->lse++;
        }
    }
}

static void test_problems(void **unused)
{
    struct instance *in = malloc(sizeof *in);
    (void)unused;
    state = 5;
    for (int f = 0; f < KINDS; f++) {
        struct tally t = {0};
        size_t rows = 0;
        for (int n = 0; n < 24; n++) {
            build(in, (enum family)f);
            check_problem(in, &t);
            rows += in->p.lq;
        }
        printf("%-8s %zu problems, %zu rows, %zu certified, %zu elements: %zu meet MPFR, %zu "
               "within the request, %zu exact, %zu in rationals; centres apart %.3f of the radii, "
               "largest radius 2^%.2f\n",
               names[f], t.problems, t.rows, t.certified, t.elements, t.meeting, t.met, t.exact,
               t.rationals, t.apart, log2(t.tightest));
        assert_int_equal(t.meeting, t.elements);
        assert_int_equal(t.inside, t.elements);
        assert_int_equal(t.met, t.elements);
        assert_int_equal(t.lse, rows);
        assert_true(t.certified * 10 >= t.rows * 8);
        assert_true(f != RATIONAL || t.rationals > 200);
        assert_true(f != CONSTANT || t.exact * 3 > t.elements);
    }
    free(in);
}

/* Rows left to MPFR, each for its reason. */
static void test_reasons(void **unused)
{
    enum { N = 20, D = 4 };
    double q[N * D], k[N * D], v[N];
    struct mxv_truth_ball out[N], lse[N];
    struct mxv_truth_stats s;
    (void)unused;
    state = 17;
#define LEFT(id, rows, change, ...)                                                                \
    do {                                                                                           \
        struct mxv_truth_options o = {__VA_ARGS__};                                                \
        struct mxv_truth_problem p = {.lq = N,                                                     \
                                      .lk = N,                                                     \
                                      .d = D,                                                      \
                                      .dv = 1,                                                     \
                                      .routes = 1,                                                 \
                                      .q = {q},                                                    \
                                      .k = {k},                                                    \
                                      .v = v,                                                      \
                                      .scale = 1};                                                 \
        for (size_t i = 0; i < N * D; i++) {                                                       \
            q[i] = value(11, -3, 1);                                                               \
            k[i] = value(11, -3, 1);                                                               \
        }                                                                                          \
        for (size_t i = 0; i < N; i++)                                                             \
            v[i] = value(11, -3, 1);                                                               \
        change;                                                                                    \
        assert_int_equal(mxv_truth_rows(&p, NULL, N, &o, out, lse, &s), MXV_TRUTH_OK);             \
        assert_int_equal(s.left[MXV_TRUTH_LEFT_##id], rows);                                       \
        assert_int_equal(s.certified_rows, N - (rows));                                            \
    } while (0)
    LEFT(ASKED, 0, (void)0, .radius = 0x1p-40);
    LEFT(ASKED, N, (void)0, .path = MXV_TRUTH_MPFR);
    LEFT(ASKED, N, (void)0, .grid_bits = 9);
    LEFT(SOFTCAP, N, p.softcap = 30, .radius = 0x1p-40);
    LEFT(RADIUS, N, (void)0, .radius = 0x1p-49);
    LEFT(SPECIAL, 1, q[5 * D] = INFINITY, .radius = 0x1p-40);
    LEFT(SPECIAL, N, k[5 * D] = NAN, .radius = 0x1p-40);
    LEFT(SPECIAL, N, v[5] = INFINITY, .radius = 0x1p-40);
    LEFT(SPAN, 1, q[5 * D] = 1 + 0x1p-52, .radius = 0x1p-40);
    LEFT(SPAN, N, v[3] = 0x1p-401, .radius = 0x1p-40);
    LEFT(SCORES, 1, q[7 * D] = q[7 * D + 1] = q[7 * D + 2] = q[7 * D + 3] = 0x1p46,
         .radius = 0x1p-40);
    LEFT(SCORES, N, p.scale = 0x1p-201, .radius = 0x1p-40);
    LEFT(EQUAL, N, p.scale = 0, .radius = 0x1p-40);
    LEFT(EQUAL, 1, memset(q + 2 * D, 0, D * sizeof *q), .radius = 0x1p-40);
#undef LEFT
    for (int i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        assert_true(strlen(mxv_truth_left_text((enum mxv_truth_left)i)) > 3);
    assert_null(mxv_truth_left_text(MXV_TRUTH_LEFT_COUNT));
}

/* Bits do not depend on threads, on the rows beside a row, or on the instruction level. */
static void test_same_bits(void **unused)
{
    static struct mxv_truth_ball out[MAX_Q * MAX_DV], lse[MAX_Q], again[MAX_Q * MAX_DV];
    static struct mxv_truth_ball again_lse[MAX_Q];
    struct instance *in = malloc(sizeof *in);
    const enum mxv_simd most = mxv_simd_level();
    (void)unused;
    state = 23;
    for (int n = 0; n < 60; n++) {
        build(in, (enum family)(n % KINDS));
        const size_t rows = in->p.lq, dv = in->p.dv;
        struct mxv_truth_options o = {.threads = 1};
        size_t list[MAX_Q];
        assert_int_equal(mxv_truth_rows(&in->p, NULL, rows, &o, out, lse, NULL), MXV_TRUTH_OK);
        o.threads = 3;
        mxv_simd_limit(MXV_SIMD_PORTABLE);
        assert_int_equal(mxv_truth_rows(&in->p, NULL, rows, &o, again, again_lse, NULL), 0);
        mxv_simd_limit(most);
        assert_memory_equal(out, again, rows * dv * sizeof *out);
        assert_memory_equal(lse, again_lse, rows * sizeof *lse);
        for (size_t i = 0; i < rows; i++)
            list[i] = draw() % rows;
        assert_int_equal(mxv_truth_rows(&in->p, list, rows, &o, again, again_lse, NULL), 0);
        for (size_t i = 0; i < rows; i++) {
            assert_memory_equal(again + i * dv, out + list[i] * dv, dv * sizeof *out);
            assert_memory_equal(again_lse + i, lse + list[i], sizeof *lse);
        }
    }
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_problems),
                                       cmocka_unit_test(test_reasons),
                                       cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
