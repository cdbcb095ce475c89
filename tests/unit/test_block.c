// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// MX blocks: published block results, every format and rule against a plain quantiser
// in double arithmetic, NaN and Inf policies, subnormals, decoding of every scale.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mxverify/block.h>

#include "slow_format.h"

static uint64_t random_state = 0xA0761D6478BD642Fu;

static uint64_t random_word(void)
{
    return slow_random(&random_state);
}

struct result {
    uint8_t scale;
    uint8_t codes[MXV_BLOCK_SIZE_MAX];
};

/// Quantises a block that starts with the given values, the rest zero.
static struct result quantize(enum mxv_block b, const struct mxv_block_policy *p, int n,
                              const double *values)
{
    uint32_t x[MXV_BLOCK_SIZE_MAX] = {0};
    struct result r;
    for (int i = 0; i < n; i++)
        x[i] = slow_word((float)values[i]);
    mxv_block_quantize(b, p, x, &r.scale, r.codes);
    return r;
}

static struct result quantize_word(enum mxv_block b, const struct mxv_block_policy *p,
                                   uint32_t first)
{
    uint32_t x[MXV_BLOCK_SIZE_MAX] = {first};
    struct result r;
    mxv_block_quantize(b, p, x, &r.scale, r.codes);
    return r;
}

struct maximum_row {
    enum mxv_block block;
    double amax;
    enum mxv_scale_rule rule;
    unsigned scale, code;
};

/// What the block maximum becomes: clipped by floor, rounded above itself by rceil.
static void test_block_maximum(void **state)
{
    (void)state;
    static const struct maximum_row rows[] = {
        {MXV_MXFP4, 5, MXV_SCALE_FLOOR, 0x7F, 6},
        {MXV_MXFP4, 5, MXV_SCALE_CEIL, 0x80, 4},
        {MXV_MXFP4, 5, MXV_SCALE_RATIO_FLOOR, 0x7E, 7},
        {MXV_MXFP4, 6.5, MXV_SCALE_FLOOR, 0x7F, 7},
        {MXV_MXFP4, 6.5, MXV_SCALE_RCEIL, 0x80, 5},
        {MXV_MXFP4, 7, MXV_SCALE_FLOOR, 0x7F, 7},
        {MXV_MXFP4, 7, MXV_SCALE_RCEIL, 0x80, 6},
        {MXV_MXFP4, 7, MXV_SCALE_EVEN, 0x80, 6},
        {MXV_MXFP8_E4M3, 449, MXV_SCALE_FLOOR, 0x7F, 0x7E},
        {MXV_MXFP8_E4M3, 449, MXV_SCALE_RCEIL, 0x80, 0x76},
        {MXV_MXFP8_E4M3, 480, MXV_SCALE_FLOOR, 0x7F, 0x7E},
        {MXV_MXFP8_E4M3, 480, MXV_SCALE_RCEIL, 0x80, 0x77},
        {MXV_MXFP8_E4M3, 500, MXV_SCALE_FLOOR, 0x7F, 0x7E},
        {MXV_MXFP8_E4M3, 500, MXV_SCALE_EVEN, 0x80, 0x78},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_block_policy p = {0};
        p.rule = rows[i].rule;
        for (int arith = 0; arith < MXV_ARITH_COUNT; arith++) {
            p.arith = (enum mxv_arith)arith;
            const struct result r = quantize(rows[i].block, &p, 1, &rows[i].amax);
            assert_int_equal(r.scale, rows[i].scale);
            assert_int_equal(r.codes[0], rows[i].code);
            assert_int_equal(r.codes[1], 0);
        }
    }
}

static const enum slow_round slow_of[] = {SLOW_RNE, SLOW_RNA, SLOW_RNZ, SLOW_RTZ,
                                          SLOW_RTP, SLOW_RTN, SLOW_RTO, SLOW_RHU};

