/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain MPFR evaluation that speed is compared with: inside the enclosures at 200 bits, near
 * them at 64, special values as the truth has them, refusals; and the memory of the truth, which
 * grows with the rows in flight, not with rows times keys.
 */
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the above first */
#include <cmocka.h>

enum { LQ = 9, LK = 33, D = 7, DV = 3 };

static uint64_t state = 29;

static double coarse(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)((int)(state >> 53) - 1024) / 256;
}

static void causal(const void *ctx, size_t row, size_t *first, size_t *end)
{
    (void)ctx;
    *first = row == 3 ? 4 : 0;
    *end = row == 3 ? 4 : 3 * row + 1;
}

static unsigned parity(const void *ctx, size_t row, size_t key)
{
    (void)ctx;
    return (unsigned)(row + key) & 1;
}

struct head {
    double q[2][LQ * D], k[2][LK * D], v[LK * DV];
    struct mxv_truth_problem p;
};

static void head_init(struct head *h, unsigned base, unsigned lse_base, double softcap)
{
    for (size_t i = 0; i < 2 * LQ * D; i++)
        h->q[i / (LQ * D)][i % (LQ * D)] = coarse();
    for (size_t i = 0; i < 2 * LK * D; i++)
        h->k[i / (LK * D)][i % (LK * D)] = coarse();
    for (size_t i = 0; i < LK * DV; i++)
        h->v[i] = coarse();
    h->p = (struct mxv_truth_problem){.lq = LQ,
                                      .lk = LK,
                                      .d = D,
                                      .dv = DV,
                                      .routes = 2,
                                      .q = {h->q[0], h->q[1]},
                                      .k = {h->k[0], h->k[1]},
                                      .v = h->v,
                                      .scale = 0.375,
                                      .base = base,
                                      .lse_base = lse_base,
                                      .softcap = softcap,
                                      .visible = causal,
                                      .route = parity};
}

/* |x - centre| within the radius and the rounding of x to binary64, or the same special value. */
static bool inside(double x, struct mxv_truth_ball ball, double more)
{
    if (isnan(ball.centre) || isinf(ball.centre))
        return isnan(ball.centre) ? isnan(x) : x == ball.centre;
    return fabs(x - ball.centre) <= ball.radius + fabs(x) * 0x1p-52 + more;
}

static void test_against_enclosures(void **unused)
{
    static const double caps[] = {0, 3};
    (void)unused;
    for (unsigned n = 0; n < 8; n++) {
        struct head h;
        struct mxv_truth_ball out[LQ * DV], lse[LQ];
        double plain[LQ * DV], plain_lse[LQ];
        const unsigned precision = n & 1 ? 64 : 200;
        head_init(&h, n & 2, n & 4 ? 2 : 0, caps[n / 4]);
        assert_int_equal(mxv_truth_rows(&h.p, NULL, LQ, NULL, out, lse, NULL), MXV_TRUTH_OK);
        assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, LQ, precision, plain, plain_lse), 0);
        for (size_t i = 0; i < LQ * DV; i++)
            assert_true(inside(plain[i], out[i], precision == 64 ? 0x1p-54 : 0));
        for (size_t i = 0; i < LQ; i++)
            assert_true(inside(plain_lse[i], lse[i], precision == 64 ? 0x1p-54 : 0));
    }
}

static void test_special_values(void **unused)
{
    struct head h;
    struct mxv_truth_ball out[LQ * DV], lse[LQ];
    double plain[LQ * DV], plain_lse[LQ];
    const size_t list[4] = {8, 3, 1, 8};
    (void)unused;
    head_init(&h, 0, 0, 0);
    h.p.routes = 1;
    h.p.route = NULL;
    h.q[0][2 * D] = NAN;       /* row 2 */
    h.k[0][11 * D] = INFINITY; /* rows 4 .. 8, by the sign of q */
    h.q[0][4 * D] = -1;        /* dropped */
    h.q[0][5 * D] = 1;         /* undefined */
    h.v[11 * DV] = NAN;        /* at weight 0 in row 4 */
    h.v[1 * DV + 1] = -INFINITY;
    assert_int_equal(mxv_truth_rows(&h.p, NULL, LQ, NULL, out, lse, NULL), MXV_TRUTH_OK);
    assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, LQ, 128, plain, plain_lse), MXV_TRUTH_OK);
    size_t special = 0;
    for (size_t i = 0; i < LQ * DV; i++) {
        assert_true(inside(plain[i], out[i], 0));
        special += !isfinite(plain[i]);
    }
    assert_true(special > 8);
    for (size_t i = 0; i < LQ; i++)
        assert_true(inside(plain_lse[i], lse[i], 0));
    assert_true(plain_lse[3] == -INFINITY && plain[3 * DV] == 0);
    assert_int_equal(mxv_truth_plain_rows(&h.p, list, 4, 128, plain, NULL), MXV_TRUTH_OK);
    for (size_t i = 0; i < 4 * DV; i++)
        assert_true(inside(plain[i], out[list[i / DV] * DV + i % DV], 0));
}

