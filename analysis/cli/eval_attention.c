// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// eval: attention in closed form (attention_row attention_fp8_row lse_merge visible_keys kv_head).
// Correctly rounded by ref/truth; visibility by the engine's own rule.
#include "cli.h"
#include "eval.h"
#include <math.h>
#include <mxverify/attention.h>
#include <mxverify/truth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row_state {
    unsigned base;
    float softcap;
    enum mxv_element elem;
};

static int setup_base(struct eval *e, struct row_state *s)
{
    int base;
    if (eval_choice(e, "base", "e 2", &base))
        return -1;
    s->base = base ? 2 : 0;
    return 0;
}

static struct row_state *row_state(struct eval *e)
{
    e->state = cli_realloc(NULL, sizeof(struct row_state));
    memset(e->state, 0, sizeof(struct row_state));
    return e->state;
}

static float as_float(uint64_t word)
{
    uint32_t w = (uint32_t)word;
    float x;
    memcpy(&x, &w, sizeof x);
    return x;
}

int eval_setup_attention_row(struct eval *e)
{
    struct row_state *s = row_state(e);
    const char *cap = eval_get(e, "softcap", "0");
    char *end;
    long tile;
    double value = strtod(cap, &end);
    s->softcap = (float)value;
    if (end == cap || *end || !(value >= 0) || isinf(s->softcap) || (value > 0 && s->softcap == 0))
        return eval_fail(e, "--softcap %s: expected 0 for none, or a positive binary32 number",
                         cap);
    return setup_base(e, s) || eval_number(e, "tile", 0, 1, 1 << 30, &tile);
}

static float *floats_of(const struct eval_group *g)
{
    float *x = cli_realloc(NULL, (g->count + 1) * sizeof *x);
    for (size_t i = 0; i < g->count; i++)
        x[i] = as_float(g->words[i]);
    return x;
}

static int put_pair(struct eval *e, enum mxv_truth_status status, uint32_t out, uint32_t lse)
{
    if (status != 0)
        return eval_fail(e, "the exact evaluation failed (status %d)", (int)status);
    eval_put(e, out, 8);
    eval_put(e, lse, 8);
    return 0;
}

int eval_answer_attention_row(struct eval *e)
{
    struct row_state *s = e->state;
    uint32_t out = 0, lse = 0;
    if (e->group_count != 3 && eval_groups(e, 2, "scores | values [| mask]"))
        return -1;
    size_t n = e->groups[0].count;
    for (size_t g = 0; g < e->group_count; g++)
        if (e->groups[g].count != n)
            return eval_fail(e, "group %zu has %zu words, the scores are %zu", g + 1,
                             e->groups[g].count, n);
    if (eval_fits(e, 0, 32) || eval_fits(e, 1, 32) || (e->group_count == 3 && eval_fits(e, 2, 1)))
        return -1;
    uint8_t *mask = NULL;
    if (e->group_count == 3) {
        mask = cli_realloc(NULL, n + 1);
        for (size_t i = 0; i < n; i++)
            mask[i] = (uint8_t)e->groups[2].words[i];
    }
    float *scores = floats_of(&e->groups[0]), *values = floats_of(&e->groups[1]);
    enum mxv_truth_status status =
        mxv_truth_attention_row(scores, values, mask, n, s->base, s->softcap, &out, &lse);
    free(scores);
    free(values);
    free(mask);
    return put_pair(e, status, out, lse);
}

int eval_setup_attention_fp8_row(struct eval *e)
{
    return eval_element(e, "elem", "e4m3", &row_state(e)->elem);
}

static double code_value(enum mxv_element f, uint64_t code)
{
    uint32_t w = mxv_element_to_f32(f, code);
    return as_float(w);
}

int eval_answer_attention_fp8_row(struct eval *e)
{
    struct row_state *s = e->state;
    uint32_t out = 0, lse = 0;
    unsigned bits = mxv_element_get(s->elem)->bits;
    if (bits > 32)
        return eval_fail(e, "--elem %s: expected a format of at most 32 bits",
                         mxv_element_get(s->elem)->name);
    if (eval_groups(e, 4, "q | k | v | descales q k v") || eval_fits(e, 0, bits) ||
        eval_fits(e, 1, bits) || eval_fits(e, 2, bits) || eval_fits(e, 3, 32))
        return -1;
    size_t n = e->groups[1].count;
    if (e->groups[0].count != 1 || e->groups[2].count != n || e->groups[3].count != 3)
        return eval_fail(e, "expected one q, as many v as k, and three descales");
    double *k = cli_realloc(NULL, (2 * n + 1) * sizeof *k), *v = k + n;
    for (size_t i = 0; i < n; i++) {
        k[i] = code_value(s->elem, e->groups[1].words[i]);
        v[i] = code_value(s->elem, e->groups[2].words[i]);
    }
    const uint64_t *scale = e->groups[3].words;
    enum mxv_truth_status status = mxv_truth_attention_fp8_row(
        code_value(s->elem, e->groups[0].words[0]), k, v, n, as_float(scale[0]), as_float(scale[1]),
        as_float(scale[2]), &out, &lse);
    free(k);
    return put_pair(e, status, out, lse);
}

