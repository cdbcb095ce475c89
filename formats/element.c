// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of element formats, decoding, and what is asked of single codes. See
// mxverify/element.h; encoding is in encode.c. tests/unit/test_element.c fails if this file is
// wrong.
#include <mxverify/element.h>

MXV_TABLE struct mxv_element_info elements[] = {
#define MXV_ELEMENT(id, name, bits, sign, exp, frac, pad, bias, emax, max, shape, special, nan,    \
                    dlpack, doc)                                                                   \
    {name,                                                                                         \
     doc,                                                                                          \
     UINT64_C(max),                                                                                \
     UINT64_C(nan),                                                                                \
     bias,                                                                                         \
     emax,                                                                                         \
     dlpack,                                                                                       \
     bits,                                                                                         \
     sign,                                                                                         \
     exp,                                                                                          \
     frac,                                                                                         \
     pad,                                                                                          \
     (uint8_t)MXV_SHAPE_##shape,                                                                   \
     (uint8_t)MXV_SPECIAL_##special},
#include <mxverify/elements.def>
};

MXV_FN const struct mxv_element_info *mxv_element_get(enum mxv_element f)
{
    return &elements[f];
}

MXV_FN bool mxv_element_find(const char *name, enum mxv_element *out)
{
    for (int i = 0; i < MXV_ELEMENT_COUNT; i++) {
        if (mxv_name_equal(elements[i].name, name)) {
            *out = (enum mxv_element)i;
            return true;
        }
    }
    return false;
}

static MXV_FN struct mxv_value make_value(enum mxv_value_kind kind, unsigned sign, int exp,
                                          uint64_t sig)
{
    struct mxv_value v;
    v.kind = (uint8_t)kind;
    v.sign = (uint8_t)sign;
    v.exp = sig == 0 ? 0 : exp;
    v.sig = sig;
    return v;
}

static MXV_FN struct mxv_value decode_float(const struct mxv_element_info *f, uint64_t code)
{
    const unsigned magnitude_bits = (unsigned)f->exp_bits + f->frac_bits;
    const uint64_t magnitude_mask = (UINT64_C(1) << magnitude_bits) - 1;
    const uint64_t frac_mask = (UINT64_C(1) << f->frac_bits) - 1;
    code >>= f->pad_bits;
    const uint64_t magnitude = code & magnitude_mask;
    const unsigned sign = f->sign ? (unsigned)(code >> magnitude_bits) & 1 : 0;
    const int exp_max = (1 << f->exp_bits) - 1;
    const int exp_field = (int)(magnitude >> f->frac_bits);
    const uint64_t frac = magnitude & frac_mask;
    const int unit = 1 - f->bias - f->frac_bits;

    if ((f->special == MXV_SPECIAL_FN && magnitude == magnitude_mask) ||
        (f->special == MXV_SPECIAL_FNUZ && sign && magnitude == 0) ||
        (f->special == MXV_SPECIAL_IEEE && exp_field == exp_max && frac != 0))
        return make_value(MXV_NAN, sign, 0, 0);
    if (f->special == MXV_SPECIAL_IEEE && exp_field == exp_max)
        return make_value(MXV_INF, sign, 0, 0);
    if (exp_field == 0)
        return make_value(MXV_FINITE, sign, unit, frac);
    return make_value(MXV_FINITE, sign, unit + exp_field - 1, frac | (frac_mask + 1));
}

MXV_FN struct mxv_value mxv_element_decode(enum mxv_element format, uint64_t code)
{
    const struct mxv_element_info *f = &elements[format];
    const unsigned byte = (unsigned)(code & 0xFF);
    switch (f->shape) {
    case MXV_SHAPE_POWER:
        return byte == 0xFF ? make_value(MXV_NAN, 0, 0, 0)
                            : make_value(MXV_FINITE, 0, (int)byte - f->bias, 1);
    case MXV_SHAPE_SIGNED:
        return byte < 0x80 ? make_value(MXV_FINITE, 0, -f->frac_bits, byte)
                           : make_value(MXV_FINITE, 1, -f->frac_bits, 0x100 - byte);
    case MXV_SHAPE_UNSIGNED:
        return make_value(MXV_FINITE, 0, -f->frac_bits, byte);
    default:
        return decode_float(f, code);
    }
}

MXV_FN uint32_t mxv_element_to_f32(enum mxv_element f, uint64_t code)
{
    struct mxv_encode ieee = MXV_ZERO;
    ieee.overflow = MXV_OVERFLOW_IEEE;
    return (uint32_t)mxv_element_encode(MXV_F32, mxv_element_decode(f, code), &ieee);
}

static MXV_FN uint64_t encode_power(enum mxv_element f, int exp)
{
    return mxv_element_encode(f, make_value(MXV_FINITE, 0, exp, 1), NULL);
}

static MXV_FN uint64_t lowest_code(const struct mxv_element_info *f)
{
    if (f->shape == MXV_SHAPE_SIGNED)
        return 0x80;
    return f->sign ? f->max_code | (UINT64_C(1) << (f->bits - 1)) : 0;
}

MXV_FN uint64_t mxv_element_limit(enum mxv_element format, enum mxv_limit which)
{
    const struct mxv_element_info *f = &elements[format];
    const bool is_float = f->shape == MXV_SHAPE_FLOAT;
    const int normal_min = is_float ? 1 - f->bias : -f->bias - f->frac_bits;
    switch (which) {
    case MXV_LIMIT_LOWEST:
        return lowest_code(f);
    case MXV_LIMIT_MAX:
        return f->max_code;
    case MXV_LIMIT_EPSILON:
        return encode_power(format, -f->frac_bits);
    case MXV_LIMIT_MIN_NORMAL:
        return encode_power(format, normal_min);
    case MXV_LIMIT_MIN_POSITIVE:
    default:
        return encode_power(format, is_float ? normal_min - f->frac_bits : normal_min);
    }
}

MXV_FN bool mxv_element_is_nan(enum mxv_element f, uint64_t code)
{
    return mxv_element_decode(f, code).kind == MXV_NAN;
}

MXV_FN bool mxv_element_is_inf(enum mxv_element f, uint64_t code)
{
    return mxv_element_decode(f, code).kind == MXV_INF;
}
