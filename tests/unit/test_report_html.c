// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The HTML page's data: read out of the page again by jansson, cells decoded here.
// tests/cli/test_report_browser.sh opens the page in a browser.
#include "report_files.h"

#include <jansson.h>
#include <math.h>
#include <mxverify/map.h>

// The object that the page carries; the text between the tags must hold no `<`.
static json_t *data_of(const char *log)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    struct mxv_report r;
    char message[256] = "";
    json_error_t error;
    read_log(log, &r);
    if (mxv_report_write_html(&r, path_of("page.html"), message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    mxv_report_free(&r);
    char *page = read_text(path_of("page.html")), *from = strstr(page, begin);
    assert_non_null(from);
    from += strlen(begin);
    char *to = strchr(from, '<');
    assert_int_equal(strncmp(to, "</script>", 9), 0);
    assert_int_equal(count_of(page, "</html>"), 1);
    assert_int_equal(count_of(page, "http:") + count_of(page, "https:"), 0);
    json_t *data = json_loadb(from, (size_t)(to - from), 0, &error);
    if (!data)
        fail_msg("%s", error.text);
    free(page);
    return data;
}

static json_t *at(json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);
    if (!member)
        fail_msg("no member %s", key);
    return member;
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    assert_non_null(found);
    return (int)(found - digits);
}

// RFC 4648, one digit at a time.
static size_t decode(const char *text, unsigned char *bytes)
{
    unsigned bits = 0, count = 0;
    size_t length = 0;
    assert_int_equal(strlen(text) % 4, 0);
    for (; *text && *text != '='; text++) {
        bits = (bits << 6 | (unsigned)digit_of(*text)) & 0xFFFF;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes[length++] = (unsigned char)(bits >> count);
        }
    }
    return length;
}

