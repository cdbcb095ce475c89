// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Maps: building from comparisons, reduction, range, the colour scale, and the NPY file.
#include <mxverify/map.h>
#include <mxverify/tensor_file.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_init(void **state)
{
    (void)state;
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 2, 3, true), MXV_OK);
    for (int i = 0; i < 6; i++)
        assert_true(isnan(map.values[i]) && map.routes[i] == MXV_ROUTE_SKIP);
    assert_int_equal(map.down.extent, 2);
    assert_int_equal(map.across.extent, 3);
    mxv_map_free(&map);
    assert_int_equal(mxv_map_init(&map, 0, 3, true), MXV_ERR_INPUT);
    mxv_map_free(&map);
    assert_int_equal(mxv_map_init(&map, SIZE_MAX / 2, 3, false), MXV_ERR_MEMORY);
    mxv_map_free(&map);
}

// 5 x 4 cells, at most 2 x 2 wanted: blocks of 3 x 2.
static void test_reduce(void **state)
{
    (void)state;
    const uint8_t high = MXV_ROUTE_HIGH, low = MXV_ROUTE_LOW, skip = MXV_ROUTE_SKIP;
    const double values[20] = {1,   2,   NAN, NAN, 3,   0,        NAN, NAN, 2, 2,
                               NAN, NAN, 5,   6,   NAN, INFINITY, 0,   0,   7, NAN};
    const uint8_t routes[20] = {high, high, skip, skip, high, high, skip, skip, high, high,
                                skip, skip, high, low,  skip, low,  low,  low,  low,  skip};
    struct mxv_map map, small, empty = {0};
    assert_int_equal(mxv_map_init(&map, 5, 4, true), MXV_OK);
    memcpy(map.values, values, sizeof values);
    memcpy(map.routes, routes, sizeof routes);
    map.down.step = 128;
    map.down.extent = 600;
    assert_int_equal(mxv_map_reduce(&map, 2, 2, &small), MXV_OK);
    assert_int_equal(small.rows, 2);
    assert_int_equal(small.cols, 2);
    assert_true(small.values[0] == 3 && isnan(small.values[1]));
    assert_true(small.values[2] == 6 && small.values[3] == INFINITY);
    assert_int_equal(small.routes[0], high);
    assert_int_equal(small.routes[1], skip);
    assert_int_equal(small.routes[2], MXV_MAP_ROUTE_MIXED);
    assert_int_equal(small.routes[3], low); // skipped cells do not make it mixed
    assert_int_equal(small.down.step, 384);
    assert_int_equal(small.down.extent, 600);
    assert_int_equal(small.across.step, 2);
    mxv_map_free(&small);
    assert_int_equal(mxv_map_reduce(&empty, 2, 2, &small), MXV_ERR_INPUT);
    mxv_map_free(&map);
}

static void test_range(void **state)
{
    (void)state;
    const double values[6] = {0, 0.25, NAN, 8, INFINITY, 2};
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 2, 3, false), MXV_OK);
    memcpy(map.values, values, sizeof values);
    struct mxv_map_range r = mxv_map_range(&map);
    assert_true(r.smallest == 0.25 && r.largest == 8);
    assert_int_equal(r.zero, 1);
    assert_int_equal(r.nonzero, 3);
    assert_int_equal(r.broken, 1);
    assert_int_equal(r.empty, 1);
    assert_int_equal(r.worst_row, 1);
    assert_int_equal(r.worst_col, 1);
    map.values[4] = 0;
    r = mxv_map_range(&map);
    assert_true(r.worst_row == 1 && r.worst_col == 0);
    mxv_map_free(&map);
}

static void test_from_grid(void **state)
{
    (void)state;
    const uint32_t expected[4] = {0x3C00, 0x3C00, 0x3C00, 0x3C00};
    const uint32_t test[4] = {0x3C00, 0x3BF0, 0x3C00, 0x3BFF};
    struct mxv_grid grid;
    struct mxv_map map;
    assert_int_equal(mxv_grid_init(&grid, MXV_F16, 3, 4, 2, 2, 10), 0);
    mxv_grid_add_words(&grid, 0, 0, 2, 2, MXV_ROUTE_LOW, test, expected);
    assert_int_equal(mxv_map_from_grid(&map, &grid, MXV_METRIC_ULP_MAX, "title", NULL), MXV_OK);
    assert_int_equal(map.rows, 2);
    assert_int_equal(map.cols, 2);
    assert_true(map.values[0] == 16);
    assert_true(isnan(map.values[1]) && isnan(map.values[2]) && isnan(map.values[3]));
    assert_int_equal(map.routes[0], MXV_ROUTE_LOW);
    assert_int_equal(map.down.step, 2);
    assert_int_equal(map.down.extent, 3);
    assert_string_equal(map.title, "title");
    assert_string_equal(map.subtitle, "");
    assert_string_equal(map.unit, "ulp");
    mxv_map_free(&map);
    assert_int_equal(mxv_map_from_grid(&map, &grid, MXV_METRIC_BIAS, "t", "s"), MXV_OK);
    assert_true(map.values[0] == 17 * 0x1p-11 / 4); // the magnitude of a negative bias
    mxv_map_free(&map);
    assert_int_equal(mxv_map_from_grid(&map, &grid, MXV_METRIC_PSNR, "t", "s"), MXV_ERR_INPUT);
    mxv_grid_free(&grid);
}

