// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E8M0 scale rules: the published codes at separating maxima, every rule over whole binades against
// its definition in exact double arithmetic, the libm rules against MPFR, and the special maxima.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include <mpfr.h>

#include <mxverify/scale.h>

#include "slow_format.h"

static uint32_t word(double x)
{
    return slow_word((float)x);
}

struct row {
    enum mxv_element element;
    double amax;
    unsigned floor, rceil, ceil, even, ratio_floor, near15, near_sqrt2;
};

/// Codes of torchao, cuBLAS, Triton, AMD Quark and MLX rules at maxima where they part.
static const struct row rows[] = {
    {MXV_E2M1, 4, 0x7F, 0x7F, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E},
    {MXV_E2M1, 4.25, 0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7E, 0x7F},
    {MXV_E2M1, 4.5, 0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7F, 0x7F},
    {MXV_E2M1, 5, 0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7F, 0x7F},
    {MXV_E2M1, 6, 0x7F, 0x7F, 0x80, 0x7F, 0x7F, 0x7F, 0x7F},
    {MXV_E2M1, 6.5, 0x7F, 0x80, 0x80, 0x7F, 0x7F, 0x7F, 0x7F},
    {MXV_E2M1, 7, 0x7F, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E2M1, 7.5, 0x7F, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E2M1, 8, 0x80, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E2M1, 8.5, 0x80, 0x80, 0x81, 0x80, 0x7F, 0x7F, 0x80},
    {MXV_E2M1, 9, 0x80, 0x80, 0x81, 0x80, 0x7F, 0x80, 0x80},
    {MXV_E4M3, 150, 0x7E, 0x7E, 0x7F, 0x7E, 0x7D, 0x7D, 0x7D},
    {MXV_E4M3, 256, 0x7F, 0x7F, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E},
    {MXV_E4M3, 300, 0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7E, 0x7E},
    {MXV_E4M3, 320, 0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7E, 0x7F},
    {MXV_E4M3, 400, 0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7F, 0x7F},
    {MXV_E4M3, 448, 0x7F, 0x7F, 0x80, 0x7F, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 449, 0x7F, 0x80, 0x80, 0x7F, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 480, 0x7F, 0x80, 0x80, 0x7F, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 496, 0x7F, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 500, 0x7F, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 512, 0x80, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 600, 0x80, 0x80, 0x81, 0x80, 0x7F, 0x7F, 0x7F},
    {MXV_E4M3, 640, 0x80, 0x80, 0x81, 0x80, 0x7F, 0x7F, 0x80},
    {MXV_E4M3, 700, 0x80, 0x80, 0x81, 0x80, 0x7F, 0x80, 0x80},
};

static void test_published_codes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        const unsigned want[] = {r->floor,       r->rceil,  r->ceil,      r->even,
                                 r->ratio_floor, r->near15, r->near_sqrt2};
        for (int rule = 0; rule < 7; rule++)
            assert_int_equal(
                mxv_scale_e8m0((enum mxv_scale_rule)rule, r->element, word(r->amax), NULL),
                want[rule]);
    }
}

struct pair {
    enum mxv_scale_rule a, b;
    double amax[5]; // E2M1 E4M3 E2M3 E3M2 E5M2
    unsigned code_a[5], code_b[5];
};

#define ALL(c)                                                                                     \
    {                                                                                              \
        c, c, c, c, c                                                                              \
    }

/// One maximum per pair of rules and format at which the two differ.
static const struct pair pairs[] = {
    {MXV_SCALE_FLOOR, MXV_SCALE_RCEIL, {6.5, 449, 7.5625, 28.25, 57600}, ALL(0x7F), ALL(0x80)},
    {MXV_SCALE_FLOOR, MXV_SCALE_CEIL, {5, 300, 4.0625, 16.25, 33024}, ALL(0x7F), ALL(0x80)},
    {MXV_SCALE_FLOOR, MXV_SCALE_EVEN, {7, 496, 7.75, 30, 61440}, ALL(0x7F), ALL(0x80)},
    {MXV_SCALE_RCEIL, MXV_SCALE_CEIL, {5, 300, 5, 20, 40960}, ALL(0x7F), ALL(0x80)},
    {MXV_SCALE_RCEIL, MXV_SCALE_EVEN, {6.5, 460, 7.625, 29, 60000}, ALL(0x80), ALL(0x7F)},
    {MXV_SCALE_CEIL, MXV_SCALE_EVEN, {5, 300, 5, 20, 40960}, ALL(0x80), ALL(0x7F)},
    {MXV_SCALE_FLOOR, MXV_SCALE_RATIO_FLOOR, {4, 256, 4, 16, 32768}, ALL(0x7F), ALL(0x7E)},
    {MXV_SCALE_RCEIL, MXV_SCALE_NEAR15, {4, 300, 4, 16, 40960}, ALL(0x7F), ALL(0x7E)},
    {MXV_SCALE_NEAR15, MXV_SCALE_NEAR_SQRT2, {4.25, 320, 5.5, 20, 40960}, ALL(0x7E), ALL(0x7F)},
    {MXV_SCALE_EVEN,
     MXV_SCALE_NEAR_SQRT2,
     {7, 256, 7.75, 30, 61440},
     {0x80, 0x7F, 0x80, 0x80, 0x80},
     {0x7F, 0x7E, 0x7F, 0x7F, 0x7F}},
};

