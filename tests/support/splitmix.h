// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the random words of the tests.
#ifndef MXV_TESTS_SPLITMIX_H
#define MXV_TESTS_SPLITMIX_H

#include <stdint.h>

static inline uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
