// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Ulp of every format. Expectations are worked out by hand from the formats' definitions (OCP MX
// v1.0, OCP FP8 v1.0, IEEE 754) beside each table; distances are checked a second time against the
// rank of values in sorted order, which shares nothing with the code's arithmetic.
#include <mxverify/compare.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The unit at x is 2^exponent. Lowest binade: 2^(1 - bias), with fraction bits f its unit is
// 2^(1 - bias - f). An exact power of two 2^k has the unit of the binade that ends at it,
// 2^(k-1-f).
static const struct {
    enum mxv_element format;
    double x;
    int exponent;
} units[] = {
    // e2m1: bias 1, 1 fraction bit: values 0 .5 1 1.5 2 3 4 6
    {MXV_E2M1, 0.0, -1},
    {MXV_E2M1, 0.25, -1},
    {MXV_E2M1, 1.0, -1},
    {MXV_E2M1, -1.25, -1},
    {MXV_E2M1, 2.0, -1},
    {MXV_E2M1, 2.0000001, 0},
    {MXV_E2M1, 4.0, 0},
    {MXV_E2M1, 6.0, 1},
    {MXV_E2M1, 8.0, 1},
    {MXV_E2M1, 8.5, 2}, // beyond the largest value the exponents go on
    // e2m3: bias 1, 3 bits: step 1/8 up to 2, largest 7.5
    {MXV_E2M3, 0.0, -3},
    {MXV_E2M3, 1.9, -3},
    {MXV_E2M3, 2.0, -3},
    {MXV_E2M3, 7.5, -1},
    // e3m2: bias 3, 2 bits: step 1/16, largest 28 = 1.75 * 2^4
    {MXV_E3M2, 0.0, -4},
    {MXV_E3M2, 0.25, -4},
    {MXV_E3M2, 28.0, 2},
    // e4m3: bias 7, 3 bits: step 2^-9, lowest normal 2^-6, largest 448 = 1.75 * 2^8
    {MXV_E4M3, 0.0, -9},
    {MXV_E4M3, 0x1p-6, -9},
    {MXV_E4M3, 0x1.8p-6, -9},
    {MXV_E4M3, 0x1p-5, -9},
    {MXV_E4M3, 0x1.0001p-5, -8},
    {MXV_E4M3, 1.0, -4},
    {MXV_E4M3, 1.0001, -3},
    {MXV_E4M3, -448.0, 5},
    {MXV_E4M3, 512.0, 5},
    {MXV_E4M3, 513.0, 6},
    // e5m2: bias 15, 2 bits
    {MXV_E5M2, 0.0, -16},
    {MXV_E5M2, 57344.0, 13},
    // FNUZ: one more bias
    {MXV_E4M3FNUZ, 0.0, -10},
    {MXV_E5M2FNUZ, 0.0, -17},
    {MXV_E4M3FNUZ, 240.0, 4},
    {MXV_E4M3IEEE, 0.0, -9},
    // e8m0: 2^-127 .. 2^127, no fraction, nothing below
    {MXV_E8M0, 0.0, -127},
    {MXV_E8M0, 0x1p-127, -127},
    {MXV_E8M0, 1.0, -1},
    {MXV_E8M0, 1.5, 0},
    {MXV_UE4M3, 0.0, -9},
    {MXV_UE5M3, 0.0, -17},
    {MXV_F16, 0.0, -24},
    {MXV_F16, 0x1p-24, -24},
    {MXV_F16, 0x1p-14, -24},
    {MXV_F16, 0x1p-13, -24},
    {MXV_F16, 0x1.00001p-13, -23},
    {MXV_F16, 1.0, -11},
    {MXV_F16, 0x1.fffffffffp-1, -11},
    {MXV_F16, 0x1.000000001p0, -10},
    {MXV_F16, 65504.0, 5},
    {MXV_F16, 70000.0, 6},
    {MXV_BF16, 0.0, -133},
    {MXV_BF16, 1.0, -8},
    {MXV_BF16, 3.0, -6},
    {MXV_TF32, 0.0, -136},
    {MXV_TF32, 1.5, -10},
    {MXV_F32, 0.0, -149},
    {MXV_F32, 0x1p-1074, -149},
    {MXV_F32, 0x1p-126, -149},
    {MXV_F32, 1.0, -24},
    {MXV_F32, 1.5, -23},
    {MXV_F32, 0x1.fffffep127, 104},
    {MXV_F64, 0.0, -1074},
    {MXV_F64, 0x1p-1022, -1074},
    {MXV_F64, 1.0, -53},
    {MXV_F64, 1.5, -52},
    // integers: one unit everywhere
    {MXV_S8, 100.0, 0},
    {MXV_S8, 0.0, 0},
    {MXV_U8, 200.0, 0},
    {MXV_MXINT8, 1.5, -6},
};

