// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The error of an output by cause, tile and route (docs/bounds.md 7). For each output element
//
//     output - exact attention of the inputs = sum over causes and key tiles of contributions
//
// exactly; a contribution is signed, in units of the output. What is kept of a score tile are sum
// of squares and largest magnitude over its rows and the channels.
#ifndef MXVERIFY_SPLIT_H
#define MXVERIFY_SPLIT_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

// X(id, name, text): causes, in the order in which they act.
#define MXV_CAUSES(X)                                                                              \
    X(QUANTISATION, "quantisation", "operands: formats, scales, casts of Q, K and V")              \
    X(SCORE, "score", "accumulation of the score product and its scale products")                  \
    X(EXP2, "exp2", "argument of the exponential, and the exponential itself")                     \
    X(RESCALE, "rescale", "factors alpha on earlier tiles, and their products with O")             \
    X(WEIGHT, "weight", "rounding of P to the type of the PV product")                             \
    X(SUM, "sum", "accumulation of the row sum")                                                   \
    X(PRODUCT, "product", "accumulation of the PV product")                                        \
    X(DIVISION, "division", "reciprocal of the row sum and the products with it (last tile)")      \
    X(OUTPUT, "output", "rounding to the output type (last tile)")                                 \
    X(IMPLEMENTATION, "implementation", "what the implementation adds to the emulation (last tile)")

enum mxv_cause {
#define X(id, name, text) MXV_CAUSE_##id,
    MXV_CAUSES(X)
#undef X
        MXV_CAUSE_COUNT
};
const char *mxv_cause_name(unsigned cause); // NULL beyond the last one
const char *mxv_cause_text(unsigned cause);

// Of one score tile, or of all tiles of a route.
struct mxv_split_cell {
    uint64_t elements; // rows times channels
    double squares[MXV_CAUSE_COUNT], largest[MXV_CAUSE_COUNT];
};
void mxv_split_merge(struct mxv_split_cell *into, const struct mxv_split_cell *from);
// Root of the mean square; 0 without elements.
double mxv_split_rms(const struct mxv_split_cell *cell, enum mxv_cause cause);

// Where a cause contributes most, by rms.
struct mxv_split_place {
    double rms;
    size_t sequence, head, tile_q, tile_k;
    enum mxv_route route;
};

struct mxv_split {
    struct mxv_split_cell by_route[MXV_ROUTE_COUNT];
    struct mxv_split_place worst[MXV_CAUSE_COUNT];
    double residual; // largest |error - sum of contributions| / largest |v| of the row
};

#ifdef __cplusplus
}
#endif
#endif
