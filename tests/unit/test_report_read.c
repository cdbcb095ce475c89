// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading of logs: values, repeated cases, records cut off anywhere, and refusals with their place.
#include "report_files.h"

#include <mxverify/log.h>

static void test_values(void **state)
{
    struct mxv_report r;
    (void)state;
    read_log(
        LOG_HEADER LOG_CASE(
            "aa11", "dma lq=3 lk=5", "fail",
            ",\"reason\":\"words\",\"seconds\":1.25,\"first\":{\"kind\":\"words\",\"tile_q\":3},"
            "\"metrics\":{\"out.inputs\":{\"rel_l2\":0.5,\"rel_l2_hex\":\"0x1p-1\"}},"
            "\"numbers\":{\"taps\":7,\"taps_hex\":\"0x1.cp+2\"},"
            "\"texts\":{\"output_hash\":\"ff\",\"code_hex\":\"12\"},"
            "\"killed\":[\"zeros\",\"sign\",3],\"none\":null,\"flag\":true,"
            "\"maps\":[\"o/aa11_out.png\"]") LOG_TOTALS("false"),
        &r);
    assert_int_equal(r.case_count, 1);
    assert_true(r.complete);
    assert_true(r.seconds == 7.5);
    const struct mxv_report_case *c = &r.cases[0];
    assert_string_equal(c->id, "aa11");
    assert_string_equal(c->line, "dma lq=3 lk=5");
    assert_string_equal(c->kernel, "dma");
    assert_string_equal(c->reason, "words");
    assert_int_equal(c->verdict, MXV_VERDICT_FAIL);
    assert_true(c->seconds == 1.25);
    assert_int_equal(c->map_count, 1);
    assert_string_equal(c->maps[0], "o/aa11_out.png");
    assert_true(mxv_report_find(&c->values, "metrics.out.inputs.rel_l2")->number == 0.5);
    assert_true(mxv_report_find(&c->values, "numbers.taps")->number == 7);
    assert_true(mxv_report_find(&c->values, "first.tile_q")->number == 3);
    assert_null(mxv_report_find(&c->values, "numbers.taps_hex"));
    assert_null(mxv_report_find(&c->values, "none"));
    assert_string_equal(mxv_report_text(&c->values, "texts.code_hex", ""), "12"); // no twin
    assert_string_equal(mxv_report_text(&c->values, "killed", ""), "zeros, sign, 3");
    assert_string_equal(mxv_report_text(&c->values, "flag", ""), "true");
    assert_string_equal(mxv_report_text(&c->values, "absent", "fallback"), "fallback");
    assert_string_equal(mxv_report_text(&r.header, "command", ""),
                        "mxverify run --kernel dma --set 'a b'");
    assert_string_equal(mxv_report_text(&r.header, "machine.cpu", ""), "C");
    assert_string_equal(mxv_report_text(&r.totals, "hash", ""), "00000000000000aa");
    assert_int_equal(r.counts[MXV_VERDICT_FAIL], 1);
    assert_int_equal(mxv_report_exit_status(&r), 1);
    mxv_report_free(&r);
}

// What the log's writer writes is read back.
static void test_written_log(void **state)
{
    static const char *const words[] = {"mxverify run", "--kernel", "dma"};
    struct mxv_log *log;
    struct mxv_report r;
    char message[256] = "";
    (void)state;
    const char *path = path_of("written.jsonl");
    assert_int_equal(mxv_log_open(path, false, &log, message, sizeof message), MXV_OK);
    struct mxv_log_header header = {
        .program = "mxverify", .version = "9", .argc = 3, .argv = words, .implementation = "x"};
    assert_int_equal(mxv_log_write_header(log, &header, NULL, 0), MXV_OK);
    const struct mxv_log_number numbers[] = {{"third", 1.0 / 3}, {"nothing", 0.0 / 0.0}};
    for (int i = 0; i < 300; i++) {
        char id[16], line[64];
        snprintf(id, sizeof id, "%010x", (unsigned)i);
        snprintf(line, sizeof line, "flash lq=%d note=\"\t\xc3\xa9", i);
        struct mxv_log_case c = {.id = id,
                                 .line = line,
                                 .verdict = MXV_VERDICT_PASS,
                                 .seconds = 0.5,
                                 .numbers_count = 2,
                                 .numbers = numbers};
        assert_int_equal(mxv_log_write_case(log, &c, NULL, 0), MXV_OK);
    }
    assert_true(mxv_log_abort(log, "ffffffffff", "flash lq=999", MXV_VERDICT_CRASH));
    assert_int_equal(mxv_log_close(log, NULL, 0), MXV_OK);
    assert_int_equal(mxv_report_read(path, &r, message, sizeof message), MXV_OK);
    assert_int_equal(r.case_count, 301);
    assert_string_equal(r.cases[299].line, "flash lq=299 note=\"\t\xc3\xa9");
    assert_true(mxv_report_find(&r.cases[7].values, "numbers.third")->number == 1.0 / 3);
    assert_string_equal(mxv_report_text(&r.cases[7].values, "numbers.nothing", ""), "nan");
    assert_int_equal(r.counts[MXV_VERDICT_PASS], 300);
    assert_int_equal(r.cases[300].verdict, MXV_VERDICT_CRASH);
    assert_false(r.complete);
    assert_false(r.has_totals);
    assert_true(r.seconds == 150);
    mxv_report_free(&r);
}

