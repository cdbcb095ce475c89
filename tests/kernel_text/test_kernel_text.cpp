// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The text of the tcgen05 kernel (gpu/dma_sm100.cuh with its headers, as nvcc gets it) run on the
// host, thread by thread, against the engine of ref/: outputs, LSE and every tap, word by word, in
// drawn orders of threads, copies and products (block.h, tensor_core.h).
//
// What a pass says: the text, under the rules of the PTX ISA 9.2 as they are read here (mbarrier,
// cp.async.bulk.tensor, fence.proxy.async, 9.7.16 tcgen05), computes the contract's words in every
// order tried, without deadlock, and keeps the rules of fences, waits, lanes and descriptors. What
// it does not say: that a GPU keeps to those rules, that nvcc compiles the text to what it says, or
// anything of orders that were not tried. Products are the models of ref/ on either side, so this
// is no evidence for the models.
//
// Each sabotage (sabotages.def) is run on cases that reuse every stage and must be noticed: by
// wrong words, a broken rule or a deadlock. MXV_FUZZ_CASES sets the number of cases (default 24),
// MXV_KERNEL_TEXT_SEED the first one's seed.
// clang-format off
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
extern "C" {
#include <cmocka.h>
}
// clang-format on
#include "kernel.h"
#include "sabotage.h"
#include "text_case.h"

#include <cstdio>
#include <cstdlib>
#include <splitmix.h>

enum { FIRST_SEED = 1, CASES = 24, STAGED_CASES = 8, RUNS = 20 * STAGED_CASES };

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

// True if no rule was broken and every word is the engine's, with and without taps.
static bool case_passes(struct text_case &c, uint64_t seed, struct comparison &sum)
{
    for (int trace = 0; trace < 2; trace++) {
        struct comparison result = {};
        const std::string broken = case_run(c, trace != 0, seed + (uint64_t)trace, result);
        sum.words += result.words;
        sum.wrong += result.wrong;
        if (!broken.empty() || result.wrong) {
            printf("%s\n  %s: %zu of %zu words differ; %s\n", c.line.c_str(),
                   trace ? "tracing" : "production", result.wrong, result.words,
                   broken.empty() ? result.first.c_str() : broken.c_str());
            return false;
        }
    }
    return true;
}

static void test_same_words(void **)
{
    const uint64_t first = number_from("MXV_KERNEL_TEXT_SEED", FIRST_SEED);
    const uint64_t cases = number_from("MXV_FUZZ_CASES", CASES);
    struct comparison sum = {};
    size_t failed = 0;
    uint32_t features = 0;
    assert_true(cases > 0);
    for (uint64_t i = 0; i < cases; i++) {
        struct text_case c = {};
        case_draw(c, first + i, (unsigned)i, i % 3 == 2);
        features |= case_features(c);
        case_expect(c);
        failed += !case_passes(c, first + i, sum);
    }
    printf("%llu cases from seed %llu on: %zu words, %zu differ\n", (unsigned long long)cases,
           (unsigned long long)first, sum.words, sum.wrong);
    assert_int_equal(failed, 0);
    if (first == FIRST_SEED && cases >= CASES)
        assert_string_equal(case_features_missing(features).c_str(), "");
}

struct sabotage_row {
    enum sabotage what;
    const char *name;
    bool of_barriers;
};
static const struct sabotage_row rows[] = {
#define SABOTAGE(id, name, text)         {SABOTAGE_##id, name, false},
#define BARRIER_SABOTAGE(id, name, text) {SABOTAGE_##id, name, true},
#include "sabotages.def"
#undef SABOTAGE
#undef BARRIER_SABOTAGE
};

static struct text_case staged[STAGED_CASES];

// Whether a run of a staged case shows it; prints how.
static bool is_noticed(const struct sabotage_row &row, int group)
{
    const char *barrier = row.of_barriers ? kernel_barrier_name(group) : "";
    std::string how = "NOT NOTICED";
    bool noticed = false;
    size_t i = 0;
    sabotage_now = {row.what, group};
    for (; i < RUNS && !noticed; i++) {
        struct comparison result = {};
        const std::string broken = case_run(staged[i % STAGED_CASES], false, 1000 + i, result);
        noticed = !broken.empty() || result.wrong;
        if (noticed)
            how = broken.empty() ? result.first : broken;
    }
    sabotage_now = {SABOTAGE_NONE, 0};
    printf("%-21s %-13s run %3zu: %s\n", row.name, barrier, i, how.c_str());
    return noticed;
}

// A commit in the place of which an arrival could be, and no barrier that nobody waits at.
static bool applies(const struct sabotage_row &row, int group)
{
    const std::string name = kernel_barrier_name(group);
    return row.what != SABOTAGE_COMMIT_EARLY || name == "scores ready" || name == "output ready" ||
           name == "K empty" || name == "V empty";
}

static void test_sabotage_is_noticed(void **)
{
    size_t tried = 0, missed = 0;
    for (unsigned i = 0; i < STAGED_CASES; i++) {
        case_draw(staged[i], 500 + i, i, true);
        case_expect(staged[i]);
    }
    for (const struct sabotage_row &row : rows)
        for (int group = 0; group == 0 || (row.of_barriers && kernel_barrier_name(group)); group++)
            if (!row.of_barriers || applies(row, group)) {
                tried++;
                missed += !is_noticed(row, group);
            }
    printf("%zu sabotages, %zu not noticed\n", tried, missed);
    assert_int_equal(missed, 0);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_words),
        cmocka_unit_test(test_sabotage_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
