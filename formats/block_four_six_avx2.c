// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 "four over six", eight blocks at a time, sixteen elements a register, integers only. See
// block_plan_four_six.c for the plan, four_six.c for the definition.
//
// Both candidates of a block are tried in 16-bit arithmetic: y = |x| over scale in units of 2^-12,
// off by less than u = 1.6 of these. An error |y - decoded| is the distance to the nearest of the
// values 0, .5, 1, 1.5, 2, 3, 4, 6, so it is off by no more than y, whatever way y is rounded; sums
// decide between the candidates where they differ by more than what that makes. Else the same is
// done with 22 fraction bits (block_four_six_fine_avx2.c), then in exact integers; what is still
// open goes through the scalar function. Codes are taken from y, unless some y of the block is near
// a tie; then from the plan's thresholds. unit.block_array fails if this file is wrong.
#include "block_four_six_lanes.h"

enum {
    CHUNK = 32,
    LEAST_HALF = 0x38800000 ///< word of 2^-14, the least normal binary16 number
};

/// Both candidates of a chunk of blocks. Bits are those of blocks. Each loop of chunk_codes() runs
/// over all of them, as one block alone would wait for its maximum, its pair and its choice.
struct trial {
    __m256i decoded[CHUNK][2]; ///< elements in units of 2^-12
    __m256i error[CHUNK][2];   ///< y less these, or its magnitude
    /// By blocks: errors, and what they are to be multiplied by. mae: one number, multiplied
    /// already; mse: two, six and four; abs_max: two of 16 bits.
    uint32_t errors[2 * CHUNK], weights[2 * CHUNK];
    uint32_t amax[CHUNK];   ///< within the plan's range
    uint32_t cell[CHUNK];   ///< their cells
    uint32_t scales[CHUNK]; ///< codes, six's in the low byte
    uint32_t choice[CHUNK]; ///< bytes from six's vectors to those of what errs less
    uint32_t ordinary;      ///< maxima that were within the range
    uint32_t decided;       ///< the errors are further apart than they can be off
};

/// The value nearest to y, in the upper byte: by the quarters up to 15, one step more from 5 on,
/// which a maximum mapped to 4 does not reach.
MXV_EACH_INLINE __m256i nearest_value(__m256i y, size_t which)
{
    const __m256i values = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 8, 8, 16, 16, 24, 24, 32, 32, 32, 48, 48, 48, 48, 64, 64));
    const __m256i quarters = // the lower byte looks up 0
        _mm256_min_epi8(_mm256_srli_epi16(y, 2), _mm256_set1_epi16(0x0F80));
    const __m256i value = _mm256_shuffle_epi8(values, quarters);
    if (which == FOUR)
        return value;
    const __m256i five = _mm256_cmpgt_epi16(y, _mm256_set1_epi16(5 * 4096 - 1));
    return _mm256_add_epi16(value, _mm256_and_si256(five, _mm256_set1_epi16(0x2000)));
}

MXV_EACH_INLINE const struct mxv_four_six_pair *pair_of(const struct mxv_block_plan *plan,
                                                        const struct trial *t, size_t i)
{
    const size_t n = plan->cell[t->cell[i]];
    return &plan->pairs[n + (t->amax[i] >= plan->next_pair[n])];
}

/// Block i of *t, number `block`: values and errors of both candidates, their magnitudes but for
/// mse.
MXV_EACH_INLINE const struct mxv_four_six_pair *try_block(const struct mxv_block_plan *plan,
                                                          const void *x, bool half, size_t block,
                                                          size_t i, enum mxv_four_six_err err,
                                                          struct trial *t, __m256i error[2])
{
    const struct mxv_four_six_pair *pair = pair_of(plan, t, i);
    const __m256i a = half ? aligned_halves(load_halves(x, block), pair->top_half)
                           : aligned_words(load_block(x, false, block), pair->top_word);
    t->scales[i] = pair->scales;
    for (size_t c = 0; c < 2; c++) {
        const __m256i y = _mm256_mulhi_epu16(a, all((int32_t)pair->coarse[c]));
        const __m256i value = nearest_value(y, c), d = _mm256_sub_epi16(y, value);
        error[c] = err == MXV_FOUR_SIX_MSE ? d : _mm256_abs_epi16(d);
        t->decoded[i][c] = value;
        t->error[i][c] = error[c];
    }
    return pair;
}

