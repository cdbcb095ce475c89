// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Implementations behind the adapter interface: loading, checking, calling with guarded buffers.
// tests/cli/test_runner_adapter.sh fails if this file is wrong.
#include <dlfcn.h>
#include <mxverify/impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mxv_adapter {
    const struct mxv_implementation *implementation;
    struct mxv_impl_info info;
    void *library;
};

enum { GUARD = 256 }; // words before and behind a buffer
#define GUARD_WORD 0xC3D2E1F0u

static enum mxv_status check(const struct mxv_implementation *i, char *message, size_t size)
{
    if (!i)
        snprintf(message, size, "mxv_implementation() returns NULL");
    else if (i->abi != MXV_IMPL_ABI)
        snprintf(message, size, "built for adapter interface %u, this program has %u", i->abi,
                 MXV_IMPL_ABI);
    else if (i->call_size != sizeof(struct mxv_attention))
        snprintf(message, size,
                 "built for a struct mxv_attention of %zu bytes, here it has %zu: rebuild it with "
                 "this program's headers",
                 i->call_size, sizeof(struct mxv_attention));
    else if (!i->name || !i->name[0] || !i->version || !i->run)
        snprintf(message, size, "has no name, no version or no run function");
    else
        return MXV_OK;
    return MXV_ERR_INPUT;
}

enum mxv_status mxv_adapter_of(const struct mxv_implementation *implementation,
                               struct mxv_adapter **out, char *message, size_t size)
{
    char said[512] = "";
    *out = NULL;
    enum mxv_status status = check(implementation, message, size);
    if (status != MXV_OK)
        return status;
    struct mxv_adapter *adapter = calloc(1, sizeof *adapter);
    if (!adapter) {
        snprintf(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    adapter->implementation = implementation;
    if (implementation->info && implementation->info(&adapter->info, said, sizeof said)) {
        snprintf(message, size, "%s cannot work here: %s", implementation->name, said);
        free(adapter);
        return MXV_ERR_UNSUPPORTED;
    }
    adapter->info.device[MXV_IMPL_WORDS - 1] = adapter->info.driver[MXV_IMPL_WORDS - 1] =
        adapter->info.arch[MXV_IMPL_WORDS - 1] = 0;
    *out = adapter;
    return MXV_OK;
}

enum mxv_status mxv_adapter_open(const char *path, struct mxv_adapter **out, char *message,
                                 size_t size)
{
    mxv_implementation_function *function;
    char said[512] = "";
    *out = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "mxv_implementation") : NULL;
    if (!symbol) {
        snprintf(message, size, "%s: %s", path, library ? "no adapter: " : "");
        size_t length = strlen(message);
        snprintf(message + length, size - length, "%s", dlerror());
        if (library)
            dlclose(library);
        return MXV_ERR_INPUT;
    }
    memcpy(&function, &symbol, sizeof function); // POSIX: a symbol may be a function
    enum mxv_status status = mxv_adapter_of(function(), out, said, sizeof said);
    if (status != MXV_OK) {
        snprintf(message, size, "%s: %s", path, said);
        dlclose(library);
        return status;
    }
    (*out)->library = library;
    return MXV_OK;
}

void mxv_adapter_close(struct mxv_adapter *adapter)
{
    if (adapter && adapter->library)
        dlclose(adapter->library);
    free(adapter);
}

const struct mxv_implementation *mxv_adapter_implementation(const struct mxv_adapter *adapter)
{
    return adapter->implementation;
}

const struct mxv_impl_info *mxv_adapter_info(const struct mxv_adapter *adapter)
{
    return &adapter->info;
}

bool mxv_adapter_has(const struct mxv_adapter *adapter, enum mxv_impl_capability capability)
{
    return (adapter->implementation->capabilities & (unsigned)capability) != 0;
}

// Anything that is not a status counts as failed.
static enum mxv_impl_status known(int status, char *message, size_t size)
{
    if (status >= MXV_IMPL_OK && status <= MXV_IMPL_LOST)
        return (enum mxv_impl_status)status;
    snprintf(message, size, "the implementation returned status %d, which does not exist", status);
    return MXV_IMPL_FAILED;
}

enum mxv_impl_status mxv_adapter_begin(const struct mxv_adapter *adapter,
                                       const struct mxv_attention *a, void **state, char *message,
                                       size_t size)
{
    const struct mxv_implementation *i = adapter->implementation;
    int status = MXV_IMPL_OK;
    *state = NULL;
    message[0] = 0;
    if (i->can_do)
        status = i->can_do(a, message, size);
    if (status == MXV_IMPL_OK && i->setup)
        status = i->setup(a, state, message, size);
    return known(status, message, size);
}

void mxv_adapter_done(const struct mxv_adapter *adapter, void *state)
{
    if (adapter->implementation->done)
        adapter->implementation->done(state);
}

// ---- guarded buffers

static uint32_t *guard(const uint32_t *words, size_t count)
{
    uint32_t *block = malloc((count + 2 * GUARD) * sizeof *block);
    for (size_t i = 0; block && i < GUARD; i++)
        block[i] = block[GUARD + count + i] = GUARD_WORD;
    if (block)
        memcpy(block + GUARD, words, count * sizeof *words);
    return block;
}

static bool guard_broken(const uint32_t *block, size_t count)
{
    for (size_t i = 0; i < GUARD; i++)
        if (block[i] != GUARD_WORD || block[GUARD + count + i] != GUARD_WORD)
            return true;
    return false;
}

// Copies the words back, NaNs in their canonical form.
static void take_words(uint32_t *to, const uint32_t *block, size_t count, enum mxv_element format)
{
    uint32_t nan = format == MXV_F32 ? MXV_NAN_WORD : (uint32_t)mxv_element_get(format)->nan_code;
    uint64_t beyond =
        mxv_element_get(format)->bits < 32 ? ~0ull << mxv_element_get(format)->bits : ~0ull << 32;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = block[GUARD + i];
        bool code = (word & beyond) == 0;
        to[i] = code && mxv_element_is_nan(format, word) ? nan : word;
    }
}

