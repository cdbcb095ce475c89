// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Choosing a tensor: names in a .safetensors file, FILE:TENSOR, the kind told by the first bytes.
#include "test_tensor_file_safetensors.h"

#include <sys/stat.h>

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

/// A header beyond the format's limit of 100 million bytes, in a (sparse) file that could hold it.
static void test_header_limit(void **state)
{
    (void)state;
    char path[128], message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    struct bytes *file = make_file("{", 0);
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    for (uint64_t size = 100000000; size <= 100000001; size++) {
        memcpy(file->data, &size, sizeof size);
        write_bytes(path, file);
        assert_int_equal(truncate(path, 100000100), 0);
        enum mxv_status status = mxv_tensor_read(path, NULL, &tensor, message, sizeof message);
        assert_refused(status, MXV_ERR_INPUT, &tensor, message, path,
                       size > 100000000 ? "is impossible" : "header, before byte 10: ");
    }
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
    write_bytes(path, make_file(HEADER_A("\"U8\"", "[1]", "[0,1]"), 1));
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
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_header_limit),
        cmocka_unit_test(test_kind_by_first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
