// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Certified enclosures against MPFR on the cases that runs draw: every kernel, generator, mask and
// shape of the fuzz tier, the inputs and the operands of the routes. Enclosures of the same element
// meet, none is wider than asked, special values are the same, and most rows need no MPFR.
// MXV_FUZZ_CASES sets the number of cases (default 160).
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <mxverify/tiers.h>
#include <mxverify/truth.h>
#include <stdio.h>
#include <stdlib.h>

static size_t cases_wanted(void)
{
    const char *text = getenv("MXV_FUZZ_CASES");
    return text ? strtoul(text, NULL, 10) : 160;
}

// One head of a case and its exact problem.
struct head {
    const struct mxv_attention *a;
    size_t sequence, head, lq, lk;
    unsigned index[MXV_ROUTE_COUNT]; // of a route's operands
    struct mxv_truth_problem p;
    double *buffers[2 * MXV_ROUTE_COUNT + 3];
    size_t buffer_count;
};

struct tally {
    size_t problems, elements, apart, wide, lse_apart, certified, left[MXV_TRUTH_LEFT_COUNT];
};

static void visible(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct head *h = ctx;
    mxv_attention_visible(h->a, h->lq, h->lk, row, first, end);
    *first = *first < *end ? *first : *end;
}

static unsigned route(const void *ctx, size_t row, size_t key)
{
    const struct head *h = ctx;
    return h->index[mxv_attention_route(h->a, h->sequence, h->head, row / h->a->tile_m,
                                        key / h->a->tile_n)];
}

static double *buffer(struct head *h, size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    h->buffers[h->buffer_count++] = x;
    return x;
}

static const double *widen(struct head *h, const float *x, size_t n)
{
    double *b = buffer(h, n);
    for (size_t i = 0; b && i < n; i++)
        b[i] = x[i];
    return b;
}

static void start(struct head *h, const struct mxv_attention *a, size_t sequence, size_t head)
{
    *h = (struct head){.a = a, .sequence = sequence, .head = head};
    h->lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    h->lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    h->p = (struct mxv_truth_problem){.lq = h->lq,
                                      .lk = h->lk,
                                      .d = a->d,
                                      .dv = a->d,
                                      .routes = 1,
                                      .scale = a->scale,
                                      .visible = visible,
                                      .ctx = h};
}

static void finish(struct head *h)
{
    for (size_t i = 0; i < h->buffer_count; i++)
        free(h->buffers[i]);
}

static void of_inputs(struct head *h)
{
    const struct mxv_attention *a = h->a;
    const size_t tq = a->cu_q[a->sequences], tk = a->cu_k[a->sequences];
    const size_t kv = h->head / (a->heads_q / a->heads_kv);
    const size_t key = (kv * tk + a->cu_k[h->sequence]) * a->d;
    h->p.q[0] = widen(h, a->q + (h->head * tq + a->cu_q[h->sequence]) * a->d, h->lq * a->d);
    h->p.k[0] = widen(h, a->k + key, h->lk * a->d);
    h->p.v = widen(h, a->v + key, h->lk * a->d);
}

// False: the routes of this head have no operands of one kind.
static bool of_operands(struct head *h)
{
    const struct mxv_attention *a = h->a;
    char message[256];
    double *v = buffer(h, h->lk * a->d);
    unsigned routes = 0;
    for (size_t row = 0; row < h->lq; row += a->tile_m)
        for (size_t key = 0; key < h->lk; key += a->tile_n) {
            const enum mxv_route r =
                mxv_attention_route(a, h->sequence, h->head, row / a->tile_m, key / a->tile_n);
            if (r == MXV_ROUTE_SKIP || h->index[r])
                continue;
            double *q = buffer(h, h->lq * a->d), *k = buffer(h, h->lk * a->d);
            if (mxv_engine_operands(a, h->sequence, h->head, r, q, k, v, &h->p.scale, &h->p.base,
                                    message, sizeof message))
                return false;
            h->p.q[routes] = q;
            h->p.k[routes] = k;
            h->index[r] = ++routes;
        }
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
        h->index[r] -= h->index[r] > 0;
    h->p.v = v;
    h->p.routes = routes;
    h->p.route = route;
    return routes > 0;
}

