// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// eval: block formats (quantize dequantize nvfp4_scale). Every number comes from formats/.
#include "cli.h"
#include "eval.h"
#include <mxverify/block.h>
#include <mxverify/int8.h>
#include <stdlib.h>
#include <string.h>

struct block_state {
    bool int8;
    enum mxv_block block;
    struct mxv_block_policy policy;
    struct mxv_int8_policy int8_policy;
};

static struct block_state *block_state(struct eval *e)
{
    e->state = cli_realloc(NULL, sizeof(struct block_state));
    memset(e->state, 0, sizeof(struct block_state));
    return e->state;
}

static int find_block(struct eval *e, struct block_state *s)
{
    const char *name = eval_get(e, "block", NULL);
    if (!name)
        return eval_fail(e,
                         "--block is missing: a block format (mxverify list formats) or s8_amax");
    s->int8 = strcmp(name, "s8_amax") == 0;
    if (!s->int8 && !mxv_block_find(name, &s->block))
        return eval_fail(e, "--block %s: no such block format (mxverify list formats)", name);
    return 0;
}

int eval_setup_quantize(struct eval *e)
{
    struct block_state *s = block_state(e);
    const char *scale = eval_get(e, "scale", NULL);
    if (find_block(e, s) || eval_encode_policy(e, &s->policy.encode))
        return -1;
    s->int8_policy.round = s->policy.encode.round;
    s->int8_policy.symmetric = s->policy.encode.min_set && s->policy.encode.min == -127;
    if (s->int8)
        return scale && strcmp(scale, "amax") ? eval_fail(e, "--scale %s: s8_amax has none", scale)
                                              : 0;
    if (s->block == MXV_NVFP4) {
        if (scale && EVAL_POLICY(e, "scale", nvfp4_variant, &s->policy.nvfp4.variant))
            return -1;
        return EVAL_POLICY(e, "order", nvfp4_order, &s->policy.nvfp4.order) ||
               EVAL_POLICY(e, "err", four_six_err, &s->policy.nvfp4.err) ||
               EVAL_POLICY(e, "divisor", nvfp4_divisor, &s->policy.nvfp4.divisor);
    }
    return EVAL_POLICY(e, "scale", scale_rule, &s->policy.rule) ||
           EVAL_POLICY(e, "scale_inf", scale_inf, &s->policy.scale.inf) ||
           EVAL_POLICY(e, "scale_nan", scale_nan, &s->policy.scale.nan) ||
           EVAL_POLICY(e, "scale_zero", scale_zero, &s->policy.scale.zero) ||
           EVAL_POLICY(e, "block_nan", block_nan, &s->policy.nan) ||
           EVAL_POLICY(e, "arith", arith, &s->policy.arith);
}

static int quantize_int8(struct eval *e, const struct block_state *s)
{
    if (eval_groups(e, 1, "binary32 words") || eval_fits(e, 0, 32))
        return -1;
    size_t n = e->groups[0].count;
    uint32_t *x = cli_realloc(NULL, n * 5 + 8), scale;
    int8_t *codes = (int8_t *)(x + n);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint32_t)e->groups[0].words[i];
    mxv_int8_quantize(&s->int8_policy, x, n, 1, &scale, codes);
    eval_put(e, scale, 8);
    for (size_t i = 0; i < n; i++)
        eval_put(e, (uint8_t)codes[i], 2);
    free(x);
    return 0;
}

int eval_answer_quantize(struct eval *e)
{
    struct block_state *s = e->state;
    uint32_t x[MXV_BLOCK_SIZE_MAX];
    uint8_t scale, codes[MXV_BLOCK_SIZE_MAX];
    if (s->int8)
        return quantize_int8(e, s);
    size_t size = mxv_block_get(s->block)->size, last = e->group_count - 1;
    bool tensor = s->block == MXV_NVFP4 && e->group_count == 2;
    if (!tensor &&
        eval_groups(e, 1, s->block == MXV_NVFP4 ? "g | 16 words, or 16 words" : "one block"))
        return -1;
    if (eval_fits(e, 0, 32) || eval_fits(e, last, 32))
        return -1;
    if (e->groups[last].count != size || (tensor && e->groups[0].count != 1))
        return eval_fail(e, "%zu words where a block of %s has %zu", e->groups[last].count,
                         mxv_block_get(s->block)->name, size);
    s->policy.nvfp4.tensor_scaled = tensor;
    s->policy.nvfp4.tensor_amax = tensor ? (uint32_t)e->groups[0].words[0] : 0;
    for (size_t i = 0; i < size; i++)
        x[i] = (uint32_t)e->groups[last].words[i];
    mxv_block_quantize(s->block, &s->policy, x, &scale, codes);
    eval_put(e, scale, 2);
    for (size_t i = 0; i < size; i++)
        eval_put(e, codes[i], 2);
    return 0;
}

int eval_setup_dequantize(struct eval *e)
{
    return find_block(e, block_state(e));
}

static int dequantize_int8(struct eval *e)
{
    const struct eval_group *g = &e->groups[0];
    if (g->count < 1 || eval_fits(e, 0, 32))
        return eval_fail(e, "expected a binary32 scale word and codes");
    for (size_t i = 1; i < g->count; i++) {
        if (g->words[i] > 0xFF)
            return eval_fail(e, "word %zu: %llX is not an INT8 code", i + 1,
                             (unsigned long long)g->words[i]);
        eval_put(e, mxv_int8_dequantize((int8_t)(uint8_t)g->words[i], (uint32_t)g->words[0]), 8);
    }
    return 0;
}

int eval_answer_dequantize(struct eval *e)
{
    struct block_state *s = e->state;
    uint8_t codes[MXV_BLOCK_SIZE_MAX];
    uint32_t out[MXV_BLOCK_SIZE_MAX];
    if (eval_groups(e, 1, "scale and codes"))
        return -1;
    if (s->int8)
        return dequantize_int8(e);
    const struct mxv_block_info *info = mxv_block_get(s->block);
    const struct eval_group *g = &e->groups[0];
    if (g->count != info->size + 1u)
        return eval_fail(e, "%zu words where %s has a scale and %u codes", g->count, info->name,
                         info->size);
    if (eval_fits(e, 0, 8))
        return -1;
    for (size_t i = 0; i < info->size; i++) {
        if (g->words[i + 1] >> mxv_element_get(info->element)->bits)
            return eval_fail(e, "word %zu: %llX is no code of %s", i + 2,
                             (unsigned long long)g->words[i + 1],
                             mxv_element_get(info->element)->name);
        codes[i] = (uint8_t)g->words[i + 1];
    }
    mxv_block_dequantize(s->block, (uint8_t)g->words[0], codes, out);
    for (size_t i = 0; i < info->size; i++)
        eval_put(e, out[i], 8);
    return 0;
}

int eval_setup_nvfp4_scale(struct eval *e)
{
    struct block_state *s = block_state(e);
    s->policy.nvfp4.order = MXV_NVFP4_TE;
    return EVAL_POLICY(e, "order", nvfp4_order, &s->policy.nvfp4.order);
}

int eval_answer_nvfp4_scale(struct eval *e)
{
    struct block_state *s = e->state;
    for (size_t g = 0; g < e->group_count; g++) {
        if (e->groups[g].count != 2 || eval_fits(e, g, 32))
            return eval_fail(e, "group %zu: expected `g b`, two binary32 words", g + 1);
        eval_put(e,
                 mxv_nvfp4_scale(s->policy.nvfp4.order, (uint32_t)e->groups[g].words[0],
                                 (uint32_t)e->groups[g].words[1]),
                 2);
    }
    return 0;
}
