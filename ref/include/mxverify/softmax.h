// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The steps of tiled online softmax for one row, one function a step, in the order and with the
// roundings of docs/kernels/contract.md 5 and 6. Values are binary32; host arithmetic is IEEE
// nearest-even; special functions are those of <mxverify/special.h>. Thread-safe, no memory.
// tests/unit/test_softmax.c fails if a step is wrong.
#ifndef MXVERIFY_SOFTMAX_H
#define MXVERIFY_SOFTMAX_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MXV_SOFTMAX_LANES_MAX = 4 };
#define MXV_MASKED_SENTINEL        (-5.0e6f)
#define MXV_SOFTMAX_SMALL_SENTINEL (-5.0e4f) // fault finite-sentinel

// How a row's sum is kept.
enum mxv_softmax_sum {
    MXV_SUM_QUAD, // four running lanes, column n belongs to lane (n mod 8) / 2
    MXV_SUM_PAIR, // two running lanes, n mod 2
    MXV_SUM_TILE, // the tile's quad sum is formed first, then l = fma(l, alpha, sum)
};

// Faults of the state (faults.def), a bit set in struct mxv_softmax; none on a healthy kernel.
enum mxv_softmax_fault {
    MXV_SOFTMAX_NO_GUARD = 1,      // no special case for -Inf - -Inf
    MXV_SOFTMAX_SENTINEL = 2,      // m starts at MXV_SOFTMAX_SMALL_SENTINEL
    MXV_SOFTMAX_KEEP_INVERTED = 4, // the lazy rule keeps the old maximum where it must not
    MXV_SOFTMAX_LSE_NO_MAX = 8,    // LSE without the maximum
    MXV_SOFTMAX_LSE_OFFSET = 16,   // LSE with the offset of P left in
};

struct mxv_softmax {
    bool log2_scores; // argument style log2 (scores in log2 units), else fma with c
    float c;          // binary32 of scale * log2 e, style fma
    float tau;        // lazy rescale threshold, 0 = none
    float offset;     // log2 factor of P
    enum mxv_exp exp;
    enum mxv_softmax_sum sum;
    enum mxv_empty empty;
    bool finite;     // masked scores are MXV_MASKED_SENTINEL and m starts there
    bool unguarded;  // no special case for infinities; l starts at 1 (dma-released)
    bool natural;    // arguments are multiplied by log2 e once more (defect D5, fault exp-base)
    unsigned faults; // bit set of enum mxv_softmax_fault
};

struct mxv_softmax_row {
    float m;
    float l[MXV_SOFTMAX_LANES_MAX];
};

// Initial state: m = -inf (or the sentinel), l = 0 (unguarded: 1 in lane 0).
void mxv_softmax_start(const struct mxv_softmax *p, struct mxv_softmax_row *row);
// max(m, max of s[0..n)); NaN is ignored.
float mxv_softmax_max(float m, const float *s, size_t n);
// The maximum that is kept: old if the lazy rule allows it, else candidate.
float mxv_softmax_keep(const struct mxv_softmax *p, float old, float candidate);
// Factor on l and O when the maximum goes from old to m.
float mxv_softmax_rescale(const struct mxv_softmax *p, float old, float m);
// What is subtracted from the exponent argument: M of the contract.
float mxv_softmax_shift(const struct mxv_softmax *p, float m);
// P of one score.
float mxv_softmax_weight(const struct mxv_softmax *p, float score, float shift);
// P whose exponent is fma(x, factor, -shift): a key of an INT8 tile with option fold.
float mxv_softmax_weight_by(const struct mxv_softmax *p, float x, float factor, float shift);
// Takes the n weights of a tile into the row sum, n >= 8 a multiple of 8.
void mxv_softmax_add(const struct mxv_softmax *p, struct mxv_softmax_row *row, float alpha,
                     const float *weights, size_t n);
// The lanes combined.
float mxv_softmax_total(const struct mxv_softmax *p, const struct mxv_softmax_row *row);
// log2 or natural log-sum-exp of a finished row of total l.
float mxv_softmax_lse(const struct mxv_softmax *p, float m, float total, enum mxv_lse base);

#ifdef __cplusplus
}
#endif
#endif
