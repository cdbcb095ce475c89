// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Where plain arithmetic already gives the bits: operands for which no term of a step can lose a
// bit, so that the result must be the exact sum (here an exact binary64), truncated to binary32.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <mxverify/matrix_unit.h>

static uint32_t word_of(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

static uint64_t state_ = 1;

static uint32_t draw(uint32_t n)
{
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state_ >> 33) % n);
}

// An exact double toward zero in binary32; +0 for zero.
static uint32_t truncate_double(double v)
{
    float f = (float)v;
    if (fabs((double)f) > fabs(v))
        f = nextafterf(f, 0);
    return f == 0 ? 0 : word_of(f);
}

static double e4m3_value(uint32_t w)
{
    int field = w >> 3 & 15, frac = w & 7;
    double v = field ? ldexp(8 + frac, field - 10) : ldexp(frac, -9);
    return w & 0x80 ? -v : v;
}

// e4m3 below 2^3.5 with |c| < 2^8 on the grid 2^-18: no term can lose a bit, so the result is the
// exact sum, truncated.
static void test_exact_range_e4m3(void **state)
{
    const struct mxv_mma_model *m = mxv_mma_find("sm_100.tcgen05.e4m3.f32");
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint32_t a[32], b[32];
        double sum = ldexp((double)draw(1 << 24) - (1 << 23), -18);
        uint32_t c = word_of((float)sum);
        for (size_t k = 0; k < 32; k++) {
            a[k] = draw(0x50) | draw(2) << 7;
            b[k] = draw(0x50) | draw(2) << 7;
            sum += e4m3_value(a[k]) * e4m3_value(b[k]);
        }
        assert_int_equal(mxv_mma_dot(m, 32, a, b, c, NULL, NULL), truncate_double(sum));
    }
}

// NVFP4 with scales within 2^-2..2^3: every group is exact on the grid, so is the sum.
static void test_exact_range_nvfp4(void **state)
{
    static const double fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
    const struct mxv_mma_model *m = mxv_mma_find("sm_100.tcgen05.mxf4nvf4.ue4m3.f32");
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint32_t a[64], b[64];
        uint8_t sa[4], sb[4];
        double sum = ldexp((double)draw(1 << 24) - (1 << 23), -20);
        uint32_t c = word_of((float)sum);
        for (int g = 0; g < 4; g++) {
            sa[g] = (uint8_t)(0x28 + draw(0x28) + draw(2) * 0x80);
            sb[g] = (uint8_t)(0x28 + draw(0x28));
        }
        for (size_t k = 0; k < 64; k++) {
            a[k] = draw(16);
            b[k] = draw(16);
            sum += fp4[a[k]] * fp4[b[k]] * e4m3_value(sa[k / 16] & 0x7f) * e4m3_value(sb[k / 16]);
        }
        assert_int_equal(mxv_mma_dot(m, 64, a, b, c, sa, sb), truncate_double(sum));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_range_e4m3),
                                       cmocka_unit_test(test_exact_range_nvfp4)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
