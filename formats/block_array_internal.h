// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Between the array entry points and their vector forms; not part of the interface. The vector
// forms expect plan->vector, and take the words as binary32 (x) or binary16 (half), the other one
// being NULL.
#ifndef MXVERIFY_BLOCK_ARRAY_INTERNAL_H
#define MXVERIFY_BLOCK_ARRAY_INTERNAL_H

#include <mxverify/block_array.h>

/// Compiled anew at each call, as the loops over blocks differ in constant arguments only.
#define MXV_EACH_INLINE static inline __attribute__((always_inline))

/// Scalar form of one block, for what the vector forms pass over.
void mxv_block_scalar(const struct mxv_block_plan *plan, const uint32_t *x, const uint16_t *half,
                      size_t block, uint8_t *scales, uint8_t *codes);

/// Whether a magnitude word has reached a code, by the scalar functions.
typedef bool mxv_reached_fn(const struct mxv_block_plan *plan, uint32_t word, unsigned code,
                            unsigned scale);
/// Least word in (low, high] that has reached `code`, given that high has and low has not; guess
/// starts the search.
uint32_t mxv_plan_least_word(const struct mxv_block_plan *plan, mxv_reached_fn *reached,
                             unsigned code, unsigned scale, uint32_t low, uint32_t high,
                             uint32_t guess);
/// Element thresholds of all NVFP4 scale codes.
void mxv_plan_nvfp4_rows(struct mxv_block_plan *plan, mxv_reached_fn *reached);
/// Plan of NVFP4 "four over six" for a tensor maximum of word g.
void mxv_plan_four_six(struct mxv_block_plan *plan, uint32_t g);

/// Four over six: bounds on the sum of both weights `lean` of a pair, and on that of squares.
enum { MXV_FOUR_SIX_LEAN = 1 << 11, MXV_FOUR_SIX_LEAN_SQUARES = 1 << 14 };
/// Four over six: the candidate with the smaller error, 0 (six) or 1 (four), of a block of words x,
/// or 2 if only exact arithmetic of more than 64 bits can tell.
int mxv_four_six_decide_avx2(const struct mxv_block_plan *plan,
                             const struct mxv_four_six_pair *pair, const uint32_t x[16]);
void mxv_four_six_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                                const uint16_t *half, size_t blocks, uint8_t *scales,
                                uint8_t *codes);
void mxv_mx_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                          const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes);
void mxv_nvfp4_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                             const uint16_t *half, size_t blocks, uint8_t *scales, uint8_t *codes);
/// False if the format has no vector form.
bool mxv_block_dequantize_avx2(enum mxv_block b, const uint8_t *scales, const uint8_t *codes,
                               size_t blocks, uint32_t *out);

/// Scalar form of one group, for what the vector form passes over.
void mxv_int8_scalar(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                     size_t count, uint32_t *scale, int8_t *codes);
/// Roundings to nearest, IEEE division.
void mxv_int8_quantize_avx2(const struct mxv_int8_policy *p, const uint32_t *x,
                            const uint16_t *half, size_t count, size_t groups, uint32_t *scales,
                            int8_t *codes);
void mxv_int8_dequantize_avx2(const int8_t *codes, const uint32_t *scales, size_t count,
                              size_t groups, uint32_t *out);

#endif
