// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantisers of the plain emulation. Scale bytes of chosen maxima are those that the rules'
// formulas give by hand; over whole binades they are compared with the formats layer, which shares
// no code. Element codes are compared with a search of the nearest value in exact arithmetic.
#include "../../ref/plain/plain.h"
#include "test_plain_case.h"

#include <math.h>
#include <mxverify/scale.h>

static void scale_bytes_of_chosen_maxima(void **state)
{
    (void)state;
    // Columns: floor, rceil, ceil, even, ratio_floor, near15, near_sqrt2 (enumerators 0 to 6).
    static const struct {
        float amax;
        uint8_t byte[7];
    } e2m1[] =
        {
            {4.0f, {0x7F, 0x7F, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E}},
            {4.25f, {0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7E, 0x7F}},
            {4.5f, {0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7F, 0x7F}},
            {6.0f, {0x7F, 0x7F, 0x80, 0x7F, 0x7F, 0x7F, 0x7F}},
            {6.5f, {0x7F, 0x80, 0x80, 0x7F, 0x7F, 0x7F, 0x7F}},
            {7.0f, {0x7F, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F}},
            {8.5f, {0x80, 0x80, 0x81, 0x80, 0x7F, 0x7F, 0x80}},
            {9.0f, {0x80, 0x80, 0x81, 0x80, 0x7F, 0x80, 0x80}},
        },
      e4m3[] = {
          {150.0f, {0x7E, 0x7E, 0x7F, 0x7E, 0x7D, 0x7D, 0x7D}},
          {256.0f, {0x7F, 0x7F, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E}},
          {320.0f, {0x7F, 0x7F, 0x80, 0x7F, 0x7E, 0x7E, 0x7F}},
          {448.0f, {0x7F, 0x7F, 0x80, 0x7F, 0x7F, 0x7F, 0x7F}},
          {449.0f, {0x7F, 0x80, 0x80, 0x7F, 0x7F, 0x7F, 0x7F}},
          {496.0f, {0x7F, 0x80, 0x80, 0x80, 0x7F, 0x7F, 0x7F}},
          {640.0f, {0x80, 0x80, 0x81, 0x80, 0x7F, 0x7F, 0x80}},
          {700.0f, {0x80, 0x80, 0x81, 0x80, 0x7F, 0x80, 0x80}},
      };
    for (size_t n = 0; n < 8; n++)
        for (enum mxv_scale_rule rule = MXV_SCALE_FLOOR; rule <= MXV_SCALE_NEAR_SQRT2; rule++) {
            assert_int_equal(plain_scale_byte(rule, MXV_E2M1, e2m1[n].amax), e2m1[n].byte[rule]);
            assert_int_equal(plain_scale_byte(rule, MXV_E4M3, e4m3[n].amax), e4m3[n].byte[rule]);
        }
    assert_int_equal(plain_scale_byte(MXV_SCALE_MIDMAX, MXV_E2M1, 6.9999995f), 0x7F);
    assert_int_equal(plain_scale_byte(MXV_SCALE_MIDMAX, MXV_E2M1, 7.0f), 0x80);
    assert_int_equal(plain_scale_byte(MXV_SCALE_MIDMAX, MXV_E5M2, 61439.996f), 0x7F);
    assert_int_equal(plain_scale_byte(MXV_SCALE_MIDMAX, MXV_E5M2, 61440.0f), 0x80);
    assert_int_equal(plain_scale_byte(MXV_SCALE_MIDMAX, MXV_E4M3, 464.0f), 0x7F);
    assert_int_equal(plain_scale_byte(MXV_SCALE_MIDMAX, MXV_E4M3, 464.00003f), 0x80);
    assert_int_equal(plain_scale_byte(MXV_SCALE_FLOOR_LIBM, MXV_E2M1, case_float(0x40FFFFFF)),
                     0x80); // log2f gives 3
    assert_int_equal(plain_scale_byte(MXV_SCALE_CEIL_LIBM, MXV_E2M1, case_float(0x42C00001)), 0x83);
    assert_int_equal(plain_scale_byte(MXV_SCALE_RCEIL, MXV_E2M1, case_float(0x42C00001)), 0x84);
}

