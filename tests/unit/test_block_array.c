// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Array quantisation and decoding against the scalar functions at each dispatch level: every block
// generator, formats, scale rules, roundings, NVFP4 orders and INT8 arithmetics, binary32 and
// binary16 input, words around every threshold of a plan, specials included. MXV_EXHAUSTIVE=1 does
// 60 times as many blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mxverify/block_array.h>
#include <mxverify/simd.h>

enum { BLOCKS = 64, WORDS = BLOCKS * 32 };

static uint64_t state_of_random = 1;
static uint64_t compared, differing;
static enum mxv_simd most;

static uint32_t random_word(void)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state_of_random >> 29);
}

static unsigned rounds(void)
{
    const char *text = getenv("MXV_EXHAUSTIVE");
    return text != NULL && strcmp(text, "1") == 0 ? 60 : 1;
}

/// Any word, or one whose exponent lies within 12 binades below `field`.
static uint32_t word_near(unsigned field)
{
    const uint32_t exp = (field - random_word() % 12) & 0xFF;
    return (random_word() & 0x807FFFFF) | exp << 23;
}

/// Integers, halves and quarters times a power of two: ties everywhere.
static uint32_t tie_word(unsigned field)
{
    const uint32_t frac = (random_word() % 64) << 17;
    return (random_word() & 0x80000000) | ((field - random_word() % 8) & 0xFF) << 23 | frac;
}

enum { KINDS = 9 };

static void fill(uint32_t *x, unsigned kind)
{
    unsigned field = 127;
    for (size_t i = 0; i < WORDS; i++) {
        if (i % 16 == 0)
            field = kind == 2 ? random_word() % 256 : 100 + random_word() % 50;
        switch (kind) {
        case 0:
            x[i] = word_near(127);
            break;
        case 1:
            x[i] = word_near(field);
            break;
        case 2: // the whole range of binary32, ends included
            x[i] = word_near(field);
            break;
        case 3:
            x[i] = tie_word(field);
            break;
        case 4: // a few specials
            x[i] = random_word() % 40 == 0 ? 0x7F800000 | (random_word() & 0x80000000) |
                                                 (random_word() % 2 ? random_word() & 0x7FFFFF : 0)
                                           : word_near(field);
            break;
        case 5: // zeros of both signs, whole blocks of them
            x[i] = random_word() % 3 || i % 96 < 32 ? random_word() & 0x80000000 : word_near(field);
            break;
        case 6: // subnormals beside them
            x[i] = random_word() % 2 ? random_word() & 0x807FFFFF : word_near(field);
            break;
        case 7: // block maxima one word off 2^k, 6, 7, 448, 464 times 2^k
        default: {
            static const uint32_t tops[] = {0x800000, 0xC00000, 0xE00000, 0xE80000, 0xF00000,
                                            0xA00000, 0xB504F3, 0x900000, 0xFFFFFF};
            const uint32_t top = tops[random_word() % 9] + random_word() % 5 - 2;
            const uint32_t word = (field << 23) + (top - 0x800000);
            x[i] = i % 16 == 3 ? word : kind == 7 ? word_near(field - 1) : tie_word(field - 1);
            break;
        }
        }
    }
}

/// The nearest binary16 words, specials kept.
static void halve(const uint32_t *x, uint16_t *half)
{
    struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    for (size_t i = 0; i < WORDS; i++)
        half[i] = (uint16_t)mxv_element_from_f32(MXV_F16, x[i], &ieee);
}

