// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What gpu/dma_sm100.cuh tells the tensor core about its operands (gpu/tcgen05_layout.h), against
// the PTX ISA 9.2: descriptors against their tables field by field, and where a product reads
// against where the copy engine and the loading warp write, byte by byte. The reader here decodes
// the descriptor and follows the canonical layouts (9.7.16.3.3) and the scale layouts
// (9.7.16.10.7).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mxverify/pack.h>
#include <string.h>

#include "../../gpu/tcgen05_layout.h"

struct field {
    unsigned first, last;
    uint64_t value;
};

// The word of a table's fields, which must cover `bits` bits without gap.
static uint64_t word_of(const struct field *fields, size_t count, unsigned bits)
{
    uint64_t word = 0;
    unsigned next = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fields[i].first, next);
        next = fields[i].last + 1;
        assert_true(next - fields[i].first == 64 ||
                    fields[i].value < (uint64_t)1 << (next - fields[i].first));
        word |= fields[i].value << fields[i].first;
    }
    assert_int_equal(next, bits);
    return word;
}

#define WORD_OF(fields, bits) word_of(fields, sizeof(fields) / sizeof(fields)[0], bits)

static uint64_t bits_of(uint64_t word, unsigned first, unsigned last)
{
    return word >> first & (((uint64_t)1 << (last - first + 1)) - 1);
}

static void test_instructions(void **state)
{
    (void)state;
    for (uint32_t n = 64; n <= 128; n += 64) {
        const struct field f16[] = {// table 42
                                    {0, 1, 0},   {2, 2, 0},   {3, 3, 0},   {4, 5, 1},
                                    {6, 6, 0},   {7, 9, 0},   {10, 12, 0}, {13, 13, 0},
                                    {14, 14, 0}, {15, 15, 0}, {16, 16, 1}, {17, 22, n >> 3},
                                    {23, 23, 0}, {24, 28, 8}, {29, 29, 0}, {30, 31, 0}};
        assert_int_equal(instruction_f16(n), WORD_OF(f16, 32));
    }
    for (uint32_t id = 0; id < 4; id++) {
        const struct field mxf8[] = {
            // table 43: E4M3 = 0, UE8M0 = 1
            {0, 1, 0},   {2, 2, 0},   {3, 3, 0},   {4, 5, id},   {6, 6, 0},   {7, 9, 0},
            {10, 12, 0}, {13, 13, 0}, {14, 14, 0}, {15, 15, 0},  {16, 16, 0}, {17, 22, 128 >> 3},
            {23, 23, 1}, {24, 26, 0}, {27, 28, 1}, {29, 30, id}, {31, 31, 0}};
        assert_int_equal(instruction_blocks(TENSOR_E4M3, true, 128, id), WORD_OF(mxf8, 32));
    }
    for (uint32_t id = 0; id < 4; id += 2)
        for (unsigned ue8m0 = 0; ue8m0 < 2; ue8m0++) {
            const struct field mxf4[] = {
                // table 44: E2M1 = 1, UE8M0 = 1, UE4M3 = 0, K = 64
                {0, 1, 0},    {2, 2, 0},       {3, 3, 0},   {4, 5, id},  {6, 6, 0},    {7, 9, 1},
                {10, 11, 1},  {12, 12, 0},     {13, 13, 0}, {14, 14, 0}, {15, 15, 0},  {16, 16, 0},
                {17, 22, 16}, {23, 23, ue8m0}, {24, 26, 0}, {27, 28, 1}, {29, 30, id}, {31, 31, 0}};
            assert_int_equal(instruction_blocks(TENSOR_E2M1, ue8m0 == 1, 128, id),
                             WORD_OF(mxf4, 32));
        }
}

static void test_shared_operand(void **state)
{
    static const unsigned modes[] = {0, 2, 4, 6};
    (void)state;
    for (uint32_t address = 0; address < 232448; address += 1008)
        for (size_t i = 0; i < 4; i++) {
            const struct field fields[] = {// table 40; matrix-descriptor-encode(x)
                                           {0, 13, (address & 0x3ffff) >> 4},
                                           {14, 15, 0},
                                           {16, 29, 16384 >> 4},
                                           {30, 31, 0},
                                           {32, 45, 1024 >> 4},
                                           {46, 48, 1},
                                           {49, 51, 0},
                                           {52, 52, 0},
                                           {53, 60, 0},
                                           {61, 63, modes[i]}};
            assert_true(shared_operand(address, 16384, 1024, modes[i]) == WORD_OF(fields, 64));
        }
}

// Swizzle of a mode on an address: 16-byte pieces of 128, 64 or 32 bytes change places by the bits
// above 128 bytes (Swizzle<3,4,3>, <2,4,3>, <1,4,3>); the copy engine's has the same definition.
static uint32_t swizzled(uint32_t address, uint64_t mode)
{
    const uint32_t bits = mode == 2 ? 7 : mode == 4 ? 3 : mode == 6 ? 1 : 0;
    return address ^ (address >> 7 & bits) << 4;
}

enum { BASE = 0x8c00 };

static uint32_t start_of(uint64_t operand)
{
    return (uint32_t)bits_of(operand, 0, 13) << 4;
}

static uint32_t leading_of(uint64_t operand)
{
    return (uint32_t)bits_of(operand, 16, 29) << 4;
}

static uint32_t stride_of(uint64_t operand)
{
    return (uint32_t)bits_of(operand, 32, 45) << 4;
}

