// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#ifndef MXV_BENCH_QUANTISERS_H
#define MXV_BENCH_QUANTISERS_H

#include <stdint.h>

uint64_t bench_mix(uint64_t z);                   // the splitmix64 step
int bench_by_value(const void *a, const void *b); // of floats, for qsort

// Times the block quantisers beside a device copy and prints a line each (bench_quantisers.c). Ends
// the program with status 3 when the device fails.
void bench_quantisers(void);

#endif
