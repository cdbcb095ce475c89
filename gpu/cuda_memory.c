// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See cuda_memory.h.
#include "cuda_memory.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLABS_MAX = 64, POISON = 0xA5 };
static const size_t slab_bytes = (size_t)64 << 20;

static struct {
    char *base;
    size_t size, used;
} slabs[SLABS_MAX];

void cuda_refuse(struct cuda_run *r, const char *text)
{
    if (!r->failed && r->size)
        snprintf(r->message, r->size, "%s", text);
    r->failed = true;
}

bool cuda_failed(struct cuda_run *r, int error, const char *what)
{
    if (error == (int)cudaSuccess)
        return false;
    if (!r->failed && r->size)
        snprintf(r->message, r->size, "%s: %s", what, cudaGetErrorString((cudaError_t)error));
    r->failed = true;
    return true;
}

void cuda_memory_reset(void)
{
    for (size_t i = 0; i < SLABS_MAX; i++)
        slabs[i].used = 0;
}

static void *take(struct cuda_run *r, size_t i, size_t bytes)
{
    if (!slabs[i].base) {
        size_t size = bytes > slab_bytes ? bytes : slab_bytes;
        if (cuda_failed(r, (int)cudaMalloc((void **)&slabs[i].base, size), "cudaMalloc"))
            return NULL;
        slabs[i].size = size;
    }
    char *p = slabs[i].base + slabs[i].used;
    slabs[i].used += bytes;
    return cuda_failed(r, (int)cudaMemsetAsync(p, POISON, bytes, 0), "cudaMemset") ? NULL : p;
}

void *cuda_allocate(struct cuda_run *r, size_t bytes)
{
    bytes = (bytes + 256) / 256 * 256;
    if (r->failed)
        return NULL;
    for (size_t i = 0; i < SLABS_MAX; i++)
        if (!slabs[i].base || slabs[i].size - slabs[i].used >= bytes)
            return take(r, i, bytes);
    cuda_refuse(r, "out of device memory slabs");
    return NULL;
}

void *cuda_send(struct cuda_run *r, const void *data, size_t bytes)
{
    void *p = cuda_allocate(r, bytes);
    if (p && bytes &&
        cuda_failed(r, (int)cudaMemcpy(p, data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy"))
        return NULL;
    return p;
}

void *cuda_fetch(struct cuda_run *r, const void *device, size_t bytes)
{
    void *p = r->failed ? NULL : malloc(bytes + 1);
    if (!p) {
        cuda_refuse(r, "out of memory for results");
        return NULL;
    }
    if (bytes &&
        cuda_failed(r, (int)cudaMemcpy(p, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy")) {
        free(p);
        return NULL;
    }
    return p;
}

uint32_t *cuda_fetch_words(struct cuda_run *r, const void *device, size_t n, unsigned bytes)
{
    uint8_t *raw = cuda_fetch(r, device, bytes ? n * bytes : (n + 1) / 2);
    if (bytes == 4 || !raw)
        return (uint32_t *)raw;
    uint32_t *words = malloc((n + 1) * sizeof *words);
    for (size_t i = 0; words && i < n; i++) {
        if (bytes == 2)
            words[i] = raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8;
        else
            words[i] = bytes == 1 ? raw[i] : raw[i / 2] >> (i % 2 * 4) & 15u;
    }
    free(raw);
    if (!words)
        cuda_refuse(r, "out of memory for results");
    return words;
}
