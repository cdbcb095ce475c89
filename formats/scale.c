// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E8M0 scales from block maxima. See mxverify/scale.h.
//
// Exact. Every rule compares 24-bit significands as integers: with a = ma * 2^ea and
// M = mm * 2^em, both significands in [2^23, 2^24), floor(log2(a/M)) = ea - em - (ma < mm), and so
// on.
//
// The *_libm rules. log2f rounded to nearest gives the integer k for x = 2^k (1 - d * 2^-24) iff
// d * 2^-24 / ln 2 is at most half the spacing of binary32 below k (no tie: logarithms of other
// rationals are irrational). The spacing is 2^(m-23), so d <= 2^m ln 2, with 2^m < k <= 2^(m+1) for
// k > 0 and 2^m <= -k < 2^(m+1) for k < 0; at k = 0 and 1 no d qualifies, as 0 < |log2 x| < 1 has
// spacing to spare. Upward, x = 2^k (1 + d * 2^-23) gives k iff d <= 2^(m-1) ln 2, with the two
// conditions on k exchanged. The second-order term of the logarithm is below 1e-5 relative and
// changes no floor. tests/unit/test_scale.c compares with MPFR at every power of two and fails if
// this file is wrong.
#include <mxverify/f32.h>
#include <mxverify/scale.h>

/// A positive number with its significand in [2^23, 2^24): sig * 2^(exp - 23).
struct scaled {
    uint32_t sig;
    int exp;
};

static MXV_FN struct scaled normalized(struct mxv_value v)
{
    const int top = mxv_bit_top(v.sig);
    struct scaled s;
    s.sig = (uint32_t)(top <= 23 ? v.sig << (23 - top) : v.sig >> (top - 23));
    s.exp = v.exp + top;
    return s;
}

static MXV_FN struct scaled normalized_word(uint32_t word)
{
    return normalized(mxv_value_from_f32(mxv_f32_abs(word)));
}

MXV_FN int mxv_f32_log2_floor(uint32_t word)
{
    return normalized_word(word).exp;
}

/// floor(2^m ln 2), for m = 0..7.
static MXV_FN unsigned log2_slack(int m)
{
    MXV_TABLE uint8_t slack[8] = {0, 1, 2, 5, 11, 22, 44, 88};
    return m < 0 ? 0 : slack[m];
}

MXV_FN int mxv_f32_log2_floor_libm(uint32_t word)
{
    const struct scaled x = normalized_word(word);
    const int k = x.exp + 1;
    const unsigned below = (1u << 24) - x.sig;
    if (k == 0 || k == 1)
        return x.exp;
    const int m = k > 0 ? mxv_bit_top((uint64_t)(k - 1)) : mxv_bit_top((uint64_t)-k);
    return below <= log2_slack(m) ? k : x.exp;
}

MXV_FN int mxv_f32_log2_ceil_libm(uint32_t word)
{
    const struct scaled x = normalized_word(word);
    const int k = x.exp;
    const unsigned above = x.sig - (1u << 23);
    if (above == 0)
        return k;
    if (k == 0 || k == -1)
        return k + 1;
    const int m = k > 0 ? mxv_bit_top((uint64_t)k) : mxv_bit_top((uint64_t)(-k - 1));
    return above <= log2_slack(m - 1) ? k : k + 1;
}

/// ceil(log2f(fl32(a / M))); far below the range if the quotient vanishes.
static MXV_FN int ceil_libm(enum mxv_element elem, uint32_t amax)
{
    const uint32_t largest = mxv_element_to_f32(elem, mxv_element_get(elem)->max_code);
    const uint32_t quotient = mxv_f32_div(mxv_f32_abs(amax), largest);
    return quotient == 0 ? -1024 : mxv_f32_log2_ceil_libm(quotient);
}

/// floor(log2(a / M)), and one more where a / M is at least 1.5 or sqrt(2) times that power of two.
static MXV_FN int nearest_ratio(struct scaled a, struct scaled largest, bool sqrt2)
{
    const int floor_exp = a.exp - largest.exp - (a.sig < largest.sig);
    const uint64_t ratio = (uint64_t)a.sig << (a.sig < largest.sig);
    const uint64_t m = largest.sig;
    return floor_exp + (sqrt2 ? ratio * ratio >= 2 * m * m : 2 * ratio >= 3 * m);
}

