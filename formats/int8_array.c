// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 groups at once: maximum and codes by vectors where there are any, the scale by int8.c. See
// mxverify/block_array.h. unit.int8_array fails if this file is wrong.
#include <mxverify/simd.h>

#include "block_array_internal.h"

#define WORD_127  UINT32_C(0x42FE0000)
#define WORD_1EM7 UINT32_C(0x33D6BF95)
#define WORD_1EM5 UINT32_C(0x3727C5AC)

uint32_t mxv_int8_quotient(uint32_t a, uint32_t b)
{
    const int fa = (int)(a >> 23), fb = (int)(b >> 23);
    const uint64_t sig_a = (a & 0x7FFFFF) | 0x800000, sig_b = (b & 0x7FFFFF) | 0x800000;
    const uint64_t q = (sig_a << 31) / sig_b, rest = (sig_a << 31) % sig_b;
    const int shift = q >> 31 ? 8 : 7, field = fa - fb + 127 + shift - 8;
    if (fa < 1 || fa > 254 || fb < 1 || fb > 254 || field < 1 || field > 253)
        return mxv_f32_div(a, b);
    const uint64_t half = UINT64_C(1) << (shift - 1), kept = q >> shift, cut = q & (2 * half - 1);
    const bool up = cut > half || (cut == half && (rest != 0 || (kept & 1)));
    return ((uint32_t)(field - 1) << 23) + (uint32_t)kept + up;
}

/// mxv_f32_add of two positive words, by one shift where they are normal and near each other.
static uint32_t sum_of(uint32_t a, uint32_t b)
{
    const uint32_t large = a > b ? a : b, small = a > b ? b : a;
    const uint32_t field = large >> 23, apart = field - (small >> 23);
    if (small < UINT32_C(0x00800000) || field > 253 || apart > 30)
        return mxv_f32_add(a, b);
    const uint64_t sum = (((large & 0x7FFFFF) | UINT64_C(0x800000)) << 32) +
                         (((small & 0x7FFFFF) | UINT64_C(0x800000)) << 32 >> apart);
    const unsigned carry = (unsigned)(sum >> 56), shift = 32 + carry;
    const uint64_t half = UINT64_C(1) << (shift - 1), kept = sum >> shift,
                   cut = sum & (2 * half - 1);
    const bool up = cut > half || (cut == half && (kept & 1));
    return ((field - 1 + carry) << 23) + (uint32_t)kept + up;
}

uint32_t mxv_int8_bounded(const struct mxv_int8_policy *p, uint32_t amax)
{
    const uint32_t least = p->eps == MXV_INT8_EPS_MAX_AMAX    ? WORD_1EM7
                           : p->eps == MXV_INT8_EPS_MAX_AMAX5 ? WORD_1EM5
                                                              : 0;
    return amax > least ? amax : least;
}

static uint32_t word_at(const uint32_t *x, const uint16_t *half, size_t i)
{
    return half != NULL ? mxv_element_to_f32(MXV_F16, half[i]) : x[i];
}

static void quantize_group(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
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
static bool quantize_by_vectors(const struct mxv_int8_policy *p, const uint32_t *x,
                                const uint16_t *half, size_t count, uint32_t *scale, int8_t *codes)
{
    const uint32_t amax = mxv_int8_amax_avx2(x, half, count);
    if (amax >= MXV_F32_INF)
        return false;
    *scale = p->ops == NULL ? mxv_int8_quotient(mxv_int8_bounded(p, amax), WORD_127)
                            : mxv_int8_scale(p, amax);
    if (p->ops == NULL && p->eps == MXV_INT8_EPS_ADD_SCALE)
        *scale = sum_of(*scale, WORD_1EM7);
    if ((*scale & MXV_F32_INF) == 0)
        return false;
    return mxv_int8_codes_avx2(p, x, half, count, *scale, amax, codes);
}
#endif

static void quantize(const struct mxv_int8_policy *p, const uint32_t *x, const uint16_t *half,
                     size_t count, size_t groups, uint32_t *scales, int8_t *codes)
{
    const struct mxv_int8_policy defaults = MXV_ZERO;
    if (p == NULL)
        p = &defaults;
#if defined(__x86_64__)
    const bool vectors = mxv_simd_level() >= MXV_SIMD_AVX2;
#endif
    for (size_t g = 0; g < groups; g++) {
        const uint32_t *words = half == NULL ? x + g * count : NULL;
        const uint16_t *halves = half == NULL ? NULL : half + g * count;
#if defined(__x86_64__)
        if (vectors && quantize_by_vectors(p, words, halves, count, &scales[g], codes + g * count))
            continue;
#endif
        quantize_group(p, words, halves, count, &scales[g], codes + g * count);
    }
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
    const bool vectors = mxv_simd_level() >= MXV_SIMD_AVX2;
#endif
    for (size_t g = 0; g < groups; g++, codes += count, out += count) {
#if defined(__x86_64__)
        if (vectors) {
            mxv_int8_dequantize_avx2(codes, scales[g], count, out);
            continue;
        }
#endif
        for (size_t i = 0; i < count; i++)
            out[i] = mxv_int8_dequantize(codes[i], scales[g]);
    }
}
