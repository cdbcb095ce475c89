// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading .safetensors: dtypes, storage sizes, packed sub-byte codes, and a crafted file for each
// refusal. Files are built byte by byte from the format's description.
#include "test_tensor_file_safetensors.h"

static void test_storage_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        unsigned rank;
        size_t shape[3];
        enum mxv_status status;
        size_t bytes;
    } rows[] = {
        {"F6_E2M3", 2, {4, 4}, MXV_OK, 12},
        {"F6_E3M2", 2, {4, 4}, MXV_OK, 12},
        {"F4", 2, {4, 4}, MXV_OK, 8},
        {"F4", 2, {2, 3}, MXV_OK, 3},
        {"F4", 1, {3}, MXV_ERR_INPUT, 0},
        {"F4", 0, {0}, MXV_ERR_INPUT, 0},
        {"F6_E2M3", 1, {2}, MXV_ERR_INPUT, 0},
        {"F6_E2M3", 2, {3, 3}, MXV_ERR_INPUT, 0},
        {"F4", 2, {3, 0}, MXV_OK, 0},
        {"F8_E8M0", 2, {4, 4}, MXV_OK, 16},
        {"BF16", 2, {4, 4}, MXV_OK, 32},
        {"F64", 0, {0}, MXV_OK, 8},
        {"C64", 1, {4}, MXV_OK, 32},
        {"F4", 2, {SIZE_MAX / 2 + 1, 2}, MXV_ERR_INPUT, 0},
        {"F4", 1, {SIZE_MAX - 1}, MXV_OK, SIZE_MAX / 2},
        {"U8", 1, {SIZE_MAX}, MXV_OK, SIZE_MAX},
        {"F16", 1, {SIZE_MAX / 2 + 1}, MXV_ERR_INPUT, 0},
        {"U8", 3, {0, SIZE_MAX, 2}, MXV_ERR_INPUT, 0},
        {"F8", 1, {4}, MXV_ERR_UNSUPPORTED, 0},
        {"f32", 1, {4}, MXV_ERR_UNSUPPORTED, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t bytes = 0;
        enum mxv_status status =
            mxv_tensor_storage_bytes(rows[i].dtype, rows[i].rank, rows[i].shape, &bytes);
        assert_int_equal(status, rows[i].status);
        if (status == MXV_OK)
            assert_true(bytes == rows[i].bytes);
    }
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        unsigned width;
        enum mxv_element type;
        unsigned integer_bits;
        bool is_signed;
    } rows[] = {
        {"BOOL", 1, MXV_U8, 0, false},
        {"U8", 1, MXV_U8, 0, false},
        {"I8", 1, MXV_S8, 0, false},
        {"F8_E5M2", 1, MXV_E5M2, 0, false},
        {"F8_E4M3", 1, MXV_E4M3, 0, false},
        {"F8_E8M0", 1, MXV_E8M0, 0, false},
        {"F8_E4M3FNUZ", 1, MXV_E4M3FNUZ, 0, false},
        {"F8_E5M2FNUZ", 1, MXV_E5M2FNUZ, 0, false},
        {"I16", 2, MXV_ELEMENT_COUNT, 16, true},
        {"U16", 2, MXV_ELEMENT_COUNT, 16, false},
        {"F16", 2, MXV_F16, 0, false},
        {"BF16", 2, MXV_BF16, 0, false},
        {"I32", 4, MXV_ELEMENT_COUNT, 32, true},
        {"U32", 4, MXV_ELEMENT_COUNT, 32, false},
        {"F32", 4, MXV_F32, 0, false},
        {"F64", 8, MXV_F64, 0, false},
        {"I64", 8, MXV_ELEMENT_COUNT, 64, true},
        {"U64", 8, MXV_ELEMENT_COUNT, 64, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[256];
        snprintf(json, sizeof json,
                 "{\"a\":{\"dtype\":\"%s\",\"shape\":[2,3],"
                 "\"data_offsets\":[0,%u]}}  ",
                 rows[i].dtype, 6 * rows[i].width);
        struct bytes *file = make_file(json, 6 * rows[i].width);
        struct mxv_tensor tensor = expect_read(file, NULL, NULL);
        assert_int_equal(tensor.type, rows[i].type);
        assert_int_equal(tensor.container, rows[i].width);
        assert_int_equal(tensor.integer_bits, rows[i].integer_bits);
        assert_int_equal(tensor.integer_signed, rows[i].is_signed);
        assert_int_equal(tensor.rank, 2);
        assert_int_equal(tensor.shape[1], 3);
        assert_memory_equal(tensor.data, file->data + file->size - tensor.bytes, tensor.bytes);
        mxv_tensor_free(&tensor);
    }
}