/// Random blocks of every MX format: scale by floor, each code by the slow oracle on the exact
/// quotient, decoding by the product of the slow values.
static void test_against_plain_quantizer(void **state)
{
    (void)state;
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        const struct mxv_block_info *info = mxv_block_get((enum mxv_block)b);
        if (info->scale != MXV_E8M0)
            continue;
        struct slow_table t = slow_table_make(mxv_element_get(info->element)->name);
        const int emax = ilogb(t.value[t.count - 1]);
        for (int trial = 0; trial < 4000; trial++) {
            struct mxv_block_policy p = {0};
            uint32_t x[32], decoded[32];
            struct result r;
            double amax = 0;
            const unsigned centre = 1 + (unsigned)(random_word() % 240);
            p.encode.round = (enum mxv_round)(random_word() % 8);
            for (int i = 0; i < 32; i++) {
                x[i] = (uint32_t)(random_word() & 0x807FFFFF) |
                       (centre + (uint32_t)(random_word() % 14)) << 23;
                amax = fmax(amax, fabs((double)slow_float(x[i])));
            }
            mxv_block_quantize((enum mxv_block)b, &p, x, &r.scale, r.codes);
            mxv_block_dequantize((enum mxv_block)b, r.scale, r.codes, decoded);
            const int exponent = ilogb(amax) - emax < -127 ? -127 : ilogb(amax) - emax;
            assert_int_equal(r.scale, exponent + 127);
            for (int i = 0; i < 32; i++) {
                const double quotient = ldexp((double)slow_float(x[i]), -exponent);
                const int want = slow_encode(&t, quotient, slow_of[p.encode.round], false);
                assert_int_equal(r.codes[i], want);
                const double value = ldexp(slow_decode(t.format, (unsigned)want), exponent);
                assert_int_equal(decoded[i], slow_word((float)value));
            }
        }
        slow_table_free(&t);
    }
}

/// fl32(x / X) and fl32(x * fl32(1 / X)) against the host, in the range where they can differ.
static void test_f32_arithmetic(void **state)
{
    (void)state;
    struct slow_table t = slow_table_make("e4m3");
    for (int trial = 0; trial < 20000; trial++) {
        struct mxv_block_policy p = {0};
        uint32_t x[32];
        struct result r;
        p.rule = MXV_SCALE_FLOOR;
        for (int i = 0; i < 32; i++)
            x[i] = (uint32_t)(random_word() >> 32) % 0x7F800000 | (uint32_t)(i % 2) << 31;
        for (int arith = MXV_ARITH_DIV; arith <= MXV_ARITH_RCP; arith++) {
            p.arith = (enum mxv_arith)arith;
            mxv_block_quantize(MXV_MXFP8_E4M3, &p, x, &r.scale, r.codes);
            const volatile float scale = ldexpf(1, r.scale - 127), inverse = 1 / scale;
            for (int i = 0; i < 32; i++) {
                const volatile float y =
                    arith == MXV_ARITH_DIV ? slow_float(x[i]) / scale : slow_float(x[i]) * inverse;
                assert_int_equal(r.codes[i], slow_encode(&t, (double)y, SLOW_RNE, false));
            }
        }
    }
    slow_table_free(&t);
}

/// PR-02 (arch-hdl-lang/arch-com#848): the decoded value is NaN iff the scale byte is FF.
static void test_scale_nan(void **state)
{
    (void)state;
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        const struct mxv_block_info *info = mxv_block_get((enum mxv_block)b);
        const unsigned codes = 1u << mxv_element_get(info->element)->bits;
        for (unsigned s = 0; s < 256; s++) {
            for (unsigned c = 0; c < codes; c++) {
                const struct mxv_value v = mxv_element_decode(info->element, c);
                uint8_t block[MXV_BLOCK_SIZE_MAX];
                uint32_t out[MXV_BLOCK_SIZE_MAX];
                if (v.kind != MXV_FINITE)
                    continue;
                memset(block, (int)c, sizeof block);
                mxv_block_dequantize((enum mxv_block)b, (uint8_t)s, block, out);
                const bool nan_scale = info->scale == MXV_E8M0 ? s == 0xFF : (s & 0x7F) == 0x7F;
                assert_int_equal(mxv_f32_is_nan(out[0]), nan_scale);
                assert_int_equal(out[0], out[info->size - 1]);
            }
        }
    }
}

