// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Power of the recorded attention outputs (released_record.h): a transcription of
// docs/kernels/dma-released.md section 4, from the engine's score tiles on, whose steps can be
// exchanged one at a time. It is run on the last query tile of head 1, three key tiles. As the page
// has them 0 words differ; any one step exchanged must be told by the record, causal or full, where
// it acts. The start l = 1 cannot be told: the first alpha is 0.
#include "released_record.h"

#include <math.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = RELEASED_TILE, TILES = RELEASED_ROWS / RELEASED_TILE, LAST = TILES - 1, HEAD = 1 };
enum { CAUSAL = 1, FULL = 2 };

struct recipe {
    const char *what;
    unsigned masks;       // runs in which it acts
    bool other_base;      // 2 for full, e for causal (D5)
    bool exact_exp;       // 2^x correctly rounded
    bool serial_sum;      // columns ascending, one partial sum
    bool rounded_sum;     // of P as the matrix unit reads it
    bool separate_l;      // l * alpha rounded before the sum is added
    bool separate_o;      // O * alpha likewise
    bool product_rounded; // the tile's product in binary32, rounded to binary16 once
    bool product_f32;     // and not rounded at all
    bool nearest_tf32;    // P rounded to TF32 instead of cut
    bool ieee_division;   // of O by l
};

static const struct recipe variations[] = {
    {.what = "the steps of the page"},
    {.what = "D5: the other base", .masks = CAUSAL | FULL, .other_base = true},
    {.what = "correctly rounded exponential", .masks = CAUSAL | FULL, .exact_exp = true},
    {.what = "row sum in one chain", .masks = CAUSAL | FULL, .serial_sum = true},
    {.what = "row sum of rounded P", .masks = CAUSAL, .rounded_sum = true},
    {.what = "l without contraction", .masks = CAUSAL | FULL, .separate_l = true},
    {.what = "O without contraction", .masks = CAUSAL, .separate_o = true},
    {.what = "product rounded to f16 once", .masks = CAUSAL, .product_rounded = true},
    {.what = "product in f32", .masks = CAUSAL, .product_f32 = true},
    {.what = "P rounded to TF32", .masks = FULL, .nearest_tf32 = true},
    {.what = "IEEE division by l", .masks = CAUSAL | FULL, .ieee_division = true},
};

struct run {
    const char *name;
    bool causal;
    uint32_t score[TILES][N * N];          // of the last query tile
    uint32_t v[RELEASED_ROWS][RELEASED_D]; // binary16 codes
    uint32_t want[N * RELEASED_D];         // recorded output
};

// The state of one query tile.
struct state {
    float m[N], l[N], alpha[N];
    uint32_t o[N * RELEASED_D];
};

static void take_scores(void *context, const struct mxv_tap *tap)
{
    struct run *run = context;
    if (tap->stage == MXV_STAGE_V_CODE)
        memcpy(run->v, tap->words, sizeof run->v);
    if (tap->stage == MXV_STAGE_SCORE && tap->tile_q == LAST)
        memcpy(run->score[tap->tile_k], tap->words, sizeof run->score[0]);
}

static uint32_t f16_code(float x)
{
    return (uint32_t)mxv_element_from_f32(MXV_F16, released_word(x), NULL);
}

static float f16_value(uint32_t code)
{
    return released_float(mxv_element_to_f32(MXV_F16, code));
}

static float exponential(const struct recipe *r, bool causal, float x)
{
    if (causal == r->other_base)
        x *= 0x1.715476p0f;
    return released_float(r->exact_exp ? mxv_ex2_rn(released_word(x))
                                       : mxv_ex2(released_word(x), true));
}

static float row_sum(const struct recipe *r, const float *p)
{
    float part[4] = {0, 0, 0, 0};
    for (size_t n = 0; n < N; n++) {
        float *sum = &part[r->serial_sum ? 0 : n % 8 / 2];
        *sum += r->rounded_sum ? f16_value(f16_code(p[n])) : p[n];
    }
    return (part[0] + part[2]) + (part[1] + part[3]);
}

// P as the unit reads it, words of the PV type.
static void softmax_row(const struct recipe *r, const struct run *run, struct state *t, size_t row,
                        size_t tile, uint32_t *weight)
{
    float p[N], m = t->m[row];
    const uint32_t *s = run->score[tile] + row * N;
    for (size_t n = 0; n < N; n++)
        m = fmaxf(m, released_float(s[n]));
    for (size_t n = 0; n < N; n++) {
        p[n] = exponential(r, run->causal, released_float(s[n]) - m);
        uint32_t word = released_word(p[n]);
        if (r->nearest_tf32)
            word += 0x0fffu + (word >> 13 & 1u);
        weight[row * N + n] = run->causal ? f16_code(p[n]) : word;
    }
    float alpha = exponential(r, run->causal, t->m[row] - m), sum = row_sum(r, p);
    float decayed = t->l[row] * alpha;
    t->l[row] = r->separate_l ? decayed + sum : fmaf(t->l[row], alpha, sum);
    t->alpha[row] = alpha;
    t->m[row] = m;
}

