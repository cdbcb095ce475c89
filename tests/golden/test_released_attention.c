// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Uniform attention of kernel dma-released against the public program (released_record.h): MXFP8
// e4m3 and MXFP4 without second level, causal and full, binary32 outputs word for word. Head 0 has
// a key of infinities and is NaN everywhere; head 1 tells the matrix unit, the exponential, the
// order of the row sum and the division apart. The engine answers for both heads; the plain
// emulation for head 1, tap by tap.
#include "released_record.h"

#include <mxverify/taps.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { WORDS = RELEASED_ROWS * RELEASED_D };

struct attention_run {
    const char *mode;
    bool causal;
};

static const struct attention_run runs[] = {
    {"mxfp8", true}, {"mxfp8", false}, {"mxfp4", true}, {"mxfp4", false}};

struct totals {
    size_t words, nans, wrong; // words compared; NaN in the record; differing
};

static bool is_nan(uint32_t word)
{
    return (word & 0x7fffffffu) > 0x7f800000u;
}

// Holds `out` against head `head` of the recorded output; a NaN equals any NaN.
static void compare(const char *name, const struct mxv_tensor *record, size_t head,
                    const uint32_t *out, struct totals *t)
{
    size_t wrong = 0, nans = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t want = (uint32_t)mxv_tensor_code(record, head * WORDS + i);
        bool same = is_nan(want) ? is_nan(out[i]) : out[i] == want;
        nans += is_nan(want);
        if (!same && wrong++ == 0)
            printf("%s head %zu row %zu channel %zu: %08x, recorded %08x\n", name, head,
                   i / RELEASED_D, i % RELEASED_D, (unsigned)out[i], (unsigned)want);
    }
    t->words += WORDS;
    t->nans += nans;
    t->wrong += wrong;
}

// Head 1 by the plain emulation: the recorded words, and every tap that of the engine.
static int check_plain(const struct mxv_attention *a, const char *name,
                       const struct mxv_tensor *record, struct totals *t)
{
    static uint32_t out[WORDS];
    struct mxv_tap_record engine, plain;
    struct mxv_taps_where where;
    char message[256], key[160];
    mxv_tap_record_init(&engine);
    mxv_tap_record_init(&plain);
    struct mxv_tap_sink engine_sink = mxv_taps_record(&engine);
    struct mxv_tap_sink plain_sink = mxv_taps_record(&plain);
    int failed = mxv_engine_head(a, 0, 1, out, NULL, &engine_sink, message, sizeof message) ||
                 mxv_plain_head(a, 0, 1, out, NULL, &plain_sink, message, sizeof message);
    if (failed) {
        printf("%s: %s\n", name, message);
    } else if ((failed = mxv_taps_first_difference(&plain, &engine, &where)) != 0) {
        mxv_tap_key_print(&where.key, key, sizeof key);
        printf("%s: plain and engine differ first at %s\n", name, failed < 0 ? "(no memory)" : key);
    }
    if (!failed)
        printf("%s: %zu taps of plain and engine equal\n", name, plain.count);
    compare(name, record, 1, out, t);
    mxv_tap_record_free(&engine);
    mxv_tap_record_free(&plain);
    return failed != 0;
}

static int check_run(const struct npz *z, const struct attention_run *run, const float *q,
                     const float *k, const float *v, struct totals *engine, struct totals *plain)
{
    static uint32_t out[WORDS];
    char name[32], message[256];
    int failed = 0;
    struct mxv_attention a = released_call(run->mode, false);
    a.q = q, a.k = k, a.v = v;
    a.mask = run->causal ? MXV_MASK_CAUSAL : MXV_MASK_FULL;
    snprintf(name, sizeof name, "attn.%s.causal%d", run->mode, run->causal);
    struct mxv_tensor record = npz_tensor(z, name);
    if (record.type != MXV_F32 || record.count != RELEASED_HEADS * WORDS)
        vector_fail("not 2 heads of 384 binary32 rows", name);
    for (size_t head = 0; head < RELEASED_HEADS; head++) {
        if (mxv_engine_head(&a, 0, head, out, NULL, NULL, message, sizeof message)) {
            printf("%s: %s\n", name, message);
            failed = 1;
        } else {
            compare(name, &record, head, out, engine);
        }
    }
    failed |= check_plain(&a, name, &record, plain);
    mxv_tensor_free(&record);
    return failed;
}

static int verdict(const char *name, const struct totals *t, size_t heads, size_t nan_heads)
{
    printf("%s: %zu words compared (%zu of them NaN), %zu differ\n", name, t->words, t->nans,
           t->wrong);
    return t->words != heads * WORDS || t->nans != nan_heads * WORDS || t->wrong != 0;
}

static void every_word(void **state)
{
    (void)state;
    struct npz z = npz_open(RELEASED_FILE);
    float *q = released_input(&z, "q_attn"), *k = released_input(&z, "k_attn");
    float *v = released_input(&z, "v");
    struct totals engine = {0, 0, 0}, plain = {0, 0, 0};
    int failed = 0;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        failed |= check_run(&z, &runs[i], q, k, v, &engine, &plain);
    failed |= verdict("engine", &engine, 8, 4);
    failed |= verdict("plain", &plain, 4, 0);
    free(q);
    free(k);
    free(v);
    npz_close(&z);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