static void compare_binade(uint32_t exponent, uint32_t step)
{
    static const enum mxv_element elements[] = {MXV_E2M1, MXV_E4M3, MXV_E5M2};
    for (size_t f = 0; f < 3; f++)
        for (int rule = 0; rule < MXV_SCALE_RULE_COUNT; rule++)
            for (uint32_t m = 0; m < 1u << 23; m += step) {
                const uint32_t word = exponent << 23 | m;
                if (word == 0)
                    continue;
                assert_int_equal(
                    plain_scale_byte((enum mxv_scale_rule)rule, elements[f], case_float(word)),
                    mxv_scale_e8m0((enum mxv_scale_rule)rule, elements[f], word, NULL));
            }
}

static void scale_bytes_equal_the_formats_layer(void **state)
{
    (void)state;
    compare_binade(127, 1024); // every tie and threshold of a few bits
    compare_binade(127, 1021);
    for (uint32_t exponent = 0; exponent < 255; exponent += exponent < 20 ? 1 : 9) {
        compare_binade(exponent, 0x1FFFFF); // the edges of a binade and a few between
        compare_binade(exponent, 0x0FFFFF);
    }
}

// Nearest value of an element of at most 8 bits, ties to the even code, clamped; exact.
static uint32_t nearest(enum mxv_element f, double x)
{
    const uint32_t count = f == MXV_E2M1 ? 8 : f == MXV_E4M3 ? 0x7F : 0x7C;
    uint32_t best = 0;
    for (uint32_t code = 1; code < count; code++) {
        const double far = fabs(fabs(x) - (double)plain_decode(f, best));
        const double near = fabs(fabs(x) - (double)plain_decode(f, code));
        if (near < far || (near == far && code % 2 == 0))
            best = code;
    }
    return best | (signbit(x) ? (f == MXV_E2M1 ? 8u : 0x80u) : 0);
}

static void mx_codes_are_nearest(void **state)
{
    (void)state;
    static const enum mxv_element elements[] = {MXV_E2M1, MXV_E4M3, MXV_E5M2};
    uint64_t seed = 1;
    for (size_t trial = 0; trial < 600; trial++) {
        const enum mxv_element f = elements[trial % 3];
        float x[32];
        uint32_t scale, code[32];
        for (size_t n = 0; n < 32; n++) { // few significant bits: many ties; wide exponents
            const float digits = (float)(case_random(&seed) % 33) - 16.0f;
            x[n] = ldexpf(digits, (int)(case_random(&seed) % 12) - (int)(trial % 40) * 4);
        }
        plain_quantise_mx(MXV_SCALE_FLOOR, f, x, &scale, code);
        for (size_t n = 0; n < 32; n++)
            assert_int_equal(code[n], nearest(f, ldexp((double)x[n], 127 - (int)scale)));
    }
}

static void special_blocks(void **state)
{
    (void)state;
    float x[32] = {0.0f, -0.0f};
    uint32_t scale, code[32];
    plain_quantise_mx(MXV_SCALE_FLOOR, MXV_E4M3, x, &scale, code);
    assert_int_equal(scale, 0x00);
    assert_int_equal(code[0], 0x00);
    assert_int_equal(code[1], 0x80);
    x[5] = 0x1p-127f; // floor: exponent -129 clamps to -127, the element is 1.0
    plain_quantise_mx(MXV_SCALE_FLOOR, MXV_E2M1, x, &scale, code);
    assert_int_equal(scale, 0x00);
    assert_int_equal(code[5], 2);
    x[6] = -INFINITY;
    plain_quantise_mx(MXV_SCALE_FLOOR, MXV_E5M2, x, &scale, code);
    assert_int_equal(scale, 0xFE);
    assert_int_equal(code[6], 0xFB);
    x[7] = NAN;
    plain_quantise_mx(MXV_SCALE_FLOOR, MXV_E4M3, x, &scale, code);
    assert_int_equal(scale, 0xFF);
    assert_int_equal(code[6], 0);
}

