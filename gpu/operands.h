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

// Block formats, numbered as in <mxverify/blocks.def>. 4-bit codes lie two a byte, the lower
// channel in the low half; 6-bit codes are a little-endian bit stream, four in three bytes.
enum mxv_gpu_block_format {
    MXV_GPU_MXFP8_E4M3, // 32 elements, E8M0 scale, one byte a code
    MXV_GPU_MXFP8_E5M2,
    MXV_GPU_MXFP6_E2M3, // 6-bit codes
    MXV_GPU_MXFP6_E3M2,
    MXV_GPU_MXFP4,  // 4-bit codes
    MXV_GPU_MXINT8, // one byte a code
    MXV_GPU_NVFP4   // 16 elements, E4M3 scale, 4-bit codes
};

// E8M0 scale rules, named and numbered as in docs/formats.md (scale_rule).
enum mxv_gpu_scale_rule {
    MXV_GPU_RULE_FLOOR,
    MXV_GPU_RULE_RCEIL,
    MXV_GPU_RULE_CEIL,
    MXV_GPU_RULE_EVEN,
    MXV_GPU_RULE_RATIO_FLOOR,
    MXV_GPU_RULE_NEAR15,
    MXV_GPU_RULE_NEAR_SQRT2,
    MXV_GPU_RULE_MIDMAX,
    MXV_GPU_RULE_FLOOR_LIBM,
    MXV_GPU_RULE_CEIL_LIBM
};

// Orders of operations of NVFP4, as in docs/formats.md (nvfp4_order; order ggml is not offered).
enum mxv_gpu_nvfp4_order {
    MXV_GPU_NVFP4_EXACT,
    MXV_GPU_NVFP4_TE,
    MXV_GPU_NVFP4_TORCHAO,
    MXV_GPU_NVFP4_MODELOPT,
    MXV_GPU_NVFP4_MODELOPT_STATIC,
    MXV_GPU_NVFP4_TRTLLM,
    MXV_GPU_NVFP4_SAGE3 // without tensor scale
};

// Where scales lie, as in docs/formats.md (scale_layout): a matrix of heads * tokens rows and
// d / block columns. Padding of tiled layouts is written as 0.
enum mxv_gpu_scale_layout {
    MXV_GPU_LAYOUT_LINEAR,
    MXV_GPU_LAYOUT_128X4,
    MXV_GPU_LAYOUT_8X4,
    MXV_GPU_LAYOUT_64X4
};

