// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Cases recorded whole, from the writer (cuda_verify) to the reader. The device is played by the
// emulation, healthy or with a fault, so that this runs without a GPU: cuda_verify writes its file,
// the store reads it, `recorded` names the element; and damaged files are refused by line. What a
// device has recorded (data/golden/h200) is compared word by word.
#include "../../gpu/cuda_run.h"

#include <mxverify/case.h>
#include <mxverify/faults.h>
#include <mxverify/verify.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../gpu/cuda_taps.c"
#include "../../gpu/verify_case.c"
#define seconds cuda_verify_seconds
#define main    cuda_verify_main
#include "../../gpu/cuda_verify.c"
#undef main
#undef seconds

#include <cmocka.h>

#include "emulated_device.h"

// A scratch folder with a case list; removed by drop_folder.
struct folder {
    char path[64], list[96], file[96];
};

static struct folder make_folder(const char *lines)
{
    struct folder f = {.path = "/tmp/mxv-whole-XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    snprintf(f.list, sizeof f.list, "%s/list.cases", f.path);
    snprintf(f.file, sizeof f.file, "%s/whole.txt", f.path);
    FILE *list = fopen(f.list, "w");
    assert_non_null(list);
    fputs(lines, list);
    assert_int_equal(fclose(list), 0);
    return f;
}

static void drop_folder(const struct folder *f)
{
    unlink(f->file);
    unlink(f->list);
    assert_int_equal(rmdir(f->path), 0);
}

// Runs cuda_verify on the list of the folder; its exit status.
static int record_cases(const struct folder *f, const char *whole)
{
    char *arguments[] = {"cuda_verify", "--cases", (char *)f->list, "--taps", "--whole",
                         (char *)whole, "--out",   (char *)f->path, "--name", "whole.txt",
                         NULL};
    optind = 0;
    return cuda_verify_main(sizeof arguments / sizeof arguments[0] - 1, arguments);
}

static struct mxv_recorded_store *open_store(const char *folder)
{
    struct mxv_recorded_store *store;
    char message[512] = "";
    if (mxv_recorded_open(folder, &store, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    return store;
}

// The verdict of `recorded` on record i of the store.
static struct mxv_verify_result judge(const struct mxv_recorded_store *store, size_t i)
{
    struct mxv_verify_options options = {.impl = MXV_IMPL_RECORDED, .recorded = store};
    struct mxv_verify_result result = {0};
    struct mxv_case c;
    char message[512] = "";
    if (mxv_case_parse(mxv_recorded_at(store, i)->line, &c, message, sizeof message) != MXV_OK ||
        mxv_verify_case(&c, &options, &result, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    return result;
}

static size_t stages_of(const struct mxv_recorded *r)
{
    size_t stages = 0;
    for (size_t i = 0; i < r->tap_count; i++)
        stages |= (size_t)1 << r->taps[i].key.stage;
    return stages;
}

enum { RESULTS = 1 << MXV_STAGE_OUT | 1 << MXV_STAGE_LSE };

static const char three[] =
    "flash arch=sm_90 hq=2 hk=1 seqs=20:33,0:7,9:40 d=32 tile=16x32\n"
    "dma arch=sm_90 lq=40 lk=40 d=32 tile=16x32 dual=token low=nvfp4\n"
    "tilemix arch=sm_90 lq=96 lk=160 d=64 tile=16x32 plan=checker lse=none\n";

static void healthy_device(void **state)
{
    (void)state;
    const struct folder f = make_folder(three);
    device_faults = 0;
    assert_int_equal(record_cases(&f, "30000"), 0);
    struct mxv_recorded_store *store = open_store(f.path);
    assert_int_equal(mxv_recorded_count(store), 3);
    assert_string_equal(mxv_recorded_origin(store)->device, "an emulation");
    assert_string_equal(mxv_recorded_origin(store)->arch, "sm_90");
    for (size_t i = 0; i < 3; i++) {
        const struct mxv_recorded *r = mxv_recorded_at(store, i);
        struct mxv_verify_result result = judge(store, i);
        assert_int_equal(result.verdict, MXV_VERDICT_PASS);
        assert_true(r->tap_count > 0);
        if (strncmp(r->line, "tilemix", 7) == 0) // too many words for its taps
            assert_int_equal(stages_of(r), 1 << MXV_STAGE_OUT);
        else
            assert_true((stages_of(r) & RESULTS) == RESULTS && stages_of(r) & 1 << MXV_STAGE_ACC);
        mxv_verify_free(&result);
    }
    mxv_recorded_close(store);
    drop_folder(&f);
}

static void words_over_the_limit(void **state)
{
    (void)state;
    const struct folder f = make_folder(three);
    device_faults = 0;
    assert_int_equal(record_cases(&f, "1300"), 0); // dma: 1280 of out and 40 of lse
    struct mxv_recorded_store *store = open_store(f.path);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mxv_recorded_at(store, i)->tap_count, 0);
    mxv_recorded_close(store);
    assert_int_equal(record_cases(&f, "1320"), 0);
    store = open_store(f.path);
    assert_int_equal(stages_of(mxv_recorded_at(store, 0)), RESULTS);
    assert_int_equal(mxv_recorded_at(store, 1)->tap_count, 0);
    mxv_recorded_close(store);
    drop_folder(&f);
}

// A device that takes the exponential to another base: cuda_verify finds it, and from the file
// alone the stage and the element are named.
static void faulty_device(void **state)
{
    (void)state;
    const struct folder f = make_folder(three);
    enum mxv_fault fault;
    assert_true(mxv_fault_find("exp-base", &fault));
    device_faults = UINT64_C(1) << fault;
    assert_int_equal(record_cases(&f, "30000"), 1);
    struct mxv_recorded_store *store = open_store(f.path);
    for (size_t i = 0; i < 3; i++) {
        struct mxv_verify_result result = judge(store, i);
        const bool taps = stages_of(mxv_recorded_at(store, i)) & 1 << MXV_STAGE_WEIGHT;
        assert_int_equal(result.verdict, MXV_VERDICT_FAIL);
        assert_int_equal(result.first.key.stage, taps ? MXV_STAGE_WEIGHT : MXV_STAGE_OUT);
        assert_true(result.element.rows > 0 && result.element.word_a != result.element.word_b);
        assert_non_null(strstr(result.reason, taps ? "stage weight" : "stage out"));
        assert_non_null(strstr(result.reason, "column"));
        mxv_verify_free(&result);
    }
    mxv_recorded_close(store);
    drop_folder(&f);
}

// The text that cuda_verify writes for the list of the folder; the caller frees it.
static char *recorded_text(const struct folder *f)
{
    enum { ROOM = 1 << 20 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    device_faults = 0;
    assert_int_equal(record_cases(f, "30000"), 0);
    FILE *file = fopen(f->file, "r");
    assert_non_null(file);
    const size_t n = fread(text, 1, ROOM - 1, file);
    assert_true(n > 0 && n < ROOM - 1);
    assert_int_equal(fclose(file), 0);
    text[n] = '\0';
    return text;
}

// Writes the first `length` bytes of the text and opens the folder; what is said, "" for success.
static void reopen(const struct folder *f, const char *text, size_t length, char *message,
                   size_t size)
{
    struct mxv_recorded_store *store = NULL;
    FILE *file = fopen(f->file, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    message[0] = '\0';
    const enum mxv_status status = mxv_recorded_open(f->path, &store, message, size);
    assert_int_equal(status == MXV_OK, message[0] == '\0');
    mxv_recorded_close(store);
}

static const char one[] = "flash arch=sm_90 lq=20 lk=33 d=32 tile=16x32\n";

static void other_digits(void **state)
{
    (void)state;
    const struct folder f = make_folder(one);
    char said[512], *text = recorded_text(&f), *out = strstr(text, "\n@out ") + 1;
    char *words = strchr(out, '\t') + 1, *codes = strchr(strstr(text, "\n@q.code "), '\t') + 1;
    const size_t length = strlen(text);
    const char word = words[0], hash = codes[-2];
    reopen(&f, text, length, said, sizeof said);
    assert_string_equal(said, "");
    words[0] = word == '3' ? 'b' : '3';
    reopen(&f, text, length, said, sizeof said);
    assert_non_null(strstr(said, "do not have the hash"));
    assert_non_null(strstr(said, "whole.txt: line "));
    words[0] = 'x';
    reopen(&f, text, length, said, sizeof said);
    assert_non_null(strstr(said, "the words of a tap are hexadecimal"));
    words[0] = word;
    codes[-2] = hash == '0' ? '1' : '0';
    reopen(&f, text, length, said, sizeof said);
    assert_non_null(strstr(said, "do not have the hash"));
    codes[-2] = 'x';
    reopen(&f, text, length, said, sizeof said);
    assert_non_null(strstr(said, "a tap is @STAGE"));
    free(text);
    drop_folder(&f);
}

static void other_lengths(void **state)
{
    (void)state;
    const struct folder f = make_folder(one);
    char said[512], *text = recorded_text(&f), *out = strstr(text, "\n@out ") + 1;
    char *words = strchr(out, '\t') + 1, *end = strchr(out, '\n');
    const size_t length = strlen(text), room = length + 16;
    reopen(&f, text, (size_t)(words - text) + 39, said, sizeof said); // it ends in a word
    assert_non_null(strstr(said, "the line is damaged"));
    reopen(&f, text, (size_t)(out - text), said, sizeof said); // a line is missing
    assert_non_null(strstr(said, "stage out"));
    reopen(&f, out, strlen(out), said, sizeof said); // the case is missing
    assert_non_null(strstr(said, "stands behind the line of its case"));
    char *longer = malloc(room);
    assert_non_null(longer);
    snprintf(longer, room, "%.*s 3c00%s", (int)(end - text), text, end);
    reopen(&f, longer, strlen(longer), said, sizeof said);
    assert_non_null(strstr(said, "641 words of 20 rows and 32 columns"));
    free(longer);
    free(text);
    drop_folder(&f);
}

// A hash of the case line that its words do not have: the line and its tap may both be whole.
static void other_case_hash(void **state)
{
    (void)state;
    const struct folder f = make_folder(one);
    char said[512], *text = recorded_text(&f);
    char *hash = strchr(strchr(strstr(text, "\nflash "), '\t') + 1, '\t') + 1;
    *hash = *hash == '0' ? '1' : '0';
    reopen(&f, text, strlen(text), said, sizeof said);
    assert_non_null(strstr(said, "the words of stage out before it do not have the hash"));
    free(text);
    drop_folder(&f);
}

// A tap that only one side has, and one other word.
static void odd_taps(void **state)
{
    (void)state;
    const struct folder f = make_folder("dma arch=sm_90 lq=20 lk=40 d=32 tile=16x32\n");
    struct mxv_recorded_comparison c;
    struct mxv_case_data data;
    struct mxv_case call;
    char message[512] = "";
    free(recorded_text(&f));
    struct mxv_recorded_store *store = open_store(f.path);
    const struct mxv_recorded *r = mxv_recorded_at(store, 0);
    assert_int_equal(mxv_case_parse(r->line, &call, message, sizeof message), MXV_OK);
    assert_int_equal(mxv_case_build(&call, &data, message, sizeof message), MXV_OK);
    assert_int_equal(mxv_recorded_compare(r, &data.a, &c, message, sizeof message), MXV_OK);
    assert_true(c.differing == 0 && c.missing == 0 && c.taps == r->tap_count);
    r->taps[3].key.tile_k += 1000;
    assert_int_equal(mxv_recorded_compare(r, &data.a, &c, message, sizeof message), MXV_OK);
    assert_true(c.differing == 0 && c.missing == 2 && c.taps == r->tap_count - 1);
    mxv_recorded_comparison_print(&c, message, sizeof message);
    assert_non_null(strstr(message, "only one side has this tap"));
    r->taps[3].key.tile_k -= 1000;
    r->taps[5].words[7] ^= 1;
    assert_int_equal(mxv_recorded_compare(r, &data.a, &c, message, sizeof message), MXV_OK);
    assert_true(c.differing == 1 && c.missing == 0);
    assert_int_equal(c.first.stage, r->taps[5].key.stage);
    assert_int_equal(c.element.row * r->taps[5].cols + c.element.col, 7);
    assert_int_equal(c.element.word_b, c.element.word_a ^ 1);
    mxv_case_free(&data);
    mxv_recorded_close(store);
    drop_folder(&f);
}

// Of two records of a case the one with words is found, wherever it stands.
static void words_before_hashes(void **state)
{
    (void)state;
    const struct folder f = make_folder(one);
    for (int after = 0; after < 2; after++) {
        char *text = recorded_text(&f), *line = strstr(text, "\nflash ") + 1;
        const int length = (int)(strchr(line, '\n') - line);
        FILE *file = fopen(f.file, "w");
        assert_non_null(file);
        fprintf(file, "%.*s\n%s%.*s\n", after ? 1 : length, after ? "#" : line, text,
                after ? length : 1, after ? line : "#");
        assert_int_equal(fclose(file), 0);
        struct mxv_recorded_store *store = open_store(f.path);
        assert_int_equal(mxv_recorded_count(store), 2);
        const char *name = mxv_recorded_at(store, 0)->line;
        assert_true(mxv_recorded_find(store, name)->tap_count > 0);
        mxv_recorded_close(store);
        free(text);
    }
    drop_folder(&f);
}

static void device_records(void **state)
{
    (void)state;
    struct mxv_recorded_store *store = open_store(MXV_SOURCE_DIR "/data/golden/h200");
    size_t whole = 0, words = 0;
    for (size_t i = 0; i < mxv_recorded_count(store); i++)
        if (mxv_recorded_at(store, i)->tap_count) {
            struct mxv_verify_result result = judge(store, i);
            if (result.verdict != MXV_VERDICT_PASS)
                fail_msg("%s: %s", mxv_recorded_at(store, i)->line, result.reason);
            whole++;
            words += result.words;
            mxv_verify_free(&result);
        }
    mxv_recorded_close(store);
    printf("%zu cases recorded whole by a device, %zu words\n", whole, words);
    if (whole == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_device), cmocka_unit_test(words_over_the_limit),
        cmocka_unit_test(faulty_device),  cmocka_unit_test(other_digits),
        cmocka_unit_test(other_lengths),  cmocka_unit_test(other_case_hash),
        cmocka_unit_test(odd_taps),       cmocka_unit_test(words_before_hashes),
        cmocka_unit_test(device_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
