// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The vector forms of mxv_mma_tile: what each instruction level (simd.h) offers, and the tile that
// a form computes. A form handles finite operands only; rows and columns that hold a NaN, an
// infinity or a NaN scale go through mxv_mma_slow_lanes, chunk by chunk.
#ifndef MXV_REF_MATRIX_UNIT_FORMS_H
#define MXV_REF_MATRIX_UNIT_FORMS_H

#include "matrix_unit_internal.h"

// Products that are packed at a time; a multiple of every model's K.
enum { MXV_MMA_CHUNK = 128, MXV_MMA_GROUPS = MXV_MMA_CHUNK / MXV_MMA_GST_GROUP };

// The arguments of mxv_mma_tile; scales: bytes per row.
struct mxv_mma_tile {
    const struct mxv_mma_model *m;
    size_t rows, cols, k, ld, scales;
    const struct mxv_operand *a, *b;
    const uint8_t *scale_a, *scale_b;
    uint32_t *cd;
};

// Products [at, at + n) of a tile; padded: n rounded up to whole instructions.
struct mxv_mma_span {
    size_t at, n, padded;
};

typedef void mxv_mma_form(const struct mxv_mma_tile *t);

// sum: rules T, ST and HMMA_FP8. shorts: T with terms of 16 bits, or NULL. groups: GST. integers:
// INT.
struct mxv_mma_forms {
    mxv_mma_form *sum, *shorts, *groups, *integers;
};

extern const struct mxv_mma_forms mxv_mma_forms_portable;
#if defined(__x86_64__)
extern const struct mxv_mma_forms mxv_mma_forms_avx2;
extern const struct mxv_mma_forms mxv_mma_forms_avx512;
extern const struct mxv_mma_forms mxv_mma_forms_vnni;
#endif

// mxv_mma_dot_operands on products `s` of one row and columns [first, first + lanes), from the
// words in c; only lanes for which `which` is set, all with which = NULL.
void mxv_mma_slow_lanes(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t row,
                        size_t first, size_t lanes, const bool *which, const uint32_t *before,
                        uint32_t *c);

// Largest exponents that the 32-bit steps of the sum form take: F of them fit int32 (16 products
// below 4 * 2^F), z lies below every nonzero accumulator.
static inline bool mxv_mma_sum_fits(const struct mxv_mma_model *m)
{
    int lowest = m->result == MXV_MMA_F16 ? -14 : -126;
    bool rule = m->rule == MXV_MMA_T || m->rule == MXV_MMA_ST || m->rule == MXV_MMA_HMMA_FP8;
    bool z = m->zero_exp > -1000 && (m->zero_exp < lowest || m->rule == MXV_MMA_HMMA_FP8);
    bool step = m->step == 4 || m->step == 8 || m->step == 16 || m->step == 32;
    bool block = m->rule != MXV_MMA_ST || (m->step == 32 && m->k == 32 && m->block == 32);
    bool order = m->rule != MXV_MMA_HMMA_FP8 || (m->k == 32 && m->step == 16);
    return rule && z && step && block && order && m->k % m->step == 0 &&
           MXV_MMA_CHUNK % m->k == 0 && m->frac_bits >= 10 && m->frac_bits <= 25 &&
           m->keep_bits <= 23 && m->result != MXV_MMA_S32;
}

static inline bool mxv_mma_is_byte(enum mxv_element e)
{
    return e == MXV_E2M1 || e == MXV_E2M3 || e == MXV_E3M2 || e == MXV_E4M3 || e == MXV_E5M2;
}

// Terms below 2^(F + 2) fit int16, products and the spare bit of AVX2 an unsigned word
// (matrix_unit_lanes_short.h).
static inline bool mxv_mma_shorts_fit(const struct mxv_mma_model *m)
{
    return mxv_mma_sum_fits(m) && m->rule == MXV_MMA_T && (m->step == 16 || m->step == 32) &&
           m->frac_bits <= 13 && m->zero_exp < -100 &&
           (int)m->frac_bits >= mxv_mma_product_frac(m) && mxv_mma_is_byte(m->a) &&
           mxv_mma_is_byte(m->b);
}

// Sums of scaled groups are exact in binary64: |sum| < 2^(X+13) on a grid of 2^(X-F).
static inline bool mxv_mma_groups_fit(const struct mxv_mma_model *m)
{
    return m->rule == MXV_MMA_GST && m->k == MXV_MMA_MAX_K && m->frac_bits >= 23 &&
           m->frac_bits <= 38 && m->keep_bits <= 23 && m->zero_exp < -126 && m->zero_exp > -1000 &&
           (m->block == 16 || m->block == 32);
}

static inline bool mxv_mma_integers_fit(const struct mxv_mma_model *m)
{
    return m->rule == MXV_MMA_INT && m->k % MXV_MMA_GST_GROUP == 0 && MXV_MMA_CHUNK % m->k == 0;
}

static inline struct mxv_mma_span mxv_mma_span_at(const struct mxv_mma_tile *t, size_t at)
{
    size_t n = t->k - at < MXV_MMA_CHUNK ? t->k - at : MXV_MMA_CHUNK;
    return (struct mxv_mma_span){at, n, (n + t->m->k - 1) / t->m->k * t->m->k};
}

// Scale of block i of a line (row or column) of a span; absent blocks stand for 1.
static inline struct mxv_mma_scale mxv_mma_span_scale(const struct mxv_mma_tile *t,
                                                      const struct mxv_mma_span *s,
                                                      const uint8_t *scale, size_t line, size_t i)
{
    size_t at = s->at / t->m->block + i;
    return mxv_mma_unpack_scale(t->m, at < t->scales ? scale[line * t->scales + at]
                                                     : mxv_mma_scale_one(t->m));
}

#endif
