// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The portable row forms, and the choice between them. See engine_rows.h.
#include "engine_rows.h"
#include "engine.h"
#include <mxverify/simd.h>

static void codes(enum mxv_element type, const float *x, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = code_of(type, x[i]);
}

static void round_row(enum mxv_element type, const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = round_to(type, x[i]);
}

static float max(float m, const uint32_t *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = value_of(s[i]);
        m = x > m ? x : m;
    }
    return m;
}

static void weights(const struct mxv_softmax *softmax, const uint32_t *s, float shift, size_t n,
                    float *p)
{
    for (size_t i = 0; i < n; i++)
        p[i] = mxv_softmax_weight(softmax, value_of(s[i]), shift);
}

static void folded(const struct mxv_softmax *softmax, const uint32_t *x, const float *factor,
                   float shift, size_t n, float *p)
{
    for (size_t i = 0; i < n; i++)
        p[i] = mxv_softmax_weight_by(softmax, value_of(x[i]), factor[i], shift);
}

static void scale(uint32_t *o, float alpha, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o[i] = word_of(value_of(o[i]) * alpha);
}

static bool any_nan(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != x[i])
            return true;
    return false;
}

const struct row_forms row_forms_portable = {codes,  round_row,       max,   weights,
                                             folded, mxv_softmax_add, scale, any_nan};

const struct row_forms *row_forms_in_use(void)
{
#if defined(__x86_64__)
    if (mxv_simd_level() >= MXV_SIMD_AVX2)
        return &row_forms_avx2;
#endif
    return &row_forms_portable;
}
