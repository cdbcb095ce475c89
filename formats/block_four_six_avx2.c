// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 "four over six", eight blocks at a time, sixteen elements a register, integers only. See
// block_plan_four_six.c for the plan, four_six.c for the definition.
//
// Both candidates of a block are tried in 16-bit arithmetic: y = |x| over scale in units of 2^-12,
// within 1.5 units. An error |y - decoded| is the distance to the nearest of the values 0, .5, 1,
// 1.5, 2, 3, 4, 6, so it is off by no more than y, whatever way y is rounded; sums decide between
// the candidates where they differ by more than what that makes. Else the same is done with 22
// fraction bits (block_four_six_fine_avx2.c); what is still open goes through the scalar function.
// Codes are taken from y,
// unless some y of the block is near a multiple of 1/4; then from the plan's thresholds.
// unit.block_array fails if this file is wrong.
#include "block_array_lanes.h"

enum { EIGHT = 8, CHUNK = 32, SIZE = 16, FOUR = 1, OPEN = 2 };

/// Both candidates of a chunk of blocks. Bits are those of blocks. Each loop of chunk_codes() runs
/// over all of them, as one block alone would wait for its maximum, its pair and its choice.
struct trial {
    __m256i decoded[CHUNK][2], error[CHUNK][2]; ///< elements in units of 2^-12, y less these
    const struct mxv_four_six_pair *pair[CHUNK];
    uint32_t amax[CHUNK]; ///< within the plan's range
    uint32_t ordinary;    ///< they were
    uint32_t four;        ///< four errs less
    uint32_t decided;     ///< the errors are further apart than they can be off
};

/// A block's words.
struct sixteen {
    __m256i low, high;
};

MXV_EACH_INLINE struct sixteen load_block(const void *x, bool half, size_t block)
{
    const uint32_t *words = half ? NULL : x;
    const uint16_t *halves = half ? x : NULL;
    struct sixteen s;
    s.low = load(words, halves, block * SIZE);
    s.high = load(words, halves, block * SIZE + 8);
    return s;
}

/// |x| in units of 2^(top_shift - 158), below 2^16, one more than its integer part.
MXV_EACH_INLINE __m256i aligned(struct sixteen s, uint32_t top_shift)
{
    const __m256i top = all((int32_t)0x80000000), field = all((int32_t)top_shift);
    const __m256i low = _mm256_or_si256(_mm256_slli_epi32(s.low, 8), top);
    const __m256i high = _mm256_or_si256(_mm256_slli_epi32(s.high, 8), top);
    const __m256i low_field = _mm256_srli_epi32(_mm256_slli_epi32(s.low, 1), 24);
    const __m256i high_field = _mm256_srli_epi32(_mm256_slli_epi32(s.high, 1), 24);
    const __m256i a = _mm256_srlv_epi32(low, _mm256_sub_epi32(field, low_field));
    const __m256i b = _mm256_srlv_epi32(high, _mm256_sub_epi32(field, high_field));
    return _mm256_add_epi16(_mm256_packus_epi32(a, b), _mm256_set1_epi16(1));
}

/// The value nearest to y: by its quarters up to 15, one step more from 5 on.
MXV_EACH_INLINE __m256i nearest_value(__m256i y)
{
    const __m256i values = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 8, 8, 16, 16, 24, 24, 32, 32, 32, 48, 48, 48, 48, 64, 64));
    const __m256i quarters = _mm256_min_epu16(_mm256_srli_epi16(y, 2), _mm256_set1_epi16(0x0FFF));
    const __m256i value =
        _mm256_shuffle_epi8(values, _mm256_or_si256(quarters, _mm256_set1_epi16(0x0080)));
    const __m256i five = _mm256_cmpgt_epi16(y, _mm256_set1_epi16(5 * 4096 - 1));
    return _mm256_add_epi16(value, _mm256_and_si256(five, _mm256_set1_epi16(0x2000)));
}

