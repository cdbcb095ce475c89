// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers and words of the plain emulation: docs/kernels/contract.md section 1.
//
// Nothing is computed here but bit casts, maxima and calls of the element formats and special
// functions with the policies that the page names. Silent: the larger of +0 and -0 is +0, as in
// PTX max.f32. tests/unit/test_plain_quantise.c fails if this is wrong.
#include "plain.h"
#include <math.h>
#include <mxverify/special.h>
#include <string.h>

uint32_t plain_word(float x)
{
    uint32_t word;
    if (isnan(x))
        return MXV_NAN_WORD;
    memcpy(&word, &x, sizeof word);
    return word;
}

float plain_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

float plain_max(float a, float b)
{
    if (isnan(a))
        return b;
    if (isnan(b))
        return a;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

float plain_amax(const float *x, size_t count)
{
    float a = 0.0f;
    for (size_t n = 0; n < count; n++)
        a = plain_max(a, fabsf(x[n]));
    return a;
}

uint32_t plain_round(enum mxv_element f, float x)
{
    const struct mxv_encode to_infinity = {.round = MXV_RNE, .overflow = MXV_OVERFLOW_IEEE};
    return (uint32_t)mxv_element_from_f32(f, plain_word(x), &to_infinity);
}

uint32_t plain_round_saturate(enum mxv_element f, float x)
{
    const struct mxv_encode to_max = {
        .round = MXV_RNE, .overflow = MXV_OVERFLOW_SAT, .inf = MXV_INF_MAX};
    return (uint32_t)mxv_element_from_f32(f, plain_word(x), &to_max);
}

float plain_decode(enum mxv_element f, uint32_t code)
{
    return plain_float(mxv_element_to_f32(f, code));
}

float plain_ex2(const struct mxv_attention *a, float x)
{
    const uint32_t word = plain_word(x);
    if (a->exp == MXV_EXP_POLY)
        return plain_float(mxv_ex2_poly(word, 3));
    if (a->exp == MXV_EXP_CR)
        return plain_float(mxv_ex2_rn(word));
    return plain_float(mxv_ex2(word, true));
}

float plain_rcp(float x)
{
    return plain_float(mxv_rcp(plain_word(x), true));
}

float plain_lg2(float x)
{
    return plain_float(mxv_lg2(plain_word(x), true));
}

float plain_div_full(float x, float y)
{
    return plain_float(mxv_div_full(plain_word(x), plain_word(y), false));
}

float plain_div_full_add(float x, float y, float c)
{
    return plain_float(mxv_div_full_add(plain_word(x), plain_word(y), plain_word(c)));
}

float plain_dot(const struct mxv_mma_model *m, size_t k, const uint32_t *a, const uint32_t *b,
                float c)
{
    return plain_float(mxv_mma_dot(m, k, a, b, plain_word(c), NULL, NULL));
}
