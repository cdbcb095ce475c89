// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The one rounding step in every mode, against the slow oracle's search over all values of a
// format; and the exact arithmetic on values against 128-bit integers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include <mxverify/element.h>

#include "slow_format.h"

static uint64_t random_state = 0x9E3779B97F4A7C15u;

static uint64_t random_word(void)
{
    return slow_random(&random_state);
}

struct mode {
    enum mxv_round round;
    enum slow_round slow;
};

static const struct mode modes[] = {
    {MXV_RNE, SLOW_RNE}, {MXV_RNA, SLOW_RNA}, {MXV_RNZ, SLOW_RNZ},
    {MXV_RTZ, SLOW_RTZ}, {MXV_RTP, SLOW_RTP}, {MXV_RTN, SLOW_RTN},
    {MXV_RTO, SLOW_RTO}, {MXV_RHU, SLOW_RHU}, {MXV_RS, SLOW_RS},
};

static uint64_t check_count;

static void check(const struct slow_table *t, enum mxv_element f, const struct mode *m, bool ieee,
                  uint32_t word)
{
    struct mxv_encode p = {0};
    p.round = m->round;
    p.overflow = ieee ? MXV_OVERFLOW_IEEE : MXV_OVERFLOW_SAT;
    p.random_bits = (unsigned)(random_word() % 33);
    p.random = p.random_bits == 0 ? 0 : (uint32_t)(random_word() >> (64 - p.random_bits));
    const double x = (double)slow_float(word);
    const int min = f == MXV_S8 ? -128 : -127;
    const int want = slow_encode_full(t, x, m->slow, ieee, false, min, p.random, p.random_bits);
    const uint64_t got = mxv_element_from_f32(f, word, &p);
    check_count++;
    if (isnan(x))
        return;
    if (want < 0 ? !mxv_element_is_nan(f, got) : got != (uint64_t)want)
        fail_msg("%s %s %s %08X: %llX, want %X", t->format->name, mxv_round_name(m->round),
                 mxv_overflow_name(p.overflow), word, (unsigned long long)got, (unsigned)want);
}

static void check_all_modes(const struct slow_table *t, enum mxv_element f, uint32_t word)
{
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
        for (int i = 0; i < 4; i++)
            check(t, f, &modes[m], i % 2 != 0, i / 2 != 0 ? word ^ 0x80000000u : word);
}

/// Values of the format, midpoints and quarter points, each with its two binary32 neighbours; then
/// random words, full range and near the format's range.
static void test_formats_all_modes(void **state)
{
    (void)state;
    for (size_t i = 0; i < SLOW_FORMAT_COUNT; i++) {
        struct slow_table t = slow_table_make(slow_formats[i].name);
        enum mxv_element f = MXV_E2M1;
        assert_true(mxv_element_find(slow_formats[i].name, &f));
        const int stride = t.count > 1000 ? 97 : 1;
        for (int c = 0; c < t.count; c += stride) {
            for (int quarter = 0; quarter < 4; quarter++) {
                const double step = (t.value[c + 1] - t.value[c]) / 4;
                const uint32_t word = slow_word((float)(t.value[c] + quarter * step));
                for (uint32_t d = 0; d < 3; d++)
                    if (word + d >= 1)
                        check_all_modes(&t, f, word + d - 1);
            }
        }
        const int top = ilogb(t.value[t.count - 1]);
        for (int k = 0; k < 20000; k++) {
            const uint32_t word = (uint32_t)random_word();
            const int exp = top + 2 - (int)(random_word() % 24);
            const float near = ldexpf(1.0f + (float)(word & 0x7FFFFF) * 0x1p-23f, exp);
            check_all_modes(&t, f, word & 0x7FFFFFFF);
            check_all_modes(&t, f, slow_word(near));
        }
        slow_table_free(&t);
    }
    printf("%llu roundings\n", (unsigned long long)check_count);
}

