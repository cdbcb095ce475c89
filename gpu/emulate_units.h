// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix-unit models as integer device code (docs/numerics.md, "The T step", "Block scaling"), cut
// into the pieces that an emulating kernel runs for many outputs at a time: decode, largest
// exponent, one truncated term, and the conversion of a step. The same text compiles for a host
// (C11) and for a device (CUDA C++); nothing here is floating point.
//
// Operands are packed words: significand in the low 16 bits, raw exponent in the high 16, both
// signed. Significands come shifted left by half of F minus the fraction bits of a product each, so
// that a product's magnitude times 2^-(X - x) is the truncated term. Bounds: a product is below
// 3.52 * 2^F (L = 32) or 4 * 2^F, so 16 of them fit an int32 and a step's magnitude fits 32 bits.
// Zeros have exponent MXV_OPERAND_ZERO and never win the maximum; z counts through an accumulator
// of zero alone, which is the same number (ref/matrix_unit_tile.c). NaN and infinity have exponents
// that no finite sum reaches: unit_special(top) tells that a step met one.
// unit.emulate_units compares all of this with mxv_mma_dot on the host, gpu/emulate_check on a
// device.
#ifndef MXV_EMULATE_UNITS_H
#define MXV_EMULATE_UNITS_H

#include <mxverify/matrix_unit.h>

#ifdef __CUDACC__
#define UNIT_FN     static __device__ __forceinline__
#define UNIT_TABLE  static __device__ const
#define UNIT_UNROLL _Pragma("unroll")
#else
#define UNIT_FN    static inline
#define UNIT_TABLE static const
#define UNIT_UNROLL
#endif

#define UNIT_NAN 0x7fffffffu
#define UNIT_INF 0x7f800000u

enum { UNIT_NO_TOP = 4 * MXV_OPERAND_ZERO, UNIT_SPECIAL_TOP = 2048, UNIT_NAN_SCALE = 1024 };

// F, kept fraction bits of a binary32 result, z.
struct unit_step {
    int frac, keep, zero_exp;
};

UNIT_FN uint32_t unit_pack(int sig, int exp)
{
    return (uint32_t)exp << 16 | ((uint32_t)sig & 0xffffu);
}

UNIT_FN int unit_sig(uint32_t operand)
{
    return (int16_t)(operand & 0xffffu);
}

UNIT_FN int unit_exp(uint32_t operand)
{
    return (int32_t)operand >> 16;
}

UNIT_FN int unit_top_bit(uint32_t v) // v > 0
{
#ifdef __CUDA_ARCH__
    return 31 - __clz((int)v);
#else
    return 31 - __builtin_clz(v);
#endif
}

UNIT_FN int unit_top_bit_64(uint64_t v) // v > 0
{
#ifdef __CUDA_ARCH__
    return 63 - __clzll((long long)v);
#else
    return 63 - __builtin_clzll(v);
#endif
}

// v >> n for any n >= 0.
UNIT_FN uint32_t unit_shift_right(uint32_t v, int n)
{
#ifdef __CUDA_ARCH__
    return __funnelshift_rc(v, 0, (unsigned)n);
#else
    return n > 31 ? 0 : v >> n;
#endif
}

UNIT_FN uint64_t unit_shift_right_64(uint64_t v, int n)
{
    return n > 63 ? 0 : v >> n;
}

// Layout of a floating-point operand format. skip: low bits of the word that are cut.
struct unit_layout {
    int exp_bits, frac_bits, bias, skip;
    bool ieee, max_is_nan;
};

UNIT_FN struct unit_layout unit_layout_of(enum mxv_element e)
{
    struct unit_layout f = {5, 10, 15, 0, true, false}; // f16
    if (e == MXV_BF16 || e == MXV_TF32) {
        f.exp_bits = 8;
        f.bias = 127;
        f.frac_bits = e == MXV_BF16 ? 7 : 10;
        f.skip = e == MXV_BF16 ? 0 : 13;
    } else if (e == MXV_E5M2) {
        f.frac_bits = 2;
    } else if (e != MXV_F16) {
        f.ieee = false;
        f.max_is_nan = e == MXV_E4M3;
        f.exp_bits = e == MXV_E4M3 ? 4 : e == MXV_E3M2 ? 3 : 2;
        f.frac_bits = e == MXV_E2M1 ? 1 : e == MXV_E3M2 ? 2 : 3;
        f.bias = e == MXV_E4M3 ? 7 : e == MXV_E3M2 ? 3 : 1;
    }
    return f;
}

