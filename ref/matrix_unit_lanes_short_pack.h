// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of a span as matrix_unit_lanes_short.h reads them: two products of k side by
// side in each 32-bit lane, magnitudes of significands, signs, biased exponents. Sixteen operands
// of a line are taken at a time, columns eight by eight through a transposition of 32-bit lanes;
// 256-bit instructions at AVX-512 too. Exact: nothing is rounded. A row has one of four patterns of
// signs for two products; columns are held with their signs times each of the four, so that the
// sign of a product is found by an address.
// unit.matrix_unit_tile and exhaustive.matrix_unit_levels fail if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_SHORT_PACK_H
#define MXV_REF_MATRIX_UNIT_LANES_SHORT_PACK_H

#include "matrix_unit_lanes_acc.h"
#include "matrix_unit_lanes_turn.h"
#include "matrix_unit_lanes_words.h"

enum {
    SHORT_PANEL = 128,
    PAIRS = MXV_MMA_CHUNK / 2,
    SLICE = 16,   // pairs of a row that lie together: a step, or two
    PATTERNS = 4, // bit 0: the first operand of a pair is negative, bit 1: the second
    GROUP_COLUMNS = TURN,
    GROUP_OPERANDS = 16 // of one line
};

// A slice of a row. exp: the exponents of two products, twice. sign: where the pattern's signs lie
// in a unit.
struct short_slice {
    uint32_t sig[SLICE], sign[SLICE], exp[SLICE];
};

// Rows slice by slice, in the order in which they are read.
struct short_rows {
    _Alignas(64) struct short_slice slice[PAIRS / SLICE][SHORT_PANEL];
    bool special[SHORT_PANEL];
};

// Two products of LANES columns, by vector. exp: the order in which scale_words() takes lanes.
struct short_unit {
    uint32_t sig[2][VECTOR], sign[PATTERNS][2][VECTOR];
    uint16_t exp[LANES];
};

struct short_columns {
    _Alignas(64) struct short_unit unit[PAIRS];
    bool special[LANES], any_special;
};

// Sixteen operands of a line, two words a lane, pairs in the order 0 1 4 5 2 3 6 7. exp: biased, 0
// for zeros, anything for NaN and infinities.
struct short_part {
    __m256i sig, exp;
};

// most: the largest exponents so far.
MXV_INLINE struct short_part short_load(const struct mxv_operand *o, int bias, __m256i *most)
{
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)o);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(o + 8));
    const __m256i sig = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_slli_epi32(low, 16), 16),
                                           _mm256_srai_epi32(_mm256_slli_epi32(high, 16), 16));
    const __m256i exp = _mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16));
    const __m256i zero = _mm256_cmpeq_epi16(sig, _mm256_setzero_si256());
    *most = _mm256_max_epi16(*most, exp);
    return (struct short_part){
        sig, _mm256_andnot_si256(zero, _mm256_add_epi16(exp, _mm256_set1_epi16((int16_t)bias)))};
}

MXV_INLINE bool short_special(__m256i most)
{
    const __m256i last = _mm256_set1_epi16(MXV_OPERAND_INF - 1);
    return _mm256_movemask_epi8(_mm256_cmpgt_epi16(most, last)) != 0;
}

// The operands of a line in a span, with zeros up to whole instructions.
static const struct mxv_operand *short_line(const struct mxv_mma_span *s,
                                            const struct mxv_operand *line,
                                            struct mxv_operand room[MXV_MMA_CHUNK])
{
    line += s->at;
    if (s->n == s->padded)
        return line;
    memcpy(room, line, s->n * sizeof *line);
    for (size_t i = s->n; i < s->padded; i++)
        room[i] = (struct mxv_operand){0, MXV_OPERAND_ZERO};
    return room;
}

