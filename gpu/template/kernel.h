// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the kernel is given: plain C, device pointers.
#ifndef MYKERNEL_H
#define MYKERNEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// q, out: [heads_q][tokens_q][d]; k, v: [heads_kv][tokens_k][d]; lse: [heads_q][tokens_q], natural
// logarithm. One sequence. Row r sees key n iff n <= r + offset (causal) or always.
struct mykernel {
    const float *q, *k, *v;
    float *out, *lse;
    int heads_q, heads_kv, tokens_q, tokens_k, d;
    int causal, offset;
    float scale;
};

// Starts the kernel; a cudaError_t.
int mykernel_launch(const struct mykernel *p);

#ifdef __cplusplus
}
#endif
#endif
