// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// AMD matrix cores (docs/numerics.md, "AMD"), after MMA-Sim (arXiv 2511.10909). No public result
// words exist to check them against, hence evidence `unverified`.
//
// CDNA3: products exact, one of 2^128 or more becoming infinity; their sum s truncated term by term
// to F = 24 fraction bits below the largest exponent X; c floored toward minus infinity to 24 bits
// below Y = max(X, e_c); s + c floored to 31 bits below its own leading bit, then nearest-even. The
// FP8 form runs even and odd k in two such windows, floors both to the larger one, and drops c when
// e_c < Y - 25. Open in the literature and chosen here: s enters the last sum exactly (MMA-Sim 2).
// CDNA2: IEEE binary32 operations, subnormal operands and results flushed to signed zero, a
// pairwise tree over each step, then the step's sum added to c. CDNA1: exact sum of a step and c,
// nearest-even with subnormals. Not handled: f64, integers beyond MXV_MMA_INT.
// unit.matrix_unit_cdna holds cases worked by hand.
#include "matrix_unit_internal.h"

#include <math.h>
#include <mpfr.h>
#include <string.h>

// Widest distance between window and accumulator that the 128-bit sum carries exactly; beyond it
// only the sign of the smaller part can matter.
enum { MAX_GAP = 80, SUM_BITS = 31, NO_EXP = -100000 };

// A sum on the grid 2^lsb. exp is the window's largest exponent, NO_EXP if all terms are zero.
struct window {
    int64_t sum;
    int exp;
};

static int64_t floor_shift(int64_t v, int down)
{
    return down > 62 ? (v < 0 ? -1 : 0) : v >> down;
}

static struct window sum_window(const struct mxv_mma_model *m, size_t n,
                                const struct mxv_operand *a, const struct mxv_operand *b,
                                size_t first, size_t stride)
{
    struct window w = {0, NO_EXP};
    for (size_t i = first; i < n; i += stride) {
        int exp = a[i].exp + b[i].exp;
        if (a[i].sig != 0 && b[i].sig != 0 && exp > w.exp)
            w.exp = exp;
    }
    for (size_t i = first; i < n; i += stride) {
        int64_t p = (int64_t)a[i].sig * b[i].sig;
        if (p == 0)
            continue;
        int shift = (int)m->frac_bits - mxv_mma_product_frac(m) - (w.exp - a[i].exp - b[i].exp);
        int64_t t = (int64_t)mxv_mma_shift((uint64_t)(p < 0 ? -p : p), shift);
        w.sum += p < 0 ? -t : t;
    }
    return w;
}

static struct window join_windows(struct window x, struct window y)
{
    struct window low = x.exp < y.exp ? x : y, high = x.exp < y.exp ? y : x;
    if (low.exp != NO_EXP)
        high.sum += floor_shift(low.sum, high.exp - low.exp);
    return high;
}

// v * 2^lsb: floored to SUM_BITS below the leading bit, then binary32 nearest-even.
static uint32_t convert_rne(__int128 v, int lsb)
{
    if (v == 0)
        return 0;
    uint32_t sign = v < 0 ? 0x80000000u : 0;
    unsigned __int128 magnitude = (unsigned __int128)(v < 0 ? -v : v);
    int top = magnitude >> 64 ? 64 + mxv_mma_top_bit((uint64_t)(magnitude >> 64))
                              : mxv_mma_top_bit((uint64_t)magnitude);
    if (top > SUM_BITS) {
        int down = top - SUM_BITS;
        unsigned __int128 kept = magnitude >> down;
        magnitude = v < 0 && kept << down != magnitude ? kept + 1 : kept;
        lsb += down;
    }
    int exp = mxv_mma_top_bit((uint64_t)magnitude) + lsb;
    if (exp > 127)
        return sign | MXV_MMA_INF_F32;
    int grid = (exp < -126 ? -126 : exp) - 23;
    uint32_t sig = (uint32_t)mxv_mma_shift_rne((uint64_t)magnitude, grid - lsb);
    uint32_t field = exp < -126 ? 0 : (uint32_t)(exp + 126);
    return sig ? sign | ((field << 23) + sig) : 0;
}

static uint32_t join_accumulator(const struct mxv_mma_model *m, struct window w,
                                 struct mxv_mma_acc c)
{
    int frac = (int)m->frac_bits;
    if (w.exp == NO_EXP)
        return convert_rne(c.sig, c.exp - 23);
    if (c.sig == 0 || (m->rule == MXV_MMA_CDNA3_FP8 && c.exp < w.exp - 25))
        return convert_rne(w.sum, w.exp - frac);
    int64_t acc = (int64_t)c.sig * ((int64_t)1 << (frac - 23));
    int gap = c.exp - w.exp;
    if (gap <= 0)
        return convert_rne((__int128)w.sum + floor_shift(acc, -gap), w.exp - frac);
    if (gap > MAX_GAP) {
        w.sum = (w.sum > 0) - (w.sum < 0);
        gap = MAX_GAP;
    }
    return convert_rne((__int128)acc * ((__int128)1 << gap) + w.sum, c.exp - frac - gap);
}

