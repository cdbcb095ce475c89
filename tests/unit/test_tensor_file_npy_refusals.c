// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Refusing .npy: every refusal has a crafted file, checked for status, message and an empty result.
#include "test_tensor_file_npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

// Headers -----------------------------------------------------------------------------------------

static void test_versions(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 3; version++) {
        struct bytes *file =
            begin_npy(version, "{\"shape\": (2,), 'fortran_order':False,'descr':'<f4'}");
        append_word(file, 0x400000003f800000, 8);
        struct mxv_tensor tensor = expect_read(file, &no_options);
        assert_int_equal(mxv_tensor_code(&tensor, 1), 0x40000000);
        mxv_tensor_free(&tensor);
    }
    struct bytes *file = begin_npy(4, "{}");
    expect_refused(file, &no_options, MXV_ERR_UNSUPPORTED, ".npy version 4.0, byte 6");
    file = begin_npy(1, "{}");
    file->data[7] = 1;
    expect_refused(file, &no_options, MXV_ERR_UNSUPPORTED, "version 1.1");
    file->data[0] = 0x92;
    expect_refused(file, &no_options, MXV_ERR_INPUT, "is not a .npy file");
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *dict;
        enum mxv_status status;
        const char *part;
    } rows[] = {
        {"", MXV_ERR_INPUT, "'{' is expected"},
        {"{}", MXV_ERR_INPUT, "is missing"},
        {"{'descr': '<f4', 'shape': ()}", MXV_ERR_INPUT, "is missing"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", MXV_ERR_INPUT, "True or False"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT,
         "came before"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", MXV_ERR_INPUT,
         "does not have"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} 1", MXV_ERR_INPUT,
         "after the dict"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT, "',' or '}'"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT, "':' is expected"},
        {"{'descr': '<f4, 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT, "is expected"},
        {"{'descr': '<f4", MXV_ERR_INPUT, "control character"},
        {"{'descr': '<\\x664', 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT, "an escape"},
        {"{'descr': <f4, 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT, "a string"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", MXV_ERR_INPUT, "a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", MXV_ERR_INPUT, "a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", MXV_ERR_INPUT, "needs a comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 3)}", MXV_ERR_INPUT, "',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", MXV_ERR_INPUT, "negative"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,)}", MXV_ERR_INPUT, "',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (03,)}", MXV_ERR_INPUT, "leading zero"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}", MXV_ERR_INPUT, "a dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (", MXV_ERR_INPUT, "a dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
         MXV_ERR_INPUT, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         MXV_ERR_INPUT, "exceeds"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", MXV_ERR_INPUT,
         "exceeds"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 18446744073709551615, 2)}",
         MXV_ERR_INPUT, "exceeds"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
         MXV_ERR_UNSUPPORTED, "more than 8 dimensions"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED,
         "descr '|O' holds Python objects"},
        {"{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': ()}",
         MXV_ERR_UNSUPPORTED, "structured descr [('a', '<f4'), ('b', '<i4')] is not"},
        {"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED,
         "structured descr ('<f4', (2,))"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "'<c8'"},
        {"{'descr': '<U4', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "'<U4'"},
        {"{'descr': '|S1', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "'|S1'"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED,
         "M8[ns]"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "'<f16'"},
        {"{'descr': '|V3', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "'|V3'"},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "'f4'"},
        {"{'descr': '', 'fortran_order': False, 'shape': ()}", MXV_ERR_UNSUPPORTED, "''"},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': ()}", MXV_ERR_INPUT, "byte order"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes *file = begin_npy(1, rows[i].dict);
        append_word(file, 0, 4);
        expect_refused(file, &no_options, rows[i].status, rows[i].part);
    }
    print_message("%zu crafted headers refused\n", sizeof rows / sizeof *rows);
}

