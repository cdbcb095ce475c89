// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Random operands of the tests of the truth, all from one stream. The including file may give
// `state` another first value.
#ifndef MXV_TESTS_RANDOM_VALUES_H
#define MXV_TESTS_RANDOM_VALUES_H

#include "splitmix.h"

#include <math.h>

static uint64_t state;

static inline uint64_t draw(void)
{
    return splitmix_next(&state);
}

static inline int between(int low, int high)
{
    return low + (int)(draw() % (uint64_t)(high - low + 1));
}

// A value of `bits` significant bits with exponent low .. high, random sign, sometimes 0.
static inline double value(int bits, int low, int high)
{
    if (draw() % 16 == 0)
        return 0;
    const double sig = (double)(int64_t)(draw() >> (64 - bits)) + 1;
    return ldexp(draw() & 1 ? sig : -sig, between(low, high) - bits);
}

#endif
