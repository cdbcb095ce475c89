// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the attention kernels are given, as plain C structures. All pointers are device memory of
// the caller; nothing is kept after the launch. Tensors are head-major over packed sequences:
// [heads][tokens of all sequences][d]. Options have the meaning of struct mxv_attention
// (<mxverify/attention.h>) and of docs/kernels/*.md.
#ifndef MXV_GPU_PARAMS_H
#define MXV_GPU_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MXV_GPU_TILE_N_MAX 256 // keys of a key tile: a multiple of 32 up to this
#define MXV_GPU_ROWS       128 // query rows of one thread block; a query tile may need two

// Types of tensors in memory.
enum mxv_gpu_type { MXV_GPU_F32, MXV_GPU_F16, MXV_GPU_BF16, MXV_GPU_E4M3 };

// Work of one thread block: rows row .. of query tile `tile` of a sequence. `tile_index` numbers
// the query tiles through all sequences.
struct mxv_gpu_block {
    int32_t sequence, tile, tile_index, row;
};

// Taps of a tracing launch, 32-bit words; slot (head, tile_index, key tile) of
// [heads_q][query tiles][key_tiles], each of tile_m rows. Slots of skipped tiles are left alone.
struct mxv_gpu_trace {
    uint32_t *score, *weight; // [tile_m][tile_n]
    uint32_t *max, *sum;      // [tile_m]
    uint32_t *acc;            // [tile_m][d]
    int32_t query_tiles, key_tiles;
};

// Shared by all kernels. All sizes are in elements.
struct mxv_gpu_call {
    int32_t heads_q, heads_kv, d; // d: 32, 64, 96, 128 or 256
    int32_t tokens_q, tokens_k;   // of all sequences together
    const int32_t *cu_q, *cu_k;   // first token of each sequence, and the end
    const struct mxv_gpu_block *blocks;
    int32_t block_count;
    int32_t tile_m, tile_n;
    int32_t left, right; // window; right = 0 is the causal mask; -1 unlimited
    bool top_left, descending;
    bool poly;      // 2^x by the degree-3 polynomial instead of ex2.approx.ftz
    bool finite;    // masked scores are -5e6 instead of -inf
    bool empty_nan; // a row without weight gives NaN instead of 0
    bool lse_natural;
    bool cr; // 2^x correctly rounded
    float c; // binary32 of softmax scale * log2 e
    float tau, offset;
    enum mxv_gpu_type v_type, out_type; // v_type: f16 or bf16; dma on sm_90: E4M3 as well
    const void *v;                      // [heads_kv][tokens_k][d]; E4M3: mxv_gpu_values_e4m3
    const int32_t *v_first;             // E4M3: of each sequence its first place in V
    int32_t v_places;                   // E4M3: places of a row of V
    const float *v_scale;               // E4M3: [heads_kv][tokens_k], one for a sequence; or NULL
    void *out;                          // [heads_q][tokens_q][d]
    float *lse;                         // [heads_q][tokens_q], or NULL
    struct mxv_gpu_trace trace;         // used by tracing launches
};

// flash: q and k of type v_type.
struct mxv_gpu_flash {
    struct mxv_gpu_call call;
    const void *q, *k;
};

// dma: copies of each route, second-level scales of rows, and the plan. The copies are dequantised
// bf16; with factors of rows (rebase=1: docs/kernels/dma.md 1; sm_90) the low ones are E5M2 codes.
struct mxv_gpu_dma {
    struct mxv_gpu_call call;
    const void *q_high, *k_high, *q_low, *k_low; // NULL: the route is not used
    const float *q_factor, *k_factor; // [heads][tokens], powers of two, one for the keys of a key
                                      // tile; NULL: low copies are bf16
    const float *q_sigma, *k_sigma;   // [heads][tokens]; NULL: none
    bool all_high, all_low;
    int32_t diag, sink;         // in key tiles
    const uint32_t *diag_tiles; // [heads_q][query tiles]; NULL: diag for all
    int32_t query_tiles;
    // Plan zones (sm_90): [sequences][2] distances in key tiles below which a tile is core and
    // below which it is high; sinks are core. NULL: another plan.
    const int32_t *zones;
    const uint8_t *q_core, *k_core;           // E4M3 codes of the core zone
    const float *q_core_scale, *k_core_scale; // [heads][tokens][d / 32]
};

// dma on the block-scaled units of sm_120a or sm_100a: the q and k of `codes` are packed codes
// (MXFP8 E4M3 high; MXFP4 or NVFP4 low), beside their scale bytes [heads][tokens][d / block]. d: 64
// or 128; V: f16.
struct mxv_gpu_dma_blocks {
    struct mxv_gpu_dma codes;
    const uint8_t *q_high_scales, *k_high_scales, *q_low_scales, *k_low_scales;
    bool low_is_nvfp4;
};

// tilemix: 16-bit and INT8 copies with the scale of each row, and the route words.
struct mxv_gpu_tilemix {
    struct mxv_gpu_call call;
    const void *q, *k; // of type v_type
    const int8_t *q_int8, *k_int8;
    const float *q_scale, *k_scale; // [heads][tokens]
    const void *words;              // [heads_kv][query tiles][words_per_row] of word_bits bits
    int32_t words_per_row, word_bits, query_tiles;
    int32_t group; // key tiles of one bit
    bool msb_first, one_is_int8;
    bool k_scale_per_tile; // the keys of a key tile share their scale
    bool fold;             // scales enter the exponent's multiplier (docs/kernels/tilemix.md 3)
};

#ifdef __cplusplus
extern "C" {
#endif

// Launch on the default stream; a cudaError_t. `trace` runs the tracing build of the kernel, whose
// outputs have the same bits.
int mxv_gpu_flash(const struct mxv_gpu_flash *p, bool trace);
int mxv_gpu_dma(const struct mxv_gpu_dma *p, bool trace);
int mxv_gpu_tilemix(const struct mxv_gpu_tilemix *p, bool trace);
// Each compiled for its architecture alone (sm_120a, sm_100a), and only where the build names it;
// never run. sm100: key tiles of 128 keys.
int mxv_gpu_dma_sm120(const struct mxv_gpu_dma_blocks *p, bool trace);
int mxv_gpu_dma_sm100(const struct mxv_gpu_dma_blocks *p, bool trace);

#ifdef __cplusplus
}
#endif
#endif