static void test_separating_maxima(void **state)
{
    (void)state;
    static const enum mxv_element elements[] = {MXV_E2M1, MXV_E4M3, MXV_E2M3, MXV_E3M2, MXV_E5M2};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int e = 0; e < 5; e++) {
            const uint32_t a = word(pairs[i].amax[e]);
            assert_int_equal(mxv_scale_e8m0(pairs[i].a, elements[e], a, NULL), pairs[i].code_a[e]);
            assert_int_equal(mxv_scale_e8m0(pairs[i].b, elements[e], a, NULL), pairs[i].code_b[e]);
        }
    }
}

/// NVIDIA/Model-Optimizer#736 and microsoft/microxcaling: f32 logarithms, and what they should be.
static void test_logarithm_traps(void **state)
{
    (void)state;
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_RCEIL, MXV_E2M1, 0x42C00001, NULL), 0x84);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_CEIL_LIBM, MXV_E2M1, 0x42C00001, NULL), 0x83);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_FLOOR, MXV_E2M1, 0x40FFFFFF, NULL), 0x7F);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x40FFFFFF, NULL), 0x80);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_FLOOR, MXV_E2M1, 0x3DFFFFFF, NULL), 0x79);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x3DFFFFFF, NULL), 0x7A);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_RCEIL, MXV_E4M3, 0x43E00000, NULL), 0x7F);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_RCEIL, MXV_E4M3, 0x43600000, NULL), 0x7E);
    assert_int_equal(mxv_scale_e8m0(MXV_SCALE_RCEIL, MXV_E4M3, 0x44600000, NULL), 0x80);
}

/// The exponent by the definition, with a and M * 2^k exact doubles.
static int slow_exponent(enum mxv_scale_rule rule, const struct slow_table *t, double a)
{
    const double largest = t->value[t->count - 1];
    const int emax = ilogb(largest), floor_a = ilogb(a);
    int k = -400;
    switch (rule) {
    case MXV_SCALE_CEIL:
        return (ldexp(1, floor_a) == a ? floor_a : floor_a + 1) - emax;
    case MXV_SCALE_EVEN:
        return floor_a - emax + (a >= ldexp(2 - ldexp(1, -t->format->man - 1), floor_a));
    case MXV_SCALE_MIDMAX: {
        const double scaled = ldexp(a, -(floor_a - emax));
        return floor_a - emax + (slow_round_index(t, scaled, false, SLOW_RNE, 0, 0) == t->count);
    }
    case MXV_SCALE_FLOOR:
        return floor_a - emax;
    default:
        break;
    }
    for (k = floor_a - emax - 3; ldexp(largest, k + 1) <= a; k++) {
    }
    const double power = ldexp(largest, k); // power <= a < 2 * power
    switch (rule) {
    case MXV_SCALE_RCEIL:
        return power == a ? k : k + 1;
    case MXV_SCALE_NEAR15:
        return k + (a >= 1.5 * power);
    case MXV_SCALE_NEAR_SQRT2: {
        const double ratio_a = ldexp(a, -floor_a), ratio_p = ldexp(power, -floor_a);
        return k + (ratio_a * ratio_a >= 2 * ratio_p * ratio_p);
    }
    default:
        return k;
    }
}

static unsigned clamp_code(int exponent)
{
    const int code = exponent + 127;
    return (unsigned)(code < 0 ? 0 : code > 254 ? 254 : code);
}

