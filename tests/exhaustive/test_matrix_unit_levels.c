// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_mma_tile at every instruction level of this machine (simd.h) against the scalar chain, word
// by word, family of models by family of models. The scalar words are computed once and each level
// is held against them. MXV_LEVELS_RESULTS sets the words per family (100000000 is the full run),
// MXV_LEVELS_SEED the random numbers, MXV_LEVELS_FAMILY picks one family, so that a full run can be
// shared out among processes. With MXV_LEVELS_TILE (a model) and MXV_LEVELS_LEVEL it runs one tile
// of 128 x 128 x 128 and compares nothing (docs/performance.md counts its instructions).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mxverify/matrix_unit.h>
#include <mxverify/simd.h>

enum { MAX_ROWS = 12, MAX_COLS = 70, MAX_PRODUCTS = 320, DEFAULT_RESULTS = 100000 };

// Ways to draw operands and accumulators.
enum generator {
    MODERATE,
    WIDE_RANGE,
    ANY_BITS,
    CANCELLING,
    SPECIALS,
    ATTENTION, // small products beside a large accumulator
    MOSTLY_ZERO,
    TINY,
    HUGE_VALUES,
    ONE_EXPONENT, // largest significands, one sign: the largest sums
    GENERATORS
};

static uint64_t state_;

static uint32_t draw(void)
{
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)((uint64_t)draw() * n >> 32);
}

// A word with its exponent field in [low, high] of the format's range, in 64ths.
static uint32_t float_word(enum mxv_element e, uint32_t low, uint32_t high, uint32_t frac_or)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    uint32_t top = (1u << f->exp_bits) - 1, frac = (draw() | frac_or) & ((1u << f->frac_bits) - 1);
    uint32_t first = top * low / 64, field = first + below(top * high / 64 - first + 1);
    uint32_t w = draw() % 2 << (f->exp_bits + f->frac_bits) | field << f->frac_bits | frac;
    return e == MXV_TF32 ? w << 13 | (draw() & 0x1fff) : w;
}

static uint32_t special_word(enum mxv_element e)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    uint32_t all = (1u << (f->exp_bits + f->frac_bits)) - 1;
    uint32_t inf = all - ((1u << f->frac_bits) - 1);
    uint32_t w = (draw() % 2 ? all : inf) | draw() % 2 << (f->exp_bits + f->frac_bits);
    return e == MXV_TF32 ? w << 13 : w;
}

static uint32_t float_operand(enum mxv_element e, enum generator g)
{
    switch (g) {
    case MODERATE:
    case CANCELLING:
        return float_word(e, 28, 36, 0);
    case WIDE_RANGE:
        return float_word(e, 12, 52, 0);
    case ANY_BITS:
        return draw();
    case SPECIALS:
        return below(200) ? float_word(e, 8, 56, 0) : special_word(e);
    case ATTENTION:
        return float_word(e, 26, 31, 0);
    case MOSTLY_ZERO:
        return below(4) ? 0 : float_word(e, 0, 62, 0);
    case TINY:
        return float_word(e, 0, below(8) ? 8 : 24, 0);
    case HUGE_VALUES:
        return float_word(e, 48, 62, 0);
    default:
        return float_word(e, 32, 32, draw() % 4 ? 0xffff : 0);
    }
}

static uint32_t operand(enum mxv_element e, enum generator g)
{
    if (e != MXV_S8 && e != MXV_U8)
        return float_operand(e, g);
    return g % 3 == 0 ? draw() : g % 3 == 1 ? (draw() % 2 ? 0x80 : 0x7f) : below(255) + 1;
}

