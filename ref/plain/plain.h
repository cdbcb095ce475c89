// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The plain emulation: every kernel contract of docs/kernels/ transcribed line by line.
//
// It exists to put the engine on trial, so it shares with it only single-element encoding and
// decoding, one matrix-unit dot product and the special functions; quantisers, scale rules, plans,
// softmax and taps are written again here, one element at a time, in the order of the pages. It is
// slow on purpose. The pages leave nothing to a parameter that struct mxv_attention does not carry;
// where a page is silent the choice made here stands beside the code ("Silent:"). Exactness:
// binary32 host arithmetic, one rounding per operator, as the contract counts them. Not handled:
// named faults, other than those which dma-released contains. tests/unit/test_plain*.c fail if
// these files are wrong.
#ifndef MXV_REF_PLAIN_H
#define MXV_REF_PLAIN_H

#include <mxverify/attention.h>
#include <mxverify/matrix_unit.h>

// One copy of an operand matrix for one route.
struct plain_copy {
    size_t scales_per_row; // 0 for route f16
    uint32_t *code;        // [rows][d], NULL when the call cannot use the route
    uint32_t *scale;       // [rows][scales_per_row]: scale bytes; binary32 words for core and int8
    float *phi;            // [rows] of a rebased low route
};

// Q or K of one head and sequence.
struct plain_side {
    size_t rows;
    float *x;     // [rows][d]: the operand at its present step
    float *sigma; // [rows] second-level scale of each row; K with dual=channel: [d]
    struct plain_copy copy[MXV_ROUTE_SKIP];
};

enum { PLAIN_OWNED_MAX = 40, PLAIN_LANES_MAX = 4, PLAIN_D_MAX = 256 };

struct plain_head {
    const struct mxv_attention *a;
    const struct mxv_tap_sink *sink;
    size_t sequence, head, kv_head;
    size_t lq, lk, tiles_q, tiles_k;
    size_t first_tile, all_tiles; // query tiles before this sequence, and of all sequences
    enum mxv_element t16;         // 16-bit type of q and k
    float c;                      // binary32 of softmax scale times log2 e
    struct plain_side q, k;
    float *v;           // [lk][d]; once v_code is made, its values (without v_scale)
    uint32_t *v_code;   // [lk][d]
    float *v_row_scale; // [lk], INT8 cache
    float v_scale;      // E4M3
    const struct mxv_mma_model *score_model[MXV_ROUTE_SKIP];
    const struct mxv_mma_model *pv_model, *pv_tf32_model, *pv_f16_model;
    // One query tile.
    float *max;  // [tile_m]: m
    float *lane; // [tile_m][PLAIN_LANES_MAX]: l
    float *acc;  // [tile_m][d]: O
    // One score tile.
    uint32_t *q_words, *k_words; // [tile_m][d], [tile_n][d] as the matrix unit reads them
    uint32_t *v_words;           // [d][tile_n]
    float *score;                // [tile_m][tile_n]
    float *integer;              // [tile_m][tile_n] fl(I) of an INT8 tile
    bool folds;                  // option fold and an INT8 tile
    uint32_t *weight;            // [tile_m][tile_n]: P as the matrix unit reads it
    float *alpha;                // [tile_m]
    float *sum;                  // [tile_m]: lanes combined
    // Results, and space for the words of a tap.
    uint32_t *out, *lse, *words;
    void *owned[PLAIN_OWNED_MAX];
    size_t owned_count;
    bool out_of_memory;
};

