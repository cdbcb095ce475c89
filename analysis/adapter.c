// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Implementations behind the adapter interface: loading, checking, calling with guarded buffers. An
// adapter gets copies of the tensors, so that what it writes to them spoils nothing of the judge's
// and is found; the floating point environment (rounding, flush to zero, traps) is put back after
// each of its functions, loading included. Control characters of its texts are written as \xNN.
// tests/cli/test_runner_adapter.sh fails if this file is wrong.
#include "adapter_internal.h"
#include <dlfcn.h>
#include <fenv.h>
#include <mxverify/impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mxv_adapter {
    const struct mxv_implementation *implementation;
    struct mxv_impl_info info;
    void *library;
    char *watched; // where the line of the case at hand goes; NULL: nowhere
    size_t watched_size;
};

// A call as the adapter sees it: copies of everything that the description points to.
enum { Q, K, V, CU_Q, CU_K, DIAG_TILES, ROUTE_WORDS, PARTS };
struct adapter_call {
    struct mxv_attention a, given; // given: as it was handed over
    const void *original[PARTS];
    void *copy[PARTS];
    size_t bytes[PARTS];
    void *state; // of the adapter
};

enum { GUARD = 256 }; // words before and behind a buffer
#define GUARD_WORD 0xC3D2E1F0u

// Control characters become \xNN, as far as there is room.
static void clean(char *text, size_t size)
{
    char said[4096];
    size_t n = 0;
    text[size - 1] = 0;
    for (const char *c = text; *c && n + 5 < sizeof said && n + 5 <= size; c++) {
        bool control = (unsigned char)*c < 0x20 || *c == 0x7f;
        n += (size_t)snprintf(said + n, sizeof said - n, control ? "\\x%02X" : "%c",
                              (unsigned char)*c);
    }
    said[n] = 0;
    if (n < size)
        memcpy(text, said, n + 1);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

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
    else if (has_control(i->name) || has_control(i->version))
        snprintf(message, size, "its name or version holds control characters");
    else
        return MXV_OK;
    return MXV_ERR_INPUT;
}

static int ask_info(struct mxv_adapter *adapter, char *message, size_t size)
{
    struct mxv_impl_info *info = &adapter->info;
    fenv_t environment;
    fegetenv(&environment);
    int status = adapter->implementation->info ? adapter->implementation->info(info, message, size)
                                               : MXV_IMPL_OK;
    fesetenv(&environment);
    clean(message, size);
    clean(info->device, sizeof info->device);
    clean(info->driver, sizeof info->driver);
    clean(info->arch, sizeof info->arch);
    return status;
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
    if (ask_info(adapter, said, sizeof said)) {
        snprintf(message, size, "%s cannot work here: %s", implementation->name, said);
        free(adapter);
        return MXV_ERR_UNSUPPORTED;
    }
    *out = adapter;
    return MXV_OK;
}

