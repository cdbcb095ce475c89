// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the engine: the places where a fault (faults.def) may change what it computes. Each
// function is the identity unless a switch of the call asks for more. Of the defects of the DMA
// release, D1 and D2 act here, the others in the files that compute the values they change.
#ifndef MXV_ENGINE_FAULTS_H
#define MXV_ENGINE_FAULTS_H

#include "engine.h"
#include <mxverify/scale.h>

// The call: faults that apply to the kernel, and options that the broken kernel takes instead of
// the caller's.
void fault_call(struct mxv_attention *a);
// Bit set of enum mxv_softmax_fault.
unsigned fault_softmax(const struct mxv_attention *a);
// Matrix-unit models; may replace h->recipe.pv by a changed copy in h->fault_pv.
void fault_models(struct head *h);

// Where keys and values are read: KV head, and first token of a sequence in the packed tensor.
size_t fault_kv_head(const struct mxv_attention *a, size_t index);
size_t fault_first_key(const struct mxv_attention *a, size_t sequence);

// Quantisation of blocks: rules for elements of type e, scale byte, code of v.
struct block_rules {
    enum mxv_scale_rule rule;
    struct mxv_scale_policy scale;
    struct mxv_encode encode;
};
void fault_block_rules(const struct mxv_attention *a, enum mxv_element e, struct block_rules *r);
uint8_t fault_scale_byte(const struct mxv_attention *a, float amax, uint8_t byte);
uint32_t fault_code(const struct mxv_attention *a, enum mxv_element e, struct mxv_value v,
                    uint32_t code);
// Quantisation to INT8: what amax is divided by, rounding, and the code of quotient y.
float fault_int8_range(const struct mxv_attention *a);
void fault_int8_encode(const struct mxv_attention *a, struct mxv_encode *encode);
int fault_int8_code(const struct mxv_attention *a, float y, int code);
// Finished copies of both sides: bytes read in another order, scales of other blocks.
int fault_copies(struct head *h); // 0, or h->status: a fault's work space is short

// How many of the blocks of `rows` rows enter the base of option rebase.
size_t fault_base_blocks(const struct head *h, size_t blocks, size_t rows);

// One score tile: whether and by which route it is computed, which key tile is multiplied, which
// key tile's scales are taken, what a masked or padded score is, the last visible key.
bool fault_skips_tile(const struct head *h, size_t j);
enum mxv_route fault_route(const struct head *h, size_t i, size_t j);
size_t fault_key_tile(const struct head *h, size_t j);
size_t fault_scale_tile(const struct head *h, size_t j);
uint32_t fault_masked_word(const struct head *h, uint32_t word);
uint32_t fault_padding_word(const struct head *h, uint32_t word);
size_t fault_visible_end(const struct head *h, size_t end);
float fault_promoted(const struct head *h, float acc);
// Scores of the tile before, kept and put back: the last `FRAGMENT` existing columns.
enum { FRAGMENT = 8 };
struct fragment {
    bool kept;
    uint32_t words[256 * FRAGMENT];
};
void fault_keep_fragment(const struct head *h, size_t tiles_done, const uint32_t *s, size_t rows,
                         size_t cols, struct fragment *f);
void fault_scores(const struct head *h, enum mxv_route route, size_t rows, size_t cols,
                  const struct fragment *f, uint32_t *s);

// Softmax and PV of a row or tile.
float fault_sum_alpha(const struct head *h, float old, float alpha);
float fault_acc_alpha(const struct head *h, float alpha);
uint32_t fault_weight_code(const struct head *h, float p, uint32_t code);
void fault_weights_summed(const struct head *h, const uint32_t *codes, float *p);
float fault_total(const struct head *h, float total);
size_t fault_value_tile(const struct head *h, size_t j);
size_t fault_value_slot(const struct head *h, size_t slot);
void fault_accumulator(const struct head *h, uint32_t *o, size_t n);
float fault_value_scale(const struct head *h, float scale);

#endif