static void test_unit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int got = mxv_ulp_exponent(units[i].format, units[i].x);
        if (got != units[i].exponent)
            fail_msg("%s at %a: 2^%d, expected 2^%d", mxv_element_get(units[i].format)->name,
                     units[i].x, got, units[i].exponent);
    }
}

#define NOT_NUMBER MXV_ULP_DISTANCE_NAN

static const struct {
    enum mxv_element format;
    uint64_t a, b, distance;
} distances[] = {
    {MXV_E2M1, 0x0, 0x8, 0},            // +0, -0
    {MXV_E2M1, 0x1, 0x9, 2},            // 0.5, -0.5: through zero
    {MXV_E2M1, 0x7, 0xF, 14},           // 6, -6
    {MXV_E2M1, 0x1, 0x2, 1},            // subnormal 0.5, normal 1
    {MXV_E4M3, 0x7E, 0x7D, 1},          // 448, 416
    {MXV_E4M3, 0x7F, 0x7E, NOT_NUMBER}, // NaN
    {MXV_E4M3, 0x7F, 0xFF, 0},          // two NaNs
    {MXV_E4M3, 0x08, 0x07, 1},          // 2^-6 and the largest subnormal
    {MXV_E5M2, 0x7C, 0x7B, 1},          // Inf, largest
    {MXV_E5M2, 0x7C, 0xFC, 248},        // Inf, -Inf: 2 * 0x7C
    {MXV_E5M2, 0x7D, 0x7F, 0},          // NaNs of other payload
    {MXV_E4M3FNUZ, 0x80, 0x80, 0},      // NaN
    {MXV_E4M3FNUZ, 0x80, 0x00, NOT_NUMBER},
    {MXV_E4M3FNUZ, 0x81, 0x01, 2},
    {MXV_E8M0, 0x00, 0x01, 1}, // 2^-127, 2^-126
    {MXV_E8M0, 0x00, 0xFE, 254},
    {MXV_UE4M3, 0x7E, 0xFE, 0}, // the top bit is ignored
    {MXV_F16, 0x0000, 0x8000, 0},
    {MXV_F16, 0x0001, 0x8001, 2},
    {MXV_F16, 0x03FF, 0x0400, 1}, // largest subnormal, smallest normal
    {MXV_F16, 0x3C00, 0x3BFF, 1}, // across a power of two
    {MXV_F16, 0x7BFF, 0x7C00, 1},
    {MXV_F16, 0x7C00, 0xFC00, 63488}, // 2 * 0x7C00
    {MXV_F16, 0x7E00, 0x7C00, NOT_NUMBER},
    {MXV_BF16, 0x3F80, 0x3F81, 1},
    {MXV_TF32, 0x3F800000, 0x3F802000, 1},
    {MXV_TF32, 0x3F800000, 0x3F801FFF, 0}, // padding bits carry nothing
    {MXV_F32, 0x3F800000, 0x3F7FFFFF, 1},
    {MXV_F32, 0x00000001, 0x80000001, 2},
    {MXV_F32, 0x7F800000, 0x7F7FFFFF, 1},
    {MXV_F32, 0x7F800000, 0xFF800000, 0xFF000000},
    {MXV_F32, 0x7FFFFFFF, 0xFFC00001, 0},
    {MXV_F32, 0x7FFFFFFF, 0x00000000, NOT_NUMBER},
    {MXV_F64, 0x3FF0000000000000, 0x3FEFFFFFFFFFFFFF, 1},
    {MXV_F64, 0x7FF0000000000000, 0xFFF0000000000000, 0xFFE0000000000000},
    {MXV_S8, 0x7F, 0x80, 255}, // 127, -128
    {MXV_S8, 0xFF, 0x01, 2},   // -1, 1
    {MXV_U8, 0xFF, 0x00, 255},
    {MXV_MXINT8, 0x40, 0xC0, 128}, // 1, -1 in steps of 1/64
};