static void test_last_record_of_a_case_holds(void **state)
{
    struct mxv_report r;
    (void)state;
    read_log(
        LOG_HEADER LOG_CASE("01", "dma lq=1", "timeout", "") LOG_CASE("02", "dma lq=2", "pass", "")
            LOG_HEADER LOG_CASE("01", "dma lq=1", "pass", ",\"seconds\":2") LOG_TOTALS("false"),
        &r);
    assert_int_equal(r.case_count, 2);
    assert_int_equal(r.repeated, 1);
    assert_string_equal(r.cases[0].id, "01");
    assert_int_equal(r.cases[0].verdict, MXV_VERDICT_PASS);
    assert_true(r.cases[0].seconds == 2);
    assert_int_equal(r.counts[MXV_VERDICT_TIMEOUT], 0);
    assert_int_equal(mxv_report_exit_status(&r), 0);
    mxv_report_free(&r);
}

// Equal lines at two places of a run are two cases; a record without index is of either.
static void test_index_tells_cases_apart(void **state)
{
#define AT(index) ",\"numbers\":{\"index\":" #index "}"
    struct mxv_report r;
    (void)state;
    read_log(LOG_HEADER LOG_CASE("01", "dma a", "pass", AT(0))
                 LOG_CASE("01", "dma a", "fail", AT(1)) LOG_CASE("01", "dma a", "weak", AT(0))
                     LOG_CASE("02", "dma b", "crash", "") LOG_CASE("02", "dma b", "pass", AT(2))
                         LOG_CASE("02", "dma b", "pass", AT(3)),
             &r);
    assert_int_equal(r.case_count, 4);
    assert_int_equal(r.repeated, 2);
    assert_int_equal(r.cases[0].verdict, MXV_VERDICT_WEAK);
    assert_int_equal(r.cases[1].verdict, MXV_VERDICT_FAIL);
    assert_int_equal(r.counts[MXV_VERDICT_CRASH], 0);
    mxv_report_free(&r);
#undef AT
}

