// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// State of one run on the device: what failed first, and a bump allocator whose slabs live as long
// as the process. Every allocation is poisoned, so that a word that nobody wrote cannot pass for a
// result.
#ifndef MXV_CUDA_MEMORY_H
#define MXV_CUDA_MEMORY_H

#include "cuda_run.h"

struct cuda_run {
    const struct mxv_attention *a;
    bool failed;
    bool no_memory; // that was for lack of memory, of the host or the device
    char *message;
    size_t size;
};

// Records the first failure of a cudaError_t; true if it is one.
bool cuda_failed(struct cuda_run *r, int error, const char *what);
void cuda_refuse(struct cuda_run *r, const char *text);
// What a run comes to: 0, -1, or -2 for lack of memory.
int cuda_status(const struct cuda_run *r);
// Host memory, which the caller frees; NULL after a failure, and one that is for lack of memory.
void *cuda_host_memory(struct cuda_run *r, size_t bytes);

void cuda_memory_reset(void);
// Device memory; NULL after a failure. `bytes` may be 0.
void *cuda_allocate(struct cuda_run *r, size_t bytes);
// Copies to the device and back. NULL after a failure; the caller frees what cuda_fetch returns.
void *cuda_send(struct cuda_run *r, const void *data, size_t bytes);
void *cuda_fetch(struct cuda_run *r, const void *device, size_t bytes);
// `n` elements of `bytes` bytes (1, 2, 4), or half bytes (0), widened to words.
uint32_t *cuda_fetch_words(struct cuda_run *r, const void *device, size_t n, unsigned bytes);

#endif
