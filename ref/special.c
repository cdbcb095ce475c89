// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// PTX special functions and division as ptxas (CUDA 13.0) builds them round the bare unit: scalings
// by powers of two before and after, in ordinary binary32 multiplies and adds to nearest even on
// the host (no contraction; compile with -ffp-contract=off). PTX leaves all of this open. Compared
// with an H200 without a difference: ex2, rcp, rsqrt and lg2, with and without .ftz, on all 2^32
// inputs; div.full, div.full.ftz, div.approx and div.full with a following add on 2^30 tuples each,
// range ends and specials included. FTZ multiplies flush a result that is subnormal after rounding.
// unit.special holds the cases at both ends of every scaling.
#include "special_unit.h"

#include <mxverify/special.h>

#include <math.h>
#include <string.h>

static float float_of(uint32_t w)
{
    float v;
    memcpy(&v, &w, sizeof v);
    return v;
}

// Every NaN is the canonical one.
static uint32_t word_of(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return isnan(v) ? 0x7fffffff : w;
}

static float flush(float v)
{
    return fpclassify(v) == FP_SUBNORMAL ? copysignf(0.0f, v) : v;
}

static float multiply(float x, float y, bool ftz)
{
    return ftz ? flush(flush(x) * flush(y)) : x * y;
}

static float reciprocal(float x)
{
    return float_of(mxv_unit_rcp(word_of(x)));
}

uint32_t mxv_ex2(uint32_t x, bool ftz)
{
    float v = float_of(x);
    if (ftz || !(v < -126.0f))
        return mxv_unit_ex2(x);
    float root = float_of(mxv_unit_ex2(word_of(v * 0.5f)));
    return word_of(root * root);
}

// Power of two that brings a divisor into the unit's range; 1 where it needs none.
static float divisor_scale(float y)
{
    float magnitude = fabsf(y);
    return magnitude > 0x1p126f ? 0.25f : magnitude < 0x1p-126f ? 0x1p24f : 1.0f;
}

uint32_t mxv_rcp(uint32_t x, bool ftz)
{
    if (ftz)
        return mxv_unit_rcp(x);
    float scale = divisor_scale(float_of(x));
    return word_of(reciprocal(float_of(x) * scale) * scale);
}

uint32_t mxv_rsqrt(uint32_t x, bool ftz)
{
    if (ftz || !(fabsf(float_of(x)) < 0x1p-126f))
        return mxv_unit_rsq(x);
    return word_of(float_of(mxv_unit_rsq(word_of(float_of(x) * 0x1p24f))) * 0x1p12f);
}

uint32_t mxv_lg2(uint32_t x, bool ftz)
{
    if (ftz || !(fabsf(float_of(x)) < 0x1p-126f))
        return mxv_unit_lg2(x);
    return word_of(float_of(mxv_unit_lg2(word_of(float_of(x) * 0x1p24f))) - 24.0f);
}

uint32_t mxv_div_full(uint32_t x, uint32_t y, bool ftz)
{
    float n = float_of(x), d = float_of(y), scale = divisor_scale(d);
    if (scale != 1.0f && !(ftz && scale > 1.0f)) {
        n = multiply(n, scale, ftz);
        d = multiply(d, scale, ftz);
    }
    return word_of(multiply(n, reciprocal(d), ftz));
}

uint32_t mxv_div_full_add(uint32_t x, uint32_t y, uint32_t c)
{
    float scale = divisor_scale(float_of(y));
    return word_of(fmaf(float_of(x) * scale, reciprocal(float_of(y) * scale), float_of(c)));
}

uint32_t mxv_div_approx(uint32_t x, uint32_t y)
{
    float scale = divisor_scale(float_of(y));
    if (scale < 1.0f)
        scale = 1.0f;
    return word_of(float_of(x) * scale * reciprocal(float_of(y) * scale));
}
