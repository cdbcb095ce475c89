// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Between the array entry points and their vector forms; not part of the interface. The vector
// forms expect plan->vector, and take the words as binary32 (x) or binary16 (half), the other one
// being NULL.
#ifndef MXVERIFY_BLOCK_ARRAY_INTERNAL_H
#define MXVERIFY_BLOCK_ARRAY_INTERNAL_H

#include <mxverify/block_array.h>

/// Scalar form of one block, for what the vector forms pass over.
void mxv_block_scalar(const struct mxv_block_plan *plan, const uint32_t *x, const uint16_t *half,
                      size_t block, uint8_t *scales, uint8_t *codes);

void mxv_mx_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                          const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes);
void mxv_nvfp4_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                             const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes);
/// False if the format has no vector form.
bool mxv_block_dequantize_avx2(enum mxv_block b, const uint8_t *scales, const uint8_t *codes,
                               size_t blocks, uint32_t *out);

/// One group whose scale and amax are known, amax finite; false, nothing written, if it is out of
/// the vector form's range.
bool mxv_int8_codes_avx2(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                         size_t count, uint32_t scale, uint32_t amax, int8_t *codes);
/// mxv_f32_div of two positive words, by one division where operands and result are normal.
uint32_t mxv_int8_quotient(uint32_t a, uint32_t b);
/// Largest magnitude word of a group; not below MXV_F32_INF if there is a NaN or Inf.
uint32_t mxv_int8_amax_avx2(const uint32_t *x, const uint16_t *half, size_t count);
void mxv_int8_dequantize_avx2(const int8_t *codes, uint32_t scale, size_t count, uint32_t *out);

#endif