/// mae: the difference of both weighted sums of eight blocks.
MXV_EACH_INLINE void try_sums(const struct mxv_block_plan *plan, const void *x, bool half,
                              size_t block, size_t from, struct trial *t)
{
    __m256i sum[EIGHT];
#pragma GCC unroll 8
    for (size_t i = 0; i < EIGHT; i++) {
        __m256i error[2];
        const uint32_t *lean =
            try_block(plan, x, half, block + i, from + i, MXV_FOUR_SIX_MAE, t, error)->lean;
        sum[i] = _mm256_add_epi32(_mm256_madd_epi16(error[SIX], all((int32_t)lean[SIX])),
                                  _mm256_madd_epi16(error[FOUR], all((int32_t)lean[FOUR])));
    }
    _mm256_storeu_si256((__m256i *)(t->errors + from), sum_of_eight(sum));
}

/// mse: sums of squares of four blocks.
MXV_EACH_INLINE void try_squares(const struct mxv_block_plan *plan, const void *x, bool half,
                                 size_t block, size_t from, struct trial *t)
{
    __m256i sum[EIGHT];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        __m256i error[2];
        const uint32_t *lean =
            try_block(plan, x, half, block + i, from + i, MXV_FOUR_SIX_MSE, t, error)->lean;
        sum[2 * i] = _mm256_madd_epi16(error[SIX], error[SIX]);
        sum[2 * i + 1] = _mm256_madd_epi16(error[FOUR], error[FOUR]);
        _mm_storel_epi64((__m128i *)(t->weights + 2 * (from + i)),
                         _mm_loadl_epi64((const __m128i *)lean));
    }
    _mm256_storeu_si256((__m256i *)(t->errors + 2 * from), sum_of_eight(sum));
}

/// abs_max: the largest errors of four blocks.
MXV_EACH_INLINE void try_largest(const struct mxv_block_plan *plan, const void *x, bool half,
                                 size_t block, size_t from, struct trial *t)
{
    __m256i error[EIGHT];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const size_t at = from + i;
        t->weights[at] =
            try_block(plan, x, half, block + i, at, MXV_FOUR_SIX_ABS_MAX, t, error + 2 * i)
                ->lean[0];
    }
    _mm_storeu_si128((__m128i *)(t->errors + from), largest_halves(error));
}

/// Weighted errors of eight blocks, four less six, and how far these can be from the true ones.
struct comparison {
    __m256i difference, slack;
};

/// Weights sum up to MXV_FOUR_SIX_LEAN at most. Each |y - decoded| is off by at most u = 1.6: a
/// largest one by u, a sum by 16 u, a sum s of squares by 2 u sum |y - decoded| + 16 u^2 <= 8 u
/// sqrt(s) + 16 u^2, where sqrt(s) <= (s / t + t) / 2 for any t; t = 2^12 gives 6.4 s / 2^12 +
/// 26256. In units of 2^12, with a fraction cut, that is 6.4 s / 2^12 + 7.42.
MXV_EACH_INLINE struct comparison compare_eight(const struct trial *t, size_t from,
                                                enum mxv_four_six_err err)
{
    const size_t at = err == MXV_FOUR_SIX_MSE ? 2 * from : from;
    const __m256i e = _mm256_loadu_si256((const __m256i *)(t->errors + at));
    const __m256i w = _mm256_loadu_si256((const __m256i *)(t->weights + at));
    struct comparison c;
    if (err == MXV_FOUR_SIX_MAE) {
        c.difference = e;
        c.slack = all(MXV_FOUR_SIX_LEAN * 26);
    } else if (err == MXV_FOUR_SIX_ABS_MAX) {
        c.difference = _mm256_madd_epi16(e, w);
        c.slack = all(MXV_FOUR_SIX_LEAN * 17 / 10);
    } else {
        const __m256i e4 = _mm256_loadu_si256((const __m256i *)(t->errors + at + 8));
        const __m256i w4 = _mm256_loadu_si256((const __m256i *)(t->weights + at + 8));
        const __m256 p = _mm256_castsi256_ps(_mm256_mullo_epi32(_mm256_srli_epi32(e, 12), w));
        const __m256 q = _mm256_castsi256_ps(_mm256_mullo_epi32(_mm256_srli_epi32(e4, 12), w4));
        const __m256i six = _mm256_castps_si256(_mm256_shuffle_ps(p, q, 0x88));
        const __m256i four = _mm256_castps_si256(_mm256_shuffle_ps(p, q, 0xDD));
        const __m256i both = _mm256_add_epi32(six, four); // 8 / 2^12 of these
        const __m256i slack =
            _mm256_add_epi32(_mm256_srli_epi32(both, 9), all(MXV_FOUR_SIX_LEAN_SQUARES * 15 / 2));
        c.difference = _mm256_permute4x64_epi64(_mm256_sub_epi32(four, six), 0xD8);
        c.slack = _mm256_permute4x64_epi64(slack, 0xD8);
    }
    return c;
}