/// Whether a, scaled by 2^-shared so that it lies in the top binade, rounds (nearest even) above M.
static MXV_FN bool rounds_above(struct scaled a, struct scaled largest, unsigned frac_bits)
{
    const unsigned drop = 23 - frac_bits;
    const uint64_t kept = mxv_round_shift(a.sig, drop, MXV_RNE, false, false, 0, 0);
    return kept << drop > largest.sig;
}

static MXV_FN int rule_exponent(enum mxv_scale_rule rule, enum mxv_element elem, uint32_t amax)
{
    const struct mxv_element_info *f = mxv_element_get(elem);
    const struct scaled a = normalized_word(amax);
    const struct scaled largest = normalized(mxv_element_decode(elem, f->max_code));
    const int floor_exp = a.exp - f->emax;
    const int ratio_exp = a.exp - largest.exp;
    switch (rule) {
    case MXV_SCALE_RCEIL:
        return ratio_exp + (a.sig > largest.sig);
    case MXV_SCALE_CEIL:
        return floor_exp + (a.sig != 1u << 23);
    case MXV_SCALE_EVEN:
        return floor_exp + (int)((a.sig + (1u << (22 - f->frac_bits))) >> 24);
    case MXV_SCALE_RATIO_FLOOR:
        return ratio_exp - (a.sig < largest.sig);
    case MXV_SCALE_NEAR15:
        return nearest_ratio(a, largest, false);
    case MXV_SCALE_NEAR_SQRT2:
        return nearest_ratio(a, largest, true);
    case MXV_SCALE_MIDMAX:
        return floor_exp + rounds_above(a, largest, f->frac_bits);
    case MXV_SCALE_FLOOR_LIBM:
        return mxv_f32_log2_floor_libm(amax) - f->emax;
    case MXV_SCALE_CEIL_LIBM:
        return ceil_libm(elem, amax);
    case MXV_SCALE_FLOOR:
    default:
        return floor_exp;
    }
}

static MXV_FN uint8_t code_of_exponent(int exp, const struct mxv_scale_policy *p)
{
    const int code = exp + 127;
    if (code < 0 && p->below != MXV_BELOW_WRAP)
        return p->below == MXV_BELOW_NAN ? 0xFF : 0x00;
    if (code > 0xFE && p->above != MXV_ABOVE_WRAP)
        return p->above == MXV_ABOVE_NAN ? 0xFF : 0xFE;
    return (uint8_t)(code & 0xFF);
}

MXV_FN uint8_t mxv_scale_e8m0(enum mxv_scale_rule rule, enum mxv_element elem, uint32_t amax,
                              const struct mxv_scale_policy *p)
{
    const struct mxv_scale_policy defaults = MXV_ZERO;
    if (p == NULL)
        p = &defaults;
    if (mxv_f32_is_nan(amax))
        return p->nan == MXV_SCALE_NAN_ZERO ? 0x00 : 0xFF;
    if (mxv_f32_is_inf(amax))
        return p->inf == MXV_SCALE_INF_NAN ? 0xFF : 0xFE;
    if (mxv_f32_abs(amax) == 0)
        return p->zero == MXV_SCALE_ZERO_ONE ? 0x7F : 0x00;
    return code_of_exponent(rule_exponent(rule, elem, amax) - p->emax_offset, p);
}

MXV_FN uint32_t mxv_e8m0_to_f32(uint8_t code)
{
    return mxv_element_to_f32(MXV_E8M0, code);
}

MXV_FN uint32_t mxv_e8m0_rcp(uint8_t code, enum mxv_e8m0_fe fe)
{
    if (code == 0xFF)
        return MXV_F32_NAN;
    if (code == 0xFE)
        return fe == MXV_FE_ZERO ? 0 : UINT32_C(0x00400000);
    return (uint32_t)(0xFE - code) << 23;
}

MXV_FN bool mxv_e8m0_from_pow2(uint32_t word, uint8_t *code)
{
    if ((word & UINT32_C(0x807FFFFF)) != 0)
        return false;
    *code = (uint8_t)(word >> 23);
    return true;
}
