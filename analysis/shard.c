// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shards by option and by the variables of test runners. tests/unit/test_shard.c fails if this file
// is wrong.
#include <errno.h>
#include <fcntl.h>
#include <mxverify/shard.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_number(const char *text, size_t length, uint64_t *out)
{
    uint64_t n = 0;
    if (length == 0 || length > 9)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = 10 * n + (uint64_t)(text[i] - '0');
    }
    *out = n;
    return true;
}

enum mxv_status mxv_shard_parse(const char *text, struct mxv_shard *out, char *message, size_t size)
{
    const char *slash = strchr(text, '/');
    uint64_t index, count;
    if (!slash || !parse_number(text, (size_t)(slash - text), &index) ||
        !parse_number(slash + 1, strlen(slash + 1), &count) || index < 1 || index > count ||
        count > MXV_SHARD_COUNT_MAX) {
        snprintf(message, size, "shard `%s`: expected i/n with 1 <= i <= n <= %d, as in 2/4", text,
                 MXV_SHARD_COUNT_MAX);
        return MXV_ERR_INPUT;
    }
    *out = (struct mxv_shard){index - 1, count};
    return MXV_OK;
}

static const struct source {
    const char *count, *index, *least, *step, *status_file;
} sources[] = {
    {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", NULL, NULL, "GTEST_SHARD_STATUS_FILE"},
    {"TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", NULL, NULL, "TEST_SHARD_STATUS_FILE"},
    {"SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP", NULL},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL, NULL, NULL},
};

static const char *variable(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    return text && text[0] ? text : NULL;
}

static enum mxv_status read_variable(const char *name, uint64_t absent, uint64_t *out,
                                     char *message, size_t size)
{
    const char *text = variable(name);
    *out = absent;
    if (!text || parse_number(text, strlen(text), out))
        return MXV_OK;
    snprintf(message, size, "%s=%s: expected a number", name, text);
    return MXV_ERR_INPUT;
}

static enum mxv_status touch(const char *name, char *message, size_t size)
{
    const char *path = variable(name);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, (mode_t)0666) : -1;
    if (path && (fd < 0 || close(fd))) {
        snprintf(message, size, "%s=%s: %s", name, path, strerror(errno));
        return MXV_ERR_IO;
    }
    return MXV_OK;
}

static enum mxv_status read_source(const struct source *s, struct mxv_shard *out, char *message,
                                   size_t size)
{
    uint64_t count, index, least, step;
    if (!variable(s->count) || !variable(s->index)) {
        snprintf(message, size, "%s is set without %s", variable(s->count) ? s->count : s->index,
                 variable(s->count) ? s->index : s->count);
        return MXV_ERR_INPUT;
    }
    if (read_variable(s->count, 0, &count, message, size) ||
        read_variable(s->index, 0, &index, message, size) ||
        read_variable(s->least, 0, &least, message, size) ||
        read_variable(s->step, 1, &step, message, size))
        return MXV_ERR_INPUT;
    bool fits = step > 0 && index >= least && (index - least) % step == 0;
    uint64_t place = fits ? (index - least) / step : 0;
    if (!fits || count == 0 || count > MXV_SHARD_COUNT_MAX || place >= count) {
        snprintf(message, size, "%s=%s of %s=%s: no such shard", s->index, variable(s->index),
                 s->count, variable(s->count));
        return MXV_ERR_INPUT;
    }
    *out = (struct mxv_shard){place, count};
    return touch(s->status_file, message, size);
}

enum mxv_status mxv_shard_from_environment(struct mxv_shard *out, const char **source,
                                           char *message, size_t size)
{
    *out = (struct mxv_shard){0, 1};
    *source = NULL;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (variable(sources[i].count) || variable(sources[i].index)) {
            *source = sources[i].index;
            return read_source(&sources[i], out, message, size);
        }
    return MXV_OK;
}
