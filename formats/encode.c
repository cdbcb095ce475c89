// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Encoding a value into an element format. See mxverify/element.h.
//
// A magnitude is rounded to an integer multiple n of the spacing at its exponent e. Reading codes
// as integers makes n + ((e - e_min) << frac_bits) the code: subnormals, the carry into the next
// binade and the overflow test (code > max_code, hence after rounding) need no case of their own.
// tests/unit/test_element.c and tests/exhaustive/test_element_exhaustive.c fail if this is wrong.
#include <mxverify/element.h>
#include <mxverify/f32.h>

/// A magnitude with the sign bit set where wanted; `magnitude` is not zero.
static MXV_FN uint64_t with_sign(const struct mxv_element_info *f, bool sign, uint64_t magnitude)
{
    if (!sign || !f->sign)
        return magnitude;
    if (f->shape == MXV_SHAPE_SIGNED)
        return (0x100 - magnitude) & 0xFF;
    return magnitude | (UINT64_C(1) << (f->bits - 1));
}

static MXV_FN uint64_t zero_code(const struct mxv_element_info *f, bool sign)
{
    const bool has_negzero =
        f->shape == MXV_SHAPE_FLOAT && f->sign && f->special != MXV_SPECIAL_FNUZ;
    return sign && has_negzero ? UINT64_C(1) << (f->bits - 1) : 0;
}

static MXV_FN uint64_t result_zero(const struct mxv_element_info *f, bool sign,
                                   const struct mxv_encode *p)
{
    return zero_code(f, sign && p->negzero == MXV_NEGZERO_KEEP);
}

static MXV_FN uint64_t nan_result(const struct mxv_element_info *f, bool sign,
                                  const struct mxv_encode *p)
{
    if (f->shape != MXV_SHAPE_FLOAT && f->shape != MXV_SHAPE_POWER && f->frac_bits == 0)
        return 0;
    if (p->nan == MXV_NAN_CLAMP)
        return with_sign(f, sign, f->max_code);
    if (f->special != MXV_SPECIAL_NONE)
        return f->nan_code;
    switch (p->nan) {
    case MXV_NAN_ZERO:
        return 0;
    case MXV_NAN_NEGZERO:
        return zero_code(f, true);
    case MXV_NAN_ZERO_FLIPPED:
        return zero_code(f, !sign);
    case MXV_NAN_ERROR:
        return MXV_CODE_REFUSED;
    default:
        return f->max_code;
    }
}

/// Inf, or NaN where there is none, or the largest value where there is neither. In FN formats the
/// NaN follows the largest code and has the sign of the infinity, as in the CUDA headers.
static MXV_FN uint64_t infinite_result(const struct mxv_element_info *f, bool sign)
{
    if (f->special == MXV_SPECIAL_NONE)
        return with_sign(f, sign, f->max_code);
    if (f->special == MXV_SPECIAL_FNUZ)
        return f->nan_code;
    return with_sign(f, sign, f->max_code + (UINT64_C(1) << f->pad_bits));
}

static MXV_FN uint64_t overflow_result(const struct mxv_element_info *f, bool sign,
                                       const struct mxv_encode *p)
{
    const bool inward = p->round == MXV_RTZ || p->round == MXV_RTO ||
                        (p->round == MXV_RTP && sign) || (p->round == MXV_RTN && !sign);
    if (p->overflow == MXV_OVERFLOW_SAT || inward)
        return with_sign(f, sign, f->max_code);
    return infinite_result(f, sign);
}

/// The E2M1 rule of the released DMA kernel (docs/kernels/dma.md, D1): thresholds in eighths, of
/// which 8, 16 and 32 round up when met. `eighths2` is twice the magnitude in eighths, its last bit
/// set if there is a remainder.
static MXV_FN uint64_t dma_magnitude(uint64_t eighths2)
{
    return (uint64_t)((eighths2 > 2) + (eighths2 >= 16) + (eighths2 > 20) + (eighths2 >= 32) +
                      (eighths2 > 40) + (eighths2 >= 64) + (eighths2 > 80));
}

static MXV_FN uint64_t encode_dma(const struct mxv_element_info *f, struct mxv_value v)
{
    if (v.sig == 0)
        return 0;
    uint64_t eighths2 = 128;
    if (v.exp + mxv_bit_top(v.sig) < 3) {
        const int shift = -4 - v.exp;
        eighths2 = shift <= 0
                       ? v.sig << -shift
                       : mxv_round_shift(v.sig, (unsigned)shift, MXV_RTZ, false, false, 0, 0);
        if (shift > 0 && (shift > 63 || (v.sig & ((UINT64_C(1) << shift) - 1)) != 0))
            eighths2 |= 1;
    }
    const uint64_t magnitude = dma_magnitude(eighths2);
    return magnitude == 0 ? zero_code(f, v.sign) : with_sign(f, v.sign, magnitude);
}

static MXV_FN uint64_t encode_float(const struct mxv_element_info *f, struct mxv_value v,
                                    const struct mxv_encode *p)
{
    if (v.sig == 0)
        return result_zero(f, v.sign, p);
    const int exp = v.exp + mxv_bit_top(v.sig);
    const int exp_min = 1 - f->bias;
    if (exp > f->emax)
        return overflow_result(f, v.sign, p);
    const int binade = exp > exp_min ? exp : exp_min;
    const int shift = binade - f->frac_bits - v.exp;
    const uint64_t steps = shift <= 0 ? v.sig << -shift
                                      : mxv_round_shift(v.sig, (unsigned)shift, p->round, v.sign,
                                                        false, p->random, p->random_bits);
    const uint64_t code = steps + ((uint64_t)(binade - exp_min) << f->frac_bits);
    const uint64_t stored = code << f->pad_bits;
    if (stored > f->max_code)
        return overflow_result(f, v.sign, p);
    if (code == 0 || (p->flush_out && code < UINT64_C(1) << f->frac_bits))
        return result_zero(f, v.sign, p);
    return with_sign(f, v.sign, stored);
}