static void test_distance(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        enum mxv_element f = distances[i].format;
        assert_true(mxv_ulp_distance(f, distances[i].a, distances[i].b) == distances[i].distance);
        assert_true(mxv_ulp_distance(f, distances[i].b, distances[i].a) == distances[i].distance);
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// Rank of a value among the distinct values of the format, -0 and +0 being one.
static size_t rank(const double *sorted, size_t count, double value)
{
    const double *found = bsearch(&value, sorted, count, sizeof *sorted, compare_doubles);
    assert_non_null(found);
    return (size_t)(found - sorted);
}

static size_t distinct_values(enum mxv_element format, size_t codes, double *sorted)
{
    size_t count = 0, distinct = 0;
    for (size_t code = 0; code < codes; code++) {
        double value = mxv_code_value(format, code);
        if (!isnan(value))
            sorted[count++] = value == 0 ? 0 : value;
    }
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    for (size_t i = 0; i < count; i++) {
        if (distinct == 0 || sorted[i] != sorted[distinct - 1])
            sorted[distinct++] = sorted[i];
    }
    return distinct;
}

static void check_against_ranks(enum mxv_element format, size_t codes, size_t stride, size_t *pairs)
{
    double *sorted = calloc(codes, sizeof *sorted);
    assert_non_null(sorted);
    size_t count = distinct_values(format, codes, sorted);
    for (size_t a = 0; a < codes; a += stride) {
        double value_a = mxv_code_value(format, a);
        for (size_t b = a % 7; b < codes; b += stride) {
            double value_b = mxv_code_value(format, b);
            uint64_t got = mxv_ulp_distance(format, a, b);
            ++*pairs;
            if (isnan(value_a) || isnan(value_b)) {
                assert_true(got == (isnan(value_a) && isnan(value_b) ? 0 : NOT_NUMBER));
                continue;
            }
            size_t rank_a = rank(sorted, count, value_a == 0 ? 0 : value_a);
            size_t rank_b = rank(sorted, count, value_b == 0 ? 0 : value_b);
            assert_int_equal(got, rank_a > rank_b ? rank_a - rank_b : rank_b - rank_a);
        }
    }
    free(sorted);
}

static void test_distance_is_rank(void **state)
{
    (void)state;
    size_t pairs = 0;
    for (unsigned f = 0; f < MXV_ELEMENT_COUNT; f++) {
        unsigned bits = mxv_element_get((enum mxv_element)f)->bits;
        if (bits <= 16)
            check_against_ranks((enum mxv_element)f, (size_t)1 << bits, bits <= 8 ? 1 : 97, &pairs);
    }
    print_message("%zu pairs of codes\n", pairs);
    assert_true(pairs > 900000);
}

static const struct {
    enum mxv_element format;
    uint64_t code;
    double centre, radius, error, slack;
} errors[] = {
    // f16 around 1: below 1, and at 1, the unit is 2^-11; above it is 2^-10
    {MXV_F16, 0x3C00, 1.0, 0, 0, 0},
    {MXV_F16, 0x3C01, 1.0, 0, 2, 0},
    {MXV_F16, 0x3BFF, 1.0, 0, -1, 0},
    {MXV_F16, 0x3C00, 0x1.002p0, 0, -0.5, 0},
    {MXV_F16, 0x3C00, 0x1.ffcp-1, 0, 1, 0}, // 1 - 2^-11: one unit of 2^-11
    {MXV_F16, 0x3C00, 1.5, 0x1p-12, -512, 0.25},
    // subnormals: the unit stays 2^-24
    {MXV_F16, 0x0001, 0x1p-26, 0, 0.75, 0},
    {MXV_F16, 0x8001, 0x1p-24, 0, -2, 0},
    {MXV_F16, 0x0000, 0x1p-24, 0, -1, 0},
    // infinity stands where 65536 would; the unit at 65504 is 32
    {MXV_F16, 0x7C00, 65504.0, 0, 1, 0},
    {MXV_F16, 0x7C00, 65520.0, 0, 0.5, 0},
    {MXV_F16, 0x7C00, 65536.0, 0, 0, 0},
    {MXV_F16, 0x7C00, 1e6, 0, 0, 0},
    {MXV_F16, 0x7BFF, 1e6, 0, -1825.1875, 0}, // (65504 - 1000000) / 2^(19-10)
    {MXV_F16, 0xFC00, 65504.0, 0, -4095, 0},  // (-65536 - 65504) / 32
    {MXV_F16, 0xFC00, -1e6, 0, 0, 0},
    {MXV_F16, 0x7C00, 0.0, 0, 0x1p40, 0},
    // exact values that are no numbers
    {MXV_F16, 0x7C00, INFINITY, 0, 0, 0},
    {MXV_F16, 0x7BFF, INFINITY, 0, -INFINITY, 0},
    {MXV_F16, 0x7C00, -INFINITY, 0, INFINITY, 0},
    {MXV_F16, 0x7E00, NAN, 0, 0, 0},
    {MXV_F16, 0x3C00, NAN, 0, INFINITY, 0},
    {MXV_F16, 0x7E00, 1.0, 0, INFINITY, 0},
    {MXV_F16, 0x7E00, INFINITY, 0, INFINITY, 0},
    // no infinity: measured literally
    {MXV_E4M3, 0x7E, 500.0, 0, -1.625, 0}, // (448 - 500) / 32
    {MXV_E4M3, 0x01, 0x1p-11, 0, 0.75, 0},
    {MXV_E2M1, 0x7, 7.0, 0, -0.5, 0}, // (6 - 7) / 2
    {MXV_E2M1, 0x7, 5.0, 0, 0.5, 0},
    {MXV_E2M1, 0x5, 2.0, 0, 2, 0}, // (3 - 2) / (1/2)
    {MXV_BF16, 0x3F80, 0x1.01p0, 0, -0.5, 0},
    {MXV_F32, 0x3F800000, 0x1.0000008p0, 0x1p-26, -0.25, 0.125},
    {MXV_F32, 0x00000001, 0x1p-151, 0, 0.75, 0},
    {MXV_F32, 0x3F800000, 1.5, INFINITY, -4194304, INFINITY},
    {MXV_S8, 0x7F, 127.25, 0.5, -0.25, 0.5},
    {MXV_E8M0, 0x7F, 1.5, 0, -0.5, 0},
};

static void test_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct mxv_ulp_error got =
            mxv_ulp_error(errors[i].format, errors[i].code, errors[i].centre, errors[i].radius);
        if (got.error != errors[i].error || got.slack != errors[i].slack)
            fail_msg("row %zu: %g +- %g, expected %g +- %g", i, got.error, got.slack,
                     errors[i].error, errors[i].slack);
    }
}

