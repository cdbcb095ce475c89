// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The known fault behind a failure: each fault of faults.def, on the trigger of its row, must be
// named (its row is the expectation); an implementation with a known defect and other roundings
// must be read as nearly that fault; a defect that is no known fault must not be given one's name.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include "cases.h"
#include <math.h>
#include <mxverify/compare.h>
#include <mxverify/faults.h>
#include <mxverify/gate.h>
#include <mxverify/impl.h>
#include <mxverify/verify.h>

static struct mxv_verify_result verify(const char *line, const struct mxv_verify_options *options)
{
    struct mxv_case c;
    struct mxv_verify_result result;
    char message[512] = "";
    parse(line, &c);
    if (mxv_verify_case(&c, options, &result, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    return result;
}

static const struct mxv_verify_options emulation = {.impl = MXV_IMPL_EMULATION, .name_fault = true};

// Whether `word` stands among the names, which end with ":" (one) or " alike" (several).
static bool names(const char *diagnosis, const char *word, bool *alone)
{
    static const char one[] = "the words are those of fault ",
                      several[] = "the words are those of faults ";
    size_t n = strlen(word);
    *alone = strncmp(diagnosis, one, sizeof one - 1) == 0;
    if (*alone)
        return strncmp(diagnosis + sizeof one - 1, word, n) == 0 &&
               diagnosis[sizeof one - 1 + n] == ':';
    const char *end = strstr(diagnosis, " alike; ");
    if (strncmp(diagnosis, several, sizeof several - 1) != 0 || !end)
        return false;
    for (const char *at = diagnosis + sizeof several - 1; at < end; at += strcspn(at, " ") + 1)
        if (strncmp(at, word, n) == 0 && strchr(", ", at[n]))
            return true;
    return false;
}

static void test_every_fault_is_named_on_its_trigger(void **state)
{
    (void)state;
    unsigned named = 0, alone = 0, all = 0;
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        const struct mxv_fault_info *info = mxv_fault_get((enum mxv_fault)f);
        char line[512];
        bool single;
        if (f == MXV_FAULT_NONCAUSAL_REFERENCE) // of the reference: no implementation has it
            continue;
        snprintf(line, sizeof line, "%s fault=%s", info->trigger, info->name);
        struct mxv_verify_result r = verify(line, &emulation);
        bool good = names(r.diagnosis, info->name, &single);
        all++;
        named += good;
        alone += good && single;
        if (!good || !single)
            printf("%s: %s\n", line, r.diagnosis);
        mxv_verify_free(&r);
    }
    printf("%u faults, %u named, %u of them alone\n", all, named, alone);
    assert_int_equal(named, all);
    assert_true(alone * 10 >= all * 9);
}

static void test_off_unless_asked_for(void **state)
{
    (void)state;
    const struct mxv_verify_options without = {.impl = MXV_IMPL_EMULATION};
    struct mxv_verify_result r = verify("flash lq=40 lk=60 d=64 seed=43 fault=exp-base", &without);
    assert_non_null(strstr(r.diagnosis, "the scores are right"));
    assert_null(strstr(r.diagnosis, "exp-base"));
    mxv_verify_free(&r);
}

// An engine with a fault, or a gain, whose outputs are rounded to three bits less than the format.
struct defect {
    uint64_t faults;
    double gain;
};
static struct defect defect;

static int run_defect(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
                      size_t size)
{
    struct mxv_attention call = *a;
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence];
    (void)state;
    call.faults = defect.faults;
    if (mxv_engine_head(&call, sequence, head, out, lse, sink, message, size))
        return MXV_IMPL_FAILED;
    for (size_t i = 0; i < rows * a->d; i++) {
        double x = mxv_code_value(a->out, out[i]) * defect.gain;
        double unit = ldexp(1, mxv_ulp_exponent(a->out, x) + 3);
        out[i] = mxv_gate_word(a->out, isfinite(x) ? rint(x / unit) * unit : x);
    }
    return MXV_IMPL_OK;
}

static struct mxv_verify_result verify_foreign(const char *line)
{
    static const struct mxv_implementation implementation = {.abi = MXV_IMPL_ABI,
                                                             .call_size =
                                                                 sizeof(struct mxv_attention),
                                                             .name = "test",
                                                             .version = "1",
                                                             .capabilities = MXV_IMPL_THREADS,
                                                             .run = run_defect};
    struct mxv_adapter *adapter;
    char message[512] = "";
    if (mxv_adapter_of(&implementation, &adapter, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    const struct mxv_verify_options options = {
        .truth = true, .adapter = adapter, .name_fault = true};
    struct mxv_verify_result r = verify(line, &options);
    mxv_adapter_close(adapter);
    return r;
}

static void test_a_known_defect_under_other_roundings(void **state)
{
    (void)state;
    static const struct {
        const char *line, *fault;
    } rows[] = {
        {"flash lq=40 lk=60 d=64 seed=43", "exp-base"},
        {"flash lq=40 lk=200 d=64 seed=36", "stale-value"},
        {"flash lq=40 lk=60 d=64 seed=52", "sum-over-lanes"},
        {"dma lq=40 lk=200 d=64 seed=3", "v-rows-permuted"},
        {"tilemix lq=40 lk=200 d=64 seed=4", "stale-tile"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum mxv_fault f;
        char expected[100];
        assert_true(mxv_fault_find(rows[i].fault, &f));
        defect = (struct defect){UINT64_C(1) << f, 1};
        snprintf(expected, sizeof expected, "the outputs are nearly those of fault %s (",
                 rows[i].fault);
        struct mxv_verify_result r = verify_foreign(rows[i].line);
        assert_int_equal(r.verdict, MXV_VERDICT_FAIL);
        if (strncmp(r.diagnosis, expected, strlen(expected)) != 0)
            fail_msg("%s: `%s` does not begin with `%s`", rows[i].line, r.diagnosis, expected);
        mxv_verify_free(&r);
    }
}

static void test_an_unknown_defect_gets_no_name(void **state)
{
    (void)state;
    static const double gains[] = {0, -1, 0.72, 1.3};
    for (size_t i = 0; i < sizeof gains / sizeof gains[0]; i++) {
        defect = (struct defect){0, gains[i]};
        struct mxv_verify_result r = verify_foreign("flash lq=40 lk=200 d=64 seed=36");
        assert_int_equal(r.verdict, MXV_VERDICT_FAIL);
        if (strstr(r.diagnosis, " fault"))
            fail_msg("gain %g: %s", gains[i], r.diagnosis);
        mxv_verify_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fault_is_named_on_its_trigger),
        cmocka_unit_test(test_off_unless_asked_for),
        cmocka_unit_test(test_a_known_defect_under_other_roundings),
        cmocka_unit_test(test_an_unknown_defect_gets_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