/// Terms of a block's error, to be added, or compared under abs_max.
MXV_EACH_INLINE __m256i error_terms(__m256i d, enum mxv_four_six_err err)
{
    if (err == MXV_FOUR_SIX_MSE)
        return _mm256_madd_epi16(d, d);
    const __m256i a = _mm256_abs_epi16(d);
    if (err == MXV_FOUR_SIX_MAE)
        return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
    return _mm256_max_epu32(_mm256_and_si256(a, all(0xFFFF)), _mm256_srli_epi32(a, 16));
}

MXV_EACH_INLINE __m256i join(__m256i a, __m256i b, bool largest_wanted)
{
    return largest_wanted ? _mm256_max_epu32(a, b) : _mm256_add_epi32(a, b);
}

/// Sum or maximum of each of eight registers.
MXV_EACH_INLINE __m256i join_each(const __m256i m[8], bool most)
{
    __m256i pair[4], four[2];
    for (int i = 0; i < 4; i++)
        pair[i] = join(_mm256_unpacklo_epi32(m[2 * i], m[2 * i + 1]),
                       _mm256_unpackhi_epi32(m[2 * i], m[2 * i + 1]), most);
    for (int i = 0; i < 2; i++)
        four[i] = join(_mm256_unpacklo_epi64(pair[2 * i], pair[2 * i + 1]),
                       _mm256_unpackhi_epi64(pair[2 * i], pair[2 * i + 1]), most);
    return join(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                _mm256_permute2x128_si256(four[0], four[1], 0x31), most);
}

MXV_EACH_INLINE const struct mxv_four_six_pair *pair_of(const struct mxv_block_plan *plan,
                                                        uint32_t amax)
{
    const size_t n = plan->cell[(amax >> 16) - plan->first_cell];
    return &plan->pairs[n + ((plan->pairs[n].next_word - 1 - amax) >> 31)]; // words are below 2^31
}

/// How far an error of weight 1 can be from the true one. Each |y - decoded| is off by at most u =
/// 1.5: a largest one by u, a sum by 16 u, a sum s of squares by 2 u sum |y - decoded| + 16 u^2 <=
/// 8 u sqrt(s) + 16 u^2, where sqrt(s) <= (s / t + t) / 2 for any t; t = 2^12 gives 6 s / 2^12,
/// added in compare_four(), and what is returned here.
MXV_EACH_INLINE int slack_of(enum mxv_four_six_err err)
{
    return err == MXV_FOUR_SIX_MSE ? 6 * 4097 + 36 : err == MXV_FOUR_SIX_MAE ? 24 : 2;
}

MXV_EACH_INLINE unsigned sign_bits(__m256i a)
{
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(a));
}

/// Errors of both candidates of four blocks, side by side, weighted and compared.
MXV_EACH_INLINE void compare_four(__m256i error, enum mxv_four_six_err err, size_t from,
                                  struct trial *t)
{
    __m128i w[4];
    for (size_t i = 0; i < 4; i++)
        w[i] = _mm_loadl_epi64((const __m128i *)t->pair[from + i]->weight);
    const __m256i weight =
        _mm256_set_m128i(_mm_unpacklo_epi64(w[2], w[3]), _mm_unpacklo_epi64(w[0], w[1]));
    const __m256i weight_four = _mm256_srli_epi64(weight, 32);
    const __m256i six = _mm256_mul_epu32(error, weight);
    const __m256i four = _mm256_mul_epu32(_mm256_srli_epi64(error, 32), weight_four);
    __m256i slack = _mm256_mul_epu32(_mm256_add_epi32(weight, weight_four), all(slack_of(err)));
    if (err == MXV_FOUR_SIX_MSE) { // 6 / 2^12 of both, rounded up
        const __m256i both = _mm256_add_epi64(six, four);
        slack = _mm256_add_epi64(slack, _mm256_srli_epi64(both, 9));
    }
    const __m256i more = _mm256_sub_epi64(six, four), less = _mm256_sub_epi64(four, six);
    const __m256i decided =
        _mm256_or_si256(_mm256_cmpgt_epi64(more, slack), _mm256_cmpgt_epi64(less, slack));
    t->four |= sign_bits(less) << from;
    t->decided |= sign_bits(decided) << from;
}

