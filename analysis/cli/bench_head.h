// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to `mxverify bench`: one causal head of `dma` of any length, d = 128, all threads.
#ifndef MXV_CLI_BENCH_HEAD_H
#define MXV_CLI_BENCH_HEAD_H

#include <stddef.h>

// Processor seconds, all threads together, of the emulation, and of the truth of its inputs;
// negative on failure. Beyond a budget the time is scaled from a sample of *sampled query rows
// (else 0).
double bench_head_emulation(size_t tokens, size_t *sampled);
double bench_head_truth(size_t tokens, size_t *sampled);

#endif
