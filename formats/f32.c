// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Binary32 arithmetic on words. See mxverify/f32.h.
//
// Each operation forms the exact result, or one rounded to odd at 60 bits or more, and rounds it
// once to 24 bits: correctly rounded. tests/unit/test_f32.c fails if this file is wrong.
#include <mxverify/element.h>
#include <mxverify/f32.h>

static MXV_FN struct mxv_value value(uint32_t word)
{
    return mxv_value_from_f32(word);
}

static MXV_FN uint32_t pack(struct mxv_value v)
{
    struct mxv_encode ieee = MXV_ZERO;
    ieee.overflow = MXV_OVERFLOW_IEEE;
    return (uint32_t)mxv_element_encode(MXV_F32, v, &ieee);
}

MXV_FN uint32_t mxv_f32_mul(uint32_t a, uint32_t b)
{
    return pack(mxv_value_mul(value(a), value(b)));
}

MXV_FN uint32_t mxv_f32_div(uint32_t a, uint32_t b)
{
    return pack(mxv_value_div(value(a), value(b)));
}

MXV_FN uint32_t mxv_f32_add(uint32_t a, uint32_t b)
{
    return pack(mxv_value_add(value(a), value(b)));
}

MXV_FN uint32_t mxv_f32_sub(uint32_t a, uint32_t b)
{
    return mxv_f32_add(a, b ^ UINT32_C(0x80000000));
}

MXV_FN uint32_t mxv_f32_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return pack(mxv_value_add(mxv_value_mul(value(a), value(b)), value(c)));
}

MXV_FN uint32_t mxv_f32_abs(uint32_t a)
{
    return a & UINT32_C(0x7FFFFFFF);
}

MXV_FN bool mxv_f32_is_nan(uint32_t a)
{
    return mxv_f32_abs(a) > MXV_F32_INF;
}

MXV_FN bool mxv_f32_is_inf(uint32_t a)
{
    return mxv_f32_abs(a) == MXV_F32_INF;
}

/// Orders words as integers: larger numbers have larger keys, -0 just below +0.
static MXV_FN int64_t order_key(uint32_t a)
{
    const int64_t magnitude = (int64_t)mxv_f32_abs(a);
    return (a >> 31) != 0 ? -1 - magnitude : magnitude;
}

MXV_FN bool mxv_f32_less(uint32_t a, uint32_t b)
{
    const bool zeros = (mxv_f32_abs(a) | mxv_f32_abs(b)) == 0;
    return !mxv_f32_is_nan(a) && !mxv_f32_is_nan(b) && !zeros && order_key(a) < order_key(b);
}

static MXV_FN uint32_t extreme(uint32_t a, uint32_t b, bool larger)
{
    if (mxv_f32_is_nan(a))
        return mxv_f32_is_nan(b) ? MXV_F32_NAN : b;
    if (mxv_f32_is_nan(b))
        return a;
    return (order_key(a) > order_key(b)) == larger ? a : b;
}

MXV_FN uint32_t mxv_f32_max(uint32_t a, uint32_t b)
{
    return extreme(a, b, true);
}

MXV_FN uint32_t mxv_f32_min(uint32_t a, uint32_t b)
{
    return extreme(a, b, false);
}

MXV_FN uint32_t mxv_f32_flush(uint32_t a)
{
    return (a & MXV_F32_INF) == 0 ? a & UINT32_C(0x80000000) : a;
}

MXV_FN uint32_t mxv_f32_div_by(const struct mxv_f32_ops *ops, uint32_t a, uint32_t b)
{
    return ops != NULL && ops->div != NULL ? ops->div(a, b) : mxv_f32_div(a, b);
}

MXV_FN uint32_t mxv_f32_rcp_by(const struct mxv_f32_ops *ops, uint32_t a)
{
    return ops != NULL && ops->rcp != NULL ? ops->rcp(a) : mxv_f32_div(MXV_F32_ONE, a);
}