static MXV_FN uint64_t encode_power(const struct mxv_element_info *f, struct mxv_value v,
                                    const struct mxv_encode *p)
{
    if (v.sig == 0)
        return p->e8m0_zero == MXV_E8M0_ZERO_NAN ? f->nan_code : 0;
    const int top = mxv_bit_top(v.sig);
    const int floor_code = v.exp + top + f->bias;
    const uint64_t frac = v.sig & ~(UINT64_C(1) << top);
    const int code =
        floor_code + (int)mxv_round_shift(frac, (unsigned)top, p->round, false,
                                          (floor_code & 1) != 0, p->random, p->random_bits);
    if (code < 0)
        return p->below == MXV_BELOW_NAN ? f->nan_code : 0;
    return (uint64_t)code > f->max_code ? overflow_result(f, false, p) : (uint64_t)code;
}

/// The value with half a unit of its sign added in binary32.
static MXV_FN struct mxv_value add_half(struct mxv_value v, int unit_exp)
{
    struct mxv_encode ieee = MXV_ZERO;
    ieee.overflow = MXV_OVERFLOW_IEEE;
    struct mxv_value half = v;
    half.exp = unit_exp - 1;
    half.sig = 1;
    const uint32_t a = (uint32_t)mxv_element_encode(MXV_F32, v, &ieee);
    const uint32_t b = (uint32_t)mxv_element_encode(MXV_F32, half, &ieee);
    return mxv_value_from_f32(mxv_f32_add(a, b));
}

static MXV_FN uint64_t encode_integer(const struct mxv_element_info *f, struct mxv_value v,
                                      const struct mxv_encode *p)
{
    const int default_min = f->frac_bits == 0 ? -128 : -127;
    const int lowest = f->shape == MXV_SHAPE_UNSIGNED ? 0 : p->min_set ? p->min : default_min;
    const uint64_t limit = v.sign ? (uint64_t)-lowest : f->max_code;
    enum mxv_round round = p->round;
    if (v.kind == MXV_FINITE && round == MXV_RAH && v.sig != 0) {
        v = add_half(v, -f->frac_bits);
        round = MXV_RTZ;
    }
    if (v.kind == MXV_FINITE && v.sig == 0)
        return 0;
    uint64_t magnitude = limit;
    if (v.kind == MXV_FINITE && v.exp + mxv_bit_top(v.sig) + f->frac_bits <= 8) {
        const int shift = -f->frac_bits - v.exp;
        magnitude = shift <= 0 ? v.sig << -shift
                               : mxv_round_shift(v.sig, (unsigned)shift, round, v.sign, false,
                                                 p->random, p->random_bits);
    }
    magnitude = magnitude < limit ? magnitude : limit;
    return v.sign ? (0x100 - magnitude) & 0xFF : magnitude;
}

MXV_FN uint64_t mxv_element_encode(enum mxv_element format, struct mxv_value v,
                                   const struct mxv_encode *p)
{
    const struct mxv_element_info *f = mxv_element_get(format);
    const struct mxv_encode defaults = MXV_ZERO;
    if (p == NULL)
        p = &defaults;
    if (v.kind == MXV_NAN)
        return nan_result(f, v.sign, p);
    if (f->shape == MXV_SHAPE_SIGNED || f->shape == MXV_SHAPE_UNSIGNED)
        return encode_integer(f, v, p);
    if (!f->sign && v.sign) {
        const bool zero = v.kind == MXV_FINITE && v.sig == 0;
        if (!zero && p->negative == MXV_NEGATIVE_NAN)
            return f->nan_code;
        if (!zero && p->negative == MXV_NEGATIVE_LOWEST)
            return 0;
        v.sign = 0;
    }
    if (v.kind == MXV_INF)
        return p->overflow == MXV_OVERFLOW_IEEE || p->inf == MXV_INF_KEEP
                   ? infinite_result(f, v.sign)
                   : with_sign(f, v.sign, f->max_code);
    if (f->shape == MXV_SHAPE_POWER)
        return encode_power(f, v, p);
    return p->round == MXV_RDMA && format == MXV_E2M1 ? encode_dma(f, v) : encode_float(f, v, p);
}

MXV_FN uint64_t mxv_element_from_f32(enum mxv_element f, uint32_t word, const struct mxv_encode *p)
{
    if (p != NULL && p->flush_in)
        word = mxv_f32_flush(word);
    return mxv_element_encode(f, mxv_value_from_f32(word), p);
}

MXV_FN uint64_t mxv_element_from_quotient(enum mxv_element f, uint32_t x, uint32_t s,
                                          enum mxv_arith arith, const struct mxv_encode *p)
{
    if (p != NULL && p->flush_in)
        x = mxv_f32_flush(x);
    if (arith == MXV_ARITH_DIV)
        return mxv_element_from_f32(f, mxv_f32_div(x, s), p);
    if (arith == MXV_ARITH_RCP)
        return mxv_element_from_f32(f, mxv_f32_mul(x, mxv_f32_div(MXV_F32_ONE, s)), p);
    return mxv_element_encode(f, mxv_value_div(mxv_value_from_f32(x), mxv_value_from_f32(s)), p);
}
