// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A call of dma under the contract's sm_100 row (docs/kernels/dma.md), drawn from a seed: what the
// engine of ref/ computes for it, stage by stage, and the same call as the kernel takes it, with
// the engine's codes and scales as operands. The kernel's results are compared word by word; a NaN
// equals a NaN.
#ifndef MXV_TESTS_KERNEL_TEXT_TEXT_CASE_H
#define MXV_TESTS_KERNEL_TEXT_TEXT_CASE_H

#include <cstdint>
#include <map>
#include <mxverify/attention.h>
#include <params.h>
#include <string>
#include <tuple>
#include <vector>

typedef std::vector<uint32_t> words;
// stage, route (operands and V alone; else 0), query tile, key tile
typedef std::tuple<int, int, size_t, size_t> tap_key;

struct head_record { // what the engine says of one head of one sequence
    words out, lse;
    std::map<tap_key, words> taps;
};

struct call_memory { // what pointers of struct mxv_gpu_dma_blocks point to
    std::vector<int32_t> cu_q, cu_k;
    std::vector<struct mxv_gpu_block> blocks;
    std::vector<uint8_t> q_codes[2], k_codes[2], q_scales[2], k_scales[2]; // high, low
    std::vector<float> q_sigma, k_sigma;
    std::vector<uint16_t> v;
    words out, lse, score, weight, max, sum, acc;
};

struct text_case {
    struct mxv_attention a;
    std::vector<size_t> cu_q, cu_k;
    std::vector<float> q, k, v;
    words widths;                          // of plan entropy
    size_t query_tiles;                    // of all sequences
    std::string line;                      // in words
    std::vector<struct head_record> heads; // [sequence][head]
    struct call_memory memory;
    struct mxv_gpu_dma_blocks call;
};

// Draws the case that `seed` names. `number` goes through low formats, d and the builds of the
// kernel. staged: one query tile that sees six or more key tiles, so that every stage is used
// again, and a second sequence behind it, whose first value is NaN.
void case_draw(struct text_case &c, uint64_t seed, unsigned number, bool staged);

// What a case is an instance of, bits; what a set of bits lacks, in words.
uint32_t case_features(const struct text_case &c);
std::string case_features_missing(uint32_t seen);

// Runs the engine, and makes the kernel's call.
void case_expect(struct text_case &c);

struct comparison {
    size_t words, wrong;
    std::string first; // the first difference
};

// Runs the kernel's text over the whole case and adds what it compares; schedules are drawn from
// `seed`. Returns what rule was broken, or an empty string.
std::string case_run(struct text_case &c, bool trace, uint64_t seed, struct comparison &result);

#endif
