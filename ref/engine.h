// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the engine: binary32 words and values, the operand copies of a head, and the recipe
// that tells one kernel's softmax and PV product from another's.
#ifndef MXV_ENGINE_H
#define MXV_ENGINE_H

#include "engine_arrays.h"
#include <mxverify/attention.h>
#include <mxverify/faults.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/softmax.h>
#include <string.h>

static inline uint32_t word_of(float x)
{
    uint32_t w;
    memcpy(&w, &x, sizeof w);
    return x != x ? MXV_NAN_WORD : w;
}

static inline float value_of(uint32_t w)
{
    float x;
    memcpy(&x, &w, sizeof x);
    return x;
}

// One route's copy of Q or K: codes and scales as the taps show them, operands as the unit reads
// them.
struct operand_copy {
    bool present;
    size_t rows, blocks;         // blocks: scales per row, 0 without
    uint32_t *codes;             // [rows][d], of the head's arrays
    uint8_t *scale_bytes;        // [rows][blocks], block formats
    float *scales;               // [rows][blocks], core and int8
    float *factor;               // [rows], option rebase; NULL otherwise
    struct mxv_operand *operand; // [rows][d], of the head's arrays
};

// One side (Q or K) of a head.
struct operand_side {
    size_t rows;
    float *x;     // [rows][d] after casts, smoothing, pre-scale and second level, as above
    float *sigma; // [rows], or [d] of K for dual=channel; NULL without second level
    struct operand_copy copy[MXV_ROUTE_COUNT];
};

enum pv_kind {
    PV_INTO_ACC, // O = O * alpha, then the accumulator of the product
    PV_F16_TILE, // f16 product of the tile from zero, O = fma(O, alpha, product)
    PV_TF32,     // as PV_INTO_ACC with binary32 P and V on the TF32 unit
};

// What distinguishes the kernels after the scores.
struct recipe {
    struct mxv_softmax softmax;
    const struct mxv_mma_model *score[MXV_ROUTE_COUNT];
    const struct mxv_mma_model *pv;
    enum pv_kind pv_kind;
    enum mxv_element p_type; // MXV_F32 stands for binary32 words (PV_TF32)
    bool additive_mask;      // dma-released: -1e6 is added to masked scores
    bool divide;             // finish by div.full instead of a reciprocal
};

// A score tile of option fold, [rows][tile_n]: the exponent of P is fma(x, factor, -M).
struct folded {
    uint32_t *x;   // binary32 words
    float *factor; // until fold_finish the product of the scales
};

struct row_forms;

struct head {
    const struct mxv_attention *a;
    const struct row_forms *rows; // engine_rows.h
    bool healthy;                 // no fault: rows and blocks may be done as wholes
    size_t sequence, index, kv_index, lq, lk, key_tiles;
    float c; // binary32 of scale * log2 e
    struct recipe recipe;
    struct mxv_attention call;     // the caller's call as faults change it
    struct mxv_mma_model fault_pv; // recipe.pv under a fault of the unit
    struct arrays arrays;
    struct operand_side q, k;
    float *v;               // [lk][d] values before the PV type
    uint32_t *v_codes;      // [lk][d]
    float *v_scales;        // [lk] cache scales, or [1] for FP8 V; NULL otherwise
    struct mxv_operand *vt; // [key_tiles][d][tile_n], padding zero
    const struct mxv_tap_sink *sink;
    char *message;
    size_t message_size;
    int status; // enum mxv_head_status
};

// Those that return an int: 0, or what is then in h->status, with a message. head_fail and
// head_no_memory put it there; only the first failure is kept.
int head_open(struct head *h, const struct mxv_attention *a, size_t sequence, size_t index,
              const struct mxv_tap_sink *sink, char *message, size_t size);
void head_close(struct head *h);
int head_fail(struct head *h, const char *text);          // an option not offered
int head_no_memory(struct head *h, const char *for_what); // "operand copies"

int recipe_choose(struct head *h);
// Operands: casts and smoothing, second level, copies, taps.
int operands_prepare(struct head *h);
int released_operands(struct head *h);
int tilemix_operands(struct head *h);
// First element of the head's keys in the packed tensor; rows in the 16-bit type of the operands;
// the copy of one side for a route with blocks or 16-bit codes.
const float *key_source(const struct head *h);
void load_rows(const struct head *h, float *x, const float *source, size_t rows);
int block_copy(struct head *h, struct operand_side *side, enum mxv_route route, bool side_b);
int values_prepare(struct head *h);
// Codes and scales of a whole healthy copy by the array functions of the formats; false, nothing
// done, for a route that has none.
bool copy_quantise(const struct head *h, enum mxv_route route, const float *x,
                   struct operand_copy *copy);
// The same row by row.
void copy_quantise_row(const struct head *h, enum mxv_route route, const float *x,
                       struct operand_copy *copy, size_t row);
int copy_allocate(struct head *h, struct operand_copy *copy, size_t rows, size_t blocks,
                  bool byte_scales);
void operands_tap(struct head *h);
// Element format of a route's codes; value of its one-byte scale; decoding of one row for the unit.
enum mxv_element copy_element(const struct mxv_attention *a, enum mxv_route route);
float copy_byte_scale(const struct mxv_attention *a, enum mxv_route route, uint8_t byte);
void copy_decode_row(const struct head *h, enum mxv_route route, struct operand_copy *copy,
                     size_t row, bool side_b);
// Binary64 values of a copy, [rows][d], second level included.
void copy_values(const struct head *h, const struct operand_side *side, enum mxv_route route,
                 double *out);

// Option rebase: the low copies become E5M2 codes with a factor for each row.
int operands_rebase(struct head *h);
void scores_rebased(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
                    uint32_t *s);

// Option fold: integer sums s and scale products of an INT8 tile; then, with the final scores s,
// what the weights are computed from.
void fold_take(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
               const uint32_t *s, struct folded *f);
void fold_finish(const struct head *h, size_t i, size_t j, size_t rows, const uint32_t *s,
                 struct folded *f);

// Raw scores of a tile with second-level scales: s [rows][tile_n] words; columns from the end of
// the sequence on are left alone. folded: NULL without option fold.
void scores_compute(const struct head *h, enum mxv_route route, size_t i, size_t j, size_t rows,
                    size_t cols, uint32_t *s, struct folded *folded);

uint32_t to_f16(float x);
uint32_t to_bf16(float x);
float from_f16(uint32_t code);
float from_bf16(uint32_t code);
float round_to(enum mxv_element type, float x); // nearest even, overflow to infinity; FP8 saturates
uint32_t code_of(enum mxv_element type, float x);
float amax_of(const float *x, size_t n); // largest |x|; NaN is ignored, 0 for nothing

#endif
