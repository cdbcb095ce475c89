// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Adapter of kernel.cu: flash attention over one sequence, full or causal, without window. The
// judge's operands are q, k and v rounded to the type of V, so the adapter rounds them too.
#include "kernel.h"

#include <cuda_runtime_api.h>
#include <mxverify/element.h>
#include <mxverify/impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 5 };

struct call {
    void *buffers[BUFFERS]; // q, k, v, out, lse on the device
    float *out, *lse;       // results on the host
};

static int cuda_failed(cudaError_t error, const char *what, char *message, size_t size)
{
    if (error != cudaSuccess)
        snprintf(message, size, "%s: %s", what, cudaGetErrorString(error));
    return error != cudaSuccess;
}

// Device and driver, for reports. The program asks in each process that will compute, so a process
// never inherits a CUDA context.
static int info(struct mxv_impl_info *out, char *message, size_t size)
{
    struct cudaDeviceProp p;
    int driver = 0;
    if (cuda_failed(cudaGetDeviceProperties(&p, 0), "no CUDA device", message, size) ||
        cuda_failed(cudaDriverGetVersion(&driver), "driver version", message, size))
        return MXV_IMPL_UNSUPPORTED;
    snprintf(out->device, sizeof out->device, "%.90s", p.name);
    snprintf(out->driver, sizeof out->driver, "API %d.%d", driver / 1000, driver % 1000 / 10);
    return MXV_IMPL_OK;
}

static int refuse(const char *what, char *message, size_t size)
{
    snprintf(message, size, "this kernel has no %s", what);
    return MXV_IMPL_UNSUPPORTED;
}

static int can_do(const struct mxv_attention *a, char *message, size_t size)
{
    if (a->kernel != MXV_KERNEL_FLASH)
        return refuse("kernel but flash", message, size);
    if (a->sequences != 1)
        return refuse("packed sequences", message, size);
    if (a->left != -1 || (a->right != -1 && a->mask != MXV_MASK_CAUSAL))
        return refuse("window", message, size);
    if (a->vt == MXV_E4M3 || a->smooth_k || a->masked != MXV_MASKED_INF)
        return refuse("v=e4m3, smooth=1 or masked=finite", message, size);
    if (a->empty != MXV_EMPTY_ZERO || a->lse == MXV_LSE_TWO)
        return refuse("empty=nan or lse=2", message, size);
    return MXV_IMPL_OK;
}

static void done(void *state)
{
    struct call *c = state;
    for (int i = 0; i < BUFFERS; i++)
        cudaFree(c->buffers[i]);
    free(c->out);
    free(c->lse);
    free(c);
}

// n values, each rounded to `type`, on the device; NULL after a message.
static void *send(const float *x, size_t n, enum mxv_element type, char *message, size_t size)
{
    const struct mxv_encode nearest = {.overflow = MXV_OVERFLOW_IEEE, .inf = MXV_INF_KEEP};
    float *rounded = malloc((n + 1) * sizeof *rounded);
    void *device = NULL;
    for (size_t i = 0; rounded && i < n; i++) {
        uint32_t word;
        memcpy(&word, &x[i], sizeof word);
        word = mxv_element_to_f32(type, mxv_element_from_f32(type, word, &nearest));
        memcpy(&rounded[i], &word, sizeof word);
    }
    if (!rounded)
        snprintf(message, size, "out of memory");
    else if (cuda_failed(cudaMalloc(&device, (n + 1) * sizeof *x), "cudaMalloc", message, size) ||
             cuda_failed(cudaMemcpy(device, rounded, n * sizeof *x, cudaMemcpyHostToDevice),
                         "cudaMemcpy", message, size)) {
        cudaFree(device);
        device = NULL;
    }
    free(rounded);
    return device;
}

