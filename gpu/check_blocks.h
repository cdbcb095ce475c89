// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers of the device against formats/, and dma's operands, for gpu/device_check.
#ifndef MXV_CHECK_BLOCKS_H
#define MXV_CHECK_BLOCKS_H

#include "operands.h"

// Called for each group of comparisons: what, code and scale bytes compared, how many differ.
typedef void check_report(const char *what, uint64_t n, uint64_t bad);

// Every format, rule, order, input type, scale layout, packing and special policy over words drawn
// from `seed` and over every generator of the case language, with and without steps on their way;
// NVFP4 under tensor maxima at the numbers where a code changes; INT8 codes; tensor maxima. Ends
// the program with status 3 when the device fails.
void check_block_quantisers(uint64_t seed, check_report *report);

// A word of `type`, number i of a block: what the drawn tensors consist of.
uint32_t check_drawn_word(enum mxv_gpu_type type, uint64_t block, uint64_t i, uint64_t seed);

// Operands of dma with rebase=1, made in one pass and from codes, against formats/ by the
// definition of docs/kernels/dma.md 1.
void check_prepare(uint64_t seed, check_report *report);

// dma as one kernel with its quantisers (mxv_gpu_dma_fused) against the kernels one by one.
void check_fused(uint64_t seed, check_report *report);

#endif
