// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// eval: element formats, scales and layouts (encode decode e8m0_rcp scale scaled_encode pack
// scale_offset limits pow2_scale storage_bytes). Thin: every number comes from formats/.
#include "cli.h"
#include "eval.h"
#include <mxverify/pack.h>
#include <mxverify/scale.h>
#include <mxverify/tensor_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct encode_state {
    enum mxv_element format, src;
    struct mxv_encode policy;
    enum mxv_arith arith;
};

int eval_encode_policy(struct eval *e, struct mxv_encode *p)
{
    long min = 0, random = 0, bits = 0;
    memset(p, 0, sizeof *p);
    if (EVAL_POLICY(e, "round", round, &p->round) ||
        EVAL_POLICY(e, "overflow", overflow, &p->overflow) || EVAL_POLICY(e, "inf", inf, &p->inf) ||
        EVAL_POLICY(e, "nan", nan, &p->nan) || EVAL_POLICY(e, "negzero", negzero, &p->negzero) ||
        EVAL_POLICY(e, "negative", negative, &p->negative) ||
        EVAL_POLICY(e, "e8m0_zero", e8m0_zero, &p->e8m0_zero) ||
        EVAL_POLICY(e, "below", below, &p->below) || eval_number(e, "min", 0, -128, -127, &min) ||
        eval_number(e, "random", 0, 0, 0xFFFFFFFFL, &random) ||
        eval_number(e, "random_bits", 0, 0, 32, &bits))
        return -1;
    if (p->round != MXV_RS && (eval_get(e, "random", NULL) || eval_get(e, "random_bits", NULL)))
        return eval_fail(e, "--random and --random_bits have no effect without --round rs");
    p->min_set = eval_get(e, "min", NULL) != NULL;
    p->min = (int)min;
    p->random = (uint32_t)random;
    p->random_bits = (unsigned)bits;
    return 0;
}

static int need_state(struct eval *e, size_t size)
{
    e->state = cli_realloc(NULL, size);
    memset(e->state, 0, size);
    return 0;
}

int eval_setup_encode(struct eval *e)
{
    need_state(e, sizeof(struct encode_state));
    struct encode_state *s = e->state;
    return eval_element(e, "format", NULL, &s->format) || eval_element(e, "src", "f32", &s->src) ||
           eval_encode_policy(e, &s->policy);
}

int eval_answer_encode(struct eval *e)
{
    struct encode_state *s = e->state;
    unsigned digits = eval_digits(s->format);
    unsigned bits = s->src == MXV_TF32 ? 32 : mxv_element_get(s->src)->bits;
    if (eval_groups(e, 1, "words") || eval_fits(e, 0, bits))
        return -1;
    for (size_t i = 0; i < e->groups[0].count; i++) {
        uint64_t w = e->groups[0].words[i];
        uint64_t code =
            s->src == MXV_F32
                ? mxv_element_from_f32(s->format, (uint32_t)w, &s->policy)
                : mxv_element_encode(s->format, mxv_element_decode(s->src, w), &s->policy);
        if (code == MXV_CODE_REFUSED && s->format != MXV_F64)
            eval_reject(e, "the format has no NaN (nan=error)");
        else
            eval_put(e, code, digits);
    }
    return 0;
}

int eval_setup_decode(struct eval *e)
{
    need_state(e, sizeof(struct encode_state));
    struct encode_state *s = e->state;
    s->policy.overflow = MXV_OVERFLOW_IEEE;
    if (eval_element(e, "format", NULL, &s->src) || eval_element(e, "dst", "f32", &s->format))
        return -1;
    if (s->format != MXV_F32 && s->format != MXV_BF16 && s->format != MXV_F64)
        return eval_fail(e, "--dst: decoding is exact into f32, bf16 and f64 only");
    return 0;
}

static bool decodes_exactly(const struct encode_state *s, uint64_t code, uint64_t word)
{
    struct mxv_value a = mxv_value_normalize(mxv_element_decode(s->src, code));
    struct mxv_value b = mxv_value_normalize(mxv_element_decode(s->format, word));
    if (a.kind == MXV_NAN)
        return b.kind == MXV_NAN;
    return a.kind == b.kind && a.sign == b.sign && a.sig == b.sig && (a.sig == 0 || a.exp == b.exp);
}

