// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tiles of random shape and contents for a matrix-unit model, their words by the scalar chain, and
// the count of words in which mxv_mma_tile differs.
#ifndef MXV_TESTS_MMA_TILES_H
#define MXV_TESTS_MMA_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mxverify/element.h>
#include <mxverify/matrix_unit.h>

#include "splitmix.h"

enum { MAX_ROWS = 64, MAX_COLS = 70, MAX_PRODUCTS = 320 };

// Largest number of rows: few rows give many different tiles, many rows cost less a word.
static uint32_t row_limit_ = 12;

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
    return (uint32_t)(splitmix_next(&state_) >> 32);
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

// Half of the tiles are one instruction, most others the beginning of one, some a chain.
static size_t products(const struct mxv_mma_model *m)
{
    const uint32_t kind = below(64);
    if (kind < 32)
        return m->k;
    if (kind < 61)
        return 1 + below(1 + below(m->k));
    return kind < 63 ? m->k * 2 : 1 + below(MAX_PRODUCTS);
}

static void fill(struct tile *t, const struct mxv_mma_model *m, enum generator g)
{
    t->m = m;
    t->rows = 1 + below(row_limit_);
    t->cols = below(2) ? 64 : 1 + below(MAX_COLS);
    t->ld = t->cols + below(3);
    t->k = products(m);
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

#endif
