// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// How the formats layer is compiled in its three settings: C11, C++17 and CUDA.
#ifndef MXVERIFY_PLATFORM_H
#define MXVERIFY_PLATFORM_H

/// Placed before every function of the formats layer, so that the same text serves host and device.
#if defined(__CUDACC__)
#define MXV_FN __host__ __device__
#else
#define MXV_FN
#endif

/// Placed before every constant table: in device code a file-scope constant needs device memory.
#if defined(__CUDA_ARCH__)
#define MXV_TABLE static __device__ const
#else
#define MXV_TABLE static const
#endif

/// Initialiser of a structure whose members are all zero, which is how parameters get their
/// defaults.
#if defined(__cplusplus)
#define MXV_ZERO                                                                                   \
    {                                                                                              \
    }
#else
#define MXV_ZERO                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }
#endif

#if defined(__cplusplus)
#define MXV_DECLARATIONS_BEGIN extern "C" {
#define MXV_DECLARATIONS_END   }
#else
#define MXV_DECLARATIONS_BEGIN
#define MXV_DECLARATIONS_END
#endif

#endif