MXV_EACH_INLINE uint32_t sign_bits(__m256i a)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(a));
}

/// Choices, and scale codes by them.
MXV_EACH_INLINE void compare(size_t count, enum mxv_four_six_err err, struct trial *t,
                             uint8_t *scales)
{
    for (size_t i = 0; i < count; i += EIGHT) {
        const struct comparison c = compare_eight(t, i, err);
        const __m256i apart = _mm256_cmpgt_epi32(_mm256_abs_epi32(c.difference), c.slack);
        const __m256i four = _mm256_srli_epi32(c.difference, 31);
        const __m256i codes = _mm256_srlv_epi32(_mm256_loadu_si256((__m256i *)(t->scales + i)),
                                                _mm256_slli_epi32(four, 3));
        t->decided |= sign_bits(apart) << i;
        _mm256_storeu_si256((__m256i *)(t->choice + i), _mm256_slli_epi32(four, 5));
        _mm_storel_epi64((__m128i *)(scales + i), eight_bytes(codes));
    }
}

/// Maxima of `count` blocks; those outside of the range are cut to it, and done again. False if a
/// binary16 one is so small that its block has subnormal elements only.
MXV_EACH_INLINE bool find_maxima(const struct mxv_block_plan *plan, const void *x, bool half,
                                 size_t block, size_t count, struct trial *t)
{
    const __m256i least = all((int32_t)plan->amax_least), most = all((int32_t)plan->amax_most);
    const __m256i first = all((int32_t)plan->first_cell);
    __m256i tiny = _mm256_setzero_si256();
    for (size_t i = 0; i < count; i += EIGHT) {
        const __m256i maxima = maxima_of(x, half, block + i);
        const __m256i inside = _mm256_min_epu32(_mm256_max_epu32(maxima, least), most);
        _mm256_storeu_si256((__m256i *)(t->amax + i), inside);
        _mm256_storeu_si256((__m256i *)(t->cell + i),
                            _mm256_sub_epi32(_mm256_srli_epi32(inside, 16), first));
        t->ordinary |= sign_bits(_mm256_cmpeq_epi32(inside, maxima)) << i;
        tiny = _mm256_or_si256(tiny, _mm256_cmpgt_epi32(all(LEAST_HALF), inside));
    }
    return !half || _mm256_testz_si256(tiny, tiny);
}

/// Settles what sixteen bits leave open, the blocks of bits `pending`; returns those still open.
static uint32_t settle(const struct mxv_block_plan *plan, const void *x, bool half, size_t block,
                       uint32_t pending, struct trial *t, uint8_t *scales)
{
    uint32_t open = 0;
    for (; pending != 0; pending &= pending - 1) {
        const size_t i = (size_t)__builtin_ctz(pending);
        const uint32_t bit = UINT32_C(1) << i;
        int choice = OPEN;
        if (t->ordinary & bit) {
            uint32_t words[SIZE];
            const struct sixteen s = load_block(x, half, block + i);
            _mm256_storeu_si256((__m256i *)words, s.low);
            _mm256_storeu_si256((__m256i *)(words + 8), s.high);
            choice = mxv_four_six_decide_avx2(plan, pair_of(plan, t, i), words);
        }
        t->choice[i] = choice == FOUR ? sizeof(__m256i) : 0;
        scales[i] = (uint8_t)(t->scales[i] >> (choice == FOUR ? 8 : 0));
        open |= choice == OPEN ? bit : 0;
    }
    return open;
}

