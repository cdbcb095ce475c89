// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Forms of mxv_mma_tile for AVX-512 with VNNI: four byte products at a time where sums are exact.
#define MXV_LANE_BYTES 64
#define MXV_DOT_BYTES
#include "matrix_unit_lanes_group.h"
#include "matrix_unit_lanes_int.h"
#include "matrix_unit_lanes_short.h"
#include "matrix_unit_lanes_sum.h"

const struct mxv_mma_forms mxv_mma_forms_vnni = {sum_tile, short_tile, group_tile, int_tile};