/// NVIDIA/TransformerEngine#3262; E5M2 Inf and NaN, E4M3 NaN stay with their element.
static void test_decode(void **state)
{
    (void)state;
    uint8_t codes[32];
    uint32_t out[32];
    memset(codes, 0x38, sizeof codes);
    mxv_block_dequantize(MXV_MXFP8_E4M3, 0x00, codes, out);
    assert_true(out[0] == 0x00400000 && out[31] == 0x00400000);
    codes[1] = 0x7F;
    codes[2] = 0x80;
    codes[3] = 0x78;
    mxv_block_dequantize(MXV_MXFP8_E4M3, 0xF7, codes, out);
    assert_int_equal(out[1], MXV_F32_NAN);
    assert_int_equal(out[2], 0x80000000);
    assert_int_equal(out[3], 0x7F800000);
    codes[0] = 0x7C;
    codes[1] = 0xFC;
    codes[2] = 0x7D;
    mxv_block_dequantize(MXV_MXFP8_E5M2, 0x7F, codes, out);
    assert_true(out[0] == 0x7F800000 && out[1] == 0xFF800000 && out[2] == MXV_F32_NAN);
}

/// pytorch/ao#4762: zero blocks; tenstorrent/tt-metal#15889: the carry into the clamp.
static void test_published_blocks(void **state)
{
    (void)state;
    static const double carry[] = {0x1.fffffep0, 1};
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        const struct result zero = quantize_word((enum mxv_block)b, NULL, 0);
        assert_int_equal(zero.scale, 0);
        for (int i = 0; i < mxv_block_get((enum mxv_block)b)->size; i++)
            assert_int_equal(zero.codes[i], 0);
    }
    const struct result r = quantize(MXV_BLOCK_MXINT8, NULL, 2, carry);
    assert_true(r.scale == 0x7F && r.codes[0] == 0x7F && r.codes[1] == 0x40);
    struct mxv_block_policy p = {0};
    p.scale.zero = MXV_SCALE_ZERO_ONE;
    assert_int_equal(quantize_word(MXV_MXFP4, &p, 0).scale, 0x7F);
    p.zero = MXV_BLOCK_ZERO_NAN;
    assert_int_equal(quantize_word(MXV_MXFP4, &p, 0).codes[0], 7);
    p.encode.nan = MXV_NAN_CLAMP;
    assert_int_equal(quantize_word(MXV_MXFP8_E4M3, &p, 0x80000000).codes[0], 0x7E);
}

/// triton-lang/triton#8356: the largest bf16 decodes to Inf unless the code is held back.
static void test_decoded_overflow(void **state)
{
    (void)state;
    struct mxv_block_policy p = {0};
    uint32_t out[32];
    p.rule = MXV_SCALE_RCEIL;
    struct result r = quantize_word(MXV_MXFP8_E4M3, &p, 0x7F7F0000);
    assert_true(r.scale == 0xF7 && r.codes[0] == 0x78);
    p.overflow = MXV_BLOCK_OVERFLOW_FINITE;
    r = quantize_word(MXV_MXFP8_E4M3, &p, 0xFF7F0000);
    assert_true(r.scale == 0xF7 && r.codes[0] == 0xF7);
    mxv_block_dequantize(MXV_MXFP8_E4M3, r.scale, r.codes, out);
    assert_int_equal(out[0], 0xFF700000);
    r = quantize_word(MXV_BLOCK_MXINT8, &p, 0xFF7FFFFF);
    mxv_block_dequantize(MXV_BLOCK_MXINT8, r.scale, r.codes, out);
    assert_false(mxv_f32_is_inf(out[0]));
}

static void test_nan_in_block(void **state)
{
    (void)state;
    uint32_t x[32] = {0x40C00000, 0x7FC00000, 0x3F800000};
    struct mxv_block_policy p = {0};
    struct result r;
    mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
    assert_true(r.scale == 0xFF && r.codes[0] == 7 && r.codes[5] == 7);
    mxv_block_quantize(MXV_MXFP8_E4M3, &p, x, &r.scale, r.codes);
    assert_true(r.scale == 0xFF && r.codes[0] == 0x7F);
    p.scale.nan = MXV_SCALE_NAN_ZERO;
    mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
    assert_int_equal(r.scale, 0x00);
    p = (struct mxv_block_policy){0};
    p.nan = MXV_BLOCK_NAN_IGNORE;
    for (int arith = 0; arith < MXV_ARITH_COUNT; arith++) {
        p.arith = (enum mxv_arith)arith;
        p.encode.nan = MXV_NAN_MAX;
        mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
        assert_true(r.scale == 0x7F && r.codes[0] == 7 && r.codes[1] == 7 && r.codes[2] == 2);
        p.encode.nan = MXV_NAN_ZERO;
        mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
        assert_int_equal(r.codes[1], 0);
        mxv_block_quantize(MXV_MXFP8_E4M3, &p, x, &r.scale, r.codes);
        assert_int_equal(r.codes[1], 0x7F);
    }
}

