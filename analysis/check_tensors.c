// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Check: the tensors. Shapes of either layout become [heads][batch * tokens][d]; values of every
// element format are exact in binary32 (f64 is refused where it is not). A batch of several becomes
// the field seqs. Not handled: block-scaled storage (scales beside the codes): multiply it out.
// tests/cli/test_check.sh fails if this is wrong.
#include "check_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shaped {
    const char *name;
    struct mxv_tensor t;
    size_t batch, heads, tokens, d;
    enum mxv_check_layout layout;
};

static enum mxv_status fail(char *message, size_t size, const struct shaped *x, const char *what)
{
    snprintf(message, size, "%s: %s", x->name, what);
    return MXV_ERR_INPUT;
}

// Dimensions before the last `last` ones: [batch][heads][tokens] in the layout.
static bool take_shape(struct shaped *x, unsigned last)
{
    size_t s[3] = {1, 1, 1};
    unsigned rank = x->t.rank - last;
    if (x->t.rank < last + 1 || rank > 3)
        return false;
    for (unsigned i = 0; i < rank; i++)
        s[3 - rank + i] = x->t.shape[i];
    bool swapped = x->layout == MXV_CHECK_BLHD && last == 1 && rank > 1;
    x->batch = s[0];
    x->heads = swapped ? s[2] : s[1];
    x->tokens = swapped ? s[1] : s[2];
    x->d = last ? x->t.shape[x->t.rank - 1] : 1;
    return true;
}

static enum mxv_status read(const struct mxv_check_tensor *from, unsigned last,
                            enum mxv_check_layout layout, struct shaped *x, char *message,
                            size_t size)
{
    enum mxv_status status = mxv_tensor_read(from->where, &from->options, &x->t, message, size);
    if (status != MXV_OK)
        return status;
    x->layout = layout;
    if (x->t.type >= MXV_ELEMENT_COUNT)
        return fail(message, size, x, "holds integers");
    if (!take_shape(x, last))
        return fail(message, size, x, "has more or fewer dimensions than batch, heads, tokens, d");
    return MXV_OK;
}

// Place in the file of an element of [head][batch * tokens][d].
static uint64_t code(const struct shaped *x, size_t head, size_t row, size_t channel)
{
    size_t b = row / x->tokens, t = row % x->tokens;
    bool swapped = x->layout == MXV_CHECK_BLHD && x->t.rank > 2;
    size_t at =
        swapped ? (b * x->tokens + t) * x->heads + head : (b * x->heads + head) * x->tokens + t;
    return mxv_tensor_code(&x->t, at * x->d + channel);
}

static enum mxv_status value_error(const struct shaped *x, const struct mxv_check_tensor *from,
                                   size_t head, size_t row, size_t channel, const char *what,
                                   char *message, size_t size)
{
    snprintf(message, size, "%s (%s): batch %zu, head %zu, token %zu, channel %zu is %s", x->name,
             from->where, row / x->tokens, head, row % x->tokens, channel, what);
    return MXV_ERR_INPUT;
}

// The case takes every value of Q, K or V, so that an error names the caller's file.
static enum mxv_status check_values(const struct shaped *x, const struct mxv_check_tensor *from,
                                    const struct mxv_case *c, char *message, size_t size)
{
    const struct mxv_encode keep_inf = {.inf = MXV_INF_KEEP};
    const size_t rows = x->batch * x->tokens, row_size = rows * x->d;
    char what[128];
    for (size_t i = 0; i < x->heads * row_size; i++) {
        size_t h = i / row_size, r = i / x->d % rows, channel = i % x->d;
        uint32_t word = mxv_element_to_f32(x->t.type, code(x, h, r, channel));
        bool nan = mxv_element_is_nan(MXV_F32, word), finite = (word >> 23 & 0xff) != 0xff;
        if (!finite && c->nonfinite == MXV_NONFINITE_REFUSE) {
            snprintf(what, sizeof what, "%s; --set nonfinite=allow takes it",
                     nan ? "NaN" : "infinite");
            return value_error(x, from, h, r, channel, what, message, size);
        }
        if (nan || mxv_element_to_f32(c->in, mxv_element_from_f32(c->in, word, &keep_inf)) == word)
            continue;
        float value;
        memcpy(&value, &word, sizeof value);
        snprintf(what, sizeof what, "%.9g, no %s value; --set in=f32 takes it", (double)value,
                 mxv_element_get(c->in)->name);
        return value_error(x, from, h, r, channel, what, message, size);
    }
    return MXV_OK;
}

