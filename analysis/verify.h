// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to verification: what is kept of one head while a case is judged.
#ifndef MXV_VERIFY_PRIVATE_H
#define MXV_VERIFY_PRIVATE_H

#include <mxverify/bound.h>
#include <mxverify/gate.h>
#include <mxverify/split.h>
#include <mxverify/verify.h>

// Score tiles of one emulation of a head, collected from its taps.
struct score_sheet {
    float *scores;   // [lq][lk], NaN where no tile was processed
    uint8_t *routes; // [query tiles][key tiles], MXV_ROUTE_SKIP where none
};

// Weights and softmax state of the emulation of a head, collected from its taps.
struct state_sheet {
    float *weights;                        // [lq][lk], P as the matrix unit reads it
    float *maxima;                         // [lq][key tiles]
    float *sums;                           // [lq] after the last tile
    float *tile_sums;                      // [lq][key tiles] after each tile
    float *acc;                            // [judged rows][key tiles][d] accumulator after each
    size_t *place_of;                      // [lq] of a row among the judged ones; SIZE_MAX: none
    float v_scale;                         // of FP8 V, else 1
    uint32_t *query_scales;                // [lq] INT8, option fold; NULL without
    uint32_t *key_scales[MXV_ROUTE_COUNT]; // [lk][blocks] codes, NULL without
    size_t key_blocks[MXV_ROUTE_COUNT];
};

struct head_result {
    size_t sequence, head, lq, lk;
    uint32_t *emulated, *subject;         // [lq][d]
    uint32_t *emulated_lse, *subject_lse; // [lq]
    struct score_sheet emulated_scores, subject_scores;
    struct state_sheet state;
    struct mxv_tap_record emulated_taps, subject_taps;
    struct mxv_taps_where where;
    bool differs;
    // truth
    size_t *rows, row_count;
    bool *undefined; // [lq] rows of a head with a NaN or infinity: no metrics
    bool *unscored;  // [lq] rows with a score of NaN or +Inf: IEEE rules only
    struct mxv_truth_ball *from_inputs, *from_operands; // [row_count][d]
    size_t undefined_rows;
    struct mxv_truth_stats enclosures[2]; // of inputs and operands
    double *score_error;    // [query tiles][key tiles] |score - exact score of the inputs|
    double *operand_scores; // [row_count][lk] exact scores of the operands, log2 units
    struct mxv_score_split split[MXV_ROUTE_COUNT];
    struct mxv_split_cell *causes; // [query tiles][key tiles]
    double split_residual;
    // bounds, [row_count][d]; judged [row_count]
    bool *judged, *bounded_rows;   // judged at all; by the bounds
    double *centre, *noise, *rest; // contract: |output - centre| <= rest, centre within noise
    double *model_centre, *model_noise, *model; // the same for any implementation of the model
    struct mxv_truth_ball *lse_truth;           // [row_count] of the operands, log2 units
    struct mxv_bound_report bound;
    struct mxv_gate_report gate;
    double oracle_ratio; // largest error of the emulation / its bound, over three checks
    enum mxv_stage oracle_stage;
    size_t oracle_row;
    struct mxv_events events;
    char message[256];
    int status;  // enum mxv_status
    int failure; // enum mxv_verdict that an adapter's own report leads to, 0: none; why: message
};

struct verification {
    const struct mxv_case *c;
    const struct mxv_verify_options *options;
    struct mxv_case_data data;
    struct mxv_attention subject_call; // with the faults of the case
    bool bounded;                      // the kernel claims to compute attention
    struct mxv_bound_contract contract;
    size_t heads; // sequences * heads_q
    struct head_result *results;
    void *adapter_state; // of the adapter's setup
};

// ---- verify_collect.c: memory of a head, and the sinks that fill it -----------------------------

struct collector {
    const struct mxv_attention *a;
    size_t lq, lk;
    struct mxv_tap_sink digest;
    struct score_sheet *sheet;
    struct state_sheet *state; // NULL: not wanted
    bool out_of_memory;
};
void verify_collect(void *ctx, const struct mxv_tap *tap);
// MXV_ERR_INPUT with a message for a case of which one head alone cannot fit into memory.
enum mxv_status verify_fits_memory(const struct mxv_case *c, char *message, size_t size);
int head_allocate(struct verification *v, struct head_result *h);
// MXV_ERR_MEMORY, and the head's message says for what: "taps of the emulation".
enum mxv_status verify_no_memory(struct head_result *h, const char *for_what);
void head_free(struct head_result *h);

// ---- verify_problem.c: the exact problems (a) and (b) -------------------------------------------

struct problem {
    const struct mxv_attention *a;
    const struct head_result *h;
    struct mxv_truth_problem exact;
    double *buffers[2 * MXV_ROUTE_COUNT + 1];
    unsigned buffer_count;
    unsigned index_of_route[MXV_ROUTE_COUNT];
    bool ignore_mask;
    double log2_unit; // factor from sum q k, and from a kernel's score, to log2 units
};
void problem_start(struct problem *p, const struct mxv_attention *a, const struct head_result *h,
                   bool ignore_mask);
