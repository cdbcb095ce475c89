// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the matrix-unit models share: accumulators taken apart, scales taken apart, and
// the final conversions (docs/numerics.md, "Final conversion"). Exact integer arithmetic; the
// conversions round once, straight from the exact sum.
#ifndef MXV_REF_MATRIX_UNIT_INTERNAL_H
#define MXV_REF_MATRIX_UNIT_INTERNAL_H

#include <mxverify/matrix_unit.h>

#include <assert.h>

#define MXV_MMA_NAN_F32 0x7fffffffu
#define MXV_MMA_INF_F32 0x7f800000u
#define MXV_MMA_NAN_F16 0x7fffu
#define MXV_MMA_INF_F16 0x7c00u
#define MXV_MMA_NAN_AMD 0x7fc00000u

enum { MXV_MMA_MAX_K = 64, MXV_MMA_GST_GROUP = 16 };

enum mxv_mma_class { MXV_MMA_FINITE, MXV_MMA_INFINITE, MXV_MMA_NOT_A_NUMBER };

// An accumulator: value = sig * 2^(exp - frac_bits), frac_bits 23 (f32) or 10 (f16).
struct mxv_mma_acc {
    enum mxv_mma_class class;
    bool negative;
    int32_t sig; // signed, not renormalised
    int exp;     // raw exponent: subnormals have the smallest normal one
};

static inline struct mxv_mma_acc mxv_mma_unpack_f32(uint32_t w)
{
    uint32_t field = w >> 23 & 0xff, frac = w & 0x7fffff;
    struct mxv_mma_acc acc = {MXV_MMA_FINITE, w >> 31 != 0, 0, field ? (int)field - 127 : -126};
    if (field == 0xff)
        acc.class = frac ? MXV_MMA_NOT_A_NUMBER : MXV_MMA_INFINITE;
    int32_t magnitude = (int32_t)(field ? frac | 0x800000 : frac);
    acc.sig = acc.negative ? -magnitude : magnitude;
    return acc;
}

static inline struct mxv_mma_acc mxv_mma_unpack_f16(uint32_t w)
{
    uint32_t field = w >> 10 & 0x1f, frac = w & 0x3ff;
    struct mxv_mma_acc acc = {MXV_MMA_FINITE, (w >> 15 & 1) != 0, 0, field ? (int)field - 15 : -14};
    if (field == 0x1f)
        acc.class = frac ? MXV_MMA_NOT_A_NUMBER : MXV_MMA_INFINITE;
    int32_t magnitude = (int32_t)(field ? frac | 0x400 : frac);
    acc.sig = acc.negative ? -magnitude : magnitude;
    return acc;
}

static inline struct mxv_mma_acc mxv_mma_unpack(const struct mxv_mma_model *m, uint32_t c)
{
    return m->result == MXV_MMA_F16 ? mxv_mma_unpack_f16(c) : mxv_mma_unpack_f32(c);
}

static inline int mxv_mma_acc_frac(const struct mxv_mma_model *m)
{
    return m->result == MXV_MMA_F16 ? 10 : 23;
}

static inline uint32_t mxv_mma_nan(const struct mxv_mma_model *m)
{
    return m->result == MXV_MMA_F16 ? MXV_MMA_NAN_F16 : MXV_MMA_NAN_F32;
}

static inline uint32_t mxv_mma_infinity(const struct mxv_mma_model *m, bool negative)
{
    return m->result == MXV_MMA_F16 ? MXV_MMA_INF_F16 | (uint32_t)negative << 15
                                    : MXV_MMA_INF_F32 | (uint32_t)negative << 31;
}

static inline int mxv_mma_top_bit(uint64_t v)
{
    return 63 - __builtin_clzll(v);
}

// v * 2^shift, low bits dropped.
static inline uint64_t mxv_mma_shift(uint64_t v, int shift)
{
    if (shift >= 0)
        return v << shift;
    return shift > -64 ? v >> -shift : 0;
}

// sum * 2^lsb_exp as binary32, magnitude truncated to `keep` fraction bits (or to the subnormal
// grid 2^(-126-keep)); 2^128 and above is infinity; a zero result is +0 whatever the sign of the
// sum.
static inline uint32_t mxv_mma_convert_f32_rz(int64_t sum, int lsb_exp, int keep)
{
    if (sum == 0)
        return 0;
    uint32_t sign = sum < 0 ? 0x80000000u : 0;
    uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    int exp = mxv_mma_top_bit(magnitude) + lsb_exp;
    if (exp > 127)
        return sign | MXV_MMA_INF_F32;
    int grid = (exp < -126 ? -126 : exp) - keep;
    uint32_t sig = (uint32_t)mxv_mma_shift(magnitude, lsb_exp - grid);
    if (sig == 0)
        return 0;
    uint32_t field = exp < -126 ? 0 : (uint32_t)(exp + 126); // the leading bit adds one
    return sign | ((field << 23) + (sig << (23 - keep)));
}

