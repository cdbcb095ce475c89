// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Element formats: 4 to 64 bit codes, decoded exactly and encoded with one rounding.
//
// Computed: value(code) by the format's row in elements.def, and its inverse under named policies
// (policies.def: round, overflow, inf, nan, negzero, negative, e8m0_zero, below). A result counts
// as overflowing after rounding (PTX ISA, cvt .satfinite). Under overflow=ieee a directed rounding
// that points away from infinity gives the largest finite value, as in IEEE 754 (rtz, rto, and rtp
// / rtn on the far side). All functions are exact or rounded once, take every input, and are pure.
// Not handled: tapered formats (HiFloat8), IEEE P3109 layouts.
// tests/unit/test_element.c and tests/exhaustive/test_element_exhaustive.c fail if this is wrong.
#ifndef MXVERIFY_ELEMENT_H
#define MXVERIFY_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <mxverify/platform.h>
#include <mxverify/policy.h>
#include <mxverify/value.h>

MXV_DECLARATIONS_BEGIN

/// The element formats, one per row of elements.def.
enum mxv_element {
#define MXV_ELEMENT(id, name, bits, sign, exp, frac, pad, bias, emax, max, shape, special, nan,    \
                    dlpack, doc)                                                                   \
    id,
#include <mxverify/elements.def>
    MXV_ELEMENT_COUNT
};

/// How a code is read; see elements.def.
enum mxv_shape { MXV_SHAPE_FLOAT, MXV_SHAPE_POWER, MXV_SHAPE_SIGNED, MXV_SHAPE_UNSIGNED };

/// Which codes are Inf and NaN; see elements.def.
enum mxv_special { MXV_SPECIAL_NONE, MXV_SPECIAL_FN, MXV_SPECIAL_FNUZ, MXV_SPECIAL_IEEE };

/// One row of elements.def.
struct mxv_element_info {
    const char *name;
    const char *description;
    uint64_t max_code; ///< largest finite value
    uint64_t nan_code; ///< the NaN that encoding produces; 0 if the format has none
    int16_t bias;
    int16_t emax;   ///< exponent of the largest normal value
    int16_t dlpack; ///< DLPack 1.1 type code, -1 for none
    uint8_t bits;   ///< width of a stored code
    uint8_t sign;   ///< 1 if the top bit of a float code is a sign
    uint8_t exp_bits;
    uint8_t frac_bits;
    uint8_t pad_bits; ///< low bits of a code that carry nothing
    uint8_t shape;    ///< enum mxv_shape
    uint8_t special;  ///< enum mxv_special
};

/// How a value becomes a code. All zero = rne, sat, Inf to max, NaN to max, -0 kept.
struct mxv_encode {
    enum mxv_round round;
    enum mxv_overflow overflow; ///< integers saturate under either value
    enum mxv_inf inf;
    enum mxv_nan nan;
    enum mxv_negzero negzero;
    enum mxv_negative negative;
    enum mxv_e8m0_zero e8m0_zero;
    enum mxv_below below; ///< E8M0: a magnitude that rounds below 2^-127 (wrap counts as clamp)
    bool flush_in;        ///< binary32 subnormal inputs count as zero (mxv_element_from_f32)
    bool flush_out;       ///< subnormal results become zero of their sign
    bool min_set;         ///< use `min` instead of the default lowest integer
    int min;              ///< s8: -128 (default) or -127; mxint8: -127 (default) or -128
    uint32_t random;      ///< MXV_RS: the random bits, right-aligned
    unsigned random_bits; ///< MXV_RS: how many, 0..32; 0 truncates
};

/// Returned by encoders for a NaN under nan=error in a format without NaN; no code of such a
/// format.
#define MXV_CODE_REFUSED UINT64_MAX

/// The limits of a format, as codes of that format.
enum mxv_limit {
    MXV_LIMIT_LOWEST, ///< most negative finite value (smallest value of an unsigned format)
    MXV_LIMIT_MAX,
    MXV_LIMIT_EPSILON,     ///< step from 1.0 to the next larger value
    MXV_LIMIT_MIN_NORMAL,  ///< smallest positive normal value (integers: one step)
    MXV_LIMIT_MIN_POSITIVE ///< smallest positive value
};

/// The row of format f, which must be below MXV_ELEMENT_COUNT; static storage.
MXV_FN const struct mxv_element_info *mxv_element_get(enum mxv_element f);

/// Looks a format up by name; false, and *out untouched, if there is none.
MXV_FN bool mxv_element_find(const char *name, enum mxv_element *out);

/// Value of a code; bits above the format's width are ignored. Exact.
MXV_FN struct mxv_value mxv_element_decode(enum mxv_element f, uint64_t code);

/// Code of a value under *p (NULL: the defaults). One rounding.
MXV_FN uint64_t mxv_element_encode(enum mxv_element f, struct mxv_value v,
                                   const struct mxv_encode *p);

/// Code of a binary32 word under *p (NULL: the defaults). One rounding.
MXV_FN uint64_t mxv_element_from_f32(enum mxv_element f, uint32_t word, const struct mxv_encode *p);

/// Binary32 word of a code: exact for every format but f64 (nearest even, overflow to Inf); NaN
/// gives 7FFFFFFF.
MXV_FN uint32_t mxv_element_to_f32(enum mxv_element f, uint64_t code);

/// Code of x / s for binary32 words x and s under the given arithmetic. A zero s follows IEEE 754:
/// x/0 is Inf, 0/0 is NaN.
MXV_FN uint64_t mxv_element_from_quotient(enum mxv_element f, uint32_t x, uint32_t s,
                                          enum mxv_arith arith, const struct mxv_encode *p);

/// The asked limit as a code of f.
MXV_FN uint64_t mxv_element_limit(enum mxv_element f, enum mxv_limit which);

/// True iff the code is a NaN / an Inf of f.
MXV_FN bool mxv_element_is_nan(enum mxv_element f, uint64_t code);
MXV_FN bool mxv_element_is_inf(enum mxv_element f, uint64_t code);

MXV_DECLARATIONS_END
#endif
