// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tiers: sizes and budgets, purity of (seed, index), files of case lines, captured activations, and
// that no sampled case is ever refused.
#include "cases.h"
#include <mxverify/tiers.h>
#include <unistd.h>

#define REAL MXV_SOURCE_DIR "/data/real/smollm2-135m"

static struct mxv_tier *open_tier(struct mxv_tier_options options)
{
    struct mxv_tier *tier;
    char message[1000];
    if (mxv_tier_open(&options, &tier, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", options.tier, message);
    return tier;
}

static void smoke_is_small(void **state)
{
    (void)state;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        const char *kernel = mxv_choice_name(MXV_CHOICE_KERNEL, k);
        struct mxv_tier *tier =
            open_tier((struct mxv_tier_options){.tier = "smoke", .kernel = kernel});
        assert_in_range(mxv_tier_count(tier), 10, 16);
        for (size_t i = 0; i < mxv_tier_count(tier); i++) {
            struct mxv_case c;
            struct mxv_case_extent e;
            mxv_tier_case(tier, i, &c);
            mxv_case_extent(&c, &e);
            assert_int_equal(c.kernel, k);
            assert_true(e.scores * c.d <= 9000000 && e.scores <= 70000);
        }
        mxv_tier_close(tier);
    }
}

// The same (seed, index) is the same case whatever was asked before; another seed is another case.
static void pure_in_seed_and_index(void **state)
{
    struct mxv_tier *a = open_tier((struct mxv_tier_options){.tier = "fuzz", .seed = 9});
    struct mxv_tier *b =
        open_tier((struct mxv_tier_options){.tier = "fuzz", .kernel = "all", .seed = 9});
    struct mxv_tier *other = open_tier((struct mxv_tier_options){.tier = "fuzz", .seed = 10});
    size_t differ = 0;
    (void)state;
    assert_true(mxv_tier_count(a) == SIZE_MAX);
    for (size_t i = 0; i < 500; i++) {
        struct mxv_case x, y, z;
        mxv_tier_case(a, i, &x);
        mxv_tier_case(b, 499 - i, &y);
        mxv_tier_case(b, i, &y);
        mxv_tier_case(other, i, &z);
        assert_true(mxv_case_equal(&x, &y));
        assert_int_equal(x.kernel, i % MXV_KERNEL_COUNT);
        differ += !mxv_case_equal(&x, &z);
    }
    assert_true(differ > 495);
    mxv_tier_close(a);
    mxv_tier_close(b);
    mxv_tier_close(other);
}

// 20,000 cases of several seeds and sizes pass the check; the default budget keeps most of them
// below 40,000 scores, and some are above 100,000.
static void samples_are_offered(void **state)
{
    size_t small = 0, large = 0, n = 20000;
    double work = 0;
    char message[1000], line[MXV_CASE_LINE_SIZE];
    (void)state;
    for (size_t i = 0; i < n; i++) {
        struct mxv_case c;
        struct mxv_case_extent e;
        uint64_t scores = i % 10 == 9 ? 4000000 : 130000;
        mxv_tier_sample((enum mxv_kernel)(i % 4), i % 7, i, scores, &c);
        if (mxv_case_check(&c, message, sizeof message) != MXV_OK) {
            mxv_case_print(&c, line, sizeof line);
            fail_msg("%s: %s", line, message);
        }
        mxv_case_extent(&c, &e);
        if (scores == 130000) {
            small += e.scores <= 40000;
            large += e.scores > 100000;
            work += (double)e.scores * (double)c.d;
        }
    }
    print_message("%zu cases: %zu of at most 40,000 scores, %zu above 100,000\n", n, small, large);
    assert_true(small > n * 9 / 10 * 4 / 5 && large > 20);
    assert_true(work / ((double)n * 0.9) < 2.5e6); // multiply-adds of a mean case
}

// Sampled cases of the fixed tiers stand without the options rebase and fold; ten of each follow,
// all offered. A fuzz case differs in them alone from what it would be without them.
static void later_options(void)
{
    struct mxv_tier *t = open_tier((struct mxv_tier_options){.tier = "quick"});
    struct mxv_tier *fuzz = open_tier((struct mxv_tier_options){.tier = "fuzz", .seed = 3});
    size_t n = mxv_tier_count(t), rebased = 0, folded = 0;
    char message[1000];
    for (size_t i = 0; i < n; i++) {
        struct mxv_case c;
        mxv_tier_case(t, i, &c);
        assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_OK);
        assert_true(c.rebase + c.fold == (i >= n - 20));
        rebased += c.rebase;
        folded += c.fold;
    }
    assert_true(rebased == 10 && folded == 10);
    for (size_t i = rebased = folded = 0; i < 4000; i++) {
        struct mxv_case c;
        mxv_tier_case(fuzz, i, &c);
        rebased += c.rebase;
        folded += c.fold;
    }
    // a third of 1,000, fold in 5 of 6 plans, rebase in 1/4 of the architectures, 4/5 of the modes
    // and 1/2 of the formats
    print_message("4,000 cases: %zu with rebase=1, %zu with fold=1\n", rebased, folded);
    assert_in_range(folded, 240, 330);
    assert_in_range(rebased, 18, 55);
    mxv_tier_close(fuzz);
    mxv_tier_close(t);
}

