// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What tcgen05 instructions are told about their operands, as words: instruction descriptors,
// shared-memory descriptors, and where the scale bytes of a row lie. Sections are those of the PTX
// ISA 9.2. Plain C of a host or a device: no GPU with these units was at hand, so what can be
// checked without one is checked on the host. unit.tcgen05_layout fails if this file is wrong.
#ifndef MXV_GPU_TCGEN05_LAYOUT_H
#define MXV_GPU_TCGEN05_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define LAYOUT_FN static __host__ __device__ constexpr
#else
#define LAYOUT_FN static inline
#endif

// Columns of tensor memory (9.7.16.1: 512 of 32 bits in 128 lanes; a lane is a query row): two
// tiles of scores, the output, the weights of a tile in f16, scales of Q by route and of K for the
// two tiles of scores. The whole of it is allocated.
enum {
    TENSOR_COLUMNS = 512,
    TENSOR_SCORES = 0,   // and at 128
    TENSOR_OUTPUT = 256, // d columns
    TENSOR_WEIGHTS = 384,
    TENSOR_Q_SCALES = 448, // eight a route
    TENSOR_K_SCALES = 464, // eight for each tile of scores
    TENSOR_END = 480
};

// A tile of scales: four bytes of each of 128 rows; four columns of tensor memory.
enum { SCALE_TILE = 512, SCALE_TILE_COLUMNS = 4 };

// Codes of atype, btype (9.7.16.4.2, tables 43 and 44: by kind).
enum tensor_element { TENSOR_E4M3 = 0, TENSOR_E2M1 = 1 };

// 9.7.16.4.2, table 42, kind::f16: 128 x n, f16 times f16 to f32, A as it lies, B transposed: its
// rows in memory are chains of K steps, each row holding all n columns (MN-major).
LAYOUT_FN uint32_t instruction_f16(uint32_t n)
{
    return 1u << 4       // dtype f32
           | 1u << 16    // B transposed
           | n / 8 << 17 // N
           | 128u / 16 << 24;
}

// Tables 43 and 44, kinds mxf8f6f4, mxf4 and mxf4nvf4: 128 x n, both operands of one type and
// K-major, scales UE8M0 or (kind::mxf4nvf4) UE4M3, in the bytes from `id` on of each scale word.
LAYOUT_FN uint32_t instruction_blocks(enum tensor_element element, bool ue8m0, uint32_t n,
                                      uint32_t id)
{
    return id << 4                   // B's scales
           | (uint32_t)element << 7  // A's type
           | (uint32_t)element << 10 // B's
           | n / 8 << 17             // N
           | (uint32_t)ue8m0 << 23   // type of the scales
           | 128u / 128 << 27        // M
           | id << 29;               // A's scales
}

// 9.7.16.4.1, table 40; every address and distance is a multiple of 16 bytes. The repeating pattern
// of each swizzle starts where table 41 says when tiles are 1024-byte aligned: base offset 0.
LAYOUT_FN uint64_t shared_operand(uint32_t address, uint32_t leading, uint32_t stride,
                                  uint32_t swizzle)
{
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride >> 4 & 0x3fff) << 32 | (uint64_t)1 << 46 | (uint64_t)swizzle << 61;
}

// Rows of row_bytes = 32, 64 or 128 bytes, one after the other, swizzled at that width: chains
// along rows (K-major). 9.7.16.3.1 and .2: the leading distance is not used, the stride is that of
// 8 rows.
LAYOUT_FN uint64_t rows_operand(uint32_t address, uint32_t row_bytes)
{
    return shared_operand(address, 0, 8 * row_bytes,
                          row_bytes == 128  ? 2
                          : row_bytes == 64 ? 4
                                            : 6);
}

// Panels of 64 16-bit columns, rows of 128 bytes swizzled at that width: chains along columns
// (MN-major). The leading distance is that of panels, the stride that of 8 rows.
LAYOUT_FN uint64_t columns_operand(uint32_t address, uint32_t panel)
{
    return shared_operand(address, panel, 8 * 128, 2);
}

// An instruction of a chain is 32 bytes of each row, or 16 rows of the panels, further on.
LAYOUT_FN uint64_t rows_step(uint64_t operand, uint32_t step)
{
    return operand + (uint64_t)step * (32 >> 4);
}

LAYOUT_FN uint64_t columns_step(uint64_t operand, uint32_t step)
{
    return operand + (uint64_t)step * (16 * 128 >> 4);
}

// Source of tcgen05.cp.32x128b: 32 rows of 16 bytes without swizzle, 8 rows 128 bytes further.
LAYOUT_FN uint64_t scales_operand(uint32_t address)
{
    return shared_operand(address, 0, 128, 0);
}

// Offset of a row's word in a tile of scales, which is one tile of scale_layout 128x4:
// tcgen05.cp.32x128b brings the 16 bytes of row r mod 32 to lane r mod 32, so that the word of row
// r is in column r / 32 of it, where 9.7.16.10.7.2 and .3 want scales of A and B. (.warpx4 repeats
// them for the other three groups of 32 lanes, as 9.7.16.10.7 asks.)
LAYOUT_FN uint32_t scale_word_at(uint32_t row)
{
    return row % 32 * 16 + row / 32 * 4;
}

// Of an instruction whose scales are bytes `byte` and on of each row: columns from those of the
// first tile, and the id of the instruction descriptor.
LAYOUT_FN uint32_t scale_columns(uint32_t byte)
{
    return byte / 4 * SCALE_TILE_COLUMNS;
}

LAYOUT_FN uint32_t scale_id(uint32_t byte)
{
    return byte % 4;
}

#endif