// plain_number.c: numbers and words.
uint32_t plain_word(float x); // NaN gives MXV_NAN_WORD
float plain_float(uint32_t word);
float plain_max(float a, float b);                          // ignores NaN; +0 above -0
float plain_amax(const float *x, size_t count);             // NaN ignored, 0 for nothing
uint32_t plain_round(enum mxv_element f, float x);          // nearest even, overflow to infinity
uint32_t plain_round_saturate(enum mxv_element f, float x); // nearest even, saturating
float plain_decode(enum mxv_element f, uint32_t code);      // exact
float plain_ex2(const struct mxv_attention *a, float x);    // EX2 of the contract, by a->exp
float plain_rcp(float x);                                   // rcp.approx.ftz.f32
float plain_lg2(float x);                                   // lg2.approx.ftz.f32
float plain_div_full(float x, float y);                     // div.full.f32
float plain_div_full_add(float x, float y, float c);        // the same, contracted with an add
float plain_dot(const struct mxv_mma_model *m, size_t k, const uint32_t *a, const uint32_t *b,
                float c); // without block scales

// plain_scale_rule.c: E8M0 scale byte of a block with finite maximum a > 0.
uint32_t plain_scale_byte(enum mxv_scale_rule rule, enum mxv_element f, float a);
int plain_floor_log2_binary32(float a); // floor of the binary32 log2 of a, finite a > 0

// plain_quantise.c: one block (32 or 16 channels) or the rows of one matrix.
void plain_quantise_mx(enum mxv_scale_rule rule, enum mxv_element f, const float *x,
                       uint32_t *scale, uint32_t *code);
void plain_quantise_nvfp4(const float *x, uint32_t *scale, uint32_t *code);
void plain_quantise_core(const float *x, uint32_t *scale, uint32_t *code);
int plain_int8_code(enum mxv_round round, float x, float delta);

// plain_view.c: what is seen, which tiles are processed, by which route.
bool plain_visible(const struct plain_head *h, size_t row, size_t key);
bool plain_processed(const struct plain_head *h, size_t i, size_t j);
enum mxv_route plain_route(const struct plain_head *h, size_t i, size_t j);
bool plain_uses(const struct mxv_attention *a, enum mxv_route route);
size_t plain_tile_rows(const struct plain_head *h, size_t i); // existing rows of query tile i

// plain_space.c: life of a head.
void *plain_alloc(struct plain_head *h, size_t count, size_t size); // zeroed; NULL marks h
int plain_open(struct plain_head *h, char *message, size_t size);   // enum mxv_head_status
void plain_close(struct plain_head *h);

// plain_operands.c: inputs to operand copies; plain_second_level.c: dma; plain_int8.c: tilemix.
void plain_operands(struct plain_head *h);
void plain_second_level(struct plain_head *h);
void plain_int8_copies(struct plain_head *h);
void plain_rebase(struct plain_head *h); // plain_rebase.c: low copies of option rebase

// plain_scores.c: raw scores of tile (i, j) by a route, into h->score; keys >= lk are left alone.
void plain_raw_scores(struct plain_head *h, size_t i, size_t j, enum mxv_route route);
void plain_scores(struct plain_head *h, size_t i, size_t j, enum mxv_route route);

// plain_softmax.c: contract sections 5 and 6.
void plain_softmax_start(struct plain_head *h, size_t i);
void plain_softmax_tile(struct plain_head *h, size_t i, size_t j);
void plain_softmax_finish(struct plain_head *h, size_t i);
void plain_fill_v(struct plain_head *h, size_t j, enum mxv_element f); // h->v_words of key tile j

// plain_released*.c: kernel dma-released.
bool plain_released_uniform(const struct mxv_attention *a);
void plain_released_scale(struct plain_head *h); // log2 e into Q, second-level scales
void plain_released_block(const struct mxv_attention *a, enum mxv_route route, const float *x,
                          uint32_t *scale, uint32_t *code);
void plain_released_tile(struct plain_head *h, size_t i);

// plain_taps.c
void plain_tap_words(struct plain_head *h, enum mxv_stage stage, enum mxv_route route, size_t i,
                     size_t j, size_t rows, size_t cols, const uint32_t *words);
void plain_tap_floats(struct plain_head *h, enum mxv_stage stage, enum mxv_route route, size_t i,
                      size_t j, size_t rows, size_t cols, const float *values);
void plain_tap_operands(struct plain_head *h);
void plain_tap_tile(struct plain_head *h, enum mxv_route route, size_t i, size_t j);

#endif
