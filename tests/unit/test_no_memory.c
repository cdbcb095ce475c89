// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Every allocation on the way of a head and of a case is refused in turn, alone and with all that
// follow. What must come: a status that says "memory", with a message, or the very result of a
// run with memory; never "not offered", never another verdict, never a crash.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "refused_memory.h"
#include <stdio.h>
#ifndef REFUSED_MEMORY
int main(void)
{
    printf("skipped: allocations are not interposed here\n");
    return 77;
}
#else
#include <mpfr.h>
#include <mxverify/impl.h>
#include <mxverify/runner.h>
#include <mxverify/verify.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE = 512 };

typedef int head_function(const struct mxv_attention *, size_t, size_t, uint32_t *, uint32_t *,
                          const struct mxv_tap_sink *, char *, size_t);

static void parse(const char *line, struct mxv_case *c)
{
    char message[MESSAGE];
    if (mxv_case_parse(line, c, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
}

// A sink without memory of its own.
static void mix(void *ctx, const struct mxv_tap *tap)
{
    uint64_t *sum = ctx;
    for (size_t i = 0; i < tap->rows * tap->cols; i++)
        *sum = (*sum ^ tap->words[i]) * UINT64_C(0x100000001b3);
    *sum += tap->stage;
}

// ---- one head -----------------------------------------------------------------------------------

struct head_run {
    uint32_t out[256 * 64], lse[256];
    uint64_t taps;
    int status;
    char message[MESSAGE];
};

static size_t run_head(head_function *head, const struct mxv_attention *a, bool taps, bool lse,
                       size_t from, bool all, struct head_run *r)
{
    const struct mxv_tap_sink sink = {mix, &r->taps};
    memset(r, 0, sizeof *r);
    refuse_begin(from, all);
    r->status = head(a, 0, 0, r->out, lse ? r->lse : NULL, taps ? &sink : NULL, r->message,
                     sizeof r->message);
    return refuse_end();
}

// The allocations that a sweep refuses: the first and then every seventh, from another one on for
// each sweep; MXV_EXHAUSTIVE=1: all.
static size_t after(size_t n, bool all)
{
    static size_t sweeps;
    sweeps += n == 0;
    if (n < 16 || getenv("MXV_EXHAUSTIVE"))
        return n + 1;
    return n == 16 ? n + 1 + (sweeps * 2 + all) % 7 : n + 7;
}

static size_t sweep_head(const char *line, head_function *head, bool taps, bool lse, bool all)
{
    static struct head_run whole, r;
    struct mxv_case c;
    struct mxv_case_data data;
    char message[MESSAGE];
    size_t told = 0, tried = 0;
    parse(line, &c);
    assert_int_equal(mxv_case_build(&c, &data, message, sizeof message), MXV_OK);
    const size_t asked = run_head(head, &data.a, taps, lse, 0, false, &whole);
    assert_int_equal(whole.status, MXV_HEAD_OK);
    for (size_t n = after(0, all); n <= asked; n = after(n, all)) {
        run_head(head, &data.a, taps, lse, n, all, &r);
        tried++;
        if (r.status == MXV_HEAD_NO_MEMORY) {
            told++;
            assert_non_null(strstr(r.message, "out of memory"));
            continue;
        }
        if (r.status != MXV_HEAD_OK || r.taps != whole.taps ||
            memcmp(r.out, whole.out, sizeof r.out) != 0 ||
            memcmp(r.lse, whole.lse, sizeof r.lse) != 0)
            fail_msg("%s, allocation %zu of %zu%s: status %d (%s)", line, n, asked,
                     all ? " and on" : "", r.status, r.message);
    }
    mxv_case_free(&data);
    if (told == 0 || told + 4 < tried) // four do without: plans of whole copies of two routes
        fail_msg("%s: of %zu allocations %zu were missed", line, tried, told);
    return tried;
}

static const char *const calls[] = {
    "flash lq=40 lk=70 d=64 lse=e mask=causal tile=32x32",
    "dma lq=40 lk=70 d=64 v=e4m3 lse=2 tile=32x32",
    "dma lq=40 lk=70 d=64 lse=e tile=32x32 dual=token smooth=1",
    "dma lq=40 lk=70 d=64 mode=low rebase=1 arch=sm_90 tile=32x32 dual=channel",
    "dma lq=130 lk=257 d=64 plan=zones tile=64x64",
    "dma lq=256 lk=256 d=64 low=nvfp4 mode=low tile=64x64",
    "tilemix lq=40 lk=70 d=64 lse=e tile=32x32",
    "tilemix lq=40 lk=70 d=64 fold=1 tile=32x32 kvcache=1 kgran=token",
};

static void test_heads(void **unused)
{
    size_t asked = 0;
    (void)unused;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (unsigned way = 0; way < 8; way++) {
            asked += sweep_head(calls[i], mxv_engine_head, way & 1, way & 2, way & 4);
            asked += sweep_head(calls[i], mxv_plain_head, way & 1, way & 2, way & 4);
        }
    printf("%zu allocations of heads refused\n", asked);
}

static void test_heads_with_faults(void **unused)
{
    (void)unused;
    for (unsigned all = 0; all < 2; all++) {
        sweep_head("dma lq=40 lk=70 d=64 tile=32x32 fault=scale-layout", mxv_engine_head, true,
                   true, all);
        sweep_head("tilemix lq=40 lk=70 d=64 tile=32x32 smooth=1 fault=int8-unsmoothed",
                   mxv_engine_head, true, true, all);
    }
}

static void test_what_is_not_offered_stays_that(void **unused)
{
    struct mxv_case c;
    struct mxv_case_data data;
    static struct head_run r;
    char message[MESSAGE];
    (void)unused;
    parse(calls[0], &c);
    assert_int_equal(mxv_case_build(&c, &data, message, sizeof message), MXV_OK);
    data.a.d = 63;
    run_head(mxv_engine_head, &data.a, false, true, 1, true, &r);
    assert_int_equal(r.status, MXV_HEAD_UNSUPPORTED);
    run_head(mxv_plain_head, &data.a, false, true, 1, true, &r);
    assert_int_equal(r.status, MXV_HEAD_UNSUPPORTED);
    data.a.d = 64;
    mxv_case_free(&data);
}

// ---- a case -------------------------------------------------------------------------------------

static bool same_result(const struct mxv_verify_result *a, const struct mxv_verify_result *b)
{
    return a->verdict == b->verdict && strcmp(a->reason, b->reason) == 0 &&
           (strcmp(a->diagnosis, b->diagnosis) == 0 || strstr(a->diagnosis, "memory")) &&
           a->output_hash == b->output_hash && a->words == b->words && a->taps == b->taps &&
           a->same_bits == b->same_bits && a->truth_rows == b->truth_rows &&
           a->bound_verdict == b->bound_verdict && a->bound.elements == b->bound.elements &&
           a->bound.within == b->bound.within && a->bound.wrong == b->bound.wrong &&
           a->bound.model_within == b->bound.model_within && a->bound.ratio == b->bound.ratio &&
           a->bound.model_ratio == b->bound.model_ratio &&
           a->bound.bound_median == b->bound.bound_median &&
           a->bound.model_median == b->bound.model_median &&
           a->bound.lse.within == b->bound.lse.within && a->gate.applicable == b->gate.applicable &&
           a->gate.bits == b->gate.bits && a->gate.bound == b->gate.bound &&
           a->gate.model == b->gate.model && a->quantisation_rms == b->quantisation_rms &&
           a->compute_rms == b->compute_rms && a->element.rows == b->element.rows &&
           memcmp(&a->events, &b->events, sizeof a->events) == 0;
}

static size_t verify(const struct mxv_case *c, const struct mxv_verify_options *options,
                     size_t from, bool all, struct mxv_verify_result *r, enum mxv_status *status,
                     char message[MESSAGE])
{
    message[0] = 0;
    refuse_begin(from, all);
    *status = mxv_verify_case(c, options, r, message, MESSAGE);
    return refuse_end();
}

static void sweep_case(const char *line, const struct mxv_verify_options *options,
                       enum mxv_verdict verdict, bool all)
{
    static struct mxv_verify_result whole, r;
    struct mxv_case c;
    enum mxv_status status;
    char message[MESSAGE];
    size_t told = 0, tried = 0;
    parse(line, &c);
    const size_t asked = verify(&c, options, 0, false, &whole, &status, message);
    assert_int_equal(status, MXV_OK);
    assert_int_equal(whole.verdict, verdict);
    for (size_t n = after(0, all); n <= asked; n = after(n, all)) {
        verify(&c, options, n, all, &r, &status, message);
        tried++;
        if (status == MXV_ERR_MEMORY && message[0])
            told++;
        else if (status != MXV_OK || !same_result(&r, &whole))
            fail_msg("%s, allocation %zu of %zu%s: status %d (%s), verdict %s (%s) instead of %s",
                     line, n, asked, all ? " and on" : "", status, message,
                     mxv_verdict_name(r.verdict), r.reason, mxv_verdict_name(whole.verdict));
        mxv_verify_free(&r);
    }
    mxv_verify_free(&whole);
    printf("%s%s: %zu of %zu allocations refused, %zu reported\n", line, all ? " (and on)" : "",
           tried, asked, told);
    assert_true(told > tried / 8);
}

static int foreign(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
                   uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
                   size_t size)
{
    (void)state;
    const int status = mxv_plain_head(a, sequence, head, out, lse, sink, message, size);
    return status == MXV_HEAD_OK          ? MXV_IMPL_OK
           : status == MXV_HEAD_NO_MEMORY ? MXV_IMPL_NO_MEMORY
                                          : MXV_IMPL_FAILED;
}

static void test_cases(void **unused)
{
    (void)unused;
    const struct mxv_verify_options options = {
        .impl = MXV_IMPL_PLAIN, .truth = true, .events = true};
    for (unsigned all = 0; all < 2; all++) {
        sweep_case("dma hq=2 hk=1 lq=12 lk=40 d=32 lse=e tile=16x32 mode=mixed", &options,
                   MXV_VERDICT_PASS, all);
        sweep_case("dma lq=5 lk=33 d=32 v=e4m3 tile=16x32", &options, MXV_VERDICT_PASS, all);
        sweep_case("tilemix lq=9 lk=33 d=32 lse=e fold=1 tile=16x32", &options, MXV_VERDICT_PASS,
                   all);
    }
}

static void test_a_case_that_fails(void **unused)
{
    (void)unused;
    const struct mxv_verify_options options = {
        .impl = MXV_IMPL_EMULATION, .truth = true, .name_fault = true};
    for (unsigned all = 0; all < 2; all++)
        sweep_case("dma lq=4 lk=33 d=32 tile=16x32 mode=low fault=mxfp4-emax3", &options,
                   MXV_VERDICT_FAIL, all);
}

static void test_adapters(void **unused)
{
    static const struct {
        unsigned capabilities;
        enum mxv_verdict verdict;
    } kinds[] = {{MXV_IMPL_SAME_BITS | MXV_IMPL_TAPS | MXV_IMPL_LSE, MXV_VERDICT_PASS},
                 {MXV_IMPL_SAME_BITS | MXV_IMPL_LSE, MXV_VERDICT_PASS},
                 {0, MXV_VERDICT_PASS}};
    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct mxv_implementation implementation = {.abi = MXV_IMPL_ABI,
                                                    .call_size = sizeof(struct mxv_attention),
                                                    .name = "foreign",
                                                    .version = "1",
                                                    .capabilities = kinds[i].capabilities,
                                                    .run = foreign};
        struct mxv_adapter *adapter;
        char message[MESSAGE];
        assert_int_equal(mxv_adapter_of(&implementation, &adapter, message, sizeof message),
                         MXV_OK);
        const struct mxv_verify_options options = {.adapter = adapter, .truth = true};
        for (unsigned all = 0; all < 2; all++)
            sweep_case("flash lq=12 lk=40 d=32 lse=e tile=16x32", &options, kinds[i].verdict, all);
        mxv_adapter_close(adapter);
    }
}

// ---- libraries that end the process, and workers ------------------------------------------------

enum { STOPPED = 42, BITS = 1 << 16 };

static void stop(size_t bytes)
{
    _exit(bytes >= BITS / 8 ? STOPPED : STOPPED + 1);
}

static void test_exact_arithmetic_stops_as_told(void **unused)
{
    int status = 0;
    (void)unused;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mpfr_t x;
        mxv_truth_stop_without_memory(stop);
        refuse_begin(1, true);
        mpfr_init2(x, BITS);
        refuse_end();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), STOPPED);
}

