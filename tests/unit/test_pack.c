// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Nibble orders, FP6 streams and scale layouts: published byte sequences and offsets, bijection,
// padding under poison, inverse functions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include <mxverify/pack.h>

static void assert_packed(enum mxv_nibble_order order, const uint8_t *codes, size_t count,
                          const uint8_t *want)
{
    uint8_t bytes[16], back[32];
    memset(bytes, 0x5A, sizeof bytes);
    assert_int_equal(mxv_nibble_pack(order, codes, count, bytes), count / 2);
    assert_memory_equal(bytes, want, count / 2);
    assert_int_equal(mxv_nibble_unpack(order, bytes, count, back), count);
    assert_memory_equal(back, codes, count);
}

/// pytorch/ao#2939 and #3123; kekzl/imp#567 and ggml.
static void test_nibble_orders(void **state)
{
    (void)state;
    static const uint8_t eight[] = {0, 1, 2, 3, 4, 5, 6, 15};
    static const uint8_t low[] = {0x10, 0x32, 0x54, 0xF6}, high[] = {0x01, 0x23, 0x45, 0x6F};
    uint8_t codes[32];
    for (unsigned i = 0; i < 32; i++)
        codes[i] = i % 16;
    static const uint8_t split16[] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                      0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
    static const uint8_t interleaved[] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE,
                                          0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE};
    static const uint8_t split8[] = {0x80, 0x91, 0xA2, 0xB3, 0xC4, 0xD5, 0xE6, 0xF7,
                                     0x80, 0x91, 0xA2, 0xB3, 0xC4, 0xD5, 0xE6, 0xF7};
    assert_packed(MXV_NIBBLE_LOW_FIRST, eight, 8, low);
    assert_packed(MXV_NIBBLE_HIGH_FIRST, eight, 8, high);
    assert_packed(MXV_NIBBLE_SPLIT16, codes, 32, split16);
    assert_packed(MXV_NIBBLE_LOW_FIRST, codes, 32, interleaved);
    assert_packed(MXV_NIBBLE_SPLIT8, codes, 16, split8);
    assert_packed(MXV_NIBBLE_SPLIT8, codes, 32, split8);
}

/// ONNX: an odd count leaves the last high half 0. Split orders refuse partial groups.
static void test_odd_counts(void **state)
{
    (void)state;
    static const uint8_t codes[] = {0xF1, 0x02, 0x03};
    uint8_t bytes[2], back[3];
    assert_int_equal(mxv_nibble_pack(MXV_NIBBLE_LOW_FIRST, codes, 3, bytes), 2);
    assert_int_equal(bytes[0], 0x21);
    assert_int_equal(bytes[1], 0x03);
    assert_int_equal(mxv_nibble_pack(MXV_NIBBLE_HIGH_FIRST, codes, 3, bytes), 2);
    assert_int_equal(bytes[0], 0x12);
    assert_int_equal(bytes[1], 0x30);
    assert_int_equal(mxv_nibble_unpack(MXV_NIBBLE_HIGH_FIRST, bytes, 3, back), 3);
    assert_int_equal(back[0] << 8 | back[1] << 4 | back[2], 0x123);
    assert_int_equal(mxv_nibble_bytes(MXV_NIBBLE_SPLIT16, 31), 0);
    assert_int_equal(mxv_nibble_bytes(MXV_NIBBLE_SPLIT16, 48), 0);
    assert_int_equal(mxv_nibble_bytes(MXV_NIBBLE_SPLIT8, 48), 24);
    assert_int_equal(mxv_nibble_pack(MXV_NIBBLE_SPLIT8, codes, 3, bytes), 0);
    assert_int_equal(bytes[0], 0x12);
    assert_int_equal(mxv_nibble_unpack(MXV_NIBBLE_SPLIT8, bytes, 3, back), 0);
}

