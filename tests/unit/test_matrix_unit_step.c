// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Directed cases of the matrix-unit rules, each worked by hand from the rule it names: truncation
// window, zero exponent, signs of zero, overflow, specials, chaining, the compiler's FP8 grouping,
// block scaling, integers. unit.matrix_unit_exact has random cases.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mxverify/matrix_unit.h>

enum { MAX_K = 64 };

// A list of (position, a, b); everything else is zero.
struct term {
    size_t k;
    uint32_t a, b;
};

static uint32_t eval(const char *model, const struct term *terms, size_t n, uint32_t c,
                     const uint8_t *sa, const uint8_t *sb)
{
    const struct mxv_mma_model *m = mxv_mma_find(model);
    uint32_t a[MAX_K] = {0}, b[MAX_K] = {0};
    assert_non_null(m);
    for (size_t i = 0; i < n; i++) {
        assert_true(terms[i].k < m->k);
        a[terms[i].k] = terms[i].a;
        b[terms[i].k] = terms[i].b;
    }
    return mxv_mma_dot(m, m->k, a, b, c, sa, sb);
}

#define CHECK(model, want, c, ...)                                                                 \
    do {                                                                                           \
        const struct term t_[] = {__VA_ARGS__};                                                    \
        assert_int_equal(eval(model, t_, sizeof t_ / sizeof t_[0], c, NULL, NULL), want);          \
    } while (0)

// f16 words of powers of two, subnormals included.
static uint32_t half(int e)
{
    return e >= -14 ? (uint32_t)(e + 15) << 10 : 1u << (e + 24);
}

static uint32_t bf16(int e)
{
    return e >= -126 ? (uint32_t)(e + 127) << 7 : 1u << (e + 133);
}

static uint32_t word_of(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

// c = 0, 2^-25 (half the smallest f16 subnormal, a tie) plus 2^-t. The sum is above the tie only
// while 2^-t survives the grid 2^(z-F). Measured on an H200 for both sm_90 rows.
static void test_zero_exponent_f16(void **state)
{
    static const struct {
        const char *model;
        int last;
    } rows[] = {{"sm_90.mma.f16.f16", 46},     {"sm_90.wgmma.f16.f16", 46},
                {"sm_80.mma.f16.f16", 44},     {"sm_70.mma.f16.f16", 42},
                {"sm_100.mma.f16.f16", 46},    {"sm_75.mma.f16.f16", 44},
                {"sm_100.tcgen05.f16.f16", 48}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int t = 40; t <= 48; t++) {
            uint32_t want = t <= rows[i].last ? 0x0001 : 0x0000;
            CHECK(rows[i].model, want, 0, {0, half(-12), half(-13)}, {1, half(-24), half(24 - t)});
        }
    }
    // A nonzero accumulator has a higher exponent than z, and lifts the grid to 2^-39.
    CHECK("sm_90.mma.f16.f16", 0x0002, 0x0002, {0, half(-12), half(-13)},
          {1, half(-24), half(-16)});
    CHECK("sm_90.mma.f16.f16", 0x0003, 0x0002, {0, half(-12), half(-13)},
          {1, half(-24), half(-15)});
}

// c = 0, 2^-149 - 2^-t: zero if 2^-t survives, else the smallest subnormal.
static void test_zero_exponent_f32(void **state)
{
    static const struct {
        const char *model;
        int last;
    } rows[] = {{"sm_90.mma.bf16.f32", 158},
                {"sm_90.wgmma.bf16.f32", 158},
                {"sm_100.tcgen05.bf16.f32", 158},
                {"sm_80.mma.bf16.f32", 156}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int t = 150; t <= 164; t++) {
            uint32_t want = t <= rows[i].last ? 0 : 1;
            CHECK(rows[i].model, want, 0, {0, bf16(-70), bf16(-79)},
                  {1, 0x8000 | bf16(-80), bf16(80 - t)});
        }
    }
}