static enum mxv_status write_operand(const struct shaped *x, const char *folder, char *path,
                                     char *message, size_t size)
{
    size_t rows = x->batch * x->tokens, count = x->heads * rows * x->d, at = 0;
    size_t shape[] = {x->heads, rows, x->d};
    uint32_t *words = malloc(count * sizeof *words + 1);
    if (!words)
        return fail(message, size, x, "out of memory");
    for (size_t h = 0; h < x->heads; h++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < x->d; c++)
                words[at++] = mxv_element_to_f32(x->t.type, code(x, h, r, c));
    snprintf(path, MXV_CASE_PATH_SIZE, "%s/check_%s.npy", folder, x->name);
    enum mxv_status status = mxv_npy_write(path, "<f4", 3, shape, words, message, size);
    free(words);
    return status;
}

// The narrowest input type that holds the values of all three: files of one 16-bit type keep it.
static enum mxv_element input_type(const struct shaped *q, const struct shaped *k,
                                   const struct shaped *v)
{
    enum mxv_element t = MXV_F16;
    const struct shaped *all[] = {q, k, v};
    for (size_t i = 0; i < 3; i++) {
        enum mxv_element own = all[i]->t.type;
        const struct mxv_element_info *e = mxv_element_get(own);
        bool half = own == MXV_F16 || (e->bits <= 8 && own != MXV_E8M0);
        if (own == MXV_BF16 && (i == 0 || t == MXV_BF16))
            t = MXV_BF16;
        else if (!half || t != MXV_F16)
            t = MXV_F32;
    }
    return t;
}

static enum mxv_status settle(const struct mxv_check_options *o, struct check_subject *s,
                              char *message, size_t size)
{
    size_t length = 0;
    struct mxv_case *c = &s->c;
    for (size_t i = 0; i < 3; i++) {
        char escaped[MXV_CASE_PATH_SIZE];
        if (mxv_case_escape(s->paths[i], escaped, sizeof escaped) < sizeof escaped)
            length += (size_t)snprintf(c->input + length, sizeof c->input - length, "%s%s",
                                       i ? "," : "", escaped);
        else
            length = sizeof c->input;
        if (length >= sizeof c->input) {
            snprintf(message, size, "the folder's path is too long for a case line: %s", o->folder);
            return MXV_ERR_INPUT;
        }
    }
    c->heads_q = s->heads;
    c->heads_kv = s->heads_kv;
    c->batch = 1;
    c->lq = s->lq;
    c->lk = s->lk;
    c->d = s->d;
    if (!o->keep_out)
        c->out = s->out_type;
    if (s->lse && c->lse == MXV_LSE_NONE)
        c->lse = MXV_LSE_E;
    if (s->batch == 1)
        return MXV_OK;
    c->batch = c->lq = c->lk = 0;
    c->seqs.count = s->batch;
    for (size_t i = 0; i < s->batch && i < MXV_CASE_SEQS_MAX; i++)
        c->seqs.at[i] = (struct mxv_case_lengths){(uint32_t)s->lq, (uint32_t)s->lk};
    if (s->batch <= MXV_CASE_SEQS_MAX)
        return MXV_OK;
    snprintf(message, size, "a batch of %zu; at most %d", s->batch, MXV_CASE_SEQS_MAX);
    return MXV_ERR_INPUT;
}

// Binary32 words that all are values of a 16-bit type were rounded to it, and only stored wider.
static bool narrow(struct check_subject *s, size_t count, enum mxv_element type)
{
    const struct mxv_encode keep_inf = {.overflow = MXV_OVERFLOW_IEEE, .inf = MXV_INF_KEEP};
    for (size_t i = 0; i < count; i++) {
        uint64_t c = mxv_element_from_f32(type, s->out[i], &keep_inf);
        if (!mxv_element_is_nan(MXV_F32, s->out[i]) && mxv_element_to_f32(type, c) != s->out[i])
            return false;
    }
    for (size_t i = 0; i < count; i++)
        s->out[i] = (uint32_t)mxv_element_from_f32(type, s->out[i], &keep_inf);
    s->out_type = type;
    return true;
}

static enum mxv_status take_output(const struct shaped *out, const struct shaped *lse,
                                   struct check_subject *s, char *message, size_t size)
{
    size_t rows = s->batch * s->lq;
    if (out->t.type != MXV_F32 && out->t.type != MXV_F16 && out->t.type != MXV_BF16)
        return fail(message, size, out, "an output is f32, f16 or bf16");
    if (out->batch != s->batch || out->heads != s->heads || out->tokens != s->lq || out->d != s->d)
        return fail(message, size, out, "its shape is not that of q");
    s->out_type = out->t.type;
    s->out = malloc(s->heads * rows * s->d * sizeof *s->out + 1);
    s->lse = lse->name ? malloc(s->heads * rows * sizeof *s->lse + 1) : NULL;
    if (!s->out || (lse->name && !s->lse))
        return fail(message, size, out, "out of memory");
    for (size_t h = 0, at = 0; h < s->heads; h++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < s->d; c++)
                s->out[at++] = (uint32_t)code(out, h, r, c);
    if (!lse->name)
        return MXV_OK;
    if (lse->t.type != MXV_F32 || lse->batch != s->batch || lse->heads != s->heads ||
        lse->tokens != s->lq)
        return fail(message, size, lse, "expected binary32 [batch][heads][tokens]");
    for (size_t h = 0, at = 0; h < s->heads; h++)
        for (size_t r = 0; r < rows; r++)
            s->lse[at++] = (uint32_t)code(lse, h, r, 0);
    return MXV_OK;
}