static void test_sub_byte(void **state)
{
    (void)state;
    struct bytes *file =
        make_file("{\"a\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[0,3]}}", 0);
    append(file, "\x21\x43\x65", 3);
    struct mxv_tensor tensor = expect_read(file, "a", NULL);
    assert_int_equal(tensor.type, MXV_E2M1);
    assert_int_equal(tensor.shape[1], 3);
    assert_memory_equal(tensor.data, "\1\2\3\4\5\6", 6);
    mxv_tensor_free(&tensor);
    struct mxv_tensor_read_options options = {.nibble_order = MXV_NIBBLE_HIGH_FIRST,
                                              .packed = true};
    tensor = expect_read(file, "a", &options);
    assert_int_equal(tensor.shape[1], 3);
    assert_memory_equal(tensor.data, "\2\1\4\3\6\5", 6);
    mxv_tensor_free(&tensor);
    static const char *const dtypes[2] = {"F6_E2M3", "F6_E3M2"};
    for (unsigned i = 0; i < 2; i++) {
        char json[128];
        snprintf(json, sizeof json,
                 "{\"a\":{\"dtype\":\"%s\",\"shape\":[4],\"data_offsets\":[0,3]}}", dtypes[i]);
        file = make_file(json, 0);
        append_word(file, 0x3f | 2 << 6 | 3 << 12 | 0x20 << 18, 3);
        tensor = expect_read(file, "a", NULL);
        assert_int_equal(tensor.type, i ? MXV_E3M2 : MXV_E2M3);
        assert_memory_equal(tensor.data, "\x3f\2\3\x20", 4);
        mxv_tensor_free(&tensor);
    }
}