/// Blocks from .. from + 3 of *t, the first of which is number `block`.
MXV_EACH_INLINE void try_four(const struct mxv_block_plan *plan, const void *x, bool half,
                              size_t block, size_t from, enum mxv_four_six_err err, struct trial *t)
{
    __m256i terms[EIGHT];
#pragma GCC unroll 4
    for (size_t i = from; i < from + 4; i++) {
        const struct mxv_four_six_pair *pair = pair_of(plan, t->amax[i]);
        const __m256i a = aligned(load_block(x, half, block + i), pair->top_shift);
        t->pair[i] = pair;
        for (size_t c = 0; c < 2; c++) {
            const __m256i factor = _mm256_set1_epi16((short)pair->coarse[c]);
            const __m256i y = _mm256_mulhi_epu16(a, factor), value = nearest_value(y);
            const __m256i d = _mm256_sub_epi16(y, value);
            t->decoded[i][c] = value;
            t->error[i][c] = d;
            terms[2 * (i - from) + c] = error_terms(d, err);
        }
    }
    compare_four(join_each(terms, err == MXV_FOUR_SIX_ABS_MAX), err, from, t);
}

/// Maxima of blocks from .. from + 7; those outside of the range are cut to it, and done again.
MXV_EACH_INLINE void maxima_of_eight(const struct mxv_block_plan *plan, const void *x, bool half,
                                     size_t block, size_t from, struct trial *t)
{
    __m256i m[EIGHT];
    for (size_t i = 0; i < EIGHT; i++) {
        const struct sixteen s = load_block(x, half, block + from + i);
        m[i] = _mm256_max_epu32(magnitude(s.low), magnitude(s.high));
    }
    const __m256i maxima = largest_of_eight(m);
    const __m256i inside = _mm256_min_epu32(_mm256_max_epu32(maxima, all((int)plan->amax_least)),
                                            all((int)plan->amax_most));
    _mm256_storeu_si256((__m256i *)(t->amax + from), inside);
    t->ordinary |=
        (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(inside, maxima)))
        << from;
}

/// Settles what sixteen bits leave open, the blocks of bits `pending`; returns those still open.
static uint32_t settle(const void *x, bool half, size_t block, uint32_t pending,
                       enum mxv_four_six_err err, struct trial *t)
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
            choice = mxv_four_six_decide_avx2(t->pair[i], words, err);
        }
        t->four = choice == FOUR ? t->four | bit : t->four & ~bit;
        open |= choice == OPEN ? bit : 0;
    }
    return open;
}

