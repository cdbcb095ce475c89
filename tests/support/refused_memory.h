// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Allocations of the program's own text that fail on demand: the n-th one, or all from the n-th on.
// malloc, calloc and realloc are interposed (glibc); calls from shared libraries (GMP, MPFR,
// OpenMP, cmocka), which end the process when refused, are served. Not with a sanitizer, whose own
// allocator this would go round: REFUSED_MEMORY is then undefined. One source file of a program
// may include it; one thread while it refuses.
#ifndef MXV_TESTS_REFUSED_MEMORY_H
#define MXV_TESTS_REFUSED_MEMORY_H

#include <features.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define REFUSED_MEMORY_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REFUSED_MEMORY_SANITIZED
#endif

#if defined(__GLIBC__) && !defined(REFUSED_MEMORY_SANITIZED)
#define REFUSED_MEMORY

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
    size_t from;   // the first allocation that is refused; 0: none
    bool all;      // all later ones, too
    size_t asked;  // allocations of the program's text
    bool counting; // only then
} refused_memory;

extern const char __executable_start[], etext[]; // of the linker
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static inline bool refuses(const void *caller)
{
    const char *at = caller;
    if (!refused_memory.counting || at < __executable_start || at >= etext)
        return false;
    const size_t n = ++refused_memory.asked;
    const bool no = refused_memory.from &&
                    (n == refused_memory.from || (refused_memory.all && n > refused_memory.from));
    if (no)
        errno = ENOMEM;
    return no;
}

void *malloc(size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

// From here to refuse_end: counts, and refuses allocation `from` (0: none).
static inline void refuse_begin(size_t from, bool all)
{
    refused_memory.from = from;
    refused_memory.all = all;
    refused_memory.asked = 0;
    refused_memory.counting = true;
}

// Allocations that were asked for.
static inline size_t refuse_end(void)
{
    refused_memory.counting = false;
    return refused_memory.asked;
}

#endif
#endif
