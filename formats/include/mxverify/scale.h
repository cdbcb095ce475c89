// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// E8M0 block scales: the shared exponent of a block from its largest magnitude.
//
// Computed: code = clamp(exponent + 127, 0, 254), the exponent by a rule of policies.def
// (scale_rule) in exact arithmetic: exponent fields and integer compares, never a logarithm. The
// two
// *_libm rules reproduce the published floor(log2f(x)) and ceil(log2f(x)) code for a log2f that is
// correctly rounded to binary32; by how much that misses is a closed form, see scale.c. Open in
// OCP MX v1.0, section 6.3, and therefore policies: scale_inf, scale_nan, scale_zero, below, above.
// tests/unit/test_scale.c fails if this is wrong.
#ifndef MXVERIFY_SCALE_H
#define MXVERIFY_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include <mxverify/element.h>
#include <mxverify/platform.h>
#include <mxverify/policy.h>

MXV_DECLARATIONS_BEGIN

/// How special maxima are scaled. All zero = Inf and NaN to FF, zero to 00, clamped to 00..FE.
struct mxv_scale_policy {
    enum mxv_scale_inf inf;
    enum mxv_scale_nan nan;
    enum mxv_scale_zero zero;
    enum mxv_below below;
    enum mxv_above above;
    int emax_offset; ///< added to the element's emax: the exponent shrinks by it (e4m3 with 7: -1)
};

/// E8M0 code of a block whose largest magnitude is the binary32 word `amax` (its sign is ignored)
/// for elements of float or mxint8 format `elem`. p may be NULL for the defaults.
MXV_FN uint8_t mxv_scale_e8m0(enum mxv_scale_rule rule, enum mxv_element elem, uint32_t amax,
                              const struct mxv_scale_policy *p);

/// floor(log2 x) of a finite non-zero binary32 magnitude, exactly.
MXV_FN int mxv_f32_log2_floor(uint32_t word);

/// floor(log2f(x)), log2f correctly rounded to binary32: one more than the exact floor for the few
/// words just below a power of two. CUDA's log2f has the same floor for every word.
MXV_FN int mxv_f32_log2_floor_libm(uint32_t word);

/// ceil(log2f(x)), log2f correctly rounded to binary32.
MXV_FN int mxv_f32_log2_ceil_libm(uint32_t word);

/// Binary32 word of 2^(c-127); FF gives 7FFFFFFF. Exact.
MXV_FN uint32_t mxv_e8m0_to_f32(uint8_t code);

/// Binary32 word of 2^(127-c); FF gives 7FFFFFFF; FE by the policy.
MXV_FN uint32_t mxv_e8m0_rcp(uint8_t code, enum mxv_e8m0_fe fe);

/// Exponent byte of a binary32 scale that is a power of two or zero; false, *code untouched, for a
/// word with a fraction or a sign, which a packer that keeps the exponent byte alone would change
/// (DeepGEMM).
MXV_FN bool mxv_e8m0_from_pow2(uint32_t word, uint8_t *code);

MXV_DECLARATIONS_END
#endif
