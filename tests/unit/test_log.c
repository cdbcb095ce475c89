// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The run log: every line is read back by another reader.
#include "test_log.h"

static void test_header(void **state)
{
    (void)state;
    setenv("SOURCE_DATE_EPOCH", "86400", 1);
    struct mxv_log *log = open_log(false);
    write_header(log);
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    unsetenv("SOURCE_DATE_EPOCH");
    size_t count;
    json_t *lines = read_lines(&count), *header = json_array_get(lines, 0);
    assert_int_equal(count, 1);
    assert_string_equal(text_at(header, "record"), "header");
    assert_int_equal(integer_at(header, "format"), 1);
    assert_string_equal(text_at(header, "version"), "1.2.3");
    assert_string_equal(text_at(header, "seed"), "fedcba9876543210");
    assert_string_equal(text_at(header, "date"), "1970-01-02T00:00:00Z");
    assert_true(json_is_null(json_object_get(header, "device")));
    json_t *words = json_object_get(header, "command");
    assert_int_equal(json_array_size(words), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_string_value(json_array_get(words, i)), command[i]);
    json_t *machine = json_object_get(header, "machine");
    assert_true(integer_at(machine, "cores") > 0);
    assert_non_null(text_at(machine, "architecture"));
    assert_true(strlen(text_at(header, "compiler")) > 4);
    json_decref(lines);
}

static void test_case(void **state)
{
    (void)state;
    struct mxv_taps_where where = {0};
    where.kind = MXV_TAPS_WORDS;
    where.key = (struct mxv_tap_key){MXV_STAGE_SCORE, MXV_ROUTE_LOW, 0, 3, 2, 1};
    where.differing[MXV_STAGE_SCORE] = 4;
    where.extra[MXV_STAGE_OUT] = 1;
    struct mxv_tap_element element = {2, 5, 0x3C00, 0x3C01, 1.0, 1.0009765625, 1, 9, 4, 8};
    struct mxv_metrics metrics;
    mxv_metrics_init(&metrics, MXV_F16, 10);
    mxv_metrics_add_word(&metrics, 0x3C00, 0x3C00);
    const struct mxv_log_metrics sets[] = {{"out", &metrics}};
    const struct mxv_log_number numbers[] = {{"gain", 0.1}, {"limit", -INFINITY}, {"none", NAN}};
    const struct mxv_log_text texts[] = {{"hash", "00ff"}};
    const char *const maps[] = {"a.png", "b.npy"};
    struct mxv_log_case c = plain_case();
    c.verdict = MXV_VERDICT_FAIL;
    c.reason = "tab\there, bad bytes \xFF \xC0\x80, good \xC3\xA9";
    c.first = &where;
    c.element = &element;
    c.element_format = MXV_F16;
    c.metrics_count = c.texts_count = 1;
    c.numbers_count = 3;
    c.maps_count = 2;
    c.metrics = sets;
    c.numbers = numbers;
    c.texts = texts;
    c.maps = maps;
    struct mxv_log *log = open_log(false);
    assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_OK);
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    size_t count;
    json_t *lines = read_lines(&count), *record = json_array_get(lines, 0);
    assert_int_equal(count, 1);
    assert_string_equal(text_at(record, "verdict"), "fail");
    assert_string_equal(text_at(record, "case"), c.line);
    assert_string_equal(
        text_at(record, "reason"),
        "tab\there, bad bytes \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD, good \xC3\xA9");
    json_t *first = json_object_get(record, "first");
    assert_string_equal(text_at(first, "stage"), "score");
    assert_string_equal(text_at(first, "route"), "low");
    assert_int_equal(integer_at(first, "tile_q"), 2);
    assert_int_equal(integer_at(first, "row"), 2);
    assert_string_equal(text_at(first, "word_a"), "3c00");
    assert_string_equal(text_at(first, "word_b"), "3c01");
    assert_int_equal(integer_at(first, "elements"), 32);
    json_t *stages = json_object_get(first, "differing_taps");
    assert_int_equal(json_object_size(stages), 2);
    assert_int_equal(integer_at(stages, "score"), 4);
    json_t *out = json_object_get(json_object_get(record, "metrics"), "out");
    assert_int_equal(integer_at(out, "words"), 0);
    assert_string_equal(text_at(out, "psnr"), "inf");
    assert_true(json_real_value(json_object_get(out, "cosine")) == 1 ||
                json_integer_value(json_object_get(out, "cosine")) == 1);
    json_t *written = json_object_get(record, "numbers");
    assert_true(json_real_value(json_object_get(written, "gain")) == 0.1);
    assert_string_equal(text_at(written, "gain_hex"), "0x1.999999999999ap-4");
    assert_string_equal(text_at(written, "limit"), "-inf");
    assert_string_equal(text_at(written, "none"), "nan");
    assert_string_equal(text_at(json_object_get(record, "texts"), "hash"), "00ff");
    assert_int_equal(json_array_size(json_object_get(record, "maps")), 2);
    json_decref(lines);
}