/// torchao (FF), PTX satfinite (FE), and the released DMA kernel (divides by Inf).
static void test_inf_in_block(void **state)
{
    (void)state;
    uint32_t x[32] = {0xFF800000, 0x7F000000, 0xBF800000};
    struct mxv_block_policy p = {0};
    struct result r;
    mxv_block_quantize(MXV_MXFP8_E4M3, &p, x, &r.scale, r.codes);
    assert_true(r.scale == 0xFF && r.codes[0] == 0x7F && r.codes[2] == 0x7F);
    p.scale.inf = MXV_SCALE_INF_MAX;
    mxv_block_quantize(MXV_MXFP8_E4M3, &p, x, &r.scale, r.codes);
    assert_true(r.scale == 0xFE && r.codes[0] == 0xFE && r.codes[1] == 0x38 && r.codes[2] == 0x80);
    p.scale.inf = MXV_SCALE_INF_DIVIDE;
    p.encode.nan = MXV_NAN_CLAMP;
    mxv_block_quantize(MXV_MXFP8_E4M3, &p, x, &r.scale, r.codes);
    assert_true(r.scale == 0xFE && r.codes[0] == 0x7E && r.codes[1] == 0x00 && r.codes[2] == 0x80);
}

/// amax 2^-127 under floor: exponent -129 clamps to 00, the element is 1.0; flushing gives 0.
static void test_subnormals(void **state)
{
    (void)state;
    struct mxv_block_policy p = {0};
    struct result r = quantize_word(MXV_MXFP4, &p, 0x00400000);
    assert_true(r.scale == 0x00 && r.codes[0] == 2);
    p.flush_in = true;
    r = quantize_word(MXV_MXFP4, &p, 0x00400000);
    assert_true(r.scale == 0x00 && r.codes[0] == 0);
    // The reciprocal of FE is subnormal; taken as 0 it empties the block
    // (NVIDIA/TransformerEngine#2408).
    p = (struct mxv_block_policy){0};
    p.rule = MXV_SCALE_CEIL;
    p.arith = MXV_ARITH_RCP;
    r = quantize_word(MXV_BLOCK_MXINT8, &p, 0x7F000000);
    assert_true(r.scale == 0xFE && r.codes[0] == 0x40);
    p.fe = MXV_FE_ZERO;
    r = quantize_word(MXV_BLOCK_MXINT8, &p, 0x7F000000);
    assert_true(r.scale == 0xFE && r.codes[0] == 0x00);
    // x / X = 2^-140 is kept or flushed by arith=div; 2^-236 underflows there, but not in
    // arith=exact.
    uint32_t x[32] = {slow_word(0x1p40f), slow_word(0x1p-102f)};
    p = (struct mxv_block_policy){0};
    p.arith = MXV_ARITH_DIV;
    p.encode.round = MXV_RTP;
    mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
    assert_true(r.scale == 127 + 38 && r.codes[1] == 1);
    p.flush_out = true;
    mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
    assert_int_equal(r.codes[1], 0);
    p.flush_out = false;
    x[0] = slow_word(0x1p127f);
    x[1] = slow_word(0x1p-111f);
    mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
    assert_int_equal(r.codes[1], 0);
    p.arith = MXV_ARITH_EXACT;
    mxv_block_quantize(MXV_MXFP4, &p, x, &r.scale, r.codes);
    assert_int_equal(r.codes[1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_maximum),    cmocka_unit_test(test_against_plain_quantizer),
        cmocka_unit_test(test_f32_arithmetic),   cmocka_unit_test(test_scale_nan),
        cmocka_unit_test(test_decode),           cmocka_unit_test(test_published_blocks),
        cmocka_unit_test(test_decoded_overflow), cmocka_unit_test(test_nan_in_block),
        cmocka_unit_test(test_inf_in_block),     cmocka_unit_test(test_subnormals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
