// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Array quantisation and decoding against the scalar functions at each dispatch level: every block
// generator, formats, scale rules, roundings, NVFP4 orders and errors of four over six, binary32
// and binary16 input, words around every threshold of a plan, specials
// included. MXV_EXHAUSTIVE=1 does 60 times as many blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "array_words.h"

static void check_blocks(const struct mxv_block_plan *plan, const uint32_t *x, const uint16_t *half,
                         const char *what)
{
    const size_t size = mxv_block_get(plan->block)->size, blocks = WORDS / size;
    uint8_t scales[2][WORDS / 16], codes[2][WORDS];
    uint32_t words[WORDS];
    for (size_t i = 0; i < WORDS; i++)
        words[i] = half ? mxv_element_to_f32(MXV_F16, half[i]) : x[i];
    for (size_t b = 0; b < blocks; b++)
        mxv_block_quantize(plan->block, &plan->policy, words + b * size, &scales[0][b],
                           codes[0] + b * size);
    for (int level = 0; level <= (int)most; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        memset(codes[1], 0xEE, WORDS);
        if (half)
            mxv_block_quantize_array_f16(plan, half, blocks, scales[1], codes[1]);
        else
            mxv_block_quantize_array(plan, x, blocks, scales[1], codes[1]);
        check(what, scales[1], scales[0], 1, blocks);
        check(what, codes[1], codes[0], 1, WORDS);
    }
}

static void check_policy(enum mxv_block b, const struct mxv_block_policy *p)
{
    static struct mxv_block_plan plan;
    static uint32_t x[WORDS];
    static uint16_t half[WORDS];
    char what[128];
    mxv_block_plan_prepare(&plan, b, p);
    snprintf(what, sizeof what, "%s rule %s round %s order %s arith %s", mxv_block_get(b)->name,
             mxv_scale_rule_name(p->rule), mxv_round_name(p->encode.round),
             mxv_nvfp4_order_name(p->nvfp4.order), mxv_arith_name(p->arith));
    for (unsigned kind = 0; kind < KINDS * rounds(); kind++) {
        fill(x, kind % KINDS);
        halve(x, half);
        check_blocks(&plan, x, NULL, what);
        check_blocks(&plan, x, half, what);
    }
}

static void every_scale_rule(void **state)
{
    (void)state;
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        for (int rule = 0; rule < MXV_SCALE_RULE_COUNT; rule++) {
            struct mxv_block_policy p = {.rule = (enum mxv_scale_rule)rule};
            check_policy((enum mxv_block)b, &p);
            p.scale.emax_offset = 1 + rule % 3;
            p.arith = rule % 2 ? MXV_ARITH_DIV : MXV_ARITH_RCP;
            p.scale.inf = MXV_SCALE_INF_MAX;
            p.nan = MXV_BLOCK_NAN_IGNORE;
            p.encode.negzero = MXV_NEGZERO_DROP;
            p.overflow = MXV_BLOCK_OVERFLOW_FINITE;
            check_policy((enum mxv_block)b, &p);
        }
    }
}

static void every_rounding(void **state)
{
    (void)state;
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        for (int round = 0; round < MXV_ROUND_COUNT; round++) {
            struct mxv_block_policy p = {.encode = {.round = (enum mxv_round)round,
                                                    .overflow = MXV_OVERFLOW_IEEE,
                                                    .random = 0xABCDEF01,
                                                    .random_bits = 16}};
            p.encode.flush_out = round % 2 != 0;
            p.flush_in = round % 3 == 0;
            p.scale.emax_offset = round % 4;
            check_policy((enum mxv_block)b, &p);
        }
    }
}

static void every_nvfp4_order(void **state)
{
    (void)state;
    static const uint32_t tensors[] = {0x3F800000, 0x40490FDB, 0x47800000, 0x33D6BF95,
                                       0x45280000, 0x7F000000, 0x00000001};
    for (int order = 0; order < MXV_NVFP4_ORDER_COUNT; order++) {
        for (size_t t = 0; t <= sizeof tensors / sizeof *tensors; t++) {
            struct mxv_block_policy p = {.nvfp4 = {.order = (enum mxv_nvfp4_order)order}};
            p.nvfp4.tensor_scaled = t > 0;
            p.nvfp4.tensor_amax = t > 0 ? tensors[t - 1] : 0;
            p.encode.round = t % 3 == 1 ? MXV_RNA : t % 3 == 2 ? MXV_RTZ : MXV_RNE;
            check_policy(MXV_NVFP4, &p);
        }
        struct mxv_block_policy other = {.nvfp4 = {.order = (enum mxv_nvfp4_order)order,
                                                   .divisor = MXV_NVFP4_DIVISOR_UNROUNDED}};
        check_policy(MXV_NVFP4, &other);
    }
}