/// Codes of two blocks from what their elements decode to, in the order of these; signs of words.
MXV_EACH_INLINE __m256i codes_of_two(__m256i decoded_a, __m256i decoded_b, __m256i signs, bool drop)
{
    const __m256i of_halves =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0));
    const __m256i halves =
        _mm256_packus_epi16(_mm256_srli_epi16(decoded_a, 11), _mm256_srli_epi16(decoded_b, 11));
    const __m256i codes = _mm256_shuffle_epi8(of_halves, halves);
    __m256i sign = _mm256_and_si256(_mm256_srli_epi16(signs, 4), _mm256_set1_epi8(8));
    if (drop)
        sign = _mm256_and_si256(sign, _mm256_cmpgt_epi8(codes, _mm256_setzero_si256()));
    return _mm256_or_si256(codes, sign);
}

/// Below 3 where an error is within one of a multiple of 1/4 that is not 0, else more, unsigned.
/// Ties are such multiples, and values are too.
MXV_EACH_INLINE __m256i beside_tie(__m256i error, enum mxv_four_six_err err)
{
    const __m256i a = err == MXV_FOUR_SIX_MSE ? _mm256_abs_epi16(error) : error;
    return _mm256_and_si256(_mm256_add_epi16(a, _mm256_set1_epi16(-1023)),
                            _mm256_set1_epi16(-0x8000 | 1023));
}

MXV_EACH_INLINE void exact_codes(const struct mxv_block_plan *plan, struct sixteen s, uint8_t scale,
                                 uint8_t *codes)
{
    __m256i least[7];
    load_thresholds(plan->rows[scale], 0, least);
    const __m256i a = e2m1_codes(s.low, least, plan->drop_negzero);
    const __m256i b = e2m1_codes(s.high, least, plan->drop_negzero);
    _mm_storeu_si128((__m128i *)codes, _mm256_castsi256_si128(pack(a, b, a, b)));
}

/// One of the two vectors of block i.
MXV_EACH_INLINE __m256i chosen(const __m256i pairs[][2], const struct trial *t, size_t i)
{
    return *(const __m256i *)((const char *)pairs[i] + t->choice[i]);
}

/// Codes of blocks i and i + 1 of *t, the first of which is number `block`, by their scales.
MXV_EACH_INLINE void choose_two(const struct mxv_block_plan *plan, const void *x, bool half,
                                size_t block, size_t i, enum mxv_four_six_err err,
                                const struct trial *t, const uint8_t scales[2], uint8_t *codes)
{
    const __m256i signs =
        _mm256_packs_epi16(signs_of(x, half, block), signs_of(x, half, block + 1));
    const __m256i both = codes_of_two(chosen(t->decoded, t, i), chosen(t->decoded, t, i + 1), signs,
                                      plan->drop_negzero);
    _mm256_storeu_si256((__m256i *)codes, in_order(both, half));
    const __m256i nearest = _mm256_min_epu16(beside_tie(chosen(t->error, t, i), err),
                                             beside_tie(chosen(t->error, t, i + 1), err));
    const __m256i close = _mm256_subs_epu16(_mm256_set1_epi16(3), nearest);
    if (!_mm256_testz_si256(close, close)) {
        exact_codes(plan, load_block(x, half, block), scales[0], codes);
        exact_codes(plan, load_block(x, half, block + 1), scales[1], codes + SIZE);
    }
}

/// `count` blocks, eight or a multiple, CHUNK at most; false, nothing written, as find_maxima().
MXV_EACH_INLINE bool chunk_codes(const struct mxv_block_plan *plan, const void *x, bool half,
                                 size_t block, size_t count, enum mxv_four_six_err err,
                                 uint8_t *scales, uint8_t *codes)
{
    struct trial t;
    t.ordinary = t.decided = 0;
    if (!find_maxima(plan, x, half, block, count, &t))
        return false;
    for (size_t i = 0; i < count; i += err == MXV_FOUR_SIX_MAE ? EIGHT : 4) {
        if (err == MXV_FOUR_SIX_MAE)
            try_sums(plan, x, half, block + i, i, &t);
        else if (err == MXV_FOUR_SIX_MSE)
            try_squares(plan, x, half, block + i, i, &t);
        else
            try_largest(plan, x, half, block + i, i, &t);
    }
    compare(count, err, &t, scales + block);
    const uint32_t all_bits = count == CHUNK ? UINT32_MAX : (UINT32_C(1) << count) - 1;
    const uint32_t pending = all_bits & ~(t.ordinary & t.decided);
    uint32_t open = settle(plan, x, half, block, pending, &t, scales + block);
#pragma GCC unroll 2
    for (size_t i = 0; i < count; i += 2)
        choose_two(plan, x, half, block + i, i, err, &t, scales + block + i,
                   codes + (block + i) * SIZE);
    for (; open != 0; open &= open - 1)
        mxv_block_scalar(plan, half ? NULL : x, half ? x : NULL,
                         block + (size_t)__builtin_ctz(open), scales, codes);
    return true;
}

