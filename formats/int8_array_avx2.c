// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 quantisation of groups, eight elements a register, integers only. See
// mxverify/block_array.h.
//
// With ea the exponent of amax, X = |x| in units of 2^(ea - 30) is a 31-bit integer, exact for
// |x| >= 2^(ea - 7) and less than one unit too small below. Times a multiplier of 32 bits, from the
// significand of the one that the policy multiplies by (rcp, mul127) or from floor(2^54 /
// significand of the scale) where it divides, the upper half of the product is the quotient in
// units of 2^-22, at most three too small. The roundings to nearest differ from half away from
// zero, and these quotients from those of fl32, within twice 2^-18 of a step only: quotients within
// 2^-15 of a tie are given to mxv_int8_code. Packing saturates. Decoding is in int8_decode_avx2.c.
// unit.int8_array fails if this file is wrong.
#include <immintrin.h>

#include "block_array_internal.h"

#define WORD_127  UINT32_C(0x42FE0000)
#define WORD_1EM7 UINT32_C(0x33D6BF95)
#define WORD_1EM5 UINT32_C(0x3727C5AC)

enum { CHUNK = 32, POINT = 22, WINDOW = 1 << (POINT - 15) };

/// How a group's codes are formed.
struct group {
    const struct mxv_int8_policy *policy;
    uint32_t amax, scale;
    uint32_t multiplier; ///< quotients are X * multiplier / 2^32
};

/// The same for the loop: `from` less a magnitude word has above bit 23 what X is to be shifted by.
struct vectors {
    __m256i from, multiplier, lowest;
};

static inline __m256i all(int32_t v)
{
    return _mm256_set1_epi32(v);
}

/// Words i .. i + 7 of binary16 or binary32 words x.
MXV_EACH_INLINE __m256i load(const void *x, bool half, size_t i)
{
    if (half)
        return _mm256_castps_si256(
            _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)((const uint16_t *)x + i))));
    return _mm256_loadu_si256((const __m256i *)((const uint32_t *)x + i));
}

static uint32_t amax_of_words(const uint32_t *x, size_t count)
{
    __m256i m = _mm256_setzero_si256();
    size_t i = 0;
#pragma GCC unroll 4
    for (; i + 8 <= count; i += 8)
        m = _mm256_max_epu32(m, _mm256_and_si256(load(x, false, i), all(0x7FFFFFFF)));
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1));
    uint32_t amax = (uint32_t)_mm_cvtsi128_si32(four);
    for (; i < count; i++)
        amax = (x[i] & 0x7FFFFFFF) > amax ? x[i] & 0x7FFFFFFF : amax;
    return amax;
}

static uint32_t amax_of_halves(const uint16_t *x, size_t count)
{
    const __m256i magnitude = _mm256_set1_epi16(0x7FFF);
    __m256i m = _mm256_setzero_si256();
    size_t i = 0;
#pragma GCC unroll 4
    for (; i + 16 <= count; i += 16)
        m = _mm256_max_epu16(
            m, _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + i)), magnitude));
    const __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
    int amax = ~_mm_cvtsi128_si32(least) & 0xFFFF;
    for (; i < count; i++)
        amax = (x[i] & 0x7FFF) > amax ? x[i] & 0x7FFF : amax;
    return (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(_mm_cvtph_ps(_mm_cvtsi32_si128(amax))));
}

/// mxv_f32_div of two positive words, by one division where operands and result are normal.
static inline uint32_t quotient(uint32_t a, uint32_t b)
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

/// A finite amax, or what eps=max_amax and max_amax5 put in its place.
static inline uint32_t bounded(const struct mxv_int8_policy *p, uint32_t amax)
{
    const uint32_t least = p->eps == MXV_INT8_EPS_MAX_AMAX    ? WORD_1EM7
                           : p->eps == MXV_INT8_EPS_MAX_AMAX5 ? WORD_1EM5
                                                              : 0;
    return amax > least ? amax : least;
}

/// Scale word of a finite amax.
static inline uint32_t scale_of(const struct mxv_int8_policy *p, uint32_t amax)
{
    const uint32_t scale = quotient(bounded(p, amax), WORD_127);
    return p->eps == MXV_INT8_EPS_ADD_SCALE ? sum_of(scale, WORD_1EM7) : scale;
}

/// The group's multiplier; false if it leaves the range in which the arithmetic above is exact.
static inline bool prepare(struct group *g)
{
    const struct mxv_int8_policy *p = g->policy;
    const int ea = (int)(g->amax >> 23), es = (int)(g->scale >> 23);
    // X in units of 2^(ea - 157), a word's significand in 2^(field - 150), fields as they stand
    uint64_t factor;
    int shift, least; // bits of X * factor below the integer part, 54 being wanted
    if (ea < 60 || ea > 200)
        return false;
    if (p->arith == MXV_INT8_DIV || p->arith == MXV_INT8_EXACT) {
        factor = (UINT64_C(1) << 54) / ((g->scale & 0x7FFFFF) | UINT64_C(0x800000));
        shift = 54 + 157 - ea - (150 - es);
        least = 54;
    } else {
        const uint32_t word = p->arith == MXV_INT8_RCP ? quotient(MXV_F32_ONE, g->scale)
                                                       : quotient(WORD_127, bounded(p, g->amax));
        if (word < UINT32_C(0x00800000))
            return false;
        factor = (word & 0x7FFFFF) | 0x800000;
        shift = 157 - ea + 150 - (int)(word >> 23);
        least = 46;
    }
    g->multiplier = shift <= 54        ? (uint32_t)(factor << ((54 - shift) & 15))
                    : shift - 54 <= 31 ? (uint32_t)(factor >> (shift - 54))
                                       : 0;
    return shift >= least;
}