static bool same_special(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static bool meet(struct mxv_truth_ball a, struct mxv_truth_ball b)
{
    if (!isfinite(a.centre) || !isfinite(b.centre))
        return same_special(a.centre, b.centre);
    return fabs(a.centre - b.centre) <= (a.radius + b.radius) * (1 + 0x1p-40);
}

static double largest(const struct head *h, size_t row, size_t c)
{
    size_t first, end;
    double most = 0;
    visible(h, row, &first, &end);
    for (size_t j = first; j < end; j++)
        most = fmax(most, fabs(h->p.v[j * h->p.dv + c]));
    return most;
}

static void compare(const struct head *h, const char *line, struct tally *t)
{
    const size_t dv = h->p.dv, n = h->lq * dv + 1;
    struct mxv_truth_ball *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    struct mxv_truth_ball *la = malloc((h->lq + 1) * sizeof *la);
    struct mxv_truth_ball *lb = malloc((h->lq + 1) * sizeof *lb);
    struct mxv_truth_options o = {.radius = 0x1p-40, .threads = 1};
    struct mxv_truth_stats s;
    int failed = mxv_truth_rows(&h->p, NULL, h->lq, &o, a, la, &s);
    t->certified += s.certified_rows;
    for (size_t i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        t->left[i] += s.left[i];
    o.path = MXV_TRUTH_MPFR;
    failed |= mxv_truth_rows(&h->p, NULL, h->lq, &o, b, lb, NULL);
    const size_t before = t->apart + t->wide + t->lse_apart;
    for (size_t i = 0; !failed && i < h->lq; i++) {
        t->lse_apart += !meet(la[i], lb[i]);
        for (size_t c = 0; c < dv; c++) {
            t->elements++;
            t->apart += !meet(a[i * dv + c], b[i * dv + c]);
            if (isfinite(a[i * dv + c].centre))
                t->wide += !(a[i * dv + c].radius <= o.radius * largest(h, i, c) + 0x1p-1074);
        }
    }
    t->problems++;
    if (failed || t->apart + t->wide + t->lse_apart > before) {
        printf("%s\n  sequence %zu head %zu: status %d\n", line, h->sequence, h->head, failed);
        t->apart += failed != 0;
    }
    free(a);
    free(b);
    free(la);
    free(lb);
}

static void one_case(size_t i, struct tally *t)
{
    struct mxv_case c;
    struct mxv_case_data data = {0};
    char message[512] = "", line[MXV_CASE_LINE_SIZE];
    mxv_tier_sample((enum mxv_kernel)(i % MXV_KERNEL_COUNT), 0x7ac7, i, 6000, &c);
    mxv_case_print(&c, line, sizeof line);
    if (mxv_case_build(&c, &data, message, sizeof message) != MXV_OK) {
        printf("%s\n  %s\n", line, message);
        t->apart++;
        return;
    }
    for (size_t sequence = 0; sequence < data.a.sequences; sequence++) {
        struct head h;
        start(&h, &data.a, sequence, data.a.heads_q - 1);
        of_inputs(&h);
        compare(&h, line, t);
        finish(&h);
        start(&h, &data.a, sequence, 0);
        if (of_operands(&h))
            compare(&h, line, t);
        finish(&h);
    }
    mxv_case_free(&data);
}

static void add(struct tally *all, const struct tally *t)
{
    all->problems += t->problems;
    all->elements += t->elements;
    all->apart += t->apart;
    all->wide += t->wide;
    all->lse_apart += t->lse_apart;
    all->certified += t->certified;
    for (size_t i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        all->left[i] += t->left[i];
}

static void test_sampled_cases(void **unused)
{
    struct tally all = {0};
    const size_t wanted = cases_wanted();
    size_t left = 0;
    (void)unused;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < wanted; i++) {
        struct tally t = {0};
        one_case(i, &t);
#pragma omp critical(tally)
        add(&all, &t);
    }
    printf("%zu cases, %zu problems, %zu elements: %zu apart, %zu too wide; LSE %zu apart\n",
           wanted, all.problems, all.elements, all.apart, all.wide, all.lse_apart);
    printf("%zu rows certified", all.certified);
    for (size_t i = 0; i < MXV_TRUTH_LEFT_COUNT; i++) {
        printf(", %s %zu", mxv_truth_left_text((enum mxv_truth_left)i), all.left[i]);
        left += all.left[i];
    }
    printf("\n");
    assert_int_equal(all.apart, 0);
    assert_int_equal(all.wide, 0);
    assert_int_equal(all.lse_apart, 0);
    assert_true(all.elements > 10000);
    assert_true(all.certified > left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sampled_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
