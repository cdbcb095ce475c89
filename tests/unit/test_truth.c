/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth's interface: closed forms, special values, refusals, thread counts, row lists, score
 * and weight maps, dots rounded to odd, and the time of a 256 x 256 head.
 */
#include "random_values.h"

#include <math.h>
#include <mxverify/truth.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* cmocka wants the above first */
#include <cmocka.h>

static uint64_t state = 3;

/* Multiples of 2^-8 in (-4, 4). */
static double coarse(void)
{
    return (double)((int)(draw() % 2047) - 1023) / 256;
}

/* Uniform scores give the mean of v; a dominant key gives its row of v. Both by exact reasoning. */
static void test_closed_forms(void **unused)
{
    enum { N = 37 };
    double q[1] = {1}, k[N], v[N];
    struct mxv_truth_ball out, lse;
    (void)unused;
    for (unsigned base = 0; base <= 2; base += 2) {
        struct mxv_truth_problem p = {.lq = 1,
                                      .lk = N,
                                      .d = 1,
                                      .dv = 1,
                                      .routes = 1,
                                      .q = {q},
                                      .k = {k},
                                      .v = v,
                                      .scale = 1,
                                      .base = base,
                                      .lse_base = 2};
        for (int j = 0; j < N; j++) {
            k[j] = -3;
            v[j] = j - 5; /* mean 13 */
        }
        assert_int_equal(mxv_truth_rows(&p, NULL, 1, NULL, &out, &lse, NULL), MXV_TRUTH_OK);
        assert_true(out.centre == 13 && out.radius == 0);
        p.lk = 32;
        p.lse_base = base; /* log_base(32 base^-3) is 2 in base 2 */
        assert_int_equal(mxv_truth_rows(&p, NULL, 1, NULL, &out, &lse, NULL), MXV_TRUTH_OK);
        if (base == 2)
            assert_true(lse.centre == 2 && lse.radius == 0);
        else
            assert_true(fabs(lse.centre - (5 * M_LN2 - 3)) <= lse.radius + 0x1p-51 &&
                        lse.radius > 0 && lse.radius < 0x1p-40);
        k[7] = 1e9;
        assert_int_equal(mxv_truth_rows(&p, NULL, 1, NULL, &out, &lse, NULL), MXV_TRUTH_OK);
        assert_true(fabs(out.centre - 2) <= out.radius && out.radius <= 0x1p-40 * 26);
        assert_true(out.radius > 0 && fabs(lse.centre - 1e9) <= lse.radius);
    }
}

enum { LQ = 5, LK = 9, D = 3, DV = 4 };

struct head {
    double q[LQ * D], k[LK * D], v[LK * DV];
    struct mxv_truth_problem p;
};

static void head_init(struct head *h)
{
    for (size_t i = 0; i < LQ * D; i++)
        h->q[i] = coarse();
    for (size_t i = 0; i < LK * D; i++)
        h->k[i] = coarse();
    for (size_t i = 0; i < LK * DV; i++)
        h->v[i] = coarse();
    h->p = (struct mxv_truth_problem){.lq = LQ,
                                      .lk = LK,
                                      .d = D,
                                      .dv = DV,
                                      .routes = 1,
                                      .q = {h->q},
                                      .k = {h->k},
                                      .v = h->v,
                                      .scale = 0.5};
}

static struct mxv_truth_options options;

static enum mxv_truth_status rows(const struct head *h, struct mxv_truth_ball *out,
                                  struct mxv_truth_ball *lse, struct mxv_truth_stats *stats)
{
    return mxv_truth_rows(&h->p, NULL, h->p.lq, &options, out, lse, stats);
}

/* The same question twice: the same bits, or balls that meet if the path may differ. */
static void assert_same(const struct mxv_truth_ball *a, const struct mxv_truth_ball *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (options.path == MXV_TRUTH_MPFR)
            assert_memory_equal(a + i, b + i, sizeof *a);
        else
            assert_true(fabs(a[i].centre - b[i].centre) <= a[i].radius + b[i].radius);
}

