// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading .npy: element types, lost types (PR-09), sub-byte codes, shapes, the stored activations.
// Files are built here byte by byte from NEP 1, so no expectation comes from the reader.
#include "test_tensor_file_npy.h"

// Types -------------------------------------------------------------------------------------------

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        enum mxv_element type;
        unsigned width, integer_bits;
        bool is_signed;
    } rows[] = {
        {"<f2", MXV_F16, 2, 0, false},
        {"<f4", MXV_F32, 4, 0, false},
        {"<f8", MXV_F64, 8, 0, false},
        {"=f4", MXV_F32, 4, 0, false},
        {"|i1", MXV_S8, 1, 0, false},
        {"<i1", MXV_S8, 1, 0, false},
        {"|b1", MXV_U8, 1, 0, false},
        {"<i2", MXV_ELEMENT_COUNT, 2, 16, true},
        {"<i4", MXV_ELEMENT_COUNT, 4, 32, true},
        {"<i8", MXV_ELEMENT_COUNT, 8, 64, true},
        {"<u4", MXV_ELEMENT_COUNT, 4, 32, false},
        {"<u8", MXV_ELEMENT_COUNT, 8, 64, false},
        {">f2", MXV_F16, 2, 0, false},
        {">f4", MXV_F32, 4, 0, false},
        {">f8", MXV_F64, 8, 0, false},
        {">i4", MXV_ELEMENT_COUNT, 4, 32, true},
        {">u8", MXV_ELEMENT_COUNT, 8, 64, false},
    };
    const uint64_t base = 0x8182838485868788;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes *file = begin_array(rows[i].descr, "False", "(2, 3)");
        uint64_t mask = rows[i].width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * rows[i].width) - 1;
        for (uint64_t k = 0; k < 6; k++) {
            uint64_t word = (base + 0x0101010101010101 * k) & mask;
            if (rows[i].descr[0] == '>')
                word = __builtin_bswap64(word) >> (64 - 8 * rows[i].width);
            append_word(file, word, rows[i].width);
        }
        struct mxv_tensor tensor = expect_read(file, &no_options);
        assert_int_equal(tensor.type, rows[i].type);
        assert_int_equal(tensor.container, rows[i].width);
        assert_int_equal(tensor.integer_bits, rows[i].integer_bits);
        assert_int_equal(tensor.integer_signed, rows[i].is_signed);
        assert_int_equal(tensor.rank, 2);
        assert_int_equal(tensor.shape[0], 2);
        assert_int_equal(tensor.shape[1], 3);
        for (uint64_t k = 0; k < 6; k++)
            assert_true(mxv_tensor_code(&tensor, k) == ((base + 0x0101010101010101 * k) & mask));
        mxv_tensor_free(&tensor);
        assert_null(tensor.data);
    }
}

/// Probe PR-09 (jax-ml/ml_dtypes#41, #148, #207, #216): a descr that has lost the type.
static void test_lost_types(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        unsigned width;
        enum mxv_element types[4];
    } rows[] = {
        {"<V1", 1, {MXV_E4M3, MXV_E8M0, MXV_MXINT8, MXV_U8}},
        {"|V1", 1, {MXV_E5M2, MXV_E4M3FNUZ, MXV_UE4M3, MXV_S8}},
        {"|u1", 1, {MXV_E4M3, MXV_E5M2, MXV_E8M0, MXV_U8}},
        {"<f1", 1, {MXV_E5M2, MXV_E5M2FNUZ, MXV_E4M3, MXV_UE5M3}},
        {"<V2", 2, {MXV_BF16, MXV_F16, MXV_BF16, MXV_BF16}},
        {"|V2", 2, {MXV_BF16, MXV_F16, MXV_BF16, MXV_BF16}},
        {"<u2", 2, {MXV_BF16, MXV_F16, MXV_BF16, MXV_BF16}},
        {"<V4", 4, {MXV_F32, MXV_TF32, MXV_F32, MXV_F32}},
        {"<V8", 8, {MXV_F64, MXV_F64, MXV_F64, MXV_F64}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes *file = begin_array(rows[i].descr, "False", "(3, 4)");
        for (uint64_t k = 0; k < 12; k++)
            append_word(file, 0x7ff0000000003f80 + 21 * k, rows[i].width);
        expect_refused(file, &no_options, MXV_ERR_INPUT, rows[i].descr);
        expect_refused(file, NULL, MXV_ERR_INPUT, "name their type");
        for (size_t t = 0; t < 4; t++) {
            struct mxv_tensor_read_options options = named(rows[i].types[t]);
            struct mxv_tensor tensor = expect_read(file, &options);
            assert_int_equal(tensor.type, rows[i].types[t]);
            assert_int_equal(tensor.count, 12);
            assert_memory_equal(tensor.data, file->data + file->size - tensor.bytes, tensor.bytes);
            mxv_tensor_free(&tensor);
        }
    }
}

