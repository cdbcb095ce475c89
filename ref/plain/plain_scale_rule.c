// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E8M0 scale rules of the plain emulation: `rule` of docs/kernels/dma.md section 1.4.
//
// Exponent from the block maximum a, M the element's largest value, E its exponent, m its fraction
// bits; the byte is the exponent + 127 clamped to 0..254 (OCP MX v1.0, section 6.3, for `floor`).
// Each rule is stated as a comparison of a (or its square) with a number of at most 30 significant
// bits, which binary64 holds exactly for every binary32 a; no logarithm is taken. Exceptions: the
// two libm rules and plain_floor_log2_binary32 are defined by a correctly rounded binary32 log2.
// There the binary64 log2 (error below 1 ulp, 2^-46 for arguments of any binary32) decides safely:
// next to an integer the nearest rounding boundary is never closer than 2^-30, and exact powers of
// two are exact in both. Silent: `midmax` counts a tie as rounding to nearest even does.
// tests/unit/test_plain_quantise.c fails if this is wrong.
#include "plain.h"
#include <math.h>

struct element_facts {
    double largest;
    int exponent, frac_bits;
    bool odd; // is the code of `largest` odd?
};

static struct element_facts facts_of(enum mxv_element f)
{
    if (f == MXV_E2M1)
        return (struct element_facts){6.0, 2, 1, true};
    if (f == MXV_E5M2)
        return (struct element_facts){57344.0, 15, 2, true};
    return (struct element_facts){448.0, 8, 3, false};
}

// Largest k with base * 2^k <= a.
static int largest_below(double base, double a)
{
    int k = -200; // below every binary32 over 57344
    while (ldexp(base, k + 1) <= a)
        k++;
    return k;
}

// Smallest k with base * 2^k >= a.
static int smallest_above(double base, double a)
{
    int k = -200; // below every binary32 over 57344
    while (ldexp(base, k) < a)
        k++;
    return k;
}

// `floor`, and one more when a reaches (or, unless `at_tie`, exceeds) limit in the block's units.
static int floor_or_more(struct element_facts e, double a, double limit, bool at_tie)
{
    const int k = largest_below(1.0, a) - e.exponent;
    const double edge = ldexp(limit, k);
    return a > edge || (at_tie && a == edge) ? k + 1 : k;
}

// ceil(log2f(fl32(a / M))).
static int ceil_libm(double largest, float a)
{
    const float ratio = a / (float)largest;
    return ratio == 0.0f ? -200 : (int)ceilf((float)log2((double)ratio));
}

int plain_floor_log2_binary32(float a)
{
    return (int)floorf((float)log2((double)a));
}

static int scale_exponent(enum mxv_scale_rule rule, struct element_facts e, float amax)
{
    const double a = amax;
    const int below = largest_below(e.largest, a);
    switch (rule) {
    case MXV_SCALE_RCEIL:
        return smallest_above(e.largest, a);
    case MXV_SCALE_CEIL:
        return smallest_above(1.0, a) - e.exponent;
    case MXV_SCALE_EVEN: // half away: a mantissa of 2 - 2^-(m+1) and more becomes 2
        return floor_or_more(e, a, ldexp(2.0 - ldexp(1.0, -e.frac_bits - 1), e.exponent), true);
    case MXV_SCALE_MIDMAX: // halfway from M to the absent next value
        return floor_or_more(e, a, e.largest + ldexp(1.0, e.exponent - e.frac_bits - 1), e.odd);
    case MXV_SCALE_RATIO_FLOOR:
        return below;
    case MXV_SCALE_NEAR15:
        return a >= ldexp(1.5 * e.largest, below) ? below + 1 : below;
    case MXV_SCALE_NEAR_SQRT2: // (a / (M 2^k))^2 >= 2
        return a * a >= ldexp(2.0 * e.largest * e.largest, 2 * below) ? below + 1 : below;
    case MXV_SCALE_FLOOR_LIBM:
        return plain_floor_log2_binary32(amax) - e.exponent;
    case MXV_SCALE_CEIL_LIBM:
        return ceil_libm(e.largest, amax);
    default: // MXV_SCALE_FLOOR
        return largest_below(1.0, a) - e.exponent;
    }
}

uint32_t plain_scale_byte(enum mxv_scale_rule rule, enum mxv_element f, float a)
{
    const int biased = scale_exponent(rule, facts_of(f), a) + 127;
    if (biased < 0)
        return 0;
    return biased > 254 ? 254 : (uint32_t)biased;
}