int eval_setup_lse_merge(struct eval *e)
{
    return setup_base(e, row_state(e));
}

int eval_answer_lse_merge(struct eval *e)
{
    struct row_state *s = e->state;
    uint32_t out = 0, lse = 0;
    if (eval_groups(e, 2, "o lse | o lse") || eval_fits(e, 0, 32) || eval_fits(e, 1, 32))
        return -1;
    if (e->groups[0].count != 2 || e->groups[1].count != 2)
        return eval_fail(e, "each group holds an output and its LSE");
    const uint64_t *a = e->groups[0].words, *b = e->groups[1].words;
    enum mxv_truth_status status = mxv_truth_lse_merge(
        as_float(a[0]), as_float(a[1]), as_float(b[0]), as_float(b[1]), s->base, &out, &lse);
    return put_pair(e, status, out, lse);
}

int eval_setup_visible_keys(struct eval *e)
{
    (void)e;
    return 0;
}

int eval_answer_visible_keys(struct eval *e)
{
    struct mxv_attention a = {.left = -1, .right = -1};
    long q, k, window, causal;
    int align;
    if (eval_number(e, "q", 0, 0, 1 << 24, &q) || eval_number(e, "k", 0, 0, 1 << 24, &k) ||
        eval_number(e, "causal", 0, 0, 1, &causal) ||
        eval_number(e, "window", 0, 1, 1 << 24, &window) ||
        eval_number(e, "left", -1, -1, 1 << 24, &a.left) ||
        eval_number(e, "right", -1, -1, 1 << 24, &a.right) ||
        eval_choice(e, "align", "bottom_right top_left", &align))
        return -1;
    if (!eval_get(e, "q", NULL) || !eval_get(e, "k", NULL))
        return eval_fail(e, "--q and --k are needed: numbers of queries and keys");
    if (causal && a.right > 0)
        return eval_fail(e, "--right %ld: with --causal 1 the right distance is 0", a.right);
    if (window && eval_get(e, "left", NULL))
        return eval_fail(e, "--window counts tokens including the query's own, --left those before "
                            "it: give one of them");
    if (window)
        a.left = window - 1;
    a.mask = causal ? MXV_MASK_CAUSAL : MXV_MASK_FULL;
    a.align = align ? MXV_ALIGN_TOP_LEFT : MXV_ALIGN_BOTTOM_RIGHT;
    for (long row = 0; row < q; row++) {
        size_t first, end;
        mxv_attention_visible(&a, (size_t)q, (size_t)k, (size_t)row, &first, &end);
        eval_put(e, end - first, 8);
    }
    return 0;
}

int eval_setup_kv_head(struct eval *e)
{
    long *heads = e->state = cli_realloc(NULL, 2 * sizeof *heads);
    if (!eval_get(e, "hq", NULL) || !eval_get(e, "hkv", NULL))
        return eval_fail(e, "--hq and --hkv are needed: numbers of query and KV heads");
    return eval_number(e, "hq", 0, 0, 1 << 24, &heads[0]) ||
           eval_number(e, "hkv", 0, 0, 1 << 24, &heads[1]);
}

int eval_answer_kv_head(struct eval *e)
{
    const long *heads = e->state;
    if (eval_groups(e, 1, "query head indices"))
        return -1;
    if (heads[1] == 0 || heads[0] % heads[1]) {
        eval_reject(e, "the number of query heads is no multiple of the number of KV heads");
        return 0;
    }
    for (size_t i = 0; i < e->groups[0].count; i++) {
        uint64_t head = e->groups[0].words[i];
        if (head >= (uint64_t)heads[0])
            eval_reject(e, "the query head index is not below --hq");
        else
            eval_put(e, head / (uint64_t)(heads[0] / heads[1]), 8);
    }
    return 0;
}
