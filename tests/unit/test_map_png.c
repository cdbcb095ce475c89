// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of maps: decoded again with libpng and searched for what must be in them.
#include <mxverify/map.h>

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <png.h>

// The lettering of the pictures, an internal function of the library.
const unsigned char *mxv_png_glyph(char character);

static char folder[] = "/tmp/mxv-png-XXXXXX";

struct picture {
    size_t width, height;
    uint8_t *rgb;
};

static struct picture read_picture(const char *path)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    assert_true(png_image_begin_read_from_file(&image, path));
    image.format = PNG_FORMAT_RGB;
    struct picture picture = {image.width, image.height, malloc(PNG_IMAGE_SIZE(image))};
    assert_non_null(picture.rgb);
    assert_true(png_image_finish_read(&image, NULL, picture.rgb, 0, NULL));
    return picture;
}

static uint32_t dot(const struct picture *p, size_t x, size_t y)
{
    const uint8_t *c = p->rgb + (y * p->width + x) * 3;
    return (uint32_t)c[0] << 16 | (uint32_t)c[1] << 8 | c[2];
}

static size_t count_colour(const struct picture *p, uint32_t colour)
{
    size_t count = 0;
    for (size_t i = 0; i < p->width * p->height; i++)
        count += dot(p, i % p->width, i / p->width) == colour;
    return count;
}

static void path_of(char *buffer, size_t size, const char *name)
{
    snprintf(buffer, size, "%s/%s", folder, name);
}

static struct picture draw(const struct mxv_map *map, const char *name)
{
    char path[128], message[256] = "";
    path_of(path, sizeof path, name);
    enum mxv_status status = mxv_map_write_png(map, path, message, sizeof message);
    if (status != MXV_OK)
        fail_msg("%s", message);
    struct picture picture = read_picture(path);
    assert_int_equal(unlink(path), 0);
    return picture;
}

// high low / low high, cells of 96 dots: values 1, 0, NaN/Inf, skipped.
static struct mxv_map small_map(void)
{
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 2, 2, true), MXV_OK);
    const double values[4] = {1, 100, INFINITY, NAN};
    const uint8_t routes[4] = {MXV_ROUTE_HIGH, MXV_ROUTE_LOW, MXV_ROUTE_LOW, MXV_ROUTE_SKIP};
    memcpy(map.values, values, sizeof values);
    memcpy(map.routes, routes, sizeof routes);
    map.down.step = map.across.step = 128;
    map.down.extent = map.across.extent = 200;
    snprintf(map.title, sizeof map.title, "a title");
    snprintf(map.subtitle, sizeof map.subtitle, "a case line");
    snprintf(map.unit, sizeof map.unit, "ulp");
    snprintf(map.down.label, sizeof map.down.label, "query token");
    snprintf(map.across.label, sizeof map.across.label, "key token");
    map.log_scale = true;
    return map;
}

static bool has_run(const struct picture *p, size_t y, const uint32_t *run, size_t length)
{
    for (size_t x = 0; x + length <= p->width; x++) {
        size_t same = 0;
        while (same < length && dot(p, x + same, y) == run[same])
            same++;
        if (same == length)
            return true;
    }
    return false;
}

// Across the border of high and low: the high cell's colour, 3 dots of high, 2 dark, 3 of low, the
// low cell's colour.
static void test_route_border(void **state)
{
    (void)state;
    struct mxv_map map = small_map();
    struct picture p = draw(&map, "small.png");
    uint32_t high = mxv_map_route_colour(MXV_ROUTE_HIGH), low = mxv_map_route_colour(MXV_ROUTE_LOW);
    uint32_t one = mxv_map_colour(0), hundred = mxv_map_colour(1);
    const uint32_t run[] = {one, one, high, high, high, 0, 0, low, low, low, hundred, hundred};
    size_t rows = 0;
    for (size_t y = 0; y < p.height; y++)
        rows += has_run(&p, y, run, sizeof run / sizeof *run);
    assert_in_range(rows, 60, 96); // letters and corners interrupt some of the 96 rows
    assert_true(count_colour(&p, 0xFF2D00) > 96 * 96 / 2); // the NaN/Inf cell
    assert_true(count_colour(&p, 0xE2E2E2) > 96 * 96 / 2); // the hatched cell
    assert_true(count_colour(&p, 0xBDBDBD) > 96 * 96 / 8);
    assert_int_equal(count_colour(&p, mxv_map_route_colour(MXV_ROUTE_SKIP)), 0); // no outline
    assert_in_range(p.width, 500, 1600);
    assert_in_range(p.height, 400, 1600);
    free(p.rgb);
    mxv_map_free(&map);
}

// A map of one route has the outline of the region, but no border inside.
static void test_no_border_inside_a_route(void **state)
{
    (void)state;
    struct mxv_map map = small_map();
    for (int i = 0; i < 4; i++) {
        map.values[i] = 1;
        map.routes[i] = MXV_ROUTE_HIGH;
    }
    struct picture p = draw(&map, "one.png");
    uint32_t high = mxv_map_route_colour(MXV_ROUTE_HIGH);
    size_t outline = 2 * 3 * (192 + 192), swatch = 4 * 4 * 14 + 64;
    assert_in_range(count_colour(&p, high), outline - 64, outline + swatch);
    assert_int_equal(count_colour(&p, mxv_map_route_colour(MXV_ROUTE_LOW)), 0);
    free(p.rgb);
    mxv_map_free(&map);
}