static void add_overflowing_products(const struct mxv_mma_model *m, size_t n,
                                     const struct mxv_operand *a, const struct mxv_operand *b,
                                     struct mxv_mma_specials *s)
{
    for (size_t i = 0; i < n; i++) {
        int p = a[i].sig * b[i].sig;
        if (p == 0 || mxv_mma_operand_special(a[i]) || mxv_mma_operand_special(b[i]))
            continue;
        int top = mxv_mma_top_bit((uint64_t)(p < 0 ? -p : p));
        if (a[i].exp + b[i].exp - mxv_mma_product_frac(m) + top > 127) {
            s->plus |= p > 0;
            s->minus |= p < 0;
        }
    }
    s->nan |= s->plus && s->minus;
}

static uint32_t step_cdna3(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                           const struct mxv_operand *b, struct mxv_mma_acc c)
{
    struct window w = m->rule == MXV_MMA_CDNA3 ? sum_window(m, n, a, b, 0, 1)
                                               : join_windows(sum_window(m, n, a, b, 0, 2),
                                                              sum_window(m, n, a, b, 1, 2));
    return join_accumulator(m, w, c);
}

static float flush(float v)
{
    return fpclassify(v) == FP_SUBNORMAL ? copysignf(0.0f, v) : v;
}

static float operand_value(const struct mxv_mma_model *m, struct mxv_operand v)
{
    int frac = mxv_mma_operand_frac(m, m->a);
    if (v.exp == MXV_OPERAND_NAN)
        return NAN;
    if (v.exp == MXV_OPERAND_INF)
        return v.sig < 0 ? -INFINITY : INFINITY;
    bool subnormal = v.sig > -(1 << frac) && v.sig < 1 << frac;
    return subnormal ? 0.0f : ldexpf(v.sig, v.exp - frac);
}

static uint32_t step_cdna2(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                           const struct mxv_operand *b, uint32_t c)
{
    float p[4] = {0}, acc;
    assert(m->step == 2 || m->step == 4);
    for (size_t i = 0; i < n; i++)
        p[i] = flush(operand_value(m, a[i]) * operand_value(m, b[i]));
    memcpy(&acc, &c, sizeof acc);
    float sum = flush(p[0] + p[1]);
    if (m->step == 4)
        sum = flush(sum + flush(p[2] + p[3]));
    sum = flush(flush(acc) + sum);
    if (isnan(sum))
        return MXV_MMA_NAN_AMD;
    uint32_t word;
    memcpy(&word, &sum, sizeof word);
    return word;
}

static uint32_t step_cdna1(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                           const struct mxv_operand *b, struct mxv_mma_acc c)
{
    enum { TERMS = 5 };
    mpfr_t term[TERMS], sum;
    mpfr_ptr pointers[TERMS];
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    assert(n < TERMS);
    for (size_t i = 0; i < TERMS; i++) {
        mpfr_init2(term[i], 32);
        mpfr_set_zero(term[i], 1);
        pointers[i] = term[i];
    }
    mpfr_set_si_2exp(term[TERMS - 1], c.sig, c.exp - 23, MPFR_RNDN);
    for (size_t i = 0; i < n; i++) {
        if (a[i].sig != 0 && b[i].sig != 0)
            mpfr_set_si_2exp(term[i], (long)a[i].sig * b[i].sig,
                             a[i].exp + b[i].exp - mxv_mma_product_frac(m), MPFR_RNDN);
    }
    mpfr_init2(sum, 24);
    int inexact = mpfr_sum(sum, pointers, TERMS, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    inexact = mpfr_check_range(sum, inexact, MPFR_RNDN);
    mpfr_subnormalize(sum, inexact, MPFR_RNDN);
    float value = mpfr_zero_p(sum) ? 0.0f : mpfr_get_flt(sum, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    for (size_t i = 0; i < TERMS; i++)
        mpfr_clear(term[i]);
    mpfr_clear(sum);
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

uint32_t mxv_mma_step_cdna(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                           const struct mxv_operand *b, uint32_t c)
{
    assert(n <= m->step);
    if (m->rule == MXV_MMA_CDNA2)
        return step_cdna2(m, n, a, b, c);
    struct mxv_mma_acc acc = mxv_mma_unpack_f32(c);
    struct mxv_mma_specials s = mxv_mma_find_specials(n, a, b, acc);
    if (m->rule != MXV_MMA_CDNA1)
        add_overflowing_products(m, n, a, b, &s);
    if (s.nan)
        return MXV_MMA_NAN_AMD;
    if (s.plus || s.minus)
        return mxv_mma_infinity(m, s.minus);
    return m->rule == MXV_MMA_CDNA1 ? step_cdna1(m, n, a, b, acc) : step_cdna3(m, n, a, b, acc);
}