static void causal(const void *ctx, size_t row, size_t *first, size_t *end)
{
    (void)ctx;
    *first = 0;
    *end = row + 1;
}

static void nothing(const void *ctx, size_t row, size_t *first, size_t *end)
{
    (void)ctx;
    *first = *end = row;
}

static void beyond(const void *ctx, size_t row, size_t *first, size_t *end)
{
    (void)ctx;
    *first = row;
    *end = LK + 1;
}

static unsigned seventh(const void *ctx, size_t row, size_t key)
{
    (void)ctx;
    return row == 2 && key == 3 ? 7 : 0;
}

static void check_special_values(void)
{
    struct head h, g;
    struct mxv_truth_ball out[LQ * DV], lse[LQ], plain[LQ * DV], plain_lse[LQ];
    struct mxv_truth_stats stats;
    head_init(&h);
    h.p.visible = causal;
    assert_int_equal(rows(&h, plain, plain_lse, &stats), MXV_TRUTH_OK);
    g = h;
    g.p.q[0] = g.q;
    g.p.k[0] = g.k;
    g.p.v = g.v;
    g.q[1 * D] = NAN;      /* row 1 undefined */
    g.k[3 * D] = INFINITY; /* key 3: +-Inf for rows 3 and 4 by the sign of q */
    g.q[3 * D] = -1;       /* row 3: score -Inf, key 3 dropped */
    g.q[4 * D] = 1;        /* row 4: +Inf, undefined */
    g.v[3 * DV] = NAN;     /* only seen by row 3, at weight 0 */
    g.v[2 * DV + 1] = INFINITY;
    assert_int_equal(rows(&g, out, lse, &stats), MXV_TRUTH_OK);
    assert_int_equal(stats.undefined_rows, 2);
    assert_int_equal(stats.empty_rows, 0);
    for (size_t i = 0; i < LQ; i++) {
        assert_int_equal(isnan(lse[i].centre) != 0, i == 1 || i == 4);
        for (size_t c = 0; c < DV; c++) {
            const struct mxv_truth_ball b = out[i * DV + c];
            if (i == 1 || i == 4)
                assert_true(isnan(b.centre) && b.radius == 0);
            else if (i >= 2 && c == 1)
                assert_true(isinf(b.centre) && b.centre > 0 && b.radius == 0);
            else
                assert_true(isfinite(b.centre));
            if (i == 0 || (i == 2 && c != 1)) /* NaN and Inf in keys not seen change nothing */
                assert_same(&b, &plain[i * DV + c], 1);
        }
    }
    /* Row 3 without key 3 is row 2's key set with row 3's q. */
    g.v[2 * DV + 1] = h.v[2 * DV + 1];
    assert_int_equal(rows(&g, out, lse, NULL), MXV_TRUTH_OK);
    memcpy(g.q + 2 * D, g.q + 3 * D, D * sizeof *g.q);
    assert_int_equal(rows(&g, plain, plain_lse, NULL), MXV_TRUTH_OK);
    assert_same(out + 3 * DV, plain + 2 * DV, DV);
    assert_same(lse + 3, plain_lse + 2, 1);
    /* Inf * 0 and Inf - Inf are NaN. */
    g.q[3 * D] = 0;
    g.k[0] = INFINITY;
    g.k[1] = INFINITY;
    g.q[0] = 1;
    g.q[1] = -1;
    assert_int_equal(rows(&g, out, lse, &stats), MXV_TRUTH_OK);
    assert_int_equal(stats.undefined_rows, LQ - 1 + (g.q[2 * D] >= 0 || g.q[2 * D + 1] >= 0));
}

static void test_special_values(void **unused)
{
    (void)unused;
    options.path = MXV_TRUTH_MPFR;
    check_special_values();
    options.path = MXV_TRUTH_CERTIFIED;
    check_special_values();
}