static void quick_and_nightly(void **state)
{
    struct mxv_tier *t = open_tier((struct mxv_tier_options){.tier = "quick", .kernel = "dma"});
    struct mxv_case c, d;
    (void)state;
    assert_in_range(mxv_tier_count(t), 120, 130);
    mxv_tier_case(t, 115 - 5, &c);
    mxv_tier_close(t);
    t = open_tier((struct mxv_tier_options){.tier = "quick", .kernel = "dma", .seed = 123});
    mxv_tier_case(t, 115 - 5, &d);
    assert_true(mxv_case_equal(&c, &d)); // quick does not depend on the seed
    mxv_tier_close(t);
    later_options();
    t = open_tier((struct mxv_tier_options){.tier = "nightly", .count = 77});
    assert_int_equal(mxv_tier_count(t), 77);
    mxv_tier_close(t);
    t = open_tier((struct mxv_tier_options){.tier = "nightly", .kernel = "flash"});
    assert_in_range(mxv_tier_count(t), 510, 516);
    mxv_tier_close(t);
}

static void files(void **state)
{
    static const struct {
        const char *text, *kernel, *said; // said NULL: count cases
        size_t count;
    } rows[] = {
        {"# all\n\ndma lq=3 # tail\n  flash\r\ndma-released lq=4 lk=4", NULL, NULL, 3},
        {"dma lq=3\nflash\ndma", "dma", NULL, 2},
        {"dma lq=3\n", "tilemix", "none for kernel tilemix", 0},
        {"", "all", "none for kernel all", 0},
        {"dma\ndma lq=x\n", "all", "line 2: column 5: lq=x", 0},
        {"dma\n\n\nfoo", "dma", "line 4: column 1: unknown kernel", 0},
    };
    char path[] = "/tmp/mxv-cases-XXXXXX", message[1000];
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_tier_options o = {.tier = path, .kernel = rows[i].kernel};
        struct mxv_tier *tier;
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(rows[i].text, f);
        fclose(f);
        enum mxv_status status = mxv_tier_open(&o, &tier, message, sizeof message);
        if (rows[i].said) {
            assert_int_equal(status, MXV_ERR_INPUT);
            assert_non_null(strstr(message, rows[i].said));
            assert_null(tier);
            continue;
        }
        assert_int_equal(status, MXV_OK);
        assert_int_equal(mxv_tier_count(tier), rows[i].count);
        mxv_tier_close(tier);
    }
    unlink(path);
}

static void refusals(void **state)
{
    static const struct {
        struct mxv_tier_options options;
        const char *words[2];
    } rows[] = {
        {{.tier = "smok"}, {"`smok`", "smoke quick fuzz nightly real"}},
        {{.tier = "smoke", .kernel = "sage"}, {"unknown kernel `sage`", "dma-released"}},
        {{.tier = "/nonexistent/x.cases"}, {"/nonexistent/x.cases", "No such file"}},
        {{.tier = "real", .real_dir = "/nonexistent"}, {"/nonexistent", "No such file"}},
        {{.tier = "fuzz", .with_real = true, .real_dir = "/"}, {"no layerNN_q.npy"}},
        {{.tier = "real", .kernel = "dma-released", .real_dir = REAL}, {"none for kernel"}},
    };
    char message[1000];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_tier *tier;
        assert_int_not_equal(mxv_tier_open(&rows[i].options, &tier, message, sizeof message),
                             MXV_OK);
        assert_null(tier);
        for (size_t w = 0; w < 2 && rows[i].words[w]; w++)
            assert_non_null(strstr(message, rows[i].words[w]));
    }
}

// Captured activations: all cases build; the first cases of a fuzz run are real when asked for,
// with both routes of the kernel in them.
static void captured_activations(void **state)
{
    struct mxv_tier *t = open_tier((struct mxv_tier_options){.tier = "real", .real_dir = REAL});
    size_t n = mxv_tier_count(t), layers = 0;
    (void)state;
    assert_true(n > 100);
    for (size_t i = 0; i < n; i += 7) {
        struct mxv_case c;
        struct mxv_case_data d;
        char message[1000];
        mxv_tier_case(t, i, &c);
        if (mxv_case_build(&c, &d, message, sizeof message) != MXV_OK)
            fail_msg("%s", message);
        assert_true(d.a.heads_q == 3 && d.a.heads_kv == 1 && d.a.d == 64);
        layers |= (size_t)1 << (strstr(c.input, "layer00")   ? 0
                                : strstr(c.input, "layer14") ? 1
                                                             : 2);
        mxv_case_free(&d);
    }
    assert_int_equal(layers, 7);
    mxv_tier_close(t);
    t = open_tier((struct mxv_tier_options){
        .tier = "fuzz", .kernel = "dma", .with_real = true, .real_dir = REAL});
    for (size_t i = 0; i < 4; i++) {
        struct mxv_case c;
        mxv_tier_case(t, i, &c);
        assert_int_equal(c.input[0] != '\0', i < 2);
    }
    mxv_tier_close(t);
    t = open_tier((struct mxv_tier_options){
        .tier = "fuzz", .kernel = "dma-released", .with_real = true, .real_dir = "/nonexistent"});
    mxv_tier_close(t); // has none, needs none
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoke_is_small),
        cmocka_unit_test(pure_in_seed_and_index),
        cmocka_unit_test(samples_are_offered),
        cmocka_unit_test(quick_and_nightly),
        cmocka_unit_test(files),
        cmocka_unit_test(refusals),
        cmocka_unit_test(captured_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
