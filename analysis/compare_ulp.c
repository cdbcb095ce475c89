// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Ulp of every element format.
//
// Computed: positions on the line of codes, and real errors in units of the exact value's binade,
// after KhronosGroup/OpenCL-CTS errorHelpers.cpp (Ulp_Error), which defines them for binary16, 32
// and 64; the format's row supplies the rest. What that source leaves open for other formats is
// settled here: integer formats (s8, u8, mxint8) have one unit everywhere, E8M0 has the unit of its
// binade with no subnormals below, and a format without infinities is measured literally beyond its
// range. Exact: units are powers of two, code values fit binary64; only the difference of code
// value and centre is rounded, once. tests/unit/test_compare_ulp.c fails if this file is wrong.
#include <mxverify/compare.h>

#include <assert.h>
#include <math.h>

static bool is_integer(const struct mxv_element_info *info)
{
    return info->shape == MXV_SHAPE_SIGNED || info->shape == MXV_SHAPE_UNSIGNED;
}

// Exponent of the lowest binade that has its own unit.
static int lowest_exponent(const struct mxv_element_info *info)
{
    return info->shape == MXV_SHAPE_POWER ? -info->bias : 1 - info->bias;
}

// Steps from zero to the magnitude of a finite value of the format.
static uint64_t steps_from_zero(const struct mxv_element_info *info, struct mxv_value v)
{
    if (v.sig == 0)
        return 0;
    int unit = -info->frac_bits;
    uint64_t binades = 0;
    if (!is_integer(info)) {
        int lowest = lowest_exponent(info);
        int top = v.exp + mxv_bit_top(v.sig);
        int binade = top > lowest ? top : lowest;
        unit = binade - info->frac_bits;
        binades = (uint64_t)(binade - lowest) << info->frac_bits;
    }
    int shift = v.exp - unit;
    return binades + (shift >= 0 ? v.sig << shift : v.sig >> -shift);
}

static uint64_t magnitude_steps(enum mxv_element format, struct mxv_value v)
{
    const struct mxv_element_info *info = mxv_element_get(format);
    if (v.kind == MXV_INF)
        return steps_from_zero(info, mxv_element_decode(format, info->max_code)) + 1;
    return steps_from_zero(info, v);
}

uint64_t mxv_ulp_distance(enum mxv_element format, uint64_t code_a, uint64_t code_b)
{
    struct mxv_value a = mxv_element_decode(format, code_a);
    struct mxv_value b = mxv_element_decode(format, code_b);
    if (a.kind == MXV_NAN || b.kind == MXV_NAN)
        return a.kind == b.kind ? 0 : MXV_ULP_DISTANCE_NAN;
    uint64_t steps_a = magnitude_steps(format, a), steps_b = magnitude_steps(format, b);
    if (a.sign != b.sign)
        return steps_a + steps_b;
    return steps_a > steps_b ? steps_a - steps_b : steps_b - steps_a;
}

int mxv_ulp_exponent(enum mxv_element format, double x)
{
    assert(isfinite(x));
    const struct mxv_element_info *info = mxv_element_get(format);
    if (is_integer(info))
        return -info->frac_bits;
    int lowest = lowest_exponent(info);
    if (x == 0)
        return lowest - info->frac_bits;
    int exponent;
    double fraction = fabs(frexp(x, &exponent));
    int binade = fraction == 0.5 ? exponent - 2 : exponent - 1;
    return (binade > lowest ? binade : lowest) - info->frac_bits;
}

double mxv_code_value(enum mxv_element format, uint64_t code)
{
    struct mxv_value v = mxv_element_decode(format, code);
    if (v.kind == MXV_NAN)
        return NAN;
    double magnitude = v.kind == MXV_INF ? INFINITY : ldexp((double)v.sig, v.exp);
    return v.sign ? -magnitude : magnitude;
}

// The value that would follow the largest finite one.
static double value_after_largest(enum mxv_element format)
{
    const struct mxv_element_info *info = mxv_element_get(format);
    double largest = mxv_code_value(format, info->max_code);
    return largest + ldexp(1, info->emax - info->frac_bits);
}

static struct mxv_ulp_error error_without_number(double value, double centre)
{
    struct mxv_ulp_error result = {INFINITY, 0};
    if (isnan(centre) || isnan(value))
        result.error = isnan(centre) && isnan(value) ? 0 : INFINITY;
    else if (value == centre)
        result.error = 0;
    else
        result.error = centre > 0 ? -INFINITY : INFINITY;
    return result;
}

struct mxv_ulp_error mxv_ulp_error(enum mxv_element format, uint64_t code, double centre,
                                   double radius)
{
    assert(radius >= 0);
    double value = mxv_code_value(format, code);
    if (isnan(value) || !isfinite(centre))
        return error_without_number(value, centre);
    int unit = mxv_ulp_exponent(format, centre);
    struct mxv_ulp_error result = {0, scalbn(radius, -unit)};
    if (isinf(value)) {
        double limit = copysign(value_after_largest(format), value);
        if (value > 0 ? centre >= limit : centre <= limit)
            return result;
        value = limit;
    }
    result.error = scalbn(value - centre, -unit);
    return result;
}
