// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The large arrays of a head. See engine_arrays.h.
#if defined(__linux__)
#define _DEFAULT_SOURCE // MAP_ANONYMOUS, madvise
#endif
#include "engine_arrays.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

// A huge page; arrays that need fewer in all are allocated one by one. ALIGN: a cache line.
enum { PAGE = 2 << 20, PAGES_LEAST = 4, ALIGN = 64 };

#if defined(__linux__) && defined(MADV_HUGEPAGE)
static void open_mapping(struct arrays *a, size_t size)
{
    void *at = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    const size_t skip = (PAGE - (uintptr_t)at % PAGE) % PAGE;
    a->mapping = at;
    a->mapped = size + PAGE;
    a->from = (unsigned char *)at + skip;
    a->size = size;
    madvise(a->from, size, MADV_HUGEPAGE);
}

static void close_mapping(struct arrays *a)
{
    munmap(a->mapping, a->mapped);
}
#else
static void open_mapping(struct arrays *a, size_t size)
{
    (void)a;
    (void)size;
}

static void close_mapping(struct arrays *a)
{
    (void)a;
}
#endif

void arrays_open(struct arrays *a, size_t bytes, bool parallel)
{
    const size_t pages = (bytes + PAGE - 1) / PAGE;
    (void)parallel; // where OpenMP is off
    memset(a, 0, sizeof *a);
    if (pages < PAGES_LEAST)
        return;
    open_mapping(a, pages * PAGE);
    if (!a->mapping)
        return;
#pragma omp parallel for if (parallel) schedule(dynamic)
    for (size_t i = 0; i < pages; i++)
        *(volatile unsigned char *)(a->from + i * PAGE) = 0;
}

void *arrays_take(struct arrays *a, size_t count, size_t size)
{
    if (count > (SIZE_MAX - ALIGN) / size)
        return NULL;
    const size_t bytes = (count * size + ALIGN - 1) / ALIGN * ALIGN;
    if (a->mapping && bytes <= a->size - a->used) {
        void *at = a->from + a->used;
        a->used += bytes;
        return at;
    }
    if (a->others == ARRAYS_MOST)
        return NULL;
    void *at = calloc(count ? count : 1, size);
    a->other[a->others] = at;
    a->others += at != NULL;
    return at;
}

void arrays_close(struct arrays *a)
{
    for (size_t i = 0; i < a->others; i++)
        free(a->other[i]);
    if (a->mapping)
        close_mapping(a);
    memset(a, 0, sizeof *a);
}
