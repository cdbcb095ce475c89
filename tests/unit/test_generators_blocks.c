// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the generators that aim at quantisers promise (docs/case-language.md), asked from the
// outside: midpoints found by decoding all codes, block maxima at the cuts of the scale rules, and
// so on.
#include "cases.h"
#include <math.h>

// All non-negative finite values of a format, ascending, by decoding every code.
static size_t values_of(enum mxv_element format, double *out)
{
    size_t n = 0;
    for (unsigned code = 0; code < 1u << (mxv_element_get(format)->bits - 1); code++) {
        uint32_t word = mxv_element_to_f32(format, code);
        float f;
        memcpy(&f, &word, sizeof f);
        if (isfinite(f))
            out[n++] = (double)f;
    }
    return n;
}

static bool is_midpoint(const double *values, size_t n, double x)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (fabs(x) == (values[i] + values[i + 1]) / 2)
            return true;
    return false;
}

// Blocks of 32 of K: the largest element is the format's maximum times 2^k; of the others at least
// a third are exact midpoints times 2^k and none is a code times 2^k off both lists.
static void ties_of_blocks(void **state)
{
    struct mxv_case_data data;
    double e2m1[16], e4m3[256];
    size_t n2 = values_of(MXV_E2M1, e2m1), n4 = values_of(MXV_E4M3, e4m3);
    size_t seen[2] = {0, 0}, midpoints = 0, others = 0;
    (void)state;
    assert_int_equal(n2, 8);
    build("dma lq=1 lk=256 d=64 gen=ties seed=3", &data);
    for (size_t b = 0; b < 256 * 64; b += 32) {
        double largest = 0;
        for (size_t i = 0; i < 32; i++)
            largest = fmax(largest, fabs((double)data.k[b + i]));
        int e;
        double m = frexp(largest, &e); // 6 = 0.75 * 2^3, 448 = 0.875 * 2^9
        assert_true(m == 0.75 || m == 0.875);
        bool small = m == 0.75;
        double unit = small ? ldexp(1, e - 3) : ldexp(1, e - 9);
        seen[small]++;
        for (size_t i = 0; i < 32; i++) {
            double x = fabs((double)data.k[b + i]) / unit;
            if (small ? is_midpoint(e2m1, n2, x) : is_midpoint(e4m3, n4, x))
                midpoints++;
            else if (x != largest / unit)
                others++;
        }
    }
    assert_true(seen[0] > 100 && seen[1] > 100);
    assert_true(midpoints > 256 * 64 / 3);
    assert_true(others > 256 * 64 / 4); // one step off a midpoint
    mxv_case_free(&data);
}

// INT8: amax of each row is 127 * 2^k, and x / 2^k of many others is an integer and a half.
static void ties_of_int8(void **state)
{
    struct mxv_case_data data;
    size_t halves = 0;
    (void)state;
    build("tilemix lq=64 lk=64 d=64 gen=ties seed=3", &data);
    for (size_t row = 0; row < 64; row++) {
        double largest = 0;
        for (size_t c = 0; c < 64; c++)
            largest = fmax(largest, fabs((double)data.k[row * 64 + c]));
        int e;
        assert_true(frexp(largest, &e) == 127.0 / 128);
        for (size_t c = 0; c < 64; c++) {
            double x = ldexp((double)data.k[row * 64 + c], 7 - e);
            halves += fabs(x - trunc(x)) == 0.5;
        }
    }
    assert_true(halves > 64 * 64 / 3);
    mxv_case_free(&data);
}

// Inputs wider than the kernel's 16-bit type hold its midpoints: both neighbours at equal distance.
static void ties_of_sixteen_bits(void **state)
{
    struct mxv_case_data data;
    size_t exact = 0, n = 128 * 64;
    (void)state;
    build("flash in=f32 lq=1 lk=128 gen=ties seed=9", &data);
    for (size_t i = 0; i < n; i++) {
        uint32_t word = word_of(data.k[i]);
        struct mxv_encode down = {.round = MXV_RTN}, up = {.round = MXV_RTP};
        uint32_t lo = mxv_element_to_f32(MXV_F16, mxv_element_from_f32(MXV_F16, word, &down));
        uint32_t hi = mxv_element_to_f32(MXV_F16, mxv_element_from_f32(MXV_F16, word, &up));
        double x = (double)data.k[i], a = (double)float_of(lo), b = (double)float_of(hi);
        exact += lo != hi && x - a == b - x;
    }
    assert_true(exact > n / 3);
    mxv_case_free(&data);
}

// Every block maximum is a cut or one binary16 step off it; each of the three is frequent.
static void scale_edge_maxima(void **state)
{
    static const double cuts[] = {
        1, 1.5, 1.75, 1.8125, 1.25, 1.125, 1.3125, 1.06066017177982129, 1.23743686707645817};
    struct mxv_case_data data;
    size_t where[3] = {0}, blocks = 256 * 2;
    (void)state;
    build("dma lq=1 lk=256 d=64 gen=scale_edges seed=4", &data);
    for (size_t b = 0; b < blocks; b++) {
        double largest = 0;
        for (size_t i = 0; i < 32; i++)
            largest = fmax(largest, fabs((double)data.k[b * 32 + i]));
        int e, found = 0;
        double m = 2 * frexp(largest, &e);
        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
            double steps = (m - cuts[i]) * 1024;
            if (m > 1.99 && cuts[i] == 1)
                steps = (m / 2 - 1) * 2048;
            if (fabs(steps) < 1.6 && !found) {
                found = 1;
                where[steps < -0.4 ? 0 : steps > 0.4 ? 2 : 1]++;
            }
        }
        assert_true(found);
    }
    assert_true(where[0] > blocks / 6 && where[1] > blocks / 6 && where[2] > blocks / 6);
    mxv_case_free(&data);
}

