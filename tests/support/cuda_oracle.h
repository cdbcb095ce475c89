// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The conversions of the CUDA headers on the host, as one call by format name. They are plain C and
// need no CUDA library. The build defines MXV_HAVE_CUDA_HEADERS where it finds cuda_fp4.h,
// cuda_fp6.h and cuda_fp8.h (CUDA 12.8 or later) and adds their folder as a system include path.
#ifndef MXVERIFY_TESTS_CUDA_ORACLE_H
#define MXVERIFY_TESTS_CUDA_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One header conversion from binary32. The list ends with a row without format.
struct cuda_conversion {
    const char *format;
    const char *round; // rne, rtz or rtp
    bool ieee;         // not saturating
    unsigned (*encode)(float x);
};

#if defined(MXV_HAVE_CUDA_HEADERS)
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

static unsigned cuda_e2m1(float x)
{
    return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
}
static unsigned cuda_e2m3(float x)
{
    return __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest);
}
static unsigned cuda_e3m2(float x)
{
    return __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest);
}
static unsigned cuda_e4m3_sat(float x)
{
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
static unsigned cuda_e4m3_nosat(float x)
{
    return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3);
}
static unsigned cuda_e5m2_sat(float x)
{
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}
static unsigned cuda_e5m2_nosat(float x)
{
    return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
}
static unsigned cuda_e8m0_rz_sat(float x)
{
    return __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero);
}
static unsigned cuda_e8m0_rz_nosat(float x)
{
    return __nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundZero);
}
static unsigned cuda_e8m0_rp_sat(float x)
{
    return __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf);
}
static unsigned cuda_e8m0_rp_nosat(float x)
{
    return __nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundPosInf);
}

static const struct cuda_conversion cuda_conversions[] = {
    {"e2m1", "rne", false, cuda_e2m1},         {"e2m3", "rne", false, cuda_e2m3},
    {"e3m2", "rne", false, cuda_e3m2},         {"e4m3", "rne", false, cuda_e4m3_sat},
    {"e4m3", "rne", true, cuda_e4m3_nosat},    {"e5m2", "rne", false, cuda_e5m2_sat},
    {"e5m2", "rne", true, cuda_e5m2_nosat},    {"e8m0", "rtz", false, cuda_e8m0_rz_sat},
    {"e8m0", "rtz", true, cuda_e8m0_rz_nosat}, {"e8m0", "rtp", false, cuda_e8m0_rp_sat},
    {"e8m0", "rtp", true, cuda_e8m0_rp_nosat}, {NULL, NULL, false, NULL},
};
#else
static const struct cuda_conversion cuda_conversions[] = {{NULL, NULL, false, NULL}};
#endif

#endif