static void product(const char *model, const struct run *run, size_t tile, const uint32_t *weight,
                    uint32_t *o)
{
    static struct mxv_operand a[N * N], b[RELEASED_D * N];
    const struct mxv_mma_model *unit = mxv_mma_find(model);
    if (!unit)
        vector_fail("no such matrix-unit model", model);
    mxv_mma_decode_a(unit, weight, N * N, a);
    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < RELEASED_D; c++) {
            uint32_t code = run->v[tile * N + n][c];
            uint32_t word = run->causal ? code : mxv_element_to_f32(MXV_F16, code);
            mxv_mma_decode_b(unit, &word, 1, &b[c * N + n]);
        }
    mxv_mma_tile(unit, N, RELEASED_D, N, a, b, NULL, NULL, o, RELEASED_D);
}

static void accumulate_causal(const struct recipe *r, const struct run *run, struct state *t,
                              size_t tile, const uint32_t *weight)
{
    static uint32_t dot[N * RELEASED_D];
    bool wide = r->product_rounded || r->product_f32;
    memset(dot, 0, sizeof dot);
    product(wide ? "sm_90.wgmma.f16.f32" : "sm_90.mma.f16.f16", run, tile, weight, dot);
    for (size_t i = 0; i < N * RELEASED_D; i++) {
        float o = released_float(t->o[i]), alpha = t->alpha[i / RELEASED_D];
        float x = wide ? released_float(dot[i]) : f16_value(dot[i]), decayed = o * alpha;
        if (r->product_rounded)
            x = f16_value(f16_code(x));
        t->o[i] = released_word(r->separate_o ? decayed + x : fmaf(o, alpha, x));
    }
}

static void accumulate_full(const struct run *run, struct state *t, size_t tile,
                            const uint32_t *weight)
{
    for (size_t i = 0; i < N * RELEASED_D; i++)
        t->o[i] = released_word(released_float(t->o[i]) * t->alpha[i / RELEASED_D]);
    product("sm_90.mma.tf32.f32", run, tile, weight, t->o);
}

// Words of the last query tile that differ from the record.
static size_t count_wrong(const struct recipe *r, const struct run *run)
{
    static uint32_t weight[N * N];
    static struct state t;
    size_t wrong = 0;
    memset(&t, 0, sizeof t);
    for (size_t row = 0; row < N; row++)
        t.m[row] = -INFINITY, t.l[row] = 1;
    for (size_t tile = 0; tile < TILES; tile++) {
        for (size_t row = 0; row < N; row++)
            softmax_row(r, run, &t, row, tile, weight);
        if (run->causal)
            accumulate_causal(r, run, &t, tile, weight);
        else
            accumulate_full(run, &t, tile, weight);
    }
    for (size_t i = 0; i < N * RELEASED_D; i++) {
        float l = t.l[i / RELEASED_D], o = released_float(t.o[i]);
        uint32_t word =
            r->ieee_division ? released_word(o / l) : mxv_div_full(t.o[i], released_word(l), false);
        wrong += word != run->want[i];
    }
    return wrong;
}

static struct run *load(const struct npz *z, struct mxv_attention a, const char *mode, bool causal)
{
    static uint32_t out[RELEASED_ROWS * RELEASED_D];
    struct run *run = calloc(1, sizeof *run);
    char name[32], message[256];
    if (!run)
        vector_fail("out of memory", mode);
    snprintf(name, sizeof name, "attn.%s.causal%d", mode, causal);
    a.mask = causal ? MXV_MASK_CAUSAL : MXV_MASK_FULL;
    run->name = mode;
    run->causal = causal;
    struct mxv_tensor record = npz_tensor(z, name);
    struct mxv_tap_sink sink = {take_scores, run};
    if (mxv_engine_head(&a, 0, HEAD, out, NULL, &sink, message, sizeof message))
        vector_fail(message, name);
    for (size_t i = 0; i < N * RELEASED_D; i++) {
        size_t row = HEAD * RELEASED_ROWS + LAST * N;
        run->want[i] = (uint32_t)mxv_tensor_code(&record, row * RELEASED_D + i);
    }
    mxv_tensor_free(&record);
    return run;
}

static int check(const struct run *run)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof variations / sizeof *variations; i++) {
        const struct recipe *r = &variations[i];
        if (i > 0 && !(r->masks & (run->causal ? CAUSAL : FULL)))
            continue;
        size_t wrong = count_wrong(r, run);
        printf("%s %s, %s: %zu of %d words differ\n", run->name, run->causal ? "causal" : "full",
               r->what, wrong, N * RELEASED_D);
        failed |= i == 0 ? wrong != 0 : wrong == 0;
    }
    return failed;
}

static void every_step(void **state)
{
    (void)state;
    static const char *const modes[] = {"mxfp8", "mxfp4"};
    struct npz z = npz_open(RELEASED_FILE);
    float *q = released_input(&z, "q_attn"), *k = released_input(&z, "k_attn");
    float *v = released_input(&z, "v");
    int failed = 0;
    for (size_t i = 0; i < 4; i++) {
        struct mxv_attention a = released_call(modes[i / 2], false);
        a.q = q, a.k = k, a.v = v;
        struct run *run = load(&z, a, modes[i / 2], i % 2 == 0);
        failed |= check(run);
        free(run);
    }
    free(q);
    free(k);
    free(v);
    npz_close(&z);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
