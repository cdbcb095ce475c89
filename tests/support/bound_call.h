// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A call without tensors, for the tests of bounds: what mxv_bound_contract_of reads.
#ifndef MXV_TESTS_BOUND_CALL_H
#define MXV_TESTS_BOUND_CALL_H

#include <mxverify/attention.h>

enum { BOUND_CALL_D = 128, BOUND_CALL_TILE_N = 32 };

static inline struct mxv_attention bound_call(enum mxv_kernel kernel, enum mxv_arch arch,
                                              enum mxv_element vt)
{
    return (struct mxv_attention){.kernel = kernel,
                                  .arch = arch,
                                  .d = BOUND_CALL_D,
                                  .vt = vt,
                                  .out = MXV_F16,
                                  .scale = 0.125,
                                  .tile_m = 16,
                                  .tile_n = BOUND_CALL_TILE_N,
                                  .high = MXV_HIGH_MXFP8_E4M3,
                                  .low = MXV_LOW_MXFP4};
}

#endif