static void test_wrong_lengths(void **state)
{
    (void)state;
    struct bytes *file = begin_array("<f4", "False", "(2, 3)");
    for (unsigned i = 0; i < 6; i++)
        append_word(file, i, 4);
    size_t size = file->size;
    for (file->size = 0; file->size < size; file->size++)
        expect_refused(file, &no_options, MXV_ERR_INPUT, "");
    file->size = size - 1;
    expect_refused(file, &no_options, MXV_ERR_INPUT,
                   "data, byte 128: the header promises 24 bytes of data, the file has 23");
    file->size = size;
    append(file, "x", 1);
    expect_refused(file, &no_options, MXV_ERR_INPUT, "promises 24 bytes of data, the file has 25");
    file->size = size;
    file->data[8] = file->data[9] = 0xff;
    expect_refused(file, &no_options, MXV_ERR_INPUT, "ends within the .npy header, at byte 152");
}

static void test_unaligned_data(void **state)
{
    (void)state;
    struct bytes file = {.size = 0};
    const char *dict = "{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}\n";
    append(&file, "\x93NUMPY\x01\x00", 8);
    append_word(&file, strlen(dict), 2);
    append(&file, dict, strlen(dict));
    append_word(&file, 0x40003c00, 4);
    struct mxv_tensor tensor = expect_read(&file, NULL);
    assert_int_equal(mxv_tensor_code(&tensor, 0), 0x3c00);
    assert_int_equal(mxv_tensor_code(&tensor, 1), 0x4000);
    mxv_tensor_free(&tensor);
}

// Files -------------------------------------------------------------------------------------------

static void test_paths(void **state)
{
    (void)state;
    char path[128], message[MXV_TENSOR_MESSAGE_SIZE];
    struct mxv_tensor tensor;
    const char *folder = test_folder();
    enum mxv_status status = mxv_tensor_read_npy(folder, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_IO, &tensor, message, folder, "is a folder");
    snprintf(path, sizeof path, "%s/a.npy", folder);
    status = mxv_tensor_read_npy(path, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_IO, &tensor, message, path, "No such file");
    struct bytes *file = begin_array("|O", "False", "(1,)");
    append(file, "x", 1);
    write_bytes(path, file);
    status = mxv_tensor_read_npy(path, NULL, &tensor, message, sizeof message);
    assert_refused(status, MXV_ERR_UNSUPPORTED, &tensor, message, path, "'|O'");
    file = begin_array("|i1", "True", "(2, 2)");
    append(file, "abcd", 4);
    write_bytes(path, file);
    assert_int_equal(mxv_tensor_read_npy(path, NULL, &tensor, NULL, 0), MXV_OK);
    assert_memory_equal(tensor.data, "acbd", 4);
    mxv_tensor_free(&tensor);
    remove_folder(folder);
}

static void test_pipe(void **state)
{
    (void)state;
    char path[128];
    struct mxv_tensor tensor;
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct bytes *file = begin_array("|i1", "False", "(200, 300)");
        for (unsigned i = 0; i < 60000; i++)
            append_word(file, i * 7, 1);
        write_bytes(path, file);
        _exit(0);
    }
    assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(tensor.count, 60000);
    for (unsigned i = 0; i < 60000; i++)
        assert_int_equal(mxv_tensor_code(&tensor, i), (i * 7) & 0xff);
    mxv_tensor_free(&tensor);
    remove_folder(folder);
}

static void test_message_sizes(void **state)
{
    (void)state;
    struct mxv_tensor tensor;
    char message[64];
    for (size_t size = 0; size < sizeof message - 1; size++) {
        memset(message, 'Z', sizeof message);
        assert_int_equal(mxv_tensor_parse_npy("a\nb", 3, "label\n", NULL, &tensor, message, size),
                         MXV_ERR_INPUT);
        assert_int_equal(message[size], 'Z');
        if (size > 0)
            assert_true(strlen(message) < size && !strchr(message, '\n'));
    }
    assert_int_equal(mxv_tensor_parse_npy(NULL, 0, "x", NULL, &tensor, NULL, 9), MXV_ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),      cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_wrong_lengths), cmocka_unit_test(test_unaligned_data),
        cmocka_unit_test(test_paths),         cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_message_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
