// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Many blocks or INT8 groups at once: what block.h and int8.h define for one, by vectors where the
// processor has them (simd.h). Same codes and scales, bit for bit, at every level and for every
// policy; blocks with NaN, Inf or a maximum near the ends of binary32, and policies without a
// vector form, go through the scalar functions one by one. unit.block_array and unit.int8_array
// fail if a code differs. Not in device code.
#ifndef MXVERIFY_BLOCK_ARRAY_H
#define MXVERIFY_BLOCK_ARRAY_H

#include <mxverify/block.h>
#include <mxverify/int8.h>
#include <mxverify/platform.h>

MXV_DECLARATIONS_BEGIN

/// NVFP4 "four over six": the two candidates of the block maxima between two thresholds, element 0
/// the one that maps the maximum to 6, element 1 that of 4. Members are private.
struct mxv_four_six_pair {
    uint32_t top_word;  ///< last word of the field 16 above that of the largest maximum, or 17
    uint32_t top_half;  ///< of binary16 fields plus 32, that of the top less 15, in both halves
    uint32_t coarse[2]; ///< factor times 2^-10, in both halves
    uint32_t lean[2];   ///< weights of the first trial, in the form in which it takes them
    uint32_t scales;    ///< codes, element 0's in the low byte
    uint8_t ratio[4];   ///< the scales in the ratio of the two
    uint32_t weight[2]; ///< of an error over scale: scale in the ratio of the two, or its square
    uint32_t factor[2]; ///< from elements aligned by top_word to elements over scale, times 2^26
};

/// Thresholds that belong to a block format and policy, for the vector forms. Prepared once, then
/// read only; may be used by several threads. Members are private.
struct mxv_block_plan {
    enum mxv_block block;
    struct mxv_block_policy policy;
    bool vector; ///< false: every block by mxv_block_quantize
    /// Ordinary maxima: words from amax_least to amax_most.
    uint32_t amax_least, amax_most;
    /// MX: scale code = exponent field + scale_base, one more from fraction frac_up on; fractions
    /// from frac_ask to frac_up are decided by the scalar rule.
    int32_t scale_base;
    uint32_t frac_ask, frac_up;
    /// NVFP4: code of a maximum b: cell[b >> 19], or next_code of it from next_word of it on.
    uint8_t cell[4096];
    uint8_t next_code[128];
    uint32_t next_word[128];
    /// Four over six: pair of a maximum b: n = cell[(b >> 16) - first_cell], or the next one from
    /// next_pair[n] of it on.
    uint32_t first_cell;
    uint32_t next_pair[254];
    struct mxv_four_six_pair pairs[254];
    /// E2M1: least magnitude words whose codes are 1 .. 7, at element 1 .. 7; element 0 is unused.
    /// MX: row 0, for scale 1. NVFP4: by scale code; row_known tells which rows are there.
    uint32_t rows[128][8];
    /// FP8 and FP6: rounding added to a significand is (half & half_mask) + constant + (odd &
    /// even_mask) + (sign & sign_mask).
    int32_t half_mask, constant, even_mask, sign_mask;
    /// Directed roundings add all below one step where the mask of the sign has bits; to odd, a
    /// code takes the bit that tells of a remainder.
    int32_t up_mask[2], odd_mask;
    uint32_t largest;
    uint32_t above[2]; ///< code of what exceeds the largest, by sign
    uint32_t least_in; ///< magnitude words below this one are zero
    uint32_t flushed;  ///< codes up to this one become zero
    bool drop_negzero;
};

/// Fills *plan for block format b under *p (NULL: the defaults), whose ops must outlive the plan.
/// Costs as much as quantising some hundred blocks (NVFP4: some thousand).
void mxv_block_plan_prepare(struct mxv_block_plan *plan, enum mxv_block b,
                            const struct mxv_block_policy *p);

/// Quantises `blocks` blocks that lie one after the other: x[blocks * size] binary32 words,
/// scales[blocks], codes[blocks * size], one code a byte.
void mxv_block_quantize_array(const struct mxv_block_plan *plan, const uint32_t *x, size_t blocks,
                              uint8_t *scales, uint8_t *codes);
/// The same for binary16 words.
void mxv_block_quantize_array_f16(const struct mxv_block_plan *plan, const uint16_t *x,
                                  size_t blocks, uint8_t *scales, uint8_t *codes);

/// Decodes `blocks` blocks to binary32 words, as mxv_block_dequantize.
void mxv_block_dequantize_array(enum mxv_block b, const uint8_t *scales, const uint8_t *codes,
                                size_t blocks, uint32_t *out_f32);

/// mxv_int8_quantize of `groups` contiguous groups of `count` elements: x[groups * count],
/// scales[groups], codes[groups * count].
void mxv_int8_quantize_array(const struct mxv_int8_policy *p, const uint32_t *x, size_t count,
                             size_t groups, uint32_t *scales, int8_t *codes);
void mxv_int8_quantize_array_f16(const struct mxv_int8_policy *p, const uint16_t *x, size_t count,
                                 size_t groups, uint32_t *scales, int8_t *codes);
/// fl32(code * scale), as mxv_int8_dequantize.
void mxv_int8_dequantize_array(const int8_t *codes, const uint32_t *scales, size_t count,
                               size_t groups, uint32_t *out_f32);

MXV_DECLARATIONS_END
#endif
