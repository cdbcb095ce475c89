// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Comparison: ulp of every element format, metrics, and metrics laid over the tile grid.
//
// Two questions are kept apart. Against an expected word (an emulation) the error is the distance
// on the line of codes, and 0 differing words is the only full agreement. Against an exact value (a
// proved enclosure of <mxverify/truth.h>) the error is a real number of ulp, with the uncertainty
// that the enclosure's radius leaves.
//
// Ulp follows the wording of the OpenCL conformance test's error measure (KhronosGroup/OpenCL-CTS,
// errorHelpers.cpp), carried over to all formats: the unit is that of the exact value's binade, not
// of the tested value's; it never falls below the subnormal step; an exact power of two counts to
// the binade below it (the stricter reading); an infinity counts as the value that would follow the
// largest finite one if the exponent range went on.
//
// Threads: no shared state. A structure may be used by one thread at a time.
#ifndef MXVERIFY_COMPARE_H
#define MXVERIFY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/attention.h>
#include <mxverify/element.h>
#include <mxverify/truth.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- ulp ----------------------------------------------------------------------------------------

// Value of a code as binary64, exact for every format; NaN for a NaN.
double mxv_code_value(enum mxv_element format, uint64_t code);

// Distance of a NaN from anything but a NaN.
#define MXV_ULP_DISTANCE_NAN UINT64_MAX

// Steps between two codes on the ordered line of the format's values: -0 and +0 are the same point,
// subnormals are one step apart, the line runs through zero, an Inf is one step beyond the largest
// finite value, and two NaNs are 0 apart. Bits above the format's width are ignored.
uint64_t mxv_ulp_distance(enum mxv_element format, uint64_t code_a, uint64_t code_b);

// e such that the unit in the last place of `format` at the real number x is 2^e. x finite; 0 gives
// the subnormal step. Beyond the largest finite value the exponent range is taken to go on.
int mxv_ulp_exponent(enum mxv_element format, double x);

// The true error lies in [error - slack, error + slack].
struct mxv_ulp_error {
    double error; // (value of the code - centre) / ulp(centre): signed
    double slack; // radius / ulp(centre), >= 0
};

// Error of a code against an exact value known as |exact - centre| <= radius.
//   centre NaN: 0 for a NaN code, else +Inf.     code NaN, centre a number: +Inf.
//   centre +-Inf: 0 for the same Inf, else the infinity of opposite sign (the code is too small
//   or too large).
//   code Inf, centre finite: the code is read as the value after the largest finite one; a centre
//   at or beyond that value has error 0, the result that IEEE overflow asks for.
//   A format without Inf is measured literally: a saturated 448 against 500 is 52/32 ulp off.
// Exact but for one binary64 rounding of the difference.
struct mxv_ulp_error mxv_ulp_error(enum mxv_element format, uint64_t code, double centre,
                                   double radius);

// ---- metrics ------------------------------------------------------------------------------------

enum mxv_metric {
#define MXV_METRIC_ROW(id, name, unit, better, text) MXV_METRIC_##id,
#include <mxverify/metrics.def>
    MXV_METRIC_COUNT
};

enum mxv_better { MXV_BETTER_ZERO, MXV_BETTER_LOW, MXV_BETTER_HIGH };

struct mxv_metric_info {
    const char *name, *unit, *text;
    enum mxv_better better;
};

// The row of a metric; NULL beyond the last one. Static storage.
const struct mxv_metric_info *mxv_metric_get(unsigned metric);
bool mxv_metric_find(const char *name, enum mxv_metric *out);

// A running sum with the error of its additions kept beside it (binary64, Neumaier's rule).
struct mxv_sum {
    double high, low;
};

