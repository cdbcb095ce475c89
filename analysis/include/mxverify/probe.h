// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: which matrix unit, and which quantiser, a black box is.
//
// The parameters of a matrix unit (docs/numerics.md: rule, L, F, kept bits, z, K where it shows)
// are found by elimination. Directed questions make each of them visible; every candidate of the
// space in probe_candidates.c that gives one other answer is dropped; while candidates remain that
// disagree on some question, that question is asked. What remains is the answer: one value of a
// parameter, or a range of values that no question told apart, `unobservable`.
// Recorded answers are treated alike, but nothing can be asked beyond them.
//
// Assumed: the operand formats, the result type, and the block length of the scales are known; the
// exponent z of zeros lies in MXV_PROBE_ZERO_LEAST..MXV_PROBE_ZERO_MOST. A unit outside the space
// leaves no candidate; the nearest known models are then named with the answers they miss.
// NaN payloads never count; the words met are reported. Threads: no shared state.
// tests/gate/test_probe.c fails if a row of ref/models.def is not recovered.
#ifndef MXVERIFY_PROBE_H
#define MXVERIFY_PROBE_H

#include <mxverify/block.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MXV_PROBE_K = 64,            // products of a question at most
    MXV_PROBE_SCALES = 4,        // scales of a question at most
    MXV_PROBE_ZERO_LEAST = -400, // z of the candidates
    MXV_PROBE_ZERO_MOST = -15,
    MXV_PROBE_NAMED = 48, // models named at most; the others are counted
    MXV_PROBE_RULES = MXV_MMA_CDNA1 + 1
};

// One dot product; words as in <mxverify/matrix_unit.h>, k products, the rest of the arrays zero.
struct mxv_probe_question {
    unsigned k;
    uint32_t a[MXV_PROBE_K], b[MXV_PROBE_K], c;
    uint8_t scale_a[MXV_PROBE_SCALES], scale_b[MXV_PROBE_SCALES];
};

// What is asked. `face` gives a, b, result, scale and block; its other members are not read.
// ask: answers[i] = the result word of questions[i]; MXV_OK, or an error with a message.
// With ask = NULL, recorded questions and answers are all there is.
struct mxv_probe_unit {
    struct mxv_mma_model face;
    unsigned k; // products a question may have, 4..MXV_PROBE_K; 0: MXV_PROBE_K
    enum mxv_status (*ask)(void *ctx, const struct mxv_mma_model *face,
                           const struct mxv_probe_question *questions, size_t count,
                           uint32_t *answers, char *message, size_t size);
    void *ctx;
    const struct mxv_probe_question *recorded;
    const uint32_t *recorded_answers;
    size_t recorded_count;
};

// Values of one parameter that give every answer.
struct mxv_probe_range {
    int low, high;
    unsigned values; // how many; 0: the parameter does not exist under the rule
};

struct mxv_probe_named {
    const struct mxv_mma_model *model; // a row of ref/models.def with the same face
    size_t differing;                  // answers it misses
    size_t zero_signs;                 // of these, only in the sign of a zero
};

// Facts that no parameter carries: what the unit answers to one question each.
#define MXV_PROBE_FACTS(X)                                                                         \
    X(NAN_WORD, "nan", "NaN operand or accumulator: the word of the result")                       \
    X(ZERO_SIGN, "zero", "all products zero, c = -0")                                              \
    X(UNDERFLOW, "underflow", "a negative sum that truncates to zero")                             \
    X(OVERFLOW, "overflow", "c the largest finite value, and the largest products added")          \
    X(C_CUT, "c-cut", "all products zero, c with all fraction bits set")                           \
    X(SUBNORMAL_C, "subnormal-c", "all products zero, c the smallest subnormal")
enum mxv_probe_fact {
#define X(id, name, text) MXV_PROBE_##id,
    MXV_PROBE_FACTS(X)
#undef X
        MXV_PROBE_FACT_COUNT
};

struct mxv_probe_result {
    size_t questions;           // answered
    size_t candidates;          // tried
    size_t remaining;           // give every answer
    unsigned rules;             // bit set of enum mxv_mma_rule among these
    struct mxv_mma_model model; // one of them; name, arch and note are NULL
    struct mxv_probe_range step, frac_bits, keep_bits, zero_exp, k, saturate;
    uint32_t facts[MXV_PROBE_FACT_COUNT];
    bool has_fact[MXV_PROBE_FACT_COUNT];           // recorded answers hold none of them
    size_t named_count, known;                     // rows of the face
    struct mxv_probe_named named[MXV_PROBE_NAMED]; // by answers missed, then in list order
};

const char *mxv_probe_fact_name(unsigned fact); // NULL beyond the last one
const char *mxv_probe_fact_text(unsigned fact);

// MXV_OK also when no candidate remains (remaining = 0). MXV_ERR_INPUT: a face without a rule;
// errors of ask.
enum mxv_status mxv_probe_unit_run(const struct mxv_probe_unit *unit, struct mxv_probe_result *out,
                                   char *message, size_t size);

// A unit that is a model of this project: pass the model as ctx.
enum mxv_status mxv_probe_ask_model(void *ctx, const struct mxv_mma_model *face,
                                    const struct mxv_probe_question *questions, size_t count,
                                    uint32_t *answers, char *message, size_t size);

// Seconds that a command may take for a batch, of all commands: 60; 0: no limit.
void mxv_probe_time_limit(double seconds);

