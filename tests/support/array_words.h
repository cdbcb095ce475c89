// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Words for the tests of array quantisation, and the comparison with the scalar results. Included
// once, after cmocka.h. MXV_EXHAUSTIVE=1 asks for 60 rounds.
#ifndef MXV_TESTS_ARRAY_WORDS_H
#define MXV_TESTS_ARRAY_WORDS_H

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

// What is drawn follows MXV_ARRAY_SEED, a hexadecimal number.
static void seed_words(void)
{
    const char *text = getenv("MXV_ARRAY_SEED");
    state_of_random = text ? strtoull(text, NULL, 16) * 2 + 1 : 1;
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

static int report(void **state)
{
    (void)state;
    printf("%llu results at levels up to %s, %llu differences\n", (unsigned long long)compared,
           mxv_simd_name(most), (unsigned long long)differing);
    return 0;
}

#endif