// K-major: ((8,m),(T,2k)):((wT,SBO),(1,T)) of 128-bit units, w = 8, 4, 2 of the swizzle's width.
static void test_rows(void **state)
{
    static const struct {
        uint32_t row_bytes;
        uint64_t mode;
    } tests[] = {{128, 2}, {64, 4}, {32, 6}};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (uint32_t step = 0; step < tests[i].row_bytes / 32; step++) {
            const uint64_t operand = rows_step(rows_operand(BASE, tests[i].row_bytes), step);
            const uint64_t mode = bits_of(operand, 61, 63);
            const uint32_t width = mode == 2 ? 128 : mode == 4 ? 64 : 32;
            assert_int_equal(mode, tests[i].mode);
            for (uint32_t row = 0; row < 128; row++)
                for (uint32_t byte = 0; byte < 32; byte++) {
                    const uint32_t read = swizzled(start_of(operand) + row % 8 * width +
                                                       row / 8 * stride_of(operand) + byte,
                                                   mode);
                    const uint32_t written =
                        swizzled(BASE + row * tests[i].row_bytes + step * 32 + byte, tests[i].mode);
                    assert_int_equal(read, written);
                }
        }
}

// MN-major, 128 bytes: ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)), T = 8 16-bit columns.
static void test_columns(void **state)
{
    const uint32_t panel = 128 * 128;
    (void)state;
    for (uint32_t step = 0; step < 128 / 16; step++) {
        const uint64_t operand = columns_step(columns_operand(BASE, panel), step);
        assert_int_equal(bits_of(operand, 61, 63), 2);
        for (uint32_t column = 0; column < 128; column++)
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t read = swizzled(start_of(operand) + column % 64 * 2 +
                                                   column / 64 * leading_of(operand) + k % 8 * 128 +
                                                   k / 8 * stride_of(operand),
                                               2);
                const uint32_t key = step * 16 + k;
                const uint32_t written =
                    swizzled(BASE + column / 64 * panel + key * 128 + column % 64 * 2, 2);
                assert_int_equal(read, written);
            }
    }
}

enum { ROWS = 128, LANES = 32 };

static uint8_t scale_byte(uint32_t row, uint32_t i)
{
    return (uint8_t)(row * 31 + i * 7 + row / 32 * 5);
}

// tcgen05.cp.32x128b of one tile: 32 rows of 16 bytes, eight of them together (no swizzle,
// ((8,m),(T,2k)):((T,SBO),(1,LBO))), to four columns.
static void copy_tile(const uint8_t *memory, uint64_t operand, uint8_t (*columns)[LANES][4])
{
    assert_int_equal(bits_of(operand, 61, 63), 0);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t c = 0; c < 4; c++)
            memcpy(columns[c][lane],
                   memory + start_of(operand) + lane % 8 * 16 + lane / 8 * stride_of(operand) +
                       c * 4,
                   4);
}

// Every scale of every instruction, for rows of `count` scale bytes of which one takes `per_step`:
// from the loading warp's store to what figures 231 to 233 and 240 to 242 say is read.
static void check_scales(uint32_t count, uint32_t per_step)
{
    static uint8_t memory[4096 + 2 * SCALE_TILE], columns[8][LANES][4];
    const uint32_t base = 4096;
    memset(memory, 0xee, sizeof memory);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t at = i / 4 * SCALE_TILE + scale_word_at(row) + i % 4;
            memory[base + at] = scale_byte(row, i);
            assert_int_equal(at, mxv_scale_layout_offset(MXV_LAYOUT_128X4, count, row, i));
        }
    for (uint32_t tile = 0; tile * 4 < count; tile++)
        copy_tile(memory, scales_operand(base + tile * SCALE_TILE),
                  columns + (size_t)tile * SCALE_TILE_COLUMNS);
    for (uint32_t step = 0; step * per_step < count; step++) {
        const uint32_t byte = step * per_step, id = scale_id(byte), column = scale_columns(byte);
        assert_true(id % per_step == 0 && id + per_step <= 4);
        for (uint32_t row = 0; row < ROWS; row++)
            for (uint32_t i = 0; i < per_step; i++)
                assert_int_equal(columns[column + row / 32][row % 32][id + i],
                                 scale_byte(row, byte + i));
    }
}

static void test_scales(void **state)
{
    (void)state;
    check_scales(2, 1); // mxf8f6f4, 1X: d = 64
    check_scales(4, 1); // d = 128
    check_scales(2, 2); // mxf4, 2X
    check_scales(4, 2);
    check_scales(4, 4); // mxf4nvf4, 4X
    check_scales(8, 4);
}

static void test_columns_of_tensor_memory(void **state)
{
    static const int parts[][2] = {
        {TENSOR_SCORES, 128}, {TENSOR_SCORES + 128, 128}, {TENSOR_OUTPUT, 128},
        {TENSOR_WEIGHTS, 64}, {TENSOR_Q_SCALES, 8},       {TENSOR_Q_SCALES + 8, 8},
        {TENSOR_K_SCALES, 8}, {TENSOR_K_SCALES + 8, 8},   {TENSOR_END, 512 - TENSOR_END}};
    uint8_t used[512] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (int c = parts[i][0]; c < parts[i][0] + parts[i][1]; c++) {
            assert_in_range(c, 0, TENSOR_COLUMNS - 1);
            assert_int_equal(used[c]++, 0);
        }
    assert_int_equal(TENSOR_COLUMNS, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_shared_operand),
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_columns),
        cmocka_unit_test(test_scales),       cmocka_unit_test(test_columns_of_tensor_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
