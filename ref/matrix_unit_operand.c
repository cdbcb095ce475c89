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

// The numbers by which a word is classified. nan_word: the one NaN of a format without infinities
// whose negative zero it is; OUTSIDE for what a format lacks.
struct classes {
    unsigned frac_bits, width, skip; // width: without the sign
    int32_t bias, inf, nan_from, nan_word;
};

enum { OUTSIDE = INT32_MAX };

static struct classes classes_of(const struct layout *f)
{
    const int32_t sign = 1 << (f->exp_bits + f->frac_bits), inf = sign - (1 << f->frac_bits);
    struct classes c = {
        f->frac_bits, f->exp_bits + f->frac_bits, f->skip, f->bias, OUTSIDE, OUTSIDE, OUTSIDE};
    if (f->special == IEEE) {
        c.inf = inf;
        c.nan_from = inf + 1;
    } else if (f->special == MAX_IS_NAN) {
        c.nan_from = sign - 1;
    } else if (f->special == NEG_ZERO_IS_NAN) {
        c.nan_word = sign;
    }
    return c;
}

// Selections instead of branches, so that compilers decode several words at once.
static inline struct mxv_operand decode_float(const struct classes *c, uint32_t word)
{
    const int32_t hidden = 1 << c->frac_bits, w = (int32_t)(word >> c->skip);
    int32_t magnitude = w & ((1 << c->width) - 1), sign = -(w >> c->width & 1);
    int32_t field = magnitude >> c->frac_bits, frac = magnitude & (hidden - 1);
    int32_t sig = ((field ? frac | hidden : frac) ^ sign) - sign;
    int32_t exp = (field ? field : 1) - c->bias;
    int32_t signed_word = w & ((2 << c->width) - 1);
    bool nan = (magnitude >= c->nan_from) | (signed_word == c->nan_word);
    bool special = nan | (magnitude == c->inf);
    exp = magnitude ? exp : MXV_OPERAND_ZERO;
    exp = special ? MXV_OPERAND_INF : exp;
    exp = nan ? MXV_OPERAND_NAN : exp;
    sig = special ? sign | 1 : sig;
    return (struct mxv_operand){(int16_t)sig, (int16_t)exp};
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
    const struct classes classes = classes_of(&layouts[element]);
    const struct mxv_operand v = decode_float(&classes, w);
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

// Codes of E2M1, of which the upper bits are ignored.
static void decode_small(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                         struct mxv_operand *out)
{
    enum { CODES = 16 };
    struct mxv_operand table[CODES];
    for (uint32_t code = 0; code < CODES; code++)
        table[code] = decode(m, MXV_E2M1, code);
    for (size_t i = 0; i < n; i++)
        out[i] = table[words[i] % CODES];
}

static void decode_words(const struct mxv_mma_model *m, enum mxv_element element,
                         const uint32_t *words, size_t n, struct mxv_operand *out)
{
    if (m->rule != MXV_MMA_INT && m->rule != MXV_MMA_GST && m->rule != MXV_MMA_HMMA_FP8) {
        const struct classes classes = classes_of(&layouts[element]);
        for (size_t i = 0; i < n; i++)
            out[i] = decode_float(&classes, words[i]);
        return;
    }
    if (element == MXV_E2M1 && n >= 32) {
        decode_small(m, words, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = decode(m, element, words[i]);
}

void mxv_mma_decode_a(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                      struct mxv_operand *out)
{
    decode_words(m, m->a, words, n, out);
}

void mxv_mma_decode_b(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                      struct mxv_operand *out)
{
    decode_words(m, m->b, words, n, out);
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
