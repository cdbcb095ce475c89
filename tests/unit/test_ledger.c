// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ledger: what an entry must say, scopes, verdicts, dates, and the places named in errors.
#include <mxverify/ledger.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct mxv_ledger_place here = {"plain", NULL, NULL, "2026-06-15"};

static struct mxv_ledger_entry entry_for(const char *glob)
{
    return (struct mxv_ledger_entry){.case_glob = glob,
                                     .reason = "wrong scale",
                                     .owner = "kernel team",
                                     .url = "https://example.org/issues/7",
                                     .expires = "2026-12-31"};
}

static struct mxv_case *parse(const char *line)
{
    static struct mxv_case c;
    assert_int_equal(mxv_case_parse(line, &c, NULL, 0), MXV_OK);
    return &c;
}

static void expect_refusal(struct mxv_ledger_entry e, const char *word)
{
    struct mxv_ledger *ledger = mxv_ledger_new();
    char message[512] = "";
    assert_int_equal(mxv_ledger_add(ledger, &e, message, sizeof message), MXV_ERR_INPUT);
    if (!strstr(message, word))
        fail_msg("`%s` lacks `%s`", message, word);
    assert_int_equal(mxv_ledger_count(ledger), 0);
    mxv_ledger_free(ledger);
}

static void mandatory_members(void **state)
{
    (void)state;
    static const char *const dates[] = {"2026-13-01",  "2026-00-01", "2026-02-29", "2026-1-01",
                                        "2026-01-32",  "26-01-01",   "2026/01/01", "2026-01-00",
                                        "2026-01-011", "tomorrow"};
    struct mxv_ledger_entry e = entry_for("*");
    e.reason = " ";
    expect_refusal(e, "`reason`");
    e = entry_for("*");
    e.owner = NULL;
    expect_refusal(e, "`owner`");
    e = entry_for("*");
    e.url = NULL;
    expect_refusal(e, "`url`");
    e.url = "issue 7";
    expect_refusal(e, "`url`");
    e.url = "https://";
    expect_refusal(e, "`url`");
    e.url = "https://x.org/a b";
    expect_refusal(e, "`url`");
    e = entry_for("*");
    e.expires = NULL;
    expect_refusal(e, "`expires`");
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        e.expires = dates[i];
        expect_refusal(e, "`expires`");
    }
    expect_refusal(entry_for(NULL), "`case`");
}

static void refused_scopes(void **state)
{
    (void)state;
    static const char *const fields[] = {"nosuch=1", "d", "kernel=nosuch", "low=nosuch", "d=x"};
    struct mxv_ledger_entry e = entry_for("*");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        e.fields[0] = fields[i];
        e.field_count = 1;
        expect_refusal(e, "");
    }
    e = entry_for("*");
    e.driver_from = "550";
    e.driver_to = "535.1";
    expect_refusal(e, "`driver`");
    e.driver_to = "new";
    expect_refusal(e, "`driver`");
    e = entry_for("*");
    e.verdicts = 1u << MXV_VERDICT_ORACLE_ERROR;
    expect_refusal(e, "`verdicts`");
    e.verdicts = 1u << MXV_VERDICT_PASS;
    expect_refusal(e, "`verdicts`");
}

static void versions(void **state)
{
    (void)state;
    assert_true(mxv_version_compare("550.9", "550.10") < 0);
    assert_true(mxv_version_compare("551", "550.99") > 0);
    assert_int_equal(mxv_version_compare("550.0", "550"), 0);
    assert_true(mxv_version_compare("550.54.15", "550.54") > 0);
}

