// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Special functions: special inputs and range ends as docs/numerics.md states them, the scalings of
// the forms without .ftz at both ends, division, the two software exponentials. Complete mantissa
// tables are in golden.sfu, accuracy in unit.special_accuracy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mxverify/special.h>

enum { NAN_WORD = 0x7fffffff, INF = 0x7f800000 };

static uint32_t word_of(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

static float float_of(uint32_t w)
{
    float v;
    memcpy(&v, &w, sizeof v);
    return v;
}

struct row {
    uint32_t x, want;
};

#define CHECK(call, ...)                                                                           \
    do {                                                                                           \
        const struct row t_[] = {__VA_ARGS__};                                                     \
        for (size_t i_ = 0; i_ < sizeof t_ / sizeof t_[0]; i_++) {                                 \
            uint32_t x = t_[i_].x;                                                                 \
            assert_int_equal(call, t_[i_].want);                                                   \
        }                                                                                          \
    } while (0)

static void test_ex2(void **state)
{
    (void)state;
    for (int n = -126; n <= 127; n++) // exact on integers
        assert_int_equal(mxv_ex2(word_of((float)n), true), word_of(ldexpf(1, n)));
    CHECK(mxv_ex2(x, true), {0, word_of(1)}, {0x80000000, word_of(1)}, {0x00000001, word_of(1)},
          {0x807fffff, word_of(1)}, {0x33ffffff, word_of(1)}, {0xb3ffffff, word_of(1)},
          {0x43000000, INF}, {INF, INF}, {0xff800000, 0}, {0xc3000000, 0}, {0xc2fe0000, 0},
          {0xc2fc0000, 0x00800000}, {0xc2fc0001, 0}, {0x7f800001, NAN_WORD},
          {0xffffffff, NAN_WORD});
    // Without .ftz: the square of the half below -126, subnormal results kept.
    CHECK(mxv_ex2(x, false), {0xc3000000, word_of(0x1p-128f)}, {word_of(-130), word_of(0x1p-130f)},
          {word_of(-149), 1}, {word_of(-151), 0}, {0xc2fc0000, 0x00800000}, {0xff800000, 0},
          {0x7fc00000, NAN_WORD}, {0x43000000, INF});
}

static void test_rcp(void **state)
{
    (void)state;
    for (int n = -126; n <= 126; n++)
        assert_int_equal(mxv_rcp(word_of(ldexpf(-1, n)), true), word_of(-ldexpf(1, -n)));
    CHECK(mxv_rcp(x, true), {0, INF}, {0x80000000, 0xff800000}, {0x007fffff, INF}, {INF, 0},
          {0xff800000, 0x80000000}, {0x7e800000, 0x00800000}, {0x7e800001, 0},
          {0xfe800001, 0x80000000}, {0x7f800001, NAN_WORD});
    // Without .ftz: large and subnormal arguments are scaled before and after.
    CHECK(mxv_rcp(x, false), {0x7f000000, 0x00400000}, {0x00400000, 0x7f000000}, {0x00100000, INF},
          {0x00000001, INF}, {0, INF}, {0x80000000, 0xff800000}, {INF, 0},
          {0x7e800000, 0x00800000});
}

static void test_rsqrt(void **state)
{
    (void)state;
    for (int n = -63; n <= 63; n++) // powers of four
        assert_int_equal(mxv_rsqrt(word_of(ldexpf(1, 2 * n)), true), word_of(ldexpf(1, -n)));
    CHECK(mxv_rsqrt(x, true), {0, INF}, {0x80000000, 0xff800000}, {0x007fffff, INF},
          {0x80000001, 0xff800000}, {INF, 0}, {0xff800000, NAN_WORD}, {0xbf800000, NAN_WORD},
          {0x7fc00000, NAN_WORD});
    CHECK(mxv_rsqrt(x, false), {1u << 21, word_of(0x1p64f)}, {1u << 1, word_of(0x1p74f)}, {0, INF},
          {0x80000000, 0xff800000}, {0x80000001, NAN_WORD}, {0x00800000, word_of(0x1p63f)});
}

static void test_lg2(void **state)
{
    (void)state;
    for (int n = -126; n <= 127; n++) {
        float got = float_of(mxv_lg2(word_of(ldexpf(1, n)), true));
        assert_true(fabsf(got - (float)n) <= 0x1p-22f * fmaxf(1, fabsf((float)n)));
    }
    CHECK(mxv_lg2(x, true), {word_of(1), 0}, {0, 0xff800000}, {0x80000000, 0xff800000},
          {0x007fffff, 0xff800000}, {0x807fffff, 0xff800000}, {INF, INF}, {0xff800000, NAN_WORD},
          {0xbf800000, NAN_WORD}, {0x7f800001, NAN_WORD});
    assert_true(fabsf(float_of(mxv_lg2(0x00400000, false)) + 127) < 0x1p-15f);
    assert_true(fabsf(float_of(mxv_lg2(0x00000001, false)) + 149) < 0x1p-15f);
    CHECK(mxv_lg2(x, false), {0, 0xff800000}, {0x80000001, NAN_WORD}, {0x80000000, 0xff800000});
}

// x * 2^f with an unscaled divisor must be the product with the reciprocal, rounded once.
static void test_division(void **state)
{
    const uint32_t big = word_of(0x1.8p126f), tiny = 0x00000003, six = word_of(6);
    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t x = i * 2654435761u, y = 0x3f000000 + i * 40503u % 0x02000000;
        float product = float_of(x) * float_of(mxv_rcp(y, true));
        uint32_t want = isnan(product) ? NAN_WORD : word_of(product);
        assert_int_equal(mxv_div_full(x, y, false), want);
        assert_int_equal(mxv_div_approx(x, y), want);
    }
    // A divisor above 2^126 has a subnormal reciprocal: only the scaled forms keep the quotient.
    assert_int_equal(mxv_div_full(big, big, false), word_of(1));
    assert_int_equal(mxv_div_full(big, big, true), word_of(1));
    assert_int_equal(mxv_div_approx(big, big), 0);
    // A subnormal divisor: div.full and div.approx scale it, .ftz flushes it.
    assert_int_equal(mxv_div_full(tiny, tiny, false), word_of(1));
    assert_int_equal(mxv_div_approx(tiny, tiny), word_of(1));
    assert_int_equal(mxv_div_full(word_of(1), tiny, true), INF);
    assert_int_equal(mxv_div_full(tiny, tiny, true), NAN_WORD); // 0 * Inf
    assert_int_equal(mxv_div_full(0x00800000, word_of(2), false), 0x00400000);
    assert_int_equal(mxv_div_full(0x80800000, word_of(2), true), 0x80000000);
    assert_int_equal(mxv_div_full(word_of(1), 0, false), INF);
    assert_int_equal(mxv_div_full(0, 0, false), NAN_WORD);
    assert_int_equal(mxv_div_full(INF, INF, false), NAN_WORD);
    assert_int_equal(mxv_div_full(word_of(1), 0xff800000, false), 0x80000000);
    // With a following add there is one rounding.
    uint32_t r6 = mxv_rcp(six, true);
    size_t apart = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t x = 0x3f000000 + i * 7919u % 0x03000000, c = word_of(1e-7f);
        float once = fmaf(float_of(x), float_of(r6), 1e-7f);
        assert_int_equal(mxv_div_full_add(x, six, c), word_of(once));
        apart += word_of(float_of(mxv_div_full(x, six, false)) + 1e-7f) != word_of(once);
    }
    assert_true(apart > 1000); // two roundings would have been noticed
    assert_int_equal(mxv_div_full_add(big, big, word_of(1)), word_of(2));
}

