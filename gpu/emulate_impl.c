// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The emulation on a GPU behind the adapter interface: `mxverify run --impl
// build/gpu/libmxv_emulate.so`. It names no arch of its own, so cases keep theirs. setup emulates
// the whole call; taps are made by a second run when a head asks for them, which must give the same
// outputs.
#include "device_info.h"
#include "emulate_run.h"

#include <mxverify/impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct mxv_cuda_result plain, traced;
};

static int can_do(const struct mxv_attention *a, char *message, size_t size)
{
    return mxv_emulate_supports(a, message, size) ? MXV_IMPL_UNSUPPORTED : MXV_IMPL_OK;
}

static void done(void *state)
{
    struct call *c = state;
    mxv_cuda_result_free(&c->plain);
    mxv_cuda_result_free(&c->traced);
    free(c);
}

static int setup(const struct mxv_attention *a, void **state, char *message, size_t size)
{
    struct call *c = calloc(1, sizeof *c);
    if (!c) {
        snprintf(message, size, "out of memory");
        return MXV_IMPL_NO_MEMORY;
    }
    const int status = mxv_emulate_run(a, MXV_CUDA_PRODUCTION, &c->plain, message, size);
    if (status) {
        done(c);
        return mxv_cuda_impl_status(status);
    }
    *state = c;
    return MXV_IMPL_OK;
}

static int trace(struct call *c, const struct mxv_attention *a, char *message, size_t size)
{
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    if (c->traced.out)
        return MXV_IMPL_OK;
    const int status = mxv_emulate_run(a, MXV_CUDA_TRACING, &c->traced, message, size);
    if (status)
        return mxv_cuda_impl_status(status);
    if (memcmp(c->plain.out, c->traced.out, rows * a->d * sizeof *c->plain.out) ||
        (c->plain.lse && memcmp(c->plain.lse, c->traced.lse, rows * sizeof *c->plain.lse))) {
        snprintf(message, size, "a second run gave other outputs");
        return MXV_IMPL_FAILED;
    }
    return MXV_IMPL_OK;
}

static int run(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
               uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
               size_t size)
{
    struct call *c = state;
    const size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    const size_t row = head * a->cu_q[a->sequences] + a->cu_q[sequence];
    memcpy(out, c->plain.out + row * a->d, lq * a->d * sizeof *out);
    if (lse && c->plain.lse)
        memcpy(lse, c->plain.lse + row, lq * sizeof *lse);
    if (!sink)
        return MXV_IMPL_OK;
    const int status = trace(c, a, message, size);
    if (status != MXV_IMPL_OK)
        return status;
    if (mxv_cuda_send_taps(&c->traced, a, sequence, head, sink)) {
        snprintf(message, size, "out of memory for taps");
        return MXV_IMPL_NO_MEMORY;
    }
    return MXV_IMPL_OK;
}

// The one exported function.
__attribute__((visibility("default"))) const struct mxv_implementation *mxv_implementation(void)
{
    static const struct mxv_implementation implementation = {
        .abi = MXV_IMPL_ABI,
        .call_size = sizeof(struct mxv_attention),
        .name = "gpu-emulation",
        .version = "0.1.0",
        .capabilities = MXV_IMPL_SAME_BITS | MXV_IMPL_TAPS | MXV_IMPL_LSE,
        .info = mxv_cuda_device_info,
        .can_do = can_do,
        .setup = setup,
        .run = run,
        .done = done,
    };
    return &implementation;
}
