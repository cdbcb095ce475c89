// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Packing of 4 and 6 bit codes. See mxverify/pack.h. tests/unit/test_pack.c fails if this is wrong.
#include <mxverify/pack.h>

/// Elements per group of an order, and the distance between the two codes of a byte.
struct nibble_shape {
    size_t group;
    size_t distance;
};

static MXV_FN struct nibble_shape shape_of(enum mxv_nibble_order order)
{
    struct nibble_shape shape = {2, 1};
    if (order == MXV_NIBBLE_SPLIT16 || order == MXV_NIBBLE_SPLIT8) {
        shape.distance = order == MXV_NIBBLE_SPLIT16 ? 16 : 8;
        shape.group = 2 * shape.distance;
    }
    return shape;
}

/// Index of the first (smaller) of the two elements in byte `at`; the other is `distance` further.
static MXV_FN size_t first_element(struct nibble_shape shape, size_t at)
{
    return at / shape.distance * shape.group + at % shape.distance;
}

MXV_FN size_t mxv_nibble_bytes(enum mxv_nibble_order order, size_t count)
{
    const struct nibble_shape shape = shape_of(order);
    if (shape.distance > 1 && count % shape.group != 0)
        return 0;
    return count / 2 + count % 2;
}

/// Packs codes[0], codes[step], ... into bytes[0], bytes[step], ...
static MXV_FN void pack_line(enum mxv_nibble_order order, const uint8_t *codes, size_t count,
                             size_t step, uint8_t *bytes)
{
    const struct nibble_shape shape = shape_of(order);
    const size_t total = mxv_nibble_bytes(order, count);
    for (size_t at = 0; at < total; at++) {
        const size_t i = first_element(shape, at), j = i + shape.distance;
        const unsigned a = codes[i * step] & 0xFu;
        const unsigned b = j < count ? codes[j * step] & 0xFu : 0;
        bytes[at * step] = (uint8_t)(order == MXV_NIBBLE_HIGH_FIRST ? a << 4 | b : b << 4 | a);
    }
}

static MXV_FN void unpack_line(enum mxv_nibble_order order, const uint8_t *bytes, size_t count,
                               size_t step, uint8_t *codes)
{
    const struct nibble_shape shape = shape_of(order);
    const size_t total = mxv_nibble_bytes(order, count);
    for (size_t at = 0; at < total; at++) {
        const size_t i = first_element(shape, at), j = i + shape.distance;
        const uint8_t low = bytes[at * step] & 0xFu, high = (uint8_t)(bytes[at * step] >> 4);
        codes[i * step] = order == MXV_NIBBLE_HIGH_FIRST ? high : low;
        if (j < count)
            codes[j * step] = order == MXV_NIBBLE_HIGH_FIRST ? low : high;
    }
}

MXV_FN size_t mxv_nibble_pack(enum mxv_nibble_order order, const uint8_t *codes, size_t count,
                              uint8_t *bytes)
{
    pack_line(order, codes, count, 1, bytes);
    return mxv_nibble_bytes(order, count);
}

MXV_FN size_t mxv_nibble_unpack(enum mxv_nibble_order order, const uint8_t *bytes, size_t count,
                                uint8_t *codes)
{
    unpack_line(order, bytes, count, 1, codes);
    return mxv_nibble_bytes(order, count) == 0 ? 0 : count;
}

MXV_FN size_t mxv_nibble_pack_matrix(enum mxv_nibble_order order, enum mxv_pack_axis axis,
                                     const uint8_t *codes, size_t rows, size_t cols, uint8_t *bytes)
{
    if (axis == MXV_PACK_ROWS) {
        for (size_t c = 0; c < cols; c++)
            pack_line(order, codes + c, rows, cols, bytes + c);
        return mxv_nibble_bytes(order, rows) * cols;
    }
    const size_t row_bytes = mxv_nibble_bytes(order, cols);
    for (size_t r = 0; r < rows; r++)
        pack_line(order, codes + r * cols, cols, 1, bytes + r * row_bytes);
    return rows * row_bytes;
}

MXV_FN size_t mxv_nibble_unpack_matrix(enum mxv_nibble_order order, enum mxv_pack_axis axis,
                                       const uint8_t *bytes, size_t rows, size_t cols,
                                       uint8_t *codes)
{
    if (axis == MXV_PACK_ROWS) {
        for (size_t c = 0; c < cols; c++)
            unpack_line(order, bytes + c, rows, cols, codes + c);
        return mxv_nibble_bytes(order, rows) == 0 ? 0 : rows * cols;
    }
    const size_t row_bytes = mxv_nibble_bytes(order, cols);
    for (size_t r = 0; r < rows; r++)
        unpack_line(order, bytes + r * row_bytes, cols, 1, codes + r * cols);
    return row_bytes == 0 ? 0 : rows * cols;
}

MXV_FN size_t mxv_sixbit_pack(const uint8_t *codes, size_t count, uint8_t *bytes)
{
    const size_t total = count / 4 * 3 + (count % 4 * 6 + 7) / 8;
    for (size_t i = 0; i < total; i++)
        bytes[i] = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t bit = i % 4 * 6, at = i / 4 * 3 + bit / 8;
        const unsigned shifted = (codes[i] & 0x3Fu) << (bit % 8);
        bytes[at] |= (uint8_t)(shifted & 0xFF);
        if (shifted > 0xFF)
            bytes[at + 1] |= (uint8_t)(shifted >> 8);
    }
    return total;
}

MXV_FN void mxv_sixbit_unpack(const uint8_t *bytes, size_t count, uint8_t *codes)
{
    for (size_t i = 0; i < count; i++) {
        const size_t bit = i % 4 * 6, at = i / 4 * 3 + bit / 8;
        const unsigned upper = bit % 8 > 2 ? bytes[at + 1] : 0u;
        codes[i] = (uint8_t)(((bytes[at] | upper << 8) >> (bit % 8)) & 0x3F);
    }
}

MXV_FN uint8_t mxv_e2m1_to_container(uint8_t code)
{
    return (uint8_t)((code & 0xFu) << 2);
}

MXV_FN uint8_t mxv_e2m1_from_container(uint8_t byte)
{
    return (byte >> 2) & 0xFu;
}
