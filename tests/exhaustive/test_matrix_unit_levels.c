// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_mma_tile at every instruction level of this machine (simd.h) against the scalar chain, word
// by word. The scalar words are computed once and each level is held against them.
//
// As a test: family of models by family, MXV_LEVELS_RESULTS words each, random numbers from
// MXV_LEVELS_SEED. The full run, model by model:
//   MXV_LEVELS_EACH=100000000  words for each model that has a vector form
//   MXV_LEVELS_JOBS=16         processes that share them
//   MXV_LEVELS_PART=2/5        of the models, the second fifth
// Models that differ in name alone (architecture, note) are one function and share their words; the
// others are listed with what they are equal to. MXV_LEVELS_EACH=0 lists the models. With
// MXV_LEVELS_TILE (a model) and MXV_LEVELS_LEVEL it runs one tile of 128 x 128 x 128 and compares
// nothing (docs/performance.md counts its instructions).
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mxverify/simd.h>

#include "mma_tiles.h"

enum { DEFAULT_RESULTS = 100000, MAX_MODELS = 512, MAX_JOBS = 256 };

static bool fp8_13(const struct mxv_mma_model *m)
{
    return m->rule == MXV_MMA_T && m->frac_bits == 13;
}

static bool narrow(const struct mxv_mma_model *m)
{
    return m->rule == MXV_MMA_T && m->step == 32 && m->frac_bits == 25;
}

// Family of a model, in the order of `families`; -1 for the AMD rules, which have one form only.
static int family_of(const struct mxv_mma_model *m)
{
    int half = m->result == MXV_MMA_F16;
    switch (m->rule) {
    case MXV_MMA_T:
        if (fp8_13(m))
            return 4 + half;
        if (narrow(m))
            return 6 + half;
        return half ? 3 : m->a == MXV_F16 ? 0 : m->a == MXV_BF16 ? 1 : 2;
    case MXV_MMA_ST:
        return 8;
    case MXV_MMA_HMMA_FP8:
        return 9 + half;
    case MXV_MMA_GST:
        return m->scale == MXV_E8M0 ? 11 : 12;
    case MXV_MMA_INT:
        return m->saturate ? 14 : 13;
    default:
        return -1;
    }
}

static const char *const families[] = {
    "f16 to f32",          "bf16 to f32",         "tf32 to f32",
    "f16 to f16",          "FP8 F=13 to f32",     "FP8 F=13 to f16",
    "f8f6f4 to f32",       "f8f6f4 to f16",       "mxf8f6f4 to f32",
    "FP8 mma.sync to f32", "FP8 mma.sync to f16", "4-bit, E8M0 scales",
    "4-bit, UE4M3 scales", "8-bit integers",      "8-bit integers, clamped"};

enum { FAMILIES = sizeof families / sizeof families[0] };

static size_t setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

// Words compared, and differences by level.
struct score {
    size_t words, models, wrong[MXV_SIMD_COUNT];
};

static void compare_tile(struct tile *t, const struct mxv_mma_model *m, enum generator g,
                         enum mxv_simd top, struct score *s)
{
    fill(t, m, g);
    compute(t);
    s->words += t->rows * t->cols;
    for (int level = 0; level <= (int)top; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        size_t wrong = differences(t);
        if (wrong && s->wrong[level] == 0)
            print_error("%s, generator %d, %zu x %zu x %zu at %s: %zu words differ\n", m->name,
                        (int)g, t->rows, t->cols, t->k, mxv_simd_name((enum mxv_simd)level), wrong);
        s->wrong[level] += wrong;
    }
    mxv_simd_limit(top);
}

static struct score run_family(int family, size_t results, enum mxv_simd top)
{
    static struct tile t;
    const struct mxv_mma_model *models[MAX_MODELS];
    struct score s = {0};
    for (size_t i = 0; i < mxv_mma_count(); i++)
        if (family_of(mxv_mma_at(i)) == family && s.models < MAX_MODELS)
            models[s.models++] = mxv_mma_at(i);
    assert_true(s.models > 0);
    for (size_t i = 0; s.words < results; i++)
        compare_tile(&t, models[i % s.models], (enum generator)below(GENERATORS), top, &s);
    return s;
}

