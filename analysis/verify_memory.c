// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Cases that cannot fit, refused before their tensors are made. What is known beforehand is a lower
// bound: two binary32 words for each score of the largest head, all of them written
// (verify_collect.c). It is held against the memory and swap of the machine and the limits on
// address space and data of the process. Not handled: limits of control groups, and lengths that
// only the files of `input` tell; such cases end where an allocation fails.
// tests/cli/test_no_memory.sh fails if this file is wrong.
#include "verify.h"
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

enum { BYTES_A_SCORE = 8 };
#define GB 1e9

// *limit becomes the smaller one of itself and a limit of the process.
static void take_limit(int resource, const char *name, double *limit, const char **what)
{
    struct rlimit r;
    if (getrlimit(resource, &r) || r.rlim_cur == RLIM_INFINITY || (double)r.rlim_cur >= *limit)
        return;
    *limit = (double)r.rlim_cur;
    *what = name;
}

// Bytes that the process can have at most, and what sets them.
static double memory_limit(const char **what)
{
    struct sysinfo s;
    double limit = HUGE_VAL;
    *what = "";
    if (sysinfo(&s) == 0) {
        limit = ((double)s.totalram + (double)s.totalswap) * s.mem_unit;
        *what = "this machine's memory";
    }
    take_limit(RLIMIT_AS, "the limit on address space (ulimit -v)", &limit, what);
    take_limit(RLIMIT_DATA, "the limit on data (ulimit -d)", &limit, what);
    return limit;
}

enum mxv_status verify_fits_memory(const struct mxv_case *c, char *message, size_t size)
{
    size_t lq = c->lq, lk = c->lk;
    for (size_t i = 0; i < c->seqs.count; i++)
        if ((double)c->seqs.at[i].lq * c->seqs.at[i].lk > (double)lq * (double)lk) {
            lq = c->seqs.at[i].lq;
            lk = c->seqs.at[i].lk;
        }
    const char *what;
    const double needed = (double)BYTES_A_SCORE * (double)lq * (double)lk;
    const double limit = memory_limit(&what);
    if (needed <= limit)
        return MXV_OK;
    snprintf(message, size,
             "one head of %zu x %zu scores takes at least %.1f GB, and %s is %.1f GB: take fewer "
             "tokens (lq, lk, seqs; of captured tensors qtok, ktok)",
             lq, lk, needed / GB, what, limit / GB);
    return MXV_ERR_INPUT;
}
