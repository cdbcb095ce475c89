// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Element formats: landmarks of the published documents, all codes against the slow decoder, the
// published behaviour of conversions at ties, overflow, Inf, NaN and signed zero.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include <mxverify/element.h>
#include <mxverify/f32.h>

#include "slow_format.h"

static uint64_t encode_float(const char *format, double x, const struct mxv_encode *p)
{
    enum mxv_element f = MXV_E2M1;
    assert_true(mxv_element_find(format, &f));
    return mxv_element_from_f32(f, slow_word((float)x), p);
}

static uint64_t encode_word(const char *format, uint32_t word, const struct mxv_encode *p)
{
    return encode_float(format, (double)slow_float(word), p);
}

/// Value of a code as a double.
static double decode(enum mxv_element f, uint64_t code)
{
    const struct mxv_value v = mxv_element_decode(f, code);
    const double magnitude = v.kind == MXV_NAN   ? (double)NAN
                             : v.kind == MXV_INF ? (double)INFINITY
                                                 : ldexp((double)v.sig, v.exp);
    return v.sign ? -magnitude : magnitude;
}

static bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/// PR-13: every code of every format up to 16 bits against the value formula.
static void test_decode_all_codes(void **state)
{
    (void)state;
    for (size_t i = 0; i < SLOW_FORMAT_COUNT; i++) {
        enum mxv_element f = MXV_E2M1;
        assert_true(mxv_element_find(slow_formats[i].name, &f));
        const unsigned total = 1u << mxv_element_get(f)->bits;
        for (unsigned c = 0; c < total; c++) {
            const unsigned masked = c & ((1u << slow_bits(&slow_formats[i])) - 1);
            const double want = slow_decode(&slow_formats[i], masked);
            if (!same_double(decode(f, c), want))
                fail_msg("%s code %X: %g, want %g", slow_formats[i].name, c, decode(f, c), want);
            assert_int_equal(mxv_element_is_nan(f, c), isnan(want) != 0);
            assert_int_equal(mxv_element_is_inf(f, c), isinf(want) != 0);
            const uint32_t word = mxv_element_to_f32(f, c);
            assert_true(isnan(want) ? word == MXV_F32_NAN : word == slow_word((float)want));
        }
    }
}

/// PR-01: encode(decode(c)) == c for every code that is not NaN, under every rounding.
static void test_round_trip(void **state)
{
    (void)state;
    for (int f = 0; f < MXV_ELEMENT_COUNT; f++) {
        const struct mxv_element_info *info = mxv_element_get((enum mxv_element)f);
        if (info->bits > 16)
            continue;
        const unsigned bits = f == MXV_UE4M3 ? 7 : info->bits;
        for (int r = 0; r < MXV_ROUND_COUNT; r++) {
            struct mxv_encode p = {0};
            p.round = (enum mxv_round)r;
            p.inf = MXV_INF_KEEP;
            p.min_set = true;
            p.min = -128;
            for (unsigned c = 0; c < 1u << bits; c++) {
                const struct mxv_value v = mxv_element_decode((enum mxv_element)f, c);
                const bool dma_negzero = r == MXV_RDMA && f == MXV_E2M1 && c == 8;
                if (v.kind != MXV_NAN && !dma_negzero)
                    assert_int_equal(mxv_element_encode((enum mxv_element)f, v, &p), c);
            }
        }
    }
}

/// A binary32 or binary64 word decoded and encoded is itself, and equals the host's reading of it.
static void test_wide_formats(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    struct mxv_encode keep = {0};
    keep.overflow = MXV_OVERFLOW_IEEE;
    for (int i = 0; i < 1000000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const uint32_t w = (uint32_t)x;
        double d;
        memcpy(&d, &x, sizeof d);
        assert_true(same_double(decode(MXV_F32, w), (double)slow_float(w)));
        assert_true(same_double(decode(MXV_F64, x), d));
        if (!isnan(d)) {
            const struct mxv_value v = mxv_element_decode(MXV_F64, x);
            assert_true(mxv_element_encode(MXV_F64, v, &keep) == x);
            assert_int_equal(mxv_element_encode(MXV_F32, v, &keep), slow_word((float)d));
            assert_int_equal(mxv_element_to_f32(MXV_F64, x), slow_word((float)d));
        }
        if (!isnan(slow_float(w)))
            assert_int_equal(mxv_element_from_f32(MXV_F32, w, &keep), w);
    }
}