// The colour bar shows the whole scale: every level's colour, from top to bottom in one column.
static void test_colour_bar(void **state)
{
    (void)state;
    struct mxv_map map = small_map();
    struct picture p = draw(&map, "bar.png");
    size_t longest = 0, bar_x = 0, bar_end = 0;
    for (size_t x = 0; x < p.width; x++) {
        size_t length = 0;
        for (size_t y = 1; y < p.height; y++) {
            uint32_t c = dot(&p, x, y);
            bool in_bar = c != 0xFFFFFF && c != 0 && c != 0x444444;
            length = in_bar ? length + 1 : 0;
            if (length > longest) {
                longest = length;
                bar_x = x;
                bar_end = y;
            }
        }
    }
    assert_int_equal(longest, 298); // 300 dots less the frame
    for (size_t i = 0; i < longest; i++)
        assert_int_equal(dot(&p, bar_x, bar_end - i), mxv_map_colour((double)(i + 1) / 299));
    free(p.rgb);
    mxv_map_free(&map);
}

// 1,024 x 64 elements fit after reduction; one bad element of 65,536 still shows.
static void test_large(void **state)
{
    (void)state;
    struct mxv_map map;
    assert_int_equal(mxv_map_init(&map, 1024, 64, false), MXV_OK);
    for (size_t i = 0; i < 1024 * 64; i++)
        map.values[i] = 0;
    map.values[777 * 64 + 13] = INFINITY;
    struct picture p = draw(&map, "large.png");
    assert_in_range(p.width, 500, 1600);
    assert_in_range(p.height, 500, 1600);
    size_t cell = 12; // dots: 768 / 64 across, 1 down
    size_t legend = count_colour(&p, 0xFF2D00) - cell;
    assert_in_range(legend, 100, 400); // the swatch of 20 x 20 with its cross
    map.values[777 * 64 + 13] = 0;
    free(p.rgb);
    p = draw(&map, "large.png");
    assert_int_equal(count_colour(&p, 0xFF2D00), 0);
    free(p.rgb);
    mxv_map_free(&map);
}

static void test_sizes(void **state)
{
    (void)state;
    const size_t sizes[][2] = {{1, 1}, {1, 300}, {300, 1}, {8, 8}, {33, 7}, {769, 769}, {5000, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct mxv_map map;
        assert_int_equal(mxv_map_init(&map, sizes[i][0], sizes[i][1], true), MXV_OK);
        memset(map.title, 'M', sizeof map.title - 1);
        memset(map.subtitle, 'w', sizeof map.subtitle - 1);
        struct picture p = draw(&map, "size.png");
        assert_in_range(p.width, 500, 1600);
        assert_in_range(p.height, 400, 1600);
        free(p.rgb);
        mxv_map_free(&map);
    }
}

static size_t read_bytes(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

static void test_repeatable_and_replaced(void **state)
{
    (void)state;
    static uint8_t first[1 << 20], second[1 << 20];
    struct mxv_map map = small_map();
    char path[128];
    path_of(path, sizeof path, "same.png");
    assert_int_equal(mxv_map_write_png(&map, path, NULL, 0), MXV_OK);
    size_t length = read_bytes(path, first, sizeof first);
    assert_int_equal(mxv_map_write_png(&map, path, NULL, 0), MXV_OK);
    assert_int_equal(read_bytes(path, second, sizeof second), length);
    assert_memory_equal(first, second, length);
    assert_int_equal(unlink(path), 0);
    mxv_map_free(&map);
}

static size_t files_in_folder(void)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2; // . and ..
}

static void test_refused(void **state)
{
    (void)state;
    struct mxv_map map = small_map(), empty = {0};
    char message[256] = "", path[160];
    assert_int_equal(mxv_map_write_png(&map, "/dev/full", message, sizeof message), MXV_ERR_IO);
    assert_non_null(strstr(message, "/dev/full"));
    assert_non_null(strstr(message, "No space left"));
    path_of(path, sizeof path, "absent/map.png");
    assert_int_equal(mxv_map_write_png(&map, path, message, sizeof message), MXV_ERR_IO);
    assert_non_null(strstr(message, "No such file"));
    path_of(path, sizeof path, "empty.png");
    assert_int_equal(mxv_map_write_png(&empty, path, message, sizeof message), MXV_ERR_INPUT);
    assert_int_equal(files_in_folder(), 0); // nothing half-written
    mxv_map_free(&map);
}

static void test_font(void **state)
{
    (void)state;
    for (int a = '!'; a <= '~'; a++) {
        unsigned ink = 0;
        for (int row = 0; row < 9; row++)
            ink |= mxv_png_glyph((char)a)[row];
        assert_true(ink != 0 && ink < 32);
        for (int b = '!'; b < a; b++)
            assert_memory_not_equal(mxv_png_glyph((char)a), mxv_png_glyph((char)b), 9);
    }
    assert_ptr_equal(mxv_png_glyph('\n'), mxv_png_glyph('?'));
    assert_ptr_equal(mxv_png_glyph((char)0xE9), mxv_png_glyph('?'));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_border), cmocka_unit_test(test_no_border_inside_a_route),
        cmocka_unit_test(test_colour_bar),   cmocka_unit_test(test_large),
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_repeatable_and_replaced),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_font),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