static void test_matrix_axes(void **state)
{
    (void)state;
    static const uint8_t square[] = {1, 2, 3, 4};
    uint8_t bytes[64], codes[80], back[80];
    assert_int_equal(
        mxv_nibble_pack_matrix(MXV_NIBBLE_LOW_FIRST, MXV_PACK_ROWS, square, 2, 2, bytes), 2);
    assert_true(bytes[0] == 0x31 && bytes[1] == 0x42);
    assert_int_equal(
        mxv_nibble_pack_matrix(MXV_NIBBLE_LOW_FIRST, MXV_PACK_COLS, square, 2, 2, bytes), 2);
    assert_true(bytes[0] == 0x21 && bytes[1] == 0x43);
    for (unsigned i = 0; i < 80; i++)
        codes[i] = (uint8_t)((i * 7 + i / 16) % 16);
    for (int axis = 0; axis < MXV_PACK_AXIS_COUNT; axis++) {
        for (int order = 0; order < MXV_NIBBLE_ORDER_COUNT; order++) {
            const enum mxv_nibble_order o = (enum mxv_nibble_order)order;
            const size_t line = axis == MXV_PACK_COLS ? 16 : 5,
                         rows = axis == MXV_PACK_COLS ? 5 : 16;
            const size_t want = order == MXV_NIBBLE_SPLIT16 ? 0 : 40;
            memset(back, 0xEE, sizeof back);
            assert_int_equal(
                mxv_nibble_pack_matrix(o, (enum mxv_pack_axis)axis, codes, rows, line, bytes),
                want);
            assert_int_equal(
                mxv_nibble_unpack_matrix(o, (enum mxv_pack_axis)axis, bytes, rows, line, back),
                2 * want);
            if (want != 0)
                assert_memory_equal(back, codes, 80);
        }
    }
    // An odd line is padded on its own: 3 columns take 2 bytes a row.
    assert_int_equal(
        mxv_nibble_pack_matrix(MXV_NIBBLE_LOW_FIRST, MXV_PACK_COLS, codes, 2, 3, bytes), 4);
    assert_int_equal(bytes[1], codes[2]);
}

/// Bit i * 6 + j of the stream is bit j of code i.
static void test_sixbit(void **state)
{
    (void)state;
    uint8_t codes[13], bytes[10], back[13];
    for (unsigned i = 0; i < 13; i++)
        codes[i] = (uint8_t)(i * 29 + 0xC3);
    for (size_t count = 0; count <= 13; count++) {
        memset(bytes, 0xFF, sizeof bytes);
        assert_int_equal(mxv_sixbit_pack(codes, count, bytes), (count * 6 + 7) / 8);
        for (size_t bit = 0; bit < (count * 6 + 7) / 8 * 8; bit++) {
            const unsigned want = bit < count * 6 ? codes[bit / 6] >> (bit % 6) & 1u : 0;
            assert_int_equal(bytes[bit / 8] >> (bit % 8) & 1, want);
        }
        mxv_sixbit_unpack(bytes, count, back);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(back[i], codes[i] & 0x3F);
    }
    assert_int_equal(mxv_e2m1_to_container(0xF), 0x3C);
    assert_int_equal(mxv_e2m1_from_container(0x3C), 0xF);
}

struct offset_row {
    enum mxv_scale_layout layout;
    size_t cols, row, col, offset;
};

/// vllm-project/vllm#23140 (128x4); SageAttention3 (64x4); TensorRT-LLM (8x4).
static void test_offsets(void **state)
{
    (void)state;
    static const struct offset_row rows[] = {
        {MXV_LAYOUT_128X4, 4, 0, 0, 0},      {MXV_LAYOUT_128X4, 4, 1, 0, 16},
        {MXV_LAYOUT_128X4, 4, 32, 0, 4},     {MXV_LAYOUT_128X4, 4, 33, 1, 21},
        {MXV_LAYOUT_128X4, 4, 127, 3, 511},  {MXV_LAYOUT_128X4, 4, 128, 0, 512},
        {MXV_LAYOUT_128X4, 8, 0, 4, 512},    {MXV_LAYOUT_128X4, 8, 128, 4, 1536},
        {MXV_LAYOUT_128X4, 5, 128, 4, 1536}, {MXV_LAYOUT_64X4, 8, 17, 5, 256 + 1 + 4 + 16},
        {MXV_LAYOUT_64X4, 8, 64, 0, 512},    {MXV_LAYOUT_64X4, 8, 63, 7, 511},
        {MXV_LAYOUT_8X4, 8, 7, 3, 31},       {MXV_LAYOUT_8X4, 8, 1, 4, 36},
        {MXV_LAYOUT_8X4, 8, 8, 0, 64},       {MXV_LAYOUT_LINEAR, 5, 3, 2, 17},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            mxv_scale_layout_offset(rows[i].layout, rows[i].cols, rows[i].row, rows[i].col),
            rows[i].offset);
    assert_int_equal(mxv_scale_layout_size(MXV_LAYOUT_128X4, 129, 5), 4 * 512);
    assert_int_equal(mxv_scale_layout_size(MXV_LAYOUT_8X4, 9, 4), 64);
    assert_int_equal(mxv_scale_layout_size(MXV_LAYOUT_64X4, 1, 1), 256);
    assert_int_equal(mxv_scale_layout_size(MXV_LAYOUT_LINEAR, 129, 5), 645);
}