static double random_magnitude(uint64_t *seed, int exponents)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    double fraction = 1 + (double)(*seed >> 12) * 0x1p-52;
    return ldexp(fraction, (int)(*seed % (unsigned)exponents) - exponents / 2);
}

// Definition of rounding to nearest: the nearest code is within half a unit of any real number in
// range; the next code away from zero is at least half a unit off.
static void test_nearest_is_within_half(void **state)
{
    (void)state;
    static const struct {
        enum mxv_element format;
        int exponents;
    } rows[] = {{MXV_F16, 30}, {MXV_BF16, 200}, {MXV_F32, 240}, {MXV_E4M3, 16}, {MXV_E2M1, 4}};
    uint64_t seed = 1;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (int i = 0; i < 20000; i++) {
            double x = random_magnitude(&seed, rows[r].exponents);
            int exponent;
            double fraction = frexp(x, &exponent);
            struct mxv_value v = {0};
            v.sig = (uint64_t)ldexp(fraction, 53);
            v.exp = exponent - 53;
            uint64_t code = mxv_element_encode(rows[r].format, v, NULL);
            assert_true(fabs(mxv_ulp_error(rows[r].format, code, x, 0).error) <= 0.5);
            assert_true(mxv_ulp_error(rows[r].format, code + 1, x, 0).error >= 0.5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_distance_is_rank),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_nearest_is_within_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
