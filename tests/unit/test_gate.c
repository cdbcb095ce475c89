// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Gates on outputs made by hand: the inequality of mxverify/gate.h, what counts as applicable, the
// smallest gains and single-element errors. Every expectation is worked out in a comment.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <mxverify/compare.h>
#include <mxverify/gate.h>
#include <string.h>

enum { ROWS = 2, D = 4, ALL = ROWS * D };

struct output {
    uint32_t words[ALL];
    bool judged[ROWS];
    double centre[ALL], noise[ALL], rest[ALL], model_centre[ALL], model_noise[ALL], model[ALL];
    struct mxv_gate_output view;
};

// Values 1, bound 2^-6 by contract with noise 2^-10, 2^-3 by model with radius 2^-10.
static struct output *fresh(struct output *o)
{
    memset(o, 0, sizeof *o);
    for (size_t i = 0; i < ALL; i++) {
        o->words[i] = mxv_gate_word(MXV_F16, 1);
        o->centre[i] = o->model_centre[i] = 1;
        o->noise[i] = o->model_noise[i] = 0x1p-10;
        o->rest[i] = 0x1p-6;
        o->model[i] = 0x1p-3;
    }
    o->judged[0] = true;
    o->view = (struct mxv_gate_output){MXV_F16,         ROWS,           D,        o->words,
                                       o->judged,       o->centre,      o->noise, o->rest,
                                       o->model_centre, o->model_noise, o->model};
    return o;
}

static struct mxv_gate_report try_value(const struct output *o, size_t at, double x)
{
    struct mxv_gate_report r;
    uint32_t mutated[ALL];
    memcpy(mutated, o->words, sizeof mutated);
    mutated[at] = mxv_gate_word(MXV_F16, x);
    mxv_gate_report_init(&r);
    mxv_gate_try(&o->view, MXV_MUTANT_ULP, mutated, &r);
    return r;
}

static const uint64_t bit = UINT64_C(1) << MXV_MUTANT_ULP;

static void test_inequality(void **unused)
{
    (void)unused;
    struct output o;
    fresh(&o);
    // 1 + 2^-6 + 2^-10 lies on the bound: not proved wrong; one step (2^-10) more is
    struct mxv_gate_report r = try_value(&o, 1, 1 + 0x1p-6 + 0x1p-10);
    assert_int_equal(r.applicable, bit);
    assert_int_equal(r.bits, bit);
    assert_int_equal(r.bound, 0);
    r = try_value(&o, 1, 1 + 0x1p-6 + 0x1p-9);
    assert_int_equal(r.bound, bit);
    assert_int_equal(r.model, 0);
    // the model needs more than 2^-3 + 2^-10
    r = try_value(&o, 1, 1 - 0x1p-3 - 0x1p-10);
    assert_int_equal(r.model, 0);
    r = try_value(&o, 1, 1 - 0x1p-3 - 0x1p-9);
    assert_int_equal(r.model, bit);
    // a row that is not judged leaves the bits only
    r = try_value(&o, D, 5);
    assert_int_equal(r.applicable, bit);
    assert_int_equal(r.judged, 0);
    assert_int_equal(r.bits, bit);
    assert_int_equal(r.bound | r.model, 0);
}

static void test_special_words(void **unused)
{
    (void)unused;
    struct output o;
    struct mxv_gate_report r = try_value(fresh(&o), 0, NAN);
    assert_int_equal(r.bound, bit);
    assert_int_equal(r.model, bit);
    r = try_value(&o, 0, INFINITY); // may be right for a truth out of range: left to the bits
    assert_int_equal(r.applicable, bit);
    assert_int_equal(r.bound | r.model, 0);
    r = try_value(&o, 0, 1); // nothing changed
    assert_int_equal(r.applicable, 0);
    o.words[2] = 0;
    uint32_t mutated[ALL];
    memcpy(mutated, o.words, sizeof mutated);
    mutated[2] = 0x8000; // -0 for +0 is no mutant
    mxv_gate_report_init(&r);
    mxv_gate_try(&o.view, MXV_MUTANT_ULP, mutated, &r);
    assert_int_equal(r.applicable, 0);
}

static void test_limits(void **unused)
{
    (void)unused;
    struct output o;
    struct mxv_gate_report r;
    fresh(&o);
    mxv_gate_report_init(&r);
    mxv_gate_limits(&o.view, &r);
    // 1 + 2^-k is beyond 2^-6 + 2^-10 up to k = 5, beyond 2^-3 + 2^-10 up to k = 2
    assert_int_equal(r.gain_up, 5);
    assert_int_equal(r.gain_down, 5);
    assert_int_equal(r.model_up, 2);
    assert_int_equal(r.model_down, 2);
    assert_int_equal(r.elements, D);
    assert_true(r.element == 0x1p-6 + 0x1p-10 && r.blind == r.element);
    // ulp of an exact power of two counts to the binade below: 2^-11
    assert_true(r.element_ulp == (0x1p-6 + 0x1p-10) * 0x1p+11);
    o.rest[3] = 0x1p-2; // one element that sees less
    mxv_gate_report_init(&r);
    mxv_gate_limits(&o.view, &r);
    assert_true(r.element == 0x1p-6 + 0x1p-10 && r.blind == 0x1p-2 + 0x1p-10);
    assert_int_equal(r.gain_up, 5);
}

static void test_merge_and_survivors(void **unused)
{
    (void)unused;
    struct mxv_gate_report a, b;
    char text[64];
    uint64_t zero = UINT64_C(1) << MXV_MUTANT_ZERO, sign = UINT64_C(1) << MXV_MUTANT_SIGN;
    mxv_gate_report_init(&a);
    mxv_gate_report_init(&b);
    a.applicable = a.judged = zero | sign | bit;
    a.bound = zero;
    b.applicable = b.judged = b.bound = bit;
    a.gain_up = 3;
    b.gain_up = 7;
    a.element = 2;
    b.element = 1;
    mxv_gate_report_merge(&a, &b);
    assert_int_equal(a.bound, zero | bit);
    assert_int_equal(a.gain_up, 7);
    assert_true(a.element == 1);
    assert_int_equal(mxv_gate_survivors(&a, a.bound), sign);    // ulp is not mandatory
    assert_int_equal(mxv_gate_survivors_bits(&a), zero | sign); // no bit set was filled
    a.judged = zero; // the other changes words of rows that nobody judged
    assert_int_equal(mxv_gate_survivors(&a, a.bound), 0);
    mxv_mutants_print(sign | zero, text, sizeof text);
    assert_string_equal(text, "zero sign");
    mxv_mutants_print(0, text, sizeof text);
    assert_string_equal(text, "none");
}

static void test_registry(void **unused)
{
    (void)unused;
    static const char *const mandatory[] = {"zero", "sign", "x0.72", "x1.05"};
    size_t found = 0;
    assert_true(MXV_MUTANT_COUNT >= 16);
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++) {
        const struct mxv_mutant_info *info = mxv_mutant_get(m);
        bool wanted = false;
        for (size_t i = 0; i < 4; i++)
            wanted = wanted || strcmp(info->name, mandatory[i]) == 0;
        assert_int_equal(info->mandatory, wanted);
        assert_int_equal(mxv_mutants_mandatory() >> m & 1, wanted);
        found += wanted;
    }
    assert_int_equal(found, 4);
    assert_null(mxv_mutant_get(MXV_MUTANT_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inequality), cmocka_unit_test(test_special_words),
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_merge_and_survivors),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
