// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the engine: what is done to whole rows of numbers, in a form for each instruction
// level (simd.h). Element i of a result depends on element i of the operands alone, or the order of
// a reduction is that of softmax.h; so all forms give the same bits. The portable form is made of
// the scalar functions. unit.engine_rows compares the forms.
#ifndef MXV_ENGINE_ROWS_H
#define MXV_ENGINE_ROWS_H

#include <mxverify/softmax.h>

struct row_forms {
    // codes[i] = code_of(type, x[i]).
    void (*codes)(enum mxv_element type, const float *x, size_t n, uint32_t *codes);
    // y[i] = round_to(type, x[i]); x and y may be the same array.
    void (*round)(enum mxv_element type, const float *x, size_t n, float *y);
    // mxv_softmax_max of the words s.
    float (*max)(float m, const uint32_t *s, size_t n);
    // p[i] = mxv_softmax_weight(softmax, s[i], shift).
    void (*weights)(const struct mxv_softmax *softmax, const uint32_t *s, float shift, size_t n,
                    float *p);
    // p[i] = mxv_softmax_weight_by(softmax, x[i], factor[i], shift).
    void (*folded)(const struct mxv_softmax *softmax, const uint32_t *x, const float *factor,
                   float shift, size_t n, float *p);
    // mxv_softmax_add.
    void (*add)(const struct mxv_softmax *softmax, struct mxv_softmax_row *row, float alpha,
                const float *weights, size_t n);
    // Words o[i] = o[i] * alpha.
    void (*scale)(uint32_t *o, float alpha, size_t n);
    bool (*any_nan)(const float *x, size_t n);
};

extern const struct row_forms row_forms_portable;
#if defined(__x86_64__)
extern const struct row_forms row_forms_avx2;
#endif

// The forms of the level in use.
const struct row_forms *row_forms_in_use(void);

#endif
