// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The H200 words kept in the project (data/golden/h200-mma) against the sm_90 models, by
// mxv_mma_dot and mxv_mma_tile, and their digests. Then the reverse: models that are wrong by one
// in a single number must miss words, which shows that the captures would notice.
#include "mma_replay.h"
#include "sha256.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct mma_capture load(const char *capture)
{
    char path[512];
    snprintf(path, sizeof path, "%s/data/golden/h200-mma/%s.bin.zst", MXV_SOURCE_DIR, capture);
    struct vector_bytes file = vector_read_zst(path);
    struct mma_capture t = mma_capture_parse(file, path);
    free(file.data);
    return t;
}

static int check_digests(void)
{
    char line[256], name[128], want[65], got[65], path[512];
    size_t files = 0, wrong = 0;
    FILE *list = fopen(MXV_SOURCE_DIR "/data/golden/h200-mma/SHA256SUMS", "r");
    if (!list)
        vector_fail("cannot open", "SHA256SUMS");
    while (fgets(line, sizeof line, list) && sscanf(line, "%64s %127s", want, name) == 2) {
        struct sha256 s;
        snprintf(path, sizeof path, "%s/data/golden/h200-mma/%s", MXV_SOURCE_DIR, name);
        FILE *f = fopen(path, "rb");
        if (!f)
            vector_fail("cannot open", path);
        struct vector_bytes b = vector_read_stream(f, path);
        fclose(f);
        sha256_init(&s);
        sha256_add(&s, b.data, b.size);
        sha256_finish(&s, got);
        wrong += strcmp(got, want) != 0;
        files++;
        free(b.data);
    }
    fclose(list);
    printf("%zu files, %zu with another digest\n", files, wrong);
    return files != H200_CAPTURES || wrong != 0;
}

static int check_words(void)
{
    size_t words = 0, wrong = 0;
    for (size_t i = 0; i < H200_CAPTURES; i++) {
        struct mma_capture t = load(h200_captures[i]);
        const struct mxv_mma_model *m = mma_capture_model(h200_captures[i]);
        size_t dot = mma_replay_dot(&t, m), tile = mma_replay_tile(&t, m);
        printf("%-22s %zu words, %zu differ (dot), %zu differ (tile)\n", m->name,
               t.tiles * t.rows * t.cols, dot, tile);
        words += t.tiles * t.rows * t.cols;
        wrong += dot + tile;
        mma_capture_free(&t);
    }
    printf("%zu words, %zu differences\n", words, wrong);
    return words != 114688 || wrong != 0;
}

// One number changed. The z rows change nothing but the exponent of zeros.
struct neighbour {
    const char *capture, *what;
    int frac, keep, zero_exp;
    unsigned step_divisor;
};

static const struct neighbour neighbours[] = {
    {"mma_f16_f32", "F-1", -1, 0, 0, 1},     {"mma_f16_f32", "F+1", 1, 0, 0, 1},
    {"mma_f16_f32", "L/2", 0, 0, 0, 2},      {"mma_f16_f16", "L/2", 0, 0, 0, 2},
    {"mma_f16_f16", "F-12", -12, 0, 0, 1},   {"mma_bf16_f32", "F-1", -1, 0, 0, 1},
    {"mma_bf16_f32", "F+1", 1, 0, 0, 1},     {"mma_tf32_f32", "F-1", -1, 0, 0, 1},
    {"mma_tf32_f32", "F+1", 1, 0, 0, 1},     {"mma_tf32_f32", "L/2", 0, 0, 0, 2},
    {"mma_e4m3_f32", "F-1", -1, 0, 0, 1},    {"mma_e4m3_f16", "F-12", -12, 0, 0, 1},
    {"wg_bf16_f32", "z = -126", 0, 0, 7, 1}, {"wg_e4m3_f32", "F-1", -1, 0, 0, 1},
    {"wg_e4m3_f32", "F+1", 1, 0, 0, 1},      {"wg_e4m3_f32", "23 bits kept", 0, 10, 0, 1},
    {"wg_e4m3_f32", "L/2", 0, 0, 0, 2},      {"wg_e4m3_f16", "F-1", -1, 0, 0, 1},
    {"wg_e4m3_f16", "F+1", 1, 0, 0, 1},      {"wg_e5m2_f32", "F-1", -1, 0, 0, 1},
    {"wg_e5m2_f32", "F+1", 1, 0, 0, 1},      {"wg_f16_f16", "L/2", 0, 0, 0, 2},
};

static int check_neighbours(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        const struct neighbour *n = &neighbours[i];
        struct mma_capture t = load(n->capture);
        struct mxv_mma_model m = *mma_capture_model(n->capture);
        m.frac_bits = (unsigned)((int)m.frac_bits + n->frac);
        m.keep_bits += (unsigned)n->keep;
        m.zero_exp += n->zero_exp;
        m.step /= n->step_divisor;
        size_t wrong = mma_replay_dot(&t, &m);
        printf("%s with %s: %zu of %zu words differ\n", m.name, n->what, wrong,
               t.tiles * t.rows * t.cols);
        failed |= wrong == 0;
        mma_capture_free(&t);
    }
    return failed;
}

// FP8 mma.sync is not the wgmma datapath, and its products are grouped by k mod 4.
static int check_fp8_paths(void)
{
    struct mma_capture t = load("mma_e4m3_f32"), h = load("mma_e4m3_f16");
    struct mxv_mma_model plain = *mxv_mma_find("sm_90.mma.f16.f16");
    plain.a = plain.b = MXV_E4M3;
    plain.k = 32;
    size_t as_wgmma = mma_replay_dot(&t, mxv_mma_find("sm_90.wgmma.e4m3.f32"));
    size_t in_order = mma_replay_dot(&h, &plain);
    printf("FP8 mma.sync taken for wgmma: %zu words differ; c fused and k in order: %zu differ\n",
           as_wgmma, in_order);
    mma_capture_free(&t);
    mma_capture_free(&h);
    return as_wgmma == 0 || in_order == 0;
}

static void digests(void **state)
{
    (void)state;
    assert_int_equal(check_digests(), 0);
}

static void words(void **state)
{
    (void)state;
    assert_int_equal(check_words(), 0);
}

static void wrong_models(void **state)
{
    (void)state;
    assert_int_equal(check_neighbours(), 0);
}

static void fp8_paths(void **state)
{
    (void)state;
    assert_int_equal(check_fp8_paths(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests),
        cmocka_unit_test(words),
        cmocka_unit_test(wrong_models),
        cmocka_unit_test(fp8_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
