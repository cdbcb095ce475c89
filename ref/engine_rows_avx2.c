// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Row forms in AVX2, FMA and F16C. See engine_rows.h. A binary32 operation of eight lanes is eight
// IEEE operations; NaN results are made canonical, as word_of makes them; the sum of a row keeps
// its lanes and their order. Rows are handled to the last multiple of eight, the rest by the
// portable form. unit.engine_rows fails if a word differs.
#include "engine_rows.h"

#include <immintrin.h>
#include <math.h>
#include <mxverify/special.h>

#include "engine.h"

enum { ROW = 256 }; // weights are formed in pieces of this many

static inline __m256i all(int32_t v)
{
    return _mm256_set1_epi32(v);
}

static inline __m256i is_nan(__m256 x)
{
    return _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline __m256i canonical(__m256 x)
{
    return _mm256_blendv_epi8(_mm256_castps_si256(x), all(MXV_NAN_WORD), is_nan(x));
}

// Codes of eight values, NaN apart.
static inline __m256i f16_codes(__m256 x)
{
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline __m256i bf16_codes(__m256 x)
{
    const __m256i w = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(w, 16), all(1));
    return _mm256_srli_epi32(_mm256_add_epi32(w, _mm256_add_epi32(odd, all(0x7FFF))), 16);
}

// Nearest even, the largest for what is beyond, Inf included.
static inline __m256i e4m3_codes(__m256 x)
{
    const __m256i w = _mm256_castps_si256(x), zero = _mm256_setzero_si256(), one = all(1);
    const __m256i u = _mm256_and_si256(w, all(0x7FFFFFFF));
    const __m256i sig = _mm256_or_si256(_mm256_and_si256(u, all(0x7FFFFF)), all(0x800000));
    const __m256i e = _mm256_sub_epi32(_mm256_srli_epi32(u, 23), all(127 - 7 + 1));
    const __m256i low = _mm256_max_epi32(_mm256_sub_epi32(zero, e), zero);
    const __m256i shift = _mm256_add_epi32(low, all(20));
    const __m256i half = _mm256_sllv_epi32(all(1 << 19), low);
    const __m256i odd = _mm256_and_si256(_mm256_srlv_epi32(sig, shift), one);
    const __m256i sum = _mm256_add_epi32(sig, _mm256_add_epi32(_mm256_sub_epi32(half, one), odd));
    const __m256i code = _mm256_add_epi32(_mm256_srlv_epi32(sum, shift),
                                          _mm256_slli_epi32(_mm256_add_epi32(e, low), 3));
    return _mm256_or_si256(_mm256_min_epi32(code, all(0x7E)),
                           _mm256_and_si256(_mm256_srli_epi32(w, 24), all(0x80)));
}

static void codes(enum mxv_element type, const float *x, size_t n, uint32_t *out)
{
    const __m256i nan = all(type == MXV_E4M3 ? 0x7F : 0x7FFF);
    size_t i = 0;
    for (; type == MXV_F32 && i + 8 <= n; i += 8)
        _mm256_storeu_si256((__m256i *)(out + i), canonical(_mm256_loadu_ps(x + i)));
    for (; (type == MXV_F16 || type == MXV_BF16 || type == MXV_E4M3) && i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        const __m256i code = type == MXV_F16    ? f16_codes(v)
                             : type == MXV_BF16 ? bf16_codes(v)
                                                : e4m3_codes(v);
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_blendv_epi8(code, nan, is_nan(v)));
    }
    row_forms_portable.codes(type, x + i, n - i, out + i);
}

static inline __m256 f16_rounded(__m256 x)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline __m256 bf16_rounded(__m256 x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(bf16_codes(x), 16));
}

static void round_row(enum mxv_element type, const float *x, size_t n, float *y)
{
    size_t i = 0;
    for (; (type == MXV_F16 || type == MXV_BF16) && i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        const __m256 r = type == MXV_F16 ? f16_rounded(v) : bf16_rounded(v);
        const __m256i word =
            _mm256_blendv_epi8(_mm256_castps_si256(r), all(MXV_NAN_WORD), is_nan(v));
        _mm256_storeu_ps(y + i, _mm256_castsi256_ps(word));
    }
    row_forms_portable.round(type, x + i, n - i, y + i);
}

// max_ps gives its second operand unless the first is larger, which is the scalar rule. Only a
// zero's sign depends on the order, so a maximum of zero is found again in order.
static float max(float m, const uint32_t *s, size_t n)
{
    float lanes[8], most = m;
    __m256 v = _mm256_set1_ps(m);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        v = _mm256_max_ps(_mm256_loadu_ps((const float *)(s + i)), v);
    _mm256_storeu_ps(lanes, v);
    for (size_t j = 0; j < 8; j++)
        most = lanes[j] > most ? lanes[j] : most;
    if (most == 0)
        return row_forms_portable.max(m, s, n);
    return row_forms_portable.max(most, s + i, n - i);
}

