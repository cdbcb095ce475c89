// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA kernels behind the adapter interface: `mxverify run --impl build/gpu/libmxv_cuda.so`.
// setup runs the whole call, once by the production kernel and once by the tracing one, and the
// heads are handed out from there; outputs are those of the production kernel, and a tracing run
// with other outputs fails.
#include "cuda_run.h"
#include "device_info.h"

#include <mxverify/impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct mxv_cuda_result plain, traced;
};

static int info(struct mxv_impl_info *out, char *message, size_t size)
{
    const int status = mxv_cuda_device_info(out, message, size);
    // the architectures whose matrix units mxv_cuda_supports knows
    if (strstr(out->driver, "compute capability 9.0"))
        snprintf(out->arch, sizeof out->arch, "sm_90");
    else if (strstr(out->driver, "compute capability 8.0"))
        snprintf(out->arch, sizeof out->arch, "sm_80");
    return status;
}

static int can_do(const struct mxv_attention *a, char *message, size_t size)
{
    return mxv_cuda_supports(a, message, size) ? MXV_IMPL_UNSUPPORTED : MXV_IMPL_OK;
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
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    if (!c) {
        snprintf(message, size, "out of memory");
        return MXV_IMPL_NO_MEMORY;
    }
    int status = mxv_cuda_run(a, MXV_CUDA_PRODUCTION, &c->plain, message, size);
    if (status == 0)
        status = mxv_cuda_run(a, MXV_CUDA_TRACING, &c->traced, message, size);
    status = mxv_cuda_impl_status(status);
    if (status == MXV_IMPL_OK &&
        (memcmp(c->plain.out, c->traced.out, rows * a->d * sizeof *c->plain.out) ||
         (c->plain.lse && memcmp(c->plain.lse, c->traced.lse, rows * sizeof *c->plain.lse)))) {
        snprintf(message, size, "the tracing kernel computes other outputs");
        status = MXV_IMPL_FAILED;
    }
    if (status != MXV_IMPL_OK) {
        done(c);
        return status;
    }
    *state = c;
    return MXV_IMPL_OK;
}

static int run(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
               uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
               size_t size)
{
    const struct call *c = state;
    const size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    const size_t row = head * a->cu_q[a->sequences] + a->cu_q[sequence];
    memcpy(out, c->plain.out + row * a->d, lq * a->d * sizeof *out);
    if (lse && c->plain.lse)
        memcpy(lse, c->plain.lse + row, lq * sizeof *lse);
    if (sink && mxv_cuda_send_taps(&c->traced, a, sequence, head, sink)) {
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
        .name = "cuda",
        .version = "0.1.0",
        .capabilities = MXV_IMPL_SAME_BITS | MXV_IMPL_TAPS | MXV_IMPL_LSE,
        .info = info,
        .can_do = can_do,
        .setup = setup,
        .run = run,
        .done = done,
    };
    return &implementation;
}
