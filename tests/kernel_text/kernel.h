// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The text of gpu/dma_sm100.cuh as a function of the host.
#ifndef MXV_TESTS_KERNEL_TEXT_KERNEL_H
#define MXV_TESTS_KERNEL_TEXT_KERNEL_H

#include <cstdint>
#include <params.h>
#include <string>

// Runs one block of a launch, in an order drawn from `seed`. Pointers of `p` are host memory.
// `trace` as for mxv_gpu_dma_sm100. Returns what rule was broken, or an empty string.
std::string kernel_run(const struct mxv_gpu_dma_blocks &p, bool trace, unsigned block_number,
                       unsigned head, uint64_t seed);

// The kernel's barriers by kind, in the order of their numbers; NULL beyond the last.
const char *kernel_barrier_name(int group);

#endif