/// Blocks of few numbers, so that both candidates of four over six err alike, or nearly; maxima
/// have exponent fields from least + 1 to least + 10.
static void fill_alike(uint32_t *x, uint32_t least)
{
    for (size_t i = 0; i < WORDS; i += 16) {
        const uint32_t field = least + random_word() % 10;
        const unsigned zeros = random_word() % 4;
        for (size_t j = 0; j < 16; j++)
            x[i + j] = random_word() % 4 < zeros ? random_word() & 0x80000000 : tie_word(field);
        x[i + random_word() % 16] = (field + 1) << 23 | random_word() % 8 << 20;
    }
}

static void four_over_six(void **state)
{
    (void)state;
    // 2^-10 and more: blocks whose elements are subnormal in binary16
    static const uint32_t tensors[] = {0x41000000, 0x40490FDB, 0x42F6E979,
                                       0x3F800001, 0x3A912345, 0x00000001};
    static struct mxv_block_plan plan;
    static uint32_t x[WORDS];
    static uint16_t half[WORDS];
    for (int err = 0; err < MXV_FOUR_SIX_ERR_COUNT; err++) {
        for (size_t t = 0; t <= sizeof tensors / sizeof *tensors; t++) {
            struct mxv_block_policy p = {.nvfp4 = {.variant = MXV_NVFP4_FOUR_SIX,
                                                   .order = (enum mxv_nvfp4_order)(t + 2),
                                                   .err = (enum mxv_four_six_err)err}};
            p.nvfp4.tensor_scaled = t > 0;
            p.nvfp4.tensor_amax = t > 0 ? tensors[t - 1] : 0;
            p.encode.round = t % 3 == 1 ? MXV_RNA : t % 3 == 2 ? MXV_RNZ : MXV_RNE;
            p.encode.negzero = t % 2 ? MXV_NEGZERO_DROP : MXV_NEGZERO_KEEP;
            check_policy(MXV_NVFP4, &p);
            mxv_block_plan_prepare(&plan, MXV_NVFP4, &p);
            assert_int_equal(plan.vector, t != 6); // a subnormal tensor maximum
            for (unsigned i = 0; i < 20 * rounds(); i++) {
                fill_alike(x, t == 5 ? 104 : 116);
                halve(x, half);
                check_blocks(&plan, x, NULL, "four over six, alike");
                check_blocks(&plan, x, half, "four over six, alike");
            }
        }
    }
}

/// Elements one word around every threshold of every NVFP4 scale: where a wrong threshold shows.
static void around_thresholds(void **state)
{
    (void)state;
    static struct mxv_block_plan plan;
    for (int order = 0; order < MXV_NVFP4_ORDER_COUNT; order++) {
        struct mxv_block_policy p = {.nvfp4 = {.order = (enum mxv_nvfp4_order)order,
                                               .tensor_scaled = true,
                                               .tensor_amax = 0x40490FDB}};
        mxv_block_plan_prepare(&plan, MXV_NVFP4, &p);
        assert_true(plan.vector);
        for (unsigned scale = 1; scale < 127; scale++) {
            static uint32_t x[WORDS];
            const uint32_t edge = scale > 1 ? plan.next_word[scale - 1] : plan.amax_least;
            for (size_t i = 0; i < WORDS; i++) {
                const uint32_t t = plan.rows[scale][1 + i / 16 % 7];
                x[i] = (t < 0x7F800000 ? t : 0x3F800000) + (uint32_t)(i % 4) - 2;
                x[i] |= i % 2 ? 0x80000000 : 0;
                if (i % 16 == 5) // the maximum, at the edge of the scale or inside
                    x[i] = edge > 0x00800000 && edge < 0x7F000000
                               ? edge + (uint32_t)(i / 16 % 8) * 40000 - 1
                               : 0x3F800000;
            }
            check_blocks(&plan, x, NULL, "around thresholds");
        }
    }
}

