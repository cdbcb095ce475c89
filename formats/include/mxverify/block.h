// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block formats: one scale and the element codes of 32 or 16 numbers.
//
// Computed, MX (OCP MX v1.0, section 6.3): X = 2^shared exponent from the block maximum (scale.h),
// P_i = element code of V_i / X. NVFP4: X = E4M3 of the maximum / 6, relative to a tensor scale if
// asked for; by which binary32 operations is the policy nvfp4_order. Left open by the documents,
// and therefore members of mxv_block_policy: scale rule, arithmetic, NaN, Inf, zero blocks,
// subnormals, values that leave binary32 on decoding. When the scale is NaN every element is
// encoded as NaN. Exact: under arith=exact one rounding per element; decoding is exact, overflow to
// Inf. Not handled: placement in memory (pack.h). tests/unit/test_block.c and
// tests/unit/test_nvfp4.c fail if this is wrong.
#ifndef MXVERIFY_BLOCK_H
#define MXVERIFY_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/element.h>
#include <mxverify/f32.h>
#include <mxverify/platform.h>
#include <mxverify/policy.h>
#include <mxverify/scale.h>

MXV_DECLARATIONS_BEGIN

/// The block formats, one per row of blocks.def.
enum mxv_block {
#define MXV_BLOCK(id, name, size, element, scale, doc) id,
#include <mxverify/blocks.def>
    MXV_BLOCK_COUNT
};

/// One row of blocks.def.
struct mxv_block_info {
    const char *name;
    const char *description;
    uint16_t size; ///< elements per block
    enum mxv_element element;
    enum mxv_element scale;
};

/// The largest block size of any row, for callers' arrays.
#define MXV_BLOCK_SIZE_MAX 32

/// Choices of NVFP4. All zero = order exact, no tensor scale, division by the stored scale.
struct mxv_nvfp4_policy {
    enum mxv_nvfp4_order order;
    enum mxv_nvfp4_variant variant;
    enum mxv_four_six_err err;
    enum mxv_nvfp4_divisor divisor;
    enum mxv_nvfp4_zero zero;
    enum mxv_zero_tensor zero_tensor;
    bool tensor_scaled;            ///< a tensor scale is used, derived from tensor_amax
    uint32_t tensor_amax;          ///< binary32 word: largest magnitude of the tensor
    const struct mxv_f32_ops *ops; ///< division and reciprocal of the f32 orders; NULL: IEEE
};

/// Choices of all blocks. All zero = floor rule, exact quotient, rne, saturating.
struct mxv_block_policy {
    enum mxv_scale_rule rule;      ///< MX only
    struct mxv_scale_policy scale; ///< MX only
    struct mxv_encode encode;
    enum mxv_arith arith; ///< MX only; NVFP4 has it in its order
    enum mxv_e8m0_fe fe;  ///< MX, arith=rcp
    enum mxv_block_nan nan;
    enum mxv_block_zero zero;
    enum mxv_block_overflow overflow;
    bool flush_in;                 ///< binary32 subnormal inputs count as zero
    bool flush_out;                ///< subnormal quotients of arith=div and rcp become zero
    const struct mxv_f32_ops *ops; ///< MX, arith=div: the division; NULL: IEEE
    struct mxv_nvfp4_policy nvfp4;
};

/// The row of block format b, which must be below MXV_BLOCK_COUNT; static storage.
MXV_FN const struct mxv_block_info *mxv_block_get(enum mxv_block b);

/// Looks a block format up by name; false, and *out untouched, if there is none.
MXV_FN bool mxv_block_find(const char *name, enum mxv_block *out);

/// Largest magnitude of n binary32 words (n may be 0: +0). A NaN gives 7FFFFFFF or is passed over.
MXV_FN uint32_t mxv_block_amax(const uint32_t *x, size_t n, enum mxv_block_nan nan);

/// Quantises one block: x holds size binary32 words; *scale gets the scale code, codes one element
/// code a byte. p may be NULL for the defaults.
MXV_FN void mxv_block_quantize(enum mxv_block b, const struct mxv_block_policy *p,
                               const uint32_t *x, uint8_t *scale, uint8_t *codes);

/// Decodes one block to size binary32 words: scale times element, exact, overflow to Inf, NaN
/// 7FFFFFFF. An NVFP4 tensor scale is not applied.
MXV_FN void mxv_block_dequantize(enum mxv_block b, uint8_t scale, const uint8_t *codes,
                                 uint32_t *out_f32);

/// NVFP4 block-scale code for tensor maximum g and block maximum b (binary32 words) under the given
/// order, with correctly rounded reciprocals and a tensor scale.
MXV_FN uint8_t mxv_nvfp4_scale(enum mxv_nvfp4_order order, uint32_t g, uint32_t b);

/// The same under all choices of *p (tensor maximum in p->tensor_amax).
MXV_FN uint8_t mxv_nvfp4_scale_by(const struct mxv_nvfp4_policy *p, uint32_t b);

/// Binary32 word of the tensor scale that a reader multiplies by: 1.0 without tensor scale, else
/// fl32(g / 2688), fl32(1 / fl32(2688 / g)) for te and trtllm, fl32(g / 1536) for four_six.
MXV_FN uint32_t mxv_nvfp4_tensor_scale(const struct mxv_nvfp4_policy *p);

MXV_DECLARATIONS_END
#endif
