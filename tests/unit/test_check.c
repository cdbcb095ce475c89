// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// check: outputs that are known to be the emulation's under some options, with a fault, scaled, or
// with a leak, handed in as files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka after these
#include <cmocka.h>

#include <math.h>
#include <mxverify/check.h>
#include <mxverify/compare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

struct made {
    struct mxv_case_data data;
    char q[128], k[128], v[128], out[128], lse[128];
    float *o; // [heads][rows][d], exact values
    uint32_t *lse_words;
    size_t rows, keys;
};

static void name_files(struct made *m)
{
    snprintf(m->q, sizeof m->q, "%s/q.npy", folder);
    snprintf(m->k, sizeof m->k, "%s/k.npy", folder);
    snprintf(m->v, sizeof m->v, "%s/v.npy", folder);
    snprintf(m->out, sizeof m->out, "%s/o.npy", folder);
    snprintf(m->lse, sizeof m->lse, "%s/lse.npy", folder);
}

static void store(const char *path, const char *descr, unsigned rank, size_t a, size_t b, size_t c,
                  const void *words)
{
    char message[512];
    const size_t shape[] = {a, b, c};
    assert_int_equal(mxv_npy_write(path, descr, rank, shape, words, message, sizeof message),
                     MXV_OK);
}

static void write_out(const struct made *m)
{
    const struct mxv_attention *a = &m->data.a;
    store(m->out, "<f4", 3, a->heads_q, m->rows, a->d, m->o);
}

// Tensors of a case line, and what the emulation makes of them, faults of the line included.
static void make(const char *line, struct made *m)
{
    struct mxv_case c;
    char message[512];
    assert_int_equal(mxv_case_parse(line, &c, message, sizeof message), MXV_OK);
    assert_int_equal(mxv_case_build(&c, &m->data, message, sizeof message), MXV_OK);
    const struct mxv_attention *a = &m->data.a;
    m->rows = a->cu_q[a->sequences];
    m->keys = a->cu_k[a->sequences];
    m->o = malloc(a->heads_q * m->rows * a->d * sizeof *m->o);
    m->lse_words = malloc(a->heads_q * m->rows * sizeof *m->lse_words);
    uint32_t *words = malloc(m->rows * a->d * sizeof *words);
    assert_true(m->o && words && m->lse_words && a->sequences == 1);
    for (size_t h = 0; h < a->heads_q; h++) {
        assert_int_equal(mxv_engine_head(a, 0, h, words, m->lse_words + h * m->rows, NULL, message,
                                         sizeof message),
                         0);
        for (size_t i = 0; i < m->rows * a->d; i++)
            m->o[h * m->rows * a->d + i] = (float)mxv_code_value(a->out, words[i]);
    }
    free(words);
    name_files(m);
    store(m->q, "<f4", 3, a->heads_q, m->rows, a->d, a->q);
    store(m->k, "<f4", 3, a->heads_kv, m->keys, a->d, a->k);
    store(m->v, "<f4", 3, a->heads_kv, m->keys, a->d, a->v);
    store(m->lse, "<f4", 2, a->heads_q, m->rows, 0, m->lse_words);
    write_out(m);
}

static void drop(struct made *m)
{
    free(m->o);
    free(m->lse_words);
    mxv_case_free(&m->data);
}

static enum mxv_status run(const struct made *m, const char *claim, bool lse,
                           struct mxv_check_result *r, char *message, size_t size)
{
    struct mxv_check_options o = {.q.where = m->q,
                                  .k.where = m->k,
                                  .v.where = m->v,
                                  .out.where = m->out,
                                  .lse.where = lse ? m->lse : NULL,
                                  .folder = folder,
                                  .fit_scores = 1000000,
                                  .verify = {.truth = true, .truth_scores = 3000}};
    assert_int_equal(mxv_case_parse(claim, &o.base, message, size), MXV_OK);
    return mxv_check_run(&o, r, message, size);
}

static struct mxv_check_result result; // large

static void check(const struct made *m, const char *claim, bool lse)
{
    char message[1024] = "";
    enum mxv_status status = run(m, claim, lse, &result, message, sizeof message);
    if (status != MXV_OK)
        print_error("%s: %s\n", claim, message);
    assert_int_equal(status, MXV_OK);
}

