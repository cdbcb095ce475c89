// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `--impl ./lib.so` and the in-tree implementations that need more than the program: `cuda`, whose
// adapter lies beside it, and `recorded`, whose words lie in data/golden. An adapter is loaded in
// worker processes only. What the parent must know of it (name, device, driver) is asked in a
// process of its own first, so that an adapter that dies while it is loaded is an error message.
#include "cli.h"
#include "run.h"
#include <mxverify/data_path.h>
#include <mxverify/impl.h>
#include <mxverify/recorded.h>
#include <mxverify/runner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct card {
    char name[MXV_IMPL_WORDS], version[MXV_IMPL_WORDS];
    struct mxv_impl_info info;
    bool same_bits;
};

struct question {
    const char *path;
    struct mxv_adapter *adapter;
};

static int load(void *ctx, char *message, size_t size)
{
    struct question *q = ctx;
    return mxv_adapter_open(q->path, &q->adapter, message, size) != MXV_OK;
}

static int answer(void *ctx, uint64_t task, unsigned char **bytes, size_t *size)
{
    const struct question *q = ctx;
    const struct mxv_implementation *i = mxv_adapter_implementation(q->adapter);
    struct card *card = calloc(1, sizeof *card);
    (void)task;
    if (!card)
        return 1;
    snprintf(card->name, sizeof card->name, "%s", i->name);
    snprintf(card->version, sizeof card->version, "%s", i->version);
    card->info = *mxv_adapter_info(q->adapter);
    card->same_bits = mxv_adapter_has(q->adapter, MXV_IMPL_SAME_BITS);
    *bytes = (unsigned char *)card;
    *size = sizeof *card;
    return 0;
}

// Strings live until the program ends.
static void take_card(struct run_config *c, const struct card *card)
{
    struct card *kept = cli_realloc(NULL, sizeof *kept);
    *kept = *card;
    c->impl_name = kept->name;
    c->impl_version = kept->version;
    c->device = kept->info.device[0] ? kept->info.device : NULL;
    c->driver = kept->info.driver[0] ? kept->info.driver : NULL;
    c->impl_arch = kept->info.arch[0] ? kept->info.arch : NULL;
}

// A message of the adapter begins with its path.
static int refused(const struct run_config *c, const char *message)
{
    return c->impl_cuda ? cli_usage("--impl cuda: %s", message) : cli_usage("--impl: %s", message);
}

int run_ask_library(struct run_config *c)
{
    struct question question = {.path = c->impl_library};
    struct mxv_runner_options options = {.workers = 1, .timeout = 60};
    if (c->has_timeout && c->timeout > 0 && c->timeout < 60)
        options.timeout = options.start_limit = c->timeout;
    struct mxv_runner_job job = {&question, load, answer};
    struct mxv_runner *runner;
    struct mxv_runner_result result = {0};
    char message[MXV_VERIFY_TEXT];
    if (mxv_runner_open(&options, &job, &runner, message, sizeof message) != MXV_OK)
        return refused(c, message);
    int status = 0;
    if (mxv_runner_submit(runner, 0, message, sizeof message) != 1)
        status = refused(c, message);
    while (status == 0 && !mxv_runner_wait(runner, &result, 1))
        ;
    if (status == 0 && (result.end != MXV_RUNNER_ANSWER || result.size != sizeof(struct card)))
        status = refused(c, result.reason);
    if (status == 0)
        take_card(c, (const struct card *)result.bytes);
    free(result.bytes);
    mxv_runner_close(runner);
    return status;
}

int run_load_library(struct run_config *c, char *message, size_t size)
{
    struct mxv_adapter *adapter;
    if (mxv_adapter_open(c->impl_library, &adapter, message, size) != MXV_OK)
        return 1;
    c->verify.adapter = adapter; // until the worker ends
    return 0;
}

int run_open_recorded(struct run_config *c)
{
    static const char folder[] = "data/golden/h200";
    char found[4096], message[MXV_VERIFY_TEXT];
    struct mxv_recorded_store *store; // until the program ends
    mxv_data_path(folder, found, sizeof found);
    if (mxv_recorded_open(found, &store, message, sizeof message) != MXV_OK)
        return cli_usage("--impl recorded: %s (data/ is the source's, or share/mxverify of an "
                         "installation beside its bin/)",
                         message);
    const struct mxv_recorded_origin *origin = mxv_recorded_origin(store);
    c->verify.recorded = store;
    c->device = origin->device[0] ? origin->device : NULL;
    c->driver = origin->driver[0] ? origin->driver : NULL;
    c->impl_arch = origin->arch[0] ? origin->arch : NULL;
    return 0;
}

int run_find_cuda(struct run_config *c)
{
    char message[8192];
    c->impl_library = cli_beside("libmxv_cuda.so", message, sizeof message);
    return c->impl_library ? 0 : cli_usage("--impl cuda: %s", message);
}