// Arguments of 2^x.
static void arguments(const struct mxv_softmax *p, const uint32_t *s, float shift, size_t n,
                      uint32_t *x)
{
    const __m256 by = _mm256_set1_ps(shift), c = _mm256_set1_ps(p->c);
    const __m256 log2_e = _mm256_set1_ps(0x1.715476p+0f);
    for (size_t i = 0; i < n; i += 8) {
        const __m256 v = _mm256_loadu_ps((const float *)(s + i));
        __m256 r = p->log2_scores ? _mm256_sub_ps(v, by) : _mm256_fmsub_ps(v, c, by);
        if (p->natural)
            r = _mm256_mul_ps(r, log2_e);
        _mm256_storeu_ps((float *)(x + i), r);
    }
}

static void weights(const struct mxv_softmax *p, const uint32_t *s, float shift, size_t n,
                    float *out)
{
    size_t i = 0;
    for (; p->exp == MXV_EXP_HW && i + 8 <= n;) {
        uint32_t x[ROW];
        const size_t left = (n - i) / 8 * 8, count = left < ROW ? left : ROW;
        arguments(p, s + i, shift, count, x);
        mxv_ex2_array(x, count, true, x);
        memcpy(out + i, x, count * sizeof *x);
        i += count;
    }
    row_forms_portable.weights(p, s + i, shift, n - i, out + i);
}

static void folded(const struct mxv_softmax *p, const uint32_t *x, const float *factor, float shift,
                   size_t n, float *out)
{
    const __m256 by = _mm256_set1_ps(shift), log2_e = _mm256_set1_ps(0x1.715476p+0f);
    size_t i = 0;
    for (; p->exp == MXV_EXP_HW && i + 8 <= n; i += 8) {
        uint32_t exponent[8];
        const __m256 v = _mm256_loadu_ps((const float *)(x + i));
        __m256 r = _mm256_fmsub_ps(v, _mm256_loadu_ps(factor + i), by);
        if (p->natural)
            r = _mm256_mul_ps(r, log2_e);
        _mm256_storeu_ps((float *)exponent, r);
        mxv_ex2_array(exponent, 8, true, exponent);
        memcpy(out + i, exponent, sizeof exponent);
    }
    row_forms_portable.folded(p, x + i, factor + i, shift, n - i, out + i);
}

// Even and odd members of eight weights, one lane a pair.
static inline void split_pairs(const float *w, __m128 *even, __m128 *odd)
{
    const __m128 a = _mm_loadu_ps(w), b = _mm_loadu_ps(w + 4);
    *even = _mm_shuffle_ps(a, b, 0x88);
    *odd = _mm_shuffle_ps(a, b, 0xDD);
}

// Two lanes, MXV_SUM_PAIR.
static inline __m128 load_two(const float *w)
{
    return _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)w));
}

static void add_pairs(struct mxv_softmax_row *row, float alpha, const float *w, size_t n)
{
    __m128 sum = _mm_fmadd_ps(load_two(row->l), _mm_set1_ps(alpha), load_two(w));
    for (size_t i = 2; i < n; i += 2)
        sum = _mm_add_ps(sum, load_two(w + i));
    _mm_storel_pi((__m64 *)(void *)row->l, sum);
}

static void add(const struct mxv_softmax *p, struct mxv_softmax_row *row, float alpha,
                const float *w, size_t n)
{
    __m128 even, odd, sum;
    if (p->sum == MXV_SUM_PAIR) {
        add_pairs(row, alpha, w, n);
        return;
    }
    split_pairs(w, &even, &odd);
    sum = p->sum == MXV_SUM_QUAD ? _mm_fmadd_ps(_mm_loadu_ps(row->l), _mm_set1_ps(alpha), even)
                                 : even;
    sum = _mm_add_ps(sum, odd);
    for (size_t i = 8; i < n; i += 8) {
        split_pairs(w + i, &even, &odd);
        sum = _mm_add_ps(_mm_add_ps(sum, even), odd);
    }
    if (p->sum == MXV_SUM_QUAD) {
        _mm_storeu_ps(row->l, sum);
        return;
    }
    float s[4];
    _mm_storeu_ps(s, sum);
    const float low = s[0] + s[2], high = s[1] + s[3];
    row->l[0] = fmaf(row->l[0], alpha, low + high);
}

static void scale(uint32_t *o, float alpha, size_t n)
{
    const __m256 by = _mm256_set1_ps(alpha);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps((const float *)(o + i));
        _mm256_storeu_si256((__m256i *)(o + i), canonical(_mm256_mul_ps(v, by)));
    }
    row_forms_portable.scale(o + i, alpha, n - i);
}

static bool any_nan(const float *x, size_t n)
{
    __m256i found = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        found = _mm256_or_si256(found, is_nan(_mm256_loadu_ps(x + i)));
    return !_mm256_testz_si256(found, found) || row_forms_portable.any_nan(x + i, n - i);
}

const struct row_forms row_forms_avx2 = {codes,  round_row, max,   weights,
                                         folded, add,       scale, any_nan};
