// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// 2^x without the special-function unit.
//
// Polynomial: the degree-3 software exponential of FlashAttention-4 (Dao-AILab/flash-attention,
// CuTe sources for sm_100). t = x + 1.5 * 2^23 rounded toward minus infinity, f = x - (t - 1.5 *
// 2^23) in [0, 1), Horner in fused multiply-adds, and the low bits of t added to the exponent field
// of p as integers. Each operation is correctly rounded binary32, so the word is determined.
// Meaningful for x < 128; above, the integer addition wraps as it does on the GPU. The same five
// operations on an H200 give the same words for all 2^32 inputs.
//
// Correctly rounded: MPFR's exp2 is correctly rounded to 24 bits, and mpfr_subnormalize turns that
// into the correctly rounded subnormal by its ternary value. unit.special checks both.
#include <mxverify/special.h>

#include <assert.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

static const float magic = 12582912.0f; // 1.5 * 2^23

// x + magic rounded toward minus infinity. Below 2^22 the sum lies in [2^23, 2^24), where floats
// are the integers.
static float add_magic_down(float x)
{
    if (fabsf(x) < 0x1p22f)
        return magic + floorf(x);
    double sum = (double)x + (double)magic;
    float t = (float)sum;
    return (double)t > sum ? nextafterf(t, -INFINITY) : t;
}

uint32_t mxv_ex2_poly(uint32_t x, unsigned degree)
{
    static const float a1 = 0.695146143436431884765625f, a2 = 0.227564394474029541015625f,
                       a3 = 0.077119089663028717041015625f;
    float v;
    uint32_t t_word, p_word;
    assert(degree == 3);
    (void)degree;
    memcpy(&v, &x, sizeof v);
    v = v > -127.0f ? v : -127.0f;
    float t = add_magic_down(v);
    float f = v - (t - magic);
    float p = fmaf(fmaf(fmaf(a3, f, a2), f, a1), f, 1.0f);
    memcpy(&t_word, &t, sizeof t_word);
    memcpy(&p_word, &p, sizeof p_word);
    return p_word + (t_word << 23);
}

uint32_t mxv_ex2_rn(uint32_t x)
{
    float v;
    memcpy(&v, &x, sizeof v);
    if (isnan(v))
        return 0x7fffffff;
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_t argument, power;
    mpfr_inits2(24, argument, power, (mpfr_ptr)0);
    mpfr_set_flt(argument, v, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    int inexact = mpfr_exp2(power, argument, MPFR_RNDN);
    mpfr_subnormalize(power, inexact, MPFR_RNDN);
    v = mpfr_get_flt(power, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    mpfr_clears(argument, power, (mpfr_ptr)0);
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}