// Metrics of a set of elements while they are being added. Results depend on the order of the add
// and merge calls only, never on threads.
struct mxv_metrics {
    enum mxv_element format; // of the tested words
    double peak;             // of PSNR
    uint64_t elements;       // all that were added
    uint64_t numbers;        // of these, t and r both finite: what the sums are over
    uint64_t words_compared; // elements which had an expected word
    uint64_t words;          // of these, differing
    uint64_t nan, inf;
    double ulp_max, ulp_slack, max_abs;
    size_t ulp_max_at; // position (order of adding) of the first element with ulp_max
    struct mxv_sum ulp, error, error_abs, error_squared, expected_abs, expected_squared;
    struct mxv_sum test_squared, product;
};

// Empties the set. peak > 0; 10 is the peak of the published DMA attention figures.
void mxv_metrics_init(struct mxv_metrics *metrics, enum mxv_element format, double peak);

// Adds one element of code `test`: against an expected code of the same format, or against an exact
// value. A NaN on one side counts in `nan`, a wrong infinity in `inf`; neither enters the sums. An
// infinity is right where the exact value lies at least half a step beyond the largest finite
// value. ulp_max takes what mxv_ulp_distance (a NaN on one side: +Inf) and mxv_ulp_error say. An
// exact value of radius > 0 enters the sums with its centre.
void mxv_metrics_add_word(struct mxv_metrics *metrics, uint64_t test, uint64_t expected);
void mxv_metrics_add_exact(struct mxv_metrics *metrics, uint64_t test, struct mxv_truth_ball exact);

// Adds the elements of `from` behind those of `into`. Same format and peak.
void mxv_metrics_merge(struct mxv_metrics *into, const struct mxv_metrics *from);

// values[MXV_METRIC_COUNT]. A metric that has no meaning here is NaN: `words` when no element had
// an expected word, means of no elements, ratios 0/0 (cosine of a zero tensor; rel_l2 and l1 are 0
// when both sides are all zero, +Inf when only r is). PSNR of a zero error is +Inf.
void mxv_metrics_finish(const struct mxv_metrics *metrics, double values[MXV_METRIC_COUNT]);
double mxv_metric_value(const struct mxv_metrics *metrics, enum mxv_metric metric);

// 20 log10(peak / rmse). The public DMA harness rounds rmse to 4 decimals first; that is the
// caller's affair.
double mxv_psnr(double rmse, double peak);

// ---- the tile grid ------------------------------------------------------------------------------

// Metrics of one two-dimensional output: in whole, per tile, per row, per route. Score taps use
// query tile x key tile, outputs query tile x block of head dim.
struct mxv_grid {
    enum mxv_element format;
    size_t rows, cols;           // elements; cols may include the padding of the last tile
    size_t tile_rows, tile_cols; // elements of a tile, > 0
    size_t tiles_down, tiles_across;
    struct mxv_metrics whole;
    struct mxv_metrics by_route[MXV_ROUTE_COUNT];
    struct mxv_metrics *by_tile; // [tiles_down][tiles_across]
    struct mxv_metrics *by_row;  // [rows]
    uint8_t *route; // [tiles_down][tiles_across] enum mxv_route; MXV_ROUTE_SKIP at first
};

// 0, or -1 when memory is short or a tile size is 0. mxv_grid_free takes a failed grid too.
int mxv_grid_init(struct mxv_grid *grid, enum mxv_element format, size_t rows, size_t cols,
                  size_t tile_rows, size_t tile_cols, double peak);
void mxv_grid_free(struct mxv_grid *grid);

// Adds a block of words [rows][cols], dense, whose first element is (row, col) of the grid. The
// tiles it touches get `route`; MXV_ROUTE_COUNT leaves the routes alone and counts in no route (an
// output row collects tiles of several). The block must lie inside the grid.
void mxv_grid_add_words(struct mxv_grid *grid, size_t row, size_t col, size_t rows, size_t cols,
                        unsigned route, const uint32_t *test, const uint32_t *expected);
void mxv_grid_add_exact(struct mxv_grid *grid, size_t row, size_t col, size_t rows, size_t cols,
                        unsigned route, const uint32_t *test, const struct mxv_truth_ball *exact);

#ifdef __cplusplus
}
#endif
#endif