static inline struct vectors vectors_of(const struct group *g)
{
    struct vectors v;
    v.from = all((int32_t)(((g->amax >> 23) + 1) << 23 | 0x7FFFFF));
    v.multiplier = all((int32_t)g->multiplier);
    v.lowest = _mm256_set1_epi8(g->policy->symmetric ? -127 : -128);
    return v;
}

/// Codes of eight elements; *above becomes how far they are above WINDOW below a tie, if that is
/// less.
MXV_EACH_INLINE __m256i quotients(const struct vectors *v, __m256i x, __m256i *above)
{
    const __m256i u = _mm256_and_si256(x, all(0x7FFFFFFF));
    const __m256i sig = _mm256_or_si256(_mm256_slli_epi32(x, 8), all((int32_t)0x80000000));
    const __m256i a = _mm256_srlv_epi32(sig, _mm256_srli_epi32(_mm256_sub_epi32(v->from, u), 23));
    const __m256i even = _mm256_mul_epu32(a, v->multiplier);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), v->multiplier);
    const __m256i q = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i sum = _mm256_add_epi32(q, all((1 << (POINT - 1)) + WINDOW));
    *above = _mm256_min_epu32(*above, _mm256_and_si256(sum, all((1 << POINT) - 1)));
    return _mm256_sign_epi32(_mm256_srli_epi32(sum, POINT), x);
}

/// Lanes near a tie.
MXV_EACH_INLINE __m256i near_tie(__m256i above)
{
    return _mm256_cmpgt_epi32(all(2 * WINDOW), above);
}

/// 32 codes of four registers, saturated.
MXV_EACH_INLINE void store_codes(const struct vectors *v, const __m256i c[4], int8_t *out)
{
    const __m256i words =
        _mm256_packs_epi16(_mm256_packs_epi32(c[0], c[1]), _mm256_packs_epi32(c[2], c[3]));
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)out, _mm256_max_epi8(bytes, v->lowest));
}

/// Codes of those of eight elements that are near a tie, by the scalar function.
__attribute__((noinline)) static void repair(const struct group *g, __m256i x, int8_t *codes)
{
    const struct vectors v = vectors_of(g);
    __m256i above = all(0x7FFFFFFF);
    uint32_t words[8];
    quotients(&v, x, &above);
    _mm256_storeu_si256((__m256i *)words, x);
    const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(near_tie(above)));
    for (size_t i = 0; i < 8; i++)
        if (lanes >> i & 1)
            codes[i] = mxv_int8_code(g->policy, words[i], g->scale, g->amax);
}

MXV_EACH_INLINE void chunk_codes(const struct group *g, const struct vectors *v, const void *x,
                                 bool half, size_t i, int8_t *codes)
{
    __m256i c[4], above = all(0x7FFFFFFF);
    for (size_t j = 0; j < 4; j++)
        c[j] = quotients(v, load(x, half, i + 8 * j), &above);
    store_codes(v, c, codes);
    const __m256i close = near_tie(above);
    if (_mm256_testz_si256(close, close))
        return;
    for (size_t j = 0; j < CHUNK; j += 8)
        repair(g, load(x, half, i + j), codes + j);
}

MXV_EACH_INLINE void group_codes(const struct group *g, const void *x, bool half, size_t count,
                                 int8_t *codes)
{
    const struct vectors v = vectors_of(g);
    const size_t size = half ? sizeof(uint16_t) : sizeof(uint32_t);
    size_t i = 0;
    for (; i + CHUNK <= count; i += CHUNK)
        chunk_codes(g, &v, x, half, i, codes + i);
    if (i < count) {
        uint32_t rest[CHUNK] = {0};
        int8_t out[CHUNK];
        for (size_t j = 0; j < (count - i) * size; j++)
            ((unsigned char *)rest)[j] = ((const unsigned char *)x)[i * size + j];
        chunk_codes(g, &v, rest, half, 0, out);
        for (size_t j = i; j < count; j++)
            codes[j] = out[j - i];
    }
}

/// Scale and codes of a group; false if it is left to the scalar form.
MXV_EACH_INLINE bool quantize_group(const struct mxv_int8_policy *p, const void *x, bool half,
                                    size_t count, uint32_t *scale, int8_t *codes)
{
    struct group g = {.policy = p};
    g.amax = half ? amax_of_halves(x, count) : amax_of_words(x, count);
    if (g.amax >= MXV_F32_INF)
        return false;
    *scale = g.scale = scale_of(p, g.amax);
    if ((g.scale & MXV_F32_INF) == 0 || !prepare(&g))
        return false;
    group_codes(&g, x, half, count, codes);
    return true;
}

void mxv_int8_quantize_avx2(const struct mxv_int8_policy *p, const uint32_t *x,
                            const uint16_t *half, size_t count, size_t groups, uint32_t *scales,
                            int8_t *codes)
{
    for (size_t g = 0; half != NULL && g < groups; g++) {
        const uint16_t *halves = half + g * count;
        if (!quantize_group(p, halves, true, count, &scales[g], codes + g * count))
            mxv_int8_scalar(p, NULL, halves, count, &scales[g], codes + g * count);
    }
    for (size_t g = 0; half == NULL && g < groups; g++) {
        const uint32_t *words = x + g * count;
        if (!quantize_group(p, words, false, count, &scales[g], codes + g * count))
            mxv_int8_scalar(p, words, NULL, count, &scales[g], codes + g * count);
    }
}
