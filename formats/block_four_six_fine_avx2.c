// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 "four over six": one block whose candidates err almost alike. See block_four_six_avx2.c.
//
// y = |x| over scale in units of 2^-22, at most two below the true one, hence |y - decoded| too.
// Elements that decode to the same number under both candidates err alike; they are left out of
// sums, and of largest errors unless theirs decides. Where y is near a tie it is not known what the
// element decodes to, and it counts as different. With none left, six is taken, as in any tie.
//
// What is open then, most of it exact ties of errors, is computed exactly where all of
// |x * 1536 - decoded * scale * g| are integers below 2^60 in one unit: elements within 30 binades,
// fewer if their significands are long. unit.block_array fails if this file is wrong.
#include "block_four_six_lanes.h"

enum { UNIT = 1 << 22, ERROR = 2 };

/// Eight elements under one candidate: numerators of what they decode to, errors, nearness of a
/// tie.
struct outcome {
    __m256i decoded, error, tie;
};

MXV_EACH_INLINE __m256i quotients(__m256i x, uint32_t top_word, uint32_t factor)
{
    const __m256i sig = _mm256_or_si256(_mm256_slli_epi32(x, 8), all((int32_t)0x80000000));
    const __m256i field = _mm256_srli_epi32(_mm256_slli_epi32(x, 1), 24);
    const __m256i drop = _mm256_sub_epi32(all((int32_t)(top_word >> 23) - 16), field);
    const __m256i a = _mm256_srlv_epi32(sig, drop);
    const __m256i f = all((int32_t)factor);
    return _mm256_blend_epi32(_mm256_srli_epi64(_mm256_mul_epu32(a, f), 32),
                              _mm256_mul_epu32(_mm256_srli_epi64(a, 32), f), 0xAA);
}

static struct outcome outcome_of(const struct mxv_four_six_pair *pair, int which, __m256i x)
{
    static const int32_t ties[7] = {UNIT / 4,     UNIT * 3 / 4, UNIT * 5 / 4, UNIT * 7 / 4,
                                    UNIT * 5 / 2, UNIT * 7 / 2, UNIT * 5};
    const __m256i twice = _mm256_setr_epi32(0, 1, 2, 3, 4, 6, 8, 12);
    const __m256i y = quotients(x, pair->top_word, pair->factor[which]);
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

static int decide_finely(const struct mxv_four_six_pair *pair, const uint32_t x[SIZE],
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

__extension__ typedef unsigned __int128 wide;

/// odd * 2^exp, or 0.
struct odd {
    uint64_t odd;
    int exp;
};

static struct odd odd_of(uint64_t n, int exp)
{
    const int zeros = n == 0 ? 0 : __builtin_ctzll(n);
    return (struct odd){n >> zeros, exp + zeros};
}

static struct odd odd_of_word(uint32_t word, uint32_t times)
{
    const uint32_t field = word >> 23 & 0xFF, frac = word & 0x7FFFFF;
    return field == 0 ? odd_of((uint64_t)frac * times, -149)
                      : odd_of((uint64_t)(frac | 0x800000) * times, (int)field - 150);
}

/// *out = v * times in units of 2^unit; false if it does not stay below 2^60.
static bool in_units(struct odd v, uint64_t times, int unit, uint64_t *out)
{
    const int shift = v.odd == 0 ? 0 : v.exp - unit;
    const uint64_t n = v.odd * times; // at most 2^24 * 2^10
    if (shift > 59 || n >> (60 - shift) != 0)
        return false;
    *out = n << shift;
    return true;
}

/// Numerators of 0, .5, 1, 1.5, 2, 3, 4, 6, to which the elements decode, over 2.
static void decode(const struct mxv_block_plan *plan, uint8_t scale, const uint32_t x[SIZE],
                   uint32_t out[SIZE])
{
    const __m256i twice = _mm256_setr_epi32(0, 1, 2, 3, 4, 6, 8, 12);
    __m256i least[7];
    load_thresholds(plan->rows[scale], 0, least);
    for (size_t i = 0; i < SIZE; i += 8) {
        const __m256i code = e2m1_codes(load(x, NULL, i), least, false); // low three bits are read
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_permutevar8x32_epi32(twice, code));
    }
}

/// Exact error of a candidate in units of 2^unit, or of its square; x are the words over it. False
/// if it leaves 64 bits.
static bool exact_error(const struct mxv_block_plan *plan, const struct mxv_four_six_pair *pair,
                        int which, const uint32_t words[SIZE], const uint64_t x[SIZE],
                        struct odd half_step, int unit, wide *out)
{
    const enum mxv_four_six_err err = plan->policy.nvfp4.err;
    uint32_t decoded[SIZE];
    decode(plan, (uint8_t)(pair->scales >> 8 * which), words, decoded);
    *out = 0;
    for (size_t i = 0; i < SIZE; i++) {
        uint64_t value;
        if (!in_units(half_step, (uint64_t)decoded[i] * pair->ratio[which], unit, &value))
            return false;
        const uint64_t error = x[i] > value ? x[i] - value : value - x[i];
        if (err == MXV_FOUR_SIX_ABS_MAX)
            *out = error > *out ? error : *out;
        else
            *out += err == MXV_FOUR_SIX_MSE ? (wide)error * error : error;
    }
    return true;
}

static int decide_exactly(const struct mxv_block_plan *plan, const struct mxv_four_six_pair *pair,
                          const uint32_t words[SIZE])
{
    // a scale is its number in the ratio times a power of two, which g / 2^10 takes over: values
    // are x * 1536 / 2^9 and decoded halves by ratio by half_step
    const struct mxv_value six = mxv_element_decode(MXV_UE4M3, pair->scales & 0xFF);
    const int power = odd_of(six.sig, six.exp).exp - odd_of(pair->ratio[SIX], 0).exp;
    struct odd half_step = odd_of_word(plan->amax_most, 1);
    uint64_t x[SIZE];
    wide error[2];
    half_step.exp += power - 10;
    int unit = half_step.exp;
    for (size_t i = 0; i < SIZE; i++) {
        const struct odd v = odd_of_word(words[i], 3);
        unit = v.odd != 0 && v.exp < unit ? v.exp : unit;
    }
    for (size_t i = 0; i < SIZE; i++)
        if (!in_units(odd_of_word(words[i], 3), 1, unit, &x[i]))
            return OPEN;
    for (int c = 0; c < 2; c++)
        if (!exact_error(plan, pair, c, words, x, half_step, unit, &error[c]))
            return OPEN;
    return error[FOUR] < error[SIX] ? FOUR : SIX;
}

int mxv_four_six_decide_avx2(const struct mxv_block_plan *plan,
                             const struct mxv_four_six_pair *pair, const uint32_t x[SIZE])
{
    const int choice = decide_finely(pair, x, plan->policy.nvfp4.err);
    return choice == OPEN ? decide_exactly(plan, pair, x) : choice;
}