/// Codes of two blocks from what their elements decode to, signs from the words.
MXV_EACH_INLINE __m256i codes_of_two(__m256i decoded_a, __m256i decoded_b, struct sixteen a,
                                     struct sixteen b, bool drop)
{
    const __m256i of_halves =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7, 0, 0, 0));
    const __m256i halves =
        _mm256_packus_epi16(_mm256_srli_epi16(decoded_a, 11), _mm256_srli_epi16(decoded_b, 11));
    const __m256i codes = _mm256_shuffle_epi8(of_halves, halves);
    const __m256i signs =
        _mm256_packs_epi16(_mm256_packs_epi32(a.low, a.high), _mm256_packs_epi32(b.low, b.high));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi16(signs, 4), _mm256_set1_epi8(8));
    if (drop)
        sign = _mm256_and_si256(sign, _mm256_cmpgt_epi8(codes, _mm256_setzero_si256()));
    return _mm256_permutevar8x32_epi32(_mm256_or_si256(codes, sign),
                                       _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// Distance, of 1023 at most, of an error from a multiple of 1/4 that is not 0, plus one. Ties are
/// such multiples, and values are too.
MXV_EACH_INLINE __m256i from_tie(__m256i error)
{
    const __m256i far = _mm256_max_epi16(_mm256_abs_epi16(error), _mm256_set1_epi16(512));
    return _mm256_and_si256(_mm256_add_epi16(far, _mm256_set1_epi16(1)), _mm256_set1_epi16(1023));
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

/// Scales and codes of blocks i and i + 1 of *t.
MXV_EACH_INLINE void choose_two(const struct mxv_block_plan *plan, const void *x, bool half,
                                size_t block, size_t i, const struct trial *t, uint8_t *scales,
                                uint8_t *codes)
{
    const size_t c[2] = {t->four >> i & 1, t->four >> (i + 1) & 1}, at = block + i;
    const struct sixteen a = load_block(x, half, at), b = load_block(x, half, at + 1);
    scales[at] = t->pair[i]->scale[c[0]];
    scales[at + 1] = t->pair[i + 1]->scale[c[1]];
    _mm256_storeu_si256(
        (__m256i *)(codes + at * SIZE),
        codes_of_two(t->decoded[i][c[0]], t->decoded[i + 1][c[1]], a, b, plan->drop_negzero));
    const __m256i nearest =
        _mm256_min_epi16(from_tie(t->error[i][c[0]]), from_tie(t->error[i + 1][c[1]]));
    const __m256i close = _mm256_cmpgt_epi16(_mm256_set1_epi16(3), nearest);
    if (!_mm256_testz_si256(close, close)) {
        exact_codes(plan, a, scales[at], codes + at * SIZE);
        exact_codes(plan, b, scales[at + 1], codes + (at + 1) * SIZE);
    }
}

/// `count` blocks, eight or a multiple, CHUNK at most.
MXV_EACH_INLINE void chunk_codes(const struct mxv_block_plan *plan, const void *x, bool half,
                                 size_t block, size_t count, enum mxv_four_six_err err,
                                 uint8_t *scales, uint8_t *codes)
{
    struct trial t;
    t.ordinary = t.four = t.decided = 0;
    for (size_t i = 0; i < count; i += EIGHT)
        maxima_of_eight(plan, x, half, block, i, &t);
    for (size_t i = 0; i < count; i += 4)
        try_four(plan, x, half, block, i, err, &t);
    const uint32_t all_bits = count == CHUNK ? UINT32_MAX : (UINT32_C(1) << count) - 1;
    uint32_t open = settle(x, half, block, all_bits & ~(t.ordinary & t.decided), err, &t);
    for (size_t i = 0; i < count; i += 2)
        choose_two(plan, x, half, block, i, &t, scales, codes);
    for (; open != 0; open &= open - 1)
        mxv_block_scalar(plan, half ? NULL : x, half ? x : NULL,
                         block + (size_t)__builtin_ctz(open), scales, codes);
}

/// Less than eight blocks; the last one is repeated.
MXV_EACH_INLINE void last_blocks(const struct mxv_block_plan *plan, const void *x, bool half,
                                 size_t block, size_t count, enum mxv_four_six_err err,
                                 uint8_t *scales, uint8_t *codes)
{
    uint32_t words[EIGHT * SIZE];
    uint8_t scale[EIGHT], code[EIGHT * SIZE];
    for (size_t i = 0; i < EIGHT; i++) {
        const struct sixteen s = load_block(x, half, block + (i < count ? i : count - 1));
        _mm256_storeu_si256((__m256i *)(words + i * SIZE), s.low);
        _mm256_storeu_si256((__m256i *)(words + i * SIZE + 8), s.high);
    }
    chunk_codes(plan, words, false, 0, EIGHT, err, scale, code);
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
    size_t i = 0;
    while (blocks - i >= EIGHT) {
        const size_t count = blocks - i < CHUNK ? (blocks - i) / EIGHT * EIGHT : CHUNK;
        chunk_codes(plan, x, half, i, count, err, scales, codes);
        i += count;
    }
    if (i < blocks)
        last_blocks(plan, x, half, i, blocks - i, err, scales, codes);
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
