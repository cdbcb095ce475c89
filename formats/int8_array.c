// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 groups at once: maximum and codes by vectors where there are any, the scale by int8.c. See
// mxverify/block_array.h. unit.int8_array fails if this file is wrong.
#include <mxverify/simd.h>

#include "block_array_internal.h"

static uint32_t word_at(const uint32_t *x, const uint16_t *half, size_t i)
{
    return half != NULL ? mxv_element_to_f32(MXV_F16, half[i]) : x[i];
}

void mxv_int8_scalar(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                     size_t count, uint32_t *scale, int8_t *codes)
{
    const enum mxv_block_nan nan = p == NULL ? MXV_BLOCK_NAN_PROPAGATE : p->nan;
    uint32_t amax = 0;
    for (size_t i = 0; i < count && !mxv_f32_is_nan(amax); i++) {
        const uint32_t word = word_at(x, half, i);
        const uint32_t one = mxv_block_amax(&word, 1, nan);
        amax = one > amax ? one : amax;
    }
    *scale = mxv_int8_scale(p, amax);
    for (size_t i = 0; i < count; i++)
        codes[i] = mxv_int8_code(p, word_at(x, half, i), *scale, amax);
}

#if defined(__x86_64__)
/// Roundings to nearest by IEEE division.
static bool has_vectors(const struct mxv_int8_policy *p)
{
    return p->ops == NULL && (p->round == MXV_RNE || p->round == MXV_RNA || p->round == MXV_RNZ ||
                              p->round == MXV_RHU || p->round == MXV_RAH);
}
#endif

static void quantize(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                     size_t count, size_t groups, uint32_t *scales, int8_t *codes)
{
    const struct mxv_int8_policy defaults = MXV_ZERO;
    if (p == NULL)
        p = &defaults;
#if defined(__x86_64__)
    if (mxv_simd_level() >= MXV_SIMD_AVX2 && has_vectors(p)) {
        mxv_int8_quantize_avx2(p, x, half, count, groups, scales, codes);
        return;
    }
#endif
    for (size_t g = 0; g < groups; g++)
        mxv_int8_scalar(p, half == NULL ? x + g * count : NULL,
                        half == NULL ? NULL : half + g * count, count, &scales[g],
                        codes + g * count);
}

void mxv_int8_quantize_array(const struct mxv_int8_policy *p, const uint32_t *x, size_t count,
                             size_t groups, uint32_t *scales, int8_t *codes)
{
    quantize(p, x, NULL, count, groups, scales, codes);
}

void mxv_int8_quantize_array_f16(const struct mxv_int8_policy *p, const uint16_t *x, size_t count,
                                 size_t groups, uint32_t *scales, int8_t *codes)
{
    quantize(p, NULL, x, count, groups, scales, codes);
}

void mxv_int8_dequantize_array(const int8_t *codes, const uint32_t *scales, size_t count,
                               size_t groups, uint32_t *out)
{
#if defined(__x86_64__)
    if (mxv_simd_level() >= MXV_SIMD_AVX2) {
        mxv_int8_dequantize_avx2(codes, scales, count, groups, out);
        return;
    }
#endif
    for (size_t g = 0; g < groups; g++)
        for (size_t i = 0; i < count; i++)
            out[g * count + i] = mxv_int8_dequantize(codes[g * count + i], scales[g]);
}