/// Every rule, every 61st significand of one binade, the words around its thresholds, and all
/// exponents with subnormals.
static void test_rules_by_definition(void **state)
{
    (void)state;
    static const char *const names[] = {"e2m1", "e4m3",   "e2m3",    "e3m2",
                                        "e5m2", "mxint8", "e4m3fnuz"};
    uint64_t checks = 0;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct slow_table t = slow_table_make(names[n]);
        enum mxv_element f = MXV_E2M1;
        assert_true(mxv_element_find(names[n], &f));
        for (int rule = 0; rule <= MXV_SCALE_MIDMAX; rule++) {
            for (uint32_t w = 0x3F800000; w < 0x40000000; w += 61) {
                const unsigned want =
                    clamp_code(slow_exponent((enum mxv_scale_rule)rule, &t, (double)slow_float(w)));
                assert_int_equal(mxv_scale_e8m0((enum mxv_scale_rule)rule, f, w, NULL), want);
                checks++;
            }
            for (uint32_t w = 1; w < 0x7F800000; w += w < 0x800000 ? 4093 : 0x1F071) {
                for (uint32_t snap = 0; snap < 3; snap++) {
                    const uint32_t v = snap == 0 ? w : (w & 0x7FF00000) + snap - 1;
                    if (v == 0)
                        continue;
                    const int want =
                        slow_exponent((enum mxv_scale_rule)rule, &t, (double)slow_float(v));
                    assert_int_equal(mxv_scale_e8m0((enum mxv_scale_rule)rule, f, v, NULL),
                                     clamp_code(want));
                    checks++;
                }
            }
        }
        slow_table_free(&t);
    }
    printf("%llu codes\n", (unsigned long long)checks);
}

/// midmax: one more where a rounds (nearest even) above M. At the midpoint itself the tie goes to
/// the even neighbour: up from an odd largest code (7, 1F, 7B), down to 448 = 7E.
static void test_midmax(void **state)
{
    (void)state;
    static const struct {
        enum mxv_element element;
        double midpoint;
        unsigned code;
    } ties[] = {{MXV_E2M1, 7, 0x80},      {MXV_E4M3, 464, 0x7F},   {MXV_E2M3, 7.75, 0x80},
                {MXV_E3M2, 30, 0x80},     {MXV_E5M2, 61440, 0x80}, {MXV_MXINT8, 1.9921875, 0x80},
                {MXV_E4M3FNUZ, 248, 0x80}};
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
        const uint32_t a = word(ties[i].midpoint);
        const enum mxv_element e = ties[i].element;
        assert_int_equal(mxv_scale_e8m0(MXV_SCALE_MIDMAX, e, a - 1, NULL), 0x7F);
        assert_int_equal(mxv_scale_e8m0(MXV_SCALE_MIDMAX, e, a, NULL), ties[i].code);
        assert_int_equal(mxv_scale_e8m0(MXV_SCALE_MIDMAX, e, a + 1, NULL), 0x80);
    }
}

/// f32 forms of the rceil rule: fl32(a / M) and fl32(a * fl32(1 / M)), rounded up by the fraction,
/// equal it over a whole binade for the OCP formats.
static void test_rceil_f32_forms(void **state)
{
    (void)state;
    static const enum mxv_element elements[] = {MXV_E2M1, MXV_E4M3, MXV_E2M3, MXV_E3M2, MXV_E5M2};
    for (int e = 0; e < 5; e++) {
        const float largest =
            slow_float(mxv_element_to_f32(elements[e], mxv_element_get(elements[e])->max_code));
        const volatile float inverse = 1.0f / largest;
        for (uint32_t w = 0x3F800000; w < 0x40000000; w += 7) {
            const volatile float a = slow_float(w), quotient = a / largest, product = a * inverse;
            const uint32_t q = slow_word(quotient), p = slow_word(product);
            const unsigned want = mxv_scale_e8m0(MXV_SCALE_RCEIL, elements[e], w, NULL);
            assert_int_equal((q >> 23) + ((q & 0x7FFFFF) != 0), want);
            assert_int_equal((p >> 23) + ((p & 0x7FFFFF) != 0), want);
        }
    }
}

/// floor and ceil of the correctly rounded binary32 logarithm, by MPFR.
static void check_log2(mpfr_t x, mpfr_t y, uint32_t w)
{
    mpfr_set_flt(x, slow_float(w), MPFR_RNDN);
    mpfr_log2(y, x, MPFR_RNDN);
    const double rounded = mpfr_get_d(y, MPFR_RNDN);
    assert_int_equal(mxv_f32_log2_floor_libm(w), (int)floor(rounded));
    assert_int_equal(mxv_f32_log2_ceil_libm(w), (int)ceil(rounded));
    assert_int_equal(mxv_f32_log2_floor(w), ilogb((double)slow_float(w)));
}

static void test_libm_rules(void **state)
{
    (void)state;
    mpfr_t x, y;
    mpfr_init2(x, 24);
    mpfr_init2(y, 24);
    for (int k = -149; k < 128; k++) {
        const uint32_t power = slow_word(ldexpf(1, k));
        for (int d = -150; d <= 150; d++) {
            const int64_t w = (int64_t)power + d;
            if (w > 0 && w < 0x7F800000)
                check_log2(x, y, (uint32_t)w);
        }
    }
    for (uint32_t w = 1; w < 0x7F800000; w += 0x4F1D)
        check_log2(x, y, w);
    mpfr_clear(x);
    mpfr_clear(y);
}