static void test_refusals(void **unused)
{
    struct head h;
    double out[LQ * DV];
    const size_t past[1] = {LQ};
    (void)unused;
    head_init(&h, 0, 0, 0);
    assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, LQ, 31, out, NULL), MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, LQ, 20000, out, NULL),
                     MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_plain_rows(&h.p, past, 1, 64, out, NULL), MXV_TRUTH_BAD_ARGUMENT);
    assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, 1, 64, NULL, NULL), MXV_TRUTH_BAD_ARGUMENT);
    h.p.routes = 1; /* but parity answers 1 */
    assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, LQ, 64, out, NULL), MXV_TRUTH_BAD_ARGUMENT);
    h.p.v = NULL;
    assert_int_equal(mxv_truth_plain_rows(&h.p, NULL, LQ, 64, out, NULL), MXV_TRUTH_BAD_ARGUMENT);
}

/* Peak memory in KiB of a child that encloses `rows` rows of a head of n x n, without the head. */
static long peak(size_t n, size_t rows, enum mxv_truth_path path)
{
    enum { HEAD = 8 };
    int ends[2];
    long grown = -1;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rusage before, after;
        double *data = malloc(3 * n * HEAD * sizeof *data);
        struct mxv_truth_ball *out = calloc(rows * HEAD, sizeof *out);
        for (size_t i = 0; i < 3 * n * HEAD; i++)
            data[i] = coarse();
        for (size_t i = 0; i < rows * HEAD; i++)
            out[i].radius = 1; /* pages in memory */
        const struct mxv_truth_problem p = {.lq = n,
                                            .lk = n,
                                            .d = HEAD,
                                            .dv = HEAD,
                                            .routes = 1,
                                            .q = {data},
                                            .k = {data + n * HEAD},
                                            .v = data + 2 * n * HEAD,
                                            .scale = 0.125};
        const struct mxv_truth_options o = {.threads = 1, .path = path};
        getrusage(RUSAGE_SELF, &before);
        const bool ok = mxv_truth_rows(&p, NULL, rows, &o, out, NULL, NULL) == MXV_TRUTH_OK;
        getrusage(RUSAGE_SELF, &after);
        grown = ok ? after.ru_maxrss - before.ru_maxrss : -1;
        const ssize_t written = write(ends[1], &grown, sizeof grown);
        _exit(written == (ssize_t)sizeof grown ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &grown, sizeof grown), sizeof grown);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    assert_true(grown >= 0);
    return grown;
}

#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif

/* 6144 rows of 6144 keys: the scores alone would be 288 MiB. */
static void test_memory(void **unused)
{
    enum { N = 6144, SOME = 64, KIB = 1024 };
    (void)unused;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS(address_sanitizer) ||     \
    HAS(thread_sanitizer) || HAS(memory_sanitizer)
    print_message("skipped: a sanitizer has memory of its own\n");
    skip();
#endif
    const long some = peak(N, SOME, MXV_TRUTH_CERTIFIED), all = peak(N, N, MXV_TRUTH_CERTIFIED);
    const long mpfr = peak(N, SOME, MXV_TRUTH_MPFR);
    printf("%d keys: %ld KiB for %d rows, %ld KiB for %d rows; MPFR %ld KiB\n", N, some, SOME, all,
           N, mpfr);
    const long scores = 16L * N * 16 / KIB; /* of 16 rows, twice a binary64 word for each */
    const long operands = 16L * N * 8 * 8 / KIB;
    assert_true(all <= scores + operands + 4096);
    assert_true(all <= some + 4096);
    assert_true(mpfr <= 16384);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), /* first: children inherit little */
        cmocka_unit_test(test_against_enclosures),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
