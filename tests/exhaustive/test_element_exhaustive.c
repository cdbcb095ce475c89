// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Every binary32 word into each element format of 8 bits or fewer: against the slow oracle, whose
// rounding boundaries are walked in ascending order, and, in the same pass, against the host
// functions of the CUDA headers where they are found. MXV_EXHAUSTIVE=1 takes all 2^32 words;
// without it every 4099th and the words within 2 of each boundary. MXV_EXHAUSTIVE_ONLY=FORMAT
// restricts the run to one format. The expectation never comes from the formats layer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <time.h>

#include <mxverify/element.h>

#include "cuda_oracle.h"
#include "slow_format.h"

/// One format and rounding under test.
struct sweep {
    const char *format;
    enum mxv_round round;
    enum slow_round slow;
    enum mxv_overflow overflow;
};

static const struct sweep sweeps[] = {
    {"e2m1", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e2m3", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e3m2", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e4m3", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e5m2", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e4m3fnuz", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e5m2fnuz", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e4m3ieee", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"ue4m3", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"ue5m3", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"mxint8", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"s8", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e8m0", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_SAT},
    {"e8m0", MXV_RNA, SLOW_RNA, MXV_OVERFLOW_SAT},
    {"e8m0", MXV_RTP, SLOW_RTP, MXV_OVERFLOW_SAT},
    {"e8m0", MXV_RTZ, SLOW_RTZ, MXV_OVERFLOW_SAT},
    {"e8m0", MXV_RTP, SLOW_RTP, MXV_OVERFLOW_IEEE},
    {"e8m0", MXV_RTZ, SLOW_RTZ, MXV_OVERFLOW_IEEE},
    {"e4m3", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_IEEE},
    {"e5m2", MXV_RNE, SLOW_RNE, MXV_OVERFLOW_IEEE},
};

/// The header conversion with the sweep's format, rounding and overflow; NULL if there is none.
static const struct cuda_conversion *cuda_for(const struct sweep *s)
{
    for (const struct cuda_conversion *c = cuda_conversions; c->format != NULL; c++) {
        if (strcmp(c->format, s->format) == 0 && strcmp(c->round, mxv_round_name(s->round)) == 0 &&
            c->ieee == (s->overflow == MXV_OVERFLOW_IEEE))
            return c;
    }
    return NULL;
}

static bool all_words(void)
{
    const char *text = getenv("MXV_EXHAUSTIVE");
    return text != NULL && strcmp(text, "1") == 0;
}