/// TF32 drops the low 13 bits of a binary32 word on reading, so a NaN with its payload there is
/// Inf.
static void test_tf32(void **state)
{
    (void)state;
    assert_int_equal(mxv_element_from_f32(MXV_TF32, 0x3F801000, NULL), 0x3F800000);
    assert_int_equal(mxv_element_from_f32(MXV_TF32, 0x3F803000, NULL), 0x3F804000);
    assert_int_equal(mxv_element_to_f32(MXV_TF32, 0x3F801FFF), 0x3F800000);
    assert_true(mxv_element_is_inf(MXV_TF32, 0x7F800001));
    assert_true(mxv_element_is_nan(MXV_TF32, 0x7F802000));
    assert_true(mxv_element_is_nan(MXV_TF32, mxv_element_from_f32(MXV_TF32, 0x7F800001, NULL)));
}

struct limit_row {
    const char *format;
    double max, min_normal, min_positive;
    uint64_t max_code, lowest, epsilon;
};

/// OCP MX v1.0 and OCP 8-bit FP v1.0 format tables; NVIDIA/cutlass#3493 and #3508.
static void test_limits(void **state)
{
    (void)state;
    static const struct limit_row rows[] = {
        {"e2m1", 6, 1, 0.5, 0x7, 0xF, 0x1},
        {"e2m3", 7.5, 1, 0.125, 0x1F, 0x3F, 0x01},
        {"e3m2", 28, 0.25, 0.0625, 0x1F, 0x3F, 0x04},
        {"e4m3", 448, 0x1p-6, 0x1p-9, 0x7E, 0xFE, 0x20},
        {"e5m2", 57344, 0x1p-14, 0x1p-16, 0x7B, 0xFB, 0x34},
        {"e4m3fnuz", 240, 0x1p-7, 0x1p-10, 0x7F, 0xFF, 0x28},
        {"e5m2fnuz", 57344, 0x1p-15, 0x1p-17, 0x7F, 0xFF, 0x38},
        {"e4m3ieee", 240, 0x1p-6, 0x1p-9, 0x77, 0xF7, 0x20},
        {"e8m0", 0x1p127, 0x1p-127, 0x1p-127, 0xFE, 0x00, 0x7F},
        {"ue4m3", 448, 0x1p-6, 0x1p-9, 0x7E, 0x00, 0x20},
        {"ue5m3", 114688, 0x1p-14, 0x1p-17, 0xFE, 0x00, 0x60},
        {"mxint8", 1.984375, 0.015625, 0.015625, 0x7F, 0x80, 0x01},
        {"s8", 127, 1, 1, 0x7F, 0x80, 0x01},
        {"u8", 255, 1, 1, 0xFF, 0x00, 0x01},
        {"f16", 65504, 0x1p-14, 0x1p-24, 0x7BFF, 0xFBFF, 0x1400},
        {"bf16", 0x1.fep127, 0x1p-126, 0x1p-133, 0x7F7F, 0xFF7F, 0x3C00},
        {"tf32", 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x7F7FE000, 0xFF7FE000, 0x3A800000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct limit_row *r = &rows[i];
        enum mxv_element f = MXV_E2M1;
        assert_true(mxv_element_find(r->format, &f));
        assert_int_equal(mxv_element_limit(f, MXV_LIMIT_MAX), r->max_code);
        assert_int_equal(mxv_element_limit(f, MXV_LIMIT_LOWEST), r->lowest);
        assert_int_equal(mxv_element_limit(f, MXV_LIMIT_EPSILON), r->epsilon);
        assert_true(decode(f, r->max_code) == r->max);
        assert_true(decode(f, mxv_element_limit(f, MXV_LIMIT_MIN_NORMAL)) == r->min_normal);
        assert_true(decode(f, mxv_element_limit(f, MXV_LIMIT_MIN_POSITIVE)) == r->min_positive);
        assert_int_equal(mxv_element_get(f)->emax, ilogb(r->max));
    }
}

struct landmark {
    const char *format;
    unsigned code;
    double value;
};

static void test_landmarks(void **state)
{
    (void)state;
    static const struct landmark rows[] = {
        {"e2m1", 1, 0.5},         {"e2m1", 5, 3},           {"e2m1", 15, -6},
        {"e2m3", 0x07, 0.875},    {"e2m3", 0x08, 1},        {"e2m3", 0x18, 4},
        {"e3m2", 0x03, 0.1875},   {"e3m2", 0x0C, 1},        {"e3m2", 0x17, 7},
        {"e4m3", 0x07, 0x7p-9},   {"e4m3", 0x39, 1.125},    {"e4m3", 0x78, 256},
        {"e4m3", 0x79, 288},      {"e5m2", 0x03, 0x3p-16},  {"e5m2", 0x49, 10},
        {"e8m0", 0x00, 0x1p-127}, {"e8m0", 0x01, 0x1p-126}, {"e8m0", 0x7F, 1},
        {"ue5m3", 0xF8, 65536},   {"ue5m3", 0xF9, 73728},   {"ue5m3", 0xFE, 114688},
        {"e4m3", 0x38, 1},        {"e4m3fnuz", 0x38, 0.5},  {"e4m3", 0x77, 240},
        {"e4m3fnuz", 0x77, 120},  {"e4m3fnuz", 0x7E, 224},  {"mxint8", 0x80, -2},
        {"ue4m3", 0xB8, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum mxv_element f = MXV_E2M1;
        assert_true(mxv_element_find(rows[i].format, &f));
        assert_true(decode(f, rows[i].code) == rows[i].value);
    }
}

/// ROCm/aiter#3992 and PTX cvt: the seven E2M1 ties under three rules.
static void test_e2m1_ties(void **state)
{
    (void)state;
    static const double ties[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
    static const unsigned want[3][7] = {
        {0, 2, 2, 4, 4, 6, 6}, {1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6}};
    static const enum mxv_round rounds[] = {MXV_RNE, MXV_RNA, MXV_RNZ};
    for (int r = 0; r < 3; r++) {
        struct mxv_encode p = {0};
        p.round = rounds[r];
        for (int i = 0; i < 7; i++) {
            assert_int_equal(encode_float("e2m1", ties[i], &p), want[r][i]);
            assert_int_equal(encode_float("e2m1", -ties[i], &p), want[r][i] | 8);
        }
    }
}

struct overflow_row {
    const char *format;
    uint32_t word;
    int sat, keep, ieee; // -1: any NaN
};

/// The FP8 overflow table: CUDA satfinite, ml_dtypes and torch (Inf kept), CUDA nosat.
static void test_overflow(void **state)
{
    (void)state;
    static const struct overflow_row rows[] = {
        {"e4m3", 0x43E00000, 0x7E, 0x7E, 0x7E},
        {"e4m3", 0x43E80000, 0x7E, 0x7E, 0x7E},
        {"e4m3", 0x43E80001, 0x7E, 0x7E, -1},
        {"e4m3", 0x43E88000, 0x7E, 0x7E, -1},
        {"e4m3", 0x447A0000, 0x7E, 0x7E, -1},
        {"e4m3", 0xC47A0000, 0xFE, 0xFE, -1},
        {"e4m3", 0x7F800000, 0x7E, -1, -1},
        {"e4m3", 0xFF800000, 0xFE, -1, -1},
        {"e4m3", 0x7FA00000, -1, -1, -1},
        {"e5m2", 0x476FFFFF, 0x7B, 0x7B, 0x7B},
        {"e5m2", 0x47700000, 0x7B, 0x7B, 0x7C},
        {"e5m2", 0x7F800000, 0x7B, 0x7C, 0x7C},
        {"e5m2", 0xFF800000, 0xFB, 0xFC, 0xFC},
        {"e5m2", 0x7FC00000, -1, -1, -1},
        {"e4m3fnuz", 0x7F800000, 0x7F, -1, -1},
        {"e4m3fnuz", 0x80000000, 0x00, 0x00, 0x00},
        {"e4m3fnuz", 0xB3D6BF95, 0x00, 0x00, 0x00},
        {"e4m3", 0xB3D6BF95, 0x80, 0x80, 0x80},
        {"e5m2fnuz", 0xFF800000, 0xFF, -1, -1},
        {"e4m3ieee", 0x43780000, 0x77, 0x77, 0x78},
        {"e4m3ieee", 0x4377FFFF, 0x77, 0x77, 0x77},
        {"e2m1", 0x40E00000, 0x7, 0x7, 0x7},
        {"e2m1", 0xFF800000, 0xF, 0xF, 0xF},
        {"e2m3", 0x41000000, 0x1F, 0x1F, 0x1F},
        {"e3m2", 0x7F800000, 0x1F, 0x1F, 0x1F},
        {"f16", 0x477FF000, 0x7BFF, 0x7BFF, 0x7C00},
        {"bf16", 0x7F7FFFFF, 0x7F7F, 0x7F7F, 0x7F80},
        {"mxint8", 0x7F800000, 0x7F, 0x7F, 0x7F},
        {"e8m0", 0x7F7FFFFF, 0xFE, 0xFE, -1},
        {"e8m0", 0x7F800000, 0xFE, -1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int mode = 0; mode < 3; mode++) {
            struct mxv_encode p = {0};
            enum mxv_element f = MXV_E2M1;
            p.inf = mode == 1 ? MXV_INF_KEEP : MXV_INF_MAX;
            p.overflow = mode == 2 ? MXV_OVERFLOW_IEEE : MXV_OVERFLOW_SAT;
            assert_true(mxv_element_find(rows[i].format, &f));
            const uint64_t got = mxv_element_from_f32(f, rows[i].word, &p);
            const int want = mode == 0 ? rows[i].sat : mode == 1 ? rows[i].keep : rows[i].ieee;
            if (want < 0 ? !mxv_element_is_nan(f, got) : got != (uint64_t)want)
                fail_msg("%s %08X mode %d: %llX", rows[i].format, rows[i].word, mode,
                         (unsigned long long)got);
        }
    }
}

/// IEEE 754, 7.4: a directed rounding that points inward overflows to the largest finite value.
static void test_directed_overflow(void **state)
{
    (void)state;
    struct mxv_encode p = {0};
    p.overflow = MXV_OVERFLOW_IEEE;
    p.round = MXV_RTZ;
    assert_int_equal(encode_float("e5m2", 1e30, &p), 0x7B);
    assert_int_equal(encode_word("e8m0", 0x7F7FFFFF, &p), 0xFE);
    p.round = MXV_RTP;
    assert_int_equal(encode_float("e5m2", -1e30, &p), 0xFB);
    assert_int_equal(encode_float("e5m2", 57345, &p), 0x7C);
    p.round = MXV_RTN;
    assert_int_equal(encode_float("e5m2", 1e30, &p), 0x7B);
    assert_int_equal(encode_float("e5m2", -57345, &p), 0xFC);
}

/// NaN into formats that have none: PTX, TransformerEngine reference, ml_dtypes, gfloat.
static void test_nan_policies(void **state)
{
    (void)state;
    static const uint64_t want_e2m1[][2] = {{7, 7}, {0, 0}, {8, 8}, {8, 0}, {7, 15}};
    for (int n = 0; n < MXV_NAN_ERROR; n++) {
        struct mxv_encode p = {0};
        p.nan = (enum mxv_nan)n;
        assert_int_equal(encode_word("e2m1", 0x7FC00000, &p), want_e2m1[n][0]);
        assert_int_equal(encode_word("e2m1", 0xFFC00000, &p), want_e2m1[n][1]);
        assert_int_equal(encode_word("s8", 0x7FC00000, &p), 0);
        assert_int_equal(encode_word("u8", 0xFFC00000, &p), 0);
    }
    struct mxv_encode p = {0};
    p.nan = MXV_NAN_ERROR;
    assert_true(encode_word("e2m3", 0x7FC00000, &p) == MXV_CODE_REFUSED);
    assert_true(encode_word("mxint8", 0x7FC00000, &p) == MXV_CODE_REFUSED);
    assert_int_equal(encode_word("e4m3", 0x7FC00000, &p), 0x7F);
    p.nan = MXV_NAN_CLAMP;
    assert_int_equal(encode_word("e4m3", 0x7FFFFFFF, &p), 0x7E);
    assert_int_equal(encode_word("e5m2", 0xFFFFFFFF, &p), 0xFB);
    assert_int_equal(encode_word("e4m3", 0xFFC00000, NULL), 0x7F);
    assert_int_equal(encode_word("e3m2", 0xFFC00000, NULL), 0x1F);
    assert_int_equal(encode_word("mxint8", 0xFFC00000, NULL), 0x7F);
    assert_int_equal(encode_word("e8m0", 0xFFC00000, NULL), 0xFF);
    assert_int_equal(encode_word("e5m2fnuz", 0xFFC00000, NULL), 0x80);
}

static void test_zero_and_subnormal_policies(void **state)
{
    (void)state;
    struct mxv_encode p = {0};
    assert_int_equal(encode_float("e2m1", -0.0, &p), 8);
    assert_int_equal(encode_float("e2m1", -0.2, &p), 8);
    p.negzero = MXV_NEGZERO_DROP;
    assert_int_equal(encode_float("e2m1", -0.0, &p), 0);
    assert_int_equal(encode_float("e2m1", -0.2, &p), 0);
    assert_int_equal(encode_float("e2m1", -0.3, &p), 9);
    p = (struct mxv_encode){0};
    p.flush_out = true;
    assert_int_equal(encode_float("e4m3", 0x1.cp-7, &p), 0x00);
    assert_int_equal(encode_float("e4m3", -0x1.cp-7, &p), 0x80);
    assert_int_equal(encode_float("e4m3", 0x1p-6, &p), 0x08);
    p = (struct mxv_encode){0};
    p.flush_in = true;
    p.overflow = MXV_OVERFLOW_IEEE;
    assert_int_equal(mxv_element_from_f32(MXV_BF16, 0x00400000, &p), 0x0000);
    p.flush_in = false;
    assert_int_equal(mxv_element_from_f32(MXV_BF16, 0x00400000, &p), 0x0040);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_all_codes),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wide_formats),
        cmocka_unit_test(test_tf32),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_landmarks),
        cmocka_unit_test(test_e2m1_ties),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_directed_overflow),
        cmocka_unit_test(test_nan_policies),
        cmocka_unit_test(test_zero_and_subnormal_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
