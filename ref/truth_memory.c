// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory of GMP and MPFR (GMP 6.2 manual, "Custom Allocation"): malloc, and the caller's word where
// there is none. An allocation function may not return without memory, hence `stop`.
// tests/cli/test_no_memory.sh fails if this file is wrong.
#include <gmp.h>
#include <mxverify/truth.h>
#include <stdlib.h>

static void (*stopping)(size_t bytes);

static void *found(void *p, size_t bytes)
{
    if (!p) {
        stopping(bytes);
        abort();
    }
    return p;
}

static void *allocate(size_t bytes)
{
    return found(malloc(bytes ? bytes : 1), bytes);
}

static void *reallocate(void *p, size_t old_bytes, size_t bytes)
{
    (void)old_bytes;
    return found(realloc(p, bytes ? bytes : 1), bytes);
}

static void release(void *p, size_t bytes)
{
    (void)bytes;
    free(p);
}

void mxv_truth_stop_without_memory(void (*stop)(size_t bytes))
{
    stopping = stop;
    mp_set_memory_functions(allocate, reallocate, release);
}
