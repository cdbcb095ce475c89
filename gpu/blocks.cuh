// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Scores by the block-scaled mma.sync of sm_120a (PTX ISA, "Warp level matrix instructions: block
// scaling"; docs/kernels/dma.md 3): E4M3 codes with a scale for 32 channels (kind::mxf8f6f4), E2M1
// codes with one for 32 (mxf4) or 16 (mxf4nvf4). A step is 32 bytes of codes of a row, like that of
// the other units, so fragments are loaded alike. A thread gives the scales of A's row lane / 4 + 8
// (lane mod 2) and of B's column lane / 4; they come straight from global memory. On other
// architectures the functions are empty. Compiled, never run: no such device was at hand.
#ifndef MXV_GPU_BLOCKS_CUH
#define MXV_GPU_BLOCKS_CUH

#include "tile.cuh"

// Scale bytes of the warp's rows and of a chunk's keys; rows that do not exist have scale one.
struct block_rows {
    const uint8_t *q, *k; // of the warp's first row, of the chunk's first key
    int q_rows, k_rows;   // how many of them exist
};

static __host__ __device__ constexpr int block_step_scales(int unit) // bytes of one instruction
{
    return unit == MXV_UNIT_MXF8 ? 1 : unit == MXV_UNIT_MXF4 ? 2 : 4;
}

static __host__ __device__ constexpr int block_row_scales(int unit, int d)
{
    return unit == MXV_UNIT_NVF4 ? d / 16 : d / 32;
}

// Four scale bytes of a row from byte 4 i on; two where a row has no more.
template <int UNIT, int D>
static __device__ __forceinline__ uint32_t block_scale_word(const uint8_t *scales, int row,
                                                            int rows, int i)
{
    constexpr int BYTES = block_row_scales(UNIT, D);
    if (row >= rows)
        return UNIT == MXV_UNIT_NVF4 ? 0x38383838u : 0x7f7f7f7fu;
    const uint8_t *p = scales + (size_t)row * BYTES + 4 * i;
    if constexpr (BYTES % 4 == 0)
        return *(const uint32_t *)p;
    else
        return *(const uint16_t *)p;
}

#ifdef __CUDA_ARCH_FEAT_SM120_ALL
#define MXV_MULTIPLY_BLOCKS(KIND, VECTOR, SHAPE, TYPES, SCALE)                                     \
    asm("mma.sync.aligned.kind::" KIND ".block_scale.scale_vec::" VECTOR "." SHAPE                 \
        ".row.col.f32." TYPES ".f32." SCALE " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3},"  \
        "{%10},{%12,0},{%11},{%12,0};"                                                             \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                           \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(scale_a),              \
          "r"(scale_b), "n"(BYTE))
#endif

// c += a b, one instruction; its scales begin at byte BYTE of scale_a and scale_b.
template <int UNIT, int BYTE>
static __device__ __forceinline__ void multiply_blocks(float (&c)[4], const uint32_t (&a)[4],
                                                       uint32_t b0, uint32_t b1, uint32_t scale_a,
                                                       uint32_t scale_b)
{
#ifdef __CUDA_ARCH_FEAT_SM120_ALL
    if constexpr (UNIT == MXV_UNIT_MXF8) {
        MXV_MULTIPLY_BLOCKS("mxf8f6f4", "1X", "m16n8k32", "e4m3.e4m3", "ue8m0");
    } else if constexpr (UNIT == MXV_UNIT_MXF4) {
        MXV_MULTIPLY_BLOCKS("mxf4", "2X", "m16n8k64", "e2m1.e2m1", "ue8m0");
    } else {
        MXV_MULTIPLY_BLOCKS("mxf4nvf4", "4X", "m16n8k64", "e2m1.e2m1", "ue4m3");
    }
#endif
}

// One step for all keys of the chunk, then the next.
template <int UNIT, int D, int STEP>
static __device__ __forceinline__ void score_block_steps(float (*s)[4], uint32_t q, uint32_t k,
                                                         int stride, const struct block_rows &rows)
{
    constexpr int BYTE = STEP * block_step_scales(UNIT);
    const int lane = threadIdx.x % 32;
    const uint32_t scale_a =
        block_scale_word<UNIT, D>(rows.q, lane / 4 + lane % 2 * 8, rows.q_rows, BYTE / 4);
    uint32_t a[4], b[4];
    load_a(a, q, stride, STEP);
#pragma unroll
    for (int t = 0; t < MXV_GPU_CHUNK / 8; t++) {
        const uint32_t scale_b =
            block_scale_word<UNIT, D>(rows.k, t * 8 + lane / 4, rows.k_rows, BYTE / 4);
        if (t % 2 == 0)
            load_b(b, k + t * 8 * stride, stride, STEP);
        multiply_blocks<UNIT, BYTE % 4>(s[t], a, b[t % 2 * 2], b[t % 2 * 2 + 1], scale_a, scale_b);
    }
    if constexpr ((STEP + 1) * 32 < unit_row_bytes(UNIT, D))
        score_block_steps<UNIT, D, STEP + 1>(s, q, k, stride, rows);
}

// Scores of 16 rows and MXV_GPU_CHUNK keys: chains of instructions in ascending channels.
template <int UNIT, int D>
static __device__ __forceinline__ void score_chunk_blocks(float (*s)[4], uint32_t q, uint32_t k,
                                                          int stride, const struct block_rows &rows)
{
    static_assert(unit_row_bytes(UNIT, D) % 32 == 0, "whole instructions");
    score_block_steps<UNIT, D, 0>(s, q, k, stride, rows);
}

#endif
