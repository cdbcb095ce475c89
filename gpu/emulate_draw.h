// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Random dot products for a row of ref/models.def, for unit.emulate_units and gpu/emulate_check:
// operands moderate, over the whole exponent range, tiny, mostly zero, and sprinkled with NaN and
// infinity; accumulators of any pattern; scales over their range, NaN included. Seeded
// (SplitMix64).
#ifndef MXV_EMULATE_DRAW_H
#define MXV_EMULATE_DRAW_H

#include <mxverify/matrix_unit.h>

enum { DRAW_FAMILIES = 5, DRAW_K = 160, DRAW_SCALES = DRAW_K / 16 };

// One dot product of k words; scales NULL-free, unused without blocks.
struct draw_dot {
    uint32_t a[DRAW_K], b[DRAW_K], c;
    uint8_t scale_a[DRAW_SCALES], scale_b[DRAW_SCALES];
};

static inline uint32_t draw_word(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

static inline uint32_t draw_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((uint64_t)draw_word(state) * n >> 32);
}

// A word of a float format with the exponent field in [low, high] of its range, in 64ths.
static inline uint32_t draw_float(uint64_t *state, enum mxv_element e, uint32_t low, uint32_t high)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    uint32_t top = (1u << f->exp_bits) - 1, frac = draw_word(state) & ((1u << f->frac_bits) - 1);
    uint32_t first = top * low / 64;
    uint32_t field = first + draw_below(state, top * high / 64 - first + 1);
    uint32_t w =
        draw_word(state) % 2 << (f->exp_bits + f->frac_bits) | field << f->frac_bits | frac;
    return e == MXV_TF32 ? w << 13 | (draw_word(state) & 0x1fff) : w;
}

// NaN or infinity where the format has them.
static inline uint32_t draw_special(uint64_t *state, enum mxv_element e)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    uint32_t all = (1u << (f->exp_bits + f->frac_bits)) - 1;
    uint32_t inf = all - ((1u << f->frac_bits) - 1);
    uint32_t w = draw_word(state) % 2 ? all : inf;
    w |= draw_word(state) % 2 << (f->exp_bits + f->frac_bits);
    return e == MXV_TF32 ? w << 13 : w;
}

static inline uint32_t draw_operand(uint64_t *state, enum mxv_element e, unsigned family)
{
    if (e == MXV_S8 || e == MXV_U8)
        return family == 0 ? draw_word(state) : draw_word(state) % 2 ? 0x80 : 0x7f;
    switch (family) {
    case 0:
        return draw_float(state, e, 28, 36);
    case 1:
        return draw_float(state, e, 0, 64);
    case 2:
        return draw_float(state, e, 0, 12);
    case 3:
        return draw_below(state, 4) ? 0 : draw_float(state, e, 0, 62);
    default:
        return draw_below(state, 60) ? draw_float(state, e, 8, 56) : draw_special(state, e);
    }
}

static inline uint32_t draw_accumulator(uint64_t *state, const struct mxv_mma_model *m,
                                        unsigned family)
{
    const bool half = m->result == MXV_MMA_F16;
    const enum mxv_element e = half ? MXV_F16 : MXV_F32;
    if (m->result == MXV_MMA_S32)
        return draw_word(state);
    if (family == 1)
        return draw_word(state) & (half ? 0xffff : 0xffffffff);
    if (family == 3)
        return draw_below(state, 2) ? 0 : half ? 0x8000u : 0x80000000u;
    return family == 2 ? draw_float(state, e, 0, 6) : draw_float(state, e, 24, 40);
}

static inline uint8_t draw_scale(uint64_t *state, const struct mxv_mma_model *m, unsigned family)
{
    if (family == 1 || family == 4)
        return (uint8_t)(draw_below(state, 40)
                             ? draw_word(state) & (m->scale == MXV_E8M0 ? 0xfe : 0x77)
                             : draw_word(state));
    if (m->scale == MXV_E8M0)
        return (uint8_t)(120 + draw_below(state, 15));
    return (uint8_t)(family == 3 ? draw_below(state, 12) : 0x28 + draw_below(state, 32));
}

static inline void draw_product(uint64_t *state, const struct mxv_mma_model *m, unsigned family,
                                unsigned k, struct draw_dot *d)
{
    for (unsigned i = 0; i < k; i++) {
        d->a[i] = draw_operand(state, m->a, family);
        d->b[i] = draw_operand(state, m->b, family);
    }
    for (unsigned i = 0; i < DRAW_SCALES; i++) {
        d->scale_a[i] = draw_scale(state, m, family);
        d->scale_b[i] = draw_scale(state, m, family);
    }
    d->c = draw_accumulator(state, m, family);
}

#endif
