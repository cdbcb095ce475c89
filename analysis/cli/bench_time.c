// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Timing and random operands of `mxverify bench`. One core's rates are taken from the processor
// time of the thread, so that other work on the machine counts little; the median of the samples is
// reported and the best kept beside it.
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_LEAST = 5, SAMPLES_MOST = 101 };

static double clock_seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Seconds of `calls` calls.
static double sample(bench_work *work, void *state, size_t calls)
{
    const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < calls; i++)
        work(state);
    return clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
}

void bench_time(bench_work *work, void *state, double seconds, double *median, double *best,
                uint64_t *checksum)
{
    double samples[SAMPLES_MOST];
    *checksum = work(state);
    const double once = sample(work, state, 1);
    // a sample is long enough for the clock, and short enough to be taken several times
    const double wanted = seconds / (2 * SAMPLES_LEAST);
    const size_t calls = once < wanted ? (size_t)(wanted / (once + 1e-9)) + 1 : 1;
    const double each = once * (double)calls;
    size_t n = (size_t)(seconds / (each + 1e-9));
    n = n < SAMPLES_LEAST ? SAMPLES_LEAST : n > SAMPLES_MOST ? SAMPLES_MOST : n;
    for (size_t i = 0; i < n; i++)
        samples[i] = sample(work, state, calls) / (double)calls;
    qsort(samples, n, sizeof *samples, compare_doubles);
    *median = samples[n / 2];
    *best = samples[0];
}

uint32_t bench_word(struct bench_random *r)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t x = r->state ^ r->state >> 29;
    return (uint32_t)(x * UINT64_C(0xBF58476D1CE4E5B9) >> 32);
}

float bench_normal(struct bench_random *r)
{
    const double u = ((double)bench_word(r) + 0.5) * 0x1p-32;
    const double v = (double)bench_word(r) * 0x1p-32;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

uint64_t bench_mix(uint64_t sum, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, size - i < 8 ? size - i : 8);
        sum = (sum ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        sum ^= sum >> 32;
    }
    return sum;
}