// A unit, or a quantiser, behind a shell command that reads request lines of `mxverify eval mma`
// (`eval quantize`) and prints one answer line each; ctx is the command. It is run once per batch.
enum mxv_status mxv_probe_ask_command(void *ctx, const struct mxv_mma_model *face,
                                      const struct mxv_probe_question *questions, size_t count,
                                      uint32_t *answers, char *message, size_t size);

// Recorded answers of one instruction. The caller frees them.
struct mxv_probe_record {
    struct mxv_mma_model face; // of a capture; of a text file: untouched
    struct mxv_probe_question *questions;
    uint32_t *answers;
    size_t count;
};
// A capture of data/golden/h200-mma (its README has the layout), raw or zstd, which states its own
// formats; or text, one line `A | B | C [| scales A | scales B] | D` each, of the face given.
enum mxv_status mxv_probe_read(const char *path, const struct mxv_mma_model *face,
                               struct mxv_probe_record *out, char *message, size_t size);
void mxv_probe_record_free(struct mxv_probe_record *record);

// ---- quantisers ---------------------------------------------------------------------------------

// Policies of a block quantiser, by name: one row each, found by the same elimination.
#define MXV_PROBE_POLICIES(X)                                                                      \
    X(RULE, "scale", scale_rule, rule)                                                             \
    X(ROUND, "round", round, encode.round)                                                         \
    X(ARITH, "arith", arith, arith)                                                                \
    X(OVERFLOW_, "overflow", overflow, encode.overflow)                                            \
    X(INF, "inf", inf, encode.inf)                                                                 \
    X(NAN_, "nan", nan, encode.nan)                                                                \
    X(NEGZERO, "negzero", negzero, encode.negzero)                                                 \
    X(SCALE_INF, "scale_inf", scale_inf, scale.inf)                                                \
    X(SCALE_NAN, "scale_nan", scale_nan, scale.nan)                                                \
    X(SCALE_ZERO, "scale_zero", scale_zero, scale.zero)                                            \
    X(ORDER, "order", nvfp4_order, nvfp4.order)
enum mxv_probe_policy {
#define X(id, name, type, member) MXV_PROBE_POLICY_##id,
    MXV_PROBE_POLICIES(X)
#undef X
        MXV_PROBE_POLICY_COUNT
};

struct mxv_probe_quantiser {
    size_t questions, candidates, remaining;
    size_t missed;                           // questions the nearest candidate misses
    struct mxv_block_policy policy;          // a remaining, or the nearest, candidate
    uint64_t values[MXV_PROBE_POLICY_COUNT]; // bit sets of the values that remain
};

const char *mxv_probe_policy_name(unsigned policy);                  // NULL beyond the last one
const char *mxv_probe_policy_value(unsigned policy, unsigned value); // NULL beyond the last one

// ask: scale and codes ([count][size of the block]) of `count` blocks x ([count][size]).
enum mxv_status mxv_probe_quantiser_run(
    enum mxv_block block,
    enum mxv_status (*ask)(void *ctx, enum mxv_block block, const uint32_t *x, size_t count,
                           uint8_t *scale, uint8_t *codes, char *message, size_t size),
    void *ctx, struct mxv_probe_quantiser *out, char *message, size_t size);
enum mxv_status mxv_probe_quantise_command(void *ctx, enum mxv_block block, const uint32_t *x,
                                           size_t count, uint8_t *scale, uint8_t *codes,
                                           char *message, size_t size);

// ---- masked rows --------------------------------------------------------------------------------

// X(id, name, text): what a row of attention without a visible key gives.
#define MXV_PROBE_MASKED_ROWS(X)                                                                   \
    X(ZERO, "zero", "output 0")                                                                    \
    X(NAN_, "nan", "output NaN: 0/0, or -Inf minus -Inf")                                          \
    X(MEAN, "mean", "the mean of all values: a finite sentinel stands for -Inf")                   \
    X(OTHER, "other", "none of these")
enum mxv_probe_masked_row {
#define X(id, name, text) MXV_PROBE_MASKED_##id,
    MXV_PROBE_MASKED_ROWS(X)
#undef X
        MXV_PROBE_MASKED_COUNT
};
const char *mxv_probe_masked_name(unsigned row); // NULL beyond the last one
const char *mxv_probe_masked_text(unsigned row);

struct mxv_probe_masked {
    enum mxv_probe_masked_row row;
    uint32_t out; // binary32 words
    bool has_lse;
    uint32_t lse;
};
// Asks a command that reads requests of `mxverify eval attention_row`. MXV_ERR_INPUT when a row
// with one visible key does not give that key's value.
enum mxv_status mxv_probe_masked_run(const char *command, struct mxv_probe_masked *out,
                                     char *message, size_t size);

// ---- profiles -----------------------------------------------------------------------------------

enum { MXV_PROBE_ARCHES = 16 };

// One probed unit and where it came from, as text.
struct mxv_probe_entry {
    const char *source;
    struct mxv_mma_model face;
    const struct mxv_probe_result *result;
};
// Architectures that have, for each of the units, a known model without a differing answer; their
// number. Static strings.
size_t mxv_probe_arches(const struct mxv_probe_entry *units, size_t count, const char **arches,
                        size_t most);
// The profile as JSON (docs/probe.md). quantiser: NULL, or of `block`. MXV_ERR_IO with a message.
enum mxv_status mxv_probe_write(const char *path, const struct mxv_probe_entry *units, size_t count,
                                const struct mxv_probe_quantiser *quantiser, enum mxv_block block,
                                char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
