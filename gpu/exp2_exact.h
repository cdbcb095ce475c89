// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// 2^x of binary32 words, correctly rounded to nearest even with subnormal results kept (exp=cr of
// docs/kernels/contract.md 1), in 64-bit integers; host and device from one text.
//
// x = n + f, f exact in 64 fraction bits; e^(f ln 2) by 22 terms of its series in 63 fraction bits,
// every truncation downward, so that the true value lies in [r, r + 2^-60): two truncations of
// 2^-63 a term, damped by f ln 2 / k < 0.7, and less than 2^-63 from ln 2 and the rest of the
// series. The rounding is decided unless that interval holds a midpoint; special_ex2_cr reports it,
// and gpu/emulate_check finds none among all 2^32 words, which makes it the correctly rounded
// function. unit.emulate_special compares with ref/special*.c.
#ifndef MXV_GPU_EXP2_EXACT_H
#define MXV_GPU_EXP2_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define EXACT_FN static __device__ __forceinline__
#else
#define EXACT_FN static inline
#endif

EXACT_FN uint64_t exact_high_product(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    return (uint64_t)((unsigned __int128)a * b >> 64);
#endif
}

// r * 2^(n-63), r in [2^63, 2^64), rounded to binary32; n >= -150.
EXACT_FN uint32_t exact_round(uint64_t r, int n, uint64_t slack, bool *undecided)
{
    int drop = n < -126 ? 40 - 126 - n : 40;
    uint64_t kept = drop > 63 ? 0 : r >> drop, half = (uint64_t)1 << (drop - 1);
    uint64_t rest = r - (drop > 63 ? 0 : kept << drop);
    *undecided = rest <= half && half - rest < slack;
    kept += rest > half || (rest == half && (kept & 1));
    return (n < -126 ? 0 : (uint32_t)(n + 126) << 23) + (uint32_t)kept;
}

// *undecided: the enclosure of 2^x holds a midpoint of binary32.
EXACT_FN uint32_t special_ex2_cr(uint32_t x, bool *undecided)
{
    int exp = (int)(x >> 23 & 0xff) - 127;
    bool negative = x >> 31 != 0;
    *undecided = false;
    if ((x & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffffffu;
    if (exp >= 8)
        return negative ? 0 : 0x7f800000u;
    if (exp < -30)
        return 0x3f800000u;
    uint32_t sig = (x & 0x7fffffu) | 0x800000u;
    uint64_t f = (uint64_t)sig << (41 + exp); // the integer part falls off the top
    int n = exp >= 0 ? (int)(sig >> (23 - exp)) : 0;
    if (negative) {
        n = f ? -n - 1 : -n;
        f = 0 - f;
    }
    if (n > 127)
        return 0x7f800000u;
    if (n < -150)
        return 0;
    const uint64_t one = (uint64_t)1 << 63;
    uint64_t y = exact_high_product(f, UINT64_C(0xb17217f7d1cf79ab)); // ln 2, cut after 64 bits
    uint64_t r = one;
    for (unsigned k = 22; k > 0 && f; k--)
        r = one + exact_high_product(y, r) / k;
    return exact_round(r, n, f ? 8 : 0, undecided);
}

#endif
