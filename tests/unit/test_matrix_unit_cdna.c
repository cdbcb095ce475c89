// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The AMD rules in cases worked by hand from their statement (docs/numerics.md, "AMD"). There are
// no recorded words to compare with.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <mxverify/matrix_unit.h>

struct term {
    size_t k;
    uint32_t a, b;
};

static uint32_t eval(const char *model, const struct term *terms, size_t n, uint32_t c)
{
    const struct mxv_mma_model *m = mxv_mma_find(model);
    uint32_t a[64] = {0}, b[64] = {0};
    assert_non_null(m);
    for (size_t i = 0; i < n; i++) {
        a[terms[i].k] = terms[i].a;
        b[terms[i].k] = terms[i].b;
    }
    return mxv_mma_dot(m, m->k, a, b, c, NULL, NULL);
}

#define CHECK(model, want, c, ...)                                                                 \
    do {                                                                                           \
        const struct term t_[] = {__VA_ARGS__};                                                    \
        assert_int_equal(eval(model, t_, sizeof t_ / sizeof t_[0], c), want);                      \
    } while (0)

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

static const uint32_t minus = 0x8000;

static void test_cdna3(void **state)
{
    const char *m = "cdna3.mfma.bf16.f32";
    (void)state;
    CHECK(m, word_of(3), word_of(2), {0, bf16(0), bf16(0)});
    // Products keep 24 fraction bits of the largest: 2^-24 stays, 2^-25 is truncated toward zero.
    // 1 - 2^-24 is a binary32 number.
    CHECK(m, word_of(1 - 0x1p-24f), 0, {0, bf16(0), bf16(0)}, {1, minus | bf16(0), bf16(-24)});
    CHECK(m, word_of(1), 0, {0, bf16(0), bf16(0)}, {1, minus | bf16(0), bf16(-25)});
    // Nearest-even, not truncation: 1 + 3 * 2^-24 is a tie between odd and even, goes up.
    CHECK(m, word_of(1 + 0x1p-22f), 0, {0, bf16(0), bf16(0)}, {1, 0x3fc0, bf16(-23)});
    // c outside the window is floored, so a tiny negative c shows, a tiny positive one does not.
    CHECK(m, word_of(1 - 0x1p-24f), word_of(-0x1p-60f), {0, bf16(0), bf16(0)});
    CHECK(m, word_of(1), word_of(0x1p-60f), {0, bf16(0), bf16(0)});
    // A large c: the products stay exact beside it until the last rounding.
    CHECK(m, word_of(0x1p24f), word_of(0x1p24f), {0, bf16(0), bf16(0)});
    CHECK(m, word_of(0x1p24f + 2), word_of(0x1p24f), {0, bf16(0), bf16(0)}, {1, bf16(-6), bf16(0)});
    CHECK(m, word_of(0x1p100f), word_of(0x1p100f), {0, minus | bf16(-60), bf16(-60)});
    // Chained steps of eight; a product of 2^128 is infinite, and so may be NaN beside another.
    CHECK(m, word_of(2), 0, {0, bf16(0), bf16(0)}, {8, bf16(0), bf16(0)});
    CHECK(m, 0x7f800000, 0, {0, bf16(127), bf16(1)});
    CHECK(m, 0x7fc00000, 0, {0, bf16(127), bf16(1)}, {1, minus | bf16(127), bf16(1)});
    CHECK(m, 0x7f800000, 0, {0, bf16(127), bf16(1)}, {1, minus | bf16(127), bf16(0)});
    CHECK(m, 1, 0, {0, bf16(-75), bf16(-74)});
    CHECK(m, 0x7fc00000, 0, {0, 0x7f80, 0});
}

static void test_cdna3_fp8(void **state)
{
    const char *m = "cdna3.mfma.e4m3fnuz.f32";
    const uint32_t one = 0x40, tiny = 0x01; // 2^-10 in e4m3fnuz
    (void)state;
    CHECK(m, word_of(1), 0, {0, one, one});
    // 2^-20 beside 1 in either parity, and c dropped below 2^-25 of the products.
    CHECK(m, word_of(1 + 0x1p-20f), 0, {0, one, one}, {1, tiny, tiny});
    CHECK(m, word_of(1 + 0x1p-20f), 0, {0, one, one}, {2, tiny, tiny});
    CHECK(m, word_of(1), word_of(-0x1p-26f), {0, one, one});
    CHECK(m, word_of(1 - 0x1p-24f), word_of(-0x1p-25f), {0, one, one});
    CHECK(m, 0x7fc00000, 0, {0, 0x80, 0});
}

static void test_cdna2(void **state)
{
    const char *m = "cdna2.mfma.bf16_1k.f32";
    (void)state;
    CHECK(m, word_of(6), word_of(2), {0, bf16(0), bf16(0)}, {3, bf16(0), bf16(1)},
          {4, bf16(0), bf16(0)});
    // (2^24 + 1) + (1 + 0): the first pair rounds to 2^24, the second adds one and ties to even.
    CHECK(m, word_of(0x1p24f), 0, {0, bf16(24), bf16(0)}, {1, bf16(0), bf16(0)},
          {2, bf16(0), bf16(0)});
    // 2^24 + (1 + 1) would keep both.
    CHECK(m, word_of(0x1p24f + 2), 0, {0, bf16(24), bf16(0)}, {2, bf16(0), bf16(0)},
          {3, bf16(0), bf16(0)});
    CHECK(m, 0, 0x00000001, {0, bf16(-127), bf16(100)}); // both inputs flushed
    CHECK(m, 0, 0, {0, bf16(-100), bf16(-27)});          // result flushed
    CHECK(m, word_of(0x1p-126f), 0, {0, bf16(-100), bf16(-26)});
    CHECK(m, 0x7fc00000, 0, {0, 0x7f80, 0});
    CHECK("cdna2.mfma.bf16.f32", word_of(0x1p24f), 0, {0, bf16(24), bf16(0)}, {2, bf16(0), bf16(0)},
          {4, bf16(0), bf16(0)}); // pairs: each 1 meets 2^24 alone
}

static void test_cdna1(void **state)
{
    const char *m = "cdna1.mfma.f16.f32";
    const uint32_t one = 0x3c00;
    (void)state;
    CHECK(m, word_of(0x1p24f + 2), word_of(0x1p24f), {0, one, one}, {1, one, one});
    CHECK(m, word_of(0x1p24f), word_of(0x1p24f), {0, one, one}); // a tie
    CHECK(m, word_of(0x1p24f + 2), word_of(0x1p24f), {0, one, one}, {1, 0x0001, 0x0001});
    CHECK(m, word_of(0x1p24f), word_of(0x1p24f), {0, one, one}, {4, one, one}); // two steps
    CHECK("cdna1.mfma.bf16.f32", word_of(0x1p-148f), 1, {0, bf16(-75), bf16(-74)});
    CHECK("cdna1.mfma.bf16.f32", 0, 0, {0, bf16(-75), bf16(-75)});
    CHECK("cdna1.mfma.bf16.f32", 2, 0, {0, 0x40 | bf16(-75), bf16(-74)});
    CHECK("cdna1.mfma.bf16.f32", 0x7f800000, 0, {0, bf16(127), bf16(1)});
    CHECK("cdna1.mfma.bf16.f32", word_of(1), word_of(1), {0, bf16(127), bf16(127)},
          {1, minus | bf16(127), bf16(127)});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cdna3),
                                       cmocka_unit_test(test_cdna3_fp8),
                                       cmocka_unit_test(test_cdna2), cmocka_unit_test(test_cdna1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