/// PR-04: offsets are a permutation on full tiles and distinct, inside the buffer, on ragged ones.
static void test_bijection(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{256, 8}, {130, 5}, {1, 1}, {64, 3}, {9, 17}};
    for (int layout = 0; layout < MXV_SCALE_LAYOUT_COUNT; layout++) {
        for (int s = 0; s < 5; s++) {
            static uint8_t seen[8192];
            const size_t rows = shapes[s][0], cols = shapes[s][1];
            const size_t size = mxv_scale_layout_size((enum mxv_scale_layout)layout, rows, cols);
            memset(seen, 0, sizeof seen);
            assert_true(size <= sizeof seen && size >= rows * cols);
            if (s == 0)
                assert_int_equal(size, 2048);
            for (size_t i = 0; i < rows * cols; i++) {
                const size_t at = mxv_scale_layout_offset((enum mxv_scale_layout)layout, cols,
                                                          i / cols, i % cols);
                assert_true(at < size);
                assert_int_equal(seen[at], 0);
                seen[at] = 1;
            }
        }
    }
}

/// PR-03: nothing of the poison survives; every byte that is no real scale is the fill.
static void test_poisoned_padding(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {129, 5}};
    static const uint8_t fills[] = {0x00, 0x7F, 0xFF, 0xA5};
    static uint8_t scales[129 * 5], buffer[2048], back[129 * 5];
    for (size_t i = 0; i < sizeof scales; i++)
        scales[i] = (uint8_t)(1 + i % 120);
    for (int layout = 0; layout < MXV_SCALE_LAYOUT_COUNT; layout++) {
        for (int s = 0; s < 2; s++) {
            for (int f = 0; f < 4; f++) {
                const enum mxv_scale_layout l = (enum mxv_scale_layout)layout;
                const size_t rows = shapes[s][0], cols = shapes[s][1];
                const size_t size = mxv_scale_layout_size(l, rows, cols);
                static uint8_t real[2048];
                memset(real, 0, sizeof real);
                memset(buffer, 0x7E, sizeof buffer);
                mxv_scale_layout_write(l, scales, rows, cols, fills[f], buffer);
                for (size_t i = 0; i < rows * cols; i++)
                    real[mxv_scale_layout_offset(l, cols, i / cols, i % cols)] = 1;
                for (size_t i = 0; i < sizeof buffer; i++) {
                    if (i >= size)
                        assert_int_equal(buffer[i], 0x7E);
                    else if (!real[i])
                        assert_int_equal(buffer[i], fills[f]);
                }
                mxv_scale_layout_read(l, buffer, rows, cols, back);
                assert_memory_equal(back, scales, rows * cols);
            }
        }
    }
}

/// PR-05: a linear reader returns row-major values; through a tiled buffer it does not.
static void test_layout_by_values(void **state)
{
    (void)state;
    uint8_t scales[16], buffer[512], back[16];
    for (unsigned i = 0; i < 16; i++)
        scales[i] = (uint8_t)(i + 1);
    mxv_scale_layout_write(MXV_LAYOUT_LINEAR, scales, 4, 4, 0, buffer);
    assert_memory_equal(buffer, scales, 16);
    mxv_scale_layout_write(MXV_LAYOUT_128X4, scales, 4, 4, 0, buffer);
    mxv_scale_layout_read(MXV_LAYOUT_LINEAR, buffer, 4, 4, back);
    assert_memory_not_equal(back, scales, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nibble_orders),    cmocka_unit_test(test_odd_counts),
        cmocka_unit_test(test_matrix_axes),      cmocka_unit_test(test_sixbit),
        cmocka_unit_test(test_offsets),          cmocka_unit_test(test_bijection),
        cmocka_unit_test(test_poisoned_padding), cmocka_unit_test(test_layout_by_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