static void test_signs_of_zero(void **state)
{
    (void)state;
    CHECK("sm_90.mma.bf16.f32", 0, 0x80000000, {0, 0, 0});
    CHECK("sm_90.mma.bf16.f32", 0, 0x80000000, {0, 0x8000, bf16(0)});
    CHECK("sm_90.mma.bf16.f32", 0, 0, {0, 0x8000 | bf16(-75), bf16(-75)}); // -2^-150
    CHECK("sm_90.mma.f16.f16", 0, 0, {0, 0x8000 | half(-13), half(-13)});  // -2^-26
    CHECK("sm_90.mma.f16.f16", 0, 0x8000, {0, 0, 0});
    CHECK("sm_90.mma.e4m3.f32", 0, 0x80000000, {0, 0, 0});
    CHECK("sm_90.mma.e4m3.f16", 0, 0x8000, {0, 0, 0});
    CHECK("sm_90.mma.bf16.f32", 0, word_of(1), {0, 0x8000 | bf16(0), bf16(0)});
    CHECK("sm_90.mma.bf16.f32", 0x80000001, 0, {0, 0x8000 | bf16(-75), bf16(-74)});
}

// 13 kept bits, deepseek-ai/DeepGEMM#37 and #176.
static void test_hopper_fp8(void **state)
{
    (void)state;
    CHECK("sm_90.wgmma.e4m3.f32", 0x3f800400, 0x3f800400, {0, 0, 0});
    CHECK("sm_90.wgmma.e4m3.f32", 0x3f800000, 0x3f800200, {0, 0, 0});
    CHECK("sm_90.wgmma.e4m3.f32", 0xbf800000, 0xbf8003ff, {0, 0, 0});
    CHECK("sm_90.wgmma.e4m3.f32", 0x3f800000, 0, {0, 0x38, 0x38}, {1, 0x04, 0x04});
    CHECK("sm_100.tcgen05.e4m3.f32", 0x3f800200, 0, {0, 0x38, 0x38}, {1, 0x04, 0x04});
    CHECK("sm_100.tcgen05.e4m3.f32", 0x3f800200, 0x3f800200, {0, 0, 0});
}

// The product is not normalised: 1.5 * 1.5 = 2.25 counts with exponent 0, so 2^-25 beside it stays.
static void test_window(void **state)
{
    (void)state;
    // 2.25 - 2^-25 truncates to the float below 2.25; with exponent 1 the small term would be lost.
    CHECK("sm_90.mma.f16.f32", word_of(nextafterf(2.25f, 0)), 0, {0, 0x3e00, 0x3e00},
          {1, 0x8000 | half(-12), half(-13)});
    CHECK("sm_90.mma.f16.f32", word_of(2.25f), 0, {0, 0x3e00, 0x3e00},
          {1, 0x8000 | half(-13), half(-13)});
    // Truncation toward zero, not down: two terms of -0.75 * 2^-25 vanish instead of becoming -1.
    CHECK("sm_90.mma.f16.f32", word_of(1), 0, {0, half(0), half(0)}, {1, 0x8a00, half(-13)},
          {2, 0x8a00, half(-13)});
}

static void test_overflow(void **state)
{
    (void)state;
    CHECK("sm_90.mma.bf16.f32", 0x7f800000, 0, {0, bf16(127), bf16(1)});
    CHECK("sm_90.mma.bf16.f32", 0xff800000, 0, {0, 0x8000 | bf16(127), bf16(127)});
    CHECK("sm_90.mma.bf16.f32", word_of(0x1p127f), 0, {0, bf16(127), bf16(1)},
          {1, 0x8000 | bf16(127), bf16(0)});
    CHECK("sm_90.mma.bf16.f32", 0, 0, {0, bf16(127), bf16(100)},
          {1, 0x8000 | bf16(127), bf16(100)});
    CHECK("sm_90.mma.bf16.f32", 0x7f7fffff, 0x7f7fffff, {0, bf16(0), bf16(0)});
    CHECK("sm_90.mma.f16.f16", 0x7c00, 0, {0, 0x7bff, half(0)}, {1, half(4), half(0)}); // 65520
    CHECK("sm_90.mma.f16.f16", 0x7bff, 0, {0, 0x7bff, half(0)}, {1, 0x4bff, half(0)});  // below it
    CHECK("sm_90.mma.f16.f16", 0xfc00, 0xfbff, {0, 0x7bff, 0x8000 | half(15)});
}