// Task 0 answers; 1 says that it lacks memory; 2 ends so, deep inside.
static int task(void *ctx, uint64_t number, unsigned char **bytes, size_t *size)
{
    (void)ctx;
    *bytes = calloc(1, 1);
    *size = 1;
    if (number == 2)
        mxv_runner_lacks_memory();
    return number == 1 ? MXV_RUNNER_LACKS : 0;
}

static void test_a_worker_says_so(void **unused)
{
    const struct mxv_runner_options options = {.workers = 1};
    const struct mxv_runner_job job = {.run = task};
    struct mxv_runner *runner;
    char message[MESSAGE];
    (void)unused;
    assert_int_equal(mxv_runner_open(&options, &job, &runner, message, sizeof message), MXV_OK);
    for (uint64_t i = 0; i < 6; i++) { // the worker is replaced
        struct mxv_runner_result r;
        assert_int_equal(mxv_runner_submit(runner, i % 3, message, sizeof message), 1);
        assert_true(mxv_runner_wait(runner, &r, 30));
        assert_int_equal(r.end, i % 3 ? MXV_RUNNER_NO_MEMORY : MXV_RUNNER_ANSWER);
        assert_true(i % 3 == 0 || strstr(r.reason, "out of memory"));
        free(r.bytes);
    }
    mxv_runner_close(runner);
    mxv_runner_lacks_memory(); // returns in no worker
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_heads_with_faults),
        cmocka_unit_test(test_what_is_not_offered_stays_that),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_a_case_that_fails),
        cmocka_unit_test(test_adapters),
        cmocka_unit_test(test_exact_arithmetic_stops_as_told),
        cmocka_unit_test(test_a_worker_says_so),
    };
    omp_set_num_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
