// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 "four over six": one block whose candidates err almost alike. See block_four_six_avx2.c.
//
// y = |x| over scale in units of 2^-22, at most two below the true one, hence |y - decoded| too.
// Elements that decode to the same number under both candidates err alike; they are left out of
// sums, and of largest errors unless theirs decides. Where y is near a tie it is not known what the
// element decodes to, and it counts as different. With none left, six is taken, as in any tie.
// unit.block_array fails if this file is wrong.
#include "block_array_lanes.h"

enum { SIZE = 16, SIX = 0, FOUR = 1, OPEN = 2, UNIT = 1 << 22, ERROR = 2 };

/// Eight elements under one candidate: numerators of what they decode to, errors, nearness of a
/// tie.
struct outcome {
    __m256i decoded, error, tie;
};

MXV_EACH_INLINE __m256i quotients(__m256i x, uint32_t top_shift, uint32_t factor)
{
    const __m256i sig = _mm256_or_si256(_mm256_slli_epi32(x, 8), all((int32_t)0x80000000));
    const __m256i field = _mm256_srli_epi32(_mm256_slli_epi32(x, 1), 24);
    const __m256i a = _mm256_srlv_epi32(sig, _mm256_sub_epi32(all((int32_t)top_shift - 16), field));
    const __m256i f = all((int32_t)factor);
    return _mm256_blend_epi32(_mm256_srli_epi64(_mm256_mul_epu32(a, f), 32),
                              _mm256_mul_epu32(_mm256_srli_epi64(a, 32), f), 0xAA);
}

static struct outcome outcome_of(const struct mxv_four_six_pair *pair, int which, __m256i x)
{
    static const int32_t ties[7] = {UNIT / 4,     UNIT * 3 / 4, UNIT * 5 / 4, UNIT * 7 / 4,
                                    UNIT * 5 / 2, UNIT * 7 / 2, UNIT * 5};
    const __m256i twice = _mm256_setr_epi32(0, 1, 2, 3, 4, 6, 8, 12);
    const __m256i y = quotients(x, pair->top_shift, pair->factor[which]);
    __m256i n = _mm256_setzero_si256();
    for (int i = 0; i < 7; i++)
        n = _mm256_sub_epi32(n, _mm256_cmpgt_epi32(y, all(ties[i] - 1)));
    const __m256i value = _mm256_permutevar8x32_epi32(twice, n);
    // beside a multiple of 1/4 other than 0
    const __m256i more = _mm256_add_epi32(_mm256_max_epi32(y, all(UNIT / 8)), all(ERROR));
    struct outcome o;
    o.tie = _mm256_cmpgt_epi32(all(2 * ERROR + 1), _mm256_and_si256(more, all(UNIT / 4 - 1)));
    o.decoded = _mm256_mullo_epi32(value, all(pair->ratio[which]));
    o.error = _mm256_abs_epi32(_mm256_sub_epi32(y, _mm256_slli_epi32(value, 21)));
    return o;
}

static uint64_t sum_of(__m256i a)
{
    uint64_t v[4];
    _mm256_storeu_si256((__m256i *)v, a);
    return v[0] + v[1] + v[2] + v[3];
}

/// Sum, sum of squares or maximum of sixteen errors.
static uint64_t total(const __m256i error[2], enum mxv_four_six_err err)
{
    __m256i sum = _mm256_setzero_si256();
    if (err == MXV_FOUR_SIX_ABS_MAX)
        return largest(_mm256_max_epu32(error[0], error[1]));
    for (int i = 0; i < 2; i++) {
        const __m256i even = _mm256_and_si256(error[i], _mm256_set1_epi64x(0xFFFFFFFF));
        const __m256i odd = _mm256_srli_epi64(error[i], 32);
        if (err == MXV_FOUR_SIX_MAE)
            sum = _mm256_add_epi64(sum, _mm256_add_epi64(even, odd));
        else
            sum = _mm256_add_epi64(
                sum, _mm256_add_epi64(_mm256_mul_epu32(even, even), _mm256_mul_epu32(odd, odd)));
    }
    return sum_of(sum);
}

/// How far a total can be from the true one; see block_plan_four_six.c, with u = ERROR, t = 2^22.
static uint64_t slack_of(uint64_t error, enum mxv_four_six_err err)
{
    if (err == MXV_FOUR_SIX_ABS_MAX)
        return ERROR;
    return err == MXV_FOUR_SIX_MAE ? SIZE * ERROR
                                   : 4 * ERROR * ((error >> 22) + UNIT + 1) + SIZE * ERROR * ERROR;
}

int mxv_four_six_decide_avx2(const struct mxv_four_six_pair *pair, const uint32_t x[SIZE],
                             enum mxv_four_six_err err)
{
    __m256i error[2][2], shared = _mm256_setzero_si256(), same = all(-1);
    for (int i = 0; i < 2; i++) {
        const __m256i word = load(x, NULL, (size_t)(8 * i));
        const struct outcome six = outcome_of(pair, SIX, word);
        const struct outcome four = outcome_of(pair, FOUR, word);
        const __m256i alike = _mm256_andnot_si256(_mm256_or_si256(six.tie, four.tie),
                                                  _mm256_cmpeq_epi32(six.decoded, four.decoded));
        error[SIX][i] = _mm256_andnot_si256(alike, six.error);
        error[FOUR][i] = _mm256_andnot_si256(alike, four.error);
        shared = _mm256_max_epu32(shared, _mm256_and_si256(alike, six.error));
        same = _mm256_and_si256(same, alike);
    }
    if (_mm256_movemask_epi8(same) == -1)
        return SIX;
    uint64_t weighted[2], slack = 0;
    for (int c = 0; c < 2; c++) {
        const uint64_t e = total(error[c], err);
        weighted[c] = pair->weight[c] * e;
        slack += pair->weight[c] * slack_of(e, err);
    }
    if (err == MXV_FOUR_SIX_ABS_MAX) { // what both have is the largest, or may be
        const uint64_t both = (uint64_t)pair->weight[SIX] * largest(shared);
        if (both > weighted[SIX] + 2 * slack && both > weighted[FOUR] + 2 * slack)
            return SIX;
        for (int c = 0; c < 2; c++)
            weighted[c] = both > weighted[c] ? both : weighted[c];
    }
    if (weighted[FOUR] + slack < weighted[SIX])
        return FOUR;
    return weighted[SIX] + slack < weighted[FOUR] ? SIX : OPEN;
}