static void test_integer_option(void **state)
{
    (void)state;
    const struct mxv_tensor_read_options options = {.integers = true};
    struct bytes *file = begin_array("<u2", "False", "(2,)");
    append_word(file, 0xfffe0001, 4);
    struct mxv_tensor tensor = expect_read(file, &options);
    assert_int_equal(tensor.integer_bits, 16);
    assert_int_equal(mxv_tensor_code(&tensor, 0), 1);
    assert_int_equal(mxv_tensor_code(&tensor, 1), 0xfffe);
    mxv_tensor_free(&tensor);
    file = begin_array("|u1", "False", "(2,)");
    append_word(file, 0xff01, 2);
    tensor = expect_read(file, &options);
    assert_int_equal(tensor.type, MXV_U8);
    assert_int_equal(tensor.integer_bits, 0);
    mxv_tensor_free(&tensor);
    file = begin_array("|V1", "False", "(2,)");
    append_word(file, 0xff01, 2);
    expect_refused(file, &options, MXV_ERR_INPUT, "name their type");
}

static void test_contradictions(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        unsigned width;
        enum mxv_element type;
        const char *part; // NULL: accepted
    } rows[] = {
        {"<f2", 2, MXV_BF16, "contradicts the named type bf16"},
        {"<f4", 4, MXV_F16, "has words of 4 bytes, but the named type f16 takes 2"},
        {"<V2", 2, MXV_E4M3, "has words of 2 bytes"},
        {"|V1", 1, MXV_BF16, "has words of 1 bytes"},
        {"<f4", 4, MXV_F32, NULL},
        {"<f4", 4, MXV_TF32, NULL},
        {"<u4", 4, MXV_F32, NULL},
        {"<i2", 2, MXV_BF16, NULL},
        {"|i1", 1, MXV_MXINT8, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mxv_tensor_read_options options = named(rows[i].type);
        struct bytes *file = begin_array(rows[i].descr, "False", "(1,)");
        append_word(file, 0, rows[i].width);
        if (rows[i].part) {
            expect_refused(file, &options, MXV_ERR_INPUT, rows[i].part);
            continue;
        }
        struct mxv_tensor tensor = expect_read(file, &options);
        assert_int_equal(tensor.type, rows[i].type);
        mxv_tensor_free(&tensor);
    }
}

// Sub-byte codes ----------------------------------------------------------------------------------

static void test_unpacked_codes(void **state)
{
    (void)state;
    struct mxv_tensor_read_options options = named(MXV_E2M1);
    struct bytes *file = begin_array("|V1", "False", "(2, 2)");
    append(file, "\x00\x0f\x07\x08", 4);
    struct mxv_tensor tensor = expect_read(file, &options);
    assert_memory_equal(tensor.data, "\x00\x0f\x07\x08", 4);
    mxv_tensor_free(&tensor);
    file = begin_array("|V1", "False", "(2, 2)");
    append(file, "\x00\x0f\x17\x08", 4);
    expect_refused(file, &options, MXV_ERR_INPUT, "element 2: code 17 does not fit e2m1 (4 bits)");
    options = named(MXV_E3M2);
    file = begin_array("|V1", "False", "(2,)");
    append(file, "\x3f\x40", 2);
    expect_refused(file, &options, MXV_ERR_INPUT, "element 1: code 40 does not fit e3m2");
}

static void test_packed_codes(void **state)
{
    (void)state;
    struct mxv_tensor_read_options options = named(MXV_E2M1);
    options.packed = true;
    struct bytes *file = begin_array("|u1", "False", "(2, 2)");
    append(file, "\x21\x43\x65\x87", 4);
    struct mxv_tensor tensor = expect_read(file, &options);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.shape[1], 4);
    assert_int_equal(tensor.count, 8);
    assert_memory_equal(tensor.data, "\1\2\3\4\5\6\7\10", 8);
    mxv_tensor_free(&tensor);
    options.nibble_order = MXV_NIBBLE_HIGH_FIRST;
    tensor = expect_read(file, &options);
    assert_memory_equal(tensor.data, "\2\1\4\3\6\5\10\7", 8);
    mxv_tensor_free(&tensor);
    options.nibble_order = MXV_NIBBLE_SPLIT8;
    expect_refused(file, &options, MXV_ERR_INPUT, "split8 needs a last dimension of a multiple");
    file = begin_array("|u1", "False", "(1, 8)");
    append(file, "\x80\x91\xa2\xb3\xc4\xd5\xe6\xf7", 8);
    tensor = expect_read(file, &options);
    assert_memory_equal(tensor.data, "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 16);
    mxv_tensor_free(&tensor);
    options.type = MXV_E4M3;
    expect_refused(file, &options, MXV_ERR_INPUT, "packed codes need the named type e2m1");
    options.type = MXV_E2M1;
    file = begin_array("|u1", "False", "()");
    append(file, "\x21", 1);
    expect_refused(file, &options, MXV_ERR_INPUT, "packed codes need");
}

