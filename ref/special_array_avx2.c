// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ex2 unit, eight words a vector, two vectors at a time; rows of the table are read from memory
// one by one. See special_array_lanes.h. exhaustive.special_array fails if a word is wrong.
#define MXV_LANE_BYTES 32
#include "special_array_lanes.h"

#include <string.h>

enum { FIRST_ROW = __COUNTER__ + 1 };
#define MXV_EX2(c0, c1, c2) {FIRST_WORD(__COUNTER__ - FIRST_ROW, c0), SECOND_WORD(c1, c2)},
#define MXV_RCP(c0, c1, c2)
#define MXV_LG2(c0, c1, c2)
static const uint32_t rows[64][2] = {
#include "special_table.def"
};

// What the first loop leaves to the second, for words in pairs of vectors. Two loops, as the chain
// of operations of one word is longer than what a processor overlaps.
enum { PAIR = 16, CHUNK = 128 };
struct chunk {
    vi argument[CHUNK / 8];
    vi square[CHUNK / PAIR];
    uint32_t index[CHUNK]; // of rows; through memory, moving lanes to general registers takes more
};

MXV_INLINE vi load(const uint32_t *p)
{
    return (vi)_mm256_loadu_si256((const __m256i *)p);
}

MXV_INLINE void store(uint32_t *p, vi v)
{
    _mm256_storeu_si256((__m256i *)p, (__m256i)v);
}

MXV_INLINE void arguments(const struct numbers *n, const uint32_t *x, size_t pairs, struct chunk *c)
{
    for (size_t i = 0; i < pairs; i++) {
        const vi a = argument(n, load(x + PAIR * i)), b = argument(n, load(x + PAIR * i + 8));
        c->argument[2 * i] = a;
        c->argument[2 * i + 1] = b;
        c->square[i] = squares(n, a, b);
        store(c->index + PAIR * i, a >> 17 & n->row);
        store(c->index + PAIR * i + 8, b >> 17 & n->row);
    }
}

MXV_INLINE __m128i two_rows(const uint32_t *index)
{
    const __m128 one = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)rows[index[0]]));
    return _mm_castps_si128(_mm_loadh_pi(one, (const __m64 *)rows[index[1]]));
}

MXV_INLINE struct row_words look_up(const uint32_t *i)
{
    const __m256 ac = _mm256_castsi256_ps(_mm256_set_m128i(two_rows(i + 4), two_rows(i)));
    const __m256 bd = _mm256_castsi256_ps(_mm256_set_m128i(two_rows(i + 6), two_rows(i + 2)));
    struct row_words row;
    row.first = (vi)_mm256_shuffle_ps(ac, bd, 0x88);
    row.second = (vi)_mm256_shuffle_ps(ac, bd, 0xDD);
    return row;
}

// Words of arguments that are NaN, or 128 and more; `word` for the others.
MXV_INLINE vi specials(__m256 x, __m256 large, vi word)
{
    const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    const __m256i v =
        _mm256_blendv_epi8((__m256i)word, (__m256i)all(0x7F800000), _mm256_castps_si256(large));
    return (vi)_mm256_blendv_epi8(v, (__m256i)all(0x7FFFFFFF), _mm256_castps_si256(nan));
}

MXV_INLINE __m256 not_below_128(__m256 x)
{
    return _mm256_cmp_ps(x, _mm256_set1_ps(128.0f), _CMP_NLT_UQ);
}

MXV_INLINE void results(const struct numbers *n, const struct chunk *c, const uint32_t *x,
                        size_t pairs, uint32_t *out)
{
    for (size_t i = 0; i < pairs; i++, x += PAIR, out += PAIR) {
        const vi xa = load(x), xb = load(x + 8), square = c->square[i];
        const uint32_t *index = c->index + PAIR * i;
        vi a = combine(n, look_up(index), c->argument[2 * i], square & n->low);
        vi b = combine(n, look_up(index + 8), c->argument[2 * i + 1], (vi)((vu)square >> 16));
        const __m256 la = not_below_128((__m256)xa), lb = not_below_128((__m256)xb);
        if (_mm256_movemask_ps(_mm256_or_ps(la, lb))) {
            a = specials((__m256)xa, la, a);
            b = specials((__m256)xb, lb, b);
        }
        store(out, a);
        store(out + 8, b);
    }
}

void mxv_unit_ex2_avx2(const uint32_t *x, size_t n, uint32_t *out)
{
    const struct numbers numbers = prepare();
    struct chunk chunk;
    for (; n >= PAIR;) {
        const size_t pairs = (n < CHUNK ? n : CHUNK) / PAIR;
        arguments(&numbers, x, pairs, &chunk);
        results(&numbers, &chunk, x, pairs, out);
        x += PAIR * pairs;
        out += PAIR * pairs;
        n -= PAIR * pairs;
    }
    if (n > 0) {
        uint32_t words[PAIR] = {0};
        memcpy(words, x, n * sizeof *words);
        arguments(&numbers, words, 1, &chunk);
        results(&numbers, &chunk, words, 1, words);
        memcpy(out, words, n * sizeof *words);
    }
}
