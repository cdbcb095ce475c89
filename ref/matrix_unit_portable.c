// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Forms of mxv_mma_tile for the baseline of the processor (SSE2 on x86-64), 4 lanes a vector.
#define MXV_LANE_BYTES 16
#include "matrix_unit_lanes_group.h"
#include "matrix_unit_lanes_int.h"
#include "matrix_unit_lanes_sum.h"

const struct mxv_mma_forms mxv_mma_forms_portable = {sum_tile, NULL, group_tile, int_tile};