static bool chosen(const char *format)
{
    const char *only = getenv("MXV_EXHAUSTIVE_ONLY");
    return only == NULL || strcmp(only, format) == 0;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Smallest word whose magnitude rounds above value[i], for each i: where the expected code
/// changes.
static void find_boundaries(const struct slow_table *t, enum slow_round round, uint32_t *first)
{
    for (int i = 0; i < t->count; i++) {
        uint32_t low = 0, high = 0x7F800000;
        while (low < high) {
            const uint32_t mid = low + (high - low) / 2;
            if (slow_round_index(t, (double)slow_float(mid), false, round, 0, 0) > i)
                high = mid;
            else
                low = mid + 1;
        }
        first[i] = low;
    }
}

/// The expected code of a finite non-negative word, from the boundaries.
static int index_of(const uint32_t *first, int count, uint32_t word)
{
    int low = 0, high = count;
    while (low < high) {
        const int mid = low + (high - low) / 2;
        if (first[mid] <= word)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct job {
    const struct sweep *sweep;
    const struct cuda_conversion *cuda;
    enum mxv_element element;
    struct mxv_encode policy;
    struct slow_table table;
    uint32_t first[256];
};

struct tally {
    uint64_t words, wrong, wrong_cuda;
};

static void check(const struct job *j, int expected, uint32_t word, struct tally *t)
{
    const uint64_t got = mxv_element_from_f32(j->element, word, &j->policy);
    t->words++;
    if (expected >= 0)
        t->wrong += got != (uint64_t)expected;
    else
        t->wrong += !isnan(slow_decode(j->table.format, (unsigned)got));
    if (j->cuda != NULL)
        t->wrong_cuda += got != j->cuda->encode(slow_float(word));
}

/// NaN: any NaN code, else the largest value (FP4, FP6, MXINT8), or 0 (s8).
static int expected_nan(const struct job *j)
{
    if (strcmp(j->sweep->format, "s8") == 0)
        return 0;
    return j->table.has_nan ? -1 : (int)j->table.code[j->table.count - 1];
}

/// Words [begin, end) and their negatives; both ends at most 2^31.
static struct tally sweep_range(const struct job *j, uint32_t begin, uint32_t end, uint32_t stride)
{
    struct tally t = {0, 0, 0};
    const bool ieee = j->policy.overflow == MXV_OVERFLOW_IEEE;
    int index = index_of(j->first, j->table.count, begin), cached[2] = {0, 0}, cached_index = -1;
    for (uint64_t w = begin; w < end; w += stride) {
        const uint32_t word = (uint32_t)w;
        while (index < j->table.count && word >= j->first[index])
            index++;
        if (index != cached_index || word >= 0x7F800000) {
            const double x = (double)slow_float(word);
            for (int s = 0; s < 2; s++)
                cached[s] = isnan(x) ? expected_nan(j)
                                     : slow_encode(&j->table, s ? -x : x, j->sweep->slow, ieee);
            cached_index = word < 0x7F800000 && x != 0 ? index : -1;
        }
        check(j, cached[0], word, &t);
        check(j, cached[1], word | 0x80000000u, &t);
    }
    return t;
}

static void add_tally(struct tally *sum, struct tally t)
{
    sum->words += t.words;
    sum->wrong += t.wrong;
    sum->wrong_cuda += t.wrong_cuda;
}

static struct tally sweep_all(const struct job *j, uint32_t stride)
{
    struct tally total = {0, 0, 0};
#pragma omp parallel for schedule(dynamic)
    for (uint32_t chunk = 0; chunk < 2048; chunk++) {
        const struct tally t = sweep_range(j, chunk << 20, (chunk + 1) << 20, stride);
#pragma omp critical
        add_tally(&total, t);
    }
    for (int i = 0; i < j->table.count; i++) {
        const uint32_t at = j->first[i];
        add_tally(&total, sweep_range(j, at > 2 ? at - 2 : 0, at + 3, 1));
    }
    return total;
}

static void test_every_word(void **state)
{
    (void)state;
    printf("CUDA headers %s\n", cuda_conversions[0].format != NULL
                                    ? "found"
                                    : "not found: compared with the slow oracle alone");
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        struct job j = {0};
        j.sweep = &sweeps[i];
        if (!chosen(j.sweep->format))
            continue;
        assert_true(mxv_element_find(j.sweep->format, &j.element));
        j.policy.round = j.sweep->round;
        j.policy.overflow = j.sweep->overflow;
        j.cuda = cuda_for(j.sweep);
        j.table = slow_table_make(j.sweep->format);
        find_boundaries(&j.table, j.sweep->slow, j.first);
        const double start = seconds();
        const struct tally t = sweep_all(&j, all_words() ? 1 : 4099);
        printf("%-9s %-4s %-4s %11llu words, %llu wrong, ", j.sweep->format,
               mxv_round_name(j.policy.round), mxv_overflow_name(j.policy.overflow),
               (unsigned long long)t.words, (unsigned long long)t.wrong);
        if (j.cuda != NULL)
            printf("%llu unlike CUDA, ", (unsigned long long)t.wrong_cuda);
        printf("%.1f s\n", seconds() - start);
        fflush(stdout);
        slow_table_free(&j.table);
        assert_int_equal(t.wrong, 0);
        assert_int_equal(t.wrong_cuda, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