MXV_INLINE void short_store(void *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

// Row `index` of the tile as row r of the panel.
static void short_pack_row(const struct mxv_mma_tile *t, const struct mxv_mma_span *s, size_t index,
                           size_t r, struct short_rows *out)
{
    const __m256i twice = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 0, 2, 4, 6, 4, 6, 8, 10, 8, 10, 12, 14, 12, 14));
    const __m256i places = _mm256_set1_epi32(2 * VECTOR | 4 * VECTOR << 16);
    struct mxv_operand room[MXV_MMA_CHUNK];
    const struct mxv_operand *const o = short_line(s, t->a + index * t->k, room);
    __m256i most = _mm256_setzero_si256();
    for (size_t i = 0; i < s->padded; i += GROUP_OPERANDS) {
        const struct short_part part = short_load(o + i, BIAS_A, &most);
        const __m256i sig = _mm256_permute4x64_epi64(part.sig, 0xd8);
        const __m256i exp = _mm256_permute4x64_epi64(part.exp, 0xd8);
        struct short_slice *const slice = &out->slice[i / 2 / SLICE][r];
        const size_t at = i / 2 % SLICE;
        short_store(slice->sig + at, _mm256_abs_epi16(sig));
        short_store(slice->sign + at, _mm256_madd_epi16(_mm256_srli_epi16(sig, 15), places));
        short_store(slice->exp + at, _mm256_shuffle_epi8(exp, twice));
    }
    out->special[r] = short_special(most);
}

// Significands and signs of eight columns of a unit, from `column` of vector v on.
MXV_INLINE void short_store_unit(struct short_unit *out, size_t v, size_t column, __m256i sig,
                                 int shift)
{
    const __m256i sign = _mm256_or_si256(_mm256_srai_epi16(sig, 15), _mm256_set1_epi16(1));
    short_store(out->sig[v] + column, _mm256_slli_epi16(_mm256_abs_epi16(sig), shift));
    for (int p = 0; p < PATTERNS; p++) {
        const int first = p & 1 ? 0xffff : 1, second = p & 2 ? 0xffff : 1;
        const __m256i flip = _mm256_set1_epi32((int32_t)((uint32_t)second << 16 | (uint32_t)first));
        short_store(out->sign[p][v] + column, _mm256_sign_epi16(sign, flip));
    }
}

// Columns [column, column + 8) of both vectors; line: those of the span by lane.
static void short_pack_group(const struct mxv_mma_span *s, const struct mxv_operand *const *line,
                             int shift, size_t column, struct short_columns *out)
{
    static const uint8_t order[GROUP_COLUMNS] = {0, 1, 4, 5, 2, 3, 6, 7};
    __m256i most[2][GROUP_COLUMNS] = {{{0}}};
    for (size_t i = 0; i < s->padded; i += GROUP_OPERANDS) {
        struct short_unit *const unit = out->unit + i / 2;
        __m256i exp[2][GROUP_COLUMNS];
        for (size_t v = 0; v < 2; v++) {
            __m256i sig[GROUP_COLUMNS];
            for (size_t c = 0; c < GROUP_COLUMNS; c++) {
                const struct short_part part =
                    short_load(line[v * VECTOR + column + c] + i, BIAS_B, &most[v][c]);
                sig[c] = part.sig;
                exp[v][c] = part.exp;
            }
            turn_words(sig);
            turn_words(exp[v]);
            for (size_t p = 0; p < GROUP_COLUMNS; p++)
                short_store_unit(unit + order[p], v, column, sig[p], shift);
        }
        for (size_t p = 0; p < GROUP_COLUMNS; p++)
            short_store(unit[order[p]].exp + 2 * column, _mm256_packus_epi16(exp[0][p], exp[1][p]));
    }
    for (size_t v = 0; v < 2; v++)
        for (size_t c = 0; c < GROUP_COLUMNS; c++)
            out->special[v * VECTOR + column + c] = short_special(most[v][c]);
}

// Columns [first, first + lanes), the last of them in the place of absent ones; shift: left shift
// of their significands.
static void short_pack_columns(const struct mxv_mma_tile *t, const struct mxv_mma_span *s,
                               size_t first, size_t lanes, int shift, struct short_columns *out)
{
    struct mxv_operand room[LANES][MXV_MMA_CHUNK];
    const struct mxv_operand *line[LANES];
    for (size_t j = 0; j < LANES; j++)
        line[j] = short_line(s, t->b + (first + (j < lanes ? j : lanes - 1)) * t->k, room[j]);
    for (size_t column = 0; column < VECTOR; column += GROUP_COLUMNS)
        short_pack_group(s, line, shift, column, out);
    out->any_special = false;
    for (size_t j = 0; j < lanes; j++)
        out->any_special |= out->special[j];
}

#endif
