// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to `mxverify bench`: rows, timing, random operands.
#ifndef MXV_CLI_BENCH_H
#define MXV_CLI_BENCH_H

#include <mxverify/simd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_NOTE = 160 };

struct bench_options {
    const char *filter; // substring of a row's name or group; NULL: all
    double seconds;     // to spend on one figure
    bool json, scaling, one_level;
    bool cuda;           // time the kernels of gpu/ instead
    enum mxv_simd level; // with one_level
};

// What a row measured at one level. Rates are items per second; a row of kind seconds or ratio
// holds seconds or a ratio.
struct bench_figure {
    double median, best;
    double scalar;     // the same by the scalar definition; 0: none
    uint64_t checksum; // of the results; equal at all levels, 0 where results are not words
    char note[BENCH_NOTE];
};

enum bench_kind { BENCH_RATE, BENCH_SECONDS, BENCH_RATIO };

struct bench_row {
    const char *group, *name, *argument;
    enum bench_kind kind;
    double target[MXV_SIMD_COUNT]; // 0: none at that level; rates in 1e9 items per second
    // False when out of memory or refused; the note says why.
    bool (*run)(const struct bench_row *row, const struct bench_options *options,
                struct bench_figure *figure);
};

// One repetition's work; returns a checksum of its results.
typedef uint64_t bench_work(void *state);

// Repeats `work` for about `seconds` in at least five samples, by the processor time of the calling
// thread; *median and *best get seconds of one call.
void bench_time(bench_work *work, void *state, double seconds, double *median, double *best,
                uint64_t *checksum);

// Random words of a fixed sequence.
struct bench_random {
    uint64_t state;
};
uint32_t bench_word(struct bench_random *r);
// About normal, standard deviation 1.
float bench_normal(struct bench_random *r);
uint64_t bench_mix(uint64_t sum, const void *bytes, size_t size);

bool bench_matrix(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_ex2(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_quantise(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_decode(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_engine(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_threads(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_truth(const struct bench_row *, const struct bench_options *, struct bench_figure *);
bool bench_truth_plain(const struct bench_row *, const struct bench_options *,
                       struct bench_figure *);

// Time and memory of emulation and truth over sequence lengths; exit status.
int bench_scaling(const struct bench_options *options);

#endif
