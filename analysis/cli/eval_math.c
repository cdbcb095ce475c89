// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// eval: dot products, matrix units, special functions, binary32 arithmetic (dot mma sfu fma
// mul_chain).
#include "cli.h"
#include "eval.h"
#include <math.h>
#include <mxverify/attention.h>
#include <mxverify/f32.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>
#include <mxverify/truth.h>
#include <stdlib.h>
#include <string.h>

struct dot_state {
    enum mxv_element a, b, out;
    bool s32;
};

int eval_setup_dot(struct eval *e)
{
    struct dot_state *s = e->state = cli_realloc(NULL, sizeof *s);
    const char *elem = eval_get(e, "elem", NULL), *out = eval_get(e, "out", "f32");
    if (elem && (eval_get(e, "elem_a", NULL) || eval_get(e, "elem_b", NULL)))
        return eval_fail(e, "--elem stands for both --elem_a and --elem_b: give one or the other");
    s->s32 = strcmp(out, "s32") == 0;
    s->out = MXV_F32;
    if (eval_element(e, elem ? "elem" : "elem_a", NULL, &s->a) ||
        eval_element(e, elem ? "elem" : "elem_b", NULL, &s->b))
        return -1;
    if (!s->s32 && eval_element(e, "out", "f32", &s->out))
        return -1;
    if (!s->s32 && s->out != MXV_F32 && s->out != MXV_F16 && s->out != MXV_BF16)
        return eval_fail(e, "--out %s: expected f32, f16, bf16 or s32", out);
    if (s->a == MXV_F64 || s->b == MXV_F64)
        return eval_fail(e, "dot has no f64 operands");
    return 0;
}

// Exact binary64 of a value whose significand fits (all element formats but f64).
static double exact(struct mxv_value v)
{
    if (v.kind == MXV_NAN)
        return NAN;
    double x = v.kind == MXV_INF ? INFINITY : ldexp((double)v.sig, v.exp);
    return v.sign ? -x : x;
}

static int put_dot(struct eval *e, const struct dot_state *s, double d)
{
    if (!s->s32) {
        const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        eval_put(e, mxv_element_encode(s->out, mxv_element_decode(MXV_F64, bits), &ieee),
                 eval_digits(s->out));
        return 0;
    }
    if (!(d >= -2147483648.0 && d <= 2147483647.0) || d != floor(d)) {
        eval_reject(e, "the exact sum is no 32-bit integer");
        return 0;
    }
    eval_put(e, (uint32_t)(int32_t)d, 8);
    return 0;
}

int eval_answer_dot(struct eval *e)
{
    struct dot_state *s = e->state;
    double scale = 1;
    if (e->group_count == 3) {
        if (e->groups[2].count != 2 || eval_fits(e, 2, 8))
            return eval_fail(e, "the third group holds the two E8M0 scale codes");
        scale = exact(mxv_element_decode(MXV_E8M0, e->groups[2].words[0])) *
                exact(mxv_element_decode(MXV_E8M0, e->groups[2].words[1]));
    } else if (eval_groups(e, 2, "A | B [| scaleA scaleB]")) {
        return -1;
    }
    size_t n = e->groups[0].count;
    if (n != e->groups[1].count)
        return eval_fail(e, "A has %zu words and B has %zu", n, e->groups[1].count);
    if (eval_fits(e, 0, s->a == MXV_TF32 ? 32 : mxv_element_get(s->a)->bits) ||
        eval_fits(e, 1, s->b == MXV_TF32 ? 32 : mxv_element_get(s->b)->bits))
        return -1;
    double *a = cli_realloc(NULL, (2 * n + 1) * sizeof *a), *b = a + n;
    for (size_t i = 0; i < n; i++) {
        a[i] = exact(mxv_element_decode(s->a, e->groups[0].words[i]));
        b[i] = exact(mxv_element_decode(s->b, e->groups[1].words[i]));
    }
    double d = mxv_truth_dot_odd(a, b, n, scale);
    free(a);
    return put_dot(e, s, d);
}

struct mma_state {
    const struct mxv_mma_model *model;
    bool f64;
};

int eval_setup_mma(struct eval *e)
{
    const char *name = eval_get(e, "model", NULL);
    struct mma_state *s = e->state = cli_realloc(NULL, sizeof *s);
    if (!name)
        return eval_fail(e, "--model is missing: see mxverify list models");
    size_t length = strlen(name);
    s->model = mxv_mma_find(name);
    s->f64 = !s->model && length > 12 && strcmp(name + length - 12, ".mma.f64.f64") == 0;
    return s->model || s->f64
               ? 0
               : eval_fail(e, "--model %s: no such model (mxverify list models)", name);
}

static unsigned operand_bits(enum mxv_element f)
{
    return f == MXV_TF32 ? 32 : mxv_element_get(f)->bits;
}

static int answer_f64(struct eval *e)
{
    if (eval_groups(e, 3, "A | B | C"))
        return -1;
    if (e->groups[0].count != e->groups[1].count || e->groups[2].count != 1)
        return eval_fail(e, "A and B need the same number of words, C one");
    eval_put(e,
             mxv_mma_dot_f64(e->groups[0].count, e->groups[0].words, e->groups[1].words,
                             e->groups[2].words[0]),
             16);
    return 0;
}