static void test_empty_rows(void **unused)
{
    struct head h;
    struct mxv_truth_ball out[LQ * DV], lse[LQ], weights[LK];
    struct mxv_truth_stats stats;
    (void)unused;
    head_init(&h);
    h.p.visible = nothing;
    assert_int_equal(rows(&h, out, lse, &stats), MXV_TRUTH_OK);
    assert_int_equal(stats.empty_rows, LQ);
    for (size_t i = 0; i < LQ; i++) {
        assert_true(lse[i].centre == -INFINITY && lse[i].radius == 0);
        for (size_t c = 0; c < DV; c++)
            assert_true(out[i * DV + c].centre == 0 && out[i * DV + c].radius == 0);
    }
    assert_int_equal(mxv_truth_weights(&h.p, 0, NULL, weights), MXV_TRUTH_OK);
    assert_true(weights[0].centre == 0 && weights[LK - 1].centre == 0);
    h.p.lk = 0;
    h.p.k[0] = h.p.v = NULL;
    h.p.visible = NULL;
    assert_int_equal(rows(&h, out, lse, &stats), MXV_TRUTH_OK);
    assert_int_equal(stats.empty_rows, LQ);
}

static void test_refusals(void **unused)
{
    struct head h;
    struct mxv_truth_ball out[LQ * DV];
    struct mxv_truth_problem good;
    (void)unused;
    head_init(&h);
    good = h.p;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        h.p = good;                                                                                \
        change;                                                                                    \
        assert_int_equal(rows(&h, out, NULL, NULL), MXV_TRUTH_BAD_ARGUMENT);                       \
    } while (0)
    REFUSED(h.p.routes = 0);
    REFUSED(h.p.routes = MXV_TRUTH_MAX_ROUTES + 1);
    REFUSED(h.p.routes = 2); /* q[1] is NULL */
    REFUSED(h.p.base = 10);
    REFUSED(h.p.lse_base = 1);
    REFUSED(h.p.scale = NAN);
    REFUSED(h.p.softcap = -1);
    REFUSED(h.p.softcap = INFINITY);
    REFUSED(h.p.visible = beyond);
    REFUSED(h.p.route = seventh);
    REFUSED(h.p.v = NULL);
#undef REFUSED
    h.p = good;
    const size_t past[1] = {LQ};
    assert_int_equal(mxv_truth_rows(&h.p, past, 1, NULL, out, NULL, NULL), MXV_TRUTH_BAD_ARGUMENT);
    struct mxv_truth_options o = {.radius = 0x1p-51};
    assert_int_equal(mxv_truth_rows(&h.p, NULL, 1, &o, out, NULL, NULL), MXV_TRUTH_BAD_ARGUMENT);
    o.radius = NAN;
    assert_int_equal(mxv_truth_rows(&h.p, NULL, 1, &o, out, NULL, NULL), MXV_TRUTH_BAD_ARGUMENT);
    for (int s = 0; s <= MXV_TRUTH_UNDECIDED; s++)
        assert_true(strlen(mxv_truth_status_text((enum mxv_truth_status)s)) > 1);
}

/* Scores are small dyadic numbers here: exact in binary64. Weights are positive and add up to 1. */
static void test_maps(void **unused)
{
    struct head h;
    struct mxv_truth_ball scores[LK], weights[LK];
    const struct mxv_truth_options o = {.radius = 0x1p-45};
    (void)unused;
    head_init(&h);
    h.p.visible = causal;
    for (size_t i = 0; i < LQ; i++) {
        double sum = 0;
        assert_int_equal(mxv_truth_scores(&h.p, i, scores), MXV_TRUTH_OK);
        assert_int_equal(mxv_truth_weights(&h.p, i, &o, weights), MXV_TRUTH_OK);
        for (size_t j = 0; j < LK; j++) {
            double s = 0;
            for (size_t e = 0; e < D; e++)
                s += h.q[i * D + e] * h.k[j * D + e];
            assert_true(scores[j].radius == 0);
            assert_true(scores[j].centre == (j <= i ? s * 0.5 : -INFINITY));
            assert_true(j <= i ? weights[j].centre > 0 : weights[j].centre == 0);
            assert_true(weights[j].radius <= o.radius);
            sum += weights[j].centre;
        }
        assert_true(fabs(sum - 1) <= LK * (o.radius + 0x1p-53));
        for (size_t j = 1; j <= i; j++) /* ratios of weights, by libm */
            assert_true(fabs(weights[j].centre -
                             weights[0].centre * exp(scores[j].centre - scores[0].centre)) <
                        0x1p-40 * (1 + exp(scores[j].centre - scores[0].centre)));
    }
    h.p.softcap = 2;
    assert_int_equal(mxv_truth_scores(&h.p, 4, scores), MXV_TRUTH_OK);
    for (size_t j = 0; j < 5; j++)
        assert_true(fabs(scores[j].centre) < 2 && scores[j].radius <= 0x1p-52);
}