static uint32_t accumulator(const struct mxv_mma_model *m, enum generator g)
{
    enum mxv_element e = m->result == MXV_MMA_F16 ? MXV_F16 : MXV_F32;
    uint32_t zero = draw() % 2 ? 0 : m->result == MXV_MMA_F16 ? 0x8000u : 0x80000000u;
    if (m->result == MXV_MMA_S32)
        return g % 2 ? draw() : draw() % 2000001 - 1000000;
    switch (g) {
    case ANY_BITS:
        return draw() & (m->result == MXV_MMA_F16 ? 0xffff : 0xffffffff);
    case SPECIALS:
        return below(10) ? float_word(e, 24, 40, 0) : special_word(e);
    case ATTENTION:
        return float_word(e, 32, 36, 0);
    case MOSTLY_ZERO:
        return zero;
    case TINY:
        return draw() % 3 ? float_word(e, 0, 6, 0) : zero;
    case HUGE_VALUES:
        return float_word(e, 32, 63, 0);
    case WIDE_RANGE:
        return float_word(e, 8, 56, 0);
    default:
        return draw() % 8 ? float_word(e, 26, 38, 0) : zero;
    }
}

static uint8_t scale(const struct mxv_mma_model *m, enum generator g)
{
    bool e8m0 = m->scale == MXV_E8M0;
    if (g == ANY_BITS || (g == MOSTLY_ZERO && draw() % 4 == 0))
        return (uint8_t)(below(100) ? draw() & (e8m0 ? 0xfe : 0x77) : draw());
    if (g == SPECIALS && below(40) == 0)
        return (uint8_t)(e8m0 ? 0xff : 0x7f);
    if (g == HUGE_VALUES)
        return (uint8_t)(e8m0 ? 200 + below(55) : 0x60 + below(31));
    if (g == TINY || g == MOSTLY_ZERO)
        return (uint8_t)(e8m0 ? below(80) : below(16));
    if (g == WIDE_RANGE)
        return (uint8_t)(e8m0 ? 100 + below(50) : below(0x7f));
    return (uint8_t)(e8m0 ? 120 + below(15) : 0x28 + below(32));
}

// A tile of random shape.
struct tile {
    const struct mxv_mma_model *m;
    size_t rows, cols, k, ld, scales;
    uint32_t a_words[MAX_ROWS * MAX_PRODUCTS], b_words[MAX_COLS * MAX_PRODUCTS];
    struct mxv_operand a[MAX_ROWS * MAX_PRODUCTS], b[MAX_COLS * MAX_PRODUCTS];
    uint8_t scale_a[MAX_ROWS * MAX_PRODUCTS], scale_b[MAX_COLS * MAX_PRODUCTS];
    uint32_t c[MAX_ROWS * (MAX_COLS + 2)], want[MAX_ROWS * (MAX_COLS + 2)];
};

// Odd elements of A negate their neighbour, odd elements of B repeat theirs.
static void cancel(struct tile *t)
{
    uint32_t sign = t->m->a == MXV_TF32 ? 0x80000000u : 0;
    if (t->m->a != MXV_S8 && t->m->a != MXV_U8 && sign == 0) {
        const struct mxv_element_info *f = mxv_element_get(t->m->a);
        sign = 1u << (f->exp_bits + f->frac_bits);
    }
    for (size_t i = 1; i < t->rows * t->k; i += 2)
        t->a_words[i] = draw() % 16 ? t->a_words[i - 1] ^ sign : t->a_words[i];
    for (size_t i = 1; i < t->cols * t->k; i += 2)
        t->b_words[i] = t->b_words[i - 1];
}

static void fill(struct tile *t, const struct mxv_mma_model *m, enum generator g)
{
    t->m = m;
    t->rows = 1 + below(MAX_ROWS);
    t->cols = below(2) ? 64 : 1 + below(MAX_COLS);
    t->ld = t->cols + below(3);
    t->k = below(32) ? m->k * (1 + below(2)) : 1 + below(MAX_PRODUCTS);
    t->scales = mxv_mma_scale_count(m, t->k);
    for (size_t i = 0; i < t->rows * t->k; i++)
        t->a_words[i] = operand(m->a, g);
    for (size_t i = 0; i < t->cols * t->k; i++)
        t->b_words[i] = operand(m->b, g);
    if (g == CANCELLING)
        cancel(t);
    for (size_t i = 0; i < t->rows * t->scales; i++)
        t->scale_a[i] = scale(m, g);
    for (size_t i = 0; i < t->cols * t->scales; i++)
        t->scale_b[i] = scale(m, g);
    for (size_t i = 0; i < t->rows * t->ld; i++)
        t->c[i] = accumulator(m, g);
    mxv_mma_decode_a(m, t->a_words, t->rows * t->k, t->a);
    mxv_mma_decode_b(m, t->b_words, t->cols * t->k, t->b);
}