static void test_specials(void **state)
{
    const char *f32 = "sm_90.mma.bf16.f32", *f16 = "sm_90.mma.f16.f16";
    const uint32_t inf = 0x7f80, one = 0x3f80;
    (void)state;
    CHECK(f32, 0x7fffffff, 0, {3, 0xffc1, one});
    CHECK(f32, 0x7fffffff, 0xff800001, {3, one, one});
    CHECK(f32, 0x7fffffff, 0, {3, inf, 0x8000});
    CHECK(f32, 0x7fffffff, 0, {3, inf, one}, {9, 0x8000 | inf, one});
    CHECK(f32, 0x7fffffff, 0xff800000, {3, inf, one});
    CHECK(f32, 0x7f800000, 0x7f800000, {3, 0x8000 | inf, 0x8000 | one});
    CHECK(f32, 0xff800000, 0x7f7fffff, {3, 0x8000 | inf, one});
    CHECK(f32, 0xff800000, 0xff800000, {3, one, one});
    CHECK(f16, 0x7fff, 0xfe01, {0, 0, 0});
    CHECK(f16, 0xfc00, 0, {0, 0xfc00, half(0)});
    CHECK("sm_90.wgmma.e4m3.f32", 0x7fffffff, 0, {31, 0xff, 0});
    CHECK("sm_90.wgmma.e5m2.f32", 0x7f800000, 0, {31, 0x7c, 0x3c});
    CHECK("sm_90.mma.e5m2.f32", 0x7fffffff, 0xff800000, {31, 0x7c, 0x3c});
    CHECK("sm_90.mma.e5m2.f16", 0x7fff, 0xfc00, {31, 0x7c, 0x3c});
    CHECK("sm_90.mma.e5m2.f16", 0xfc00, 0x3c00, {31, 0xfc, 0x3c});
    CHECK("sm_90.mma.tf32.f32", 0x7f800000, 0, {0, 0x7f800001, word_of(1)});
}

// Eight products of 2^-25 and one of 1: kept if they are summed first, lost below the 24 bits of a
// step that holds the 1.
static void test_step_order(void **state)
{
    struct term small_first[9], one_first[9];
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        small_first[i] = (struct term){i, half(-12), half(-13)};
        one_first[i] = (struct term){i + 8, half(-12), half(-13)};
    }
    small_first[8] = (struct term){8, half(0), half(0)};
    one_first[8] = (struct term){0, half(0), half(0)};
    assert_int_equal(eval("sm_80.mma.f16.f32", small_first, 9, 0, NULL, NULL), 0x3f800002);
    assert_int_equal(eval("sm_80.mma.f16.f32", one_first, 9, 0, NULL, NULL), 0x3f800000);
    assert_int_equal(eval("sm_90.mma.f16.f32", small_first, 9, 0, NULL, NULL), 0x3f800002);
    assert_int_equal(eval("sm_90.mma.f16.f32", one_first, 9, 0, NULL, NULL), 0x3f800002);
}

// Two instructions of 16 products: the chain goes through a rounded accumulator.
static void test_instruction_chain(void **state)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_90.mma.f16.f16");
    uint32_t a[32] = {0}, b[32] = {0};
    (void)state;
    a[0] = a[1] = half(0), b[0] = half(0), b[1] = half(-11); // 1 + 2^-11, a tie, stays 1
    a[16] = half(0), b[16] = half(-11);                      // again
    assert_int_equal(mxv_mma_dot(m, 32, a, b, 0, NULL, NULL), 0x3c00);
    a[2] = half(0), b[2] = half(-11), b[16] = 0; // both in one instruction: 1 + 2^-10
    assert_int_equal(mxv_mma_dot(m, 32, a, b, 0, NULL, NULL), 0x3c01);
}

// FP8 mma.sync: k mod 4 in {0,1} first, then {2,3}, each rounded to f16; then c by itself.
static void test_compiled_fp8(void **state)
{
    const uint32_t one = 0x38, x = 0x10, y = 0x08; // x * y = 2^-11
    const char *f16 = "sm_90.mma.e4m3.f16", *f32 = "sm_100.mma.e4m3.f32";
    (void)state;
    CHECK(f16, 0x3c00, 0, {0, one, one}, {1, x, y}, {2, x, y});
    CHECK(f16, 0x3c01, 0, {0, one, one}, {1, x, y}, {4, x, y});
    CHECK(f16, 0x3c01, 0, {0, one, one}, {1, x, y}, {17, x, y});
    CHECK(f16, 0x3c00, 0, {0, one, one}, {1, x, y}, {30, x, y});
    CHECK(f16, 0x3c01, 0x3c00, {0, x, y}, {31, x, y});  // c sees their sum
    CHECK(f32, 0x4b800000, 0x4b800000, {0, one, one});  // 2^24 + 1, ties to even
    CHECK(f32, 0x4b800002, 0x4b800000, {0, one, 0x44}); // 2^24 + 3
    CHECK("sm_100.tcgen05.e4m3.f32", 0x4b800001, 0x4b800000, {0, one, 0x44}); // truncated instead
}

