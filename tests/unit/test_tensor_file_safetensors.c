// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading .safetensors: dtypes, storage sizes, packed sub-byte codes, choosing a tensor, and a
// crafted file for each refusal. Files are built byte by byte from the format's description.
#include "test_tensor_file.h"

#include <sys/stat.h>

/// A file of the given JSON, `size` bytes of data 00 01 02 ... behind it.
static struct bytes *make_file(const char *json, size_t size)
{
    static struct bytes file;
    file.size = 0;
    append_word(&file, strlen(json), 8);
    append(&file, json, strlen(json));
    for (size_t i = 0; i < size; i++)
        append_word(&file, i, 1);
    return &file;
}

static enum mxv_status parse(const struct bytes *file, const char *name,
                             const struct mxv_tensor_read_options *options, struct mxv_tensor *out,
                             char message[MXV_TENSOR_MESSAGE_SIZE])
{
    message[0] = '\0';
    return mxv_tensor_parse_safetensors(file->data, file->size, "case", name, options, out, message,
                                        MXV_TENSOR_MESSAGE_SIZE);
}

static struct mxv_tensor expect_read(const struct bytes *file, const char *name,
                                     const struct mxv_tensor_read_options *options)
{
    char message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    if (parse(file, name, options, &tensor, message) != MXV_OK)
        fail_msg("%s", message);
    assert_non_null(tensor.data);
    assert_int_equal(tensor.bytes, tensor.count * tensor.container);
    return tensor;
}

static void expect_refused(const struct bytes *file, const char *name, enum mxv_status expected,
                           const char *part)
{
    char message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    enum mxv_status status = parse(file, name, NULL, &tensor, message);
    assert_refused(status, expected, &tensor, message, "case: ", part);
}

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
    struct mxv_tensor_read_options options = {.nibble_order = MXV_NIBBLE_HIGH_FIRST};
    tensor = expect_read(file, "a", &options);
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