// An operand word, its significand times 2^up.
UNIT_FN uint32_t unit_decode(struct unit_layout f, uint32_t w, int up)
{
    w >>= f.skip;
    uint32_t frac = w & ((1u << f.frac_bits) - 1), top = (1u << f.exp_bits) - 1;
    uint32_t field = w >> f.frac_bits & top;
    int sign = w >> (f.frac_bits + f.exp_bits) & 1 ? -1 : 1;
    if (field == top && (f.ieee || (f.max_is_nan && frac == (1u << f.frac_bits) - 1)))
        return unit_pack(sign, f.ieee && frac == 0 ? MXV_OPERAND_INF : MXV_OPERAND_NAN);
    if (field == 0 && frac == 0)
        return unit_pack(0, MXV_OPERAND_ZERO);
    int sig = (int)(field ? frac | 1u << f.frac_bits : frac);
    return unit_pack(sign * (sig << up), (field ? (int)field : 1) - f.bias);
}

// Twice the value of an E2M1 code.
UNIT_FN int unit_double_e2m1(uint32_t code)
{
    int magnitude = (int)(0xc8643210u >> (4 * (code & 7)) & 15u);
    return code & 8 ? -magnitude : magnitude;
}

UNIT_FN bool unit_special(int top)
{
    return top > UNIT_SPECIAL_TOP;
}

// max(top, a + b), one instruction on sm_90 and later.
UNIT_FN int unit_top(int top, int a, int b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return __viaddmax_s32(a, b, top);
#else
    return a + b > top ? a + b : top;
#endif
}

// a * b of shifted significands, `down` bits truncated toward zero.
UNIT_FN int32_t unit_term(int a, int b, int down)
{
    int32_t product = a * b, sign = product >> 31;
    int32_t t = (int32_t)unit_shift_right((uint32_t)((product ^ sign) - sign), down);
    return (t ^ sign) - sign;
}

// Raw exponent of a binary32 accumulator, z for zero.
UNIT_FN int unit_acc_exp(uint32_t c, int zero_exp)
{
    int field = (int)(c >> 23 & 0xff);
    return c << 1 == 0 ? zero_exp : field ? field - 127 : -126;
}

UNIT_FN uint32_t unit_acc_sig(uint32_t c)
{
    return c >> 23 & 0xff ? (c & 0x7fffffu) | 0x800000u : c & 0x7fffffu;
}

UNIT_FN bool unit_finite(uint32_t c)
{
    return (c & UNIT_INF) != UNIT_INF;
}

// An infinite accumulator stays, a NaN becomes the canonical one.
UNIT_FN uint32_t unit_keep(uint32_t c)
{
    return c & 0x7fffffu ? UNIT_NAN : c;
}

// magnitude * 2^lsb_exp as binary32, truncated to `keep` fraction bits; zero is +0.
UNIT_FN uint32_t unit_convert(bool negative, uint32_t magnitude, int lsb_exp, int keep)
{
    if (magnitude == 0)
        return 0;
    int exp = unit_top_bit(magnitude) + lsb_exp, up = keep - unit_top_bit(magnitude);
    if (exp < -126)
        up = lsb_exp + 126 + keep;
    uint32_t sig = up >= 0 ? magnitude << up : unit_shift_right(magnitude, -up);
    uint32_t field = exp < -126 ? 0 : (uint32_t)(exp + 126); // the leading bit adds one
    uint32_t word = (field << 23) + (sig << (23 - keep));
    word = exp > 127 ? UNIT_INF : word;
    return sig == 0 ? 0 : word | (negative ? 0x80000000u : 0);
}

// The same for a wide sum: what 31 bits cut off lies below every kept bit.
UNIT_FN uint32_t unit_convert_64(bool negative, uint64_t magnitude, int lsb_exp, int keep)
{
    if (magnitude == 0)
        return 0;
    int down = unit_top_bit_64(magnitude) - 31;
    down = down > 0 ? down : 0;
    return unit_convert(negative, (uint32_t)(magnitude >> down), lsb_exp + down, keep);
}

// Ends a step of finite operands: `sum` of its terms and c, both on the grid 2^(top - F). top is
// the largest exponent, scales included, and at least acc_exp.
UNIT_FN uint32_t unit_finish(struct unit_step u, int top, int64_t sum, uint32_t c)
{
    int up = u.frac - 23, down = top - unit_acc_exp(c, u.zero_exp);
    uint32_t t = unit_shift_right(up > 0 ? unit_acc_sig(c) << up : unit_acc_sig(c),
                                  up < 0 ? down - up : down);
    int64_t s = c >> 31 ? sum - (int64_t)t : sum + (int64_t)t;
    uint32_t d = unit_convert(s < 0, (uint32_t)(s < 0 ? -s : s), top - u.frac, u.keep);
    return unit_finite(c) ? d : unit_keep(c);
}