static enum mxv_status take_all(const struct mxv_check_options *o, struct shaped x[5],
                                struct check_subject *s, char *message, size_t size)
{
    const struct mxv_check_tensor *from[] = {&o->q, &o->k, &o->v, &o->out, &o->lse};
    static const char *const names[] = {"q", "k", "v", "out", "lse"};
    enum mxv_status status = MXV_OK;
    for (size_t i = 0; i < 5 && status == MXV_OK; i++)
        if (from[i]->where) {
            x[i].name = names[i];
            status = read(from[i], i < 4, o->layout, &x[i], message, size);
        }
    if (status != MXV_OK)
        return status;
    s->batch = x[0].batch;
    s->heads = x[0].heads;
    s->heads_kv = x[1].heads;
    s->lq = x[0].tokens;
    s->lk = x[1].tokens;
    s->d = x[0].d;
    if (x[1].batch != s->batch || x[2].batch != s->batch)
        return fail(message, size, &x[1], "the batches of q, k and v differ");
    status = take_output(&x[3], &x[4], s, message, size);
    s->c = o->base;
    if (!o->keep_in)
        s->c.in = input_type(&x[0], &x[1], &x[2]);
    for (size_t i = 0; i < 3 && status == MXV_OK; i++)
        status = check_values(&x[i], from[i], &s->c, message, size);
    for (size_t i = 0; i < 3 && status == MXV_OK; i++) {
        status = write_operand(&x[i], o->folder, s->paths[i], message, size);
        s->operands += status == MXV_OK;
    }
    if (status == MXV_OK && s->out_type == MXV_F32 && !o->keep_out &&
        !narrow(s, s->heads * s->batch * s->lq * s->d, MXV_F16))
        narrow(s, s->heads * s->batch * s->lq * s->d, MXV_BF16);
    return status == MXV_OK ? settle(o, s, message, size) : status;
}

enum mxv_status check_read(const struct mxv_check_options *o, struct check_subject *s,
                           char *message, size_t size)
{
    struct shaped x[5];
    memset(x, 0, sizeof x);
    memset(s, 0, sizeof *s);
    enum mxv_status status = take_all(o, x, s, message, size);
    for (size_t i = 0; i < 5; i++)
        mxv_tensor_free(&x[i].t);
    return status;
}

enum mxv_status check_read_words(const struct mxv_check_tensor *from, const char *name,
                                 enum mxv_check_layout layout, struct check_words *out,
                                 char *message, size_t size)
{
    struct shaped x = {.name = name};
    size_t at = 0;
    enum mxv_status status = read(from, 1, layout, &x, message, size);
    if (status == MXV_OK) {
        *out = (struct check_words){NULL, x.heads, x.batch * x.tokens, x.d};
        out->words = malloc(x.t.count * sizeof *out->words + 1);
        status = out->words ? MXV_OK : fail(message, size, &x, "out of memory");
    }
    for (size_t h = 0; status == MXV_OK && h < out->heads; h++)
        for (size_t r = 0; r < out->rows; r++)
            for (size_t c = 0; c < out->cols; c++)
                out->words[at++] = (uint32_t)code(&x, h, r, c);
    mxv_tensor_free(&x.t);
    return status;
}

void check_subject_free(struct check_subject *s, bool keep_operands)
{
    for (size_t i = 0; i < s->operands && !keep_operands; i++)
        remove(s->paths[i]);
    free(s->out);
    free(s->lse);
    s->out = s->lse = NULL;
}

// NaNs become the canonical word: payloads are no part of a result.
void check_head(const struct check_subject *s, size_t sequence, size_t head, uint32_t *out,
                uint32_t *lse)
{
    size_t first = head * s->batch * s->lq + sequence * s->lq;
    uint32_t nan = (uint32_t)mxv_element_get(s->out_type)->nan_code;
    for (size_t i = 0; i < s->lq * s->d; i++) {
        uint32_t w = s->out[first * s->d + i];
        out[i] = mxv_element_is_nan(s->out_type, w) ? nan : w;
    }
    for (size_t r = 0; lse && s->lse && r < s->lq; r++) {
        uint32_t w = s->lse[first + r];
        lse[r] = mxv_element_is_nan(MXV_F32, w) ? MXV_NAN_WORD : w;
    }
}