// Every sixteenth tile from words, the others from operands.
static void compute(struct tile *t)
{
    bool words = below(16) == 0;
    memcpy(t->want, t->c, sizeof t->c);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t j = 0; j < t->cols; j++) {
            uint32_t *d = &t->want[r * t->ld + j];
            const uint8_t *sa = t->scale_a + r * t->scales, *sb = t->scale_b + j * t->scales;
            *d = words ? mxv_mma_dot(t->m, t->k, t->a_words + r * t->k, t->b_words + j * t->k, *d,
                                     sa, sb)
                       : mxv_mma_dot_operands(t->m, t->k, t->a + r * t->k, t->b + j * t->k, *d, sa,
                                              sb);
        }
}

static size_t differences(const struct tile *t)
{
    static uint32_t cd[MAX_ROWS * (MAX_COLS + 2)];
    size_t wrong = 0;
    memcpy(cd, t->c, sizeof cd);
    mxv_mma_tile(t->m, t->rows, t->cols, t->k, t->a, t->b, t->scale_a, t->scale_b, cd, t->ld);
    for (size_t i = 0; i < t->rows * t->ld; i++)
        wrong += cd[i] != t->want[i];
    return wrong;
}

static bool fp8_13(const struct mxv_mma_model *m)
{
    return m->rule == MXV_MMA_T && m->frac_bits == 13;
}

static bool narrow(const struct mxv_mma_model *m)
{
    return m->rule == MXV_MMA_T && m->step == 32 && m->frac_bits == 25;
}

// Family of a model, in the order of `families`; -1 for the AMD rules, which have one form only.
static int family_of(const struct mxv_mma_model *m)
{
    int half = m->result == MXV_MMA_F16;
    switch (m->rule) {
    case MXV_MMA_T:
        if (fp8_13(m))
            return 4 + half;
        if (narrow(m))
            return 6 + half;
        return half ? 3 : m->a == MXV_F16 ? 0 : m->a == MXV_BF16 ? 1 : 2;
    case MXV_MMA_ST:
        return 8;
    case MXV_MMA_HMMA_FP8:
        return 9 + half;
    case MXV_MMA_GST:
        return m->scale == MXV_E8M0 ? 11 : 12;
    case MXV_MMA_INT:
        return m->saturate ? 14 : 13;
    default:
        return -1;
    }
}

static const char *const families[] = {
    "f16 to f32",          "bf16 to f32",         "tf32 to f32",
    "f16 to f16",          "FP8 F=13 to f32",     "FP8 F=13 to f16",
    "f8f6f4 to f32",       "f8f6f4 to f16",       "mxf8f6f4 to f32",
    "FP8 mma.sync to f32", "FP8 mma.sync to f16", "4-bit, E8M0 scales",
    "4-bit, UE4M3 scales", "8-bit integers",      "8-bit integers, clamped"};

enum { FAMILIES = sizeof families / sizeof families[0] };

static size_t setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

// Words compared, and differences by level.
struct score {
    size_t words, models, wrong[MXV_SIMD_COUNT];
};

static void compare_tile(struct tile *t, const struct mxv_mma_model *m, enum generator g,
                         enum mxv_simd top, struct score *s)
{
    fill(t, m, g);
    compute(t);
    s->words += t->rows * t->cols;
    for (int level = 0; level <= (int)top; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        size_t wrong = differences(t);
        if (wrong && s->wrong[level] == 0)
            print_error("%s, generator %d, %zu x %zu x %zu at %s: %zu words differ\n", m->name,
                        (int)g, t->rows, t->cols, t->k, mxv_simd_name((enum mxv_simd)level), wrong);
        s->wrong[level] += wrong;
    }
    mxv_simd_limit(top);
}