/// Over all random words of 8 bits a stochastic rounding goes up exactly as often as the fraction
/// says.
static void test_stochastic_is_unbiased(void **state)
{
    (void)state;
    for (int eighth = 0; eighth < 8; eighth++) {
        const float x = 4.0f + 0.25f * (float)eighth; // E2M1 neighbours 4 and 6
        int ups = 0;
        for (uint32_t r = 0; r < 256; r++) {
            struct mxv_encode p = {0};
            p.round = MXV_RS;
            p.random = r;
            p.random_bits = 8;
            ups += mxv_element_from_f32(MXV_E2M1, slow_word(x), &p) == 7;
        }
        assert_int_equal(ups, 32 * eighth);
    }
    struct mxv_encode p = {0};
    p.round = MXV_RS;
    assert_int_equal(mxv_element_from_f32(MXV_E2M1, slow_word(5.99f), &p), 6);
}

static void test_round_shift_extremes(void **state)
{
    (void)state;
    assert_true(mxv_round_shift(UINT64_MAX, 0, MXV_RNE, false, false, 0, 0) == UINT64_MAX);
    assert_int_equal(mxv_round_shift(UINT64_C(1) << 63, 64, MXV_RNE, false, false, 0, 0), 0);
    assert_int_equal(mxv_round_shift((UINT64_C(1) << 63) + 1, 64, MXV_RNE, false, false, 0, 0), 1);
    assert_int_equal(mxv_round_shift(UINT64_C(1) << 63, 64, MXV_RNE, false, true, 0, 0), 1);
    assert_int_equal(mxv_round_shift(UINT64_C(1) << 63, 64, MXV_RNA, false, false, 0, 0), 1);
    assert_int_equal(mxv_round_shift(UINT64_C(1) << 63, 63, MXV_RNE, false, false, 0, 0), 1);
    assert_int_equal(mxv_round_shift(UINT64_C(3) << 62, 63, MXV_RNE, false, false, 0, 0), 2);
    assert_int_equal(mxv_round_shift(UINT64_MAX, 65, MXV_RNA, false, false, 0, 0), 0);
    assert_int_equal(mxv_round_shift(1, 4000, MXV_RTP, false, false, 0, 0), 1);
    assert_int_equal(mxv_round_shift(1, 4000, MXV_RTN, true, false, 0, 0), 1);
    assert_int_equal(mxv_round_shift(1, 4000, MXV_RNE, false, true, 0, 0), 0);
    assert_int_equal(mxv_round_shift(UINT64_MAX, 4000, MXV_RS, false, false, 0xFFFFFFFF, 32), 0);
    assert_int_equal(mxv_round_shift(0, 17, MXV_RTO, false, false, 0, 0), 0);
}

static struct mxv_value number(unsigned sign, uint64_t sig, int exp)
{
    struct mxv_value v = {MXV_FINITE, (uint8_t)sign, exp, sig};
    return v;
}

/// got = exact, or the odd one of the two neighbours of num * 2^-shift at got's precision.
static void assert_rounded_to_odd(struct mxv_value got, unsigned __int128 num, int exp, bool sticky)
{
    int shift = got.exp - exp;
    while (shift < 0) {
        assert_true(num >> 126 == 0);
        num <<= 1;
        shift++;
    }
    const unsigned __int128 below = num >> shift;
    const bool inexact = sticky || (below << shift) != num;
    assert_true(got.sig == (uint64_t)below || (inexact && got.sig == (uint64_t)(below | 1)));
    if (inexact) {
        assert_true((got.sig & 1) != 0);
        assert_true(mxv_bit_top(got.sig) >= 60);
    }
}

static void test_mul(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint64_t a = random_word() >> (random_word() % 63),
                       b = random_word() >> (random_word() % 63);
        const struct mxv_value got = mxv_value_mul(number(0, a, -7), number(1, b, 9));
        if (a == 0 || b == 0) {
            assert_int_equal(got.sig, 0);
            continue;
        }
        assert_int_equal(got.sign, 1);
        assert_rounded_to_odd(got, (unsigned __int128)a * b, 2, false);
    }
}

