// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// GPU special functions: the approximate exponential, reciprocal, reciprocal square root, logarithm
// and division of PTX (`ex2.approx`, `rcp.approx`, `rsqrt.approx`, `lg2.approx`, `div.full`,
// `div.approx`, all .f32), bit for bit on binary32 words.
//
// The unit is a quadratic interpolator with a truncated squarer: S. F. Oberman, M. Y. Siu, "A
// High-Performance Area-Efficient Multifunction Interpolator", ARITH-17, 2005; its tables were
// first read and published by envytools (Marcelina Kościelnicka, 2015, MIT). docs/numerics.md has
// the arithmetic. Equal to an NVIDIA H200 on every input: ex2, rcp, rsqrt, lg2 with and without ftz
// (2^32 inputs each); the divisions on 2^30 tuples each.
//
// ftz true: the bare unit, what `.ftz` compiles to. ftz false: the scaling that CUDA 13.0 ptxas
// puts round it for the form without `.ftz`. A NaN result is 7fffffff. All functions are re-entrant
// and have no failure value; those without a note use integers only.
#ifndef MXVERIFY_SPECIAL_H
#define MXVERIFY_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/platform.h>

MXV_DECLARATIONS_BEGIN

uint32_t mxv_ex2(uint32_t x, bool ftz); ///< 2^x, at most 2 ulp
/// out[i] = mxv_ex2(x[i], ftz) for i < n, by vectors where the processor has them (simd.h); the
/// same words at every level. x and out may be the same array, or must not overlap.
void mxv_ex2_array(const uint32_t *x, size_t n, bool ftz, uint32_t *out);
uint32_t mxv_rcp(uint32_t x, bool ftz);   ///< 1/x, at most 1 ulp
uint32_t mxv_rsqrt(uint32_t x, bool ftz); ///< 1/sqrt(x), at most 2 ulp
uint32_t mxv_lg2(uint32_t x, bool ftz);   ///< log2(x)

/// x / y as div.full.f32 (what Triton and -use_fast_math emit for `/`). With ftz the products flush
/// subnormal inputs and results and small divisors are not rescaled. Uses binary32 host arithmetic.
uint32_t mxv_div_full(uint32_t x, uint32_t y, bool ftz);
/// div.full.f32 followed by an add, which the compiler contracts: fma(x', rcp(y'), c).
uint32_t mxv_div_full_add(uint32_t x, uint32_t y, uint32_t c);
/// x / y as div.approx.f32: only small divisors are rescaled.
uint32_t mxv_div_approx(uint32_t x, uint32_t y);

/// 2^x by the software polynomial of FlashAttention-4 (Dao-AILab/flash-attention, CuTe, sm_100),
/// round toward minus infinity for the range reduction. degree must be 3, the one whose
/// coefficients are documented here (assert). x is first raised to at least -127; NaN becomes -127
/// as `max.f32` makes it. Relative error at most 8.77e-5 on [0, 1). Uses binary32 fmaf.
uint32_t mxv_ex2_poly(uint32_t x, unsigned degree);

/// 2^x correctly rounded to nearest-even in binary32, subnormal results included. By MPFR: slow.
/// NaN gives 7fffffff, -Inf gives +0, overflow gives +Inf.
uint32_t mxv_ex2_rn(uint32_t x);

MXV_DECLARATIONS_END

#endif
