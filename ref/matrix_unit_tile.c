// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_mma_tile: the instructions of matrix_unit.c over a tile. Chooses the form of the level in use
// (matrix_unit_forms.h), or the plain chain of mxv_mma_dot_operands for the AMD rules and for
// models whose numbers the forms do not take. unit.matrix_unit_tile compares every model with
// mxv_mma_dot, specials included; exhaustive.matrix_unit_levels every level.
#include "matrix_unit_forms.h"

#include <mxverify/simd.h>

static const uint8_t *scales_at(const struct mxv_mma_tile *t, const uint8_t *scale, size_t line,
                                size_t at)
{
    return scale && t->m->block ? scale + line * t->scales + at / t->m->block : NULL;
}

void mxv_mma_slow_lanes(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t row,
                        size_t first, size_t lanes, const bool *which, const uint32_t *before,
                        uint32_t *c)
{
    for (size_t j = 0; j < lanes; j++) {
        if (which && !which[j])
            continue;
        c[j] = mxv_mma_dot_operands(
            t->m, s->n, t->a + row * t->k + s->at, t->b + (first + j) * t->k + s->at, before[j],
            scales_at(t, t->scale_a, row, s->at), scales_at(t, t->scale_b, first + j, s->at));
    }
}

static void plain_tile(const struct mxv_mma_tile *t)
{
    const struct mxv_mma_span all = {0, t->k, t->k};
    for (size_t r = 0; r < t->rows; r++)
        mxv_mma_slow_lanes(t, &all, r, 0, t->cols, NULL, t->cd + r * t->ld, t->cd + r * t->ld);
}

static const struct mxv_mma_forms *forms_in_use(void)
{
#if defined(__x86_64__)
    switch (mxv_simd_level()) {
    case MXV_SIMD_AVX2:
        return &mxv_mma_forms_avx2;
    case MXV_SIMD_AVX512:
        return &mxv_mma_forms_avx512;
    case MXV_SIMD_VNNI:
        return &mxv_mma_forms_vnni;
    default:
        break;
    }
#endif
    return &mxv_mma_forms_portable;
}

static mxv_mma_form *choose(const struct mxv_mma_model *m)
{
    const struct mxv_mma_forms *forms = forms_in_use();
    if (forms->shorts && mxv_mma_shorts_fit(m))
        return forms->shorts;
    if (mxv_mma_sum_fits(m))
        return forms->sum;
    if (mxv_mma_groups_fit(m))
        return forms->groups;
    return mxv_mma_integers_fit(m) ? forms->integers : plain_tile;
}

void mxv_mma_tile(const struct mxv_mma_model *m, size_t rows, size_t cols, size_t k,
                  const struct mxv_operand *a, const struct mxv_operand *b, const uint8_t *scale_a,
                  const uint8_t *scale_b, uint32_t *cd, size_t ld)
{
    const struct mxv_mma_tile t = {m, rows, cols,    k,       ld, mxv_mma_scale_count(m, k),
                                   a, b,    scale_a, scale_b, cd};
    choose(m)(&t);
}