static void nvfp4_and_core_blocks(void **state)
{
    (void)state;
    float x[32] = {6.5f, -6.5f, 1.0f, -0.0f}; // 6.5 / 6 = 1.0833 rounds to 1.125 = 39
    uint32_t scale, code[32];
    plain_quantise_nvfp4(x, &scale, code);
    assert_int_equal(scale, 0x39);
    assert_int_equal(code[0], 7); // 5.78
    assert_int_equal(code[1], 15);
    assert_int_equal(code[2], 2); // 0.889
    assert_int_equal(code[3], 8);
    for (size_t n = 0; n < 16; n++)
        x[n] = n % 2 ? -0x1p-9f : 0x1p-9f; // amax / 6 < 2^-10: the scale vanishes
    plain_quantise_nvfp4(x, &scale, code);
    assert_int_equal(scale, 0);
    assert_int_equal(code[0], 0);
    assert_int_equal(code[1], 8);
    x[0] = INFINITY;
    plain_quantise_nvfp4(x, &scale, code);
    assert_int_equal(scale, 0x7E);
    assert_int_equal(code[0], 7);
    x[1] = NAN;
    plain_quantise_nvfp4(x, &scale, code);
    assert_int_equal(scale, 0x7F);
    assert_int_equal(code[0], 0);
    float y[32] = {896.0f, NAN, 2.0f};
    plain_quantise_core(y, &scale, code);
    assert_int_equal(scale, case_word(2.0f));
    assert_int_equal(code[0], 0x7E);
    assert_int_equal(code[1], 0x7F);
    assert_int_equal(code[2], 0x38);
    y[0] = y[1] = y[2] = 0.0f;
    plain_quantise_core(y, &scale, code);
    assert_int_equal(scale, case_word(1.0f));
}

static void int8_codes(void **state)
{
    (void)state;
    assert_int_equal(plain_int8_code(MXV_RNE, 2.5f, 1.0f), 2);
    assert_int_equal(plain_int8_code(MXV_RNA, 2.5f, 1.0f), 3);
    assert_int_equal(plain_int8_code(MXV_RNE, -1.5f, 1.0f), -2);
    assert_int_equal(plain_int8_code(MXV_RNA, -0.5f, 1.0f), -1);
    assert_int_equal(plain_int8_code(MXV_RNE, -300.0f, 1.0f), -127);
    assert_int_equal(plain_int8_code(MXV_RNE, 5.0f, 0.0f), 0);
    assert_int_equal(plain_int8_code(MXV_RNE, INFINITY, INFINITY), 0);
    assert_int_equal(plain_int8_code(MXV_RNE, NAN, 1.0f), 0);
}

static void maxima_ignore_nan(void **state)
{
    (void)state;
    assert_float_equal(plain_max(NAN, -2.0f), -2.0f, 0.0f);
    assert_float_equal(plain_max(-3.0f, NAN), -3.0f, 0.0f);
    assert_int_equal(plain_word(plain_max(-0.0f, 0.0f)), 0);
    assert_int_equal(plain_word(plain_max(0.0f, -0.0f)), 0);
    const float x[3] = {NAN, -4.0f, 3.0f};
    assert_float_equal(plain_amax(x, 3), 4.0f, 0.0f);
    assert_float_equal(plain_amax(x, 1), 0.0f, 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_bytes_of_chosen_maxima),
        cmocka_unit_test(scale_bytes_equal_the_formats_layer),
        cmocka_unit_test(mx_codes_are_nearest),
        cmocka_unit_test(special_blocks),
        cmocka_unit_test(nvfp4_and_core_blocks),
        cmocka_unit_test(int8_codes),
        cmocka_unit_test(maxima_ignore_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