/// Checkpoints that hold packed FP4 codes and E8M0 scales in U8 tensors.
static void test_named_types(void **state)
{
    (void)state;
    struct bytes *file = make_file("{\"codes\":{\"dtype\":\"U8\",\"shape\":[1,2],"
                                   "\"data_offsets\":[0,2]},\"scales\":{\"dtype\":\"U8\",\"shape\""
                                   ":[2],\"data_offsets\":[2,4]}}",
                                   0);
    append(file, "\x21\x43\x7f\xff", 4);
    struct mxv_tensor_read_options options = {.has_type = true, .type = MXV_E8M0};
    struct mxv_tensor tensor = expect_read(file, "scales", &options);
    assert_int_equal(tensor.type, MXV_E8M0);
    assert_memory_equal(tensor.data, "\x7f\xff", 2);
    mxv_tensor_free(&tensor);
    options.type = MXV_E2M1;
    options.packed = true;
    tensor = expect_read(file, "codes", &options);
    assert_int_equal(tensor.shape[1], 4);
    assert_memory_equal(tensor.data, "\1\2\3\4", 4);
    mxv_tensor_free(&tensor);
    char message[MXV_TENSOR_MESSAGE_SIZE];
    options.packed = false;
    enum mxv_status status = parse(file, "codes", &options, &tensor, message);
    assert_refused(status, MXV_ERR_INPUT, &tensor, message, "case: ", "does not fit e2m1");
    options.type = MXV_BF16;
    status = parse(file, "codes", &options, &tensor, message);
    assert_refused(status, MXV_ERR_INPUT, &tensor, message, "case: ", "has words of 1 bytes");
    file = make_file("{\"s\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
    options.type = MXV_E4M3FNUZ;
    status = parse(file, "s", &options, &tensor, message);
    assert_refused(status, MXV_ERR_INPUT, &tensor, message, "case: ", "contradicts");
    options.type = MXV_UE4M3;
    tensor = expect_read(file, "s", &options);
    assert_int_equal(tensor.type, MXV_UE4M3);
    mxv_tensor_free(&tensor);
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        size_t data;
        enum mxv_status status;
        const char *part;
    } rows[] = {
        {" {}", 0, MXV_ERR_INPUT, "header, byte 8: is not a .safetensors file"},
        {"[]", 0, MXV_ERR_INPUT, "'{' is expected"},
        {"{", 0, MXV_ERR_INPUT, "header, before byte 9: "},
        {"{} x", 0, MXV_ERR_INPUT, "header, before byte 12: "},
        {"{}", 0, MXV_ERR_INPUT, "holds no tensor"},
        {"{}", 1, MXV_ERR_INPUT, "data, byte 0: 1 bytes behind the last tensor"},
        {"{\"a\":1}", 0, MXV_ERR_INPUT, "tensor 'a': its keys are not"},
        {"{\"__metadata__\":1}", 0, MXV_ERR_INPUT, "no map of strings"},
        {"{\"__metadata__\":{\"x\":1}}", 0, MXV_ERR_INPUT, "no map of strings"},
        {"{\"__metadata__\":{\"x\":\"1\",\"x\":\"1\"}}", 0, MXV_ERR_INPUT, "duplicate"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}",
         1, MXV_ERR_INPUT, "duplicate"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
         MXV_ERR_INPUT, "duplicate"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"strides\":[]}}", 1,
         MXV_ERR_INPUT, "its keys are not"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 0, MXV_ERR_INPUT, "its keys are not"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"offsets\":[0,1]}}", 1, MXV_ERR_INPUT, "no pair"},
        {HEADER_A("1", "[]", "[0,1]"), 1, MXV_ERR_INPUT, "dtype is missing or no string"},
        {HEADER_A("\"E4M3\"", "[]", "[0,1]"), 1, MXV_ERR_UNSUPPORTED, "dtype 'E4M3' is unknown"},
        {HEADER_A("\"U8\"", "1", "[0,1]"), 1, MXV_ERR_INPUT, "shape is missing or no list"},
        {HEADER_A("\"U8\"", "[1.0]", "[0,1]"), 1, MXV_ERR_INPUT, "that is no size"},
        {HEADER_A("\"U8\"", "[-1]", "[0,1]"), 1, MXV_ERR_INPUT, "that is no size"},
        {HEADER_A("\"U8\"", "[99999999999999999999]", "[0,1]"), 1, MXV_ERR_INPUT,
         "too big integer"},
        {HEADER_A("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, MXV_ERR_UNSUPPORTED,
         "9 dimensions"},
        {HEADER_A("\"U8\"", "[9223372036854775807,3]", "[0,1]"), 1, MXV_ERR_INPUT, "too large"},
        {HEADER_A("\"F4\"", "[3]", "[0,1]"), 1, MXV_ERR_INPUT, "misaligned sub-byte"},
        {HEADER_A("\"F6_E2M3\"", "[3]", "[0,2]"), 2, MXV_ERR_INPUT, "misaligned sub-byte"},
        {HEADER_A("\"U8\"", "[1]", "[0]"), 1, MXV_ERR_INPUT, "no pair"},
        {HEADER_A("\"U8\"", "[1]", "[0,1,2]"), 1, MXV_ERR_INPUT, "no pair"},
        {HEADER_A("\"U8\"", "[1]", "[1,0]"), 1, MXV_ERR_INPUT, "no pair"},
        {HEADER_A("\"U8\"", "[1]", "[-1,0]"), 1, MXV_ERR_INPUT, "no pair"},
        {HEADER_A("\"U8\"", "[1]", "[0.0,1]"), 1, MXV_ERR_INPUT, "no pair"},
        {HEADER_A("\"U8\"", "[1]", "[0,2]"), 1, MXV_ERR_INPUT,
         "end at byte 2 of the data, the file has 1"},
        {HEADER_A("\"F16\"", "[2]", "[0,3]"), 3, MXV_ERR_INPUT,
         "take 4 bytes, data_offsets give 3"},
        {HEADER_A("\"U8\"", "[1]", "[1,2]"), 2, MXV_ERR_INPUT, "a hole"},
        {HEADER_A("\"U8\"", "[1]", "[0,1]"), 2, MXV_ERR_INPUT, "data, byte 1: 1 bytes behind"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         3, MXV_ERR_INPUT,
         "tensor 'b': begins at byte 1 of the data, the one before ends at 2 (an"},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
         5, MXV_ERR_INPUT,
         "tensor 'b': begins at byte 3 of the data, the one before ends at 2 (a h"},
        {HEADER_A("\"C64\"", "[1]", "[0,8]"), 8, MXV_ERR_UNSUPPORTED, "dtype 'C64' is not handled"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_refused(make_file(rows[i].json, rows[i].data), NULL, rows[i].status, rows[i].part);
    print_message("%zu crafted headers refused\n", sizeof rows / sizeof *rows);
}

static void test_wrong_lengths(void **state)
{
    (void)state;
    struct bytes *file = make_file(HEADER_A("\"F32\"", "[2,3]", "[0,24]"), 24);
    struct mxv_tensor tensor = expect_read(file, NULL, NULL);
    mxv_tensor_free(&tensor);
    size_t size = file->size;
    for (file->size = 0; file->size < size; file->size++)
        expect_refused(file, NULL, MXV_ERR_INPUT, "");
    static const uint64_t lengths[] = {0, 100000001, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy(file->data, &lengths[i], 8);
        expect_refused(file, NULL, MXV_ERR_INPUT, "is impossible in a .safetensors file");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_bytes), cmocka_unit_test(test_types),
        cmocka_unit_test(test_sub_byte),      cmocka_unit_test(test_named_types),
        cmocka_unit_test(test_bad_headers),   cmocka_unit_test(test_wrong_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
