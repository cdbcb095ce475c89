/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portable kernels of the certified truth, their table, and the choice of a level. Exactness and
 * errors: truth_kernels_body.h. If this file is wrong, unit.truth_certified fails.
 */
#include <mxverify/simd.h>

#define LANES 2
#include "truth_kernels_body.h"

const double mxv_truth_exp2_table[MXV_EXP2_STEPS] = {
#define X(word) word,
#include "truth_exp2.def"
#undef X
};

static const struct mxv_truth_kernels portable = {dots, join, weigh, add};

const struct mxv_truth_kernels *mxv_truth_kernels(void)
{
#if defined(__x86_64__)
    if (mxv_simd_level() >= MXV_SIMD_AVX2)
        return &mxv_truth_kernels_avx2;
#endif
    return &portable;
}
