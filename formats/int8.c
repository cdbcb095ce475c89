// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Symmetric INT8. See mxverify/int8.h. tests/unit/test_int8.c fails if this file is wrong.
#include <mxverify/block.h>
#include <mxverify/element.h>
#include <mxverify/int8.h>

#define WORD_127  UINT32_C(0x42FE0000)
#define WORD_1EM7 UINT32_C(0x33D6BF95)
#define WORD_1EM5 UINT32_C(0x3727C5AC)

static MXV_FN uint32_t bounded_amax(const struct mxv_int8_policy *p, uint32_t amax)
{
    const uint32_t magnitude = mxv_f32_abs(amax);
    if (mxv_f32_is_nan(magnitude))
        return MXV_F32_NAN;
    if (p->eps == MXV_INT8_EPS_MAX_AMAX)
        return mxv_f32_max(magnitude, WORD_1EM7);
    return p->eps == MXV_INT8_EPS_MAX_AMAX5 ? mxv_f32_max(magnitude, WORD_1EM5) : magnitude;
}

MXV_FN uint32_t mxv_int8_scale(const struct mxv_int8_policy *p, uint32_t amax)
{
    const struct mxv_int8_policy defaults = MXV_ZERO;
    if (p == NULL)
        p = &defaults;
    uint32_t scale = mxv_f32_div_by(p->ops, bounded_amax(p, amax), WORD_127);
    if (p->eps == MXV_INT8_EPS_ADD_SCALE)
        scale = mxv_f32_add(scale, WORD_1EM7);
    return scale == 0 && p->zero == MXV_INT8_ZERO_ONE ? MXV_F32_ONE : scale;
}

/// The binary32 word that is rounded to a code; not used by MXV_INT8_EXACT.
static MXV_FN uint32_t scaled_word(const struct mxv_int8_policy *p, uint32_t x, uint32_t scale,
                                   uint32_t amax)
{
    switch (p->arith) {
    case MXV_INT8_RCP:
        return mxv_f32_mul(x, mxv_f32_rcp_by(p->ops, scale));
    case MXV_INT8_MUL127:
        return mxv_f32_mul(x, mxv_f32_div_by(p->ops, WORD_127, bounded_amax(p, amax)));
    default:
        return mxv_f32_div_by(p->ops, x, scale);
    }
}

MXV_FN int8_t mxv_int8_code(const struct mxv_int8_policy *p, uint32_t x, uint32_t scale,
                            uint32_t amax)
{
    const struct mxv_int8_policy defaults = MXV_ZERO;
    struct mxv_encode encode = MXV_ZERO;
    if (p == NULL)
        p = &defaults;
    if (mxv_f32_abs(scale) == 0 || mxv_f32_is_nan(scale))
        return 0;
    encode.round = p->round;
    encode.min_set = p->symmetric;
    encode.min = -127;
    const uint64_t code =
        p->arith == MXV_INT8_EXACT
            ? mxv_element_from_quotient(MXV_S8, x, scale, MXV_ARITH_EXACT, &encode)
            : mxv_element_from_f32(MXV_S8, scaled_word(p, x, scale, amax), &encode);
    return (int8_t)(code < 0x80 ? (int)code : (int)code - 0x100);
}

MXV_FN void mxv_int8_quantize(const struct mxv_int8_policy *p, const uint32_t *x, size_t count,
                              size_t stride, uint32_t *scale, int8_t *codes)
{
    uint32_t amax = 0;
    for (size_t i = 0; i < count && !mxv_f32_is_nan(amax); i++) {
        const uint32_t one =
            mxv_block_amax(x + i * stride, 1, p == NULL ? MXV_BLOCK_NAN_PROPAGATE : p->nan);
        amax = one > amax ? one : amax;
    }
    *scale = mxv_int8_scale(p, amax);
    for (size_t i = 0; i < count; i++)
        codes[i * stride] = mxv_int8_code(p, x[i * stride], *scale, amax);
}

MXV_FN uint32_t mxv_int8_dequantize(int8_t code, uint32_t scale)
{
    return mxv_f32_mul(mxv_element_to_f32(MXV_S8, (uint8_t)code), scale);
}