static int check_mma(struct eval *e, const struct mxv_mma_model *m)
{
    bool scaled = m->scale != MXV_MMA_NO_SCALE;
    if (eval_groups(e, scaled ? 5 : 3, scaled ? "A | B | C | scales A | scales B" : "A | B | C") ||
        eval_fits(e, 0, operand_bits(m->a)) || eval_fits(e, 1, operand_bits(m->b)) ||
        eval_fits(e, 2, m->result == MXV_MMA_F16 ? 16 : 32))
        return -1;
    if (e->groups[2].count != 1)
        return eval_fail(e, "C is one word, not %zu", e->groups[2].count);
    for (size_t g = 3; scaled && g < 5; g++)
        if (eval_fits(e, g, 8))
            return -1;
    return 0;
}

int eval_answer_mma(struct eval *e)
{
    struct mma_state *s = e->state;
    if (s->f64)
        return answer_f64(e);
    const struct mxv_mma_model *m = s->model;
    if (check_mma(e, m))
        return -1;
    size_t na = e->groups[0].count, nb = e->groups[1].count, n = na > nb ? na : nb;
    size_t k = n < m->k ? m->k : n; // fewer words than K: zero operands
    size_t scales = mxv_mma_scale_count(m, k);
    uint32_t *a = cli_realloc(NULL, 2 * k * sizeof *a + 2 * scales + 2), *b = a + k;
    uint8_t *sa = (uint8_t *)(b + k), *sb = sa + scales;
    memset(a, 0, 2 * k * sizeof *a);
    for (size_t i = 0; i < na; i++)
        a[i] = (uint32_t)e->groups[0].words[i];
    for (size_t i = 0; i < nb; i++)
        b[i] = (uint32_t)e->groups[1].words[i];
    int status = 0;
    bool scaled = m->scale != MXV_MMA_NO_SCALE;
    for (size_t g = 3; scaled && g < 5; g++) {
        uint8_t *to = g == 3 ? sa : sb, one = m->scale == MXV_E8M0 ? 0x7F : 0x38;
        size_t given = e->groups[g].count, needed = mxv_mma_scale_count(m, n ? n : 1);
        if (given < needed || given > scales)
            status = eval_fail(e, "group %zu: %zu scales where %zu operands need %zu", g + 1, given,
                               n, needed);
        for (size_t i = 0; i < scales; i++)
            to[i] = i < given && status == 0 ? (uint8_t)e->groups[g].words[i] : one;
    }
    if (status == 0)
        eval_put(e,
                 mxv_mma_dot(m, k, a, b, (uint32_t)e->groups[2].words[0], scaled ? sa : NULL,
                             scaled ? sb : NULL),
                 m->result == MXV_MMA_F16 ? 4 : 8);
    free(a);
    return status;
}

enum { SFU_EX2, SFU_RCP, SFU_RSQRT, SFU_LG2, SFU_DIV };
struct sfu_state {
    int op;
    bool ftz;
};

int eval_setup_sfu(struct eval *e)
{
    struct sfu_state *s = e->state = cli_realloc(NULL, sizeof *s);
    int arch;
    long ftz;
    if (!eval_get(e, "op", NULL))
        return eval_fail(e, "--op is missing: ex2, rcp, rsqrt, lg2 or div");
    if (eval_choice(e, "op", "ex2 rcp rsqrt lg2 div", &s->op) ||
        eval_choice(e, "arch", "sm_90 sm_70 sm_75 sm_80 sm_86 sm_89 sm_100 sm_103 sm_110 sm_120",
                    &arch) ||
        eval_number(e, "ftz", s->op != SFU_DIV, 0, 1, &ftz))
        return -1;
    s->ftz = ftz;
    return 0;
}

int eval_answer_sfu(struct eval *e)
{
    static uint32_t (*const unary[])(uint32_t, bool) = {mxv_ex2, mxv_rcp, mxv_rsqrt, mxv_lg2};
    struct sfu_state *s = e->state;
    for (size_t g = 0; g < e->group_count; g++) {
        const uint64_t *w = e->groups[g].words;
        if (eval_fits(e, g, 32))
            return -1;
        if (s->op == SFU_DIV && e->groups[g].count != 2)
            return eval_fail(e, "group %zu: expected `x y`, two binary32 words", g + 1);
        if (s->op == SFU_DIV) {
            eval_put(e, mxv_div_full((uint32_t)w[0], (uint32_t)w[1], s->ftz), 8);
            continue;
        }
        for (size_t i = 0; i < e->groups[g].count; i++)
            eval_put(e, unary[s->op]((uint32_t)w[i], s->ftz), 8);
    }
    return 0;
}

int eval_setup_fma(struct eval *e)
{
    (void)e;
    return 0;
}

int eval_answer_fma(struct eval *e)
{
    for (size_t g = 0; g < e->group_count; g++) {
        const uint64_t *w = e->groups[g].words;
        if (e->groups[g].count != 3 || eval_fits(e, g, 32))
            return eval_fail(e, "group %zu: expected `a b c`, three binary32 words", g + 1);
        eval_put(e, mxv_f32_fma((uint32_t)w[0], (uint32_t)w[1], (uint32_t)w[2]), 8);
    }
    return 0;
}

int eval_setup_mul_chain(struct eval *e)
{
    (void)e;
    return 0;
}

int eval_answer_mul_chain(struct eval *e)
{
    if (eval_groups(e, 1, "binary32 words") || eval_fits(e, 0, 32))
        return -1;
    if (e->groups[0].count == 0)
        return eval_fail(e, "no words to multiply");
    uint32_t product = (uint32_t)e->groups[0].words[0];
    for (size_t i = 1; i < e->groups[0].count; i++)
        product = mxv_f32_mul(product, (uint32_t)e->groups[0].words[i]);
    eval_put(e, product, 8);
    return 0;
}