static void zero_block_kinds(void **state)
{
    struct mxv_case_data data;
    size_t blocks = 0, halves = 0, rows = 0, negative = 0, nonzero = 0;
    (void)state;
    build("dma lq=1 lk=256 d=64 gen=zero_blocks seed=4", &data);
    for (size_t row = 0; row < 256; row++) {
        size_t zeros[4] = {0};
        for (size_t c = 0; c < 64; c++) {
            float x = data.k[row * 64 + c];
            zeros[c / 16] += x == 0;
            negative += x == 0 && signbit(x);
            nonzero += x != 0;
        }
        blocks += (zeros[0] + zeros[1] == 32) + (zeros[2] + zeros[3] == 32);
        halves += (zeros[0] == 16) != (zeros[1] == 16);
        rows += zeros[0] + zeros[1] + zeros[2] + zeros[3] == 64;
    }
    assert_true(blocks > 100 && halves > 30 && rows > 15 && negative > 1000 && nonzero > 3000);
    mxv_case_free(&data);
}

// Blocks of one magnitude; a sixth of it rounds when encoded as E4M3.
static void constant_blocks(void **state)
{
    struct mxv_case_data data;
    double e4m3[256];
    size_t n = values_of(MXV_E4M3, e4m3);
    (void)state;
    build("dma lq=1 lk=128 d=64 gen=constant seed=4", &data);
    for (size_t b = 0; b < 128 * 64; b += 32) {
        double a = fabs((double)data.k[b]);
        for (size_t i = 0; i < 32; i++)
            assert_true(fabs((double)data.k[b + i]) == a);
        for (size_t i = 0; i < n; i++)
            assert_true(e4m3[i] * 6 != a);
    }
    mxv_case_free(&data);
}

static void subnormal_values(void **state)
{
    static const struct {
        const char *line;
        float least_normal;
    } rows[] = {{"flash in=f16 lq=9 lk=90 gen=subnormal seed=3", 0x1p-14f},
                {"flash in=bf16 lq=9 lk=90 gen=subnormal seed=3", 0x1p-126f},
                {"flash in=f32 lq=9 lk=90 gen=subnormal seed=3", 0x1p-126f}};
    (void)state;
    for (size_t r = 0; r < 3; r++) {
        struct mxv_case_data data;
        size_t below = 0;
        build(rows[r].line, &data);
        for (size_t i = 0; i < 90 * 64; i++)
            below += data.k[i] != 0 && fabsf(data.k[i]) < rows[r].least_normal;
        assert_true(below > 90 * 64 / 5);
        mxv_case_free(&data);
    }
}

// Codes: each element is a code of one of three formats times the block's power of two, so that a
// block's values over a common power of two have few significant bits; all E2M1 magnitudes occur.
static void code_values(void **state)
{
    struct mxv_case_data data;
    size_t distinct = 0;
    bool met[2048] = {false};
    (void)state;
    build("dma lq=1 lk=400 gen=codes seed=3", &data);
    for (size_t i = 0; i < 400 * 64; i++) {
        int e;
        double m = frexp(fabs((double)data.k[i]), &e) * 16; // at most 4 significant bits
        assert_true(m == floor(m));
        if (data.k[i] != 0 && !met[(int)m * 64 + e + 30]) {
            met[(int)m * 64 + e + 30] = true;
            distinct++;
        }
    }
    assert_true(distinct > 120);
    mxv_case_free(&data);
}

static void special_values(void **state)
{
    size_t nans = 0, infinities = 0;
    char line[100];
    (void)state;
    for (unsigned seed = 0; seed < 50; seed++) {
        struct mxv_case_data data;
        size_t here = 0;
        snprintf(line, sizeof line, "flash lq=30 lk=30 gen=nonfinite seed=%x", seed);
        build(line, &data);
        for (size_t i = 0; i < 30 * 64; i++) {
            const float x[] = {data.q[i], data.k[i], data.v[i]};
            for (int t = 0; t < 3; t++) {
                here += !isfinite(x[t]);
                nans += isnan(x[t]) != 0;
                infinities += isinf(x[t]) != 0;
            }
        }
        assert_in_range(here, 1, 24); // few
        mxv_case_free(&data);
    }
    assert_true(nans > 20 && infinities > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_of_blocks),       cmocka_unit_test(ties_of_int8),
        cmocka_unit_test(ties_of_sixteen_bits), cmocka_unit_test(scale_edge_maxima),
        cmocka_unit_test(zero_block_kinds),     cmocka_unit_test(constant_blocks),
        cmocka_unit_test(subnormal_values),     cmocka_unit_test(code_values),
        cmocka_unit_test(special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
