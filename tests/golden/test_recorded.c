// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The emulation against recorded device results (data/golden/h200): the case line makes the data
// that the device had, and the emulation's words have the recorded hashes, tile by tile. One line
// in MXV_RECORDED_STEP (environment; default 60) is run, 1 for all of them.
#include <mxverify/case.h>
#include <mxverify/recorded.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const files[] = {"flash.txt", "dma.txt", "tilemix.txt", "fused.txt"};

// Emulates a whole call; the words in the layout of mxv_recorded_make.
static void emulate(const struct mxv_attention *a, uint32_t *out, uint32_t *lse)
{
    char message[256] = "";
    const size_t tokens = a->cu_q[a->sequences];
    for (size_t head = 0; head < a->heads_q; head++)
        for (size_t s = 0; s < a->sequences; s++) {
            const size_t row = head * tokens + a->cu_q[s];
            if (mxv_engine_head(a, s, head, out + row * a->d, lse ? lse + row : NULL, NULL, message,
                                sizeof message))
                fail_msg("%s", message);
        }
}

static void make_record(const char *line, struct mxv_recorded *r)
{
    char message[512] = "";
    struct mxv_case c;
    struct mxv_case_data data;
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_case_build(&c, &data, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    const size_t rows = data.a.heads_q * data.a.cu_q[data.a.sequences];
    uint32_t *out = malloc((rows * data.a.d + 1) * sizeof *out);
    uint32_t *lse = data.a.lse == MXV_LSE_NONE ? NULL : malloc((rows + 1) * sizeof *lse);
    assert_non_null(out);
    emulate(&data.a, out, lse);
    assert_int_equal(mxv_recorded_make(&data.a, line, out, lse, r), MXV_OK);
    free(out);
    free(lse);
    mxv_case_free(&data);
}

static void check_line(const char *file, size_t number, const char *text)
{
    char message[256] = "";
    struct mxv_recorded device, emulation;
    if (mxv_recorded_parse(text, &device, message, sizeof message) != MXV_OK)
        fail_msg("%s line %zu: %s", file, number, message);
    make_record(device.line, &emulation);
    if (device.inputs != emulation.inputs)
        fail_msg("%s line %zu: the case line makes other data now: %s", file, number, device.line);
    const size_t tile = mxv_recorded_difference(&device, &emulation);
    if (tile != SIZE_MAX)
        fail_msg("%s line %zu: tile %zu of %zu differs: %s", file, number, tile, device.tile_count,
                 device.line);
    mxv_recorded_free(&device);
    mxv_recorded_free(&emulation);
}

static size_t check_file(const char *name, size_t step)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/data/golden/h200/%s", MXV_SOURCE_DIR, name);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("cannot open %s", path);
    char *text = NULL;
    size_t room = 0, lines = 0, checked = 0;
    while (getline(&text, &room, f) > 0)
        if (text[0] != '#' && text[0] != '@' && lines++ % step == 0) {
            check_line(name, lines, text);
            checked++;
        }
    free(text);
    fclose(f);
    assert_true(lines >= 500);
    return checked;
}

static void recorded_results(void **state)
{
    (void)state;
    const char *text = getenv("MXV_RECORDED_STEP");
    const size_t step = text && atoi(text) > 0 ? (size_t)atoi(text) : 60;
    size_t checked = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        checked += check_file(files[i], step);
    printf("%zu recorded cases checked\n", checked);
}

static void text_form(void **state)
{
    (void)state;
    char message[256];
    struct mxv_recorded a, b;
    make_record("flash arch=sm_90 lq=200 lk=96 d=32", &a);
    char *text = mxv_recorded_print(&a);
    assert_non_null(text);
    assert_int_equal(mxv_recorded_parse(text, &b, message, sizeof message), MXV_OK);
    assert_string_equal(a.line, b.line);
    assert_true(a.inputs == b.inputs && a.out == b.out && a.lse == b.lse);
    assert_int_equal(b.tile_count, 2); // 200 rows in tiles of 128
    assert_true(mxv_recorded_difference(&a, &b) == SIZE_MAX);
    b.tiles[1] ^= 1;
    assert_int_equal(mxv_recorded_difference(&a, &b), 1);
    b.tiles[1] ^= 1;
    b.out ^= 1;
    assert_int_equal(mxv_recorded_difference(&a, &b), 2);
    mxv_recorded_free(&b);
    assert_int_equal(mxv_recorded_parse("flash\t12\t34", &b, message, sizeof message),
                     MXV_ERR_INPUT);
    assert_int_equal(mxv_recorded_parse("flash\t1\t2\t3\t4;5", &b, message, sizeof message),
                     MXV_ERR_INPUT);
    mxv_recorded_free(&a);
    free(text);
}

// One wrong bit, one exchanged row and another NaN: told apart, told apart, the same.
static void words_matter(void **state)
{
    (void)state;
    const size_t cu[2] = {0, 32};
    float x[32 * 32] = {0};
    uint32_t out[32 * 32], changed[32 * 32];
    const struct mxv_attention a = {.sequences = 1,
                                    .heads_q = 1,
                                    .heads_kv = 1,
                                    .d = 32,
                                    .cu_q = cu,
                                    .cu_k = cu,
                                    .q = x,
                                    .k = x,
                                    .v = x,
                                    .out = MXV_F16,
                                    .tile_m = 16,
                                    .tile_n = 32};
    struct mxv_recorded r, s;
    for (uint32_t i = 0; i < 32 * 32; i++)
        out[i] = i % 0x7c00;
    out[700] = 0x7e01;
    memcpy(changed, out, sizeof out);
    changed[700] = 0xfe02;
    assert_int_equal(mxv_recorded_make(&a, "", out, NULL, &r), MXV_OK);
    assert_int_equal(mxv_recorded_make(&a, "", changed, NULL, &s), MXV_OK);
    assert_true(mxv_recorded_difference(&r, &s) == SIZE_MAX);
    mxv_recorded_free(&s);
    changed[600] ^= 1;
    assert_int_equal(mxv_recorded_make(&a, "", changed, NULL, &s), MXV_OK);
    assert_int_equal(mxv_recorded_difference(&r, &s), 1);
    assert_true(r.out != s.out);
    mxv_recorded_free(&s);
    x[5] = 1;
    assert_int_equal(mxv_recorded_make(&a, "", out, NULL, &s), MXV_OK);
    assert_true(r.inputs != s.inputs);
    mxv_recorded_free(&s);
    mxv_recorded_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_form),
        cmocka_unit_test(words_matter),
        cmocka_unit_test(recorded_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
