// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// FP8 products of the portable engine (attention.cuh). On sm_90 mma.sync of FP8 is another unit
// (docs/numerics.md), so codes are multiplied by wgmma: a block's 8 warps are two warpgroups of 64
// rows, whose accumulators lie in registers as those of mma.sync do. Every warp of a block takes
// part, with rows of zeros where it has none. Compiled for sm_90a alone.
//
// Rows of codes lie in shared memory as core matrices without swizzle (PTX ISA, wgmma, "Canonical
// layouts"): 16 bytes of 8 rows are one below the other, then come the next 16 bytes of these
// rows, then the next 8 rows. A is taken from registers: Q straight from memory, weights as
// pack_weights leaves them. gpu/cuda_verify compares every word with the emulation.
#ifndef MXV_GPU_FP8_SM90_CUH
#define MXV_GPU_FP8_SM90_CUH

#include "tile.cuh"
#include "wgmma.cuh"

enum { CODE_COLUMNS = 32 }; // of one instruction, and channels or keys of its chain

// Bytes of 8 rows of `pieces` times 16 bytes.
static __host__ __device__ constexpr int code_group(int pieces)
{
    return pieces * 128;
}

// `rows` rows of `pieces` pieces; of `existing` rows the first `filled` pieces come from src, whose
// rows are `stride` bytes apart; the others are zero.
static __device__ __forceinline__ void load_codes(uint32_t dst, const uint8_t *src, size_t stride,
                                                  int rows, int pieces, int existing, int filled)
{
    for (int i = threadIdx.x; i < rows * pieces; i += MXV_GPU_THREADS) {
        const int row = i / pieces, piece = i % pieces;
        const bool valid = row < existing && piece < filled;
        copy_async(dst + row / 8 * code_group(pieces) + piece * 128 + row % 8 * 16,
                   src + (valid ? row * stride + piece * 16 : 0), valid);
    }
}

// Starts the copy of a chunk of V in E4M3: its keys from `key` on, `inside` columns into a key
// tile.
template <int D>
static __device__ __forceinline__ void fetch_value_codes(const struct mxv_gpu_call &call,
                                                         const struct place &w, int inside, int key,
                                                         uint32_t buffer)
{
    const uint8_t *v = (const uint8_t *)call.v + (size_t)w.kv_head * D * call.v_places +
                       call.v_first[w.sequence] + key;
    const int keys = max(0, min(call.tile_n - inside, w.lk - key));
    load_codes(buffer, keys ? v : (const uint8_t *)call.v, call.v_places, D, MXV_GPU_CHUNK / 16, D,
               (keys + 15) / 16);
}

// Rows of codes of Q that this thread gives to an operand; NULL: zeros.
struct code_rows {
    const uint8_t *row[2];
};

// 32 channels from channel 32 `step` on.
static __device__ __forceinline__ void load_a_codes(uint32_t (&a)[4], const struct code_rows &q,
                                                    int step)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const uint32_t *p =
            (const uint32_t *)(q.row[h] ? q.row[h] + step * 32 + threadIdx.x % 4 * 4 : NULL);
        a[h] = p ? p[0] : 0;
        a[2 + h] = p ? p[4] : 0;
    }
}

#define MXV_WGMMA_CODES(TYPES)                                                                     \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0;\n"                                         \
                 "wgmma.mma_async.sync.aligned.m64n32k32.f32." TYPES                               \
                 " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, "   \
                 "%20, p,1,1;}"                                                                    \
                 : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]),      \
                   "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]),      \
                   "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]),      \
                   "+f"(c[3][3])                                                                   \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(accumulate))

// c = a b + (accumulate ? c : 0) for 32 rows of codes at `rows`, whose groups are `group` bytes
// apart.
template <int UNIT>
static __device__ __forceinline__ void multiply_codes(float (*c)[4], uint32_t a0, uint32_t a1,
                                                      uint32_t a2, uint32_t a3, uint32_t rows,
                                                      int group, int accumulate)
{
    const uint64_t b = operand(operand_at(rows, 128), group / 16);
    if constexpr (UNIT == MXV_UNIT_E5M2)
        MXV_WGMMA_CODES("e5m2.e5m2");
    else
        MXV_WGMMA_CODES("e4m3.e4m3");
}