// Shapes ------------------------------------------------------------------------------------------

static void test_column_major(void **state)
{
    (void)state;
    struct bytes *file = begin_array("<i4", "True", "(2, 3, 4)");
    for (uint64_t k = 0; k < 4; k++)
        for (uint64_t j = 0; j < 3; j++)
            for (uint64_t i = 0; i < 2; i++)
                append_word(file, 100 * i + 10 * j + k, 4);
    struct mxv_tensor tensor = expect_read(file, &no_options);
    size_t at = 0;
    for (uint64_t i = 0; i < 2; i++)
        for (uint64_t j = 0; j < 3; j++)
            for (uint64_t k = 0; k < 4; k++)
                assert_int_equal(mxv_tensor_code(&tensor, at++), 100 * i + 10 * j + k);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.shape[2], 4);
    mxv_tensor_free(&tensor);
    file = begin_array(">u2", "True", "(2, 2)");
    append(file, "\x3f\x80\x40\x00\x40\x40\x40\x80", 8);
    struct mxv_tensor_read_options options = named(MXV_BF16);
    tensor = expect_read(file, &options);
    const uint16_t expected[4] = {0x3f80, 0x4040, 0x4000, 0x4080};
    assert_memory_equal(tensor.data, expected, 8);
    mxv_tensor_free(&tensor);
    file = begin_array("|i1", "True", "(3,)");
    append(file, "abc", 3);
    tensor = expect_read(file, &no_options);
    assert_memory_equal(tensor.data, "abc", 3);
    mxv_tensor_free(&tensor);
    file = begin_array("|i1", "True", "(3, 0)");
    tensor = expect_read(file, &no_options);
    assert_int_equal(tensor.count, 0);
    mxv_tensor_free(&tensor);
}

static void test_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        unsigned rank;
        size_t count;
    } rows[] = {
        {"()", 0, 1},
        {"(3,)", 1, 3},
        {"( 3 , )", 1, 3},
        {"(0, 5)", 2, 0},
        {"(2L, 3L)", 2, 6},
        {"(2, 3,)", 2, 6},
        {"(1, 2, 1, 2, 1, 2, 1, 2)", 8, 16},
        {"(0, 4611686018427387904)", 2, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes *file = begin_array("|i1", "False", rows[i].shape);
        append(file, "0123456789abcdef", rows[i].count);
        struct mxv_tensor tensor = expect_read(file, &no_options);
        assert_int_equal(tensor.rank, rows[i].rank);
        assert_int_equal(tensor.count, rows[i].count);
        mxv_tensor_free(&tensor);
    }
}

static void test_real_activations(void **state)
{
    (void)state;
    static const char folder[] = MXV_SOURCE_DIR "/data/real/smollm2-135m";
    unsigned files = 0;
    assert_int_equal(system("cd '" MXV_SOURCE_DIR "/data/real/smollm2-135m' && "
                            "sha256sum --quiet -c SHA256SUMS"),
                     0);
    for (unsigned layer = 0; layer <= 29; layer += layer ? 15 : 14)
        for (const char *part = "qkv"; *part; part++) {
            char path[1024];
            struct mxv_tensor tensor;
            snprintf(path, sizeof path, "%s/layer%02u_%c.npy", folder, layer, *part);
            assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
            assert_int_equal(tensor.type, MXV_F16);
            assert_int_equal(tensor.rank, 3);
            assert_int_equal(tensor.shape[0], *part == 'q' ? 9 : 3);
            assert_int_equal(tensor.shape[1], 1024);
            assert_int_equal(tensor.shape[2], 64);
            size_t zeros = 0;
            for (size_t i = 0; i < tensor.count; i++) {
                assert_true((mxv_tensor_code(&tensor, i) & 0x7c00) != 0x7c00);
                zeros += (mxv_tensor_code(&tensor, i) & 0x7fff) == 0;
            }
            assert_true(zeros < tensor.count / 1000);
            mxv_tensor_free(&tensor);
            files++;
        }
    assert_int_equal(files, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_lost_types),
        cmocka_unit_test(test_integer_option),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_unpacked_codes),
        cmocka_unit_test(test_packed_codes),
        cmocka_unit_test(test_column_major),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_real_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
