// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One step of a matrix unit, written as docs/numerics.md states it ("The T step", "Block scaling").
//
// T: exact products; X is the largest exponent among products and c, zeros taking part with z; each
// term is truncated toward zero to F fraction bits below 2^X; the integer sum is converted once. ST
// adds the scale exponents to the product exponents, c stays unscaled. GST sums groups of 16 E2M1
// products exactly and aligns the four scaled groups instead of products.
// What the PTX ISA leaves open (L, F, kept bits, z) is in the row of models.def. Exact integers
// throughout; |sum| < (4L + 2) * 2^F needs at most 33 bits (T) or 47 (GST) and int64 holds it.
// Not handled: sparse forms, negated operands, scale-d. A wrong rule fails golden.h200_mma,
// golden.leeds and golden.b200; mxv_mma_tile is a second, differently arranged computation of it.
#include "matrix_unit_internal.h"

struct mxv_mma_specials mxv_mma_find_specials(size_t n, const struct mxv_operand *a,
                                              const struct mxv_operand *b, struct mxv_mma_acc c)
{
    struct mxv_mma_specials s = {c.class == MXV_MMA_NOT_A_NUMBER,
                                 c.class == MXV_MMA_INFINITE && !c.negative,
                                 c.class == MXV_MMA_INFINITE && c.negative};
    for (size_t i = 0; i < n; i++) {
        if (!mxv_mma_operand_special(a[i]) && !mxv_mma_operand_special(b[i]))
            continue;
        bool zero = a[i].sig == 0 || b[i].sig == 0;
        bool negative = (a[i].sig < 0) != (b[i].sig < 0);
        s.nan |= a[i].exp == MXV_OPERAND_NAN || b[i].exp == MXV_OPERAND_NAN || zero;
        s.plus |= !negative;
        s.minus |= negative;
    }
    s.nan |= s.plus && s.minus;
    return s;
}

// magnitude * 2^shift truncated toward zero, with the sign of v.
static int64_t align(int64_t v, int shift)
{
    int64_t t = (int64_t)mxv_mma_shift(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, shift);
    return v < 0 ? -t : t;
}

uint32_t mxv_mma_step_t(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                        const struct mxv_operand *b, int scale_exp, uint32_t c)
{
    assert(n <= m->step && m->step <= MXV_MMA_MAX_K);
    struct mxv_mma_acc acc = mxv_mma_unpack(m, c);
    struct mxv_mma_specials special = mxv_mma_find_specials(n, a, b, acc);
    if (special.nan)
        return mxv_mma_nan(m);
    if (special.plus || special.minus)
        return mxv_mma_infinity(m, special.minus);

    int64_t product[MXV_MMA_MAX_K];
    int exp[MXV_MMA_MAX_K];
    int acc_exp = acc.sig ? acc.exp : m->zero_exp;
    int top = n < m->step && m->zero_exp > acc_exp ? m->zero_exp : acc_exp;
    for (size_t i = 0; i < n; i++) {
        product[i] = (int64_t)a[i].sig * b[i].sig;
        exp[i] = product[i] ? a[i].exp + b[i].exp + scale_exp : m->zero_exp;
        top = exp[i] > top ? exp[i] : top;
    }
    int frac = (int)m->frac_bits, product_frac = mxv_mma_product_frac(m);
    int64_t sum = align(acc.sig, frac - mxv_mma_acc_frac(m) - (top - acc_exp));
    for (size_t i = 0; i < n; i++)
        sum += align(product[i], frac - product_frac - (top - exp[i]));
    return mxv_mma_convert(m, sum, top - frac);
}

// A scaled group: w * 2^(exp - sub) with sub 2 (e8m0) or 8 (ue4m3); exp is z for a zero group.
struct group {
    bool nan;
    int64_t w;
    int exp;
};

static struct group sum_group(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                              const struct mxv_operand *b, uint8_t scale_a, uint8_t scale_b)
{
    struct mxv_mma_scale sa = mxv_mma_unpack_scale(m, scale_a);
    struct mxv_mma_scale sb = mxv_mma_unpack_scale(m, scale_b);
    int64_t q = 0;
    bool zero = true;
    for (size_t i = 0; i < n; i++) {
        q += a[i].sig * b[i].sig;
        zero &= a[i].sig == 0 || b[i].sig == 0;
    }
    zero |= sa.sig == 0 || sb.sig == 0;
    return (struct group){sa.nan || sb.nan, q * sa.sig * sb.sig,
                          zero ? m->zero_exp : sa.exp + sb.exp};
}

uint32_t mxv_mma_step_gst(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                          const struct mxv_operand *b, const uint8_t *scale_a,
                          const uint8_t *scale_b, uint32_t c)
{
    enum { GROUP = MXV_MMA_GST_GROUP, GROUPS = MXV_MMA_MAX_K / GROUP };
    assert(n <= m->k && m->k == MXV_MMA_MAX_K && m->block % GROUP == 0);
    struct mxv_mma_acc acc = mxv_mma_unpack_f32(c);
    struct group group[GROUPS];
    bool nan = acc.class == MXV_MMA_NOT_A_NUMBER;
    int acc_exp = acc.sig ? acc.exp : m->zero_exp, top = acc_exp;
    for (size_t g = 0; g < GROUPS; g++) {
        size_t at = g * GROUP, block = at / m->block;
        size_t count = n <= at ? 0 : n - at < GROUP ? n - at : GROUP;
        group[g] = sum_group(m, count, a + (count ? at : 0), b + (count ? at : 0), scale_a[block],
                             scale_b[block]);
        nan |= group[g].nan;
        top = group[g].exp > top ? group[g].exp : top;
    }
    if (nan)
        return MXV_MMA_NAN_F32;
    if (acc.class == MXV_MMA_INFINITE)
        return mxv_mma_infinity(m, acc.negative);
    int frac = (int)m->frac_bits, sub = m->scale == MXV_UE4M3 ? 8 : 2;
    int64_t sum = align(acc.sig, frac - 23 - (top - acc_exp));
    for (size_t g = 0; g < GROUPS; g++)
        sum += align(group[g].w, frac - sub - (top - group[g].exp));
    return mxv_mma_convert_f32_rz(sum, top - frac, (int)m->keep_bits);
}
