// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Lines of 32-bit words laid side by side: the transposition by which columns are packed. Moves
// words, computes nothing. unit.matrix_unit_tile fails if this file is wrong.
#ifndef MXV_REF_MATRIX_UNIT_LANES_TURN_H
#define MXV_REF_MATRIX_UNIT_LANES_TURN_H

#include "matrix_unit_lanes.h"

enum { TURN = 8 };

#if MXV_LANE_BYTES >= 32
// v[i] becomes word i of all eight.
MXV_INLINE void turn_words(__m256i v[TURN])
{
    __m256i w[TURN];
    for (int i = 0; i < TURN; i += 2) {
        w[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
        w[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) { // words 2i + j and 4 + 2i + j of lines 0 to 3, 4 to 7
            const __m256i a = w[i], b = w[i + 2], c = w[i + 4], d = w[i + 6];
            const __m256i front = j ? _mm256_unpackhi_epi64(a, b) : _mm256_unpacklo_epi64(a, b);
            const __m256i back = j ? _mm256_unpackhi_epi64(c, d) : _mm256_unpacklo_epi64(c, d);
            v[2 * i + j] = _mm256_permute2x128_si256(front, back, 0x20);
            v[4 + 2 * i + j] = _mm256_permute2x128_si256(front, back, 0x31);
        }
}
#endif

// to[i * stride + c] = line[c][i] for c < count (a multiple of 4, of TURN with AVX2), i < n rounded
// up to a multiple of TURN.
MXV_INLINE void turn_lines(const uint32_t (*line)[MXV_MMA_CHUNK], const size_t count, size_t n,
                           uint32_t *to, const size_t stride)
{
#if MXV_LANE_BYTES >= 32
    for (size_t c = 0; c < count; c += TURN)
        for (size_t i = 0; i < n; i += TURN) {
            __m256i v[TURN];
            for (size_t u = 0; u < TURN; u++)
                v[u] = _mm256_loadu_si256((const __m256i *)(const void *)(line[c + u] + i));
            turn_words(v);
            for (size_t u = 0; u < TURN; u++)
                _mm256_storeu_si256((__m256i *)(void *)(to + (i + u) * stride + c), v[u]);
        }
#else
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < n; i++)
            to[i * stride + c] = line[c][i];
#endif
}

#endif
