// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Single instructions on the device, for gpu/device_check. Device pointers; results of type
// cudaError_t.
#ifndef MXV_CHECK_UNITS_H
#define MXV_CHECK_UNITS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Elementwise instructions on binary32 words: X(id, text)
#define MXV_CHECK_WORD_OPS(X)                                                                      \
    X(EX2_FTZ, "ex2.approx.ftz.f32")                                                               \
    X(RCP_FTZ, "rcp.approx.ftz.f32")                                                               \
    X(RSQRT_FTZ, "rsqrt.approx.ftz.f32")                                                           \
    X(LG2_FTZ, "lg2.approx.ftz.f32")                                                               \
    X(EX2, "ex2.approx.f32")                                                                       \
    X(RCP, "rcp.approx.f32")                                                                       \
    X(RSQRT, "rsqrt.approx.f32")                                                                   \
    X(LG2, "lg2.approx.f32")                                                                       \
    X(EX2_POLY, "degree-3 polynomial 2^x")                                                         \
    X(TO_F16, "cvt.rn.f16.f32")                                                                    \
    X(TO_BF16, "cvt.rn.bf16.f32")                                                                  \
    X(TO_E4M3, "cvt.rn.satfinite.e4m3x2.f32")                                                      \
    X(TO_E5M2, "cvt.rn.satfinite.e5m2x2.f32")
enum mxv_check_word_op {
#define X(id, text) MXV_CHECK_##id,
    MXV_CHECK_WORD_OPS(X)
#undef X
        MXV_CHECK_WORD_OP_COUNT
};
// out[i] = op of word first + i * stride (mod 2^32).
int mxv_check_words(enum mxv_check_word_op op, uint32_t first, uint32_t stride, uint32_t n,
                    uint32_t *out);

// Matrix units, one instruction a tile: X(id, model, k, operand bytes, suffix of mma.sync)
#define MXV_CHECK_MMA_OPS(X)                                                                       \
    X(F16, "sm_90.mma.f16.f32", 16, 2, "m16n8k16.row.col.f32.f16.f16.f32")                         \
    X(BF16, "sm_90.mma.bf16.f32", 16, 2, "m16n8k16.row.col.f32.bf16.bf16.f32")                     \
    X(TF32, "sm_90.mma.tf32.f32", 8, 4, "m16n8k8.row.col.f32.tf32.tf32.f32")                       \
    X(E4M3, "sm_90.mma.e4m3.f32", 32, 1, "m16n8k32.row.col.f32.e4m3.e4m3.f32")                     \
    X(E5M2, "sm_90.mma.e5m2.f32", 32, 1, "m16n8k32.row.col.f32.e5m2.e5m2.f32")                     \
    X(S8, "sm_90.mma.s8.s32", 32, 1, "m16n8k32.row.col.s32.s8.s8.s32")
enum mxv_check_mma_op {
#define X(id, model, k, bytes, text) MXV_CHECK_MMA_##id,
    MXV_CHECK_MMA_OPS(X)
#undef X
        MXV_CHECK_MMA_OP_COUNT
};
// Per tile: a [16][32 bytes], b [8][32 bytes] (the rows of B transposed), c and d [16][8] words.
int mxv_check_mma(enum mxv_check_mma_op op, size_t tiles, const uint8_t *a, const uint8_t *b,
                  const uint32_t *c, uint32_t *d);

#ifdef __cplusplus
}
#endif
#endif
