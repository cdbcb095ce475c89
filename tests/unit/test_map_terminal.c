// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Maps drawn with characters. The drawings are written out here by hand: a level is the tenth of
// the logarithmic scale in which a value lies, so on a scale from 1 to 1000 the value 30 (log 1.477
// of 3) has level 4.
#include <mxverify/map.h>

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct mxv_map routed_map(void)
{
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 3, 3, true), MXV_OK);
    const double values[9] = {1, NAN, NAN, 30, 0, NAN, 1000, INFINITY, 999};
    const uint8_t routes[9] = {MXV_ROUTE_HIGH, MXV_ROUTE_SKIP, MXV_ROUTE_SKIP,
                               MXV_ROUTE_LOW,  MXV_ROUTE_HIGH, MXV_ROUTE_SKIP,
                               MXV_ROUTE_LOW,  MXV_ROUTE_LOW,  MXV_ROUTE_HIGH};
    memcpy(map.values, values, sizeof values);
    memcpy(map.routes, routes, sizeof routes);
    map.down.step = map.across.step = 64;
    map.down.extent = map.across.extent = 180;
    map.log_scale = true;
    snprintf(map.title, sizeof map.title, "scores");
    snprintf(map.subtitle, sizeof map.subtitle, "dma lq=180");
    snprintf(map.unit, sizeof map.unit, "ulp");
    snprintf(map.down.label, sizeof map.down.label, "query token");
    snprintf(map.across.label, sizeof map.across.label, "key token");
    return map;
}

static const char legend[] =
    "ulp: 0123456789 from 1 to 1000 (log)  . exact  ! NaN/Inf  - not computed\n"
    "routes: H high  L low\n"
    "first NaN/Inf at query token 128-179, key token 64-127; largest number 1000 ulp\n"
    "cells: 4 with error, 1 exact, 1 NaN/Inf, 3 not computed; one character cell: 64 x 64\n";

static void check(const struct mxv_map *map, const struct mxv_map_terminal *terminal,
                  const char *expected)
{
    char *text = mxv_map_text(map, terminal);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void test_ascii(void **state)
{
    (void)state;
    const struct mxv_map_terminal terminal = {80, 0, false, false};
    struct mxv_map map = routed_map();
    char expected[2048];
    snprintf(expected, sizeof expected,
             "scores\n"
             "dma lq=180\n"
             "     key token\n"
             "      0     128\n"
             "query token\n"
             "  0   H0  -  -\n"
             " 64   L4 H.  -\n"
             "128   L9 L! H9\n"
             "%s",
             legend);
    check(&map, &terminal, expected);
    mxv_map_free(&map);
}

// Colours 16 black, 231 white, 228 the palest level, 17 the darkest, 196 NaN/Inf, 188 no data: the
// nearest of the 6 x 6 x 6 cube to FEF676, 2E004C, FF2D00, E2E2E2.
static void test_colour(void **state)
{
    (void)state;
    const struct mxv_map_terminal terminal = {80, 0, true, true};
    struct mxv_map map = routed_map();
    char *text = mxv_map_text(&map, &terminal);
    assert_non_null(text);
    assert_non_null(
        strstr(text, "  0  \033[38;5;16;48;5;228mH0\033[0m\033[38;5;16;48;5;188m -\033[0m"));
    assert_non_null(strstr(text, "\033[38;5;16;48;5;231mH.\033[0m"));
    assert_non_null(strstr(text, "128  \033[38;5;231;48;5;17mL9\033[0m"));
    assert_non_null(strstr(text, "48;5;196mL!\033[0m"));
    free(text);
    mxv_map_free(&map);
}

static void test_number_style(void **state)
{
    (void)state;
    const struct mxv_map_terminal terminal = {80, 0, false, false};
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 1, 3, false), MXV_OK);
    map.values[0] = 2.5e-5;
    map.values[1] = 3.25e6;
    map.log_scale = true;
    char *text = mxv_map_text(&map, &terminal);
    assert_non_null(text);
    assert_non_null(strstr(text, "from 2e-5 to 5e6 (log)"));
    assert_non_null(strstr(text, "largest 3.25e6 "));
    free(text);
    mxv_map_free(&map);
}

// Without routes two rows share a line of half blocks.
static void test_half_blocks(void **state)
{
    (void)state;
    const struct mxv_map_terminal terminal = {80, 0, true, true};
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 3, 1, false), MXV_OK);
    map.values[0] = 0;
    map.values[1] = INFINITY;
    map.values[2] = 0;
    char *text = mxv_map_text(&map, &terminal);
    assert_non_null(text);
    assert_non_null(strstr(text, "\n0  \033[38;5;231;48;5;196m\xE2\x96\x80\033[0m\n"
                                 "2  \033[38;5;231m\xE2\x96\x80\033[0m\n"));
    free(text);
    mxv_map_free(&map);
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

// A wide map is reduced to the width; its one bad cell of 80,000 still shows.
static void test_width(void **state)
{
    (void)state;
    for (unsigned columns = 20; columns <= 200; columns += 30) {
        const struct mxv_map_terminal terminal = {columns, 10, false, false};
        struct mxv_map map;
        assert_int_equal(mxv_map_init(&map, 200, 400, true), MXV_OK);
        for (size_t i = 0; i < 200 * 400; i++) {
            map.values[i] = 0;
            map.routes[i] = MXV_ROUTE_INT8;
        }
        map.values[123 * 400 + 321] = INFINITY;
        char *text = mxv_map_text(&map, &terminal);
        assert_non_null(text);
        char *end = strstr(text, ": 0123456789");
        assert_non_null(end);
        *end = '\0'; // the drawing without the legend
        assert_in_range(longest_line(text), columns / 3, columns);
        assert_non_null(strstr(text, "I!"));
        free(text);
        mxv_map_free(&map);
    }
}

static void test_detection(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    setenv("COLUMNS", "123", 1);
    setenv("TERM", "xterm-256color", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    struct mxv_map_terminal t = mxv_map_terminal_for(ends[1]);
    assert_int_equal(t.columns, 123);
    assert_false(t.colour); // a pipe is no terminal
    assert_false(t.unicode);
    setenv("COLUMNS", "wide", 1);
    assert_int_equal(mxv_map_terminal_for(ends[1]).columns, 80);
    close(ends[0]);
    close(ends[1]);
}

static void test_terminal_detection(void **state)
{
    (void)state;
    int fd = posix_openpt(O_RDWR);
    if (fd < 0 || !isatty(fd))
        skip();
    setenv("TERM", "xterm-256color", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    struct mxv_map_terminal t = mxv_map_terminal_for(fd);
    assert_true(t.colour && t.unicode);
    setenv("NO_COLOR", "1", 1);
    assert_false(mxv_map_terminal_for(fd).colour);
    setenv("NO_COLOR", "", 1); // empty counts as unset
    assert_true(mxv_map_terminal_for(fd).colour);
    setenv("TERM", "dumb", 1);
    assert_false(mxv_map_terminal_for(fd).colour);
    setenv("LC_ALL", "C", 1);
    assert_false(mxv_map_terminal_for(fd).unicode);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_number_style),
        cmocka_unit_test(test_half_blocks),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_detection),
        cmocka_unit_test(test_terminal_detection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
