// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the bounds: the running maximum of a row and the errors of its weights, as
// bound_weights.c finds them and bound_members.c uses them again.
#ifndef MXV_BOUND_PRIVATE_H
#define MXV_BOUND_PRIVATE_H

#include <mxverify/bound.h>

#define MXV_BOUND_LN2  0.69314718055994531
#define MXV_BOUND_UNIT 0x1.01p-24 // half an ulp of binary32, with room for products of errors

// The running maximum through the tiles: what each tile's weights are relative to.
struct bound_tile {
    double shift;   // running maximum of the scores after the tile, log2 units
    double rise;    // by how much the kept maximum may rise at the tile; 0: it cannot
    double later;   // error by the factors alpha of all later tiles, log2 units
    double changes; // how many of them may differ from 1
    double common;  // error of the shift against that of the last tile
};

struct bound_rows_walk {
    const struct mxv_bound_contract *c;
    const struct mxv_bound_row *row;
    const double *scores, *slack; // log2 units; slack NULL: scores are exact
    size_t tiles;
    struct bound_tile *tile;
    double top, gap, last, worst_slack;
    double worst; // largest relative error of a weight
    size_t best;
};

// Fills the walk of a row; false when memory is short. bound_walk_close frees it.
bool bound_walk_open(struct bound_rows_walk *w, const struct mxv_bound_contract *c,
                     const struct mxv_bound_row *row, const double *scores, const double *slack);
void bound_walk_close(struct bound_rows_walk *w);
// Tile i of `tiles` in the order in which the kernel visits them.
size_t bound_visited(const struct mxv_bound_contract *c, size_t tiles, size_t i);
// Error of M (contract 5.4) at running maximum m, log2 units.
double bound_shift_error(const struct mxv_bound_contract *c, double m);
// Error of the argument of the exponential of key n, without that of the score, log2 units.
double bound_argument_error(const struct bound_rows_walk *w, size_t n);
// Relative error of the row sum by its additions.
double bound_sum_error(const struct bound_rows_walk *w);

#endif