/// The number of words below 2^k whose log2f is k: 0 1 2 5 11 22 44 (docs/kernels/dma.md).
static void test_libm_slack(void **state)
{
    (void)state;
    static const struct {
        int k, slack;
    } want[] = {{0, 0},  {1, 0},   {2, 0},   {3, 1},    {4, 1},    {5, 2},    {8, 2},
                {9, 5},  {17, 11}, {33, 22}, {65, 44},  {128, 44}, {-1, 0},   {-2, 1},
                {-3, 1}, {-4, 2},  {-8, 5},  {-16, 11}, {-32, 22}, {-64, 44}, {-125, 44}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const uint32_t power = (uint32_t)(want[i].k + 127) << 23;
        int count = 0;
        while (mxv_f32_log2_floor_libm(power - 1 - (uint32_t)count) == want[i].k)
            count++;
        assert_int_equal(count, want[i].slack);
    }
}

static unsigned with(enum mxv_scale_rule rule, enum mxv_element e, uint32_t amax,
                     struct mxv_scale_policy p)
{
    return mxv_scale_e8m0(rule, e, amax, &p);
}

static void test_special_maxima(void **state)
{
    (void)state;
    const struct mxv_scale_policy none = {0};
    struct mxv_scale_policy p = {0};
    for (int rule = 0; rule < MXV_SCALE_RULE_COUNT; rule++) {
        const enum mxv_scale_rule r = (enum mxv_scale_rule)rule;
        assert_int_equal(with(r, MXV_E4M3, 0x7F800000, none), 0xFF);
        assert_int_equal(with(r, MXV_E4M3, 0x7FC00000, none), 0xFF);
        assert_int_equal(with(r, MXV_E4M3, 0x00000000, none), 0x00);
        assert_int_equal(with(r, MXV_E4M3, 0x80000000, none), 0x00);
        assert_int_equal(with(r, MXV_E4M3, 0x00000001, none), 0x00);
        assert_int_equal(with(r, MXV_E4M3, 0xC3E00000, none), with(r, MXV_E4M3, 0x43E00000, none));
    }
    p.inf = MXV_SCALE_INF_MAX;
    p.nan = MXV_SCALE_NAN_ZERO;
    p.zero = MXV_SCALE_ZERO_ONE;
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E2M1, 0x7F800000, p), 0xFE);
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E2M1, 0x7FC00000, p), 0x00);
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E2M1, 0x00000000, p), 0x7F);
    p = none;
    p.below = MXV_BELOW_NAN;
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E2M1, 0x00800000, p), 0xFF);
    assert_int_equal(with(MXV_SCALE_CEIL, MXV_MXINT8, 0x7F7FFFFF, none), 0xFE);
    p.above = MXV_ABOVE_NAN;
    assert_int_equal(with(MXV_SCALE_CEIL, MXV_MXINT8, 0x7F7FFFFF, p), 0xFF);
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_MXINT8, 0x7F7FFFFF, p), 0xFE);
}

/// ggml's unclamped byte: (uint8_t)(floorf(log2f(amax)) - 2 + 127).
static void test_ggml_wrap(void **state)
{
    (void)state;
    struct mxv_scale_policy p = {0};
    p.below = MXV_BELOW_WRAP;
    p.above = MXV_ABOVE_WRAP;
    assert_int_equal(with(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x00800000, p), 0xFF);
    assert_int_equal(with(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x00400000, p), 0xFE);
    assert_int_equal(with(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x00000001, p), 0xE8);
    assert_int_equal(with(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x7F7FFFFF, p), 0xFD);
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E2M1, 0x7F7FFFFF, p), 0xFC);
    assert_int_equal(with(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, 0x40FFFFFF, p), 0x80);
}

/// The released DMA kernel's exponents: 7 instead of 8 for E4M3, 3 instead of 2 for E2M1.
static void test_emax_offset(void **state)
{
    (void)state;
    struct mxv_scale_policy p = {0};
    p.emax_offset = -1;
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E4M3, word(448), p), 0x80);
    p.emax_offset = 1;
    assert_int_equal(with(MXV_SCALE_FLOOR, MXV_E2M1, word(6), p), 0x7E);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_codes), cmocka_unit_test(test_separating_maxima),
        cmocka_unit_test(test_logarithm_traps), cmocka_unit_test(test_rules_by_definition),
        cmocka_unit_test(test_midmax),          cmocka_unit_test(test_rceil_f32_forms),
        cmocka_unit_test(test_libm_rules),      cmocka_unit_test(test_libm_slack),
        cmocka_unit_test(test_special_maxima),  cmocka_unit_test(test_ggml_wrap),
        cmocka_unit_test(test_emax_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