static double cell_of(json_t *grid, size_t index)
{
    static unsigned char bytes[1 << 22];
    json_t *cells = at(grid, "cells");
    bool wide = strcmp(json_string_value(at(cells, "type")), "f64") == 0;
    size_t width = wide ? 8 : 4, length = decode(json_string_value(at(cells, "data")), bytes);
    assert_int_equal(length, width * (size_t)json_integer_value(at(grid, "rows")) *
                                 (size_t)json_integer_value(at(grid, "cols")));
    uint64_t word = 0;
    for (size_t i = 0; i < width; i++)
        word |= (uint64_t)bytes[index * width + i] << 8 * i;
    if (wide) {
        double value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    uint32_t half = (uint32_t)word;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
}

static void test_data(void **state)
{
    (void)state;
    json_t *data = data_of(
        LOG_HEADER LOG_CASE("01", "dma </script><script>alert(1)</script>", "fail",
                            ",\"reason\":\"<!-- \xc3\xa9\",\"numbers\":{\"x\":0.125,\"y\":\"inf\"}")
            LOG_CASE("02", "dma lq=2", "pass", ",\"numbers\":{\"y\":3}"));
    json_t *cases = at(data, "cases"), *names = at(data, "names");
    assert_int_equal(json_array_size(cases), 2);
    json_t *first = json_array_get(cases, 0), *values = at(first, "values");
    assert_string_equal(json_string_value(at(first, "line")),
                        "dma </script><script>alert(1)</script>");
    assert_string_equal(json_string_value(at(first, "reason")), "<!-- \xc3\xa9");
    assert_int_equal(json_integer_value(at(first, "verdict")), MXV_VERDICT_FAIL);
    assert_int_equal(json_array_size(values), 4);
    size_t x = (size_t)json_integer_value(json_array_get(values, 0));
    assert_string_equal(json_string_value(json_array_get(names, x)), "numbers.x");
    assert_true(json_real_value(json_array_get(values, 1)) == 0.125);
    assert_string_equal(json_string_value(json_array_get(values, 3)), "inf");
    json_t *second = at(json_array_get(cases, 1), "values");
    assert_int_equal(json_integer_value(json_array_get(second, 0)),
                     json_integer_value(json_array_get(values, 2)));
    assert_true(json_is_null(at(json_array_get(cases, 1), "reason")));
    assert_true(json_is_false(at(data, "complete")));
    assert_int_equal(json_integer_value(at(data, "exit_status")), 1);
    assert_int_equal(json_array_size(at(data, "verdicts")), MXV_VERDICT_COUNT);
    json_decref(data);
}

// Cell i is scale * i, but for a NaN in the second cell and an infinity in cell `broken`.
static void write_map(const char *name, size_t rows, size_t cols, double scale, size_t broken)
{
    struct mxv_map map;
    char file[64], message[256] = "";
    assert_int_equal(mxv_map_init(&map, rows, cols, false), MXV_OK);
    for (size_t i = 0; i < rows * cols; i++)
        map.values[i] = scale * (double)i;
    map.values[1] = NAN;
    map.values[broken] = INFINITY;
    snprintf(file, sizeof file, "%s.npy", name);
    assert_int_equal(mxv_map_write_npy(&map, path_of(file), message, sizeof message), MXV_OK);
    snprintf(file, sizeof file, "%s.png", name);
    assert_int_equal(mxv_map_write_png(&map, path_of(file), message, sizeof message), MXV_OK);
    mxv_map_free(&map);
}

static long long axis_at(json_t *grid, const char *axis, const char *key)
{
    return json_integer_value(at(at(grid, axis), key));
}

// Maps are found beside the log although the log names another folder.
static void test_maps(void **state)
{
    static unsigned char bytes[1 << 22];
    (void)state;
    write_map("01_score", 2, 3, 0.1, 2);
    write_map("01_out", 130, 64, 1e-300, 2);
    json_t *data = data_of(LOG_HEADER LOG_CASE(
        "01", "dma lq=130 lk=257 tile=128x128 d=64 seed=1", "pass",
        ",\"maps\":[\"gone/01_score.png\",\"gone/01_out.png\",\"gone/01_absent.png\"]"));
    json_t *maps = at(json_array_get(at(data, "cases"), 0), "maps");
    json_t *score = json_array_get(maps, 0), *out = json_array_get(maps, 1);
    json_t *grid = at(score, "grid");
    assert_int_equal(json_integer_value(at(grid, "rows")), 2);
    assert_int_equal(axis_at(grid, "down", "step"), 128);
    assert_int_equal(axis_at(grid, "down", "extent"), 130);
    assert_int_equal(axis_at(grid, "across", "extent"), 257);
    assert_true(isnan(cell_of(grid, 1)));
    assert_true(isinf(cell_of(grid, 2)));
    assert_true(cell_of(grid, 5) == 0.1f * 5);
    grid = at(out, "grid");
    assert_int_equal(axis_at(grid, "down", "step"), 1);
    assert_true(cell_of(grid, 64 * 130 - 1) == 1e-300 * (64 * 130 - 1)); // beyond binary32
    const char *image = json_string_value(at(out, "image"));
    assert_int_equal(strncmp(image, "data:image/png;base64,", 22), 0);
    assert_true(decode(image + 22, bytes) > 100);
    assert_memory_equal(bytes, "\x89PNG", 4);
    assert_string_equal(json_string_value(at(json_array_get(maps, 2), "note")), "no such file");
    assert_null(json_object_get(json_array_get(maps, 2), "grid"));
    json_decref(data);
}

// A large map is joined, nothing of its worst is lost, and the page says so.
static void test_large_map(void **state)
{
    enum { ROWS = 5000, COLS = 100 };
    (void)state;
    write_map("02_out", ROWS, COLS, 1, 4321 * COLS + 97);
    json_t *data =
        data_of(LOG_HEADER LOG_CASE("02", "dma lq=5000", "pass", ",\"maps\":[\"02_out.png\"]"));
    json_t *map = json_array_get(at(json_array_get(at(data, "cases"), 0), "maps"), 0);
    json_t *grid = at(map, "grid"), *window = at(map, "window");
    assert_int_equal(json_integer_value(at(map, "all_rows")), ROWS);
    assert_int_equal(json_integer_value(at(grid, "rows")), 500);
    assert_int_equal(axis_at(grid, "down", "step"), 10);
    assert_true(cell_of(grid, 100 * 499 + 99) == ROWS * COLS - 1);
    assert_true(isinf(cell_of(grid, 100 * 432 + 97)));
    // the window begins at a multiple of 64, or as far to the right as it fits
    assert_int_equal(axis_at(window, "down", "origin"), 4288);
    assert_int_equal(axis_at(window, "across", "origin"), 36);
    assert_int_equal(json_integer_value(at(window, "rows")), 64);
    assert_true(isinf(cell_of(window, 64 * (4321 - 4288) + 97 - 36)));
    assert_true(cell_of(window, 64 + 3) == (double)COLS * 4289 + 39);
    json_decref(data);
}

// The page has a limit; what did not pass goes in first, and what is left out says so.
static void test_limit(void **state)
{
    enum { MAPS = 60 };
    char log[8192];
    (void)state;
    write_map("04_out", 512, 512, 1, 2);
    int length = snprintf(log, sizeof log,
                          "%s{\"record\":\"case\",\"id\":\"04\",\"case\":"
                          "\"dma lq=512\",\"verdict\":\"pass\",\"maps\":[",
                          LOG_HEADER);
    for (int i = 0; i < MAPS; i++)
        length +=
            snprintf(log + length, sizeof log - (size_t)length, "%s\"04_out.png\"", i ? "," : "");
    snprintf(log + length, sizeof log - (size_t)length, "]}\n%s",
             LOG_CASE("05", "dma lq=1", "fail", ",\"maps\":[\"04_out.png\"]"));
    json_t *data = data_of(log);
    json_t *maps = at(json_array_get(at(data, "cases"), 0), "maps");
    json_t *first = json_array_get(at(json_array_get(at(data, "cases"), 1), "maps"), 0);
    size_t embedded = 0, noted = 0;
    for (size_t i = 0; i < MAPS; i++) {
        const char *note = json_string_value(json_object_get(json_array_get(maps, i), "note"));
        embedded += json_object_get(json_array_get(maps, i), "grid") != NULL;
        noted += note && strstr(note, "limit of size");
    }
    assert_non_null(json_object_get(first, "grid"));
    assert_int_equal(embedded + noted, MAPS);
    assert_in_range(embedded, 20, 48); // 64 MiB of at least 1.4 MB each
    json_decref(data);
}

static void test_broken_files(void **state)
{
    (void)state;
    write_map("03_out", 4, 4, 1, 2);
    write_text("03_out.npy", "no array");
    json_t *data =
        data_of(LOG_HEADER LOG_CASE("03", "dma lq=4", "pass", ",\"maps\":[\"03_out.png\"]"));
    json_t *map = json_array_get(at(json_array_get(at(data, "cases"), 0), "maps"), 0);
    assert_non_null(json_object_get(map, "image"));
    assert_null(json_object_get(map, "grid"));
    assert_non_null(strstr(json_string_value(at(map, "note")), "cannot be read"));
    json_decref(data);
}

static void test_all_in_one_call(void **state)
{
    char message[256] = "";
    (void)state;
    const char *log = write_text("w.jsonl", LOG_HEADER LOG_CASE("01", "dma x", "pass", ""));
    assert_int_equal(mxv_report_write(log, path_of("w.xml"), path_of("w.html"), NULL, 0), MXV_OK);
    assert_int_equal(access(path_of("w.xml"), R_OK) | access(path_of("w.html"), R_OK), 0);
    assert_int_equal(mxv_report_write(path_of("x"), path_of("y"), NULL, message, sizeof message),
                     MXV_ERR_IO);
    assert_int_equal(access(path_of("y"), R_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),         cmocka_unit_test(test_maps),
        cmocka_unit_test(test_large_map),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_broken_files), cmocka_unit_test(test_all_in_one_call),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
