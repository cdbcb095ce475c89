// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantisers of kernel dma-released against the public program (released_record.h): every code,
// scale byte and second-level scale of Q and K, all modes and granularities. The rows hold zero
// blocks, ties, powers of two, tiny and huge values and infinities. Both emulations are on trial:
// the engine by its taps, the plain one by the operands it prepares.
#include "released_record.h"

#include "../../ref/plain/plain.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef int head_function(const struct mxv_attention *, size_t, const struct mxv_tap_sink *);

static int engine_head(const struct mxv_attention *a, size_t head, const struct mxv_tap_sink *sink)
{
    static uint32_t out[RELEASED_ROWS * RELEASED_D];
    char message[256];
    int status = mxv_engine_head(a, 0, head, out, NULL, sink, message, sizeof message);
    if (status)
        printf("engine: %s\n", message);
    return status;
}

// The plain emulation up to its operands; the attention that follows is slow.
static int plain_head(const struct mxv_attention *a, size_t head, const struct mxv_tap_sink *sink)
{
    struct plain_head h = {.a = a, .sink = sink, .sequence = 0, .head = head};
    char message[256];
    int status = plain_open(&h, message, sizeof message);
    if (status == 0) {
        plain_operands(&h);
        plain_tap_operands(&h);
        status = h.out_of_memory ? -1 : 0;
    } else {
        printf("plain: %s\n", message);
    }
    plain_close(&h);
    return status;
}

static int check(const char *name, head_function *head_of, struct released_run *runs,
                 const float *q, const float *k, const float *v)
{
    struct released_count count = {{0}, {0}};
    for (size_t n = 0; n < RELEASED_RUNS; n++) {
        struct released_comparison c = {&runs[n], &count, false};
        struct mxv_tap_sink sink = {released_take, &c};
        runs[n].call.q = q, runs[n].call.k = k, runs[n].call.v = v;
        for (size_t head = 0; head < RELEASED_HEADS; head++)
            if (head_of(&runs[n].call, head, &sink))
                return 1;
    }
    size_t compared = released_total(count.compared), wrong = released_total(count.wrong);
    for (size_t i = 0; i < MXV_STAGE_COUNT; i++)
        if (count.compared[i])
            printf("%s: %s: %zu bytes, %zu differ\n", name,
                   mxv_choice_name(MXV_CHOICE_STAGE, (unsigned)i), count.compared[i],
                   count.wrong[i]);
    printf("%s: %zu bytes compared, %zu differ\n", name, compared, wrong);
    return compared != RELEASED_BYTES || wrong != 0;
}

static void every_byte(void **state)
{
    (void)state;
    struct npz z = npz_open(RELEASED_FILE);
    float *q = released_input(&z, "q"), *k = released_input(&z, "k"), *v = released_input(&z, "v");
    struct released_run *runs = released_runs(&z);
    int failed = check("engine", engine_head, runs, q, k, v);
    failed |= check("plain", plain_head, runs, q, k, v);
    released_runs_free(runs);
    free(q);
    free(k);
    free(v);
    npz_close(&z);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
