// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option coverage: an empty run misses everything, single cases count what they hold, a value taken
// away is reported as missing, and 2,000 fuzz cases of all kernels miss nothing.
#include "cases.h"
#include <mxverify/coverage.h>
#include <mxverify/tiers.h>

static struct mxv_coverage coverage;

static void remember(void *ctx, const char *what)
{
    char *list = ctx;
    if (strlen(list) + strlen(what) + 2 < 65536)
        strcat(strcat(list, what), "\n");
}

static bool is_missing(unsigned kernels, bool faults, const char *what)
{
    static char list[65536];
    char line[200];
    strcpy(list, "\n");
    mxv_coverage_missing(&coverage, kernels, faults, remember, list);
    snprintf(line, sizeof line, "\n%s\n", what);
    return strstr(list, line) != NULL;
}

static void add(const char *line)
{
    struct mxv_case c;
    struct mxv_case_data d;
    char message[500];
    parse(line, &c);
    if (mxv_case_build(&c, &d, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    mxv_coverage_add(&coverage, &c, mxv_coverage_routes(&d.a));
    mxv_case_free(&d);
}

static void empty_run(void **state)
{
    unsigned dma = 1u << MXV_KERNEL_DMA, released = 1u << MXV_KERNEL_DMA_RELEASED;
    (void)state;
    mxv_coverage_clear(&coverage);
    assert_true(mxv_coverage_missing(&coverage, dma, false, NULL, NULL) > 100);
    assert_int_equal(mxv_coverage_missing(&coverage, 0, true, NULL, NULL), 0);
    assert_true(is_missing(dma, false, "dma plan=zones"));
    assert_true(is_missing(dma, false, "dma route=core"));
    assert_true(is_missing(dma, false, "dma d=96"));
    assert_true(is_missing(dma, false, "dma tile keys=224"));
    assert_false(is_missing(dma, false, "dma fault=D1"));
    assert_true(is_missing(dma, true, "dma fault=D1"));
    assert_false(is_missing(dma, false, "dma d=160"));
    assert_false(is_missing(dma, false, "dma route=int8"));
    assert_false(is_missing(dma, false, "dma plan=words"));
    assert_false(is_missing(dma, false, "dma event=g>1"));
    assert_false(is_missing(dma, false, "dma event=input"));
    assert_false(is_missing(released, false, "dma-released arch=sm_100"));
    assert_false(is_missing(released, false, "dma-released d=64"));
    assert_false(is_missing(15, false, "tilemix plan=file"));
}

static void single_cases(void **state)
{
    (void)state;
    mxv_coverage_clear(&coverage);
    add("dma lq=130 lk=1 d=96 tile=64x32 gen=ties fault=D3");
    const uint64_t *event = coverage.event[MXV_KERNEL_DMA];
    assert_true(event[MXV_EVENT_ONE_KEY] && event[MXV_EVENT_MORE_QUERIES] &&
                event[MXV_EVENT_RAGGED_Q] && event[MXV_EVENT_RAGGED_K] &&
                event[MXV_EVENT_MANY_Q_TILES] && event[MXV_EVENT_EMPTY_ROW]);
    assert_false(event[MXV_EVENT_MORE_KEYS] || event[MXV_EVENT_VARLEN] ||
                 event[MXV_EVENT_MANY_K_TILES] || event[MXV_EVENT_FULL_TILES]);
    assert_false(is_missing(15, true, "dma fault=D3"));
    assert_false(is_missing(15, true, "dma d=96"));
    assert_false(is_missing(15, true, "dma tile rows=64"));
    assert_false(is_missing(15, true, "dma gen=ties"));
    assert_true(is_missing(15, true, "flash gen=ties"));
    // Without mode=mixed neither the plan nor the other route's format counts.
    mxv_coverage_clear(&coverage);
    add("dma mode=high");
    assert_true(is_missing(15, false, "dma plan=diag"));
    assert_true(is_missing(15, false, "dma low=mxfp4"));
    assert_true(is_missing(15, false, "dma route=low"));
    assert_false(is_missing(15, false, "dma route=high"));
    assert_false(is_missing(15, false, "dma event=full_tiles"));
}

// Rows by hand: tile 32x32, lq = lk = 128, causal, D = 1, s = 1: tiles (i, i) and (i, 0) are high.
static void routes_of_a_call(void **state)
{
    static const struct {
        const char *line;
        unsigned routes;
    } rows[] = {
        {"dma lq=128 lk=128 tile=32x32", 1u << MXV_ROUTE_HIGH | 1u << MXV_ROUTE_LOW},
        {"dma lq=64 lk=64 tile=32x32", 1u << MXV_ROUTE_HIGH},
        {"dma lq=64 lk=64 tile=32x32 s=0", 1u << MXV_ROUTE_HIGH | 1u << MXV_ROUTE_LOW},
        {"dma lq=64 lk=64 tile=32x32 D=0 s=0", 1u << MXV_ROUTE_LOW},
        {"flash lq=64 lk=64", 1u << MXV_ROUTE_F16},
        {"flash lq=64 lk=0", 0},
        {"tilemix lq=64 lk=64 plan=all_int8", 1u << MXV_ROUTE_INT8},
        {"dma lq=128 lk=128 tile=32x32 plan=zones core=0 buffer=0.1 s=0",
         1u << MXV_ROUTE_CORE | 1u << MXV_ROUTE_HIGH | 1u << MXV_ROUTE_LOW},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_case_data d;
        build(rows[i].line, &d);
        assert_int_equal(mxv_coverage_routes(&d.a), rows[i].routes);
        mxv_case_free(&d);
    }
}

// 2,000 cases of the default seeds hit everything that every kernel offers.
static void fuzz_hits_everything(void **state)
{
    static char list[65536], table[65536];
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct mxv_tier_options options = {.tier = "fuzz", .seed = seed, .count = 2000};
        struct mxv_tier *tier;
        char message[500];
        mxv_coverage_clear(&coverage);
        assert_int_equal(mxv_tier_open(&options, &tier, message, sizeof message), MXV_OK);
        for (size_t i = 0; i < mxv_tier_count(tier); i++) {
            struct mxv_case c;
            struct mxv_case_data d;
            unsigned routes = 0;
            mxv_tier_case(tier, i, &c);
            if (i / MXV_KERNEL_COUNT % 8 == 0) { // routes of some: tensors take time
                struct mxv_case plain = c;
                plain.generator = MXV_GEN_INTEGER;
                plain.at = -1;
                if (mxv_case_build(&plain, &d, message, sizeof message) != MXV_OK)
                    fail_msg("%s", message);
                routes = mxv_coverage_routes(&d.a);
                mxv_case_free(&d);
            }
            mxv_coverage_add(&coverage, &c, routes);
        }
        mxv_tier_close(tier);
        list[0] = '\0';
        size_t missing = mxv_coverage_missing(&coverage, 15, false, remember, list);
        if (missing)
            print_error("seed %llu misses:\n%s", (unsigned long long)seed, list);
        assert_int_equal(missing, 0);
    }
    assert_true(mxv_coverage_print(&coverage, table, sizeof table) < sizeof table);
    assert_non_null(strstr(table, "dma: 500 cases"));
    assert_non_null(strstr(table, "tilemix: 500 cases"));
}

// The judge is judged: taking any one value away from a complete run makes it missing.
static void each_value_counts(void **state)
{
    struct mxv_coverage whole = coverage;
    size_t tried = 0;
    (void)state;
    assert_int_equal(mxv_coverage_missing(&coverage, 15, false, NULL, NULL), 0);
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
            for (unsigned v = 0; v < MXV_COVERAGE_VALUES; v++) {
                if (!whole.value[k][f][v])
                    continue;
                coverage.value[k][f][v] = 0;
                bool optional = f == MXV_FIELD_NONFINITE;
                assert_int_equal(mxv_coverage_missing(&coverage, 15, false, NULL, NULL),
                                 optional ? 0 : 1);
                coverage.value[k][f][v] = whole.value[k][f][v];
                tried++;
            }
        }
        for (unsigned e = 0; e < MXV_EVENT_REAL_DATA; e++) {
            if (!whole.event[k][e])
                continue;
            coverage.event[k][e] = 0;
            size_t missing = mxv_coverage_missing(&coverage, 15, false, NULL, NULL);
            assert_true(missing <= 1);
            tried += missing;
            coverage.event[k][e] = whole.event[k][e];
        }
    }
    print_message("%zu values taken away\n", tried);
    assert_true(tried > 300);
}

static void merged_counts(void **state)
{
    static struct mxv_coverage sum;
    (void)state;
    mxv_coverage_clear(&sum);
    mxv_coverage_merge(&sum, &coverage);
    mxv_coverage_merge(&sum, &coverage);
    assert_true(sum.cases[0] == 2 * coverage.cases[0] && coverage.cases[0] > 0);
    assert_true(sum.event[1][MXV_EVENT_GROUPED] == 2 * coverage.event[1][MXV_EVENT_GROUPED]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_run),         cmocka_unit_test(single_cases),
        cmocka_unit_test(routes_of_a_call),  cmocka_unit_test(fuzz_hits_everything),
        cmocka_unit_test(each_value_counts), cmocka_unit_test(merged_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
