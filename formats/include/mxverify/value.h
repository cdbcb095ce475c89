// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// An exact number between formats: every code of every element format decodes to one, and every
// format encodes from one. Products of two binary32 numbers are exact; quotients are rounded to odd
// at 62 bits or more, so that a further rounding to at most 53 bits, in any mode of mxv_round,
// gives what rounding the exact quotient gives. tests/unit/test_round.c fails if this file is
// wrong.
#ifndef MXVERIFY_VALUE_H
#define MXVERIFY_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include <mxverify/platform.h>
#include <mxverify/policy.h>

MXV_DECLARATIONS_BEGIN

/// What an mxv_value is.
enum mxv_value_kind { MXV_FINITE, MXV_INF, MXV_NAN };

/// (-1)^sign * sig * 2^exp when finite; sig = 0 is zero, of either sign. sig and exp of an Inf or a
/// NaN are 0; the sign of a NaN is that of its code.
struct mxv_value {
    uint8_t kind; ///< enum mxv_value_kind
    uint8_t sign; ///< 0 or 1
    int32_t exp;
    uint64_t sig;
};

/// Value of a binary32 word; exact.
MXV_FN struct mxv_value mxv_value_from_f32(uint32_t word);

/// floor(log2 x) of a non-zero 64-bit integer: the index of its top set bit.
MXV_FN int mxv_bit_top(uint64_t x);

/// sig / 2^shift rounded to an integer. `sign` is that of the number whose magnitude sig is; `odd`
/// is added to the parity of the quotient for RNE and RTO (E8M0 rounds to even codes, not even
/// integers). RS compares the top random_bits (0..32) bits of the remainder with `random`.
/// MXV_RDMA and MXV_RAH count as RNE and RNA. The result is below 2^63 for shift > 0.
MXV_FN uint64_t mxv_round_shift(uint64_t sig, unsigned shift, enum mxv_round round, bool sign,
                                bool odd, uint32_t random, unsigned random_bits);

/// The same value with the top bit of sig at bit 62; exact. Zero, Inf and NaN are returned as
/// given.
MXV_FN struct mxv_value mxv_value_normalize(struct mxv_value v);

/// a * b; exact when the two significands have at most 64 bits together, else rounded to odd at 62
/// bits or more. 0 * Inf is NaN (sign 0).
MXV_FN struct mxv_value mxv_value_mul(struct mxv_value a, struct mxv_value b);

/// a / b, exact or rounded to odd at 62 bits; b.sig must be below 2^63. 0/0 and Inf/Inf are NaN
/// (sign 0), x/0 is Inf.
MXV_FN struct mxv_value mxv_value_div(struct mxv_value a, struct mxv_value b);

/// a + b, exact or rounded to odd at 61 bits when both significands have at most 48 bits. The sum
/// of opposite equal numbers is +0; Inf - Inf is NaN (sign 0).
MXV_FN struct mxv_value mxv_value_add(struct mxv_value a, struct mxv_value b);

/// -1, 0 or 1 as |a| is less than, equal to or greater than |b|; exact. Neither may be NaN.
MXV_FN int mxv_value_compare_magnitude(struct mxv_value a, struct mxv_value b);

MXV_DECLARATIONS_END
#endif
