// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Published Blackwell words: tcgen05 results of an NVIDIA B200 (sf-tensor/tcgen05 @8fce64d8, MIT),
// one dot product a line, and ten ex2.approx results of a GB200 (Dao-AILab/flash-attention #2263),
// whose arguments are printed with six decimals: each float that prints alike is a candidate.
#include "vector_file.h"

#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MAX_K = 64, MAX_LINE = 4096 };

// Comma-separated hexadecimal words; returns how many.
static size_t split(char *text, uint32_t *out)
{
    size_t n = 0;
    char *rest = NULL;
    if (strcmp(text, "-") == 0)
        return 0;
    for (char *w = strtok_r(text, ",", &rest); w && n < MAX_K; w = strtok_r(NULL, ",", &rest))
        out[n++] = (uint32_t)strtoul(w, NULL, 16);
    return n;
}

static void model_name(char *out, size_t size, const char *a, const char *b, const char *kind,
                       const char *d, size_t scales)
{
    if (strcmp(kind, "none") == 0 || strcmp(kind, "wrap") == 0 || strcmp(kind, "sat") == 0)
        snprintf(out, size, "sm_100.tcgen05.%s.%s.%s%s", a, b, d,
                 strcmp(kind, "sat") ? "" : ".satfinite");
    else if (strcmp(kind, "mxf8f6f4") == 0)
        snprintf(out, size, "sm_100.tcgen05.mxf8f6f4.%s.%s.%s", a, b, d);
    else if (strcmp(kind, "mxf4-ue8m0") == 0)
        snprintf(out, size, "sm_100.tcgen05.mxf4.ue8m0.%s", d);
    else if (strcmp(kind, "mxf4nvf4-ue8m0") == 0)
        snprintf(out, size, "sm_100.tcgen05.mxf4nvf4.ue8m0%s.%s", scales == 4 ? "x16" : "", d);
    else
        snprintf(out, size, "sm_100.tcgen05.mxf4nvf4.ue4m3.%s", d);
}

// bf16 operands come as f32 words.
static void cut_operands(const char *format, uint32_t *w, size_t n)
{
    for (size_t i = 0; i < n && strcmp(format, "bf16") == 0; i++)
        w[i] >>= 16;
}

static uint32_t run_tile(const struct mxv_mma_model *m, size_t k, const uint32_t *a,
                         const uint32_t *b, uint32_t c, const uint8_t *sa, const uint8_t *sb)
{
    struct mxv_operand x[MAX_K], y[MAX_K];
    mxv_mma_decode_a(m, a, k, x);
    mxv_mma_decode_b(m, b, k, y);
    mxv_mma_tile(m, 1, 1, k, x, y, sa, sb, &c, 1);
    return c;
}

// Number of wrong results of one line (by dot and by tile), or -1 if the line cannot be read.
static int check_line(char *line)
{
    char *f[11], *rest = NULL, name[96];
    uint32_t a[MAX_K], b[MAX_K], wide_a[MAX_K], wide_b[MAX_K];
    uint8_t sa[MAX_K], sb[MAX_K];
    size_t n = 0;
    for (char *w = strtok_r(line, " ", &rest); w && n < 11; w = strtok_r(NULL, " ", &rest))
        f[n++] = w;
    if (n != 11)
        return -1;
    size_t k = split(f[5], a), kb = split(f[6], b), ns = split(f[8], wide_a);
    if (k != kb || split(f[9], wide_b) != ns)
        return -1;
    for (size_t i = 0; i < ns; i++)
        sa[i] = (uint8_t)wide_a[i], sb[i] = (uint8_t)wide_b[i];
    cut_operands(f[1], a, k);
    cut_operands(f[2], b, k);
    model_name(name, sizeof name, f[1], f[2], f[3], f[4], ns);
    const struct mxv_mma_model *m = mxv_mma_find(name);
    if (!m || ns != mxv_mma_scale_count(m, k)) {
        printf("%s: no model %s\n", f[0], name);
        return -1;
    }
    uint32_t c = (uint32_t)strtoul(f[7], NULL, 16), want = (uint32_t)strtoul(f[10], NULL, 16);
    uint32_t dot = mxv_mma_dot(m, k, a, b, c, sa, sb), tile = run_tile(m, k, a, b, c, sa, sb);
    if (dot != want || tile != want)
        printf("%s %s: dot %08x, tile %08x, recorded %08x\n", f[0], name, (unsigned)dot,
               (unsigned)tile, (unsigned)want);
    return (dot != want) + (tile != want);
}

static void tcgen05_words(void **state)
{
    (void)state;
    struct vector_bytes file = vector_read_command(
        "cat", MXV_SHARED_DIR "/vectors/third-party/b200/b200_tcgen05_frozen_words.txt");
    size_t lines = 0;
    int wrong = 0;
    char *rest = NULL;
    for (char *line = strtok_r((char *)file.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '#')
            continue;
        int bad = check_line(line);
        lines++;
        wrong += bad < 0 ? 1 : bad;
    }
    free(file.data);
    printf("tcgen05: %zu words, %d differences\n", lines, wrong);
    assert_int_equal(lines, 69);
    assert_int_equal(wrong, 0);
}

static uint32_t word_of(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

// Floats around x that print like it, and how many of them give the recorded word.
static void count_candidates(const char *text, uint32_t want, int *candidates, int *matches)
{
    float x = strtof(text, NULL);
    for (int i = 0; i < 64; i++)
        x = nextafterf(x, -INFINITY);
    for (int i = 0; i < 129; i++, x = nextafterf(x, INFINITY)) {
        char print[32];
        snprintf(print, sizeof print, "%.6f", x);
        if (strcmp(print, text) == 0) {
            ++*candidates;
            *matches += mxv_ex2(word_of(x), true) == want;
        }
    }
}

static void ex2_words(void **state)
{
    (void)state;
    struct vector_bytes file =
        vector_read_command("cat", MXV_SHARED_DIR "/vectors/third-party/b200/ex2_gb200_words.txt");
    size_t words = 0, explained = 0, pinned = 0;
    char *rest = NULL;
    for (char *line = strtok_r((char *)file.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char x[32];
        unsigned want;
        int candidates = 0, matches = 0;
        if (line[0] == '#' || sscanf(line, "%31s %x", x, &want) != 2)
            continue;
        count_candidates(x, want, &candidates, &matches);
        words++;
        explained += matches > 0;
        pinned += candidates == 1;
    }
    free(file.data);
    printf("ex2 on GB200: %zu words, %zu explained, %zu of the arguments unique\n", words,
           explained, pinned);
    assert_int_equal(words, 10);
    assert_int_equal(explained, 10);
    assert_int_equal(pinned, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcgen05_words),
        cmocka_unit_test(ex2_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