static void check(const char *what, const void *got, const void *expected, size_t size,
                  size_t count)
{
    compared += count;
    if (memcmp(got, expected, size * count) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        differing +=
            memcmp((const char *)got + i * size, (const char *)expected + i * size, size) != 0;
    fail_msg("%s: array and scalar differ at level %s", what, mxv_simd_name(mxv_simd_level()));
}

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

/// Blocks of few numbers, so that both candidates of four over six err alike, or nearly.
static void fill_alike(uint32_t *x)
{
    for (size_t i = 0; i < WORDS; i += 16) {
        const uint32_t field = 116 + random_word() % 10;
        const unsigned zeros = random_word() % 4;
        for (size_t j = 0; j < 16; j++)
            x[i + j] = random_word() % 4 < zeros ? random_word() & 0x80000000 : tie_word(field);
        x[i + random_word() % 16] = (field + 1) << 23 | random_word() % 8 << 20;
    }
}

static void four_over_six(void **state)
{
    (void)state;
    static const uint32_t tensors[] = {0x41000000, 0x40490FDB, 0x42F6E979, 0x3F800001, 0x00000001};
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
            for (unsigned i = 0; i < 20 * rounds(); i++) {
                fill_alike(x);
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

static void check_int8(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                       size_t count)
{
    const size_t groups = WORDS / count;
    uint32_t scales[2][WORDS], words[WORDS], back[2][WORDS];
    int8_t codes[2][WORDS];
    for (size_t i = 0; i < WORDS; i++)
        words[i] = half ? mxv_element_to_f32(MXV_F16, half[i]) : x[i];
    for (size_t g = 0; g < groups; g++)
        mxv_int8_quantize(p, words + g * count, count, 1, &scales[0][g], codes[0] + g * count);
    for (size_t i = 0; i < groups * count; i++)
        back[0][i] = mxv_int8_dequantize(codes[0][i], scales[0][i / count]);
    for (int level = 0; level <= (int)most; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        if (half)
            mxv_int8_quantize_array_f16(p, half, count, groups, scales[1], codes[1]);
        else
            mxv_int8_quantize_array(p, x, count, groups, scales[1], codes[1]);
        mxv_int8_dequantize_array(codes[1], scales[1], count, groups, back[1]);
        check("int8 scales", scales[1], scales[0], sizeof **scales, groups);
        check("int8 codes", codes[1], codes[0], 1, groups * count);
        check("int8 decoded", back[1], back[0], sizeof **back, groups * count);
    }
}

static void every_int8_policy(void **state)
{
    (void)state;
    static uint32_t x[WORDS];
    static uint16_t half[WORDS];
    static const size_t counts[] = {1, 7, 16, 100, 128, 1024, WORDS};
    for (unsigned kind = 0; kind < KINDS * rounds(); kind++) {
        fill(x, kind % KINDS);
        halve(x, half);
        for (int arith = 0; arith < MXV_INT8_ARITH_COUNT; arith++) {
            for (int round = 0; round < MXV_ROUND_COUNT; round++) {
                const struct mxv_int8_policy p = {.arith = (enum mxv_int8_arith)arith,
                                                  .round = (enum mxv_round)round,
                                                  .eps = (enum mxv_int8_eps)(kind % 4),
                                                  .symmetric = kind % 2 != 0,
                                                  .nan = kind % 3 ? MXV_BLOCK_NAN_PROPAGATE
                                                                  : MXV_BLOCK_NAN_IGNORE};
                const size_t count = counts[(kind + (unsigned)round) % 7];
                check_int8(&p, x, NULL, count);
                check_int8(&p, x, half, count);
            }
        }
    }
}

/// All integers times all significands that end a product's rounding: decoding of every code.
static void int8_products(void **state)
{
    (void)state;
    static int8_t codes[256];
    static uint32_t got[256];
    for (int i = 0; i < 256; i++)
        codes[i] = (int8_t)(i - 128);
    for (unsigned n = 0; n < 20000 * rounds(); n++) {
        const uint32_t scale = n % 2 ? random_word() & 0x7FFFFFFF
                                     : (random_word() & 0x3FFF) | (random_word() % 250) << 23;
        for (int level = 0; level <= (int)most; level++) {
            mxv_simd_limit((enum mxv_simd)level);
            mxv_int8_dequantize_array(codes, &scale, 256, 1, got);
            for (int i = 0; i < 256 && level > 0; i += n % 2 ? 1 : 3)
                assert_int_equal(got[i], mxv_int8_dequantize(codes[i], scale));
            compared += 256;
        }
    }
}

static int report(void **state)
{
    (void)state;
    printf("%llu results at levels up to %s, %llu differences\n", (unsigned long long)compared,
           mxv_simd_name(most), (unsigned long long)differing);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scale_rule),   cmocka_unit_test(every_rounding),
        cmocka_unit_test(every_nvfp4_order),  cmocka_unit_test(around_thresholds),
        cmocka_unit_test(every_code_decodes), cmocka_unit_test(every_int8_policy),
        cmocka_unit_test(int8_products),      cmocka_unit_test(four_over_six),
    };
    most = mxv_simd_limit((enum mxv_simd)(MXV_SIMD_COUNT - 1));
    return cmocka_run_group_tests(tests, NULL, report);
}