static void test_totals(void **state)
{
    (void)state;
    struct mxv_log_totals totals = {0};
    totals.counts[MXV_VERDICT_PASS] = 40;
    totals.counts[MXV_VERDICT_WEAK] = 1;
    totals.counts[MXV_VERDICT_SKIP] = 2;
    totals.hash = "abcd";
    struct mxv_log *log = open_log(false);
    assert_int_equal(mxv_log_write_totals(log, &totals, NULL, 0), MXV_OK);
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    size_t count;
    json_t *lines = read_lines(&count), *record = json_array_get(lines, 0);
    assert_int_equal(integer_at(record, "cases"), 43);
    assert_int_equal(integer_at(record, "exit_status"), 1);
    json_t *verdicts = json_object_get(record, "verdicts");
    assert_int_equal(json_object_size(verdicts), MXV_VERDICT_COUNT);
    assert_int_equal(integer_at(verdicts, "pass"), 40);
    assert_int_equal(integer_at(verdicts, "device-lost"), 0);
    json_decref(lines);
}

// Records are in the file as soon as they are written, and appending keeps what is there.
static void test_append(void **state)
{
    (void)state;
    size_t count;
    struct mxv_log_case c = plain_case();
    struct mxv_log *log = open_log(false);
    for (size_t i = 1; i <= 200; i++) {
        assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_OK);
        if (i % 50 == 1) {
            json_decref(read_lines(&count));
            assert_int_equal(count, i);
        }
    }
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    log = open_log(true);
    assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_OK);
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    json_decref(read_lines(&count));
    assert_int_equal(count, 201);
    log = open_log(false);
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    json_decref(read_lines(&count));
    assert_int_equal(count, 0);
}

// A record longer than the buffer of 65,536 bytes, with every byte value in it.
static void test_long_record(void **state)
{
    (void)state;
    enum { LENGTH = 300000 };
    char *line = malloc(LENGTH + 1);
    assert_non_null(line);
    for (size_t i = 0; i < LENGTH; i++)
        line[i] = (char)(1 + i % 127);
    line[LENGTH] = '\0';
    struct mxv_log_case c = plain_case();
    c.line = line;
    struct mxv_log *log = open_log(false);
    assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_OK);
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    size_t count;
    json_t *lines = read_lines(&count);
    assert_int_equal(count, 1);
    assert_string_equal(text_at(json_array_get(lines, 0), "case"), line);
    json_decref(lines);
    free(line);
}

// Doubles come back as they were, whatever the locale's decimal point is.
static void test_numbers_in_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]);
    print_message("locale with a decimal comma: %s\n", found ? found : "none installed");
    const double values[] = {0.1, 1e300, -2.5e-310, 1.0 / 3, 123456789.125, 5e-324};
    struct mxv_log *log = open_log(false);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct mxv_log_number number = {"x", values[i]};
        struct mxv_log_case c = plain_case();
        c.numbers_count = 1;
        c.numbers = &number;
        assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_OK);
    }
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    setlocale(LC_NUMERIC, "C");
    size_t count;
    json_t *lines = read_lines(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *numbers = json_object_get(json_array_get(lines, i), "numbers");
        assert_true(json_real_value(json_object_get(numbers, "x")) == values[i]);
        assert_true(strtod(text_at(numbers, "x_hex"), NULL) == values[i]);
    }
    assert_int_equal(count, sizeof values / sizeof *values);
    json_decref(lines);
}

static void test_errors(void **state)
{
    (void)state;
    char message[256] = "";
    struct mxv_log *log = NULL;
    struct mxv_log_case c = plain_case();
    assert_int_equal(mxv_log_open("/dev/full", false, &log, message, sizeof message), MXV_OK);
    assert_int_equal(mxv_log_write_case(log, &c, message, sizeof message), MXV_ERR_IO);
    assert_non_null(strstr(message, "/dev/full"));
    assert_non_null(strstr(message, "No space left"));
    assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_ERR_IO); // and stays failed
    assert_int_equal(mxv_log_close(log, message, sizeof message), MXV_ERR_IO);
    assert_int_equal(mxv_log_open("/absent/log.jsonl", false, &log, message, sizeof message),
                     MXV_ERR_IO);
    assert_null(log);
    assert_non_null(strstr(message, "No such file"));
    assert_int_equal(mxv_log_close(NULL, NULL, 0), MXV_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),      cmocka_unit_test(test_case),
        cmocka_unit_test(test_totals),      cmocka_unit_test(test_append),
        cmocka_unit_test(test_long_record), cmocka_unit_test(test_numbers_in_locale),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
