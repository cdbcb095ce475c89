// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A T or ST step for 64 x 64 outputs: 256 threads of 4 x 4, decoded operands in shared memory
// [product][row or column]. One pass for the largest exponents, one for the truncated terms, one
// conversion (emulate_units.h). Steps that meet NaN or infinity are told by the first pass and
// done apart.
#ifndef MXV_EMULATE_TILE_CUH
#define MXV_EMULATE_TILE_CUH

#include "emulate.h"
#include "emulate_units.h"

enum { EMULATE_THREADS = 256, EDGE = 64, CHUNK = 32, STRIDE = EDGE + 4 };

typedef uint32_t operand_tile[CHUNK][STRIDE];

static __device__ __forceinline__ struct unit_step step_of(const struct mxv_emulate_model &m)
{
    return {m.frac, m.keep, m.zero_exp};
}

// How the codes of a side become operands.
struct reading {
    struct unit_layout layout;
    int up, bytes;
};

static __device__ __forceinline__ struct reading reading_of(const struct mxv_emulate_model &m,
                                                            bool side_b)
{
    const struct unit_layout f = unit_layout_of(m.element);
    const int up = m.frac - 2 * f.frac_bits;
    return {f, (up + (side_b ? 0 : 1)) / 2, m.element == MXV_F16 || m.element == MXV_BF16 ? 2 : 1};
}

static __device__ __forceinline__ uint32_t read_operand(const struct reading &r, const void *codes,
                                                        size_t i)
{
    const uint32_t w = r.bytes == 2 ? ((const uint16_t *)codes)[i] : ((const uint8_t *)codes)[i];
    return unit_decode(r.layout, w, r.up);
}

// CHUNK channels of `existing` rows from row-major codes, zeros beyond.
static __device__ __forceinline__ void load_channels(operand_tile &t, const struct reading &r,
                                                     const void *codes, size_t first, int d,
                                                     int channel, int existing)
{
    for (int i = threadIdx.x; i < EDGE * CHUNK; i += EMULATE_THREADS) {
        const int row = i / CHUNK, c = i % CHUNK;
        t[c][row] = row < existing ? read_operand(r, codes, (first + row) * d + channel + c)
                                   : unit_pack(0, MXV_OPERAND_ZERO);
    }
}

// The four words at `row`.
static __device__ __forceinline__ void take_four(uint32_t (&v)[4], const uint32_t *p)
{
    const uint4 w = *(const uint4 *)p;
    v[0] = w.x;
    v[1] = w.y;
    v[2] = w.z;
    v[3] = w.w;
}

static __device__ __noinline__ uint32_t special_step(int n, const uint32_t *a, const uint32_t *b,
                                                     uint32_t c)
{
    return unit_special_step(n, a, b, STRIDE, c);
}

// Largest raw exponent sums of L products.
template <int L>
static __device__ __forceinline__ void largest_exponents(const uint32_t *a, const uint32_t *b,
                                                         int (&top)[4][4])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        top[i / 4][i % 4] = UNIT_NO_TOP;
#pragma unroll 4
    for (int k = 0; k < L; k++) {
        uint32_t x[4], y[4];
        take_four(x, a + k * STRIDE);
        take_four(y, b + k * STRIDE);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                top[i][j] = unit_top(top[i][j], unit_exp(x[i]), unit_exp(y[j]));
    }
}

// Sums of up to 16 terms at a time.
template <int N>
static __device__ __forceinline__ void add_terms(const uint32_t *a, const uint32_t *b,
                                                 const int (&top)[4][4], int32_t (&sum)[4][4])
{
#pragma unroll 4
    for (int k = 0; k < N; k++) {
        uint32_t x[4], y[4];
        take_four(x, a + k * STRIDE);
        take_four(y, b + k * STRIDE);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] += unit_term(unit_sig(x[i]), unit_sig(y[j]),
                                       top[i][j] - unit_exp(x[i]) - unit_exp(y[j]));
    }
}

// One step of L products at product k of the tiles, on this thread's outputs c. scale_a, scale_b:
// exponents added to those of the products.
template <int L>
static __device__ __forceinline__ void
multiply_step(const operand_tile &ta, const operand_tile &tb, int k, const struct unit_step &u,
              const int (&scale_a)[4], const int (&scale_b)[4], uint32_t (&c)[4][4])
{
    const uint32_t *a = &ta[k][threadIdx.x / 16 * 4], *b = &tb[k][threadIdx.x % 16 * 4];
    int top[4][4];
    int32_t sum[L > 16 ? 2 : 1][4][4] = {};
    unsigned special = 0;
    largest_exponents<L>(a, b, top);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int scale = scale_a[i] + scale_b[j];
            special |= (unsigned)unit_special(top[i][j]) << (4 * i + j);
            top[i][j] = max(top[i][j], unit_acc_exp(c[i][j], u.zero_exp) - scale);
        }
#pragma unroll
    for (int h = 0; h < (L > 16 ? 2 : 1); h++)
        add_terms<(L > 16 ? 16 : L)>(a + 16 * h * STRIDE, b + 16 * h * STRIDE, top, sum[h]);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int64_t s = (int64_t)sum[0][i][j] + (L > 16 ? sum[L > 16 ? 1 : 0][i][j] : 0);
            if (special >> (4 * i + j) & 1)
                c[i][j] = special_step(L, a + i, b + j, c[i][j]);
            else
                c[i][j] = unit_finish(u, top[i][j] + scale_a[i] + scale_b[j], s, c[i][j]);
        }
}

#endif
