// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Proved bounds on |implementation - exact attention| for each output element of one row, from the
// case's own data, as a sum of named terms. docs/bounds.md derives every term.
//
// Two claims about an implementation lead to two bounds:
//   contract  it follows docs/kernels/contract.md word for word up to the weights P and the row
//             sum l. Their error is then known, not bounded: it is the distance of
//             sum P v / l, evaluated exactly, from the truth. What stays open are the orders and
//             cuts of the PV accumulation, the division and the output rounding.
//   model     it multiplies the same operands on the declared matrix units in the declared order
//             of tiles, with scores, exponentials and weights of its own: every rounding is
//             bounded.
//
// Units: scores in log2 units (weights are 2^score); bounds in units of the output. Everything is
// binary64; the rounding of the bounds themselves is covered by `noise` and MXV_BOUND_MARGIN.
// Threads: no shared state. tests/unit/test_bound.c and tests/gate/test_bound.c fail if it is
// wrong.
#ifndef MXVERIFY_BOUND_H
#define MXVERIFY_BOUND_H

#include <mxverify/attention.h>
#include <mxverify/softmax.h>

#ifdef __cplusplus
extern "C" {
#endif

// X(id, name, text): the terms, in the order in which a kernel commits the errors.
#define MXV_BOUND_TERMS(X)                                                                         \
    X(QUANTISATION, "quantisation", "operands: exact attention of inputs and of operands differ")  \
    X(SCORE, "score", "accumulation of the score product and its scale products")                  \
    X(EXP2, "exp2", "argument of the exponential, and the exponential itself")                     \
    X(WEIGHT, "weight", "rounding of P to the type of the PV product")                             \
    X(RESCALE, "rescale", "factors alpha on earlier tiles, and their products with O")             \
    X(SUM, "sum", "accumulation of the row sum")                                                   \
    X(PRODUCT, "product", "accumulation of the PV product")                                        \
    X(DIVISION, "division", "reciprocal of the row sum and the products with it")                  \
    X(LOGARITHM, "logarithm", "of the row sum, and what is added to it (LSE only)")                \
    X(OUTPUT, "output", "rounding to the output type")

enum mxv_bound_term {
#define X(id, name, text) MXV_BOUND_##id,
    MXV_BOUND_TERMS(X)
#undef X
        MXV_BOUND_TERM_COUNT
};
const char *mxv_bound_term_name(unsigned term); // NULL beyond the last one
const char *mxv_bound_term_text(unsigned term);

struct mxv_bound_terms {
    double term[MXV_BOUND_TERM_COUNT];
};

// Factor on every bound for the binary64 roundings made in computing it.
#define MXV_BOUND_MARGIN (1 + 0x1p-30)

// One matrix unit as far as its error goes (docs/numerics.md, "The rules").
struct mxv_bound_unit {
    unsigned k, step;              // products per instruction, and per alignment
    unsigned frac_bits, keep_bits; // kept below the shared exponent, and in the result
    unsigned product_bits;         // fraction bits of an exact product
    double smallest_a, smallest_b; // smallest normal operands
    bool exact;                    // integers
};

// What a call fixes.
struct mxv_bound_contract {
    struct mxv_bound_unit pv, score[MXV_ROUTE_COUNT];
    double score_products[MXV_ROUTE_COUNT]; // relative error of scale products on a score
    bool rebased;                           // low route by option rebase
    double folded; // option fold: relative error of P's argument on INT8 tiles against the score
    struct mxv_softmax softmax;
    double exp_relative; // of one exponential
    int p_frac_bits, p_emin;
    double p_largest;
    bool p_saturates; // beyond p_largest: saturates, else infinity
    double sum_lanes; // running lanes of the row sum
    double division;  // relative error of reciprocal and products
    enum mxv_element out;
    size_t tile_n;
    bool descending;
};

// False when the call is not one of a kernel that claims to compute attention (dma-released), or
// names a unit without a model.
bool mxv_bound_contract_of(const struct mxv_attention *a, struct mxv_bound_contract *out);

// |kernel's score - exact score| <= this, for operands with sum |q k| = `magnitude`, largest
// magnitudes q_max and k_max, over d channels; in units of sum q k.
double mxv_bound_score(const struct mxv_bound_contract *c, enum mxv_route route, size_t d,
                       double magnitude, double q_max, double k_max);

// One row. Arrays belong to the caller.
struct mxv_bound_row {
    size_t keys, first, end; // all keys, and the visible ones [first, end)
    size_t d;
    const uint8_t *routes; // [key tiles] of the row's query tile, MXV_ROUTE_SKIP: not processed
    const double *v;       // [keys][d] operands
};

// Weights and state of an emulation of the row.
struct mxv_bound_state {
    const float *weights; // [keys] P as the matrix unit reads it
    const float *scores;  // [keys] of the kernel, in its units; members and LSE need them
    const double *values; // [keys][d] V as the matrix unit reads it: v / v_scale
    double v_scale;       // of FP8 V, else 1
    const float *maxima;  // [key tiles] running maximum after the tile, a kernel's score
    float sum;            // final row sum
};

// exact attention sum 2^score v / sum 2^score in binary64 into out[d]; weights[keys] get the
// normalised weights. The error is below (keys + 2 * largest |score| + 16) * 2^-52 sum p |v|.
void mxv_bound_softmax(const struct mxv_bound_row *row, const double *scores, double *weights,
                       double *out);

// Relative errors of the weights of a row before they are rounded, weighted by the exact weights:
// their sums are those of the row sum before its additions.
struct mxv_bound_mass {
    double score, exponential, rescale;
    double sum;         // by the additions of the row sum
    double largest;     // of one weight
    double kept;        // of one that may exceed 2^-120, by exponential and rescale; log2 units
    double top;         // largest exact score
    double slack;       // largest error of a score, log2 units
    double moved;       // roundings of M and folded scales, common to a row's weights; log2 units;
                        // infinite where they may take P or l out of the range of rcp.approx.ftz
    bool out_of_memory; // then everything is infinite
};

// Terms SCORE to SUM of every channel into terms[d] (the others are left alone). scores [keys],
// weights [keys] and centre [d] as mxv_bound_softmax gave them; slack [keys] bounds the error of
// the kernel's scores, NULL: they are the scores. Infinite, and out_of_memory, when memory is
// short.
struct mxv_bound_mass mxv_bound_weights(const struct mxv_bound_contract *c,
                                        const struct mxv_bound_row *row, const double *scores,
                                        const double *slack, const double *weights,
                                        const double *centre, struct mxv_bound_terms *terms);

// Two implementations of one model: what the other's weights, factors and row sum can be when the
// emulation's are known. Rounding is the same unless a weight lies near a rounding boundary.
struct mxv_bound_members {
    double *gap;            // [keys] |other's rounded P - ours|; owned
    double *kept;           // [key tiles] our product of all later factors alpha; owned
    double factor;          // relative difference of two such products
    double score, exponent; // relative difference of row sums by scores; by exponentials
    double sum;             // by the additions
    bool out_of_memory;
};
// False: nothing more than the terms of mxv_bound_weights is known (a lazy rule that might decide
// otherwise, weights that may overflow, row sums that differ by half, or out->out_of_memory); then
// *out holds nothing else. scores, slack as above.
bool mxv_bound_members_of(const struct mxv_bound_contract *c, const struct mxv_bound_row *row,
                          const double *scores, const double *slack,
                          const struct mxv_bound_state *state, struct mxv_bound_members *out);
void mxv_bound_members_free(struct mxv_bound_members *m);

// What the PV product adds, per channel.
struct mxv_bound_product {
    double centre;   // sum P v / l, exact but for noise
    double noise;    // |centre computed - centre| <= noise
    double size;     // sum P |v| / l
    double own, any; // error of accumulation: with these very weights, with those of the model
    double rescale;  // of the products O * alpha, with these weights (`any` has its own)
    double gap;      // members: sum gap |v| / l
    double member;   // members: error of another one's accumulation, rescales included
};
// mass: as mxv_bound_weights gave it. members: NULL for none. Infinite where the row sum is outside
// the range in which rcp.approx.ftz keeps its precision, or the accumulator may overflow. False,
// and infinite, when memory is short.
bool mxv_bound_products(const struct mxv_bound_contract *c, const struct mxv_bound_row *row,
                        const struct mxv_bound_state *state, const struct mxv_bound_mass *mass,
                        const struct mxv_bound_members *members, struct mxv_bound_product *out);

// Terms of |another member's output - p->centre|, SCORE to PRODUCT.
struct mxv_bound_terms mxv_bound_member_terms(const struct mxv_bound_members *m,
                                              const struct mxv_bound_product *p);

// Log-sum-exp of one row in units of the output (`base`).
struct mxv_bound_lse {
    double centre;                          // M + log2 l of the state, exact but for noise
    double noise;                           // of centre and bounds
    struct mxv_bound_terms contract, model; // of |lse - centre|, of |lse - exact|
};
void mxv_bound_lse_of(const struct mxv_bound_contract *c, const struct mxv_bound_row *row,
                      const struct mxv_bound_mass *mass, const struct mxv_bound_state *state,
                      enum mxv_lse base, struct mxv_bound_lse *out);

// Fills DIVISION and OUTPUT for an element of magnitude up to `largest` before the division's
// error.
void mxv_bound_finish(const struct mxv_bound_contract *c, double largest,
                      struct mxv_bound_terms *terms);

// Sum of the terms from `first` to the last, times MXV_BOUND_MARGIN.
double mxv_bound_total(const struct mxv_bound_terms *terms, enum mxv_bound_term first);

#ifdef __cplusplus
}
#endif
#endif
