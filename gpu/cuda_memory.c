// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See cuda_memory.h.
#define _DEFAULT_SOURCE // madvise
#include "cuda_memory.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SLABS_MAX = 64, POISON = 0xA5, HUGE_PAGE = 2 << 20 };
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
    r->no_memory = r->no_memory || (!r->failed && error == (int)cudaErrorMemoryAllocation);
    (void)cudaGetLastError(); // or the next launch would be told of it
    r->failed = true;
    return true;
}

int cuda_status(const struct cuda_run *r)
{
    return r->no_memory ? -2 : r->failed ? -1 : 0;
}

static void lacks_memory(struct cuda_run *r, const char *text)
{
    r->no_memory = r->no_memory || !r->failed;
    cuda_refuse(r, text);
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
    lacks_memory(r, "out of device memory slabs");
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

// Taps of a large call are some 10 GB, whose pages would take longer than the copy.
static void *in_huge_pages(size_t bytes)
{
    void *p = aligned_alloc(HUGE_PAGE, (bytes / HUGE_PAGE + 1) * HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    if (p)
        madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void *cuda_host_memory(struct cuda_run *r, size_t bytes)
{
    if (r->failed)
        return NULL;
    void *p = bytes < 16 * (size_t)HUGE_PAGE ? malloc(bytes + 1) : in_huge_pages(bytes);
    if (!p)
        lacks_memory(r, "out of memory of the host");
    return p;
}

void *cuda_fetch(struct cuda_run *r, const void *device, size_t bytes)
{
    void *p = cuda_host_memory(r, bytes);
    if (p && bytes &&
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
    uint32_t *words = cuda_host_memory(r, n * sizeof *words);
    for (size_t i = 0; words && i < n; i++) {
        if (bytes == 2)
            words[i] = raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8;
        else
            words[i] = bytes == 1 ? raw[i] : raw[i / 2] >> (i % 2 * 4) & 15u;
    }
    free(raw);
    return words;
}
