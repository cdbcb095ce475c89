// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the properties share.
#ifndef MXV_PROPERTIES_INTERNAL_H
#define MXV_PROPERTIES_INTERNAL_H

#include <mxverify/properties.h>

// One variant of one property: its options, and the tally of its comparisons.
struct trial {
    const struct mxv_property_options *options;
    struct mxv_case c; // options of the variant, gaussian data
    bool one_route;    // all tiles of a call take one route
    struct mxv_property_result *result;
    char *message;
    size_t size;
    bool out_of_memory; // why it failed
};

// Output and LSE of a whole call, decoded; [heads_q][query tokens][d], as Q is laid out.
struct outputs {
    size_t rows, d; // rows: heads_q x query tokens
    float *out, *lse;
};

// What a property returns.
enum { TRIAL_DONE, TRIAL_SKIPPED, TRIAL_FAILED };

#define X(id, name, exact, released, text) int property_##id(struct trial *t);
#include <mxverify/properties.def>
#undef X

// `key=value` where the kernel has the key and takes it; false otherwise.
bool trial_set(struct mxv_case *c, const char *assignment);
// Builds and runs; TRIAL_FAILED with the message. The caller frees what it got in either case.
int trial_build(struct trial *t, const struct mxv_case *c, struct mxv_case_data *data);
int trial_run(struct trial *t, const struct mxv_attention *a, struct outputs *o);
// TRIAL_FAILED for lack of memory, with the message.
int trial_no_memory(struct trial *t);
void outputs_free(struct outputs *o);

// A place in a call: row of one query head of one sequence.
struct place_of {
    size_t sequence, head, row;
};
// Index of a row in struct outputs and in Q (times d).
size_t row_index(const struct mxv_attention *a, struct place_of p);
// Index of a key of the head's KV head in K and V (times d).
size_t key_index(const struct mxv_attention *a, struct place_of p, size_t key);
// Calls take for every row.
void each_row(const struct mxv_attention *a,
              void (*take)(void *ctx, const struct mxv_attention *a, struct place_of p), void *ctx);

void tally_error(struct trial *t, struct place_of p, size_t channel, double got, double expected,
                 double tolerance);
void tally_bits(struct trial *t, struct place_of p, size_t channel, float got, float expected);

// Bound on |output - exact output of the kernel's own unrounded weights| / max |V|, for rows of at
// most `keys` keys: rounding of P and V, sums, matrix unit, rescales, division, output.
double output_tolerance(const struct mxv_attention *a, size_t keys);
// Bound on the error of a score in log2 units, whose products have the sum of magnitudes `sum`.
double score_tolerance(const struct mxv_attention *a, double sum);
// Relative error of the row sum, hence of the LSE in nats.
double sum_tolerance(const struct mxv_attention *a, size_t keys);

// ---- properties_pair.c: two calls side by side --------------------------------------------------

struct pair {
    struct mxv_case first, second;
    struct mxv_case_data a, b;
    struct outputs oa, ob;
};

// What a check of a pair's rows gets.
struct pair_check {
    struct trial *t;
    const struct pair *p;
};
// Both cases: the variant with one sequence of that shape; NULL when memory is short.
struct pair *pair_make(struct trial *t, size_t lq, size_t lk);
int pair_build(struct trial *t, struct pair *p);
int pair_run(struct trial *t, struct pair *p);
void pair_free(struct pair *p);
// Rows `from`.. of a tensor [heads][tokens][d] into another one's rows `to`...
void copy_tokens(const float *source, size_t source_tokens, size_t from, float *target,
                 size_t target_tokens, size_t to, size_t count, size_t heads, size_t d);
bool trial_released(const struct trial *t);
// Something looks at all keys of a sequence at once.
bool sees_whole_sequence(const struct mxv_case *c);
// Largest |v| that a head reads.
double largest_value(const struct mxv_attention *a);

#endif
