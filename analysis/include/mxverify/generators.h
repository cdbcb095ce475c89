// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Generated tensors: each element is a pure function of (seed, generator, gain, at, tensor,
// sequence, head, token, channel) and of the shape and options of the call, never of the order in
// which elements are asked for, of threads or of the machine: draws are Philox4x32-10 words (Salmon
// et al., SC 2011) at a counter made of the coordinates, arithmetic is IEEE binary64 + - * / and
// exact scaling only, and the last step rounds to the input type.
#ifndef MXVERIFY_GENERATORS_H
#define MXVERIFY_GENERATORS_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_generator {
#define X(id, name, text) MXV_GEN_##id,
#include <mxverify/generators.def>
#undef X
    MXV_GEN_COUNT
};

// Name and description; NULL beyond the last one.
const char *mxv_generator_name(unsigned generator);
const char *mxv_generator_text(unsigned generator);
bool mxv_generator_find(const char *name, enum mxv_generator *out);

enum mxv_tensor_role { MXV_ROLE_Q, MXV_ROLE_K, MXV_ROLE_V, MXV_ROLE_PLAN };

// What a generator may look at. `call` gives shape (sequences, cu_q, cu_k, heads, d), `in`, tile
// sizes, mask, align and window; its tensors are not read.
struct mxv_generator_source {
    const struct mxv_attention *call;
    enum mxv_generator generator;
    uint64_t seed;
    double gain; // factor on queries, applied before rounding
    long at;     // key that one_hot points at, -1: the edges in turn
};

// One element: token counts from the start of its sequence; `head` is a query head for Q, a KV head
// for K and V. The result is a value of call->in (NaN and Inf from generator nonfinite alone).
float mxv_generator_value(const struct mxv_generator_source *s, enum mxv_tensor_role role,
                          size_t sequence, size_t head, size_t token, size_t channel);

// A whole tensor, [heads][tokens of all sequences][d], as struct mxv_attention lays it out. Runs on
// OpenMP threads; the words do not depend on their number.
void mxv_generator_fill(const struct mxv_generator_source *s, enum mxv_tensor_role role,
                        float *out);

// Philox4x32-10: four words for a key and a counter.
void mxv_random_words(uint64_t key, const uint32_t counter[4], uint32_t out[4]);
// Uniform integer in 0..count-1 (count >= 1) from one 32-bit word, by multiply and shift.
uint32_t mxv_random_below(uint32_t word, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