static uint32_t eval_scaled(const char *model, const struct term *t, size_t n, uint32_t c,
                            const char *sa, const char *sb)
{
    return eval(model, t, n, c, (const uint8_t *)sa, (const uint8_t *)sb);
}

static void test_mx_scales(void **state)
{
    const char *m = "sm_100.tcgen05.mxf8f6f4.e4m3.f32";
    const struct term one[] = {{0, 0x38, 0x38}};
    (void)state;
    assert_int_equal(eval_scaled(m, one, 1, word_of(1), "\x80", "\x81"), word_of(9));
    assert_int_equal(eval_scaled(m, one, 1, 0, "\x00", "\xfe"), word_of(1));
    assert_int_equal(eval_scaled(m, one, 1, 0, "\x00", "\x6b"), word_of(0x1p-147f));
    assert_int_equal(eval_scaled(m, one, 1, 0, "\x00", "\x00"), 0);
    assert_int_equal(eval_scaled(m, one, 1, 0, "\xfe", "\xfe"), 0x7f800000);
    assert_int_equal(eval_scaled(m, one, 0, 0, "\xff", "\x7f"), 0x7fffffff);
    assert_int_equal(eval_scaled(m, one, 0, 0xff800000, "\x7f", "\xff"), 0x7fffffff);
}

// F = 35 under the largest scale exponent; groups are summed before they are cut.
static void test_fp4_groups(void **state)
{
    const char *m = "sm_100.tcgen05.mxf4nvf4.ue8m0x16.f32";
    // 1 in group 0 and -0.25 (twice) in group 1; then 36 in group 0
    const struct term t[] = {{0, 2, 2}, {16, 9, 1}, {17, 9, 1}};
    const struct term big[] = {{0, 7, 7}, {16, 9, 1}};
    (void)state;
    // Group 1 scaled by 2^-33: -2^-35 is still on the grid; by 2^-34 it is not, unless doubled.
    assert_int_equal(eval_scaled(m, t, 2, 0, "\x7f\x5e\x7f\x7f", "\x7f\x7f\x7f\x7f"), 0x3f7fffff);
    assert_int_equal(eval_scaled(m, t, 2, 0, "\x7f\x5d\x7f\x7f", "\x7f\x7f\x7f\x7f"), 0x3f800000);
    assert_int_equal(eval_scaled(m, t, 3, 0, "\x7f\x5d\x7f\x7f", "\x7f\x7f\x7f\x7f"), 0x3f7fffff);
    // Element exponents take no part: 36 does not move the grid.
    assert_int_equal(eval_scaled(m, big, 2, 0, "\x7f\x5e\x7f\x7f", "\x7f\x7f\x7f\x7f"),
                     word_of(nextafterf(36, 0)));
    // An all-zero group counts with z, not with its scale.
    assert_int_equal(eval_scaled(m, t, 2, 0, "\x7f\x5e\xfe\x7f", "\x7f\x7f\xfe\x7f"), 0x3f7fffff);
    assert_int_equal(eval_scaled(m, t, 0, 0x80000000, "\xfe\xfe\xfe\xfe", "\xfe\xfe\xfe\xfe"), 0);
    assert_int_equal(eval_scaled(m, t, 0, 0x7f800000, "\x7f\x7f\x7f\x7f", "\x7f\x7f\xff\x7f"),
                     0x7fffffff);
    assert_int_equal(eval_scaled(m, t, 1, 0xff800000, "\x7f\x7f\x7f\x7f", "\x7f\x7f\x7f\x7f"),
                     0xff800000);
}

