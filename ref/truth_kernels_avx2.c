/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the certified truth on vectors of four (AVX2). Same text and same bits as the portable
 * ones. If this file is wrong, unit.truth_certified fails.
 */
#define LANES 4
#include "truth_kernels_body.h"

const struct mxv_truth_kernels mxv_truth_kernels_avx2 = {dots, join, weigh, add};