// Waits for the products; the sums in c are read after it alone.
template <int N> static __device__ __forceinline__ void finish_products(float (*c)[4])
{
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int t = 0; t < N; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            asm volatile("" : "+f"(c[t][e])::"memory");
}

// One instruction's channels of MXV_GPU_CHUNK keys at k.
template <int UNIT, int D>
static __device__ __forceinline__ void multiply_chunk(float (*s)[4], const struct code_rows &q,
                                                      uint32_t k, int step, int accumulate)
{
    constexpr int GROUP = code_group(D / 16);
    uint32_t a[4];
    load_a_codes(a, q, step);
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < MXV_GPU_CHUNK / CODE_COLUMNS; i++)
        multiply_codes<UNIT>(s + i * CODE_COLUMNS / 8, a[0], a[1], a[2], a[3],
                             k + i * CODE_COLUMNS / 8 * GROUP + step * 256, GROUP, accumulate);
    finish_products<MXV_GPU_CHUNK / 8>(s);
}

// Raw scores of a chunk: a chain in ascending channels.
template <int UNIT, int D>
static __device__ __forceinline__ void score_chunk_codes(float (*s)[4], const struct code_rows &q,
                                                         uint32_t k)
{
#pragma unroll 1
    for (int step = 0; step < D / 32; step++)
        multiply_chunk<UNIT, D>(s, q, k, step, step > 0);
}

// Core zone (docs/kernels/dma.md 3): each 32 channels from zero, scaled by one fused
// multiply-add. q_scale, k_scale: of this thread's rows (NULL: none) and of the chunk's `keys`
// keys.
template <int D>
static __device__ __forceinline__ void score_chunk_core(float (*s)[4], const struct code_rows &q,
                                                        const float *const (&q_scale)[2],
                                                        uint32_t k, const float *k_scale, int keys)
{
#pragma unroll
    for (int t = 0; t < MXV_GPU_CHUNK / 8; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            s[t][e] = 0;
#pragma unroll 1
    for (int step = 0; step < D / 32; step++) {
        float product[MXV_GPU_CHUNK / 8][4];
        multiply_chunk<MXV_UNIT_E4M3, D>(product, q, k, step, 0);
#pragma unroll
        for (int t = 0; t < MXV_GPU_CHUNK / 8; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int key = t * 8 + threadIdx.x % 4 * 2 + e % 2;
                const float by_row = q_scale[e / 2] ? q_scale[e / 2][step] : 0;
                const float by_key = key < keys ? k_scale[key * (D / 32) + step] : 0;
                s[t][e] = __fmaf_rn(product[t][e], __fmul_rn(by_row, by_key), s[t][e]);
            }
    }
}

// O += P V over `keys` keys (32 or more), in ascending keys. p: weights of the chunk; v: rows are
// channels, each with the chunk's 64 keys.
template <int D>
static __device__ __forceinline__ void
value_chunk_codes(float (&o)[D / 8][4], const uint32_t (*p)[2], uint32_t v, int keys)
{
    constexpr int GROUP = code_group(MXV_GPU_CHUNK / 16);
#pragma unroll
    for (int step = 0; step < MXV_GPU_CHUNK / 32; step++)
        if (step == 0 || keys > 32) {
            wgmma_begin();
#pragma unroll
            for (int i = 0; i < D / CODE_COLUMNS; i++)
                multiply_codes<MXV_UNIT_E4M3>(
                    o + i * CODE_COLUMNS / 8, p[2 * step][0], p[2 * step][1], p[2 * step + 1][0],
                    p[2 * step + 1][1], v + i * CODE_COLUMNS / 8 * GROUP + step * 256, GROUP, 1);
            finish_products<D / 8>(o);
        }
}

#endif
