// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Vectors of the width of the including file (MXV_LANE_BYTES, 16, 32 or 64) and the few operations
// that C does not express well. Everything else is written with C operators on vector types, so
// that one text serves every level; integers wrap as unsigned ones do.
#ifndef MXV_REF_MATRIX_UNIT_LANES_H
#define MXV_REF_MATRIX_UNIT_LANES_H

#include "matrix_unit_forms.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MXV_INLINE static inline __attribute__((always_inline))
#define MXV_VECTOR __attribute__((vector_size(MXV_LANE_BYTES)))

// VECTOR lanes of 32 bits; LANES columns, two vectors, side by side.
enum { VECTOR = MXV_LANE_BYTES / 4, LANES = 2 * VECTOR };

typedef int32_t vi MXV_VECTOR;
typedef uint32_t vu MXV_VECTOR;
typedef float vf MXV_VECTOR;
typedef int16_t vh MXV_VECTOR;
typedef uint16_t vw MXV_VECTOR;
typedef uint8_t vb MXV_VECTOR;
typedef double vd MXV_VECTOR;
typedef int64_t vl MXV_VECTOR;

MXV_INLINE vi load_i(const void *p)
{
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

MXV_INLINE vb load_b(const void *p)
{
    return (vb)load_i(p);
}

MXV_INLINE void store_i(void *p, vi v)
{
    memcpy(p, &v, sizeof v);
}

MXV_INLINE vf load_f(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

MXV_INLINE vi splat_i(int32_t x)
{
    return x - (vi){0};
}

MXV_INLINE vf splat_f(float x)
{
    return x - (vf){0}; // x - 0 is x for every x, -0 included
}

MXV_INLINE vh splat_h(int16_t x)
{
    return x - (vh){0};
}

// Exact sums may be taken in any order, and compilers make trees of them that need more registers
// than there are, or keep an address for each load. These hold a sum, an address as it is.
MXV_INLINE void settle_i(vi *v)
{
#if MXV_LANE_BYTES == 64
    __asm__("" : "+v"(*v));
#elif defined(__x86_64__)
    __asm__("" : "+x"(*v));
#else
    (void)v;
#endif
}

MXV_INLINE const void *settle_address(const void *p)
{
#if defined(__x86_64__)
    __asm__("" : "+r"(p));
#endif
    return p;
}

// Masks are 0 or all ones, lane by lane.
MXV_INLINE vi select_i(vi mask, vi yes, vi no)
{
#if MXV_LANE_BYTES == 32
    return (vi)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)mask);
#else
    return (mask & yes) | (~mask & no);
#endif
}

MXV_INLINE vh select_h(vh mask, vh yes, vh no)
{
    return (vh)select_i((vi)mask, (vi)yes, (vi)no);
}

MXV_INLINE vi max_i(vi a, vi b)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif MXV_LANE_BYTES == 32
    return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    return select_i(a > b, a, b);
#endif
}

MXV_INLINE vi min_i(vi a, vi b)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif MXV_LANE_BYTES == 32
    return (vi)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    return select_i(a < b, a, b);
#endif
}

MXV_INLINE vh max_h(vh a, vh b)
{
#if MXV_LANE_BYTES == 64
    return (vh)_mm512_max_epi16((__m512i)a, (__m512i)b);
#elif MXV_LANE_BYTES == 32
    return (vh)_mm256_max_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vh)_mm_max_epi16((__m128i)a, (__m128i)b);
#else
    vh mask = a > b;
    return (mask & a) | (~mask & b);
#endif
}

MXV_INLINE vh min_h(vh a, vh b)
{
#if MXV_LANE_BYTES == 64
    return (vh)_mm512_min_epi16((__m512i)a, (__m512i)b);
#elif MXV_LANE_BYTES == 32
    return (vh)_mm256_min_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vh)_mm_min_epi16((__m128i)a, (__m128i)b);
#else
    return select_h(a < b, a, b);
#endif
}

MXV_INLINE vb max_b(vb a, vb b)
{
#if MXV_LANE_BYTES == 64
    return (vb)_mm512_max_epu8((__m512i)a, (__m512i)b);
#elif MXV_LANE_BYTES == 32
    return (vb)_mm256_max_epu8((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vb)_mm_max_epu8((__m128i)a, (__m128i)b);
#else
    vb mask = (vb)(a > b);
    return (mask & a) | (~mask & b);
#endif
}

// Any lane negative.
MXV_INLINE bool any_sign(vi v)
{
#if MXV_LANE_BYTES == 64
    return _mm512_movepi32_mask((__m512i)v) != 0;
#elif MXV_LANE_BYTES == 32
    return _mm256_movemask_ps((__m256)v) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)v) != 0;
#else
    return (v[0] | v[1] | v[2] | v[3]) < 0;