static bool in_scope(struct mxv_ledger_entry e, const char *line, struct mxv_ledger_place place)
{
    struct mxv_ledger *ledger = mxv_ledger_new();
    char message[512] = "";
    if (mxv_ledger_add(ledger, &e, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    bool in = mxv_ledger_in_scope(mxv_ledger_get(ledger, 0), parse(line), &place);
    mxv_ledger_free(ledger);
    return in;
}

static void scopes(void **state)
{
    (void)state;
    struct mxv_ledger_place gpu = {"cuda", "NVIDIA H200", "550.54.15", "2026-06-15"};
    struct mxv_ledger_entry e = entry_for("dma*lq=40*");
    assert_true(in_scope(e, "dma lq=40 d=32", here));
    assert_false(in_scope(e, "flash lq=40 d=32", here));
    char id[MXV_CASE_ID_SIZE];
    mxv_case_id(parse("flash lq=7 lk=9"), id);
    assert_true(in_scope(entry_for(id), "flash lk=9 lq=7", here));

    // fields compare by value, whatever way the value is written, defaults included
    e = entry_for(NULL);
    e.fields[0] = "lq=0040";
    e.field_count = 1;
    assert_true(in_scope(e, "dma lq=40", here));
    assert_false(in_scope(e, "dma lq=41", here));
    e.fields[0] = "kernel=dma";
    e.fields[1] = "low=mxfp4";
    e.field_count = 2;
    assert_true(in_scope(e, "dma lq=3", here));
    assert_false(in_scope(e, "dma lq=3 low=nvfp4", here));
    e.fields[0] = "low=mxfp4";
    e.field_count = 1;
    assert_false(in_scope(e, "flash lq=3", here)); // flash has no such field

    e = entry_for("*");
    e.device = "NVIDIA H*";
    assert_true(in_scope(e, "dma lq=3", gpu));
    assert_false(in_scope(e, "dma lq=3", here));
    e.device = NULL;
    e.implementation = "cuda";
    assert_true(in_scope(e, "dma lq=3", gpu));
    assert_false(in_scope(e, "dma lq=3", here));
    e.implementation = NULL;
    e.driver_from = "550.54.15";
    assert_true(in_scope(e, "dma lq=3", gpu));
    assert_false(in_scope(e, "dma lq=3", here));
    e.driver_from = "550.54.16";
    assert_false(in_scope(e, "dma lq=3", gpu));
    e.driver_from = NULL;
    e.driver_to = "550.54.15";
    assert_true(in_scope(e, "dma lq=3", gpu));
    e.driver_to = "550.9";
    assert_false(in_scope(e, "dma lq=3", gpu));
}

static void expect_verdict(struct mxv_ledger *ledger, const char *line, const char *today,
                           enum mxv_verdict found, enum mxv_verdict expected)
{
    const struct mxv_ledger_entry *e;
    struct mxv_ledger_place place = {"plain", NULL, NULL, today};
    assert_int_equal(mxv_ledger_judge(ledger, parse(line), &place, found, &e), expected);
    assert_int_equal(e != NULL, found != expected);
}

static void verdicts(void **state)
{
    (void)state;
    struct mxv_ledger *ledger = mxv_ledger_new();
    struct mxv_ledger_entry e = entry_for("dma*"), narrow = entry_for("flash*");
    narrow.verdicts = 1u << MXV_VERDICT_CRASH;
    assert_int_equal(mxv_ledger_add(ledger, &e, NULL, 0), MXV_OK);
    assert_int_equal(mxv_ledger_add(ledger, &narrow, NULL, 0), MXV_OK);
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++) {
        enum mxv_verdict found = (enum mxv_verdict)v, expected = found;
        if (mxv_verdict_class_of(found) == MXV_VERDICT_BAD && found != MXV_VERDICT_ORACLE_ERROR &&
            found != MXV_VERDICT_XPASS)
            expected = MXV_VERDICT_WAIVED;
        if (found == MXV_VERDICT_PASS || found == MXV_VERDICT_WARN)
            expected = MXV_VERDICT_XPASS;
        if (found == MXV_VERDICT_WAIVED || found == MXV_VERDICT_XPASS)
            continue; // never found by a verification
        expect_verdict(ledger, "dma lq=3", "2026-12-31", found, expected);
        expect_verdict(ledger, "dma lq=3", "2027-01-01", found, found); // expired
        expect_verdict(ledger, "tilemix lq=3", "2026-12-31", found, found);
    }
    expect_verdict(ledger, "flash lq=3", "2026-01-01", MXV_VERDICT_CRASH, MXV_VERDICT_WAIVED);
    expect_verdict(ledger, "flash lq=3", "2026-01-01", MXV_VERDICT_FAIL, MXV_VERDICT_FAIL);
    expect_verdict(ledger, "flash lq=3", "2026-01-01", MXV_VERDICT_PASS, MXV_VERDICT_XPASS);
    assert_int_equal(mxv_ledger_uses(ledger, 1), 2);
    assert_false(mxv_ledger_expired(mxv_ledger_get(ledger, 0), "2026-12-31"));
    assert_true(mxv_ledger_expired(mxv_ledger_get(ledger, 0), "2027-01-01"));
    mxv_ledger_free(ledger);
}

static void quarantine(void **state)
{
    (void)state;
    struct mxv_ledger *ledger = mxv_ledger_new();
    struct mxv_ledger_entry e = entry_for("dma*");
    struct mxv_ledger_place later = {"plain", NULL, NULL, "2027-01-01"};
    e.quarantine = true;
    assert_int_equal(mxv_ledger_add(ledger, &e, NULL, 0), MXV_OK);
    assert_non_null(mxv_ledger_quarantine(ledger, parse("dma lq=3"), &here));
    assert_null(mxv_ledger_quarantine(ledger, parse("flash lq=3"), &here));
    assert_null(mxv_ledger_quarantine(ledger, parse("dma lq=3"), &later));
    expect_verdict(ledger, "dma lq=3", "2026-01-01", MXV_VERDICT_FAIL, MXV_VERDICT_FAIL);
    mxv_ledger_free(ledger);
}

// ---- the file

static enum mxv_status load(const char *text, struct mxv_ledger **out, char *message, size_t size)
{
    char path[] = "/tmp/mxv-ledger-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    enum mxv_status status = mxv_ledger_load(path, out, message, size);
    unlink(path);
    return status;
}

#define REST "\"reason\": \"r\", \"owner\": \"o\", \"url\": \"https://x.org/1\""

static void file(void **state)
{
    (void)state;
    struct mxv_ledger *ledger;
    char message[512] = "";
    const char *text = "{\"entries\": [{\"where\": {\"d\": 32, \"smooth\": true}, " REST
                       ", \"expires\": \"2030-01-31\", \"driver\": {\"from\": \"1\", \"to\": "
                       "\"2.5\"}, \"device\": \"H200\", \"verdicts\": [\"fail\", \"crash\"]},"
                       "{\"case\": \"\\u0064ma*\", \"quarantine\": true, " REST
                       ", \"expires\": \"2030-01-31\"}], \"format\": 1}";
    if (load(text, &ledger, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    assert_int_equal(mxv_ledger_count(ledger), 2);
    const struct mxv_ledger_entry *e = mxv_ledger_get(ledger, 0);
    assert_int_equal(e->field_count, 2);
    assert_string_equal(e->fields[0], "d=32");
    assert_string_equal(e->driver_to, "2.5");
    assert_string_equal(e->device, "H200");
    assert_int_equal(e->verdicts, 1u << MXV_VERDICT_FAIL | 1u << MXV_VERDICT_CRASH);
    assert_false(e->quarantine);
    assert_string_equal(mxv_ledger_get(ledger, 1)->case_glob, "dma*");
    assert_true(mxv_ledger_get(ledger, 1)->quarantine);
    mxv_ledger_free(ledger);
}

static void places(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *word;
    } rows[] = {
        {"{\"format\": 1,\n \"entries\": [,]}", ":2:", "unexpected token"},
        {"[]", ":1:1: ", "object"},
        {" {\"format\": 2, \"entries\": []}", ":1:13: ", "expected 1"},
        {"{\"format\": 1, \"entries\": {}}", ":1:26: ", "array"},
        {"{\"format\": 1, \"entries\": [],\n\"entry\": 3}", ":2:10: ", "no such member"},
        {"{\"format\": 1, \"entries\": [\n  3]}", ":2:3: ", "object"},
        {"{\"format\": 1, \"entries\": [{\"case\": \"*\", " REST ", \"expires\": \"2030-01-01\"},\n"
         "  {\"case\": 7, " REST "}]}",
         ":2:12: ", "string"},
        {"{\"format\": 1, \"entries\": [\n{\"a\\\"]}\": [\"x,}\", {\"owner\": 1}], \"owner\": "
         "\"o\"}]}",
         ":2:1: ", "no such member"},
        {"{\"format\": 1, \"entries\": [\n{\"reason\": \"\xc3\xa4\", \"owner\": []}]}",
         ":2:26: ", "string"},
        {"{\"format\": 1, \"entries\": [\n{\"case\": \"*\", \"verdicts\": [\"bad\"]}]}",
         ":2:27: ", "verdict"},
        {"{\"format\": 1, \"entries\": [\n{\"case\": \"*\", \"driver\": {\"since\": \"1\"}}]}",
         ":2:25: ", "from"},
        {"{\"format\": 1, \"entries\": [\n{\"case\": \"*\", \"quarantine\": 1}]}",
         ":2:29: ", "true or false"},
        {"{\"format\": 1, \"entries\": [\n{\"where\": {\"d\": 1.5}}]}", ":2:11: ", "whole numbers"},
        {"{\"format\": 1, \"entries\": [\n{\"where\": {\"zz\": 1}, " REST
         ", \"expires\": \"2030-01-01\"}]}",
         ":2:1: ", "no such field"},
        {"{\"format\": 1, \"format\": 1, \"entries\": []}", ":1:", "duplicate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_ledger *ledger = NULL;
        char message[512] = "";
        assert_int_equal(load(rows[i].text, &ledger, message, sizeof message), MXV_ERR_INPUT);
        assert_null(ledger);
        if (!strstr(message, rows[i].place) || !strstr(message, rows[i].word))
            fail_msg("row %zu: `%s` lacks `%s` or `%s`", i, message, rows[i].place, rows[i].word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mandatory_members),
        cmocka_unit_test(refused_scopes),
        cmocka_unit_test(versions),
        cmocka_unit_test(scopes),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(quarantine),
        cmocka_unit_test(file),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
