// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Every word of the full H200 captures, by both forms of the model; skipped when the folder with
// the captures is absent (golden.h200_mma holds a part of them in the project).
#include "mma_replay.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void every_word(void **state)
{
    (void)state;
    size_t words = 0, wrong = 0;
    for (size_t i = 0; i < H200_CAPTURES; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/vectors/h200/%s.bin.xz", MXV_SHARED_DIR, h200_captures[i]);
        struct vector_bytes file = vector_read_command("xz -dc", path);
        struct mma_capture t = mma_capture_parse(file, path);
        const struct mxv_mma_model *m = mma_capture_model(h200_captures[i]);
        size_t by_dot = mma_replay_dot(&t, m), by_tile = mma_replay_tile(&t, m);
        printf("%-14s %s: %zu words, %zu differ (dot), %zu differ (tile)\n", h200_captures[i],
               m->name, t.tiles * t.rows * t.cols, by_dot, by_tile);
        words += t.tiles * t.rows * t.cols;
        wrong += by_dot + by_tile;
        mma_capture_free(&t);
        free(file.data);
    }
    printf("%zu words, %zu differences\n", words, wrong);
    assert_int_equal(words, 917504);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