static void options_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *made, *claimed, *change;
    } rows[] = {
        {"dma hq=2 hk=1 lq=70 lk=90 d=64 rule=even seed=1", "dma", "rule=even"},
        {"dma mode=low lq=70 lk=90 d=64 low=mxfp4 seed=2", "dma mode=low low=nvfp4", "low=mxfp4"},
        {"flash lq=70 lk=90 d=64 arch=sm_80 out=f32 seed=3", "flash arch=sm_90", "arch=sm_80"},
        {"flash lq=70 lk=90 d=64 exp=poly seed=4", "flash", "exp=poly"},
        {"flash lq=70 lk=90 d=64 seed=5", "flash", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        make(rows[i].made, &m);
        check(&m, rows[i].claimed, false);
        assert_true(result.same_bits);
        assert_string_equal(result.fits[0].change, rows[i].change);
        assert_int_equal(result.verify.verdict, MXV_VERDICT_PASS);
        mxv_check_free(&result);
        drop(&m);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    static const char *const faults[] = {"stale-tile",        "acc-not-rescaled", "mask-top-left",
                                         "causal-off-by-one", "gqa-modulo",       "exp-base"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct made m;
        char line[256];
        snprintf(line, sizeof line,
                 "flash hq=4 hk=2 lq=60 lk=200 d=64 gen=rising_max seed=9 fault=%s", faults[i]);
        make(line, &m);
        check(&m, "flash", false);
        assert_int_equal(result.fits[0].differing, 0);
        assert_true(result.fits[0].fault);
        assert_string_equal(result.fits[0].change + strlen("fault="), faults[i]);
        assert_false(result.same_bits);
        assert_int_equal(result.verify.verdict, MXV_VERDICT_FAIL);
        mxv_check_free(&result);
        drop(&m);
    }
}

static void lse_counts(void **state)
{
    (void)state;
    struct made m;
    make("flash lq=70 lk=90 d=64 lse=2 seed=6", &m);
    check(&m, "flash lse=2", true);
    assert_true(result.same_bits);
    assert_string_equal(result.fits[0].change, "");
    mxv_check_free(&result);
    check(&m, "flash lse=e", true);
    assert_string_equal(result.fits[0].change, "fault=lse-base");
    mxv_check_free(&result);
    drop(&m);
}

static void gain_is_measured(void **state)
{
    (void)state;
    struct made m;
    make("flash lq=70 lk=90 d=64 out=f32 seed=7", &m);
    for (size_t i = 0; i < m.rows * m.data.a.d; i++)
        m.o[i] *= 1.03125f;
    write_out(&m);
    check(&m, "flash", false);
    assert_false(result.same_bits);
    assert_int_equal(result.verify.verdict, MXV_VERDICT_FAIL);
    assert_true(fabs(result.properties.gain_median - 1.03125) < 1e-6);
    assert_true(fabs(result.properties.gain_low - 1.03125) < 1e-6);
    mxv_check_free(&result);
    drop(&m);
}

struct tap_copy {
    enum mxv_stage stage;
    enum mxv_route route;
    uint8_t bytes[16384];
    size_t rows, cols;
};

static void copy_tap(void *ctx, const struct mxv_tap *tap)
{
    struct tap_copy *t = ctx;
    if (tap->stage != t->stage || tap->route != t->route)
        return;
    t->rows = tap->rows;
    t->cols = tap->cols;
    for (size_t i = 0; i < tap->rows * tap->cols && i < sizeof t->bytes; i++)
        t->bytes[i] = (uint8_t)tap->words[i];
}

// The emulation's own codes of the low route, then with one of them changed.
static void operands_are_compared(void **state)
{
    (void)state;
    struct made m;
    char path[128], message[1024];
    static struct tap_copy codes = {.stage = MXV_STAGE_Q_CODE, .route = MXV_ROUTE_LOW};
    make("dma lq=40 lk=200 d=64 out=f32 seed=4", &m);
    uint32_t *out = malloc(m.rows * m.data.a.d * sizeof *out);
    struct mxv_tap_sink sink = {copy_tap, &codes};
    assert_int_equal(mxv_engine_head(&m.data.a, 0, 0, out, NULL, &sink, message, sizeof message),
                     0);
    free(out);
    snprintf(path, sizeof path, "%s/codes.npy", folder);
    struct mxv_check_options o = {.q.where = m.q,
                                  .k.where = m.k,
                                  .v.where = m.v,
                                  .out.where = m.out,
                                  .folder = folder,
                                  .fit_scores = 1000000,
                                  .verify = {.truth = true, .truth_scores = 3000}};
    o.operands[MXV_CHECK_Q_CODE] =
        (struct mxv_check_tensor){path, {.has_type = true, .type = MXV_E2M1}};
    mxv_case_defaults(MXV_KERNEL_DMA, &o.base);
    for (unsigned change = 0; change < 2; change++) {
        codes.bytes[3 * codes.cols + 5] ^= (uint8_t)change;
        store(path, "|u1", 3, 1, codes.rows, codes.cols, codes.bytes);
        enum mxv_status status = mxv_check_run(&o, &result, message, sizeof message);
        if (status != MXV_OK)
            print_error("%s\n", message);
        assert_int_equal(status, MXV_OK);
        const struct mxv_check_operand *q = &result.operands[MXV_CHECK_Q_CODE];
        assert_true(q->given && q->found);
        assert_int_equal(q->route, MXV_ROUTE_LOW);
        assert_int_equal(q->words, 40 * 64);
        assert_int_equal(q->differing, change);
        if (change) {
            assert_int_equal(q->row, 3);
            assert_int_equal(q->col, 5);
        }
        mxv_check_free(&result);
    }
    drop(&m);
}

// Row 0 of a causal call with align=tl sees key 0 alone; it is given the values of key 5.
static void leak_is_seen(void **state)
{
    (void)state;
    struct made m;
    make("flash lq=70 lk=70 d=64 out=f32 align=tl seed=8", &m);
    memcpy(m.o, m.data.a.v + 5 * m.data.a.d, m.data.a.d * sizeof *m.o);
    write_out(&m);
    check(&m, "flash align=tl", false);
    assert_int_equal(result.properties.outside, result.properties.leaking);
    assert_in_range(result.properties.leaking, 50, 64);
    assert_int_equal(result.verify.verdict, MXV_VERDICT_FAIL);
    mxv_check_free(&result);
    drop(&m);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    char message[1024];
    struct made m;
    make("flash lq=32 lk=40 d=64 seed=1", &m);
    store(m.out, "<f4", 3, 1, 31, 64, m.o);
    assert_int_equal(run(&m, "flash", false, &result, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "out: its shape is not that of q"));
    mxv_check_free(&result);
    write_out(&m);
    store(m.k, "<f4", 3, 1, 39, 64, m.data.a.k);
    assert_int_equal(run(&m, "flash", false, &result, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "do not fit"));
    mxv_check_free(&result);
    drop(&m);
}

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mxv-check-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_found),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(lse_counts),
        cmocka_unit_test(gain_is_measured),
        cmocka_unit_test(leak_is_seen),
        cmocka_unit_test(operands_are_compared),
        cmocka_unit_test(wrong_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, finish);
}
