// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Between block.c and the NVFP4 files; not part of the interface.
#ifndef MXVERIFY_FORMATS_NVFP4_H
#define MXVERIFY_FORMATS_NVFP4_H

#include <mxverify/block.h>

/// Block size of NVFP4, the size column of blocks.def.
#define NVFP4_SIZE 16

MXV_DECLARATIONS_BEGIN

/// Quantises 16 words whose largest magnitude is amax (not NaN; not zero unless the zero codes are
/// to be computed).
MXV_FN void mxv_nvfp4_quantize(const struct mxv_block_policy *p, const uint32_t *x, uint32_t amax,
                               uint8_t *scale, uint8_t *codes);

/// Codes of `count` elements of a block of largest magnitude b (finite, not zero) and scale code
/// `scale`, by the order and divisor of the policy.
MXV_FN void mxv_nvfp4_encode(const struct mxv_block_policy *p, const uint32_t *x, size_t count,
                             uint32_t b, uint8_t scale, uint8_t *codes);

/// The four-over-six choice for a finite non-zero amax, in exact arithmetic.
MXV_FN void mxv_nvfp4_quantize_four_six(const struct mxv_block_policy *p, uint32_t tensor_amax,
                                        const uint32_t *x, uint32_t amax, uint8_t *scale,
                                        uint8_t *codes);

MXV_DECLARATIONS_END
#endif