static enum mxv_impl_status call(const struct mxv_adapter *adapter, void *state,
                                 const struct mxv_attention *a, size_t sequence, size_t head,
                                 uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink,
                                 char *message, size_t size)
{
    const struct mxv_implementation *i = adapter->implementation;
    int status;
    message[0] = 0;
    if (mxv_adapter_has(adapter, MXV_IMPL_THREADS)) {
        status = i->run(state, a, sequence, head, out, lse, sink, message, size);
    } else {
#pragma omp critical(mxv_adapter_call)
        status = i->run(state, a, sequence, head, out, lse, sink, message, size);
    }
    return known(status, message, size);
}

enum mxv_impl_status mxv_adapter_head(const struct mxv_adapter *adapter, void *state,
                                      const struct mxv_attention *a, size_t sequence, size_t head,
                                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink,
                                      char *message, size_t size)
{
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence], count = rows * a->d;
    bool wants_lse = lse && a->lse != MXV_LSE_NONE && mxv_adapter_has(adapter, MXV_IMPL_LSE);
    uint32_t *out_block = guard(out, count), *lse_block = wants_lse ? guard(lse, rows) : NULL;
    enum mxv_impl_status status = MXV_IMPL_FAILED;
    if (!out_block || (wants_lse && !lse_block)) {
        snprintf(message, size, "out of memory for the output of %zu rows", rows);
    } else {
        status = call(adapter, state, a, sequence, head, out_block + GUARD,
                      wants_lse ? lse_block + GUARD : NULL,
                      mxv_adapter_has(adapter, MXV_IMPL_TAPS) ? sink : NULL, message, size);
        bool broken =
            guard_broken(out_block, count) || (wants_lse && guard_broken(lse_block, rows));
        take_words(out, out_block, count, a->out);
        if (wants_lse)
            take_words(lse, lse_block, rows, MXV_F32);
        if (broken && status != MXV_IMPL_LOST) {
            snprintf(message, size, "words before or behind the output were overwritten");
            status = MXV_IMPL_FAILED;
        }
    }
    free(out_block);
    free(lse_block);
    return status;
}
