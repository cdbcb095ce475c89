// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a case from files: which files `input` names, how their shapes fit together, which
// heads and tokens are taken. Arrays are [heads][tokens][d], [1][heads][tokens][d] or [tokens][d];
// q may have a multiple of the heads of k and v. Values are taken as they are: one that the case's
// input type cannot hold, or (nonfinite=refuse) NaN or Inf, is an error that names its place.
// Not handled: arrays in which tokens come before heads.
// tests/unit/test_case_input.c fails if this is wrong.
#include "case_internal.h"
#include <errno.h>
#include <math.h>
#include <mxverify/data_path.h>
#include <mxverify/tensor_file.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct array {
    char path[MXV_CASE_PATH_SIZE + 16];
    const char *name; // q, k or v
    struct mxv_tensor t;
    size_t heads, tokens, d;
};

struct reader {
    const struct mxv_case *c;
    struct array q, k, v;
    size_t group; // query heads on a KV head
    char *message;
    size_t size;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum mxv_status read_array(struct reader *r, struct array *a, bool named_inside)
{
    char said[1024], path[2 * MXV_CASE_PATH_SIZE];
    mxv_data_path(a->path, path, sizeof path);
    enum mxv_status status =
        named_inside ? mxv_tensor_read_safetensors(path, a->name, NULL, &a->t, said, sizeof said)
                     : mxv_tensor_read(path, NULL, &a->t, said, sizeof said);
    if (status != MXV_OK) {
        text_message(r->message, r->size, "input %s: %s", a->name, said);
        return status == MXV_ERR_UNSUPPORTED ? MXV_ERR_INPUT : status; // not a call's fault
    }
    if (a->t.type != MXV_F16 && a->t.type != MXV_BF16 && a->t.type != MXV_F32) {
        text_message(r->message, r->size, "input %s (%s): holds %s; f16, bf16 and f32 are read",
                     a->name, a->path,
                     a->t.type < MXV_ELEMENT_COUNT ? mxv_element_get(a->t.type)->name : "integers");
        return MXV_ERR_INPUT;
    }
    return MXV_OK;
}

static enum mxv_status read_shape(struct reader *r, struct array *a)
{
    const size_t *s = a->t.shape;
    unsigned rank = a->t.rank;
    if (rank < 2 || rank > 4 || (rank == 4 && s[0] != 1)) {
        text_message(
            r->message, r->size,
            "input %s (%s): %u dimensions%s; [heads][tokens][d], [1][heads][tokens][d] and "
            "[tokens][d] are read",
            a->name, a->path, rank, rank == 4 ? ", the first not 1" : "");
        return MXV_ERR_INPUT;
    }
    a->d = s[rank - 1];
    a->tokens = s[rank - 2];
    a->heads = rank == 2 ? 1 : s[rank - 3];
    return MXV_OK;
}

// Comma-separated pieces of `input`, unescaped: 1 or 3.
static enum mxv_status name_files(struct reader *r, bool *named_inside)
{
    const char *text = r->c->input, *comma = strchr(text, ',');
    const char *second = comma ? strchr(comma + 1, ',') : NULL;
    const size_t size = MXV_CASE_PATH_SIZE;
    if (comma && second && !strchr(second + 1, ',')) {
        case_unescape(text, (size_t)(comma - text), r->q.path, size);
        case_unescape(comma + 1, (size_t)(second - comma - 1), r->k.path, size);
        case_unescape(second + 1, strlen(second + 1), r->v.path, size);
        return MXV_OK;
    }
    case_unescape(text, strlen(text), r->q.path, size);
    if (comma || ends_with(r->q.path, ".npy")) {
        text_message(r->message, r->size,
                     "input=%.200s: three paths q,k,v, or one .safetensors file, or a prefix P of "
                     "P_q.npy, P_k.npy and P_v.npy",
                     text);
        return MXV_ERR_INPUT;
    }
    memcpy(r->k.path, r->q.path, size);
    memcpy(r->v.path, r->q.path, size);
    *named_inside = ends_with(r->q.path, ".safetensors");
    if (!*named_inside) {
        strcat(r->q.path, "_q.npy");
        strcat(r->k.path, "_k.npy");
        strcat(r->v.path, "_v.npy");
    }
    return MXV_OK;
}

static enum mxv_status read_files(struct reader *r)
{
    struct array *all[] = {&r->q, &r->k, &r->v};
    bool named_inside = false;
    enum mxv_status status = name_files(r, &named_inside);
    for (size_t i = 0; i < 3 && status == MXV_OK; i++) {
        status = read_array(r, all[i], named_inside);
        if (status == MXV_OK)
            status = read_shape(r, all[i]);
    }
    return status;
}

static enum mxv_status check_shapes(struct reader *r)
{
    const struct array *q = &r->q, *k = &r->k, *v = &r->v;
    if (q->d == k->d && k->d == v->d && k->heads == v->heads && k->tokens == v->tokens &&
        k->heads > 0 && q->heads >= k->heads && q->heads % k->heads == 0) {
        r->group = q->heads / k->heads;
        return MXV_OK;
    }
    text_message(
        r->message, r->size,
        "input shapes do not fit: q [%zu][%zu][%zu], k [%zu][%zu][%zu], v [%zu][%zu][%zu]; "
        "k and v must agree, q have the same d and a multiple of their heads",
        q->heads, q->tokens, q->d, k->heads, k->tokens, k->d, v->heads, v->tokens, v->d);
    return MXV_ERR_INPUT;
}

static enum mxv_status take_range(struct reader *r, const char *key, struct mxv_case_range *range,
                                  size_t available)
{
    if (range->end == 0)
        range->end = available;
    if (range->end <= available)
        return MXV_OK;
    text_message(r->message, r->size, "%s=%zu:%zu: the files hold %zu", key, range->first,
                 range->end, available);
    return MXV_ERR_INPUT;
}

// A field that the line gives must be what the files give.
static enum mxv_status settle(struct reader *r, const char *key, size_t *field, size_t found)
{
    if (*field == 0 || *field == found) {
        *field = found;
        return MXV_OK;
    }
    text_message(r->message, r->size, "%s=%zu: the files give %zu", key, *field, found);
    return MXV_ERR_INPUT;
}

static size_t seqs_total(const struct mxv_case_seqs *seqs, bool keys)
{
    size_t total = 0;
    for (size_t i = 0; i < seqs->count; i++)
        total += keys ? seqs->at[i].lk : seqs->at[i].lq;
    return total;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum mxv_status status_ = (call);                                                          \
        if (status_ != MXV_OK)                                                                     \
            return status_;                                                                        \
    } while (0)

static enum mxv_status settle_shape(struct reader *r, struct mxv_case *c)
{
    TRY(take_range(r, "heads", &c->heads, r->k.heads));
    TRY(take_range(r, "qtok", &c->q_tokens, r->q.tokens));
    TRY(take_range(r, "ktok", &c->k_tokens, r->k.tokens));
    size_t heads = c->heads.end - c->heads.first;
    size_t lq = c->q_tokens.end - c->q_tokens.first, lk = c->k_tokens.end - c->k_tokens.first;
    TRY(settle(r, "hk", &c->heads_kv, heads));
    TRY(settle(r, "hq", &c->heads_q, heads * r->group));
    TRY(settle(r, "d", &c->d, r->q.d));
    if (lq == 0) {
        text_message(r->message, r->size, "input q (%s): no query token, nothing to verify",
                     r->q.path);
        return MXV_ERR_INPUT;
    }
    if (c->seqs.count == 0) {
        TRY(settle(r, "lq", &c->lq, lq));
        return settle(r, "lk", &c->lk, lk);
    }
    if (seqs_total(&c->seqs, false) == lq && seqs_total(&c->seqs, true) == lk)
        return MXV_OK;
    text_message(r->message, r->size,
                 "seqs: %zu query and %zu key tokens, the files give %zu and %zu",
                 seqs_total(&c->seqs, false), seqs_total(&c->seqs, true), lq, lk);
    return MXV_ERR_INPUT;
}

static enum mxv_status take_value(struct reader *r, const struct array *a, size_t head,
                                  size_t token, size_t channel, float *out)
{
    size_t index = (head * a->tokens + token) * a->d + channel;
    uint32_t word = mxv_element_to_f32(a->t.type, mxv_tensor_code(&a->t, index));
    enum mxv_element in = r->c->in;
    memcpy(out, &word, sizeof *out);
    if (!isfinite(*out) && r->c->nonfinite == MXV_NONFINITE_REFUSE) {
        text_message(
            r->message, r->size,
            "input %s (%s): head %zu, token %zu, channel %zu is %s; nonfinite=allow in the case "
            "line takes it, or --set nonfinite=allow",
            a->name, a->path, head, token, channel, isnan(*out) ? "NaN" : "infinite");
        return MXV_ERR_INPUT;
    }
    const struct mxv_encode keep_inf = {.inf = MXV_INF_KEEP};
    if (isnan(*out) || mxv_element_to_f32(in, mxv_element_from_f32(in, word, &keep_inf)) == word)
        return MXV_OK;
    text_message(r->message, r->size,
                 "input %s (%s): head %zu, token %zu, channel %zu is %.9g, no %s value; say in=%s",
                 a->name, a->path, head, token, channel, (double)*out, mxv_element_get(in)->name,
                 mxv_element_get(a->t.type)->name);
    return MXV_ERR_INPUT;
}

static enum mxv_status take_tensor(struct reader *r, const struct array *a,
                                   struct mxv_case_range heads, struct mxv_case_range tokens,
                                   float **out)
{
    size_t rows = tokens.end - tokens.first, at = 0;
    *out = malloc(((heads.end - heads.first) * rows * a->d + 1) * sizeof(float));
    if (!*out) {
        text_message(r->message, r->size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    for (size_t h = heads.first; h < heads.end; h++)
        for (size_t t = tokens.first; t < tokens.end; t++)
            for (size_t c = 0; c < a->d; c++)
                TRY(take_value(r, a, h, t, c, *out + at++));
    return MXV_OK;
}

static enum mxv_status take_all(struct reader *r, struct mxv_case_data *data)
{
    struct mxv_case c = *r->c;
    TRY(read_files(r));
    TRY(check_shapes(r));
    TRY(settle_shape(r, &c));
    case_bind(&c, &data->a);
    TRY(case_starts(&c, data, r->message, r->size));
    TRY(case_check_call(&data->a, r->message, r->size));
    struct mxv_case_range q_heads = {c.heads.first * r->group, c.heads.end * r->group};
    TRY(take_tensor(r, &r->q, q_heads, c.q_tokens, &data->q));
    TRY(take_tensor(r, &r->k, c.heads, c.k_tokens, &data->k));
    return take_tensor(r, &r->v, c.heads, c.k_tokens, &data->v);
}

enum mxv_status case_read_input(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                                size_t size)
{
    struct reader r = {.c = c, .message = message, .size = size};
    r.q.name = "q";
    r.k.name = "k";
    r.v.name = "v";
    enum mxv_status status = take_all(&r, data);
    mxv_tensor_free(&r.q.t);
    mxv_tensor_free(&r.k.t);
    mxv_tensor_free(&r.v.t);
    return status;
}

enum mxv_status mxv_case_find_files(const struct mxv_case *c, char *message, size_t size)
{
    struct reader r = {.c = c, .message = message, .size = size};
    const struct array *all[] = {&r.q, &r.k, &r.v};
    bool named_inside = false;
    if (!c->input[0])
        return MXV_OK;
    TRY(name_files(&r, &named_inside));
    for (size_t i = 0; i < (named_inside ? 1 : 3); i++) {
        char path[2 * MXV_CASE_PATH_SIZE];
        mxv_data_path(all[i]->path, path, sizeof path);
        if (access(path, R_OK)) {
            text_message(message, size, "input %s: %s", path, strerror(errno));
            return MXV_ERR_IO;
        }
    }
    return MXV_OK;
}
