// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operand words as a matrix unit reads them (docs/numerics.md, "Operands"): significand with hidden
// bit and raw exponent, subnormals neither renormalised nor flushed, tf32 cut before it is
// classified. Three rules read differently: GST takes twice the E2M1 value as an integer, INT the
// integer, HMMA_FP8 the f16 to which the compiler converts first (so that an e4m3 subnormal arrives
// normalised). Exact. unit.matrix_unit_operand compares every code with the element formats.
#include "matrix_unit_internal.h"

struct layout {
    unsigned exp_bits, frac_bits;
    int bias;
    enum { FINITE_ONLY, IEEE, MAX_IS_NAN, NEG_ZERO_IS_NAN } special;
    unsigned skip; // low bits of the word that are cut
};

static const struct layout layouts[MXV_ELEMENT_COUNT] = {
    [MXV_E2M1] = {2, 1, 1, FINITE_ONLY, 0},
    [MXV_E2M3] = {2, 3, 1, FINITE_ONLY, 0},
    [MXV_E3M2] = {3, 2, 3, FINITE_ONLY, 0},
    [MXV_E4M3] = {4, 3, 7, MAX_IS_NAN, 0},
    [MXV_E5M2] = {5, 2, 15, IEEE, 0},
    [MXV_E4M3FNUZ] = {4, 3, 8, NEG_ZERO_IS_NAN, 0},
    [MXV_E5M2FNUZ] = {5, 2, 16, NEG_ZERO_IS_NAN, 0},
    [MXV_F16] = {5, 10, 15, IEEE, 0},
    [MXV_BF16] = {8, 7, 127, IEEE, 0},
    [MXV_TF32] = {8, 10, 127, IEEE, 13},
};

static const struct mxv_operand zero = {0, MXV_OPERAND_ZERO};

static struct mxv_operand decode_integer(enum mxv_element element, uint32_t w)
{
    int v = (int)(w & 0xff);
    if (element == MXV_S8 && v > 127)
        v -= 256;
    return v ? (struct mxv_operand){(int16_t)v, 0} : zero;
}

static struct mxv_operand decode_float(const struct layout *f, uint32_t w)
{
    w >>= f->skip;
    uint32_t frac = w & ((1u << f->frac_bits) - 1);
    uint32_t field = w >> f->frac_bits & ((1u << f->exp_bits) - 1);
    uint32_t top = (1u << f->exp_bits) - 1;
    int16_t sign = w >> (f->frac_bits + f->exp_bits) & 1 ? -1 : 1;
    if (f->special == IEEE && field == top)
        return (struct mxv_operand){sign, frac ? MXV_OPERAND_NAN : MXV_OPERAND_INF};
    if (f->special == MAX_IS_NAN && field == top && frac == (1u << f->frac_bits) - 1)
        return (struct mxv_operand){sign, MXV_OPERAND_NAN};
    if (f->special == NEG_ZERO_IS_NAN && sign < 0 && field == 0 && frac == 0)
        return (struct mxv_operand){sign, MXV_OPERAND_NAN};
    if (field == 0 && frac == 0)
        return zero;
    int sig = (int)(field ? frac | 1u << f->frac_bits : frac);
    int exp = (field ? (int)field : 1) - f->bias;
    return (struct mxv_operand){(int16_t)(sign * sig), (int16_t)exp};
}

// As an f16 significand: widened to 10 fraction bits, and normalised unless f16 itself is
// subnormal.
static struct mxv_operand widen_to_f16(struct mxv_operand v, unsigned frac_bits)
{
    if (v.sig == 0 || mxv_mma_operand_special(v))
        return v;
    int sig = v.sig * (1 << (10 - frac_bits)), exp = v.exp;
    while (exp > -14 && sig > -1024 && sig < 1024) {
        sig *= 2;
        exp--;
    }
    return (struct mxv_operand){(int16_t)sig, (int16_t)exp};
}

static struct mxv_operand decode(const struct mxv_mma_model *m, enum mxv_element element,
                                 uint32_t w)
{
    if (m->rule == MXV_MMA_INT)
        return decode_integer(element, w);
    struct mxv_operand v = decode_float(&layouts[element], w);
    if (m->rule == MXV_MMA_GST && v.sig != 0)
        return (struct mxv_operand){(int16_t)(v.sig * (1 << v.exp)), 0};
    return m->rule == MXV_MMA_HMMA_FP8 ? widen_to_f16(v, layouts[element].frac_bits) : v;
}

int mxv_mma_operand_frac(const struct mxv_mma_model *m, enum mxv_element element)
{
    switch (m->rule) {
    case MXV_MMA_GST:
        return 1;
    case MXV_MMA_INT:
        return 0;
    case MXV_MMA_HMMA_FP8:
        return 10;
    default:
        return (int)layouts[element].frac_bits;
    }
}

void mxv_mma_decode_a(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                      struct mxv_operand *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = decode(m, m->a, words[i]);
}

void mxv_mma_decode_b(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                      struct mxv_operand *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = decode(m, m->b, words[i]);
}

void mxv_mma_decode_bytes(const struct mxv_mma_model *m, bool side_b, const uint8_t *codes,
                          size_t n, struct mxv_operand *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = decode(m, side_b ? m->b : m->a, codes[i]);
}

void mxv_mma_decode_halves(const struct mxv_mma_model *m, bool side_b, const uint16_t *words,
                           size_t n, struct mxv_operand *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = decode(m, side_b ? m->b : m->a, words[i]);
}
