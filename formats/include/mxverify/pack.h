// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// How codes and scales lie in memory: two FP4 codes a byte, four FP6 codes in three bytes, and the
// tiled scale layouts of block-scaled matrix units.
//
// OCP MX v1.0 leaves both open; the orders in use are the policies nibble_order, pack_axis and
// scale_layout. Everything is a permutation plus defined padding. Kernels read the padding of tiled
// scales, so the writer fills it. tests/unit/test_pack.c fails if this is wrong.
#ifndef MXVERIFY_PACK_H
#define MXVERIFY_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/platform.h>
#include <mxverify/policy.h>

MXV_DECLARATIONS_BEGIN

/// Bytes of `count` packed 4-bit codes; 0 if the order cannot hold that count (split16 takes
/// multiples of 32, split8 of 16). An odd count leaves the last half byte 0.
MXV_FN size_t mxv_nibble_bytes(enum mxv_nibble_order order, size_t count);

/// Packs count codes (low 4 bits of each byte) and returns the bytes written; 0 if refused.
MXV_FN size_t mxv_nibble_pack(enum mxv_nibble_order order, const uint8_t *codes, size_t count,
                              uint8_t *bytes);

/// Inverse of mxv_nibble_pack: count codes, one a byte. Returns count, 0 if refused.
MXV_FN size_t mxv_nibble_unpack(enum mxv_nibble_order order, const uint8_t *bytes, size_t count,
                                uint8_t *codes);

/// Packs a row-major rows x cols matrix of codes, pairs along `axis`, into row-major bytes: rows x
/// bytes(cols), or bytes(rows) x cols. Returns the bytes written; 0 if refused.
MXV_FN size_t mxv_nibble_pack_matrix(enum mxv_nibble_order order, enum mxv_pack_axis axis,
                                     const uint8_t *codes, size_t rows, size_t cols,
                                     uint8_t *bytes);

/// Inverse of mxv_nibble_pack_matrix. Returns rows * cols, 0 if refused.
MXV_FN size_t mxv_nibble_unpack_matrix(enum mxv_nibble_order order, enum mxv_pack_axis axis,
                                       const uint8_t *bytes, size_t rows, size_t cols,
                                       uint8_t *codes);

/// FP6 dense packing: a little-endian bit stream, 6 bits a code; ceil(6 * count / 8) bytes, unused
/// bits 0. Returns the bytes written.
MXV_FN size_t mxv_sixbit_pack(const uint8_t *codes, size_t count, uint8_t *bytes);
MXV_FN void mxv_sixbit_unpack(const uint8_t *bytes, size_t count, uint8_t *codes);

/// Byte that holds an E2M1 code for the f8f6f4 matrix-unit kinds: bits 5..2 (PTX ISA, mma).
MXV_FN uint8_t mxv_e2m1_to_container(uint8_t code);
MXV_FN uint8_t mxv_e2m1_from_container(uint8_t byte);

/// Rows and columns of a layout's tile: 128x4, 8x4, 64x4; 1x1 for linear.
MXV_FN size_t mxv_scale_layout_tile_rows(enum mxv_scale_layout layout);
MXV_FN size_t mxv_scale_layout_tile_cols(enum mxv_scale_layout layout);

/// Bytes of a scale matrix of `rows` rows and `cols` scale columns, padding included.
MXV_FN size_t mxv_scale_layout_size(enum mxv_scale_layout layout, size_t rows, size_t cols);

/// Byte offset of the scale of (row, col) in a matrix of `cols` scale columns.
MXV_FN size_t mxv_scale_layout_offset(enum mxv_scale_layout layout, size_t cols, size_t row,
                                      size_t col);

/// Writes the row-major scales into `out` (mxv_scale_layout_size bytes); padding gets `fill`.
MXV_FN void mxv_scale_layout_write(enum mxv_scale_layout layout, const uint8_t *scales, size_t rows,
                                   size_t cols, uint8_t fill, uint8_t *out);

/// Reads them back into row-major order; padding is not read.
MXV_FN void mxv_scale_layout_read(enum mxv_scale_layout layout, const uint8_t *in, size_t rows,
                                  size_t cols, uint8_t *scales);

MXV_DECLARATIONS_END
#endif