/// Numbers of blocks that fill no loop, codes behind the last one untouched.
static void any_number_of_blocks(void **state)
{
    (void)state;
    static struct mxv_block_plan plan;
    static uint32_t x[WORDS];
    for (int kind = 0; kind < 3; kind++) {
        struct mxv_block_policy p = {
            .nvfp4 = {.variant = kind == 0 ? MXV_NVFP4_FOUR_SIX : MXV_NVFP4_STANDARD}};
        const enum mxv_block b = kind < 2 ? MXV_NVFP4 : MXV_MXFP4;
        const size_t size = mxv_block_get(b)->size;
        mxv_block_plan_prepare(&plan, b, &p);
        fill(x, 0);
        for (int level = 0; level <= (int)most; level++) {
            mxv_simd_limit((enum mxv_simd)level);
            for (size_t n = 0; n < 44; n++) {
                uint8_t scales[2][45], codes[2][45 * 32];
                memset(scales, 0xEE, sizeof scales);
                memset(codes, 0xEE, sizeof codes);
                for (size_t i = 0; i < n; i++)
                    mxv_block_quantize(b, &p, x + i * size, &scales[0][i], codes[0] + i * size);
                mxv_block_quantize_array(&plan, x, n, scales[1], codes[1]);
                check("number of blocks", scales[1], scales[0], 1, sizeof scales[0]);
                check("number of blocks", codes[1], codes[0], 1, sizeof codes[0]);
            }
        }
    }
}

/// The plans that promise vectors, so that the comparisons above do not compare scalar with scalar.
static void plans_with_vectors(void **state)
{
    (void)state;
    static struct mxv_block_plan plan;
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        const enum mxv_element element = mxv_block_get((enum mxv_block)b)->element;
        const bool is_float = mxv_element_get(element)->shape == MXV_SHAPE_FLOAT;
        for (int round = 0; round < MXV_ROUND_COUNT; round++) {
            const struct mxv_block_policy p = {.encode = {.round = (enum mxv_round)round}};
            const bool by_bits =
                round == MXV_RTP || round == MXV_RTN || round == MXV_RTO || round == MXV_RHU;
            const bool never = round == MXV_RS || round == MXV_RDMA;
            mxv_block_plan_prepare(&plan, (enum mxv_block)b, &p);
            assert_int_equal(plan.vector, is_float && !never && !(b == MXV_NVFP4 && by_bits));
        }
        for (int rule = 0; rule < MXV_SCALE_RULE_COUNT && b != MXV_NVFP4; rule++) {
            const struct mxv_block_policy p = {.rule = (enum mxv_scale_rule)rule};
            mxv_block_plan_prepare(&plan, (enum mxv_block)b, &p);
            assert_int_equal(plan.vector, is_float);
        }
    }
}

static void every_code_decodes(void **state)
{
    (void)state;
    for (int b = 0; b < MXV_BLOCK_COUNT; b++) {
        const size_t size = mxv_block_get((enum mxv_block)b)->size;
        static uint32_t got[256 * 256], expected[256 * 256];
        static uint8_t scales[256 * 16], codes[256 * 256];
        for (size_t s = 0; s < 256; s++) {
            for (size_t c = 0; c < 256; c++)
                codes[s * 256 + c] = (uint8_t)c;
            for (size_t c = 0; c < 256 / size; c++)
                scales[s * (256 / size) + c] = (uint8_t)s;
        }
        for (size_t i = 0; i < 256 * 256 / size; i++)
            mxv_block_dequantize((enum mxv_block)b, scales[i], codes + i * size,
                                 expected + i * size);
        for (int level = 0; level <= (int)most; level++) {
            mxv_simd_limit((enum mxv_simd)level);
            memset(got, 0xEE, sizeof got);
            mxv_block_dequantize_array((enum mxv_block)b, scales, codes, 256 * 256 / size, got);
            check(mxv_block_get((enum mxv_block)b)->name, got, expected, sizeof *got, 256 * 256);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scale_rule),     cmocka_unit_test(every_rounding),
        cmocka_unit_test(every_nvfp4_order),    cmocka_unit_test(around_thresholds),
        cmocka_unit_test(any_number_of_blocks), cmocka_unit_test(plans_with_vectors),
        cmocka_unit_test(every_code_decodes),   cmocka_unit_test(four_over_six),
    };
    seed_words();
    most = mxv_simd_limit((enum mxv_simd)(MXV_SIMD_COUNT - 1));
    return cmocka_run_group_tests(tests, NULL, report);
}