int eval_answer_decode(struct eval *e)
{
    struct encode_state *s = e->state;
    unsigned bits = s->src == MXV_TF32 ? 32 : mxv_element_get(s->src)->bits;
    if (eval_groups(e, 1, "codes") || eval_fits(e, 0, bits))
        return -1;
    for (size_t i = 0; i < e->groups[0].count; i++) {
        uint64_t w = e->groups[0].words[i];
        uint64_t word =
            s->format == MXV_F32
                ? mxv_element_to_f32(s->src, w)
                : mxv_element_encode(s->format, mxv_element_decode(s->src, w), &s->policy);
        if (decodes_exactly(s, w, word))
            eval_put(e, word, eval_digits(s->format));
        else
            eval_reject(e, "the value is no value of --dst (decoding is exact)");
    }
    return 0;
}

int eval_setup_e8m0_rcp(struct eval *e)
{
    need_state(e, sizeof(enum mxv_e8m0_fe));
    return EVAL_POLICY(e, "fe", e8m0_fe, (enum mxv_e8m0_fe *)e->state);
}

int eval_answer_e8m0_rcp(struct eval *e)
{
    if (eval_groups(e, 1, "codes") || eval_fits(e, 0, 8))
        return -1;
    for (size_t i = 0; i < e->groups[0].count; i++)
        eval_put(e, mxv_e8m0_rcp((uint8_t)e->groups[0].words[i], *(enum mxv_e8m0_fe *)e->state), 8);
    return 0;
}

struct scale_state {
    enum mxv_element elem;
    enum mxv_scale_rule rule;
    struct mxv_scale_policy policy;
};

int eval_setup_scale(struct eval *e)
{
    need_state(e, sizeof(struct scale_state));
    struct scale_state *s = e->state;
    return eval_element(e, "elem", NULL, &s->elem) ||
           EVAL_POLICY(e, "scale", scale_rule, &s->rule) ||
           EVAL_POLICY(e, "inf", scale_inf, &s->policy.inf) ||
           EVAL_POLICY(e, "nan", scale_nan, &s->policy.nan) ||
           EVAL_POLICY(e, "zero", scale_zero, &s->policy.zero);
}

int eval_answer_scale(struct eval *e)
{
    struct scale_state *s = e->state;
    if (eval_groups(e, 1, "block maxima") || eval_fits(e, 0, 32))
        return -1;
    for (size_t i = 0; i < e->groups[0].count; i++) {
        uint32_t amax = (uint32_t)e->groups[0].words[i];
        eval_put(e, mxv_scale_e8m0(s->rule, s->elem, amax, &s->policy), 2);
    }
    return 0;
}

int eval_setup_scaled_encode(struct eval *e)
{
    need_state(e, sizeof(struct encode_state));
    struct encode_state *s = e->state;
    return eval_element(e, "format", NULL, &s->format) || eval_encode_policy(e, &s->policy) ||
           EVAL_POLICY(e, "arith", arith, &s->arith);
}

int eval_answer_scaled_encode(struct eval *e)
{
    struct encode_state *s = e->state;
    if (eval_groups(e, 2, "s | x") || eval_fits(e, 0, 32) || eval_fits(e, 1, 32))
        return -1;
    if (e->groups[0].count != 1)
        return eval_fail(e, "the first group holds %zu words; it is the one scale",
                         e->groups[0].count);
    for (size_t i = 0; i < e->groups[1].count; i++) {
        uint32_t x = (uint32_t)e->groups[1].words[i], scale = (uint32_t)e->groups[0].words[0];
        eval_put(e, mxv_element_from_quotient(s->format, x, scale, s->arith, &s->policy),
                 eval_digits(s->format));
    }
    return 0;
}

struct pack_state {
    enum mxv_nibble_order order;
    enum mxv_pack_axis axis;
    long rows, cols;
};

int eval_setup_pack(struct eval *e)
{
    need_state(e, sizeof(struct pack_state));
    struct pack_state *s = e->state;
    if (EVAL_POLICY(e, "order", nibble_order, &s->order) ||
        EVAL_POLICY(e, "axis", pack_axis, &s->axis) ||
        eval_number(e, "rows", 0, 1, 1 << 24, &s->rows) ||
        eval_number(e, "cols", 0, 1, 1 << 24, &s->cols))
        return -1;
    if ((s->rows == 0) != (s->cols == 0) || (eval_get(e, "axis", NULL) && s->rows == 0))
        return eval_fail(e, "--axis, --rows and --cols go together: the shape of the matrix");
    return 0;
}

