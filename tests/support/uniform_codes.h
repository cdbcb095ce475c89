// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Uniform numbers and the codes nearest to numbers, for the tests of bounds. A test sets `state`.
#ifndef MXV_TESTS_UNIFORM_CODES_H
#define MXV_TESTS_UNIFORM_CODES_H

#include <math.h>
#include <mxverify/element.h>
#include <stdint.h>
#include <string.h>

static uint64_t state;

static inline uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33);
}

// In [-1, 1).
static inline double uniform(void)
{
    return ldexp((double)draw(), -30) - 1;
}

static inline uint32_t code_of(enum mxv_element format, double x)
{
    float f = (float)x;
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return (uint32_t)mxv_element_from_f32(format, word, NULL);
}

#endif