static void test_div(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint64_t a = (random_word() >> (11 + random_word() % 52)) | 1;
        const uint64_t b = (random_word() >> (11 + random_word() % 52)) | 1;
        const struct mxv_value got = mxv_value_div(number(1, a, 3), number(1, b, -4));
        const int shift = 126 - mxv_bit_top(a);
        const unsigned __int128 scaled = (unsigned __int128)a << shift;
        assert_int_equal(got.sign, 0);
        assert_rounded_to_odd(got, scaled / b, 7 - shift, scaled % b != 0);
    }
}

static void test_add(void **state)
{
    (void)state;
    for (int i = 0; i < 400000; i++) {
        const uint64_t a = random_word() >> (16 + random_word() % 48),
                       b = random_word() >> (16 + random_word() % 48);
        const int gap = (int)(random_word() % 70);
        const bool subtract = random_word() % 2 != 0;
        const struct mxv_value got = mxv_value_add(number(0, a, gap), number(subtract, b, 0));
        const __int128 sum = ((__int128)a << gap) + (subtract ? -(__int128)b : (__int128)b);
        if (sum == 0) {
            assert_true(got.sig == 0 && got.sign == 0);
            continue;
        }
        assert_int_equal(got.sign, sum < 0);
        assert_rounded_to_odd(got, (unsigned __int128)(sum < 0 ? -sum : sum), 0, false);
    }
}

/// IEEE 754 rules for zeros, infinities and NaN.
static void test_specials(void **state)
{
    (void)state;
    const struct mxv_value zero = number(0, 0, 0), minus_zero = number(1, 0, 0),
                           one = number(0, 1, 0);
    const struct mxv_value inf = {MXV_INF, 0, 0, 0}, minus_inf = {MXV_INF, 1, 0, 0};
    const struct mxv_value nan = {MXV_NAN, 1, 0, 0};
    assert_int_equal(mxv_value_mul(zero, inf).kind, MXV_NAN);
    assert_int_equal(mxv_value_mul(minus_inf, one).sign, 1);
    assert_int_equal(mxv_value_mul(minus_zero, one).sign, 1);
    assert_int_equal(mxv_value_div(zero, zero).kind, MXV_NAN);
    assert_int_equal(mxv_value_div(inf, inf).kind, MXV_NAN);
    assert_int_equal(mxv_value_div(one, minus_zero).kind, MXV_INF);
    assert_int_equal(mxv_value_div(one, minus_zero).sign, 1);
    assert_int_equal(mxv_value_div(one, minus_inf).sig, 0);
    assert_int_equal(mxv_value_add(inf, minus_inf).kind, MXV_NAN);
    assert_int_equal(mxv_value_add(minus_inf, one).sign, 1);
    assert_int_equal(mxv_value_add(minus_zero, minus_zero).sign, 1);
    assert_int_equal(mxv_value_add(minus_zero, zero).sign, 0);
    assert_int_equal(mxv_value_add(nan, one).kind, MXV_NAN);
    assert_int_equal(mxv_value_mul(nan, zero).kind, MXV_NAN);
    assert_int_equal(mxv_value_compare_magnitude(minus_inf, one), 1);
    assert_int_equal(mxv_value_compare_magnitude(inf, minus_inf), 0);
    assert_int_equal(mxv_value_compare_magnitude(zero, minus_zero), 0);
    assert_int_equal(mxv_value_compare_magnitude(number(1, 3, -1), number(0, 1, 1)), -1);
    assert_int_equal(mxv_value_compare_magnitude(number(1, 6, 0), number(0, 3, 1)), 0);
    assert_int_equal(mxv_value_normalize(number(0, 5, 0)).sig >> 60, 5);
    assert_int_equal(mxv_value_normalize(number(0, 5, 0)).exp, -60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_all_modes),
        cmocka_unit_test(test_stochastic_is_unbiased),
        cmocka_unit_test(test_round_shift_extremes),
        cmocka_unit_test(test_mul),
        cmocka_unit_test(test_div),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_specials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
