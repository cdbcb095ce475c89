// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to verification: an implementation behind the adapter interface. Without an adapter in
// the options every question here has the answer of an in-tree emulation: bits and taps.
#ifndef MXV_VERIFY_ADAPTER_H
#define MXV_VERIFY_ADAPTER_H

#include "verify.h"

// Begin and head return an enum mxv_status; what the implementation itself reports as failed is a
// verdict of *out, and is left in h->failure.
enum mxv_status verify_adapter_begin(struct verification *v, struct mxv_verify_result *out,
                                     char *message, size_t size);
enum mxv_status verify_adapter_head(struct verification *v, struct head_result *h,
                                    const struct mxv_tap_sink *sink);
void verify_adapter_done(struct verification *v);

// Whether the implementation claims the emulation's bits, and whether its taps are at hand.
bool verify_claims_bits(const struct verification *v);
bool verify_has_taps(const struct verification *v);
// Whether it gives a log-sum-exp that can be judged.
bool verify_judges_lse(const struct verification *v);
// What is neither within nor wrong, by contract and by model.
void verify_count_undecided(struct mxv_bound_report *b);

// First differing element of output or LSE of a head without taps; true when there is one.
bool verify_output_difference(const struct verification *v, struct head_result *h);
void verify_locate_output(const struct verification *v, const struct head_result *h,
                          struct mxv_verify_result *out);
// What an implementation reported of head h, before anything that was compared.
void verify_adapter_failure(const struct head_result *h, struct mxv_verify_result *out);
// The verdict on an implementation that does not claim the emulation's bits: by the model bound.
void verify_judge_model(struct mxv_verify_result *out);

#endif