static void test_from_elements(void **state)
{
    (void)state;
    const uint32_t test[4] = {0x3C01, 0x7E00, 0x8000, 0xBC00};
    const uint32_t expected[4] = {0x3C00, 0x3C00, 0x0000, 0x3C00};
    const struct mxv_truth_ball exact[4] = {{1.5, 0}, {NAN, 0}, {0, 0}, {-0x1.002p0, 0}};
    struct mxv_map map;
    assert_int_equal(mxv_map_from_words(&map, MXV_F16, 2, 2, test, expected, "t", "s"), MXV_OK);
    assert_true(map.values[0] == 1 && map.values[1] == INFINITY && map.values[2] == 0);
    assert_true(map.values[3] == 0x7800); // twice 0x3C00
    assert_null(map.routes);
    mxv_map_free(&map);
    assert_int_equal(mxv_map_from_exact(&map, MXV_F16, 2, 2, test, exact, "t", "s"), MXV_OK);
    assert_true(map.values[0] == 511 && map.values[1] == 0 && map.values[2] == 0);
    assert_true(map.values[3] == 0.5);
    mxv_map_free(&map);
}

// Lightness of OKLab (B. Ottosson, 2020) of a colour.
static double lightness(uint32_t colour)
{
    double c[3];
    for (int i = 0; i < 3; i++) {
        double s = (double)(colour >> (16 - 8 * i) & 0xFF) / 255;
        c[i] = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
    }
    double l = 0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2];
    double m = 0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2];
    double s = 0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2];
    return 0.2104542553 * cbrt(l) + 0.7936177850 * cbrt(m) - 0.0040720468 * cbrt(s);
}

// The scale must survive colour blindness and grey print: lightness falls all the way, evenly.
static void test_colours(void **state)
{
    (void)state;
    for (int i = 0; i < 32; i++) {
        double drop =
            lightness(mxv_map_colour(i / 32.0)) - lightness(mxv_map_colour((i + 1) / 32.0));
        assert_true(drop > 0.6 * 0.715 / 32 && drop < 1.4 * 0.715 / 32);
    }
    assert_int_equal(mxv_map_colour(-1), mxv_map_colour(0));
    assert_int_equal(mxv_map_colour(2), mxv_map_colour(1));
    assert_int_equal(mxv_map_colour(0), 0xFEF676);
    assert_int_equal(mxv_map_colour(1), 0x2E004C);
}

// Routes that are drawn together must differ in letter and colour.
static void test_route_signs(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++) {
        for (unsigned j = 0; j < i; j++) {
            assert_true(mxv_map_route_letter(i) != mxv_map_route_letter(j));
            assert_true(mxv_map_route_colour(i) != mxv_map_route_colour(j));
        }
    }
    assert_int_equal(mxv_map_route_letter(MXV_ROUTE_LOW), 'L');
    assert_int_equal(mxv_map_route_letter(MXV_MAP_ROUTE_MIXED), '*');
}

static void test_npy(void **state)
{
    (void)state;
    char folder[] = "/tmp/mxv-map-XXXXXX", path[64], message[256] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/map.npy", folder);
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 2, 3, false), MXV_OK);
    map.values[1] = 0.1;
    map.values[5] = INFINITY;
    assert_int_equal(mxv_map_write_npy(&map, path, message, sizeof message), MXV_OK);
    struct mxv_tensor tensor;
    assert_int_equal(mxv_tensor_read_npy(path, NULL, &tensor, message, sizeof message), MXV_OK);
    assert_int_equal(tensor.type, MXV_F64);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.shape[1], 3);
    assert_memory_equal(tensor.data, map.values, 6 * sizeof(double));
    mxv_tensor_free(&tensor);
    mxv_map_free(&map);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); // nothing else was left there
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),          cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_range),         cmocka_unit_test(test_from_grid),
        cmocka_unit_test(test_from_elements), cmocka_unit_test(test_colours),
        cmocka_unit_test(test_route_signs),   cmocka_unit_test(test_npy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