/* The same answers, bit for bit, for any number of threads and any list of rows. */
static void test_threads_and_lists(void **unused)
{
    struct head h;
    struct mxv_truth_ball one[LQ * DV], many[LQ * DV], l1[LQ], l2[LQ];
    struct mxv_truth_stats s1, s2;
    struct mxv_truth_options o = {.threads = 1};
    const size_t list[3] = {4, 0, 4};
    (void)unused;
    head_init(&h);
    assert_int_equal(mxv_truth_rows(&h.p, NULL, LQ, &o, one, l1, &s1), MXV_TRUTH_OK);
    for (o.threads = 2; o.threads <= 4; o.threads++) {
        assert_int_equal(mxv_truth_rows(&h.p, NULL, LQ, &o, many, l2, &s2), MXV_TRUTH_OK);
        assert_memory_equal(one, many, sizeof one);
        assert_memory_equal(l1, l2, sizeof l1);
        assert_int_equal(s1.exponentials, s2.exponentials);
        assert_int_equal(s1.dots_int64, s2.dots_int64);
        assert_true(s1.radius_max == s2.radius_max);
    }
    assert_int_equal(mxv_truth_rows(&h.p, list, 3, &o, many, l2, NULL), MXV_TRUTH_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(many + i * DV, one + list[i] * DV, DV * sizeof *one);
        assert_memory_equal(l2 + i, l1 + list[i], sizeof *l1);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_head(enum mxv_truth_path path)
{
    enum { N = 256, HEAD = 64 };
    double *data = malloc(3 * N * HEAD * sizeof *data);
    struct mxv_truth_ball *out = malloc(N * HEAD * sizeof *out), lse[N];
    struct mxv_truth_stats s;
    const struct mxv_truth_options o = {.radius = 0x1p-40, .threads = 1, .path = path};
    for (size_t i = 0; i < 3 * N * HEAD; i++)
        data[i] = coarse() / 2;
    const struct mxv_truth_problem p = {.lq = N,
                                        .lk = N,
                                        .d = HEAD,
                                        .dv = HEAD,
                                        .routes = 1,
                                        .q = {data},
                                        .k = {data + N * HEAD},
                                        .v = data + 2 * N * HEAD,
                                        .scale = 0.125};
    const double start = seconds();
    assert_int_equal(mxv_truth_rows(&p, NULL, N, &o, out, lse, &s), MXV_TRUTH_OK);
    printf(
        "256 x 256 x 64, radius 2^-40, one thread, %s: %.3f s, %zu exponentials at %u bits, grid "
        "2^-%u, largest radius 2^%.1f of max |v|, %zu rows repeated\n",
        path == MXV_TRUTH_MPFR ? "MPFR" : "certified", seconds() - start, s.exponentials,
        s.precision_max, s.grid_bits_max, log2(s.radius_max), s.repeated_rows);
    assert_int_equal(s.repeated_rows, 0);
    assert_int_equal(s.certified_rows, o.path == MXV_TRUTH_MPFR ? 0 : N);
    assert_true(s.radius_max <= 0x1p-40);
    free(out);
    free(data);
}

static void test_time(void **unused)
{
    (void)unused;
    time_head(MXV_TRUTH_MPFR);
    time_head(MXV_TRUTH_CERTIFIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_empty_rows),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_maps),         cmocka_unit_test(test_threads_and_lists),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