#define A(dtype, shape, offsets)                                                                   \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

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
        {"{", 0, MXV_ERR_INPUT, "header, byte 9"},
        {"{} x", 0, MXV_ERR_INPUT, "header, byte"},
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
        {A("1", "[]", "[0,1]"), 1, MXV_ERR_INPUT, "dtype is missing or no string"},
        {A("\"E4M3\"", "[]", "[0,1]"), 1, MXV_ERR_UNSUPPORTED, "dtype 'E4M3' is unknown"},
        {A("\"U8\"", "1", "[0,1]"), 1, MXV_ERR_INPUT, "shape is missing or no list"},
        {A("\"U8\"", "[1.0]", "[0,1]"), 1, MXV_ERR_INPUT, "that is no size"},
        {A("\"U8\"", "[-1]", "[0,1]"), 1, MXV_ERR_INPUT, "that is no size"},
        {A("\"U8\"", "[99999999999999999999]", "[0,1]"), 1, MXV_ERR_INPUT, "too big integer"},
        {A("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, MXV_ERR_UNSUPPORTED, "9 dimensions"},
        {A("\"U8\"", "[9223372036854775807,3]", "[0,1]"), 1, MXV_ERR_INPUT, "too large"},
        {A("\"F4\"", "[3]", "[0,1]"), 1, MXV_ERR_INPUT, "misaligned sub-byte"},
        {A("\"F6_E2M3\"", "[3]", "[0,2]"), 2, MXV_ERR_INPUT, "misaligned sub-byte"},
        {A("\"U8\"", "[1]", "[0]"), 1, MXV_ERR_INPUT, "no pair"},
        {A("\"U8\"", "[1]", "[0,1,2]"), 1, MXV_ERR_INPUT, "no pair"},
        {A("\"U8\"", "[1]", "[1,0]"), 1, MXV_ERR_INPUT, "no pair"},
        {A("\"U8\"", "[1]", "[-1,0]"), 1, MXV_ERR_INPUT, "no pair"},
        {A("\"U8\"", "[1]", "[0.0,1]"), 1, MXV_ERR_INPUT, "no pair"},
        {A("\"U8\"", "[1]", "[0,2]"), 1, MXV_ERR_INPUT,
         "end at byte 2 of the data, the file has 1"},
        {A("\"F16\"", "[2]", "[0,3]"), 3, MXV_ERR_INPUT, "take 4 bytes, data_offsets give 3"},
        {A("\"U8\"", "[1]", "[1,2]"), 2, MXV_ERR_INPUT, "a hole"},
        {A("\"U8\"", "[1]", "[0,1]"), 2, MXV_ERR_INPUT, "data, byte 1: 1 bytes behind"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         3, MXV_ERR_INPUT,
         "tensor 'b': begins at byte 1 of the data, the one before ends at 2 (an"},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
         5, MXV_ERR_INPUT,
         "tensor 'b': begins at byte 3 of the data, the one before ends at 2 (a h"},
        {A("\"C64\"", "[1]", "[0,8]"), 8, MXV_ERR_UNSUPPORTED, "dtype 'C64' is not handled"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_refused(make_file(rows[i].json, rows[i].data), NULL, rows[i].status, rows[i].part);
    print_message("%zu crafted headers refused\n", sizeof rows / sizeof *rows);
}

static void test_wrong_lengths(void **state)
{
    (void)state;
    struct bytes *file = make_file(A("\"F32\"", "[2,3]", "[0,24]"), 24);
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

static const char three[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                            "\"z:1\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                            "\"e\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[2,2]},"
                            "\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[2,3]}}    ";

static void test_names(void **state)
{
    (void)state;
    struct bytes *file = make_file(three, 3);
    expect_refused(file, NULL, MXV_ERR_INPUT, "holds 3 tensors; name one as FILE:TENSOR");
    expect_refused(file, "q", MXV_ERR_INPUT, "has no tensor 'q'; it holds 'z:1', 'e', 'b'");
    expect_refused(file, "__metadata__", MXV_ERR_INPUT, "has no tensor '__metadata__'");
    struct mxv_tensor tensor = expect_read(file, "b", NULL);
    assert_int_equal(tensor.rank, 0);
    assert_int_equal(mxv_tensor_code(&tensor, 0), 2);
    mxv_tensor_free(&tensor);
    tensor = expect_read(file, "e", NULL);
    assert_int_equal(tensor.count, 0);
    assert_int_equal(tensor.shape[1], 4);
    mxv_tensor_free(&tensor);
    char json[8192] = "{", row[128];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(row, sizeof row,
                 "%s\"tensor%02u\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[%u,%u]}",
                 i ? "," : "", i, i, i + 1);
        strcat(json, row);
    }
    strcat(json, "}");
    expect_refused(make_file(json, 100), "q", MXV_ERR_INPUT, "more");
}

static void test_paths(void **state)
{
    (void)state;
    char path[128], where[160], message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    struct mxv_tensor_list list;
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/a:b", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/a:b/m.safetensors", folder);
    write_bytes(path, make_file(three, 3));
    snprintf(where, sizeof where, "%s:z:1", path);
    assert_int_equal(mxv_tensor_read(where, NULL, &tensor, NULL, 0), MXV_OK);
    assert_memory_equal(tensor.data, "\0\1", 2);
    mxv_tensor_free(&tensor);
    assert_int_equal(mxv_tensor_read_safetensors(path, "b", NULL, &tensor, NULL, 0), MXV_OK);
    mxv_tensor_free(&tensor);
    enum mxv_status status = mxv_tensor_read(path, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_INPUT, &tensor, message, path, "holds 3 tensors");
    assert_int_equal(mxv_tensor_list_safetensors(path, &list, NULL, 0), MXV_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.entries[0].name, "z:1");
    assert_string_equal(list.entries[1].name, "e");
    assert_string_equal(list.entries[1].dtype, "F32");
    assert_int_equal(list.entries[1].rank, 2);
    assert_int_equal(list.entries[2].begin, 2);
    assert_int_equal(list.entries[2].end, 3);
    mxv_tensor_list_free(&list);
    assert_null(list.entries);
    snprintf(path, sizeof path, "%s/none.safetensors", folder);
    assert_int_equal(mxv_tensor_list_safetensors(path, &list, message, sizeof message), MXV_ERR_IO);
    snprintf(where, sizeof where, "%s:q", path);
    status = mxv_tensor_read(where, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_IO, &tensor, message, path, "No such file");
    remove_folder(folder);
}

static void test_kind_by_first_bytes(void **state)
{
    (void)state;
    char path[128], where[160], message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    const size_t shape[1] = {2};
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/x.safetensors", folder);
    assert_int_equal(mxv_npy_write(path, "|i1", 1, shape, "ab", NULL, 0), MXV_OK);
    assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
    assert_memory_equal(tensor.data, "ab", 2);
    mxv_tensor_free(&tensor);
    snprintf(where, sizeof where, "%s:q", path);
    enum mxv_status status = mxv_tensor_read(where, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_INPUT, &tensor, message, path, "is a .npy file and has no ten");
    snprintf(path, sizeof path, "%s/y.npy", folder);
    write_bytes(path, make_file(A("\"U8\"", "[1]", "[0,1]"), 1));
    assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
    mxv_tensor_free(&tensor);
    struct bytes text = {.size = 0};
    append(&text, "q,k,v\n1,2,3\n", 12);
    write_bytes(path, &text);
    status = mxv_tensor_read(path, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_INPUT, &tensor, message, path, "use a .npy or .safetensors");
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_bytes),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_sub_byte),
        cmocka_unit_test(test_named_types),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_wrong_lengths),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_kind_by_first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