static void test_exit_status(void **state)
{
    static const struct {
        const char *log;
        int status;
    } rows[] = {
        {LOG_HEADER LOG_CASE("01", "dma a", "pass", "") LOG_TOTALS("false"), 0},
        {LOG_HEADER LOG_CASE("01", "dma a", "waived", "") LOG_TOTALS("false"), 0},
        {LOG_HEADER LOG_CASE("01", "dma a", "pass", "") LOG_TOTALS("true"), 2},
        {LOG_HEADER LOG_CASE("01", "dma a", "pass", ""), 2},
        {LOG_HEADER LOG_CASE("01", "dma a", "pass", "") LOG_TOTALS("false") LOG_HEADER, 2},
        {LOG_HEADER LOG_CASE("01", "dma a", "weak", "") LOG_TOTALS("false"), 1},
        {LOG_HEADER LOG_CASE("01", "dma a", "skip", "") LOG_TOTALS("false"), 77},
        {LOG_HEADER LOG_TOTALS("false"), 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mxv_report r;
        read_log(rows[i].log, &r);
        assert_int_equal(mxv_report_exit_status(&r), rows[i].status);
        mxv_report_free(&r);
    }
}

// A kill at any byte leaves a log that can be read: all whole records count, no other.
static void test_cut_anywhere(void **state)
{
    static const char log[] =
        LOG_HEADER LOG_CASE("01", "dma lq=1 \xc3\xa9\\\"", "pass", ",\"n\":[1]")
            LOG_CASE("02", "dma lq=2", "fail", ",\"seconds\":1.5e3") LOG_TOTALS("false");
    size_t header = strlen(LOG_HEADER);
    (void)state;
    for (size_t cut = header; cut < sizeof log; cut++) {
        struct mxv_report r;
        char message[256] = "";
        write_bytes("cut.jsonl", log, cut);
        if (mxv_report_read(path_of("cut.jsonl"), &r, message, sizeof message) != MXV_OK)
            fail_msg("cut at %zu: %s", cut, message);
        size_t whole = 0, torn = 0;
        for (size_t i = header, from = header; i < sizeof log - 1; i++) {
            bool ended = log[i] == '\n';
            whole += ended && i <= cut; // the record is there, with or without its line end
            torn += i + 1 == cut && !ended && log[i + 1] != '\n' && i + 1 > from;
            from = ended ? i + 1 : from;
        }
        assert_int_equal(r.case_count + r.has_totals, whole);
        assert_int_equal(r.torn, torn);
        assert_int_equal(r.complete, cut >= sizeof log - 2);
        mxv_report_free(&r);
    }
}

// A resumed run that went on in the line of the record cut off.
static void test_cut_record_and_another_in_one_line(void **state)
{
    static const char whole[] = LOG_CASE("02", "dma lq=2", "pass", "");
    static const char cut[] = "{\"record\":\"case\",\"id\":\"01\",\"case\":\"dma lq=1 \\\"{";
    (void)state;
    for (size_t length = 1; length < sizeof cut; length++) {
        struct mxv_report r;
        char text[1024];
        snprintf(text, sizeof text, "%s%.*s%s\n", LOG_HEADER, (int)length, cut, whole);
        read_log(text, &r);
        assert_int_equal(r.case_count, 1);
        assert_string_equal(r.cases[0].line, "dma lq=2");
        assert_int_equal(r.torn, 1);
        mxv_report_free(&r);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *log, *wanted;
        enum mxv_status status;
    } rows[] = {
        {"", "no record", MXV_ERR_INPUT},
        {"\n\n", "no record", MXV_ERR_INPUT},
        {"hello\n", "line 1, column", MXV_ERR_INPUT},
        {"{\"a\":1}\n", "line 1: an object without `record`", MXV_ERR_INPUT},
        {LOG_CASE("01", "dma", "pass", ""), "line 1: no header", MXV_ERR_INPUT},
        {"{\"record\":\"header\",\"format\":2}\n", "line 1: format 2", MXV_ERR_INPUT},
        {LOG_HEADER "\n" LOG_CASE("01", "dma", "passed", ""), "line 3: no such verdict: `passed`",
         MXV_ERR_INPUT},
        {LOG_HEADER LOG_CASE("01", "", "pass", ""), "line 2: a case without", MXV_ERR_INPUT},
        {LOG_HEADER "{\"record\":\"case\",\"case\":\"dma\",\"verdict\":\"pass\"}\n",
         "line 2: a case without", MXV_ERR_INPUT},
        {LOG_HEADER "{\"record\":\"case\",}\n", "line 2, column 18", MXV_ERR_INPUT},
        {LOG_HEADER "not json\n" LOG_TOTALS("false"), "line 2, column", MXV_ERR_INPUT},
        {LOG_HEADER "[1]\n", "line 2: an object without `record`", MXV_ERR_INPUT},
    };
    struct mxv_report r;
    char message[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = write_text("bad.jsonl", rows[i].log);
        assert_int_equal(mxv_report_read(path, &r, message, sizeof message), rows[i].status);
        if (!strstr(message, rows[i].wanted) || !strstr(message, "bad.jsonl"))
            fail_msg("row %zu: `%s` lacks `%s`", i, message, rows[i].wanted);
        assert_null(r.cases);
    }
    assert_int_equal(mxv_report_read(path_of("absent"), &r, message, sizeof message), MXV_ERR_IO);
    assert_non_null(strstr(message, "No such file"));
    write_bytes("nul.jsonl", "{\"record\"\0:1}\n", 14);
    assert_int_equal(mxv_report_read(path_of("nul.jsonl"), &r, NULL, 0), MXV_ERR_INPUT);
}

// Later writers may add kinds of records and members.
static void test_unknown_is_kept_or_passed_over(void **state)
{
    struct mxv_report r;
    (void)state;
    read_log(LOG_HEADER "{\"record\":\"note\",\"text\":\"hi\"}\n" LOG_CASE(
                 "01", "dma", "pass", ",\"power\":{\"deep\":{\"gain\":0.125}}") LOG_TOTALS("false"),
             &r);
    assert_int_equal(r.case_count, 1);
    assert_true(mxv_report_find(&r.cases[0].values, "power.deep.gain")->number == 0.125);
    mxv_report_free(&r);
}

static void check_repro(const char *log, const char *wanted)
{
    struct mxv_report r;
    read_log(log, &r);
    char *repro = mxv_report_repro(&r, &r.cases[0]);
    assert_string_equal(repro, wanted);
    free(repro);
    mxv_report_free(&r);
}

static void test_repro(void **state)
{
    (void)state;
    check_repro(LOG_HEADER LOG_CASE("01", "dma lq=1", "fail", ""), "mxverify repro 'dma lq=1'");
    check_repro(LOG_HEADER LOG_CASE("01", "dma input=it's", "fail", ""),
                "mxverify repro 'dma input=it'\\''s'");
    check_repro("{\"record\":\"header\",\"format\":1,\"implementation\":\"my lib\"}\n" LOG_CASE(
                    "01", "dma lq=1", "fail", ""),
                "mxverify repro 'dma lq=1' --impl 'my lib'");
    check_repro("{\"record\":\"header\",\"format\":1,\"implementation\":\"emulation\"}\n" LOG_CASE(
                    "01", "dma lq=1 fault=D2", "fail", ""),
                "mxverify repro 'dma lq=1 fault=D2'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_written_log),
        cmocka_unit_test(test_last_record_of_a_case_holds),
        cmocka_unit_test(test_index_tells_cases_apart),
        cmocka_unit_test(test_exit_status),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_cut_record_and_another_in_one_line),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unknown_is_kept_or_passed_over),
        cmocka_unit_test(test_repro),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