static void test_levels(void **state)
{
    const enum mxv_simd top = mxv_simd_level();
    const size_t results = setting("MXV_LEVELS_RESULTS", DEFAULT_RESULTS);
    const size_t only = setting("MXV_LEVELS_FAMILY", FAMILIES);
    size_t wrong = 0;
    (void)state;
    state_ = setting("MXV_LEVELS_SEED", 1) << 32;
    for (int f = 0; f < FAMILIES; f++) {
        if (only < FAMILIES && (size_t)f != only)
            continue;
        struct score s = run_family(f, results, top);
        printf("%-24s %3zu models %10zu words, differences:", families[f], s.models, s.words);
        for (int level = 0; level <= (int)top; level++) {
            printf(" %s %zu", mxv_simd_name((enum mxv_simd)level), s.wrong[level]);
            wrong += s.wrong[level];
        }
        printf("\n");
        fflush(stdout);
    }
    assert_int_equal(wrong, 0);
}

// Test of the test: a model with one fraction bit less is told apart at every level.
static void test_difference_is_seen(void **state)
{
    static const char *const names[] = {"sm_90.wgmma.bf16.f32", "sm_90.wgmma.e4m3.f32",
                                        "sm_100.tcgen05.mxf8f6f4.e4m3.f32",
                                        "sm_100.tcgen05.mxf4nvf4.ue4m3.f32"};
    static struct tile t;
    const enum mxv_simd top = mxv_simd_level();
    (void)state;
    state_ = 7;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mxv_mma_model changed = *mxv_mma_find(names[i]);
        size_t wrong[MXV_SIMD_COUNT] = {0};
        changed.frac_bits -= 2;
        for (int g = 0; g < 40 * GENERATORS; g++) {
            fill(&t, mxv_mma_find(names[i]), (enum generator)(g % GENERATORS));
            compute(&t);
            t.m = &changed;
            for (int level = 0; level <= (int)top; level++) {
                mxv_simd_limit((enum mxv_simd)level);
                wrong[level] += differences(&t);
            }
        }
        for (int level = 0; level <= (int)top; level++)
            assert_true(wrong[level] > 0 && wrong[level] == wrong[0]);
        mxv_simd_limit(top);
    }
}

// Whether mxv_mma_tile and the scalar chain read the same of both models.
static bool same_numbers(const struct mxv_mma_model *x, const struct mxv_mma_model *y)
{
    return x->rule == y->rule && x->a == y->a && x->b == y->b && x->result == y->result &&
           x->k == y->k && x->step == y->step && x->frac_bits == y->frac_bits &&
           x->keep_bits == y->keep_bits && x->zero_exp == y->zero_exp && x->scale == y->scale &&
           x->block == y->block && x->saturate == y->saturate;
}

// The first model of the list with the numbers of model i.
static size_t first_of(size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_numbers(mxv_mma_at(j), mxv_mma_at(i)))
            return j;
    return i;
}

// What the processes of a run by model share. scores[j][i]: process j, model i.
struct run {
    size_t each, jobs, models;
    size_t model[MAX_MODELS]; // those of the part that are first_of() themselves
    enum mxv_simd top;
    struct {
        struct score score;
        double seconds;
        atomic_bool done;
    } part[MAX_JOBS][MAX_MODELS];
};

// Process j's share of the words of every model.
static void run_job(struct run *run, size_t j)
{
    static struct tile t;
    row_limit_ = MAX_ROWS;
    state_ = (setting("MXV_LEVELS_SEED", 1) * MAX_JOBS + j) << 32;
    for (size_t i = 0; i < run->models; i++) {
        const clock_t start = clock();
        struct score s = {0};
        for (size_t n = 0; s.words < (run->each + run->jobs - 1) / run->jobs; n++)
            compare_tile(&t, mxv_mma_at(run->model[i]), (enum generator)(n % GENERATORS), run->top,
                         &s);
        run->part[j][i].score = s;
        run->part[j][i].seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        atomic_store(&run->part[j][i].done, true);
    }
}

// Waits for the shares of model i; false if a process came to harm.
static bool wait_for(struct run *run, size_t i)
{
    for (size_t j = 0; j < run->jobs; j++)
        while (!atomic_load(&run->part[j][i].done)) {
            int status = 0;
            if (waitpid(-1, &status, WNOHANG) > 0 && status != 0)
                return false;
            nanosleep(&(struct timespec){0, 5000000}, NULL);
        }
    return true;
}

static void print_score(const char *name, const struct score *s, double seconds, enum mxv_simd top)
{
    printf("%-44s %10zu words %7.1f s, differences:", name, s->words, seconds);
    for (int level = 0; level <= (int)top; level++)
        printf(" %s %zu", mxv_simd_name((enum mxv_simd)level), s->wrong[level]);
    printf("\n");
    fflush(stdout);
}

