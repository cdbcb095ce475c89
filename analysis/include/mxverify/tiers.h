// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tiers: numbered lists of cases. Case i of a tier is a pure function of its options and i, so any
// worker takes any case and a run can be resumed, sharded and repeated.
//
//   smoke    fixed cases, about a dozen small ones for each kernel
//   quick    smoke, then 100 sampled ones for each kernel, from a fixed seed, then 10 with each of
//            the options rebase and fold
//   fuzz     sampled from (seed, i) without end
//   nightly  smoke, then sampled ones of up to 100 times the size, 500 for each kernel and 50 with
//            each of those options
//   real     the captured activations: layers x heads x token ranges, dma-released excepted
//   recorded the cases of data/golden/h200, which a device has computed
//   PATH     lines of a file; `#` starts a comment, blank lines are passed over
//
// The sampler draws each option uniformly from what the kernel offers, and lengths from the edges
// of tiles and blocks, and keeps most cases below 40,000 scores.
#ifndef MXVERIFY_TIERS_H
#define MXVERIFY_TIERS_H

#include <mxverify/case.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mxv_tier_options {
    const char *tier;     // name or path
    const char *kernel;   // a kernel's name, or "all" (NULL the same)
    uint64_t seed;        // fuzz
    size_t count;         // at most so many cases; 0: the tier's own number
    bool with_real;       // the first cases are captured activations (smoke, quick, fuzz, nightly)
    const char *real_dir; // folder of layerNN_{q,k,v}.npy; NULL: data/real/smollm2-135m
};

struct mxv_tier;

// Errors: unknown tier and no such file, unknown kernel, a bad line (file, line and column), no
// case for the kernel, no captured layers in real_dir. The caller closes *out.
enum mxv_status mxv_tier_open(const struct mxv_tier_options *options, struct mxv_tier **out,
                              char *message, size_t size);
void mxv_tier_close(struct mxv_tier *tier);

// Number of cases; SIZE_MAX for a tier without end.
size_t mxv_tier_count(const struct mxv_tier *tier);
// Case i, i < mxv_tier_count. Thread-safe.
void mxv_tier_case(const struct mxv_tier *tier, size_t i, struct mxv_case *out);

// Case `index` of the sampler for one kernel. `scores` bounds query heads x sum lq*lk with whole
// key tiles, at d = 64 (and falls as 1/d); smaller cases are far more frequent.
void mxv_tier_sample(enum mxv_kernel kernel, uint64_t seed, uint64_t index, uint64_t scores,
                     struct mxv_case *out);

// Names of the tiers, for lists; NULL beyond the last one.
const char *mxv_tier_name(unsigned tier);
const char *mxv_tier_text(unsigned tier);
// Whether the whole tier of that name has to meet the mandatory events of its kernels (events.def).
bool mxv_tier_has_events(const char *tier);

#ifdef __cplusplus
}
#endif
#endif
