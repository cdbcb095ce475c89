// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// JUnit XML: what every verdict becomes, sums, order, characters. tests/cli/test_report.sh has the
// files checked by xmllint against a schema.
#include "report_files.h"

#include <locale.h>

static char *junit_of(const char *log)
{
    struct mxv_report r;
    char message[256] = "";
    read_log(log, &r);
    if (mxv_report_write_junit(&r, path_of("junit.xml"), message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    mxv_report_free(&r);
    return read_text(path_of("junit.xml"));
}

static void check_verdict(const char *verdict, const char *wanted)
{
    char log[2048];
    snprintf(log, sizeof log,
             "%s{\"record\":\"case\",\"id\":\"01\",\"case\":\"dma x\",\"verdict\":\"%s\"}\n%s",
             LOG_HEADER, verdict, LOG_TOTALS("false"));
    char *xml = junit_of(log), expected[64];
    static const char *const elements[] = {"<failure ", "<error ", "<skipped "};
    for (int i = 0; i < 3; i++)
        assert_int_equal(count_of(xml, elements[i]), strcmp(elements[i], wanted) == 0);
    snprintf(expected, sizeof expected, "%stype=\"%s\"", wanted, verdict);
    assert_int_equal(count_of(xml, expected), *wanted ? 1 : count_of(xml, expected));
    snprintf(expected, sizeof expected, "tests=\"1\" failures=\"%d\" errors=\"%d\" skipped=\"%d\"",
             strcmp(wanted, "<failure ") == 0, strcmp(wanted, "<error ") == 0,
             strcmp(wanted, "<skipped ") == 0);
    assert_int_equal(count_of(xml, expected), 1);
    free(xml);
}

static void test_verdicts(void **state)
{
    static const char *const outcomes[MXV_VERDICT_COUNT] = {
        [MXV_VERDICT_PASS] = "",
        [MXV_VERDICT_WARN] = "",
        [MXV_VERDICT_WEAK] = "<failure ",
        [MXV_VERDICT_FAIL] = "<failure ",
        [MXV_VERDICT_UNDECIDED] = "<failure ",
        [MXV_VERDICT_SKIP] = "<skipped ",
        [MXV_VERDICT_UNSUPPORTED] = "<skipped ",
        [MXV_VERDICT_CRASH] = "<error ",
        [MXV_VERDICT_TIMEOUT] = "<error ",
        [MXV_VERDICT_DEVICE_LOST] = "<error ",
        [MXV_VERDICT_WAIVED] = "<skipped ",
        [MXV_VERDICT_XPASS] = "<failure ",
        [MXV_VERDICT_ORACLE_ERROR] = "<error ",
        [MXV_VERDICT_FLAKY] = "<failure ",
    };
    (void)state;
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++) {
        assert_non_null(outcomes[v]);
        check_verdict(mxv_verdict_name(v), outcomes[v]);
    }
}

static void test_document(void **state)
{
    (void)state;
    char *xml = junit_of(LOG_HEADER LOG_CASE("01", "dma lq=1", "pass", ",\"seconds\":1.5") LOG_CASE(
        "02", "flash lq=2", "fail",
        ",\"reason\":\"a<b & \\\"c\\\"\",\"seconds\":0.0004,"
        "\"maps\":[\"o/02_out.png\"]") LOG_CASE("03", "dma lq=3", "pass",
                                                ",\"seconds\":2,\"texts\":{"
                                                "\"output_hash\":\"ff\"}") LOG_TOTALS("false"));
    assert_int_equal(count_of(xml, "<testsuites name=\"mxverify\" tests=\"3\" failures=\"1\" "
                                   "errors=\"0\" time=\"3.500\">"),
                     1);
    assert_int_equal(count_of(xml,
                              "<testsuite name=\"dma\" tests=\"2\" failures=\"0\" errors=\"0\" "
                              "skipped=\"0\" time=\"3.500\" timestamp=\"2026-11-30T10:11:54\">"),
                     1);
    assert_int_equal(count_of(xml, "<testsuite "), 2);
    assert_int_equal(count_of(xml, "<testcase classname=\"dma\" name=\"dma lq=1\" time=\"1.500\">"),
                     1);
    assert_int_equal(count_of(xml, "<testcase classname=\"flash\" name=\"flash lq=2\""), 1);
    // the command that repeats the case is the first line of the text
    assert_int_equal(count_of(xml, "message=\"a&lt;b &amp; &quot;c&quot;\">mxverify repro 'flash "
                                   "lq=2'\nverdict: fail\nreason: a&lt;b &amp; &quot;c&quot;\n"),
                     1);
    assert_int_equal(count_of(xml, "map: o/02_out.png\n"), 1);
    assert_int_equal(count_of(xml, "<system-out>output_hash: ff\n</system-out>"), 1);
    assert_int_equal(count_of(xml, "<property name=\"machine.cpu\" value=\"C\"/>"), 2);
    free(xml);
}

static void test_characters(void **state)
{
    (void)state;
    char *xml = junit_of(LOG_HEADER LOG_CASE("01", "dma x", "fail",
                                             ",\"reason\":\"\\u001b[31m\\u0001\\u007f\\ttab\\nline "
                                             "\xef\xbf\xbe\xef\xbf\xbf \xc3\xa9\""));
    assert_non_null(
        strstr(xml, "message=\"\\x1B[31m\\x01\\x7F&#9;tab&#10;line \\xFFFE\\xFFFF \xc3\xa9\""));
    for (const char *c = xml; *c; c++)
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    free(xml);
}

static void test_waived_has_its_address(void **state)
{
    (void)state;
    char *xml = junit_of(LOG_HEADER LOG_CASE("01", "dma x", "waived",
                                             ",\"reason\":\"known\",\"texts\":{\"url\":\"https://"
                                             "example.org/7\",\"owner\":\"me\"}"));
    assert_non_null(
        strstr(xml, "<skipped type=\"waived\" message=\"known https://example.org/7\"/>"));
    free(xml);
}

// What never ran is not taken for passed.
static void test_incomplete(void **state)
{
    static const char *const logs[] = {LOG_HEADER LOG_CASE("01", "dma x", "pass", ""),
                                       LOG_HEADER LOG_CASE("01", "dma x", "pass", "")
                                           LOG_TOTALS("true")};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char *xml = junit_of(logs[i]);
        assert_int_equal(count_of(xml, "tests=\"2\" failures=\"0\" errors=\"1\""), 1);
        assert_int_equal(count_of(xml, "<error type=\"incomplete\""), 1);
        free(xml);
    }
}