// Signs of infinity and NaN met among products and accumulator.
struct unit_specials {
    bool nan, plus, minus;
};

UNIT_FN struct unit_specials unit_specials_of(bool nan, bool infinite, bool negative)
{
    struct unit_specials s;
    s.nan = nan;
    s.plus = infinite && !negative;
    s.minus = infinite && negative;
    return s;
}

UNIT_FN void unit_meet(struct unit_specials *s, uint32_t a, uint32_t b)
{
    if (unit_exp(a) < MXV_OPERAND_INF && unit_exp(b) < MXV_OPERAND_INF)
        return;
    bool zero = unit_sig(a) == 0 || unit_sig(b) == 0;
    bool negative = (unit_sig(a) < 0) != (unit_sig(b) < 0);
    s->nan = s->nan || zero || unit_exp(a) == MXV_OPERAND_NAN || unit_exp(b) == MXV_OPERAND_NAN;
    s->plus = s->plus || !negative;
    s->minus = s->minus || negative;
}

// A binary32 step that met a special operand: n products at a[i * stride], b[i * stride].
UNIT_FN uint32_t unit_special_step(int n, const uint32_t *a, const uint32_t *b, int stride,
                                   uint32_t c)
{
    bool infinite = !unit_finite(c) && !(c & 0x7fffffu);
    struct unit_specials s = unit_specials_of(!unit_finite(c) && !infinite, infinite, c >> 31 != 0);
    for (int i = 0; i < n; i++)
        unit_meet(&s, a[i * stride], b[i * stride]);
    return s.nan || (s.plus && s.minus) ? UNIT_NAN : s.minus ? UNIT_INF | 0x80000000u : UNIT_INF;
}

// What GST needs of 16 elements and their scale: bit i of the low half says that element i counts
// (nonzero, and the scale's significand nonzero); bits 16 to 19 are the scale's significand, the
// rest its exponent (a NaN scale: UNIT_NAN_SCALE).
UNIT_FN uint32_t unit_group(bool ue4m3, uint32_t nonzero, uint32_t scale)
{
    int sig = 1, exp = (int)scale - 127;
    bool nan = scale == 255;
    if (ue4m3) {
        int field = (int)(scale >> 3 & 15), frac = (int)(scale & 7);
        sig = field ? 8 + frac : frac;
        exp = field ? field - 7 : -6;
        nan = (scale & 0x7f) == 0x7f;
    }
    exp = nan ? UNIT_NAN_SCALE : exp;
    return (uint32_t)exp << 20 | (uint32_t)sig << 16 | (sig ? nonzero : 0);
}

// GST: one instruction of 64 products. q: exact sums of the products of twice the values, 16 each;
// a, b: unit_group of each operand.
UNIT_FN uint32_t unit_gst(bool ue4m3, struct unit_step u, const int q[4], const uint32_t a[4],
                          const uint32_t b[4], uint32_t c)
{
    int exp[4], w[4], acc_exp = unit_acc_exp(c, u.zero_exp), top = acc_exp, scale_top = 0;
    const int up = u.frac - (ue4m3 ? 8 : 2);
    UNIT_UNROLL
    for (int g = 0; g < 4; g++) {
        int e = ((int32_t)a[g] >> 20) + ((int32_t)b[g] >> 20);
        scale_top = e > scale_top ? e : scale_top;
        exp[g] = a[g] & b[g] & 0xffffu ? e : u.zero_exp;
        w[g] = ue4m3 ? q[g] * (int)((a[g] >> 16 & 15) * (b[g] >> 16 & 15)) : q[g];
        top = exp[g] > top ? exp[g] : top;
    }
    uint64_t t = unit_shift_right_64((uint64_t)unit_acc_sig(c) << (u.frac - 23), top - acc_exp);
    int64_t sum = c >> 31 ? -(int64_t)t : (int64_t)t;
    UNIT_UNROLL
    for (int g = 0; g < 4; g++) {
        uint32_t magnitude = (uint32_t)(w[g] < 0 ? -w[g] : w[g]);
        t = unit_shift_right_64((uint64_t)magnitude << up, top - exp[g]);
        sum += w[g] < 0 ? -(int64_t)t : (int64_t)t;
    }
    uint32_t d = unit_convert_64(sum < 0, (uint64_t)(sum < 0 ? -sum : sum), top - u.frac, u.keep);
    d = unit_finite(c) ? d : unit_keep(c);
    return scale_top > UNIT_NAN_SCALE / 2 ? UNIT_NAN : d;
}

#endif