#endif
}

// Truncation; |x| < 2^31, other lanes (and NaN) give any number.
MXV_INLINE vi truncate_f(vf x)
{
#if MXV_LANE_BYTES == 64
    return (vi)_mm512_cvttps_epi32((__m512)x);
#elif MXV_LANE_BYTES == 32
    return (vi)_mm256_cvttps_epi32((__m256)x);
#elif defined(__SSE2__)
    return (vi)_mm_cvttps_epi32((__m128)x);
#else
    vi t;
    for (int j = 0; j < VECTOR; j++)
        t[j] = x[j] > -2147483648.0f && x[j] < 2147483648.0f ? (int32_t)x[j] : INT32_MIN;
    return t;
#endif
}

MXV_INLINE vf float_i(vi x)
{
    return __builtin_convertvector(x, vf);
}

// 2^e as a binary32, e in [-126, 127]; e = -127 gives 0.
MXV_INLINE vf power_i(vi e)
{
    return (vf)((vu)(e + 127) << 23);
}

// a with its sign changed where b is negative, 0 or a where b is 0.
MXV_INLINE vi sign_i(vi a, vi b)
{
#if MXV_LANE_BYTES == 32
    return (vi)_mm256_sign_epi32((__m256i)a, (__m256i)b);
#else
    return (a ^ (b >> 31)) - (b >> 31);
#endif
}

// x cut to 24 significant bits (toward zero) as binary32 words; inexact: lanes that lost bits.
MXV_INLINE vi cut_i(vi x, vi *inexact)
{
#if MXV_LANE_BYTES == 64
    __m512 f = _mm512_cvt_roundepi32_ps((__m512i)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    *inexact = truncate_f((vf)f) != x;
    return (vi)f;
#else
    // nearest, then one step back where that went away from zero; 2^31 wraps and still compares
    vf f = float_i(x);
    vi d = (vi)((vu)truncate_f(f) - (vu)x);
    *inexact = d != 0;
    return (vi)f + (sign_i(d, x) > 0);
#endif
}

// Lower (upper) half of the lanes in binary64.
MXV_INLINE vd widen_low(vf x)
{
#if MXV_LANE_BYTES == 64
    return (vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
#elif MXV_LANE_BYTES == 32
    return (vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
#elif defined(__SSE2__)
    return (vd)_mm_cvtps_pd((__m128)x);
#else
    return (vd){x[0], x[1]};
#endif
}

MXV_INLINE vd widen_high(vf x)
{
#if MXV_LANE_BYTES == 64
    return (vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
#elif MXV_LANE_BYTES == 32
    return (vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
#elif defined(__SSE2__)
    return (vd)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
#else
    return (vd){x[2], x[3]};
#endif
}

// Two such halves in binary32, nearest.
MXV_INLINE vf narrow(vd low, vd high)
{
#if MXV_LANE_BYTES == 64
    __m512 half = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low));
    return (vf)_mm512_insertf32x8(half, _mm512_cvtpd_ps((__m512d)high), 1);
#elif MXV_LANE_BYTES == 32
    return (vf)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
#elif defined(__SSE2__)
    return (vf)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
#else
    return (vf){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
#endif
}

// Columns [first, first + lanes) of row `index`, over one span of products.
struct lane_block {
    const struct mxv_mma_tile *t;
    const struct mxv_mma_span *s;
    size_t index, first, lanes;
};

// The accumulators, absent ones 0.
MXV_INLINE void load_block(const struct lane_block *b, uint32_t words[LANES])
{
    const uint32_t *from = b->t->cd + b->index * b->t->ld + b->first;
    if (b->lanes == LANES) {
        memcpy(words, from, LANES * sizeof *words);
        return;
    }
    memset(words, 0, LANES * sizeof *words);
    memcpy(words, from, b->lanes * sizeof *words);
}

// The words in place of the accumulators; lanes that hold a NaN or an infinity, the whole row or
// those for which special_columns (NULL: none) is set, are computed from the accumulators instead.
MXV_INLINE void store_block(const struct lane_block *b, bool special_row,
                            const bool *special_columns, uint32_t words[LANES])
{
    uint32_t *to = b->t->cd + b->index * b->t->ld + b->first;
    if (special_row || special_columns)
        mxv_mma_slow_lanes(b->t, b->s, b->index, b->first, b->lanes,
                           special_row ? NULL : special_columns, to, words);
    if (b->lanes == LANES)
        memcpy(to, words, LANES * sizeof *words);
    else
        memcpy(to, words, b->lanes * sizeof *words);
}

// The signed 16-bit halves of each 32-bit lane.
MXV_INLINE vi low_half(vi v)
{
    return (vi)((vu)v << 16) >> 16;
}

MXV_INLINE vi high_half(vi v)
{
    return v >> 16;
}

#endif