// v * 2^-shift rounded to nearest, ties to even.
static inline uint64_t mxv_mma_shift_rne(uint64_t v, int shift)
{
    if (shift <= 0)
        return v << -shift;
    if (shift > 64)
        return 0;
    uint64_t half = (uint64_t)1 << (shift - 1);
    uint64_t rest = v & (half + (half - 1));
    uint64_t kept = shift == 64 ? 0 : v >> shift;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

// sum * 2^lsb_exp as binary16, nearest-even; zero results are +0.
static inline uint32_t mxv_mma_convert_f16_rne(int64_t sum, int lsb_exp)
{
    if (sum == 0)
        return 0;
    uint32_t sign = sum < 0 ? 0x8000u : 0;
    uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    int exp = mxv_mma_top_bit(magnitude) + lsb_exp;
    if (exp > 15)
        return sign | MXV_MMA_INF_F16;
    int grid = (exp < -14 ? -14 : exp) - 10;
    uint32_t sig = (uint32_t)mxv_mma_shift_rne(magnitude, grid - lsb_exp);
    if (sig == 0)
        return 0;
    uint32_t field = exp < -14 ? 0 : (uint32_t)(exp + 14);
    return sign | ((field << 10) + sig); // a carry runs into the exponent, and on to infinity
}

static inline uint32_t mxv_mma_convert(const struct mxv_mma_model *m, int64_t sum, int lsb_exp)
{
    return m->result == MXV_MMA_F16 ? mxv_mma_convert_f16_rne(sum, lsb_exp)
                                    : mxv_mma_convert_f32_rz(sum, lsb_exp, (int)m->keep_bits);
}

// A block scale: value = sig * 2^(exp - frac), frac 0 for e8m0 and 3 for ue4m3.
struct mxv_mma_scale {
    bool nan;
    int sig;
    int exp;
};

static inline struct mxv_mma_scale mxv_mma_unpack_scale(const struct mxv_mma_model *m, uint8_t w)
{
    struct mxv_mma_scale s;
    if (m->scale == MXV_E8M0) {
        s = (struct mxv_mma_scale){w == 255, 1, (int)w - 127};
    } else {
        int field = w >> 3 & 15, frac = w & 7;
        s = (struct mxv_mma_scale){(w & 0x7f) == 0x7f, field ? 8 + frac : frac,
                                   field ? field - 7 : -6};
    }
    return s;
}

// The scale byte that stands for 1.
static inline uint8_t mxv_mma_scale_one(const struct mxv_mma_model *m)
{
    return m->scale == MXV_UE4M3 ? 0x38 : 0x7f;
}

// Fraction bits of a decoded operand's significand.
int mxv_mma_operand_frac(const struct mxv_mma_model *m, enum mxv_element element);

// Fraction bits of a product of decoded operands.
static inline int mxv_mma_product_frac(const struct mxv_mma_model *m)
{
    return mxv_mma_operand_frac(m, m->a) + mxv_mma_operand_frac(m, m->b);
}

static inline bool mxv_mma_operand_special(struct mxv_operand v)
{
    return v.exp >= MXV_OPERAND_INF;
}

// Signs of infinity and NaN met among products and accumulator.
struct mxv_mma_specials {
    bool nan, plus, minus;
};

// What a[i]*b[i] for i < n and c bring in.
struct mxv_mma_specials mxv_mma_find_specials(size_t n, const struct mxv_operand *a,
                                              const struct mxv_operand *b, struct mxv_mma_acc c);

// One instruction: n <= K operands, the rest zeros; scales of all K / block blocks or NULL.
uint32_t mxv_mma_instruction(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                             const struct mxv_operand *b, uint32_t c, const uint8_t *scale_a,
                             const uint8_t *scale_b);

// HMMA_FP8: position in the instruction's k of the i-th product of the two f16 steps, i < 32.
static inline size_t mxv_mma_hmma_order(size_t i)
{
    return i % 16 / 2 * 4 + i / 16 * 2 + i % 2;
}

// HMMA_FP8: r + c with one nearest-even rounding.
uint32_t mxv_mma_final_add(const struct mxv_mma_model *m, uint32_t r, uint32_t c);

#endif
