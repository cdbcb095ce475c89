// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From tensors to what the attention kernels read: casts, K smoothing, row scales, and the block
// quantisers. Plain C interface; pointers are device memory unless said otherwise; every function
// launches on the default stream and returns a cudaError_t. Formats and roundings are those of
// docs/kernels/contract.md 7, dma.md 1 and tilemix.md 1 (OCP Microscaling v1.0 for MXFP8 and
// MXFP4).
#ifndef MXV_GPU_OPERANDS_H
#define MXV_GPU_OPERANDS_H

#include "params.h"

#ifdef __cplusplus
extern "C" {
#endif

// One side of a call: rows of a tensor and what happens to each value on its way, in this order:
// x = T(source); x = T(x - mean); x = x * factor; x = x * channel_factor; x = x / channel_divisor;
// x = x / row_divisor. Steps without pointer or flag are left out.
struct mxv_gpu_rows {
    const void *data;             // [heads][tokens][d]
    enum mxv_gpu_type type, cast; // of data; T (f32: no rounding; not for mxv_gpu_cast)
    int32_t heads, tokens, d, sequences;
    const int32_t *cu;          // [sequences + 1]
    const int32_t *sequence_of; // [tokens]
    const float *mean;          // [heads][sequences][d]
    bool scaled;
    float factor;
    // [factor_heads][sequences][d] and [heads][sequences][d]
    const float *channel_factor;
    int32_t channel_group; // heads of this side that share a head of channel_factor
    const float *channel_divisor;
    const float *row_divisor; // [heads][tokens]
};

// Rows that share a scale, by their index in the sequence.
enum mxv_gpu_group {
    MXV_GPU_PER_TOKEN,
    MXV_GPU_PER_TILE, // `tile` rows
    MXV_GPU_PER_SEQUENCE,
    MXV_GPU_PER_THREAD_Q, // within 32 rows, those of equal row mod 8
    MXV_GPU_PER_THREAD_K  // within `tile` rows, those of equal (row mod 8) / 2
};

enum mxv_gpu_block_format {
    MXV_GPU_MXFP8_E4M3, // 32 elements, E8M0 scale, one byte a code
    MXV_GPU_MXFP8_E5M2,
    MXV_GPU_MXFP4, // 32 elements, E8M0 scale, two codes a byte, the lower channel in the low half
    MXV_GPU_NVFP4  // 16 elements, E4M3 scale, packed alike
};

// E8M0 scale rules, named as in docs/formats.md.
enum mxv_gpu_scale_rule {
    MXV_GPU_RULE_FLOOR,
    MXV_GPU_RULE_RCEIL,
    MXV_GPU_RULE_CEIL,
    MXV_GPU_RULE_EVEN,
    MXV_GPU_RULE_RATIO_FLOOR,
    MXV_GPU_RULE_NEAR15,
    MXV_GPU_RULE_NEAR_SQRT2,
    MXV_GPU_RULE_MIDMAX
};

static inline int mxv_gpu_block_size(enum mxv_gpu_block_format f)
{
    return f == MXV_GPU_NVFP4 ? 16 : 32;
}

// out [heads][sequences][d]: T of the mean over the tokens of each sequence. partial: work space of
// heads * (tokens / 128 + sequences + 1) * d floats.
int mxv_gpu_means(const struct mxv_gpu_rows *rows, float *partial, float *out);

// scale [heads][tokens]: amax of the row's group / divisor; where it is 0, `zero`. work: heads *
// tokens words.
int mxv_gpu_row_scales(const struct mxv_gpu_rows *rows, enum mxv_gpu_group group, int tile,
                       float divisor, float zero, uint32_t *work, float *scale);
// scale [heads][sequences][d]: amax of the channel over the sequence / divisor, 1 where it is 0.
int mxv_gpu_channel_scales(const struct mxv_gpu_rows *rows, float divisor, float *scale);

// out [heads][tokens][d] of type rows->cast.
int mxv_gpu_cast(const struct mxv_gpu_rows *rows, void *out);
// codes: R(x / scale of the row), clamped to +-127; 0 where the scale is 0 or the quotient NaN.
// away: half away from zero instead of to even.
int mxv_gpu_quantise_int8(const struct mxv_gpu_rows *rows, const float *scale, bool away,
                          int8_t *codes);
// What a cache of such codes returns: T(code * scale), [heads][tokens][d] of type `cast`.
int mxv_gpu_decode_int8(const struct mxv_gpu_rows *rows, const float *scale, const int8_t *codes,
                        void *out);

// Codes [heads][tokens][d] (bytes, or half-bytes), scales [heads][tokens][d / block].
int mxv_gpu_quantise(const struct mxv_gpu_rows *rows, enum mxv_gpu_block_format format,
                     enum mxv_gpu_scale_rule rule, uint8_t *codes, uint8_t *scales);
// out: bf16 of the exact code * scale, NaN for a NaN scale; elements = heads * tokens * d.
int mxv_gpu_decode(enum mxv_gpu_block_format format, const uint8_t *codes, const uint8_t *scales,
                   size_t elements, uint16_t *out);

#ifdef __cplusplus
}
#endif
#endif