int eval_answer_pack(struct eval *e)
{
    struct pack_state *s = e->state;
    if (eval_groups(e, 1, "codes") || eval_fits(e, 0, 4))
        return -1;
    size_t n = e->groups[0].count;
    size_t rows = s->rows ? (size_t)s->rows : 1, cols = s->rows ? (size_t)s->cols : n;
    if (rows * cols != n)
        return eval_fail(e, "%zu codes do not fill a %zux%zu matrix", n, rows, cols);
    uint8_t *codes = cli_realloc(NULL, 3 * n + 64), *bytes = codes + n;
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint8_t)e->groups[0].words[i];
    size_t count = mxv_nibble_pack_matrix(s->order, s->axis, codes, rows, cols, bytes);
    for (size_t i = 0; i < count; i++)
        eval_put(e, bytes[i], 2);
    free(codes);
    return count || n == 0 ? 0
                           : eval_fail(e,
                                       "%zu codes along the axis: split16 takes multiples of 32, "
                                       "split8 of 16",
                                       s->axis == MXV_PACK_COLS ? cols : rows);
}

struct layout_state {
    enum mxv_scale_layout layout;
    long cols;
};

int eval_setup_scale_offset(struct eval *e)
{
    need_state(e, sizeof(struct layout_state));
    struct layout_state *s = e->state;
    s->layout = MXV_LAYOUT_128X4;
    if (EVAL_POLICY(e, "layout", scale_layout, &s->layout) ||
        eval_number(e, "cols", 0, 1, 1 << 24, &s->cols))
        return -1;
    return s->cols ? 0 : eval_fail(e, "--cols is missing: the number of scale columns");
}

int eval_answer_scale_offset(struct eval *e)
{
    struct layout_state *s = e->state;
    for (size_t g = 0; g < e->group_count; g++) {
        const uint64_t *w = e->groups[g].words;
        if (e->groups[g].count != 2 || w[0] >> 31)
            return eval_fail(e, "group %zu: expected `row col`, rows below 80000000", g + 1);
        if (w[1] >= (uint64_t)s->cols)
            return eval_fail(e, "group %zu: column %llX is beyond --cols %ld", g + 1,
                             (unsigned long long)w[1], s->cols);
        eval_put(e, mxv_scale_layout_offset(s->layout, (size_t)s->cols, w[0], w[1]), 8);
    }
    return 0;
}

int eval_setup_limits(struct eval *e)
{
    need_state(e, sizeof(struct encode_state));
    return eval_element(e, "format", NULL, &((struct encode_state *)e->state)->format);
}

int eval_answer_limits(struct eval *e)
{
    enum mxv_element format = ((struct encode_state *)e->state)->format;
    int which;
    if (!eval_get(e, "which", NULL))
        return eval_fail(e, "--which is missing: lowest, max, epsilon, min_normal or min_positive");
    if (eval_choice(e, "which", "lowest max epsilon min_normal min_positive", &which))
        return -1;
    eval_put(e, mxv_element_limit(format, (enum mxv_limit)which), eval_digits(format));
    return 0;
}

int eval_setup_pow2_scale(struct eval *e)
{
    (void)e;
    return 0;
}

int eval_answer_pow2_scale(struct eval *e)
{
    if (eval_groups(e, 1, "words") || eval_fits(e, 0, 32))
        return -1;
    for (size_t i = 0; i < e->groups[0].count; i++) {
        uint8_t code;
        char why[96];
        uint32_t w = (uint32_t)e->groups[0].words[i];
        snprintf(why, sizeof why, "word %zu, %08X: not a power of two or zero", i + 1, w);
        if (mxv_e8m0_from_pow2(w, &code))
            eval_put(e, code, 2);
        else
            eval_reject(e, why);
    }
    return 0;
}

int eval_setup_storage_bytes(struct eval *e)
{
    if (!eval_get(e, "dtype", NULL) || !eval_get(e, "shape", NULL))
        return eval_fail(e, "--dtype and --shape are needed, such as --dtype F4 --shape 4x4");
    return 0;
}

int eval_answer_storage_bytes(struct eval *e)
{
    size_t shape[MXV_TENSOR_MAX_RANK], bytes;
    unsigned rank = 0;
    const char *text = eval_get(e, "shape", "");
    for (const char *at = text;; at++) {
        char *end;
        if (*at < '0' || *at > '9' || rank == MXV_TENSOR_MAX_RANK)
            return eval_fail(e, "--shape %s: expected numbers joined by x, such as 4x4", text);
        shape[rank++] = strtoull(at, &end, 10);
        at = end;
        if (*at == 0)
            break;
        if (*at != 'x')
            return eval_fail(e, "--shape %s: expected numbers joined by x, such as 4x4", text);
    }
    enum mxv_status status =
        mxv_tensor_storage_bytes(eval_get(e, "dtype", ""), rank, shape, &bytes);
    if (status == MXV_OK)
        eval_put(e, bytes, 8);
    else
        eval_reject(e, status == MXV_ERR_UNSUPPORTED
                           ? "safetensors has no such dtype"
                           : "the bits are no whole number of bytes, or more than fit in 64 bits");
    return 0;
}
