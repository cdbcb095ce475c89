// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shards: the option, the variables of googletest, Bazel, Slurm and Open MPI, and that n shards
// share all cases out.
#include <mxverify/shard.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {
    "GTEST_TOTAL_SHARDS",     "GTEST_SHARD_INDEX",    "GTEST_SHARD_STATUS_FILE",
    "TEST_TOTAL_SHARDS",      "TEST_SHARD_INDEX",     "TEST_SHARD_STATUS_FILE",
    "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_ID",  "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",  "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return 0;
}

static void option(void **state)
{
    (void)state;
    static const char *const refused[] = {"",    "1",   "/",    "0/3",  "4/3",       "1/0",
                                          "a/3", "1/b", "1/3x", "-1/3", "1/1000001", " 1/3"};
    char message[256];
    struct mxv_shard s = {9, 9};
    assert_int_equal(mxv_shard_parse("2/4", &s, message, sizeof message), MXV_OK);
    assert_int_equal(s.index, 1);
    assert_int_equal(s.count, 4);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        message[0] = 0;
        assert_int_equal(mxv_shard_parse(refused[i], &s, message, sizeof message), MXV_ERR_INPUT);
        assert_non_null(strstr(message, "i/n"));
    }
    assert_int_equal(s.count, 4);
}

static void shards_share_everything(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 7; n++)
        for (uint64_t i = 0; i < 100; i++) {
            unsigned owners = 0;
            for (uint64_t k = 0; k < n; k++)
                owners += mxv_shard_has(&(struct mxv_shard){k, n}, i);
            assert_int_equal(owners, 1);
        }
    assert_true(mxv_shard_has(&(struct mxv_shard){0, 0}, 5));
}

static void expect(const char *source, uint64_t index, uint64_t count)
{
    struct mxv_shard s;
    const char *name;
    char message[256] = "";
    assert_int_equal(mxv_shard_from_environment(&s, &name, message, sizeof message), MXV_OK);
    if (source)
        assert_string_equal(name, source);
    else
        assert_null(name);
    assert_int_equal(s.index, index);
    assert_int_equal(s.count, count);
}

static void expect_refusal(const char *word)
{
    struct mxv_shard s;
    const char *name;
    char message[256] = "";
    assert_int_equal(mxv_shard_from_environment(&s, &name, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, word));
}

static void environment(void **state)
{
    (void)state;
    expect(NULL, 0, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    setenv("OMPI_COMM_WORLD_RANK", "7", 1);
    expect("OMPI_COMM_WORLD_RANK", 7, 8);
    setenv("SLURM_ARRAY_TASK_COUNT", "3", 1);
    setenv("SLURM_ARRAY_TASK_ID", "2", 1);
    expect("SLURM_ARRAY_TASK_ID", 2, 3);
    setenv("SLURM_ARRAY_TASK_MIN", "10", 1); // --array=10-20:5
    setenv("SLURM_ARRAY_TASK_STEP", "5", 1);
    setenv("SLURM_ARRAY_TASK_ID", "20", 1);
    expect("SLURM_ARRAY_TASK_ID", 2, 3);
    setenv("SLURM_ARRAY_TASK_ID", "21", 1);
    expect_refusal("SLURM_ARRAY_TASK_ID=21");
    setenv("TEST_TOTAL_SHARDS", "2", 1);
    setenv("TEST_SHARD_INDEX", "0", 1);
    expect("TEST_SHARD_INDEX", 0, 2);
    setenv("GTEST_TOTAL_SHARDS", "5", 1);
    setenv("GTEST_SHARD_INDEX", "4", 1);
    expect("GTEST_SHARD_INDEX", 4, 5);
    setenv("GTEST_SHARD_INDEX", "5", 1);
    expect_refusal("no such shard");
    setenv("GTEST_SHARD_INDEX", "x", 1);
    expect_refusal("GTEST_SHARD_INDEX=x");
    unsetenv("GTEST_SHARD_INDEX");
    expect_refusal("without GTEST_SHARD_INDEX");
}

static void status_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/mxv-shard-XXXXXX", path[64];
    struct stat info;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/status", folder);
    setenv("GTEST_TOTAL_SHARDS", "2", 1);
    setenv("GTEST_SHARD_INDEX", "1", 1);
    setenv("GTEST_SHARD_STATUS_FILE", path, 1);
    expect("GTEST_SHARD_INDEX", 1, 2);
    assert_int_equal(stat(path, &info), 0);
    unlink(path);
    rmdir(folder);
    struct mxv_shard s;
    const char *name;
    char message[256] = "";
    assert_int_equal(mxv_shard_from_environment(&s, &name, message, sizeof message), MXV_ERR_IO);
    assert_non_null(strstr(message, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option),
        cmocka_unit_test(shards_share_everything),
        cmocka_unit_test_setup(environment, clear),
        cmocka_unit_test_setup(status_file, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