static void test_nvfp4_scales(void **state)
{
    const char *m = "sm_120.mma.mxf4nvf4.ue4m3.f32", *wide = "sm_120.mma.mxf4nvf4.ue4m3x32.f32";
    const struct term t[] = {{0, 2, 2}, {16, 2, 2}, {32, 2, 2}, {48, 2, 10}};
    (void)state;
    // 1*1*1.125 + 1*2*1 + 1*0 - 1*2^-9*2^-9
    assert_int_equal(eval_scaled(m, t, 4, 0, "\x38\x40\x38\x01", "\x39\x38\x00\x01"),
                     word_of(3.125f - 0x1p-18f));
    assert_int_equal(eval_scaled(m, t, 2, 0, "\xb8\x40\x38\x38", "\x39\xb8\x38\x38"),
                     word_of(3.125f)); // bit 7 is ignored
    assert_int_equal(eval_scaled(m, t, 1, 0, "\x38\x38\x38\xff", "\x38\x38\x38\x38"), 0x7fffffff);
    assert_int_equal(eval_scaled(wide, t, 3, 0, "\x40\x38", "\x38\x48"), word_of(8)); // 2 + 2 + 4
}

static uint32_t eval_int(const char *model, uint32_t x, uint32_t y, size_t n, uint32_t c)
{
    struct term t[MAX_K];
    for (size_t i = 0; i < n; i++)
        t[i] = (struct term){i, x, y};
    return eval(model, t, n, c, NULL, NULL);
}

static void test_integers(void **state)
{
    (void)state;
    assert_int_equal(eval_int("sm_90.mma.s8.s32", 0x80, 0x80, 32, 0), 32 * 16384);
    assert_int_equal(eval_int("sm_90.mma.s8.s32", 0xff, 0x01, 1, 0), 0xffffffff);
    assert_int_equal(eval_int("sm_90.wgmma.u8.s32", 0xff, 0xff, 32, 0), 32 * 65025);
    assert_int_equal(eval_int("sm_90.mma.s8.u8.s32", 0x80, 0xff, 1, 0), (uint32_t)(-128 * 255));
    assert_int_equal(eval_int("sm_90.mma.u8.s8.s32", 0xff, 0x80, 1, 0), (uint32_t)(-128 * 255));
    assert_int_equal(eval_int("sm_90.mma.s8.s32", 1, 1, 1, 0x7fffffff), 0x80000000);
    assert_int_equal(eval_int("sm_90.mma.s8.s32.satfinite", 1, 1, 1, 0x7fffffff), 0x7fffffff);
    assert_int_equal(eval_int("sm_90.wgmma.s8.s32.satfinite", 1, 0xff, 1, 0x80000000), 0x80000000);
    // Clamped once, after the whole sum: leaving the range and coming back does not show.
    const struct term back[] = {{0, 127, 127}, {1, 127, 0x81}};
    assert_int_equal(eval("sm_90.mma.s8.s32.satfinite", back, 2, 0x7fffffff, NULL, NULL),
                     0x7fffffff);
    const struct term under[] = {{0, 127, 127}, {1, 127, 0x80}}; // -127
    assert_int_equal(eval("sm_90.mma.s8.s32.satfinite", under, 2, 0x7fffffff, NULL, NULL),
                     0x7fffffff - 127);
}

static void test_f64(void **state)
{
    double a[2] = {0x1p53, 1}, b[2] = {1, 1}, c = -0x1p53, d;
    uint64_t x[2], y[2], z;
    (void)state;
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    memcpy(&z, &c, sizeof z);
    z = mxv_mma_dot_f64(2, x, y, z);
    memcpy(&d, &z, sizeof d);
    assert_true(d == 1); // products first would have rounded 2^53 + 1
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zero_exponent_f16),
                                       cmocka_unit_test(test_zero_exponent_f32),
                                       cmocka_unit_test(test_signs_of_zero),
                                       cmocka_unit_test(test_hopper_fp8),
                                       cmocka_unit_test(test_window),
                                       cmocka_unit_test(test_overflow),
                                       cmocka_unit_test(test_specials),
                                       cmocka_unit_test(test_step_order),
                                       cmocka_unit_test(test_instruction_chain),
                                       cmocka_unit_test(test_compiled_fp8),
                                       cmocka_unit_test(test_mx_scales),
                                       cmocka_unit_test(test_fp4_groups),
                                       cmocka_unit_test(test_nvfp4_scales),
                                       cmocka_unit_test(test_integers),
                                       cmocka_unit_test(test_f64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