static int compute(struct call *c, const struct mxv_attention *a, char *message, size_t size)
{
    const size_t lq = a->cu_q[1], lk = a->cu_k[1], rows = a->heads_q * lq, n = rows * a->d;
    const float *inputs[] = {a->q, a->k, a->v};
    const size_t counts[] = {n, a->heads_kv * lk * a->d, a->heads_kv * lk * a->d, n, rows};
    for (int i = 0; i < 3; i++)
        if (!(c->buffers[i] = send(inputs[i], counts[i], a->vt, message, size)))
            return 1;
    for (int i = 3; i < BUFFERS; i++) // poisoned: what the kernel leaves out shows as NaN
        if (cuda_failed(cudaMalloc(&c->buffers[i], (counts[i] + 1) * sizeof(float)), "cudaMalloc",
                        message, size) ||
            cuda_failed(cudaMemset(c->buffers[i], 0xff, counts[i] * sizeof(float)), "cudaMemset",
                        message, size))
            return 1;
    const struct mykernel p = {c->buffers[0],
                               c->buffers[1],
                               c->buffers[2],
                               c->buffers[3],
                               c->buffers[4],
                               (int)a->heads_q,
                               (int)a->heads_kv,
                               (int)lq,
                               (int)lk,
                               (int)a->d,
                               a->mask == MXV_MASK_CAUSAL,
                               a->align == MXV_ALIGN_BOTTOM_RIGHT ? (int)lk - (int)lq : 0,
                               (float)a->scale};
    c->out = malloc((n + 1) * sizeof *c->out);
    c->lse = malloc((rows + 1) * sizeof *c->lse);
    if (!c->out || !c->lse)
        snprintf(message, size, "out of memory");
    return !c->out || !c->lse ||
           (rows && cuda_failed((cudaError_t)mykernel_launch(&p), "launch", message, size)) ||
           cuda_failed(cudaDeviceSynchronize(), "kernel", message, size) ||
           cuda_failed(cudaMemcpy(c->out, p.out, n * sizeof *c->out, cudaMemcpyDeviceToHost),
                       "cudaMemcpy", message, size) ||
           cuda_failed(cudaMemcpy(c->lse, p.lse, rows * sizeof *c->lse, cudaMemcpyDeviceToHost),
                       "cudaMemcpy", message, size);
}

static int setup(const struct mxv_attention *a, void **state, char *message, size_t size)
{
    struct call *c = calloc(1, sizeof *c);
    if (!c) {
        snprintf(message, size, "out of memory");
        return MXV_IMPL_FAILED;
    }
    if (compute(c, a, message, size)) {
        // an error of the kernel sticks to the process: ask for a fresh one
        const int status = cudaDeviceSynchronize() == cudaSuccess ? MXV_IMPL_FAILED : MXV_IMPL_LOST;
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
    const struct mxv_encode nearest = {.overflow = MXV_OVERFLOW_IEEE, .inf = MXV_INF_KEEP};
    const struct call *c = state;
    const size_t lq = a->cu_q[1], row = head * lq;
    (void)sequence, (void)sink, (void)message, (void)size;
    for (size_t i = 0; i < lq * a->d; i++) {
        uint32_t word;
        memcpy(&word, &c->out[row * a->d + i], sizeof word);
        out[i] = (uint32_t)mxv_element_from_f32(a->out, word, &nearest);
    }
    if (lse)
        memcpy(lse, c->lse + row, lq * sizeof *lse);
    return MXV_IMPL_OK;
}

// The one exported function.
__attribute__((visibility("default"))) const struct mxv_implementation *mxv_implementation(void)
{
    static const struct mxv_implementation implementation = {
        .abi = MXV_IMPL_ABI,
        .call_size = sizeof(struct mxv_attention),
        .name = "mykernel",
        .version = "1.0",
        .capabilities = MXV_IMPL_LSE,
        .info = info,
        .can_do = can_do,
        .setup = setup,
        .run = run,
        .done = done,
    };
    return &implementation;
}