/// At most CHUNK blocks as binary32 words; the last one is repeated up to a multiple of eight.
__attribute__((noinline)) static void widened_blocks(const struct mxv_block_plan *plan,
                                                     const void *x, bool half, size_t block,
                                                     size_t count, uint8_t *scales, uint8_t *codes)
{
    const enum mxv_four_six_err err = plan->policy.nvfp4.err;
    uint32_t words[CHUNK * SIZE];
    uint8_t scale[CHUNK], code[CHUNK * SIZE];
    const size_t filled = (count + EIGHT - 1) / EIGHT * EIGHT;
    for (size_t i = 0; i < filled; i++) {
        const struct sixteen s = load_block(x, half, block + (i < count ? i : count - 1));
        _mm256_storeu_si256((__m256i *)(words + i * SIZE), s.low);
        _mm256_storeu_si256((__m256i *)(words + i * SIZE + 8), s.high);
    }
    if (err == MXV_FOUR_SIX_MSE)
        chunk_codes(plan, words, false, 0, filled, MXV_FOUR_SIX_MSE, scale, code);
    else if (err == MXV_FOUR_SIX_MAE)
        chunk_codes(plan, words, false, 0, filled, MXV_FOUR_SIX_MAE, scale, code);
    else
        chunk_codes(plan, words, false, 0, filled, MXV_FOUR_SIX_ABS_MAX, scale, code);
    for (size_t i = 0; i < count; i++) {
        scales[block + i] = scale[i];
        for (size_t j = 0; j < SIZE; j++)
            codes[(block + i) * SIZE + j] = code[i * SIZE + j];
    }
}

MXV_EACH_INLINE void all_blocks(const struct mxv_block_plan *plan, const void *x, bool half,
                                size_t blocks, enum mxv_four_six_err err, uint8_t *scales,
                                uint8_t *codes)
{
    size_t i = 0, count;
    for (; blocks - i >= EIGHT; i += count) {
        count = blocks - i < CHUNK ? (blocks - i) / EIGHT * EIGHT : CHUNK;
        if (!chunk_codes(plan, x, half, i, count, err, scales, codes))
            widened_blocks(plan, x, half, i, count, scales, codes);
    }
    if (i < blocks)
        widened_blocks(plan, x, half, i, blocks - i, scales, codes);
}

void mxv_four_six_quantize_avx2(const struct mxv_block_plan *plan, const uint32_t *x,
                                const uint16_t *half, size_t blocks, uint8_t *scales,
                                uint8_t *codes)
{
    const enum mxv_four_six_err err = plan->policy.nvfp4.err;
    if (err == MXV_FOUR_SIX_MSE && half != NULL)
        all_blocks(plan, half, true, blocks, MXV_FOUR_SIX_MSE, scales, codes);
    else if (err == MXV_FOUR_SIX_MSE)
        all_blocks(plan, x, false, blocks, MXV_FOUR_SIX_MSE, scales, codes);
    else if (err == MXV_FOUR_SIX_MAE && half != NULL)
        all_blocks(plan, half, true, blocks, MXV_FOUR_SIX_MAE, scales, codes);
    else if (err == MXV_FOUR_SIX_MAE)
        all_blocks(plan, x, false, blocks, MXV_FOUR_SIX_MAE, scales, codes);
    else if (half != NULL)
        all_blocks(plan, half, true, blocks, MXV_FOUR_SIX_ABS_MAX, scales, codes);
    else
        all_blocks(plan, x, false, blocks, MXV_FOUR_SIX_ABS_MAX, scales, codes);
}
