// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 "four over six" (mit-han-lab/fouroversix): of the two block scales that map the block
// maximum to 6 and to 4, the one whose decoded block is nearer to the input.
//
// Computed: c6 = e4m3(b * 256 / g), c4 = e4m3(b * 384 / g), codes of the exact quotients
// x * 1536 / (g * c), clamped to 6; then c4 iff its error is smaller. Everything is exact: with
// d = x * 1536 - code * c * g an integer multiple of 2^-162 below 2^141, |d|, its square and sums
// of 16 of these fit 640-bit integers. The published code does this in binary32 and does not clamp.
// A NaN element adds no error. tests/unit/test_nvfp4.c fails if this file is wrong.
#include <mxverify/block.h>

#include "nvfp4.h"

#define LIMBS     20
#define UNIT_EXP  (-162)
#define WORD_256  UINT32_C(0x43800000)
#define WORD_384  UINT32_C(0x43C00000)
#define WORD_1536 UINT32_C(0x44C00000)

/// An unsigned 640-bit integer, least significant limb first.
struct wide {
    uint32_t limb[LIMBS];
};

static MXV_FN struct wide wide_from_magnitude(struct mxv_value v)
{
    struct wide w = MXV_ZERO;
    const unsigned shift = v.sig == 0 ? 0 : (unsigned)(v.exp - UNIT_EXP);
    const unsigned at = shift / 32, bits = shift % 32;
    const uint64_t low = (v.sig & 0xFFFFFFFFu) << bits, high = (v.sig >> 32) << bits;
    const uint64_t middle = (low >> 32) + (high & 0xFFFFFFFFu);
    w.limb[at] = (uint32_t)low;
    w.limb[at + 1] = (uint32_t)middle;
    w.limb[at + 2] = (uint32_t)((high >> 32) + (middle >> 32));
    return w;
}

static MXV_FN int wide_compare(const struct wide *a, const struct wide *b)
{
    for (int i = LIMBS - 1; i >= 0; i--) {
        if (a->limb[i] != b->limb[i])
            return a->limb[i] > b->limb[i] ? 1 : -1;
    }
    return 0;
}

static MXV_FN struct wide wide_add(const struct wide *a, const struct wide *b)
{
    struct wide sum;
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)a->limb[i] + b->limb[i];
        sum.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return sum;
}

/// a - b for a >= b.
static MXV_FN struct wide wide_subtract(const struct wide *a, const struct wide *b)
{
    struct wide difference;
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        const uint64_t t = (uint64_t)a->limb[i] - b->limb[i] - borrow;
        difference.limb[i] = (uint32_t)t;
        borrow = (t >> 32) & 1;
    }
    return difference;
}

/// a * a for a below 2^320.
static MXV_FN struct wide wide_square(const struct wide *a)
{
    struct wide product = MXV_ZERO;
    for (int i = 0; i < LIMBS / 2; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < LIMBS / 2; j++) {
            carry += (uint64_t)a->limb[i] * a->limb[j] + product.limb[i + j];
            product.limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product.limb[i + LIMBS / 2] = (uint32_t)carry;
    }
    return product;
}

/// One candidate: its scale code, element codes and error.
struct candidate {
    uint8_t scale;
    uint8_t codes[NVFP4_SIZE];
    struct wide error;
};

/// |x * 1536 - code * scale * g| in units of 2^UNIT_EXP; a code that is not zero has the sign of x.
static MXV_FN struct wide element_error(struct mxv_value x1536, struct mxv_value scale_g,
                                        uint8_t code)
{
    const struct mxv_value decoded = mxv_value_mul(mxv_element_decode(MXV_E2M1, code), scale_g);
    const struct wide a = wide_from_magnitude(x1536), b = wide_from_magnitude(decoded);
    return wide_compare(&a, &b) >= 0 ? wide_subtract(&a, &b) : wide_subtract(&b, &a);
}

static MXV_FN void accumulate(struct wide *total, const struct wide *error,
                              enum mxv_four_six_err err)
{
    if (err == MXV_FOUR_SIX_ABS_MAX) {
        if (wide_compare(error, total) > 0)
            *total = *error;
        return;
    }
    const struct wide term = err == MXV_FOUR_SIX_MSE ? wide_square(error) : *error;
    *total = wide_add(total, &term);
}

/// The candidate whose scale is e4m3(b * factor / g).
static MXV_FN void evaluate(const struct mxv_block_policy *p, uint32_t g, const uint32_t *x,
                            uint32_t b, uint32_t factor, struct candidate *out)
{
    const struct candidate empty = MXV_ZERO;
    const struct mxv_value g_value = mxv_value_from_f32(g);
    const struct mxv_value b_factor =
        mxv_value_mul(mxv_value_from_f32(b), mxv_value_from_f32(factor));
    *out = empty;
    out->scale = (uint8_t)mxv_element_encode(MXV_UE4M3, mxv_value_div(b_factor, g_value), NULL);
    const struct mxv_value scale_g =
        mxv_value_mul(mxv_element_decode(MXV_UE4M3, out->scale), g_value);
    for (size_t i = 0; i < NVFP4_SIZE; i++) {
        const struct mxv_value x1536 =
            mxv_value_mul(mxv_value_from_f32(x[i]), mxv_value_from_f32(WORD_1536));
        struct mxv_value quotient = x1536;
        if (out->scale != 0)
            quotient = mxv_value_div(x1536, scale_g);
        else if (quotient.kind == MXV_FINITE)
            quotient.sig = 0;
        out->codes[i] = (uint8_t)mxv_element_encode(MXV_E2M1, quotient, &p->encode);
        if (x1536.kind != MXV_FINITE)
            continue;
        const struct wide error = element_error(x1536, scale_g, out->codes[i]);
        accumulate(&out->error, &error, p->nvfp4.err);
    }
}

MXV_FN void mxv_nvfp4_quantize_four_six(const struct mxv_block_policy *p, uint32_t tensor_amax,
                                        const uint32_t *x, uint32_t amax, uint8_t *scale,
                                        uint8_t *codes)
{
    struct candidate six, four;
    evaluate(p, tensor_amax, x, amax, WORD_256, &six);
    evaluate(p, tensor_amax, x, amax, WORD_384, &four);
    const struct candidate *best = wide_compare(&four.error, &six.error) < 0 ? &four : &six;
    *scale = best->scale;
    for (size_t i = 0; i < NVFP4_SIZE; i++)
        codes[i] = best->codes[i];
}