// Adds the shares of model i up, prints its line and those of its equals. Differences.
static size_t report(const struct run *run, size_t i, struct score *total, double *total_seconds)
{
    struct score s = {0};
    double seconds = 0;
    size_t wrong = 0;
    for (size_t j = 0; j < run->jobs; j++) {
        s.words += run->part[j][i].score.words;
        seconds += run->part[j][i].seconds;
        for (int level = 0; level <= (int)run->top; level++) {
            s.wrong[level] += run->part[j][i].score.wrong[level];
            total->wrong[level] += run->part[j][i].score.wrong[level];
            wrong += run->part[j][i].score.wrong[level];
        }
    }
    print_score(mxv_mma_at(run->model[i])->name, &s, seconds, run->top);
    total->words += s.words;
    *total_seconds += seconds;
    for (size_t k = run->model[i] + 1; k < mxv_mma_count(); k++)
        if (first_of(k) == run->model[i])
            printf("  same numbers: %s\n", mxv_mma_at(k)->name);
    return wrong;
}

// Part p/n of the models, the whole by default.
static void choose_models(struct run *run)
{
    const char *text = getenv("MXV_LEVELS_PART");
    size_t part = 1, parts = 1, found = 0;
    if (text && (sscanf(text, "%zu/%zu", &part, &parts) != 2 || part == 0 || part > parts)) {
        fprintf(stderr, "MXV_LEVELS_PART: %s is no part like 2/5\n", text);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < mxv_mma_count() && run->models < MAX_MODELS; i++)
        if (family_of(mxv_mma_at(i)) >= 0 && first_of(i) == i && found++ % parts == part - 1)
            run->model[run->models++] = i;
}

static int run_by_model(void)
{
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct score total = {0};
    double seconds = 0;
    size_t wrong = 0;
    if (run == MAP_FAILED)
        return EXIT_FAILURE;
    run->each = setting("MXV_LEVELS_EACH", 0);
    run->jobs = setting("MXV_LEVELS_JOBS", 1);
    run->top = mxv_simd_level();
    choose_models(run);
    if (run->jobs == 0 || run->jobs > MAX_JOBS)
        return EXIT_FAILURE;
    for (size_t j = 0; j < run->jobs; j++)
        if (fork() == 0) {
            run_job(run, j);
            _exit(EXIT_SUCCESS);
        }
    for (size_t i = 0; i < run->models; i++) {
        if (!wait_for(run, i)) {
            fprintf(stderr, "a process failed\n");
            return EXIT_FAILURE;
        }
        wrong += report(run, i, &total, &seconds);
    }
    print_score("all", &total, seconds, run->top);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

// One tile of 128 x 128 x 128 of a model at a level, for counting instructions.
static int one_tile(const char *name, const char *level_name)
{
    enum { SIDE = 128 };
    static uint32_t words[SIDE * SIDE], cd[SIDE * SIDE];
    static struct mxv_operand a[SIDE * SIDE], b[SIDE * SIDE];
    static uint8_t scale_a[SIDE * SIDE], scale_b[SIDE * SIDE];
    const struct mxv_mma_model *m = mxv_mma_find(name);
    enum mxv_simd level;
    if (!m || !level_name || !mxv_simd_find(level_name, &level))
        return EXIT_FAILURE;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        words[i] = operand(m->a, MODERATE);
    mxv_mma_decode_a(m, words, SIDE * SIDE, a);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        words[i] = operand(m->b, MODERATE);
        scale_a[i] = scale(m, MODERATE);
        scale_b[i] = scale(m, MODERATE);
        cd[i] = accumulator(m, ATTENTION);
    }
    mxv_mma_decode_b(m, words, SIDE * SIDE, b);
    printf("%s at %s\n", m->name, mxv_simd_name(mxv_simd_limit(level)));
    mxv_mma_tile(m, SIDE, SIDE, SIDE, a, b, scale_a, scale_b, cd, SIDE);
    return EXIT_SUCCESS;
}

int main(void)
{
    if (getenv("MXV_LEVELS_EACH"))
        return run_by_model();
    if (getenv("MXV_LEVELS_TILE"))
        return one_tile(getenv("MXV_LEVELS_TILE"), getenv("MXV_LEVELS_LEVEL"));
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_difference_is_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
