// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shards: shard i of n has the cases whose index leaves remainder i when divided by n, so that
// neighbours, which resemble each other in cost, are spread evenly and the same case is in the same
// shard everywhere.
#ifndef MXVERIFY_SHARD_H
#define MXVERIFY_SHARD_H

#include <mxverify/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mxv_shard {
    uint64_t index, count; // index < count; all zero is the same as 0 of 1: everything
};

enum { MXV_SHARD_COUNT_MAX = 1000000 };

// `i/n` as a person writes it: 1 <= i <= n. MXV_ERR_INPUT with a message otherwise; *out untouched.
enum mxv_status mxv_shard_parse(const char *text, struct mxv_shard *out, char *message,
                                size_t size);

// The shard that a test runner asks for through the environment. The first of these that is set:
//   GTEST_TOTAL_SHARDS, GTEST_SHARD_INDEX       googletest; GTEST_SHARD_STATUS_FILE is touched
//   TEST_TOTAL_SHARDS, TEST_SHARD_INDEX         Bazel; TEST_SHARD_STATUS_FILE is touched
//   SLURM_ARRAY_TASK_COUNT, SLURM_ARRAY_TASK_ID Slurm job array; less SLURM_ARRAY_TASK_MIN, in
//                                               steps of SLURM_ARRAY_TASK_STEP
//   OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_RANK  Open MPI
// Indices count from 0 there. *source becomes the name of the index variable, or NULL when none is
// set (then *out is everything). MXV_ERR_INPUT when a variable is no number, out of range or
// without its partner; MXV_ERR_IO when the status file cannot be touched.
enum mxv_status mxv_shard_from_environment(struct mxv_shard *out, const char **source,
                                           char *message, size_t size);

static inline bool mxv_shard_has(const struct mxv_shard *shard, uint64_t index)
{
    return shard->count <= 1 || index % shard->count == shard->index;
}

#ifdef __cplusplus
}
#endif
#endif
