// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The matrix units that the kernels name, apart from their instructions (mma.cuh), so that a
// kernel's text on the host has the same numbers (tests/kernel_text).
#ifndef MXV_GPU_UNIT_NAMES_CUH
#define MXV_GPU_UNIT_NAMES_CUH

// Of MXF8 on: block-scaled units, with operands as codes (blocks.cuh).
enum mxv_gpu_unit {
    MXV_UNIT_F16,
    MXV_UNIT_BF16,
    MXV_UNIT_S8,
    MXV_UNIT_E5M2, // these two on wgmma alone: mma.sync of FP8 is another unit
    MXV_UNIT_E4M3,
    MXV_UNIT_MXF8,
    MXV_UNIT_MXF4,
    MXV_UNIT_NVF4
};

static __host__ __device__ constexpr int unit_row_bytes(int unit, int d)
{
    return unit == MXV_UNIT_F16 || unit == MXV_UNIT_BF16    ? 2 * d
           : unit == MXV_UNIT_MXF4 || unit == MXV_UNIT_NVF4 ? d / 2
                                                            : d;
}

#endif
