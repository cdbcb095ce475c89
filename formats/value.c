// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact values and the one rounding step. See mxverify/value.h.
//
// Rounding to odd: a result that is not exact has its last bit set ("jammed"). Rounding such a
// result again, to a precision at least two bits shorter, gives what rounding the exact number
// gives (Boldo, Melquiond, IEEE TC 2008). tests/unit/test_round.c fails if this file is wrong.
#include <mxverify/value.h>

MXV_FN int mxv_bit_top(uint64_t x)
{
#if defined(__CUDA_ARCH__)
    return 63 - __clzll((long long)x);
#elif defined(__GNUC__)
    return 63 - __builtin_clzll(x);
#else
    int top = 0;
    while (x >>= 1)
        top++;
    return top;
#endif
}

/// x / 2^shift, jammed.
static MXV_FN uint64_t shift_right_jam(uint64_t x, unsigned shift)
{
    if (shift == 0)
        return x;
    if (shift > 63)
        return x != 0;
    return (x >> shift) | ((x & ((UINT64_C(1) << shift) - 1)) != 0);
}

/// Whether the quotient goes up, for a remainder in (0, 2^shift), 1 <= shift <= 62.
static MXV_FN bool rounds_up(uint64_t rem, unsigned shift, enum mxv_round round, bool sign,
                             bool odd, uint32_t random, unsigned random_bits)
{
    const uint64_t half = UINT64_C(1) << (shift - 1);
    switch (round) {
    case MXV_RNA:
    case MXV_RAH:
        return rem >= half;
    case MXV_RNZ:
        return rem > half;
    case MXV_RHU:
        return sign ? rem > half : rem >= half;
    case MXV_RTZ:
        return false;
    case MXV_RTP:
        return !sign;
    case MXV_RTN:
        return sign;
    case MXV_RTO:
        return !odd;
    case MXV_RS: {
        const unsigned bits = random_bits > 32 ? 32 : random_bits;
        const uint64_t top = shift >= bits ? rem >> (shift - bits) : rem << (bits - shift);
        const uint64_t limit = UINT64_C(1) << bits;
        return top + (random & (limit - 1)) >= limit;
    }
    case MXV_RNE:
    case MXV_RDMA:
    default:
        return rem > half || (rem == half && odd);
    }
}

MXV_FN uint64_t mxv_round_shift(uint64_t sig, unsigned shift, enum mxv_round round, bool sign,
                                bool odd, uint32_t random, unsigned random_bits)
{
    if (shift == 0)
        return sig;
    if (shift > 62) {
        sig = shift_right_jam(sig, shift - 62);
        shift = 62;
    }
    const uint64_t quotient = sig >> shift;
    const uint64_t rem = sig & ((UINT64_C(1) << shift) - 1);
    if (rem == 0)
        return quotient;
    const bool quotient_odd = ((quotient & 1) != 0) != odd;
    return quotient + rounds_up(rem, shift, round, sign, quotient_odd, random, random_bits);
}

static MXV_FN struct mxv_value special(enum mxv_value_kind kind, unsigned sign)
{
    struct mxv_value v;
    v.kind = (uint8_t)kind;
    v.sign = (uint8_t)sign;
    v.exp = 0;
    v.sig = 0;
    return v;
}

static MXV_FN struct mxv_value finite(unsigned sign, int32_t exp, uint64_t sig)
{
    struct mxv_value v = special(MXV_FINITE, sign);
    v.exp = sig == 0 ? 0 : exp;
    v.sig = sig;
    return v;
}

MXV_FN struct mxv_value mxv_value_from_f32(uint32_t word)
{
    const unsigned sign = word >> 31;
    const int exp_field = (int)(word >> 23 & 0xFF);
    const uint32_t frac = word & UINT32_C(0x7FFFFF);
    if (exp_field == 0xFF)
        return special(frac != 0 ? MXV_NAN : MXV_INF, sign);
    return exp_field == 0 ? finite(sign, -149, frac)
                          : finite(sign, exp_field - 150, frac | UINT32_C(0x800000));
}

/// v with the top bit of sig at `top` (1..62), jammed if it has to be shortened; v is not zero.
static MXV_FN struct mxv_value with_top(struct mxv_value v, int top)
{
    const int shift = top - mxv_bit_top(v.sig);
    v.sig = shift >= 0 ? v.sig << shift : shift_right_jam(v.sig, (unsigned)-shift);
    v.exp -= shift;
    return v;
}

MXV_FN struct mxv_value mxv_value_normalize(struct mxv_value v)
{
    return v.kind != MXV_FINITE || v.sig == 0 || (v.sig >> 63) != 0 ? v : with_top(v, 62);
}

