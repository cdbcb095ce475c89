// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Writing .npy: the bytes that NEP 1 prescribes, round trips, and all-or-nothing on every failure:
// what stood at the path stays, no temporary file is left.
#include "test_tensor_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

static size_t count_entries(const char *folder)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    return count;
}

static void read_bytes(const char *path, struct bytes *file)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    file->size = fread(file->data, 1, sizeof file->data, stream);
    fclose(stream);
}

static void test_bytes(void **state)
{
    (void)state;
    static struct bytes file;
    char path[128];
    const char *folder = test_folder();
    const size_t shape[2] = {1, 2};
    const float data[2] = {1.0f, -2.0f};
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
    snprintf(path, sizeof path, "%s/a.npy", folder);
    assert_int_equal(mxv_npy_write(path, "<f4", 2, shape, data, NULL, 0), MXV_OK);
    read_bytes(path, &file);
    assert_int_equal(file.size, 128 + 8);
    assert_memory_equal(file.data, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(file.data + 10, dict, sizeof dict - 1);
    for (size_t i = 10 + sizeof dict - 1; i < 127; i++)
        assert_int_equal(file.data[i], ' ');
    assert_int_equal(file.data[127], '\n');
    assert_memory_equal(file.data + 128, "\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);
    remove_folder(folder);
}

static void test_round_trips(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        enum mxv_element type;
        unsigned width;
    } rows[] = {
        {"<f2", MXV_F16, 2},  {"<f4", MXV_F32, 4},  {"<f8", MXV_F64, 8},  {"|i1", MXV_S8, 1},
        {"|u1", MXV_E4M3, 1}, {"<V1", MXV_E8M0, 1}, {"<V2", MXV_BF16, 2}, {"<u2", MXV_BF16, 2},
        {"<u4", MXV_F32, 4},  {"|b1", MXV_U8, 1},   {"<i8", MXV_F64, 8},
    };
    uint8_t data[8 * 256];
    char path[128];
    unsigned trips = 0;
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/a.npy", folder);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 + i / 256);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned rank = 0; rank <= MXV_TENSOR_MAX_RANK; rank++) {
            const size_t shape[8] = {2, 1, 3, 2, 1, 2, 2, 5};
            struct mxv_tensor_read_options options = {.has_type = true, .type = rows[i].type};
            struct mxv_tensor tensor;
            assert_int_equal(mxv_npy_write(path, rows[i].descr, rank, shape, data, NULL, 0),
                             MXV_OK);
            assert_int_equal(mxv_tensor_read(path, &options, &tensor, NULL, 0), MXV_OK);
            assert_int_equal(tensor.rank, rank);
            assert_memory_equal(tensor.shape, shape, rank * sizeof *shape);
            assert_int_equal(tensor.container, rows[i].width);
            assert_memory_equal(tensor.data, data, tensor.bytes);
            mxv_tensor_free(&tensor);
            trips++;
        }
    assert_int_equal(count_entries(folder), 1);
    remove_folder(folder);
    print_message("%u round trips\n", trips);
}

static void test_largest_header(void **state)
{
    (void)state;
    char path[128];
    struct mxv_tensor tensor;
    const size_t shape[8] = {SIZE_MAX / 1000000000000000000, 10000000, 100, 10000, 100000, 1, 1, 0};
    const size_t wide[2] = {0, SIZE_MAX / 8};
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/a.npy", folder);
    assert_int_equal(mxv_npy_write(path, "<f8", 2, wide, "", NULL, 0), MXV_OK);
    assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
    assert_true(tensor.shape[1] == SIZE_MAX / 8 && tensor.count == 0);
    mxv_tensor_free(&tensor);
    assert_int_equal(mxv_npy_write(path, "|i1", 8, shape, "", NULL, 0), MXV_OK);
    assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
    assert_memory_equal(tensor.shape, shape, sizeof shape);
    mxv_tensor_free(&tensor);
    remove_folder(folder);
}

