// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Which vector instructions the library may use. Every function that has a vector form also has a
// portable one, and both give the same bits; the level only changes the time taken. The forms live
// in files named *_avx2.c, *_avx512.c and *_vnni.c, the only ones compiled for more than the
// baseline, and their callers choose by mxv_simd_level() once per call.
#ifndef MXVERIFY_SIMD_H
#define MXVERIFY_SIMD_H

#include <mxverify/platform.h>

#include <stdbool.h>

MXV_DECLARATIONS_BEGIN

/// Each level contains those before it.
enum mxv_simd {
    MXV_SIMD_PORTABLE,
    MXV_SIMD_AVX2,   ///< AVX2, FMA, F16C, BMI2
    MXV_SIMD_AVX512, ///< AVX-512 F, BW, CD, DQ, VL
    MXV_SIMD_VNNI,   ///< AVX-512 VNNI and VBMI
    MXV_SIMD_COUNT
};

/// What this processor has; PORTABLE on anything but x86-64.
enum mxv_simd mxv_simd_detected(void);

/// The level in use: what the processor has, or less after mxv_simd_limit().
enum mxv_simd mxv_simd_level(void);

/// Uses at most `most` from now on, in all threads; returns the level in use. Not to be called
/// while another thread computes.
enum mxv_simd mxv_simd_limit(enum mxv_simd most);

/// "portable", "avx2", "avx512", "vnni"; NULL outside the list.
const char *mxv_simd_name(enum mxv_simd level);

/// Level by name; false if there is none.
bool mxv_simd_find(const char *name, enum mxv_simd *out);

MXV_DECLARATIONS_END

#endif