static void test_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C"};
    for (int i = 0; i < 3; i++) {
        setlocale(LC_NUMERIC, names[i]);
        char *xml = junit_of(LOG_HEADER LOG_CASE("01", "dma x", "pass", ",\"seconds\":1234.5"));
        assert_int_equal(count_of(xml, "time=\"1234.500\""), 3);
        free(xml);
    }
}

static void test_refused_writes(void **state)
{
    struct mxv_report r;
    char message[256] = "";
    (void)state;
    read_log(LOG_HEADER LOG_CASE("01", "dma x", "pass", ""), &r);
    assert_int_equal(mxv_report_write_junit(&r, path_of("no/such/folder"), message, sizeof message),
                     MXV_ERR_IO);
    assert_non_null(strstr(message, "no/such/folder"));
    assert_int_equal(mxv_report_write_junit(&r, test_folder, message, sizeof message), MXV_ERR_IO);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(mxv_report_write_junit(&r, "/dev/full", message, sizeof message),
                         MXV_ERR_IO);
        assert_non_null(strstr(message, "No space left"));
    }
    mxv_report_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),       cmocka_unit_test(test_document),
        cmocka_unit_test(test_characters),     cmocka_unit_test(test_waived_has_its_address),
        cmocka_unit_test(test_incomplete),     cmocka_unit_test(test_locale),
        cmocka_unit_test(test_refused_writes),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