/// The 128-bit product, shortened to 64 bits and jammed; *shift gets the number of bits dropped.
static MXV_FN uint64_t multiply_jam(uint64_t a, uint64_t b, int *shift)
{
    const uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    const uint64_t low = a0 * b0;
    const uint64_t mid = a1 * b0 + (low >> 32);
    const uint64_t mid2 = a0 * b1 + (mid & 0xFFFFFFFFu);
    const uint64_t hi = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    const uint64_t lo = (mid2 << 32) | (low & 0xFFFFFFFFu);
    *shift = hi == 0 ? 0 : mxv_bit_top(hi) + 1;
    if (*shift == 0)
        return lo;
    if (*shift == 64)
        return hi | (lo != 0);
    return (hi << (64 - *shift)) | shift_right_jam(lo, (unsigned)*shift);
}

MXV_FN struct mxv_value mxv_value_mul(struct mxv_value a, struct mxv_value b)
{
    const unsigned sign = a.sign ^ b.sign;
    const bool a_zero = a.kind == MXV_FINITE && a.sig == 0;
    const bool b_zero = b.kind == MXV_FINITE && b.sig == 0;
    if (a.kind == MXV_NAN || b.kind == MXV_NAN)
        return special(MXV_NAN, 0);
    if (a.kind == MXV_INF || b.kind == MXV_INF)
        return a_zero || b_zero ? special(MXV_NAN, 0) : special(MXV_INF, sign);
    int shift = 0;
    const uint64_t sig = multiply_jam(a.sig, b.sig, &shift);
    return finite(sign, a.exp + b.exp + shift, sig);
}

MXV_FN struct mxv_value mxv_value_div(struct mxv_value a, struct mxv_value b)
{
    const unsigned sign = a.sign ^ b.sign;
    if (a.kind == MXV_NAN || b.kind == MXV_NAN || (a.kind == MXV_INF && b.kind == MXV_INF))
        return special(MXV_NAN, 0);
    if (a.kind == MXV_INF)
        return special(MXV_INF, sign);
    if (b.kind == MXV_INF)
        return finite(sign, 0, 0);
    if (b.sig == 0)
        return a.sig == 0 ? special(MXV_NAN, 0) : special(MXV_INF, sign);
    const int room = 63 - mxv_bit_top(b.sig);
    uint64_t quotient = a.sig / b.sig, rem = a.sig % b.sig;
    int32_t exp = a.exp - b.exp;
    while (rem != 0 && quotient < UINT64_C(1) << 61) {
        const int free = quotient == 0 ? room : 62 - mxv_bit_top(quotient);
        const int step = free < room ? free : room;
        rem <<= step;
        quotient = (quotient << step) | (rem / b.sig);
        rem %= b.sig;
        exp -= step;
    }
    return finite(sign, exp, quotient | (rem != 0));
}

MXV_FN struct mxv_value mxv_value_add(struct mxv_value a, struct mxv_value b)
{
    if (a.kind == MXV_NAN || b.kind == MXV_NAN)
        return special(MXV_NAN, 0);
    if (a.kind == MXV_INF || b.kind == MXV_INF) {
        if (a.kind == b.kind && a.sign != b.sign)
            return special(MXV_NAN, 0);
        return a.kind == MXV_INF ? a : b;
    }
    if (a.sig == 0 && b.sig == 0)
        return finite(a.sign & b.sign, 0, 0);
    if (a.sig == 0)
        return b;
    if (b.sig == 0)
        return a;
    a = with_top(a, 61);
    b = with_top(b, 61);
    if (a.exp < b.exp || (a.exp == b.exp && a.sig < b.sig)) {
        const struct mxv_value swap = a;
        a = b;
        b = swap;
    }
    b.sig = shift_right_jam(b.sig, (unsigned)(a.exp - b.exp));
    if (a.sign == b.sign)
        return finite(a.sign, a.exp, a.sig + b.sig);
    return a.sig == b.sig ? finite(0, 0, 0) : finite(a.sign, a.exp, a.sig - b.sig);
}

MXV_FN int mxv_value_compare_magnitude(struct mxv_value a, struct mxv_value b)
{
    const int a_rank = a.kind == MXV_INF ? 2 : a.sig != 0;
    const int b_rank = b.kind == MXV_INF ? 2 : b.sig != 0;
    if (a_rank != b_rank || a_rank != 1)
        return (a_rank > b_rank) - (a_rank < b_rank);
    const int a_top = mxv_bit_top(a.sig), b_top = mxv_bit_top(b.sig);
    const int a_exp = a.exp + a_top, b_exp = b.exp + b_top;
    if (a_exp != b_exp)
        return a_exp > b_exp ? 1 : -1;
    const uint64_t a_sig = a.sig << (63 - a_top), b_sig = b.sig << (63 - b_top);
    return (a_sig > b_sig) - (a_sig < b_sig);
}
