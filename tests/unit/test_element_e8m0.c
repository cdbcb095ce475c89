// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E8M0 from an arbitrary binary32 word: the published outputs of the CUDA host functions, and what
// ml_dtypes, torch, gfloat and LLVM do differently, each under the policy that names it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <mxverify/element.h>
#include <mxverify/scale.h>

#include "slow_format.h"

struct row {
    uint32_t word;
    unsigned rtz, rtp, rtp_ieee, rna, rne;
};

/// Columns: CUDA .rz sat, .rp sat, .rp (CUDA 13.0 headers), exact nearest with ties up, with ties
/// to the even code.
static const struct row rows[] = {
    {0x00000000, 0x00, 0x00, 0x00, 0x00, 0x00}, {0x00000001, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x00400000, 0x00, 0x00, 0x00, 0x00, 0x00}, {0x00400001, 0x00, 0x01, 0x01, 0x00, 0x00},
    {0x3F400000, 0x7E, 0x7F, 0x7F, 0x7F, 0x7E}, {0x3F800000, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F},
    {0x3F800001, 0x7F, 0x80, 0x80, 0x7F, 0x7F}, {0x3FC00000, 0x7F, 0x80, 0x80, 0x80, 0x80},
    {0x40400000, 0x80, 0x81, 0x81, 0x81, 0x80}, {0x40C00000, 0x81, 0x82, 0x82, 0x82, 0x82},
    {0x7F000000, 0xFE, 0xFE, 0xFE, 0xFE, 0xFE}, {0x7F000001, 0xFE, 0xFE, 0xFF, 0xFE, 0xFE},
    {0x7F7FFFFF, 0xFE, 0xFE, 0xFF, 0xFE, 0xFE}, {0x7F800000, 0xFE, 0xFE, 0xFF, 0xFE, 0xFE},
    {0x7FC00000, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, {0xBF800000, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F},
    {0xBF800001, 0x7F, 0x80, 0x80, 0x7F, 0x7F},
};

static unsigned encode(uint32_t word, enum mxv_round round, enum mxv_overflow overflow)
{
    struct mxv_encode p = {0};
    p.round = round;
    p.overflow = overflow;
    return (unsigned)mxv_element_from_f32(MXV_E8M0, word, &p);
}

static void test_published_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        assert_int_equal(encode(r->word, MXV_RTZ, MXV_OVERFLOW_SAT), r->rtz);
        assert_int_equal(encode(r->word, MXV_RTP, MXV_OVERFLOW_SAT), r->rtp);
        assert_int_equal(encode(r->word, MXV_RTP, MXV_OVERFLOW_IEEE), r->rtp_ieee);
        assert_int_equal(encode(r->word, MXV_RNA, MXV_OVERFLOW_SAT), r->rna);
        assert_int_equal(encode(r->word, MXV_RNE, MXV_OVERFLOW_SAT), r->rne);
    }
    assert_int_equal(encode(0x7F400000, MXV_RNA, MXV_OVERFLOW_IEEE), 0xFF);
    assert_int_equal(encode(0x7F7FFFFF, MXV_RTZ, MXV_OVERFLOW_IEEE), 0xFE);
    assert_int_equal(encode(0x7F800000, MXV_RTZ, MXV_OVERFLOW_IEEE), 0xFF);
}

/// jax-ml/ml_dtypes#398: the two nearest rules differ at 126 or 127 of the ties between neighbours.
static void test_ties(void **state)
{
    (void)state;
    int differ = 0;
    for (unsigned c = 1; c < 0xFE; c++) {
        const uint32_t tie = c << 23 | 0x400000;
        const unsigned even = encode(tie, MXV_RNE, MXV_OVERFLOW_SAT);
        assert_int_equal(even, c % 2 == 0 ? c : c + 1);
        assert_int_equal(encode(tie, MXV_RNA, MXV_OVERFLOW_SAT), c + 1);
        assert_int_equal(encode(tie, MXV_RNZ, MXV_OVERFLOW_SAT), c);
        differ += even != c + 1;
    }
    assert_int_equal(differ, 126);
    assert_int_equal(encode(0x00600000, MXV_RNE, MXV_OVERFLOW_SAT), 0);
    assert_int_equal(encode(0x00600000, MXV_RNA, MXV_OVERFLOW_SAT), 1);
}

/// gfloat (FF for zero and underflow), ml_dtypes (FF for zero and negative numbers), LLVM's clamp.
static void test_library_policies(void **state)
{
    (void)state;
    struct mxv_encode p = {0};
    p.e8m0_zero = MXV_E8M0_ZERO_NAN;
    p.below = MXV_BELOW_NAN;
    p.negative = MXV_NEGATIVE_NAN;
    assert_int_equal(mxv_element_from_f32(MXV_E8M0, 0x00000000, &p), 0xFF);
    assert_int_equal(mxv_element_from_f32(MXV_E8M0, 0x00000001, &p), 0xFF);
    assert_int_equal(mxv_element_from_f32(MXV_E8M0, 0x00400000, &p), 0x00);
    assert_int_equal(mxv_element_from_f32(MXV_E8M0, 0xBF800000, &p), 0xFF);
    assert_int_equal(mxv_element_from_f32(MXV_UE5M3, 0xBF800000, &p), 0xFF);
    p.negative = MXV_NEGATIVE_LOWEST;
    assert_int_equal(mxv_element_from_f32(MXV_E8M0, 0xBF800000, &p), 0x00);
    assert_int_equal(mxv_element_from_f32(MXV_UE4M3, 0x80000000, &p), 0x00);
    assert_int_equal(mxv_element_from_f32(MXV_UE4M3, 0xBF800000, NULL), 0x38);
}

/// NVIDIA/TransformerEngine#3262 and #2408: decoding and reciprocal, every code.
static void test_decode_and_reciprocal(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 0xFF; c++) {
        assert_int_equal(mxv_e8m0_to_f32((uint8_t)c), slow_word(ldexpf(1, (int)c - 127)));
        assert_int_equal(mxv_e8m0_rcp((uint8_t)c, MXV_FE_EXACT),
                         slow_word(ldexpf(1, 127 - (int)c)));
        assert_int_equal(mxv_e8m0_rcp((uint8_t)c, MXV_FE_ZERO),
                         c == 0xFE ? 0 : slow_word(ldexpf(1, 127 - (int)c)));
    }
    assert_true(isnan(slow_float(mxv_e8m0_to_f32(0xFF))));
    assert_true(isnan(slow_float(mxv_e8m0_rcp(0xFF, MXV_FE_EXACT))));
}

/// sgl-project/sglang#39193: only powers of two and zero survive a packer that keeps the exponent.
static void test_from_pow2(void **state)
{
    (void)state;
    uint8_t code = 0xAA;
    assert_false(mxv_e8m0_from_pow2(0x3FC00000, &code));
    assert_false(mxv_e8m0_from_pow2(0xBF800000, &code));
    assert_false(mxv_e8m0_from_pow2(0x00400000, &code));
    assert_int_equal(code, 0xAA);
    assert_true(mxv_e8m0_from_pow2(0x40000000, &code));
    assert_int_equal(code, 0x80);
    assert_true(mxv_e8m0_from_pow2(0x00000000, &code));
    assert_int_equal(code, 0x00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_table),  cmocka_unit_test(test_ties),
        cmocka_unit_test(test_library_policies), cmocka_unit_test(test_decode_and_reciprocal),
        cmocka_unit_test(test_from_pow2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