enum mxv_status mxv_adapter_open(const char *path, struct mxv_adapter **out, char *message,
                                 size_t size)
{
    mxv_implementation_function *function;
    char said[512] = "";
    fenv_t environment;
    *out = NULL;
    void *library = adapter_load(path, message, size);
    if (!library)
        return MXV_ERR_INPUT;
    void *symbol = dlsym(library, "mxv_implementation");
    if (!symbol) {
        snprintf(message, size, "%s: no adapter: it exports no function mxv_implementation", path);
        dlclose(library);
        return MXV_ERR_INPUT;
    }
    fegetenv(&environment);
    memcpy(&function, &symbol, sizeof function); // POSIX: a symbol may be a function
    const struct mxv_implementation *implementation = function();
    fesetenv(&environment);
    enum mxv_status status = mxv_adapter_of(implementation, out, said, sizeof said);
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

void mxv_adapter_watch(struct mxv_adapter *adapter, char *line, size_t size)
{
    adapter->watched = line;
    adapter->watched_size = size;
}

void mxv_adapter_case(const struct mxv_adapter *adapter, const char *line)
{
    if (adapter->watched)
        snprintf(adapter->watched, adapter->watched_size, "%s", line);
}

// Anything that is not a status counts as failed.
static enum mxv_impl_status known(int status, char *message, size_t size)
{
    clean(message, size);
    if (status >= MXV_IMPL_OK && status <= MXV_IMPL_NO_MEMORY)
        return (enum mxv_impl_status)status;
    snprintf(message, size, "the implementation returned status %d, which does not exist", status);
    return MXV_IMPL_FAILED;
}

// ---- copies of the inputs

static void free_call(struct adapter_call *c)
{
    for (unsigned p = 0; c && p < PARTS; p++)
        free(c->copy[p]);
    free(c);
}

static struct adapter_call *copy_call(const struct mxv_attention *a)
{
    struct adapter_call *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    size_t tiles = mxv_attention_first_tile(a, a->sequences);
    size_t queries = a->heads_q * a->cu_q[a->sequences] * a->d;
    size_t keys = a->heads_kv * a->cu_k[a->sequences] * a->d;
    const void *from[PARTS] = {a->q, a->k, a->v, a->cu_q, a->cu_k, a->diag_tiles, a->route_words};
    size_t bytes[PARTS] = {queries * sizeof *a->q,
                           keys * sizeof *a->k,
                           keys * sizeof *a->v,
                           (a->sequences + 1) * sizeof *a->cu_q,
                           (a->sequences + 1) * sizeof *a->cu_k,
                           a->heads_q * tiles * sizeof *a->diag_tiles,
                           a->heads_kv * tiles * a->words_per_row * sizeof *a->route_words};
    for (unsigned p = 0; p < PARTS; p++) {
        if (!from[p])
            continue;
        c->original[p] = from[p];
        c->bytes[p] = bytes[p];
        c->copy[p] = malloc(bytes[p] + 1);
        if (!c->copy[p]) {
            free_call(c);
            return NULL;
        }
        memcpy(c->copy[p], from[p], bytes[p]);
    }
    memcpy(&c->a, a, sizeof *a);
    c->a.q = c->copy[Q];
    c->a.k = c->copy[K];
    c->a.v = c->copy[V];
    c->a.cu_q = c->copy[CU_Q];
    c->a.cu_k = c->copy[CU_K];
    c->a.diag_tiles = c->copy[DIAG_TILES];
    c->a.route_words = c->copy[ROUTE_WORDS];
    memcpy(&c->given, &c->a, sizeof c->a);
    return c;
}

// What the adapter changed; NULL: nothing.
static const char *changed(const struct adapter_call *c)
{
    static const char *const names[PARTS] = {"q",    "k",          "v",          "cu_q",
                                             "cu_k", "diag_tiles", "route_words"};
    if (memcmp(&c->a, &c->given, sizeof c->a) != 0)
        return "the description of the call";
    for (unsigned p = 0; p < PARTS; p++)
        if (c->copy[p] && memcmp(c->copy[p], c->original[p], c->bytes[p]) != 0)
            return names[p];
    return NULL;
}

static enum mxv_impl_status unchanged(const struct adapter_call *c, enum mxv_impl_status status,
                                      char *message, size_t size)
{
    const char *what = status == MXV_IMPL_LOST ? NULL : changed(c);
    if (!what)
        return status;
    snprintf(message, size, "the implementation changed its inputs: %s", what);
    return MXV_IMPL_FAILED;
}

static void end_call(const struct mxv_adapter *adapter, struct adapter_call *c)
{
    fenv_t environment;
    fegetenv(&environment);
    if (adapter->implementation->done)
        adapter->implementation->done(c->state);
    fesetenv(&environment);
}

enum mxv_impl_status mxv_adapter_begin(const struct mxv_adapter *adapter,
                                       const struct mxv_attention *a, void **state, char *message,
                                       size_t size)
{
    const struct mxv_implementation *i = adapter->implementation;
    struct adapter_call *c = copy_call(a);
    fenv_t environment;
    int status = MXV_IMPL_OK;
    *state = NULL;
    message[0] = 0;
    if (!c) {
        snprintf(message, size, "out of memory for a copy of the inputs");
        return MXV_IMPL_NO_MEMORY;
    }
    fegetenv(&environment);
    if (i->can_do)
        status = i->can_do(&c->a, message, size);
    bool prepared = status == MXV_IMPL_OK;
    if (prepared && i->setup)
        status = i->setup(&c->a, &c->state, message, size);
    fesetenv(&environment);
    prepared = prepared && status == MXV_IMPL_OK;
    enum mxv_impl_status answer = unchanged(c, known(status, message, size), message, size);
    if (answer == MXV_IMPL_OK) {
        *state = c;
        return answer;
    }
    if (prepared)
        end_call(adapter, c);
    free_call(c);
    return answer;
}

void mxv_adapter_done(const struct mxv_adapter *adapter, void *state)
{
    if (state)
        end_call(adapter, state);
    free_call(state);
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

static enum mxv_impl_status call(const struct mxv_adapter *adapter, struct adapter_call *c,
                                 size_t sequence, size_t head, uint32_t *out, uint32_t *lse,
                                 const struct mxv_tap_sink *sink, char *message, size_t size)
{
    const struct mxv_implementation *i = adapter->implementation;
    fenv_t environment;
    int status;
    message[0] = 0;
    fegetenv(&environment);
    if (mxv_adapter_has(adapter, MXV_IMPL_THREADS)) {
        status = i->run(c->state, &c->a, sequence, head, out, lse, sink, message, size);
    } else {
#pragma omp critical(mxv_adapter_call)
        status = i->run(c->state, &c->a, sequence, head, out, lse, sink, message, size);
    }
    fesetenv(&environment);
    return unchanged(c, known(status, message, size), message, size);
}

enum mxv_impl_status mxv_adapter_head(const struct mxv_adapter *adapter, void *state,
                                      const struct mxv_attention *a, size_t sequence, size_t head,
                                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink,
                                      char *message, size_t size)
{
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence], count = rows * a->d;
    bool wants_lse = lse && a->lse != MXV_LSE_NONE && mxv_adapter_has(adapter, MXV_IMPL_LSE);
    uint32_t *out_block = guard(out, count), *lse_block = wants_lse ? guard(lse, rows) : NULL;
    enum mxv_impl_status status = MXV_IMPL_NO_MEMORY;
    if (!out_block || (wants_lse && !lse_block)) {
        snprintf(message, size, "out of memory for the output of %zu rows", rows);
    } else {
        status = call(adapter, state, sequence, head, out_block + GUARD,
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