static struct score run_family(int family, size_t results, enum mxv_simd top)
{
    static struct tile t;
    const struct mxv_mma_model *models[512];
    struct score s = {0};
    for (size_t i = 0; i < mxv_mma_count(); i++)
        if (family_of(mxv_mma_at(i)) == family && s.models < 512)
            models[s.models++] = mxv_mma_at(i);
    assert_true(s.models > 0);
    for (size_t i = 0; s.words < results; i++)
        compare_tile(&t, models[i % s.models], (enum generator)below(GENERATORS), top, &s);
    return s;
}

static void test_levels(void **state)
{
    const enum mxv_simd top = mxv_simd_level();
    const size_t results = setting("MXV_LEVELS_RESULTS", DEFAULT_RESULTS);
    const size_t only = setting("MXV_LEVELS_FAMILY", FAMILIES);
    size_t wrong = 0;
    (void)state;
    state_ = setting("MXV_LEVELS_SEED", 1) << 32;
    for (int f = 0; f < FAMILIES; f++) {
        if (only < FAMILIES && (size_t)f != only)
            continue;
        struct score s = run_family(f, results, top);
        printf("%-24s %3zu models %10zu words, differences:", families[f], s.models, s.words);
        for (int level = 0; level <= (int)top; level++) {
            printf(" %s %zu", mxv_simd_name((enum mxv_simd)level), s.wrong[level]);
            wrong += s.wrong[level];
        }
        printf("\n");
        fflush(stdout);
    }
    assert_int_equal(wrong, 0);
}

// Test of the test: a model with one fraction bit less is told apart at every level.
static void test_difference_is_seen(void **state)
{
    static const char *const names[] = {"sm_90.wgmma.bf16.f32", "sm_90.wgmma.e4m3.f32",
                                        "sm_100.tcgen05.mxf8f6f4.e4m3.f32",
                                        "sm_100.tcgen05.mxf4nvf4.ue4m3.f32"};
    static struct tile t;
    const enum mxv_simd top = mxv_simd_level();
    (void)state;
    state_ = 7;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mxv_mma_model changed = *mxv_mma_find(names[i]);
        size_t wrong[MXV_SIMD_COUNT] = {0};
        changed.frac_bits -= 2;
        for (int g = 0; g < 40 * GENERATORS; g++) {
            fill(&t, mxv_mma_find(names[i]), (enum generator)(g % GENERATORS));
            compute(&t);
            t.m = &changed;
            for (int level = 0; level <= (int)top; level++) {
                mxv_simd_limit((enum mxv_simd)level);
                wrong[level] += differences(&t);
            }
        }
        for (int level = 0; level <= (int)top; level++)
            assert_true(wrong[level] > 0 && wrong[level] == wrong[0]);
        mxv_simd_limit(top);
    }
}

// One tile of 128 x 128 x 128 of a model at a level, for counting instructions.
static int one_tile(const char *name, const char *level_name)
{
    enum { SIDE = 128 };
    static uint32_t words[SIDE * SIDE], cd[SIDE * SIDE];
    static struct mxv_operand a[SIDE * SIDE], b[SIDE * SIDE];
    static uint8_t scale_a[SIDE * SIDE], scale_b[SIDE * SIDE];
    const struct mxv_mma_model *m = mxv_mma_find(name);
    enum mxv_simd level;
    if (!m || !level_name || !mxv_simd_find(level_name, &level))
        return EXIT_FAILURE;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        words[i] = operand(m->a, MODERATE);
    mxv_mma_decode_a(m, words, SIDE * SIDE, a);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        words[i] = operand(m->b, MODERATE);
        scale_a[i] = scale(m, MODERATE);
        scale_b[i] = scale(m, MODERATE);
        cd[i] = accumulator(m, ATTENTION);
    }
    mxv_mma_decode_b(m, words, SIDE * SIDE, b);
    printf("%s at %s\n", m->name, mxv_simd_name(mxv_simd_limit(level)));
    mxv_mma_tile(m, SIDE, SIDE, SIDE, a, b, scale_a, scale_b, cd, SIDE);
    return EXIT_SUCCESS;
}

int main(void)
{
    if (getenv("MXV_LEVELS_TILE"))
        return one_tile(getenv("MXV_LEVELS_TILE"), getenv("MXV_LEVELS_LEVEL"));
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_difference_is_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