static void test_polynomial(void **state)
{
    double worst = 0;
    (void)state;
    for (int n = -126; n <= 127; n++)
        assert_int_equal(mxv_ex2_poly(word_of((float)n), 3), word_of(ldexpf(1, n)));
    CHECK(mxv_ex2_poly(x, 3), {word_of(-127), 0}, {word_of(-1000), 0}, {0xff800000, 0},
          {0x7fc00000, 0}, {0x80000000, word_of(1)}, {0, word_of(1)});
    for (uint32_t i = 0; i < 1 << 20; i++) {
        float x = (float)i * 0x1p-20f;
        double error = float_of(mxv_ex2_poly(word_of(x), 3)) / exp2(x) - 1;
        worst = fmax(worst, fabs(error));
        float y = x - 21;
        error = float_of(mxv_ex2_poly(word_of(y), 3)) / exp2(y) - 1;
        worst = fmax(worst, fabs(error));
    }
    printf("polynomial: largest relative error %.3g\n", worst);
    assert_true(worst <= 8.78e-5 && worst > 8.7e-5);
    // A tiny negative argument rounds down to -1, so f is 1 after rounding: p(1) / 2 = 0.99991...
    float p = fmaf(fmaf(0.077119089663028717041015625f, 1, 0.227564394474029541015625f), 1,
                   0.695146143436431884765625f) +
              1.0f;
    assert_int_equal(mxv_ex2_poly(0x80000001, 3), word_of(p / 2));
}

static void test_correctly_rounded(void **state)
{
    (void)state;
    CHECK(mxv_ex2_rn(x), {0, word_of(1)}, {word_of(128), INF}, {0xff800000, 0}, {INF, INF},
          {0xffc00000, NAN_WORD}, {word_of(-149), 1}, {word_of(-150), 0}, {0xc315ffff, 1},
          {0x42ffffff, 0x7f7fffa7}, {word_of(0.5f), 0x3fb504f3}, {0x00000001, word_of(1)});
    for (uint32_t i = 0; i < 4000; i++) { // far from ties binary64 decides
        uint32_t x = 0xbf000000 + i * 104729u % 0x03000000;
        double v = exp2(float_of(x));
        float f = (float)v;
        double ulp = ldexp(1, (v < 0x1p-126 ? -126 : ilogb(v)) - 23);
        double rest = fabs(fabs(v - f) / ulp - 0.5);
        if (rest > 1e-6)
            assert_int_equal(mxv_ex2_rn(x), word_of(f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ex2),
                                       cmocka_unit_test(test_rcp),
                                       cmocka_unit_test(test_rsqrt),
                                       cmocka_unit_test(test_lg2),
                                       cmocka_unit_test(test_division),
                                       cmocka_unit_test(test_polynomial),
                                       cmocka_unit_test(test_correctly_rounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