static void expect_failure(const char *path, const char *descr, unsigned rank, const size_t *shape,
                           enum mxv_status expected, const char *part)
{
    char message[MXV_TENSOR_MESSAGE_SIZE] = "";
    const double data[4] = {0};
    enum mxv_status status = mxv_npy_write(path, descr, rank, shape, data, message, sizeof message);
    if (status != expected || !strstr(message, part))
        print_error("status %d: %s\n", status, message);
    assert_int_equal(status, expected);
    assert_non_null(strstr(message, part));
    assert_int_equal(strncmp(message, path, strlen(path)), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    char path[160];
    const char *folder = test_folder();
    const size_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[2] = {SIZE_MAX, 2};
    expect_failure(folder, "<f4", 1, shape, MXV_ERR_IO, "is a folder");
    snprintf(path, sizeof path, "%s/none/a.npy", folder);
    expect_failure(path, "<f4", 1, shape, MXV_ERR_IO, "No such file");
    snprintf(path, sizeof path, "%s/a.npy", folder);
    expect_failure(path, ">f4", 1, shape, MXV_ERR_UNSUPPORTED, "little-endian");
    expect_failure(path, "|O", 1, shape, MXV_ERR_UNSUPPORTED, "Python objects");
    expect_failure(path, "<c8", 1, shape, MXV_ERR_UNSUPPORTED, "'<c8'");
    expect_failure(path, "<f4'}", 1, shape, MXV_ERR_UNSUPPORTED, "not handled");
    expect_failure(path, "<f4", 9, shape, MXV_ERR_UNSUPPORTED, "rank 9");
    expect_failure(path, "|i1", 2, huge, MXV_ERR_INPUT, "too large");
    assert_int_equal(count_entries(folder), 0);
    remove_folder(folder);
}

/// A device that is always full is written directly: no temporary file may replace it. Root, who
/// could replace the system's one, tries it on a device node of its own.
static void test_full_device(void **state)
{
    (void)state;
    char path[128] = "/dev/full";
    const size_t shape[1] = {4};
    struct stat status;
    const char *folder = test_folder();
    if (geteuid() == 0) {
        snprintf(path, sizeof path, "%s/full", folder);
        (void)!mknod(path, S_IFCHR | 0666, makedev(1, 7));
    }
    int descriptor = open(path, O_WRONLY);
    if (descriptor >= 0) {
        close(descriptor);
        expect_failure(path, "<f4", 1, shape, MXV_ERR_IO, "No space left on device");
        assert_int_equal(stat(path, &status), 0);
        assert_true(S_ISCHR(status.st_mode));
        assert_int_equal(count_entries(folder), geteuid() == 0);
    }
    remove_folder(folder);
    if (descriptor < 0)
        skip();
}

/// Runs in a child whose files may not grow beyond 4096 bytes, so that writing fails halfway.
static int write_beyond_limit(const char *path, size_t count)
{
    const struct rlimit limit = {4096, 4096};
    const size_t shape[1] = {count};
    char message[MXV_TENSOR_MESSAGE_SIZE] = "";
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    void *data = calloc(count, 8);
    enum mxv_status status = mxv_npy_write(path, "<f8", 1, shape, data, message, sizeof message);
    return status == MXV_ERR_IO && strstr(message, "File too large") ? 0 : 1;
}

static void test_failing_write(void **state)
{
    (void)state;
    static const size_t counts[] = {497, 520, 5000, 100000};
    static struct bytes before, after;
    char path[128];
    const size_t shape[1] = {3};
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/a.npy", folder);
    for (unsigned existing = 0; existing < 2; existing++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            int status;
            if (existing)
                assert_int_equal(mxv_npy_write(path, "|i1", 1, shape, "abc", NULL, 0), MXV_OK);
            if (existing)
                read_bytes(path, &before);
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0)
                _exit(write_beyond_limit(path, counts[i]));
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
            assert_int_equal(count_entries(folder), existing);
            if (existing) {
                read_bytes(path, &after);
                assert_int_equal(before.size, after.size);
                assert_memory_equal(before.data, after.data, before.size);
            }
        }
    remove_folder(folder);
}

static void test_replacing(void **state)
{
    (void)state;
    char path[128], link[128];
    struct stat status;
    struct mxv_tensor tensor;
    const size_t shape[1] = {2};
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/a.npy", folder);
    snprintf(link, sizeof link, "%s/link.npy", folder);
    assert_int_equal(mxv_npy_write(path, "|i1", 1, shape, "ab", NULL, 0), MXV_OK);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("a.npy", link), 0);
    assert_int_equal(mxv_npy_write(link, "|i1", 1, shape, "cd", NULL, 0), MXV_OK);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(mxv_tensor_read(path, NULL, &tensor, NULL, 0), MXV_OK);
    assert_memory_equal(tensor.data, "cd", 2);
    mxv_tensor_free(&tensor);
    assert_int_equal(count_entries(folder), 2);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),          cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_largest_header), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_full_device),    cmocka_unit_test(test_failing_write),
        cmocka_unit_test(test_replacing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