// What a block quantiser does; all zero is MXFP8 E4M3, rule floor, as <mxverify/block.h> has it
// with scale_inf=max.
struct mxv_gpu_quantiser {
    enum mxv_gpu_block_format format;
    enum mxv_gpu_scale_rule rule;   // not NVFP4
    enum mxv_gpu_nvfp4_order order; // NVFP4
    enum mxv_gpu_scale_layout layout;
    bool unpacked;            // 4-bit and 6-bit codes one a byte
    bool inf_is_nan;          // MX: a block with Inf has scale FF (scale_inf=nan) instead of FE
    bool nan_is_zero;         // codes of a block whose scale is NaN are 0 (dma.md 1.4) instead of
                              // NaN or, where the element has none, the largest value
    const float *tensor_amax; // NVFP4: largest magnitude of the tensor, device memory; NULL: none
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
// away: half away from zero instead of to even. d is a multiple of 8, data 16-byte aligned.
int mxv_gpu_quantise_int8(const struct mxv_gpu_rows *rows, const float *scale, bool away,
                          int8_t *codes);
// What a cache of such codes returns: T(code * scale), [heads][tokens][d] of type `cast`.
int mxv_gpu_decode_int8(const struct mxv_gpu_rows *rows, const float *scale, const int8_t *codes,
                        void *out);

// V as E4M3 (contract 5): codes of x / scale of the row, [heads][tokens][d], and what the wgmma
// engine reads, v [heads][d][places]: the keys of sequence i at first[i] (device memory; multiples
// of 128), 32 by 32 in the order of gpu/scores_sm90.cuh, zero behind the last key. places: a
// multiple of 128; v is 16-byte aligned.
int mxv_gpu_values_e4m3(const struct mxv_gpu_rows *rows, const float *scale, const int32_t *first,
                        int places, uint8_t *codes, uint8_t *v);

// Bytes of the codes and of the scales, padding included, of `rows` rows of d values.
size_t mxv_gpu_code_bytes(const struct mxv_gpu_quantiser *q, size_t rows, size_t d);
size_t mxv_gpu_scale_bytes(const struct mxv_gpu_quantiser *q, size_t rows, size_t d);
// Codes [heads][tokens][d], scales by layout; d is a multiple of the block size, at most 2^31
// blocks. data is 16-byte aligned, codes 8-byte. Of *rows only data, type, cast and the sizes are
// read when nothing happens to the values on their way. cudaErrorInvalidValue for what is not
// offered.
int mxv_gpu_quantise_blocks(const struct mxv_gpu_rows *rows, const struct mxv_gpu_quantiser *q,
                            uint8_t *codes, uint8_t *scales);
// The quantiser of dma.md 1.4: linear scales, NaN blocks with codes 0, NVFP4 in order exact.
int mxv_gpu_quantise(const struct mxv_gpu_rows *rows, enum mxv_gpu_block_format format,
                     enum mxv_gpu_scale_rule rule, uint8_t *codes, uint8_t *scales);
// Copies of dma's core zone (dma.md 1.4): E4M3 codes and binary32 scales of 32 channels, [heads]
// [tokens][d] and [heads][tokens][d / 32].
int mxv_gpu_quantise_core(const struct mxv_gpu_rows *rows, uint8_t *codes, float *scales);
// *out (device): the largest magnitude of n values, NaN if one is.
int mxv_gpu_tensor_amax(const void *data, enum mxv_gpu_type type, size_t n, float *out);
// MXFP8, MXFP4, NVFP4, packed, scales linear. out: bf16 of the exact code * scale, NaN for a NaN
// scale; elements = heads * tokens * d, a multiple of 8.
int mxv_gpu_decode(enum mxv_gpu_block_format format, const uint8_t *codes, const uint8_t *scales,
                   size_t elements, uint16_t *out);

// A side of dma with rebase=1 (docs/kernels/dma.md 1.5). Pieces: rows `row` .. `row` + 127 of a
// sequence, as far as it has them; for K each is a key tile of `tile` rows, which share a power of
// two; for Q `tile` is 0 and each row has its own.
struct mxv_gpu_dma_side {
    struct mxv_gpu_rows rows; // f16 or bf16 data of that type, d = 64 or 128, no step but `scaled`
    const struct mxv_gpu_block *pieces; // device memory
    int32_t piece_count, tile;          // tile: 0, or at most 128
    uint16_t *high;                     // bf16 of the MXFP8 E4M3 copy, or NULL
    uint8_t *low;                       // E5M2 codes of the MXFP4 copy
    float *factor;                      // [heads][tokens]
};
// Both sides in one launch: reads each value once. cudaErrorInvalidValue for what is not offered.
int mxv_gpu_prepare_dma(const struct mxv_gpu_dma_side *q, const struct mxv_gpu_dma_side *k,
                        enum mxv_gpu_scale_rule rule);
// dma with rebase=1 as one kernel that makes its own operands from the tensors (fused_sm90.cuh;
// compute capability 9.0). Key tiles of 128 keys, query tiles of a multiple of 128 rows, no option
// that needs the tracing build; data of q and k is f16, 16-byte aligned.
struct mxv_gpu_dma_fused {
    struct mxv_gpu_dma dma;       // its copies and factors of q and k are those of the sides
    struct mxv_gpu_dma_side q, k; // work space: what was quantised can be read there afterwards. q:
                                  // pieces are the call's blocks; k: tile is 128
    enum mxv_gpu_scale_rule rule;
    uint32_t *state; // mxv_gpu_fused_words(): zero before the first launch, left for the next; of
                     // one launch at a time and of calls of one shape
};
// The state: counters, a word for each key head, then for each head these words, of 128 rows each
// (fused_sm90.cuh says what they hold).
enum { MXV_GPU_FUSED_COUNTERS = 2 };
#define MXV_GPU_PART_WORDS(tokens, sequences) ((size_t)(tokens) / 128 + (size_t)(sequences) + 1)
static inline size_t mxv_gpu_fused_words(const struct mxv_gpu_call *c, int32_t sequences)
{
    const size_t rows = (size_t)c->heads_q * MXV_GPU_PART_WORDS(c->tokens_q, sequences);
    const size_t keys = (size_t)c->heads_kv * MXV_GPU_PART_WORDS(c->tokens_k, sequences);
    return MXV_GPU_FUSED_COUNTERS + (size_t)c->heads_kv + rows + keys;
}
bool mxv_gpu_takes_fused(const struct mxv_gpu_dma_fused *p);
// cudaErrorInvalidValue for what is not offered.
int mxv_gpu_dma_fused(const struct mxv_gpu_dma_fused *p);
// The low copy from MXFP4 codes (packed) and scales (linear), however they were made. tile: as
// above, any number of rows. work: heads * tokens words.
int mxv_gpu_rebase(const struct mxv_gpu_rows *rows, int tile, const uint8_t *codes,
                   const uint8_t *scales, uint32_t *work, uint8_t *low, float *factor);

#ifdef __cplusplus
}
#endif
#endif
