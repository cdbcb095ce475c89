// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the emulating kernels are given: plain C structures, all pointers device memory. A call is
// computed in three stages over a batch of query tiles, each in memory for the next:
//
//   scores    every score tile of every processed pair (query tile, key tile), one launch per route
//   softmax   contract 5 along the key tiles of each row: weights, rescale factors, row sums
//   values    PV product along the key tiles of each output, then contract 6
//
// so that each matrix-unit model is one kernel and the taps are what lies in memory between them.
// Tile arrays: slot (query tile of the batch), then key tile, as [slots][key_tiles][...]; slots of
// skipped tiles are left alone. Options have the meaning of struct mxv_attention.
#ifndef MXV_EMULATE_H
#define MXV_EMULATE_H

#include "operands.h"

#include <mxverify/attention.h>

enum mxv_emulate_unit {
    MXV_EMULATE_T8,    // T, 8 products a step
    MXV_EMULATE_T16,   // T, 16 products a step
    MXV_EMULATE_T32,   // T or ST, 32 products a step
    MXV_EMULATE_MXFP4, // GST with E8M0 scales per 32
    MXV_EMULATE_NVFP4, // GST with E4M3 scales per 16
    MXV_EMULATE_INT8
};

// A matrix unit: numbers of its row in ref/models.def.
struct mxv_emulate_model {
    enum mxv_emulate_unit unit;
    int32_t frac, keep, zero_exp;
    enum mxv_element element; // of both operands
    bool scaled;              // ST: E8M0 scales per 32
};

// A query tile of one head.
struct mxv_emulate_item {
    int32_t head, kv_head, slot;
    int32_t row, rows;   // first row in its sequence, existing rows
    int32_t q_first;     // token of row 0 of the tile, through all sequences
    int32_t k_first, lk; // token of the sequence's first key, keys
    int32_t diagonal;    // key on the diagonal of row 0 of the sequence
    int32_t begin, end;  // processed key tiles
    int32_t scale;       // index in v_scale
};

struct mxv_emulate_pair {
    int32_t item, key_tile;
};

struct mxv_emulate_call {
    const struct mxv_emulate_item *items;
    int32_t item_count;
    int32_t d, tile_m, tile_n, key_tiles, tokens_q, tokens_k;
    int64_t left, right; // window; right = 0 is the causal mask; -1 unlimited
    bool descending, log2, finite, empty_nan, lse_natural, pair_lanes;
    enum mxv_exp exp;
    float c, tau, offset;
    enum mxv_element v_type;
    enum mxv_gpu_type out_type;
    struct mxv_emulate_model pv;
    const void *v;        // codes [heads_kv][tokens_k][d]
    const float *v_scale; // [heads_kv][sequences]: v=e4m3; NULL otherwise
    uint32_t *score;      // [tile_m][tile_n]
    // option fold: the exponent of P is fma(folded, factor, -M); NULL without, [tile_m][tile_n]
    float *folded, *factor;
    uint16_t *weight; // [tile_m][tile_n] codes
    float *alpha;     // [tile_m]
    float *max, *sum; // [tile_m], NULL: not kept
    float *acc;       // [tile_m][d], NULL: not kept
    float *total;     // [slots][tile_m] row sums at the end
    void *out;        // [heads_q][tokens_q][d]
    float *lse;       // [heads_q][tokens_q], or NULL
};

enum mxv_emulate_scaling {
    MXV_EMULATE_PLAIN,
    MXV_EMULATE_FACTORS, // int8: S * (q_factor * k_factor)
    MXV_EMULATE_CORE,    // factors per 32 channels, promoted by fma
    MXV_EMULATE_REBASED  // option rebase: (S * q_factor) * k_factor
};

// Score tiles of one route.
struct mxv_emulate_scores {
    struct mxv_emulate_call call;
    struct mxv_emulate_model model;
    enum mxv_emulate_scaling scaling;
    const struct mxv_emulate_pair *pairs;
    int32_t pair_count;
    const void *q, *k;                // codes [heads][tokens][d], or half that for 4-bit ones
    const uint8_t *q_scale, *k_scale; // [heads][tokens][d / block]
    const float *q_factor, *k_factor; // [heads][tokens], core: [heads][tokens][d / 32]
    const float *q_sigma, *k_sigma;   // second level, [heads][tokens]; NULL: none
};

#ifdef __cplusplus
extern "C" {
#endif

// Launch on the default stream; a cudaError_t.
int mxv_emulate_scores(const struct mxv_emulate_scores *p);
int mxv_emulate_softmax(const struct mxv_emulate_call *p);
int mxv_emulate_values(const struct mxv_emulate_call *p);

// Operands that are not made as the production kernels' are.
// Option rebase (docs/kernels/dma.md 1.5): E5M2 codes and a factor for each row from MXFP4 codes
// and scales; `together` rows of a sequence share a base, bases [heads][tokens] is work space.
int mxv_emulate_rebase(const struct mxv_gpu_rows *rows, int together, const uint8_t *e2m1,
                       const uint8_t *scales, uint8_t *bases, uint8_t *codes, float *factor);
// v=e4m3 (contract 5): codes of V / its scale, one scale per head and sequence; row_scale
// [heads][tokens] holds it for every row.
int mxv_emulate_quantise_v(const struct mxv_gpu_rows *rows, const float *row_scale, uint8_t *codes,
                           float *scale);

#ifdef __cplusplus
}
#endif
#endif