int problem_inputs(struct problem *p);
enum mxv_truth_status problem_operands(struct problem *p);
void problem_free(struct problem *p);
// Index of the operands of a (row, key) pair; ctx is the problem.
unsigned problem_route(const void *ctx, size_t row, size_t key);

// ---- verify_truth.c, verify_bound.c, verify_judge.c ---------------------------------------------

// The rows of a head that truth is evaluated for, and memory for what is found there.
int verify_choose_rows(struct verification *v, struct head_result *h);

// Exact attention of both kinds, score errors and the bounds of one head.
enum mxv_status verify_truth(struct verification *v, struct head_result *h);

// One judged row of a head: its bounds, and what the implementation's output is worth.
struct bound_walk {
    struct verification *v;
    struct head_result *h;
    const struct problem *operands;
    double *memory;
    double *values;                // [lk][d] V as the matrix unit reads it
    bool *broken;                  // [key tiles][d] V with a NaN or infinity; NULL: none
    double *scores, *slack;        // [lk] of the emulation, log2 units; bound on its errors
    double *weights, *own_weights; // [lk] of the exact and of the emulation's scores
    double *out, *own_out;         // [d] their attention
    struct mxv_bound_terms *terms; // [d]
    struct mxv_bound_product *products;
    struct mxv_bound_mass mass;
    double *bounds, *model_bounds; // for the medians, [row_count * d]
    size_t bound_count;
    size_t gate_places[MXV_GATE_ROWS], gate_count;
    bool out_of_memory; // of a row: the walk is void
};
int bound_walk_start(struct bound_walk *w, struct verification *v, struct head_result *h,
                     const struct problem *operands);
void bound_walk_row(struct bound_walk *w, size_t place);
void bound_walk_finish(struct bound_walk *w);
// verify_bound_words.c: the log-sum-exp of a judged row; and, after the walk, the rows whose words
// are known without a bound (NaN and infinities by IEEE rules, rows without a key).
void bound_lse(struct bound_walk *w, size_t place, const struct mxv_bound_row *row,
               const struct mxv_bound_state *state);
void bound_patterns(struct verification *v, struct head_result *h);
void bound_word(struct verification *v, struct head_result *h, size_t at, size_t row, bool empty);
// Whether a judged row (its place in h->rows) is measured against exact attention: all metrics, the
// rms of outputs and the map of output errors are over these rows. Left out are the rows that the
// bounds leave to words or bits (docs/bounds.md 1), and those with a NaN or infinity in reach.
// After verify_truth.
bool verify_row_is_measured(const struct verification *v, const struct head_result *h,
                            size_t place);
// What one oracle says against the other; kept if it is the worst so far.
void bound_accuse(struct head_result *h, double ratio, enum mxv_stage stage, size_t row);

// verify_split.c: the error of a judged row by cause and key tile.
struct split_walk {
    struct verification *v;
    struct head_result *h;
    const struct problem *inputs, *operands;
    size_t tiles, count, first, end; // key tiles; processed ones; visible keys
    double *memory;
    size_t *order;                           // [tiles] processed tiles as they are visited
    float *alpha, *shift;                    // [tiles]
    double *share;                           // [causes][tiles][d]
    double *weights, *plain, *kept, *errors; // [lk] sum 1; P; [tiles]; [lk] relative
    double *out;                             // [d] output so far
    const uint8_t *routes;
    const float *maxima;
};
int split_start(struct split_walk *s, struct verification *v, struct head_result *h,
                const struct problem *inputs, const struct problem *operands);
// exact: scores of the inputs, log2 units.
void split_row(struct split_walk *s, size_t place, const double *exact);
void split_finish(struct split_walk *s);

// gate_rows.c: mutants that need weights and values, on one row whose bounds stand.
void gate_row(struct bound_walk *w, size_t place, const struct mxv_bound_row *row);
// Mutants of whole outputs, after all heads are there.
enum mxv_status gate_head(struct verification *v, struct head_result *h);
// Bounds and gates of all heads into the result, and what they say of the verdict.
void judge_bounds(struct verification *v, struct mxv_verify_result *out);

// What the pattern of a failing case looks like, into out->diagnosis.
void verify_diagnose(struct verification *v, struct mxv_verify_result *out);
// diagnose_fault.c: the known fault that gives the words, as the beginning of that sentence; 0 and
// "" when there is none. As snprintf.
size_t verify_name_fault(const struct verification *v, char *text, size_t size);

// Maps of the worst head into the folder of the options; an error is in out->reason.
enum mxv_status verify_maps(struct verification *v, struct mxv_verify_result *out);

#endif
